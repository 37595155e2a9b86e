"""What an archive says of where a LOB is, as references, and chains of them as places; pure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from metspack.locations.statement import Place
from metspack.uris import WHITE_SPACE, Kind, Reference, ReferenceRefused, collapsed, parsed, walked


@dataclass(frozen=True, slots=True, kw_only=True)
class Levels:
    """All that an archive says of where the LOB of one cell is; texts unescaped as metadata.xml has them.

    ``fields`` are the field lobFolders from the column inwards; ``folder`` is that of SIARD 1.0 and
    2.0; ``table`` is the table's folder in the archive.
    """

    database: str | None
    column: str | None
    fields: tuple[str | None, ...] = ()
    folder: str | None = None
    table: str
    file: str


# --- Levels as references -----------------------------------------------------------------------------


def cell_reference(levels: Levels) -> Reference:
    """Return what the cell's ``file`` refers to; raises ``ReferenceRefused`` saying that it is the cell's."""
    try:
        return parsed(levels.file)
    except ReferenceRefused as refused:
        raise _named("the cell's file", refused) from None


@lru_cache(maxsize=1024)  # a column has one lobFolder and perhaps millions of cells
def folder_reference(where: str, text: str | None) -> Reference | None:
    """Return what a folder's text refers to, None when it is nil or blank; the refusal names ``where``."""
    if text is None or not text.strip(WHITE_SPACE):
        return None
    try:
        return parsed(text)
    except ReferenceRefused as refused:
        raise _named(where, refused) from None


def is_content(levels: Levels) -> bool:
    """Return whether the database's lobFolder is ``content``, as several writers have it."""
    return levels.database is not None and _CONTENT.fullmatch(levels.database) is not None


_CONTENT = re.compile(r"\s*(?:\.[/\\])?content[/\\]?\s*")


def _named(where: str, refused: ReferenceRefused) -> ReferenceRefused:
    return ReferenceRefused(f"{where}: {refused.message}", rule=refused.rule, hint=refused.hint)


def database_folder(levels: Levels) -> list[Reference]:
    """Return the database's lobFolder, nothing when it is nil."""
    found = folder_reference("the database's lobFolder", levels.database)
    return [] if found is None else [found]


def local_texts(levels: Levels) -> list[str]:
    """Return the lobFolders of column and fields that are not nil."""
    return [each for each in (levels.column, *levels.fields) if each and each.strip(WHITE_SPACE)]


def local_folders(levels: Levels) -> list[Reference]:
    """Return the lobFolders of column and fields that are not nil, from the column inwards."""
    return [
        found
        for each in local_texts(levels)
        if (found := folder_reference("the column's lobFolder", each)) is not None
    ]


# --- References to places -----------------------------------------------------------------------------


def chained(parts: Sequence[Reference]) -> tuple[bool, str | None, tuple[str, ...]]:
    """Return whether a chain is absolute, its drive, and its segments from the last absolute one on."""
    absolute, drive = False, None
    segments: tuple[str, ...] = ()
    for each in parts:
        if each.kind is Kind.RELATIVE:
            segments += each.segments
        else:
            # A path beginning with "/" keeps the drive of what it is relative to (RFC 8089 E.2.1).
            absolute, drive, segments = True, each.drive or drive, each.segments
    return absolute, drive, segments


def stripped(segments: Sequence[str]) -> tuple[str, ...]:
    """Return the same steps without any ``..`` at the start."""
    names = collapsed(segments)
    return names[names.count("..") :]


def from_zip_root(parts: Sequence[Reference]) -> Place:
    """Return the place of a chain that begins at the zip's root; ``..`` from there is the .siard's folder."""
    absolute, drive, segments = chained(parts)
    if absolute:
        return Place(inside=False, absolute=True, drive=drive, segments=walked((), segments))
    names = collapsed(segments)
    if names[0] == "..":
        return Place(inside=False, segments=names[1:])
    return Place(inside=True, segments=names)
