"""The work of check grows with its input and no faster: counted in steps of its databases, not in seconds."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from bench.hostile_inputs import INPUTS, Hostile
from metspack import checking
from metspack.files import tempdb

SIZE = 400
FOUR = 4
STEEP = 6.0
EACH = 1_000
"""Steps of SQLite's machine between two counts."""

METS = [each for each in INPUTS if each.size == 1_000_000 and each.commands[0].startswith("check")]


@pytest.fixture
def steps(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The number of steps, by the thousand, that temporary databases have taken since it was set to 0."""
    counted = [0]
    real = tempdb.create

    def count() -> int:
        counted[0] += 1
        return 0

    def create(*arguments: object, **names: object) -> sqlite3.Connection:
        database = real(*arguments, **names)  # type: ignore[arg-type]
        database.set_progress_handler(count, EACH)
        return database

    monkeypatch.setattr(tempdb, "create", create)
    return counted


def findings(folder: Path) -> int:
    return sum(1 for _ in checking.check(folder, checking.Level.FULL, jobs=1))


@pytest.mark.parametrize("each", METS, ids=lambda each: each.name)
def test_four_times_as_much_takes_about_four_times_as_many_steps(
    tmp_path: Path, each: Hostile, steps: list[int]
) -> None:
    counts = []
    for size in (SIZE, FOUR * SIZE):
        folder = each.make(tmp_path / str(size), size)
        steps[0] = 0
        findings(folder)
        counts.append(steps[0])
    assert counts[1] <= STEEP * max(counts[0], 100)
