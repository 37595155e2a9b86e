"""``--log``: what a run tells of itself, and a log that cannot be written."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from metspack.cli import console
from metspack.errors import TargetError
from metspack.files import writing
from metspack.resources import __version__
from tests.cli.conftest import Commands
from tests.kept import copied
from tests.tables import read_table, tabled
from tests.trees import tree


def events(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1456185600")
    return tmp_path


def test_a_run_tells_of_itself(metspack: Commands, northwind: Path, here: Path) -> None:
    arguments = ["build", str(northwind), "-o", "out", "--max-files", "4", "-j", "1", "--log", "log"]
    metspack(*arguments, "-q")
    first = events(here / "log")
    assert {each["time"] for each in first} == {"2016-02-23T00:00:00Z"}
    assert [each["event"] for each in first][:2] == ["start", "stage"]
    assert first[0]["metspack"] == __version__
    assert first[0]["arguments"] == [*arguments, "-q"]
    assert "Placing" in [each.get("name") for each in first if each["event"] == "stage"]
    assert first[-2]["event"] == "result"
    assert (first[-2]["children"], first[-2]["lobs"]) == (2, 8)
    assert first[-1] == {"time": first[0]["time"], "event": "end", "exit_code": 0}
    metspack("build", northwind, "-o", "other", "--max-files", "4", "-j", "1", "-q")
    assert tree(here / "out") == tree(here / "other"), "no package depends on a log"
    (here / "out" / "Northwind_lobseg_0" / "mets.xml").unlink()
    assert metspack("check", "out", "--log", "log").code == 1
    more = events(here / "log")
    assert more[: len(first)] == first, "a log is appended to"
    assert more[-1]["exit_code"] == 1
    assert more[-2]["event"] == "result"
    assert more[-2]["errors"] > 0


def test_errors_and_warnings_are_logged(metspack: Commands, northwind_full: Path, here: Path) -> None:
    assert metspack("plan", "none.siard", "--log", "log").code == 3
    logged = events(here / "log")
    assert [each["event"] for each in logged] == ["start", *["stage"] * (len(logged) - 3), "error", "end"]
    assert logged[-2]["message"].startswith("none.siard")
    assert logged[-1]["exit_code"] == 3
    metspack("build", northwind_full, "-o", "o", "--layout", "siard22", "--lob-folder-style", "sfa", "-q")
    metspack("plan", "o/Northwind-full.siard", "--log", "log2")
    assert "located by convention H" in "".join(
        each["message"] for each in events(here / "log2") if each["event"] == "warning"
    )


def test_a_fault_has_its_traceback(metspack: Commands, here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def failing(*_: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr("metspack.building.draft.draft_plan", failing)
    assert metspack("plan", "x", "--log", "log").code == 70
    logged = events(here / "log")
    assert [each["event"] for each in logged] == ["start", "fault", "error", "end"]
    assert "ZeroDivisionError" in logged[1]["traceback"]


@pytest.mark.parametrize("log", ["none/log", "pipe", "/dev/full"])
def test_an_unwritable_log_ends_the_run(metspack: Commands, northwind: Path, here: Path, log: str) -> None:
    os.mkfifo(here / "pipe")
    if log.startswith("/") and not Path(log).exists():
        pytest.skip(f"there is no {log} here")
    before = set(os.listdir(here))
    outcome = metspack("build", northwind, "-o", "out", "--log", log)
    assert (outcome.code, outcome.out) == (4, "")
    assert outcome.err.startswith(f"error: cannot write {log}: ")
    assert set(os.listdir(here)) == before


def test_a_log_that_fails_later_is_given_up(
    metspack: Commands, northwind: Path, here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    true = writing.Log.record

    def record(log: writing.Log, **event: object) -> None:
        if event["event"] != "start":
            raise TargetError("cannot write log: No space left on device")
        true(log, **event)

    monkeypatch.setattr(writing.Log, "record", record)
    outcome = metspack("plan", northwind, "--log", "log")
    assert outcome.code == 0
    assert outcome.err == "warning: the log ends here: cannot write log: No space left on device\n"
    assert [each["event"] for each in events(here / "log")] == ["start"]


@pytest.mark.parametrize(("arguments", "log", "message"), read_table(__file__, "refused"))
def test_a_log_in_what_is_read_or_made_is_refused(  # noqa: PLR0917 -- three fixtures and a case
    metspack: Commands, northwind: Path, here: Path, arguments: tuple[str, ...], log: str, message: str
) -> None:
    shutil.copy(northwind, here / "N.siard")
    for folder in ("unpacked", "out/Northwind_lobseg_0"):
        (here / folder).mkdir(parents=True)
    (here / "out/mets.xml").write_bytes(b"")
    (here / "link").symlink_to("out")
    before = tree(here)
    outcome = metspack(*arguments, "--log", log)
    assert (outcome.code, outcome.out) == (2, "")
    assert outcome.err.startswith(f"error: the log {log} {message}\nhint: Choose a place outside it")
    assert tree(here) == before
    metspack.fine("inspect", "N.siard", "--log", "log")


def test_progress_is_logged_with_rates(
    metspack: Commands, northwind: Path, here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(console, "_LOGGED_EVERY", -1)
    assert metspack("build", northwind, "-o", "out", "-j", "1", "--log", "log", "-q").code == 0
    logged = [each for each in events(here / "log") if each["event"] == "progress"]
    placing = [each for each in logged if each["name"] == "Placing"]
    assert [each["done"] for each in placing] == sorted(each["done"] for each in placing)
    assert (placing[-1]["stage"], placing[-1]["done"], placing[-1]["bytes"]) == ("3 of 5", 91_839, 91_839)
    assert placing[-1]["lobs_per_second"] > 0
    last = next(each for each in reversed(logged) if each["name"] == "Checking the new package")
    assert last["done"] == last["bytes"], "the METS files' bytes are known"


def packaged(metspack: Commands, northwind: Path, target: Path) -> None:
    """Copy a package of the sample, in csip where the target is called so; it is built once."""
    dialect = ("--dialect", "csip") if target.name == "csip" else ()
    words = ("build", northwind, *dialect, "-q")
    copied(words, target, lambda out: metspack.fine(*words, "-o", out))


@tabled
def test_stages_are_numbered(metspack: Commands, northwind: Path, here: Path, words: tuple[str, ...]) -> None:
    shutil.copy(northwind, here / "Northwind.siard")
    for name in {"out", "csip"} & {*words}:
        packaged(metspack, northwind, here / name)
    assert metspack(*words, "--log", "log", "-q").code == 0
    stages = [each["stage"].split(" of ") for each in events(here / "log") if each["event"] == "stage"]
    numbers = [int(number) for number, _ in stages]
    assert numbers == sorted(set(numbers))
    assert len({total for _, total in stages}) == 1
    assert numbers[-1] <= int(stages[0][1])
