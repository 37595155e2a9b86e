"""METS that is missing, empty or of another version: what is reported of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from metspack.api import Package, build, check
from metspack.checking.options import CheckOptions
from metspack.errors import SourceError


def findings(root: Path, profile: str = "auto") -> list[tuple[str, str, str, str]]:
    report = check(root, CheckOptions(profile=profile))  # type: ignore[arg-type]
    return [(each.code, each.path, each.message, each.requirement) for each in report]


@pytest.fixture
def package(northwind: Path, tmp_path: Path) -> Path:
    """A package of the recommendation."""
    return build(northwind, tmp_path / "package").target


def test_a_file_with_a_name_like_that_of_the_missing_mets_is_named(package: Path) -> None:
    (package / "mets.xml").rename(package / "METS_2024.xml")
    found = {each[0]: each for each in findings(package)}
    message = "the package has no mets.xml; nearest is 'METS_2024.xml'"
    assert found["M001"] == ("M001", "mets.xml", message, "")


def test_an_eark_profile_asks_for_a_mets_of_its_spelling(package: Path) -> None:
    (package / "mets.xml").unlink()
    found = {each[0]: each for each in findings(package, "csip")}
    _, path, message, requirement = found["M001"]
    assert (path, requirement) == ("METS.xml", "CSIPSTR4")
    assert message.startswith("the package has no METS.xml")


def test_an_empty_mets_is_called_empty(package: Path) -> None:
    (package / "mets.xml").write_bytes(b"")
    assert ("X001", "mets.xml", "it is empty, expected a METS document", "") in findings(package)


def test_mets_2_is_called_by_its_name(package: Path) -> None:
    mets = package / "mets.xml"
    mets.write_bytes(mets.read_bytes().replace(b"http://www.loc.gov/METS/", b"http://www.loc.gov/METS/v2"))
    words = "it is METS 2.0, which metspack does not read yet, expected '{http://www.loc.gov/METS/}mets'"
    assert [each[2] for each in findings(package) if each[0] == "M002"] == [words]
    with pytest.raises(SourceError, match="it is METS 2"):
        list(Package(package).lobs())
