"""Packages to be checked: opened by path, widened to the folder of their files, mounted in one tree."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from metspack import uris
from metspack.checking.catalogue import folder_of, shown
from metspack.checking.links.roots import Roots
from metspack.checking.segments import Agreement
from metspack.containers.ipreader import SUFFIXES, OpenPacks, PackedError
from metspack.errors import ConfigError, MetspackError, SourceError
from metspack.files.byteranges import Below
from metspack.layouts.names import is_archive
from metspack.mets import CSIP_METS, METS_NAMES, is_mets_name, reader
from metspack.mets import packages as mets_packages
from metspack.mets.links import bare
from metspack.model import Budgets
from metspack.packages.files import FolderTree, MountedTree, PackageTree, PackedTree, path_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Top:
    """The parent IP packed in the zip or tar file ``pack``; ``folder`` is its name once unpacked."""

    pack: bytes
    folder: bytes
    tree: PackageTree


@dataclass(frozen=True, slots=True, kw_only=True)
class PackageToCheck:
    """A package to be checked: its number, its file tree and the name of its METS (None if it has none).

    ``root`` is its folder, or the zip or tar file; ``shown`` its path as given, for people; ``within`` the
    folder that it is in a zip or tar file. ``top`` is the packed IP among those side by side in a folder.
    """

    number: int
    root: Path
    tree: PackageTree
    mets: str | None
    shown: str
    within: bytes = b""
    top: Top | None = None

    @property
    def is_in_a_folder(self) -> bool:
        """Whether it is a folder that has its METS at its root."""
        return isinstance(self.tree, FolderTree) and "/" not in (self.mets or "/") and self.top is None

    @property
    def mets_shown(self) -> str:
        """The path of the package's METS, for messages."""
        return f"{self.tree.shown}/{self.mets or METS_NAMES[0]}"


def package(path: Path, number: int, packs: OpenPacks) -> PackageToCheck:
    """Return the package at a path; raises ``SourceError`` if there is nothing to check."""
    if path.is_dir():
        names = {name for name in os.listdir(path) if is_mets_name(name)}
        mets = _chosen(names) or _beside(path)
        return _folder(path, path, number, mets) if mets else _packed_beside(path, number, packs)
    if is_archive(path.name):
        raise SourceError(
            f"{path} is a SIARD archive, expected a package's folder or its METS file",
            hint=f"Check the package that holds the archive: metspack check {shlex.quote(str(path.parent))}.",
        )
    if not path.exists():
        raise SourceError(
            f"{path} does not exist",
            hint="Give a package's folder, its METS file, or a zip or tar file that holds the package.",
        )
    if os.fsencode(path.name).lower().endswith(SUFFIXES):
        return _packed(path, number, packs)
    return _folder(path, path.parent, number, path.name)


def _folder(path: Path, root: Path, number: int, mets: str | None) -> PackageToCheck:
    return PackageToCheck(number=number, root=root, tree=FolderTree(root), mets=mets, shown=str(path))


def _beside(path: Path) -> str | None:
    """Return the METS of the parent among IPs that lie side by side in a folder, as those of CSIP do."""
    found = mets_packages.top(path)
    return None if found is None else "/".join(found)


def _packed_beside(path: Path, number: int, packs: OpenPacks) -> PackageToCheck:
    """Return the package whose IPs are packed side by side in a folder; without a METS if there are none."""
    found = mets_packages.packed_top(path, packs)
    if found is None:
        return _folder(path, path, number, None)
    pack, folder = found
    tree = PackedTree(packs, Below(root=path, segments=(pack,)), os.fsencode(folder))
    return replace(
        _folder(path, path, number, f"{folder}/{CSIP_METS}"),
        top=Top(pack=os.fsencode(pack), folder=os.fsencode(folder), tree=tree),
    )


def _chosen(names: set[str]) -> str | None:
    named = [name for name in METS_NAMES if name in names] or sorted(names)
    return named[0] if named else None


def _packed(path: Path, number: int, packs: OpenPacks) -> PackageToCheck:
    """Return the package in a zip or tar file: the one whose METS lies under the fewest folders."""
    where = Below(root=path, segments=())
    try:
        documents = sorted(
            (item.name.count(b"/"), folder_of(item.name), item.name)
            for item in PackedTree(packs, where).walk()
            if item.kind == "f" and is_mets_name(item.name)
        )
    except PackedError as error:
        raise SourceError(f"{path}: {error.message}", hint=error.hint) from error
    within = documents[0][1].rstrip(b"/") if documents else b""
    names = {shown(name).rpartition("/")[2] for _, folder, name in documents if folder == documents[0][1]}
    return PackageToCheck(
        number=number,
        root=path,
        tree=PackedTree(packs, where, within),
        mets=_chosen(names),
        shown=str(path),
        within=within,
    )


def root(path: Path) -> Path:
    """Return the search root at a path: a folder, a zip or tar file, or the folder of a METS file.

    Raises ``ConfigError`` if the path does not exist.
    """
    if not path.exists():
        raise ConfigError(
            f"the root {path} does not exist", hint="Check the path and that the medium is mounted."
        )
    if path.is_dir() or os.fsencode(path.name).lower().endswith(SUFFIXES):
        return path
    return path.parent


def ordering(packages: Sequence[PackageToCheck], roots: Roots) -> list[PackageToCheck]:
    """Return the packages in the order given, but those that are a child of another one last."""
    known = {each.number: roots.at(each.number, each.mets, each.within) for each in packages}
    objids = {bare(found.objid) for found in known.values() if found is not None and found.objid}

    def is_child(each: PackageToCheck) -> bool:
        found = known[each.number]
        return found is not None and bool(found.ups & (objids - {bare(found.objid or "")}))

    return sorted(packages, key=is_child)


def weight(path: Path | Sequence[Path]) -> int:
    """Return about how many bytes a full check of what is at ``path`` reads, to tell how far it is."""
    if not isinstance(path, Path):
        return sum(weight(each) for each in path)
    if path.suffix.lower() in {".zip", ".tar"} and path.is_file():
        return path.stat().st_size
    total = 0
    waiting = [os.fspath(path if path.is_dir() else path.parent)]
    while waiting:
        # What cannot be looked at is the check's business, not its progress's.
        with suppress(OSError), os.scandir(waiting.pop()) as entries:
            for entry in entries:
                if entry.is_file(follow_symlinks=False):
                    size = entry.stat(follow_symlinks=False).st_size
                    # An archive is read as a file, and its entries once more.
                    total += 2 * size if is_archive(entry.name) else size
                elif entry.is_dir(follow_symlinks=False):
                    waiting.append(entry.path)
    return total


_UP = b"../"


def widened(package: PackageToCheck, granted: Sequence[Path], budgets: Budgets) -> PackageToCheck:
    """Return the package rooted at the folder that its METS leads up into, if a root given contains it.

    Only the files that a METS lists make a folder the package's: METS of other packages, and links, do not.
    """
    if package.mets is None or package.tree.is_packed or package.top is not None:
        return package
    root = os.path.realpath(package.root)
    above = [each for each in map(os.path.realpath, granted) if root.startswith(f"{each.rstrip('/')}/")]
    if not above or not (steps := _steps_up(package, budgets)):
        return package
    folder = Path(root).parents[steps - 1] if steps <= len(Path(root).parents) else None
    if folder is None or not any(folder.is_relative_to(each) for each in above):
        return package
    within = os.path.relpath(root, folder)
    return replace(package, root=folder, tree=FolderTree(folder), mets=f"{within}/{package.mets}")


def _steps_up(package: PackageToCheck, budgets: Budgets) -> int:
    """Return how many folders above its METS the listed files lie; 0 if the METS cannot be read."""
    path = os.fsencode(package.mets or "")
    own = path.count(b"/")
    try:
        with package.tree.content(path) as content:
            if not _holds(content.blocks(), _UP):
                return 0
            facts = reader.read(content.blocks(), budgets)
            return max((_climb(fact) - own for fact in facts if isinstance(fact, reader.File)), default=0)
    except (OSError, MetspackError):
        return 0  # what is wrong with it is told where it is checked


def _climb(file: reader.File) -> int:
    href = file.href or ""
    if _UP.decode() not in href or is_mets_name(href):
        return 0
    try:
        reference = uris.parsed(href)
    except uris.ReferenceRefused:
        return 0
    if reference.kind is not uris.Kind.RELATIVE:
        return 0
    return uris.collapsed(reference.segments).count("..")


def _holds(data: Iterator[bytes], mark: bytes) -> bool:
    before = b""
    for block in data:
        before = before[1 - len(mark) :] + block
        if mark in before:
            return True
    return False


def _lies(at: bytes, tree: PackageTree) -> list[tuple[bytes, tuple[str, ...]]]:
    """Return the absolute path of a tree on disk as names, as given and without links; none if packed."""
    if tree.is_packed:
        return []
    forms = dict.fromkeys((os.path.abspath(tree.shown), os.path.realpath(tree.shown)))
    return [(at, tuple(name for name in form.split("/") if name)) for form in forms]


class CheckedTree(MountedTree):
    """A package's file tree with mounted children; resolves references to paths in it.

    The files in which its segments agree, if that was looked at, are not to be put into the catalogue.
    """

    def __init__(self, base: PackageTree, agreement: Agreement | None = None) -> None:
        super().__init__(base)
        self.agreement = agreement
        self._apart: list[bytes] = []
        self._last: tuple[bytes, bytes, tuple[str, ...]] = (b"", b"", ())
        self._here: list[tuple[bytes, tuple[str, ...]]] = _lies(b"", base)

    @property
    def agreed_files(self) -> int:
        """The number of files that are not put into the catalogue."""
        return 0 if self.agreement is None else self.agreement.files

    def mount(self, at: bytes, tree: PackageTree, *, apart: bool = False) -> None:
        """Mount a tree at a path; ``apart`` if the path is only a label and not a path of the package."""
        super().mount(at, tree)
        self._here += _lies(at + b"/", tree)
        if apart:
            self._apart.append(at + b"/")

    def below(self, path: bytes) -> Below | None:
        """Return the file on disk at a path, None for one that is packed."""
        tree, inner = self.held(path)
        found = None if tree.is_packed else tree.location(inner)
        return found if isinstance(found, Below) else None

    def here(self, reference: uris.Reference) -> bytes | None:
        """Return the path in the package that an absolute reference leads to, None if it leads elsewhere."""
        if reference.kind is not uris.Kind.ABSOLUTE or ".." in reference.segments:
            return None
        for at, names in self._here:
            if reference.segments[: len(names)] == names and len(reference.segments) > len(names):
                return at + path_of(reference.segments[len(names) :])
        return None

    def resolved(self, document: bytes, reference: uris.Reference) -> bytes:
        """Return the path that a reference in a document means; raises ``ReferenceRefused``.

        A tree mounted apart is a package of its own; no reference leads out of it.
        """
        if self._last[0] != document:  # a document's references come one after the other
            boundary = next((each for each in self._apart if document.startswith(each)), b"")
            inner = folder_of(document)[len(boundary) :]
            self._last = document, boundary, tuple(shown(inner).split("/")[:-1])
        if (path := self.here(reference)) is not None:
            return path
        _, boundary, base = self._last
        return boundary + path_of(mets_packages.located(base, reference))
