"""Survey a source's LOBs: each with its column."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import Enum, unique

from metspack.locations.errors import Losses
from metspack.locations.statement import folder_reference
from metspack.model import LobPlace, LobRun
from metspack.siard.metadata import Table
from metspack.siard.tables import Tally
from metspack.sources.archive import FoundLobs, declared_type
from metspack.sources.lobstream import Holdings
from metspack.sources.opening import LooseLobs, Source
from metspack.uris import PLAIN, Kind, ReferenceRefused, parsed

_ELEMENT = re.compile(r"\.a[0-9]+")
_NUMBER = re.compile(r"\[[0-9]+\]$")
_REMEMBERED = 10_000


@unique
class LevelKind(Enum):
    """Kinds of location that a level gives: none, relative, absolute or unreadable."""

    NIL = "nil"
    RELATIVE = "relative"
    ABSOLUTE = "absolute"
    UNREADABLE = "unreadable"


@dataclass(frozen=True, slots=True, kw_only=True)
class LevelFound:
    """One level in metadata.xml: the kind of its location, and its text ("" when it is nil)."""

    said: LevelKind
    text: str


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
    type: str
    media_type: str | None
    levels: tuple[LevelFound, ...]
    folder: str | None


ColumnOf = Callable[[LobPlace], ColumnFound]
"""Returns the column of a LOB."""


def by_table(
    source: Source, read: Callable[[int], None] | None = None
) -> Iterator[tuple[ColumnOf, Tally, Iterator[FoundLobs]]]:
    """Yield the LOBs of each table, in order, with the columns of that table and a tally of its cells.

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
        yield _Columns(table).of, tally, found


def level(text: str | None) -> LevelFound:
    """Return a lobFolder of metadata.xml with the kind of location it gives."""
    try:
        reference = folder_reference("a lobFolder", text)
    except ReferenceRefused:
        return LevelFound(said=LevelKind.UNREADABLE, text=text or "")
    if reference is None:
        return LevelFound(said=LevelKind.NIL, text="")
    said = LevelKind.RELATIVE if reference.kind is Kind.RELATIVE else LevelKind.ABSOLUTE
    return LevelFound(said=said, text=text or "")


def cell_level(file: str) -> LevelKind:
    """Return the kind of location that a cell's ``file`` gives."""
    if PLAIN.fullmatch(file):
        return LevelKind.RELATIVE
    try:
        return LevelKind.RELATIVE if parsed(file).kind is Kind.RELATIVE else LevelKind.ABSOLUTE
    except ReferenceRefused:
        return LevelKind.UNREADABLE


def paths(held: Holdings, run: LobRun) -> tuple[str, ...]:
    """Return a LOB's files outside the archive in order; an entry follows its zip file's path."""
    if run.entries:
        return ()
    return tuple(
        f"{held.archives[holding].paths[0]}/{name}"
        if folders is None
        else str(held.roots[holding].joinpath(*folders, name))
        for holding, folders, (name,) in run.places()
    )


class _Columns:
    """The columns of one table, by the paths of its cells."""

    def __init__(self, table: Table) -> None:
        self._table = table
        self._columns: dict[str, ColumnFound] = {}
        self._here: dict[str, ColumnFound] = {}

    def of(self, place: LobPlace) -> ColumnFound:
        """Return the column of a LOB."""
        path = place.cell
        if path not in self._here:
            if len(self._here) >= _REMEMBERED:  # every element of an array has another path
                self._here.clear()
            self._here[path] = self._of_element(path)
        return self._here[path]

    def _of_element(self, path: str) -> ColumnFound:
        """Return the column of a path; array elements share one unless their levels differ."""
        common = _ELEMENT.sub(".a", path)
        found = _column(self._table, path, common)
        if self._columns.setdefault(common, found) == found:
            return self._columns[common]
        return self._columns.setdefault(path, _column(self._table, path, path))


def _column(table: Table, path: str, called: str) -> ColumnFound:
    chain = table.chain(path)
    declared = [each.folder for each in chain if each.folder]
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
        folder=declared[-1] if declared else None,
    )


def _loose_column(place: LobPlace) -> ColumnFound:
    path = _ELEMENT.sub(".a", place.cell)
    return ColumnFound(
        id=f"s{place.schema}.t{place.table}.{path}",
        schema=f"schema{place.schema}",
        table=f"table{place.table}",
        name=path,
        type="",
        media_type=None,
        levels=(),
        folder=None,
    )
