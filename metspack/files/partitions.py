"""Columns of values in hash partitions: large sets are compared one partition at a time.

A single partition is held in memory; several are on disk, in a temporary database.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import Any
from zlib import crc32

from metspack.files import tempdb

_AT_ONCE = 2_000  # values of a column in one row of the database
_KEPT = "what is compared of a folder"
_NUL = b"\0"
_WHOLE = -1  # the number of values that are not divided yet
_MOST_COLUMNS = 4
_SCHEMA = """
CREATE TABLE part (source TEXT, number INTEGER, one BLOB, two BLOB, three BLOB, four BLOB);
CREATE INDEX part_number ON part (source, number);
CREATE TABLE slot (id INTEGER PRIMARY KEY, kept BLOB)
"""
_PUT = "INSERT INTO part VALUES (?, ?, ?, ?, ?, ?)"
_OF_PART = "SELECT one, two, three, four FROM part WHERE source = ? AND number = ? ORDER BY rowid"


class PartitionStore(tempdb.Scratch):
    """A temporary database for partitions, and for the tables of ``schema``; a context manager."""

    def __init__(self, schema: str) -> None:
        super().__init__("BEGIN", schema=f"{_SCHEMA};{schema}")


class PartitionedColumns:
    """Columns of equal length in ``parts`` partitions, by the hash of the first column's values.

    ``kinds`` has a letter for each column: n for bytes without NUL, q for numbers of 64 bits. Several
    partitions are stored in ``store`` under the name ``source``. With ``waits`` values are divided by the
    first ``columns`` only, if it is called at all.
    """

    def __init__(
        self, source: str, kinds: str, parts: int, store: PartitionStore, *, waits: bool = False
    ) -> None:
        self._source = source
        self._kinds = kinds
        self._store = store
        self._parts = parts
        self._waits = waits
        self._waiting: list[list[Any]] = [[] for _ in kinds]
        self._divided: list[list[list[Any]]] = [[[] for _ in kinds] for _ in range(parts)]

    def add(self, *columns: Sequence[Any]) -> None:
        """Add values to each column; raises ``TargetError`` when the temporary disk is full."""
        for kept, more in zip(self._waiting, columns, strict=True):
            kept.extend(more)
        if self._parts > 1 and len(self._waiting[0]) >= _AT_ONCE:
            if self._waits:
                self._keep(_WHOLE, self._waiting)
            else:
                self._divide(self._waiting)

    def columns(self, part: int) -> list[list[Any]]:
        """Return the columns of a partition in the order of ``add``, which is not called any more."""
        if self._parts == 1:
            return self._waiting
        for some in chain(self._batches(_WHOLE) if self._waits else (), [self._waiting]):
            self._divide(some)
        self._waits = False
        found: list[list[Any]] = [[] for _ in self._kinds]
        for some in chain(self._batches(part), [self._divided[part]]):
            for column, values in zip(found, some, strict=True):
                column.extend(values)
        return found

    def _batches(self, number: int) -> Iterator[list[list[Any]]]:
        """Yield the stored columns of a partition, one row of the database at a time."""
        for blobs in self._store.rows(_OF_PART, self._source, number):
            yield [
                array("q", blob).tolist() if kind == "q" else blob.split(_NUL)
                for kind, blob in zip(self._kinds, blobs, strict=False)
            ]

    def _divide(self, some: list[list[Any]]) -> None:
        """Move values into the partitions; keep those with many on disk."""
        places: list[list[int]] = [[] for _ in self._divided]
        for at, code in enumerate(map(crc32, some[0])):
            places[code % self._parts].append(at)
        for number, (here, columns) in enumerate(zip(places, self._divided, strict=True)):
            for kept, column in zip(columns, some, strict=True):
                kept.extend(map(column.__getitem__, here))
            if len(columns[0]) >= _AT_ONCE:
                self._keep(number, columns)
        for column in some:
            column.clear()

    def _keep(self, number: int, columns: list[list[Any]]) -> None:
        blobs = [
            array("q", values).tobytes() if kind == "q" else _NUL.join(values)
            for kind, values in zip(self._kinds, columns, strict=True)
        ]
        with tempdb.explained(_KEPT):
            self._store.put(_PUT, self._source, number, *blobs, *[None] * (_MOST_COLUMNS - len(blobs)))
        for each in columns:
            each.clear()


class Records:
    """Records of ``width`` bytes by number, zeros by default; ``on_disk`` or in memory."""

    def __init__(self, width: int, store: PartitionStore, *, on_disk: bool) -> None:
        self._width = width
        self._store = store
        self._row = store.put("INSERT INTO slot (kept) VALUES (NULL)") if on_disk else 0
        self._values: dict[int, bytes] = {}

    def put(self, numbers: Iterable[int], values: Iterable[bytes], count: int) -> None:
        """Set values at their numbers, all below ``count``; raises ``TargetError`` on a full disk."""
        if not self._row:
            self._values.update(zip(numbers, values, strict=True))
            return
        width = self._width
        sql = "UPDATE slot SET kept = coalesce(kept, zeroblob(?)) WHERE id = ?"
        with tempdb.explained(_KEPT):
            self._store.put(sql, count * width, self._row)
            with self._store.blob("slot", "kept", self._row) as blob:
                for number, value in zip(numbers, values, strict=True):
                    blob.seek(number * width)
                    blob.write(value)

    def get(self, start: int, stop: int) -> bytes:
        """Return the values from ``start`` up to, without, ``stop``, joined."""
        if not self._row:
            zeros = bytes(self._width)
            return b"".join([self._values.get(number, zeros) for number in range(start, stop)])
        with self._store.blob("slot", "kept", self._row) as blob:
            blob.seek(start * self._width)
            return blob.read((stop - start) * self._width)
