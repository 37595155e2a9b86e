"""Assignment of LOBs to segments: which segments are placed together, as far as that is known."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metspack.planning.assignment import (
    Assignment,
    PlacedBefore,
    SegmentGroups,
    SegmentKeys,
    SegmentsOfColumn,
    column_of,
    first_place,
)
from metspack.planning.slices import WHOLE
from tests.laws import law
from tests.planning.lobruns import run_of
from tests.tables import tabled

SEGMENTS = st.lists(st.tuples(st.sampled_from("abc"), st.booleans()), max_size=30)


class WholeGroups(Iterator[list[int]]):
    """Groups by themselves, once all stretches of each have come."""

    def __init__(self, groups: SegmentGroups) -> None:
        self.groups = groups
        self.is_cut = False
        self.stop: int | None = 0

    def __next__(self) -> list[int]:
        while True:
            group, stretch, is_described = next(self.groups)
            assert is_described == (stretch == WHOLE)
            assert stretch.start == self.stop
            self.is_cut |= stretch != WHOLE
            self.stop = stretch.stop
            if stretch.is_last:
                self.stop = 0
                return group
            assert len(group) == 1


@law(200)
@given(SEGMENTS, st.lists(st.integers(0, 5), max_size=10), st.sampled_from((1, 2)))
def test_groups_are_always_the_same(begun: list[tuple[str, bool]], steps: list[int], jobs: int) -> None:
    """Segments of one container go together where each begins with a further part of a LOB.

    For several processes the others may come in stretches, which make up their slice.
    """
    assigned = Assignment()
    groups = WholeGroups(SegmentGroups(assigned, jobs))
    found: list[list[int]] = []
    expected: dict[int, list[int]] = {}
    latest: dict[str, int] = {}
    pauses = iter(steps)
    until = next(pauses, 0)
    for number, (container, is_continued) in enumerate(begun):
        assigned.keys.append(container, number)
        assigned.costs.append(1 << number % 40)
        if is_continued and container in latest:
            assigned.joined.add(number)
        else:
            latest[container] = number
        assigned.cuts[number] = list(range(1, 1 + number % 20))
        expected.setdefault(latest[container], []).append(number)
        if number >= until:
            found += groups
            until += next(pauses, 40)
            assert latest[container] not in [group[0] for group in found]
    assigned.fingerprint = "all"
    found += groups
    assert found == list(expected.values())
    assert list(groups) == []
    assert jobs > 1 or not groups.is_cut


MIB = 1 << 20


def keys_of(keys: Iterable[tuple[str, int]]) -> SegmentKeys:
    found = SegmentKeys()
    for each in keys:
        found.append(*each)
    return found


def tasks_of(cuts: Sequence[int], jobs: int, *, is_planned: bool = True) -> list[int]:
    """Return the number of tasks of each segment with so many cuts, 32 MiB apart."""
    keys = keys_of(("a", number) for number in range(len(cuts)))
    assigned = Assignment(
        keys=keys,
        cuts={number: [5] * each for number, each in enumerate(cuts) if each},
        fingerprint="all" if is_planned else "",
        costs=array("q", [(1 + each) * 32 * MIB for each in cuts]),
    )
    found = [group.numbers for group in SegmentGroups(assigned, jobs)]
    return [found.count([number]) for number in range(len(cuts) - (not is_planned))]


@tabled
def test_processes_share_the_last_segments(cuts: list[int], jobs: int, expected: list[int]) -> None:
    assert tasks_of(cuts, jobs) == expected


def test_a_few_films_cost_more_than_many_pictures() -> None:
    assigned = Assignment(
        keys=keys_of([("a", 0), ("a", 1)]),
        cuts={0: [5] * 3, 1: [5] * 3},
        fingerprint="all",
        costs=array("q", [4096 * MIB, 100 * MIB]),
    )
    assert [group.numbers for group in SegmentGroups(assigned, 2)] == [*[[0]] * 4, [1]]


def test_what_is_placed_before_the_parent_has_a_name_is_described_later() -> None:
    """Segments that share LOBs in parts wait until it has."""
    keys = keys_of(("a", number) for number in range(6))
    costs = array("q", [1, 2 << 30, *[1] * 4])
    assigned = Assignment(keys=keys, joined={3}, cuts={1: [5] * 40}, costs=costs)
    groups = SegmentGroups(assigned, 2, is_named=False)
    found = list(groups)
    assert [each.numbers for each in found] == [[0], *[[1]] * 41]
    assigned.fingerprint = "all"
    later = list(groups)
    assert [each.numbers for each in later] == [[2, 3], [4], [5]]
    assert {each.is_described for each in found} == {False}
    assert {each.is_described for each in later} == {True}


def test_while_more_are_planned_processes_share_large_segments_only() -> None:
    assert tasks_of([31, 32, 0, 9, 9], 2, is_planned=False) == [1, 33, 1, 1]


@pytest.mark.parametrize(("jobs", "segments"), [(1, 20), (2, 20), (2, 4)])
def test_what_an_earlier_run_began_in_stretches_continues_in_them(jobs: int, segments: int) -> None:
    """Keep the other segments whole, whatever the number of processes is now."""
    begun: dict[int, PlacedBefore] = {0: "in stretches", 1: "described", 2: "placed"}
    keys = keys_of(("a", number) for number in range(segments))
    assigned = Assignment(
        keys=keys,
        cuts={number: [5] * 40 for number in range(4)},
        fingerprint="all",
        costs=array("q", [1000] * 4 + [1] * 16)[:segments],
    )
    found = list(SegmentGroups(assigned, jobs, begun.get))
    assert [sum(each.numbers == [number] for each in found) for number in range(4)] == [
        41,
        1,
        1,
        1 if jobs == 1 else 41,
    ]
    assert {number for each in found if each.is_described for number in each.numbers} == {
        *range(segments)
    } - {0, 2, *({3} if jobs > 1 else ())}


def test_the_parent_names_segments_container_by_container() -> None:
    keys = [("b", 0), ("a", 0), ("b", 2), ("c", 0), ("a", 1), ("b", 1)]
    assigned = Assignment(keys=keys_of(keys))
    assert [keys[number] for number in assigned.keys.ordered()] == [
        *[("b", 0), ("b", 1), ("b", 2)],
        *[("a", 0), ("a", 1), ("c", 0)],
    ]


@law(100)
@given(st.lists(st.integers(0, 3), max_size=30), st.integers(1, 7))
def test_each_cell_of_a_column_gets_the_segment_that_was_noted_for_it(numbers: list[int], most: int) -> None:
    assigned = Assignment()
    for row, number in enumerate(numbers):
        assigned.note(run_of([row], [1], cell="c1"), number)
        assigned.note(run_of([row], [1], cell="c2"), 9)
    assert assigned.lobs == 2 * len(numbers)
    segments = SegmentsOfColumn(assigned.runs.get((0, 2, 1), ()))
    found: list[int] = []
    while len(found) < len(numbers):
        number, taken = segments.take(most)
        assert 0 < taken <= most
        found += [number] * taken
    assert found == numbers
    with pytest.raises(StopIteration):
        segments.take(most)


def test_the_first_place_of_a_column_is_in_it() -> None:
    place = first_place((3, 4, 15))
    assert (place.id, column_of(place)) == ("s3.t4.c15.r1", (3, 4, 15))
