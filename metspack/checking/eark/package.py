"""A package against CSIP, E-ARK SIP and CITS SIARD: each of its METS documents, its folders, its archive."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from metspack import safexml
from metspack.checking import grouping
from metspack.checking.catalogue import Catalogue, shown
from metspack.checking.codes import Code
from metspack.checking.eark import folders, profiles, siard
from metspack.checking.eark.document import DOCUMENTATION, SCHEMAS, Elements, Outline, StatedFileGroup
from metspack.checking.eark.faults import Faults, quoted
from metspack.checking.eark.folders import CataloguedFiles, Representation
from metspack.checking.eark.header import Header
from metspack.checking.eark.profiles import Opening, Profile
from metspack.checking.eark.requirements import Standard
from metspack.checking.eark.sections import FileSection, Sections
from metspack.checking.eark.structmap import Structure
from metspack.checking.opening import CheckedTree
from metspack.checking.options import Looking
from metspack.checking.segments import Unsettled
from metspack.containers.zipreader import ZipContainer
from metspack.errors import MetspackError, SourceError
from metspack.layouts.names import ARCHIVE_BYTES, SIARD
from metspack.locations import mappingtxt
from metspack.mets.fastreader import Run, condensed
from metspack.mets.reader import File
from metspack.model import Budgets, Finding
from metspack.siard import metadata

_OUTSIDE = "SELECT path FROM cell WHERE archive = ? AND NOT inside AND path IS NOT NULL ORDER BY id"
_PLACED = re.compile(r"s\d+_t\d+_c\d+/seg_\d+/t\d+_c\d+(?:_[a-z]\d+)*_r\d+\.\w+")
"""A LOB in its segment, or a part of one: the suffix of a part is such as can stand in an extension."""


def surveyed(
    blocks: Callable[[], Iterable[bytes]], faults: Faults, *, is_package: bool, budgets: Budgets
) -> Outline:
    """Read a METS document and return its outline; broken requirements go to ``faults``.

    ``is_package`` is false for the METS of a representation; ``blocks`` gives the document from its start.
    Raises ``XmlError`` for what is not well-formed, or not METS within the budgets.
    """
    quick = _Survey(Faults(faults.standards), is_package=is_package)
    if quick.is_told_by(blocks(), budgets):
        return quick.outline
    exact = _Survey(faults, is_package=is_package)
    exact.elements.read(blocks())
    exact.finish()
    return exact.outline


class _Survey:
    def __init__(self, faults: Faults, *, is_package: bool) -> None:
        self.elements = Elements()
        self.outline = Outline()
        self._faults = faults
        given = (self.elements, self.outline, faults)
        self._header = Header(*given, is_package=is_package)
        Sections(*given)
        self._files = FileSection(*given, is_package=is_package)
        self._structure = Structure(*given, is_package=is_package)

    def is_told_by(self, blocks: Iterable[bytes], budgets: Budgets) -> bool:
        """Read a document in runs; return whether that is all there is to say of it: nothing is broken."""
        self.elements.begin()
        for each in condensed(blocks, budgets, sink=self.elements.feed):
            if isinstance(each, Run) and not _are_alike(each):
                return False
        self.elements.feed(b"", final=True)
        self.finish()
        return not self._faults

    def finish(self) -> None:
        """Check the requirements that need the whole document."""
        self._header.finish()
        self._files.finish()
        self._structure.finish()


def _are_alike(run: Run) -> bool:
    """Whether nothing can be said of an element in a run that is not said of the one before it.

    Pointers, and where documentation and schemas lie, are looked at one by one.
    """
    if not isinstance(run.fact, File) or any("" in column for column in run.columns.values()):
        return False
    return not any(group.startswith((DOCUMENTATION, SCHEMAS)) for group in run.fact.groups)


_DOCUMENTS = "SELECT path, found IS NOT NULL FROM mets WHERE ok ORDER BY id"
_IS_SWAPPED = "SELECT 1 FROM fault WHERE path = ? AND code = ?"
_OK = "SELECT 1 FROM mets WHERE path = ? AND ok"


@dataclass(frozen=True, slots=True, kw_only=True)
class PackageRoot:
    """The root of the package under check: its folder's name, and whether it has a folder of its own."""

    name: str
    is_rooted: bool


def _is_representation(path: bytes) -> bool:
    return path.lower().split(b"/")[-3:-2] == [folders.FOLDER[:-1]]


class StandardsCheck:
    """Checks the packages of one catalogue against the standards, once their METS documents are in it."""

    def __init__(
        self, catalogue: Catalogue, places: CheckedTree, root: PackageRoot, looking: Looking
    ) -> None:
        self._catalogue = catalogue
        self._holdings = CataloguedFiles(catalogue)
        self._places = places
        self._root = root
        self._profile = looking.profile
        self._budgets = looking.budgets
        self._database = _DatabaseCheck(catalogue, places, looking)
        self._shared = grouping.SharedFaults("rule", "found")

    @property
    def is_eark(self) -> bool:
        """Whether the folder that is checked is itself a package held against any of the standards."""
        row = self._catalogue.row("SELECT path FROM mets WHERE id = 1 AND ok AND folder = ?", b"")
        return row is not None and bool(self._standards(row[0]))

    def findings(self) -> Iterator[Finding]:
        """Yield a finding for each requirement that the METS documents break.

        Each is read once more, those that follow none not beyond their header. What all METS of packages, or
        all of representations, break alike is one finding.
        """
        if self._profile is Profile.RECOMMENDATION:
            return
        for path, is_elsewhere in self._catalogue.rows(_DOCUMENTS):
            if not _is_representation(path):
                yield from self._package(path, is_elsewhere=bool(is_elsewhere))
        yield from self._shared.release()

    def _standards(self, path: bytes) -> frozenset[Standard]:
        folder = path[: path.rfind(b"/") + 1]
        is_laid_out = path.endswith(folders.METS) and self._holdings.has_folder(folder + folders.FOLDER[:-1])
        return profiles.of_package(self._profile, self._opening(path), is_laid_out=is_laid_out)

    def _package(self, path: bytes, *, is_elsewhere: bool) -> Iterator[Finding]:
        """Yield what is wrong with a package's METS, then with those of its representations."""
        folder = path[: path.rfind(b"/") + 1]
        standards = self._standards(path)
        if not standards:
            return
        if self._places.agreement is not None:
            raise Unsettled  # the folders' files are held against them
        faults = Faults(standards)
        outline = self._survey(path, faults, is_package=True)
        if outline is None:
            return
        name: str | None = shown(folder[:-1]).rpartition("/")[2] if folder else self._root.name
        if is_elsewhere or self._is_swapped(path):
            name = None
        profiles.judge(outline, faults, self._profile, is_package=True)
        is_rooted = bool(folder) or self._root.is_rooted
        folders.judge_package(self._holdings, path, outline, faults, name=name, is_rooted=is_rooted)
        found = folders.representations(self._holdings, folder)
        if Standard.SIARD in standards:
            _judge_databases(outline, found, faults)
        yield from self._shared.take("packages", faults.findings(shown(path)))
        for each in found:
            yield from self._representation(each, outline.group_of(each.name))

    def _is_swapped(self, path: bytes) -> bool:
        """Whether a package is told to lie in another's folder, whose name then is not its own."""
        return self._catalogue.row(_IS_SWAPPED, shown(path), Code.CHILDREN_SWAPPED.id) is not None

    def _representation(self, each: Representation, group: StatedFileGroup | None) -> Iterator[Finding]:
        if each.mets is None or self._catalogue.row(_OK, each.mets) is None:
            return
        is_database = group is not None and _is_database(group)
        opening = self._opening(each.mets)
        standards = profiles.of_representation(self._profile, opening, is_database=is_database)
        faults = Faults(standards)
        outline = self._survey(each.mets, faults, is_package=False)
        if outline is None:
            return
        profiles.judge(outline, faults, self._profile, is_package=False)
        folders.judge_representation(self._holdings, each.mets, outline, faults)
        if Standard.SIARD in standards:
            self._database.judge(each, group, outline, faults)
        yield from self._shared.take("representations", faults.findings(shown(each.mets)))

    def _opening(self, path: bytes) -> Opening:
        try:
            with self._places.content(path) as content:
                return profiles.opening(content.blocks())
        except (OSError, MetspackError):
            return Opening()  # what is wrong with it has been told

    def _survey(self, path: bytes, faults: Faults, *, is_package: bool) -> Outline | None:
        try:
            with self._places.content(path) as content:
                return surveyed(content.blocks, faults, is_package=is_package, budgets=self._budgets)
        except (OSError, MetspackError):
            return None


def _is_database(group: StatedFileGroup) -> bool:
    return (group.content or "").lower().startswith("citssiard")


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


class _DatabaseCheck:
    """The check of one representation; ``group`` is its fileGrp in the package's METS, None if missing."""

    def __init__(self, catalogue: Catalogue, places: CheckedTree, looking: Looking) -> None:
        self._catalogue = catalogue
        self._holdings = CataloguedFiles(catalogue)
        self._places = places
        self._budgets = looking.budgets
        self._opens = looking.level.opens_archives

    def judge(
        self, each: Representation, group: StatedFileGroup | None, outline: Outline, faults: Faults
    ) -> None:
        """Record the requirements that a representation and its METS break."""
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
            if next(self._holdings.files(each.folder + b"data/"), None) is None:
                faults.add("SIARD_20", line, "none")
            if not outline.has_provenance:
                faults.add("SIARD_21", line, "none")
        self._judge_mapping(each, faults, line)

    def _archives(self, each: Representation) -> list[bytes]:
        data = each.folder + b"data/"
        files = (name for name, is_folder in self._holdings.children(data) if not is_folder)
        # Of one in parts the first stands for all.
        return [data + n for n in files if (found := ARCHIVE_BYTES.fullmatch(n)) and int(found[2] or 1) == 1]

    def _judge_archive(self, each: Representation, held: str, faults: Faults, line: int) -> None:
        archives = self._archives(each)
        if not archives:
            faults.add("SIARD_15", line, "none")
        for path in archives:
            version = self._version(path)
            if version is not None and f"SIARD_{version}" != held:
                faults.add("SIARD_16", line, f"{quoted(held)}, {shown(path)} is of version {version}")
            self._judge_lobs(each, path, held, faults, line)

    def _version(self, path: bytes) -> str | None:
        """Return the SIARD version of an archive, None for one that is not read."""
        where = self._places.below(path)
        if not self._opens or where is None or not path.lower().endswith(SIARD.encode()):
            return None
        try:
            with ZipContainer.opened(where, self._budgets) as container:
                extent = container.extent(metadata.NAME)
                if extent is None or extent.size > self._budgets.metadata:
                    return None
                return metadata.read(b"".join(container.contents(extent))).version
        except (SourceError, safexml.XmlError, OSError):
            return None  # what is wrong with it has been told

    def _judge_lobs(self, each: Representation, archive: bytes, held: str, faults: Faults, line: int) -> None:
        same = b"/" + folders.FOLDER + each.name.encode("utf-8", "surrogateescape") + b"/"
        for (path,) in self._catalogue.rows(_OUTSIDE, archive):
            if same not in b"/" + path:
                faults.add("SIARD_22", line, quoted(shown(path)))
            above, _, below = shown(path).partition("_lobs/")
            if held == siard.VERSIONS[-1] and below and not _PLACED.fullmatch(below):
                faults.add("SIARD_22b", line, quoted(f"{above}_lobs/{below}"))

    def _judge_mapping(self, each: Representation, faults: Faults, line: int) -> None:
        beside = {path.rpartition(b"/")[0] for path in self._archives(each)}
        for path in self._holdings.files(each.folder + b"data/"):
            folder, _, name = path.rpartition(b"/")
            if name == mappingtxt.NAME.encode() and folder not in beside:
                faults.add("SIARD_19b", line, quoted(shown(path)))
