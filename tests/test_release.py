"""A release's files are reproducible, and no job of its workflow that tests may publish."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import zipfile
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from metspack import __version__
from tests import release
from tests.conftest import CHECKOUT
from tests.packages.keep import KEPT
from tests.tables import tabled

WORKFLOW = CHECKOUT / ".github" / "workflows" / "release.yml"
TEXT = WORKFLOW.read_text(encoding="utf-8")
CHANGELOG = (CHECKOUT / "CHANGELOG.md").read_text(encoding="utf-8")
PUBLISHING = {"publish": {"id-token"}, "announce": {"contents"}, "container": {"packages"}}
"""The jobs that may write, each with the rights for it."""
_WRITES = re.compile(r"\b(uv publish|twine|gh release|docker push|docker login|git push|gh-action-pypi)\b")


@pytest.fixture(scope="module")
def jobs() -> dict[str, Any]:
    """The jobs of the workflow, by name."""
    found: Any = import_module("yaml").safe_load(TEXT)
    assert found["permissions"] == {"contents": "read"}
    assert found[True] == {"push": {"tags": ["v*"]}, "workflow_dispatch": None}, "on: is YAML's true"
    return dict(found["jobs"])


def test_only_the_jobs_that_publish_may_write(jobs: dict[str, Any]) -> None:
    for name, job in jobs.items():
        rights = {right for right, kind in job.get("permissions", {}).items() if kind == "write"}
        assert rights == PUBLISHING.get(name, set())
        commands = "\n".join(step.get("run", "") + step.get("uses", "") for step in job["steps"])
        assert bool(_WRITES.search(commands)) == (name in PUBLISHING), name
        assert name in PUBLISHING or "secrets" not in str(job)


def test_what_publishes_runs_after_all_tests_and_only_for_a_tag(jobs: dict[str, Any]) -> None:
    before = {"test": "build", "publish": "test", "announce": "publish", "container": "publish"}
    assert {name: job["needs"] for name, job in jobs.items() if "needs" in job} == before
    assert {name for name, job in jobs.items() if job.get("if") == "github.event_name == 'push'"} == set(
        PUBLISHING
    )
    systems = jobs["test"]["strategy"]["matrix"]["system"]
    assert [each.partition("-")[0] for each in systems] == ["ubuntu", "macos", "windows"]


def test_actions_are_those_of_the_forge_named_by_their_commits() -> None:
    used = re.findall(r"uses: (.*)", TEXT)
    assert used
    assert all(re.fullmatch(r"actions/[\w-]+@[0-9a-f]{40} # v[\d.]+", each) for each in used)


@pytest.mark.skipif(
    find_spec("check_jsonschema") is None, reason="uv sync --group release installs its schema"
)
def test_the_workflow_fits_the_schema_of_workflows() -> None:
    command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", "vendor.github-workflows"]
    done = subprocess.run([*command, WORKFLOW], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.skipif(shutil.which("actionlint") is None, reason="actionlint is not installed")
def test_the_workflow_is_linted() -> None:
    done = subprocess.run(["actionlint", WORKFLOW], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_every_version_with_a_date_has_its_packages_kept() -> None:
    published = re.findall(r"^## \[([\d.]+)\] - \d", CHANGELOG, re.MULTILINE)
    assert [each for each in published if not (KEPT / f"{each}.json").exists()] == [], "just keep"


def test_the_notes_are_the_section_of_the_version_and_the_files(tmp_path: Path) -> None:
    (tmp_path / "a.whl").write_bytes(b"wheel")
    text = release.section(CHANGELOG, __version__)
    assert text.startswith(f"## [{__version__}]")
    assert "0.1.0]" not in text
    page = release.notes(text, tmp_path)
    assert page.startswith(f"# metspack {__version__}\n\n")
    assert "\n## Added\n" in page
    assert "](docs/" not in page
    assert re.search(r"^\| a\.whl \| 5 \| `[0-9a-f]{64}` \|$", page, re.MULTILINE)
    with pytest.raises(SystemExit, match="has no section 9"):
        release.section(CHANGELOG, "9.9.9")


@tabled
def test_a_tag_of_another_version_or_without_a_date_is_refused(tag: str, heading: str, message: str) -> None:
    with pytest.raises(SystemExit, match=message.format(version=__version__)):
        release.check_tag(tag.format(version=__version__), f"## [{__version__}] - {heading}\n")
    release.check_tag(f"v{__version__}", f"## [{__version__}] - 2026-12-01\n")


def test_a_zip_has_the_same_bytes_whenever_and_wherever_it_is_made(tmp_path: Path) -> None:
    made = []
    for number, mode in enumerate((0o600, 0o755)):
        folder = tmp_path / str(number)
        for name in ("b.html", "a/c.html")[:: 1 if number else -1]:
            path = folder / "site" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(name)
            path.chmod(mode)
        release.write_zip(folder / "docs.zip", folder / "site", 0)
        made.append((folder / "docs.zip").read_bytes())
    assert made[0] == made[1]
    with zipfile.ZipFile(tmp_path / "0" / "docs.zip") as archive:
        assert archive.namelist() == ["docs/a/c.html", "docs/b.html"]
        assert {each.date_time for each in archive.infolist()} == {(1980, 1, 1, 0, 0, 0)}
