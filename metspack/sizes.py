"""Sizes, counts and byte ranges as people write and read them, of IPs, LOBs and texts; pure."""

from __future__ import annotations

import codecs
import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from operator import itemgetter
from typing import Self

from metspack.errors import ConfigError

_RANGE = re.compile(r"([0-9]{0,18})-([0-9]{0,18})", re.ASCII)
_HINT = "Write 2100-3599 (first and last byte, from 0), 2100- (to the end) or -500 (the last 500 bytes)."


@dataclass(frozen=True, slots=True, kw_only=True)
class ByteRange:
    """A range of bytes from ``first`` to ``last`` inclusive; one of the two may be None.

    ``first`` None: the last ``last`` bytes. ``last`` None: up to the end.
    """

    first: int | None
    last: int | None

    def __str__(self) -> str:
        return "-".join("" if each is None else str(each) for each in (self.first, self.last))

    def within(self, size: int) -> range:
        """Return the offsets of the range in a LOB of ``size`` bytes.

        They are empty only for all of an empty LOB. Raises ``ConfigError`` with the size for offsets outside.
        """
        if not size and self.first == 0 and self.last is None:
            return range(0)
        start = size - (self.last or 0) if self.first is None else self.first
        found = range(start, size if self.first is None or self.last is None else self.last + 1)
        if found.start < 0 or found.stop > size or not found:
            last = f"the last byte is {size - 1:,}" if size else "it is empty"
            raise ConfigError(
                f"the range {self} lies outside the LOB, which has {size:,} bytes ({last})", hint=_HINT
            )
        return found


def parsed_range(text: str) -> ByteRange:
    """Return the range that a text stands for; raises ``ConfigError`` for any other text.

    ``2100-3599`` is from the first to the last byte, inclusive, counted from 0; ``2100-`` goes to the end;
    ``-500`` is the last 500 bytes (RFC 9110 §14.1.2, for one range).
    """
    if (found := _RANGE.fullmatch(text.strip())) is None or not (found[1] or found[2]):
        raise ConfigError(f"{text[:100]!r} is not a range of bytes", hint=_HINT)
    first, last = (int(each) if each else None for each in found.groups())
    if first is None and last == 0:
        raise ConfigError(f"the range {text[:100]!r} is empty", hint=_HINT)
    if first is not None and last is not None and last < first:
        raise ConfigError(f"the range {text[:100]!r} ends before it begins", hint=_HINT)
    return ByteRange(first=first, last=last)


_BOUNDS = (0, 1, *(10**power for power in range(3, 13)))
_DECIMAL = ("B", "kB", "MB", "GB", "TB", "PB", "EB")


@dataclass(frozen=True, slots=True, kw_only=True)
class SizeClass:
    """The LOBs of ``least`` to fewer than ``below`` bytes (None: no bound), and their bytes."""

    least: int
    below: int | None
    lobs: int
    bytes: int

    @property
    def label(self) -> str:
        """The class in words: ``empty``, ``below 1 kB``, ``10 kB to 100 kB``, ``1 TB and more``."""
        if self.below == 1:
            return "empty"
        if self.below is None:
            return f"{rounded(self.least)} and more"
        if self.least == 1:
            return f"below {rounded(self.below)}"
        return f"{rounded(self.least)} to {rounded(self.below)}"


class Histogram:
    """Counts of sizes by class: empty, below 1 kB, then by powers of ten, 1 TB and more."""

    def __init__(self) -> None:
        self._counts = [[0, 0] for _ in _BOUNDS]  # LOBs and their bytes

    def add_all(self, sizes: Iterable[int]) -> None:
        """Count sizes."""
        for size in sizes:
            counts = self._counts[bisect_right(_BOUNDS, size) - 1]
            counts[0] += 1
            counts[1] += size

    def classes(self) -> Iterator[SizeClass]:
        """Yield the classes from the first that has any to the last one, those between included."""
        used = [number for number, (lobs, _) in enumerate(self._counts) if lobs]
        for number in range(used[0], used[-1] + 1) if used else ():
            lobs, size = self._counts[number]
            below = _BOUNDS[number + 1] if number + 1 < len(_BOUNDS) else None
            yield SizeClass(least=_BOUNDS[number], below=below, lobs=lobs, bytes=size)


def rounded(number: int) -> str:
    """Return a size in its largest decimal unit, rounded down: ``4 GB``."""
    power = (len(str(number)) - 1) // 3
    return f"{number // 1000**power} {_DECIMAL[power]}"


_UNITS = {
    "": 1,
    "B": 1,
    **{f"{letter}B": 1000 ** (n + 1) for n, letter in enumerate("KMGTPE")},
    **{f"{letter}IB": 1024 ** (n + 1) for n, letter in enumerate("KMGTPE")},
}
_WHOLE = "[0-9][0-9_,]{0,39}"  # more digits than any limit needs, fewer than int() refuses
_SIZE = re.compile(rf"({_WHOLE})(?:\.([0-9]{{1,40}}))?\s*([A-Za-z]*)")


def size(text: str, option: str) -> int | None:
    """Return the bytes of ``45000``, ``45kB``, ``4GB`` (decimal) or ``4GiB`` (binary).

    Returns None for ``none``. Raises ``ConfigError`` naming the option for any other text and for less than
    one byte.
    """
    if text.strip().lower() == "none":
        return None
    found = _SIZE.fullmatch(text.strip())
    unit = _UNITS.get(found[3].upper()) if found else None
    if found is None or unit is None:
        raise ConfigError(
            f"{option} {text!r} is not a size",
            hint="Write bytes as 45000 or with a unit: 45kB, 4GB (decimal), 4GiB (binary), or none.",
        )
    whole, fraction = int(re.sub("[_,]", "", found[1])), found[2] or ""
    number = whole * unit + int(fraction or 0) * unit // 10 ** len(fraction)
    return _at_least_one(number, text, option, "byte")


def count(text: str, option: str) -> int | None:
    """Return a number of files, None for ``none``; raises ``ConfigError`` as ``size`` does."""
    if text.strip().lower() == "none":
        return None
    if not re.fullmatch(_WHOLE, text.strip()):
        raise ConfigError(
            f"{option} {text!r} is not a number of files", hint="Write a whole number such as 10000, or none."
        )
    return _at_least_one(int(re.sub("[_,]", "", text)), text, option, "file")


def _at_least_one(number: int, text: str, option: str, what: str) -> int:
    if number < 1:
        raise ConfigError(
            f"{option} {text} is too small",
            hint=f"A segment holds at least one {what}; none means no limit.",
        )
    return number


def shown(number: int) -> str:
    """Return a size for reading: exact bytes, and from 10,000 on a rounded size in brackets."""
    exact = f"{number:,} bytes" if number != 1 else "1 byte"
    if number < 10_000:  # noqa: PLR2004 -- below this the exact figure is as easy to read
        return exact
    power = 1
    # What would be rounded to 1000.0 takes the next unit.
    while power < len(_DECIMAL) - 1 and number / 1000**power >= 999.95:  # noqa: PLR2004
        power += 1
    return f"{exact} ({number / 1000**power:.1f} {_DECIMAL[power]})"


def counted(number: int, singular: str, plural: str | None = None) -> str:
    """Return a number with its noun: ``1 file``, ``2,604 files``."""
    return f"{number:,} {singular if number == 1 else plural or f'{singular}s'}"


@dataclass(frozen=True, slots=True, kw_only=True)
class HandedOver:
    """The sizes of a package's parent and of the largest other IP.

    A size is that of all files of a folder, or of a packed IP's file. Paths are relative to the target. A
    parent without a separate folder has the path "."; all files outside the other IPs belong to it, manifests
    included. ``path`` is the other's, "" without one. ``is_estimated``: of a plan, not of a package.
    """

    path: str
    bytes: int
    parent_path: str
    parent_bytes: int
    is_estimated: bool = False

    @classmethod
    def of(
        cls, others: Iterable[tuple[str, int]], parent: str, bytes_: int, *, is_estimated: bool = False
    ) -> Self:
        """Return the sizes of a parent and of the largest of ``others``, given by path and size."""
        path, most = max(others, key=itemgetter(1), default=("", 0))
        return cls(
            path=path,
            bytes=most,
            parent_path=parent or ".",
            parent_bytes=bytes_,
            is_estimated=is_estimated,
        )

    def sentence(self) -> str:
        """Return both sizes in one line.

        ``Largest to hand over: Northwind_lobseg_0.zip, 935,737 bytes; the parent: 177,238 bytes``
        """
        about = "about " if self.is_estimated else ""
        sizes = [("the parent", self.parent_bytes), *([(self.path, self.bytes)] if self.path else [])]
        sizes.sort(key=itemgetter(1), reverse=True)
        (largest, most), *rest = ((name, f"{about}{counted(size, 'byte')}") for name, size in sizes)
        begun = "Largest to hand over (estimated)" if self.is_estimated else "Largest to hand over"
        return "; ".join((f"{begun}: {largest}, {most}", *(f"{name}: {size}" for name, size in rest)))

    def document(self) -> dict[str, object]:
        """Return both sizes as JSON has them."""
        parent = {"path": self.parent_path, "bytes": self.parent_bytes}
        child = {"path": self.path, "bytes": self.bytes} if self.path else None
        is_child = child is not None and self.bytes > self.parent_bytes
        return {
            "is_estimated": self.is_estimated,
            "largest": child if is_child else parent,
            "largest_child": child,
            "parent": parent,
        }


# --- Length of a text -----------------------------------------------------------------------------------
#
# ``length`` is bytes for binary and characters for text (SIARD 2.2 T_6.2-1), but real archives count bytes,
# code points or UTF-16 units of text; only counting all three shows which it was.

_ALL_BUT_FOUR_BYTE_LEADS = bytes((*range(0xF0), *range(0xF5, 0x100)))
_UTF16 = {codecs.BOM_UTF16_LE: "utf-16-le", codecs.BOM_UTF16_BE: "utf-16-be"}
_MARK = 2  # bytes of a byte order mark, and of a UTF-16 unit
_LONGEST_CHARACTER = 4  # bytes of a code point, in UTF-8 as in UTF-16


class TextLength:
    """Counts of the bytes, and for text the code points and UTF-16 units, of a stream of blocks.

    Text is UTF-8, or UTF-16 with a byte order mark; a length may include this mark or not.
    """

    __slots__ = ("_decoder", "_head", "_pairs", "bytes", "characters", "is_utf16")

    def __init__(self) -> None:
        self.bytes = 0
        self._head = b""
        self._begin("utf-8")

    def _begin(self, codec: str) -> None:
        self.is_utf16 = codec != "utf-8"
        self.characters = 0
        self._pairs = 0
        # Databases that count UTF-16 units keep half of a surrogate pair as well.
        errors = "surrogatepass" if self.is_utf16 else "strict"
        self._decoder: codecs.IncrementalDecoder | None = codecs.getincrementaldecoder(codec)(errors)

    @property
    def is_text(self) -> bool:
        """True when all bytes so far are text, to the end of a character."""
        return self._decoder is not None and not self._decoder.getstate()[0]

    @property
    def utf16_units(self) -> int:
        """The number of UTF-16 units of the text."""
        return self.bytes // _MARK if self.is_utf16 else self.characters + self._pairs

    def update(self, block: bytes) -> None:
        """Take the next bytes; a character, or the mark, may be cut between two blocks."""
        begun, self.bytes = self.bytes, self.bytes + len(block)
        if begun < _MARK:
            head = self._head + block
            self._head = head[:_MARK]
            if (codec := _UTF16.get(self._head)) is not None:
                self._begin(codec)
                block = head
        if self._decoder is None:
            return
        try:
            self.characters += len(self._decoder.decode(block))
        except UnicodeDecodeError:
            self._decoder = None
            return
        if not self.is_utf16:
            # Only a code point beyond U+FFFF, four bytes in UTF-8, takes two UTF-16 units.
            self._pairs += len(block.translate(None, _ALL_BUT_FOUR_BYTE_LEADS))

    def unit(self, length: int) -> str | None:
        """Return the unit in which the stream has this length, or None without one."""
        if length == self.bytes:
            return "bytes"
        lengths = (length, length + 1) if self.is_utf16 else (length,)
        if not self.is_text:
            return None
        if self.characters in lengths:
            return "characters"
        return "UTF-16 units" if self.utf16_units in lengths else None

    def __str__(self) -> str:
        if not self.is_text:
            return f"{self.bytes:,} bytes"
        return f"{self.bytes:,} bytes, {self.characters:,} characters, {self.utf16_units:,} UTF-16 units"


def is_possible(length: int, size: int) -> bool:
    """Return whether a file of ``size`` bytes can have a length in some unit.

    A character takes up to four bytes; a mark of UTF-16 that is not counted takes two more.
    """
    longest = length * _LONGEST_CHARACTER
    return length <= size <= longest or size == longest + _MARK


def impossible_sql(length: str, size: str) -> str:
    """Return the SQL condition that ``is_possible`` is false of two columns."""
    longest = f"{length} * {_LONGEST_CHARACTER}"
    return f"({length} > {size} OR ({longest} < {size} AND {size} <> {longest} + {_MARK}))"
