"""Read the packages that are announced: by a list, a CSV table or the METS of a parent."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from metspack import uris
from metspack.containers.ipreader import stem_of_pack
from metspack.errors import ConfigError, MetspackError
from metspack.files import reading
from metspack.limits import Budgets
from metspack.mets import is_mets_name, is_of_representation, reader
from metspack.mets.links import By, Mptr
from metspack.packages.digestlists import unmarked
from metspack.system import os

_MOST = 64 << 20  # bytes of a list
_NAMES = ("objid", "identifier", "id", "package", "name", "folder", "path", "file")
_NAMES_OF_ONE = ("objid", "identifier", "id", "folder")  # names of a table's only column
_DELIMITERS = ",;\t"
_FORM_OF_LIST = (
    "It has an OBJID or the name of a folder in each line, is CSV with a header (a column objid or folder), "
    "or is the METS of a parent."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpectedPackage:
    """An expected package with its line in the list; ``also`` is another name that it has there."""

    name: str
    line: int
    also: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpectedPackages:
    """The packages in a list, each once, the repeated ones (``again``), and the list's OBJID."""

    path: Path
    packages: tuple[ExpectedPackage, ...]
    again: tuple[tuple[ExpectedPackage, int], ...] = ()
    objid: str = ""


def folder_in(name: str) -> str:
    """Return the folder's name in a name, which may be a path or that of a zip or tar file."""
    last = name.rstrip("/").rpartition("/")[2]
    return stem_of_pack(last) or last


def expected(path: Path, budgets: Budgets) -> ExpectedPackages:
    """Return the packages that a file announces: a list, CSV or the METS of a parent.

    The content gives the kind of the file. Raises ``ConfigError`` for any other or an empty file.
    """
    data = first_bytes("--expect", path, _MOST + 1)
    if len(data) > _MOST:
        raise _unfit(path, 0, f"has more than {_MOST:,} bytes")
    text = _text(path, data)
    if text.lstrip().startswith("<"):
        return _of_mets(path, data, budgets)
    found = list(_of_csv(path, text) or _of_lines(text))
    first: dict[str, int] = {}
    for each in found:
        first.setdefault(each.name, each.line)
    again = [(each, first[each.name]) for each in found if first[each.name] != each.line]
    once = tuple(each for each in found if first[each.name] == each.line)
    if not once:
        raise _unfit(path, 0, "names no package")
    return ExpectedPackages(path=path, packages=once, again=tuple(again))


def first_bytes(option: str, path: Path, count: int) -> bytes:
    """Return the first bytes of an option's file; raises ``ConfigError`` for an unreadable file."""
    try:
        with reading.opening(path) as descriptor:
            return b"".join(reading.chunks(descriptor, 0, count))
    except (OSError, MetspackError) as error:
        why = error.message if isinstance(error, MetspackError) else error.strerror
        raise ConfigError(f"{option} {path}: cannot be read: {why}", hint="Check the path.") from None


def _unfit(path: Path, line: int, problem: str) -> ConfigError:
    where = f", line {line:,}" if line else ""
    return ConfigError(f"--expect {path}{where}: {problem}", hint=_FORM_OF_LIST)


def _text(path: Path, data: bytes) -> str:
    data = b"".join(unmarked((data,))[1])
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise _unfit(path, line, "is not UTF-8; expected a text") from None
    bad = re.search(r"[\x00-\x08\x0e-\x1f]", text)
    if bad is not None:
        line = text.count("\n", 0, bad.start()) + 1
        raise _unfit(path, line, f"has the byte {ord(bad[0]):#04x}; expected a text, this is a binary file")
    return text


def _of_lines(text: str) -> Iterator[ExpectedPackage]:
    for number, line in enumerate(text.splitlines(), 1):
        name = line.strip()
        if name and not name.startswith(("#", ";")):
            yield ExpectedPackage(name=name, line=number)


def _of_csv(path: Path, text: str) -> list[ExpectedPackage] | None:
    """Return the packages in a table with a header, or None for another text."""
    import csv  # noqa: PLC0415 -- few checks expect packages by a list

    lines = text.splitlines()
    first = next((number for number, line in enumerate(lines) if line.strip()), None)
    if first is None:
        return None
    delimiter = max(_DELIMITERS, key=lines[first].count)
    rows = csv.reader(lines[first:], delimiter=delimiter, strict=True)
    try:
        header = [cell.strip().casefold() for cell in next(rows)]
        names = _NAMES if len(header) > 1 else _NAMES_OF_ONE
        column = next((header.index(name) for name in names if name in header), None)
        if column is None:
            width, rest = len(header), lines[first + 1 :]
            if (
                width > 1
                and rest
                and all(line.count(delimiter) == width - 1 for line in rest if line.strip())
            ):
                columns = ", ".join(_NAMES)
                raise _unfit(path, first + 1, f"has a header without any of the columns {columns}")
            return None
        found = []
        for row in rows:
            line = first + rows.line_num
            if not any(cell.strip() for cell in row):
                continue
            if len(row) <= column or not row[column].strip():
                raise _unfit(path, line, f"has nothing in the column {header[column]!r}")
            found.append(ExpectedPackage(name=row[column].strip(), line=line))
    except csv.Error as error:
        raise _unfit(path, first + rows.line_num, f"is not CSV: {error}") from None
    return found


def _of_mets(path: Path, data: bytes, budgets: Budgets) -> ExpectedPackages:
    """Return the packages that a METS leads down to, and its OBJID."""
    objid, by_div = "", dict[tuple[int, int], list[Mptr]]()
    try:
        for fact in reader.read(reading.blocks((data,)), budgets):
            if isinstance(fact, reader.Root):
                objid = (fact.objid or "").strip()
            elif isinstance(fact, Mptr) and fact.href and not fact.is_upward:
                by_div.setdefault((fact.div, fact.within), []).append(fact)
    except MetspackError as error:
        raise _unfit(
            path, getattr(error, "line", 0), f"is no METS that can be read: {error.message}"
        ) from None
    found: dict[str, ExpectedPackage] = {}
    for group in by_div.values():
        places = [_place(each) for each in group if each.named_by is By.LOCATION]
        if any(is_of_representation(os.fsencode(f"/{each}")) for each in places):
            continue
        folder = next(
            (folder_in(each.rpartition("/")[0] if is_mets_name(each) else each) for each in places), ""
        )
        called = next(((each.href or "").strip() for each in group if each.named_by is not By.LOCATION), "")
        if name := called or folder:
            package = ExpectedPackage(name=name, line=group[0].line, also=folder if called else "")
            found.setdefault(name, package)
    if not found:
        raise _unfit(path, 0, "is a METS that leads to no package")
    return ExpectedPackages(path=path, packages=tuple(found.values()), objid=objid)


def _place(pointer: Mptr) -> str:
    try:
        return "/".join(uris.located(pointer.href or "").segments)
    except uris.ReferenceRefused:
        return ""
