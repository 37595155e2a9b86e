"""Check a package's folders against CSIP and METS, and find the standards that METS claim."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Self

from metspack.checking.catalogue import Catalogue, folder_of, shown, span_below
from metspack.checking.eark import profiles
from metspack.checking.eark.document import REPRESENTATIONS, Outline
from metspack.checking.eark.profiles import Opening, Profile
from metspack.checking.eark.requirements import USES, Need, Standard, Version, none_but, quoted
from metspack.checking.options import Looking
from metspack.checking.tree import CheckedTree
from metspack.errors import MetspackError
from metspack.mets import CSIP_METS, REPRESENTATIONS_FOLDER, is_mets_name
from metspack.packages.delivery import DeliveredPackage
from metspack.system import os

if TYPE_CHECKING:
    from metspack.checking.eark.faults import Faults

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
        """Return whether there is a folder at a path, or a file or folder in it."""
        row = self._catalogue.row("SELECT 1 FROM disk WHERE path = ? AND kind = 'd'", path)
        return row is not None or self._first(*span_below(path + b"/")) is not None

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
_LIKE = re.compile(r"[^0-9a-z]+")
PLACED = re.compile(r"s\d+_t\d+_c\d+/seg_\d+/t\d+_c\d+(?:_[a-z]\d+)*_r\d+\.\w+")
"""A LOB in its segment, or a part of one; a part's suffix is a valid end of an extension."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PackageRoot:
    """The root of the package under check: its folder's name, empty without a folder.

    ``top`` is the folder of its METS among IPs side by side that no manifest is beside, with its last ``/``.
    """

    name: str
    top: bytes = b""

    @classmethod
    def of(cls, each: DeliveredPackage) -> Self:
        """Return the root of a package."""
        if each.is_packed:
            return cls(name=each.within.rpartition("/")[2])
        top = folder_of(os.fsencode(each.mets or "")) if each.ips or each.members else b""
        return cls(name=each.path.resolve().name or "/", top=top)


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


def judge_package(
    holdings: CataloguedFiles, mets: bytes, outline: Outline, faults: Faults, name: str | None
) -> None:
    """Record the requirements that a package's folders and its METS's entries for them break.

    ``name`` is the package's folder, empty if it has none, or None when it is unknown.
    """
    folder, line = folder_of(mets), outline.line
    objid = outline.root.get("OBJID", "")
    if name == "":
        faults.add("CSIPSTR1", line, "none")
    elif name is not None and objid and _alike(name) != _alike(objid):
        faults.add("CSIPSTR2", line, f"{quoted(name)} for the OBJID {quoted(objid)}")
    if mets != folder + METS:
        faults.add("CSIPSTR4", line, quoted(shown(mets.removeprefix(folder))))
    _judge_folder(holdings, folder, "metadata", faults, rule="CSIPSTR5", line=line)
    _judge_folder(holdings, folder, REPRESENTATIONS_FOLDER, faults, rule="CSIPSTR9", line=line)
    for each, is_folder in holdings.children(folder + FOLDER):
        if not is_folder:
            faults.add("CSIPSTR10", line, f"the file {quoted(shown(each))}")
    found = representations(holdings, folder)
    for representation in found:
        _judge_representation_folder(holdings, representation, faults, line)
    if outline.is_complete:
        _judge_against_mets(found, outline, faults)
    _judge_content(holdings, folder, outline, faults)


def judge_representation(holdings: CataloguedFiles, mets: bytes, outline: Outline, faults: Faults) -> None:
    """Record the requirements that a representation's METS breaks with regard to its folder."""
    folder = folder_of(mets)
    name, objid = shown(folder[:-1].rpartition(b"/")[2]), outline.root.get("OBJID", "")
    if objid.strip() and _alike(name) != _alike(objid):
        found = f"{quoted(objid)} for the folder {quoted(name)}"
        faults.add("CSIP1", outline.line, found, need=Need.SHOULD)
    _judge_content(holdings, folder, outline, faults)


def _judge_content(holdings: CataloguedFiles, folder: bytes, outline: Outline, faults: Faults) -> None:
    """Record metadata without mdRef, files without fileSec, and uses that are no folder."""
    line = outline.line
    for rule, below in (("CSIP17", b"metadata/descriptive/"), ("CSIP32", b"metadata/preservation/")):
        for path in holdings.not_referred(folder + below):
            faults.add(rule, line, f"no mdRef for {quoted(shown(path))}")
    for name, _ in holdings.children(folder) if not outline.has_files else ():
        if name.lower() not in {METS.lower(), b"metadata"}:
            faults.add("CSIP58", line, f"none, and {quoted(shown(name))}")
    for group in outline.groups:
        if group.use.strip() and group.use not in USES and group.id not in outline.outside:
            names = _named_folders(group.use.encode("utf-8", "surrogateescape"), folder, outline)
            if not any(each == b"." or holdings.has_folder(folder + each) for each in names):
                faults.add("CSIP64", group.line, f"{quoted(group.use)}, where no folder is", group.id)


def _named_folders(use: bytes, folder: bytes, outline: Outline) -> list[bytes]:
    """Return the folders that the USE of a fileGrp may name."""
    first, slash, below = use.strip(b"/").partition(b"/")
    if outline.is_package or first.lower() + slash != FOLDER:
        return [first + slash + below, first.lower() + slash + below]
    named, _, inside = below.partition(b"/")  # from the package's root on
    own = folder[:-1].rpartition(b"/")[2]
    return [inside or b"."] if named.lower() == own.lower() else []


def _alike(name: str) -> str:
    return _LIKE.sub("_", name.casefold()).strip("_")


def _judge_folder(
    holdings: CataloguedFiles,
    folder: bytes,
    wanted: str,
    faults: Faults,
    *,
    rule: str,
    line: int,
    place: str = "",
) -> None:
    """Record a missing folder with the nearest there is."""
    if not holdings.has_folder(folder + wanted.encode()):
        seen = (shown(name) for name, is_folder in holdings.children(folder) if is_folder)
        faults.add(rule, line, none_but("a folder", wanted, seen), place)


def _judge_representation_folder(
    holdings: CataloguedFiles, each: Representation, faults: Faults, line: int
) -> None:
    _judge_folder(holdings, each.folder, "data", faults, rule="CSIPSTR11", line=line, place=each.name)
    if each.mets is None or not each.mets.endswith(b"/" + METS):
        found = None if each.mets is None else shown(each.mets.rpartition(b"/")[2])
        faults.add("CSIPSTR12", line, quoted(found), each.name)
    _judge_folder(holdings, each.folder, "metadata", faults, rule="CSIPSTR13", line=line, place=each.name)


def _judge_against_mets(found: Iterable[Representation], outline: Outline, faults: Faults) -> None:
    names = {each.name for each in found}
    uses = [each.use for each in outline.groups]
    grouped = {each.representation for each in outline.groups}
    # Until 2.0.4 the USE was Representations, and no more.
    is_grouped = faults.version is Version.V2_0_4 and REPRESENTATIONS in uses
    divided = outline.representations
    for each in found:
        own = f"{REPRESENTATIONS}/{each.name}"
        if each.name not in grouped and outline.has_files and not is_grouped:
            faults.add("CSIP114", outline.line, none_but("USE", own, uses), each.name)
        if each.name in divided:
            if each.mets is not None and own in outline.unpointed:
                faults.add("CSIP109", outline.divided[own], "none", own)
                if not outline.unpointed[own]:
                    faults.add("CSIP106", outline.divided[own], "none", own)
        elif each.mets is not None:
            faults.add("CSIP105", outline.line, none_but("LABEL", own, outline.labels), each.name)
        elif REPRESENTATIONS not in outline.divided:
            faults.add("CSIP101", outline.line, none_but("LABEL", REPRESENTATIONS, outline.labels), each.name)
    for label, line in outline.divided.items():
        if "/" in label and label.split("/")[1] not in names:
            faults.add("CSIP107", line, f"{quoted(label)}, a folder that is not there")


class Claims:
    """The claims of the METS documents of one catalogue."""

    def __init__(self, catalogue: Catalogue, places: CheckedTree, looking: Looking) -> None:
        self._catalogue = catalogue
        self._holdings = CataloguedFiles(catalogue)
        self._places = places
        self._profile = looking.profile
        self.of = cache(self._standards_of)

    def packages(self) -> Iterator[tuple[bytes, bool, frozenset[Standard]]]:
        """Yield METS of packages that claim standards, if they are elsewhere, and the standards.

        Each is read up to the end of its header.
        """
        if self._profile is not Profile.RECOMMENDATION:
            for path, is_elsewhere in self._catalogue.rows(_DOCUMENTS):
                is_inside = path.lower().split(b"/")[-3:-2] == [FOLDER[:-1]]
                if not is_inside and (standards := self.of_package(path)):
                    yield path, bool(is_elsewhere), standards

    def of_root(self, top: bytes) -> frozenset[Standard]:
        """Return the standards that hold for the checked folder, if it is a package with a METS."""
        row = self._catalogue.row("SELECT path FROM mets WHERE id = 1 AND ok AND folder = ?", top)
        return frozenset() if row is None else self.of_package(row[0])

    def of_package(self, path: bytes) -> frozenset[Standard]:
        """Return the standards that hold for the METS of a package."""
        folder = folder_of(path)
        is_laid_out = path.endswith(METS) and self._holdings.has_folder(folder + FOLDER[:-1])
        return profiles.of_package(self._profile, self.opening(path), is_laid_out=is_laid_out)

    def opening(self, path: bytes) -> Opening:
        """Return the attributes of the root and header of a METS, none if it is unreadable."""
        segment = self._places.agreement.holding(path)
        if segment is not None and segment.mets == path:
            return segment.opening
        try:
            with self._places.content(path) as content:
                return profiles.opening(content.blocks())
        except (OSError, MetspackError):
            return Opening()  # its fault has been reported

    def _standards_of(self, path: bytes) -> frozenset[Standard]:
        """Return the standards that hold for a METS or an archive of a package or representation."""
        parts = path.split(b"/")
        inner = (number for number, each in enumerate(parts[:-1]) if each.lower() + b"/" == FOLDER)
        at = next(inner, None)
        if at is None:
            return self.of_package(path)
        mets = self._holdings.mets_in(b"/".join((*parts[:at], b"")))
        own = frozenset[Standard]() if mets is None else self.of_package(mets)
        representation = self._holdings.mets_in(b"/".join((*parts[: at + 2], b"")))
        if not own or representation is None:
            return own - {Standard.SIP}
        is_database = Standard.SIARD in own
        opening = self.opening(representation)
        return profiles.of_representation(self._profile, opening, is_database=is_database)


def are_placed(folder: bytes, names: Iterable[str]) -> bool:
    """Return whether the names below a folder have a LOB's place in a segment after ``_lobs/``."""
    if b"_lobs/" in folder + b"/":
        return False  # the names may belong to either folder
    below = (name.partition("_lobs/")[2] for name in names)
    return all(PLACED.fullmatch(each) for each in below if each)
