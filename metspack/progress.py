"""How long work tells of itself: stages, and amounts done in them."""

from __future__ import annotations

from typing import Protocol


class Progress(Protocol):
    """Is told what is being done; shows it or not."""

    def stage(self, name: str, total: int | None) -> None:
        """Begin a stage of ``total`` bytes, None when that cannot be known."""

    def advance(self, amount: int) -> None:
        """Add bytes done in the current stage."""


class Silent:
    """Shows nothing."""

    def stage(self, name: str, total: int | None) -> None:
        """Take no notice."""

    def advance(self, amount: int) -> None:
        """Take no notice."""
