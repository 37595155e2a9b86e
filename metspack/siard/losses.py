"""The LOBs of an archive that cannot be had, all of them: kept on disk, so that any number can be named."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any, overload

from metspack import scratch
from metspack.errors import SourceError
from metspack.siard.faults import LobUnresolved

_WHAT = "which LOBs cannot be had"


class Losses(Sequence[str]):
    """A line for each LOB that cannot be had, in the order in which they were taken; for one thread.

    ``first`` is the error of the first LOB, whose line says all; those that follow are brief.
    """

    __slots__ = ("_database", "_number", "first")

    def __init__(self, first: LobUnresolved) -> None:
        self.first = first
        self._number = 0
        self._database = scratch.opened()
        self._database.execute("CREATE TABLE lost (number INTEGER PRIMARY KEY, line TEXT)")
        self._database.execute("BEGIN")

    def take(self, error: LobUnresolved) -> None:
        """Keep what is to be said of a LOB."""
        line = error.brief if self._number else error.message
        with scratch.explained(_WHAT):
            # A name that is no text comes as a lone surrogate, which SQLite does not take.
            encoded = line.encode("utf-8", "surrogatepass")
            self._database.execute("INSERT INTO lost VALUES (?, ?)", (self._number, encoded))
        self._number += 1

    def __len__(self) -> int:
        return self._number

    def __iter__(self) -> Iterator[str]:
        for (line,) in self._database.execute("SELECT line FROM lost ORDER BY number"):
            yield _text(line)

    @overload
    def __getitem__(self, index: int) -> str: ...

    @overload
    def __getitem__(self, index: slice) -> list[str]: ...

    def __getitem__(self, index: int | slice) -> str | list[str]:
        if isinstance(index, slice):
            return [self[number] for number in range(*index.indices(len(self)))]
        number = range(len(self))[index]
        row = self._database.execute("SELECT line FROM lost WHERE number = ?", (number,)).fetchone()
        return _text(row[0])

    def __del__(self) -> None:
        self._database.close()


def _text(line: bytes) -> str:
    return line.decode("utf-8", "surrogatepass")


class LobsUnresolved(SourceError):  # noqa: N818 -- says what became of the LOBs
    """LOBs that cannot be had: all of an archive. ``details`` has a line for each when they are several."""

    def __init__(self, what: str, losses: Losses) -> None:
        number = len(losses)
        first = losses.first
        super().__init__(
            f"{what}: {first.message}" if number == 1 else f"{what}: {number:,} LOBs cannot be had",
            hint=first.hint,
        )
        if number > 1:
            self.details = losses

    def __reduce__(self) -> tuple[Any, ...]:
        # What is on disk stays in its process.
        return partial(SourceError, hint=self.hint, details=tuple(self.details)), (self.message,)
