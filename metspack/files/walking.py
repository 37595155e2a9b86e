"""What lies in folders, in lots of names: by who asks for it, or by a process that looks ahead.

It looks and does not judge. It is told with little, so that a process of its own costs little.
"""

from __future__ import annotations

import os
import stat
from array import array
from collections.abc import Generator, Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path

from metspack.errors import SourceError
from metspack.files import reading, tempdb
from metspack.files.byteranges import Stamp
from metspack.uris import shown

_MOST = 4_000  # names in a lot
_PUT = "INSERT INTO folder (path) VALUES (?)"
_NEXT_FOLDER = "SELECT id, path FROM folder WHERE id > ? LIMIT 1"


@dataclass(frozen=True, slots=True, kw_only=True)
class Lot:
    """Some of what lies in the folder at a path; there is one lot at least of each folder.

    ``files`` are the names of files, sorted, with a ``/`` between each two, ``sizes`` their bytes if asked
    for; ``others`` are name and kind of all else: d (folder), l (symbolic link), s (special). ``fault`` is
    why the rest of the folder cannot be read.
    """

    folder: bytes
    files: bytes = b""
    sizes: array[int] = field(default_factory=lambda: array("q"))
    others: tuple[tuple[bytes, str], ...] = ()
    fault: OSError | None = None

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing in the folder."""
        return not (self.files or self.others or self.fault)

    @property
    def names(self) -> list[bytes]:
        """The names of files."""
        return self.files.split(b"/") if self.files else []

    @property
    def prefix(self) -> bytes:
        """What comes before each name in a path."""
        return self.folder + b"/" if self.folder else b""

    @property
    def folders(self) -> Iterator[bytes]:
        """The paths of folders."""
        return (self.prefix + name for name, what in self.others if what == "d")


def _kind(entry: os.DirEntry[str]) -> str:
    if entry.is_dir(follow_symlinks=False):
        return "d"
    return "l" if entry.is_symlink() else "s"


def lots(root: Path, below: tuple[str, ...], folder: bytes, *, sizes: bool) -> Iterator[Lot]:
    """Yield what lies in one folder, the path of which begins at ``below`` in a trusted root.

    No link is followed from the root on.
    """
    names = tuple(os.fsdecode(folder).split("/")) if folder else ()
    try:
        descriptor = reading.opened_folder(root, (*below, *names))
    except OSError as error:
        yield Lot(folder=folder, fault=error)
        return
    try:
        with os.scandir(descriptor) as entries:
            lot, count = _lot(folder, islice(entries, _MOST), sizes=sizes)
            yield lot
            while count == _MOST:
                lot, count = _lot(folder, islice(entries, _MOST), sizes=sizes)
                if count or lot.fault:
                    yield lot
    finally:
        os.close(descriptor)


def _lot(folder: bytes, entries: Iterator[os.DirEntry[str]], *, sizes: bool) -> tuple[Lot, int]:
    """Return what the entries are, and how many they were before one could not be looked at."""
    files: list[tuple[str, int]] = []
    others: list[tuple[bytes, str]] = []
    fault = None
    try:
        for entry in entries:
            if entry.is_file(follow_symlinks=False):
                files.append((entry.name, entry.stat(follow_symlinks=False).st_size if sizes else 0))
            else:
                others.append((os.fsencode(entry.name), _kind(entry)))
    except OSError as error:
        fault = error
    files.sort()
    lot = Lot(
        folder=folder,
        files=os.fsencode("/".join([name for name, _ in files])),
        sizes=array("q", [size for _, size in files] if sizes else ()),
        others=tuple(others),
        fault=fault,
    )
    return lot, len(files) + len(others)


def all_lots(root: Path, below: tuple[str, ...], folders: Iterable[bytes], sizes: bool) -> Iterator[Lot]:
    """Yield what lies in some folders and in all that are below them, in memory that does not grow."""
    with closing(tempdb.create()) as ahead:
        ahead.execute("CREATE TABLE folder (id INTEGER PRIMARY KEY, path BLOB)")
        ahead.execute("BEGIN")
        ahead.executemany(_PUT, ((each,) for each in folders))
        last = 0
        while (row := ahead.execute(_NEXT_FOLDER, (last,)).fetchone()) is not None:
            last, folder = row
            for lot in lots(root, below, folder, sizes=sizes):
                ahead.executemany(_PUT, ((each,) for each in lot.folders))
                yield lot


DEEPEST = 100
"""Folders within folders that are read."""

_KINDS = (
    (stat.S_ISLNK, "a symbolic link"),
    (stat.S_ISFIFO, "a named pipe"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISBLK, "a block device"),
    (stat.S_ISCHR, "a character device"),
)
_AGAIN = "Wait until nothing else writes there, make sure that you may read all of it, and start again."


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A file or folder: its names below the root, and a file's stamp (None for a folder)."""

    path: tuple[str, ...]
    stamp: Stamp | None


def entries(root: Path, below: tuple[str, ...] = ()) -> Generator[Entry, None, None]:
    """Yield every file and folder below ``root``, or below one folder there, each folder before its content.

    In no order otherwise; a name that is not UTF-8 has surrogates, as ``os.fsdecode`` gives it. ``root``
    may itself be a link. Raises SourceError for a folder that cannot be read, for anything that is
    neither file nor folder (a symbolic link above all), and for folders nested deeper than ``DEEPEST``.
    """
    ahead = tempdb.create()
    try:
        with tempdb.explained(f"the folders of {root}"):
            ahead.execute("CREATE TABLE folder (id INTEGER PRIMARY KEY, path BLOB NOT NULL)")
            ahead.execute("BEGIN")
            ahead.execute("INSERT INTO folder VALUES (1, ?)", (os.fsencode("/".join(below)),))
            last = 0
            while row := ahead.execute(_NEXT, (last,)).fetchone():
                last, path = row
                for entry in _listed(root, tuple(os.fsdecode(path).split("/")) if path else ()):
                    if entry.stamp is None:
                        ahead.execute(
                            "INSERT INTO folder (path) VALUES (?)", (os.fsencode("/".join(entry.path)),)
                        )
                    yield entry
    finally:
        ahead.close()


_NEXT = "SELECT id, path FROM folder WHERE id > ? ORDER BY id LIMIT 1"


def _listed(root: Path, folder: tuple[str, ...]) -> Iterator[Entry]:
    where = f"{root}: the folder {shown('/'.join(folder))}" if folder else str(root)
    if len(folder) > DEEPEST:
        raise SourceError(
            f"{root}: has folders nested more than {DEEPEST} deep, such as {shown('/'.join(folder))}",
            hint="No archive needs that; look at how the folder was made.",
        )
    try:
        descriptor = reading.opened_folder(root, folder)
        try:
            with os.scandir(descriptor) as found:
                for each in found:
                    yield _entry(root, (*folder, each.name), each.stat(follow_symlinks=False))
        finally:
            os.close(descriptor)
    except OSError as error:
        raise SourceError(f"{where} cannot be read: {error.strerror or error}", hint=_AGAIN) from error


def _entry(root: Path, path: tuple[str, ...], status: os.stat_result) -> Entry:
    if stat.S_ISDIR(status.st_mode):
        return Entry(path=path, stamp=None)
    if stat.S_ISREG(status.st_mode):
        return Entry(path=path, stamp=Stamp.of_status(status))
    kind = next((name for test, name in _KINDS if test(status.st_mode)), "something else")
    raise SourceError(
        f"{root}: {shown('/'.join(path))} is {kind}; expected files and folders only",
        hint="Links are never followed: put the file itself in its place, or take it away.",
    )
