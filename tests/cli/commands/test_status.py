"""The state of a run, and the way to resume it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import NoReturn

import pytest

from metspack.errors import Interrupted
from tests.cli.conftest import Commands, Outcome
from tests.cli.test_json import valid
from tests.killing import stop_after
from tests.trees import names

LIMITS = ("--max-files", "12", "-j", "1")


def interrupted(metspack: Commands, source: Path, out: Path, *options: str) -> Outcome:
    """Build, and be stopped by SIGTERM after two segments."""
    outcomes: list[Outcome] = []

    def stop() -> NoReturn:
        raise Interrupted(15)

    stop_after(2, lambda: outcomes.append(metspack("build", source, "-o", out, *LIMITS, *options)), stop)
    return outcomes[0]


@pytest.fixture
def stopped(metspack: Commands, northwind_full: Path, tmp_path: Path) -> Path:
    """The target of a build that was stopped by SIGTERM after two segments."""
    outcome = interrupted(metspack, northwind_full, tmp_path / "out")
    assert outcome.code == 143
    assert "out.partial keeps what is done: the plan, and 2 of 4 segments" in outcome.err
    assert "hint: To go on, run the same command again: " in outcome.err
    return tmp_path / "out"


def test_a_stopped_run_is_shown_and_resumes(metspack: Commands, stopped: Path, northwind_full: Path) -> None:
    for path in (stopped, stopped.with_name("out.partial")):
        outcome = metspack("status", path)
        assert outcome.code == 6
        assert "metspack build, stopped\nstage: placing LOBs\nsegments: 2 of 4\nbytes: " in outcome.out
        assert "to go on: metspack " in outcome.out
    for command in (("check", stopped), ("restore", stopped, "-o", "lobs"), ("list", stopped)):
        outcome = metspack(*command, "--json")
        assert outcome.code == 6
        assert json.loads(outcome.out)["error"]["id"] == "source-unfinished"
    assert metspack("build", northwind_full, "-o", stopped, "--max-files", "9").code == 6
    metspack.fine("build", northwind_full, "-o", stopped, *LIMITS)
    assert metspack("status", stopped).out == f"{stopped}: complete\n"


def test_an_interrupted_run_is_discarded(metspack: Commands, northwind_full: Path, tmp_path: Path) -> None:
    outcome = interrupted(metspack, northwind_full, tmp_path / "out", "--discard-on-interrupt")
    assert (outcome.code, names(tmp_path)) == (143, set())
    assert outcome.err.startswith("error: interrupted; nothing unfinished was left behind\n")


def test_it_is_json_by_its_schema(metspack: Commands, stopped: Path) -> None:
    found = valid(metspack, "status", "status", stopped, code=6)
    assert (found["state"], found["command"], found["segments_done"]) == ("stopped", "build", 2)


@pytest.mark.parametrize("command", ["restore", "merge"])
def test_restore_and_merge_resume(command: str, metspack: Commands, northwind: Path, tmp_path: Path) -> None:
    package, target = tmp_path / "package", tmp_path / "out"
    metspack.fine("build", northwind, "-o", package, "--dialect", "csip", "--max-files", "4")

    def stop() -> NoReturn:
        raise Interrupted(15)

    def run() -> None:
        stopped = metspack(command, package, "-o", target)
        assert stopped.code == 143
        assert "out.partial keeps what is done: 1" in stopped.err
        assert "run the same command again: " in stopped.err

    stop_after(1, run, stop)
    shown = metspack("status", target)
    assert shown.code == 6
    assert f"metspack {command}, stopped\n" in shown.out
    assert "stretches: 1" in shown.out
    metspack.fine(command, package, "-o", target)
    assert metspack("status", target).out == f"{target}: complete\n"


def test_what_is_not_there_is_an_error(metspack: Commands, tmp_path: Path) -> None:
    assert metspack("status", tmp_path / "none").code == 3
    (tmp_path / "out.partial").mkdir()
    assert metspack("status", tmp_path / "out").code == 3
