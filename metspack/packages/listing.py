"""List a package's LOBs for access systems: each with its cell, files and digests."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from typing import Any, NamedTuple

from metspack.errors import ConfigError, MetspackError, SourceError
from metspack.layouts.names import stem_of
from metspack.limits import Budgets
from metspack.mets import links
from metspack.model import LONGEST, Digest, LobCell, LobPlace, number_of
from metspack.packages import cells
from metspack.packages.lobs import HeldSegment, place_of
from metspack.packages.package import Package
from metspack.siard import tables
from metspack.siard.metadata import Table
from metspack.siard.tables import CellReader, RowValues, Tally
from metspack.sources.archive import Archive, declared_type

_SHOWN = 12  # names in a hint
_LIST = "metspack list OUT shows every LOB with its table, column and key."


class EntryFile(NamedTuple):
    """A file with a LOB or a part of it: its path in the package, and its size and digest in METS.

    ``segment`` is the OBJID of the METS that lists it. ``entry`` is the file's name in the archive at
    ``path`` if the LOB is inside the archive.
    """

    path: str
    segment: str = ""
    entry: str = ""
    size: int | None = None
    digest: Digest | None = None


class LobEntry(NamedTuple):
    """A LOB in a list: the cell that names it, its values in METS, and its files.

    ``id`` is that of ``metspack cat``; ``row`` counts from 1; ``column`` is the name of the column, followed
    by those of fields. ``primary_key`` has the texts of its columns in the row, by their names. ``digests``
    are those of the whole in METS and in the cell, by algorithm. ``fault`` is the reason why there are no
    ``files``, or why there is no cell.
    """

    id: str
    archive: str = ""
    database: str = ""
    schema: str = ""
    table: str = ""
    column: str = ""
    row: int | None = None
    primary_key: Mapping[str, str | None] = {}
    file_name: str = ""
    files: tuple[EntryFile, ...] = ()
    size: int | None = None
    media_type: str | None = None
    digests: Mapping[str, str] = {}
    fault: str = ""

    def to_json(self) -> dict[str, object]:
        """Return the entry as data for JSON, with None for absent values."""
        files = [
            {
                "path": file.path,
                "entry": file.entry or None,
                "segment": file.segment or None,
                "size": file.size,
                "digest": None if file.digest is None else {file.digest.algorithm: file.digest.value},
            }
            for file in self.files
        ]
        return {name: getattr(self, name) or None for name in self._fields[:7]} | {
            "primary_key": dict(self.primary_key),
            "file_name": self.file_name or None,
            "files": files,
            "size": self.size,
            "media_type": self.media_type,
            "digests": dict(self.digests),
            "fault": self.fault or None,
        }


class _Found(NamedTuple):
    """The files of a LOB and its values in METS; ``lob`` is its id there, or None."""

    lob: str | None = None
    files: tuple[EntryFile, ...] = ()
    size: int | None = None
    media_type: str | None = None
    digests: Mapping[str, str] = {}
    fault: str = ""


_Around = tuple[str, str, str, str, str, int | None, Mapping[str, str | None]]
"""Archive, database, schema, table, column and row of a LOB, and the key of its row.

For a LOB without a cell, schema and table are the names of folders.
"""
_NOWHERE: _Around = ("", "", "", "", "", None, {})


class LobListing(Iterator[LobEntry]):
    """The LOBs of a package: first those that cells of its archives name, then those only in METS.

    They come in the order of archives, tables and rows. ``table`` and ``column`` select LOBs by names
    (``dbo.Categories``, ``Picture``), or by numbers as in IDs (``s0.t2``, ``c4``). ``key`` selects the row
    with these texts in the columns of the primary key, ``segment`` the LOBs that are, in whole or part, in
    that child. ``faulty`` counts the LOBs with a fault so far, ``files`` the listed files that are no LOBs:
    no cell names them, and their IDs are no places in a database. Raises ``ConfigError`` for a table, column
    or key that does not exist, and ``SourceError`` at the end for an unreadable archive, whose LOBs are
    listed by METS only. For one thread.
    """

    def __init__(
        self,
        package: Package,
        *,
        table: str = "",
        column: str = "",
        key: Sequence[str] = (),
        segment: HeldSegment | None = None,
        budgets: Budgets | None = None,
    ) -> None:
        self.faulty = self.files = 0
        self._key = tuple(key)
        self._within: set[str] | None = None
        if segment is not None:
            sql = f"SELECT coalesce(m.called, m.objid, '') FROM mets m WHERE {_IN_SEGMENT}"  # noqa: S608
            self._within = {called for (called,) in package.index.rows(sql, *_bounds(segment))}
        self._package = package
        self._table = table
        self._column = column
        self._budgets = budgets or Budgets()
        self._taken: dict[tuple[int, int], frozenset[int]] = {}
        self._others: dict[str, None] = {}
        self._keys: dict[str, tuple[str, ...]] = {}  # of the tables that were read
        self._entries = chain.from_iterable(self._limited())

    def __next__(self) -> LobEntry:
        """Return the next LOB."""
        return next(self._entries)

    def _limited(self) -> Iterator[list[LobEntry]]:
        within, key, count = self._within, self._key, 0
        for listed in self._listed():
            found = [
                row
                for row in listed
                if (within is None or any(file.segment in within for file in row.files))
                and (not key or tuple(row.primary_key.values()) == key)
            ]
            self.faulty += len([row for row in found if row.fault])
            count += len(found)
            yield found
        if key and not count:
            raise ConfigError(
                f"no row with a LOB has the key {', '.join(map(repr, key))}{self._keys_words()}", hint=_LIST
            )

    def _keys_words(self) -> str:
        """Return the columns of the tables' primary keys in words."""
        words = [f"{table} by {', '.join(names) or 'no primary key'}" for table, names in self._keys.items()]
        return f" ({'; '.join(words[:_SHOWN])})" if words else ""

    def _listed(self) -> Iterator[list[LobEntry]]:
        """Yield the LOBs, many at a time."""
        failed: list[SourceError] = []
        for path in self._package.archives:
            try:
                with cells.opened_archive(self._package, path, self._budgets) as archive:
                    for table, columns in self._tables(archive, path):
                        found = _CellsOfTable(self._package, archive, path, table, self._budgets)
                        yield from found.rows(columns)
            except SourceError as error:
                failed.append(error)
        count = 0
        for rows in self._of_no_cell(is_all_read=bool(self._package.archives) and not failed):
            count += len(rows)
            yield rows
        for first in failed:
            raise first
        if (self._table or self._column) and not (self._taken or count):
            self._refuse()

    def _tables(self, archive: Archive, path: tuple[str, ...]) -> Iterator[tuple[Table, frozenset[int]]]:
        """Yield the selected tables, each with the numbers of the selected columns."""
        for table in cells.read_tables(self._package, archive, path):
            columns = frozenset(
                each.number
                for each in table.columns
                if not self._column or self._column in {each.name, f"c{each.number}"}
            )
            names = {table.label, table.name, f"s{table.schema}.t{table.number}"}
            is_meant = not self._table or self._table in names
            if is_meant and columns:
                self._taken[table.schema, table.number] = columns
                self._keys[table.label] = tuple(table.primary_key)
                yield table, columns
            else:
                named = (f"{table.label}.{each.name}" for each in table.columns if each.is_lob or self._table)
                self._others |= dict.fromkeys(named if is_meant else (table.label,))

    def _refuse(self) -> None:
        what = " and ".join(
            f"{kind} {text!r}" for kind, text in (("table", self._table), ("column", self._column)) if text
        )
        names = list(self._others)
        raise ConfigError(
            f"the package has no LOBs of the {what}",
            hint=f"It has {', '.join(names[:_SHOWN])}{', ...' if len(names) > _SHOWN else ''}. {_LIST}"
            if names
            else "No archive in it gives tables names: write their numbers as IDs have them, s0.t2 or c4.",
        )

    def _of_no_cell(self, *, is_all_read: bool) -> Iterator[list[LobEntry]]:
        """Yield the LOBs in METS that no cell names: without an archive, all of them."""
        fault = "no cell of an archive names it" if self._package.archives else ""
        is_any_left_out = bool(self._table or self._column)
        for some in self._package.unnamed_rows():
            rows = []
            for listed in some:
                lob, path, *_ = listed
                place = place_of(links.split_prefix(lob)[1])
                if is_any_left_out and not self._takes(place):
                    continue
                if place is None and is_all_read:
                    self.files += 1
                    continue
                around = _NOWHERE
                if place is not None:
                    where = f"schema{place.schema}", f"table{place.table}", place.cell, place.row
                    around = ("", "", *where, {})
                found = _searched(self._package, lob) if path is None else _in_one_file(listed)
                rows.append(_row(found, lob, around, "", fault))
            yield rows

    def _takes(self, place: LobPlace | None) -> bool:
        """Return whether ``table`` and ``column`` select a LOB without a cell."""
        if not (self._table or self._column):
            return True
        if place is None:
            return False
        column = number_of(place.cell)
        if self._package.archives:
            return column in self._taken.get((place.schema, place.table), ())
        is_meant = self._table in {"", f"s{place.schema}.t{place.table}"}
        return is_meant and self._column in {"", f"c{column}"}


def selected(
    package: Package, table: str, column: str, key: Sequence[str], budgets: Budgets | None = None
) -> tuple[str, ...]:
    """Return the IDs of the LOBs with a key, or without a key those of columns (``s0.t2.c4``).

    Raises as ``LobListing`` does.
    """
    listing = LobListing(package, table=table, column=column, key=key, budgets=budgets)
    found = dict.fromkeys(each.id if key else each.id.rpartition(".r")[0] for each in listing)
    if not found:
        raise ConfigError(f"no LOB is in {' '.join(filter(None, (table, column)))}", hint=_LIST)
    return tuple(found)


def the_lob(
    package: Package, table: str, column: str, key: Sequence[str], budgets: Budgets | None = None
) -> str:
    """Return the ID of the LOB of a table, column and key; raises ``ConfigError`` for several."""
    found = list(islice(LobListing(package, table=table, column=column, key=key, budgets=budgets), 2))
    if len(found) != 1:
        raise ConfigError(
            f"expected one LOB, found {' and '.join(each.id for each in found) or 'none'}",
            hint=f"Name --table, --column and --key. {_LIST}",
        )
    return found[0].id


# The entries of one METS are consecutive, so that their range skips those of others.
_ENTRIES = "mets m CROSS JOIN entry e ON e.id BETWEEN m.first_entry AND m.last_entry AND e.mets = m.id"
_IN_SEGMENT = "(m.path = ? OR (m.path >= ? AND m.path < ?))"


def _bounds(segment: HeldSegment) -> tuple[str, str, str]:
    """Return the values for ``_IN_SEGMENT``: a child's METS, and bounds of its representations'."""
    below = "/".join((*segment.folder, "representations"))
    return "/".join(segment.mets), f"{below}/", f"{below}0"


def segment_weight(package: Package, segment: HeldSegment) -> tuple[int, int]:
    """Return the number of files of LOBs in a child's METS, and the sum of their sizes there."""
    sql = (
        f"SELECT count(*), coalesce(sum(e.size), 0) FROM {_ENTRIES} "  # noqa: S608 -- a constant
        f"WHERE e.lob IS NOT NULL AND {_IN_SEGMENT}"
    )
    files, size = package.index.row(sql, *_bounds(segment)) or (0, 0)
    return files, size


@dataclass
class _CellsOfTable:
    """The LOB cells of one table of the archive at ``path``, with the keys of their rows."""

    package: Package
    archive: Archive
    path: tuple[str, ...]
    table: Table
    budgets: Budgets

    def __post_init__(self) -> None:
        """Prepare to read the keys of the rows."""
        self._prefix = self.package.index.prefix(self.path)
        self._columns: dict[str, str] = {}
        self._key = self.table.key_numbers
        self._keys = RowValues(self.table, [*self._key.values()], self.budgets) if self._key else None

    def rows(self, columns: frozenset[int]) -> Iterator[list[LobEntry]]:
        """Yield the LOBs of some columns, in the order of the rows; raises ``SourceError``."""
        for some in self._batches(columns):
            ids = [self._prefix + cell.place.id for cell in some]
            listed = self.package.listed_files(ids)
            rows: list[LobEntry] = []
            named: list[str] = []
            for lob, cell in zip(ids, some, strict=True):
                files = listed.get(lob)
                found = self._found(lob, cell) if files is None else _in_one_file(files)
                named += () if found.lob is None else (found.lob,)
                row = _row(found, lob, self._around(cell), cell.file)
                if cell.digest is not None:
                    row = row._replace(digests={cell.digest.algorithm: cell.digest.value, **row.digests})
                rows.append(row)
            self.package.index.note_named(named)
            yield rows

    def _batches(self, columns: frozenset[int]) -> Iterator[list[LobCell]]:
        """Yield cells, at most ``LONGEST`` at a time, after the keys of their rows were read."""
        tally = Tally()
        reader = CellReader(self.table, self.budgets, tally)
        blocks = self.archive.tree.contents(self.archive.document(self.table))
        waiting: list[LobCell] = []
        with cells.naming(self.archive):
            for piece, final in tables.pieces(blocks):
                runs = reader.feed(piece, final=final)
                waiting += chain.from_iterable(
                    each.cells() for each in runs if number_of(each.cell) in columns
                )
                waiting.sort(key=lambda cell: cell.place.row)
                ready = len(waiting)
                if self._keys is not None:
                    self._keys.feed(piece, final=final)
                    ready = bisect_left(waiting, self._keys.stop, key=lambda cell: cell.place.row)
                for start in range(0, ready, LONGEST):
                    yield waiting[start : min(ready, start + LONGEST)]
                del waiting[:ready]
                if self._keys is not None:
                    self._keys.forget(waiting[0].place.row if waiting else min(self._keys.stop, tally.rows))

    def _found(self, lob: str, cell: LobCell) -> _Found:
        """Return the files of a cell's LOB that METS does not list as one file with the cell's id."""
        try:
            if self.package.index.holds(lob):
                return _searched(self.package, lob)
            meant = cells.meant(self.package, self.path, self.archive, self.table, cell)
            if isinstance(meant, str):
                return _searched(self.package, meant)
            sizes = [each.size for each in meant.extents]
            path = "/".join(self.path)
            files = zip(meant.entries, sizes, strict=True)
            return _Found(
                files=tuple(EntryFile(path, "", name, size) for name, size in files),
                size=sum(sizes),
                media_type=declared_type(self.table, cell.place.cell),
            )
        except MetspackError as error:
            return _Found(fault=error.message)

    def _around(self, cell: LobCell) -> _Around:
        """Return the names of a cell's place, and the key of its row."""
        place = cell.place
        key = None if self._keys is None else self._keys.of(place.row)
        column = self._columns.get(place.cell)
        if column is None:
            names = [each.name for each in self.table.chain(place.cell)]
            column = self._columns[place.cell] = ".".join(names) or place.cell
        return (
            stem_of(self.path[-1]),
            self.archive.metadata.dbname,
            self.table.schema_name,
            self.table.name,
            column,
            place.row,
            {} if key is None else dict(zip(self._key, key, strict=True)),
        )


def _row(found: _Found, lob: str, around: _Around, name: str, fault: str = "") -> LobEntry:
    """Return an entry of the list; its file name is that of its one file, or else of its cell."""
    _, files, size, media_type, digests, fault_found = found
    if len(files) == 1:
        name = files[0].entry or files[0].path
    name = name.rpartition("/")[2]
    return LobEntry(lob, *around, name, files, size, media_type, digests, fault_found or fault)


def _in_one_file(listed: Sequence[Any]) -> _Found:
    """Return the facts in METS about a LOB in exactly one file, from a row of ``ListedFile``."""
    lob, path, size, algorithm, value, media_type, segment = listed
    digest = None if algorithm is None else Digest(algorithm=algorithm, value=value)
    file = EntryFile(path, segment, "", size, digest)
    return _Found(lob, (file,), size, media_type, _by_algorithm(digest))


def _searched(package: Package, lob: str) -> _Found:
    """Return the facts in METS about a LOB that ``Package.listed_files`` leaves out."""
    try:
        held = package.lob(lob)
    except SourceError as error:
        return _Found(lob=lob, fault=error.message)
    files = (EntryFile(each.name, each.segment, "", each.size, each.digest) for each in held.parts)
    return _Found(held.id, tuple(files), held.size, held.media_type, _by_algorithm(held.digest))


def _by_algorithm(digest: Digest | None) -> Mapping[str, str]:
    return {} if digest is None else {digest.algorithm: digest.value}
