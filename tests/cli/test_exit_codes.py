"""What ``check`` and ``links`` exit with, each code by each command."""

from __future__ import annotations

import os
import shutil
import signal
import sqlite3
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from metspack.checking import inventory
from tests.cli.conftest import Commands, Program
from tests.packages import forge
from tests.packages.forge import CHILD, FIRST

COMMANDS = [["check"], ["links"]]
IDS = [each[0] for each in COMMANDS]
commands = pytest.mark.parametrize("command", COMMANDS, ids=IDS)


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return forge.forge(tmp_path / "out")


def words(command: list[str], package: Path) -> list[str]:
    """Return the command about a package."""
    return [*command, str(package)]


@commands
def test_0_when_all_is_well(metspack: Commands, package: Path, command: list[str]) -> None:
    metspack.fine(*words(command, package))


@commands
def test_1_when_something_is_wrong_or_differs(metspack: Commands, package: Path, command: list[str]) -> None:
    shutil.rmtree((package / CHILD).parent)
    outcome = metspack(*words(command, package))
    assert (outcome.code, outcome.err) == (1, "")
    assert outcome.out


@commands
@pytest.mark.parametrize("wrong", [["--no-such-option"], ["--root", "nowhere"], ["--budget", "much"]])
def test_2_for_usage(metspack: Commands, package: Path, command: list[str], wrong: list[str]) -> None:
    outcome = metspack(*words(command, package), *wrong)
    assert (outcome.code, outcome.out) == (2, "")
    assert outcome.err
    assert metspack(*command).code == 2, "nothing was named"


@commands
def test_3_for_what_cannot_be_read(metspack: Commands, package: Path, command: list[str]) -> None:
    for wrong, said in (("nowhere", "does not exist"), (package / "Northwind.siard", "is a SIARD archive")):
        outcome = metspack(*words(command, Path(wrong)))
        assert (outcome.code, outcome.out) == (3, "")
        assert said in outcome.err
        assert outcome.err.startswith("error: ")
        assert "\nhint: " in outcome.err


def failing(error: BaseException) -> Callable[..., Any]:
    def raised(*_: object, **__: object) -> None:
        raise error

    return raised


@commands
def test_4_when_the_temporary_disk_is_full(
    metspack: Commands, package: Path, command: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = words(command, package)
    monkeypatch.setattr(inventory, "findings", failing(sqlite3.OperationalError("database or disk is full")))
    outcome = metspack(*asked)
    assert outcome.code == 4
    assert "disk is full" in outcome.err
    assert "TMPDIR" in outcome.err


@commands
def test_70_for_a_fault_of_ours(
    metspack: Commands, package: Path, command: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = words(command, package)
    monkeypatch.setattr(inventory, "findings", failing(RuntimeError("unthought-of")))
    outcome = metspack(*asked)
    assert outcome.code == 70
    assert "unthought-of" in outcome.err
    assert "a fault of metspack" in outcome.err


@commands
def test_130_when_interrupted(
    metspack: Commands, package: Path, command: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = words(command, package)

    def interrupting(*_: object, **__: object) -> None:
        os.kill(os.getpid(), signal.SIGINT)

    monkeypatch.setattr(inventory, "findings", interrupting)
    outcome = metspack(*asked)
    assert outcome.code == 130
    assert "interrupted" in outcome.err
    assert ("The check was interrupted" in outcome.out) is (command == ["check"]), "what there is is said"


@commands
def test_141_when_nobody_reads(program: Program, package: Path, command: list[str], tmp_path: Path) -> None:
    (package / FIRST).unlink()
    shutil.rmtree(package / "Northwind_lobseg_1")
    asked = [*program.command, *words(command, package)]
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run(
        asked, cwd=tmp_path, env=program.environment, stdout=writer, stderr=subprocess.PIPE, check=False
    )
    os.close(writer)
    assert (done.returncode, done.stderr) == (141, b"")


@pytest.mark.parametrize(("fail_on", "code"), [("error", 0), ("warning", 1), ("never", 0)])
def test_check_fails_from_the_severity_on_that_is_asked_for(
    metspack: Commands, package: Path, fail_on: str, code: int
) -> None:
    (package / "manifest-md5.txt").unlink()
    assert metspack("check", package, "--fail-on", fail_on).code == code


def test_links_goes_by_links_and_not_by_files(metspack: Commands, package: Path) -> None:
    (package / FIRST).write_bytes(b"changed")
    assert metspack("check", package).code == 1
    metspack.fine("links", package)
