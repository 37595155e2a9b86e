"""``--events``: what a run does, as JSON lines while it does it; and lines that nobody can take."""

from __future__ import annotations

import json
import os
import subprocess
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from metspack.cli import console
from metspack.errors import TargetError
from metspack.resources import __version__
from tests.cli.conftest import Commands, Program
from tests.cli.test_schemas import schema
from tests.packages import forge
from tests.trees import tree


def told(text: str) -> list[dict[str, Any]]:
    """Return the lines, which are as their schema says."""
    found = [json.loads(line) for line in text.splitlines()]
    for each in found:
        schema("events").validate(each)
    assert all(one["seconds"] <= next_["seconds"] for one, next_ in pairwise(found))
    return found


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1456185600")
    return tmp_path


def test_a_build_tells_what_it_does(metspack: Commands, northwind: Path, here: Path) -> None:
    metspack.fine("build", northwind, "-o", "out", "-j", "1", "-q", "--events", "log")
    found = told((here / "log").read_text())
    first, last = found[0], found[-1]
    assert (first["event"], first["seconds"], first["metspack"]) == ("begin", 0, __version__)
    assert (first["command"], first["arguments"][1:3]) == ("build", ["-o", "out"])
    stages = [each for each in found if each["event"] == "stage"]
    assert [each["stage"] for each in stages] == [*range(1, len(stages) + 1)]
    assert "Placing" in [each["name"] for each in stages]
    progress = [each for each in found if each["event"] == "progress"]
    assert found.index(progress[0]) == 2, "the first is told at once"
    assert all(b["seconds"] - a["seconds"] >= 0.99 for a, b in pairwise(progress)), "then one a second"
    assert (last["event"], last["exit_code"], last["verdict"]) == ("end", 0, "ok")
    metspack.fine("build", northwind, "-o", "other", "-j", "1", "-q")
    assert tree(here / "out") == tree(here / "other"), "no package depends on them"
    metspack("build", northwind, "-o", "out", "--events", "log")
    more = told((here / "log").read_text().split("\n", len(found))[-1])
    assert [each["event"] for each in more] == ["begin", "error", "end"], "a file is appended to"
    assert (more[1]["id"], more[2]["exit_code"], more[2]["verdict"]) == ("target-exists", 5, None)


def test_progress_comes_once_a_second(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seconds = iter([100 + n / 4 for n in range(100)])
    monkeypatch.setattr("time.monotonic", lambda: next(seconds))
    monkeypatch.setattr("sys.argv", ["metspack", "check", "out"])
    run = console.Events(Path("log"))
    run.stage("Checking", 100, None)
    for _ in range(16):
        run.advance(1)
    run.end(0)
    done = [each["done"] for each in told((here / "log").read_text()) if each["event"] == "progress"]
    assert done[0] == 1
    assert 3 <= len(done) <= 8
    assert done == sorted(done)


def test_findings_are_those_of_the_report(metspack: Commands, here: Path) -> None:
    package = forge.forge(here / "package")
    (package / "unlisted").write_bytes(b"")
    (package / forge.FIRST).unlink()
    outcome = metspack("check", package, "--json", "--events", "log")
    assert outcome.code == 1
    found = told((here / "log").read_text())
    findings = [
        {name: value for name, value in each.items() if name not in {"event", "seconds"}}
        for each in found
        if each["event"] == "finding"
    ]
    key = json.dumps
    assert sorted(findings, key=key) == sorted(json.loads(outcome.out)["findings"], key=key)
    assert (found[-1]["exit_code"], found[-1]["verdict"]) == (1, "error")


def test_stdout_holds_events_instead_of_the_result(metspack: Commands, northwind: Path, here: Path) -> None:
    metspack("build", northwind, "-o", "out")
    for words in (
        ("check", "out"),
        ("roundtrip", "out"),
        ("restore", "out", "-o", "lobs"),
        ("convert", "out", "-o", "new"),
        ("inspect", northwind, "--verify"),
    ):
        found = told(metspack(*words, "--events", "-").out)
        assert [found[0]["event"], found[-1]["event"]] == ["begin", "end"]
        assert found[0]["command"] == words[0]
        assert len(found) > 3
    assert (here / "lobs").is_dir()
    for form in ("--json", "--jsonl"):
        outcome = metspack("check", "out", "--events", "-", form)
        assert outcome.code == 2
        assert "cannot both be written to stdout" in outcome.err
    assert metspack("inspect", northwind, "--events", "-", "--lobs").code == 2


def test_pipes(program: Program, northwind: Path, here: Path) -> None:
    os.mkfifo(here / "pipe")
    reader = subprocess.Popen(["cat", "pipe"], cwd=here, stdout=subprocess.PIPE, text=True)
    assert program("build", northwind, "-o", "out", "--events", "pipe", cwd=here).code == 0
    assert told(reader.communicate(timeout=60)[0])[-1]["event"] == "end"
    line = f"{' '.join(program.command)} check out -q --events /dev/fd/3 3>&1 | cat"
    done = subprocess.run(
        ["bash", "-c", line], cwd=here, env=program.environment, capture_output=True, text=True, check=True
    )
    assert told(done.stdout)[-1] == told(done.stdout)[-1] | {"exit_code": 0, "verdict": "ok"}


@pytest.mark.parametrize("form", [(), ("--json",)], ids=["text", "JSON"])
def test_a_pipe_that_nobody_reads_ends_the_run(
    program: Program, northwind: Path, here: Path, form: tuple[str, ...]
) -> None:
    command = f"{' '.join(program.command)} build {northwind} -o out {' '.join(form)} --events /dev/fd/3"
    done = subprocess.run(
        ["bash", "-c", f"{command} 3> >(exec true)"],
        cwd=here,
        env=program.environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 4
    assert done.stderr.startswith(
        "error: cannot write /dev/fd/3: Broken pipe\nhint: Whoever read it went away"
    )
    assert (json.loads(done.stdout)["error"]["id"] == "target") if form else not done.stdout
    assert os.listdir(here) == []


def test_a_reader_of_stdout_may_leave(program: Program, here: Path) -> None:
    forge.forge(here / "package")
    command = f"{' '.join(program.command)} check package --events -"
    line = f"{{ {command}; echo $? > code; }} | true"
    subprocess.run(["bash", "-c", line], cwd=here, env=program.environment, check=True)
    assert (here / "code").read_text() == "141\n"


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full here")
def test_a_full_disk_ends_the_run(metspack: Commands, northwind: Path, here: Path) -> None:
    outcome = metspack("build", northwind, "-o", "out", "--json", "--events", "/dev/full")
    assert outcome.code == 4
    assert json.loads(outcome.out)["error"]["message"] == "cannot write /dev/full: No space left on device"
    assert os.listdir(here) == []


@pytest.mark.parametrize(("last", "is_there"), [("stage", False), ("end", True)])
def test_a_target_is_complete_or_absent(  # noqa: PLR0917 -- three fixtures and a case
    metspack: Commands,
    northwind: Path,
    here: Path,
    monkeypatch: pytest.MonkeyPatch,
    last: str,
    is_there: bool,
) -> None:
    true = console.Events._tell

    def tell(run: console.Events, event: str, **facts: object) -> None:
        if event == last and facts.get("name") != "Planning":
            raise TargetError("cannot write log")
        true(run, event, **facts)

    monkeypatch.setattr(console.Events, "_tell", tell)
    outcome = metspack("build", northwind, "-o", "out", "--events", "log")
    assert outcome.code == 4
    assert outcome.err.count("error: cannot write log\n") == 1
    assert (here / "out").exists() == is_there
    assert (here / "out.partial").exists() != is_there  # what is done is kept


def test_places_that_are_refused(metspack: Commands, northwind: Path, here: Path) -> None:
    metspack("build", northwind, "-o", "out")
    outcome = metspack("check", "out", "--events", "out/log")
    assert outcome.code == 2
    assert outcome.err.startswith("error: the file of events out/log lies in out, which is read\n")
    assert metspack("check", "out", "--events", "none/log").code == 4
    assert (here / "out").is_dir()
