"""Find the LOBs of a source, each with its column."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import Enum, unique
from functools import lru_cache

from metspack.locations.errors import Losses
from metspack.locations.statement import folders
from metspack.model import LobPlace, LobRun
from metspack.siard.metadata import Table
from metspack.siard.tables import Tally
from metspack.sources.archive import FoundLobs, declared_type
from metspack.sources.lobstream import ByteSources
from metspack.sources.opening import LooseLobs, Source
from metspack.uris import PLAIN, Kind, Reference, ReferenceRefused, parsed

_ELEMENT = re.compile(r"\.a[0-9]+")
_NUMBER = re.compile(r"\[[0-9]+\]$")
_REMEMBERED = 10_000
_TEXT = re.compile(r"\s*(?:N?CLOB|XML|(?:NATIONAL\s+|N)?CHAR)", re.IGNORECASE)


@unique
class LevelKind(Enum):
    """Kinds of location that a level gives: nil, relative, absolute or unreadable."""

    NIL = "nil"
    RELATIVE = "relative"
    ABSOLUTE = "absolute"
    UNREADABLE = "unreadable"


Level = tuple[LevelKind, str]
"""One level in metadata.xml: the kind of its location, and its text ("" when it is nil)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnFound:
    """A column or field with LOBs: its names, type and lobFolders.

    ``id`` is ``s0.t2.c4``, with the elements of an array as one: ``s0.t8.c14.a``. ``levels`` are its
    lobFolder and those of its fields from the outermost on, empty without an archive; ``folder`` is
    that of SIARD 1.0 and 2.0.
    """

    id: str
    schema: str
    table: str
    name: str
    type: str = ""
    media_type: str | None = None
    levels: tuple[Level, ...] = ()
    folder: str | None = None

    @property
    def is_text(self) -> bool:
        """True for a type of texts, whose lengths in cells are characters (SIARD 2.2 T_6.2-1)."""
        return _TEXT.match(self.type) is not None


ColumnOf = Callable[[LobPlace], ColumnFound]
"""Returns the column of a LOB."""


def by_table(
    source: Source, read: Callable[[int], None] | None = None
) -> Iterator[tuple[ColumnOf, Tally, Iterator[FoundLobs]]]:
    """Yield each table's LOBs in order, with its columns and a tally of its cells.

    The LOBs are to be read before the next table; the tally is filled in meanwhile. A source without an
    archive has all LOBs as one table. ``read`` is called with each number of bytes read of tables, an
    archive's ``weight`` in all. Raises ``SourceError`` where a table cannot be read, or a folder of LOBs has
    faults.
    """
    if isinstance(source, LooseLobs):
        yield _loose_column, Tally(), source.found()
        return
    losses = Losses()
    for table in source.tables:
        tally = Tally()
        found = source.within_budget(source.located(table, tally, read), losses)
        yield _columns(table), tally, found


def level(text: str | None) -> Level:
    """Return a lobFolder of metadata.xml with the kind of location it gives."""
    kind = _kind(lambda: next(iter(folders("a lobFolder", text)), None))
    return kind, "" if text is None or kind is LevelKind.NIL else text


def cell_level(file: str) -> LevelKind:
    """Return the kind of location that a cell's ``file`` gives."""
    return LevelKind.RELATIVE if PLAIN.fullmatch(file) else _kind(parsed, file)


def _kind(reference_of: Callable[..., Reference | None], *text: str | None) -> LevelKind:
    try:
        reference = reference_of(*text)
    except ReferenceRefused:
        return LevelKind.UNREADABLE
    if reference is None:
        return LevelKind.NIL
    return LevelKind.RELATIVE if reference.kind is Kind.RELATIVE else LevelKind.ABSOLUTE


def paths(held: ByteSources, run: LobRun) -> tuple[str, ...]:
    """Return a LOB's files outside the archive in order; an entry follows its zip file's path."""
    if run.entries:
        return ()
    return tuple(
        f"{held.archives[source].paths[0]}/{name}"
        if folders is None
        else str(held.roots[source].joinpath(*folders, name))
        for source, folders, (name,) in run.places()
    )


def _columns(table: Table) -> ColumnOf:
    """Return a function that looks up a table's columns; equal elements of an array share one."""
    columns: dict[str, ColumnFound] = {}

    @lru_cache(_REMEMBERED)  # each element of an array has another path
    def of(path: str) -> ColumnFound:
        common = _ELEMENT.sub(".a", path)
        found = _column(table, path, common)
        if columns.setdefault(common, found) == found:
            return columns[common]
        return columns.setdefault(path, _column(table, path, path))

    return lambda place: of(place.cell)


def _column(table: Table, path: str, called: str) -> ColumnFound:
    chain = table.chain(path)
    names = [each.name for each in chain]
    if path != called:  # metadata.xml has a field for each element: Letters[1], Letters[2]
        names = [_NUMBER.sub("[]", name) for name in names]
    return ColumnFound(
        id=f"s{table.schema}.t{table.number}.{called}",
        schema=table.schema_name,
        table=table.name,
        name=".".join(names),
        type=chain[-1].type,
        media_type=declared_type(table, path),
        levels=tuple(level(each.lob_folder) for each in chain),
        folder=next((each.folder for each in reversed(chain) if each.folder), None),
    )


def _loose_column(place: LobPlace) -> ColumnFound:
    path = _ELEMENT.sub(".a", place.cell)
    return ColumnFound(
        id=f"s{place.schema}.t{place.table}.{path}",
        schema=f"schema{place.schema}",
        table=f"table{place.table}",
        name=path,
    )
