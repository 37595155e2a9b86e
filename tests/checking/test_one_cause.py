"""Locations that all differ from the files in one way are one finding, which names the rule and the count."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from metspack.api import build, check
from metspack.building.build import BuildOptions
from metspack.limits import Limits

FORMS: dict[str, tuple[Callable[[str], str], str]] = {
    "the package's root in front": (lambda at: f"Northwind_lobseg_0/{at}", "without 'Northwind_lobseg_0/'"),
    "another folder in front": (lambda at: f"data/{at}", "without 'data/'"),
    "a folder less": (lambda at: at.partition("/")[2], "with 'content/'"),
    "a folder less inside": (lambda at: at.replace("table2/", ""), "with 'table2/'"),
    "a folder more inside": (lambda at: at.replace("lob4/", "lob4/large/"), "without 'large/'"),
    "another suffix": (lambda at: at.replace(".bin", ".png"), "'bin' where 'png' was expected"),
    "a suffix more": (lambda at: f"{at}.bak", "without '.bak'"),
    "a plus": (lambda at: at.replace("record", "record+"), "differs by 1 character"),
    "upper case": (str.upper, "differs only in case"),
    "upper case of a name": (lambda at: at.replace("record", "RECORD"), "differs only in case"),
    "doubly escaped slashes": (lambda at: at.replace("/", "%252F"), "was expected"),
    "another word": (lambda at: at.replace("schema0", "scheme0"), "differs by 1 character"),
}


@pytest.mark.parametrize("form", FORMS)
def test_one_cause_is_one_finding(form: str, northwind: Path, tmp_path: Path) -> None:
    changed, words = FORMS[form]
    build(northwind, tmp_path / "out", BuildOptions(limits=Limits(files=100)))
    mets = tmp_path / "out" / "Northwind_lobseg_0" / "mets.xml"
    text = mets.read_text(encoding="utf-8")
    text = re.sub(r'href="(content/[^"]+)"', lambda found: f'href="{changed(found[1])}"', text)
    mets.write_text(text, encoding="utf-8")
    (found,) = [each for each in check(tmp_path / "out") if each.code == "F014"]
    assert words in found.message
    assert "7 more" in found.message


def test_files_in_several_folders_are_one_finding(northwind: Path, tmp_path: Path) -> None:
    build(northwind, tmp_path / "out", BuildOptions(limits=Limits(files=3)))
    for mets in (tmp_path / "out").glob("*/mets.xml"):
        mets.write_bytes(mets.read_bytes().replace(b".bin", b".dat"))
    (found,) = [each for each in check(tmp_path / "out") if each.code == "F014"]
    assert found.count == 8
    assert len({place.path.partition("/")[0] for place in found.others}) == 3
