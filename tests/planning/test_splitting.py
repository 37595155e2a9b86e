"""LOBs larger than a segment may be, in both layouts; and the figures of the standards."""

from __future__ import annotations

import tracemalloc
from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import replace
from itertools import islice, pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metspack.building.placing import lob_paths
from metspack.layouts import LAYOUTS, Layout
from metspack.limits import Limits
from metspack.model import ClosedBy, LobRun, Part, PlannedSegment
from metspack.planning.division import Split
from tests.planning.lobruns import Slot, planned_events
from tests.planning.test_division import lob, lobs
from tests.tables import read_table

LOBSEG, SIARD22 = LAYOUTS["lobseg"], LAYOUTS["siard22"]


def path(slot: Slot, layout: Layout) -> str:
    """Return where the file of a slot lies in the package called N."""
    folder = layout.segment_folder("N", slot.container, slot.segment)
    (file,) = lob_paths(layout, slot.run)
    return f"{folder}/{file}"


def laid(
    source: Iterable[LobRun], limits: Limits, split: Split, layout: Layout = LOBSEG
) -> list[tuple[str, int]]:
    """Return the files of a package with their sizes."""
    events = planned_events(source, limits, split=split, layout=layout)
    return [(path(each, layout), each.run.bytes) for each in events if isinstance(each, Slot)]


def closed(
    source: Iterable[LobRun], limits: Limits, split: Split, layout: Layout = LOBSEG
) -> list[tuple[str, str, str, int, int, str]]:
    events = planned_events(source, limits, split=split, layout=layout)
    return [
        (
            layout.segment_folder("N", each.container, each.index),
            each.first,
            each.last,
            each.files,
            each.bytes,
            each.closed_by.value,
        )
        for each in events
        if isinstance(each, PlannedSegment)
    ]


# The figure of recommendation 0.28 §5.3, with n = 0: records 0 to 13 leave 30 of 100 bytes, record 14 is
# larger than a folder, records 15 and 16 follow behind its last part.
FIGURE = (*[5] * 14, 410, 15, 5)
HUNDRED = Limits(files=100_000, bytes=100)
RECORDS = "content/schema0/table2/lob4/record"


@pytest.mark.parametrize("split", [Split.FILL, Split.SEPARATE])
def test_the_recommendations_figure(split: Split) -> None:
    files = [(f"N_lobseg_0/*{number}.bin", 5) for number in range(14)]
    found = [(path.replace(RECORDS, "*"), size) for path, size in laid(lobs(*FIGURE), HUNDRED, split)]
    assert found == files + read_table(__file__, f"{split.value}_files")
    assert closed(lobs(*FIGURE), HUNDRED, split) == read_table(__file__, f"{split.value}_segments")


def test_siard_2_2_splits_as_its_example_does() -> None:
    # S_8.1.1-0: four files are all that seg_0 takes, record 6 begins behind record 5, 7 and 8 follow it.
    sizes = (1, 1, 1, 1, 3, 12, 1, 1)
    names = [name for name, _size in laid(lobs(*sizes), Limits(files=4, bytes=10), Split.FILL, SIARD22)]
    assert [name.removeprefix("N_lobs/s0_t2_c4/") for name in names[3:]] == [
        "seg_0/t2_c4_r4.bin",
        "seg_1/t2_c4_r5.bin",
        "seg_1/t2_c4_r6.bin_part001",
        "seg_2/t2_c4_r6.bin_part002",
        "seg_2/t2_c4_r7.bin",
        "seg_2/t2_c4_r8.bin",
    ]


def test_a_lob_of_five_terabytes_in_single_bytes_is_a_loop() -> None:
    tracemalloc.start()
    try:
        events = planned_events(lobs(5 * 10**12), Limits(bytes=1), split=Split.FILL)
        parts = [each.run.part for each in islice(events, 4_001) if isinstance(each, Slot)][-1:]
        tracemalloc.reset_peak()
        before, _ = tracemalloc.get_traced_memory()
        assert sum(1 for _ in islice(events, 20_000)) == 20_000
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert parts == [Part(number=2_000, offset=2_000, size=1, is_last=False)]
    assert peak - before < 20_000


def test_more_than_999_parts_have_names_in_both_layouts() -> None:
    for layout, names in ((LOBSEG, (".0", ".999", ".z")), (SIARD22, ("_part001", "_part1000", "_part1001"))):
        events = list(planned_events(lobs(1_001), Limits(bytes=1), split=Split.FILL, layout=layout))
        slots = [each for each in events if isinstance(each, Slot)]
        assert len({path(each, layout) for each in slots}) == 1_001
        found = [layout.part_suffix(each.run.part) for each in slots if each.run.part]
        assert (found[0], found[999], found[1_000]) == names


def test_a_table_that_comes_back_continues_with_its_numbers() -> None:
    source = [lob(1, 1), lob(1, 1, table=3), lob(2, 1), lob(3, 1)]
    assert [(each[0], each[3]) for each in closed(source, Limits(files=9), Split.NEVER, SIARD22)] == [
        ("N_lobs/s0_t2_c4/seg_0", 1),
        ("N_lobs/s0_t3_c4/seg_0", 1),
        ("N_lobs/s0_t2_c4/seg_1", 2),
    ]


LIMITS = st.builds(Limits, files=st.none() | st.integers(1, 6), bytes=st.none() | st.integers(1, 40))
SPLITS = st.sampled_from([Split.FILL, Split.SEPARATE])
LAYOUT = st.sampled_from(list(LAYOUTS.values()))


@st.composite
def sources(draw: st.DrawFn) -> list[LobRun]:
    """Tables of rows with up to three LOB cells each, in the order of archives."""
    size = st.integers(0, 130)
    cells = st.dictionaries(st.sampled_from(["c4", "c5.a1", "c5.a2.u1"]), size, max_size=3)
    tables = draw(st.lists(st.lists(cells, max_size=12), max_size=3))
    return [
        lob(row, cell_size, cell, table)
        for table, rows in enumerate(tables)
        for row, found in enumerate(rows, start=1)
        for cell, cell_size in sorted(found.items())
    ]


@pytest.mark.slow
@given(sources(), LIMITS, SPLITS, LAYOUT)
def test_every_lob_is_whole_in_one_segment_or_one_chain_of_parts_in_order(
    source: list[LobRun], limits: Limits, split: Split, layout: Layout
) -> None:
    slots = [
        each for each in planned_events(source, limits, split=split, layout=layout) if isinstance(each, Slot)
    ]
    for each in source:
        mine = [slot for slot in slots if slot.run.rows is each.rows]
        assert {slot.container for slot in mine} == {layout.container(each.place)}
        if limits.bytes is None or each.bytes <= limits.bytes:
            assert [(slot.run.part, slot.run.bytes, *slot.run.ids()) for slot in mine] == [
                (None, each.bytes, each.place.id)
            ]
            continue
        parts = [slot.run.part for slot in mine if slot.run.part]
        assert len(parts) == len(mine) >= 2
        assert [part.number for part in parts] == list(range(len(parts)))
        assert [part.offset for part in parts] == [sum(p.size for p in parts[:n]) for n in range(len(parts))]
        assert sum(part.size for part in parts) == each.bytes
        assert all(part.size for part in parts)
        assert [part.is_last for part in parts] == [*[False] * (len(parts) - 1), True]
        first = mine[0].segment
        assert [slot.segment for slot in mine] == list(range(first, first + len(mine)))
    # Order: the LOBs as they came, each with all of its parts before the next.
    kept = [
        replace(slot.run, part=None) for slot in slots if slot.run.part is None or slot.run.part.number == 0
    ]
    assert kept == source
    for one, other in pairwise(slots):
        assert one.run.rows is other.run.rows or other.run.part is None or other.run.part.number == 0


@given(sources(), LIMITS, SPLITS, LAYOUT)
def test_segments_say_what_is_in_them_and_come_when_it_is_complete(
    source: list[LobRun], limits: Limits, split: Split, layout: Layout
) -> None:
    events = list(planned_events(source, limits, split=split, layout=layout))
    assert events == list(planned_events(iter(source), limits, split=split, layout=layout))
    counted = Counter(each.container for each in events if isinstance(each, PlannedSegment))
    open_ones = dict[str, list[Slot]]()
    ended = Counter[str]()
    for each in events:
        if isinstance(each, Slot):
            assert each.segment == ended[each.container]
            open_ones.setdefault(each.container, []).append(each)
            tables = {(slots[0].run.place.schema, slots[0].run.place.table) for slots in open_ones.values()}
            assert len(open_ones) == 1 or (len(tables) == 1 and not layout.one_series)
            continue
        assert isinstance(each, PlannedSegment)
        mine = open_ones.pop(each.container)
        assert each.index == ended[each.container]
        ended[each.container] += 1
        assert (each.files, each.bytes) == (len(mine), sum(slot.run.bytes for slot in mine))
        assert [each.first, each.last] == [*mine[0].run.ids(), *mine[-1].run.ids()]
        # The caller may count on it: only the first file of a segment can go on with a LOB.
        assert all(slot.run.part is None or slot.run.part.number == 0 for slot in mine[1:])
        assert limits.files is None or each.files <= limits.files
        assert limits.bytes is None or each.bytes <= limits.bytes
        assert (each.closed_by is ClosedBy.END) == (each.index == counted[each.container] - 1)
    assert not open_ones
    assert sum(counted.values()) == sum(ended.values())


def by_container(events: Iterable[object]) -> dict[str, list[list[Slot]]]:
    found = defaultdict[str, list[list[Slot]]](list)
    for each in events:
        if isinstance(each, Slot):
            series = found[each.container]
            if each.segment == len(series):
                series.append([])
            series[each.segment].append(each)
    return found


@given(sources(), LIMITS, LAYOUT)
def test_filled_segments_have_no_room(source: list[LobRun], limits: Limits, layout: Layout) -> None:
    events = list(planned_events(source, limits, split=Split.FILL, layout=layout))
    reasons = {
        (each.container, each.index): each.closed_by for each in events if isinstance(each, PlannedSegment)
    }
    for container, series in by_container(events).items():
        for before, after in pairwise(series):
            full = len(before) == limits.files
            used = sum(slot.run.bytes for slot in before)
            least = 1 if after[0].run.part else after[0].run.bytes
            over = limits.bytes is not None and used + least > limits.bytes
            assert full or over
            expected = ClosedBy.FILES if full else ClosedBy.BYTES
            assert reasons[container, before[0].segment] is expected
            # All but the last part of a LOB fill their segments to the byte.
            if after[0].run.part and after[0].run.part.number:
                assert used == limits.bytes


@given(sources(), LIMITS, LAYOUT)
def test_parts_apart_share_no_segment(source: list[LobRun], limits: Limits, layout: Layout) -> None:
    events = list(planned_events(source, limits, split=Split.SEPARATE, layout=layout))
    reasons = {
        (each.container, each.index): each.closed_by for each in events if isinstance(each, PlannedSegment)
    }
    for container, series in by_container(events).items():
        assert all(len(slots) == 1 for slots in series if any(slot.run.part for slot in slots))
        for before, after in pairwise(series):
            least = 1 if after[0].run.part else after[0].run.bytes
            used = sum(slot.run.bytes for slot in before)
            fits = len(before) != limits.files and (limits.bytes is None or used + least <= limits.bytes)
            assert fits == (reasons[container, before[0].segment] is ClosedBy.SPLIT)
            assert not fits or before[-1].run.part or after[0].run.part
        for slot in (slot for slots in series for slot in slots):
            assert slot.run.part is None or slot.run.part.is_last or slot.run.bytes == limits.bytes


@given(sources(), LIMITS, SPLITS, LAYOUT)
def test_file_names_are_unique(source: list[LobRun], limits: Limits, split: Split, layout: Layout) -> None:
    events = planned_events(source, limits, split=split, layout=layout)
    slots = [each for each in events if isinstance(each, Slot)]
    assert len({path(each, layout) for each in slots}) == len(slots)
    for slot in slots:
        folder = layout.segment_folder("N", slot.container, slot.segment)
        segment = layout.parsed_folder(folder)
        assert segment is not None
        assert (segment.name, segment.container, segment.index) == ("N", slot.container, slot.segment)
