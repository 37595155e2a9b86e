"""A list of LOBs as a source: a CSV with the place and the file of each, without a SIARD archive."""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import BinaryIO

from metspack.errors import SourceError
from metspack.files import reading
from metspack.files.reading import Closable
from metspack.locations.grantedroots import Granted, Obstacle, Spot
from metspack.model import LobPlace, LobRef, LobRun
from metspack.sources.lobfolder import NAMED, Finds, Placed
from metspack.uris import shown
from metspack.values import dataclass, regex

COLUMNS = ("schema", "table", "column", "row", "path")
"""The names in the header line, in any order and letter case; other columns are ignored."""

_EXAMPLE = "schema,table,column,row,path"
_LINE = 1 << 20
_CELL = regex(r"c?([0-9]{1,18})((?:\.[ua][0-9]{1,18})*)", re.ASCII | re.IGNORECASE)
_BAD_CHARACTER = regex("[\x00-\x1f\x7f-\x9f]")
_DRIVE = regex(r"[A-Za-z]:(/.*)?", re.DOTALL)
_PATH_HINT = "A path is written from the base folder on, with / between names: scans/0001.tif"


class LobList(Closable):
    """LOBs named by a CSV, which gives each its place and its file below ``base``; a context manager.

    UTF-8 with or without BOM, a header line ``schema,table,column,row,path`` in any order and letter case,
    commas or semicolons. Schema and table: a number from 0, or ``schema0``, ``table2``; column: ``4``, ``c4``
    or ``c3.u2.u3``, from 1; row from 1; path: names as they are, with ``/``. Lines without any value are
    passed over. ``count`` is the number of LOBs.

    The whole list is read, and each file looked for, when the object is made. Raises SourceError: for a
    list that is empty or not such a CSV, for a wrong value (with line and column), for a place named twice
    and for files that are missing or not regular files (all counted, 20 named).
    No link is followed below ``base``.
    """

    __slots__ = ("_finds", "count")

    def __init__(self, csv_file: Path, base: Path) -> None:
        self._finds = Finds(str(csv_file))
        try:
            self._read(csv_file, base)
        except BaseException:
            self._finds.close()
            raise
        self.count = self._finds.count

    def _read(self, csv_file: Path, base: Path) -> None:
        granted = _granted(base)
        for row in _rows(csv_file):
            spot = Spot(root=0, path=row.path)
            try:
                extent = granted.file(spot)
                fault = "" if extent else f"{shown(granted.shown(spot))} not found"
            except Obstacle as error:
                extent, fault = None, error.message
            if extent is None:
                self._finds.refuse(row.line, f"line {row.line:,}, column path: {fault}")
            else:
                self._finds.put(Placed(place=row.place, line=row.line, extent=extent))
        self._finds.check(
            f"files that cannot be read (expected regular files below {base})",
            "Paths begin in the base folder, upper and lower case are distinct, and no link is followed.",
        )
        if not self._finds.count:
            raise SourceError(
                f"{csv_file}: line 2: the list ends; expected a line for each LOB",
                hint="Name the LOBs below the header, one on each line.",
            )
        self._finds.sort()
        for _, files in self._finds.crowded():
            lines = [f"{each.line:,}" for each in files[:NAMED]]
            more = f" and {len(files) - NAMED:,} more" if len(files) > NAMED else ""
            self._finds.refuse(files[0].line, f"{files[0].place.id}: lines {', '.join(lines)}{more}")
        self._finds.check("places named more than once", "A cell holds one LOB: correct the list.")

    def lob_runs(self) -> Iterator[LobRun | LobRef]:
        """Yield the LOBs by schema, table, row and cell; the root of their extents is 0, the base."""
        return self._finds.lob_runs()

    def close(self) -> None:
        """Remove the temporary database."""
        self._finds.close()


def _granted(base: Path) -> Granted:
    try:
        reading.release(reading.opened_folder(base))
    except OSError as error:
        raise SourceError(
            f"{base}: cannot be read as a folder: {error.strerror or error}",
            hint="Name the folder that the paths in the list begin in.",
        ) from error
    return Granted((base,), {}, {})


@dataclass(frozen=True, slots=True, kw_only=True)
class _CsvRow:
    line: int
    place: LobPlace
    path: tuple[str, ...]


def _rows(csv_file: Path) -> Iterator[_CsvRow]:
    try:
        with reading.buffered(csv_file) as file:
            yield from _parsed(_CsvLines(csv_file, file))
    except OSError as error:
        raise SourceError(
            f"{csv_file}: cannot be read: {error.strerror or error}", hint="Name a CSV that you may read."
        ) from error


class _CsvLines:
    """The lines of a file as text; ``number`` is that of the last one, from 1."""

    __slots__ = ("_file", "number", "path")

    def __init__(self, path: Path, file: BinaryIO) -> None:
        self.path = path
        self._file = file
        self.number = 0

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        raw = self._file.readline(_LINE + 1)
        if not raw:
            raise StopIteration
        self.number += 1
        if len(raw) > _LINE:
            raise self.error(f"has more than {_LINE:,} bytes; expected one LOB on each line")
        try:
            return raw.decode("utf-8-sig" if self.number == 1 else "utf-8")
        except UnicodeDecodeError as error:
            hint = "Save the list as UTF-8 (in a spreadsheet: CSV UTF-8)."
            raise self.error(
                f"byte {error.start + 1:,} is {raw[error.start]:#04x}; expected UTF-8", hint
            ) from None

    def error(self, what: str, hint: str = "Correct the list and start again.", line: int = 0) -> SourceError:
        """Return the error about a line: the last one read unless another is given."""
        return SourceError(f"{self.path}: line {line or self.number:,}: {what}", hint=hint)


def _parsed(lines: _CsvLines) -> Iterator[_CsvRow]:
    header = next(lines, "")
    delimiter, names = _header(lines, header)
    at = [names.index(name) for name in COLUMNS]
    reader = csv.reader(lines, delimiter=delimiter, strict=True)
    while True:
        first = lines.number + 1
        try:
            values = next(reader, None)
        except csv.Error as error:
            raise lines.error(f"cannot be read as CSV: {error}", line=first) from None
        if values is None:
            return
        if not any(value.strip() for value in values):
            continue
        if len(values) != len(names):
            raise lines.error(
                f"has {len(values):,} values; expected {len(names):,}, as the header has", line=first
            )
        yield _row(lines, first, [values[each] for each in at])


def _header(lines: _CsvLines, text: str) -> tuple[str, list[str]]:
    """Return the delimiter and the names of the columns in lower case."""
    if not text:
        raise SourceError(
            f"{lines.path}: is empty; expected the header {_EXAMPLE} and a line for each LOB",
            hint="Begin the list with that line.",
        )
    found = {}
    for delimiter in ",;":
        try:
            fields = next(csv.reader([text], delimiter=delimiter, strict=True), [])
        except csv.Error as error:
            raise lines.error(f"cannot be read as CSV: {error}") from None
        found[delimiter] = [each.strip().lower() for each in fields]
    delimiter, names = max(found.items(), key=lambda each: len(set(each[1]) & set(COLUMNS)))
    missing = [each for each in COLUMNS if each not in names]
    twice = [each for each in COLUMNS if names.count(each) > 1]
    if missing or twice:
        fault = f"the column {missing[0]} is missing" if missing else f"the column {twice[0]} is given twice"
        raise lines.error(
            f"{fault}; expected {_EXAMPLE} in any order, found {shown(text.strip())}",
            "Begin the list with that line, with commas or semicolons.",
        )
    return delimiter, names


def _row(lines: _CsvLines, line: int, values: Sequence[str]) -> _CsvRow:
    def refuse(column: str, expected: str, value: str, hint: str = "") -> SourceError:
        what = f"column {column}: expected {expected}; found {shown(value)}"
        return lines.error(what, hint or "Correct the list and start again.", line)

    schema, table, cell, row, path = values
    place = LobPlace(
        schema=_number(refuse, "schema", schema, 0),
        table=_number(refuse, "table", table, 0),
        cell=_cell(refuse, cell),
        row=_number(refuse, "row", row, 1),
    )
    return _CsvRow(line=line, place=place, path=_path(refuse, path))


_Refuse = Callable[..., SourceError]


def _number(refuse: _Refuse, column: str, value: str, least: int) -> int:
    found = re.fullmatch(rf"(?:{column})?([0-9]{{1,18}})", value.strip(), re.ASCII | re.IGNORECASE)
    if found is None or int(found[1]) < least:
        example = "" if least else f", or {column}{least}"
        raise refuse(column, f"a number from {least} on{example}", value)
    return int(found[1])


def _cell(refuse: _Refuse, value: str) -> str:
    found = _CELL.fullmatch(value.strip())
    if found is not None:
        levels = [("c", int(found[1]))]
        levels += [(each[0].lower(), int(each[1:])) for each in found[2].split(".")[1:]]
        if all(number for _, number in levels):
            return ".".join(f"{letter}{number}" for letter, number in levels)
    raise refuse("column", "a cell with numbers from 1 on, such as 4, c4 or c3.u2.u3", value)


def _path(refuse: _Refuse, value: str) -> tuple[str, ...]:
    fault = ""
    if "\\" in value:
        fault = "a path without a backslash"
    elif found := _BAD_CHARACTER.search(value):
        fault = f"a path without control characters (U+{ord(found[0]):04X})"
    elif value.startswith("/") or _DRIVE.fullmatch(value):
        fault = "a relative path"
    else:
        for segment in value.split("/"):
            if segment in {"", ".", ".."}:
                fault = f"a path of names; {shown(segment)} is not a name"
                break
    if fault:
        raise refuse("path", fault, value, _PATH_HINT)
    return tuple(value.split("/"))
