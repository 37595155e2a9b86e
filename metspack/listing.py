"""What lies in folders, in lots of names: by who asks for it, or by a process that looks ahead.

It looks and does not judge. It is told with little, so that a process of its own costs little.
"""

from __future__ import annotations

import os
from array import array
from collections.abc import Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path

from metspack import reading, scratch

_MOST = 4_000  # names in a lot
_PUT = "INSERT INTO folder (path) VALUES (?)"
_NEXT = "SELECT id, path FROM folder WHERE id > ? LIMIT 1"


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
    with closing(scratch.opened()) as ahead:
        ahead.execute("CREATE TABLE folder (id INTEGER PRIMARY KEY, path BLOB)")
        ahead.execute("BEGIN")
        ahead.executemany(_PUT, ((each,) for each in folders))
        last = 0
        while (row := ahead.execute(_NEXT, (last,)).fetchone()) is not None:
            last, folder = row
            for lot in lots(root, below, folder, sizes=sizes):
                ahead.executemany(_PUT, ((each,) for each in lot.folders))
                yield lot
