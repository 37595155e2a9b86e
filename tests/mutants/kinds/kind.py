"""A kind of change: its name, and the function that does it to a package at a place that chance gives."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from random import Random

from tests.mutants.package import Package


@dataclass(frozen=True)
class Change:
    """The kind of a change, its place, and whether it replaces LOBs rightly."""

    what: str
    place: str
    is_of_other_lobs: bool = False


Changing = Callable[[Package, Random], Change | None]
"""Change a package in place; None where there is no place for it."""


@dataclass(frozen=True)
class Kind:
    """A row of the table; of a larger ``weight`` more are drawn."""

    name: str
    change: Changing
    has_meaning: bool = True
    weight: int = 1
