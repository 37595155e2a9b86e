"""Check a package's folders against CSIP and METS, and find the standards that METS claim."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from metspack import safexml
from metspack.checking.catalogue import Catalogue
from metspack.checking.eark import profiles
from metspack.checking.eark.outline import REPRESENTATIONS, Outline
from metspack.checking.eark.profiles import Opening, Profile
from metspack.checking.eark.requirements import USES, Need, Standard, Version, none_but, quoted
from metspack.checking.held import AgreedSegment
from metspack.checking.options import Level, Looking
from metspack.checking.tree import CheckedTree
from metspack.containers.ipreader import Content
from metspack.errors import MetspackError
from metspack.files.paths import folder_of, shown, span_below
from metspack.mets import CSIP_METS, REPRESENTATIONS_FOLDER, is_mets_name
from metspack.packages.delivery import DeliveredPackage
from metspack.system import os

if TYPE_CHECKING:
    from metspack.checking.eark.faults import Faults
    from metspack.checking.eark.survey import Survey

_DOCUMENTS = "SELECT path, found IS NOT NULL FROM mets WHERE ok ORDER BY id"
_FIRST = "SELECT path, kind FROM disk WHERE path > ? AND path < ? ORDER BY path LIMIT 1"
_NOT_REFERRED = """
SELECT d.path FROM disk d WHERE d.path > ? AND d.path < ? AND d.kind = 'f'
AND NOT EXISTS (SELECT 1 FROM entry e WHERE e.path = d.path AND e.element = 'mdRef') ORDER BY d.path
"""


class CataloguedFiles:
    """The files of one catalogue; ``folder`` is bytes with a last slash, empty for the root."""

    def __init__(self, catalogue: Catalogue) -> None:
        self._catalogue = catalogue

    def has_folder(self, path: bytes) -> bool:
        """Return whether a folder, or a file or folder below it, exists."""
        return self._catalogue.is_folder(path) or self._first(*span_below(path + b"/")) is not None

    def children(self, folder: bytes) -> Iterator[tuple[bytes, bool]]:
        """Yield the names right below a folder, each with whether it is a folder, in order of names."""
        at, end = span_below(folder)
        folders: set[bytes] = set()  # the content of one may come after its neighbours: "a", "a.txt", "a/b"
        while (row := self._first(at, end)) is not None:
            at, kind = row
            name, slash, _ = at[len(folder) :].partition(b"/")
            if slash:
                at = folder + name + b"0"
            if not slash and kind != "d":
                yield name, False
            elif name not in folders:
                folders.add(name)
                yield name, True

    def mets_in(self, folder: bytes) -> bytes | None:
        """Return a folder's METS in any spelling, METS.xml before others, or None without one."""
        names = (name for name, is_folder in self.children(folder) if not is_folder and is_mets_name(name))
        return min((folder + name for name in names), default=None)

    def files(self, folder: bytes) -> Iterator[bytes]:
        """Return the paths of all files below a folder."""
        sql = "SELECT path FROM disk WHERE path > ? AND path < ? AND kind = 'f' ORDER BY path"
        return (path for (path,) in self._catalogue.rows(sql, *span_below(folder)))

    def not_referred(self, folder: bytes) -> Iterator[bytes]:
        """Return the files below a folder that no mdRef names."""
        return (path for (path,) in self._catalogue.rows(_NOT_REFERRED, *span_below(folder)))

    def _first(self, after: bytes, end: bytes) -> tuple[bytes, str] | None:
        row = self._catalogue.row(_FIRST, after, end)
        return None if row is None else (row[0], row[1])


METS = CSIP_METS.encode()
FOLDER = f"{REPRESENTATIONS_FOLDER}/".encode()
_NO_OPENING = Opening()
_LIKE = re.compile(r"[^0-9a-z]+")
PLACED = re.compile(r"s\d+_t\d+_c\d+/seg_\d+/t\d+_c\d+(?:_[a-z]\d+)*_r\d+\.\w+")
"""A LOB in its segment, or a part of one; a part's suffix is a valid end of an extension."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Representation:
    """A representation's folder on disk: its name, its path with a last slash, its METS if any."""

    name: str
    folder: bytes
    mets: bytes | None


def representations(holdings: CataloguedFiles, folder: bytes) -> list[Representation]:
    """Return the representations of the package in a folder, in order of names."""
    above = folder + FOLDER
    return [
        Representation(
            name=shown(name), folder=above + name + b"/", mets=holdings.mets_in(above + name + b"/")
        )
        for name, is_folder in holdings.children(above)
        if is_folder
    ]


class FolderCheck:
    """The check of a folder, of a package or a representation, against CSIP and its METS."""

    def __init__(self, holdings: CataloguedFiles, mets: bytes, outline: Outline, faults: Faults) -> None:
        self._holdings = holdings
        self._mets, self._folder = mets, folder_of(mets)
        self._outline, self._faults = outline, faults
        self._line = outline.line

    def judge_package(self, name: str | None) -> None:
        """Record the requirements that a package's folders and its METS's entries for them break.

        ``name`` is that of the package's folder, empty for a pack without a folder, None if uncertain.
        """
        folder, line, add = self._folder, self._line, self._faults.add
        objid = self._outline.root.get("OBJID", "")
        if name == "":
            add("CSIPSTR1", line, "none")
        elif name is not None and objid and _comparable(name) != _comparable(objid):
            add("CSIPSTR2", line, f"{quoted(name)} for the OBJID {quoted(objid)}")
        if self._mets != folder + METS:
            add("CSIPSTR4", line, quoted(shown(self._mets.removeprefix(folder))))
        self._judge_folder(folder, "metadata", "CSIPSTR5")
        self._judge_folder(folder, REPRESENTATIONS_FOLDER, "CSIPSTR9")
        for each, is_folder in self._holdings.children(folder + FOLDER):
            if not is_folder:
                add("CSIPSTR10", line, f"the file {quoted(shown(each))}")
        found = representations(self._holdings, folder)
        for one in found:
            self._judge_folder(one.folder, "data", "CSIPSTR11", one.name)
            if one.mets is None or not one.mets.endswith(b"/" + METS):
                spelled = None if one.mets is None else shown(one.mets.rpartition(b"/")[2])
                add("CSIPSTR12", line, quoted(spelled), one.name)
            self._judge_folder(one.folder, "metadata", "CSIPSTR13", one.name)
        if self._outline.is_complete:
            self._judge_against_mets(found)
        self._judge_content()

    def judge_representation(self) -> None:
        """Record the requirements that a representation's METS breaks with regard to its folder."""
        name = shown(self._folder[:-1].rpartition(b"/")[2])
        objid = self._outline.root.get("OBJID", "")
        if objid.strip() and _comparable(name) != _comparable(objid):
            found = f"{quoted(objid)} for the folder {quoted(name)}"
            self._faults.add("CSIP1", self._line, found, need=Need.SHOULD)
        self._judge_content()

    def _judge_content(self) -> None:
        """Record metadata without mdRef, files without fileSec, and USEs without a folder."""
        holdings, folder, outline, add = self._holdings, self._folder, self._outline, self._faults.add
        for rule, below in (("CSIP17", b"metadata/descriptive/"), ("CSIP32", b"metadata/preservation/")):
            for path in holdings.not_referred(folder + below):
                add(rule, self._line, f"no mdRef for {quoted(shown(path))}")
        for name, _ in holdings.children(folder) if not outline.has_files else ():
            if name.lower() not in {METS.lower(), b"metadata"}:
                add("CSIP58", self._line, f"none, and {quoted(shown(name))}")
        for group in outline.groups:
            if group.use.strip() and group.use not in USES and group.id not in outline.outside:
                names = _named_folders(group.use.encode("utf-8", "surrogateescape"), folder, outline)
                if not any(each == b"." or holdings.has_folder(folder + each) for each in names):
                    add("CSIP64", group.line, f"{quoted(group.use)}, where no folder is", group.id)

    def _judge_folder(self, folder: bytes, wanted: str, rule: str, place: str = "") -> None:
        """Record a missing folder with the nearest existing one."""
        if not self._holdings.has_folder(folder + wanted.encode()):
            seen = (shown(name) for name, is_folder in self._holdings.children(folder) if is_folder)
            self._faults.add(rule, self._line, none_but("a folder", wanted, seen), place)

    def _judge_against_mets(self, found: Iterable[Representation]) -> None:
        outline, add, line = self._outline, self._faults.add, self._line
        names = {each.name for each in found}
        uses = [each.use for each in outline.groups]
        grouped = {each.representation for each in outline.groups}
        # Until 2.0.4 the USE was Representations, and no more.
        is_grouped = self._faults.version is Version.V2_0_4 and REPRESENTATIONS in uses
        divided = outline.representations
        for each in found:
            use = f"{REPRESENTATIONS}/{each.name}"
            if each.name not in grouped and outline.has_files and not is_grouped:
                add("CSIP114", line, none_but("USE", use, uses), each.name)
            if each.name in divided:
                if each.mets is not None and use in outline.unpointed:
                    add("CSIP109", outline.divided[use], "none", use)
                    if not outline.unpointed[use]:
                        add("CSIP106", outline.divided[use], "none", use)
            elif each.mets is not None:
                add("CSIP105", line, none_but("LABEL", use, outline.labels), each.name)
            elif REPRESENTATIONS not in outline.divided:
                add("CSIP101", line, none_but("LABEL", REPRESENTATIONS, outline.labels), each.name)
        for label, at in outline.divided.items():
            if "/" in label and label.split("/")[1] not in names:
                add("CSIP107", at, f"{quoted(label)}, a folder that is not there")


def _named_folders(use: bytes, folder: bytes, outline: Outline) -> list[bytes]:
    """Return the folders that the USE of a fileGrp may name."""
    first, slash, below = use.strip(b"/").partition(b"/")
    if outline.is_package or first.lower() + slash != FOLDER:
        return [first + slash + below, first.lower() + slash + below]
    named, _, inside = below.partition(b"/")  # from the package's root on
    name = folder[:-1].rpartition(b"/")[2]
    return [inside or b"."] if named.lower() == name.lower() else []


def _comparable(name: str) -> str:
    return _LIKE.sub("_", name.casefold()).strip("_")


class Claims:
    """The claims of the METS documents in the catalogue of one package."""

    def __init__(
        self, catalogue: Catalogue, places: CheckedTree, looking: Looking, package: DeliveredPackage
    ) -> None:
        self._catalogue = catalogue
        self._holdings = CataloguedFiles(catalogue)
        self._places = places
        self.looking = looking
        self._package = package
        self._openings: dict[bytes, Opening] = {}
        self._outlines: dict[bytes, Outline] = {}
        self._faults: dict[bytes, Faults] = {}
        self.of = cache(self._standards_of)

    def packages(self) -> Iterator[tuple[bytes, bool, frozenset[Standard]]]:
        """Yield each package METS that claims standards, whether it is elsewhere, and the standards."""
        if self.looking.profile is not Profile.RECOMMENDATION:
            for path, is_elsewhere in self._catalogue.rows(_DOCUMENTS):
                if not _is_inside(path) and (standards := self.of_package(path)):
                    yield path, bool(is_elsewhere), standards

    @property
    def root(self) -> str:
        """The name of the package's folder, "" for a pack without a folder."""
        each = self._package
        return each.within.rpartition("/")[2] if each.is_packed else each.path.resolve().name or "/"

    def of_root(self) -> frozenset[Standard]:
        """Return the standards of the checked folder, an empty set without a METS."""
        each = self._package
        is_of_several = not each.is_packed and (each.ips or each.members)
        top = folder_of(os.fsencode(each.mets or "")) if is_of_several else b""
        row = self._catalogue.row("SELECT path FROM mets WHERE id = 1 AND ok AND folder = ?", top)
        return frozenset() if row is None else self.of_package(row[0])

    def of_package(self, path: bytes) -> frozenset[Standard]:
        """Return the standards that hold for the METS of a package."""
        folder = folder_of(path)
        is_laid_out = path.endswith(METS) and self._holdings.has_folder(folder + FOLDER[:-1])
        return profiles.of_package(self.looking.profile, self.opening(path), is_laid_out=is_laid_out)

    def opening(self, path: bytes) -> Opening:
        """Return the attributes of a METS's root and header, empty ones if it is unreadable."""
        if path not in self._openings:
            with suppress(OSError, MetspackError), self._places.content(path) as content:
                self._keep_opening(path, profiles.opening(content.blocks()))
        return self._openings.get(path, _NO_OPENING)  # its fault has been reported

    def _keep_opening(self, path: bytes, found: Opening) -> None:
        self._openings[path] = found if found.is_csip else _NO_OPENING

    def keep(self, segment: AgreedSegment) -> None:
        """Keep what a held METS states; its files may be put back before it is judged."""
        self._keep_opening(segment.mets, segment.opening)
        if segment.outline is not None:
            self._outlines[segment.mets] = segment.outline

    def survey(self, path: bytes, content: Content) -> Survey | None:
        """Begin the survey of a METS that is read, and return it, or None without a standard."""
        if self.looking.profile is Profile.RECOMMENDATION:
            return None
        with suppress(safexml.XmlError):
            self._keep_opening(path, profiles.opening(content.blocks()))
        if not (self.of(path) or self.of_package(path)):
            return None
        from metspack.checking.eark.faults import Faults  # noqa: PLC0415 -- its tables are large
        from metspack.checking.eark.survey import Survey  # noqa: PLC0415

        folder = b"/".join((*path.split(b"/")[:-3], b""))
        above = self._holdings.mets_in(folder) if _is_inside(path) else None
        version, _ = profiles.version_of(self.opening(path), self.opening(above) if above else None)
        self._faults[path], whole = Faults(frozenset(Standard), version), self.looking.level > Level.LINKS
        survey = Survey(self._faults[path], is_package=not _is_inside(path), whole=whole)
        self._outlines[path] = survey.outline
        return survey

    def outline(self, path: bytes, faults: Faults | None = None) -> Outline | None:
        """Return the outline of a surveyed METS, or None; record its faults in ``faults``."""
        if faults is not None and path in self._faults:
            faults.take(self._faults[path])
        return self._outlines.get(path)

    def _standards_of(self, path: bytes) -> frozenset[Standard]:
        """Return the standards that hold for a METS or an archive of a package or representation."""
        parts = path.split(b"/")
        inner = (number for number, each in enumerate(parts[:-1]) if each.lower() + b"/" == FOLDER)
        at = next(inner, None)
        if at is None:
            return self.of_package(path)
        mets = self._holdings.mets_in(b"/".join((*parts[:at], b"")))
        of_package = frozenset[Standard]() if mets is None else self.of_package(mets)
        representation = self._holdings.mets_in(b"/".join((*parts[: at + 2], b"")))
        if not of_package or representation is None:
            return of_package - {Standard.SIP}
        is_database = Standard.SIARD in of_package
        opening = self.opening(representation)
        return profiles.of_representation(self.looking.profile, opening, is_database=is_database)


def _is_inside(path: bytes) -> bool:
    """Return whether a METS is in a folder for a representation."""
    return path.lower().split(b"/")[-3:-2] == [FOLDER[:-1]]


def are_placed(folder: bytes, names: Iterable[str]) -> bool:
    """Return whether the names below a folder have a LOB's place in a segment after ``_lobs/``."""
    if b"_lobs/" in folder + b"/":
        return False  # the names may belong to either folder
    below = (name.partition("_lobs/")[2] for name in names)
    return all(PLACED.fullmatch(each) for each in below if each)
