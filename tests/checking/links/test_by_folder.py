"""A child that is linked by its location alone is found under another name by its OBJID."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from metspack.api import build, check
from metspack.building.build import BuildOptions
from metspack.limits import Limits

URN = re.compile(r'\s*<mets:mptr [^>]*LOCTYPE="URN"[^>]*/>')


@pytest.fixture
def delivery(northwind: Path, tmp_path: Path) -> Path:
    """Packages of CSIP side by side, whose parent names its children by location alone."""
    limits = Limits(files=4, bytes=45_000)
    build(northwind, tmp_path / "set", BuildOptions(dialect="csip", limits=limits))
    for each in (tmp_path / "set").glob("manifest-*"):
        each.unlink()
    (parent,) = (each for each in (tmp_path / "set").glob("*/METS.xml") if "child SIPs" in each.read_text())
    parent.write_text(URN.sub("", parent.read_text()))
    return tmp_path / "set"


def child(delivery: Path) -> Path:
    """Return the folder of a child."""
    return min(each.parent for each in delivery.glob("*/METS.xml") if "child SIPs" not in each.read_text())


def codes(delivery: Path) -> set[str]:
    return {each.code for each in check(delivery)} & {"L002", "L010", "L011", "L024", "Z010"}


def test_a_child_in_its_place_is_linked(delivery: Path) -> None:
    assert codes(delivery) == set()


def test_a_child_in_a_renamed_folder_is_found_by_the_objid_that_named_it(delivery: Path) -> None:
    child(delivery).rename(delivery / "ID.B")
    (found,) = [each for each in check(delivery) if each.code == "L011"]
    assert "ID.B/METS.xml" in found.message
    assert codes(delivery) == {"L011"}


def test_a_child_that_has_another_objid_as_well_is_missing(delivery: Path) -> None:
    renamed = child(delivery).rename(delivery / "ID.B")
    mets = renamed / "METS.xml"
    mets.write_text(re.sub('OBJID="[^"]+"', 'OBJID="urn:uuid:9"', mets.read_text(), count=1))
    assert "L002" in codes(delivery)


def test_a_child_that_did_not_come_is_missing(delivery: Path) -> None:
    shutil.rmtree(child(delivery))
    assert "L002" in codes(delivery)
