"""Building as a function: laws over archives of any shape, and what it gives back."""

from __future__ import annotations

import hashlib
import os
import zipfile
from collections.abc import Callable, Iterable
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from metspack import checking, processes
from metspack.building import build
from metspack.building.build import BuildOptions, Built
from metspack.building.segments import SegmentTask, TaskPlaced
from metspack.errors import PlanError, SourceError
from metspack.limits import Limits
from metspack.model import LinkMode, Severity
from metspack.planning import slices
from metspack.planning.assignment import Assignment
from metspack.planning.division import Split
from metspack.processes import Executor, Moved, Underway
from metspack.progress import Silent
from metspack.sources.lobstream import PART_DIGEST
from tests import segmented_folders, siards
from tests.trees import names, put, tree

COLUMN = "content/schema0/table0/lob2"


def options(files: int | None, size: int | None, jobs: int = 1) -> BuildOptions:
    return BuildOptions(created="2016-02-23T00:00:00Z", limits=Limits(files=files, bytes=size), jobs=jobs)


def in_stretches(patch: pytest.MonkeyPatch) -> None:
    """Have segments placed in stretches of few LOBs, as by several processes, in this one."""

    def begin(
        _self: Executor,
        work: Callable[..., TaskPlaced],
        tasks: Iterable[SegmentTask],
        _jobs: int,
        moved: Moved,
        *,
        is_growing: bool = False,
    ) -> Underway[SegmentTask, TaskPlaced]:
        assert not is_growing
        return Underway(work, iter(tasks), moved)

    patch.setattr(slices, "STRETCH_FILES", 2)
    patch.setattr(Executor, "begin", begin)


STRETCHED = {
    "csip": replace(options(9, None), dialect="csip", agents=("Archive",)),
    "split": replace(options(None, 20_000), split=Split.FILL),
    "packed": replace(options(6, None), layout="siard22", pack="zip"),
}


@pytest.mark.slow
@pytest.mark.parametrize("case", STRETCHED)
def test_segments_placed_in_stretches_give_the_same_package(
    case: str, northwind_full: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wanted = STRETCHED[case]
    one = build.build(northwind_full, tmp_path / "whole", wanted)
    in_stretches(monkeypatch)
    two = build.build(northwind_full, tmp_path / "stretches", replace(wanted, jobs=2))
    assert tree(tmp_path / "whole") == tree(tmp_path / "stretches")
    assert list(one.children) == list(two.children)
    assert one == replace(two, target=one.target, children=one.children)


def test_files_are_linked_in_stretches_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    column = put(tmp_path / "F" / COLUMN, {f"record{n}.bin": b"picture %d" % n for n in range(9)})
    wanted = replace(options(None, None), link_mode=LinkMode.HARDLINK)
    one = build.build(tmp_path / "F", tmp_path / "whole", wanted)
    in_stretches(monkeypatch)
    two = build.build(tmp_path / "F", tmp_path / "stretches", replace(wanted, jobs=2))
    assert one.linked == two.linked == 9
    assert tree(tmp_path / "whole") == tree(tmp_path / "stretches")
    assert {each.stat().st_nlink for each in column.iterdir()} == {3}


def test_cells_get_digests_of_placed_stretches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lobs = [siards.Lob(data=b"picture %d" % number, attributes="") for number in range(7)]
    source = siards.packed(tmp_path / "A.siard", siards.parts(lobs))
    wanted = replace(options(None, None), add_digests=True)
    build.build(source, tmp_path / "whole", wanted)
    in_stretches(monkeypatch)
    build.build(source, tmp_path / "stretches", replace(wanted, jobs=2))
    assert tree(tmp_path / "whole") == tree(tmp_path / "stretches")
    assert "Z021" not in {each.code for each in checking.check(tmp_path / "stretches")}


def test_shared_few_segments(northwind: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(slices, "STRETCH_FILES", 2)
    for jobs in (1, 3):
        build.build(northwind, tmp_path / f"jobs {jobs}", options(None, None, jobs))
    assert tree(tmp_path / "jobs 1") == tree(tmp_path / "jobs 3")


def test_a_fault_in_a_stretch_is_that_of_a_segment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = siards.siard(tmp_path / "A.siard", *(b"picture %d" % number for number in range(8)))
    source.write_bytes(source.read_bytes().replace(b"picture 5", b"picture 8"))
    reported = []
    for jobs in (1, 2):
        with pytest.raises(SourceError) as caught:
            build.build(source, tmp_path / "out", replace(options(None, None), jobs=jobs))
        reported.append((caught.value.message, caught.value.hint))
        assert names(tmp_path) == {"A.siard"}
        in_stretches(monkeypatch)
    assert reported[0] == reported[1]
    assert "s0.t0.c2.r6" in reported[0][0]


def test_the_result_of_a_build(tmp_path: Path) -> None:
    source = siards.siard(tmp_path / "A b.siard", b"one", b"two")
    built = build.build(source, tmp_path / "out", options(1, None), Silent())
    assert built == Built(
        target=tmp_path / "out",
        checked="structure",
        objid=built.objid,
        name="A_b",
        layout="lobseg",
        segments=2,
        files=2,
        bytes=6,
        split=0,
        kept=0,
        warnings=built.warnings,
        readers=built.readers,
        made_of=built.made_of,
        children=built.children,
        handed_over=built.handed_over,
        sealed=built.sealed,
    )
    assert built.seal == built.sealed.value if built.sealed else False
    assert [each.partition(" ")[0] for each in built.warnings] == ["renamed"]
    assert built.made_of is not None
    assert built.made_of.document() == {
        "name": "A b.siard",
        "size": source.stat().st_size,
        "sha256": hashlib.sha256(source.read_bytes()).hexdigest(),
        "message_digest": {"verdict": "none", "digests": [], "unreadable": []},
    }
    assert built.readers is not None
    assert built.readers.sentence().startswith("LOBs found by metspack. SIARD Suite and DBPTK 4.5 will")
    assert built.objid.startswith("urn:uuid:")


def test_the_objid_depends_on_name_and_metadata_and_not_on_the_lobs(tmp_path: Path) -> None:
    def objid(stem: str, *contents: bytes, dbname: str = "Small") -> str:
        folder = tmp_path / str(len(list(tmp_path.iterdir())))
        folder.mkdir()
        parts = siards.parts(siards.lobs(*contents), dbname=dbname)
        source = siards.packed(folder / f"{stem}.siard", parts)
        return build.build(source, folder / "out", options(None, None)).objid

    assert objid("A", b"one") == objid("A", b"two")
    assert len({objid("A", b"1"), objid("B", b"1"), objid("A", b"1", dbname="Large")}) == 3


def test_an_error_while_planning_leaves_nothing(tmp_path: Path) -> None:
    source = siards.siard(tmp_path / "A.siard", b"small", b"much larger")
    with pytest.raises(PlanError, match=r"s0\.t0\.c2\.r2 has 11 bytes"):
        build.build(source, tmp_path / "out", replace(options(None, 10), split=Split.NEVER))
    assert names(tmp_path) == {"A.siard"}


@pytest.mark.parametrize("stays", [None, 10])
def test_rows_that_the_source_lost_are_reported_and_kept(tmp_path: Path, stays: int | None) -> None:
    parts = siards.parts(siards.lobs(b"one", b"two")) | {siards.METADATA: siards.metadata(3)}
    source = siards.packed(tmp_path / "A.siard", parts)
    built = build.build(source, tmp_path / "out", replace(options(1, None), min_size=stays))
    (notice,) = [each for each in built.warnings if "Z031" in each]
    assert notice.startswith(
        f"table S.T ({siards.TABLE}) has 2 rows where metadata.xml says 3: rows were lost"
    )
    found = checking.check(tmp_path / "out", checking.Level.FULL)
    assert [(each.code, each.place) for each in found] == [("Z031", siards.TABLE)]


def test_a_value_beside_a_file_is_reported_and_kept(tmp_path: Path) -> None:
    parts = siards.parts(siards.lobs(b"one", b"two"))
    parts[siards.TABLE] = parts[siards.TABLE].replace(b"/></row>", b">0A</c2></row>", 1)
    assert b">0A</c2>" in parts[siards.TABLE]
    source = siards.packed(tmp_path / "A.siard", parts)
    built = build.build(source, tmp_path / "out", options(1, None))
    (notice,) = [each for each in built.warnings if "Z035" in each]
    assert "1 cell with a file and a value as well (first s0.t0.c2.r1); the file is taken" in notice
    found = checking.check(tmp_path / "out", checking.Level.FULL)
    assert [(each.code, each.place) for each in found] == [("Z035", siards.TABLE)]
    with zipfile.ZipFile(tmp_path / "out/A.siard") as archive:
        assert b">0A</c2>" in archive.read(siards.TABLE)


def test_a_relative_target_and_its_partial_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    siards.siard(tmp_path / "A.siard", b"one")
    (tmp_path / "below").mkdir()
    monkeypatch.chdir(tmp_path / "below")
    built = build.build(Path("../A.siard"), Path("../out"), options(None, None))
    assert built.target == tmp_path / "out"
    assert names(tmp_path) == {"A.siard", "below", "out"}


@pytest.mark.slow
def test_cells_get_other_digests_whatever_was_written_meanwhile(northwind: Path, tmp_path: Path) -> None:
    """The archive is written while LOBs are placed, and again once a LOB changes its cell."""
    folder = segmented_folders.dbptk_22(
        tmp_path / "folder", segmented_folders.pictures(northwind), whole_digests=False
    )
    (archive,) = folder.glob("*.siard")
    wanted = replace(options(1, 20_000), accepted=frozenset({PART_DIGEST}))
    for jobs in (1, 2):
        built = build.build(archive, tmp_path / f"jobs {jobs}", replace(wanted, jobs=jobs))
        assert "LOBs whose cell has the digest of their last part alone: 3" in built.warnings
    assert tree(tmp_path / "jobs 1") == tree(tmp_path / "jobs 2")
    assert [each for each in checking.check(tmp_path / "jobs 2") if each.severity is Severity.ERROR] == []


@pytest.fixture
def ahead(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The numbers of planned LOBs when placing began, which is with the first planned segment."""
    found: list[int] = []
    real = build.BuildWork._begin_placing

    def noted(work: build.BuildWork, staging: Any, assigned: Assignment, jobs: int, **how: bool) -> Any:
        found.append(assigned.lobs)
        return real(work, staging, assigned, jobs, **how)

    monkeypatch.setattr(build.BuildWork, "_begin_placing", noted)
    monkeypatch.setattr(processes, "are_many", bool)
    return found


@pytest.mark.slow
def test_segments_placed_during_planning_are_the_same(tmp_path: Path, ahead: list[int]) -> None:
    """Segments of two columns, LOBs in parts, and LOBs of several cells among them."""
    contents = [b"%d" % number * (number % 5 * 30 + 1) for number in range(24)]
    rows = [(number, 23 - number) for number in range(12)] + [(3, 3), (0, 23)]
    source = siards.two_columns(tmp_path / "A.siard", contents, rows)
    wanted = replace(options(3, 100), layout="siard22", split=Split.FILL)
    for jobs in (1, 3):
        build.build(source, tmp_path / f"{jobs}", replace(wanted, jobs=jobs))
    assert ahead[0] > ahead[1]
    assert tree(tmp_path / "1") == tree(tmp_path / "3")


@pytest.mark.slow
@pytest.mark.parametrize(("pack", "is_ahead"), [(None, True), ("zip", False)])
def test_lobs_of_a_folder_are_placed_before_their_parent_has_an_objid(
    pack: str | None, tmp_path: Path, ahead: list[int], *, is_ahead: bool
) -> None:
    """It is made of all of them; LOBs in parts among them wait for it."""
    put(tmp_path / "A" / COLUMN, {f"record{n}.bin": b"%d" % n * (n % 5 * 30 + 1) for n in range(24)})
    wanted = replace(options(3, 100), pack=pack, split=Split.FILL)
    for jobs in (1, 3):
        build.build(tmp_path / "A", tmp_path / f"{jobs}", replace(wanted, jobs=jobs))
    assert ahead[0] == 24
    assert (ahead[1] < 24) == is_ahead
    assert tree(tmp_path / "1") == tree(tmp_path / "3")
    assert [each.code for each in checking.check(tmp_path / "1")] == ["Z007"]  # there is no archive


@pytest.mark.slow
def test_a_fault_of_the_plan_precedes_those_of_placed_lobs(tmp_path: Path, ahead: list[int]) -> None:
    source = siards.siard(tmp_path / "A.siard", *(b"picture %d" % number for number in range(8)))
    damaged = source.read_bytes().replace(b"picture 0", b"picture 9")
    source.write_bytes(damaged)
    for jobs in (1, 2):
        with pytest.raises(SourceError, match=r"LOB s0\.t0\.c2\.r1"):
            build.build(source, tmp_path / "out", replace(options(1, None), jobs=jobs))
    source.write_bytes(damaged.replace(b"record7.bin", b"record9.bin"))
    for jobs in (1, 2):
        with pytest.raises(SourceError, match=r"table0\.xml"):
            build.build(source, tmp_path / "out", replace(options(1, None), jobs=jobs))
        assert names(tmp_path) == {"A.siard"}
    assert min(ahead) < max(ahead)


@pytest.mark.slow
def test_room_is_measured_first(tmp_path: Path, ahead: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    """Bytes that are written during planning do not count as missing space."""
    source = siards.siard(tmp_path / "A.siard", *(b"picture %d" % number for number in range(8)))
    seen: list[int] = []
    real = os.statvfs

    def less_and_less(path: Any) -> Any:
        status = real(path)
        seen.append(status.f_bavail)
        given = {name: getattr(status, name) for name in ("f_bavail", "f_frsize", "f_files", "f_favail")}
        return SimpleNamespace(**given | ({"f_bavail": 0} if len(seen) > 2 else {}))

    monkeypatch.setattr(os, "statvfs", less_and_less)
    build.build(source, tmp_path / "out", replace(options(1, None), jobs=2))
    assert len(ahead) == 1


@pytest.mark.parametrize(("length", "refused"), [(3, False), (5, False), (4, True)])
def test_a_length_without_a_digest_may_count_characters(
    tmp_path: Path, length: int, *, refused: bool
) -> None:
    lob = siards.Lob(data="aéß".encode(), attributes=f'length="{length}"')
    source = siards.packed(tmp_path / "A.siard", siards.parts([lob]))
    with pytest.raises(SourceError, match="has 5 bytes, 3 characters") if refused else nullcontext():
        build.build(source, tmp_path / "out", options(None, None))
    assert (tmp_path / "out").exists() is not refused
