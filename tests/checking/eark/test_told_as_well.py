"""Findings with a code of their own that break a requirement as well: it is named with them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from metspack.checking import check
from metspack.checking.eark.profiles import Profile
from metspack.reporting.model import line
from tests.packages import csip
from tests.packages.csip import PACKAGE_METS, REPRESENTATION_METS
from tests.packages.forge import edit, forge, write_manifests

_PREMIS = "metadata/preservation/premis.xml"


def found(root: Path, profile: Profile = Profile.AUTO) -> set[tuple[str, str]]:
    return {(each.code, each.requirement) for each in check(root, profile=profile)}


def _sized(path: str) -> Callable[[Path], object]:
    """Return the damage that writes more into a file than METS says of it."""
    return lambda root: (root / path).write_bytes((root / path).read_bytes() + b" ")


def _lost_of_a_manifest(root: Path) -> None:
    write_manifests(root)
    (root / "schemas/dc.xsd").unlink()


@pytest.mark.parametrize(
    ("spoil", "reported"),
    [
        (_sized(_PREMIS), {("F002", "CSIP41"), ("F003", "CSIP43")}),
        (_sized("metadata/descriptive/dc.xml"), {("F002", "CSIP27"), ("F003", "CSIP29")}),
        (_sized("metadata/other/rights.xml"), {("F002", "CSIP54"), ("F003", "CSIP56")}),
        (_sized("documentation/readme.txt"), {("F002", "CSIP69"), ("F003", "CSIP71")}),
        (lambda root: (root / _PREMIS).unlink(), {("F001", "CSIP38")}),
        (lambda root: (root / "schemas/dc.xsd").unlink(), {("F001", "CSIP79")}),
        (_lost_of_a_manifest, {("F001", "CSIP79")}),
        (
            lambda root: edit(
                root / PACKAGE_METS, 'CHECKSUMTYPE="SHA-256" LOC', 'CHECKSUMTYPE="X" LOC', count=3
            ),
            {("M020", ""), ("F007", "CSIP30")},
        ),
    ],
)
def test_files_that_are_not_as_an_attribute_says(
    tmp_path: Path, spoil: Callable[[Path], object], reported: set[tuple[str, str]]
) -> None:
    root = csip.forge(tmp_path / "package")
    spoil(root)
    assert reported <= found(root) | {("M020", "")}


def _joined(root: Path) -> None:
    """Write a METS without its line ends, as some tools do."""
    mets = root / PACKAGE_METS
    mets.write_text(mets.read_text().replace(">\n", ">"))


def test_of_elements_on_one_line_the_one_is_reported_that_it_is_about(tmp_path: Path) -> None:
    root = csip.forge(tmp_path / "package", _joined)
    _sized("metadata/descriptive/dc.xml")(root)
    _sized("documentation/readme.txt")(root)
    assert {each for each in found(root) if each[0] == "F002"} == {("F002", "CSIP27"), ("F002", "CSIP69")}
    edited = csip.forge(tmp_path / "edited", _joined)
    edit(edited / PACKAGE_METS, 'MDTYPE="DC"', 'MDTYPE="NONE"')
    assert {each for each in found(edited) if each[0] == "M020"} == {("M020", "")}


def test_it_stands_at_the_end_of_the_line(tmp_path: Path) -> None:
    root = csip.forge(tmp_path / "package")
    _sized(_PREMIS)(root)
    (size,) = (each for each in check(root) if each.code == "F002")
    assert line(size).endswith("expected 10 (METS.xml line 28) (CSIP41)")


def test_packages_that_claim_nothing_break_nothing(tmp_path: Path) -> None:
    recommended = forge(tmp_path / "package")
    _sized("mets.xml")(recommended)
    next(recommended.glob("*_lobseg_0/**/*.bin")).unlink()
    assert {requirement for _, requirement in found(recommended)} == {""}
    root = csip.forge(tmp_path / "csip")
    _sized(_PREMIS)(root)
    assert {requirement for _, requirement in found(root, Profile.RECOMMENDATION)} == {""}


def test_a_representation_is_held_against_what_its_package_is(tmp_path: Path) -> None:
    root = csip.forge(tmp_path / "package")
    own = root / REPRESENTATION_METS
    _sized(own.parent.relative_to(root).as_posix() + "/metadata/preservation/premis.xml")(root)
    assert ("F002", "CSIP41") in found(root)
    (root / PACKAGE_METS).unlink()
    assert {each for each in found(root) if each[0] == "F002"} == {("F002", "")}
