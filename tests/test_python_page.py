"""The programs of docs/python.md: each runs as it stands there, prints what stands below it, and is typed."""

from __future__ import annotations

import io
import re
import shutil
import subprocess
import sys
import time
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import fields
from pathlib import Path

import pytest

import metspack
from metspack.files.journal import RunFacts
from metspack.files.staging import Staging
from tests.conftest import CHECKOUT

PAGE = (CHECKOUT / "docs" / "python.md").read_text(encoding="utf-8")
_PROGRAM = re.compile(
    r"^## (.+)\n(?:(?!^## ).*\n)*?```python\n((?:.*\n)*?)```\n(?:\n```text\n((?:.*\n)*?)```\n)?", re.MULTILINE
)
PROGRAMS = {title: (program, printed) for title, program, printed in _PROGRAM.findall(PAGE)}
INGEST = "An ingest job"
LINES = 30


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with an archive, its package, one with a missing LOB, and one with split LOBs."""
    folder = tmp_path_factory.mktemp("page")
    source = folder / "Northwind.siard"
    shutil.copy(CHECKOUT / "samples" / "northwind" / "Northwind.siard", source)
    limits = metspack.Limits(files=4, bytes=45_000)
    options = metspack.BuildOptions(limits=limits, created="2016-02-23T00:00:00Z")
    metspack.build(source, folder / "out", options)
    shutil.copytree(folder / "out", folder / "delivered")
    next((folder / "delivered").rglob("record3.bin")).unlink()
    metspack.build(source, folder / "parts", metspack.BuildOptions(limits=metspack.Limits(bytes=5_000)))
    return folder


def run(program: str, folder: Path, *arguments: str) -> str:
    """Run a program in a folder; return its output."""
    printed, complained = io.StringIO(), io.StringIO()
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(printed), redirect_stderr(complained):
        patch.chdir(folder)
        patch.setenv("SOURCE_DATE_EPOCH", "1456185600")
        patch.setattr(sys, "argv", ["-c", *arguments])
        exec(compile(program, "program", "exec"), {"__name__": "__main__"})  # noqa: S102 -- a page's program
    assert not complained.getvalue()
    return printed.getvalue()


def test_the_table_has_every_field() -> None:
    cells = re.findall(r"^\| `.+? \| (.+?) \|$", PAGE, re.MULTILINE)
    named = {name for cell in cells for name in re.findall(r"[`(]([a-z_]+)", cell)}
    options = metspack.BuildOptions, metspack.CheckOptions, metspack.RestoreOptions
    assert {each.name for kind in options for each in fields(kind)} <= named


def test_the_page_has_five_tasks_and_a_job() -> None:
    listed = re.findall(r"^[1-5]\. \[(.+?)\]", PAGE, re.MULTILINE)
    assert [*listed, INGEST] == [*PROGRAMS]


@pytest.mark.parametrize("title", [each for each in PROGRAMS if each != INGEST])
def test_a_program_prints_what_stands_below_it(folder: Path, title: str) -> None:
    program, printed = PROGRAMS[title]
    if "metspack.build(" in program:
        shutil.rmtree(folder / "out")
    assert run(program, folder) == printed
    if "open_lob" in program:
        assert (folder / "category2.png").read_bytes()[:4] == b"\x89PNG"
    if "report.html" in program:
        assert b"F001" in (folder / "report.html").read_bytes()


def test_the_ingest_job_decides_without_reading_english(folder: Path, tmp_path: Path) -> None:
    program = PROGRAMS[INGEST][0]
    assert sum(bool(line.strip()) for line in program.splitlines()) <= LINES
    for name in ("new", "built", "damaged", "busy"):
        shutil.copy(folder / "Northwind.siard", tmp_path / f"{name}.siard")
    (tmp_path / "text.siard").write_text("no archive")
    shutil.copytree(folder / "out", tmp_path / "built.siard.ip")
    shutil.copytree(folder / "delivered", tmp_path / "damaged.siard.ip")
    stopped = Staging(tmp_path / "busy.siard.ip", RunFacts(command="build", facts={"limits": "others"}))
    stopped.journal.close()
    names = [f"{each}.siard" for each in ("new", "built", "damaged", "busy", "text", "absent")]
    printed = run(program, tmp_path, *names)
    assert [line.split()[1] for line in printed.splitlines()] == [
        *("accepted", "accepted", "refused", "another", "source", "source-not-found")
    ]
    assert (tmp_path / "damaged.siard.html").exists()


def test_the_job_retries_a_failed_disk(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = PROGRAMS[INGEST][0].replace('f"{source}.ip", f"{source}.html"', '"no/out", "report.html"')
    waited: list[float] = []
    monkeypatch.setattr(time, "sleep", waited.append)
    shutil.copy(folder / "Northwind.siard", tmp_path)
    assert run(program, tmp_path, "Northwind.siard") == "Northwind.siard target\n"
    assert len(waited) == 2


@pytest.mark.slow
def test_the_programs_are_typed(tmp_path: Path) -> None:
    for number, (program, _) in enumerate(PROGRAMS.values()):
        (tmp_path / f"program{number}.py").write_text(program, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--cache-dir", str(tmp_path / "cache"), "."],
        cwd=tmp_path,
        env={"MYPYPATH": str(CHECKOUT), "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == 0, done.stdout + done.stderr
