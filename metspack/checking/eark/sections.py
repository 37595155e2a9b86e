"""Check METS sections against CSIP, SIP and CITS SIARD.

The sections are metsHdr with the root, dmdSec, amdSec and fileSec. A file takes no memory.
"""

from __future__ import annotations

from typing import NamedTuple

from metspack import uris
from metspack.checking.eark import siard
from metspack.checking.eark.faults import Faults
from metspack.checking.eark.outline import (
    DOCUMENTATION,
    KEPT,
    REPRESENTATIONS,
    SCHEMAS,
    Outline,
    StatedFileGroup,
)
from metspack.checking.eark.requirements import (
    CONTENT_CATEGORIES,
    ONCE,
    RECORD_IDS,
    RECORD_STATUS,
    Standard,
    Version,
    none_but,
    quoted,
)
from metspack.mets.elements import FILE, GROUP, MAP, Elements, MetsElement

_OTHER = "csip:OTHERCONTENTINFORMATIONTYPE"
_FOLDERS = {DOCUMENTATION: ("CSIPSTR16", "documentation"), SCHEMAS: ("CSIPSTR15", "schemas")}
_FORMATS = {
    "sip:FILEFORMATNAME": "format name",
    "sip:FILEFORMATVERSION": "format version",
    "sip:FILEFORMATREGISTRY": "format registry",
    "sip:FORMATREGISTRY": "format registry",
    "sip:FILEFORMATKEY": "format key",
    "sip:FORMATREGISTRYKEY": "format key",
}


class FileSection:
    """Checks the fileSec of one document."""

    def __init__(self, elements: Elements, outline: Outline, faults: Faults) -> None:
        self._outline = outline
        self._faults = faults
        self._line = 0
        self._are_outside = True
        self._folder: tuple[str, str] | None = None
        elements.handle(
            {
                "mets/fileSec": self._start_section,
                GROUP: self._start_group,
                FILE: self._start_file,
                f"{FILE}/FLocat": self._start_location,
            },
            {GROUP: self._end_group, FILE: self._end_file},
        )

    def finish(self) -> None:
        """Check the requirements that need the whole section."""
        outline = self._outline
        if not (outline.has_files and outline.is_package and outline.is_complete):
            return
        for rule, kind in (("CSIP60", DOCUMENTATION), ("CSIP113", SCHEMAS), ("CSIP114", REPRESENTATIONS)):
            if not outline.of_kind(kind):
                found = none_but("USE", kind, (each.use for each in outline.groups))
                self._faults.add(rule, self._line, found)

    def _start_section(self, section: MetsElement, _mets: MetsElement) -> None:
        if self._outline.has_files:
            self._faults.add("CSIP58", section.line, "another fileSec")
        self._outline.has_files = True
        self._line = section.line

    def _start_group(self, element: MetsElement, _section: MetsElement) -> None:
        group = StatedFileGroup(
            id=element.get("ID"),
            use=element.get("USE"),
            content=element.attributes.get("csip:CONTENTINFORMATIONTYPE"),
            other=element.attributes.get(_OTHER),
            line=element.line,
        )
        self._are_outside = True
        self._folder = _FOLDERS.get(group.kind)
        if self._outline.has_room(self._outline.groups):
            self._outline.groups.append(group)
        if group.kind == REPRESENTATIONS and not group.content:
            self._faults.add("CSIP62", group.line, "none", group.id)
        if group.content == "OTHER" and not (group.other or "").strip():
            self._faults.add("CSIP63", group.line, "none", group.id)
        if group.content == siard.TYPE and self._outline.is_package and group.other not in siard.VOCABULARY:
            self._faults.add("SIARD_7", group.line, quoted(group.other), group.id)

    def _end_group(self, group: MetsElement, _section: MetsElement) -> None:
        if not group.count:
            self._faults.add("CSIP66", group.line, "none", group.get("ID"))
        elif self._are_outside:
            self._outline.outside.add(group.get("ID"))

    def _start_file(self, file: MetsElement, above: MetsElement) -> None:
        if above.path == GROUP:
            above.count += 1
        self._faults.judge_type("CSIP68", file.get("MIMETYPE"), file.line, file.get("ID"))
        for name, rule in _FORMATS.items() if self._outline.is_package else ():
            if not file.attributes.get(name, "x").strip():
                ids = self._faults.tables[Standard.SIP].ids
                self._faults.add(ids[rule], file.line, quoted(file.get(name)), file.get("ID"))
        if (mark := file.get(_OTHER)) in siard.VOCABULARY:
            self._outline.marked[mark] = self._outline.marked.get(mark, 0) + 1

    def _start_location(self, location: MetsElement, file: MetsElement) -> None:
        file.count += 1
        href = location.get("xlink:href")
        if not href.startswith("../"):
            self._are_outside = False
        if self._folder is not None:
            rule, folder = self._folder
            if href.strip() and not _is_in(href, folder):
                self._faults.add(rule, location.line, quoted(href), file.get("ID"))
            _note_type(self._outline, "CSIP68", file, location, file.get("ID"))

    def _end_file(self, file: MetsElement, _group: MetsElement) -> None:
        if file.count != 1:
            self._faults.add("CSIP76", file.line, f"{file.count} FLocat", file.get("ID"))


def _note_type(outline: Outline, rule: str, typed: MetsElement, located: MetsElement, place: str) -> None:
    href, kind = located.get("xlink:href").strip(), typed.get("MIMETYPE")
    if href and kind and len(outline.typed) < KEPT:
        outline.typed.append((rule, href, kind, located.line, place))


def _is_in(href: str, *folder: str) -> bool:
    """Return whether a location is below a folder of these names; True for URLs."""
    if (segments := _segments(href)) is None:
        return True  # a URL, or reported as a location
    names = segments[:-1]
    starts = range(len(names) - len(folder) + 1)
    return any(names[start : start + len(folder)] == folder for start in starts)


def _segments(href: str) -> tuple[str, ...] | None:
    """Return the names on the path in a location, or None where it is no path."""
    try:
        return tuple(uris.located(href).segments)
    except uris.ReferenceRefused:
        return None


class _MetadataSection(NamedTuple):
    """The requirements on a section's reference, its media type, and its file's folder."""

    reference: str
    media_type: str
    place: str = ""
    folder: tuple[str, ...] = ()


_PROVENANCE = "mets/amdSec/digiprovMD"
_SECTIONS = {
    "mets/dmdSec": _MetadataSection("CSIP21", "CSIP26", "CSIPSTR7", ("metadata", "descriptive")),
    _PROVENANCE: _MetadataSection("CSIP35", "CSIP40", "CSIPSTR6", ("metadata", "preservation")),
    "mets/amdSec/rightsMD": _MetadataSection("CSIP48", "CSIP53"),
}


class Sections:
    """Checks the dmdSec and amdSec of one document."""

    def __init__(self, elements: Elements, outline: Outline, faults: Faults) -> None:
        self._outline = outline
        self._faults = faults
        elements.handle({"mets/amdSec": self._start_administrative})
        for path in _SECTIONS:
            starts = {path: self._start_section, f"{path}/mdRef": self._start_reference}
            elements.handle(starts, {path: self._end_section})
        for path in (*_SECTIONS, "mets/amdSec/techMD", "mets/amdSec/sourceMD"):
            elements.handle({f"{path}/mdRef": self._note_section})
        elements.handle(dict.fromkeys(("mets/fileSec", "mets/structMap", MAP), self._note_files))

    def _start_administrative(self, section: MetsElement, _mets: MetsElement) -> None:
        if self._outline.administrative:
            self._faults.add("CSIP31", section.line, "another amdSec")
        if self._outline.has_room(self._outline.administrative):
            self._outline.administrative.append((section.get("ID"), set()))

    def _start_section(self, section: MetsElement, _above: MetsElement) -> None:
        outline = self._outline
        if section.path == _PROVENANCE:
            outline.has_provenance = True
        if section.get("STATUS") != "SUPERSEDED" and "ID" in section.attributes:
            is_descriptive = section.path == "mets/dmdSec"
            kept = outline.descriptive if is_descriptive else outline.administrative[-1][1]
            if outline.has_room(kept):
                kept.add(section.get("ID"))

    def _start_reference(self, reference: MetsElement, section: MetsElement) -> None:
        section.count += 1
        rules, place = _SECTIONS[section.path], section.get("ID")
        self._faults.judge_type(rules.media_type, reference.get("MIMETYPE"), reference.line, place)
        _note_type(self._outline, rules.media_type, reference, reference, place)
        href = reference.get("xlink:href").strip()
        if rules.folder and href and not _is_in(href, *rules.folder):
            self._faults.add(rules.place, reference.line, quoted(href), place)

    def _note_section(self, reference: MetsElement, section: MetsElement) -> None:
        if len(self._outline.references) < KEPT:
            href = reference.get("xlink:href").strip()
            segments = _segments(href)
            sections = self._outline.references.setdefault(reference.line, {})
            sections[href if segments is None else "/".join(segments)] = section.path.rpartition("/")[2]

    def _note_files(self, element: MetsElement, _mets: MetsElement) -> None:
        self._outline.references.get(element.line, {})[""] = ""

    def _end_section(self, section: MetsElement, _above: MetsElement) -> None:
        if not section.count:
            self._faults.add(_SECTIONS[section.path].reference, section.line, "none", section.get("ID"))


_CODED = "IDENTIFICATIONCODE"
_VERSION = "SOFTWARE VERSION"
_MARK = "csip:NOTETYPE"
_BODIES = {"ORGANIZATION", "INDIVIDUAL"}
_KINDS = ("ROLE", "TYPE", "OTHERTYPE")


def _is_named(agent: MetsElement) -> bool:
    return any(each.text for each in agent.named("name"))


def _software_score(agent: MetsElement) -> int:
    """Return a score: the highest is that of the agent for the software that made the package."""
    return (
        (agent.get("ROLE") == "CREATOR")
        + (agent.get("TYPE") == "OTHER")
        + 2 * (agent.get("OTHERTYPE") == "SOFTWARE")
        + any(each.get(_MARK) == _VERSION for each in agent.named("note")[:1])
    )


_HEADER = "mets/metsHdr"


class Header:
    """Checks the root and the metsHdr of one document."""

    def __init__(self, elements: Elements, outline: Outline, faults: Faults) -> None:
        self._outline = outline
        self._faults = faults
        self._agents: list[MetsElement] = []
        self._has_header = False
        self._records: set[str] = set()
        self._ids = faults.tables[Standard.SIP].ids
        agent, record = f"{_HEADER}/agent", f"{_HEADER}/altRecordID"
        elements.texts |= {f"{agent}/name", f"{agent}/note", record}
        elements.handle(
            {"mets": self._start_mets, _HEADER: self._start_header, agent: self._start_agent},
            {
                f"{agent}/name": self._end_text,
                f"{agent}/note": self._end_text,
                record: self._end_record,
                _HEADER: lambda *_: self._judge_agents(),
            },
        )

    def finish(self) -> None:
        """Check the requirements that need the whole document."""
        if not self._has_header:
            self._faults.add("CSIP117", self._outline.line, "none")
            self._judge_agents()

    def _start_mets(self, mets: MetsElement, _document: MetsElement) -> None:
        outline = self._outline
        outline.root, outline.line = mets.attributes, mets.line
        add, get = self._faults.add, mets.get
        kind, other = get("TYPE").casefold(), get("csip:OTHERTYPE").strip()
        if get("TYPE") not in CONTENT_CATEGORIES and kind != "other":
            add("CSIP2", mets.line, quoted(mets.attributes.get("TYPE")))
        if kind == "other" and not other:
            add("CSIP3", mets.line, "none")
        elif other in CONTENT_CATEGORIES - {"Other"} and self._faults.version is not Version.V2_0_4:
            add("CSIP3", mets.line, f"{quoted(other)}, which is a term of the vocabulary of TYPE")
        if self._outline.is_package and "LABEL" in mets.attributes and not get("LABEL").strip():
            add("SIP1", mets.line, quoted(get("LABEL")))
        if not outline.content:
            add("CSIP4", mets.line, "none")
        if outline.content == "OTHER" and not outline.other.strip():
            add("CSIP5", mets.line, "none")

    def _start_header(self, header: MetsElement, _mets: MetsElement) -> None:
        self._has_header = True
        if not self._outline.is_package:
            return
        kind, status = (
            header.attributes.get("csip:OAISPACKAGETYPE"),
            header.attributes.get("RECORDSTATUS", "NEW"),
        )
        if not kind:
            self._faults.add("CSIP9", header.line, "none")
        if kind != "SIP":
            self._faults.add("SIP4", header.line, quoted(kind))
        if status not in RECORD_STATUS:
            self._faults.add("SIP3", header.line, quoted(status))

    def _end_record(self, record: MetsElement, _header: MetsElement) -> None:
        rule = RECORD_IDS.get(record.get("TYPE")) if self._outline.is_package else None
        if rule is not None:
            if rule in self._records and rule in ONCE:
                self._faults.add(rule, record.line, "another one")
            self._records.add(rule)
            if not record.text:
                self._faults.add(rule, record.line, "an empty one")

    def _start_agent(self, agent: MetsElement, _header: MetsElement) -> None:
        if len(self._agents) < KEPT:
            self._agents.append(agent)

    def _end_text(self, text: MetsElement, agent: MetsElement) -> None:
        agent.children.append(text)

    def _judge_agents(self) -> None:
        self._judge_software()
        self._judge_submitter()
        for role in ("ARCHIVIST", "PRESERVATION"):
            further = [each for each in self._agents if each.get("ROLE") == role][1:]
            if further:
                self._add(role, further[0].line, f"{len(further) + 1} of them")
        for agent in self._agents:
            role, kind = agent.get("ROLE"), agent.get("TYPE")
            if role == "ARCHIVIST":
                self._judge_body(agent, role, is_typed=kind in _BODIES)
            elif role == "PRESERVATION":
                self._judge_body(agent, role, is_typed=kind == "ORGANIZATION")
            elif role == "CREATOR" and kind == "INDIVIDUAL" and not _is_named(agent):
                self._add("contact name", agent.line, "none")
        self._agents.clear()

    def _judge_software(self) -> None:
        best = max(self._agents, key=_software_score, default=None)
        if best is None or _software_score(best) < 2:  # noqa: PLR2004 -- a single thing any agent may have
            found = "none"
            if best is not None:
                stated = " ".join(f"{name}={quoted(best.attributes.get(name))}" for name in _KINDS)
                found += f", but an agent with {stated}"
            self._faults.add("CSIP10", self._outline.line, found)
            return
        add, line = self._faults.add, best.line
        for rule, attribute, value in (
            ("CSIP11", "ROLE", "CREATOR"),
            ("CSIP12", "TYPE", "OTHER"),
            ("CSIP13", "OTHERTYPE", "SOFTWARE"),
        ):
            if best.get(attribute) != value:
                add(rule, line, quoted(best.attributes.get(attribute)))
        names, notes = best.named("name"), best.named("note")
        if len(names) > 1:
            add("CSIP14", line, f"{len(names)} names")
        elif not _is_named(best):
            add("CSIP14", line, "none")
        if len(notes) != 1 or not notes[0].text:
            add("CSIP15", line, f"{len(notes)} notes" if len(notes) != 1 else "an empty one")
        elif notes[0].get(_MARK) != _VERSION:
            add("CSIP16", line, quoted(notes[0].attributes.get(_MARK)))

    def _judge_submitter(self) -> None:
        named = [each for each in self._agents if each.get("OTHERROLE").casefold() == "submitter"]
        creators = [
            each for each in self._agents if each.get("ROLE") == "CREATOR" and each.get("TYPE") in _BODIES
        ]
        is_other = "submitter otherrole" in self._ids
        found = named if is_other else named or creators[:1]
        if not found or (len(found) > 1 and not is_other):
            line = found[1].line if found else self._outline.line
            self._add("submitter", line, f"{len(found)} of them" if found else "none")
            return
        for agent in found:
            role, kind = agent.get("ROLE"), agent.get("TYPE")
            if not role or (is_other and role != "OTHER"):
                self._add("submitter role", agent.line, quoted(role) if role else "none")
            if agent.get("OTHERROLE") != "SUBMITTER":
                self._add("submitter otherrole", agent.line, quoted(agent.get("OTHERROLE")))
            if kind == "INDIVIDUAL":  # a person's notes may be contact information
                agent.children = agent.named("name")
            is_other_type = is_other and kind == "OTHER"
            if is_other_type and not agent.get("OTHERTYPE"):
                self._add("submitter type", agent.line, f"{quoted(kind)} without OTHERTYPE")
            self._judge_body(agent, "submitter", is_typed=is_other_type or kind in _BODIES)

    def _judge_body(self, agent: MetsElement, who: str, *, is_typed: bool) -> None:
        """Judge an agent that is an organisation or a person, by the requirements on ``who``."""
        if not is_typed:
            self._add(f"{who} type", agent.line, quoted(agent.attributes.get("TYPE")))
        if not _is_named(agent):
            self._add(f"{who} name", agent.line, "none")
        for each in agent.named("note"):
            if each.get(_MARK) != _CODED:
                self._add(f"{who} note", agent.line, quoted(each.attributes.get(_MARK)))

    def _add(self, what: str, line: int, found: str) -> None:
        """Record a broken requirement of SIP on what the version has one on."""
        self._faults.add(self._ids.get(what, ""), line, found)
