"""Write zip files of new entries, and of entries of others: kept, renamed or with new contents."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path

from metspack.containers.zipformat import (
    CENTRAL_SIGNATURE,
    DEFLATED,
    END,
    END64,
    END64_SIGNATURE,
    END_SIGNATURE,
    LOCAL,
    LOCAL_SIGNATURE,
    LOCATOR,
    LOCATOR_SIGNATURE,
    MAX16,
    MAX32,
    STORED,
    UNICODE_PATH,
    UTF8,
    WHOLE_CENTRAL,
    ZIP64_EXTRA,
    ZIP64_VERSION,
    extra_fields,
    unicode_path,
    widened,
)
from metspack.containers.zipreader import CentralRecord
from metspack.digests import Hashers
from metspack.errors import TargetError
from metspack.files import writing

# Fields of a central record by position (APPNOTE 4.3.12).
_VERSION, _FLAGS, _METHOD, _CRC, _COMPRESSED, _SIZE = 2, 3, 4, 7, 8, 9
_NAME_LENGTH, _EXTRA_LENGTH, _COMMENT_LENGTH, _DISK, _OFFSET = 10, 11, 12, 13, 16

_LEVEL = 6
GROWTH = 32
"""The factor by which new cell values may lengthen a document: names have at most 255 bytes."""

_UNIX = 3 << 8
_OLDEST = 20
_FIRST_YEAR, _YEARS = 1980, 127
_FIRST_DAY = 0x21  # 1980-01-01, the earliest date in a zip file
_FILE_MODE = 0o100644 << 16
_FOLDER_MODE = 0o40755 << 16 | 0x10


class ZipWriter:
    """A writer appends entries to a new file; the central directory waits in a file of ``work``.

    Entries of another archive keep their names, methods, times and attributes; new entries get the same
    values in every run. ``finish`` writes the directory; the caller closes ``file``.
    """

    def __init__(self, target: Path, work: Path) -> None:
        self.file = writing.NewFile(target)
        self._directory = writing.NewFile(work / f"{target.name}.directory")
        self._entries = 0

    def copy(self, record: CentralRecord, raw: Iterable[bytes]) -> None:
        """Append an entry unchanged; ``raw`` are the bytes of local header, data and descriptor."""
        offset = self.file.size
        for block in raw:
            self.file.write(block)
        self._list(_Central(record.raw).relocated(offset))

    def write(self, record: CentralRecord, contents: Iterable[bytes]) -> None:
        """Append an entry of another archive, with other contents."""
        self._put(_Central(record.raw), contents, record.extent.name, GROWTH * record.extent.size)

    def add(
        self,
        name: str,
        contents: Iterable[bytes],
        *,
        method: int = DEFLATED,
        most: int | None = None,
        when: tuple[int, int] = (0, _FIRST_DAY),
    ) -> None:
        """Append a new entry, deflated or stored, with the time ``when`` (of ``moment``).

        ``most`` is the most bytes of ``contents``, or None for any number: sizes of 4 GiB and more need room
        in the local header. Raises TargetError for more bytes.
        """
        # Incompressible bytes become longer, by five bytes for every block of 16 KiB.
        most = MAX32 if most is None else most + (most >> 10) + 64
        _, (record,) = new_entries((name,), (b"",), 0, method=method, when=when)
        self._put(_Central(record), contents, name, most)

    def add_run(
        self,
        names: Sequence[str],
        contents: Iterable[bytes],
        *,
        method: int = DEFLATED,
        when: tuple[int, int] = (0, _FIRST_DAY),
    ) -> bytes:
        """Append entries as ``add`` does, each of one small block; return the appended bytes."""
        entries, records = new_entries(names, contents, self.file.size, method=method, when=when)
        whole = b"".join(entries)
        self.file.write(whole)
        self.list_run(records)
        return whole

    def reserve(self, names: Sequence[str], sizes: Sequence[int]) -> int:
        """Leave room for stored ``new_entries`` that another process writes; return its offset."""
        offset = self.file.size
        self.file.skip(sum(sizes) + LOCAL.size * len(names) + len("".join(names).encode()))
        return offset

    def list_run(self, records: Sequence[bytes]) -> None:
        """Append records of ``new_entries`` to the central directory."""
        self._directory.write(b"".join(records))
        self._entries += len(records)

    def add_folder(self, name: str) -> None:
        """Append a folder, named with ``/`` at the end."""
        self.add_run((name,), (b"",), method=STORED)

    def _put(self, central: _Central, contents: Iterable[bytes], name: str, most: int) -> None:
        offset = self.file.size
        # The header is patched afterwards, so that it needs its final length now.
        large = most >= MAX32
        self.file.write(central.local_header(large=large, crc=0, compressed=0, size=0))
        start = self.file.size
        sums = Hashers(("CRC32",))
        for piece in _packed(sums.pass_on(contents), central.fields[_METHOD]):
            self.file.write(piece)
        compressed = self.file.size - start
        if not large and max(compressed, sums.size) >= MAX32:
            raise TargetError(
                f"{name!r} has grown to {sums.size:,} bytes, expected fewer than {MAX32:,}",
                hint="A shorter --name may help; please report this as a fault of metspack.",
            )
        crc = int(sums.digest("CRC32").value, 16)
        self.file.patch(
            offset, central.local_header(large=large, crc=crc, compressed=compressed, size=sums.size)
        )
        self._list(central.renewed(offset=offset, crc=crc, compressed=compressed, size=sums.size))

    def _list(self, record: bytes) -> None:
        self._directory.write(record)
        self._entries += 1

    def finish(self, comment: bytes) -> None:
        """Write the central directory and the end records."""
        start = self.file.size
        for block in self._directory.read_back(0, self._directory.size):
            self.file.write(block)
        self._directory.close()
        self.file.write(_ending(self._entries, start, self.file.size - start, comment))
        self.file.flush()

    def abandon(self) -> None:
        """Close both files unfinished, after an error."""
        self._directory.discard()
        self.file.discard()


def new_entries(
    names: Sequence[str],
    contents: Iterable[bytes],
    offset: int,
    *,
    method: int = DEFLATED,
    when: tuple[int, int] = (0, _FIRST_DAY),
) -> tuple[list[bytes], list[bytes]]:
    """Return the pieces that ``add_run`` appends at an offset, and each entry's record."""
    entries: list[bytes] = []
    records: list[bytes] = []
    for name, data in zip(names, contents, strict=True):
        raw = name.encode()
        flags = 0 if len(raw) == len(name) else UTF8
        packed = data if method != DEFLATED else b"".join(_packed((data,), method))
        common = (flags, method, *when, zlib.crc32(data), len(packed), len(data), len(raw))
        entries += LOCAL.pack(LOCAL_SIGNATURE, _OLDEST, *common, 0), raw, packed
        extra, needed = b"", _OLDEST
        if offset >= MAX32:
            extra, needed = struct.pack("<2HQ", ZIP64_EXTRA, 8, offset), ZIP64_VERSION
        attributes = _FOLDER_MODE if name.endswith("/") else _FILE_MODE
        fields = (*common, len(extra), 0, 0, 0, attributes, min(offset, MAX32))
        record = WHOLE_CENTRAL.pack(CENTRAL_SIGNATURE, _UNIX | _OLDEST, needed, *fields)
        records.append(b"".join((record, raw, extra)))
        offset += LOCAL.size + len(raw) + len(packed)
    return entries, records


def _packed(blocks: Iterable[bytes], method: int) -> Iterator[bytes]:
    if method != DEFLATED:
        yield from blocks
        return
    deflate = zlib.compressobj(_LEVEL, wbits=-zlib.MAX_WBITS)
    for block in blocks:
        yield deflate.compress(block)
    yield deflate.flush()


def unwrapped(record: CentralRecord, root: str) -> CentralRecord:
    """Return an entry's record with its name relative to the folder ``root``.

    Raises ValueError for an entry outside that folder.
    """
    if not record.extent.name.startswith(root):
        raise ValueError(f"{record.extent.name!r} does not lie below {root!r}")
    central = _Central(record.raw)
    central.unwrap()
    extent = replace(record.extent, name=record.extent.name.removeprefix(root))
    return CentralRecord(extent=extent, raw=central.joined(), is_directory=record.is_directory)


def unwrapped_entry(raw: Iterable[bytes]) -> Iterator[bytes]:
    """Yield an entry's local header, data and descriptor, without the first folder of its name.

    The first block of ``raw`` has the whole local header.
    """
    blocks = iter(raw)
    first = next(blocks)
    *fields, named, extra = LOCAL.unpack_from(first)
    name, data = LOCAL.size + named, LOCAL.size + named + extra
    inner, rest = _unwrapped(first[LOCAL.size : name], first[name:data])
    yield LOCAL.pack(*fields, len(inner), len(rest)) + inner + rest + first[data:]
    yield from blocks


def _unwrapped(name: bytes, extra: bytes) -> tuple[bytes, bytes]:
    """Return a name and its extra fields without the name's first folder."""
    path = unicode_path(name, extra)
    inner, rest = name[name.find(b"/") + 1 :], _without(extra, UNICODE_PATH)
    if path:
        field = path.partition("/")[2].encode()
        rest += struct.pack("<2HBI", UNICODE_PATH, 5 + len(field), 1, zlib.crc32(inner)) + field
    return inner, rest


def moment(when: datetime) -> tuple[int, int]:
    """Return time and date in the form of zip files: in even seconds, from 1980 to 2107."""
    if when.year < _FIRST_YEAR:
        return 0, _FIRST_DAY
    years = min(when.year - _FIRST_YEAR, _YEARS)
    return when.hour << 11 | when.minute << 5 | when.second >> 1, years << 9 | when.month << 5 | when.day


class _Central:
    """The fields of a central directory record, to be changed and joined again."""

    def __init__(self, raw: bytes) -> None:
        self.fields = list(WHOLE_CENTRAL.unpack_from(raw))
        at = WHOLE_CENTRAL.size
        self._name, at = raw[at : at + self.fields[_NAME_LENGTH]], at + self.fields[_NAME_LENGTH]
        self._extra, at = raw[at : at + self.fields[_EXTRA_LENGTH]], at + self.fields[_EXTRA_LENGTH]
        self._comment = raw[at : at + self.fields[_COMMENT_LENGTH]]

    def local_header(self, *, large: bool, crc: int, compressed: int, size: int) -> bytes:
        extra = struct.pack("<2H2Q", ZIP64_EXTRA, 16, size, compressed) if large else b""
        sizes = (MAX32, MAX32) if large else (compressed, size)
        flags, kept = self.fields[_FLAGS] & UTF8, self.fields[_METHOD:_CRC]  # method, time and date
        fields = (flags, *kept, crc, *sizes, len(self._name), len(extra))
        version = ZIP64_VERSION if large else _OLDEST
        return LOCAL.pack(LOCAL_SIGNATURE, version, *fields) + self._name + extra

    def relocated(self, offset: int) -> bytes:
        """Return the record of the entry copied to another offset."""
        if self.fields[_OFFSET] != MAX32 and offset < MAX32:
            self.fields[_OFFSET] = offset
            return self.joined()
        short = tuple(self.fields[each] for each in (_SIZE, _COMPRESSED, _OFFSET, _DISK))
        size, compressed, *_ = widened(short, self._extra)
        return self._rebuilt(size=size, compressed=compressed, offset=offset)

    def renewed(self, *, offset: int, crc: int, compressed: int, size: int) -> bytes:
        """Return the record of the entry with other contents."""
        self.fields[_CRC] = crc
        self.fields[_FLAGS] &= UTF8
        return self._rebuilt(size=size, compressed=compressed, offset=offset)

    def _rebuilt(self, *, size: int, compressed: int, offset: int) -> bytes:
        large = [value for value in (size, compressed, offset) if value >= MAX32]
        self.fields[_SIZE], self.fields[_COMPRESSED], self.fields[_OFFSET] = (
            min(value, MAX32) for value in (size, compressed, offset)
        )
        self._extra = _without(self._extra, ZIP64_EXTRA)
        if large:
            self._extra = struct.pack(f"<2H{len(large)}Q", ZIP64_EXTRA, 8 * len(large), *large) + self._extra
            self.fields[_VERSION] = max(self.fields[_VERSION], ZIP64_VERSION)
        return self.joined()

    def unwrap(self) -> None:
        """Take the first folder off the name."""
        self._name, self._extra = _unwrapped(self._name, self._extra)
        self.fields[_NAME_LENGTH] = len(self._name)

    def joined(self) -> bytes:
        """Return the record."""
        self.fields[_EXTRA_LENGTH] = len(self._extra)
        return WHOLE_CENTRAL.pack(*self.fields) + self._name + self._extra + self._comment


def _without(extra: bytes, kind: int) -> bytes:
    """Return extra fields without those of one kind."""
    return b"".join(part for each, part in extra_fields(extra) if each != kind)


def _ending(entries: int, start: int, length: int, comment: bytes) -> bytes:
    end = b""
    if entries >= MAX16 or start >= MAX32 or length >= MAX32:
        whole = (ZIP64_VERSION, ZIP64_VERSION, 0, 0, entries, entries, length, start)
        end = END64.pack(END64_SIGNATURE, END64.size - 12, *whole)
        end += LOCATOR.pack(LOCATOR_SIGNATURE, 0, start + length, 1)
    few = min(entries, MAX16)
    short = (0, 0, few, few, min(length, MAX32), min(start, MAX32), len(comment))
    return end + END.pack(END_SIGNATURE, *short) + comment
