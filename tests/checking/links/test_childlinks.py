"""How a parent leads to a child, and what is told where it does so in an odd way."""

from __future__ import annotations

from pathlib import Path

import pytest

from metspack.checking import Level, check
from metspack.checking.links.graph import LinkState
from tests.checking.links.test_roots import aip, beside, mets, url
from tests.packages.placed import mptr, structmap, urn


def test_a_location_in_place_of_an_id_is_followed_from_the_mets_that_has_it(tmp_path: Path) -> None:
    root = beside(tmp_path, structmap("parent", urn("top")), structmap("children", mptr("d/METS.xml")))
    aip(root / "c/d", "deep", parent="child")
    aip(root / "d", "other", parent="top")
    run = check(root, Level.LINKS)
    found = {each.path: each.code for each in run if each.code != "L022"}
    assert found == {"c/METS.xml": "L001", "d/METS.xml": "L006"}
    links = {(each.parent, each.child): each.state for each in run.graphs[0].edges}
    assert [each.path for each in run.graphs[0].nodes[:3]] == ["METS.xml", "c/METS.xml", "c/d/METS.xml"]
    assert links[2, 3] is LinkState.BROKEN


def in_one_division(root: Path, pointers: str, *, listed: int) -> Path:
    """Write a package with three children, one of which is listed, with the ID ``m``."""
    for number in range(3):
        aip(root / f"child_{number}", f"urn:x:{number}", parent="top")
    entry = f'<mets:file ID="m"><mets:FLocat xlink:href="child_{listed}/METS.xml" LOCTYPE="URL"/></mets:file>'
    text = mets("urn:x:top", structmap("children", pointers))
    (root / "METS.xml").write_text(text.replace("<mets:fileGrp>", f"<mets:fileGrp>{entry}", 1))
    return root


FPTR = '<mets:fptr FILEID="m"/>'


@pytest.mark.parametrize(
    ("objid", "children"),
    [
        ("0", [("child_0", LinkState.OK, "child_0/METS.xml"), ("child_1", LinkState.ONE_WAY_UP, "")]),
        ("1", [("child_1", LinkState.BROKEN, "child_0/METS.xml")]),
        ("", [("child_1", LinkState.BROKEN, "child_0/METS.xml")]),
    ],
)
def test_a_location_is_followed_where_it_is_that_of_the_objid_beside_it(
    tmp_path: Path, objid: str, children: list[tuple[str, LinkState, str]]
) -> None:
    """Whatever the fptr is of; without such an OBJID it is the location that is in doubt."""
    pointers = url("child_0/METS.xml") + (urn(objid) if objid else "") + FPTR
    run = check(in_one_division(tmp_path / "ip", pointers, listed=1), Level.LINKS)
    (found,) = (dict(each.facts) for each in run if each.code == "L034")
    assert found == {"fileid": "m", "found": "child_1/METS.xml", "expected": "child_0/METS.xml"}
    (graph,) = run.graphs
    nodes = {each.id: each for each in graph.nodes if each.is_listed}
    linked = [each for each in graph.edges if each.child in nodes]
    assert [(nodes[each.child].folder, each.state, each.href) for each in linked] == children


def test_a_child_that_is_missing_is_told_once_and_then_named_twice(tmp_path: Path) -> None:
    root = aip(tmp_path / "ip", "urn:x:top")
    maps = structmap("child", url("c/METS.xml"), url("./c/METS.xml"), url("d/METS.xml"))
    (root / "METS.xml").write_text(mets("urn:x:top", maps))
    run = check(root, Level.LINKS)
    told = [(each.code, dict(each.facts)["href"], dict(each.facts)["expected"]) for each in run]
    assert sorted(told) == [
        ("L002", "c/METS.xml", "c/METS.xml"),
        ("L002", "d/METS.xml", "d/METS.xml"),
        ("L004", "./c/METS.xml", "c/METS.xml"),
    ]
    assert [each.child for each in run.graphs[0].edges] == [2, 3]


@pytest.mark.parametrize(("use", "expected"), [("child IP", ["L005"]), ("Representations", [])])
def test_an_entry_is_of_a_child_where_its_group_says_so_wherever_that_lies(
    tmp_path: Path, use: str, expected: list[str]
) -> None:
    root = aip(tmp_path / "ip", "top")
    aip(root / "representations/rep1", "rep1", parent="top")
    path = "representations/rep1/METS.xml"
    entry = f'<mets:file ID="rep1"><mets:FLocat xlink:href="{path}" LOCTYPE="URL"/></mets:file>'
    text = mets("top").replace(
        "</mets:fileSec>", f'<mets:fileGrp USE="{use}">{entry}</mets:fileGrp></mets:fileSec>'
    )
    (root / "METS.xml").write_text(text)
    run = check(root, Level.LINKS)
    assert [each.code for each in run if each.code[0] == "L"] == expected
    assert [each.is_part for each in run.graphs[0].nodes] == [False, not expected]


def test_a_link_to_itself_says_nothing_of_the_fptr_beside_it(tmp_path: Path) -> None:
    root = in_one_division(tmp_path / "ip", urn("top") + FPTR, listed=1)
    found = {each.code: dict(each.facts) for each in check(root, Level.LINKS)}
    assert found["L009"] == {"href": "top"}
    assert "L034" not in found
