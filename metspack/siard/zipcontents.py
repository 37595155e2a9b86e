"""The bytes of one zip entry, from the archive's medium and the entry's extent alone."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from metspack import reading
from metspack.errors import SourceError
from metspack.media import Medium
from metspack.model import ZipExtent
from metspack.siard.zipdirectory import read, unreadable
from metspack.siard.zipformat import (
    DAMAGED,
    DEFLATED,
    DESCRIPTOR_MAX,
    LOCAL,
    MISLEADING,
    PLAIN,
    descriptor_length,
    local_header_length,
    refusal,
)

inflating: Any
"""What inflates and computes CRC-32: zlib, or isal_zlib (pip install metspack[fast]), twice as fast."""
try:
    inflating = import_module("isal.isal_zlib")
except ImportError:
    inflating = zlib

_HEADER_GUESS = 512  # most local headers, with their name and extra field, are far shorter


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """Offsets of an entry in its archive: local header, data, the data's end, and the end of it all.

    ``stop`` is behind the data descriptor when there is one, else equal to ``end_of_data``.
    """

    start: int
    data: int
    end_of_data: int
    stop: int


def contents(medium: Medium, extent: ZipExtent, *, what: str) -> Iterator[bytes]:
    """Yield an entry's bytes, inflated, in blocks of at most ``reading.CHUNK``; none when it is empty.

    ``what`` names the archive in errors. Raises SourceError when the local header or the data
    descriptor differs from the central directory, or the data does not inflate to the size and
    CRC-32 promised, neither more nor less; the last only after the last block was yielded, so
    bytes are proven when the iterator has ended.
    """
    if extent.method == PLAIN:
        end = extent.offset + extent.size
        place = Span(start=extent.offset, data=extent.offset, end_of_data=end, stop=end)
        yield from _data(medium, b"", place, what)
        return
    # Most LOBs are small: one read then gets header, data and descriptor.
    head = _head(medium, extent, reading.CHUNK, what)
    place = _span(medium, head, extent, what)
    blocks = _data(medium, head, place, what)
    if extent.method == DEFLATED:
        blocks = _inflated(blocks, extent, what)
    crc = 0
    for block in blocks:
        crc = inflating.crc32(block, crc)
        yield block
    if crc != extent.crc:
        problem = f"has CRC-32 {crc:08x}; expected {extent.crc:08x}"
        raise refusal(what, extent.name, problem, DAMAGED)


def span(medium: Medium, extent: ZipExtent, *, what: str) -> Span:
    """Return where an entry's structures lie in the archive, for copying it as it is.

    Raises SourceError when the local header or the data descriptor differs from the central
    directory, or the entry reaches into the next one.
    """
    return _span(medium, _head(medium, extent, _HEADER_GUESS, what), extent, what)


def _head(medium: Medium, extent: ZipExtent, length: int, what: str) -> bytes:
    """Return the entry's first bytes, ``length`` of them or fewer, with the whole local header."""
    room = extent.limit - extent.offset
    try:
        head = medium.pread(min(length, room), extent.offset)
    except OSError as error:
        raise unreadable(what, error, extent.offset) from error
    if len(head) < LOCAL.size:
        head = read(medium, extent.offset, LOCAL.size, what)
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
    """Yield the compressed bytes, those in ``head`` first."""
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
            # One byte more than promised is asked for, so that a bomb is noticed and never held.
            limit = min(reading.CHUNK, left + 1)
            try:
                out = inflater.decompress(rest, limit)
            except inflating.error as error:
                raise refusal(what, extent.name, f"does not inflate: {error}", DAMAGED) from None
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
