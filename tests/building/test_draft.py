"""``drafting``: a plan is what the build follows, and tells how far it is."""

from __future__ import annotations

from pathlib import Path

from metspack.building.build import BuildOptions
from metspack.building.draft import draft_plan
from metspack.limits import Limits
from tests import siards
from tests.stages import RecordedStages
from tests.trees import put

OPTIONS = BuildOptions(limits=Limits(files=4))


def test_every_stage_comes_to_its_total(northwind_full: Path) -> None:
    recorded = RecordedStages()
    options = BuildOptions(limits=OPTIONS.limits, min_size=3_000)
    draft_plan(northwind_full, options, recorded)
    assert recorded.stages.keys() == {"Looking at sizes", "Planning"}
    for total, done in recorded.stages.values():
        assert total == done
        assert done > 10_000


def test_without_an_archive_there_is_no_total(tmp_path: Path) -> None:
    put(tmp_path / "scans", {"content/schema0/table0/lob1/record0.bin": b"one"})
    recorded = RecordedStages()
    draft = draft_plan(tmp_path / "scans", OPTIONS, recorded)
    assert recorded.stages == {"Planning": (None, 0)}
    assert (draft.header.name, draft.version, draft.lobs, draft.files, draft.bytes) == (
        "scans",
        None,
        1,
        1,
        3,
    )
    assert draft.warnings == ()


def test_a_draft_knows_the_folders_of_its_segments(tmp_path: Path) -> None:
    source = siards.siard(tmp_path / "Small.siard", b"one", b"three")
    draft = draft_plan(source, BuildOptions(limits=Limits(bytes=4), layout="siard22", name="N"))
    folders = [draft.folder(each) for each in draft.segments]
    assert folders == [f"N_lobs/s0_t0_c2/seg_{n}" for n in range(2)]
    assert (draft.lobs, draft.split, draft.files, draft.bytes) == (2, 1, 3, 8)
