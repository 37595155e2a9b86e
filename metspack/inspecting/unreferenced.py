"""Find files that no cell names: entries below ``content/``, and files in LOB folders.

The names in cells are kept on disk, so that ten million names take no more memory than ten.
"""

from __future__ import annotations

import re
from bisect import insort
from collections.abc import Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path

from metspack.errors import SourceError
from metspack.files import tempdb, walking
from metspack.files.byteranges import FileBelow
from metspack.model import LobRun
from metspack.sources.archive import Archive
from metspack.sources.opening import Source
from metspack.system import os

NAMED = 20
"""The most names that are kept; all files are counted."""

_AT_ONCE = 500  # SQLite may take no more than 999 values at once
_WHAT = "the names of LOBs"
_NO_LOB = re.compile(rb"mets\.xml|manifest(-[^/]*)?\.txt", re.IGNORECASE)


@dataclass(slots=True, kw_only=True)
class Unnamed:
    """Files that no cell names: how many, their bytes, and the names of the first."""

    files: int = 0
    bytes: int = 0
    names: list[str] = field(default_factory=list)

    def add(self, name: str, size: int) -> None:
        """Count a file, and keep its name if it is one of the first in order."""
        self.files += 1
        self.bytes += size
        if len(self.names) < NAMED or name < self.names[-1]:
            insort(self.names, name)
            del self.names[NAMED:]


class Names(tempdb.Scratch):
    """The entries and files that a source's cells name; a context manager, for one thread.

    Call ``take`` for every LOB, then ``unreferenced`` and ``twice``. Raises TargetError when the temporary
    disk is full.
    """

    __slots__ = ("_source", "_sources")

    def __init__(self, source: Source) -> None:
        self._source = source
        self._sources = source.byte_sources()
        with tempdb.explained(_WHAT):
            super().__init__(
                "CREATE TABLE entry (name BLOB NOT NULL)",
                "CREATE TABLE file (name BLOB NOT NULL)",
                "CREATE TABLE top (path BLOB PRIMARY KEY, written BLOB)",
                "BEGIN",
            )

    def take(self, run: LobRun) -> None:
        """Record the entries or files that LOBs are read from."""
        if run.entries:
            self._put("entry", map(_encoded, run.entries))
            return
        for source, folders, names in run.places():
            if folders is not None:
                first = self._below(self._sources.roots[source], (*folders, names[0]))
                folder = first.removesuffix(_encoded(names[0]))
            else:
                if source >= len(self._sources.archives):  # its packed segment was found later
                    self._sources = self._source.byte_sources()
                path = self._sources.archives[source].paths[0]
                assert isinstance(path, FileBelow)  # noqa: S101 -- archive 0 alone is a person's own path
                folder = self._below(path.root, path.segments) + b"\0"
            self._put("file", (folder + _encoded(name) for name in names))

    def _put(self, table: str, names: Iterable[bytes]) -> None:
        with tempdb.explained(_WHAT):
            self._database.executemany(f"INSERT INTO {table} VALUES (?)", zip(names))  # noqa: S608

    def _below(self, root: Path, path: tuple[str, ...]) -> bytes:
        """Return a file's real path, as two roots may hold one file; record its top folder."""
        real = _real(root)
        if len(path) > 1:
            top = real + b"/" + _encoded(path[0]), os.fsencode(root / path[0])
            with tempdb.explained(_WHAT):
                self._database.execute("INSERT OR IGNORE INTO top VALUES (?, ?)", top)
        return real + b"/" + _encoded("/".join(path))

    def unreferenced(self) -> tuple[tuple[Unnamed, Unnamed], list[str]]:
        """Return entries and files that no cell names, and the reasons for skipped folders.

        Inside: those below ``content/`` except tables and folders. Outside: those in the top folder of each
        LOB, below its granted root and never the root itself, except METS files and manifests.
        """
        inside, outside, unseen = Unnamed(), Unnamed(), list[str]()
        with tempdb.explained(_WHAT):
            self._database.execute("CREATE INDEX entry_name ON entry (name)")
            self._database.execute("CREATE INDEX file_name ON file (name)")
            if isinstance(self._source, Archive):
                self._look_inside(self._source, inside)
            for top, written in self._tops():
                try:
                    self._look_through(top, written, outside)
                except SourceError as error:
                    unseen.append(error.message)
        return (inside, outside), unseen

    def _look_inside(self, archive: Archive, unnamed: Unnamed) -> None:
        structure = {
            f"{table.folder_path}/{table.folder}.{kind}"
            for table in archive.metadata.tables
            for kind in ("xml", "xsd")
        }
        entries = archive.tree.sizes("content/")
        while some := list(islice(entries, _AT_ONCE)):
            named = self._named("entry", [_encoded(name) for name, _ in some])
            for name, size in some:
                if not (_encoded(name) in named or name in structure or name.endswith("/")):
                    unnamed.add(name, size)

    def _tops(self) -> Iterator[tuple[bytes, bytes]]:
        """Yield the real and the given paths of the folders to search, only the outermost."""
        last = None
        for top, written in self._database.execute("SELECT path, written FROM top ORDER BY path || x'2f'"):
            if last is None or not top.startswith(last + b"/"):
                last = top
                yield top, written

    def _look_through(self, top: bytes, written: bytes, unnamed: Unnamed) -> None:
        archives = _archive_paths(self._source)
        with closing(walking.checked_lots(Path(os.fsdecode(written)), sizes=True)) as lots:
            for lot in lots:
                folder, files = b"/" + lot.prefix, zip(lot.names, lot.sizes, strict=True)
                while some := list(islice(files, _AT_ONCE)):
                    named = self._named("file", [top + folder + name for name, _ in some])
                    for name, size in some:
                        path = top + folder + name
                        if path in named or _NO_LOB.fullmatch(name):
                            continue
                        is_of_archive = any(path == each or path.startswith(each + b"/") for each in archives)
                        if not (is_of_archive or self._is_named(path)):
                            unnamed.add(_shown(written + folder + name), size)

    def _named(self, table: str, names: list[bytes]) -> set[bytes]:
        """Return the names of entries or files that cells name; packed segments are left out."""
        marks = ", ".join("?" * len(names))
        return {name for (name,) in self.rows(f"SELECT name FROM {table} WHERE name IN ({marks})", *names)}  # noqa: S608

    def _is_named(self, path: bytes) -> bool:
        sql = "SELECT 1 FROM file WHERE name = ?1 OR (name > ?2 AND name < ?3) LIMIT 1"
        return self.row(sql, path, path + b"\0", path + b"\1") is not None

    def twice(self) -> tuple[int, str]:
        """Return the number of entries and files that several cells name, and one of them."""
        count, example = 0, b""
        for table in ("entry", "file"):
            names = f"SELECT name FROM {table} GROUP BY name HAVING count(*) > 1"  # noqa: S608
            repeated, first = self._database.execute(f"SELECT count(*), min(name) FROM ({names})").fetchone()  # noqa: S608
            count, example = count + repeated, example or first or b""
        return count, _shown(example).replace("\0", "/")


def _archive_paths(source: Source) -> tuple[bytes, ...]:
    """Return the files, or the folder, of the archive that is the source."""
    if isinstance(source, Archive) and source.container is not None:
        paths = source.container.medium.paths
        return tuple(_real(Path(str(each))) for each in paths)
    return (_real(source.path),) if isinstance(source, Archive) else ()


def _real(path: Path) -> bytes:
    return os.fsencode(os.path.realpath(path)).rstrip(b"/")


def _encoded(name: str) -> bytes:
    return name.encode("utf-8", "surrogateescape")


def _shown(name: bytes) -> str:
    return name.decode("utf-8", "surrogateescape")
