"""The form of a table's document: its elements against the columns that metadata.xml gives the table.

What is odd is counted, and the first of each kind kept: a table has as many elements as it likes.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import accumulate

from metspack.siard.metadata import Column
from metspack.uris import shown

UNKNOWN, DISORDERED = "unknown", "disordered"
"""Kinds of odd elements: those of no column, and those before, or beside, one that they follow."""

_TABLE = 1  # the depth of the root
_INNER = re.compile(r"[uar]([1-9][0-9]{0,8})")  # a field of a cell, or an element of an array
_SHOWN = 80


class TableForm:
    """The form of one table as far as it was read; its methods are called for elements that begin.

    ``odd`` are the elements that the table has no place for, by their kind: how many, and the first.
    ``absent`` are the rows without a cell in a column that must have one, by its number: how many, the first.
    """

    def __init__(self, columns: Sequence[Column]) -> None:
        self.odd: dict[str, tuple[int, str]] = {}
        self.absent: dict[int, tuple[int, int]] = {}
        self.numbers = {f"c{column.number}": column.number for column in columns}
        """The columns' numbers by the names of their cells."""
        self._columns = len(columns)
        # How many columns up to each must have a cell.
        self._needed = list(accumulate((not column.is_nullable for column in columns), initial=0))
        self._row = 0
        self._cell = 0, 0
        self._inner: dict[int, int] = {}

    def row(self, name: str, last: int) -> None:
        """Take a row; ``last`` is the number of the last cell of the one before."""
        self.end_row(last)
        self._row += 1
        if name != "row":
            self._expect(name, "row")

    def end_row(self, last: int) -> None:
        """End the row that was begun last, if there is one, behind its cell of the number ``last``."""
        if self._row and last < self._columns:
            self._skip(last, self._columns + 1)

    def cell(self, name: str, attributes: dict[str, str], last: int) -> int:
        """Take a cell that is not simply the next after that of the number ``last``; return its number."""
        number = self.numbers.get(name) or self.numbers.get(name.rpartition(":")[2], 0)
        if not number:
            if "file" not in attributes:  # one with a file is told of as a LOB's
                self._count(UNKNOWN, name)
            return last
        if number <= last:
            self._count(DISORDERED, name)
        else:
            self._skip(last, number)
        return number

    def other(self, name: str, depth: int, last: int) -> None:
        """Take the root, or an element inside the cell of the number ``last``."""
        if depth == _TABLE:
            if name != "table":
                self._expect(name, "table")
            return
        if self._cell != (self._row, last):
            self._cell = self._row, last
            self._inner.clear()
        found = _INNER.fullmatch(name.rpartition(":")[2])
        self._inner.pop(depth + 1, None)
        if found is None:
            self._count(UNKNOWN, name)
            return
        number = int(found[1])
        if number <= self._inner.get(depth, 0):
            self._count(DISORDERED, name)
        self._inner[depth] = number

    def _expect(self, name: str, expected: str) -> None:
        if name.rpartition(":")[2] != expected:
            self._count(UNKNOWN, name)

    def _count(self, kind: str, name: str) -> None:
        count, first = self.odd.get(kind) or (0, f"<{shown(name)[:_SHOWN]}> in row {self._row:,}")
        self.odd[kind] = count + 1, first

    def _skip(self, last: int, number: int) -> None:
        """Count the columns between two cells that must have a cell and have none in this row."""
        needed = self._needed
        if needed[number - 1] == needed[last]:
            return
        for column in range(last + 1, number):
            if needed[column] > needed[column - 1]:
                count, first = self.absent.get(column, (0, self._row))
                self.absent[column] = count + 1, first
