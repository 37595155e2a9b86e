"""Every reading command reads children on several disks by ``--root``."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests import siards
from tests.cli.conftest import Commands
from tests.laws import by_turns
from tests.packages.spread import tarred
from tests.trees import tree

LOBS = tuple(f"LOB {number}".encode() * (10 + number) for number in range(5))
SPLIT = "s0.t0.c2.r4"


def _moved(child: Path, disk: Path) -> None:
    shutil.move(child, disk / child.name)


def _renamed(child: Path, disk: Path) -> None:
    (disk / "tape 7").mkdir()
    shutil.move(child, disk / "tape 7/child")


def _packed(child: Path, disk: Path) -> None:
    tarred(child, disk / f"{child.name}.tar", inside=child.name, keep=True)
    shutil.rmtree(child)


WAYS: dict[str, Callable[[Path, Path], None]] = {"moved": _moved, "renamed": _renamed, "packed": _packed}
PACKAGES = {
    "recommendation": ("--dialect", "recommendation"),
    "siard22": ("--dialect", "recommendation", "--layout", "siard22"),
    "csip": ("--dialect", "csip"),
    "csip by OBJID": ("--dialect", "csip", "--child-links", "objid"),
    "loose": ("--dialect", "recommendation"),
}


@pytest.fixture
def package(request: pytest.FixtureRequest, metspack: Commands, tmp_path: Path) -> Path:
    source = siards.siard(tmp_path / "N.siard", *LOBS)
    if request.param == "loose":
        metspack.fine("restore", _built(metspack, source, tmp_path / "first"), "-o", tmp_path / "lobs", "-q")
        source = tmp_path / "lobs"
        for manifest in source.glob("manifest-*.txt"):
            manifest.unlink()
    return _built(metspack, source, tmp_path / "package", *PACKAGES[request.param])


def _built(metspack: Commands, source: Path, target: Path, *options: str) -> Path:
    limits = ("--max-files", "3", "--max-bytes", "50")
    made = metspack("build", source, "-o", target, "--name", "N", "--id", "N", *limits, *options, "-q")
    assert made.code == 0, made
    return target


def _children(package: Path) -> list[Path]:
    found = sorted(each.parent for each in package.rglob("[mM][eE][tT][sS].xml"))
    return [each for each in found if "seg_" in each.name and each.parent.name != "representations"]


@pytest.mark.parametrize(("package", "way"), by_turns(PACKAGES, WAYS), indirect=["package"])
def test_children_on_other_disks_read(metspack: Commands, package: Path, tmp_path: Path, way: str) -> None:
    def fine(*given: str | Path) -> str:
        outcome = metspack(*given)
        assert outcome.code == 0, outcome
        return outcome.out

    fine("restore", package, "-o", tmp_path / "expected", "-q")
    whole = fine("list", package, "--json")
    disks = [tmp_path / "disk1", tmp_path / "disk2"]
    for disk, child in zip(disks, _children(package), strict=False):
        disk.mkdir()
        WAYS[way](child, disk)
    refused = metspack("restore", package, "-o", tmp_path / "restored", "-q")
    assert refused.code == 3
    roots = [each for disk in disks for each in ("--root", disk)]
    fine("restore", package, "-o", tmp_path / "restored", "-q", *roots)
    assert tree(tmp_path / "restored") == tree(tmp_path / "expected")
    assert "Every LOB can be restored" in fine("restore", package, "--dry-run", *roots)
    assert fine("cat", package, SPLIT, *roots).encode() == LOBS[3]
    assert fine("list", package, "--json", *roots).count("\n") == whole.count("\n")
    assert fine("shards", package, *roots).count(SPLIT) >= 1
    fine("convert", package, "-o", tmp_path / "converted", "--max-files", "10", "-q", *roots)
    fine("restore", tmp_path / "converted", "-o", tmp_path / "again", "-q")
    assert tree(tmp_path / "again") == tree(tmp_path / "expected")


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("links", ["location", "objid"])
def test_children_on_other_disks_are_merged(metspack: Commands, tmp_path: Path, way: str, links: str) -> None:
    siards.siard(tmp_path / "N.siard", *LOBS)
    dialect = ("--dialect", "csip", "--child-links", links)
    package = _built(metspack, tmp_path / "N.siard", tmp_path / "package", *dialect)
    metspack.fine("restore", package, "-o", tmp_path / "expected", "-q")
    disks = [tmp_path / "disk1", tmp_path / "disk2"]
    for disk, child in zip(disks, _children(package), strict=False):
        disk.mkdir()
        WAYS[way](child, disk)
    shutil.copytree(disks[0], disks[0] / "of another" / "copy")  # which nobody merges
    merged = ("merge", package, "-o", tmp_path / "merged", "-q")
    assert metspack(*merged, "--root", disks[1]).code == 3
    assert not (tmp_path / "merged").exists()
    outcome = metspack(*merged, "--root", disks[0], "--root", disks[1])
    assert outcome.code == 0, outcome
    metspack.fine("restore", tmp_path / "merged", "-o", tmp_path / "restored", "-q")
    assert tree(tmp_path / "restored") == tree(tmp_path / "expected")


def test_a_child_of_another_parent_is_left_where_it_is(metspack: Commands, tmp_path: Path) -> None:
    for name, lobs in (("one", LOBS), ("other", tuple(each[::-1] for each in LOBS))):
        (tmp_path / name).mkdir()
        siards.siard(tmp_path / f"{name}/N.siard", *lobs)
        _built(metspack, tmp_path / f"{name}/N.siard", tmp_path / f"{name}/package")
    package, disk = tmp_path / "one/package", tmp_path / "disk"
    for name in "ab":
        (disk / name).mkdir(parents=True)
    child = _children(package)[0]
    shutil.move(tmp_path / "other/package" / child.name, disk / "a" / child.name)
    shutil.move(child, disk / "b" / child.name)
    metspack.fine("restore", package, "--dry-run", "--root", disk / "b", "-q")
    given = metspack("restore", package, "--dry-run", "--root", disk / "a", "-q")
    assert given.code == 3
    assert "mets.xml" in given.err


def test_several_children_in_one_tar_file_are_read(metspack: Commands, tmp_path: Path) -> None:
    package = _built(metspack, siards.siard(tmp_path / "N.siard", *LOBS), tmp_path / "package")
    for child in _children(package)[:2]:
        shutil.move(child, tmp_path / "disk" / child.name)
    tarred(tmp_path / "disk", tmp_path / "disk.tar", inside="", keep=True)
    metspack.fine("restore", package, "--dry-run", "--root", tmp_path / "disk.tar", "-q")


def test_a_child_in_its_place_is_not_replaced(metspack: Commands, tmp_path: Path) -> None:
    """Neither a packed one, nor a folder that has lost its METS: what is in it would be hidden."""
    package = _built(metspack, siards.siard(tmp_path / "N.siard", *LOBS), tmp_path / "package")
    child, other = _children(package)[:2]
    disk = tmp_path / "disk"
    shutil.copytree(package, disk)
    (disk / child.name / "mets.xml").write_text((disk / child.name / "mets.xml").read_text() + "\n")
    tarred(child, child.with_suffix(".tar"), inside=child.name, keep=True)
    shutil.rmtree(child)
    metspack.fine("restore", package, "--dry-run", "--root", disk, "-q")
    (other / "mets.xml").unlink()
    given = metspack("restore", package, "--dry-run", "--root", disk, "-q")
    assert given.code == 3
    assert f"{other.name}/mets.xml cannot be read" in given.err


def test_a_lost_representation_is_not_looked_for_in_roots(metspack: Commands, tmp_path: Path) -> None:
    siards.siard(tmp_path / "N.siard", *LOBS)
    package = _built(metspack, tmp_path / "N.siard", tmp_path / "package", "--dialect", "csip")
    (parent,) = (each for each in package.iterdir() if each.is_dir() and "seg_" not in each.name)
    (parent / "representations/rep1/METS.xml").unlink()
    given = metspack("restore", parent, "--dry-run", "--root", package, "-q")
    assert given.code == 3
    assert "representations/rep1/METS.xml cannot be read" in given.err


@pytest.mark.parametrize("size", [0, 100, 700])
@pytest.mark.parametrize("dialect", ["recommendation", "csip by OBJID"])
def test_a_damaged_packed_file_is_named(metspack: Commands, tmp_path: Path, dialect: str, size: int) -> None:
    siards.siard(tmp_path / "N.siard", *LOBS)
    package = _built(metspack, tmp_path / "N.siard", tmp_path / "package", *PACKAGES[dialect])
    child = _children(package)[0]
    (tmp_path / "disk").mkdir()
    _packed(child, tmp_path / "disk")
    pack = tmp_path / f"disk/{child.name}.tar"
    metspack.fine("restore", package, "--dry-run", "--root", tmp_path / "disk", "-q")
    pack.write_bytes(pack.read_bytes()[:size])
    given = metspack("restore", package, "-o", tmp_path / "out", "--root", tmp_path / "disk", "-q")
    assert given.code == 3
    assert f"{pack}: " in given.err
