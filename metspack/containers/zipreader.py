"""Read zip files with checks: entries by name and in physical order, and their bytes.

The central directory is read once, checked as a whole, and stored in a temporary database on disk, so that
ten million entries take no more memory than ten. No entry is extracted.
"""

from __future__ import annotations

import json
import sqlite3
import struct
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from importlib import import_module
from itertools import islice
from operator import itemgetter
from pathlib import Path
from typing import Any, Self

from metspack.containers.zipdirectory import (
    CentralRecords,
    Directory,
    RecordWindow,
    directory,
    read,
    unreadable,
)
from metspack.containers.zipformat import (
    DAMAGED,
    DEFLATED,
    DESCRIPTOR_MAX,
    LOCAL,
    LOCAL_SIGNATURE,
    MAX32,
    MEANT_UTF8,
    MISLEADING,
    PLAIN,
    REFUSED_FLAGS,
    STORED,
    STREAMED,
    Row,
    descriptor_length,
    encoded,
    folder_of_all,
    local_header_length,
    refusal,
)
from metspack.errors import SourceError, SourceNotFoundError
from metspack.files import reading, tempdb
from metspack.files.byteranges import FileBelow, FileRange, Medium
from metspack.files.reading import Closable
from metspack.limits import Budgets
from metspack.model import OF_ENTRY, ExtentColumns, LobRun, ZipExtent

inflating: Any
"""The module for deflate and CRC-32: zlib, or the faster isal_zlib of ``metspack[fast]``."""
try:
    inflating = import_module("isal.isal_zlib")
except ImportError:
    inflating = zlib


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """Offsets of an entry in its archive: local header, data, end of the data, end of the entry.

    ``stop`` is the end of the data descriptor, or ``end_of_data`` without one.
    """

    start: int
    data: int
    end_of_data: int
    stop: int


def contents(medium: Medium, extent: ZipExtent, *, what: str) -> Iterator[bytes]:
    """Yield an entry's bytes, inflated, in blocks of at most ``reading.CHUNK``.

    ``what`` names the archive in errors. Raises SourceError if the local header, the data descriptor, or size
    or CRC-32 of the inflated data differ from the central directory. The CRC-32 is compared after the last
    block was yielded: the end of the iterator proves the bytes. An empty entry has no blocks.
    """
    if extent.method == PLAIN:
        end = extent.offset + extent.size
        place = Span(start=extent.offset, data=extent.offset, end_of_data=end, stop=end)
        yield from _data(medium, b"", place, what)
        return
    # One read gets header, data and descriptor of a small entry, as most LOBs are.
    head = _head(medium, extent, reading.CHUNK if extent.compressed < reading.CHUNK else _HEAD, what)
    place = _span(medium, head, extent, what)
    blocks = _data(medium, head, place, what)
    if extent.method == DEFLATED and not is_hollow(extent):
        blocks = _inflated(blocks, extent, what)
    crc = 0
    for block in blocks:
        crc = inflating.crc32(block, crc)
        yield block
    if crc != extent.crc:
        problem = f"has CRC-32 {crc:08x}; expected {extent.crc:08x}"
        raise refusal(what, extent.name, problem, DAMAGED)


_HEAD = 512  # more bytes than most local headers have, with name and extra field
_LOCAL_SIZE, _unpacked = LOCAL.size, LOCAL.unpack_from
_NOT_PLAIN = STREAMED | REFUSED_FLAGS
_SLACK = 128  # bytes read for the extra field of a local header


def small_contents(medium: Medium, run: LobRun) -> Iterator[bytes | memoryview | None]:
    """Yield the proven bytes of each small entry of a run, or None where ``contents`` is needed.

    Adjacent entries are read by one call.
    """
    names, offsets, limits, compressed, *_, flags = run.extents
    lengths = [
        min(_LOCAL_SIZE + len(name) + _SLACK + size, limit - offset)
        for name, size, offset, limit in zip(names, compressed, offsets, limits, strict=True)
    ]
    base, block = 0, memoryview(b"")
    rows = zip(run.sizes, *run.extents, _encoded(names, flags), strict=True)
    for number, (row, length) in enumerate(zip(rows, lengths, strict=True)):
        at = offsets[number] - base
        if at < 0 or at + length > len(block):
            base, at = offsets[number], 0
            try:
                block = memoryview(medium.pread(_stretch(offsets[number:], lengths[number:]), base))
            except OSError:
                block = memoryview(b"")
        yield _small(medium, block[at : at + length], row)


def _encoded(names: Sequence[str], flags: Sequence[int]) -> list[bytes]:
    """Return the names of entries in the archive's encoding."""
    text = "\0".join(names)
    if text.isascii() and text.count("\0") == len(names) - 1:
        return text.encode().split(b"\0")
    return list(map(encoded, names, flags))


def _stretch(offsets: Sequence[int], lengths: Sequence[int]) -> int:
    """Return the number of bytes to read for adjacent entries, at least for the first."""
    first, stretch = offsets[0], lengths[0]
    for offset, length in zip(offsets, lengths, strict=True):
        end = offset + length - first
        if not first <= offset <= first + stretch or end > max(stretch, reading.CHUNK):
            break
        stretch = max(stretch, end)
    return stretch


_Row = tuple[Any, ...]
"""The size of an entry, the columns of its extent in a run, and its name as encoded."""


def _small(medium: Medium, head: memoryview, row: _Row) -> bytes | memoryview | None:
    """Return the proven bytes of an entry, which ``head`` begins with, or None."""
    start = _start(head, row)
    if start is None:  # such as with lengths in a data descriptor
        start = _checked_start(medium, head, row)
    return None if start is None else _proven(head[start:], row)


def _start(head: memoryview, row: _Row) -> int | None:
    """Return the offset of the data in ``head``, or None for a differing or unusual header."""
    size, _, offset, limit, compressed, crc, method, flags, name = row
    if len(head) < _LOCAL_SIZE:
        return None
    signature, _, bits, kind, _, _, *sums, named, extra = _unpacked(head)
    end = _LOCAL_SIZE + named
    if (
        signature == LOCAL_SIGNATURE
        and bits == flags & ~MEANT_UTF8
        and kind == method
        and sums == [crc, compressed, size]
        and MAX32 not in {compressed, size}
        and not flags & _NOT_PLAIN
        and head[_LOCAL_SIZE:end] == name
        and end + extra + compressed <= limit - offset
    ):
        return int(end + extra)
    return None


def _checked_start(medium: Medium, head: memoryview, row: _Row) -> int | None:
    """Return the offset of the data by local header and descriptor, or None if they are wrong."""
    size, *values, _ = row
    found = ZipExtent(**dict(zip(OF_ENTRY, values, strict=True)), size=size)
    try:
        if len(head) >= LOCAL.size:
            place = _span(medium, bytes(head), found, found.name)
            return place.data - place.start
    except (OSError, SourceError, struct.error):
        pass
    return None


def _proven(data: memoryview, row: _Row) -> bytes | memoryview | None:
    """Return the inflated and proven bytes of an entry, which ``data`` begins with, or None."""
    size, _, _, _, compressed, crc, method, _, _ = row
    raw = data[:compressed]
    out: bytes | memoryview = raw
    if len(raw) < compressed or method not in {STORED, DEFLATED}:
        return None
    if method == DEFLATED:
        inflater = inflating.decompressobj(-15)
        try:
            out = inflater.decompress(raw, size + 1)
        except inflating.error:
            return None
        if not inflater.eof or inflater.unused_data or inflater.unconsumed_tail:
            return None
    return out if len(out) == size and inflating.crc32(out) == crc else None


def is_hollow(extent: ZipExtent) -> bool:
    """Return whether an empty entry is marked as deflated but has no deflate stream.

    Java programs write such entries. Their content is certain: CRC-32 and both sizes are 0.
    """
    return extent.method == DEFLATED and not (extent.compressed or extent.size or extent.crc)


def span(medium: Medium, extent: ZipExtent, *, what: str) -> Span:
    """Return the offsets of an entry's structures in the archive.

    Raises SourceError if the local header or the data descriptor differs from the central directory, or the
    entry overlaps the next one.
    """
    return _span(medium, _head(medium, extent, _HEAD, what), extent, what)


def _head(medium: Medium, extent: ZipExtent, length: int, what: str) -> bytes:
    """Return an entry's first bytes, up to ``length``, at least the whole local header."""
    room = extent.limit - extent.offset
    head = read(medium, extent.offset, max(LOCAL.size, min(length, room)), what)
    *_, named, extra = LOCAL.unpack_from(head)
    needed = LOCAL.size + named + extra
    if needed > room:
        problem = (
            f"its local header takes {needed:,} bytes; expected at most {room:,}, where other data begins"
        )
        raise refusal(what, extent.name, problem, MISLEADING)
    return head if len(head) >= needed else read(medium, extent.offset, needed, what)


def _span(medium: Medium, head: bytes, extent: ZipExtent, what: str) -> Span:
    header, described, required = local_header_length(head, extent, what)
    data = extent.offset + header
    end = data + extent.compressed
    room = extent.limit - end
    if room < 0:
        problem = f"its data ends at byte {end:,}; expected at most {extent.limit:,}, where other data begins"
        raise refusal(what, extent.name, problem, MISLEADING)
    stop = end
    if described and (room or required):
        at = end - extent.offset
        wanted = min(DESCRIPTOR_MAX, room)
        tail = head[at : at + wanted]
        if len(tail) < wanted:
            tail = read(medium, end, wanted, what)
        length = descriptor_length(tail, extent, room)
        if length is None:
            problem = (
                f"its data descriptor at byte {end:,} is missing or wrong; expected CRC-32 {extent.crc:08x}, "
                f"compressed size {extent.compressed:,}, size {extent.size:,} as in the central directory"
            )
            raise refusal(what, extent.name, problem, MISLEADING)
        stop = end + length
    return Span(start=extent.offset, data=data, end_of_data=end, stop=stop)


def _data(medium: Medium, head: bytes, place: Span, what: str) -> Iterator[bytes]:
    """Yield an entry's compressed bytes, those in ``head`` first."""
    first = head[place.data - place.start : place.end_of_data - place.start]
    if first:
        yield first
    start = place.data + len(first)
    try:
        for block in medium.chunks(start, place.end_of_data):
            yield block
            start += len(block)
    except OSError as error:
        raise unreadable(what, error, start) from error
    if start < place.end_of_data:
        raise SourceError(
            f"{what}: ends at byte {start:,}; expected an entry's data up to byte {place.end_of_data:,}",
            hint="The file was cut off or changed while it was read.",
        )


def _inflated(blocks: Iterator[bytes], extent: ZipExtent, what: str) -> Iterator[bytes]:
    inflater = inflating.decompressobj(-15)
    left = extent.size
    surplus = 0
    for block in blocks:
        if inflater.eof:
            surplus += len(block)
            continue
        rest, full = block, True
        while (rest or full) and not inflater.eof:
            # One byte more than stated shows a decompression bomb before it fills memory.
            limit = min(reading.CHUNK, left + 1)
            try:
                out = inflater.decompress(rest, limit)
            except inflating.error:  # the text differs between zlib and isal
                raise refusal(what, extent.name, "does not inflate: its stream is damaged", DAMAGED) from None
            left -= len(out)
            if left < 0:
                problem = f"inflates to more than the {extent.size:,} bytes expected"
                raise refusal(what, extent.name, problem, DAMAGED)
            if out:
                yield out
            rest, full = inflater.unconsumed_tail, len(out) == limit
        surplus += len(inflater.unused_data)
    if not inflater.eof:
        problem = f"does not inflate: its {extent.compressed:,} bytes end in the middle of the deflate stream"
        raise refusal(what, extent.name, problem, DAMAGED)
    if surplus:
        problem = f"has {surplus:,} bytes after the end of its deflate stream; expected none"
        raise refusal(what, extent.name, problem, MISLEADING)
    if left:
        problem = f"inflates to {extent.size - left:,} bytes; expected {extent.size:,}"
        raise refusal(what, extent.name, problem, DAMAGED)


@dataclass(frozen=True, slots=True, kw_only=True)
class CentralRecord:
    """An entry, and the bytes of its central directory record (``raw``)."""

    extent: ZipExtent
    raw: bytes
    is_directory: bool


class ZipContainer(Closable):
    """A zip file, whole or in parts, opened for reading: its checked directory and its bytes.

    ``zip64``: the archive has a ZIP64 end record, or an entry that needs version 4.5. For one thread; the
    function ``contents`` needs only a medium, and so serves other threads.
    """

    __slots__ = ("_directory", "_index", "comment", "medium", "path", "size", "zip64")

    def __init__(self, path: Path, medium: Medium, budgets: Budgets) -> None:
        """Read and check the directory of an open file; ``opened`` is for callers."""
        self.path = path
        self.medium = medium
        self.size = medium.size
        self._directory = directory(medium, self.size, str(path))
        self.comment = self._directory.comment
        if self._directory.entries > budgets.entries:
            raise SourceError(
                f"{path}: has {self._directory.entries:,} entries; expected at most {budgets.entries:,}",
                hint="If that is what it should be, raise the budget: --budget entries=N.",
            )
        records = CentralRecords(medium, self._directory, budgets, str(path))
        self._index = _index(records, self._directory, str(path))
        self.zip64 = self._directory.zip64 or records.zip64

    @classmethod
    def opened(
        cls,
        path: Path | FileBelow,
        budgets: Budgets = Budgets(),  # noqa: B008 - frozen
        parts: Sequence[Path | FileBelow | FileRange] = (),
    ) -> Self:
        """Return the archive at ``path`` with its directory read and checked.

        ``parts`` are the files of an archive in parts, in order (SIARD 2.2 S_8.2). Raises SourceError for a
        missing file, one that is not a zip file, and a directory that is damaged, misleading, over budget or
        not allowed in SIARD (G_4.1-1 to G_4.1-4), and TargetError when the temporary disk is full.
        """
        try:
            medium = Medium(parts or (path,))
        except OSError as error:
            kind = SourceNotFoundError if isinstance(error, FileNotFoundError) else SourceError
            raise kind(
                f"{path}: cannot be opened: {error.strerror or error}",
                hint="Name the .siard file, and make sure that you may read it.",
            ) from error
        try:
            return cls(path.path if isinstance(path, FileBelow) else path, medium, budgets)
        except BaseException:
            medium.close()
            raise

    def __len__(self) -> int:
        return self._directory.entries

    @property
    def top(self) -> str:
        """The one folder that holds all entries, or "" without one."""
        sql = "SELECT (SELECT min(name) FROM entry), (SELECT max(name) FROM entry)"  # each by the index
        return folder_of_all(*self._index.execute(sql).fetchone())

    def extent(self, name: str) -> ZipExtent | None:
        """Return the extent of the entry with exactly that name, or None without one."""
        try:
            row = self._index.execute(_BY_NAME, (self._directory.start, name)).fetchone()
        except UnicodeEncodeError:  # no archive has a name with a lone surrogate
            return None
        return None if row is None else _extent(row)

    def columns(self, names: Sequence[str]) -> ExtentColumns | None:
        """Return sizes and extents of entries as columns of a ``LobRun``, or None if any is missing."""
        found = self._in_order(names)
        if found is None:
            given = (self._directory.start, json.dumps(names))
            found = self._index.execute(_BY_NAMES, given).fetchall()
            if len(found) != len(names):
                return None
            found = zip(*found, strict=True)
        sizes, *extents = map(list, found)
        return sizes, extents

    def _in_order(self, names: Sequence[str]) -> Iterable[Sequence[Any]] | None:
        """Return the columns of entries whose physical order is that of ``names``, or None."""
        number = len(names)
        try:
            cursor = self._index.execute(_FROM_NAME, (names[0], number + 1))
        except UnicodeEncodeError:  # a lone surrogate: no archive can hold such a name
            return None
        with closing(cursor):
            rows = cursor.fetchmany(_FIRST)
            if all(row[1] == name for row, name in zip(rows, names, strict=False)):
                rows += cursor.fetchall()
        if [row[1] for row in rows[:number]] != names:
            return None
        limits = [*(row[2] for row in rows[1:]), self._directory.start][:number]
        sizes, found, offsets, *others = zip(*rows[:number], strict=True)
        return sizes, found, offsets, limits, *others

    def records(
        self,
        chosen: Callable[[Mapping[str, int]], Iterable[str]] | None = None,
        *,
        within: Iterable[tuple[int, int]] | None = None,
        folder: str = "",
    ) -> Iterator[CentralRecord]:
        """Yield entries in physical order, by the offset of the local header.

        ``chosen`` is called with names and their offsets, many at a time, and returns the names to yield;
        without it all are yielded. ``within`` is as in ``entries_within``. With a ``folder``, which ends with
        a slash, only the folder's entry and those below it are yielded.
        """
        window = RecordWindow(self.medium, self._directory.stop, str(self.path))
        # "0" is the character after "/": the range holds every name that begins with the folder's.
        below = self._many(_NAMES_IN_FOLDER, (folder, f"{folder[:-1]}0")) if folder else None
        for some in below or self.entries_within(((0, self.size),) if within is None else within):
            places = dict(some)
            offsets = places.values() if chosen is None else [places[each] for each in chosen(places)]
            for row in self._index.execute(_AT_OFFSETS, (self._directory.start, json.dumps([*offsets]))):
                found, raw = _extent(row), window.record(row[7])
                yield CentralRecord(extent=found, raw=raw, is_directory=found.name.endswith("/"))

    def entries_within(self, stretches: Iterable[tuple[int, int]]) -> Iterator[list[tuple[str, int]]]:
        """Yield names and offsets of entries that begin in stretches of the file, many at a time."""
        for stretch in stretches:
            yield from self._many(_NAMES_WITHIN, stretch)

    def _many(self, sql: str, values: tuple[object, ...]) -> Iterator[list[tuple[str, int]]]:
        found = tempdb.rows(self._index, sql, values)
        while some := list(islice(found, _AT_ONCE)):
            yield some

    def stray(self) -> str:
        """Return words on the first bytes outside all entries, or "" without such bytes.

        Damaged entries are skipped.
        """
        for row in tempdb.rows(self._index, _SPACED, (self._directory.start,)):
            found = _extent(row)
            with suppress(SourceError):
                stop = span(self.medium, found, what=str(self.path)).stop
                if stop < found.limit:
                    return (
                        f"has {found.limit - stop:,} bytes from byte {stop:,} on, after the entry "
                        f"{found.name!r}, that belong to no entry: they were not read"
                    )
        return ""

    def hollow(self) -> tuple[int, str]:
        """Return the number of hollow entries (``is_hollow``), and the first of their names."""
        count, first = self._index.execute(
            "SELECT count(*), min(name) FROM entry WHERE method = ? AND compressed + size + crc = 0",
            (DEFLATED,),
        ).fetchone()
        return count, first or ""

    def names(self, prefix: str = "") -> Iterator[str]:
        """Yield the names that begin with ``prefix``, sorted by code points."""
        return map(itemgetter(0), tempdb.rows_with_prefix(self._index, "entry", ("name",), prefix))

    def sizes(self, prefix: str = "") -> Iterator[tuple[str, int]]:
        """Yield names that begin with ``prefix``, by code points, each with the size in bytes."""
        return tempdb.rows_with_prefix(self._index, "entry", ("name", "size"), prefix)

    def contents(self, extent: ZipExtent) -> Iterator[bytes]:
        """Yield an entry's bytes as the function ``contents`` does."""
        return contents(self.medium, extent, what=str(self.path))

    def check_unchanged(self) -> None:
        """Raise SourceError if size, time or inode of the file have changed since it was opened."""
        if self.medium.stamped() != self.medium.stamps:
            raise SourceError(
                f"{self.path}: was changed while it was read",
                hint="Wait until nothing else writes to it and start again.",
            )

    def close(self) -> None:
        """Close the file and remove the temporary index."""
        self._index.close()
        self.medium.close()


_SCHEMA = """CREATE TABLE entry (
    offset INTEGER PRIMARY KEY, name TEXT NOT NULL, compressed INTEGER NOT NULL, size INTEGER NOT NULL,
    crc INTEGER NOT NULL, method INTEGER NOT NULL, flags INTEGER NOT NULL, at INTEGER NOT NULL
)"""
_COLUMNS = ", ".join(Row._fields)
_AT_ONCE = 1_000
_LIMIT = (
    "(SELECT next.offset FROM entry AS next WHERE next.offset > entry.offset ORDER BY next.offset LIMIT 1)"
)
_LIMITED = f"SELECT {_COLUMNS}, ifnull({_LIMIT}, ?) AS stop FROM entry"  # noqa: S608 - constants
# In most of these entries, a data descriptor or the local header's extra field takes the bytes.
_SPACED = (
    f"SELECT * FROM ({_LIMITED}) WHERE offset + 30 + compressed + length(name) * (flags < 1 << 17) < stop"  # noqa: S608
)
_AT_OFFSETS = f"{_LIMITED} WHERE offset IN (SELECT value FROM json_each(?)) ORDER BY offset"  # noqa: S608
_NAMES_WITHIN = "SELECT name, offset FROM entry WHERE offset >= ? AND offset < ? ORDER BY offset"
_NAMES_IN_FOLDER = "SELECT name, offset FROM entry WHERE name >= ? AND name < ? ORDER BY offset"
_BY_NAME = f"{_LIMITED} WHERE name = ?"
_FROM_NAME = (
    "SELECT size, name, offset, compressed, crc, method, flags FROM entry "
    "WHERE offset >= (SELECT offset FROM entry WHERE name = ?) ORDER BY offset LIMIT ?"
)
_FIRST = 8  # entries that show whether all are in the order of names
_BY_NAMES = (
    f"SELECT size, name, offset, ifnull({_LIMIT}, ?), compressed, crc, method, flags "  # noqa: S608 - constants
    "FROM json_each(?) AS given JOIN entry ON entry.name = given.value ORDER BY given.key"
)


def _index(records: CentralRecords, found: Directory, what: str) -> sqlite3.Connection:
    """Return a temporary database of the entries; raises SourceError as the records do."""
    index = tempdb.create(schema=_SCHEMA)
    try:
        with tempdb.explained(f"the index of {what}"):
            _fill(index, records, what)
            _check_extents(index, records, found, what)
    except BaseException:
        index.close()
        raise
    return index


_TWICE = "is in the central directory more than once; expected each name once"


def _fill(index: sqlite3.Connection, records: CentralRecords, what: str) -> None:
    index.execute("BEGIN")
    try:
        index.executemany("INSERT INTO entry VALUES (?, ?, ?, ?, ?, ?, ?, ?)", records)
    except sqlite3.IntegrityError:
        (before,) = index.execute("SELECT count(*) FROM entry").fetchone()
        row = Row(*next(islice(records, before, None)))
        (other,) = index.execute("SELECT name FROM entry WHERE offset = ?", (row.offset,)).fetchone()
        if other == row.name:
            raise refusal(what, row.name, _TWICE, MISLEADING) from None
        raise _overlap(row, f"entry {other!r}", row.offset, what) from None
    try:
        index.execute("CREATE UNIQUE INDEX entry_name ON entry (name)")
    except sqlite3.IntegrityError:
        (name,) = index.execute(
            "SELECT name FROM entry GROUP BY name HAVING count(*) > 1 ORDER BY min(offset) LIMIT 1"
        ).fetchone()
        raise refusal(what, name, _TWICE, MISLEADING) from None
    index.execute("COMMIT")


def _overlap(row: Row, other: str, limit: int, what: str) -> SourceError:
    return refusal(
        what,
        row.name,
        f"overlaps {other}: its local header is at byte {row.offset:,} and it takes at least "
        f"{_least(row) - row.offset:,} bytes; expected it to end at byte {limit:,} or before",
        MISLEADING,
    )


def _least(row: Row) -> int:
    """Return the least offset of an entry's end: after header, name and compressed data."""
    return row.offset + LOCAL.size + len(encoded(row.name, row.flags)) + row.compressed


def _check_extents(index: sqlite3.Connection, records: CentralRecords, found: Directory, what: str) -> None:
    """Raise SourceError if bytes precede the first entry, or entries overlap."""
    (first,) = index.execute("SELECT min(offset) FROM entry").fetchone()
    start = found.start if first is None else first
    if start:
        raise SourceError(
            f"{what}: {start:,} bytes stand before the first entry; expected a local header at byte 0",
            hint="Something was put in front of the archive. " + MISLEADING,
        )
    if records.ordered:
        return
    for *each, limit in index.execute(f"{_LIMITED} ORDER BY offset", (found.start,)):
        row = Row(*each)
        if row.offset + LOCAL.size > found.start:
            raise refusal(
                what,
                row.name,
                f"its local header would lie at byte {row.offset:,}; expected it before the central "
                f"directory at byte {found.start:,}",
                DAMAGED,
            )
        if _least(row) > limit:
            following = index.execute("SELECT name FROM entry WHERE offset = ?", (limit,)).fetchone()
            other = f"entry {following[0]!r}" if following else "the central directory"
            raise _overlap(row, other, limit, what)


def _extent(row: tuple[Any, ...]) -> ZipExtent:
    """Return the extent of a row of ``_LIMITED``."""
    *fields, _at, limit = row
    return ZipExtent(**dict(zip(Row._fields, fields, strict=False)), limit=limit)
