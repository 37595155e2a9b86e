"""The table of a package's files: path, size and digests of each, by placing and by path."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from metspack.digests import MANIFEST_ALGORITHMS, Hashers
from metspack.files import reading, tempdb


@dataclass(frozen=True, slots=True, kw_only=True)
class PlacedFile:
    """A file of a segment on disk: path inside the segment, size in bytes, digests in hex."""

    id: str
    path: str
    size: int
    media_type: str
    checksum: str
    md5: str
    sha256: str
    part_of: str = ""
    """The id of the LOB that the file is a part of, "" when it is a whole LOB."""
    sequence: int | None = None
    """The part's number, from 0."""

    def below(self, folder: str) -> PlacedFile:
        """Return the same file by its path from above a folder, which ends with a slash."""
        return replace(self, path=folder + self.path)


def algorithms(checksum: str) -> tuple[str, ...]:
    """Return the algorithms by which a package's files are hashed: the manifests', and METS's."""
    return tuple(dict.fromkeys((*MANIFEST_ALGORITHMS, checksum)))


def placed_file(
    identifier: str,
    path: str,
    media_type: str,
    hashers: Hashers,
    checksum: str,
) -> PlacedFile:
    """Return a whole file by its digests, which are those of ``algorithms(checksum)`` or more."""
    return PlacedFile(
        id=identifier,
        path=path,
        size=hashers.size,
        media_type=media_type,
        checksum=hashers.digest(checksum).value,
        md5=hashers.digest("MD5").value,
        sha256=hashers.digest("SHA-256").value,
    )


COLUMNS = tuple(PlacedFile.__dataclass_fields__)
"""The columns of a table of placed files."""


def row_of(file: PlacedFile) -> tuple[Any, ...]:
    """Return a placed file as a row of such a table."""
    return tuple(getattr(file, name) for name in COLUMNS)


def file_of(row: Sequence[Any]) -> PlacedFile:
    """Return the placed file that a row of such a table describes."""
    return PlacedFile(**dict(zip(COLUMNS, row, strict=True)))


@dataclass(frozen=True, slots=True, kw_only=True)
class PlacedRun:
    """Placed files, one after the other, as columns of one length; none is a part.

    Files that are yet to be placed have no digests.
    """

    id: Sequence[str]
    path: Sequence[str]
    size: Sequence[int]
    media_type: Sequence[str]
    checksum: Sequence[str] = ()
    md5: Sequence[str] = ()
    sha256: Sequence[str] = ()

    def __len__(self) -> int:
        return len(self.id)

    def below(self, folder: str) -> PlacedRun:
        """Return the same files by their paths from above a folder, which ends with a slash."""
        return replace(self, path=[folder + each for each in self.path])

    def files(self) -> Iterator[PlacedFile]:
        """Yield the files one by one."""
        for row in zip(*self.columns(), strict=True):
            yield PlacedFile(**dict(zip(_PLAIN, row, strict=True)))

    def columns(self) -> tuple[Sequence[Any], ...]:
        """Return the columns in the order of the fields."""
        return self.id, self.path, self.size, self.media_type, self.checksum, self.md5, self.sha256


_PLAIN = tuple(PlacedRun.__dataclass_fields__)
_LONGEST = 1_000  # files in a run
_HELD = 10_000  # files that are kept in memory
_SCHEMA = """
CREATE TABLE placed (n INTEGER PRIMARY KEY, columns TEXT);
CREATE TABLE line (path TEXT, md5 TEXT, sha256 TEXT);
"""
_PLACED = "SELECT columns FROM placed ORDER BY n"
_LINES = "SELECT path, md5, sha256 FROM line ORDER BY path"

ManifestRow = tuple[str, str, str]
"""Path, MD5 and SHA-256 of a file."""

Placed = PlacedFile | PlacedRun
"""One file, or many as columns."""


def text_of(placed: Placed) -> str:
    """Return a file or files as one line of text."""
    columns = row_of(placed) if isinstance(placed, PlacedFile) else placed.columns()
    return json.dumps(columns, separators=(",", ":"))


def placed_of(text: str) -> Placed:
    """Return the file or files of a text by ``text_of``, with or without the end of its line."""
    columns: list[Any] = json.loads(text)
    if len(columns) == len(_PLAIN):
        return PlacedRun(**dict(zip(_PLAIN, columns, strict=True)))
    return file_of(columns)


def runs(files: Iterable[PlacedFile]) -> Iterator[Placed]:
    """Yield files in their order, those that are no parts as runs."""
    rows: list[tuple[Any, ...]] = []
    for file in files:
        is_plain = not file.part_of and file.sequence is None
        if rows and (not is_plain or len(rows) == _LONGEST):
            yield _run(rows)
            rows = []
        if is_plain:
            rows.append(row_of(file)[: len(_PLAIN)])
        else:
            yield file
    if rows:
        yield _run(rows)


def _run(rows: list[tuple[Any, ...]]) -> PlacedRun:
    return PlacedRun(**dict(zip(_PLAIN, zip(*rows, strict=True), strict=True)))


def one_by_one(files: Iterable[Placed]) -> Iterator[PlacedFile]:
    """Yield files one by one."""
    for each in files:
        if isinstance(each, PlacedRun):
            yield from each.files()
        else:
            yield each


class ManifestLines(reading.Closable):
    """Files as manifests list them, sorted by path, in whichever order they are added.

    More than ``held`` files are moved to disk.
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

    def add(self, file: Placed) -> None:
        """Add a file, or many."""
        if isinstance(file, PlacedFile):
            self._lines.append((file.path, file.md5, file.sha256))
        else:
            self._lines += zip(file.path, file.md5, file.sha256, strict=True)
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
            yield from sorted(self._lines)  # the order of code points is that of the bytes in UTF-8
            return
        with tempdb.explained("the files of a segment"):
            self._move_to_disk(self._database)
            rows = self._database.execute(_LINES)
        yield from rows


class Placements(ManifestLines):
    """The placed files of one segment: by order of placing, and sorted by path.

    ``count`` files were added, of ``size`` bytes.
    """

    def __init__(self, held: int = _HELD) -> None:
        super().__init__(held)
        self.count = self.size = 0
        self._waiting: list[PlacedFile] = []
        self._held: list[Placed] = []

    def close(self) -> None:
        """Drop all files: a template that has them stays in memory until cycles are collected."""
        self._waiting.clear()
        self._held.clear()
        super().close()

    def add(self, file: Placed) -> None:
        """Add the next file, or the next files."""
        if isinstance(file, PlacedFile):
            self.count, self.size = self.count + 1, self.size + file.size
            self._waiting.append(file)
            if len(self._waiting) < _LONGEST:
                return
            self._flush()
        else:
            self.count, self.size = self.count + len(file.path), self.size + sum(file.size)
            self._flush()
            self._put(file)

    def _flush(self) -> None:
        for each in runs(self._waiting):
            self._put(each)
        self._waiting.clear()

    def _put(self, placed: Placed) -> None:
        self._held.append(placed)
        super().add(placed)

    def _move_to_disk(self, database: sqlite3.Connection) -> None:
        kept = ((text_of(each),) for each in self._held)
        database.executemany("INSERT INTO placed (columns) VALUES (?)", kept)
        self._held.clear()
        super()._move_to_disk(database)

    def runs(self) -> Iterator[Placed]:
        """Yield the files in the order they were placed, in the runs as they were added."""
        self._flush()
        kept = () if self._database is None else self._database.execute(_PLACED)
        for (text,) in kept:
            yield placed_of(text)
        yield from self._held

    def files(self) -> Iterator[PlacedFile]:
        """Return an iterator over the files in the order they were placed."""
        return one_by_one(self.runs())

    def manifest_rows(self) -> Generator[ManifestRow, None, None]:
        """Yield path, MD5 and SHA-256 of every file, sorted by the bytes of the path."""
        self._flush()
        yield from super().manifest_rows()
