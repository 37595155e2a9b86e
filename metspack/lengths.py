"""A LOB's length in every unit that archives use; pure.

``length`` is bytes for binary and characters for text (SIARD 2.2 T_6.2-1), but real archives count
bytes, code points or UTF-16 units of text; which it was can only be told by counting all three.
"""

from __future__ import annotations

_CONTINUATIONS = bytes(range(0x80, 0xC0))
_ALL_BUT_FOUR_BYTE_LEADS = bytes((*range(0xF0), *range(0xF5, 0x100)))


class Lengths:
    """Counts the bytes, and for UTF-8 text the code points and UTF-16 units, of a stream of blocks."""

    __slots__ = ("bytes", "characters", "utf16_units")

    def __init__(self) -> None:
        self.bytes = 0
        self.characters = 0
        self.utf16_units = 0

    def update(self, block: bytes) -> None:
        """Take the next bytes; a character may be cut between two blocks."""
        self.bytes += len(block)
        characters = len(block.translate(None, _CONTINUATIONS))
        self.characters += characters
        # Only a code point beyond U+FFFF, four bytes in UTF-8, takes two UTF-16 units.
        self.utf16_units += characters + len(block.translate(None, _ALL_BUT_FOUR_BYTE_LEADS))

    def unit(self, length: int) -> str | None:
        """Return the unit in which the stream has this length, None when it has it in none."""
        if length == self.bytes:
            return "bytes"
        if length == self.characters:
            return "characters"
        if length == self.utf16_units:
            return "UTF-16 units"
        return None
