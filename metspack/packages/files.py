"""The files of a package, in folders or in zip and tar files that are never extracted.

A ``PackageTree`` lists its files, and opens them by their path below it. One may be *mounted* at a path of
another: the package is then read as if it were in one place.
"""

from __future__ import annotations

import errno
from bisect import bisect_left
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager, suppress
from pathlib import Path

from metspack.containers import zipreader
from metspack.containers.ipreader import (
    SUFFIXES,
    Compressed,
    Content,
    Item,
    OpenPacks,
    PackedError,
    stem_of_pack,
    without,
)
from metspack.errors import SourceError
from metspack.files import reading, release, walking
from metspack.files.byteranges import FileBelow, FileRange, Medium
from metspack.files.paths import Names, names_of, path_of
from metspack.files.reading import Closable, Stamp
from metspack.layouts.names import SIARD, is_archive
from metspack.limits import Budgets
from metspack.mets import METS_NAMES, REPRESENTATIONS_FOLDER, is_mets_name
from metspack.model import ZipExtent
from metspack.packages.lobs import ANOTHER, HeldPart
from metspack.system import os

UNPACK = "Unpack it where it lies; metspack check shows what else is wrong with it."

Location = FileBelow | FileRange | Compressed
"""The place of a file's bytes: a separate file, a stretch of another, or compressed in a zip file."""


class FolderTree:
    """A folder on disk, by its names below a trusted root; no link is followed below the root.

    Paths of files in it are bytes; ``b""`` is the folder.
    """

    is_packed = False

    def __init__(self, root: Path, names: Names = ()) -> None:
        self.root = root
        self.names = names

    @property
    def shown(self) -> str:
        """Its path as it was given."""
        return str(self.root.joinpath(*self.names))

    def walk(self) -> Generator[Item, None, None]:
        """Yield all files and folders by whole path, each folder before its contents.

        Raises ``SourceError`` for an unreadable folder and for special files.
        """
        with closing(walking.entries(self.root, self.names)) as entries:
            for path, stamp in entries:
                name = os.fsencode("/".join(path[len(self.names) :]))
                yield Item(name=name, kind="d" if stamp is None else "f", size=stamp and stamp.size)

    @contextmanager
    def content(self, path: bytes) -> Iterator[Content]:
        """Open a file to read all of it; raises OSError, and ``SourceError`` for a special file."""
        with reading.streaming(self.root, (*self.names, *names_of(path))) as (descriptor, chunks):
            yield Content(size=os.fstat(descriptor).st_size, chunks=chunks)

    def is_there(self, path: bytes) -> bool:
        """Return whether an entry exists at a path, in the same letter case, or a link on the way."""
        return reading.exists(self.root, [each for each in (*self.names, *names_of(path)) if each])

    def location(self, path: bytes) -> FileBelow:
        """Return the file at a path, whether it exists or not."""
        return FileBelow(root=self.root, segments=(*self.names, *names_of(path)))

    def around(self) -> Iterator[tuple[FolderTree, bytes]]:
        """Yield the folders around it, the innermost first, each with its path there and a slash."""
        folder, above = Path(os.path.realpath(self.root.joinpath(*self.names))), b""
        while folder.name:
            above = os.fsencode(folder.name) + b"/" + above
            folder = folder.parent
            yield FolderTree(folder), above

    def names_at_top(self) -> list[str]:
        """Return the sorted names of the entries right in the folder."""
        return sorted(os.listdir(self.root.joinpath(*self.names)))


class PackedTree:
    """The part of a zip or tar file below a folder, or with ``b""`` all of it."""

    is_packed = True

    def __init__(self, packs: OpenPacks, file: FileBelow, folder: bytes = b"") -> None:
        self._packs = packs
        self.file = file
        self.prefix = folder + b"/" if folder else b""

    @classmethod
    def of_mets(cls, packs: OpenPacks, file: FileBelow, folder: bytes, mets: bytes) -> PackedTree:
        """Return the part that has a METS: below a folder, below the one top folder, or all."""
        trees = (cls(packs, file, each) for each in (folder, packs.opened(file).top))
        return next((each for each in trees if each.is_there(mets)), cls(packs, file))

    @property
    def folder(self) -> bytes:
        """The folder in the file, b"" for all of it."""
        return self.prefix.rstrip(b"/")

    @property
    def shown(self) -> str:
        """The file's path, and the folder in it."""
        inside = self.folder.decode("utf-8", "backslashreplace")
        return f"{self.file}/{inside}" if inside else str(self.file)

    def walk(self) -> Generator[Item, None, None]:
        """Yield all files, links and folders, with folders that only occur in names of files."""
        above: list[bytes] = []
        before = b""  # the folder of the last file
        for item in self.items():
            name = item.name[len(self.prefix) :]
            if not name:
                continue
            folder = name.rpartition(b"/")[0]
            if folder and folder == before and item.kind != "d":
                yield Item(name=name, kind=item.kind, size=item.size)
                continue
            names = name.split(b"/")
            before = b"" if item.kind == "d" else folder
            common = 0
            while common < min(len(above), len(names) - 1) and above[common] == names[common]:
                common += 1
            for depth in range(common + 1, len(names)):
                yield Item(name=b"/".join(names[:depth]), kind="d")
            above = names if item.kind == "d" else names[:-1]
            yield Item(name=name, kind=item.kind, size=item.size)

    def around(self) -> Iterator[tuple[FolderTree | PackedTree, bytes]]:
        """Yield the folders around it, as ``FolderTree`` does, and those around the zip or tar file."""
        folder, above = self.folder, b""
        while folder:
            folder, _, name = folder.rpartition(b"/")
            above = name + b"/" + above
            yield PackedTree(self._packs, self.file, folder), above
        for outer, name in FolderTree(self.file.path).around():
            yield outer, name + above

    def names_at_top(self) -> list[str]:
        """Return the names of the files right in it, sorted."""
        names = (item.name[len(self.prefix) :] for item in self.items() if item.kind != "d")
        return [os.fsdecode(each) for each in names if b"/" not in each]

    def items(self) -> Iterator[Item]:
        """Yield the entries by whole path in the zip or tar file, sorted."""
        return self._packs.opened(self.file).items(self.prefix)

    def stray(self) -> str:
        """Return words on bytes outside the file's entries, or on a missing end, or ""."""
        return self._packs.opened(self.file).stray()

    def all_of_file(self) -> PackedTree:
        """Return the whole zip or tar file."""
        return PackedTree(self._packs, self.file)

    @contextmanager
    def content(self, path: bytes) -> Iterator[Content]:
        """Open a file; reading the blocks of a damaged one raises ``PackedError``."""
        found = self._packs.opened(self.file).content(self.prefix + path)
        if found is None:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT))
        try:
            yield found
        except SourceError as error:
            raise PackedError(without(self.file, error), hint=error.hint) from error

    def is_there(self, path: bytes) -> bool:
        """Return whether there is a file at a path."""
        return self._packs.opened(self.file).content(self.prefix + path) is not None

    def location(self, path: bytes) -> FileRange | Compressed | None:
        """Return the place of a file's bytes in the zip or tar file, or None without such a file.

        Raises ``PackedError`` for an unreadable one.
        """
        return self._packs.opened(self.file).location(self.prefix + path)


class NoTree:
    """An empty tree into which the IPs of a package are mounted; ``shown`` is the first's path."""

    is_packed = False

    def __init__(self, shown: str) -> None:
        self.shown = shown

    def walk(self) -> Generator[Item, None, None]:
        """Yield no items."""
        yield from ()

    def content(self, path: bytes) -> AbstractContextManager[Content]:
        """Raise ``FileNotFoundError``."""
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), os.fsdecode(path))

    def is_there(self, path: bytes) -> bool:  # noqa: ARG002 -- as a tree has it
        """Return False."""
        return False

    def location(self, path: bytes) -> None:
        """Return None."""


PackageTree = FolderTree | PackedTree | NoTree
"""A folder, its packed equivalent, or an empty base."""


class MountedTree:
    """A package's tree, with other trees mounted in place of folders in it."""

    def __init__(self, base: PackageTree) -> None:
        self.base = base
        self._mounts: dict[bytes, PackageTree] = {}
        self._longest = 0  # the bytes of the longest path at which a tree is mounted

    def mount(self, at: bytes, tree: PackageTree) -> None:
        """Mount a tree at a path."""
        self._mounts[at] = tree
        self._longest = max(self._longest, len(at))

    def held(self, path: bytes) -> tuple[PackageTree, bytes]:
        """Return the tree of a path, and the path in it; the deepest mount takes precedence."""
        if self._mounts:
            at = path
            if len(path) > self._longest:  # only possible mounts: a path may have a million names
                at = path[: max(path.rfind(b"/", 0, self._longest + 1), 0)]
            while at:
                if (tree := self._mounts.get(at)) is not None:
                    return tree, path[len(at) + 1 :]
                at = at[: max(at.rfind(b"/"), 0)]
        return self.base, path

    @property
    def trees(self) -> tuple[PackageTree, ...]:
        """The package's tree, and those mounted in it."""
        return self.base, *self._mounts.values()

    @property
    def are_unpacked(self) -> bool:
        """True if no tree is in a zip or tar file."""
        return not any(each.is_packed for each in self.trees)

    def content(self, path: bytes) -> AbstractContextManager[Content]:
        """Open a file to read all of it, as its tree does."""
        tree, inner = self.held(path)
        return tree.content(inner)

    def is_there(self, path: bytes) -> bool:
        """Return whether an entry exists at a path."""
        tree, inner = self.held(path)
        return not inner or tree.is_there(inner)

    def location(self, path: bytes) -> Location | None:
        """Return the place of a file's bytes, as its tree does."""
        tree, inner = self.held(path)
        return tree.location(inner)


class PackageFiles(MountedTree):
    """The files of a package in a folder, where a zip or tar file may take a folder's place.

    ``seg_0.zip`` or ``seg_0.tar`` may replace ``seg_0``, with its content below one folder of that name, or
    at the root of the file (SIARD 2.2 L_7.1-1). For one thread.
    """

    def __init__(self, root: Path, budgets: Budgets) -> None:
        super().__init__(FolderTree(root))
        self._root = root
        self.packs = OpenPacks(budgets)
        self.roots: dict[Path, int] = {root: 0}
        """The numbers of the folders that have its files: the package's, and those of mounted trees."""
        # The paths at which folders and packed files are mounted; of packed files by the folder in them.
        self._at: dict[Path | FileBelow, list[tuple[str, Names]]] = {}

    def names_of(self, file: Path | FileBelow, name: str) -> Names | None:
        """Return the path in the package of a mounted file, or an entry of a packed one, or None."""
        for within, at in sorted(self._at.get(file, ()), reverse=True):
            if name.startswith(within):
                return *at, *name[len(within) :].split("/")
        return None

    def spot(self, names: Names) -> tuple[int, Names]:
        """Return the number of a path's root, and the path there, with the name of a packed file."""
        tree, inner = self.held(path_of(names))
        if isinstance(tree, PackedTree):
            below = (*tree.file.segments, *names_of((tree.prefix + inner).rstrip(b"/")))
            return self.roots[tree.file.root], below
        if tree is self.base or not isinstance(tree, FolderTree):
            return 0, names
        return self.roots[tree.root], names_of(inner)

    @property
    def are_unpacked(self) -> bool:
        """True if all files are below the folder of the package, outside zip and tar files."""
        return len(self.roots) == 1 and super().are_unpacked

    def mount_found(self, names: Names, path: Path, within: str | None) -> None:
        """Mount a folder, or one ``within`` a zip or tar file, at a path of the package."""
        if within is None:
            self.mount(path_of(names), FolderTree(path))
            self._at[path] = [("", names)]
        else:
            pack = FileBelow(root=path.parent, segments=(path.name,))
            self._mount_packed(names, PackedTree(self.packs, pack, os.fsencode(within)))
        root = path if within is None else path.parent
        self.roots.setdefault(root, len(self.roots))

    def _mount_packed(self, names: Names, tree: PackedTree) -> None:
        self.mount(path_of(names), tree)
        self._at.setdefault(tree.file, []).append((os.fsdecode(tree.prefix), names))

    @contextmanager
    def document(self, names: Names) -> Iterator[Content]:
        """Open a METS, packed or not, and mount the zip or tar file that it is in.

        Raises OSError, and ``SourceError`` for an unreadable zip or tar file.
        """
        with ExitStack() as stack:
            try:
                content = stack.enter_context(self.content(path_of(names)))
            except (FileNotFoundError, NotADirectoryError):
                tree, inner = self._packed(names) or (self.base, path_of(names))
                content = stack.enter_context(tree.content(inner))
            yield content

    def mets_in(self, folder: Names) -> Names:
        """Return the path of a folder's METS; raises as ``document`` without one."""
        last = (*folder, METS_NAMES[-1])
        for name in METS_NAMES[:-1]:
            with suppress(OSError, SourceError), self.document((*folder, name)):
                return (*folder, name)
        with self.document(last):
            return last

    def _packed(self, names: Names) -> tuple[PackageTree, bytes] | None:
        """Mount the zip or tar file that has a METS; return it and the path in it, or None."""
        mounted, _ = self.held(path_of(names))
        if isinstance(mounted, PackedTree):
            raise _lacking(mounted.file, names)
        # As a path may have a million names, the search stops at the first that is not a folder.
        folders = bisect_left(
            range(len(names)), 1, key=lambda length: reading.is_surely_absent(self._root, names[:length])
        )
        for length in range(min(len(names) - 1, folders), 0, -1):
            *above, name = names[:length]
            for suffix in SUFFIXES:
                file = FileBelow(root=self._root, segments=(*above, name + os.fsdecode(suffix)))
                if not self._is_pack(file):
                    continue
                inner = path_of(names[length:])
                tree = PackedTree.of_mets(self.packs, file, os.fsencode(name), inner)
                if tree.is_there(inner):
                    self._mount_packed(names[:length], tree)
                    return tree, inner
                raise _lacking(file, names[length - 1 :])
        return None

    def _is_pack(self, file: FileBelow) -> bool:
        with suppress(OSError):
            release(reading.opened(file.root, file.segments))
            try:
                self.packs.opened(file)
            except PackedError as error:
                raise PackedError(f"{file}: {error.message}", hint=error.hint) from None
            return True
        return False

    def place(self, names: Names) -> Location:
        """Return the place of a file's bytes; raises ``SourceError`` if a packed file lacks it."""
        tree, inner = self.held(path_of(names))
        if (found := tree.location(inner)) is None:
            raise SourceError(f"{tree.shown} does not contain {os.fsdecode(inner)}", hint=UNPACK)
        return found

    def opened(self, names: Names) -> Medium | Inflated:
        """Open a file to read any part of it; raises as ``reading.opened`` and ``place`` do."""
        return open_file(self.place(names))

    def opened_part(self, lob: str, part: HeldPart) -> Medium | Inflated:
        """Open the file of a part of a LOB, or of the whole.

        Raises ``SourceError``, naming both, if it cannot be opened or has another size than in METS.
        """
        try:
            medium = self.opened(part.path)
        except (OSError, SourceError) as error:
            why = error.message if isinstance(error, SourceError) else f"{error.strerror} ({part.source})"
            raise SourceError(f"{part.about(lob)} cannot be opened: {why}", hint=ANOTHER) from None
        try:
            part.check_size(lob, medium.size)
        except SourceError:
            medium.close()
            raise
        return medium

    def uncompressed(self, names: Names) -> FileBelow | FileRange:
        """Return the place as ``place`` does; raises ``SourceError`` where the bytes are compressed."""
        found = self.place(names)
        if isinstance(found, Compressed):
            raise SourceError(f"{'/'.join(names)} is compressed in {found.file}; store it there", hint=UNPACK)
        return found

    def close(self) -> None:
        """Close all open zip and tar files."""
        self.packs.close()


def _lacking(file: FileBelow, names: Names) -> SourceError:
    inside = "/".join(names)
    return SourceError(f"{file} does not contain {inside}, which METS places there", hint=UNPACK)


def open_file(place: Location) -> Medium | Inflated:
    """Open a file for reading any part of it; raises as ``reading.opened`` does."""
    return Inflated(place.file, place.entry) if isinstance(place, Compressed) else Medium((place,))


class Onward:
    """Random access to a stream of blocks, which is read again from the start to go back.

    One block at a time is in memory. ``blocks`` yields all of them, each with at least one byte.
    """

    def __init__(self, blocks: Callable[[], Iterator[bytes]]) -> None:
        self._all = blocks
        self._blocks: Iterator[bytes] = iter(())
        self._block = b""
        self._start: int | None = None  # of the block; None before the first read

    def at(self, position: int) -> memoryview:
        """Return the bytes from a position, before the end, up to the end of their block."""
        if self._start is None or position < self._start:
            self._blocks, self._block, self._start = self._all(), b"", 0
        while position >= self._start + len(self._block):
            self._start += len(self._block)
            self._block = next(self._blocks)  # blocks that end early raise an error
        return memoryview(self._block)[position - self._start :]


class Inflated(Closable):
    """A compressed entry of a zip file, read as a file; a context manager, for one thread.

    ``size`` and ``stamps`` are as in ``Medium``, the stamps those of the zip file. Raises as
    ``reading.opened``.
    """

    def __init__(self, file: FileBelow, entry: ZipExtent) -> None:
        self._medium = Medium((file,))
        self._entry = entry
        self.file = file
        self._onward = Onward(self.chunks)
        self.size = entry.size
        self.stamps = self._medium.stamps

    def stamped(self) -> tuple[Stamp, ...]:
        """Return the current stamp of the zip file."""
        return self._medium.stamped()

    def chunks(self) -> Iterator[bytes]:
        """Yield all bytes in blocks; raises ``SourceError`` after the last if size or CRC-32 differ."""
        yield from zipreader.contents(self._medium, self._entry, what=str(self.file))

    def pread(self, size: int, offset: int) -> bytes:
        """Return up to ``size`` bytes from ``offset``, fewer at the end; raises ``SourceError``."""
        return bytes(self._onward.at(offset)[:size]) if offset < self.size else b""

    def close(self) -> None:
        """Close the zip file."""
        self._medium.close()


_REPRESENTATIONS = REPRESENTATIONS_FOLDER.encode()


def weight(path: Path | Sequence[Path], *, whole: bool = True) -> int:
    """Return about how many bytes are read of packages, to measure progress.

    With ``whole`` these are all; without it only METS files, where these have their usual places.
    """
    if not isinstance(path, Path):
        return sum(weight(each, whole=whole) for each in path)
    if not whole:
        return sum(_sizes_of_mets(path if path.is_dir() else path.parent))
    if stem_of_pack(path.name) is not None and path.is_file():
        return path.stat().st_size
    # Unreadable files are left out.
    lots = walking.all_lots(path if path.is_dir() else path.parent, sizes=True)
    total = 0
    for each in lots:
        total += sum(each.sizes)
        if SIARD.encode() in each.files.lower():  # an archive is read as a file, and its entries once more
            named = zip(each.names, each.sizes, strict=True)
            total += sum(size for name, size in named if is_archive(os.fsdecode(name)))
    return total


def _sizes_of_mets(root: Path) -> Iterator[int]:
    """Yield the sizes of METS at the top, one folder below, and in representations."""
    waiting = [b""]
    for folder in waiting:
        are_all = not folder or folder.endswith(_REPRESENTATIONS)
        for lot in walking.lots(root, (), folder, sizes=True):
            yield from (size for name, size in zip(lot.names, lot.sizes, strict=True) if is_mets_name(name))
            waiting += (each for each in lot.folders if are_all or each.endswith(_REPRESENTATIONS))
