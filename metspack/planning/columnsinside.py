"""Columns whose LOBs are small enough to stay inside the archive (``--min-size``)."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator

from metspack.errors import ConfigError
from metspack.model import LobRef
from metspack.planning.assignment import Column, column_of
from metspack.progress import Progress
from metspack.sizes import counted
from metspack.sources.archive import Archive, named
from metspack.sources.opening import Source
from metspack.sources.repacking import Departures


def chosen(source: Source, least: int | None, progress: Progress) -> dict[Column, int]:
    """Return the columns that stay inside the archive, as ``columns``; none when ``least`` is None.

    Raises ``ConfigError`` for a source without an archive, ``SourceError`` as ``columns``.
    """
    if least is None:
        return {}
    if not isinstance(source, Archive):
        raise ConfigError(
            "the source has no SIARD archive, so no LOB can stay inside it",
            hint="Leave --min-size out.",
        )
    progress.stage("Looking at sizes", source.weight())
    return columns(source, least, progress.advance)


def moving(source: Source, stays: Collection[Column], progress: Progress) -> Iterator[LobRef]:
    """Return an iterator over the LOBs of a source except those of columns that stay inside."""
    progress.stage("Planning", source.weight() if isinstance(source, Archive) else None)
    lobs = source.lobs(read=progress.advance) if isinstance(source, Archive) else source.lobs()
    return (lob for lob in lobs if column_of(lob.place) not in stays) if stays else lobs


def columns(archive: Archive, least: int, read: Callable[[int], None] | None = None) -> dict[Column, int]:
    """Return the columns that stay and how many LOBs each has: all inside, each below ``least`` bytes.

    A column moves whole or not at all, for it has one lobFolder (DILCIS statement, column level). One with
    a LOB that is in several pieces, outside or not found does not stay. ``read`` is called with numbers of
    bytes read, which add up to the archive's ``weight``.
    """
    found: dict[Column, int] = {}
    moving: set[Column] = set()
    for table in archive.metadata.tables:
        for each in archive.located(table, read=read):
            column = column_of(each.cell.place)
            if each.lob is None or each.lob.size >= least or len(each.lob.entries) != 1:
                moving.add(column)
                found.pop(column, None)
            elif column not in moving:
                found[column] = found.get(column, 0) + 1
    return found


def keep(archive: Archive, stays: Collection[Column], departures: Departures) -> None:
    """Remove from the departures the entries that columns that stay inside name."""
    if not stays:
        return
    for table in archive.metadata.tables:
        if any((table.schema, table.number) == column[:2] for column in stays):
            for each in archive.located(table):
                if each.lob is not None and column_of(each.cell.place) in stays:
                    for entry in each.lob.entries:
                        departures.keep(entry)


def words(archive: Archive, found: dict[Column, int], least: int) -> Iterator[str]:
    """Yield a sentence about each column that stays inside the archive."""
    labels = {(table.schema, table.number): table for table in archive.metadata.tables}
    for (schema, number, column), count in found.items():
        table = labels[schema, number]
        yield (
            f"{named(table, f'c{column}')} stays inside the archive: {counted(count, 'LOB')}, each smaller "
            f"than {least:,} bytes"
        )
