"""A folder of LOBs as a source, without an archive; and LOBs found in files, sorted on disk by their place.

A folder has ``content/schema0/table2/lob4/record0.bin`` and so on: the folders and names are those of the
recommendation for external LOBs (0.28, 5.1) and of the archives that SIARD programs write;
``layouts.lobseg`` writes the names that are read here.
"""

from __future__ import annotations

import os
import re
import struct
from collections.abc import Iterator
from contextlib import closing, suppress
from dataclasses import dataclass
from functools import lru_cache
from itertools import groupby, pairwise
from operator import attrgetter
from pathlib import Path
from typing import NamedTuple

from metspack.errors import SourceError
from metspack.files import reading, tempdb, walking
from metspack.layouts.interface import FROM_1, NUMBER
from metspack.layouts.names import LAST, LOB_PART_SUFFIX
from metspack.locations import splitparts
from metspack.mediatypes import media_type
from metspack.model import FileExtent, LobPlace
from metspack.uris import shown

NAMED = 20
"""The number of a source's faults that are named; all are counted."""

_BATCH = 1000
_LEVEL = struct.Struct(">cQ")
_SUFFIX = re.compile(r"\.([A-Za-z0-9]{1,10})", re.ASCII)
_CONTENT = "content"
_FOLDERS = re.compile(
    rf"schema{NUMBER}/table{NUMBER}/lob{FROM_1}((?:/[ua]{FROM_1.replace('(', '(?:')})*)", re.ASCII
)
_FILE = re.compile(
    rf"(record{NUMBER}\.[^./\\\x00-\x1f\x7f-\x9f\ud800-\udfff]+?)(?:{LOB_PART_SUFFIX})?", re.ASCII
)
_LAST = 1 << 60
"""The number of part ``z``, which comes after every other."""
_EXPECTED = "content/schema<i>/table<j>/lob<k>/record<r>.<ext>"
_HINT = (
    f"Every file is {_EXPECTED}: schemas, tables and records count from 0, columns from 1, a nested cell is "
    "lob<k>/u<n> or lob<k>/a<n>. Remove all other files, or list the files with their places in a CSV."
)
_PARTS_HINT = (
    "A LOB is whole, or in parts <file>.0, .1 and so on with .z for the last, or <file>_part001, _part002 "
    "and so on: add the missing parts, remove the superfluous files."
)


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
            for place, files in groupby(map(_stored, rows), attrgetter("place")):
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
                found = tuple(map(_stored, self._database.execute(files, row)))
                yield found[0].place, found


def _stored(row: _Row) -> Placed:
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


class _FileName(NamedTuple):
    """A file's name taken apart: the whole LOB's, its row, and the part's number (-1 for the whole)."""

    whole: str
    row: int
    part: int
    siard22: bool


def lobs(folder: Path) -> Iterator[FoundLob]:
    """Yield the LOBs below a folder by schema, table, row and cell, split ones as the whole.

    Files lie in ``content/schema<i>/table<j>/lob<k>[/u<n>|/a<n>...]/`` and are named ``record<r>.<ext>``,
    with r from 0 (the row is one more); ``folder`` holds ``content`` or is it. Parts are
    ``record<r>.<ext>.0``, ``.1`` ... ``.z`` (recommendation 0.28, 5.3) or ``_part001``, ``_part002`` ...
    (SIARD 2.2 S_8.1.1-0), in either way all in one folder; a number may have zeros in front, up to four
    digits in all. Extents are below ``folder``, their root is 0.

    Raises SourceError before the first LOB is yielded: for a folder that cannot be read or holds no
    file, for files that are not named as LOBs (all counted, 20 named), for anything that is neither
    file nor folder, and for LOBs that are there twice, whole and in parts, or not in all their parts.
    """
    with Finds(str(folder)) as finds:
        _look_through(folder, finds)
        finds.sort()
        for number, (_, files) in enumerate(finds.crowded()):
            if fault := _fault(files):
                finds.refuse(number, fault)
        finds.check("LOBs that are not there once and whole", _PARTS_HINT)
        for place, files in finds.by_place():
            name = files[0].extent.path[-1]
            extension = extension_of(name if files[0].part < 0 else _named(name).whole)
            extents = tuple(each.extent for each in files)
            yield FoundLob(
                place=place,
                extents=extents,
                size=sum(each.size for each in extents),
                extension=extension,
                media_type=media_type(None, extension),
            )


def _look_through(folder: Path, finds: Finds) -> None:
    """Put every file below the folder among the finds; raises SourceError as ``lobs`` does."""
    above = (_CONTENT,) if _has_content(folder) else ()
    with closing(walking.entries(folder)) as entries:
        for entry in entries:
            if entry.stamp is None:
                continue
            found = _placed(entry.path, above)
            if found is None:
                name = shown("/".join(entry.path))
                finds.refuse(name, name)
                continue
            place, part = found
            stamp = entry.stamp
            extent = FileExtent(
                root=0,
                path=entry.path,
                size=stamp.size,
                modified=stamp.modified,
                inode=stamp.inode,
                device=stamp.device,
            )
            finds.put(Placed(place=place, part=part, extent=extent))
    finds.check(f"files that are not named as LOBs (expected {_EXPECTED})", _HINT)
    if not finds.count:
        raise SourceError(f"{folder}: holds no files; expected {_EXPECTED}", hint=_HINT)


def _has_content(folder: Path) -> bool:
    with suppress(OSError):
        os.close(reading.opened_folder(folder, (_CONTENT,)))
        return True
    return False


def _placed(path: tuple[str, ...], above: tuple[str, ...]) -> tuple[LobPlace, int] | None:
    """Return the place and the part that a file's names stand for, None when they stand for none."""
    if path[: len(above)] != above:
        return None
    folders = _FOLDERS.fullmatch("/".join(path[len(above) : -1]))
    if folders is None or (name := _named_or_none(path[-1])) is None:
        return None
    schema, table, column, below = folders.groups()
    cell = f"c{column}{below.replace('/', '.')}"
    return LobPlace(schema=int(schema), table=int(table), cell=cell, row=name.row), name.part


def _named(name: str) -> _FileName:
    found = _named_or_none(name)
    if found is None:  # only names that were taken before come here
        raise ValueError(f"{name!r} is not the name of a LOB")
    return found


def _named_or_none(name: str) -> _FileName | None:
    found = _FILE.fullmatch(name)
    if found is None:
        return None
    whole, record, lobseg, siard22 = found.groups()
    number = lobseg or siard22
    part = -1 if number is None else _LAST if number == LAST else int(number)
    if number and part != _LAST:
        style = splitparts.SIARD22 if siard22 else splitparts.LOBSEG
        if name.removeprefix(whole) not in style.spelled(part):
            return None
    return _FileName(whole=whole, row=int(record) + 1, part=part, siard22=siard22 is not None)


def _fault(files: tuple[Placed, ...]) -> str:
    """Return the reason why the files of one place are not one LOB, "" when they are."""
    path = files[0].extent.path
    names = [_named(each.extent.path[-1]) for each in files]
    where = f"{'/'.join(path[:-1])}: "
    wholes = sorted({each.whole for each in names})
    if len(wholes) > 1:
        return f"{where}{_listed(wholes)} are different files for one LOB"
    if names[0].part < 0:
        return f"{where}{shown(wholes[0])} is there both whole and in parts"
    if len({each.siard22 for each in names}) > 1:
        return f"{where}{shown(wholes[0])} has parts named in two ways, .0 and _part001"
    fault = _sequence_fault(names, [each.extent.path[-1] for each in files])
    return f"{where}{fault}" if fault else ""


def _sequence_fault(names: list[_FileName], files: list[str]) -> str:
    """Return the fault in the numbers of a LOB's parts, which are in order, "" when there is none."""
    whole, siard22 = names[0].whole, names[0].siard22
    for (one, before), (other, after) in pairwise(zip(names, files, strict=True)):
        if one.part == other.part:
            return f"{shown(before)} and {shown(after)} are the same part"
    style = splitparts.SIARD22 if siard22 else splitparts.LOBSEG
    for expected, (name, file) in enumerate(zip(names, files, strict=True), style.first):
        # Part z takes the place of any number but the first.
        if name.part != expected and not (name.part == _LAST and expected):
            return f"the part {shown(whole + style.suffix(expected))} is missing; found {shown(file)}"
    if not siard22 and names[-1].part != _LAST:
        return f"the last part {shown(whole + '.z')} is missing; found {shown(files[-1])}"
    return ""


def _listed(names: list[str]) -> str:
    return " and ".join(shown(each) for each in names)
