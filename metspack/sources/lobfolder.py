"""A folder of LOBs as a source, without an archive; and LOBs found in files, sorted on disk by their place.

A folder has ``content/schema0/table2/lob4/record0.bin`` and so on: the folders and names are those of the
recommendation for external LOBs (0.28, 5.1) and of the archives that SIARD programs write;
``layouts.lobseg`` writes the names that are read here.
"""

from __future__ import annotations

import re
import struct
from array import array
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from functools import lru_cache
from itertools import groupby, islice, pairwise, repeat
from operator import itemgetter
from pathlib import Path
from typing import NamedTuple

from metspack.errors import SourceError
from metspack.files import reading, tempdb, walking
from metspack.layouts.interface import FROM_1, NUMBER
from metspack.layouts.names import LAST, LOB_PART_SUFFIX
from metspack.locations import splitparts
from metspack.mediatypes import media_type
from metspack.model import LONGEST, SMALL, FileExtent, LobCell, LobPlace, LobRef, LobRun, RunShared
from metspack.uris import shown

NAMED = 20
"""The number of a source's faults that are named; all are counted."""

_LEVEL = struct.Struct(">cQ")
_SUFFIX = re.compile(r"\.([A-Za-z0-9]{1,10})", re.ASCII)
_CONTENT = "content"
_FOLDERS = re.compile(
    rf"schema{NUMBER}/table{NUMBER}/lob{FROM_1}((?:/[ua]{FROM_1.replace('(', '(?:')})*)", re.ASCII
)
_FILE = re.compile(
    rf"(record{NUMBER}\.[^./\\\x00-\x1f\x7f-\x9f\ud800-\udfff]+?)(?:{LOB_PART_SUFFIX})?", re.ASCII
)
_PLAIN = re.compile(rf"^record{NUMBER}\.([A-Za-z][A-Za-z0-9]{{0,9}})$", re.ASCII | re.MULTILINE)
_LAST = 1 << 60
"""The number of part ``z``, which comes after every other."""
_EXPECTED = "content/schema<i>/table<j>/lob<k>/record<r>.<ext>"
_HINT = (
    f"Every file is {_EXPECTED}: schemas, tables and records count from 0, columns from 1, a nested cell is "
    "lob<k>/u<n> or lob<k>/a<n>. Remove all other files."
)
_PARTS_HINT = (
    "A LOB is whole, or in parts <file>.0, .1 and so on with .z for the last, or <file>_part001, _part002 "
    "and so on: add the missing parts, remove the superfluous files."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Placed:
    """A file with the place of the LOB that it holds; ``part`` orders the parts of one, -1 is the whole."""

    place: LobPlace
    part: int
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


_PLACE = "schema, place_table, place_row, cell"
_COLUMNS = f"{_PLACE}, part, folder, name, size, modified, inode, device"
_ORDER = f"{_PLACE}, part, folder, name"
_TABLE = (
    "schema INTEGER, place_table INTEGER, place_row INTEGER, cell BLOB, part INTEGER, folder TEXT, "
    "name TEXT, size INTEGER, modified TEXT, inode TEXT, device TEXT"
)
_Row = tuple[int, int, int, bytes, int, str, str, int, str, str, str]
# What may be larger than the integers of SQLite is kept as text.
_PUT = "INSERT INTO unsorted VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"

_STRETCH = 1 << 14  # rows of a table: what is sorted at once
_PLAIN_ORDER = "schema, place_table, stretch, cell, folder, extension"
_PLAIN_COLUMNS = f"{_PLAIN_ORDER}, files"
_PLAIN_TABLE = (
    "schema INTEGER, place_table INTEGER, stretch INTEGER, cell BLOB, folder TEXT, extension TEXT, files BLOB"
)
_Column = tuple[int, int, bytes]
"""A schema, a table and a ``cell_key``."""


class Finds(tempdb.Scratch):
    """Files put in any order and given back by schema, table, row and cell; a context manager.

    Kept in a temporary database, so that ten million take no more memory than ten. First ``put`` and
    ``refuse``, then ``sort``, then everything else. Raises TargetError when the temporary disk is full.
    Plain files are kept many together, by stretches of rows, and sorted once their stretch is read; unless
    some file is not, or a place has two: then each of them is kept by itself. They are looked at below
    ``root`` when they are given back, so that who takes them works meanwhile. Raises SourceError then for
    one that is no longer there.
    """

    __slots__ = ("_is_plain", "_root", "_what", "count")

    def __init__(self, root: Path) -> None:
        """Begin without any."""
        self._what = what = str(root)
        self._root = root
        self._is_plain = False
        self.count = 0
        with tempdb.explained(what):
            super().__init__(
                f"CREATE TABLE unsorted ({_TABLE})",
                f"CREATE TABLE plain ({_PLAIN_TABLE})",
                "CREATE TABLE fault (position, text TEXT)",
                "BEGIN",
            )

    def _do(self, statement: str, *values: object) -> None:
        with tempdb.explained(self._what):
            self._database.execute(statement, values)

    def put_rows(self, rows: Sequence[_Row]) -> None:
        """Add files as the rows that are kept of them."""
        with tempdb.explained(self._what):
            self._database.executemany(_PUT, rows)
        self.count += len(rows)

    def put_plain(self, column: _Column, folder: str, extension: str, rows: array[int]) -> None:
        """Add files of a folder that are whole LOBs and are named ``record<row - 1>.<extension>``.

        The rows are in order.
        """
        parts = []
        start = 0
        while start < len(rows):
            stretch = rows[start] // _STRETCH
            stop = bisect_left(rows, (stretch + 1) * _STRETCH, start)
            packed = rows[start:stop].tobytes()
            parts.append((*column[:2], stretch, column[2], folder, extension, packed))
            start = stop
        with tempdb.explained(self._what):
            self._database.executemany("INSERT INTO plain VALUES (?, ?, ?, ?, ?, ?, ?)", parts)
        self.count += len(rows)

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
        with tempdb.explained(self._what):
            self._is_plain = self._has_plain_only()
            if self._is_plain:
                return
            stretches = self._database.execute(f"SELECT {_PLAIN_COLUMNS} FROM plain")  # noqa: S608
            for row in stretches:
                self._database.executemany(_PUT, self._plain_rows(row[:4], *row[4:]))
        # Rows that come in order fill a table page after page; one that grew in disorder would be slow.
        self._do(
            f"CREATE TABLE found ({_TABLE}, PRIMARY KEY ({_ORDER})) WITHOUT ROWID",
        )
        self._do(f"INSERT INTO found SELECT * FROM unsorted ORDER BY {_ORDER}")  # noqa: S608
        self._do("DROP TABLE unsorted")

    def _has_plain_only(self) -> bool:
        """Return whether all files are plain, and no two of them at one place."""
        if self._database.execute("SELECT 1 FROM unsorted UNION ALL SELECT 1 FROM fault LIMIT 1").fetchone():
            return False
        # An index takes less memory than sorting what is found with it.
        self._database.execute(f"CREATE INDEX plain_order ON plain ({_PLAIN_ORDER})")
        # Names differ in a folder; so rows do, where one folder has files of a cell, all of one kind.
        mixed = self._database.execute(
            "SELECT schema, place_table, stretch, cell FROM plain GROUP BY 1, 2, 3, 4 "
            "HAVING min(folder) < max(folder) OR min(extension) < max(extension)"
        )
        own = "SELECT files FROM plain WHERE (schema, place_table, stretch, cell) = (?, ?, ?, ?)"
        for key in mixed:
            rows = [row for (packed,) in self._database.execute(own, key) for row in array("q", packed)]
            if len(set(rows)) < len(rows):
                return False
        return True

    def lob_runs(self) -> Iterator[LobRun | LobRef]:
        """Yield the LOBs by place, whole ones that are alike together; no place holds more than one."""
        if self._is_plain:
            yield from self._plain_runs()
            return
        with tempdb.explained(self._what):
            found = self._database.execute(f"SELECT {_COLUMNS} FROM found ORDER BY {_ORDER}")  # noqa: S608
            for key, alike in groupby(found, _likeness):
                if len(key) == _PARTS:
                    yield _split(list(alike))
                    continue
                while some := list(islice(alike, LONGEST)):
                    yield from _small(_run(some))

    def _plain_runs(self) -> Iterator[LobRun | LobRef]:
        """Yield the LOBs of plain files, one stretch of a table's rows after the other."""
        with tempdb.explained(self._what):
            found = self._database.execute(f"SELECT {_PLAIN_COLUMNS} FROM plain ORDER BY {_PLAIN_ORDER}")  # noqa: S608
            for (schema, table, _), parts in groupby(found, itemgetter(0, 1, 2)):
                likes: list[RunShared] = []
                rows, which = array("q"), array("q")
                for key, alike in groupby(parts, itemgetter(3, 4, 5)):
                    for part in alike:
                        rows.frombytes(part[-1])
                    which.extend(repeat(len(likes), len(rows) - len(which)))
                    likes.append(_shared(schema, table, *key))
                # Cells come in their order, and sorting leaves those of a row in it.
                places = sorted(range(len(rows)), key=rows.__getitem__)
                for number, alike_places in groupby(places, which.__getitem__):
                    while some := list(islice(alike_places, LONGEST)):
                        yield from _small(self._plain_run(likes[number], [rows[at] for at in some]))

    def _plain_run(self, shared: RunShared, rows: list[int]) -> LobRun:
        """Return whole LOBs that are alike and plainly named."""
        names = _plain_names(rows, shared.extension)
        stamps = walking.statuses(self._root, shared.folders or (), names)
        return _run_of(shared, rows, names, *map(list, zip(*stamps, strict=True)))

    def _plain_rows(
        self, place: tuple[int, int, int, bytes], folder: str, extension: str, packed: bytes
    ) -> Iterator[_Row]:
        """Yield plain files as rows; ``place`` is their schema, table, stretch and cell."""
        schema, table, _, cell = place
        rows = array("q", packed)
        names = _plain_names(rows, extension)
        stamps = walking.statuses(self._root, tuple(folder.split("/")), names)
        for row, name, (size, *stamp) in zip(rows, names, stamps, strict=True):
            modified, inode, device = map(str, stamp)
            yield schema, table, row, cell, -1, folder, name, size, modified, inode, device

    def crowded(self) -> Iterator[tuple[LobPlace, tuple[Placed, ...]]]:
        """Yield the places that do not hold one whole file: several, or parts."""
        places = (
            f"SELECT {_PLACE} FROM found GROUP BY {_PLACE} HAVING count(*) > 1 OR max(part) >= 0 "  # noqa: S608
            f"ORDER BY {_PLACE}"
        )
        files = f"SELECT {_COLUMNS} FROM found WHERE ({_PLACE}) = (?, ?, ?, ?) ORDER BY {_ORDER}"  # noqa: S608
        if self._is_plain:
            return
        with tempdb.explained(self._what):
            for row in self._database.execute(places):
                found = tuple(map(_stored, self._database.execute(files, row)))
                yield found[0].place, found


def _plain_names(rows: Iterable[int], extension: str) -> list[str]:
    end = f".{extension}"
    return [f"record{row - 1}{end}" for row in rows]


def _small(run: LobRun) -> Iterator[LobRun | LobRef]:
    """Yield a run, or its LOBs by themselves when one is not small."""
    if max(run.sizes) <= SMALL:
        yield run
    else:
        yield from run.lobs()


_PARTS = 4  # what the parts of a LOB have in common: its place


def _likeness(row: _Row) -> tuple[object, ...]:
    """Return what files have in common that go together: the parts of a LOB, or whole ones of a column."""
    schema, table, number, cell, part, folder, name, *_ = row
    if part >= 0:
        return schema, table, number, cell
    dot = name.rfind(".")
    return schema, table, cell, folder, name[dot:] if dot > 0 else ""


def _run(rows: Sequence[_Row]) -> LobRun:
    """Return whole LOBs that are alike."""
    schema, table, _, cell, _, folder, name, *_ = rows[0]
    _, _, numbers, _, _, _, names, sizes, *stamps = map(list, zip(*rows, strict=True))
    modified, inodes, devices = ([int(each) for each in column] for column in stamps)
    shared = _shared(schema, table, cell, folder, extension_of(name))
    return _run_of(shared, numbers, names, sizes, modified, inodes, devices)


def _shared(schema: int, table: int, cell: bytes, folder: str, extension: str) -> RunShared:
    return RunShared(
        schema=schema,
        table=table,
        cell=cell_of(cell),
        extension=extension,
        media_type=media_type(None, extension),
        folders=tuple(folder.split("/")) if folder else (),
    )


def _run_of(
    shared: RunShared, rows: list[int], names: list[str], sizes: list[int], *stamps: list[int]
) -> LobRun:
    before = "".join(f"{each}/" for each in shared.folders or ())
    return LobRun(
        shared=shared,
        rows=rows,
        files=[f"{before}{each}" for each in names],
        sizes=sizes,
        extents=[names, *stamps],
    )


def _split(rows: Sequence[_Row]) -> LobRef:
    """Return a LOB by the files of its parts, in order."""
    files = [_stored(row) for row in rows]
    path = files[0].extent.path
    extension = extension_of(_named(path[-1]).whole)
    extents = tuple(each.extent for each in files)
    return LobRef(
        cell=LobCell(place=files[0].place, file="/".join(path)),
        size=sum(each.size for each in extents),
        extension=extension,
        media_type=media_type(None, extension),
        extents=extents,
    )


def _stored(row: _Row) -> Placed:
    schema, table, number, cell, part, folder, name, size, modified, inode, device = row
    return Placed(
        place=LobPlace(schema=schema, table=table, cell=cell_of(cell), row=number),
        part=part,
        extent=FileExtent(
            root=0,
            path=(*folder.split("/"), name) if folder else (name,),
            size=size,
            modified=int(modified),
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


def lob_runs(folder: Path, seen: Callable[[int], None] | None = None) -> Iterator[LobRun | LobRef]:
    """Yield the LOBs below a folder by schema, table, row and cell, split ones as the whole.

    Files lie in ``content/schema<i>/table<j>/lob<k>[/u<n>|/a<n>...]/`` and are named ``record<r>.<ext>``,
    with r from 0 (the row is one more); ``folder`` holds ``content`` or is it. Parts are
    ``record<r>.<ext>.0``, ``.1`` ... ``.z`` (recommendation 0.28, 5.3) or ``_part001``, ``_part002`` ...
    (SIARD 2.2 S_8.1.1-0), in either way all in one folder; a number may have zeros in front, up to four
    digits in all. Extents are below ``folder``, their root is 0; whole LOBs that are alike come together.
    ``seen`` is called with numbers of files while they are found.

    Raises SourceError before the first LOB is yielded: for a folder that cannot be read or holds no
    file, for files that are not named as LOBs (all counted, 20 named), for anything that is neither
    file nor folder, and for LOBs that are there twice, whole and in parts, or not in all their parts.
    """
    with Finds(folder) as finds:
        _look_through(folder, finds, seen or (lambda _: None))
        finds.sort()
        for number, (_, files) in enumerate(finds.crowded()):
            if fault := _fault(files):
                finds.refuse(number, fault)
        finds.check("LOBs that are not there once and whole", _PARTS_HINT)
        yield from finds.lob_runs()


def _look_through(folder: Path, finds: Finds, seen: Callable[[int], None]) -> None:
    """Put every file below the folder among the finds; raises SourceError as ``lob_runs`` does."""
    above = (_CONTENT,) if _has_content(folder) else ()
    with closing(walking.listings(folder, are_stamped=False)) as listings:
        for listing in listings:
            column = _column(listing.folder, above)
            path = "/".join(listing.folder)
            names = [name for name, *_ in listing.files]
            if column is not None and (plain := _plain_files(names)):
                for extension, rows_of_it in plain.items():
                    finds.put_plain(column, path, extension, rows_of_it)
                seen(len(names))
                continue
            rows: list[_Row] = []
            stamps = walking.statuses(folder, listing.folder, names) if names else ()
            for name, (size, modified, inode, device) in zip(names, stamps, strict=True):
                numbers = None if column is None else _row_and_part(name)
                if numbers is None or column is None:
                    where = shown(f"{path}/{name}" if path else name)
                    finds.refuse(where, where)
                else:
                    schema, table, cell = column
                    number, part = numbers
                    place = (schema, table, number, cell, part, path, name)
                    rows.append((*place, size, str(modified), str(inode), str(device)))
            finds.put_rows(rows)
            seen(len(rows))
    finds.check(f"files that are not named as LOBs (expected {_EXPECTED})", _HINT)
    if not finds.count:
        raise SourceError(f"{folder}: holds no files; expected {_EXPECTED}", hint=_HINT)


def _plain_files(names: Sequence[str]) -> dict[str, array[int]]:
    """Return the rows of files by extension, when all are named as whole LOBs usually are; none otherwise."""
    text = "\n".join(names)
    named = _PLAIN.findall(text)
    if len(named) != len(names) or text.count("\n") >= len(names):
        return {}
    found: dict[str, list[int]] = {}
    for number, extension in named:
        found.setdefault(extension, []).append(int(number) + 1)
    with suppress(OverflowError):
        return {extension: array("q", sorted(rows)) for extension, rows in found.items()}
    return {}


def _has_content(folder: Path) -> bool:
    with suppress(OSError):
        reading.release(reading.opened_folder(folder, (_CONTENT,)))
        return True
    return False


def _column(path: tuple[str, ...], above: tuple[str, ...]) -> tuple[int, int, bytes] | None:
    """Return schema, table and cell (``cell_key``) that folders stand for, None when they stand for none."""
    if path[: len(above)] != above:
        return None
    folders = _FOLDERS.fullmatch("/".join(path[len(above) :]))
    if folders is None:
        return None
    schema, table, column, below = folders.groups()
    return int(schema), int(table), cell_key(f"c{column}{below.replace('/', '.')}")


def _row_and_part(name: str) -> tuple[int, int] | None:
    """Return the row that a file's name stands for, and the part: -1 for the whole; None without one."""
    found = _FILE.fullmatch(name)
    if found is not None and found[3] is found[4] is None:
        return int(found[2]) + 1, -1
    named = _named_or_none(name)
    return None if named is None else (named.row, named.part)


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
