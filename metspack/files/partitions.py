"""Columns of values in hash partitions: large sets are compared one partition at a time.

Whoever reads values divides them; they are sent and stored as bytes, many at once.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Sequence
from typing import Any
from zlib import crc32

from metspack.files import tempdb

WHOLE = -1
"""The number of the part with values that are not divided yet."""

_AT_ONCE, _MOST_HELD = 2_000, 10_000  # values of a column in one row of the database, and in memory
_NUL = b"\0"
# The columns of values that were kept together are successive rows.
_SCHEMA = """
CREATE TABLE part (source TEXT, number INTEGER, kept BLOB);
CREATE INDEX part_number ON part (source, number);
CREATE TABLE slot (id INTEGER PRIMARY KEY, kept BLOB)
"""
_PUT = "INSERT INTO part VALUES (?, ?, ?)"
_OF_PART = "SELECT kept FROM part WHERE source = ? AND number = ? ORDER BY rowid"

Part = tuple[int, Sequence[bytes]]
"""Some values of a partition: its number, and each column as bytes."""


class Partitions:
    """Columns of equal length, divided into ``parts`` by the hash of the first column's values.

    ``kinds`` has a letter for each column: n for bytes without NUL, q for numbers of 64 bits. With no parts
    all values are ``WHOLE``.
    """

    def __init__(self, kinds: str, parts: int) -> None:
        self._kinds = kinds
        self._parts = parts
        self._most = min(_AT_ONCE * (parts or 1), _MOST_HELD)
        self._held = 0
        self._divided: list[list[list[Any]]] = [[[] for _ in kinds] for _ in range(parts or 1)]

    def add(self, *columns: Sequence[Any]) -> Iterator[Part]:
        """Add values to each column; yield all once they are many."""
        places: list[list[int]] = [[] for _ in self._divided]
        put = [each.append for each in places]
        for at, code in enumerate(map(crc32, columns[0])) if len(places) > 1 else ():
            put[code % self._parts](at)
        for here, kept in zip(places, self._divided, strict=True):
            for values, column in zip(kept, columns, strict=True):
                values.extend(map(column.__getitem__, here) if len(places) > 1 else column)
        self._held += len(columns[0])
        if self._held >= self._most:
            yield from self.rest()

    def rest(self) -> Iterator[Part]:
        """Yield all values that were not yielded yet."""
        self._held = 0
        for number, columns in enumerate(self._divided):
            if columns[0]:
                kept = [
                    array("q", values).tobytes() if kind == "q" else _NUL.join(values)
                    for kind, values in zip(self._kinds, columns, strict=True)
                ]
                yield number if self._parts else WHOLE, kept
            for values in columns:
                values.clear()


class PartitionStore(tempdb.Scratch):
    """A temporary database for partitions, and for the tables of ``schema``; a context manager."""

    def __init__(self, schema: str) -> None:
        super().__init__("BEGIN", schema=f"{_SCHEMA};{schema}")

    def keep(self, source: str, number: int, columns: Sequence[bytes]) -> None:
        """Keep a part of a source; raises ``sqlite3.Error`` when the temporary disk is full."""
        for each in columns:
            self.put(_PUT, source, number, each)

    def batches(self, source: str, kinds: str, number: int) -> Iterator[list[list[Any]]]:
        """Yield the columns of a partition of a source, those that were kept together at a time."""
        rows = self.rows(_OF_PART, source, number)
        for columns in zip(*[rows] * len(kinds), strict=True):
            yield [
                array("q", kept).tolist() if kind == "q" else kept.split(_NUL)
                for kind, (kept,) in zip(kinds, columns, strict=True)
            ]

    def columns(self, source: str, kinds: str, number: int) -> list[list[Any]]:
        """Return the columns of a partition of a source."""
        found: list[list[Any]] = [[] for _ in kinds]
        for some in self.batches(source, kinds, number):
            for column, values in zip(found, some, strict=True):
                column.extend(values)
        return found


class Records:
    """Records of ``width`` bytes by number, zeros by default; ``on_disk`` or in memory."""

    def __init__(self, width: int, store: PartitionStore, *, on_disk: bool) -> None:
        self._width = width
        self._store = store
        self._row = store.put("INSERT INTO slot (kept) VALUES (NULL)") if on_disk else 0
        self._values = bytearray()

    def put(self, numbers: Iterable[int], values: Iterable[bytes], count: int) -> None:
        """Set values at their numbers, all below ``count``; raises ``TargetError`` on a full disk."""
        width = self._width
        if not self._row:
            self._values += bytes(count * width - len(self._values))
            for number, value in zip(numbers, values, strict=True):
                self._values[number * width : (number + 1) * width] = value
            return
        sql = "UPDATE slot SET kept = zeroblob(?) WHERE id = ? AND kept IS NULL"
        self._store.put(sql, count * width, self._row)
        with self._store.blob("slot", "kept", self._row) as blob:
            for number, value in zip(numbers, values, strict=True):
                blob.seek(number * width)
                blob.write(value)

    def get(self, start: int, stop: int) -> bytes:
        """Return the values from ``start`` up to, without, ``stop``, joined."""
        if not self._row:
            found = bytes(self._values[start * self._width : stop * self._width])
            return found.ljust((stop - start) * self._width, b"\0")
        with self._store.blob("slot", "kept", self._row) as blob:
            blob.seek(start * self._width)
            return blob.read((stop - start) * self._width)
