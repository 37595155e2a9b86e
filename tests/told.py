"""What a progress is told."""

from __future__ import annotations


class Told:
    """What was told of each stage: its total, and the sum of the amounts."""

    def __init__(self) -> None:
        self.stages: dict[str, tuple[int | None, int]] = {}
        self._name = ""

    def stage(self, name: str, total: int | None) -> None:
        self._name = name
        self.stages[name] = (total, 0)

    def advance(self, amount: int) -> None:
        total, done = self.stages[self._name]
        self.stages[self._name] = (total, done + amount)
