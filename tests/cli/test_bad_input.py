"""Builds that fail: each with its message and exit code, and the target's folder as it was."""

from __future__ import annotations

import json
import os
import resource
from collections.abc import Callable
from pathlib import Path

import pytest

from metspack.building import segments
from metspack.files.staging import Staging
from metspack.sources import rewriting
from metspack.sources.lobstream import OpenSources
from tests import siards
from tests.cli.conftest import Commands, Outcome, Program
from tests.trees import names, tree


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A folder for sources and targets, which a failed build leaves as it was."""
    folder = tmp_path / "place"
    folder.mkdir()
    return folder


def refused(
    metspack: Commands, place: Path, source: Path, *options: str | Path, target: Path | None = None
) -> Outcome:
    """Run a build that must fail and leave all files as they were; return its outcome."""
    before = tree(place)
    times = {path: path.lstat().st_mtime_ns for path in place.rglob("*")}
    outcome = metspack("build", source, "-o", target or place / "out", "-j", "1", *options)
    assert tree(place) == before, "something was left behind or changed"
    assert {path: path.lstat().st_mtime_ns for path in place.rglob("*")} == times
    assert outcome.code != 0
    assert outcome.out == ""
    assert "Traceback" not in outcome.err
    assert outcome.err.startswith("error: ")
    assert "\nhint: " in outcome.err
    return outcome


# The source


def test_no_such_file(metspack: Commands, place: Path) -> None:
    outcome = refused(metspack, place, place / "none.siard")
    assert outcome.code == 3
    assert outcome.err.splitlines()[0] == (
        f"error: {place / 'none.siard'}: cannot be opened: No such file or directory"
    )


def test_a_folder(metspack: Commands, place: Path) -> None:
    folder = place / "folder"
    folder.mkdir()
    for name in ("A.siard", "B.siard"):
        siards.siard(folder / name, b"x")
    outcome = refused(metspack, place, folder)
    assert outcome.code == 3
    assert f"error: {folder} is a folder" in outcome.err
    assert f"It holds A.siard, B.siard: name the file, {folder / 'A.siard'}" in outcome.err


# The options


def test_bad_clock(metspack: Commands, place: Path, northwind: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "yesterday")
    outcome = refused(metspack, place, northwind)
    assert outcome.code == 2
    assert "SOURCE_DATE_EPOCH" in outcome.err


# The target


def _file(target: Path) -> None:
    target.write_bytes(b"mine")


def _empty(target: Path) -> None:
    target.mkdir()


def _full(target: Path) -> None:
    target.mkdir()
    (target / "mine").write_bytes(b"mine")


def _dangling(target: Path) -> None:
    target.symlink_to("nowhere")


@pytest.mark.parametrize(
    ("made", "beside"),
    # An empty .partial is what a run leaves that is killed at its very end.
    [(_file, ""), (_full, ".partial"), (_dangling, ""), (_dangling, ".partial"), (_empty, "")],
)
def test_a_target_that_is_in_the_way(
    metspack: Commands, place: Path, northwind: Path, made: Callable[[Path], None], beside: str
) -> None:
    made(place / f"out{beside}")
    outcome = refused(metspack, place, northwind)
    assert outcome.code == 5
    assert f"error: {place / f'out{beside}'} exists already" in outcome.err


def test_a_target_that_comes_to_exist_meanwhile(
    metspack: Commands, place: Path, tmp_path: Path, northwind: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = tmp_path / "Northwind.siard"  # of which nothing changes meanwhile, not even its links
    source.write_bytes(northwind.read_bytes())
    target = place / "out"

    def appearing(*_arguments: object) -> tuple[tuple[()], str]:
        target.mkdir()
        return (), ""

    with monkeypatch.context() as patch:
        patch.setattr(rewriting, "compared_digests", appearing)
        outcome = metspack("build", source, "-o", target, "-j", "1")
    assert outcome.code == 4
    assert f"cannot write {target}: File exists" in outcome.err
    assert names(place) == {"out", "out.partial"}
    target.rmdir()
    again = metspack("build", source, "-o", target, "-j", "1")
    assert again.code == 0, again.err
    assert names(place) == {"out"}


def test_a_targets_folder_that_is_none(metspack: Commands, place: Path, northwind: Path) -> None:
    parent = "file"
    (place / "file").write_bytes(b"")
    outcome = refused(metspack, place, northwind, target=place / parent / "out")
    assert outcome.code == 4
    assert f"error: {place / parent} is not a folder, so out cannot be created in it" in outcome.err
    assert metspack("sample", "northwind", place / parent / "out").err == outcome.err


@pytest.mark.slow
def test_a_target_one_may_not_write_to(program: Program, northwind: Path, place: Path) -> None:
    (place / "closed").mkdir()
    (place / "closed").chmod(0o555)
    target = place / "closed" / "out"
    if os.geteuid() == 0:
        # Modes do not hold for root, so a child gives that up once everything it needs is loaded.
        for folder in (place, *place.parents):
            if folder.stat().st_uid == 0 and folder != Path("/"):
                folder.chmod(folder.stat().st_mode | 0o055)
            if folder.name.startswith("pytest-of-"):
                break
        source = place / "Northwind.siard"
        source.write_bytes(northwind.read_bytes())
        source.chmod(0o644)
        code = (
            "import os, shlex, sys, metspack.building.build; from metspack import cli; wanted = sys.argv; "
            "sys.argv = ['metspack', 'plan', '-q', sys.argv[2]]; assert cli._run() == 0; sys.argv = wanted; "
            "os.setgroups([]); os.setresgid(65534, 65534, 65534); os.setresuid(65534, 65534, 65534); "
            "cli.main()"
        )
        done = program.python(code, "build", source, "-o", target, "-j", "1")
    else:
        done = program("build", northwind, "-o", target, "-j", "1", cwd=place)
    assert (done.code, done.out) == (4, ""), done.err
    assert done.err == (
        f"error: cannot write {target}.partial: Permission denied\n"
        "hint: Choose a target in a folder you may write to.\n"
    )
    assert names(place / "closed") == set()


def test_too_little_space_is_reported_before_copying(
    metspack: Commands, place: Path, northwind: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    room = os.statvfs_result((1000, 1000, 99, 10, 10, 0, 0, 0, 0, 255))
    monkeypatch.setattr(Staging, "room", lambda _: room)
    outcome = refused(metspack, place, northwind)
    assert outcome.code == 4
    assert outcome.err.startswith(f"error: not enough free space at {place}: needed ")
    assert " bytes, free 10,000\n" in outcome.err


@pytest.mark.slow
def test_a_file_system_that_cannot_hold_a_file(program: Program, place: Path) -> None:
    source = siards.siard(place / "Big.siard", bytes(100_000), bytes(3_000_000))
    code = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (1000000, 1000000)); "
    code += "from metspack.cli import main; main()"
    done = program.python(code, "build", source, "-o", place / "out", "-j", "1")
    assert (done.code, done.out) == (4, "")
    record = place / "out.partial/package/Big_lobseg_0/content/schema0/table0/lob2/record1.bin"
    assert done.err.startswith(f"error: cannot write {record}: File too large\nhint: The disk or quota")
    assert names(place) == {"Big.siard", "out.partial"}
    assert program("build", source, "-o", "out", "-j", "1", cwd=place).code == 0
    assert names(place) == {"Big.siard", "out"}


@pytest.mark.parametrize(
    "where", ["metspack.building.build.RemovedEntries.add_lobs", "metspack.building.segments.Placements.add"]
)
def test_a_temporary_disk_that_is_full(
    metspack: Commands, place: Path, northwind: Path, monkeypatch: pytest.MonkeyPatch, where: str
) -> None:
    import sqlite3  # noqa: PLC0415

    def full(*_arguments: object) -> None:
        raise sqlite3.OperationalError("database or disk is full")

    monkeypatch.setattr(where, full)
    outcome = metspack("build", northwind, "-o", place / "out", "-j", "1")
    assert outcome.code == 4
    assert outcome.err.startswith(
        f"error: a temporary database failed: database or disk is full (working on {place / 'out'})\n"
        "hint: It lies in the temporary directory; SQLITE_TMPDIR names another with more room."
    )
    is_planned = where.endswith("Placements.add")
    assert names(place) == ({"out.partial"} if is_planned else set())
    assert ("To go on, run the same command again" in outcome.err) is is_planned


@pytest.mark.slow
def test_too_few_open_files(program: Program, place: Path) -> None:
    source = siards.siard(place / "Small.siard", b"x")
    few = 40
    code = f"import resource; resource.setrlimit(resource.RLIMIT_NOFILE, ({few}, {few})); "
    code += "from metspack.cli import main; main()"
    assert resource.getrlimit(resource.RLIMIT_NOFILE)[0] > few
    done = program.python(code, "build", source, "-o", place / "out", "-j", "1")
    assert done.code == 0, done.err


# The plan


def _lines(plan: Path) -> list[str]:
    return plan.read_text(encoding="utf-8").splitlines(keepends=True)


def test_a_plan_that_no_longer_fits(metspack: Commands, place: Path, northwind: Path) -> None:
    plan = place / "plan"
    metspack("plan", northwind, "-o", plan, "--max-files", "4", "--max-bytes", "45000")
    plan.write_text(plan.read_text(encoding="utf-8").replace("44021", "44022"), encoding="utf-8")
    outcome = refused(metspack, place, northwind, "--plan", plan)
    assert outcome.code == 3
    first = outcome.err.splitlines()[0]
    assert first.startswith(f"error: {plan} no longer fits its source: it plans ")
    assert '"bytes": 44022, "closed_by": "file limit"}, found {"segment": 0, ' in first


def test_a_plan_with_another_name(metspack: Commands, place: Path, northwind: Path) -> None:
    metspack("plan", northwind, "-o", place / "plan", "--name", "One")
    outcome = refused(metspack, place, northwind, "--plan", place / "plan", "--name", "Two")
    assert outcome.code == 2
    assert "the plan names the package One, and --name gives Two" in outcome.err


def test_a_plan_names_the_package_safely(metspack: Commands, place: Path, northwind: Path) -> None:
    plan = place / "plan"
    metspack("plan", northwind, "-o", plan)
    head = json.loads(_lines(plan)[0]) | {"name": "../../evil"}
    plan.write_text("".join([json.dumps(head) + "\n", *_lines(plan)[1:]]), encoding="utf-8")
    outcome = refused(metspack, place, northwind, "--plan", plan)
    assert outcome.code == 2
    assert "holds a path separator" in outcome.err


# What happens on the way


@pytest.mark.parametrize("moment", ["before the first LOB", "after the last LOB", "at the end"])
def test_a_source_that_changes_during_the_build(
    metspack: Commands, place: Path, northwind: Path, monkeypatch: pytest.MonkeyPatch, moment: str
) -> None:
    source = place / "Northwind.siard"
    source.write_bytes(northwind.read_bytes())

    def touched() -> None:
        os.utime(source, ns=(0, 0))

    if moment == "before the first LOB":
        real = segments.place

        def placed(task: segments.SegmentTask, moved: Callable[[int], None]) -> segments.TaskPlaced:
            touched()
            return real(task, moved)

        monkeypatch.setattr(segments, "place", placed)
    elif moment == "after the last LOB":
        check = OpenSources.check_unchanged

        def touching(sources: OpenSources) -> None:
            touched()
            check(sources)

        monkeypatch.setattr(OpenSources, "check_unchanged", touching)
    else:

        def checked(*_: object, **__: object) -> tuple[str, ...]:
            touched()
            return ()

        monkeypatch.setattr("metspack.building.build.check_made", checked)
    outcome = metspack("build", source, "-o", place / "out", "-j", "1")
    assert outcome.code == 3
    assert "was changed while it was read" in outcome.err
    assert names(place) == {"Northwind.siard"}


def test_a_failed_check_ends(
    metspack: Commands, place: Path, northwind: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = segments.place

    def damaging(task: segments.SegmentTask, moved: Callable[[int], None]) -> segments.TaskPlaced:
        placed = real(task, moved)
        (folder,) = {each.child.folder for each in placed[:1] if each.child is not None}
        record = next((place / "out.partial" / "package" / folder).rglob("record0.bin"))
        record.write_bytes(b"\0" * record.stat().st_size)
        return placed

    monkeypatch.setattr(segments, "place", damaging)
    outcome = metspack("build", northwind, "-o", place / "out", "-j", "1", "--verify")
    assert outcome.code == 4
    assert {path.name for path in place.iterdir()} == {"out.partial"}
    assert (
        "the new package failed its own check: "
        "Northwind_lobseg_0/content/schema0/table2/lob4/record0.bin: F" in (outcome.err)
    )
    assert "nothing was published" in outcome.err


def test_too_few_inodes_are_refused(metspack: Commands, place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = siards.siard(place / "Small.siard", b"x", b"y")
    monkeypatch.setattr(Staging, "room", lambda _: os.statvfs_result((4096, 4096, 9, 9, 9, 9, 5, 5, 0, 255)))
    outcome = refused(metspack, place, source)
    assert (outcome.code, "not enough free inodes" in outcome.err) == (4, True), outcome.err
