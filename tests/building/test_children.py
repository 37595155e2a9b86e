"""Segments that were placed: as their parent names them, in memory that hardly grows with their number."""

from __future__ import annotations

import shutil
import tracemalloc
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from metspack.building.parents import Parent, PlacedSegments, SegmentSpots
from metspack.building.segments import SegmentDone, TaskPlaced, named_child
from metspack.containers.ipwriter import Packing
from metspack.layouts import lobseg
from metspack.mets.dialects.csip.dialect import Csip
from metspack.mets.dialects.interface import ChildMets, PackageFacts, SiardFile, Software
from metspack.mets.dialects.recommendation.dialect import Recommendation
from tests.planning.test_assignment import keys_of

MANY = 4_000
SHA512 = "SHA-512"


def dialect(checksum_type: str = "MD5") -> Recommendation:
    return Recommendation(
        version=None,
        created="2016-02-23T00:00:00Z",
        checksum_type=checksum_type,
        software=Software(name="metspack", version="metspack 0"),
        agents=(),
        profile="p",
        href_style="relative",
    )


def spots_of(keys: list[tuple[str, int]], checksum_type: str = "MD5") -> SegmentSpots:
    return SegmentSpots(
        dialect=dialect(checksum_type),
        layout=lobseg.LAYOUT,
        keys=keys_of(keys),
        name="N",
        parent="P",
    )


CSIP = Csip.of(
    PackageFacts(
        name="N",
        metadata=SimpleNamespace(  # type: ignore[arg-type]
            version="2.2", dbname="N", description="", data_owner="", origin_timespan=""
        ),
        created="2016-02-23T00:00:00Z",
        checksum_type="MD5",
        software=Software(name="metspack", version="metspack 0"),
    )
)


def child(spots: SegmentSpots, number: int, packing: Packing | None = None) -> ChildMets:
    digests = {"MD5": f"{number:032x}", "SHA-256": f"{number:064x}", SHA512: f"{number:0128x}"}
    counts = [number + each for each in (1, 2, 3, 4)]
    return named_child(spots.of(number), spots.dialect, packing, counts, digests)


def task(spots: SegmentSpots, number: int) -> TaskPlaced:
    placed = child(spots, number)
    done = SegmentDone(
        number=number,
        digest="",
        files=placed.files,
        bytes=placed.bytes,
        sizes=(0, 0, 0),
        child=placed,
        notes={"odd": 1},
    )
    return (done,)


def taken(most: bool, work: Callable[[], object]) -> tuple[object, int]:
    """Return what some work gives, and the bytes that it holds then, or held at most."""
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        result = work()
        now, peak = tracemalloc.get_traced_memory()
        return result, (peak if most else now) - before
    finally:
        tracemalloc.stop()


@pytest.mark.slow
def test_memory_hardly_grows_with_the_number_of_segments(tmp_path: Path) -> None:
    """Keep a few numbers and digests of each segment; stream the parent's METS."""

    def place() -> PlacedSegments:
        spots = spots_of([("", each) for each in range(MANY)])
        placed = PlacedSegments(spots, None)
        for each in range(MANY):
            placed.take(task(spots, each))
        return placed

    placed, size = taken(most=False, work=place)
    assert isinstance(placed, PlacedSegments)
    assert size < 250 * MANY

    def write() -> object:
        content = Parent(dialect=dialect(), objid="P", name="N").content(tmp_path, placed)
        assert content.children is placed
        return dialect().write_parent(tmp_path, content)

    write()  # templates are compiled once
    (tmp_path / "mets.xml").unlink()
    _, size = taken(most=True, work=write)
    assert size < 500 * MANY
    text = (tmp_path / "mets.xml").read_text(encoding="utf-8")
    assert text.count("<mets:mptr ") == text.count("</mets:file>") == MANY


@pytest.mark.slow
def test_memory_does_not_grow_with_what_a_parent_of_csip_names(tmp_path: Path) -> None:
    """METS and PREMIS name each child, as the group of its METS and the structMap do."""
    spots = replace(spots_of([("", each) for each in range(MANY)]), dialect=CSIP)
    placed = PlacedSegments(spots, None)
    for each in range(MANY):
        placed.take(task(spots, each))
    siard = SiardFile(path="P/representations/rep1/data/N.siard", size=1, checksum="0" * 32, zip64=False)

    def write() -> object:
        content = Parent(dialect=CSIP, objid="P", name="N").content(tmp_path, placed)
        return CSIP.write_parent(tmp_path, replace(content, siard=siard))

    write()  # templates are compiled once
    shutil.rmtree(tmp_path / "P")
    _, size = taken(most=True, work=write)
    assert size < 500 * MANY
    text = (tmp_path / "P/METS.xml").read_text(encoding="utf-8")
    assert text.count('METS.xml" xlink:title="A child IP') == MANY
    premis = (tmp_path / "P/metadata/preservation/premis.xml").read_text(encoding="utf-8")
    assert premis.count("<premis:relatedObjectIdentifier>") == MANY
