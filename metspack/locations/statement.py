"""Statement of the DILCIS Board on the location of LOBs in SIARD 2.1 and 2.2; pure.

Three levels give a location: the ``lobFolder`` of the database, that of the column (or field), and the
``file`` of the cell. Each is absent (nil), relative or absolute; 11 of the 27 combinations are errors.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum, unique
from functools import lru_cache

from metspack.errors import SourceError
from metspack.uris import (
    WHITE_SPACE,
    Kind,
    Reference,
    ReferenceRefused,
    collapsed,
    on_share,
    parsed,
    shown,
    walked,
)


@unique
class LevelLocation(Enum):
    """The kind of location that one level gives: absent, relative or absolute."""

    NIL = "nil"
    RELATIVE = "relative"
    ABSOLUTE = "absolute"


@unique
class Outcome(Enum):
    """The result of all three levels: no LOB, a LOB inside, a LOB outside, or an error."""

    NO_LOB = "nil"
    INSIDE = "in"
    OUTSIDE = "out"
    ERROR = "ERR"


def outcome(database: LevelLocation, column: LevelLocation, cell: LevelLocation) -> Outcome:
    """Return the result of three levels (the statement's appendix "Overview of combinations")."""
    if cell is LevelLocation.NIL:
        return Outcome.NO_LOB
    if cell is LevelLocation.ABSOLUTE:
        return Outcome.ERROR
    if column is LevelLocation.NIL:
        return Outcome.INSIDE
    if column is LevelLocation.ABSOLUTE and database is not LevelLocation.NIL:
        return Outcome.ERROR
    return Outcome.OUTSIDE


class LocationError(SourceError):
    """Levels without a place for a LOB: an error by the statement, or a cell that names a folder."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Levels:
    """The texts that locate the LOB of one cell, as in the archive's XML, unescaped.

    ``fields`` are the lobFolders of fields from the column inwards; ``folder`` is the column's folder of
    SIARD 1.0 and 2.0; ``table`` is the table's folder in the archive.
    """

    database: str | None
    column: str | None
    fields: tuple[str | None, ...] = ()
    folder: str | None = None
    table: str
    file: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    r"""The place of a LOB, as names.

    Inside: from the zip's root. Outside and not absolute: from the folder of the .siard, and then
    leading ``..`` stand for the folders above it; callers open only files below a granted root.
    Absolute: from the root of the file system, or of ``drive`` (``C:``, ``\\HOST\SHARE``) when it has one.
    """

    inside: bool
    absolute: bool = False
    drive: str | None = None
    segments: tuple[str, ...]

    @property
    def text(self) -> str:
        """The place for messages, decoded: ``./Northwind_lobs/s0_t2_c4/seg_0/t2_c4_r1.bin``."""
        path = "/".join(self.segments)
        if self.absolute:
            return f"{self.drive or ''}/{path}"
        return path if self.inside or path.startswith("../") else f"./{path}"


# --- Levels as references -----------------------------------------------------------------------------


def cell_reference(file: str) -> Reference:
    """Return the reference in a cell's ``file``; raises ``ReferenceRefused``."""
    return _reference("the cell's file", file)


def folders(where: str, *texts: str | None) -> list[Reference]:
    """Return the references in lobFolders, without those of nil and blank ones.

    Raises ``ReferenceRefused``, whose message begins with ``where``.
    """
    return [_folder(where, each) for each in texts if each is not None and each.strip(WHITE_SPACE)]


def _reference(where: str, text: str) -> Reference:
    try:
        return parsed(text)
    except ReferenceRefused as error:
        if error.rule in {"host", "unc"} and (found := on_share(text)) is not None:
            return found
        raise ReferenceRefused(f"{where}: {error.message}", rule=error.rule, hint=error.hint) from None


_folder = lru_cache(maxsize=1024)(_reference)  # a column has one lobFolder and perhaps millions of cells


_CONTENT = re.compile(r"\s*(?:\.[/\\])?content[/\\]?\s*")


def is_content(levels: Levels) -> bool:
    """Return whether the database's lobFolder is ``content``, as several programs write it."""
    return levels.database is not None and _CONTENT.fullmatch(levels.database) is not None


def database_folder(levels: Levels) -> list[Reference]:
    """Return a list of the database's lobFolder, empty if that is nil or blank."""
    return folders("the database's lobFolder", levels.database)


def local_texts(levels: Levels) -> list[str]:
    """Return the filled lobFolders of column and fields, from the column inwards."""
    return [each for each in (levels.column, *levels.fields) if each and each.strip(WHITE_SPACE)]


def local_folders(levels: Levels) -> list[Reference]:
    """Return the references in the lobFolders of column and fields, from the column inwards."""
    return folders("the column's lobFolder", levels.column, *levels.fields)


# --- The table ----------------------------------------------------------------------------------------


def located(
    database: str | None, column: str | None, cell: str | None, *, fields: Sequence[str | None] = ()
) -> Place | None:
    """Return the place that the three levels give, or None for a cell without a location.

    The texts are as written; a folder may lack its last ``/``, and a blank ``lobFolder`` counts as nil.
    ``fields`` are the lobFolders of fields from the column inwards (SIARD 2.2 M_5.7-1): each that is not nil
    is relative to the enclosing one, the outermost to the database level. A field's lobFolder as ``column``
    is combined with the database level only. Raises ``LocationError`` for an error by the statement and for a
    cell that names a folder, and ``ReferenceRefused`` for a text that is no reference and for a path that
    leads out of the zip or above ``/``.
    """
    if cell is None:
        return None
    base = folders("the database's lobFolder", database)
    local = folders("the column's lobFolder", column) + folders("a field's lobFolder", *fields)
    file = cell_reference(cell)
    levels = (_level(base), _level(local), _level([file]))
    found = outcome(*levels)
    if found is Outcome.ERROR or file.is_folder:
        raise _error(cell, *levels)
    if found is Outcome.INSIDE:
        return Place(inside=True, segments=walked((), file.segments))
    place = Place(inside=False, segments=())
    for each in (*base, *local, file):
        place = _below(place, each)
    return place


def _level(chain: Sequence[Reference]) -> LevelLocation:
    if any(each.kind is not Kind.RELATIVE for each in chain):  # which makes the whole chain absolute
        return LevelLocation.ABSOLUTE
    return LevelLocation.RELATIVE if chain else LevelLocation.NIL


def _below(base: Place, reference: Reference) -> Place:
    if reference.kind is not Kind.RELATIVE:
        # A path beginning with "/" keeps the drive of its base (RFC 8089 E.2.1).
        drive = reference.drive or base.drive
        return Place(inside=False, absolute=True, drive=drive, segments=walked((), reference.segments))
    if base.absolute:
        segments = walked(base.segments, reference.segments)
    else:
        segments = collapsed((*base.segments, *reference.segments))
    return Place(inside=False, absolute=base.absolute, drive=base.drive, segments=segments)


def _error(text: str, database: LevelLocation, column: LevelLocation, cell: LevelLocation) -> LocationError:
    levels = f"database {database.value}, column {column.value}, cell {cell.value}"
    if cell is LevelLocation.ABSOLUTE:
        message = f"the cell's location {shown(text)} is absolute; expected a relative one ({levels})"
        hint = "The statement on the location of LOBs allows no absolute location at cell level."
    elif outcome(database, column, cell) is Outcome.ERROR:
        message = (
            f"the column's lobFolder is absolute though the database has one; cell {shown(text)} ({levels})"
        )
        hint = "Make the column's lobFolder relative to the database's, or take the database's away."
    else:
        message = f"the cell's location {shown(text)} names a folder; expected a file ({levels})"
        hint = "The file attribute ends with the name of the LOB's file."
    return LocationError(message, hint=hint)
