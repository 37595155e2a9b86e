"""Building as a function: laws over archives of any shape, and what it gives back."""

from __future__ import annotations

import os
import shutil
import zipfile
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import NoReturn

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metspack import checking
from metspack.building import build
from metspack.building.build import BuildOptions, Built
from metspack.errors import PlanError, SourceError
from metspack.mets import filetable
from metspack.mets.dialects.interface import Software
from metspack.model import ClosedBy, Limits, Segment, Severity
from metspack.planning import slices
from metspack.planning.assignment import Course
from metspack.planning.division import Split
from metspack.progress import Silent
from metspack.sources import rewriting
from metspack.sources.lobstream import PART_DIGEST
from tests import segmented_folders, siards
from tests.laws import law
from tests.trees import names, tree

SOFTWARE = Software(name="metspack", version="metspack 0")
SEGMENT = Segment(index=0, first="", last="", files=1, bytes=1, closed_by=ClosedBy.END)


def options(files: int | None, size: int | None, jobs: int = 1) -> BuildOptions:
    return BuildOptions(
        created="2016-02-23T00:00:00Z", software=SOFTWARE, limits=Limits(files=files, bytes=size), jobs=jobs
    )


@pytest.mark.parametrize(
    ("wanted", "segments", "amounts", "expected"),
    [
        (3, 8, (10, 10), 3),
        (8, 3, (10, 10), 3),
        (1, 3, (10**6, 10**12), 1),
        (4, 0, (0, 0), 1),
        (None, 8, (10, 10), 1),
        (None, 8, (10, 10**12), 6),
        (None, 8, (10**6, 10), 6),
        (None, 2, (10**6, 10**12), 2),
    ],
)
def test_no_more_processes_than_are_of_use(
    monkeypatch: pytest.MonkeyPatch,
    wanted: int | None,
    segments: int,
    amounts: tuple[int, int],
    expected: int,
) -> None:
    monkeypatch.setattr(os, "cpu_count", lambda: 6)
    files, size = amounts
    course = Course(segments=[SEGMENT] * segments, files=files, bytes=size)
    assert course.jobs(wanted) == expected


CONTENTS = st.lists(st.binary(max_size=40), max_size=12)
LIMITS = st.tuples(st.none() | st.integers(1, 5), st.none() | st.integers(40, 120))


@given(contents=CONTENTS, limits=LIMITS, method=st.sampled_from((zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)))
@law(12)
def test_every_lob_is_where_its_cell_says_and_nothing_is_lost(
    tmp_path_factory: pytest.TempPathFactory,
    contents: list[bytes],
    limits: tuple[int | None, int | None],
    method: int,
) -> None:
    folder = tmp_path_factory.mktemp("law")
    source = siards.packed(folder / "A.siard", siards.parts(siards.lobs(*contents)), method=method)
    built = build.build(source, folder / "out", options(*limits))
    assert (built.files, built.bytes, built.warnings) == (len(contents), sum(map(len, contents)), ())
    with zipfile.ZipFile(folder / "out" / "A.siard") as container:
        table = container.read(siards.TABLE).decode()
        left = [name for name in container.namelist() if name.startswith("content/")]
    assert left == [siards.TABLE]
    files = [part.partition('"')[0] for part in table.split(' file="')[1:]]
    assert [(folder / "out" / file).read_bytes() for file in files] == contents
    folders = [file.partition("/")[0] for file in files]
    assert sorted(set(folders), key=folders.index) == [f"A_lobseg_{n}" for n in range(built.segments)]
    most_files, most_bytes = limits
    for segment in set(folders):
        sizes = [len(data) for data, where in zip(contents, folders, strict=True) if where == segment]
        assert most_files is None or len(sizes) <= most_files
        assert most_bytes is None or sum(sizes) <= most_bytes
    assert not list(checking.check(folder / "out", checking.Level.FULL))
    assert names(folder) == {"A.siard", "out"}
    shutil.rmtree(folder)


def test_what_was_built_is_said(tmp_path: Path) -> None:
    source = siards.siard(tmp_path / "A b.siard", b"one", b"two")
    built = build.build(source, tmp_path / "out", options(1, None), Silent())
    assert built == Built(
        target=tmp_path / "out",
        objid=built.objid,
        name="A_b",
        layout="lobseg",
        segments=2,
        files=2,
        bytes=6,
        split=0,
        kept=0,
        warnings=(),
        readers=built.readers,
    )
    assert built.readers is not None
    assert built.readers.sentence().startswith("LOBs found by metspack; not by SIARD Suite")
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


def test_a_built_archive_is_left_as_it_is_by_a_second_build(tmp_path: Path) -> None:
    source = siards.siard(tmp_path / "A.siard", b"one")
    build.build(source, tmp_path / "out", options(None, None))
    before = tree(tmp_path / "out")
    with suppress(SourceError):  # whether its LOBs outside can be taken again or not
        build.build(tmp_path / "out" / "A.siard", tmp_path / "again", options(None, None))
    assert tree(tmp_path / "out") == before
    assert names(tmp_path) - {"again"} == {"A.siard", "out"}


def test_an_error_while_planning_leaves_nothing(tmp_path: Path) -> None:
    source = siards.siard(tmp_path / "A.siard", b"small", b"much larger")
    with pytest.raises(PlanError, match=r"s0\.t0\.c2\.r2 has 11 bytes"):
        build.build(source, tmp_path / "out", replace(options(None, 10), split=Split.NEVER))
    assert names(tmp_path) == {"A.siard"}


@pytest.mark.parametrize("stays", [None, 10])
def test_rows_that_the_source_lost_are_said_and_kept_as_they_are(tmp_path: Path, stays: int | None) -> None:
    parts = siards.parts(siards.lobs(b"one", b"two")) | {siards.METADATA: siards.metadata(3)}
    source = siards.packed(tmp_path / "A.siard", parts)
    built = build.build(source, tmp_path / "out", replace(options(1, None), min_size=stays))
    (said,) = [each for each in built.warnings if "Z031" in each]
    assert said.startswith(f"table S.T ({siards.TABLE}) has 2 rows where metadata.xml says 3: rows were lost")
    found = checking.check(tmp_path / "out", checking.Level.FULL)
    assert [(each.code, each.place) for each in found] == [("Z031", siards.TABLE)]


def test_a_value_beside_a_file_is_said_and_kept(tmp_path: Path) -> None:
    parts = siards.parts(siards.lobs(b"one", b"two"))
    parts[siards.TABLE] = parts[siards.TABLE].replace(b"/></row>", b">0A</c2></row>", 1)
    assert b">0A</c2>" in parts[siards.TABLE]
    source = siards.packed(tmp_path / "A.siard", parts)
    built = build.build(source, tmp_path / "out", options(1, None))
    (said,) = [each for each in built.warnings if "Z035" in each]
    assert "1 cell with a file and a value as well (first s0.t0.c2.r1); the file is taken" in said
    found = checking.check(tmp_path / "out", checking.Level.FULL)
    assert [(each.code, each.place) for each in found] == [("Z035", siards.TABLE)]
    with zipfile.ZipFile(tmp_path / "out/A.siard") as archive:
        assert b">0A</c2>" in archive.read(siards.TABLE)


def test_a_relative_target_is_beside_its_partial_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    siards.siard(tmp_path / "A.siard", b"one")
    (tmp_path / "below").mkdir()
    monkeypatch.chdir(tmp_path / "below")
    built = build.build(Path("../A.siard"), Path("../out"), options(None, None))
    assert built.target == tmp_path / "out"
    assert names(tmp_path) == {"A.siard", "below", "out"}


@pytest.mark.parametrize(
    "form",
    [
        ("recommendation", "lobseg", None),
        ("csip", "siard22", "zip"),
    ],
    ids=lambda form: "-".join(map(str, form)),
)
def test_alone_or_in_runs_lobs_give_the_same_package(
    form: tuple[str, str, str | None], northwind_full: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    dialect, layout, pack = form
    asked = replace(
        options(5, 20_000), layout=layout, dialect=dialect, split=Split.FILL, pack=pack, agents=("Archive",)
    )
    build.build(northwind_full, tmp_path / "runs", asked)
    monkeypatch.setattr(slices, "_shared", lambda _lob: None)
    monkeypatch.setattr(filetable, "runs", iter)
    build.build(northwind_full, tmp_path / "alone", asked)
    assert tree(tmp_path / "runs") == tree(tmp_path / "alone")


def test_cells_that_get_other_digests_get_them_whatever_was_written_meanwhile(
    northwind: Path, tmp_path: Path
) -> None:
    """The archive is written while LOBs are placed, and once more when one says what a cell is to say."""
    folder = segmented_folders.dbptk_22(
        tmp_path / "folder", segmented_folders.pictures(northwind), whole_digests=False
    )
    (archive,) = folder.glob("*.siard")
    asked = replace(options(1, 20_000), accepted=frozenset({PART_DIGEST}))
    for jobs in (1, 2):
        built = build.build(archive, tmp_path / f"jobs {jobs}", replace(asked, jobs=jobs))
        assert "LOBs whose cell has the digest of their last part alone: 3" in built.warnings
    assert tree(tmp_path / "jobs 1") == tree(tmp_path / "jobs 2")
    assert [each for each in checking.check(tmp_path / "jobs 2") if each.severity is Severity.ERROR] == []


def test_a_fault_of_the_archive_is_told_behind_those_of_lobs(tmp_path: Path) -> None:
    """The archive is written first where processes place LOBs, and its error is told last all the same."""
    lobs = [b"picture %d" % number for number in range(8)]
    for damaged, said in ((True, r"LOB s0\.t0\.c2\.r8"), (False, "cannot be copied")):
        source = siards.siard(tmp_path / "A.siard", *lobs)
        with pytest.MonkeyPatch.context() as patched:

            def failing(*_: object) -> NoReturn:
                raise SourceError("an entry cannot be copied", hint="Get another copy.")

            patched.setattr(rewriting, "_write_header", failing)
            if damaged:
                source.write_bytes(source.read_bytes().replace(b"picture 7", b"picture 8"))
            with pytest.raises(SourceError, match=said):
                build.build(source, tmp_path / "out", replace(options(1, None), jobs=2))
        assert names(tmp_path) == {"A.siard"}
        source.unlink()
