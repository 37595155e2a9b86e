"""Ranges of bytes as ``cat --range`` writes them; pure.

``2100-3599`` is from the first to the last byte, inclusive, counted from 0; ``2100-`` goes to the end;
``-500`` is the last 500 bytes (RFC 9110 §14.1.2, for one range).
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from metspack.errors import ConfigError

_RANGE = re.compile(r"([0-9]{0,18})-([0-9]{0,18})", re.ASCII)
_HINT = "Write 2100-3599 (first and last byte, from 0), 2100- (to the end) or -500 (the last 500 bytes)."


@dataclass(frozen=True, slots=True, kw_only=True)
class ByteRange:
    """A range of bytes: from ``first`` to ``last`` inclusive; one of them None as ``parsed`` has it.

    ``first`` None: the last ``last`` bytes. ``last`` None: up to the end.
    """

    first: int | None
    last: int | None

    def __str__(self) -> str:
        first = "" if self.first is None else self.first
        return f"{first}-{'' if self.last is None else self.last}"

    def within(self, size: int) -> range:
        """Return the offsets of the range in a LOB of ``size`` bytes; empty only for all of an empty LOB.

        Raises ``ConfigError`` with the size when any of it lies outside.
        """
        if not size and self.first == 0 and self.last is None:
            return range(0)
        if self.first is None:
            found = range(size - (self.last or 0), size)
        else:
            found = range(self.first, size if self.last is None else self.last + 1)
        if found.start < 0 or found.stop > size or not found:
            last = f"the last byte is {size - 1:,}" if size else "it is empty"
            raise ConfigError(
                f"the range {self} lies outside the LOB, which has {size:,} bytes ({last})", hint=_HINT
            )
        return found


def parsed(text: str) -> ByteRange:
    """Return the range that a text stands for; raises ``ConfigError`` for one that stands for none."""
    found = _RANGE.fullmatch(text.strip())
    if found is None or not (found[1] or found[2]):
        raise ConfigError(f"{text[:100]!r} is not a range of bytes", hint=_HINT)
    first, last = (int(each) if each else None for each in found.groups())
    if first is None and last == 0:
        raise ConfigError(f"the range {text[:100]!r} is empty", hint=_HINT)
    if first is not None and last is not None and last < first:
        raise ConfigError(f"the range {text[:100]!r} ends before it begins", hint=_HINT)
    return ByteRange(first=first, last=last)
