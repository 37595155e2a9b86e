"""``metspack add`` as it is typed, and the other commands with packages of several archives."""

from __future__ import annotations

import json
import os
import shutil
import signal
from pathlib import Path

import pytest

from metspack.files import writing
from metspack.files.journal import ADD
from tests.adding.packages import DIALECTS, SECOND, package, siard, stats
from tests.cli.conftest import Commands
from tests.trees import names

LIMITS = ("--max-files", "3", "--max-bytes", "100")


@pytest.fixture(params=DIALECTS)
def out(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    return package(tmp_path, request.param)


@pytest.fixture
def source(tmp_path: Path) -> Path:
    return siard(tmp_path, "Orders", *SECOND)


def test_what_is_said(metspack: Commands, out: Path, source: Path) -> None:
    lines = metspack.fine("add", out, source, *LIMITS).splitlines()
    assert lines[0].endswith(" new child IPs, 4 LOBs (1 in parts), 381 bytes")
    assert lines[-1] == f"Added to {out}; structure check passed. For a full check: metspack check {out}"
    assert metspack("check", out).code == 0


def test_said_as_json_or_not_at_all(metspack: Commands, out: Path, source: Path, tmp_path: Path) -> None:
    made = json.loads(metspack.fine("add", out, source, *LIMITS, "--json"))
    assert (made["name"], made["lobs"], made["split_lobs"], made["bytes"]) == ("Orders", 4, 1, 381)
    assert made["target"] == str(out)
    third = siard(tmp_path, "Third", b"x")
    assert metspack.fine("add", out, third, "-q", "--verify", "-j", "1") == ""


def test_what_is_asked_for(metspack: Commands, tmp_path: Path, source: Path) -> None:
    out = package(tmp_path, "csip")
    options = ("--name", "Bills", "--representation", "later", "--layout", "lobseg", "--max-files", "1")
    assert metspack("add", out, source, *options).code == 0
    (top,) = out.glob("*/representations/later/data/Bills.siard")
    assert len(list(out.glob("*/representations/later/data/Bills_lobseg_*"))) == len(SECOND)
    assert top.is_file()


@pytest.mark.parametrize(
    ("words", "code", "told"),
    [
        (("add", "out", "Orders.siard", "--name", "First"), 2, "has an archive named First already"),
        (("add", "out", "Orders.siard", "--name", "a/b"), 2, "a/b"),
        (("add", "out", "Orders.siard", "--layout", "other"), 2, "other"),
        (("add", "out", "Orders.siard", "--max-bytes", "100", "--split", "never"), 3, "260"),
        (("add", "out", "none.siard"), 3, "none.siard"),
        (("add", "none", "Orders.siard"), 3, "is not a folder"),
        (("add", "out"), 2, "SOURCE"),
        (("add", "out", "out/First.siard"), 4, "lies inside the package"),
    ],
)
@pytest.mark.usefixtures("source")
def test_what_is_refused(
    metspack: Commands,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    *,
    words: tuple[str, ...],
    code: int,
    told: str,
) -> None:
    out = package(tmp_path, "recommendation")
    before, beside = stats(out), names(tmp_path)
    monkeypatch.chdir(tmp_path)
    outcome = metspack(*words)
    assert outcome.code == code
    assert told in outcome.err
    assert outcome.out == ""
    assert (stats(out), names(tmp_path)) == (before, beside)


def test_ctrl_c_while_it_is_put_into_the_package(
    metspack: Commands, out: Path, source: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = stats(out)
    supersede = writing.supersede

    def interrupted(staged: Path, target: Path) -> None:
        supersede(staged, target)
        os.kill(os.getpid(), signal.SIGINT)

    with monkeypatch.context() as patched:
        patched.setattr(writing, "supersede", interrupted)
        outcome = metspack("add", out, source, *LIMITS)
    assert outcome.code == 130
    assert stats(out) == before
    assert "out.partial" not in names(out.parent)
    metspack.fine("add", out, source, *LIMITS)


def test_a_disk_without_enough_space(
    metspack: Commands, small_disk: Path, tmp_path: Path, source: Path
) -> None:
    made = package(tmp_path, "recommendation")
    out = small_disk / "out"
    shutil.copytree(made, out)
    before = stats(out)
    large = siard(tmp_path, "Large", b"x" * 2_000_000)
    outcome = metspack("add", out, large)
    assert outcome.code == 4
    assert "not enough free space" in outcome.err
    assert stats(out) == before
    assert names(small_disk) == {"out"}
    metspack.fine("add", out, source)


def test_a_disk_that_is_full_when_it_is_put_there(
    metspack: Commands, small_disk: Path, tmp_path: Path, source: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = package(tmp_path, "recommendation")
    out = small_disk / "out"
    shutil.copytree(made, out)
    before = stats(out)
    sync = writing.sync_tree

    def filled(path: Path) -> None:
        sync(path)
        with (small_disk / "other").open("wb", buffering=0) as file:
            try:
                while file.write(bytes(4096)):
                    pass
            except OSError:
                pass

    with monkeypatch.context() as patched:
        patched.setattr(writing, "sync_tree", filled)
        outcome = metspack("add", out, source, *LIMITS)
    # A tmpfs takes renamings and a short journal's words even then, or they fail: both are to be borne.
    if outcome.code:
        assert outcome.code == 4
        assert stats(out) == before
    assert "out.partial" not in names(small_disk)
    assert metspack("check", out).code == 0


def journal_of_one_that_was_stopped(out: Path) -> None:
    """Leave what a kill leaves before the first thing is put into the package."""
    partial = out.with_name(f"{out.name}.partial")
    partial.mkdir()
    moves = sorted(names(out))
    adding = {"event": "putting", "puts": [], "moves": [moves[0]], "replaces": [], "made": {}}
    words = [{"event": "begun", "command": ADD, "job": "x", "source": "Orders.siard"}, adding]
    (partial / "journal.jsonl").write_text("".join(f"{json.dumps(each)}\n" for each in words))


def test_the_state_in_between_is_all_that_check_tells(metspack: Commands, out: Path, tmp_path: Path) -> None:
    journal_of_one_that_was_stopped(out)
    for path in (out, *(each for each in sorted(out.iterdir())[:1] if each.is_dir())):
        outcome = metspack("check", path, "--report", tmp_path / "r.html", "--report", tmp_path / "r.json")
        assert outcome.code == 1
        assert "M011" in outcome.out
        assert "Orders.siard" in outcome.out
        found = json.loads((tmp_path / "r.json").read_text(encoding="utf-8"))
        assert [each["code"] for each in found["findings"]] == ["M011"]
        assert "Addition of an archive not finished" in (tmp_path / "r.html").read_text(encoding="utf-8")
        for name in ("r.html", "r.json"):
            (tmp_path / name).unlink()
    assert "Run the same metspack add again" in metspack.fine("explain", "M011")
    assert metspack("links", out).code == 1


def test_other_commands_speak_of_both(metspack: Commands, out: Path, source: Path, tmp_path: Path) -> None:
    before = tmp_path / "before"
    shutil.copytree(out, before)
    metspack.fine("add", out, source, *LIMITS)
    assert metspack("diff", before, out).code == 1
    children = [each for each in sorted(out.iterdir()) if each.is_dir()]
    tree = metspack.fine("links", out)
    assert all(each.name in tree for each in children)
    for form in ("table", "json", "mermaid", "svg"):
        assert metspack.fine("links", out, "--format", form)
    report = tmp_path / "r.html"
    assert metspack("check", out, "--report", report).code == 0
    text = report.read_text(encoding="utf-8")
    assert "Orders.s0.t0.c2.r2" in text
    assert all(each.name in text for each in children)
    assert "9 LOBs in segments" in metspack.fine("roundtrip", out)
    shown = metspack.fine("shards", out)
    assert all(
        f" {lob} " in f" {shown}" or f"\n{lob} " in shown for lob in ("Orders.s0.t0.c2.r1", "s0.t0.c2.r1")
    )


def test_of_several_archives_one_is_restored(
    metspack: Commands, out: Path, source: Path, tmp_path: Path
) -> None:
    metspack.fine("add", out, source, *LIMITS)
    refused = metspack("restore", out, "-o", tmp_path / "x")
    assert refused.code == 3
    assert "--archive NAME" in refused.err
    metspack.fine("restore", out, "-o", tmp_path / "x", "--archive", "Orders")
    assert [each.read_bytes() for each in sorted((tmp_path / "x").rglob("record*"))] == list(SECOND)
    metspack.fine("restore", out, "-o", tmp_path / "y.siard", "--siard", "--archive", "Orders")
    assert metspack("inspect", tmp_path / "y.siard").code == 0
    assert metspack("cat", out, "s0.t0.c2.r1").code == 3
    assert metspack("convert", out, "-o", tmp_path / "z").code == 3
    assert names(tmp_path) >= {"x", "y.siard"}
    assert not (tmp_path / "z").exists()
