"""``metspack volumes`` as a person runs it."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest

import metspack
from metspack.errors import Interrupted
from metspack.volumes.check import VolumesCheck
from tests.cli.conftest import HEAD, Commands
from tests.cli.test_schemas import schema
from tests.kept import copied
from tests.trees import tree

SIZE = ("--volume-size", "120kB")


@pytest.fixture
def out(metspack: Commands, northwind: Path, tmp_path: Path) -> Path:
    """The sample in four segments."""
    cut = ("--max-files", "2", "-j", "1", "-q")
    return copied(cut, tmp_path / "out", lambda out: metspack.fine("build", northwind, "-o", out, *cut))


@pytest.fixture
def disks(metspack: Commands, out: Path, tmp_path: Path) -> Path:
    """The sample on two volumes."""
    (folder := tmp_path / "disks").mkdir()
    metspack.fine("volumes", "write", out, folder, *SIZE, "-q")
    return folder


def test_the_plan(metspack: Commands, out: Path, tmp_path: Path) -> None:
    said = metspack.fine("volumes", "plan", out, *SIZE).splitlines()
    assert said[0] == f"{out}: 4 segments on 2 volumes of at most 120,000 bytes"
    assert said[3].split() == ["2", "3", "13", "84,984", "Northwind_lobseg_1", "Northwind_lobseg_3"]
    assert metspack.fine("volumes", "plan", out, *SIZE, "-q") == ""
    found = json.loads(metspack.fine("volumes", "plan", out, *SIZE, "--json"))
    schema("volumes-plan").validate(found)
    assert found | HEAD == found
    assert [len(each["segments"]) for each in found["volumes"]] == [1, 3]
    assert os.listdir(tmp_path) == ["out"]
    assert "- " in metspack.fine("volumes", "plan", out, "--volume-size", "93kB")


def test_volumes_are_written_one_by_one_or_all(metspack: Commands, out: Path, tmp_path: Path) -> None:
    (tape := tmp_path / "tape").mkdir()
    (disks := tmp_path / "disks").mkdir()
    said = metspack.fine("volumes", "write", out, tape, *SIZE, "--volume", "2")
    check = f"metspack volumes check {tape}/out_volume_2"
    assert said.splitlines() == [
        f"{tape}/out_volume_2: 3 segments, 13 files, 84,984 bytes",
        f"1 of 2 volumes written, every byte compared with the manifests. To check: {check}",
    ]
    metspack.fine("volumes", "write", out, tape, *SIZE, "--volume", "1", "-q")
    found = json.loads(
        metspack.fine("volumes", "write", out, disks, *SIZE, "--link-mode", "hardlink", "--json")
    )
    schema("volumes-write").validate(found)
    assert [each["existed"] for each in found["written"]] == [False, False]
    assert tree(tape) == tree(disks)
    again = metspack.fine("volumes", "write", out, tape, *SIZE)
    assert "there already" in again
    assert again.splitlines()[-1].startswith("0 of 2 volumes written. To check: ")


def test_what_is_wrong_is_said(metspack: Commands, out: Path, disks: Path, tmp_path: Path) -> None:
    for code, words, arguments in (
        (2, "--volume-size 'big' is not a size", ("plan", out, "--volume-size", "big")),
        (2, "a volume has a size", ("plan", out, "--volume-size", "none")),
        (2, "Missing option", ("write", out, disks)),
        (2, "there is no volume 3", ("write", out, disks, *SIZE, "--volume", "3")),
        (3, "the parent's own files", ("plan", out, "--volume-size", "20kB")),
        (3, "does not exist", ("plan", tmp_path / "none", *SIZE)),
        (3, "is not a volume", ("check", out)),
        (4, "is not a folder", ("write", out, tmp_path / "none", *SIZE)),
        (5, "exists already", ("write", out, disks, "--volume-size", "150kB")),
    ):
        outcome = metspack("volumes", *arguments)
        assert (outcome.code, outcome.out) == (code, ""), arguments
        assert words in outcome.err, outcome.err
    outcome = metspack("volumes", "plan", out, "--volume-size", "20kB", "--json")
    assert json.loads(outcome.out)["error"]["id"] == "plan"


def test_volumes_are_checked_until_all_were_seen(metspack: Commands, disks: Path, tmp_path: Path) -> None:
    first, second, ledger = disks / "out_volume_1", disks / "out_volume_2", tmp_path / "ledger"
    said = metspack.fine("volumes", "check", second, "--ledger", ledger)
    assert said.splitlines() == [
        "volume 1 is not here: 1 segment, 'Northwind_lobseg_0', and the parent's own files",
        "1 of 2 media here: 3 of 4 segments verified, the rest not here",
    ]
    assert metspack("volumes", "check", second, "--require-all").code == 1
    assert metspack("volumes", "check", first, "--require-all", "-q").code == 1
    found = json.loads(
        metspack.fine("volumes", "check", first, "--ledger", ledger, "--require-all", "--json")
    )
    schema("volumes-check").validate(found)
    assert (found["complete"], found["verified"], found["verified_before"], found["here"]) == (
        True,
        4,
        3,
        [1],
    )
    said = metspack.fine("volumes", "check", first, second, "-j", "2", "--require-all")
    assert said == "2 of 2 media here: 4 of 4 segments verified, complete\n"


def test_findings_decide_the_exit_code(metspack: Commands, disks: Path, tmp_path: Path) -> None:
    first, second = disks / "out_volume_1", disks / "out_volume_2"
    (second / "out" / "Northwind_lobseg_3").rename(first / "out" / "Northwind_lobseg_3")
    assert metspack("volumes", "check", first).code == 0
    outcome = metspack("volumes", "check", first, "--fail-on", "warning")
    assert outcome.code == 1
    assert "warning S032 Segment on another volume than the list says" in outcome.out
    outcome = metspack("volumes", "check", second, "--json", "--events", tmp_path / "events")
    assert outcome.code == 1
    found = json.loads(outcome.out)
    schema("volumes-check").validate(found)
    assert [each["code"] for each in found["findings"]] == ["L002"]
    assert found["with_errors"] == ["Northwind_lobseg_3"]
    assert '"L002"' in (tmp_path / "events").read_text()
    assert metspack("volumes", "check", second, "--fail-on", "never").code == 0
    outcome = metspack("volumes", "check", second, "-q")
    assert outcome.out.startswith("error L002")
    assert "media here" not in outcome.out
    seal = ("--seal", f"sha256:{'0' * 64}")
    outcome = metspack("volumes", "check", first, *seal)
    assert (outcome.code, "error F046 Seal differs" in outcome.out) == (1, True)


def test_an_interrupted_check_says_what_it_found(
    metspack: Commands, disks: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = VolumesCheck._of_medium

    def interrupt(check: VolumesCheck, medium: object) -> object:
        if getattr(medium, "number", 0) == 2:
            raise Interrupted(2)
        return real(check, medium)  # type: ignore[arg-type]

    monkeypatch.setattr(VolumesCheck, "_of_medium", interrupt)
    outcome = metspack("volumes", "check", disks / "out_volume_1", disks / "out_volume_2")
    assert outcome.code == 130
    assert "1 of 2 media here: 1 of 4 segments verified, the rest not here" in outcome.out


def test_a_log_lies_on_no_volume(metspack: Commands, disks: Path, tmp_path: Path) -> None:
    first = disks / "out_volume_1"
    assert metspack("volumes", "check", first, "--log", first / "log").code == 2
    metspack.fine("volumes", "check", first, "--log", tmp_path / "log")
    assert '"complete": false' in (tmp_path / "log").read_text()


def test_python_does_the_same(out: Path, tmp_path: Path) -> None:
    (disks := tmp_path / "disks").mkdir()
    plan = metspack.plan_volumes(out, "120kB")
    made = metspack.write_volumes(str(out), disks, 120_000, link_mode=metspack.LinkMode.COPY)
    assert [each.number for each in made.volumes] == [1, 2]
    assert made.listed == plan
    checked = metspack.check_volumes([each.path for each in made.volumes], ledger=tmp_path / "ledger")
    assert (checked.ok, checked.findings, checked.summary.is_complete) == (True, (), True)
    assert checked.to_json()["complete"] is True
    next(made.volumes[1].path.rglob("*.bin")).unlink()
    checked = metspack.check_volumes(made.volumes[1].path, seal=plan.seal.value)
    assert not checked.ok
    assert checked.to_json()["findings"][0]["code"] == "F001"
    with pytest.raises(metspack.ConfigError, match="has no limit"):
        metspack.plan_volumes(out, "none")
    shutil.rmtree(disks)
