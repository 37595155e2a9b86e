"""An orphan METS file is reported, and checked like the others: its files, and all it leads to."""

from __future__ import annotations

from pathlib import Path

import pytest

from metspack.checking import Level, check
from tests.findings import ordered
from tests.packages import csip
from tests.packages.forge import CHILD, edit, forge


@pytest.fixture
def forgotten(tmp_path: Path) -> Path:
    """A package with the three METS of another one below it, without links to them."""
    root = forge(tmp_path / "set")
    (root / "other").mkdir()
    csip.divide(root / "other")
    return root


def found(root: Path, level: Level = Level.FULL) -> list[tuple[str, str]]:
    return [(each.code, each.path) for each in ordered(check(root, level)) if each.code[0] in "LPFX"]


def test_what_a_forgotten_mets_leads_to_is_none_of_its_own_faults(forgotten: Path) -> None:
    assert [each for each in found(forgotten, Level.LINKS) if each[0] == "L006"] == [
        ("L006", "other/top/METS.xml")
    ]


@pytest.mark.parametrize("level", [Level.LINKS, Level.STRUCTURE])
def test_a_broken_mptr_of_a_forgotten_mets_is_reported(forgotten: Path, level: Level) -> None:
    edit(forgotten / "other/top/METS.xml", 'href="child_1"', 'href="child_7"')
    edit(
        forgotten / "other/top/METS.xml", 'href="../child_1/METS.xml"', 'href="../child_7/METS.xml"', count=2
    )
    found_all = found(forgotten, level)
    assert ("L002", "other/top/METS.xml") in found_all
    assert ("L006", "other/top/METS.xml") in found_all


def test_files_of_a_forgotten_mets_are_held_against_it(forgotten: Path) -> None:
    path = f"other/child_0/{csip.DATA}/child_0.bin"
    (forgotten / path).write_bytes(b"damaged")
    assert ("F003", path) in found(forgotten)


def test_a_child_of_another_objid_below_a_forgotten_mets(forgotten: Path) -> None:
    edit(forgotten / "other/child_0/METS.xml", 'OBJID="child_0"', 'OBJID="child_9"')
    assert ("L003", "other/child_0/METS.xml") in found(forgotten, Level.LINKS)


def test_nothing_is_reported_twice(tmp_path: Path) -> None:
    root = tmp_path / "ip"
    forge(root)
    edit(root / CHILD, 'OBJID="', 'OBJID="x')
    (root / "stray").mkdir()
    (root / "stray/mets.xml").write_bytes((root / CHILD).read_bytes())
    found_all = [each.code for each in check(root, Level.LINKS)]
    assert found_all.count("L003") == 1
