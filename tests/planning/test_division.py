from collections.abc import Iterator
from itertools import islice

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metspack.errors import PlanError
from metspack.layouts import siard22
from metspack.limits import Limits
from metspack.model import ClosedBy, LobCell, LobPlace, LobRef, LobRun, PlannedSegment, ZipExtent
from metspack.planning import division
from metspack.planning.division import DEFAULT_PRESET, PRESETS, Split, slip, slip_words
from tests.laws import of_each
from tests.planning.lobruns import Slot, planned_events, run_of

# Northwind's Categories as the figure of recommendation 0.28 §5.2.1 has them.


def lob(row: int, size: int, cell: str = "c4", table: int = 2) -> LobRun:
    place = LobPlace(schema=0, table=table, cell=cell, row=row)
    one = LobRef(
        cell=LobCell(place=place, file=f"record{row}.bin", length=size, digest=None),
        size=size,
        extension="bin",
        media_type="application/octet-stream",
        extents=(
            ZipExtent(name="", offset=0, limit=0, compressed=size, size=size, crc=0, method=0, flags=0),
        ),
    )
    return LobRun.of([one])


def lobs(*sizes: int) -> Iterator[LobRun]:
    return (lob(row, size) for row, size in enumerate(sizes, start=1))


def segments(sizes: tuple[int, ...], limits: Limits) -> list[tuple[int, int, ClosedBy]]:
    events = planned_events(lobs(*sizes), limits)
    return [(each.files, each.bytes, each.closed_by) for each in events if isinstance(each, PlannedSegment)]


def test_more_segments_than_a_parent_names_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(division, "PARENT_LIMIT", 2)
    columns = [lob(1, 1, "c1"), lob(1, 1, "c2"), lob(2, 1, "c1")]
    events = planned_events(iter(columns), Limits(files=1), layout=siard22.LAYOUT)
    with pytest.raises(PlanError, match="more than 2 segments") as refused:
        list(events)
    assert "--max-files" in refused.value.hint
    assert len(segments((1, 1), Limits(files=1))) == 2


def test_a_lob_over_the_limit_is_refused_by_name_with_size_and_limit() -> None:
    events = planned_events(lobs(1, 45_001), Limits(bytes=45_000))
    assert isinstance(next(events), Slot)
    with pytest.raises(PlanError) as caught:
        next(events)
    assert caught.value.message == ("LOB s0.t2.c4.r2 has 45,001 bytes, more than a segment may hold (45,000)")
    assert (
        caught.value.hint == "Raise the byte limit to 45001 or more (--max-bytes), or split it: --split fill."
    )


def test_a_slot_is_given_before_the_next_lob_is_requested() -> None:
    requested = []

    def endless() -> Iterator[LobRun]:
        row = 0
        while True:
            row += 1
            requested.append(row)
            yield lob(row, 1)

    events = planned_events(endless(), Limits(files=3))
    assert [type(each) for each in islice(events, 9)] == [Slot, Slot, Slot, PlannedSegment] * 2 + [Slot]
    assert requested == [1, 2, 3, 4, 5, 6, 7]


def test_the_default_preset_is_the_recommendations() -> None:
    assert PRESETS[DEFAULT_PRESET] == Limits(files=100_000, bytes=4_000_000_000)


@given(
    st.lists(st.lists(st.integers(0, 12), min_size=1, max_size=9), max_size=5),
    st.none() | st.integers(1, 5),
    st.none() | st.integers(1, 20),
    st.sampled_from([Split.FILL, Split.SEPARATE]),
    st.lists(st.booleans(), min_size=5, max_size=5),
)
def test_lobs_that_come_together_lie_where_they_lie_one_by_one(
    runs: list[list[int]], files: int | None, size: int | None, split: Split, apart: list[bool]
) -> None:
    limits = Limits(files=files, bytes=size)
    found = [
        run_of(range(100 * number + 1, 100 * number + 1 + len(sizes)), sizes)
        for number, sizes in enumerate(runs)
    ]
    mixed: list[LobRun] = []
    for run, is_apart in zip(found, apart, strict=False):
        mixed += singly(run) if is_apart else [run]
    together: list[Slot | PlannedSegment] = []
    for event in planned_events(mixed, limits, split=split):
        if isinstance(event, Slot):
            together += (event._replace(run=each) for each in singly(event.run))
        else:
            together.append(event)
    one_by_one = (each for run in found for each in singly(run))
    assert together == list(planned_events(one_by_one, limits, split=split))


def singly(run: LobRun) -> list[LobRun]:
    return [run[number : number + 1] for number in range(len(run))]


def test_lobs_that_come_together_stay_together_where_one_fills_a_segment() -> None:
    events = list(planned_events([run_of([5, 6], [10, 2])], Limits(bytes=10)))
    slots = [each for each in events if not isinstance(each, PlannedSegment)]
    assert [(len(each.run), each.segment) for each in slots] == [(1, 0), (1, 1)]


@pytest.mark.parametrize("limit", [None, 100, 4_000_000_000])
def test_a_limit_that_can_be_meant_is_not_reported(limit: int | None) -> None:
    assert not slip(Limits(bytes=limit))


@pytest.mark.parametrize(("limit", "allowed"), [(1, "1 byte"), (40, "40 bytes")])
def test_a_limit_without_its_unit_is_reported_at_once(limit: int, allowed: str) -> None:
    assert slip(Limits(bytes=limit)) == (
        f"--max-bytes {limit} allows {allowed} in a segment; if {limit}GB was meant, stop here and write it "
        "with its unit"
    )


ONE_FILE = "--max-files is 1"


@of_each(
    [
        (Limits(files=1), (8, 1, 8), ONE_FILE),
        (Limits(files=1), (7, 1, 7), None),
        (Limits(files=1), (8, 8, 8), None),
        (Limits(files=1), (8, 1, 15), ONE_FILE),
        (Limits(files=1), (8, 1, 16), None),
        (Limits(bytes=10**9), (8, 1, 8), None),
        (Limits(bytes=10**9 - 1), (8, 1, 8), "--max-bytes is 999,999,999 bytes"),
        (Limits(bytes=100), (8, 1, 8), "--max-bytes is 100 bytes"),
        (Limits(bytes=4), (200, 1, 8), "--max-bytes is 4 bytes"),
        (Limits(files=9, bytes=4_000), (20, 1, 8), "--max-bytes is 4,000 bytes"),
        (Limits(bytes=4_000_000_000), (12, 1, 8), None),
    ]
)
def test_limits_that_leave_too_few_lobs_in_a_segment_are_reported(
    limits: Limits, divided: tuple[int, int, int], words: str | None
) -> None:
    segments, _, lobs = divided
    begin = f"{lobs} LOBs in {segments} segments, fewer than two in each on average: "
    assert slip_words(limits, *divided) == (() if words is None else (f"{begin}{words}",))
