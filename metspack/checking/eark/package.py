"""Check a package's METS, folders and archive against CSIP, E-ARK SIP and CITS SIARD.

The requirements and their codes are large tables, loaded only for packages that claim a standard.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace

from metspack import uris
from metspack.checking import grouping
from metspack.checking.catalogue import Catalogue
from metspack.checking.codes import Code
from metspack.checking.eark import folders, profiles, siard
from metspack.checking.eark.faults import MAY_BREAK_REQUIREMENTS, NAMED, Faults, broken_by
from metspack.checking.eark.folders import FOLDER, PLACED, CataloguedFiles, Claims, Representation
from metspack.checking.eark.outline import Outline, StatedFileGroup
from metspack.checking.eark.profiles import Opening, Profile
from metspack.checking.eark.requirements import Need, Requirement, Standard, quoted
from metspack.checking.files import bags
from metspack.checking.tree import CheckedTree
from metspack.errors import MetspackError
from metspack.files.paths import folder_of, shown
from metspack.layouts.names import ARCHIVE_BYTES, SIARD, is_archive
from metspack.locations import mappingtxt
from metspack.mets import PLAIN_METS
from metspack.model import Finding
from metspack.sources import mediatypes
from metspack.system import os

_STATED = re.compile(r"(.+?) line (\d+)(?:(?:, | and ).*)?", re.DOTALL)
_INVALID = re.compile(
    r"Element '(?:\{[^}]*\})?(\w+)'(?:, attribute|: The attribute) '([\w:]+)'(?:: | is required )"
)
_OUTSIDE = "SELECT path FROM cell WHERE archive = ? AND NOT inside AND path IS NOT NULL ORDER BY id"
_IS_SWAPPED = "SELECT 1 FROM fault WHERE path = ? AND code = ?"
_OK = "SELECT 1 FROM mets WHERE path = ? AND ok"


class Judgement:
    """The judgement of the packages of one catalogue, by the standards that each claims."""

    def __init__(self, catalogue: Catalogue, places: CheckedTree, claims: Claims) -> None:
        self._catalogue = catalogue
        self._holdings = CataloguedFiles(catalogue)
        self._places = places
        self._claims = claims
        self._profile = claims.looking.profile
        self._shared = grouping.SharedFaults("found")

    def findings(self, claimed: Iterable[tuple[bytes, bool, frozenset[Standard]]]) -> Iterator[Finding]:
        """Yield a finding for each requirement that the ``claimed`` packages break.

        A requirement that all METS of packages, or all METS of representations, break in the same way is one
        finding.
        """
        for path, is_elsewhere, standards in claimed:
            yield from self._package(path, standards, is_elsewhere=is_elsewhere)
        yield from self._shared.release()

    def named(self, finding: Finding) -> Finding:
        """Return a finding with the requirement that its fault breaks too, if any."""
        if finding.requirement or finding.code not in MAY_BREAK_REQUIREMENTS:
            return finding
        stated = _STATED.fullmatch(dict(finding.facts).get("source", ""))
        name, line = (stated[1], int(stated[2])) if stated else (finding.path, finding.line)
        mets = name.encode("utf-8", "surrogateescape")
        if not (standards := self._claims.of(mets)):
            return finding
        requirement = self._broken_by(finding, mets, line)
        if requirement is None or requirement.standard not in standards:
            return finding
        return replace(finding, requirement=requirement.id)

    def _broken_by(self, finding: Finding, mets: bytes, line: int) -> Requirement | None:
        code, facts = finding.code, dict(finding.facts)
        if is_archive(shown(mets)):
            return broken_by(code, "")
        element, attribute = facts.get("element"), facts.get("attribute")
        outline = self._claims.outline(mets) or Outline()
        if code == Code.NOT_VALID.id:
            # No requirement covers content, or unknown attributes.
            invalid = _INVALID.match(facts.get("reason", ""))
            element, attribute = invalid.groups() if invalid else ("", "")
        elif code == Code.ID_TWICE.id and element == "div":
            return NAMED.get(outline.identified.get((line, facts["found"]), ""))
        elif code == Code.CHILD_MISSING.id:
            above = folder_of(mets) + FOLDER
            inside = facts.get("expected", "").encode("utf-8", "surrogateescape").startswith(above)
            element = "mptr" if inside else ""
        elif code == Code.METS_MISSING.id:
            element = ""
        if element in {None, "mdRef"} and (sections := outline.references.get(line)):
            href = facts.get("href", finding.path.removeprefix(shown(folder_of(mets))))
            kinds = set(sections.values())
            section = sections.get(href) or (kinds.pop() if len(kinds) == 1 else "")
            if not section and finding.path == shown(mets):
                return None  # the element on the line is unclear
            element = f"{section}/mdRef" if section else element
        for each in ("file", "FLocat") if element is None else (element,):
            if (found := broken_by(code, each, attribute)) is not None:
                return found
        return None

    def _package(
        self, path: bytes, standards: frozenset[Standard], *, is_elsewhere: bool
    ) -> Iterator[Finding]:
        """Yield the findings on a package's METS, then on those of its representations."""
        folder = folder_of(path)
        # All files are compared with METS, except those of representations.
        self._places.agreement.put_all_back(representations=False)
        opening = self._claims.opening(path)
        faults = self._faults(standards, opening)
        outline = self._claims.outline(path, faults)
        if outline is None:
            return
        name = shown(folder[:-1]).rpartition("/")[2] if folder else self._claims.root
        # A package in another's folder has the name of that one.
        is_swapped = self._catalogue.has(_IS_SWAPPED, shown(path), Code.CHILDREN_SWAPPED.id)
        is_unknown = is_elsewhere or is_swapped or (not folder and bags.is_payload(self._places.base))
        _judge_profile(outline, faults, self._profile, opening)
        checked = folders.FolderCheck(self._holdings, path, outline, faults)
        checked.judge_package(None if name and is_unknown else name)
        found = folders.representations(self._holdings, folder)
        self._judge_types(folder, outline, faults)
        if Standard.SIARD in standards:
            _judge_databases(outline, found, faults)
        yield from self._shared.take("packages", faults.findings(shown(path)))
        for each in found:
            yield from self._representation(each, outline.group_of(each.name), opening)

    def _faults(self, standards: frozenset[Standard], found: Opening, above: Opening | None = None) -> Faults:
        """Return an empty record of faults; an unlisted version that no option chose is uncertain."""
        version, nearness = profiles.version_of(found, above)
        is_certain = self._profile is not Profile.AUTO or not nearness
        return Faults(standards, version, is_certain=is_certain)

    def _representation(
        self, each: Representation, group: StatedFileGroup | None, package: Opening
    ) -> Iterator[Finding]:
        if each.mets is None or not self._catalogue.has(_OK, each.mets):
            return
        is_database = group is not None and (group.content or "").lower().startswith("citssiard")
        opening = self._claims.opening(each.mets)
        standards = profiles.of_representation(self._profile, opening, is_database=is_database)
        faults = self._faults(standards, opening, package)
        outline = self._claims.outline(each.mets, faults)
        if outline is None:
            return
        _judge_profile(outline, faults, self._profile, opening, package)
        folders.FolderCheck(self._holdings, each.mets, outline, faults).judge_representation()
        self._judge_types(each.folder, outline, faults)
        if Standard.SIARD in standards:
            self._judge_database(each, group, outline, faults)
        yield from self._shared.take("representations", faults.findings(shown(each.mets)))

    def _judge_types(self, folder: bytes, outline: Outline, faults: Faults) -> None:
        """Compare media types of metadata files, documentation and schemas with the first bytes."""
        for rule, href, kind, line, place in outline.typed:
            try:
                path = self._places.resolved(folder + os.fsencode(PLAIN_METS), uris.located(href))
                with self._places.content(path) as content:
                    head = next(iter(content.blocks()), b"")
            except (OSError, MetspackError):
                continue  # its fault has been reported
            if (actual := mediatypes.another_type(kind, head)) is not None:
                form = f"no {mediatypes.essence(kind)}" if actual == mediatypes.DEFAULT else actual
                faults.add(rule, line, f"{quoted(kind)} for {quoted(href)}, which is {form}", place)

    def _judge_database(
        self, each: Representation, group: StatedFileGroup | None, outline: Outline, faults: Faults
    ) -> None:
        """Record requirements of CITS SIARD that a representation breaks; ``group`` is its fileGrp."""
        _judge_names(outline, faults, "SIARD_9", "SIARD_10")
        line, held = outline.line, outline.other
        if held not in siard.VOCABULARY:
            faults.add("SIARD_11", line, quoted(held or None))
        if group is not None and (group.other or "") != held:
            faults.add("SIARD_14", line, f"{quoted(held or None)} and {quoted(group.other)}")
        if held in siard.VOCABULARY and held != siard.LOBS and outline.marked.get(held, 0) != 1:
            faults.add("SIARD_13", line, f"{outline.marked.get(held, 0):,} of them")
        if held in siard.VERSIONS:
            self._judge_archive(each, held, faults, line)
        elif held == siard.DUMP:
            self._places.agreement.put_all_back()  # any file will do
            if next(self._holdings.files(each.folder + b"data/"), None) is None:
                faults.add("SIARD_20", line, "none")
            if not outline.has_provenance:
                faults.add("SIARD_21", line, "none")
        self._judge_mapping(each, faults, line)

    def _archives(self, each: Representation) -> list[bytes]:
        data = each.folder + b"data/"
        files = (name for name, is_folder in self._holdings.children(data) if not is_folder)
        # The first part stands for an archive in parts.
        return [data + n for n in files if (found := ARCHIVE_BYTES.fullmatch(n)) and int(found[2] or 1) == 1]

    def _judge_archive(self, each: Representation, held: str, faults: Faults, line: int) -> None:
        archives = self._archives(each)
        if not archives:
            faults.add("SIARD_15", line, "none")
        for path in archives:
            is_whole = path.lower().endswith(SIARD.encode()) and self._places.below(path) is not None
            row = self._catalogue.row("SELECT version FROM holding WHERE archive = ?", path)
            if is_whole and row is not None and f"SIARD_{row[0]}" != held:
                faults.add("SIARD_16", line, f"{quoted(held)}, {shown(path)} is of version {row[0]}")
            self._judge_lobs(each, path, held, faults, line)

    def _judge_lobs(self, each: Representation, archive: bytes, held: str, faults: Faults, line: int) -> None:
        same = b"/" + FOLDER + each.name.encode("utf-8", "surrogateescape") + b"/"
        for data, _, are_placed in list(self._places.agreement.data_folders()):
            is_sound = are_placed or held != siard.VERSIONS[-1]
            if not is_sound or same not in b"/" + data + b"/":
                self._places.agreement.put_all_back()  # the finding names the cell
        for (path,) in self._catalogue.rows(_OUTSIDE, archive):
            if same not in b"/" + path:
                faults.add("SIARD_22", line, quoted(shown(path)))
            above, _, below = shown(path).partition("_lobs/")
            if held == siard.VERSIONS[-1] and below and not PLACED.fullmatch(below):
                faults.add("SIARD_22b", line, quoted(f"{above}_lobs/{below}"))

    def _judge_mapping(self, each: Representation, faults: Faults, line: int) -> None:
        beside = {path.rpartition(b"/")[0] for path in self._archives(each)}
        for path in self._holdings.files(each.folder + b"data/"):
            folder, _, name = path.rpartition(b"/")
            if name == mappingtxt.NAME.encode() and folder not in beside:
                faults.add("SIARD_19b", line, quoted(shown(path)))


def _judge_profile(
    outline: Outline, faults: Faults, profile: Profile, opening: Opening, package: Opening | None = None
) -> None:
    """Record that a METS does not name a standard's profile; any standard it may follow will do.

    An unlisted version that the METS of the ``package`` names too is recorded there.
    """
    named = outline.root.get("PROFILE", "")
    note = opening.nearness and f"{opening.nearness}; judged by {faults.version.value}"
    is_auto = profile is Profile.AUTO
    wanted = siard.ROOT_PROFILE if outline.is_package else siard.REPRESENTATION_PROFILE
    if named != wanted and not (is_auto and profiles.is_eark(named)):
        faults.add("SIARD_5" if outline.is_package else "SIARD_12", outline.line, quoted(named))
    for line, label in outline.unlike:
        faults.add("CSIP86", line, label)
    if named not in profiles.SIP_PROFILES and not (is_auto and named == siard.ROOT_PROFILE):
        faults.add("SIP2", outline.line, f"{quoted(named)}{note}")
    is_new = package is None or package.root.get("PROFILE") != opening.root.get("PROFILE")
    if note and is_new and Standard.SIP not in faults.standards:
        faults.add("CSIP6", outline.line, f"{quoted(named)}{note}", need=Need.MAY)


def _judge_databases(outline: Outline, found: list[Representation], faults: Faults) -> None:
    """Record the requirements of CITS SIARD that a package's METS breaks."""
    line, root = outline.line, outline.root
    if not any(each.mets for each in found):
        faults.add("SIARD_1", line, "none")
    _judge_names(outline, faults, "SIARD_2", "SIARD_3")
    if "csip:OTHERCONTENTINFORMATIONTYPE" in root:
        faults.add("SIARD_4", line, quoted(outline.other))
    if not outline.is_complete:
        return
    groups = [each for each in outline.groups if each.content == siard.TYPE]
    if not any(each.kind == "Representations" for each in groups):
        faults.add("SIARD_6", line, "none")
    divided = outline.representations
    for group in groups:
        if group.representation and group.representation not in divided:
            faults.add("SIARD_8", group.line, "none", group.id)


def _judge_names(outline: Outline, faults: Faults, kind: str, content: str) -> None:
    if outline.root.get("TYPE") != "Databases":
        faults.add(kind, outline.line, quoted(outline.root.get("TYPE")))
    if outline.content != siard.TYPE:
        faults.add(content, outline.line, quoted(outline.content or None))
