"""How sizes spread: how many LOBs, and how many bytes of them, are of which order of magnitude; pure."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass

_BOUNDS = (0, 1, *(10**power for power in range(3, 13)))
_UNITS = ("B", "kB", "MB", "GB", "TB")


@dataclass(frozen=True, slots=True, kw_only=True)
class SizeClass:
    """LOBs of ``least`` bytes and more, fewer than ``below`` (None: no bound), and their bytes together."""

    least: int
    below: int | None
    lobs: int
    bytes: int

    @property
    def label(self) -> str:
        """The class as people say it: ``empty``, ``below 1 kB``, ``10 kB to 100 kB``, ``1 TB and more``."""
        if self.below == 1:
            return "empty"
        if self.below is None:
            return f"{_rounded(self.least)} and more"
        if self.least == 1:
            return f"below {_rounded(self.below)}"
        return f"{_rounded(self.least)} to {_rounded(self.below)}"


class Histogram:
    """Counts sizes by class: empty, below 1 kB, then by powers of ten, 1 TB and more."""

    __slots__ = ("_bytes", "_lobs")

    def __init__(self) -> None:
        self._lobs = [0] * len(_BOUNDS)
        self._bytes = [0] * len(_BOUNDS)

    def add(self, size: int) -> None:
        """Take one size."""
        number = bisect_right(_BOUNDS, size) - 1
        self._lobs[number] += 1
        self._bytes[number] += size

    def classes(self) -> Iterator[SizeClass]:
        """Yield the classes from the first that has any to the last one, those between included."""
        used = [number for number, count in enumerate(self._lobs) if count]
        for number in range(used[0], used[-1] + 1) if used else ():
            yield SizeClass(
                least=_BOUNDS[number],
                below=_BOUNDS[number + 1] if number + 1 < len(_BOUNDS) else None,
                lobs=self._lobs[number],
                bytes=self._bytes[number],
            )


def _rounded(number: int) -> str:
    power = 0
    while number >= 1000:  # noqa: PLR2004 -- a unit is a thousand of the one before
        number, power = number // 1000, power + 1
    return f"{number} {_UNITS[power]}"
