"""The stages of a progress, as an observer sees them."""

from __future__ import annotations


class RecordedStages:
    """Each stage by name, with its total and the sum of the amounts."""

    def __init__(self) -> None:
        self.stages: dict[str, tuple[int | None, int]] = {}
        self._name = ""

    def stage(self, name: str, total: int | None) -> None:
        self._name = name
        self.stages[name] = (total, 0)

    def advance(self, amount: int) -> None:
        total, done = self.stages[self._name]
        self.stages[self._name] = (total, done + amount)
