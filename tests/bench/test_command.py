"""The command as a whole, at the smallest size of one row."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from bench.store import CHECKOUT

pytestmark = pytest.mark.slow


def run(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", *map(str, arguments)]
    return subprocess.run(command, cwd=CHECKOUT, capture_output=True, text=True, check=False)


def test_a_small_run_prints_a_table_and_writes_json(tmp_path: Path) -> None:
    figures = tmp_path / "figures.json"
    done = run("bench", "--small", "--rows", "restore,build-link", "--tmpfs", tmp_path, "--json", figures)
    assert not done.returncode, done.stderr
    assert "| `restore` | restore of small LOBs | the floor's build |" in done.stdout
    told = json.loads(figures.read_text())
    (row,) = (each for each in told["rows"] if each["row"] == "restore")
    assert row["ratio"] > 0
    assert row["contender"]["lobs"] == 200
    assert {each["row"] for each in told["rows"]} == {"restore", "build-link"}
    assert [each.name for each in tmp_path.iterdir()] == ["figures.json"]


def test_a_profile_tells_microseconds_per_lob_by_stage(tmp_path: Path) -> None:
    done = run("bench.profiling", "restore", "--scale", "0.001", "--tmpfs", tmp_path)
    assert not done.returncode, done.stderr
    assert "microseconds per LOB, 100 LOBs" in done.stdout
    assert "us/LOB  stage" in done.stdout
