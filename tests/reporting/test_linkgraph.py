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


@pytest.mark.parametrize("sizes", [(), (0,), (2, 0, 5)])
def test_json_has_every_package_with_its_documents_and_links(sizes: tuple[int, ...]) -> None:
    made = json.loads("".join(linkgraph.lines(map(graph, sizes))))
    assert made["schema_version"] == 1
    assert [len(each["documents"]) for each in made["packages"]] == list(sizes)
    links = [each["links"] for each in made["packages"]]
    assert [len(each) for each in links] == [max(size - 1, 0) for size in sizes]
    assert all(link["href"] == f'x"\n{link["child"]}' for each in links for link in each)
