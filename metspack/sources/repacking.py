"""Repack an archive of any form: copy the entries that stay into a new zip file.

A zip file's entries keep their compressed bytes and their central records, without the name of a folder that
wraps all of them; an unpacked archive's files are packed, in every run the same.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from itertools import chain, islice, pairwise
from typing import Self

from metspack.containers.zipdirectory import unreadable
from metspack.containers.zipformat import DEFLATED, STORED
from metspack.containers.zipreader import CentralRecord, ZipContainer, is_hollow, span
from metspack.containers.zipwriter import GROWTH, ZipWriter, unwrapped, unwrapped_entry
from metspack.errors import SourceError
from metspack.files import tempdb
from metspack.files.byteranges import Medium
from metspack.model import FileExtent, LobRun, ZipExtent
from metspack.siard.entries import AnyTree
from metspack.sizes import counted
from metspack.sources.archive import Archive

_NAMES = "CREATE TABLE name (name TEXT PRIMARY KEY) WITHOUT ROWID"
_STRETCHES = "CREATE TABLE stretch (start INTEGER PRIMARY KEY, stop INTEGER NOT NULL)"
_ADD_STRETCH = (
    "INSERT INTO stretch VALUES (?, ?) ON CONFLICT (start) DO UPDATE SET stop = max(stop, excluded.stop)"
)
_OF_SOME = "SELECT name FROM json_each(?) AS given JOIN name ON name.name = given.value"
_IN_STRETCHES = (
    "SELECT value FROM json_each(?) WHERE value < "
    "(SELECT stop FROM stretch WHERE start <= value ORDER BY start DESC LIMIT 1)"
)
_AT_ONCE = 1_000
_WHAT = "the names of an archive's entries"


class RemovedEntries(tempdb.Scratch):
    """The entries that the new archive lacks, by their names there; for one thread.

    ``container`` is the archive's zip file, or None; its entries are below ``root``. Adjacent LOBs are stored
    as one stretch of its bytes. Raises ``TargetError`` when the temporary disk is full.
    """

    def __init__(self, container: ZipContainer | None = None, root: str = "") -> None:
        super().__init__(_NAMES, _STRETCHES, "BEGIN")
        self._container = container
        self._root = root
        self._is_merged = True  # no two stretches meet or overlap

    @classmethod
    def of(cls, archive: Archive | None) -> Self:
        """Return an empty collection for an archive, or for no archive."""
        return cls() if archive is None else cls(archive.container, archive.prefix)

    def add(self, name: str) -> bool:
        """Add an entry's name; return whether it is new, as two cells may name one entry."""
        with tempdb.explained(_WHAT):
            return self._database.execute("INSERT OR IGNORE INTO name VALUES (?)", (name,)).rowcount == 1

    def add_all(self, names: Iterable[str]) -> None:
        """Add many names."""
        with tempdb.explained(_WHAT):
            self._database.executemany("INSERT OR IGNORE INTO name VALUES (?)", zip(names))

    def add_lobs(self, run: LobRun) -> None:
        """Add the entries of LOBs, if they are in the archive."""
        offsets, limits = run.of_entries("offset"), run.of_entries("limit")
        if self._container is None or not run.entries or len(offsets) != len(run.entries):
            self.add_all(run.entries)
            return
        gaps = [(stop, start) for stop, start in zip(limits, offsets[1:], strict=False) if stop != start]
        starts, stops = (offsets[0], *(start for _, start in gaps)), (*(stop for stop, _ in gaps), limits[-1])
        with tempdb.explained(_WHAT):
            self._database.executemany(_ADD_STRETCH, dict.fromkeys(zip(starts, stops, strict=True)))
        self._is_merged = False

    def add_new(self, names: Sequence[str]) -> bool:
        """Add names if all are new; return whether they are."""
        is_new = len(set(names)) == len(names) == len(self._staying(names))
        if is_new:
            self.add_all(names)
        return is_new

    def keep(self, name: str) -> None:
        """Take a name back: its entry stays."""
        with tempdb.explained(_WHAT):
            self._database.execute("DELETE FROM name WHERE name = ?", (name,))
            extent = self._extent(name)
            if extent is None or (around := self._around(extent)) is None:
                return
            start, stop = around
            self._database.execute("DELETE FROM stretch WHERE start = ?", (start,))
            for rest in ((start, extent.offset), (extent.limit, stop)):
                if rest[0] < rest[1]:
                    self._database.execute(_ADD_STRETCH, rest)

    def add_emptied(self, tree: AnyTree) -> None:
        """Add the folders that lose all their entries; folders that were empty before stay."""
        table = "CREATE TABLE folder (name TEXT PRIMARY KEY) WITHOUT ROWID"
        with tempdb.explained(_WHAT), closing(tempdb.create(table, _NAMES, "BEGIN")) as kept:
            for names in self._batches_staying(tree):
                folders = [(name,) for name in names if name.endswith("/")]
                kept.executemany("INSERT INTO folder VALUES (?)", folders)
                if len(folders) < len(names):
                    others = [(name,) for name in names if not name.endswith("/")]
                    kept.executemany("INSERT INTO name VALUES (?)", others)
            # In descending order a folder comes after the folders in it, whose names begin with its name.
            for (name,) in kept.execute("SELECT name FROM folder ORDER BY name DESC"):
                # "0" is the character after "/": the range holds every name that begins with the folder's.
                below = kept.execute(
                    "SELECT 1 FROM name WHERE name > ? AND name < ?", (name, f"{name[:-1]}0")
                ).fetchone()
                if below is None and any(other != name for other in islice(tree.names(name), 2)):
                    self.add(name)
                else:
                    kept.execute("INSERT INTO name VALUES (?)", (name,))

    def staying_of(self, tree: AnyTree) -> Iterator[str]:
        """Yield the names of an archive's entries that were not added."""
        return chain.from_iterable(self._batches_staying(tree))

    def _batches_staying(self, tree: AnyTree) -> Iterator[Sequence[str]]:
        root, names = self._root, iter(tree.names())
        if self._container is not None:
            within = chain.from_iterable(self._container.entries_within(self.gaps()))
            names = (name[len(root) :] for name, _ in within if name.startswith(root) and name != root)
        while some := list(islice(names, _AT_ONCE)):
            yield self._staying(some)

    def _staying(self, names: Sequence[str]) -> list[str]:
        """Return those of ``names`` that ``add`` and the like did not add."""
        with tempdb.explained(_WHAT):
            leaving = {name for (name,) in self._database.execute(_OF_SOME, (json.dumps(names),))}
        return [name for name in names if name not in leaving]

    def staying(self, places: Mapping[str, int]) -> list[str]:
        """Return the names of the entries that stay.

        ``places`` has, by the name in the archive, the offset in its zip file.
        """
        self._merge()
        with tempdb.explained(_WHAT):
            given = (json.dumps([*places.values()]),)
            leaving = {offset for (offset,) in self._database.execute(_IN_STRETCHES, given)}
        return self._staying([name for name, offset in places.items() if offset not in leaving])

    def gaps(self) -> Iterator[tuple[int, int]]:
        """Yield start and stop of the stretches of the zip file in which entries may stay."""
        self._merge()
        at = 0
        for start, stop in tempdb.rows(self._database, "SELECT * FROM stretch ORDER BY start"):
            yield at, start
            at = stop
        yield at, sys.maxsize

    def _merge(self) -> None:
        if self._is_merged:
            return
        with tempdb.explained(_WHAT):
            self._database.execute("ALTER TABLE stretch RENAME TO met")
            self._database.execute(_STRETCHES)
            self._database.executemany("INSERT INTO stretch VALUES (?, ?)", self._merged())
            self._database.execute("DROP TABLE met")
        self._is_merged = True

    def _merged(self) -> Iterator[tuple[int, int]]:
        with closing(tempdb.rows(self._database, "SELECT * FROM met ORDER BY start")) as rows:
            begin, end = next(rows)
            for start, stop in rows:
                if start > end:
                    yield begin, end
                    begin = start
                end = max(end, stop)
        yield begin, end

    def _extent(self, name: str) -> ZipExtent | None:
        return None if self._container is None else self._container.extent(self._root + name)

    def _around(self, extent: ZipExtent) -> tuple[int, int] | None:
        """Return the stretch of leaving entries that an extent is in, or None."""
        self._merge()
        found: tuple[int, int] | None = self._database.execute(
            "SELECT * FROM stretch WHERE start <= ? ORDER BY start DESC LIMIT 1", (extent.offset,)
        ).fetchone()
        return found if found is not None and extent.offset < found[1] else None

    def __contains__(self, name: str) -> bool:
        if self._database.execute("SELECT 1 FROM name WHERE name = ?", (name,)).fetchone() is not None:
            return True
        extent = self._extent(name)
        return extent is not None and self._around(extent) is not None


HEADER = "header/"
_CONTENT = "content/"


def entries(archive: Archive, removed: RemovedEntries, *, header: bool) -> Iterator[KeptEntry]:
    """Yield the entries that stay: of an archive's content, or with ``header`` of ``header/``.

    A zip file's entries come in physical order, without those outside a folder that wraps the archive. An
    unpacked archive's come sorted, to be deflated (or stored in SIARD 1.0, which has no compression); its
    folders are ``content/``, ``header/`` and the empty ones (SIARD 2.2 P_4.2-1, M_5.1).
    """
    container = archive.container
    if container is not None:
        yield from _zipped(container, archive.prefix, removed, header=header)
        return
    for entry in _files(archive):
        if entry.name.startswith(HEADER) == header and entry.name not in removed:
            yield entry


@dataclass(frozen=True, slots=True, kw_only=True)
class _Zipped:
    """An entry of a zip file: ``found`` is its record, ``record`` that without the wrapping folder."""

    container: ZipContainer
    root: str
    found: CentralRecord
    record: CentralRecord

    @property
    def name(self) -> str:
        return self.record.extent.name

    def contents(self) -> Iterator[bytes]:
        return self.container.contents(self.found.extent)

    def copy(self, writer: ZipWriter) -> None:
        extent = self.found.extent
        if is_hollow(extent):  # which some programs cannot read
            self.rewrite(writer, self.contents())
            return
        where = span(self.container.medium, extent, what=str(self.container.path))
        raw = raw_bytes(self.container.medium, str(self.container.path), where.start, where.stop)
        if self.root:
            raw = unwrapped_entry(raw)
        writer.copy(self.record, raw)

    def rewrite(self, writer: ZipWriter, contents: Iterable[bytes]) -> None:
        writer.write(self.record, contents)


def _zipped(
    container: ZipContainer, root: str, removed: RemovedEntries, *, header: bool
) -> Iterator[KeptEntry]:
    def chosen(places: Mapping[str, int]) -> Iterator[str]:
        inner = {
            name[len(root) :]: offset
            for name, offset in places.items()
            if name.startswith(root) and name != root and name.startswith(HEADER, len(root)) == header
        }
        return (root + name for name in removed.staying(inner))

    # The few entries of the header are looked up by name, the others by stretches of bytes.
    within, folder = (None, root + HEADER) if header else (removed.gaps(), "")
    for record in container.records(chosen, within=within, folder=folder):
        inner = unwrapped(record, root) if root else record
        yield _Zipped(container=container, root=root, found=record, record=inner)


def raw_bytes(medium: Medium, what: str, start: int, stop: int) -> Iterator[bytes]:
    """Yield all bytes between two offsets of a zip file; raises SourceError if there are fewer."""
    at = start
    try:
        for block in medium.chunks(start, stop):
            yield block
            at += len(block)
    except OSError as error:
        raise unreadable(what, error, at) from error
    if at < stop:
        raise SourceError(
            f"{what}: ends at byte {at:,}; expected {stop:,} bytes or more",
            hint="The file was cut off or changed while it was read.",
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class _UnpackedFile:
    """A file or folder of an unpacked archive; a folder has no extent."""

    tree: AnyTree
    name: str
    extent: FileExtent | None
    method: int

    def contents(self) -> Iterator[bytes]:
        return iter(()) if self.extent is None else self.tree.contents(self.extent)

    def copy(self, writer: ZipWriter) -> None:
        if self.extent is None:
            writer.add_folder(self.name)
        else:
            writer.add(self.name, self.contents(), method=self.method, most=self.extent.size)

    def rewrite(self, writer: ZipWriter, contents: Iterable[bytes]) -> None:
        most = 0 if self.extent is None else GROWTH * self.extent.size
        writer.add(self.name, contents, method=self.method, most=most)


KeptEntry = _Zipped | _UnpackedFile
"""An entry of the old archive that stays: it is copied, or rewritten with other contents."""


def _files(archive: Archive) -> Iterator[KeptEntry]:
    tree = archive.tree
    method = STORED if archive.metadata.version == "1.0" else DEFLATED
    for name, following in pairwise(chain(tree.names(), ("",))):
        # A folder comes before its contents.
        if not name.endswith("/") or name in {_CONTENT, HEADER} or not following.startswith(name):
            yield _UnpackedFile(tree=tree, name=name, extent=tree.extent(name), method=method)


def left_out(archive: Archive, renamed: Collection[tuple[int, int, int]]) -> Iterator[str]:
    """Yield sentences on what a new archive lacks of this one, besides moved LOBs."""
    if archive.prefix:
        yield _around(archive.container, archive.prefix)
    for table in archive.metadata.tables:
        for column in table.columns:
            if column.folder is not None and (table.schema, table.number, column.number) in renamed:
                yield (
                    f"column {table.label}.{column.name}: its folder {column.folder!r} is left out of "
                    "metadata.xml, as its cells now name the LOBs without it"
                )


def _around(container: ZipContainer | None, prefix: str) -> str:
    """Return a sentence on the folder that wraps an archive's entries, which is left out."""
    number, first = 0, ""
    for name in () if container is None else container.names():
        if not name.startswith(prefix):
            number, first = number + 1, first or name
    words = f"the folder {prefix} around the archive's entries is left out"
    if not number:
        return words
    entries = counted(number, "entry", "entries")
    return f"{words}, and so is what lies beside it: {entries}, the first {first}"
