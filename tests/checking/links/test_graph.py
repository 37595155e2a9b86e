"""The graph of a package's links, node by node and link by link."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from metspack.checking import Level, check
from metspack.checking.links.graph import Edge, Graph, LinkState, Node
from tests.checking.links.test_roots import aip, beside, mets, url
from tests.packages import csip, forge
from tests.packages.placed import structmap, urn

RODA = "RODA structural map"


def graph(*paths: Path, roots: Sequence[Path] = ()) -> Graph:
    run = check(paths, Level.LINKS, roots=roots)
    list(run)
    return next(each for each in run.graphs if each.path == str(paths[0]))


def listed(number: int, path: str, objid: str, **more: bool | str) -> Node:
    return Node(id=number, path=path, objid=objid, is_listed=True, **more)  # type: ignore[arg-type]


def unfound(number: int, objid: str, found: str = "") -> Node:
    return Node(id=number, path="", objid=objid, found=found, is_there=False)


def link(
    parent: int, child: int, href: str, state: LinkState, *codes: str, names_parent: bool, line: int = 1
) -> Edge:
    return Edge(
        parent=parent,
        child=child,
        href=href,
        line=line,
        state=state,
        codes=codes,
        names_parent=names_parent,
    )


def test_a_good_package_and_a_name_that_is_only_meant(tmp_path: Path) -> None:
    root = forge.forge(tmp_path / "ip")
    names = [f"ID_Northwind_lobseg_{number}_mets" for number in range(2)]
    nodes = (
        Node(id=1, path="mets.xml", objid=forge.PARENT_OBJID),
        *(listed(n + 2, f"Northwind_lobseg_{n}/mets.xml", each) for n, each in enumerate(names)),
    )
    good = [
        link(1, 2, names[0], LinkState.OK, line=16, names_parent=True),
        link(1, 3, names[1], LinkState.OK, line=19, names_parent=True),
    ]
    assert graph(root) == Graph(path=str(root), nodes=nodes, edges=tuple(good))
    forge.edit(root / "mets.xml", f'mptr xlink:href="{names[0]}', 'mptr xlink:href="IP_0')
    forge.edit(root / "mets.xml", f'mptr xlink:href="{names[1]}', f'mptr xlink:href="x{names[1]}')
    found = graph(root)
    assert found.nodes == (
        *nodes[:1],
        listed(2, nodes[2].path, names[1]),
        listed(3, nodes[1].path, names[0]),
        unfound(4, "IP_0"),
    )
    assert found.edges == (
        replace(
            good[1], child=2, href=f"x{names[1]}", state=LinkState.BROKEN, codes=("L001",), is_meant=True
        ),
        link(1, 3, names[0], LinkState.ONE_WAY_UP, line=0, names_parent=True),
        link(1, 4, "IP_0", LinkState.BROKEN, "L001", line=16, names_parent=False),
    )


def test_links_by_objid_and_what_no_mets_names(tmp_path: Path) -> None:
    root = aip(
        tmp_path / "ip",
        "urn:x:top",
        parent="urn:x:above",
        children=["urn:x:one", "urn:y:gone", "urn:x:away", "urn:x:silent"],
    )
    aip(root / "one", "one", parent="urn:x:top", children=["gone"])
    aip(root / "silent", "silent")
    aip(root / "orphan1", "urn:x:orphan1", parent="top", children=["lost"])
    aip(root / "orphan2", "orphan2", parent="urn:y:one")
    aip(root / "orphan3", "orphan3", parent="urn:x:nobody")
    aip(root / "orphan4", "orphan4", parent="urn:y:orphan1")
    aip(root / "orphan5", "orphan5", parent="orphan5")
    away = aip(tmp_path / "disk/away", "away", parent="top") / "METS.xml"
    above = aip(tmp_path / "disk/above", "above", children=["top"]) / "METS.xml"
    found = graph(root, roots=[tmp_path / "disk"])
    assert found.nodes == (
        Node(id=1, path="METS.xml", objid="urn:x:top"),
        listed(2, "one/METS.xml", "one"),
        listed(3, str(away), "away", found=str(away)),
        listed(4, "silent/METS.xml", "silent"),
        Node(id=5, path="orphan1/METS.xml", objid="urn:x:orphan1"),
        Node(id=6, path="orphan2/METS.xml", objid="orphan2"),
        Node(id=7, path="orphan3/METS.xml", objid="orphan3"),
        Node(id=8, path="orphan4/METS.xml", objid="orphan4"),
        Node(id=9, path="orphan5/METS.xml", objid="orphan5"),
        unfound(10, "urn:y:gone"),
        unfound(11, "lost"),
        unfound(12, "urn:x:above", str(above)),
        unfound(13, "urn:x:nobody"),
    )
    assert found.edges == (
        link(1, 2, "urn:x:one", LinkState.OK, "L010", names_parent=True),
        link(1, 3, "urn:x:away", LinkState.ELSEWHERE, names_parent=True),
        link(1, 4, "urn:x:silent", LinkState.ONE_WAY_DOWN, "L029", names_parent=False),
        link(1, 10, "urn:y:gone", LinkState.MISSING, "L010", names_parent=False),
        link(2, 10, "gone", LinkState.MISSING, "L010", names_parent=False),
        link(5, 11, "lost", LinkState.MISSING, "L010", names_parent=False),
        link(12, 1, "urn:x:above", LinkState.ELSEWHERE, names_parent=True),
        link(1, 5, "top", LinkState.ONE_WAY_UP, names_parent=True),
        link(2, 6, "urn:y:one", LinkState.ONE_WAY_UP, names_parent=True),
        link(13, 7, "urn:x:nobody", LinkState.UNKNOWN, names_parent=False),
        link(5, 8, "urn:y:orphan1", LinkState.ONE_WAY_UP, names_parent=True),
    )


@pytest.mark.parametrize(
    ("maps", "state", "codes", "names_parent"),
    [
        ([structmap("parent", urn("top"))], LinkState.OK, (), True),
        ([], LinkState.ONE_WAY_DOWN, ("L021",), False),
        ([structmap("parent", urn("tops"))], LinkState.BROKEN, ("L020",), False),
        ([structmap(RODA, urn("other")), structmap("parent", urn("top"))], LinkState.BROKEN, ("L026",), True),
        (
            [structmap("parent", urn("tops")), structmap("parent", url("../METS.xml"))],
            LinkState.BROKEN,
            ("L020",),
            True,
        ),
    ],
)
def test_a_child_by_its_location_and_a_parent_that_is_not_there(
    tmp_path: Path, maps: list[str], state: LinkState, codes: tuple[str, ...], *, names_parent: bool
) -> None:
    root = beside(tmp_path, *maps)
    found = graph(root)
    assert found.nodes == (
        Node(id=1, path="METS.xml", objid="urn:x:top"),
        listed(2, "c/METS.xml", "child"),
        unfound(3, "urn:x:above"),
    )
    assert found.edges == (
        link(1, 2, "c/METS.xml", state, *codes, names_parent=names_parent),
        link(3, 1, "urn:x:above", LinkState.UNKNOWN, names_parent=False),
    )


def test_a_child_that_cannot_be_read_or_is_not_there(tmp_path: Path) -> None:
    root = beside(tmp_path)
    (root / "c/METS.xml").write_text("<x")
    found = graph(root)
    assert found.nodes[1] == listed(2, "c/METS.xml", "")
    assert found.edges[0] == link(1, 2, "c/METS.xml", LinkState.BROKEN, "X001", names_parent=False)
    (root / "c/METS.xml").unlink()
    found = graph(root)
    assert found.nodes[1] == listed(2, "c/METS.xml", "", is_there=False)
    assert found.edges[0] == link(1, 2, "c/METS.xml", LinkState.MISSING, "L002", names_parent=False)


def test_parents_in_other_packages(tmp_path: Path) -> None:
    """A parent without a link to its child, an ancestor, and a second name."""
    kid = aip(tmp_path / "kid", "kid", parent="over")
    over = aip(tmp_path / "over", "urn:x:over") / "METS.xml"
    found = graph(kid, tmp_path / "over")
    assert found.nodes == (Node(id=1, path=f"{kid}/METS.xml", objid="kid"), unfound(2, "over", str(over)))
    assert found.edges == (link(2, 1, "over", LinkState.ONE_WAY_UP, names_parent=True),)
    (kid / "METS.xml").write_text(
        mets("kid", structmap("parent", urn("over")), structmap("parent", urn("other")))
    )
    found = graph(kid, tmp_path / "over")
    assert [(each.parent, each.state) for each in found.edges] == [
        (2, LinkState.ONE_WAY_UP),
        (3, LinkState.UNKNOWN),
    ]
    (kid / "METS.xml").write_text(mets("kid", structmap(RODA, urn("over"))))
    found = graph(kid, tmp_path / "over")
    assert found.edges == (link(2, 1, "over", LinkState.ONE_WAY_UP, "L040", names_parent=True),)


def test_a_child_is_no_parent_of_what_is_above_it(tmp_path: Path) -> None:
    root = aip(tmp_path / "ip", "top", parent="one", children=["one"])
    aip(root / "one", "one", parent="top")
    found = graph(root)
    assert found.nodes[2:] == (unfound(3, "one"),)
    assert [(each.parent, each.child, each.state) for each in found.edges] == [
        (1, 2, LinkState.OK),
        (3, 1, LinkState.UNKNOWN),
    ]


def test_a_representation_neither_names_a_parent_nor_is_one(tmp_path: Path) -> None:
    root = csip.forge(tmp_path / "ip")
    aip(root / "orphan", "orphan", parent="rep1")
    found = graph(root)
    path = "representations/rep1/METS.xml"
    nodes = (listed(2, path, "rep1", is_part=True), Node(id=3, path="orphan/METS.xml", objid="orphan"))
    assert found.nodes[1:] == (*nodes, unfound(4, "rep1"))
    assert found.edges == (
        link(1, 2, path, LinkState.OK, line=58, names_parent=False),
        link(4, 3, "rep1", LinkState.UNKNOWN, names_parent=False),
    )


def test_a_parent_is_one_however_often_it_is_named_and_nobody_is_its_own(tmp_path: Path) -> None:
    root = aip(tmp_path / "ip", "top")
    (root / "orphan").mkdir()
    ups = [structmap("parent", urn(each)) for each in ("orphan", "urn:x:top", "top")]
    (root / "orphan/METS.xml").write_text(mets("orphan", *ups))
    assert graph(root).edges == (link(1, 2, "urn:x:top", LinkState.ONE_WAY_UP, names_parent=True),)


def test_what_a_location_and_an_objid_lead_to_is_a_child_in_any_folder(tmp_path: Path) -> None:
    root = aip(tmp_path / "ip", "top")
    path = "representations/rep1/METS.xml"
    (root / "METS.xml").write_text(mets("top", structmap("child AIPs", urn("rep1") + url(path))))
    aip(root / "representations/rep1", "rep1", parent="top")
    found = graph(root)
    assert found.nodes[1:] == (listed(2, path, "rep1"),)
    assert found.edges == (link(1, 2, path, LinkState.OK, names_parent=True),)
