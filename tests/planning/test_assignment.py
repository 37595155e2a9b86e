"""Assignment of LOBs to segments: which segments are placed together, as far as that is known."""

from __future__ import annotations

from collections.abc import Iterator

from hypothesis import given
from hypothesis import strategies as st

from metspack.planning.assignment import Course, SegmentGroups
from metspack.planning.slices import WHOLE
from tests.laws import law

SEGMENTS = st.lists(st.tuples(st.sampled_from("abc"), st.booleans()), max_size=30)


class WholeGroups(Iterator[list[int]]):
    """Groups by themselves, once all stretches of each have come."""

    def __init__(self, groups: SegmentGroups) -> None:
        self.groups = groups
        self.is_cut = False
        self.stop: int | None = 0

    def __next__(self) -> list[int]:
        while True:
            group, stretch = next(self.groups)
            assert stretch.start == self.stop
            self.is_cut |= stretch != WHOLE
            self.stop = stretch.stop
            if stretch.is_last:
                self.stop = 0
                return group
            assert len(group) == 1


@law(200)
@given(SEGMENTS, st.lists(st.integers(0, 5), max_size=10), st.sampled_from((1, 2)))
def test_groups_are_the_same_whenever_they_are_asked_for(
    begun: list[tuple[str, bool]], steps: list[int], jobs: int
) -> None:
    """Segments of one container go together where each begins with a further part of a LOB.

    For several processes the others may come in stretches, which make up their slice.
    """
    course = Course()
    groups = WholeGroups(SegmentGroups(course, jobs))
    found: list[list[int]] = []
    expected: dict[int, list[int]] = {}
    latest: dict[str, int] = {}
    asked = iter(steps)
    until = next(asked, 0)
    for number, (container, goes_on) in enumerate(begun):
        course.keys.append((container, number))
        if goes_on and container in latest:
            course.joined.add(number)
        else:
            latest[container] = number
        course.cuts[number] = list(range(1, 1 + number % 20))
        expected.setdefault(latest[container], []).append(number)
        if number >= until:
            found += groups
            until += next(asked, 40)
            assert latest[container] not in [group[0] for group in found]
    course.fingerprint = "all"
    found += groups
    assert found == list(expected.values())
    assert list(groups) == []
    assert jobs > 1 or not groups.is_cut


def test_large_segments_and_few_are_shared_by_processes() -> None:
    course = Course(keys=[("a", number) for number in range(20)], cuts={0: [7] * 3, 2: [5] * 8})
    assert [group for group, _ in SegmentGroups(course, 2)] == [
        [0],
        [1],
        *[[2]] * 9,
        *([n] for n in range(3, 19)),
    ]
    course.fingerprint = "all"
    assert len(list(SegmentGroups(course, 2))) == 28
    assert len(list(SegmentGroups(course, 3))) == 31
    assert len(list(SegmentGroups(course, 1))) == 20
