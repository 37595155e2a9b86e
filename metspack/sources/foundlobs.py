"""LOBs found in files, sorted on disk by their place in the database."""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import groupby
from operator import attrgetter

from metspack.errors import SourceError
from metspack.files import tempdb
from metspack.model import FileExtent, LobPlace

NAMED = 20
"""The number of a source's faults that are named; all are counted."""

_BATCH = 1000
_LEVEL = struct.Struct(">cQ")
_SUFFIX = re.compile(r"\.([A-Za-z0-9]{1,10})", re.ASCII)


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundLob:
    """A LOB in files: its place, its bytes (several files when it is split, in order), and their number."""

    place: LobPlace
    extents: tuple[FileExtent, ...]
    size: int
    extension: str
    media_type: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Placed:
    """A file with the place of the LOB that it holds; ``part`` orders the parts of one, -1 is the whole.

    ``line`` is that of the list which names the file, 0 without one.
    """

    place: LobPlace
    part: int = -1
    line: int = 0
    extent: FileExtent


def extension_of(name: str) -> str:
    """Return the extension of a file's name without the dot, ``bin`` when it has none that is plain."""
    stem, dot, _ = name.rpartition(".")
    found = _SUFFIX.fullmatch(name, len(stem)) if stem and dot else None
    return found[1] if found else "bin"


@lru_cache(maxsize=4096)
def cell_key(cell: str) -> bytes:
    """Return the bytes that sort as cells do: ``c3.u2.u10`` after ``c3.u2.u9``, and after ``c3.u2``."""
    return b"".join(_LEVEL.pack(each[0].encode("ascii"), int(each[1:])) for each in cell.split("."))


@lru_cache(maxsize=4096)
def cell_of(key: bytes) -> str:
    """Return the cell whose ``cell_key`` is this."""
    return ".".join(f"{letter.decode('ascii')}{number}" for letter, number in _LEVEL.iter_unpack(key))


_COLUMNS = "schema, place_table, place_row, cell, part, path, line, size, modified, inode, device"
_PLACE = "schema, place_table, place_row, cell"
_TABLE = (
    "schema INTEGER, place_table INTEGER, place_row INTEGER, cell BLOB, part INTEGER, path TEXT, "
    "line INTEGER, size INTEGER, modified INTEGER, inode TEXT, device TEXT"
)
_Row = tuple[int, int, int, bytes, int, str, int, int, int, str, str]


class Finds(tempdb.Scratch):
    """Files put in any order and given back by schema, table, row and cell; a context manager.

    Kept in a temporary database, so that ten million take no more memory than ten. First ``put`` and
    ``refuse``, then ``sort``, then everything else. Raises TargetError when the temporary disk is full.
    """

    __slots__ = ("_batch", "_what", "count")

    def __init__(self, what: str) -> None:
        """Begin without any; ``what`` names the source in errors."""
        self._what = what
        self._batch: list[_Row] = []
        self.count = 0
        with tempdb.explained(what):
            super().__init__(
                f"CREATE TABLE unsorted ({_TABLE})", "CREATE TABLE fault (position, text TEXT)", "BEGIN"
            )

    def _do(self, statement: str, *values: object) -> None:
        with tempdb.explained(self._what):
            self._database.execute(statement, values)

    def put(self, each: Placed) -> None:
        """Add a file."""
        place, extent = each.place, each.extent
        key, path = cell_key(place.cell), "/".join(extent.path)
        row = (place.schema, place.table, place.row, key, each.part, path, each.line)
        self._batch.append((*row, extent.size, extent.modified, str(extent.inode), str(extent.device)))
        self.count += 1
        if len(self._batch) >= _BATCH:
            self._flush()

    def _flush(self) -> None:
        with tempdb.explained(self._what):
            self._database.executemany(f"INSERT INTO unsorted VALUES ({', '.join('?' * 11)})", self._batch)  # noqa: S608
        self._batch.clear()

    def refuse(self, position: int | str, text: str) -> None:
        """Record a fault; faults are sorted by ``position``."""
        self._do("INSERT INTO fault VALUES (?, ?)", position, text)

    def check(self, said: str, hint: str) -> None:
        """Raise SourceError when there are faults: with ``said``, their number, and the first ones."""
        with tempdb.explained(self._what):
            (number,) = self._database.execute("SELECT count(*) FROM fault").fetchone()
            texts = [
                text
                for (text,) in self._database.execute(
                    "SELECT text FROM fault ORDER BY position, text LIMIT ?", (NAMED,)
                )
            ]
        if number:
            more = [f"and {number - NAMED:,} more"] if number > NAMED else []
            raise SourceError(
                f"{self._what}: {said}: {number:,} found: {'; '.join([*texts, *more])}", hint=hint
            )

    def sort(self) -> None:
        """Sort the files; none is added afterwards."""
        self._flush()
        # Rows that come in order fill a table page after page; one that grew in disorder would be slow.
        self._do(
            f"CREATE TABLE found ({_TABLE}, PRIMARY KEY ({_PLACE}, part, path, line)) WITHOUT ROWID",
        )
        self._do(f"INSERT INTO found SELECT * FROM unsorted ORDER BY {_PLACE}, part, path, line")  # noqa: S608
        self._do("DROP TABLE unsorted")

    def by_place(self) -> Iterator[tuple[LobPlace, tuple[Placed, ...]]]:
        """Yield every place with its files, the parts of a LOB in order."""
        with tempdb.explained(self._what):
            rows = self._database.execute(f"SELECT {_COLUMNS} FROM found ORDER BY {_PLACE}, part, path, line")  # noqa: S608
            for place, files in groupby(map(_placed, rows), attrgetter("place")):
                yield place, tuple(files)

    def crowded(self) -> Iterator[tuple[LobPlace, tuple[Placed, ...]]]:
        """Yield the places that do not hold one whole file: several, or parts."""
        places = (
            f"SELECT {_PLACE} FROM found GROUP BY {_PLACE} HAVING count(*) > 1 OR max(part) >= 0 "  # noqa: S608
            f"ORDER BY {_PLACE}"
        )
        files = f"SELECT {_COLUMNS} FROM found WHERE ({_PLACE}) = (?, ?, ?, ?) ORDER BY part, path, line"  # noqa: S608
        with tempdb.explained(self._what):
            for row in self._database.execute(places):
                found = tuple(map(_placed, self._database.execute(files, row)))
                yield found[0].place, found


def _placed(row: _Row) -> Placed:
    schema, table, number, cell, part, path, line, size, modified, inode, device = row
    return Placed(
        place=LobPlace(schema=schema, table=table, cell=cell_of(cell), row=number),
        part=part,
        line=line,
        extent=FileExtent(
            root=0,
            path=tuple(path.split("/")),
            size=size,
            modified=modified,
            inode=int(inode),
            device=int(device),
        ),
    )
