"""The ingest job of docs/ingest.md, run as it stands there."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.conftest import Program
from tests.cli.test_json import schema
from tests.conftest import CHECKOUT
from tests.trees import tree

_MOST = 40  # lines
_PAGE = (CHECKOUT / "docs" / "ingest.md").read_text(encoding="utf-8")
_BLOCKS = re.findall(r"^```bash\n(.*?)^```$", _PAGE, re.MULTILINE | re.DOTALL)
JOB, TAKEN = _BLOCKS

pytestmark = pytest.mark.skipif(
    not all(map(shutil.which, ("bash", "jq", "flock"))), reason="needs bash, jq and flock"
)


class Ingest:
    """The job in a folder, with a metspack that fails a few times first."""

    def __init__(self, folder: Path, program: Program) -> None:
        self.folder = folder
        self.environment = program.environment | {
            "PATH": f"{folder / 'bin'}:{program.environment['PATH']}",
            "PAUSE": "0",
            "PYTHONPATH": str(CHECKOUT),
        }
        (folder / "bin").mkdir()
        (folder / "ingest.sh").write_text(JOB, encoding="utf-8")
        self.be()

    def be(self, failures: int = 0) -> None:
        """Let metspack fail so often with an unwritable target, and then work as usual."""
        metspack = self.folder / "bin" / "metspack"
        error_document = json.dumps({"error": {"id": "target", "message": "m", "details": [], "hint": ""}})
        metspack.write_text(
            f'#!/bin/bash\ncd "{self.folder}"; echo "$1" >> calls\n'
            f"if [ $(grep -c build calls) -le {failures} ]; then echo '{error_document}'; exit 4; fi\n"
            f'exec "{sys.executable}" -m metspack "$@"\n'
        )
        metspack.chmod(0o755)
        (self.folder / "calls").write_text("")

    def __call__(self, source: Path, *options: str) -> int:
        done = subprocess.run(
            ["bash", "ingest.sh", str(source), "out", "reports", *options],
            cwd=self.folder,
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        self.out, self.err = done.stdout, done.stderr
        return done.returncode

    @property
    def calls(self) -> list[str]:
        return (self.folder / "calls").read_text().split()

    @property
    def error(self) -> str:
        found: str = json.loads((self.folder / "reports" / "build.json").read_text())["error"]["id"]
        return found

    def read(self, name: str) -> dict[str, object]:
        found: dict[str, object] = json.loads((self.folder / "reports" / f"{name}.json").read_text())
        return found


@pytest.fixture
def ingest(tmp_path: Path, program: Program) -> Ingest:
    return Ingest(tmp_path, program)


def test_the_job_is_short_and_reads_no_sentence() -> None:
    assert len(JOB.splitlines()) <= _MOST
    assert not re.search(r"\b(grep|sed|awk|message|hint)\b", JOB)


@pytest.mark.slow
def test_a_job_builds_checks_and_files_the_report(ingest: Ingest, northwind: Path) -> None:
    assert ingest(northwind, "--max-files", "4") == 0
    assert (ingest.out, ingest.err) == ("", "")
    assert ingest.calls == ["build", "check"]
    schema("build").validate(ingest.read("build"))
    schema("check-report").validate(ingest.read("check"))
    assert ingest.read("check")["verdict"] == "ok"
    page = ingest.folder / "reports" / "report.html"
    assert page.stat().st_size > 1000
    lines = (ingest.folder / "reports" / "log.jsonl").read_text().splitlines()
    assert json.loads(lines[-1])["exit_code"] == 0
    for each in TAKEN.splitlines():
        done = subprocess.run(
            ["bash", "-c", each], cwd=ingest.folder, capture_output=True, text=True, check=True
        )
        if "children" in each:
            assert len(done.stdout.splitlines()) == 2


@pytest.mark.slow
def test_a_job_run_again_takes_what_exists(ingest: Ingest, northwind: Path, northwind_full: Path) -> None:
    ingest(northwind)
    before, page = tree(ingest.folder / "out"), (ingest.folder / "reports/report.html").read_bytes()
    ingest.be()
    assert ingest(northwind) == 0
    assert ingest.calls == ["build"]
    assert ingest.read("build")["existed"] is True
    assert tree(ingest.folder / "out") == before
    assert (ingest.folder / "reports/report.html").read_bytes() == page
    assert ingest(northwind_full) == 1, "it is the package of another source"
    assert ingest.read("build")["is_same"] is False
    next((ingest.folder / "out").glob("*/content/*/*/*/*")).write_bytes(b"other")
    assert ingest(northwind) == 1


@pytest.mark.slow
def test_what_may_be_tried_again_is(ingest: Ingest, northwind: Path) -> None:
    ingest.be(failures=2)
    assert ingest(northwind) == 0
    assert ingest.calls == ["build", "build", "build", "check"]
    shutil.rmtree(ingest.folder / "out")
    ingest.be(failures=9)
    assert ingest(northwind) == 4
    assert ingest.calls == ["build"] * 4
    assert ingest.error == "target"


@pytest.mark.slow
def test_what_is_for_people_ends_the_job(ingest: Ingest, northwind: Path) -> None:
    assert ingest(ingest.folder / "none.siard") == 3
    assert ingest.error == "source-not-found"
    assert ingest(northwind, "--no-such-option") == 2
    assert ingest.error == "usage"
    assert ingest.calls == ["build", "build"]


def test_one_run_at_a_time(ingest: Ingest, northwind: Path) -> None:
    (ingest.folder / "reports").mkdir()
    lock = subprocess.Popen(["flock", str(ingest.folder / "reports/lock"), "sleep", "60"])
    try:
        while (
            subprocess.run(
                ["flock", "-n", str(ingest.folder / "reports/lock"), "true"], check=False
            ).returncode
            == 0
        ):
            pass
        assert ingest(northwind) == 75
    finally:
        lock.kill()
        lock.wait()
    assert ingest.calls == []
