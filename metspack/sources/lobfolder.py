"""A folder of LOBs as a source without an archive, and files of LOBs sorted by their place.

Files have paths like ``content/schema0/table2/lob4/record0.bin``, as in the recommendation for external LOBs
(0.28, 5.1) and in the archives of SIARD programs; ``layouts.lobseg`` writes such paths.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, suppress
from dataclasses import replace
from functools import lru_cache
from itertools import groupby, islice, pairwise
from pathlib import Path
from typing import NamedTuple

from metspack.errors import SourceError
from metspack.files import reading, release, tempdb, walking
from metspack.layouts.interface import FROM_1, NUMBER
from metspack.layouts.names import LAST, LOB_PART_SUFFIX, whole_of
from metspack.locations import splitparts
from metspack.model import LONGEST, SMALL, LobDetail, LobRun, RunShared
from metspack.sources.archive import extension_of, in_runs
from metspack.sources.mediatypes import media_type
from metspack.system import os
from metspack.uris import shown

NAMED = 20
"""The most faults of a source that an error names; it counts all."""

_LEVEL = struct.Struct(">cQ")
_CONTENT = "content"
_FOLDERS = re.compile(
    rf"schema{NUMBER}/table{NUMBER}/lob{FROM_1}((?:/[ua]{FROM_1.replace('(', '(?:')})*)", re.ASCII
)
_FILE = re.compile(
    rf"(record{NUMBER}\.[^./\\\x00-\x1f\x7f-\x9f\ud800-\udfff]+?)(?:{LOB_PART_SUFFIX})?", re.ASCII
)
_LAST = 1 << 60
"""The number of part ``z``, which comes after all others."""
_EXPECTED = "content/schema<i>/table<j>/lob<k>/record<r>.<ext>"
_HINT = (
    f"Every file is {_EXPECTED}: schemas, tables and records count from 0, columns from 1, a nested cell is "
    "lob<k>/u<n> or lob<k>/a<n>. Remove all other files."
)
_PARTS_HINT = (
    "A LOB is whole, or in parts <file>.0, .1 and so on with .z for the last, or <file>_part001, _part002 "
    "and so on: add the missing parts, remove the superfluous files."
)


@lru_cache(maxsize=4096)
def cell_key(cell: str) -> bytes:
    """Return bytes that sort in the order of cells: ``c3.u2``, ``c3.u2.u9``, ``c3.u2.u10``."""
    return b"".join(_LEVEL.pack(each[0].encode("ascii"), int(each[1:])) for each in cell.split("."))


@lru_cache(maxsize=4096)
def cell_of(key: bytes) -> str:
    """Return the cell with this ``cell_key``."""
    return ".".join(f"{letter.decode('ascii')}{number}" for letter, number in _LEVEL.iter_unpack(key))


_FOLDER = "CREATE TABLE folder (id INTEGER PRIMARY KEY, schema, place_table, cell BLOB, path TEXT UNIQUE)"
_FOUND = (
    "CREATE TABLE found (folder INTEGER, place_row INTEGER, part INTEGER, name TEXT, "
    "PRIMARY KEY (folder, place_row, part, name)) WITHOUT ROWID"
)
_IN_ORDER = (
    "SELECT schema, place_table, place_row, cell, part, path, name FROM found JOIN folder ON id = folder "
    "ORDER BY schema, place_table, place_row, cell, part, name"
)
_CROWDED = (
    "SELECT folder, place_row FROM found JOIN folder ON id = folder GROUP BY folder, place_row "
    "HAVING count(*) > 1 OR max(part) >= 0 ORDER BY schema, place_table, place_row, cell"
)
_AT_PLACE = (
    "SELECT path || '/' || name FROM found JOIN folder ON id = folder WHERE (folder, place_row) = (?, ?) "
    "ORDER BY part, name"
)
_Column = tuple[int, int, bytes]
"""A schema, a table and a ``cell_key``."""
_Row = tuple[int, int, int, bytes, int, str, str]


class FilesByPlace(tempdb.Scratch):
    """Files added in any order and yielded by schema, table, row and cell; a context manager.

    They are in a temporary database, so that ten million take no more memory than ten. All files and faults
    are added before other methods are called. ``lob_runs`` reads each file's status below ``root``, and
    raises SourceError for a missing file. Raises TargetError when the temporary disk is full.
    """

    def __init__(self, root: Path) -> None:
        """Create the empty database."""
        self._what = str(root)
        self._root = root
        self.count = 0
        with tempdb.explained(self._what):
            super().__init__(_FOLDER, _FOUND, "CREATE TABLE fault (position, text TEXT)", "BEGIN")

    def put_files(self, column: _Column, folder: str, files: Sequence[tuple[int, int, str]]) -> None:
        """Add files in the folder of a column, each as row, number of the part, and name."""
        with tempdb.explained(self._what):
            self._database.execute(
                "INSERT OR IGNORE INTO folder VALUES (NULL, ?, ?, ?, ?)", (*column, folder)
            )
            (number,) = self._database.execute("SELECT id FROM folder WHERE path = ?", (folder,)).fetchone()
            # Sorted rows fill the table page after page, which is much faster than random order.
            self._database.executemany(f"INSERT INTO found VALUES ({number}, ?, ?, ?)", sorted(files))  # noqa: S608
        self.count += len(files)

    def refuse(self, position: int | str, text: str) -> None:
        """Add a fault; faults are sorted by ``position``."""
        with tempdb.explained(self._what):
            self._database.execute("INSERT INTO fault VALUES (?, ?)", (position, text))

    def check(self, problem: str, hint: str) -> None:
        """Raise SourceError if there are faults, with ``problem``, their number and the first ones."""
        with tempdb.explained(self._what):
            sql = "SELECT text, count(*) OVER () FROM fault ORDER BY position, text LIMIT ?"
            found = self.all(sql, NAMED)
        if found:
            texts, (number, *_) = zip(*found, strict=True)
            more = [f"and {number - NAMED:,} more"] if number > NAMED else []
            raise SourceError(
                f"{self._what}: {problem}: {number:,} found: {'; '.join([*texts, *more])}", hint=hint
            )

    def lob_runs(self) -> Iterator[LobRun]:
        """Yield the LOBs by place; whole ones of a column come in runs. No place has two LOBs."""
        with tempdb.explained(self._what):
            for key, group in groupby(self._database.execute(_IN_ORDER), _group_of):
                if len(key) == _PARTS:
                    yield _split(self._run(list(group)))
                    continue
                while some := list(islice(group, LONGEST)):
                    run = self._run(some)
                    yield from [run] if max(run.sizes) <= SMALL else in_runs(run.lobs())

    def _run(self, rows: Sequence[_Row]) -> LobRun:
        """Return files of one folder and extension as a run, or the parts of a LOB."""
        schema, table, _, cell, _, folder, name = rows[0]
        _, _, numbers, _, _, _, names = map(list, zip(*rows, strict=True))
        folders = tuple(folder.split("/")) if folder else ()
        sizes, *stamps = map(list, zip(*walking.statuses(self._root, folders, names), strict=True))
        extension = extension_of(name)
        before = f"{folder}/" if folder else ""
        return LobRun(
            shared=RunShared(
                schema=schema,
                table=table,
                cell=cell_of(cell),
                extension=extension,
                media_type=media_type(None, extension),
                folders=folders,
            ),
            rows=numbers,
            files=[before + each for each in names],
            sizes=sizes,
            extents=[names, *stamps],
        )

    def crowded(self) -> Iterator[list[str]]:
        """Yield the paths of the files of each place that has several files, or parts."""
        with tempdb.explained(self._what):
            for place in self._database.execute(_CROWDED):
                yield [path for (path,) in self._database.execute(_AT_PLACE, place)]


_PARTS = 4  # the number of values of a place, which the parts of a LOB share


def _group_of(row: _Row) -> tuple[object, ...]:
    """Return the values that group files: parts by LOB, whole LOBs by folder and extension."""
    schema, table, number, cell, part, folder, name, *_ = row
    if part >= 0:
        return schema, table, number, cell
    dot = name.rfind(".")
    return schema, table, cell, folder, name[dot:] if dot > 0 else ""


def _split(parts: LobRun) -> LobRun:
    """Return a split LOB as a run of one, by the run of its parts in order."""
    extension = extension_of(whole_of(parts.files[0]))
    extents = tuple(map(parts.extent, range(len(parts))))
    return replace(
        parts[:1],
        shared=replace(parts.shared, extension=extension, media_type=media_type(None, extension)),
        sizes=[parts.bytes],
        detail=LobDetail(extents=extents, proofs=()),
    )


class _FileName(NamedTuple):
    """A file's name in pieces: the whole LOB's name, row, and number of the part, -1 for the whole."""

    whole: str
    row: int
    part: int
    siard22: bool


def lob_runs(folder: Path, seen: Callable[[int], None] | None = None) -> Iterator[LobRun]:
    """Yield the LOBs below a folder by schema, table, row and cell, split ones as the whole.

    Files are in ``content/schema<i>/table<j>/lob<k>[/u<n>|/a<n>...]/`` and are named ``record<r>.<ext>``,
    with r from 0 (the row is one more); ``folder`` has the folder ``content`` or is that folder. Parts are
    ``record<r>.<ext>.0``, ``.1`` ... ``.z`` (recommendation 0.28, 5.3) or ``_part001``, ``_part002`` ...
    (SIARD 2.2 S_8.1.1-0), those of one LOB all in one form and folder; a number may have leading zeros, up to
    four digits in all. Extents are below ``folder``, with root 0. ``seen`` is called with numbers of files
    while they are listed.

    Raises SourceError before the first LOB is yielded: for an unreadable folder, one without files, files
    that are not named as LOBs (all counted, 20 named), links and special files, and LOBs with two whole
    files, with a whole file and parts, or with parts that are missing or exist twice.
    """
    with FilesByPlace(folder) as found:
        _add_files(folder, found, seen or (lambda _: None))
        for number, files in enumerate(found.crowded()):
            if fault := _fault(files):
                found.refuse(number, fault)
        found.check("LOBs that are not there once and whole", _PARTS_HINT)
        yield from found.lob_runs()


def _add_files(folder: Path, found: FilesByPlace, seen: Callable[[int], None]) -> None:
    """Add all files below a folder; raises SourceError as ``lob_runs`` does."""
    above = (_CONTENT,) if _has_content(folder) else ()
    with closing(walking.checked_lots(folder)) as lots:
        for lot in lots:
            path = os.fsdecode(lot.folder)
            column = _column(tuple(path.split("/")) if path else (), above)
            files: list[tuple[int, int, str]] = []
            for name in map(os.fsdecode, lot.names):
                if column is None or (named := _named(name)) is None:
                    where = shown(f"{path}/{name}" if path else name)
                    found.refuse(where, where)
                else:
                    files.append((named.row, named.part, name))
            if column is not None:
                found.put_files(column, path, files)
            seen(len(files))
    found.check(f"files that are not named as LOBs (expected {_EXPECTED})", _HINT)
    if not found.count:
        raise SourceError(f"{folder}: holds no files; expected {_EXPECTED}", hint=_HINT)


def _has_content(folder: Path) -> bool:
    with suppress(OSError):
        release(reading.opened_folder(folder, (_CONTENT,)))
        return True
    return False


def _column(path: tuple[str, ...], above: tuple[str, ...]) -> _Column | None:
    """Return schema, table and cell (``cell_key``) of a folder, or None for other folders."""
    if path[: len(above)] != above:
        return None
    folders = _FOLDERS.fullmatch("/".join(path[len(above) :]))
    if folders is None:
        return None
    schema, table, column, below = folders.groups()
    return int(schema), int(table), cell_key(f"c{column}{below.replace('/', '.')}")


def _named(name: str) -> _FileName | None:
    """Return the pieces of a file's name, or None for a name that no LOB has."""
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


def _fault(files: Sequence[str]) -> str:
    """Return the reason why the files of one place are not one LOB, or ""."""
    last = [each.rpartition("/")[2] for each in files]
    names = [named for each in last if (named := _named(each)) is not None]
    where = f"{files[0].rpartition('/')[0]}: "
    wholes = sorted({each.whole for each in names})
    if len(wholes) > 1:
        return f"{where}{' and '.join(map(shown, wholes))} are different files for one LOB"
    if names[0].part < 0:
        return f"{where}{shown(wholes[0])} is there both whole and in parts"
    if len({each.siard22 for each in names}) > 1:
        return f"{where}{shown(wholes[0])} has parts named in two ways, .0 and _part001"
    fault = _sequence_fault(names, last)
    return f"{where}{fault}" if fault else ""


def _sequence_fault(names: list[_FileName], files: list[str]) -> str:
    """Return the fault in the numbers of a LOB's parts, given in order, or ""."""
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
