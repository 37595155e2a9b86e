"""Fixtures of what a check did, beside what it tells."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator

import pytest

from metspack.checking import segments
from metspack.files import tempdb
from metspack.model import Finding

EACH = 1_000
"""Steps of SQLite's machine between two counts."""


@pytest.fixture
def agreed(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Whether each look at segments in one go was all there was to a check."""
    found: list[bool] = []
    real = segments.told_all_the_same

    def told(findings: Iterator[Finding]) -> list[Finding] | None:
        result = real(findings)
        found.append(result is not None)
        return result

    monkeypatch.setattr(segments, "told_all_the_same", told)
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
