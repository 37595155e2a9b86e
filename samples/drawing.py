"""Draw pictures and write them as PNG with whole numbers only, so that every machine draws the same bytes.

zlib is not used: its versions and replacements compress differently. The deflate stream is made
here, with the fixed Huffman codes of RFC 1951 §3.2.6.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator, Sequence
from math import isqrt

SAMPLES = 6
"""Samples per unit of the drawing and direction."""

PIXEL = 3
"""Samples per pixel and direction; their average makes smooth edges."""


class Canvas:
    """A picture of flat colours, given as ``0xRGB``.

    Coordinates are units of two pixels from the upper left corner.
    """

    def __init__(self, width: int, height: int, colour: int) -> None:
        self.width = width
        self.height = height
        self._colours: list[int] = []
        self._averages: dict[tuple[int, ...], int] = {}
        self._rows = [bytearray(width * SAMPLES) for _ in range(height * SAMPLES)]
        self.rectangle(0, 0, width, height, colour)

    def _span(self, row: int, start: int, stop: int, colour: int) -> None:
        if not 0 <= row < len(self._rows):
            return
        if colour not in self._colours:
            self._colours.append(colour)
        start, stop = max(start, 0), min(stop, self.width * SAMPLES)
        if start < stop:
            self._rows[row][start:stop] = bytes([self._colours.index(colour)]) * (stop - start)

    def rectangle(self, left: int, top: int, right: int, bottom: int, colour: int) -> None:
        """Fill a rectangle; right and bottom are outside it."""
        for row in range(top * SAMPLES, bottom * SAMPLES):
            self._span(row, left * SAMPLES, right * SAMPLES, colour)

    def shade(self, top: int, bottom: int, upper: int, lower: int) -> None:
        """Fill the whole width from one colour at ``top`` to another at ``bottom``."""
        steps = 6
        for step in range(steps):
            colour = 0
            for shift in (8, 4, 0):
                first, last = upper >> shift & 15, lower >> shift & 15
                colour |= first + ((last - first) * step + (steps - 1) // 2) // (steps - 1) << shift
            start = top + (bottom - top) * step // steps
            self.rectangle(0, start, self.width, top + (bottom - top) * (step + 1) // steps, colour)

    def ellipse(self, x: int, y: int, across: int, down: int, colour: int) -> None:
        """Fill an ellipse around a point; ``across`` and ``down`` are its half axes."""
        self._ellipse(x * SAMPLES, y * SAMPLES, across * SAMPLES, down * SAMPLES, colour)

    def _ellipse(self, x: int, y: int, across: int, down: int, colour: int) -> None:
        for offset in range(-down, down):
            # Twice the distance from the centre to the middle of the sample row, to stay whole.
            twice = 2 * offset + 1
            half = isqrt((4 * down * down - twice * twice) * across * across) // (2 * down)
            self._span(y + offset, x - half, x + half, colour)

    def dome(self, x: int, y: int, across: int, up: int, colour: int) -> None:
        """Fill the upper half of an ellipse standing on ``y``."""
        for offset in range(-up * SAMPLES, 0):
            twice = 2 * offset + 1
            half = isqrt((4 * up * up * SAMPLES**2 - twice * twice) * across * across) // (2 * up)
            self._span(y * SAMPLES + offset, x * SAMPLES - half, x * SAMPLES + half, colour)

    def polygon(self, points: Sequence[tuple[int, int]], colour: int) -> None:
        """Fill a polygon; where it crosses itself, every other part stays empty."""
        corners = [(x * SAMPLES, y * SAMPLES) for x, y in points]
        edges = list(zip(corners, corners[1:] + corners[:1], strict=True))
        for row in range(min(y for _, y in corners), max(y for _, y in corners)):
            crossings = sorted(
                x1 + (x2 - x1) * (2 * (row - y1) + 1) // (2 * (y2 - y1))
                for (x1, y1), (x2, y2) in edges
                if min(y1, y2) <= row < max(y1, y2)
            )
            for start, stop in zip(crossings[::2], crossings[1::2], strict=True):
                self._span(row, start, stop, colour)

    def stroke(
        self, points: tuple[tuple[int, int], tuple[int, int], tuple[int, int]], width: int, colour: int
    ) -> None:
        """Draw a bow with round ends from the first point towards the second to the third.

        ``width`` is in half units.
        """
        (x1, y1), (x2, y2), (x3, y3) = points
        steps = (abs(x2 - x1) + abs(y2 - y1) + abs(x3 - x2) + abs(y3 - y2)) * 2 + 1
        for i in range(steps + 1):
            before, between, after = (steps - i) ** 2, 2 * i * (steps - i), i * i
            x = (before * x1 + between * x2 + after * x3) * SAMPLES // steps**2
            y = (before * y1 + between * y2 + after * y3) * SAMPLES // steps**2
            self._ellipse(x, y, width * SAMPLES // 4, width * SAMPLES // 4, colour)

    def line(self, start: tuple[int, int], end: tuple[int, int], width: int, colour: int) -> None:
        """Draw a straight line with round ends; ``width`` is in half units."""
        between = ((start[0] + end[0]) // 2, (start[1] + end[1]) // 2)
        self.stroke((start, between, end), width, colour)

    def _pixels(self) -> Iterator[list[int]]:
        """Yield the rows of pixels as ``0xRGB``, each the average of its samples."""
        for top in range(0, len(self._rows), PIXEL):
            columns = (row[left::PIXEL] for row in self._rows[top : top + PIXEL] for left in range(PIXEL))
            yield list(map(self._average, zip(*columns, strict=True)))

    def _average(self, samples: tuple[int, ...]) -> int:
        if samples not in self._averages:
            colours = [self._colours[index] for index in samples]
            self._averages[samples] = sum(
                (sum(colour >> shift & 15 for colour in colours) + len(colours) // 2) // len(colours) << shift
                for shift in (8, 4, 0)
            )
        return self._averages[samples]

    def png(self, size: int, title: str) -> bytes:
        """Return the picture as a PNG of exactly ``size`` bytes; a chunk that readers ignore fills it up."""
        rows = list(self._pixels())
        palette = sorted({colour for row in rows for colour in row})
        if len(palette) > 256:
            raise ValueError(f"{title} has {len(palette)} colours; a palette holds 256")
        numbers = {colour: number for number, colour in enumerate(palette)}
        lines = b"".join(b"\0" + bytes(numbers[colour] for colour in row) for row in rows)
        entries = bytes((colour >> shift & 15) * 17 for colour in palette for shift in (8, 4, 0))
        head = (
            b"\x89PNG\r\n\x1a\n"
            + _chunk(b"IHDR", struct.pack(">2I5B", len(rows[0]), len(rows), 8, 3, 0, 0, 0))
            + _chunk(b"PLTE", entries)
            + _chunk(b"tEXt", b"Title\0" + title.encode("latin-1"))
        )
        body = _chunk(b"IDAT", compressed(lines))
        tail = _chunk(b"IEND", b"")
        # "ruFf": ancillary, private, safe to copy (PNG §5.4).
        room = size - len(head) - len(body) - len(tail) - 12
        if room < 0:
            raise ValueError(f"{title} does not fit: {-room} bytes above {size}")
        return head + _chunk(b"ruFf", bytes(room)) + body + tail


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


class _Bits:
    """Bits into bytes, the least significant first (RFC 1951 §3.1.1)."""

    def __init__(self) -> None:
        self._bytes = bytearray()
        self._held = 0
        self._count = 0

    def put(self, value: int, count: int) -> None:
        self._held |= value << self._count
        self._count += count
        while self._count >= 8:
            self._bytes.append(self._held & 255)
            self._held >>= 8
            self._count -= 8

    def put_code(self, code: int, count: int) -> None:
        self.put(int(f"{code:0{count}b}"[::-1], 2), count)

    def done(self) -> bytes:
        self.put(0, -self._count % 8)
        return bytes(self._bytes)


def _symbol(bits: _Bits, symbol: int) -> None:
    """Write a literal or length symbol in the fixed code (RFC 1951 §3.2.6)."""
    if symbol < 144:
        bits.put_code(0x30 + symbol, 8)
    elif symbol < 256:
        bits.put_code(0x190 + symbol - 144, 9)
    elif symbol < 280:
        bits.put_code(symbol - 256, 7)
    else:
        bits.put_code(0xC0 + symbol - 280, 8)


def _ranges(first: int, codes: int, per_extra: int, start: int) -> list[tuple[int, int, int]]:
    """Return the lowest value, the code and the number of extra bits of a table in RFC 1951 §3.2.5."""
    table = []
    value = start
    for code in range(codes):
        extra = max(0, code // per_extra - 1)
        table.append((value, first + code, extra))
        value += 1 << extra
    return table


_LENGTHS = [*_ranges(257, 28, 4, 3), (258, 285, 0)]
_DISTANCES = _ranges(0, 30, 2, 1)
_WINDOW = 32_768
_LONGEST = 258
_TRIES = 96


def _coded(table: list[tuple[int, int, int]], value: int) -> tuple[int, int, int]:
    low, code, extra = max(entry for entry in table if entry[0] <= value)
    return code, value - low, extra


def _match(data: bytes, at: int, candidates: list[int]) -> tuple[int, int]:
    """Return length and distance of the longest earlier run of the bytes at ``at``, (0, 0) when none."""
    best, where = 0, 0
    limit = min(_LONGEST, len(data) - at)
    for candidate in reversed(candidates[-_TRIES:]):
        if at - candidate > _WINDOW or best == limit:
            break
        if data[candidate : candidate + best + 1] != data[at : at + best + 1]:
            continue
        length = best + 1
        while length < limit and data[candidate + length] == data[at + length]:
            length += 1
        best, where = length, at - candidate
    return best, where


def compressed(data: bytes) -> bytes:
    """Return a zlib stream (RFC 1950) of one deflate block with the fixed codes."""
    bits = _Bits()
    bits.put(1, 1)
    bits.put(1, 2)
    seen: dict[bytes, list[int]] = {}
    at = 0
    while at < len(data):
        length, distance = _match(data, at, seen.get(data[at : at + 3], []))
        if length >= 3:
            code, rest, extra = _coded(_LENGTHS, length)
            _symbol(bits, code)
            bits.put(rest, extra)
            code, rest, extra = _coded(_DISTANCES, distance)
            bits.put_code(code, 5)
            bits.put(rest, extra)
        else:
            length = 1
            _symbol(bits, data[at])
        for position in range(at, at + length):
            seen.setdefault(data[position : position + 3], []).append(position)
        at += length
    _symbol(bits, 256)
    return b"\x78\x01" + bits.done() + struct.pack(">I", zlib.adler32(data))
