"""A METS that lies in a folder of its package, and names what lies beside that folder."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from metspack.checking import check
from tests.packages import forge

CLIMBING = re.compile(r'xlink:href="(Northwind[._][^"]*)"')


def below(root: Path, folder: str, up: str) -> Path:
    """Put a package's METS into a folder of it, and let it lead up; return where it is now."""
    text = CLIMBING.sub(rf'xlink:href="{up}\1"', (root / "mets.xml").read_text())
    (root / "mets.xml").unlink()
    mets = root / folder / "mets.xml"
    mets.parent.mkdir(parents=True)
    mets.write_text(text)
    forge.write_manifests(root)
    return mets


@pytest.fixture
def package(tmp_path: Path) -> Path:
    return forge.forge(tmp_path / "disk/package")


def codes(mets: Path, *roots: Path) -> set[str]:
    return {each.code for each in check(mets, roots=roots)}


@pytest.mark.parametrize("folder", ["metadata", "a/b"])
def test_a_mets_may_lie_in_a_folder_of_its_package(package: Path, folder: str) -> None:
    mets = below(package, folder, "../" * len(folder.split("/")))
    assert codes(mets) >= {"P003"}
    for root in (package, package.parent, package / "Northwind_lobseg_0/.."):
        assert codes(mets, root) == set()
        assert codes(mets.parent, root) == set()


def test_what_lies_beside_the_package_is_none_of_its_files(package: Path) -> None:
    mets = below(package, "metadata", "../")
    forge.forge(package.parent / "other")
    assert codes(mets, package.parent) == set()
    (package / "stray.txt").write_text("whose?")
    assert codes(mets, package.parent) == {"F010", "F024"}


def test_no_root_is_left(package: Path) -> None:
    mets = below(package, "metadata", "../")
    mets.write_text(mets.read_text().replace('"../Northwind.siard"', '"../../../Northwind.siard"'))
    assert codes(mets, package) >= {"P003"}
    mets.write_text(mets.read_text().replace('"../../../', f'"{"../" * 60}'))
    assert codes(mets, package) >= {"P003"}
    assert codes(mets, package / "Northwind_lobseg_0") >= {"P003"}


@pytest.mark.parametrize("href", ["../%zz", "file:///../x", "x/../Northwind.siard"])
def test_what_leads_nowhere_up_makes_no_folder_the_packages(package: Path, href: str) -> None:
    mets = package / "mets.xml"
    mets.write_text(mets.read_text().replace('"Northwind.siard"', f'"{href}"'))
    forge.seal(package)
    found = codes(mets, package.parent)
    assert "M001" not in found
    assert found == codes(mets)


def test_a_child_that_links_to_its_parent_stays_itself(package: Path) -> None:
    child = package / forge.CHILD
    link = '<mets:mptr LOCTYPE="URL" xlink:href="../mets.xml"/><mets:mptr xlink:href="urn:uuid'
    forge.edit(child, '<mets:mptr xlink:href="urn:uuid', link)
    forge.seal(package)
    assert codes(child, package) == set()


def test_a_mets_that_cannot_be_read_is_told_as_such(package: Path) -> None:
    (package / "mets.xml").write_text('<mets xmlns="http://www.loc.gov/METS/" LABEL="../x">')
    assert "X001" in codes(package / "mets.xml", package.parent)
