"""Copies of a package that files are taken from: folders, packed or not, restored LOBs, archives."""

from __future__ import annotations

import errno
import os
from collections.abc import Container, Generator, Iterator, Sequence
from contextlib import ExitStack, suppress
from functools import partial
from pathlib import Path

from metspack.containers.ipreader import SUFFIXES, Content, OpenPacks
from metspack.errors import ConfigError, MetspackError, SourceError, SourceNotFoundError
from metspack.files.byteranges import Below
from metspack.files.reading import Closable
from metspack.layouts.names import is_archive
from metspack.mets import is_mets_name
from metspack.mets.packages import stem_of_pack
from metspack.model import Budgets, LobRef
from metspack.packages.files import FolderTree, PackageTree, PackedTree
from metspack.sources import opening
from metspack.sources.archive import Archive, Grants
from metspack.sources.lobstream import OpenHoldings
from metspack.values import regex

_PART = regex(rb"(\.[^./]*)?(?:\.(?:[0-9]+|z)|_part[0-9]+)\Z")
_ID = regex(
    r"(?:.*\.)?s(?P<schema>[0-9]{1,9})\.t(?P<table>[0-9]{1,9})\.c(?P<column>[0-9]{1,9})"
    r"(?P<within>(?:\.[ua][0-9]{1,9})*)\.r(?P<row>[0-9]{1,18})"
)
_NOTHING_THERE = {errno.ENOENT, errno.ENOTDIR, errno.ELOOP, errno.EISDIR}
_FOLDER_OF_LOBS = b"content/"


class TreeCopy:
    """A folder, or what is in a zip or tar file: a package, or LOBs that were restored.

    What is packed in it (``seg_0.zip``) is found as if it were not. ``shown`` is its path as it was given.
    """

    def __init__(self, shown: str, tree: PackageTree, packs: OpenPacks) -> None:
        self.shown = shown
        self._tree = tree
        self._packs = packs
        self._known: dict[bytes, PackedTree | None] = {}
        self.faults: dict[bytes, str] = {}

    def content(self, path: bytes) -> Generator[Content, None, None]:
        """Yield what it has at a path of the package, at most one file, open until the next is asked for.

        Raises nothing for what is not there; OSError and ``SourceError`` while the bytes are read.
        """
        with ExitStack() as stack:
            yield from self._opened(stack, self._tree, path)
        for tree, inner in self._packed(path):
            with ExitStack() as stack:
                yield from self._opened(stack, tree, inner)

    def _opened(self, stack: ExitStack, tree: PackageTree, path: bytes) -> Iterator[Content]:
        with suppress(MetspackError):
            try:
                found = stack.enter_context(tree.content(path))
            except OSError as error:
                if error.errno not in _NOTHING_THERE:
                    self.faults[path] = error.strerror or str(error)
                return
            yield found

    def _packed(self, path: bytes) -> Iterator[tuple[PackageTree, bytes]]:
        """Yield the zip or tar files in which a path lies, where a folder of it is packed, and the rest."""
        if not isinstance(self._tree, FolderTree):
            return
        names = path.split(b"/")
        for length in range(_depth(os.fsencode(self._tree.root.joinpath(*self._tree.names)), names), 0, -1):
            folder = b"/".join(names[:length])
            if (tree := self._pack(folder)) is not None:
                yield tree, b"/".join(names[length:])

    def _pack(self, folder: bytes) -> PackedTree | None:
        if folder not in self._known:
            self._known[folder] = next(self._packs_of(folder), None)
        return self._known[folder]

    def _packs_of(self, folder: bytes) -> Iterator[PackedTree]:
        for suffix in SUFFIXES:
            place = self._tree.location(folder + suffix)
            if not isinstance(place, Below) or not self._tree.is_there(folder + suffix):
                continue
            with suppress(OSError, MetspackError):
                tops = {each.name.partition(b"/")[0] for each in PackedTree(self._packs, place).items()}
                own = folder.rpartition(b"/")[2]
                yield PackedTree(self._packs, place, own if own in tops else b"")

    def wholes(self, path: bytes, lob: str) -> Generator[Content, None, None]:
        """Yield what lies where a restored LOB would, by its path without segments and by its id."""
        at = path.find(_FOLDER_OF_LOBS)
        ends = [path[at:]] if at > 0 else []
        with suppress(ValueError):
            ends.append(restored_path(path, lob))
        cut = [each[: found.end(1)] for each in ends if (found := _PART.search(each)) and found[1]]
        for each in dict.fromkeys((*ends, *cut)):
            yield from self.content(each)


def _depth(place: bytes, names: Sequence[bytes]) -> int:
    """Return how many folders of a path below a place may be packed: all above such a one are there."""
    for length, name in enumerate(names[:-1], start=1):
        place = os.path.join(place, name)
        if not os.path.lexists(place):
            return length
    return len(names) - 1


def place_of(lob: str) -> str | None:
    """Return the place in its archive that the id of a LOB names, None for what is no such id."""
    found = _ID.fullmatch(lob)
    return None if found is None else lob[found.start("schema") - 1 :]


def restored_path(path: bytes, lob: str) -> bytes:
    """Return where ``restore`` puts the LOB of an id; raises ValueError for what is no such id.

    ``path`` is that of its file in the package, which has its ending.
    """
    found = _ID.fullmatch(lob)
    if found is None:
        raise ValueError(lob)
    name = path.rpartition(b"/")[2]
    cut = _PART.search(name)
    ending = cut[1] or b"" if cut is not None else b"." + name.rpartition(b".")[2]
    folders = "".join(f"/{each}" for each in found["within"].split(".") if each)
    at = f"content/schema{found['schema']}/table{found['table']}/lob{found['column']}{folders}"
    return f"{at}/record{int(found['row']) - 1}".encode() + ending


class ArchiveCopy:
    """An archive with its LOBs, from which a package was built or which was restored from one."""

    def __init__(self, shown: str, archive: Archive) -> None:
        self.shown = shown
        self.archive = archive

    def content(self, path: bytes) -> Generator[Content, None, None]:
        """Yield the archive's own file, where the package has one of its name."""
        name = os.fsencode(self.archive.path.name)
        if path.rpartition(b"/")[2] == name and self.archive.path.is_file():
            yield from TreeCopy(
                self.shown, FolderTree(self.archive.path.parent), OpenPacks(Budgets())
            ).content(name)

    def wholes(self, path: bytes, lob: str) -> Generator[Content, None, None]:  # noqa: ARG002 -- as a copy has it
        """Yield nothing: all LOBs are gone through together."""
        yield from ()

    def lobs(self, wanted: Container[str]) -> Iterator[tuple[str, Content]]:
        """Yield place (``s0.t2.c4.r1``) and bytes of the LOBs that are wanted, in the archive's order."""
        with suppress(MetspackError):  # what was not found is told by what remains
            for lob in self.archive.lobs():
                if (name := str(lob.place.id)) in wanted:
                    with OpenHoldings(self.archive.holdings()) as holdings:
                        yield name, Content(size=lob.size, chunks=partial(self._chunks, holdings, lob))

    def _chunks(self, holdings: OpenHoldings, lob: LobRef) -> Iterator[bytes]:
        for each in lob.extents:
            yield from holdings.contents(each, self.shown)


class Copies(Closable):
    """The copies that were given, in their order; a context manager, for one thread.

    ``unread`` are those that are too damaged to be read, each with the reason.
    Raises ``ConfigError`` and ``SourceNotFoundError`` for what is no copy.
    """

    def __init__(
        self, paths: Sequence[Path], package: Path, budgets: Budgets, known: Sequence[bytes]
    ) -> None:
        self._packs = OpenPacks(budgets)
        self._stack = ExitStack()
        self.all: list[TreeCopy | ArchiveCopy] = []
        self.unread: list[tuple[str, str]] = []
        try:
            for path in paths:
                self._check_other(path, package)
                try:
                    self.all.append(self._copy(path, budgets, known))
                except SourceError as error:
                    self.unread.append((str(path), error.message))
        except BaseException:
            self.close()
            raise

    @staticmethod
    def _check_other(path: Path, package: Path) -> None:
        if not path.exists():
            raise SourceNotFoundError(
                f"{path} was not found", hint="Name a copy of the package: --from COPY."
            )
        at = path.parent if path.is_file() and is_mets_name(path.name) else path
        if at.resolve() == package.resolve():
            raise ConfigError(f"{path} is the package itself", hint="Name another copy of it: --from COPY.")

    def _copy(self, path: Path, budgets: Budgets, known: Sequence[bytes]) -> TreeCopy | ArchiveCopy:
        if is_archive(path.name):
            found = self._stack.enter_context(opening.opened(path, budgets, Grants()))
            if isinstance(found, Archive):
                return ArchiveCopy(str(path), found)
        if path.is_dir() or is_mets_name(path.name):
            tree = FolderTree(path if path.is_dir() else path.parent)
            return TreeCopy(str(path), self._below(tree, known), self._packs)
        if stem_of_pack(path.name) is None:
            raise ConfigError(
                f"{path} is not a copy of a package",
                hint="Name a package (a folder, a METS, a zip or tar file), a folder of restored LOBs, or "
                "the .siard that the package was built from.",
            )
        return TreeCopy(str(path), self._in_pack(Below(root=path, segments=()), known), self._packs)

    def _in_pack(self, file: Below, known: Sequence[bytes]) -> PackageTree:
        """Return what is in a zip or tar file, below the folder that all of it may lie in."""
        whole = PackedTree(self._packs, file)
        tops = {each.name.partition(b"/")[0] for each in whole.items() if b"/" in each.name}
        for folder in (b"", *sorted(tops)):
            tree = PackedTree(self._packs, file, folder)
            if any(tree.is_there(each) for each in known):
                return tree
        return PackedTree(self._packs, file, next(iter(tops))) if len(tops) == 1 else whole

    @staticmethod
    def _below(tree: FolderTree, known: Sequence[bytes]) -> FolderTree:
        """Return a folder, or the only one in it if that is where the package lies."""
        if any(tree.is_there(each) for each in known):
            return tree
        with suppress(OSError, MetspackError):
            names = tree.names_at_top()
            if len(names) == 1 and (tree.root / names[0]).is_dir():
                below = FolderTree(tree.root, (names[0],))
                return below if any(below.is_there(each) for each in known) else tree
        return tree

    def close(self) -> None:
        """Close what is open."""
        self._stack.close()
        self._packs.close()
