"""``metspack restore`` as a person runs it."""

from __future__ import annotations

import hashlib
import json
import shlex
import subprocess
import zipfile
from pathlib import Path

import pytest

from tests.cli.conftest import HEAD, Commands
from tests.kept import copied
from tests.packages.several import FORMS, SECOND, several
from tests.restoring.damages import without_map
from tests.tables import read_table
from tests.trees import names, tree

CUT = ("--max-files", "4", "--max-bytes", "9000", "-j", "1")


@pytest.fixture
def out(metspack: Commands, northwind: Path, tmp_path: Path) -> Path:
    """The sample packaged, each of its 8 LOBs in two parts."""

    def build(out: Path) -> None:
        outcome = metspack("build", northwind, "-o", out, *CUT)
        assert (outcome.code, outcome.err.count("\n")) == (0, 1)
        assert "fewer than two in each on average: --max-bytes is 9,000 bytes" in outcome.err

    return copied(CUT, tmp_path / "out", build)


def test_files_are_restored_and_summarised(metspack: Commands, out: Path, tmp_path: Path) -> None:
    lobs = tmp_path / "my lobs"
    assert metspack.fine("restore", out, "-o", lobs).splitlines() == [
        f"{lobs}: 8 LOBs (8 joined from parts), 91,839 bytes",
        (
            f"Written to {lobs}; every LOB was verified. "
            f"To check again at any time: cd '{lobs}' && sha256sum -c manifest-sha256.txt"
        ),
    ]
    done = subprocess.run(
        ["sha256sum", "-c", "--quiet", "manifest-sha256.txt"], cwd=lobs, capture_output=True, check=False
    )
    assert (done.returncode, done.stdout) == (0, b"")
    printed = json.loads(metspack.fine("restore", out, "--output", tmp_path / "again", "--json"))
    assert printed == HEAD | read_table(__file__, "files") | {"target": str(tmp_path / "again")}
    assert tree(tmp_path / "again") == tree(lobs)
    assert metspack.fine("restore", out / "mets.xml", "-o", tmp_path / "quiet", "-q") == ""


def test_a_split_lob_without_map_is_restored(metspack: Commands, out: Path, tmp_path: Path) -> None:
    without_map(out)
    outcome = metspack("restore", out, "-o", tmp_path / "lobs", "--json")
    assert outcome.code == 0
    document = json.loads(outcome.out)
    warnings = document["warnings"]
    assert document["warning_ids"] == ["split-order-unproven"] * len(warnings)
    assert outcome.err.splitlines() == [f"warning: {each}" for each in warnings]
    assert warnings[0].startswith(
        "LOB s0.t2.c4.r1: the parent METS has no SPLITLOB structMap of it; the order of its 2 parts is "
    )
    assert warnings[1:] == ["7 more split LOBs that no SPLITLOB structMap names"]


def test_only_some_are_restored(metspack: Commands, out: Path, tmp_path: Path) -> None:
    chosen = ("--only", "s0.t2.c4.r3", "--only", "s0.t2.c4.r8")
    assert metspack.fine("restore", out, "-o", tmp_path / "two", *chosen).startswith(
        f"{tmp_path / 'two'}: 2 LOBs"
    )
    found = {path.name for path in (tmp_path / "two" / "content/schema0/table2/lob4").iterdir()}
    assert found == {"record2.bin", "record7.bin"}
    assert "8 LOBs" in metspack.fine("restore", out, "-o", tmp_path / "column", "--only", "s0.t2.c4")
    outcome = metspack("restore", out, "-o", tmp_path / "none", "--only", "s0.t2.c7")
    assert outcome.code == 3
    assert outcome.err == "error: the package has no LOB 's0.t2.c7'\nhint: Did you mean s0.t2.c4?\n"
    assert names(tmp_path) == {"out", "two", "column"}


def test_one_archive_is_restored_and_summarised(metspack: Commands, out: Path, tmp_path: Path) -> None:
    back = tmp_path / "Back.siard"
    printed = metspack.fine("restore", out, "-o", back, "--siard").splitlines()
    data = back.read_bytes()
    assert printed == [
        f"{back}: 8 LOBs (8 joined from parts), 91,839 bytes",
        (
            f"Written to {back}; every LOB was verified. The archive has {len(data):,} bytes, "
            f"SHA-256 {hashlib.sha256(data).hexdigest()}"
        ),
    ]
    with zipfile.ZipFile(back) as archive:
        assert archive.testzip() is None
    inside = tmp_path / "Inside.siard"
    document = json.loads(
        metspack.fine("restore", out, "-o", inside, "--siard", "--into", "inside", "--json")
    )
    assert document == HEAD | read_table(__file__, "archive") | {
        "target": str(inside),
        "archive_bytes": len(data),
        "archive_sha256": hashlib.sha256(data).hexdigest(),
    }
    folder = tmp_path / "folder"
    printed = metspack.fine("restore", out, "-o", folder, "--siard", "--into", "folder").splitlines()
    assert printed[1].endswith(f"cd {shlex.quote(str(folder))} && sha256sum -c manifest-sha256.txt")
    assert names(folder) == {"Northwind.siard", "Northwind_lobs", "manifest-md5.txt", "manifest-sha256.txt"}
    assert names(folder / "Northwind_lobs" / "s0_t2_c4") == {"seg_0"}


def test_lobs_are_restored_by_table_column_and_key(metspack: Commands, out: Path, tmp_path: Path) -> None:
    place = ("--table", "Categories", "--column", "Picture")
    metspack.fine("restore", out, "-o", tmp_path / "one", *place, "--key", "3")
    assert [each for each in tree(tmp_path / "one") if each.endswith(".bin")] == [
        "content/schema0/table2/lob4/record2.bin"
    ]
    metspack.fine("restore", out, "-o", tmp_path / "all", *place)
    assert len([each for each in tree(tmp_path / "all") if each.endswith(".bin")]) == 8
    outcome = metspack("restore", out, "-o", tmp_path / "none", "--table", "Orders")
    assert (outcome.code, "no LOB is in Orders" in outcome.err) == (2, True)
    assert not (tmp_path / "none").exists()


def test_files_are_named_by_key(metspack: Commands, out: Path, tmp_path: Path) -> None:
    chosen = ("--table", "Categories", "--column", "Picture", "--key", "7", "--names", "key")
    metspack.fine("restore", out, "-o", tmp_path / "one", *chosen)
    assert (tmp_path / "one" / "content" / "dbo.Categories" / "7_Picture.png").is_file()
    metspack.fine("restore", out, "-o", tmp_path / "N.siard", "--siard", "--names", "archive")


@pytest.fixture(params=FORMS)
def two_archives(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    return several(tmp_path / "two_archives", request.param)


def test_of_several_archives_one_is_restored(metspack: Commands, two_archives: Path, tmp_path: Path) -> None:
    refused = metspack("restore", two_archives, "-o", tmp_path / "x")
    assert refused.code == 3
    assert "--archive NAME" in refused.err
    metspack.fine("restore", two_archives, "-o", tmp_path / "x", "--archive", "Orders")
    assert [each.read_bytes() for each in sorted((tmp_path / "x").rglob("record*"))] == list(SECOND)
    metspack.fine("restore", two_archives, "-o", tmp_path / "y.siard", "--siard", "--archive", "Orders")
    assert metspack("inspect", tmp_path / "y.siard").code == 0
    assert metspack("cat", two_archives, "s0.t0.c2.r1").code == 3
    assert metspack("convert", two_archives, "-o", tmp_path / "z").code == 3
    assert names(tmp_path) >= {"x", "y.siard"}
    assert not (tmp_path / "z").exists()
