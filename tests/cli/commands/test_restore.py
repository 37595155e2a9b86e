"""``metspack restore`` as a person runs it."""

from __future__ import annotations

import hashlib
import json
import os
import signal
import subprocess
import zipfile
from pathlib import Path

import pytest

from metspack.sources.lobstream import Passage
from tests import segmented_folders
from tests.cli.conftest import HEAD, Commands, Program
from tests.kept import copied
from tests.restoring.damages import without_map
from tests.restoring.test_files import manifest_holds
from tests.siards import siard as small_siard
from tests.trees import names, tree

CUT = ("--max-files", "4", "--max-bytes", "9000", "-j", "1")


@pytest.fixture
def out(metspack: Commands, northwind: Path, tmp_path: Path) -> Path:
    """The sample packaged, each of its 8 LOBs in two parts."""

    def build(out: Path) -> None:
        outcome = metspack("build", northwind, "-o", out, *CUT)
        assert (outcome.code, outcome.err.count("\n")) == (0, 1)
        assert "fewer than two in each on average: --max-bytes is 9,000 bytes; was 9MB meant?" in outcome.err

    return copied(CUT, tmp_path / "out", build)


def test_files_are_restored_and_told(metspack: Commands, out: Path, tmp_path: Path) -> None:
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
    said = json.loads(metspack.fine("restore", out, "--output", tmp_path / "again", "--json"))
    assert said == HEAD | {
        "target": str(tmp_path / "again"),
        "dry_run": False,
        "errors": [],
        "lobs": 8,
        "joined_lobs": 8,
        "bytes": 91_839,
        "from_inside": 0,
        "warnings": [],
    }
    assert tree(tmp_path / "again") == tree(lobs)
    assert metspack.fine("restore", out / "mets.xml", "-o", tmp_path / "quiet", "-q") == ""


def test_a_split_lob_that_no_map_names_is_given_back_and_said(
    metspack: Commands, out: Path, tmp_path: Path
) -> None:
    without_map(out)
    first = "LOB s0.t2.c4.r1: the parent METS has no SPLITLOB structMap of it; the order of its 2 parts is "
    more = "7 more split LOBs that no SPLITLOB structMap names"
    for command in (
        ("restore", out, "-o", tmp_path / "lobs"),
        ("restore", out, "-o", tmp_path / "back.siard", "--siard"),
        ("convert", out, "-o", tmp_path / "new", *CUT),
    ):
        outcome = metspack(*command, "--json")
        assert outcome.code == 0
        warnings = json.loads(outcome.out)["warnings"]
        assert outcome.err.splitlines() == [f"warning: {each}" for each in warnings]
        slips = warnings[:1] if command[0] == "convert" else []
        assert all("fewer than two in each on average" in each for each in slips)
        assert warnings[len(slips)].startswith(first)
        assert warnings[len(slips) + 1 :] == [more]


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


def test_one_archive_is_restored_and_told(metspack: Commands, out: Path, tmp_path: Path) -> None:
    back = tmp_path / "Back.siard"
    said = metspack.fine("restore", out, "-o", back, "--siard").splitlines()
    data = back.read_bytes()
    assert said == [
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
    assert document == HEAD | {
        "target": str(inside),
        "dry_run": False,
        "errors": [],
        "lobs": 8,
        "joined_lobs": 8,
        "bytes": 91_839,
        "into": "inside",
        "stayed_inside": 0,
        "archive_bytes": len(data),
        "archive_sha256": hashlib.sha256(data).hexdigest(),
        "warnings": [],
    }
    folder = tmp_path / "folder"
    said = metspack.fine("restore", out, "-o", folder, "--siard", "--into", "folder").splitlines()
    assert said[1].endswith(f"cd {folder} && sha256sum -c manifest-sha256.txt")
    assert names(folder) == {"Northwind.siard", "Northwind_lobs", "manifest-md5.txt", "manifest-sha256.txt"}
    assert names(folder / "Northwind_lobs" / "s0_t2_c4") == {"seg_0"}


def test_lobs_inside_are_told(metspack: Commands, northwind_full: Path, tmp_path: Path) -> None:
    metspack("build", northwind_full, "-o", tmp_path / "out", "--min-size", "1000", "-j", "1")
    said = metspack.fine("restore", tmp_path / "out", "-o", tmp_path / "files")
    assert "46 LOBs, " in said
    assert "LOBs from inside the archive" in said
    said = metspack.fine("restore", tmp_path / "out", "-o", tmp_path / "x.siard", "--siard")
    assert "LOBs stayed inside" in said


def test_a_folder_that_holds_the_archive(metspack: Commands, northwind_full: Path, tmp_path: Path) -> None:
    metspack("build", northwind_full, "-o", tmp_path / "out", "--max-files", "4")
    metspack("restore", tmp_path / "out", "-o", tmp_path / "x.siard", "--siard")
    metspack("restore", tmp_path / "out", "-o", tmp_path / "folder", "--siard")
    assert names(tmp_path / "folder") == {"Northwind-full.siard", "manifest-md5.txt", "manifest-sha256.txt"}
    assert (tmp_path / "folder" / "Northwind-full.siard").read_bytes() == (tmp_path / "x.siard").read_bytes()
    assert manifest_holds(tmp_path / "folder")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("-o", "x", "--into", "inside"), "--into requires --siard"),
        (("-o", "x.siard"), "x.siard is the name of an archive"),
        (
            ("-o", "x.siard", "--siard", "--into", "folder"),
            "x.siard is the name of an archive, but --into folder",
        ),
        (("-o", "x.siard", "--siard", "--into", "beside"), "--into 'beside' is not known"),
        (("-o", "x.siard", "--siard", "--only", "s0"), "--only cannot be combined with --siard"),
        (
            ("-o", "x.siard", "--siard", "--accept", "dbptk-part-digest"),
            "--accept cannot be combined with --siard",
        ),
        (("-o", "x", "--accept", "all"), "--accept 'all' is not known"),
        (("-o", "x", "--budget", "none"), "--budget 'none' is not a budget"),
    ],
)
def test_options_that_contradict_each_other(
    metspack: Commands, out: Path, options: tuple[str, ...], words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(out.parent)
    outcome = metspack("restore", out, *options)
    assert outcome.code == 2
    assert outcome.err.startswith(f"error: {words}")
    assert "\nhint: " in outcome.err
    assert names(out.parent) == {"out"}


@pytest.mark.parametrize(
    ("target", "code", "words"),
    [("out/x", 4, "lies inside the package"), ("none/x", 4, "is not a folder"), ("out", 4, "lies inside")],
)
def test_targets_that_cannot_be(
    metspack: Commands, out: Path, tmp_path: Path, *, target: str, code: int, words: str
) -> None:
    before = tree(tmp_path)
    outcome = metspack("restore", out, "-o", tmp_path / target)
    assert (outcome.code, words in outcome.err) == (code, True), outcome
    (tmp_path / "there").mkdir()
    outcome = metspack("restore", out, "-o", tmp_path / "there")
    assert (outcome.code, "exists already" in outcome.err) == (5, True), outcome
    (tmp_path / "there").rmdir()
    assert tree(tmp_path) == before


def test_what_is_no_package(metspack: Commands, northwind: Path, tmp_path: Path) -> None:
    for package, words in (
        (tmp_path / "none", "was not found"),
        (tmp_path, "holds no mets.xml"),
        (northwind, "is a SIARD archive; expected a package"),
    ):
        outcome = metspack("restore", package, "-o", tmp_path.parent / "x")
        assert (outcome.code, words in outcome.err) == (3, True), outcome
    assert not (tmp_path.parent / "x").exists()


@pytest.mark.parametrize("options", [(), ("--siard",), ("--siard", "--into", "folder")])
def test_a_damaged_part_is_named_and_nothing_left(
    metspack: Commands, out: Path, tmp_path: Path, options: tuple[str, ...]
) -> None:
    target = tmp_path / ("x.siard" if options == ("--siard",) else "x")
    part = next(out.rglob("record6.bin.z"))
    whole = part.read_bytes()
    part.write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))
    outcome = metspack("restore", out, "-o", target, *options)
    assert outcome.code == 3
    assert outcome.err.startswith("error: LOB s0.t2.c4.r7 (")
    assert f"{part.relative_to(out)}" in outcome.err
    part.unlink()
    outcome = metspack("restore", out, "-o", target, *options)
    assert (outcome.code, "s0.t2.c4.r7" in outcome.err) == (3, True), outcome
    assert names(tmp_path) == {"out"}


def test_the_digest_of_a_last_part(metspack: Commands, northwind: Path, tmp_path: Path) -> None:
    pictures = segmented_folders.pictures(northwind)
    folder = segmented_folders.dbptk_22(tmp_path / "x", pictures, whole_digests=False)
    accept = ("--accept", "dbptk-part-digest")
    assert metspack("build", folder, "--keep-segments", "--in-place", *accept).code == 0
    assert metspack("check", folder).code == 0
    assert metspack("restore", "--dry-run", folder).code == 0, "METS proves each part"
    assert metspack("restore", folder, "-o", tmp_path / "files").code == 0


@pytest.mark.parametrize("options", [(), ("--siard",), ("--siard", "--into", "folder")])
@pytest.mark.parametrize("looks", [True, False], ids=["seen before", "on the way"])
def test_a_disk_that_is_full(
    metspack: Commands,
    small_disk: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    *,
    options: tuple[str, ...],
    looks: bool,
) -> None:
    source = small_siard(tmp_path / "Big.siard", *(os.urandom(300_000) for _ in range(5)))
    metspack.fine("build", source, "-o", tmp_path / "out", "-j", "1")
    if not looks:
        monkeypatch.setattr("metspack.files.staging.Staging.free", lambda _: 1 << 40)
    target = small_disk / ("x.siard" if options == ("--siard",) else "x")
    outcome = metspack("restore", tmp_path / "out", "-o", target, *options)
    assert outcome.code == 4
    words = "not enough free space" if looks else "No space left on device"
    assert words in outcome.err
    assert "\nhint: " in outcome.err
    assert names(small_disk) == set()


@pytest.mark.parametrize("options", [(), ("--siard",), ("--siard", "--into", "folder")])
def test_an_interruption_leaves_nothing(
    metspack: Commands,
    out: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    options: tuple[str, ...],
) -> None:
    monkeypatch.setattr(Passage, "end", lambda _: os.kill(os.getpid(), signal.SIGINT))
    before = tree(out)
    target = tmp_path / ("x.siard" if options == ("--siard",) else "x")
    outcome = metspack("restore", out, "-o", target, *options)
    assert outcome.code == 130
    assert outcome.err.startswith("error: interrupted; nothing unfinished was left behind")
    assert names(tmp_path) == {"out"}
    assert tree(out) == before


def test_it_is_a_command_of_the_program(program: Program, out: Path, tmp_path: Path) -> None:
    outcome = program("restore", out, "-o", "lobs", cwd=tmp_path)
    assert (outcome.code, outcome.err) == (0, ""), outcome
    assert outcome.out.startswith("lobs: 8 LOBs")
