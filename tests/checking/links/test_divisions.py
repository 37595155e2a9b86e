"""Divisions whose location and fptr lead to different METS, and entries of METS that no mptr names."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from metspack.checking import Level, check
from tests.checking.links.test_roots import codes, mets, url
from tests.packages.placed import fptrs, structmap, urn

A, B = "a/METS.xml", "b/METS.xml"


def parent(folder: Path, entries: Mapping[str, str], *divisions: str, objid: str = "top") -> Path:
    """Write a parent whose file entries lead to METS by the IDs given, and its children a and b."""
    files = "".join(
        f'<mets:file ID="{each}"><mets:FLocat LOCTYPE="URL" xlink:href="{path}"/></mets:file>'
        for each, path in entries.items()
    )
    text = mets(objid, structmap("child AIPs", *divisions))
    for name in ("a", "b"):
        (folder / name).mkdir(parents=True)
        (folder / name / "METS.xml").write_text(mets(name, structmap("parent AIP", urn(objid))))
    (folder / "METS.xml").write_text(text.replace("</mets:fileGrp>", f"{files}</mets:fileGrp>"))
    return folder


def links(root: Path) -> list[tuple[str, str, tuple[str, ...]]]:
    """Return the children of the top: path, state and codes of the link."""
    run = check(root, Level.LINKS)
    list(run)
    (graph,) = run.graphs
    paths = {each.id: each.path for each in graph.nodes}
    return [(paths[each.child], each.state.value, each.codes) for each in graph.edges if each.parent == 1]


def test_a_link_that_the_fptr_beside_it_leads_to_is_missing_where_it_leads_itself(tmp_path: Path) -> None:
    root = parent(tmp_path / "ip", {"ida": A, "idb": B}, url("lost/METS.xml") + fptrs(["ida"]), url(B))
    assert links(root)[0] == (A, "missing", ("L002",))


def test_a_location_with_an_entry_of_its_own_goes_before_the_fptr_beside_it(tmp_path: Path) -> None:
    root = parent(tmp_path / "ip", {"ida": A, "idb": B}, url(A) + fptrs(["idb"]))
    assert [path for path, _, _ in links(root)] == [A, B]
    assert "L002" not in codes(check(root, Level.LINKS))


def test_an_entry_of_a_mets_that_is_not_there_makes_no_child(tmp_path: Path) -> None:
    root = parent(tmp_path / "ip", {"ida": A, "idc": "c/METS.xml"}, url(A), url(B))
    assert [path for path, _, _ in links(root)] == [A, B]


def test_an_entry_that_leads_to_no_mets_means_that_of_the_mptr_beside_its_fptr(tmp_path: Path) -> None:
    root = parent(tmp_path / "ip", {"ida": "lost/METS.xml"}, url("gone/METS.xml") + url(A) + fptrs(["ida"]))
    (found,) = (each for each in check(root, Level.LINKS) if each.code == "L034")
    assert dict(found.facts)["expected"] == A
