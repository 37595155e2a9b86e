"""``assign``: what is planned is what lies in the slices, and what is counted of it."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metspack.layouts import LAYOUTS
from metspack.limits import Limits
from metspack.model import Digest, LobCell, LobPlace, LobRef, LobRun, Part, PlannedSegment, ZipExtent
from metspack.planning import slices
from metspack.planning.assignment import Assignment, SegmentsOfColumn, assign, column_of
from metspack.planning.division import Division, Split
from metspack.planning.sharedlobs import Sharing
from tests.laws import law
from tests.planning.lobruns import one_by_one, planned_events, run_of


def lob(row: int, size: int, *, cell: str = "c4", extents: int = 1, digest: bool = False) -> LobRun:
    """Return a LOB in so many entries, each compressed to bytes of its own number."""
    one = LobRef(
        cell=LobCell(
            place=LobPlace(schema=0, table=2, cell=cell, row=row),
            file=f"record{row}.bin",
            length=size,
            digest=Digest(algorithm="MD5", value="ab" * 16) if digest else None,
        ),
        size=size,
        extension="bin",
        media_type="application/octet-stream",
        extents=tuple(
            ZipExtent(
                name=f"{cell}/record{row}.bin.{number}",
                offset=1_000_000 * int(cell[1:]) + 1_000 * row + number,
                limit=0,
                compressed=10 * number + row,
                size=size,
                crc=0,
                method=0,
                flags=0,
            )
            for number in range(extents)
        ),
        entries=tuple(f"{cell}/record{row}.bin.{number}" for number in range(extents)),
    )
    return LobRun.of([one])


def run(first: int, sizes: list[int], *, cell: str = "c4", digest: bool = False) -> LobRun:
    rows = range(first, first + len(sizes))
    made = run_of(
        rows,
        sizes,
        offsets=[1_000_000 * int(cell[1:]) + 1_000 * row for row in rows],
        digests=["ab" * 16] * len(sizes) if digest else (),
        cell=cell,
    )
    return replace(made, entries=[f"{cell}/record{row}.bin.0" for row in rows])


def plan_into_slices(
    given: Iterable[LobRun],
    division: Division,
    work: Path,
    *,
    sharing: Sharing | None = None,
    departs: Callable[[LobRun], object] = lambda _: None,
) -> Assignment:
    with Sharing() as own:
        sharing = sharing or own
        return assign(
            given, division, work, sharing=sharing, record_departure=departs, compare=lambda _: None
        )


CELLS = st.sampled_from(("c4", "c5"))
SIZES = st.integers(0, 9)
ONE = st.tuples(CELLS, SIZES, st.integers(1, 2), st.booleans())
MANY = st.tuples(CELLS, st.lists(SIZES, min_size=1, max_size=6), st.booleans())
DIVISIONS = st.builds(
    Division,
    limits=st.builds(Limits, files=st.none() | st.integers(1, 5), bytes=st.none() | st.integers(3, 20)),
    layout=st.sampled_from(tuple(LAYOUTS.values())),
    split=st.sampled_from((Split.FILL, Split.SEPARATE)),
)


@st.composite
def given_lobs(draw: st.DrawFn) -> list[LobRun]:
    found: list[LobRun] = []
    row = 1
    for each in draw(st.lists(ONE | MANY, max_size=8)):
        if isinstance(each[1], list):
            found.append(run(row, each[1], cell=each[0], digest=bool(each[2])))
            row += len(each[1])
        else:
            cell, size, extents, digest = each
            found.append(lob(row, size, cell=cell, extents=extents, digest=digest))
            row += 1
    return found


@law(60)
@given(given_lobs(), DIVISIONS)
def test_slices_hold_the_plan_and_assignments_its_counts(given: list[LobRun], division: Division) -> None:
    expected: dict[tuple[str, int], list[tuple[LobRef, Part | None]]] = {}
    closed: list[PlannedSegment] = []
    for event in planned_events(given, division.limits, split=division.split, layout=division.layout):
        if isinstance(event, PlannedSegment):
            closed.append(event)
            continue
        # Which entries of the archive they are is stated elsewhere.
        bare = [(replace(each, entries=()), event.run.part) for each in event.run.lobs()]
        expected.setdefault((event.container, event.segment), []).extend(bare)
    lobs = list(one_by_one(given))
    with TemporaryDirectory() as folder, Sharing() as sharing:
        work = Path(folder)
        agreed: list[PlannedSegment | None] = []
        grown: list[tuple[int, str]] = []
        left: list[str] = []
        assigned = assign(
            given,
            division,
            work,
            sharing=sharing,
            record_departure=lambda each: left.extend(each.entries),
            compare=agreed.append,
            report_growth=lambda so_far: grown.append((so_far.segments, so_far.fingerprint)),
        )
        written = [
            [(lob, run.part) for run in slices.runs(slices.path(work, number)) for lob in run.lobs()]
            for number in range(len(expected))
        ]
        bytes_of = [slices.path(work, number).read_bytes() for number in range(len(expected))]
        assert len(list(work.iterdir())) == len(expected)
    assert [assigned.keys[number] for number in range(len(assigned.keys))] == list(expected)
    assert written == list(expected.values())
    assert [assigned.digests[number] for number in range(len(expected))] == [
        hashlib.sha256(each).hexdigest() for each in bytes_of
    ]
    assert agreed == [*closed, None]
    assert grown == [(number + 1, "") for number in range(len(closed))]
    assert left == [entry for each in lobs for entry in each.entries]
    first_parts = [entries[0][1] for entries in written]
    assert assigned.joined == {n for n, part in enumerate(first_parts) if part is not None and part.number}
    assert assigned.cuts == {}
    assert list(assigned.costs) == [
        sum(part.size if part else each.size for each, part in entries) + (16 << 10) * len(entries)
        for entries in expected.values()
    ]
    assert (assigned.segments, assigned.lobs) == (len(expected), len(lobs))
    assert assigned.files == sum(map(len, written))
    assert assigned.split == sum(part is not None and not part.number for each in written for _, part in each)
    assert assigned.bytes == sum(each.size for each in lobs)
    assert assigned.compressed == sum(
        extent.compressed for each in lobs for extent in each.extents if isinstance(extent, ZipExtent)
    )
    assert assigned.undigested == sum(each.cell.digest is None for each in lobs)
    assert assigned.runs.keys() == {column_of(each.place) for each in lobs}
    lines = "".join(f"{each.place.id} {each.size} {each.extension}\n" for each in lobs)
    assert assigned.fingerprint == hashlib.sha256(lines.encode()).hexdigest()
    begins = {
        each.place.id: number for number, entries in reversed(list(enumerate(written))) for each, _ in entries
    }
    for column, noted in assigned.runs.items():
        segments = SegmentsOfColumn(noted)
        cells = [each.place.id for each in lobs if column_of(each.place) == column]
        assert [segments.take(1)[0] for _ in cells] == [begins[each] for each in cells]
        assert all(one != other for one, other in pairwise(noted[::2]))


@pytest.mark.parametrize(("layout", "lobs"), [("lobseg", 1), ("siard22", 2)])
def test_cells_share_a_lob_within_a_container(tmp_path: Path, layout: str, lobs: int) -> None:
    one, other = lob(1, 5, cell="c4"), lob(2, 5, cell="c5")
    other = replace(other, extents=one.extents)
    with Sharing() as sharing:
        division = Division(limits=Limits(), layout=LAYOUTS[layout])
        assigned = plan_into_slices([one, other], division, tmp_path, sharing=sharing)
        assert sharing.count == 2 - lobs
    assert assigned.lobs == lobs
    assert assigned.runs.keys() == {(0, 2, 4), (0, 2, 5)}
    assert sum(map(bool, assigned.runs.values())) == lobs


def test_a_slice_is_cut_into_long_stretches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(slices, "STRETCH_FILES", 2)
    division = Division(limits=Limits(files=5))
    assigned = plan_into_slices([lob(row, 1, extents=2) for row in range(1, 8)], division, tmp_path)
    assert {number: len(cuts) for number, cuts in assigned.cuts.items()} == {0: 2}
    stretches = slices.stretches(assigned.cuts[0])
    found = [list(slices.runs(slices.path(tmp_path, 0), stretch)) for stretch in stretches]
    assert [[each.place.row for each in some] for some in found] == [[1, 2], [3, 4], [5]]
