"""What was meant by a location that leads to no file: a guess that is of use, and one cause told once."""

from __future__ import annotations

from pathlib import Path

import pytest

from metspack.checking import Level, check
from metspack.model import Finding
from tests.packages import forge

CHILD = "Northwind_lobseg_0"
DATA = f"{CHILD}/content/schema0/table2/lob4"


@pytest.fixture
def package(tmp_path: Path) -> Path:
    return forge.forge(tmp_path / "package")


def found(package: Path, code: str, level: Level = Level.FULL) -> list[Finding]:
    return [each for each in check(package, level) if each.code == code]


def test_a_file_that_is_listed_and_there_is_not_what_another_was_meant_to_be(package: Path) -> None:
    (package / DATA / "record0.bin").unlink()
    (missing,) = found(package, "F001")
    assert "nearest" not in missing.message
    (package / DATA / "record1.bin").rename(package / DATA / "record1.bim")
    nearest = [dict(each.facts)["nearest"] for each in found(package, "F001", Level.STRUCTURE)]
    assert nearest == [f"{DATA}/record1.bim"] * 2


@pytest.mark.parametrize("now", [f"{CHILD}/content/schema0", "schema0", "Content/schema0", "old/lobs"])
def test_what_all_locations_have_in_common_is_one_finding(package: Path, now: str) -> None:
    forge.edit(package / CHILD / "mets.xml", 'href="content/schema0', f'href="{now}', count=-1)
    (told,) = found(package, "F014")
    assert told.count + int(dict(told.facts).get("more", 0)) == 2
    if now.startswith(CHILD):
        assert f"(without '{CHILD}/'); the same difference in 1 more place" in told.message
