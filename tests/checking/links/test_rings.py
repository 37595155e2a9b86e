"""The rules on exchanged children and on words about links, without a package around them."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metspack.checking.codes import Code
from metspack.checking.links import links, swaps
from metspack.checking.links.graph import Edge, Graph, LinkState, Node


def child(number: int, folder: str = "", objid: str = "", *, found: str | None = None) -> swaps._Child:
    return swaps._Child(
        id=number,
        path=f"{folder or number}mets.xml".encode(),
        folder=folder.encode(),
        parent=1,
        called=f"called {number}",
        key=f"called {number}",
        objid=objid or f"objid {number}",
        line=number,
        found=found,
    )


def rings(leads: Sequence[int | None]) -> list[list[int]]:
    """Return the rings among children of which each leads to the one at its number."""
    children = [child(number) for number in range(len(leads))]

    def follow(each: swaps._Child) -> swaps._Child | None:
        to = leads[each.id]
        return None if to is None else children[to]

    return [[each.id for each in ring] for ring in swaps._rings(children, follow)]


@pytest.mark.parametrize(
    ("leads", "expected"),
    [
        ([], []),
        ([None], []),
        ([0], []),
        ([1, 0], [[0, 1]]),
        ([1, 2, 0], [[0, 1, 2]]),
        ([2, 0, 1], [[0, 2, 1]]),
        ([1, 2, 1], [[1, 2]]),
        ([3, 2, 1, 2], [[1, 2]]),
        ([1, None, 1], []),
        ([1, 0, 3, 2], [[0, 1], [2, 3]]),
        ([2, 0, 3, 2], [[2, 3]]),
        ([3, None, 1, 2], []),
        ([1, 1, 3, 2], [[2, 3]]),
    ],
)
def test_rings_begin_with_their_first_child(leads: list[int | None], expected: list[list[int]]) -> None:
    assert rings(leads) == expected


@given(
    st.integers(1, 7).flatmap(lambda n: st.lists(st.none() | st.integers(0, n - 1), min_size=n, max_size=n))
)
def test_whoever_comes_back_to_itself_is_in_one_ring_if_not_alone(leads: list[int | None]) -> None:
    found = rings(leads)
    members = [each for ring in found for each in ring]
    for number in range(len(leads)):
        at, steps = leads[number], 1
        while at is not None and at != number and steps <= len(leads):
            at, steps = leads[at], steps + 1
        assert members.count(number) == (1 if at == number and steps > 1 else 0)
    for ring in found:
        assert ring[0] == min(ring)
        assert [leads[each] for each in ring] == [*ring[1:], ring[0]]
        assert swaps._pairs(tuple(map(child, ring))) == tuple(
            zip(map(child, ring), map(child, [*ring[1:], ring[0]]), strict=True)
        )


def test_an_exchange_is_among_children_in_folders_of_their_own() -> None:
    one, two, within = child(1, "a/"), child(2, "b/"), child(3, "a/c/")
    assert swaps._is_exchange((one, two))
    assert swaps._is_exchange((two, one))
    assert not swaps._is_exchange((one, within))
    assert not swaps._is_exchange((within, one))
    assert not swaps._is_exchange((one, child(2)))
    assert not swaps._is_exchange((child(2), one))
    assert not swaps._is_exchange((one, child(2, "b/", found="elsewhere")))


def test_a_child_is_another_where_its_objid_is_not_what_it_is_called() -> None:
    assert child(1).is_another
    assert not child(1, objid="called 1").is_another
    assert not child(1, objid="urn:x:called 1").is_another


@pytest.mark.parametrize(
    ("folder", "objid", "expected"),
    [
        ("X_lobseg_0/", "ID_X_lobseg_0_mets", True),
        ("p/X_lobseg_0/", "ID_X_lobseg_0_mets", True),
        ("ID_X_lobseg_0_mets_2/", "urn:x:ID_X_lobseg_0_mets", True),
        ("X_lobseg_1/", "ID_X_lobseg_0_mets", False),
        ("X/q/", "X", False),
        ("", "X", False),
        ("a/", "urn:x:", False),
    ],
)
def test_a_child_is_named_after_a_folder(folder: str, objid: str, *, expected: bool) -> None:
    assert child(1, objid=objid).is_named_after(folder.encode()) is expected


def test_the_folder_of_a_child_is_beside_the_one_in_which_it_lies() -> None:
    assert swaps._own_folder(child(1, "a/b/", "urn-x")) == b"a/urn-x/"
    assert swaps._own_folder(child(1, "b/", "urn-x")) == b"urn-x/"


TYPE, PACKAGE_TYPE = Code.CHILD_OF_ANOTHER_TYPE.id, Code.CHILD_OF_ANOTHER_KIND.id


@pytest.mark.parametrize(
    ("types", "expected"),
    [
        (("a", "b", None, None), (TYPE, "a", "b")),
        (("a", "b", "SIP", None), (TYPE, "a", "b")),
        (("a", "b", None, "SIP"), (TYPE, "a", "b")),
        (("a", "b", "AIP", "SIP"), (PACKAGE_TYPE, "AIP", "SIP")),
        (("a", "b", "SIP", "SIP"), None),
        (("a", "a", None, None), None),
        ((None, "b", None, None), None),
        (("a", None, None, None), None),
    ],
)
def test_a_child_is_of_the_kind_of_its_parent(
    types: Sequence[str | None], expected: tuple[str, str, str] | None
) -> None:
    found = list(swaps._kind((b"c/METS.xml", 7, *types, b"METS.xml")))
    told = [
        (each.path, each.line, each.code, facts["found"], facts["expected"], facts["parent"])
        for each in found
        for facts in [dict(each.facts)]
    ]
    assert told == ([] if expected is None else [("c/METS.xml", 7, *expected, "METS.xml")])


def test_a_structmap_is_called_by_its_label_or_its_type() -> None:
    assert swaps._called_map("SPLITLOB\nNone") == "the structMap of type 'SPLITLOB'"
    assert swaps._called_map("x\nSIARD a") == "the structMap labelled 'SIARD a'"
    assert swaps._called_map("None\n") == "the structMap labelled ''"
    assert swaps._called_map("x\na\nb") == r"the structMap labelled 'a\nb'"


def test_an_objid_beside_a_changed_location_is_taken_without_the_change() -> None:
    changed, meant = b"Child_1/mets.xml", b"child_1/mets.xml"
    assert links._called("urn:x:Child_1", changed, meant) == "urn:x:child_1"
    assert links._called("urn:x:other", changed, meant) == "urn:x:other"
    assert links._called(None, changed, meant) is None
    assert links._called("b", b"x/mets.xml", b"b/mets.xml") == "b"
    assert links._called("x_1", b"x_1/mets.xml", b"b_1/mets.xml") == "b_1"
    assert links._called("b_1", b"mets.xml", b"b_1/mets.xml") == "b_1"  # nothing was before the beginning


def edge(state: LinkState, *codes: str, meant: bool = False) -> Edge:
    return Edge(parent=1, child=2, href="x", line=3, state=state, codes=codes, is_meant=meant)


def test_links_at_fault_are_those_that_no_standard_leaves_out() -> None:
    faults = {state for state in LinkState if edge(state).is_fault}
    assert faults == {LinkState.BROKEN, LinkState.MISSING, LinkState.ONE_WAY_UP}
    assert edge(LinkState.ONE_WAY_DOWN, Code.NO_PARENT.id).is_fault
    assert not edge(LinkState.ONE_WAY_DOWN, Code.CHILD_SILENT.id).is_fault
    assert not edge(LinkState.ONE_WAY_UP, Code.ANCESTOR_SILENT.id).is_fault


def test_a_parent_names_its_child_unless_it_only_means_it() -> None:
    assert [each for each in LinkState if not edge(each).names_child] == [LinkState.ONE_WAY_UP]
    assert not edge(LinkState.OK, meant=True).names_child


def test_a_graph_is_renamed_as_a_whole() -> None:
    nodes = (Node(id=1, path="", objid="a"), Node(id=2, path="b/METS.xml", objid="b"))
    graph = Graph(path="p", nodes=nodes, edges=(edge(LinkState.OK),))
    again = graph.renamed(lambda name: f"q/{name}")
    assert [each.path for each in again.nodes] == ["", "q/b/METS.xml"]
    assert [each.objid for each in again.nodes] == ["a", "b"]
    assert (again.path, again.edges) == (graph.path, graph.edges)
    assert graph.top == nodes[1]
    assert [each.folder for each in again.nodes] == ["", "q/b"]
    assert not graph.is_broken
    assert Graph(path="p", nodes=nodes, edges=(edge(LinkState.OK), edge(LinkState.MISSING))).is_broken
    assert Graph(path="p", nodes=nodes[:1], edges=()).top is None
