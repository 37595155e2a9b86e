"""A package against CSIP, E-ARK SIP and CITS SIARD: each of its METS documents, its folders, its archive."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from metspack.checking import grouping
from metspack.checking.catalogue import Catalogue, shown
from metspack.checking.codes import Code
from metspack.checking.eark import citssiard, folders, profiles
from metspack.checking.eark.citssiard import Database
from metspack.checking.eark.document import DOCUMENTATION, SCHEMAS, Elements, Outline, StatedFileGroup
from metspack.checking.eark.faults import Faults
from metspack.checking.eark.folders import CataloguedFiles, Representation
from metspack.checking.eark.header import Header
from metspack.checking.eark.profiles import Opening, Profile
from metspack.checking.eark.requirements import Standard
from metspack.checking.eark.sections import FileSection, Sections
from metspack.checking.eark.structmap import Structure
from metspack.checking.opening import CheckedTree
from metspack.checking.options import Looking
from metspack.errors import MetspackError
from metspack.mets.fastreader import Run, condensed
from metspack.mets.reader import File
from metspack.model import Budgets, Finding


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
        self._database = Database(catalogue, places, looking)
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
            citssiard.judge_package(outline, found, faults)
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
