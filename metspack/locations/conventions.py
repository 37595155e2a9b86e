"""Conventions for the place of a LOB, each a rule from levels to one place; pure.

A rule takes the levels and the cell's reference and returns one place, under the most specific convention
that the levels fit; ``candidates`` applies the rules, ``WAYS``, in order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial

from metspack.layouts.names import SEG, SIARD
from metspack.locations import Convention
from metspack.locations.statement import (
    Levels,
    Place,
    database_folder,
    folders,
    is_content,
    local_folders,
    local_texts,
    located,
)
from metspack.uris import Kind, Reference, ReferenceRefused, Repair, collapsed, walked


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A place where a LOB may be, and the convention that would put it there.

    ``place`` inside: names from the zip's root. Outside: steps from the folder that holds the .siard,
    ``..`` at the start only; for ``LOB_ROOT`` names below each further granted folder. ``repairs``
    are those of the levels it was made from. ``way`` numbers the rule that made it (from ``len(WAYS)`` on:
    with a renamed folder), so that ``candidates.candidate`` makes the same for another cell. ``renamed`` is
    the index of the segment that may have another name (``RENAMED`` only).
    """

    convention: Convention
    place: Place
    repairs: tuple[Repair, ...]
    way: int = 0
    renamed: int | None = None

    @property
    def stated(self) -> bool:
        """True if the statement on the location of LOBs gives it, perhaps from repaired references."""
        return self.way < STATED


Way = Callable[[Levels, Reference], Candidate | None]
_Folders = Callable[[Levels], Sequence[Reference]]
_Kept = Callable[[Sequence[str]], tuple[str, ...]]


def _relative(*names: str) -> Reference:
    return Reference(kind=Kind.RELATIVE, segments=names, is_folder=True)


def _candidate(convention: Convention, place: Place, used: Iterable[Reference]) -> Candidate:
    written = {repair for each in used for repair in each.repairs}
    repairs = tuple(each for each in Repair if each in written) if written else ()
    return Candidate(convention=convention, place=place, repairs=repairs)


def _put(convention: Convention, place: Place, used: Iterable[Reference]) -> Candidate:
    """Return the place as a candidate, of convention J if a relative path has backslashes."""
    found = _candidate(convention, place, used)
    if Repair.BACKSLASH in found.repairs and not place.absolute:
        return replace(found, convention=Convention.J)
    return found


# --- References to places -----------------------------------------------------------------------------


def chained(parts: Sequence[Reference]) -> tuple[bool, str | None, tuple[str, ...]]:
    """Return whether a chain of references is absolute, its drive, and its segments.

    The segments begin at the last absolute reference, if there is one.
    """
    absolute, drive = False, None
    segments: tuple[str, ...] = ()
    for each in parts:
        if each.kind is Kind.RELATIVE:
            segments += each.segments
        else:
            # A path beginning with "/" keeps the drive of its base (RFC 8089 E.2.1).
            absolute, drive, segments = True, each.drive or drive, each.segments
    return absolute, drive, segments


def stripped(segments: Sequence[str]) -> tuple[str, ...]:
    """Return segments without ``..`` at the start."""
    names = collapsed(segments)
    return names[names.count("..") :]


def from_zip_root(parts: Sequence[Reference]) -> Place:
    """Return the place of a chain from the zip's root, whose ``..`` is the .siard's folder."""
    absolute, drive, segments = chained(parts)
    if absolute:
        return Place(inside=False, absolute=True, drive=drive, segments=walked((), segments))
    names = collapsed(segments)
    if names[0] == "..":
        return Place(inside=False, segments=names[1:])
    return Place(inside=True, segments=names)


# --- The statement ------------------------------------------------------------------------------------


def _stated(levels: Levels, file: Reference) -> Candidate | None:
    try:
        place = located(levels.database, levels.column, levels.file, fields=levels.fields)
    except ReferenceRefused:
        if local_texts(levels) and file.kind is Kind.RELATIVE and not file.is_folder:
            raise
        # A reference that is an error stays one without the levels above; otherwise the LOB is inside.
        place = located(None, None, levels.file)
    assert place is not None  # noqa: S101 -- None is for cells without a file
    if not place.inside:
        return _put(Convention.C, place, (*database_folder(levels), *local_folders(levels), file))
    repeats = file.segments[0] == "content" and is_content(levels)
    return _put(Convention.F if repeats else Convention.C, place, (file,))


def _stated_of_field(levels: Levels, file: Reference) -> Candidate | None:
    """Return the statement's place if only the innermost field's lobFolder counts, or None."""
    local = local_texts(levels)
    if len(local) < 2 or (place := located(levels.database, local[-1], levels.file)) is None:  # noqa: PLR2004
        return None
    return _put(Convention.C, place, (*database_folder(levels), local_folders(levels)[-1], file))


# --- The zip's root and ".." from there: A, D, E, G, H --------------------------------------------------


def _no_folders(_levels: Levels) -> list[Reference]:
    return []


def _innermost(levels: Levels) -> list[Reference]:
    return local_folders(levels)[-1:]


def _in_archive(above: _Folders, below: _Folders, levels: Levels, file: Reference) -> Candidate | None:
    database, chain = above(levels), below(levels)
    if above is _no_folders and not chain:
        return None
    used = (*database, *chain, file)
    place = from_zip_root(used)
    if place.absolute or not chain:
        convention = Convention.A
    elif place.inside:
        convention = _truest_inside(levels, chain[-1], file)
    else:
        convention = _truest_outside(database, chain[-1])
    return _put(convention, place, used)


def _truest_inside(levels: Levels, folder: Reference, file: Reference) -> Convention:
    if SEG.fullmatch(file.segments[0]):
        return Convention.G
    if is_content(levels) and not folder.is_folder and not (levels.database or "").endswith("/"):
        return Convention.D
    return Convention.A


def _truest_outside(database: Sequence[Reference], folder: Reference) -> Convention:
    if not any(each.segments for each in database):
        return Convention.H if folder.segments[:1] == ("..",) else Convention.A
    above = database[0].segments
    dbptk = above[0] == ".." and above[-1].endswith(f"{SIARD}_lobs") and not folder.is_folder
    return Convention.D if dbptk else Convention.A


def _zip_root(levels: Levels, file: Reference) -> Candidate | None:
    place = from_zip_root((file,))
    convention = Convention.H if local_texts(levels) else Convention.A
    if not place.inside and convention is Convention.A and database_folder(levels):
        # For a cell that leads out of the zip, DBPTK writes the lobFolder content, other programs any.
        convention = Convention.E if is_content(levels) else Convention.H
    return _put(convention, place, (file,))


def _below_content(levels: Levels, file: Reference) -> Candidate | None:
    chain = local_folders(levels)
    if not chain or chain[-1].kind is not Kind.RELATIVE:
        return None
    place = from_zip_root((_relative("content"), *chain, file))
    return _put(Convention.G, place, (*chain, file)) if place.inside else None


# --- The folder of SIARD 1.0 and 2.0: I -----------------------------------------------------------------


def _folder_of_table(levels: Levels) -> list[Reference]:
    return [_relative(*levels.table.split("/"))]


def _by_folder(above: _Folders, levels: Levels, file: Reference) -> Candidate | None:
    if not levels.folder and above is not _folder_of_table:
        return None
    below = (*(folders("the column's folder", levels.folder) or local_folders(levels)), file)
    used = (*above(levels), *below)
    if any(each.kind is not Kind.RELATIVE or each.segments[:1] == ("..",) for each in used):
        return None
    return _put(Convention.I, from_zip_root(used), below)


# --- Absolute ones: B, K --------------------------------------------------------------------------------


def _absolute(levels: Levels, file: Reference) -> Candidate | None:
    used = (file,) if file.kind is not Kind.RELATIVE else (*local_folders(levels), file)
    return _put(Convention.B, from_zip_root(used), used) if chained(used)[0] else None


def _package(levels: Levels, file: Reference) -> Candidate | None:
    """Return the place in the .siard's folder if the last absolute level is ``file:///x``."""
    used = (*database_folder(levels), *local_folders(levels), file)
    last = max((n for n, each in enumerate(used) if each.kind is not Kind.RELATIVE), default=None)
    if last is None or Repair.PSEUDO_ABSOLUTE not in used[last].repairs:
        return None
    used = used[last:]
    return _candidate(Convention.K, Place(inside=False, segments=walked((), chained(used)[2])), used)


# --- Guesses: paths from a folder in the file system ------------------------------------------------------


def _guess(
    convention: Convention, kept: _Kept, above: _Folders, levels: Levels, file: Reference
) -> Candidate | None:
    """Join the folders ``above`` and a cell's reference, shortened by ``kept``."""
    used = (*above(levels), file)
    absolute, _drive, segments = chained(used)
    if absolute and convention is Convention.SIARD_FOLDER:
        return None
    return _candidate(convention, Place(inside=False, segments=kept(segments)), used)


def _all_folders(levels: Levels) -> list[Reference]:
    return [*database_folder(levels), *local_folders(levels)]


_BASES: tuple[_Folders, ...] = (_all_folders, local_folders, _no_folders)

WAYS: tuple[Way, ...] = (
    _stated,
    _stated_of_field,
    partial(_in_archive, database_folder, local_folders),
    partial(_in_archive, database_folder, _innermost),
    _zip_root,
    partial(_in_archive, _no_folders, local_folders),
    partial(_in_archive, _no_folders, _innermost),
    _below_content,
    *(partial(_by_folder, used) for used in (_folder_of_table, _no_folders, database_folder)),
    _absolute,
    _package,
    *(
        partial(_guess, Convention.SIARD_FOLDER, kept, used)
        for used in _BASES
        for kept in (collapsed, stripped)
    ),
    *(partial(_guess, Convention.LOB_ROOT, stripped, used) for used in _BASES),
)
"""All rules in the order of trying; each raises ``SourceError`` for bad levels."""

STATED = 2
"""The number of rules at the start of ``WAYS`` that are the statement's."""

DESPITE_ERRORS = (WAYS.index(_absolute), WAYS.index(_package))
"""Indices in ``WAYS`` of the rules that apply to levels that are an error in the statement."""
