"""The rules on exchanged children and on words about links, without a package around them."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from metspack.checking.codes import Code
from metspack.checking.links import swaps
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
    """Return the rings among children; each leads to the one at its number."""
    children = [child(number) for number in range(len(leads))]

    def follow(each: swaps._Child) -> swaps._Child | None:
        to = leads[each.id]
        return None if to is None else children[to]

    return [[each.id for each in ring] for ring in swaps._rings(children, follow)]


@given(
    st.integers(1, 7).flatmap(lambda n: st.lists(st.none() | st.integers(0, n - 1), min_size=n, max_size=n))
)
def test_whoever_comes_back_to_itself_is_in_one_ring_if_it_has_others(leads: list[int | None]) -> None:
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


TYPE, PACKAGE_TYPE = Code.CHILD_OF_ANOTHER_TYPE.id, Code.CHILD_OF_ANOTHER_KIND.id


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
