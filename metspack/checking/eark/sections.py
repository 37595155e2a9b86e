"""Check METS sections against CSIP, SIP and CITS SIARD.

The sections are metsHdr with the root, dmdSec, amdSec and fileSec. A file takes no memory.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from metspack import uris
from metspack.checking.eark import siard
from metspack.checking.eark.document import (
    DOCUMENTATION,
    KEPT,
    REPRESENTATIONS,
    SCHEMAS,
    Attributes,
    Elements,
    Outline,
    ReadingDone,
    Start,
    StatedFileGroup,
    TypedFile,
)
from metspack.checking.eark.faults import Demands, Faults, MediaTypes
from metspack.checking.eark.requirements import (
    CONTENT_CATEGORIES,
    RECORD_IDS,
    RECORD_STATUS,
    Standard,
    Version,
    none_but,
    quoted,
)
from metspack.checking.eark.sip import ONCE

_OTHER = "csip:OTHERCONTENTINFORMATIONTYPE"
_FOLDERS = {DOCUMENTATION: ("CSIPSTR16", "documentation"), SCHEMAS: ("CSIPSTR15", "schemas")}
_MARKS = 100  # terms for the content of files; CITS SIARD has six
_FORMATS = {
    "sip:FILEFORMATNAME": "SIP32",
    "sip:FILEFORMATVERSION": "SIP33",
    "sip:FILEFORMATREGISTRY": "SIP34",
    "sip:FORMATREGISTRY": "SIP34",
    "sip:FILEFORMATKEY": "SIP35",
    "sip:FORMATREGISTRYKEY": "SIP35",
}


class FileSection:
    """Checks the fileSec of one document."""

    def __init__(self, elements: Elements, outline: Outline, faults: Faults, *, is_package: bool) -> None:
        self._outline = outline
        self._faults = faults
        self._is_package = is_package
        self._line = 0
        self._depth = 0
        self._group: StatedFileGroup | None = None
        self._files = 0
        self._open: list[Attributes] = []
        self._lines: list[int] = []
        self._locations: list[int] = []
        self._are_outside = False
        self._is_of_sip = is_package and Standard.SIP in faults.standards
        self._types = MediaTypes(faults)
        self._folder: tuple[str, str] | None = None
        self._section = Demands("mets/fileSec", faults)
        self._of_group = Demands("mets/fileSec/fileGrp", faults)
        self._of_file = Demands("mets/fileSec/fileGrp/file", faults)
        self._of_location = Demands("mets/fileSec/fileGrp/file/FLocat", faults)
        elements.starts |= {
            "fileSec": self._start_section,
            "fileGrp": self._start_group,
            "file": self._start_file,
            "FLocat": self._start_location,
        }
        elements.ends |= {"fileGrp": self._end_group, "file": self._end_file}

    def finish(self) -> None:
        """Check the requirements that need the whole section."""
        outline = self._outline
        if not (outline.has_files and self._is_package and outline.is_complete):
            return
        for rule, kind in (("CSIP60", DOCUMENTATION), ("CSIP113", SCHEMAS), ("CSIP114", REPRESENTATIONS)):
            if not outline.of_kind(kind):
                found = none_but("USE", kind, (each.use for each in outline.groups))
                self._faults.add(rule, self._line, found)

    def takes_types(self, kinds: Iterable[str]) -> bool:
        """Return whether the media types of files that are passed over give no finding."""
        return self._types.are_sound(kinds)

    def _start_section(self, attributes: Attributes, line: int) -> None:
        if self._outline.has_files:
            self._faults.add("CSIP58", line, "another fileSec")
        self._outline.has_files = True
        self._line = line
        self._section.judge(attributes, line)

    def _start_group(self, attributes: Attributes, line: int) -> None:
        self._depth += 1
        if self._depth > 1:
            return
        self._of_group.judge(attributes, line)
        group = StatedFileGroup(
            id=attributes.get("ID", ""),
            use=attributes.get("USE", ""),
            content=attributes.get("csip:CONTENTINFORMATIONTYPE"),
            other=attributes.get(_OTHER),
            line=line,
        )
        self._group, self._files = group, 0
        self._are_outside = True
        self._folder = _FOLDERS.get(group.kind)
        if len(self._outline.groups) < KEPT:
            self._outline.groups.append(group)
        else:
            self._outline.is_complete = False
        if group.kind == REPRESENTATIONS and not group.content:
            self._faults.add("CSIP62", line, "none", group.id)
        if group.content == "OTHER" and not (group.other or "").strip():
            self._faults.add("CSIP63", line, "none", group.id)
        if group.content == siard.TYPE and self._is_package and group.other not in siard.VOCABULARY:
            self._faults.add("SIARD_7", line, quoted(group.other), group.id)

    def _end_group(self) -> None:
        if self._depth == 1 and self._group is not None and not self._files:
            self._faults.add("CSIP66", self._group.line, "none", self._group.id)
        if self._depth == 1 and self._group is not None and self._files and self._are_outside:
            self._outline.outside.add(self._group.id)
        self._depth -= 1

    def _start_file(self, attributes: Attributes, line: int) -> None:
        self._of_file.judge(attributes, line)
        self._types.judge("CSIP68", attributes.get("MIMETYPE", ""), line, attributes.get("ID", ""))
        if self._is_of_sip:
            for name, rule in _FORMATS.items():
                if not attributes.get(name, "x").strip():
                    self._faults.add(rule, line, quoted(attributes[name]), attributes.get("ID", ""))
        self._open.append(attributes)
        self._lines.append(line)
        self._locations.append(0)
        if self._depth == 1:
            self._files += 1
        mark = attributes.get(_OTHER)
        marked = self._outline.marked
        if mark is not None and (mark in marked or len(marked) < _MARKS):
            marked[mark] = marked.get(mark, 0) + 1

    def _start_location(self, attributes: Attributes, line: int) -> None:
        if not self._open:
            return
        self._of_location.judge(attributes, line)
        self._locations[-1] += 1
        href = attributes.get("xlink:href", "")
        if not href.startswith("../"):
            self._are_outside = False
        if self._folder is not None:
            rule, folder = self._folder
            name = self._open[-1].get("ID", "")
            if href.strip() and not _is_in(href, folder):
                self._faults.add(rule, line, quoted(href), name)
            _note_type(self._outline, "CSIP68", self._open[-1], href, line, name)

    def _end_file(self) -> None:
        name, line = self._open.pop().get("ID", ""), self._lines.pop()
        locations = self._locations.pop()
        if locations != 1:
            self._faults.add("CSIP76", line, f"{locations} FLocat", name)


def _note_type(outline: Outline, rule: str, about: Attributes, href: str, line: int, place: str) -> None:  # noqa: PLR0917 -- a row
    kind = about.get("MIMETYPE", "")
    if href and kind and len(outline.typed) < KEPT:
        outline.typed.append(TypedFile(rule=rule, href=href, type=kind, line=line, place=place))


_PLACES = {
    "dmdSec": "mets/dmdSec",
    "digiprovMD": "mets/amdSec/digiprovMD",
    "rightsMD": "mets/amdSec/rightsMD",
}
# For each: the requirements on a reference to a file, and on the file's folder.
_REFERENCE = {"dmdSec": "CSIP21", "digiprovMD": "CSIP35", "rightsMD": "CSIP48"}
_TYPE = {"dmdSec": "CSIP26", "digiprovMD": "CSIP40", "rightsMD": "CSIP53"}
# At the package's root, or in a representation.
_FOLDER = {
    "dmdSec": ("CSIPSTR7", ("metadata", "descriptive")),
    "digiprovMD": ("CSIPSTR6", ("metadata", "preservation")),
}


def _is_in(href: str, *folder: str) -> bool:
    """Return whether a location is below a folder of these names; True for one that is no path."""
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


class Sections:
    """Checks the dmdSec and amdSec of one document."""

    def __init__(self, elements: Elements, outline: Outline, faults: Faults) -> None:
        self._outline = outline
        self._faults = faults
        self._open: tuple[str, Attributes, int] | None = None
        self._references = 0
        self._amd_secs = 0
        self._types = MediaTypes(faults)
        self._section = {name: Demands(place, faults) for name, place in _PLACES.items()}
        self._reference = {name: Demands(f"{place}/mdRef", faults) for name, place in _PLACES.items()}
        elements.starts |= {"amdSec": self._start_administrative, "mdRef": self._start_reference}
        for name in _PLACES:
            elements.starts[name] = self._section_start(name)
            elements.ends[name] = self._end_section

    def _start_administrative(self, attributes: Attributes, line: int) -> None:
        self._amd_secs += 1
        if self._amd_secs > 1:
            self._faults.add("CSIP31", line, "another amdSec")
        if self._amd_secs < KEPT:
            self._outline.administrative.append((attributes.get("ID", ""), set()))
        else:
            self._outline.is_complete = False

    def _section_start(self, name: str) -> Start:
        def start(attributes: Attributes, line: int) -> None:
            self._open = name, attributes, line
            self._references = 0
            self._section[name].judge(attributes, line)
            if name == "digiprovMD":
                self._outline.has_provenance = True
            if attributes.get("STATUS") != "SUPERSEDED" and "ID" in attributes:
                self._keep(name, attributes["ID"])

        return start

    def _keep(self, name: str, identifier: str) -> None:
        outline = self._outline
        if name == "dmdSec":
            kept = outline.descriptive
        elif outline.administrative:
            kept = outline.administrative[-1][1]
        else:
            return  # the schema reports that
        if len(kept) < KEPT:
            kept.add(identifier)
        else:
            outline.is_complete = False

    def _start_reference(self, attributes: Attributes, line: int) -> None:
        if self._open is None:
            return
        name = self._open[0]
        self._references += 1
        self._reference[name].judge(attributes, line)
        place = self._open[1].get("ID", "")
        self._types.judge(_TYPE[name], attributes.get("MIMETYPE", ""), line, place)
        href = attributes.get("xlink:href", "").strip()
        _note_type(self._outline, _TYPE[name], attributes, href, line, place)
        if name in _FOLDER and href:
            rule, folder = _FOLDER[name]
            if not _is_in(href, *folder):
                self._faults.add(rule, line, quoted(href), place)

    def _end_section(self) -> None:
        if self._open is not None and not self._references:
            name, attributes, line = self._open
            self._faults.add(_REFERENCE[name], line, "none", attributes.get("ID", ""))
        self._open = None


def sections_of_references(blocks: Iterable[bytes], found: dict[int, dict[str, str]]) -> None:
    """Fill in the section of each mdRef by its line and location.

    A line on which files begin as well has an empty section too. Raises ``XmlError`` as ``read`` does.
    """
    elements, at = Elements(), [""]

    def enter(name: str) -> Start:
        def start(_attributes: Attributes, _line: int) -> None:
            at[0] = name

        return start

    def refer(attributes: Attributes, line: int) -> None:
        if len(found) < KEPT:
            href = attributes.get("xlink:href", "").strip()
            segments = _segments(href)
            found.setdefault(line, {})[href if segments is None else "/".join(segments)] = at[0]

    def stop(_attributes: Attributes, line: int) -> None:
        found.get(line, {})[""] = ""
        raise ReadingDone

    elements.starts |= {name: enter(name) for name in _PLACES}
    elements.starts |= {"mdRef": refer, "fileSec": stop, "structMap": stop}
    elements.read(blocks)


_CODED = "IDENTIFICATIONCODE"
_VERSION = "SOFTWARE VERSION"
_BODIES = {"ORGANIZATION", "INDIVIDUAL"}
_KINDS = ("ROLE", "TYPE", "OTHERTYPE")


@dataclass(slots=True)
class _AgentElement:
    attributes: Attributes
    line: int
    names: list[str] = field(default_factory=list)
    notes: list[tuple[str, str | None]] = field(default_factory=list)

    def says(self, attribute: str) -> str:
        return self.attributes.get(attribute, "")

    @property
    def is_named(self) -> bool:
        return any(self.names)

    @property
    def software(self) -> int:
        """Return a score: the highest is that of the agent for the software that made the package."""
        return (
            (self.says("ROLE") == "CREATOR")
            + (self.says("TYPE") == "OTHER")
            + 2 * (self.says("OTHERTYPE") == "SOFTWARE")
            + (self.notes[:1] != [] and self.notes[0][1] == _VERSION)
        )


class Header:
    """Checks the root and the metsHdr of one document."""

    def __init__(self, elements: Elements, outline: Outline, faults: Faults, *, is_package: bool) -> None:
        self._elements = elements
        self._outline = outline
        self._faults = faults
        self._is_package = is_package
        self._root = Demands("mets", faults)
        self._header = Demands("mets/metsHdr", faults)
        self._agents: list[_AgentElement] = []
        self._headers = 0
        self._record: tuple[str, int] | None = None
        self._records: set[str] = set()
        elements.starts |= {
            "mets": self._start_mets,
            "metsHdr": self._start_header,
            "agent": self._start_agent,
            "name": self._start_text,
            "note": self._start_note,
            "altRecordID": self._start_record,
        }
        elements.ends |= {
            "name": self._end_name,
            "note": self._end_note,
            "altRecordID": self._end_record,
            "metsHdr": self._end_header,
        }

    def finish(self) -> None:
        """Check the requirements that need the whole document."""
        if not self._headers:
            self._faults.add("CSIP117", self._outline.line, "none")
            self._end_header()

    def _start_mets(self, attributes: Attributes, line: int) -> None:
        if self._outline.line:
            return  # METS in METS is not the package's
        self._outline.root, self._outline.line = attributes, line
        self._root.judge(attributes, line)
        add, get = self._faults.add, attributes.get
        kind = get("TYPE")
        if kind not in CONTENT_CATEGORIES and (kind or "").casefold() != "other":
            add("CSIP2", line, quoted(kind))
        other = get("csip:OTHERTYPE", "").strip()
        if (kind or "").casefold() == "other" and not other:
            add("CSIP3", line, "none")
        elif other in CONTENT_CATEGORIES - {"Other"} and self._faults.version is not Version.V2_0_4:
            add("CSIP3", line, f"{quoted(other)}, which is a term of the vocabulary of TYPE")
        if self._is_package and not get("LABEL", "x").strip():
            add("SIP1", line, quoted(get("LABEL")))
        if not self._outline.content:
            add("CSIP4", line, "none")
        if self._outline.content == "OTHER" and not self._outline.other.strip():
            add("CSIP5", line, "none")

    def _start_header(self, attributes: Attributes, line: int) -> None:
        self._headers += 1
        self._outline.header = attributes
        self._header.judge(attributes, line)
        kind = attributes.get("csip:OAISPACKAGETYPE")
        if self._is_package:
            if not kind:
                self._faults.add("CSIP9", line, "none")
            if kind != "SIP":
                self._faults.add("SIP4", line, quoted(kind))
            status = attributes.get("RECORDSTATUS", "NEW")
            if status not in RECORD_STATUS:
                self._faults.add("SIP3", line, quoted(status))

    def _start_record(self, attributes: Attributes, line: int) -> None:
        rule = RECORD_IDS.get(attributes.get("TYPE", "")) if self._is_package else None
        if rule is not None:
            if rule in self._records and rule in ONCE:
                self._faults.add(rule, line, "another one")
            self._records.add(rule)
            self._record = rule, line
            self._elements.gather()

    def _end_record(self) -> None:
        if self._record is not None:
            rule, line = self._record
            self._record = None
            if not self._elements.end_text():
                self._faults.add(rule, line, "an empty one")

    def _start_agent(self, attributes: Attributes, line: int) -> None:
        if len(self._agents) < KEPT:
            self._agents.append(_AgentElement(attributes, line))

    def _start_text(self, _attributes: Attributes, _line: int) -> None:
        self._elements.gather()

    def _start_note(self, attributes: Attributes, _line: int) -> None:
        if self._agents:
            self._agents[-1].notes.append(("", attributes.get("csip:NOTETYPE")))
        self._elements.gather()

    def _end_name(self) -> None:
        text = self._elements.end_text()
        if self._agents:
            self._agents[-1].names.append(text)

    def _end_note(self) -> None:
        text = self._elements.end_text()
        if self._agents and self._agents[-1].notes:
            _, kind = self._agents[-1].notes.pop()
            self._agents[-1].notes.append((text, kind))

    def _end_header(self) -> None:
        self._judge_software()
        self._judge_submitter()
        for role, rule in (("ARCHIVIST", "SIP9"), ("PRESERVATION", "SIP26")):
            further = [each for each in self._agents if each.says("ROLE") == role][1:]
            if further:
                self._faults.add(rule, further[0].line, f"{len(further) + 1} of them")
        for agent in self._agents:
            role, kind = agent.says("ROLE"), agent.says("TYPE")
            if role == "ARCHIVIST":
                self._judge_body(agent, kind in _BODIES, "SIP11", "SIP12", "SIP14")
            elif role == "PRESERVATION":
                self._judge_body(agent, kind == "ORGANIZATION", "SIP28", "SIP29", "SIP31")
            elif role == "CREATOR" and kind == "INDIVIDUAL" and not agent.is_named:
                self._faults.add("SIP24", agent.line, "none")
        self._agents.clear()

    def _judge_software(self) -> None:
        best = max(self._agents, key=lambda each: each.software, default=None)
        if best is None or best.software < 2:  # noqa: PLR2004 -- one thing alone any agent may have
            found = "none"
            if best is not None:
                said = " ".join(f"{name}={quoted(best.attributes.get(name))}" for name in _KINDS)
                found += f", but an agent with {said}"
            self._faults.add("CSIP10", self._outline.line, found)
            return
        add, line = self._faults.add, best.line
        for rule, attribute, value in (
            ("CSIP11", "ROLE", "CREATOR"),
            ("CSIP12", "TYPE", "OTHER"),
            ("CSIP13", "OTHERTYPE", "SOFTWARE"),
        ):
            if best.says(attribute) != value:
                add(rule, line, quoted(best.attributes.get(attribute)))
        if len(best.names) > 1:
            add("CSIP14", line, f"{len(best.names)} names")
        elif not best.is_named:
            add("CSIP14", line, "none")
        if len(best.notes) != 1 or not best.notes[0][0]:
            add("CSIP15", line, f"{len(best.notes)} notes" if len(best.notes) != 1 else "an empty one")
        elif best.notes[0][1] != _VERSION:
            add("CSIP16", line, quoted(best.notes[0][1]))

    def _judge_submitter(self) -> None:
        named = [each for each in self._agents if each.says("OTHERROLE").casefold() == "submitter"]
        creators = [
            each for each in self._agents if each.says("ROLE") == "CREATOR" and each.says("TYPE") in _BODIES
        ]
        found = named or creators[:1]
        if len(found) != 1:
            line = found[1].line if found else self._outline.line
            self._faults.add("SIP15", line, f"{len(found)} of them" if found else "none")
            return
        agent = found[0]
        if not agent.says("ROLE"):
            self._faults.add("SIP16", agent.line, "none")
        if agent.says("TYPE") == "INDIVIDUAL":
            agent.notes.clear()  # a person's notes may be contact information
        self._judge_body(agent, agent.says("TYPE") in _BODIES, "SIP17", "SIP18", "SIP20")

    def _judge_body(self, agent: _AgentElement, is_typed: bool, kind: str, name: str, note: str) -> None:
        """Judge an agent that is an organisation or a person, by the ids of its requirements."""
        if not is_typed:
            self._faults.add(kind, agent.line, quoted(agent.attributes.get("TYPE")))
        if not agent.is_named:
            self._faults.add(name, agent.line, "none")
        for _, marked in agent.notes:
            if marked != _CODED:
                self._faults.add(note, agent.line, quoted(marked))
