"""Packages that earlier versions built are read as they were then."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from metspack import __version__
from tests.cli.conftest import Commands
from tests.packages.keep import KEPT
from tests.trees import tree, untar

VERSIONS = sorted(path.stem for path in KEPT.glob("*.json"))
CASES = [
    (version, name, stated)
    for version in VERSIONS
    for name, stated in json.loads((KEPT / f"{version}.json").read_bytes()).items()
]


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the packages of each version, in a folder of its name."""
    folder = tmp_path_factory.mktemp("kept")
    for version in VERSIONS:
        untar(KEPT / f"{version}.tar.xz", folder / version)
    return folder


@pytest.fixture(params=CASES, ids=lambda case: f"{case[0]}-{case[1]}")
def case(request: pytest.FixtureRequest, kept: Path) -> Iterator[tuple[Path, dict[str, Any]]]:
    """A kept package, which no command may change, and its contents when it was built."""
    version, name, stated = request.param
    package = kept / version / name
    before = tree(package)
    yield package, stated
    assert tree(package) == before


def numbers(version: str) -> tuple[int, ...]:
    return tuple(map(int, version.split(".")))


def test_this_version_or_an_earlier_one_is_kept() -> None:
    assert VERSIONS, "python -m tests.packages.keep keeps the packages of this version"
    assert all(numbers(each) <= numbers(__version__) for each in VERSIONS)
    assert sum(path.stat().st_size for path in KEPT.iterdir()) < 300_000 * len(VERSIONS)


def test_check_finds_nothing(metspack: Commands, case: tuple[Path, dict[str, Any]]) -> None:
    package, _ = case
    stated = json.loads(metspack.fine("check", package, "--json"))
    assert (stated["counts"]["errors"], stated["counts"]["warnings"]) == (0, 0)


def test_lobs_are_restored(metspack: Commands, case: tuple[Path, dict[str, Any]], tmp_path: Path) -> None:
    package, expected = case
    listed = [json.loads(line) for line in metspack.fine("list", package, "--format", "jsonl").splitlines()]
    assert {each["id"]: each["size"] for each in listed} == {
        lob: size for lob, (size, _) in expected["lobs"].items()
    }
    metspack.fine("restore", package, "--dry-run")
    metspack.fine("restore", package, "-o", tmp_path / "lobs", "-q")
    found = [path.read_bytes() for path in sorted((tmp_path / "lobs").rglob("record*"))]
    assert [[len(data), hashlib.sha256(data).hexdigest()] for data in found] == list(
        expected["lobs"].values()
    )
