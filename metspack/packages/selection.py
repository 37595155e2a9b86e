"""Select a package's LOBs by their ids, for restore, list and cat."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """Selected LOBs, by whole ids or beginnings of ids up to a dot.

    ``s0.t2.c4.r14`` is one LOB, ``s0.t2.c4`` a column with its nested fields, ``s0.t2`` a table, ``s0`` a
    schema. An empty selection takes every LOB.
    """

    only: tuple[str, ...] = ()

    def takes(self, lob: str) -> bool:
        """Return whether the LOB with an id is selected."""
        return not self.only or any(_holds(each, lob) for each in self.only)

    def meets(self, table: str) -> bool:
        """Return whether LOBs of a table (``s0.t2``) may be selected."""
        return self.takes(table) or any(_holds(table, each) for each in self.only)

    def met(self, lob: str) -> tuple[str, ...]:
        """Return those of its ids that select the LOB with an id."""
        return tuple(each for each in self.only if _holds(each, lob))


def _holds(start: str, lob: str) -> bool:
    return lob == start or lob.startswith(f"{start}.")
