"""LOB cells of a package's SIARD archives: place, length and digest of each LOB by the database itself."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

from metspack.digests import OCTETS
from metspack.errors import MetspackError, SourceError
from metspack.files import reading, tempdb
from metspack.files.byteranges import Below, Medium, Stretch
from metspack.files.tempdb import Closable
from metspack.mets import links
from metspack.model import Budgets, Digest, Extent, FileExtent, LobCell, LobPlace
from metspack.packages import package as packages_package
from metspack.packages.files import uncompressed
from metspack.packages.lobs import ListedFile, together
from metspack.packages.package import Package
from metspack.processes import ThreadedHashers
from metspack.progress import Progress
from metspack.siard import tables
from metspack.siard.metadata import Table
from metspack.sizes import counted
from metspack.sources.archive import Archive, Grants
from metspack.uris import shown

_PLACE = re.compile(r"s([0-9]{1,18})\.t([0-9]{1,18})\.(c.+)\.r([0-9]{1,18})", re.ASCII)
_UNLISTED = "A METS of the package should list it; metspack check tells what else is wrong."


@dataclass(frozen=True, slots=True, kw_only=True)
class Meant:
    """The LOB that a cell names: ``lob`` as METS lists it or, with None, ``entries`` of the archive.

    ``extents`` are read with the archive's resolver; ``files`` are their names from the package's root.
    """

    lob: str | None
    entries: tuple[str, ...]
    extents: tuple[Extent, ...]
    files: tuple[tuple[str, ...], ...] = ()


def archive_place(package: Package, path: tuple[str, ...]) -> tuple[Path, Stretch | None]:
    """Return the path of an archive of a package and, when it is packed, the stretch of its bytes.

    ``path`` are its names from the root, as ``Package.archives`` has them.
    Raises ``SourceError`` when it cannot be opened without following a link.
    """
    place = package.root.joinpath(*path)
    inside = package.index.files.inside(path)
    if inside is not None:
        at = uncompressed(package.root, path, inside)
        return place, at if isinstance(at, Stretch) else None
    try:
        # No link is followed below the package's root; the archive opens its files by their path.
        os.close((reading.opened_folder if place.is_dir() else reading.opened)(package.root, path))
    except OSError as error:
        raise SourceError(
            f"{'/'.join(path)} cannot be opened: {error.strerror}",
            hint="The METS names it as the archive; get it from another copy of the package.",
        ) from None
    return place, None


def opened_archive(package: Package, path: tuple[str, ...], budgets: Budgets | None = None) -> Archive:
    """Return an archive of a package; raises ``SourceError`` when it cannot be read."""
    place, at = archive_place(package, path)
    return Archive(place, budgets, grants(package, path), at)


def grants(package: Package, path: tuple[str, ...]) -> Grants:
    """Return the folders of a package in which the LOBs of one of its archives may lie."""
    if len(path) == 1:
        return Grants()  # its own folder, which is the package's root
    return Grants(lob_roots=(package.root,), divided=package.index.divided(path[:-1]))


@dataclass(frozen=True, slots=True, kw_only=True)
class Altered:
    """A file of an archive, or a piece of one, whose digest is not the one that METS ``said``.

    ``found`` is None for one that cannot be opened, for the ``reason``.
    """

    name: str
    said: Digest
    found: Digest | None
    reason: str = ""


def altered(package: Package, path: tuple[str, ...], progress: Progress) -> Iterator[Altered]:
    """Yield the files of an archive, or its pieces, whose digests are not those in METS.

    Files without a digest in METS, or with one by an unknown algorithm, are passed over.
    """
    for file, digest in package.index.digests_of(path):
        if digest.algorithm not in OCTETS:
            continue
        name, hashers = "/".join(file), ThreadedHashers((digest.algorithm,))
        try:
            place = uncompressed(package.root, file, package.index.files.inside(file))
            with Medium((place,)) as medium:
                progress.stage("Comparing the archive with METS", medium.size)
                for block in medium.chunks():
                    hashers.update(block)
                    progress.advance(len(block))
        except OSError as error:
            yield Altered(name=name, said=digest, found=None, reason=error.strerror or str(error))
            continue
        if (found := hashers.digest(digest.algorithm)) != digest:
            yield Altered(name=name, said=digest, found=found)


def cells(archive: Archive, table: Table) -> Iterator[LobCell]:
    """Yield a table's LOB cells, in the order of its rows; raises ``SourceError`` naming the archive."""
    try:
        yield from tables.cells(archive.tree.contents(archive.document(table)), table, archive.budgets)
    except SourceError as error:
        told = error.message.startswith(str(archive.path))
        message = error.message if told else f"{archive.path}: {error.message}"
        raise SourceError(message, hint=error.hint) from None


def _read_tables(package: Package, archive: Archive, path: tuple[str, ...]) -> Iterator[Table]:
    """Yield the tables of an archive, but those that it lacks and METS lists no LOB of."""
    prefix = package.index.prefix(path)
    for table in archive.metadata.tables:
        first = f"{prefix}s{table.schema}.t{table.number}"
        if table.path not in archive.lacking or package.index.holds_any(f"{first}.", f"{first}/"):
            yield table


def is_place(lob: str) -> bool:
    """Return whether an id is a place in a database (``s0.t2.c4.r1``), as the ids that metspack gives are."""
    return _PLACE.fullmatch(links.parted(lob)[1]) is not None


def found_in(archive: Archive, lob: str) -> tuple[Table, LobCell] | None:
    """Return the cell with the id of a LOB, and its table; None when the archive has none.

    ``lob`` is its place; only its own table is read, up to its row. Raises ``SourceError`` when it cannot be.
    """
    place = _PLACE.fullmatch(lob)
    if place is None:
        return None
    schema, number, row = int(place[1]), int(place[2]), int(place[4])
    for table in archive.metadata.tables:
        if (table.schema, table.number) == (schema, number):
            for cell in cells(archive, table):
                if cell.place.id == lob:
                    return table, cell
                if cell.place.row > row:
                    break
    return None


def cell_of(package: Package, lob: str) -> LobCell | None:
    """Return the cell of a LOB, None when its id is not a place in a database or no archive has it.

    Raises ``SourceError`` for an archive that the METS names and that cannot be read.
    """
    for path, place in packages_package.candidate_cells(package, lob):
        with opened_archive(package, path) as archive:
            found = found_in(archive, place)
        if found is not None:
            return found[1]
    return None


def from_root(path: tuple[str, ...], archive: Archive, extent: Extent) -> tuple[str, ...] | None:
    """Return the names from the package's root of a file that a cell of the archive at ``path`` names.

    A packed one has those of the folder that it is packed from; None for an entry of the archive itself.
    """
    if isinstance(extent, FileExtent):
        # Root 0 is the archive's folder, the next that was granted (``grants``) the package's.
        return extent.path if extent.root else (*path[:-1], *extent.path)
    file = archive.resolver.packed[extent.archive - 1].paths[0] if extent.archive else None
    if not isinstance(file, Below):
        return None
    *above, name = file.segments
    stem, inside = os.path.splitext(name)[0], tuple(extent.name.split("/"))
    folder = (*(path[:-1] if file.root == archive.resolver.roots[0] else ()), *above)
    return (*folder, *inside) if inside[0] == stem else (*folder, stem, *inside)


def meant(package: Package, path: tuple[str, ...], archive: Archive, table: Table, cell: LobCell) -> Meant:
    """Return the LOB that a cell of the archive at ``path`` names.

    Raises ``SourceError`` for a LOB that cannot be found, and for one in a file that no METS lists.
    """
    found = archive.resolver.resolved(table, cell)
    entries = archive.entries(table, cell)
    if entries:
        return Meant(lob=None, entries=entries, extents=found.extents)
    files = tuple(from_root(path, archive, each) or () for each in found.extents)
    if (lob := package.index.lob_at(files[0])) is not None:
        return Meant(lob=lob, entries=(), extents=found.extents, files=files)
    raise SourceError(f"{'/'.join(files[0])}, which no METS lists", hint=_UNLISTED)


_PLACE_COLUMNS = "schema, place_table, cell, place_row, length, algorithm, digest"
_SCHEMA = """
CREATE TABLE cell (
    lob TEXT, schema INTEGER, place_table INTEGER, cell TEXT, place_row INTEGER, length INTEGER,
    algorithm TEXT, digest TEXT
);
CREATE TABLE inside (
    schema INTEGER, place_table INTEGER, cell TEXT, place_row INTEGER, length INTEGER, algorithm TEXT,
    digest TEXT, archive TEXT, start INTEGER, entries TEXT
);
CREATE TABLE wanted (lob TEXT);
CREATE TABLE nowhere (lob TEXT, archive TEXT, reason TEXT);
CREATE TABLE astray (lob TEXT, archive TEXT, reason TEXT)
"""
_ALONE = """
SELECT w.lob, c.length, c.algorithm, c.digest FROM wanted w CROSS JOIN cell c ON c.lob = w.lob
WHERE NOT EXISTS (SELECT 1 FROM astray a WHERE a.lob = w.lob) GROUP BY w.rowid HAVING count(*) = 1
"""
_BATCH = 2_000


class CellFacts(NamedTuple):
    """Length and digest that a cell gives its LOB, None where it gives none."""

    length: int | None
    algorithm: str | None
    digest: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class InsideLob:
    """A LOB that stayed in an archive: its cell, and the entries that are its bytes."""

    cell: LobCell
    entries: tuple[str, ...]


class CellTable(Closable):
    """LOB cells of archives by the LOB that they name, on disk; a context manager, for one thread.

    A cell means the LOB whose files it names, or a LOB in the archive; where it names something else than
    METS lists under its own id, it means that one and is ``astray``. Raises
    ``TargetError`` when the temporary disk is full.
    """

    def __init__(self, package: Package, budgets: Budgets | None = None) -> None:
        self._package = package
        self._budgets = budgets
        self._waiting: dict[str, list[tuple[object, ...]]] = {}
        self._database = tempdb.create()
        indexes = [f"CREATE INDEX {table}_lob ON {table} (lob)" for table in ("cell", "astray")]
        for statement in (*_SCHEMA.split(";"), *indexes, "BEGIN"):
            self._do(statement)

    def _do(self, statement: str) -> None:
        with tempdb.explained("the cells of the archive"):
            self._database.execute(statement)

    def take(self, path: tuple[str, ...]) -> None:
        """Read the cells of one archive, by its names from the root; raises ``SourceError``."""
        with opened_archive(self._package, path, self._budgets) as archive:
            for table in _read_tables(self._package, archive, path):
                for batch in together(cells(archive, table)):
                    for lob, cell in self._meant_by(archive, path, table, batch):
                        self._put("cell", lob, *_values(cell))
        for name in tuple(self._waiting):
            self._flush(name)

    def _meant_by(
        self, archive: Archive, path: tuple[str, ...], table: Table, batch: Sequence[LobCell]
    ) -> Iterator[tuple[str, LobCell]]:
        """Yield the LOB that each of many cells names; those whose LOB is not found are left out."""
        prefix = self._package.index.prefix(path)
        lobs = [f"{prefix}{cell.place.id}" for cell in batch]
        listed = {} if self._is_listed_twice else self._package.listed_files(lobs)
        each_with = zip(lobs, batch, map(listed.get, lobs), strict=True)
        for _, alike in groupby(each_with, lambda each: _folder_of(*each[1:])):
            group = list(alike)
            found = _named_together(archive, path, table, [(cell, file) for _, cell, file in group])
            for (lob, cell, file), is_found in zip(group, found, strict=True):
                if is_found or (file is not None and _names(archive, path, table, cell, file)):
                    yield lob, cell
                elif (other := self._meant(archive, path, table, cell)) is not None:
                    yield other, cell

    @cached_property
    def _is_listed_twice(self) -> bool:
        return self._package.index.is_listed_twice()

    def _meant(self, archive: Archive, path: tuple[str, ...], table: Table, cell: LobCell) -> str | None:
        """Return the LOB that a cell names; None for one in the archive, and for one that was not found."""
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
        """Return a description of the files that a cell names, "" when METS lists the same."""
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

    def alone(self, lobs: Iterable[str]) -> dict[str, CellFacts]:
        """Return what cells say of those of many LOBs that one cell names, the one with their id or not."""
        with tempdb.explained("the cells of the archive"):
            self._database.execute("DELETE FROM wanted")
            self._database.executemany("INSERT INTO wanted VALUES (?)", zip(lobs))
        return {lob: CellFacts(*said) for lob, *said in self._database.execute(_ALONE)}

    def of_lob(self, lob: str) -> list[LobCell]:
        """Return the cells that name a LOB; usually one."""
        sql = f"SELECT {_PLACE_COLUMNS} FROM cell WHERE lob = ?"  # noqa: S608 -- a constant
        return [_cell(row) for row in self._database.execute(sql, (lob,))]

    def inside(self, path: tuple[str, ...]) -> Iterator[InsideLob]:
        """Yield the LOBs that stayed in an archive, as they lie in it."""
        sql = f"SELECT {_PLACE_COLUMNS}, entries FROM inside WHERE archive = ? ORDER BY start"  # noqa: S608
        for row in self._database.execute(sql, ("/".join(path),)):
            yield InsideLob(cell=_cell(row[:7]), entries=tuple(json.loads(row[7])))

    def nowhere(self) -> Iterator[tuple[str, str, str]]:
        """Yield id, archive and reason for each cell whose LOB was not found, or is listed by no METS."""
        yield from self._database.execute("SELECT lob, archive, reason FROM nowhere")

    def astray(self, lob: str) -> Iterator[tuple[str, str]]:
        """Yield archive and reason for each cell of a LOB that does not name what METS lists."""
        yield from self._database.execute("SELECT archive, reason FROM astray WHERE lob = ?", (lob,))

    def close(self) -> None:
        """Drop the database."""
        self._database.close()


def _folder_of(cell: LobCell, file: ListedFile | None) -> tuple[str, str] | None:
    """Return column and folder of a cell whose LOB METS lists as one file, None for others."""
    return None if file is None else (cell.place.cell, cell.file.rpartition("/")[0])


def _named_together(
    archive: Archive, path: tuple[str, ...], table: Table, group: Sequence[tuple[LobCell, ListedFile | None]]
) -> list[bool]:
    """Return for each cell of a column whether it is seen at once to name the file of its LOB in METS."""
    cell, file = group[0]
    if file is None or archive.container is None:
        return [False] * len(group)
    files = [each.file for each, _ in group]
    found = archive.resolver.stated_files(table, cell.place.cell, files, [each.length for each, _ in group])
    if found is None:
        return [False] * len(group)
    above = "/".join([*(() if found.root else path[:-1]), *found.folders, ""])
    return [
        file is not None and file.path == above + name
        for name, (_, file) in zip(found.names, group, strict=True)
    ]


def _names(archive: Archive, path: tuple[str, ...], table: Table, cell: LobCell, file: ListedFile) -> bool:
    """Return whether a cell names the file of its LOB in METS, and no other; False also for what is odd."""
    if archive.container is None:
        return False
    try:
        found = archive.resolver.resolved(table, cell)
    except MetspackError:
        return False
    names = [from_root(path, archive, each) for each in found.extents if isinstance(each, FileExtent)]
    return len(found.extents) == 1 and names == [tuple(file.path.split("/"))]


def _first(found: Meant) -> str:
    """Return the path of the first file that a cell names, for messages."""
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
