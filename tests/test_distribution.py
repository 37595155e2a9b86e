"""Files published beside the code: description, container file, and README.md with its picture."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tomllib
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from hatch_build import description
from tests.conftest import CHECKOUT
from tests.tables import tabled

README = (CHECKOUT / "README.md").read_text(encoding="utf-8")
PROJECT = tomllib.loads((CHECKOUT / "pyproject.toml").read_text(encoding="utf-8"))
_RELATIVE = re.compile(r"\]\((?!https?:)")


def instructions() -> Iterator[tuple[str, str]]:
    """Yield the instructions of the Containerfile, each with its words."""
    text = (CHECKOUT / "Containerfile").read_text(encoding="utf-8")
    for line in re.sub(r"\\\n\s*", " ", text).splitlines():
        if line and not line.startswith("#"):
            name, _, words = line.partition(" ")
            yield name, words


@tabled
def test_the_description_leads_nowhere_that_an_index_does_not_have(written: str, shown: str) -> None:
    assert description(written).startswith(f"{shown}\n\nThe pages of `docs/`")


@pytest.mark.slow
def test_the_description_of_the_wheel_is_the_readme_so_changed(tmp_path: Path) -> None:
    """Build the wheel from the files that the Containerfile copies."""
    place = tmp_path / "src"
    place.mkdir()
    for name, words in instructions():
        *sources, target = words.split()
        if name == "COPY" and not words.startswith("--from"):
            for each in sources:
                copied = place / target / (each if target == "./" else "")
                (shutil.copytree if (CHECKOUT / each).is_dir() else shutil.copy)(CHECKOUT / each, copied)
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)]
    done = subprocess.run(command, cwd=place, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    with zipfile.ZipFile(next(tmp_path.glob("*.whl"))) as wheel:
        (name,) = (each for each in wheel.namelist() if each.endswith("/METADATA"))
        metadata = wheel.read(name).decode()
    assert metadata.partition("\n\n")[2] == description(README)
    assert not _RELATIVE.search(metadata)
    assert "Project-URL: METS, " in metadata
    assert "Description-Content-Type: text/markdown" in metadata


def test_the_container_runs_metspack_as_somebody_who_is_not_root() -> None:
    found = list(instructions())
    last = max(number for number, (name, _) in enumerate(found) if name == "FROM")
    final = dict(found[last:])
    assert re.fullmatch(r"docker\.io/library/python:3\.1[1-9]-slim", final["FROM"])
    assert final["USER"] == "metspack"
    assert (final["WORKDIR"], final["VOLUME"]) == ("/data", "/data")
    assert final["ENTRYPOINT"] == '["/opt/metspack/bin/metspack"]'
    assert "useradd --uid 1000 --create-home metspack" in final["RUN"]
    assert PROJECT["project"]["scripts"]["metspack"]


@pytest.mark.skipif(shutil.which("uv") is None, reason="needs uv")
def test_what_the_container_is_made_with_is_understood(tmp_path: Path) -> None:
    (command,) = (words for name, words in instructions() if name == "RUN" and words.startswith("uv sync"))
    extras = set(re.findall(r"--extra (\w+)", command))
    assert extras <= set(PROJECT["project"]["optional-dependencies"])
    environment = os.environ | {"UV_PROJECT_ENVIRONMENT": str(tmp_path / "env"), "UV_OFFLINE": "1"}
    done = subprocess.run(
        [*command.split(), "--dry-run", "--python", sys.executable],
        cwd=CHECKOUT,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert "error: unexpected argument" not in done.stderr
    assert done.returncode == 0 or "offline" in done.stderr, done.stderr


def test_the_readme_opens_with_the_two_commands_and_what_it_is_for() -> None:
    first = "\n".join(README.splitlines()[:60])
    blocks = re.findall(r"```sh\n(.*?)```", first, re.DOTALL)
    assert "pip install -q . && .venv/bin/metspack build samples/" in blocks[0]
    assert "uv run -q --locked pytest -q" in blocks[1]
    for word in (
        *("## What goes wrong without it", "(docs/images/report.png)", "## Installation", "pipx install"),
        *("uv tool install", "Linux, macOS and Windows", "container"),
    ):
        assert word in first, word
    assert "pip install metspack" not in README, "it is not on an index"
