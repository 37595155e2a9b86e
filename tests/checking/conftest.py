"""Fixtures of what a check did, beside what it tells."""

from __future__ import annotations

import sqlite3

import pytest

from metspack.checking import segments
from metspack.files import tempdb

EACH = 1_000
"""Steps of SQLite's machine between two counts."""


@pytest.fixture
def agreed(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Whether in each check that held files of segments these were held to its end."""
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
