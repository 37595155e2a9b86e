"""Survey a source's LOBs: each with its column, and with its convention or its error."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum, unique
from functools import lru_cache
from itertools import chain

from metspack.locations import Convention
from metspack.locations.statement import folder_reference
from metspack.model import FileExtent, LobRef, LobRun, ZipExtent
from metspack.siard.metadata import Table
from metspack.siard.tables import Tally
from metspack.sources.archive import Archive, Located, Searched, declared_type
from metspack.sources.lobstream import Holdings
from metspack.sources.opening import LooseLobs, Source
from metspack.uris import PLAIN, Kind, ReferenceRefused, parsed

_ELEMENT = re.compile(r"\.a[0-9]+")
_NUMBER = re.compile(r"\[[0-9]+\]$")
_REMEMBERED = 10_000
_TEXT = re.compile(r"\s*(?:N?CLOB|XML|(?:NATIONAL\s+|N)?CHAR)", re.IGNORECASE)


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

    @property
    def is_text(self) -> bool:
        """Whether its type is one of texts, whose lengths in cells are characters (SIARD 2.2 T_6.2-1)."""
        return _TEXT.match(self.type) is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class Surveyed(Located):
    """A LOB cell of any source as it was located, with its column."""

    column: ColumnFound


@dataclass(frozen=True, slots=True, kw_only=True)
class SurveyedRun:
    """A run of LOBs of any source, with its column and the number of LOBs by convention.

    ``conventions`` are in the order of the first LOB of each, empty for LOBs without an archive.
    """

    column: ColumnFound
    run: LobRun
    conventions: Mapping[Convention, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class LobBatch:
    """The LOBs of one table, or of a whole source without tables, as an iterator.

    ``tally`` is filled in while ``lobs`` is read.
    """

    tally: Tally = field(default_factory=Tally)
    lobs: Iterator[Surveyed | SurveyedRun]


def batches(
    source: Source, read: Callable[[int], None] | None = None, *, in_runs: bool
) -> Iterator[LobBatch]:
    """Yield a source's LOBs table by table, each in order; exhaust each batch before the next.

    With ``in_runs`` they come in runs where possible, else one by one. ``read`` is called with each number of
    bytes read of tables, an archive's ``weight`` in all. Raises ``SourceError`` where a table cannot be read,
    or a folder of LOBs has faults.
    """
    if isinstance(source, LooseLobs):
        runs = source.lob_runs()
        yield LobBatch(lobs=map(_loose, runs) if in_runs else chain.from_iterable(map(_loose_each, runs)))
        return
    searched = Searched(archive=source)
    for table in source.tables:
        tally, columns = Tally(), _Columns(source, table)
        located = source.located_runs if in_runs else source.located
        found = searched.within(located(table, tally, read))
        yield LobBatch(tally=tally, lobs=map(columns.surveyed, found))


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


def holdings(source: Source, lob: LobRef, known: Holdings | None = None) -> Holdings:
    """Return the holdings of a LOB: ``known``, unless its packed segment was found later."""
    highest = max((each.archive for each in lob.extents if isinstance(each, ZipExtent)), default=0)
    return source.holdings() if known is None or highest >= len(known.archives) > 0 else known


def paths(held: Holdings, lob: LobRef) -> tuple[str, ...]:
    """Return a LOB's files outside the archive in order; an entry follows its zip file's path."""
    if lob.entries:
        return ()
    return tuple(
        str(held.roots[each.root].joinpath(*each.path))
        if isinstance(each, FileExtent)
        else f"{held.archives[each.archive].paths[0]}/{each.name}"
        for each in lob.extents
    )


class _Columns:
    """The columns of one table, by the paths of its cells."""

    def __init__(self, archive: Archive, table: Table) -> None:
        self._archive = archive
        self._table = table
        self._columns: dict[str, ColumnFound] = {}
        self._here: dict[str, ColumnFound] = {}

    def surveyed(self, found: LobRun | Located) -> Surveyed | SurveyedRun:
        """Return a cell, or a run of LOBs, with its column."""
        if isinstance(found, LobRun):
            conventions = self._archive.resolver.conventions(self._table, found)
            return SurveyedRun(column=self._of(found.shared.cell), run=found, conventions=conventions)
        return Surveyed(
            column=self._of(found.cell.place.cell),
            cell=found.cell,
            lob=found.lob,
            convention=found.convention,
            error=found.error,
        )

    def _of(self, path: str) -> ColumnFound:
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


def _loose(run: LobRun) -> SurveyedRun:
    column = _loose_column(run.shared.schema, run.shared.table, run.shared.cell)
    return SurveyedRun(column=column, run=run, conventions={})


def _loose_each(run: LobRun) -> Iterator[Surveyed]:
    column = _loose(run).column
    return (Surveyed(column=column, cell=lob.cell, lob=lob) for lob in run.lobs())


@lru_cache(maxsize=256)
def _loose_column(schema: int, table: int, cell: str) -> ColumnFound:
    path = _ELEMENT.sub(".a", cell)
    return ColumnFound(
        id=f"s{schema}.t{table}.{path}",
        schema=f"schema{schema}",
        table=f"table{table}",
        name=path,
        type="",
        media_type=None,
        levels=(),
        folder=None,
    )
