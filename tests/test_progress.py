"""Pace and stages of long work: what is told of time is told when it is sound."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metspack.progress import LateStage, Pace, Silent, StageNumbers, begin_lobs
from tests.tables import tabled


class Recorded:
    """An observer that records its calls."""

    def __init__(self) -> None:
        self.calls: list[tuple[object, ...]] = []

    def stage(self, name: str, total: int | None) -> None:
        self.calls.append(("stage", name, total))

    def advance(self, amount: int) -> None:
        self.calls.append(("advance", amount))


class RecordedLobs(Recorded):
    """One that wants to know of LOBs, too."""

    def expect_lobs(self, count: int) -> None:
        self.calls.append(("lobs", count))


def test_a_steady_pace_tells_what_is_left() -> None:
    pace = Pace(1_000, 0.0)
    pace.lobs = 50
    for second in range(1, 21):
        pace.add(10, float(second))
        left = pace.left(second)
        assert left is None if second < Pace.SOUND else left == pytest.approx((1_000 - 10 * second) / 10)
    assert (pace.percent(), pace.lob_rate(20), pace.elapsed(20)) == (20, 0, 20)
    assert pace.rate(20) == pytest.approx(10)


def test_a_pace_that_changes_tells_nothing_until_it_is_steady() -> None:
    """Ten seconds of reading METS at a trickle, then bytes by the hundred megabytes: no twenty minutes."""
    pace = Pace(928_000_000, 0.0)
    for second in range(1, 11):
        pace.add(70_000, float(second))
        assert pace.left(second) is None
    for second in range(11, 32):
        pace.add(44_000_000, float(second))
        left = pace.left(second)
        assert left is None or left < 40
    assert pace.left(31) is not None


@given(st.lists(st.integers(0, 10**9), max_size=60), st.integers(0, 10**10))
def test_what_is_left_is_never_less_than_nothing(amounts: list[int], total: int) -> None:
    pace = Pace(total, 0.0)
    for second, amount in enumerate(amounts, 1):
        pace.add(amount, float(second))
        left = pace.left(second)
        assert left is None or left >= 0
        assert 0 <= (pace.percent() or 0) <= 100


def test_without_a_total_only_the_rate_is_shown() -> None:
    pace = Pace(None, 0.0)
    pace.add(100, 10.0)
    assert (pace.left(10), pace.percent(), pace.lob_rate(10)) == (None, None, None)
    assert pace.rate(10) == pytest.approx(10)


@tabled
def test_stages_are_numbered(command: str, names: list[str], numbers: list[str]) -> None:
    counted = StageNumbers(command)
    found = [counted.begin(name).removeprefix("stage ") for name in names]
    assert found == numbers


def test_only_what_writes_has_something_to_remove() -> None:
    assert [
        name for name in ("build", "merge", "restore", "check", "plan", "") if StageNumbers(name).is_writing
    ] == [*("build", "merge", "restore")]


def test_a_late_stage_begins_with_its_first_bytes() -> None:
    recorded = Recorded()
    late = LateStage(recorded, "Reading METS", "Checking", lambda: 7)
    assert recorded.calls == [("stage", "Reading METS", None)]
    late.advance(3)
    late.advance(4)
    assert recorded.calls[1:] == [("stage", "Checking", 7), ("advance", 3), ("advance", 4)]


def test_an_observer_of_two_methods_is_enough() -> None:
    for recorded, calls in ((Recorded(), []), (RecordedLobs(), [("lobs", 2)])):
        begin_lobs(recorded, "Placing", 5, 2)
        assert recorded.calls == [("stage", "Placing", 5), *calls]
    begin_lobs(Silent(), "Placing", 5, 2)
    Silent().advance(1)
