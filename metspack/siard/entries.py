"""Entries of an archive in a zip file or an unpacked folder, perhaps all below one folder."""

from __future__ import annotations

import re
from collections.abc import Generator, Iterator, Sequence
from contextlib import closing
from itertools import islice
from operator import itemgetter
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar

from metspack.containers.zipformat import name_fault
from metspack.errors import SourceError
from metspack.files import reading, tempdb, walking
from metspack.files.reading import Stamp
from metspack.model import ExtentColumns, FileExtent, ZipExtent
from metspack.siard import metadata
from metspack.uris import shown

Extent = TypeVar("Extent", bound=ZipExtent | FileExtent)
"""The extent of an entry, to be read by the tree that returned it."""

_UNFIT = re.compile("[\x00-\x1f\x7f-\x9f\ud800-\udfff]")
_CHANGED = "Wait until nothing else writes to it and start again."


class ArchiveEntries(Protocol[Extent]):
    """The entries of an archive by name: ``header/metadata.xml``; folders end with ``/``."""

    def extent(self, name: str) -> Extent | None:
        """Return the extent of the entry with exactly this name, or None."""

    def columns(self, names: Sequence[str]) -> ExtentColumns | None:
        """Return the sizes and extents of entries as the columns of a ``LobRun``, or None.

        The result is None if an entry is missing, and for entries outside zip files.
        """

    def names(self, prefix: str = "") -> Iterator[str]:
        """Yield the names that begin with ``prefix``, sorted by code points."""

    def sizes(self, prefix: str = "") -> Iterator[tuple[str, int]]:
        """Yield the names that begin with ``prefix`` as ``names`` does, each with the bytes."""

    def contents(self, extent: Extent) -> Iterator[bytes]:
        """Yield an entry's bytes; the end of the iterator proves them. Raises SourceError."""

    def check_unchanged(self) -> None:
        """Raise SourceError when the source has changed since it was opened."""

    def close(self) -> None:
        """Close everything that was opened."""


AnyTree = ArchiveEntries[Any]
"""A tree for callers that pass its extents back to it, and use only their ``size``."""


def contents(root: Path, extent: FileExtent) -> Iterator[bytes]:
    """Yield a file's bytes in blocks of at most ``reading.CHUNK``; an empty file has no blocks.

    ``extent.path`` begins in the folder ``root``. Raises SourceError if the file is unreadable, is another
    one than was found, ends early, or, after the last block, was changed meanwhile: the end of the iterator
    proves the bytes.
    """
    what = shown("/".join(extent.path))
    promised = Stamp(size=extent.size, modified=extent.modified, inode=extent.inode, device=extent.device)
    try:
        with reading.streaming(root, extent.path) as (descriptor, chunks):
            _check(_stamp(descriptor, extent), promised, what, "since it was found")
            came, start = 0, extent.offset or 0
            for block in chunks(start, start + extent.size):
                came += len(block)
                yield block
            if came != extent.size:
                problem = f"the file {what} ends at byte {came:,}; expected {extent.size:,} bytes"
                raise SourceError(problem, hint=_CHANGED)
            _check(_stamp(descriptor, extent), promised, what, "while it was read")
    except OSError as error:
        raise SourceError(
            f"the file {what} cannot be read: {error.strerror or error}",
            hint="It was there when the source was listed: make sure that it still is, and is readable.",
        ) from error


def _stamp(descriptor: int, extent: FileExtent) -> Stamp:
    """Return a file's stamp; of a packed file, with the size of ``extent``."""
    found = Stamp.of(descriptor)
    return found if extent.offset is None else found._replace(size=extent.size)


def _check(found: Stamp, promised: Stamp, what: str, when: str) -> None:
    if found != promised:
        size = f" (it has {found.size:,} bytes; expected {promised.size:,})"
        raise SourceError(
            f"the file {what} was changed {when}{size if found.size != promised.size else ''}", hint=_CHANGED
        )


class FolderEntries(tempdb.Scratch):
    """An unpacked SIARD archive: the files below a folder, with their names as in a zip file.

    ``index`` becomes the ``root`` of every extent. The constructor walks the folder once; names, sizes and
    stamps are stored on disk. A context manager, for one thread; the function ``contents``, which needs only
    ``root``, serves others. Raises SourceError for an unreadable folder, for links and special files, and for
    names that no archive can have: with a backslash or a control character, or not in UTF-8 (APPNOTE 4.4.17,
    SIARD 2.2 P_4.2).
    """

    __slots__ = ("_entries", "index", "root")

    def __init__(self, root: Path, index: int = 0) -> None:
        self.root = root
        self.index = index
        self._entries = 0
        super().__init__()
        try:
            with tempdb.explained(f"the names below {root}"):
                self._fill()
        except BaseException:
            self.close()
            raise

    def _fill(self) -> None:
        self._database.execute(
            "CREATE TABLE entry (name TEXT NOT NULL, size INTEGER, modified INTEGER, inode TEXT, device TEXT)"
        )
        self._database.execute("BEGIN")
        with closing(self._rows()) as rows:
            cursor = self._database.executemany("INSERT INTO entry VALUES (?, ?, ?, ?, ?)", rows)
        self._entries = cursor.rowcount
        # An index made at the end is sorted once; one that grows with each name is slow on disk.
        self._database.execute("CREATE UNIQUE INDEX entry_name ON entry (name)")
        self._database.execute("COMMIT")

    def _rows(self) -> Generator[_Row, None, None]:
        with closing(walking.entries(self.root)) as found:
            for path, stamp in found:
                name = "/".join(path) + ("/" if stamp is None else "")
                if fault := name_fault(name) or _character_fault(name):
                    raise SourceError(
                        f"{self.root}: {shown(name)}: {fault}; no entry of an archive can have this name",
                        hint="Rename it, and its cell in the table, or unpack the archive again.",
                    )
                yield name, *_columns(stamp)

    def __len__(self) -> int:
        return self._entries

    @property
    def size(self) -> int:
        """The bytes of all files together."""
        (size,) = self._database.execute("SELECT coalesce(sum(size), 0) FROM entry").fetchone()
        return int(size)

    def extent(self, name: str) -> FileExtent | None:
        """Return the extent of the file with exactly this name, or None."""
        row = self._row(name)
        if row is None or row[1] is None:
            return None
        _, size, modified, inode, device = row
        return FileExtent(
            root=self.index,
            path=tuple(name.split("/")),
            size=size,
            modified=modified,
            inode=int(inode),
            device=int(device),
        )

    def columns(self, names: Sequence[str]) -> None:
        """Return None: callers look up each file by ``extent``."""

    def _row(self, name: str) -> Any:
        try:
            return self._database.execute("SELECT * FROM entry WHERE name = ?", (name,)).fetchone()
        except UnicodeEncodeError:  # a lone surrogate: no archive can hold such a name
            return None

    def names(self, prefix: str = "") -> Iterator[str]:
        """Yield the names of files and folders that begin with ``prefix``, by code points."""
        return map(itemgetter(0), tempdb.rows_with_prefix(self._database, "entry", ("name",), prefix))

    def sizes(self, prefix: str = "") -> Iterator[tuple[str, int]]:
        """Yield names that begin with ``prefix``, by code points, each with the file's bytes."""
        return tempdb.rows_with_prefix(self._database, "entry", ("name", "ifnull(size, 0)"), prefix)

    def contents(self, extent: FileExtent) -> Iterator[bytes]:
        """Yield a file's bytes as the function ``contents`` does."""
        return contents(self.root, extent)

    def check_unchanged(self) -> None:
        """Raise SourceError if a name, size, time, inode or device below the folder has changed.

        This walks the folder again, without reading a file.
        """
        seen = 0
        with closing(walking.entries(self.root)) as found, tempdb.explained(f"the names below {self.root}"):
            for path, stamp in found:
                name = "/".join(path) + ("/" if stamp is None else "")
                row = self._row(name)
                if row is None:
                    raise self._other(f"{shown(name)} was added")
                if row != (name, *_columns(stamp)):
                    raise self._other(f"{shown(name)} was changed")
                seen += 1
        if seen != self._entries:
            raise self._other(f"{self._entries - seen:,} of {self._entries:,} files and folders are gone")

    def _other(self, what: str) -> SourceError:
        return SourceError(f"{self.root}: was changed while it was read: {what}", hint=_CHANGED)


_Row = tuple[str, int | None, int | None, str | None, str | None]
_Columns = tuple[int, int, str, str] | tuple[None, None, None, None]


def _columns(stamp: Stamp | None) -> _Columns:
    # An inode may have 64 bits, one more than SQLite's integers.
    if stamp is None:
        return None, None, None, None
    return stamp.size, stamp.modified, str(stamp.inode), str(stamp.device)


def _character_fault(name: str) -> str:
    found = _UNFIT.search(name)
    if found is None:
        return ""
    if found[0] >= "\ud800":
        return "its name is not UTF-8"
    return f"its name holds the control character U+{ord(found[0]):04X}"


def is_empty(tree: AnyTree, folder: str) -> bool:
    """Return whether a folder (its name ends with ``/``) is empty or absent."""
    return all(name == folder for name in islice(tree.names(folder), 2))


class WrappedTree(Generic[Extent]):
    """The entries below one folder of another tree (``my_archive/``), by names relative to it.

    Extents and bytes are those of the other tree. Raises ValueError unless ``root`` is a folder's name.
    """

    __slots__ = ("_tree", "root")

    def __init__(self, tree: ArchiveEntries[Extent], root: str) -> None:
        if not root.endswith("/") or name_fault(root):
            raise ValueError(f"{root!r} is not a folder's name; expected one such as 'my_archive/'")
        self._tree = tree
        self.root = root

    def extent(self, name: str) -> Extent | None:
        """Return the extent of the entry with exactly that name, or None without one."""
        return self._tree.extent(self.root + name) if name else None

    def columns(self, names: Sequence[str]) -> ExtentColumns | None:
        """Return sizes and extents as the other tree does."""
        return self._tree.columns([self.root + name for name in names])

    def names(self, prefix: str = "") -> Iterator[str]:
        """Yield the names that begin with ``prefix``, by code points, without the root."""
        for name in self._tree.names(self.root + prefix):
            if name != self.root:
                yield name[len(self.root) :]

    def sizes(self, prefix: str = "") -> Iterator[tuple[str, int]]:
        """Yield the names that begin with ``prefix`` as ``names`` does, each with its size."""
        for name, size in self._tree.sizes(self.root + prefix):
            if name != self.root:
                yield name[len(self.root) :], size

    def contents(self, extent: Extent) -> Iterator[bytes]:
        """Yield an entry's bytes as the other tree does."""
        return self._tree.contents(extent)

    def check_unchanged(self) -> None:
        """Raise SourceError when the other tree has changed."""
        self._tree.check_unchanged()

    def close(self) -> None:
        """Close the other tree."""
        self._tree.close()


def wrapping_root(tree: AnyTree) -> str | None:
    """Return the one folder with ``header/metadata.xml`` at the root (``my_archive/``), or None.

    The result is None if the root has the document (SIARD 2.2 P_4.2-1), or if not exactly one folder has it.
    Other entries at the root are ignored (``__MACOSX/``, a folder of LOBs).
    """
    if tree.extent(metadata.NAME) is not None:
        return None
    roots = [
        name.removesuffix(metadata.NAME)
        for name in tree.names()
        if name.endswith(f"/{metadata.NAME}") and name.count("/") == metadata.NAME.count("/") + 1
    ]
    return roots[0] if len(roots) == 1 else None
