"""Segments as units of work: the same result whoever does it, in whatever order."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from metspack import processes
from metspack.building import segments
from metspack.building.segments import SegmentTask
from metspack.errors import SourceError
from metspack.layouts import lobseg
from metspack.mets.dialects.interface import SegmentSpot, Software
from metspack.mets.dialects.recommendation.dialect import Recommendation
from metspack.planning import slices
from metspack.progress import Progress
from metspack.sources.archive import Archive
from tests import siards
from tests.trees import tree

DIALECT = Recommendation(
    version="2.2",
    created="2016-02-23T00:00:00Z",
    checksum_type="MD5",
    software=Software(name="metspack", version="metspack 0"),
    agents=(),
    profile="http://SIARD2.0.xml",
    href_style="relative",
)
CONTENTS = tuple(bytes([65 + n]) * (n + 1) * 100_000 for n in range(6))


class Amounts:
    """Takes note of what it is told."""

    def __init__(self) -> None:
        self.total = 0

    def stage(self, name: str, total: int | None) -> None:
        raise AssertionError(f"placing begins no stage: {name} {total}")

    def advance(self, amount: int) -> None:
        assert amount >= 0
        self.total += amount


def tasks(source: Path, folder: Path) -> list[SegmentTask]:
    """Return a task for every LOB of an archive, each a segment of its own."""
    (folder / "package").mkdir(parents=True)
    (folder / "work").mkdir()
    with Archive(source) as archive:
        holdings = archive.holdings()
        for index, lob in enumerate(archive.lobs()):
            with slices.Slice(slices.path(folder / "work", index)) as slice_of_one:
                slice_of_one.add(lob)
    return [
        SegmentTask(
            segments=(
                SegmentSpot(
                    number=index,
                    ip=f"A_lobseg_{index}",
                    content=f"A_lobseg_{index}",
                    index=index,
                    objid=f"ID_A_lobseg_{index}_mets",
                ),
            ),
            holdings=holdings,
            package=folder / "package",
            work=folder / "work",
            parent="urn:x",
            dialect=DIALECT,
            layout=lobseg.LAYOUT,
        )
        for index in range(len(list((folder / "work").iterdir())))
    ]


def place_all(given: Iterable[SegmentTask], jobs: int, progress: Progress) -> Iterator[segments.TaskPlaced]:
    with processes.Workers(jobs) as workers:
        yield from workers.results(segments.place, given, progress.advance)


@pytest.fixture
def source(tmp_path: Path) -> Path:
    return siards.siard(tmp_path / "A.siard", *CONTENTS)


@pytest.mark.parametrize("jobs", [1, 3])
def test_segments_come_in_the_order_of_their_tasks(source: Path, tmp_path: Path, jobs: int) -> None:
    amounts = Amounts()
    found = list(place_all(tasks(source, tmp_path / "made"), jobs, amounts))
    assert [each.numbers for each in found] == [(n,) for n in range(6)]
    children = [child for each in found for child in each.children]
    assert [each.folder for each in children] == [f"A_lobseg_{n}" for n in range(6)]
    for each in children:
        mets = (tmp_path / "made" / "package" / each.folder / "mets.xml").read_bytes()
        assert (each.size, each.checksum) == (len(mets), siards.md5(mets))
    assert amounts.total == sum(map(len, CONTENTS))


def test_the_result_does_not_depend_on_order_or_number_of_workers(source: Path, tmp_path: Path) -> None:
    alone, together = tmp_path / "alone", tmp_path / "together"
    list(place_all(reversed(tasks(source, alone)), 1, Amounts()))
    list(place_all(tasks(source, together), 2, Amounts()))
    assert tree(alone) == tree(together)


@pytest.mark.parametrize("jobs", [1, 2])
def test_the_first_error_in_order_ends_the_rest(source: Path, tmp_path: Path, jobs: int) -> None:
    given = tasks(source, tmp_path / "made")
    (held,) = given[1].holdings.archives
    wrong = replace(held, stamps=(replace(held.stamps[0], size=1),))
    holdings = replace(given[1].holdings, archives=(wrong,))
    given[1:3] = [replace(each, holdings=holdings) for each in given[1:3]]
    found = place_all(given, jobs, Amounts())
    assert next(found).number == 0
    with pytest.raises(SourceError, match="was changed while it was read") as refused:
        next(found)
    assert refused.value.hint
    assert not list(found)


def test_more_tasks_than_may_wait_are_handed_out_one_by_one(source: Path, tmp_path: Path) -> None:
    taken = []

    def given() -> Iterator[SegmentTask]:
        for each in tasks(source, tmp_path / "made"):
            taken.append(each.number)
            yield each

    found = place_all(given(), 2, Amounts())
    next(found)
    assert taken == [0, 1, 2, 3, 4], (
        "two are worked on and two wait for each worker; the rest is not asked for"
    )
    found.close()  # type: ignore[attr-defined]
