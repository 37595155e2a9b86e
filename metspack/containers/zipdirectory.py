"""Find, check and read central directories of zip files, record by record."""

from __future__ import annotations

import re
import struct
from collections.abc import Generator, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

from metspack.containers.zipformat import (
    CENTRAL,
    CENTRAL_SIGNATURE,
    DAMAGED,
    DEFLATED,
    END,
    END64,
    END64_SIGNATURE,
    LOCATOR,
    LOCATOR_SIGNATURE,
    MAX16,
    MAX32,
    MISLEADING,
    ORDINARY_KINDS,
    REFUSED_FLAGS,
    SPLIT,
    ZIP64_EXTRA,
    ZIP64_VERSION,
    central_row,
    kind,
    renames,
)
from metspack.errors import SourceError
from metspack.files import reading
from metspack.files.byteranges import Medium
from metspack.limits import Budgets

_TAIL = END.size + MAX16
_END_MAGIC = b"PK\x05\x06"
_ZIP64_OFFSET = struct.Struct("<HHQ")
_BLOCK = 1 << 18  # more than the longest record; small blocks stay in the processor's cache
_LOCAL_MAGIC = b"PK\x03\x04"
_SPANNED_MAGICS = (b"PK\x07\x08", b"PK00")
_is_plain_name = re.compile(rb"(?:[^/.\\:\0\x80-\xff][^/\\:\0\x80-\xff]*+/?)+").fullmatch


def read(medium: Medium, start: int, length: int, what: str) -> bytes:
    """Return exactly ``length`` bytes from ``start``; raises SourceError if the file has fewer."""
    try:
        data = medium.pread(length, start)
    except OSError as error:
        raise unreadable(what, error, start) from error
    if len(data) < length:
        raise SourceError(
            f"{what}: expected {length:,} bytes from byte {start:,} on; found {len(data):,}",
            hint="The file was cut off or changed while it was read.",
        )
    return data


def unreadable(what: str, error: OSError, start: int) -> SourceError:
    """Return the error for bytes from ``start`` on that the operating system cannot read."""
    return SourceError(
        f"{what}: cannot be read at byte {start:,}: {error.strerror or error}",
        hint="The disk or network may be failing: copy the file to another disk and try again.",
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Directory:
    """The central directory as the end records state it: number of entries, start and end offsets."""

    entries: int
    start: int
    stop: int
    zip64: bool
    comment: bytes


class _End(NamedTuple):
    """The numbers in an end record, of zip or ZIP64, in the order of the record."""

    disk: int
    directory_disk: int
    here: int
    entries: int
    length: int
    start: int


def directory(medium: Medium, size: int, what: str) -> Directory:
    """Return the place of the central directory of a zip file of ``size`` bytes.

    Raises SourceError for another kind of file, a truncated one, other bytes before or after the archive,
    several disks, and end records that contradict the directory (APPNOTE 4.3.14 to 4.3.16).
    """
    if not size:
        raise SourceError(f"{what}: is empty; expected a zip file", hint=DAMAGED)
    base = max(0, size - _TAIL)
    tail = read(medium, base, size - base, what)
    position = _end_position(medium, tail, base, size, what)
    comment = tail[position - base + END.size :]
    short = _End(*END.unpack_from(tail, position - base)[1:7])
    locator_at = position - LOCATOR.size
    stop, end, zip64 = position, short, False
    if locator_at >= 0:
        locator = read(medium, locator_at, LOCATOR.size, what)
        if locator.startswith(LOCATOR_SIGNATURE.to_bytes(4, "little")):
            stop, end = _end64(medium, locator, locator_at, what)
            zip64 = True
            _check_both(short, end, position, what)
    if end.disk or end.directory_disk or end.here != end.entries:
        raise SourceError(
            f"{what}: byte {position:,}: the archive lies on several disks (this is disk {end.disk + 1:,}, "
            f"with {end.here:,} of {end.entries:,} entries); expected one",
            hint=SPLIT,
        )
    _check_place(medium, end, stop, what)
    if end.entries * CENTRAL.size > end.length:
        raise _count_differs(end.entries, f"at most {end.length // CENTRAL.size:,}", what)
    return Directory(entries=end.entries, start=end.start, stop=stop, zip64=zip64, comment=comment)


def _count_differs(stated: int, found: str, what: str) -> SourceError:
    return SourceError(
        f"{what}: its end record says {stated:,} entries; found {found} in the central directory",
        hint="A program without ZIP64 wrote more than 65,535 entries, or the archive is damaged: "
        "have it written again.",
    )


def _end_position(medium: Medium, tail: bytes, base: int, size: int, what: str) -> int:
    """Return the offset of the end record, whose comment reaches to the last byte."""
    position = tail.find(_END_MAGIC)
    stray = -1
    while position >= 0 and position + END.size <= len(tail):
        stop = position + END.size + int.from_bytes(tail[position + 20 : position + 22], "little")
        if stop == len(tail):
            inner = tail.find(_END_MAGIC, position + 4)
            if inner >= 0:
                raise SourceError(
                    f"{what}: byte {base + inner:,}: another end record inside the archive's comment, "
                    f"which begins at byte {base + position + END.size:,}; expected one end record",
                    hint=MISLEADING,
                )
            return base + position
        stray = position
        position = tail.find(_END_MAGIC, position + 1)
    if stray >= 0:
        _check_trailing(tail, stray, base, size, what)
    raise _no_zip(read(medium, 0, min(size, 1024), what), what)


def _check_trailing(tail: bytes, position: int, base: int, size: int, what: str) -> None:
    """Raise SourceError if an end record is right behind a directory, before the file's end."""
    end = _End(*END.unpack_from(tail, position)[1:7])
    expected = (end.start, end.length, base + position)
    if MAX32 not in expected and end.start + end.length != base + position:
        return
    stop = base + position + END.size + int.from_bytes(tail[position + 20 : position + 22], "little")
    if stop > size:
        raise SourceError(
            f"{what}: is cut off in its comment: it has {size:,} bytes; expected {stop:,}", hint=DAMAGED
        )
    raise SourceError(
        f"{what}: {size - stop:,} bytes follow the end of the archive at byte {stop:,}; expected none",
        hint="Something was appended to the archive. " + MISLEADING,
    )


def _no_zip(head: bytes, what: str) -> SourceError:
    if head.startswith(_LOCAL_MAGIC):
        return SourceError(
            f"{what}: is cut off: it begins as a zip file and has no end of central directory record "
            f"in its last {_TAIL:,} bytes",
            hint="Copy it again from where it came. If it is the first piece of an archive in several "
            "(_part001, _part002, ...), join the pieces first.",
        )
    if head.startswith(_SPANNED_MAGICS):
        return SourceError(f"{what}: is the first of several disks of a zip file", hint=SPLIT)
    return SourceError(
        f"{what}: is not a zip file but {kind(head)}",
        hint="A SIARD file is a single ZIP archive (SIARD 2.2 G_4.1-1): have it written as one.",
    )


def _end64(medium: Medium, locator: bytes, locator_at: int, what: str) -> tuple[int, _End]:
    """Return the offset of the ZIP64 end record and its numbers (APPNOTE 4.3.14, 4.3.15)."""
    _, disk, position, disks = LOCATOR.unpack(locator)
    if disk or disks > 1:
        raise SourceError(
            f"{what}: byte {locator_at:,}: the archive lies on {max(disks, disk + 1):,} disks; expected one",
            hint=SPLIT,
        )
    if position + END64.size > locator_at:
        raise SourceError(
            f"{what}: byte {locator_at:,}: the ZIP64 end record would lie at byte {position:,}; "
            f"expected at most {locator_at - END64.size:,}",
            hint=DAMAGED,
        )
    record = read(medium, position, END64.size, what)
    signature, length, _, _, *numbers = END64.unpack(record)
    if signature != END64_SIGNATURE or position + 12 + length != locator_at:
        raise SourceError(
            f"{what}: byte {position:,}: expected a ZIP64 end record, signature "
            f"{END64_SIGNATURE:#010x} and {locator_at - position - 12:,} bytes to follow; "
            f"found {signature:#010x} and {length:,}",
            hint="Something stands before the archive, or it is damaged. " + MISLEADING,
        )
    return position, _End(*numbers)


def _check_both(short: _End, wide: _End, position: int, what: str) -> None:
    """Raise SourceError unless each number of the end record is ZIP64's or the maximum."""
    for (name, maximum), stated, expected in zip(_MAXIMA.items(), short, wide, strict=True):
        if stated not in {maximum, expected}:
            raise SourceError(
                f"{what}: byte {position:,}: the end record says {name} {stated:,}; "
                f"expected {expected:,} as in the ZIP64 end record",
                hint=MISLEADING,
            )


_MAXIMA = {
    "disk": MAX16,
    "central directory on disk": MAX16,
    "entries on this disk": MAX16,
    "entries": MAX16,
    "central directory size": MAX32,
    "central directory offset": MAX32,
}


def _check_place(medium: Medium, end: _End, stop: int, what: str) -> None:
    """Raise SourceError unless the central directory ends where the end records begin."""
    found = stop - end.length - end.start
    if not found:
        return
    if found > 0 and read(medium, found, 4, what) == _LOCAL_MAGIC:
        head = read(medium, 0, min(found, 1024), what)
        before = "another zip file" if head.startswith(_LOCAL_MAGIC) else kind(head)
        raise SourceError(
            f"{what}: {found:,} bytes stand before the archive ({before}); expected none",
            hint="Something was put in front, or two archives were put one after the other. " + MISLEADING,
        )
    raise SourceError(
        f"{what}: the central directory would lie at byte {end.start:,} with {end.length:,} bytes; "
        f"expected it to end at byte {stop:,}, where the end record begins",
        hint=DAMAGED,
    )


class CentralRecords:
    """The records of a central directory in order, each checked; each iteration reads them.

    Each is a tuple in the form of a ``Row``. For the records read so far: ``ordered`` if each entry begins
    after the least end of the one before (30 bytes of local header, the name and the compressed data), so
    that they are disjoint; ``zip64`` if a record uses or needs ZIP64 (version 4.5). Raises SourceError as
    ``central_row`` does, and if the directory differs from the end record.
    """

    __slots__ = ("_budgets", "_directory", "_least", "_medium", "_what", "ordered", "zip64")

    def __init__(self, medium: Medium, directory: Directory, budgets: Budgets, what: str) -> None:
        self._medium = medium
        self._directory = directory
        self._budgets = budgets
        self._what = what
        self._least = 0  # the least end of the last entry
        self.ordered = True
        self.zip64 = False

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        start, stop, stated = self._directory.start, self._directory.stop, self._directory.entries
        self._least = found = 0
        while start < stop:
            buffer = read(self._medium, start, min(_BLOCK, stop - start), self._what)
            taken, count = yield from self._take(buffer, start)
            if not count:
                raise SourceError(
                    f"{self._what}: byte {start:,}: the last record of the central directory is not whole; "
                    f"expected it to end at byte {stop:,}",
                    hint=DAMAGED,
                )
            start += taken
            found += count
        if found != stated:
            raise _count_differs(stated, f"{found:,}", self._what)
        if self._least > self._directory.start:
            self.ordered = False

    def _take(self, buffer: bytes, base: int) -> Generator[tuple[Any, ...], None, tuple[int, int]]:
        """Yield the whole records in ``buffer``, which begins at ``base``; return bytes and number.

        As this loop runs ten million times, it checks ordinary records only; ``central_row`` checks the rest.
        """
        unpack, ratio, edge = CENTRAL.unpack_from, self._budgets.ratio, len(buffer) - CENTRAL.size
        position = count = 0
        while position <= edge:
            (
                signature, _, needed, flags, method, crc, compressed, size,
                named, extra, comment, disk, attributes, offset,
            ) = unpack(buffer, position)  # fmt: skip
            if signature != CENTRAL_SIGNATURE:
                raise SourceError(
                    f"{self._what}: byte {base + position:,}: expected a central directory record with "
                    f"signature {CENTRAL_SIGNATURE:#010x}; found {signature:#010x}",
                    hint=DAMAGED,
                )
            start = position + 46
            stop = start + named + extra + comment
            if stop > len(buffer):
                break
            raw = buffer[start : start + named]
            if offset == MAX32 and extra >= _ZIP64_OFFSET.size:
                offset = self._far(buffer, start + named, size, compressed)
            if (
                flags & REFUSED_FLAGS
                or (method != DEFLATED and (method or compressed != size))
                or MAX32 in (offset, size, compressed)
                or disk
                or attributes >> 28 not in ORDINARY_KINDS
                or size > ratio * compressed
                or not _is_plain_name(raw)
                or (size and raw.endswith(b"/"))
                or (extra and renames(buffer, start + named, stop))
            ):
                row = central_row(buffer[position:stop], base + position, self._what, self._budgets)
                self.zip64 |= (row.offset, row.size, row.compressed) != (offset, size, compressed)
                offset, compressed = row.offset, row.compressed
                yield row
            else:
                # A tuple in the form of a Row: making a Row would take as long as the checks.
                yield offset, raw.decode(), compressed, size, crc, method, flags, base + position
            if needed == ZIP64_VERSION:
                self.zip64 = True
            if offset < self._least:
                self.ordered = False
            self._least = offset + 30 + named + compressed
            position = stop
            count += 1
        return position, count

    def _far(self, buffer: bytes, position: int, size: int, compressed: int) -> int:
        """Return the offset beyond 4 GiB in the extra field at ``position``, or 0xFFFFFFFF.

        The field must be a ZIP64 field with only an offset, the ordinary form in large archives.
        """
        number, length, offset = _ZIP64_OFFSET.unpack_from(buffer, position)
        is_only_field = (number, length) == (ZIP64_EXTRA, 8) and MAX32 not in (size, compressed)
        if not is_only_field or offset > self._directory.start:
            return MAX32
        self.zip64 = True
        return int(offset)


class RecordWindow:
    """Central records by their offset, read ahead while they are requested in order."""

    __slots__ = ("_block", "_medium", "_next", "_start", "_stop", "_what")

    def __init__(self, medium: Medium, stop: int, what: str) -> None:
        self._medium = medium
        self._stop = stop
        self._what = what
        self._block = b""
        self._start = 0
        self._next = -1

    def record(self, at: int) -> bytes:
        """Return the whole record at offset ``at``."""
        raw = self._held(at)
        if raw is None:
            # Out of order, only one record is read; in order, a megabyte of them.
            ahead = reading.CHUNK if at == self._next else CENTRAL.size + 3 * MAX16
            self._block = read(self._medium, at, min(ahead, self._stop - at), self._what)
            self._start = at
            raw = self._held(at)
        if raw is None:
            raise SourceError(
                f"{self._what}: byte {at:,}: a central directory record is no longer whole", hint=DAMAGED
            )
        self._next = at + len(raw)
        return raw

    def _held(self, at: int) -> bytes | None:
        start = at - self._start
        if start < 0 or start + CENTRAL.size > len(self._block):
            return None
        stop = start + CENTRAL.size + sum(CENTRAL.unpack_from(self._block, start)[8:11])
        return self._block[start:stop] if stop <= len(self._block) else None
