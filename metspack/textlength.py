"""Length of a text in bytes, code points and UTF-16 units; pure.

``length`` is bytes for binary and characters for text (SIARD 2.2 T_6.2-1), but real archives count
bytes, code points or UTF-16 units of text; which it was can only be told by counting all three.
"""

from __future__ import annotations

import codecs

_ALL_BUT_FOUR_BYTE_LEADS = bytes((*range(0xF0), *range(0xF5, 0x100)))
_UTF16 = {codecs.BOM_UTF16_LE: "utf-16-le", codecs.BOM_UTF16_BE: "utf-16-be"}
_MARK = 2  # bytes of a byte order mark, and of a UTF-16 unit
_LONGEST_CHARACTER = 4  # bytes of a code point, in UTF-8 as in UTF-16


class TextLength:
    """Counts of the bytes, and for text the code points and UTF-16 units, of a stream of blocks.

    Text is UTF-8, or UTF-16 where a byte order mark says so; the mark of UTF-16 may be counted or not.
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
        """Return the unit in which the stream has this length, None when there is no such unit."""
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
