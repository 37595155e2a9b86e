"""A LOB lost in another IP than the archive's is reported once, with its cell."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from metspack.checking import check
from metspack.model import Finding, Severity
from tests.packages.test_files_packed import built


@pytest.fixture
def ips(tmp_path: Path) -> tuple[Path, list[Path]]:
    """Return a set of IPs, and the LOBs in those without the archive that are not in parts."""
    root = built(tmp_path, "csip", None)
    (archive,) = root.rglob("*.siard")
    own = archive.relative_to(root).parts[0]
    lobs = sorted(each for each in root.rglob("*.bin") if each.relative_to(root).parts[0] != own)
    assert lobs
    return root, lobs


def errors(root: Path) -> list[Finding]:
    return [each for each in check(root) if each.severity is Severity.ERROR]


def test_a_lost_lob_is_one_finding_with_its_cell(ips: tuple[Path, list[Path]]) -> None:
    root, lobs = ips
    lobs[0].unlink()
    (found,) = errors(root)
    assert found.code == "F001"
    assert found.path == lobs[0].relative_to(root).as_posix()
    assert ".siard but does not exist" in found.message
    assert " and the cell s0.t0." in found.message


def test_lobs_that_are_lost_with_a_child_are_reported_with_it(ips: tuple[Path, list[Path]]) -> None:
    root, lobs = ips
    shutil.rmtree(root / lobs[0].relative_to(root).parts[0])
    assert "L002" in {each.code for each in errors(root)}
    assert "Z010" not in {each.code for each in errors(root)}
