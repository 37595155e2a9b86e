"""The nearest match of a link that leads nowhere, and how it differs."""

from __future__ import annotations

import shutil
from pathlib import Path

from metspack.checking import Level, check
from metspack.model import Finding
from tests.checking.links.test_roots import aip, mets, url
from tests.packages import csip
from tests.packages.forge import CHILD, FIRST, edit, forge, seal
from tests.packages.placed import mptr, structmap, urn


def reported(root: Path, code: str, *roots: Path, level: Level = Level.LINKS) -> Finding:
    return next(each for each in check(root, level, roots=roots) if each.code == code)


def test_a_child_in_a_renamed_folder_is_the_nearest_without_its_objid(tmp_path: Path) -> None:
    root = forge(tmp_path / "ip")
    (root / "Northwind_lobseg_0").rename(root / "segments_Northwind_lobseg_0")
    edit(root / "segments_Northwind_lobseg_0/mets.xml", 'OBJID="ID_', 'OBJID="other_')
    found = reported(root, "L002")
    assert dict(found.facts)["nearest"] == "segments_Northwind_lobseg_0/mets.xml"
    assert dict(found.facts)["likeness"] == "'segments_' before it"


def test_a_location_outside_names_what_is_inside(tmp_path: Path) -> None:
    root = forge(tmp_path / "ip")
    edit(root / CHILD, "content/schema0", "/data/old/Northwind_lobseg_0/content/schema0")
    seal(root)
    found = reported(root, "P003", level=Level.STRUCTURE)
    assert dict(found.facts)["nearest"] == FIRST
    edit(root / CHILD, "/data/old/Northwind_lobseg_0/content/", "../../elsewhere/content/")
    assert dict(reported(root, "P003", level=Level.STRUCTURE).facts)["nearest"] == FIRST


def test_what_the_parent_names_itself_is_not_meant_by_another_name(tmp_path: Path) -> None:
    aip(tmp_path / "top", "top", children=["child.5", "child.25"])
    aip(tmp_path / "disk/child", "child.25", parent="top")
    aip(tmp_path / "disk/other", "IP.child.55", parent="top")
    found = reported(tmp_path / "top", "L010", tmp_path / "disk")
    assert dict(found.facts)["nearest"] == "IP.child.55"


def test_a_representation_is_not_the_nearest_to_a_child(tmp_path: Path) -> None:
    root = csip.divide(tmp_path / "set")
    shutil.rmtree(root / "child_0")
    assert dict(reported(root, "L002").facts).get("nearest", "") == ""


def test_where_nothing_is_near_no_likeness_is_reported_however_short_the_name_is(tmp_path: Path) -> None:
    root = aip(tmp_path / "ip", "top")
    children = structmap("child", urn("q"), mptr("r"), url("s"))
    (root / "METS.xml").write_text(mets("urn:x:the whole of it", structmap("parent", urn("p")), children))
    disk = aip(tmp_path / "disk", "another package")
    found = [each for each in check(root, Level.LINKS, roots=[disk]) if each.code != "L026"]
    assert sorted(each.code for each in found) == ["L001", "L002", "L010", "L025"]
    assert not any({"nearest", "likeness"} & dict(each.facts).keys() for each in found)
