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
from metspack.files.byteranges import Below
from metspack.inspecting import survey
from metspack.model import FileExtent, LobRef, LobRun, ZipExtent
from metspack.sources.archive import Archive
from metspack.sources.lobstream import Holdings
from metspack.sources.opening import Source
from metspack.system import os

NAMED = 20
"""Number of files that are named; all are counted."""

_BATCH = 1000
_ASKED = 500  # SQLite may take no more than 999 values at once
_WHAT = "the names of LOBs"
_NAMED_AMONG = "SELECT DISTINCT name FROM entry WHERE name BETWEEN ? AND ?"
_NO_LOB = re.compile(rb"mets\.xml|manifest(-[^/]*)?\.txt", re.IGNORECASE)


@dataclass(slots=True, kw_only=True)
class Unnamed:
    """Files that no cell names: how many, their bytes, and the names of the first."""

    files: int = 0
    bytes: int = 0
    names: list[str] = field(default_factory=list)

    def add(self, name: str, size: int) -> None:
        """Count a file; it is among the first by name, in whatever order they come."""
        self.files += 1
        self.bytes += size
        if len(self.names) < NAMED or name < self.names[-1]:
            insort(self.names, name)
            del self.names[NAMED:]


@dataclass(frozen=True, slots=True, kw_only=True)
class Unreferenced:
    """Files that no cell names, inside and outside, and ``unseen`` folders with the reasons.

    ``twice`` is the number of entries and files that several cells name, ``example`` one of them.
    """

    inside: Unnamed
    outside: Unnamed
    unseen: tuple[str, ...]
    twice: int
    example: str


class Names(tempdb.Scratch):
    """The entries and files that a source's cells name; a context manager, for one thread.

    Call ``take`` for every LOB, then ``unreferenced``. Raises TargetError when the temporary disk is full.
    """

    __slots__ = ("_holdings", "_real", "_source", "_top")

    def __init__(self, source: Source) -> None:
        self._source = source
        self._holdings: Holdings | None = None
        self._real: dict[Path, bytes] = {}
        self._top = b""
        with tempdb.explained(_WHAT):
            super().__init__(
                "CREATE TABLE entry (name BLOB NOT NULL)",
                "CREATE TABLE file (name BLOB NOT NULL)",
                "CREATE TABLE top (path BLOB PRIMARY KEY, written BLOB)",
                "BEGIN",
            )

    def take(self, lob: LobRef) -> None:
        """Record the entries or files that a LOB is read from."""
        if lob.entries:
            self._put("entry", map(_encoded, lob.entries))
            return
        self._holdings = survey.holdings(self._source, lob, self._holdings)
        for extent in lob.extents:
            if isinstance(extent, FileExtent):
                self._put("file", [self._below(self._holdings.roots[extent.root], extent.path)])
            else:
                self._put("file", [self._packed(extent, self._holdings)])

    def take_run(self, run: LobRun) -> None:
        """Record the entries or files that a run of LOBs is read from."""
        folders = run.shared.folders
        if run.entries:
            self._put("entry", map(_encoded, run.entries))
        elif folders is None:
            for lob in run.lobs():
                self.take(lob)
        else:
            self._holdings = survey.holdings(self._source, run.lob(0), self._holdings)
            names = run.extents[0]
            first = self._below(self._holdings.roots[run.shared.holding], (*folders, names[0]))
            folder = first.removesuffix(_encoded(names[0]))
            self._put("file", (folder + _encoded(name) for name in names))

    def _put(self, table: str, names: Iterable[bytes]) -> None:
        with tempdb.explained(_WHAT):
            self._database.executemany(f"INSERT INTO {table} VALUES (?)", zip(names))  # noqa: S608

    def _below(self, root: Path, path: tuple[str, ...]) -> bytes:
        """Return a file's real path, as two roots may hold the same file; keep its top folder."""
        real = self._real.get(root)
        if real is None:
            real = self._real[root] = _real(root)
        top = real + b"/" + _encoded(path[0])
        if len(path) > 1 and top != self._top:
            self._top = top
            with tempdb.explained(_WHAT):
                self._database.execute(
                    "INSERT OR IGNORE INTO top VALUES (?, ?)", (top, os.fsencode(root / path[0]))
                )
        return real + b"/" + _encoded("/".join(path))

    def _packed(self, extent: ZipExtent, held: Holdings) -> bytes:
        """Return an entry of a packed segment as its zip file's path, a NUL, and its name."""
        path = held.archives[extent.archive].paths[0]
        assert isinstance(path, Below)  # noqa: S101 -- archive 0 alone is a person's own path
        return self._below(path.root, path.segments) + b"\0" + _encoded(extent.name)

    def unreferenced(self) -> Unreferenced:
        """Return the entries and files that no cell names.

        Inside: those below ``content/`` except tables and folders. Outside: those in the top folder of each
        LOB, below its granted root and never the root itself, except METS files and manifests.
        """
        with tempdb.explained(_WHAT):
            self._database.execute("CREATE INDEX entry_name ON entry (name)")
            self._database.execute("CREATE INDEX file_name ON file (name)")
            inside = Unnamed()
            if isinstance(self._source, Archive):
                self._look_inside(self._source, inside)
            outside, unseen = Unnamed(), []
            for top, written in self._tops():
                try:
                    self._look_through(top, written, outside)
                except SourceError as error:
                    unseen.append(error.message)
            twice, example = self._twice()
        return Unreferenced(
            inside=inside,
            outside=outside,
            unseen=tuple(unseen),
            twice=twice,
            example=example,
        )

    def _look_inside(self, archive: Archive, unnamed: Unnamed) -> None:
        structure = {
            f"{table.folder_path}/{table.folder}.{kind}"
            for table in archive.metadata.tables
            for kind in ("xml", "xsd")
        }
        entries = archive.tree.sizes("content/")
        while some := list(islice(entries, _BATCH)):
            keys = [_encoded(name) for name, _ in some]
            found = self._database.execute(_NAMED_AMONG, (min(keys), max(keys)))
            named = {name for (name,) in found}
            for (name, size), key in zip(some, keys, strict=True) if not named.issuperset(keys) else ():
                if key not in named and name not in structure and not name.endswith("/"):
                    unnamed.add(name, size)

    def _tops(self) -> Iterator[tuple[bytes, bytes]]:
        """Yield the real and the given paths of the folders to search, none below another."""
        last = None
        for top, written in self._database.execute("SELECT path, written FROM top ORDER BY path || x'2f'"):
            if last is None or not top.startswith(last + b"/"):
                last = top
                yield top, written

    def _look_through(self, top: bytes, written: bytes, unnamed: Unnamed) -> None:
        own = _own(self._source)
        with closing(walking.checked_lots(Path(os.fsdecode(written)), sizes=True)) as lots:
            for lot in lots:
                folder, files = b"/" + lot.prefix, zip(lot.names, lot.sizes, strict=True)
                while some := list(islice(files, _ASKED)):
                    named = self._named([top + folder + name for name, _ in some])
                    for name, size in some:
                        path = top + folder + name
                        if path in named or _NO_LOB.fullmatch(name):
                            continue
                        is_own = any(path == each or path.startswith(each + b"/") for each in own)
                        if not (is_own or self._is_named(path)):
                            unnamed.add(_shown(written + folder + name), size)

    def _named(self, paths: list[bytes]) -> set[bytes]:
        """Return the files among ``paths`` that cells name, apart from packed segments."""
        marks = ", ".join("?" * len(paths))
        found = self._database.execute(f"SELECT DISTINCT name FROM file WHERE name IN ({marks})", paths)  # noqa: S608
        return {name for (name,) in found}

    def _is_named(self, path: bytes) -> bool:
        sql = "SELECT 1 FROM file WHERE name = ?1 OR (name > ?2 AND name < ?3) LIMIT 1"
        return self.row(sql, path, path + b"\0", path + b"\1") is not None

    def _twice(self) -> tuple[int, str]:
        count, example = 0, b""
        for table in ("entry", "file"):
            names = f"SELECT name FROM {table} GROUP BY name HAVING count(*) > 1"  # noqa: S608
            repeated, first = self._database.execute(f"SELECT count(*), min(name) FROM ({names})").fetchone()  # noqa: S608
            count, example = count + repeated, example or first or b""
        return count, _shown(example).replace("\0", "/")


def _own(source: Source) -> tuple[bytes, ...]:
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
