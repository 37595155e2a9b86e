"""Columns of values in hash partitions: large sets are compared one partition at a time.

A single partition is held in memory; several are on disk, in a temporary database.
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any
from zlib import crc32

from metspack.files import tempdb

_AT_ONCE = 2_000  # values of a column in one row of the database
_KEPT = "what is compared of a folder"
_NUL = b"\0"
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
    partitions are stored in ``store`` under the name ``source``.
    """

    def __init__(self, source: str, kinds: str, parts: int, store: PartitionStore) -> None:
        self._source = source
        self._kinds = kinds
        self._store = store
        self._parts = parts
        self._waiting: list[list[Any]] = [[] for _ in kinds]
        self._divided: list[list[list[Any]]] = [[[] for _ in kinds] for _ in range(parts)]

    def add(self, *columns: Sequence[Any]) -> None:
        """Add values to each column; raises ``TargetError`` when the temporary disk is full."""
        for kept, more in zip(self._waiting, columns, strict=True):
            kept.extend(more)
        if self._parts > 1 and len(self._waiting[0]) >= _AT_ONCE:
            self._divide()

    def columns(self, part: int) -> list[list[Any]]:
        """Return the columns of a partition in the order of ``add``, which is not called any more."""
        if self._parts == 1:
            return self._waiting
        self._divide()
        found: list[list[Any]] = [[] for _ in self._kinds]
        for blobs in self._store.rows(_OF_PART, self._source, part):
            for kind, column, blob in zip(self._kinds, found, blobs, strict=False):
                column.extend(array("q", blob) if kind == "q" else blob.split(_NUL))
        for column, left in zip(found, self._divided[part], strict=True):
            column.extend(left)
        return found

    def _divide(self) -> None:
        """Divide the waiting values into the partitions; keep those with many on disk."""
        numbers = [code % self._parts for code in map(crc32, self._waiting[0])]
        order, at = sorted(range(len(numbers)), key=numbers.__getitem__), 0
        in_order = [list(map(column.__getitem__, order)) for column in self._waiting]
        for number, count in sorted(Counter(numbers).items()):
            for kept, values in zip(self._divided[number], in_order, strict=True):
                kept.extend(values[at : at + count])
            at += count
            if len(self._divided[number][0]) >= _AT_ONCE:
                self._keep(number, self._divided[number])
        for column in self._waiting:
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
