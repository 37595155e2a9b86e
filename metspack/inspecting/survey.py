"""Survey of a source's LOBs: each with its column, and the convention that found it or the error."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from enum import Enum, unique
from functools import lru_cache

from metspack.locations.statement import folder_reference
from metspack.model import FileExtent, LobRef, ZipExtent
from metspack.siard.metadata import Table
from metspack.siard.tables import Tally
from metspack.sources.archive import Archive, Located, declared_type
from metspack.sources.lobstream import Holdings
from metspack.sources.opening import LooseLobs, Source
from metspack.uris import PLAIN, Kind, ReferenceRefused, parsed

_ELEMENT = re.compile(r"\.a[0-9]+")
_NUMBER = re.compile(r"\[[0-9]+\]$")
_REMEMBERED = 10_000


@unique
class LevelKind(Enum):
    """The location that one level gives: none, a relative or absolute one, or one that cannot be read."""

    NIL = "nil"
    RELATIVE = "relative"
    ABSOLUTE = "absolute"
    UNREADABLE = "unreadable"


@dataclass(frozen=True, slots=True, kw_only=True)
class LevelFound:
    """One level as metadata.xml has it: the kind of location, and its text ("" when it is nil)."""

    said: LevelKind
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnFound:
    """A column or field with LOBs: its names, type and lobFolders.

    ``id`` is ``s0.t2.c4``, with the elements of an array as one: ``s0.t8.c14.a``. ``levels`` are its
    lobFolder and those of its fields from the outermost on, None without an archive; ``folder`` is
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Surveyed(Located):
    """A LOB cell of any source as it was located, with its column."""

    column: ColumnFound


@dataclass(frozen=True, slots=True, kw_only=True)
class LobBatch:
    """The LOBs of one table, or of a whole source without tables, as an iterator.

    ``tally`` is filled in while ``lobs`` is read.
    """

    tally: Tally = field(default_factory=Tally)
    lobs: Iterator[Surveyed]


def batches(source: Source, read: Callable[[int], None] | None = None) -> Iterator[LobBatch]:
    """Yield the LOBs of a source table by table, each in its order; take each batch before the next.

    ``read`` is called with each number of bytes read of tables, an archive's ``weight`` in all. Raises
    ``SourceError`` where a table cannot be read, or a folder or list of LOBs has faults.
    """
    if isinstance(source, LooseLobs):
        yield LobBatch(lobs=_loose(source))
        return
    for table in source.tables:
        tally = Tally()
        yield LobBatch(tally=tally, lobs=_surveyed(source, table, tally, read))


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
    """Return the files a LOB is read from: ``known`` unless it lies in a packed segment found since."""
    highest = max((each.archive for each in lob.extents if isinstance(each, ZipExtent)), default=0)
    return source.holdings() if known is None or highest >= len(known.archives) > 0 else known


def paths(held: Holdings, lob: LobRef) -> tuple[str, ...]:
    """Return the files of a LOB outside the archive in order; an entry follows its zip file's path."""
    if lob.entries:
        return ()
    return tuple(
        str(held.roots[each.root].joinpath(*each.path))
        if isinstance(each, FileExtent)
        else f"{held.archives[each.archive].paths[0]}/{each.name}"
        for each in lob.extents
    )


def _surveyed(
    archive: Archive, table: Table, tally: Tally, read: Callable[[int], None] | None
) -> Iterator[Surveyed]:
    columns: dict[str, ColumnFound] = {}
    here: dict[str, ColumnFound] = {}
    for located in archive.located(table, tally, read):
        path = located.cell.place.cell
        if path not in here:
            if len(here) >= _REMEMBERED:  # every element of an array has a path of its own
                here.clear()
            here[path] = _of_element(columns, table, path)
        yield Surveyed(
            column=here[path],
            cell=located.cell,
            lob=located.lob,
            convention=located.convention,
            error=located.error,
        )


def _of_element(columns: dict[str, ColumnFound], table: Table, path: str) -> ColumnFound:
    """Return the column of a cell path; all elements of an array are in one unless their levels differ."""
    common = _ELEMENT.sub(".a", path)
    found = _column(table, path, common)
    if columns.setdefault(common, found) == found:
        return columns[common]
    return columns.setdefault(path, _column(table, path, path))


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


def _loose(source: LooseLobs) -> Iterator[Surveyed]:
    for lob in source.lobs():
        place = lob.place
        column = _loose_column(place.schema, place.table, _ELEMENT.sub(".a", place.cell))
        yield Surveyed(column=column, cell=lob.cell, lob=lob)


@lru_cache(maxsize=256)
def _loose_column(schema: int, table: int, path: str) -> ColumnFound:
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
