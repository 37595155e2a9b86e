"""A LOB's length in every unit that archives use; pure.

``length`` is bytes for binary and characters for text (SIARD 2.2 T_6.2-1), but real archives count
bytes, code points or UTF-16 units of text; which it was can only be told by counting all three.
"""

from __future__ import annotations

import codecs

_CONTINUATIONS = bytes(range(0x80, 0xC0))
_ALL_BUT_FOUR_BYTE_LEADS = bytes((*range(0xF0), *range(0xF5, 0x100)))
_ALL_BUT_SECOND_SURROGATES = bytes((*range(0xDC), *range(0xE0, 0x100)))
_MARKS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_UNIT = 2  # bytes of a UTF-16 unit


class Lengths:
    """Counts the bytes, and for text the code points and UTF-16 units, of a stream of blocks.

    Text is UTF-8, or UTF-16 where a byte order mark says so; the mark itself may be counted or not.
    """

    __slots__ = ("_head", "_high", "bytes", "characters", "utf16_units")

    def __init__(self) -> None:
        self.bytes = 0
        self.characters = 0
        self.utf16_units = 0
        self._head = b""
        self._high: int | None = None

    @property
    def is_utf16(self) -> bool:
        """Whether the stream begins with a byte order mark of UTF-16."""
        return self._high is not None

    def update(self, block: bytes) -> None:
        """Take the next bytes; a character may be cut between two blocks."""
        begun, self.bytes = self.bytes, self.bytes + len(block)
        if begun < _UNIT:  # a mark may be cut between two blocks as well
            self._head += block
            if self.bytes < _UNIT:
                self._count(block)
                return
            mark = self._head[:_UNIT]
            if mark in _MARKS:
                self._high = 1 if mark == codecs.BOM_UTF16_LE else 0
                self.characters = self.utf16_units = 0
                begun, block = 0, self._head
            self._head = b""
        if self._high is None:
            self._count(block)
        else:
            self._count_utf16(block, begun)

    def _count(self, block: bytes) -> None:
        characters = len(block.translate(None, _CONTINUATIONS))
        self.characters += characters
        # Only a code point beyond U+FFFF, four bytes in UTF-8, takes two UTF-16 units.
        self.utf16_units += characters + len(block.translate(None, _ALL_BUT_FOUR_BYTE_LEADS))

    def _count_utf16(self, block: bytes, begun: int) -> None:
        # A unit counts with its high byte, so that one cut between two blocks counts once.
        high = block[((self._high or 0) - begun) % _UNIT :: _UNIT]
        self.utf16_units += len(high)
        # The second unit of a pair, DC00 to DFFF, begins no code point.
        self.characters += len(high) - len(high.translate(None, _ALL_BUT_SECOND_SURROGATES))

    def unit(self, length: int) -> str | None:
        """Return the unit in which the stream has this length, None when it has it in none."""
        if length == self.bytes:
            return "bytes"
        marks = (0, 1) if self.is_utf16 else (0,)
        if any(length == self.characters - mark for mark in marks):
            return "characters"
        if any(length == self.utf16_units - mark for mark in marks):
            return "UTF-16 units"
        return None
