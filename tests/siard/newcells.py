"""New values of cells, given one by one."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from metspack.model import CellRun, Digest, LobCell
from metspack.siard.edits import CellValues, NewCells


class NewCell(NamedTuple):
    """The new ``file`` of a cell, and its new digest, None for the old one."""

    file: str
    digest: Digest | None = None


def cell_values(value: Callable[[LobCell], NewCell | None]) -> CellValues:
    """Return new values by a function of one cell, whose result is None for a cell that stays."""

    def values(run: CellRun) -> NewCells | None:
        cells = list(run.cells())
        new = [value(cell) for cell in cells]
        if not any(new):
            return None
        made = [each or NewCell(cell.file) for cell, each in zip(cells, new, strict=True)]
        return [each.file for each in made], [each.digest for each in made]

    return values
