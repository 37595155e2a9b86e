"""Links from parents to children, and findings on those that are not as usual."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from metspack.checking import Level, check
from metspack.checking.links import links as links_of_check
from metspack.checking.links.graph import LinkState
from tests.checking.links.test_roots import aip, beside, mets, url
from tests.findings import codes
from tests.packages.forge import edit, forge, lobs
from tests.packages.placed import fptrs, mptr, structmap, urn


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


def parent(
    root: Path, entries: Mapping[str, str], children: Mapping[str, str], *divisions: str, up: str = "top"
) -> Path:
    """Write a parent with file entries by ID, and its children by folder and OBJID."""
    files = "".join(
        f'<mets:file ID="{each}"><mets:FLocat LOCTYPE="URL" xlink:href="{path}"/></mets:file>'
        for each, path in entries.items()
    )
    for name, objid in children.items():
        aip(root / name, objid, parent=up)
    text = mets("urn:x:top", structmap("children", *divisions))
    (root / "METS.xml").write_text(text.replace("<mets:fileGrp>", f"<mets:fileGrp>{files}", 1))
    return root


def in_one_division(root: Path, pointers: str, *, listed: int) -> Path:
    """Write a package with three children; one is listed, with the ID ``m``."""
    children = {f"child_{number}": f"urn:x:{number}" for number in range(3)}
    return parent(root, {"m": f"child_{listed}/METS.xml"}, children, pointers)


def located(root: Path, *hrefs: str) -> Path:
    """Write a package with four children, all listed, and an mptr to each of some locations."""
    children = {f"child_{number}": f"urn:x:{number}" for number in range(4)}
    entries = {f"m{number}": f"child_{number}/METS.xml" for number in range(4)}
    return parent(root, entries, children, *(f"{url(href)}\n" for href in hrefs), up="")


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


def test_a_child_that_is_missing_is_reported_once_and_then_named_twice(tmp_path: Path) -> None:
    root = aip(tmp_path / "ip", "urn:x:top")
    maps = structmap("child", url("c/METS.xml"), url("./c/METS.xml"), url("d/METS.xml"))
    (root / "METS.xml").write_text(mets("urn:x:top", maps))
    run = check(root, Level.LINKS)
    reported = [(each.code, dict(each.facts)["href"], dict(each.facts)["expected"]) for each in run]
    assert sorted(reported) == [
        ("L002", "c/METS.xml", "c/METS.xml"),
        ("L002", "d/METS.xml", "d/METS.xml"),
        ("L004", "./c/METS.xml", "c/METS.xml"),
    ]
    assert [each.child for each in run.graphs[0].edges] == [2, 3]


@pytest.mark.parametrize(("use", "expected"), [("child IP", ["L005"]), ("Representations", [])])
def test_an_entry_is_of_a_child_where_its_group_says_so_in_any_folder(
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


# --- divisions whose location and fptr lead to different METS ------------------------------------------

A, B = "a/METS.xml", "b/METS.xml"
TWO = {"a": "a", "b": "b"}


def links(root: Path) -> list[tuple[str, str, tuple[str, ...]]]:
    """Return the children of the top: path, state and codes of the link."""
    run = check(root, Level.LINKS)
    list(run)
    (graph,) = run.graphs
    paths = {each.id: each.path for each in graph.nodes}
    return [(paths[each.child], each.state.value, each.codes) for each in graph.edges if each.parent == 1]


def test_a_link_that_the_fptr_beside_it_leads_to_is_missing_where_it_leads_itself(tmp_path: Path) -> None:
    root = parent(tmp_path / "ip", {"ida": A, "idb": B}, TWO, url("lost/METS.xml") + fptrs(["ida"]), url(B))
    assert links(root)[0] == (A, "missing", ("L002",))


def test_a_location_with_an_entry_of_its_own_goes_before_the_fptr_beside_it(tmp_path: Path) -> None:
    root = parent(tmp_path / "ip", {"ida": A, "idb": B}, TWO, url(A) + fptrs(["idb"]))
    assert [path for path, _, _ in links(root)] == [A, B]
    assert "L002" not in codes(check(root, Level.LINKS))


def test_an_entry_of_a_mets_that_is_not_there_makes_no_child(tmp_path: Path) -> None:
    root = parent(tmp_path / "ip", {"ida": A, "idc": "c/METS.xml"}, TWO, url(A), url(B))
    assert [path for path, _, _ in links(root)] == [A, B]


def test_an_entry_that_leads_to_no_mets_means_that_of_the_mptr_beside_its_fptr(tmp_path: Path) -> None:
    root = parent(
        tmp_path / "ip", {"ida": "lost/METS.xml"}, TWO, url("gone/METS.xml") + url(A) + fptrs(["ida"])
    )
    (found,) = (each for each in check(root, Level.LINKS) if each.code == "L034")
    assert dict(found.facts)["expected"] == A


# --- each guess costs time, so only the first findings get one -----------------------------------------


def nearest(root: Path, code: str) -> list[str]:
    found = sorted(check(root, Level.LINKS), key=lambda each: each.line)
    names_of_each = [
        [dict(each.facts).get("nearest", "")] * each.count for each in found if each.code == code
    ]
    return [name for names in names_of_each for name in names]


@pytest.fixture
def few_guesses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(links_of_check, "_NEAREST_FOR", 2)


@pytest.mark.usefixtures("few_guesses")
def test_only_the_first_ids_that_no_entry_has_get_a_guess(tmp_path: Path) -> None:
    root = forge(tmp_path / "ip", lobs(8, 4))
    for number, wrong in enumerate(("ID_Nrthwind", "IDNorthwind", "ID_NorthwinD", "ID.Northwind")):
        old = f'<mets:mptr xlink:href="ID_Northwind_lobseg_{number}_mets"'
        edit(root / "mets.xml", old, old.replace("ID_Northwind", wrong))
    assert [bool(each) for each in nearest(root, "L001")] == [True, True, False, False]


@pytest.mark.usefixtures("few_guesses")
def test_links_that_lead_somewhere_use_up_no_guess(tmp_path: Path) -> None:
    root = located(tmp_path / "ip", *(f"child_{n}/METS.xml" for n in range(3)), "Child_3/METS.xml")
    assert nearest(root, "L002") == ["child_3/METS.xml"]


@pytest.mark.usefixtures("few_guesses")
def test_only_the_first_locations_that_lead_nowhere_get_a_guess(tmp_path: Path) -> None:
    root = located(tmp_path / "ip", *(f"Child_{n}/METS.xml" for n in range(4)))
    assert [bool(each) for each in nearest(root, "L002")] == [True, True, False, False]


# --- several structMaps that name children -------------------------------------------------------------

BY_LOCATION = '<mets:mptr xlink:href="child_{}/METS.xml" LOCTYPE="URL"/>'
BY_FILE_ID = '<mets:mptr xlink:href="m{}" LOCTYPE="OTHER" OTHERLOCTYPE="file ID"/>'


def disagreements(root: Path, form: str, *maps: Sequence[int]) -> list[str]:
    """Return the messages on a package with structMaps labelled A, B ... that name these children."""
    path = located(root) / "METS.xml"
    written = [
        structmap(f"child {label}", *map(form.format, children))
        for label, children in zip("ABC", maps, strict=False)
    ]
    path.write_text(path.read_text().replace("</mets:mets>", f"{''.join(written)}</mets:mets>"))
    found = [each for each in check(root, Level.LINKS) if each.code in {"L005", "L026"}]
    return sorted(each.message for each in found)


@pytest.mark.parametrize("form", [BY_LOCATION, BY_FILE_ID])
def test_structmaps_that_name_the_same_children_agree(tmp_path: Path, form: str) -> None:
    assert disagreements(tmp_path / "two", form, range(4), range(4)) == []
    assert disagreements(tmp_path / "turned", form, range(4), [3, 1, 0, 2]) == []
    assert disagreements(tmp_path / "three", form, range(4), range(4), range(4)) == []


@pytest.mark.parametrize(("form", "name"), [(BY_LOCATION, "child_{}/METS.xml"), (BY_FILE_ID, "m{}")])
def test_a_child_that_one_structmap_leaves_out_is_reported_once_for_each_that_names_it(
    tmp_path: Path, form: str, name: str
) -> None:
    def leaves_out(one: str, child: int, other: str) -> str:
        there, here = (f"the structMap labelled 'child {each}'" for each in (one, other))
        return f"{there} names the child {name.format(child)!r}, {here} does not"

    assert disagreements(tmp_path / "second", form, range(4), range(3)) == [leaves_out("A", 3, "B")]
    assert disagreements(tmp_path / "first", form, range(1, 4), range(4)) == [leaves_out("B", 0, "A")]
    assert disagreements(tmp_path / "third", form, range(4), range(4), [0, 2, 3]) == [
        leaves_out("A", 1, "C"),
        leaves_out("B", 1, "C"),
    ]
