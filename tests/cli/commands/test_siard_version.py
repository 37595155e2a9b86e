"""That readers of SIARD 1.0 will not open an archive is told first, and not where it becomes one of 2.2."""

from __future__ import annotations

import json
from pathlib import Path

from tests import siards
from tests.cli.conftest import Commands
from tests.siard.old_archives import entries

CALLED = "no reader of SIARD 1.0 will open old.siard, whose LOBs are outside"


def old(path: Path) -> Path:
    return siards.packed(path, entries())


def test_the_first_line_says_that_readers_of_1_0_will_not_open_it(tmp_path: Path, metspack: Commands) -> None:
    given = old(tmp_path / "old.siard")
    first = metspack("build", given, "-o", tmp_path / "out").out.splitlines()[0]
    assert first.endswith(f"; {CALLED} (build and convert take --siard-version 2.2)")
    said = metspack("check", tmp_path / "out")
    assert said.code == 0
    assert said.out.splitlines()[0] == f"N{CALLED[1:]} (build and convert take --siard-version 2.2)."
    report = json.loads(metspack("check", tmp_path / "out", "--json").out)
    assert report["unopened_archives"] == ["old.siard"]
    assert {each["code"] for each in report["findings"]} == {"Z021", "Z051"}  # no digests, or another
    for name in ("report.txt", "report.html"):
        assert metspack("check", tmp_path / "out", "-q", "--report", tmp_path / name).code == 0
        assert CALLED in (tmp_path / name).read_text()
    assert CALLED in (tmp_path / "report.txt").read_text().splitlines()[0]


def test_with_an_upgrade_nothing_is_said(tmp_path: Path, metspack: Commands) -> None:
    given = old(tmp_path / "old.siard")
    made = metspack("build", given, "-o", tmp_path / "out", "--siard-version", "2.2")
    assert "SIARD 1.0 will" not in made.out
    assert "SIARD 1.0" not in metspack("check", tmp_path / "out").out
    assert "unopened_archives" not in json.loads(metspack("check", tmp_path / "out", "--json").out)
