"""All LOB cells of a package's archives, each with the LOB it means, in a temporary database on disk."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass

from metspack.errors import MetspackError, SourceError
from metspack.files import tempdb
from metspack.files.tempdb import Closable
from metspack.model import Budgets, Digest, FileExtent, LobCell, LobPlace
from metspack.packages.cells import Meant, cells, meant, opened_archive
from metspack.packages.package import Package
from metspack.siard.metadata import Table
from metspack.sizes import counted
from metspack.sources.archive import Archive
from metspack.uris import shown

_PLACE = "schema, place_table, cell, place_row, length, algorithm, digest"
_SCHEMA = """
CREATE TABLE cell (
    lob TEXT, schema INTEGER, place_table INTEGER, cell TEXT, place_row INTEGER, length INTEGER,
    algorithm TEXT, digest TEXT
);
CREATE TABLE inside (
    schema INTEGER, place_table INTEGER, cell TEXT, place_row INTEGER, length INTEGER, algorithm TEXT,
    digest TEXT, archive TEXT, start INTEGER, entries TEXT
);
CREATE TABLE nowhere (lob TEXT, archive TEXT, reason TEXT);
CREATE TABLE astray (lob TEXT, archive TEXT, reason TEXT)
"""
_BATCH = 2_000


@dataclass(frozen=True, slots=True, kw_only=True)
class InsideLob:
    """A LOB that stayed in an archive: its cell, and the entries that are its bytes."""

    cell: LobCell
    entries: tuple[str, ...]


class CellTable(Closable):
    """The cells that ``take`` has read; a context manager, for one thread.

    A cell means the LOB whose files it names, or a LOB in the archive; where it names something else than
    METS lists under its own id, it means that one and is ``astray``. Raises
    ``TargetError`` when the temporary disk is full.
    """

    def __init__(self, package: Package, budgets: Budgets | None = None) -> None:
        self._package = package
        self._budgets = budgets
        self._waiting: dict[str, list[tuple[object, ...]]] = {}
        self._database = tempdb.opened()
        indexes = [f"CREATE INDEX {table}_lob ON {table} (lob)" for table in ("cell", "astray")]
        for statement in (*_SCHEMA.split(";"), *indexes, "BEGIN"):
            self._do(statement)

    def _do(self, statement: str) -> None:
        with tempdb.explained("the cells of the archive"):
            self._database.execute(statement)

    def take(self, path: tuple[str, ...]) -> None:
        """Read the cells of one archive, by its names from the root; raises ``SourceError``."""
        with opened_archive(self._package, path, self._budgets) as archive:
            for table in archive.metadata.tables:
                for cell in cells(archive, table):
                    lob = self._meant(archive, path, table, cell)
                    if lob is not None:
                        self._put("cell", lob, *_values(cell))
        for name in tuple(self._waiting):
            self._flush(name)

    def _meant(self, archive: Archive, path: tuple[str, ...], table: Table, cell: LobCell) -> str | None:
        """Return the LOB that a cell means; None for one in the archive, or nowhere."""
        name, lob = "/".join(path), self._package.index.prefix(path) + cell.place.id
        is_listed = self._package.index.holds(lob)
        try:
            found = meant(self._package, path, archive, table, cell)
        except MetspackError as error:
            self._put("astray" if is_listed else "nowhere", lob, name, error.message)
            return lob if is_listed else None
        if found.lob is None:
            first = found.extents[0]
            start = 0 if isinstance(first, FileExtent) else first.offset
            self._put("inside", *_values(cell), name, start, json.dumps(found.entries))
            return None
        if found.lob != lob and is_listed:
            reason = f"{_first(found)}, which METS lists as {found.lob}, and {lob} elsewhere"
            self._put("astray", lob, name, reason)
            return lob
        if reason := self._unlike(found.lob, found):
            self._put("astray", found.lob, name, reason)
        return found.lob

    def _unlike(self, lob: str, found: Meant) -> str:
        """Return what a cell means where that is not the files of METS, "" when it is."""
        try:
            held = self._package.lob(lob)
        except SourceError:  # told where the LOB itself is
            return ""
        if found.files == tuple(part.path for part in held.parts):
            return ""
        return (
            f"{counted(len(found.extents), 'file')}, {_first(found)} first, but METS lists {lob} as "
            f"{counted(len(held.parts), 'file')}, {held.parts[0].name} first"
        )

    def _put(self, name: str, *values: object) -> None:
        waiting = self._waiting.setdefault(name, [])
        waiting.append(values)
        if len(waiting) >= _BATCH:
            self._flush(name)

    def _flush(self, name: str) -> None:
        rows = self._waiting.pop(name)
        marks = ", ".join("?" * len(rows[0]))
        with tempdb.explained("the cells of the archive"):
            self._database.executemany(f"INSERT INTO {name} VALUES ({marks})", rows)  # noqa: S608 -- our tables

    def of_lob(self, lob: str) -> list[LobCell]:
        """Return the cells that mean a LOB; usually one."""
        sql = f"SELECT {_PLACE} FROM cell WHERE lob = ?"  # noqa: S608 -- a constant
        return [_cell(row) for row in self._database.execute(sql, (lob,))]

    def inside(self, path: tuple[str, ...]) -> Iterator[InsideLob]:
        """Yield the LOBs that stayed in an archive, as they lie in it."""
        sql = f"SELECT {_PLACE}, entries FROM inside WHERE archive = ? ORDER BY start"  # noqa: S608
        for row in self._database.execute(sql, ("/".join(path),)):
            yield InsideLob(cell=_cell(row[:7]), entries=tuple(json.loads(row[7])))

    def nowhere(self) -> Iterator[tuple[str, str, str]]:
        """Yield id, archive and reason for each cell whose LOB is nowhere, or in no METS."""
        yield from self._database.execute("SELECT lob, archive, reason FROM nowhere")

    def astray(self, lob: str) -> Iterator[tuple[str, str]]:
        """Yield archive and reason for each cell of a LOB that does not name what METS lists."""
        yield from self._database.execute("SELECT archive, reason FROM astray WHERE lob = ?", (lob,))

    def close(self) -> None:
        """Drop the database."""
        self._database.close()


def _first(found: Meant) -> str:
    """Return the first file that a cell means, for people."""
    return shown("/".join(found.files[0]))


def _values(cell: LobCell) -> tuple[object, ...]:
    place, digest = cell.place, cell.digest
    said = (cell.length, digest and digest.algorithm, digest and digest.value)
    return (place.schema, place.table, place.cell, place.row, *said)


def _cell(row: tuple[int, int, str, int, int | None, str | None, str]) -> LobCell:
    schema, table, cell, number, length, algorithm, value = row
    return LobCell(
        place=LobPlace(schema=schema, table=table, cell=cell, row=number),
        file="",
        length=length,
        digest=None if algorithm is None else Digest(algorithm=algorithm, value=value),
    )
