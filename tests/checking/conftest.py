"""Fixtures of what a check did, beside what it tells."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from metspack.checking import segments
from metspack.model import Finding


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
