"""LOB cells of a package's SIARD archives: place, length and digest of each LOB by the database itself."""

from __future__ import annotations

import json
import os
import re
from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from itertools import groupby, repeat
from pathlib import Path

from metspack.digests import OCTETS
from metspack.errors import MetspackError, SourceError
from metspack.files import reading, tempdb
from metspack.files.byteranges import Below, Medium, Stretch
from metspack.files.reading import Closable
from metspack.files.threads import ThreadedHashers
from metspack.locations.resolver import names_together
from metspack.mets import links
from metspack.model import SMALL, Budgets, CellRun, Digest, Extent, FileExtent, LobCell, LobPlace
from metspack.packages import package as packages_package
from metspack.packages.files import uncompressed
from metspack.packages.lobs import CellKind, KeptRun, ListedColumns, together
from metspack.packages.package import Package
from metspack.progress import Progress
from metspack.siard import tables
from metspack.siard.metadata import Table
from metspack.sizes import counted
from metspack.sources.archive import Archive, Grants
from metspack.uris import shown
from metspack.values import dataclass, regex

_PLACE = regex(r"s([0-9]{1,18})\.t([0-9]{1,18})\.(c.+)\.r([0-9]{1,18})", re.ASCII)
_UNLISTED = "A METS of the package should list it; metspack check shows what else is wrong."


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
        reading.release((reading.opened_folder if place.is_dir() else reading.opened)(package.root, path))
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
    for run in _cell_runs(archive, table):
        yield from run.cells()


def _cell_runs(archive: Archive, table: Table) -> Iterator[CellRun]:
    with naming(archive):
        yield from tables.cell_runs(archive.tree.contents(archive.document(table)), table, archive.budgets)


@contextmanager
def naming(archive: Archive) -> Iterator[None]:
    """Name the archive in errors that its documents raise in the block."""
    try:
        yield
    except SourceError as error:
        told = error.message.startswith(str(archive.path))
        message = error.message if told else f"{archive.path}: {error.message}"
        raise SourceError(message, hint=error.hint) from None


def read_tables(package: Package, archive: Archive, path: tuple[str, ...]) -> Iterator[Table]:
    """Yield the tables of an archive, but those that it lacks and METS lists no LOB of."""
    prefix = package.index.prefix(path)
    for table in archive.metadata.tables:
        first = f"{prefix}s{table.schema}.t{table.number}"
        if table.path not in archive.lacking or package.index.holds_any(f"{first}.", f"{first}/"):
            yield table


def place_of(lob: str) -> LobPlace | None:
    """Return the place in a database that the id of a LOB is (``s0.t2.c4.r1``), None for any other id."""
    if ".t" not in lob:  # nearly all that are none: seen at once
        return None
    place = _PLACE.fullmatch(links.parted(lob)[1])
    if place is None:
        return None
    return LobPlace(schema=int(place[1]), table=int(place[2]), cell=place[3], row=int(place[4]))


def is_place(lob: str) -> bool:
    """Return whether an id is a place in a database, as the ids that metspack gives are."""
    return place_of(lob) is not None


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
    own = name if path[0] == name else stem  # the file that was named as the package
    return (*folder, own, *(inside[1:] if inside[0] == stem else inside))


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
# Numbers count the cells in the order in which they were read.
_SCHEMA = """
CREATE TABLE run (
    first INTEGER PRIMARY KEY, last INTEGER, number INTEGER, archive INTEGER, place_table INTEGER,
    folder TEXT, is_measured INTEGER, algorithm TEXT, digests TEXT
);
CREATE TABLE cell (
    number INTEGER, lob TEXT, schema INTEGER, place_table INTEGER, cell TEXT, place_row INTEGER,
    length INTEGER, algorithm TEXT, digest TEXT
);
CREATE TABLE inside (
    number INTEGER, schema INTEGER, place_table INTEGER, cell TEXT, place_row INTEGER, length INTEGER,
    algorithm TEXT, digest TEXT, archive TEXT, start INTEGER, entries TEXT
);
CREATE TABLE wanted (lob TEXT);
CREATE TABLE nowhere (number INTEGER, lob TEXT, archive TEXT, reason TEXT);
CREATE TABLE astray (number INTEGER, lob TEXT, archive TEXT, reason TEXT)
"""
_ALONE = """
SELECT w.rowid - 1, c.length, c.algorithm, c.digest FROM wanted w JOIN cell c ON c.lob = w.lob
WHERE NOT EXISTS (SELECT 1 FROM astray a WHERE a.lob = w.lob) GROUP BY w.rowid HAVING count(*) = 1
"""
_ODD = """
SELECT rowid - 1 FROM wanted w WHERE EXISTS (SELECT 1 FROM cell c WHERE c.lob = w.lob)
OR EXISTS (SELECT 1 FROM astray a WHERE a.lob = w.lob)
"""
_RUNS = """
SELECT * FROM run WHERE first BETWEEN coalesce((SELECT max(first) FROM run WHERE first <= ?1), ?1) AND ?2
AND last >= ?1 ORDER BY first
"""
_PUT_RUN = "INSERT INTO run VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"
_IN_ORDER = ("cell", "inside", "nowhere", "astray")  # tables whose rows come in the order of their numbers
_BATCH = 2_000
_FOLDERS = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class InsideLob:
    """A LOB that stayed in an archive: its cell, and the entries that are its bytes."""

    cell: LobCell
    entries: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class _TableOf:
    """A table of the archive at ``path``, names from the package's root; ``number`` counts its tables."""

    archive: Archive
    path: tuple[str, ...]
    table: Table
    number: int

    def above(self, root: int, folders: Sequence[str]) -> str:
        """Return the path in the package of a folder below a granted root of the archive, with a slash."""
        return "/".join((*(() if root else self.path[:-1]), *folders, ""))


class CellTable(Closable):
    """LOB cells of archives by the LOB that they name, on disk; a context manager, for one thread.

    A cell means the LOB whose files it names, or a LOB in the archive; where it names something else than
    METS lists under its own id, it means that one and is ``astray``. Cells whose files are in METS what they
    are stated to be are kept as runs, and looked at by themselves when they are asked for. Raises
    ``TargetError`` when the temporary disk is full.
    """

    def __init__(self, package: Package, budgets: Budgets | None = None) -> None:
        self._package = package
        self._budgets = budgets
        self._waiting: dict[str, list[tuple[object, ...]]] = {}
        self._count = 0
        self._is_any_odd = False
        self._folders: dict[tuple[str, str], str | None] = {}
        self._opened: tuple[int, Archive] | None = None
        self._database = tempdb.create()
        indexes = [f"CREATE INDEX {table}_lob ON {table} (lob)" for table in ("cell", "astray")]
        indexes.append("CREATE INDEX run_number ON run (number)")
        if len(package.archives) > 1:
            indexes.append("CREATE INDEX inside_archive ON inside (archive, start, number)")
        self._numbers = {path: number for number, path in enumerate(package.archives)}
        for statement in (*_SCHEMA.split(";"), *indexes, "BEGIN"):
            self._do(statement)

    def _do(self, statement: str, *values: object) -> None:
        with tempdb.explained("the cells of the archive"):
            self._database.execute(statement, values)

    def take(self, path: tuple[str, ...]) -> None:
        """Read the cells of one archive, by its names from the root.

        Raises ``SourceError`` when it cannot be read to the end: then none of its cells are taken.
        """
        start = self._count
        before = {name: self._last(name) for name in _IN_ORDER}
        try:
            with opened_archive(self._package, path, self._budgets) as archive:
                numbers = {id(table): number for number, table in enumerate(archive.metadata.tables)}
                for table in read_tables(self._package, archive, path):
                    self._folders.clear()
                    source = _TableOf(archive=archive, path=path, table=table, number=numbers[id(table)])
                    for runs in together(_cell_runs(archive, table), len):
                        self._take_runs(source, runs)
        except SourceError:
            self._flush_all()
            self._do("DELETE FROM run WHERE number >= ?", start)
            for name, last in before.items():
                self._do(f"DELETE FROM {name} WHERE rowid > ?", last)  # noqa: S608 -- a constant
            raise
        self._flush_all()

    def _last(self, name: str) -> int:
        """Return the number of the last row of a table."""
        (last,) = self._database.execute(f"SELECT coalesce(max(rowid), 0) FROM {name}").fetchone()  # noqa: S608
        return int(last)

    def _take_runs(self, source: _TableOf, runs: Sequence[CellRun]) -> None:
        stems = [self._package.index.prefix(source.path) + run.id_stem for run in runs]
        lobs = [f"{stem}{row}" for stem, run in zip(stems, runs, strict=True) for row in run.rows]
        listed = self._package.listed_columns(lobs)
        start = 0
        for run in runs:
            files = listed[start : start + len(run)]
            start += len(run)
            odd: list[int] = []
            for which, is_plain in _stretches(run, files):
                number = self._count + which.start
                if not (is_plain and self._take_run(number, source, run[which], files[which])):
                    odd += range(which.start, which.stop)
            named = self._named(source, run, files, odd) if odd else frozenset()
            for at in odd:
                number, path = self._count + at, files.paths[at]
                self._take_one(number, source, run.at(at), path, is_named=at in named)
            self._count += len(run)

    def _named(
        self, source: _TableOf, run: CellRun, listed: ListedColumns, odd: Sequence[int]
    ) -> Collection[int]:
        """Return which of some cells are seen at once to name the files of their LOBs in METS."""
        named: set[int] = set()
        if source.archive.container is None or self._is_listed_twice:
            return named
        known = [at for at in odd if listed.paths[at] is not None]
        for _, alike in groupby(known, lambda at: run.files[at].rpartition("/")[0]):
            own = list(alike)
            files = [run.files[at] for at in own]
            lengths = [run.lengths[at] if run.lengths else None for at in own]
            found = source.archive.resolver.stated_files(source.table, run.cell, files, lengths)
            if found is not None:
                above = source.above(found.root, found.folders)
                paths = [above + name for name in found.names]
                named.update(at for at, path in zip(own, paths, strict=True) if listed.paths[at] == path)
        return named

    def _take_run(self, number: int, source: _TableOf, run: CellRun, listed: ListedColumns) -> bool:
        """Take cells that are stated to be the files of their LOBs in METS; return False for any others.

        The files are looked at when their LOBs are read: what is not as METS lists it is looked for then.
        """
        names = names_together(run.files)
        if source.archive.container is None or self._is_listed_twice or not names:
            return False
        folder = run.files[0][: -len(names[0])]
        above = self._folder(source, run, folder)
        if above is None or list(listed.paths) != [above + name for name in names]:
            return False
        is_other = run.algorithm is not None and run.algorithm != listed.algorithms[0]
        if is_other and set(map(len, run.digests)) != {2 * OCTETS[run.algorithm or ""]}:
            return False
        kept = KeptRun(
            first=listed.numbers[0],
            last=listed.numbers[-1],
            number=number,
            archive=self._numbers[source.path],
            table=source.number,
            folder=folder,
            is_measured=bool(run.lengths),
            algorithm=run.algorithm,
            digests="".join(run.digests) if is_other else "",
        )
        if self._runs(kept.first, kept.last):
            return False
        self._do(_PUT_RUN, *kept)
        return True

    def _folder(self, source: _TableOf, run: CellRun, folder: str) -> str | None:
        """Return where the folder in the attributes of a column's cells is stated to be in the package."""
        key = run.cell, folder
        if key not in self._folders:
            if len(self._folders) >= _FOLDERS:
                self._folders.clear()
            spot = source.archive.resolver.stated_spot(source.table, run.cell, run.files[0])
            self._folders[key] = None if spot is None else source.above(spot.root, spot.path[:-1])
        return self._folders[key]

    def _runs(self, first: int, last: int) -> list[KeptRun]:
        return [KeptRun(*row) for row in self._database.execute(_RUNS, (first, last))]

    def _take_one(
        self, number: int, source: _TableOf, cell: LobCell, listed: str | None, *, is_named: bool = False
    ) -> None:
        """Take a cell by itself; ``listed`` is the path of the one file that METS lists of its LOB.

        ``is_named``: it was seen to name that file.
        """
        lob: str | None = self._package.index.prefix(source.path) + cell.place.id
        if not is_named and (listed is None or self._is_listed_twice or not _names(source, cell, listed)):
            lob = self._meant(number, source, cell)
        if lob is not None:
            self._put("cell", number, lob, *_values(cell))

    @cached_property
    def _is_listed_twice(self) -> bool:
        return self._package.index.is_listed_twice()

    def _meant(self, number: int, source: _TableOf, cell: LobCell) -> str | None:
        """Return the LOB that a cell names; None for one in the archive, and for one that was not found."""
        name, lob = "/".join(source.path), self._package.index.prefix(source.path) + cell.place.id
        is_listed = self._package.index.holds(lob)
        try:
            found = meant(self._package, source.path, source.archive, source.table, cell)
        except MetspackError as error:
            if not is_listed:
                self._put("nowhere", number, lob, name, error.message)
                return None
            self._put("astray", number, lob, name, error.message)
            return lob
        if found.lob is None:
            first = found.extents[0]
            start = 0 if isinstance(first, FileExtent) else first.offset
            self._put("inside", number, *_values(cell), name, start, json.dumps(found.entries))
            return None
        if found.lob != lob and is_listed:
            reason = f"{_first(found)}, which METS lists as {found.lob}, and {lob} elsewhere"
            self._put("astray", number, lob, name, reason)
            return lob
        if reason := self._unlike(found.lob, found):
            self._put("astray", number, found.lob, name, reason)
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
        self._is_any_odd = self._is_any_odd or name in {"cell", "astray"}
        waiting = self._waiting.setdefault(name, [])
        waiting.append(values)
        if len(waiting) >= _BATCH:
            self._flush(name)

    def _flush(self, name: str) -> None:
        rows = self._waiting.pop(name)
        marks = ", ".join("?" * len(rows[0]))
        with tempdb.explained("the cells of the archive"):
            self._database.executemany(f"INSERT INTO {name} VALUES ({marks})", rows)  # noqa: S608 -- our tables

    def _flush_all(self) -> None:
        for name in tuple(self._waiting):
            self._flush(name)

    def said(self, listed: ListedColumns) -> tuple[list[CellKind | None], list[str]]:
        """Return what cells say of LOBs that METS lists, and the digests where these are no digests of METS.

        None of all but small LOBs that one cell means and METS lists as one file with a digest, of which
        the cell says nothing that METS does not, but for a digest that can be computed.
        ``listed`` are in the order of METS; of others ``of_lob`` tells all.
        """
        kinds: list[CellKind | None] = [None] * len(listed)
        digests = [""] * len(listed)
        # LOBs of which METS lists no file have no number and come last: places in both are the same.
        numbers = list(filter(None, listed.numbers))
        for run in self._runs(numbers[0], numbers[-1]) if numbers else ():
            start, stop = bisect_left(numbers, run.first), bisect_right(numbers, run.last)
            kinds[start:stop] = [run.kind] * (stop - start)
            if run.digests:
                digests[start:stop] = [run.digest(number) for number in numbers[start:stop]]
        if self._is_any_odd:
            self._say_odd(listed, kinds, digests)
        return kinds, digests

    def _say_odd(self, listed: ListedColumns, kinds: list[CellKind | None], digests: list[str]) -> None:
        """Correct what runs of cells say by the cells that are kept by themselves."""
        self._flush_all()
        with tempdb.explained("the cells of the archive"):
            self._database.execute("DELETE FROM wanted")
            self._database.executemany("INSERT INTO wanted VALUES (?)", zip(listed.lobs))
        alone = {at: said for at, *said in self._database.execute(_ALONE)}
        for (at,) in self._database.execute(_ODD).fetchall():
            is_in_run, kinds[at] = kinds[at] is not None, None
            if at not in alone or is_in_run or listed.paths[at] is None:
                continue
            length, algorithm, digest = alone[at]
            if listed.sizes[at] > SMALL or length not in {None, listed.sizes[at]}:
                continue
            is_same = algorithm == listed.algorithms[at] and digest == listed.digests[at]
            is_other = algorithm != listed.algorithms[at] and algorithm in OCTETS
            if listed.algorithms[at] in OCTETS and (algorithm is None or is_same or is_other):
                kinds[at] = CellKind(algorithm if is_other else None, digest is not None, length is not None)
                digests[at] = digest or ""

    def of_lob(self, lob: str) -> list[LobCell]:
        """Return the cells that name a LOB; usually one. It may be found then that its cell is ``astray``."""
        self._take_out(lob)
        self._flush_all()
        sql = f"SELECT {_PLACE_COLUMNS} FROM cell WHERE lob = ? ORDER BY number"  # noqa: S608 -- a constant
        return [_cell(row) for row in self._database.execute(sql, (lob,))]

    def _take_out(self, lob: str) -> None:
        """Take the cell of a LOB out of its run, if it is in one, and look at it by itself."""
        listed = self._package.listed_columns([lob])
        path, size, number = listed.paths[0], listed.sizes[0], listed.numbers[0]
        for run in () if path is None else self._runs(number, number):
            self._do("DELETE FROM run WHERE first = ?", run.first)
            for part in run.without(number):
                self._do(_PUT_RUN, *part)
            names = self._package.archives[run.archive]
            digest = None
            if run.algorithm is not None:
                value = run.digest(number) if run.digests else listed.digests[0] or ""
                digest = Digest(algorithm=run.algorithm, value=value)
            cell = LobCell(
                place=_place(lob.removeprefix(self._package.index.prefix(names))),
                file=run.folder + (path or "").rpartition("/")[2],
                length=size if run.is_measured else None,
                digest=digest,
            )
            archive = self._archive(run.archive)
            table = archive.metadata.tables[run.table]
            source = _TableOf(archive=archive, path=names, table=table, number=run.table)
            self._take_one(run.number + number - run.first, source, cell, path)

    def _archive(self, number: int) -> Archive:
        """Return the archive with a number, which remains open."""
        if self._opened is None or self._opened[0] != number:
            self._close_archive()
            path = self._package.archives[number]
            self._opened = number, opened_archive(self._package, path, self._budgets)
        return self._opened[1]

    def _close_archive(self) -> None:
        if self._opened is not None:
            self._opened[1].close()
            self._opened = None

    def inside(self, path: tuple[str, ...]) -> Iterator[InsideLob]:
        """Yield the LOBs that stayed in an archive, as they lie in it."""
        sql = f"SELECT {_PLACE_COLUMNS}, entries FROM inside WHERE archive = ? ORDER BY start, number"  # noqa: S608
        for row in self._database.execute(sql, ("/".join(path),)):
            yield InsideLob(cell=_cell(row[:7]), entries=tuple(json.loads(row[7])))

    def nowhere(self) -> Iterator[tuple[str, str, str]]:
        """Yield id, archive and reason for each cell whose LOB was not found, or is listed by no METS."""
        yield from self._database.execute("SELECT lob, archive, reason FROM nowhere")

    def astray(self, lob: str) -> Iterator[tuple[str, str]]:
        """Yield archive and reason for each cell of a LOB that does not name what METS lists."""
        sql = "SELECT archive, reason FROM astray WHERE lob = ? ORDER BY number"
        yield from self._database.execute(sql, (lob,))

    def close(self) -> None:
        """Drop the database."""
        self._close_archive()
        self._database.close()


def _stretches(run: CellRun, listed: ListedColumns) -> Iterator[tuple[slice, bool]]:
    """Yield stretches of cells, and whether all are of LOBs that may go together as METS lists them."""
    is_known = run.algorithm is None or run.algorithm in OCTETS
    columns = zip(
        listed.paths,
        listed.sizes,
        run.lengths or listed.sizes,
        listed.algorithms,
        listed.digests,
        run.digests or repeat(None),
        listed.numbers,
        run.files,
        strict=False,
    )
    likenesses = [
        (number - at, algorithm, file[: file.rfind("/") + 1])
        if path is not None
        and size == length
        and size <= SMALL
        and algorithm in OCTETS
        and (digest == own or algorithm != run.algorithm)
        else None
        for at, (path, size, length, algorithm, digest, own, number, file) in enumerate(columns)
    ]
    start = 0
    for alike, group in groupby(likenesses):
        stop = start + len(list(group))
        yield slice(start, stop), is_known and alike is not None
        start = stop


def _place(lob: str) -> LobPlace:
    place = place_of(lob)
    if place is None:
        raise AssertionError(f"{lob} is no place in a database")
    return place


def _names(source: _TableOf, cell: LobCell, file: str) -> bool:
    """Return whether a cell names this file of the package, and no other; False also for what is odd."""
    if source.archive.container is None:
        return False
    try:
        found = source.archive.resolver.resolved(source.table, cell)
    except MetspackError:
        return False
    names = [
        from_root(source.path, source.archive, each) for each in found.extents if isinstance(each, FileExtent)
    ]
    return len(found.extents) == 1 and names == [tuple(file.split("/"))]


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
