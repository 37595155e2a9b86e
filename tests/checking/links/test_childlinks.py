"""How a parent leads to a child, and what is told where it does so in an odd way."""

from __future__ import annotations

from pathlib import Path

from metspack.checking import Level, check
from metspack.checking.links.graph import LinkState
from tests.checking.links.test_roots import aip, beside
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
