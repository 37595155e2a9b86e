"""Progress of long work: stages, and amounts done in them."""

from __future__ import annotations

from typing import Protocol


class Progress(Protocol):
    """An observer of long work, which may show how far it is."""

    def stage(self, name: str, total: int | None) -> None:
        """Begin a stage of ``total`` bytes, None when that cannot be known."""

    def advance(self, amount: int) -> None:
        """Add bytes done in the current stage."""


class Silent:
    """An observer that shows nothing."""

    def stage(self, name: str, total: int | None) -> None:
        """Ignore it."""

    def advance(self, amount: int) -> None:
        """Ignore it."""
