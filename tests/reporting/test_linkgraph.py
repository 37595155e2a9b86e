"""The links as JSON: in pieces it is the text of the whole."""

from __future__ import annotations

import json

import pytest

from metspack.checking.links.graph import Edge, Graph, LinkState, Node
from metspack.reporting import linkgraph


def graph(nodes: int) -> Graph:
    edges = (
        Edge(parent=1, child=number, href=f'x"\n{number}', line=number, state=LinkState.OK, codes=("L002",))
        for number in range(2, nodes + 1)
    )
    made = (Node(id=number, path=f"x_{number}/mets.xml", objid="é") for number in range(1, nodes + 1))
    return Graph(path="in", nodes=tuple(made), edges=tuple(edges))


@pytest.mark.parametrize(("at_once", "sizes"), [(1, ()), (1, (0,)), (2, (2, 0, 5)), (500, (6,))])
def test_json_in_pieces_is_the_text_of_the_whole(
    sizes: tuple[int, ...], at_once: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(linkgraph, "_AT_ONCE", at_once)
    graphs = tuple(graph(each) for each in sizes)
    whole = linkgraph.LinkReport(graphs=graphs, errors=0).to_json()
    assert "".join(linkgraph.lines(graphs)) == f"{json.dumps(whole, indent=2)}\n"
