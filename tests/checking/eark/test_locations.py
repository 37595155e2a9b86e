"""What a requirement asks of a place is held against what a location means, however it is written."""

from __future__ import annotations

from pathlib import Path

import pytest

from metspack.checking import Level, check
from tests.packages import csip, forge

DC = "metadata/descriptive/dc.xml"
FORMS = (
    DC,
    f"./{DC}",
    f"file:{DC}",
    f"file://./{DC}",
    DC.replace("/", "%2F"),
    f"{DC}#id",
    DC.replace("m", "%6D"),
)


def requirements(root: Path) -> set[str]:
    csip.seal(root)
    return {each.requirement for each in check(root, Level.STRUCTURE)}


@pytest.mark.parametrize("form", FORMS)
def test_a_metadata_file_is_in_the_folder_of_its_kind(tmp_path: Path, form: str) -> None:
    root = csip.forge(tmp_path / "NW")
    forge.edit(root / csip.PACKAGE_METS, f'href="{DC}"', f'href="{form}"')
    assert "CSIPSTR7" not in requirements(root)


@pytest.mark.parametrize("form", ["file:metadata/other/dc.xml", "metadata/descriptive", "descriptive/dc.xml"])
def test_a_metadata_file_elsewhere_is_told_of(tmp_path: Path, form: str) -> None:
    root = csip.forge(tmp_path / "NW")
    forge.edit(root / csip.PACKAGE_METS, f'href="{DC}"', f'href="{form}"')
    assert "CSIPSTR7" in requirements(root)


@pytest.mark.parametrize("form", FORMS)
def test_the_media_type_is_that_of_the_file_that_is_meant(tmp_path: Path, form: str) -> None:
    root = csip.forge(tmp_path / "NW")
    (root / DC).write_bytes(b"%PDF-1.7\n")
    forge.edit(root / csip.PACKAGE_METS, f'href="{DC}"', f'href="{form}"')
    assert "CSIP26" in requirements(root)
