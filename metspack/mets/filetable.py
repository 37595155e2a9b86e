"""Store the files of a package, with sizes and digests, by order of placing and by path."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass, replace

from metspack.digests import MANIFEST_ALGORITHMS, Hashers
from metspack.files import reading, tempdb
from metspack.model import Columnar


def algorithms(checksum: str) -> tuple[str, ...]:
    """Return the algorithms for a package's files: those of manifests, and that of METS."""
    return tuple(dict.fromkeys((*MANIFEST_ALGORITHMS, checksum)))


def placed_file(
    identifier: str,
    path: str,
    media_type: str,
    hashers: Hashers,
    checksum: str,
) -> PlacedRun:
    """Return a whole file as a run of one; ``hashers`` have at least ``algorithms(checksum)``."""
    return PlacedRun(
        id=[identifier],
        path=[path],
        size=[hashers.size],
        media_type=[media_type],
        checksum=[hashers.digest(checksum).value],
        md5=[hashers.digest("MD5").value],
        sha256=[hashers.digest("SHA-256").value],
    )


COLUMNS = ("id", "path", "size", "media_type", "checksum", "md5", "sha256", "part_of", "sequence")
"""The columns of a table of placed files."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlacedRun(Columnar):
    """Files on disk in the order of METS, as columns of equal length.

    ``path`` is relative to a folder, ``size`` in bytes, digests are in hex. Of parts, ``part_of`` are the ids
    of their LOBs and ``sequence`` their numbers, from 0; both are empty for whole files. Files that are not
    placed yet have no digests.
    """

    id: Sequence[str]
    path: Sequence[str]
    size: Sequence[int]
    media_type: Sequence[str]
    checksum: Sequence[str] = ()
    md5: Sequence[str] = ()
    sha256: Sequence[str] = ()
    part_of: Sequence[str] = ()
    sequence: Sequence[int] = ()

    OF_EACH = COLUMNS

    def below(self, folder: str) -> PlacedRun:
        """Return the files with ``folder``, which ends with a slash, before their paths."""
        return replace(self, path=[folder + each for each in self.path])


_HELD = 10_000  # the most files in memory
_SCHEMA = """
CREATE TABLE placed (n INTEGER PRIMARY KEY, columns TEXT);
CREATE TABLE line (path TEXT, md5 TEXT, sha256 TEXT);
"""
_PLACED = "SELECT columns FROM placed ORDER BY n"
_LINES = "SELECT path, md5, sha256 FROM line ORDER BY path"

ManifestRow = tuple[str, str, str]
"""Path, MD5 and SHA-256 of a file."""


def text_of(run: PlacedRun) -> str:
    """Return files as a line of JSON."""
    return json.dumps([getattr(run, name) for name in COLUMNS], separators=(",", ":"))


def placed_of(text: str) -> PlacedRun:
    """Return the files of a line by ``text_of``, with or without its line feed."""
    return PlacedRun(**dict(zip(COLUMNS, json.loads(text), strict=True)))


class ManifestLines(reading.Closable):
    """The lines of manifests, sorted by path, for files added in any order.

    If there are more than ``held`` files, they are moved to disk.
    """

    def __init__(self, held: int = _HELD) -> None:
        self._most = held
        self._database: sqlite3.Connection | None = None
        self._lines: list[ManifestRow] = []

    def close(self) -> None:
        """Drop all files."""
        self._lines.clear()
        if self._database is not None:
            self._database.close()

    def add(self, run: PlacedRun) -> None:
        """Add files."""
        self._lines += zip(run.path, run.md5, run.sha256, strict=True)
        if len(self._lines) > self._most:
            with tempdb.explained("the files of a segment"):
                self._move_to_disk(self._opened())

    def _opened(self) -> sqlite3.Connection:
        if self._database is None:
            self._database = tempdb.create(schema=_SCHEMA)
            self._database.execute("BEGIN")
        return self._database

    def _move_to_disk(self, database: sqlite3.Connection) -> None:
        database.executemany("INSERT INTO line VALUES (?, ?, ?)", self._lines)
        self._lines.clear()

    def manifest_rows(self) -> Generator[ManifestRow, None, None]:
        """Yield path, MD5 and SHA-256 of every file, sorted by the bytes of the path."""
        if self._database is None:
            yield from sorted(self._lines)  # code points sort as their bytes in UTF-8 do
            return
        with tempdb.explained("the files of a segment"):
            self._move_to_disk(self._database)
            rows = self._database.execute(_LINES)
        yield from rows


class Placements(ManifestLines):
    """The placed files of one segment, in the order of placing, and sorted by path.

    ``count`` files have ``size`` bytes in all.
    """

    def __init__(self, held: int = _HELD) -> None:
        super().__init__(held)
        self.count = self.size = 0
        self._held: list[PlacedRun] = []

    def close(self) -> None:
        """Drop all files: templates that refer to this object may stay in memory for long."""
        self._held.clear()
        super().close()

    def add(self, run: PlacedRun) -> None:
        """Add the next files."""
        self.count, self.size = self.count + len(run), self.size + sum(run.size)
        self._held.append(run)
        super().add(run)

    def _move_to_disk(self, database: sqlite3.Connection) -> None:
        kept = ((text_of(each),) for each in self._held)
        database.executemany("INSERT INTO placed (columns) VALUES (?)", kept)
        self._held.clear()
        super()._move_to_disk(database)

    def runs(self) -> Iterator[PlacedRun]:
        """Yield the files in the order of placing, in the same runs as they were added."""
        kept = () if self._database is None else self._database.execute(_PLACED)
        for (text,) in kept:
            yield placed_of(text)
        yield from self._held
