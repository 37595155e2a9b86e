"""A folder of LOBs as a source: ``content/schema0/table2/lob4/record0.bin`` and so on, without an archive.

The folders and names are those of the recommendation for external LOBs (0.28, 5.1) and of the archives
that SIARD programs write; ``layouts.lobseg`` writes the names that are read here.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import closing, suppress
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

from metspack.errors import SourceError
from metspack.files import reading, walking
from metspack.layouts.interface import FROM_1, NUMBER
from metspack.layouts.names import LAST, LOB_PART_SUFFIX
from metspack.locations import splitparts
from metspack.mediatypes import media_type
from metspack.model import FileExtent, LobPlace
from metspack.sources.foundlobs import Finds, FoundLob, Placed, extension_of
from metspack.uris import shown

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
            extension = extension_of(_named(files[0].extent.path[-1]).whole)
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
