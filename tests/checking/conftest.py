"""Fixtures of the work of a check, and of a package."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest

from metspack.checking import segments
from metspack.files import tempdb
from tests.packages import forge

EACH = 1_000
"""Steps of SQLite's machine between two counts."""
FOUR, STEEP = 4, 6.0
Grows = Callable[[Callable[[Path, int], object], Callable[[Path], object], int], None]


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """A small good package."""
    return forge.forge(tmp_path / "package")


@pytest.fixture
def agreed(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """For each check that held files of segments: True if it held them to its end."""
    found: list[bool] = []
    real = segments.Agreement.close

    def close(agreement: segments.Agreement) -> None:
        if agreement.files:
            found.append(agreement.held == agreement.files)
        real(agreement)

    monkeypatch.setattr(segments.Agreement, "close", close)
    return found


@pytest.fixture
def steps(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The thousands of steps that temporary databases took since the value was set to 0."""
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


@pytest.fixture
def grows_evenly(steps: list[int], tmp_path: Path) -> Grows:
    """A call that compares the steps for a package with those for one four times as large."""

    def compare(make: Callable[[Path, int], object], do: Callable[[Path], object], size: int) -> None:
        counts = []
        for each in (size, FOUR * size):
            make(tmp_path / str(each), each)
            steps[0] = 0
            do(tmp_path / str(each))
            counts.append(steps[0])
        assert counts[1] <= STEEP * max(counts[0], 100), counts

    return compare
