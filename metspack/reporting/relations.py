"""The graph of a package's links as parents and children, the way reports show them."""

from __future__ import annotations

from collections.abc import Iterator

from metspack.checking.graph import Edge, Graph
from metspack.checking.graph import State as Linked
from metspack.reporting.model import Child, Parent, State, Top

_STATES = {
    Linked.OK: State.OK,
    Linked.ELSEWHERE: State.ELSEWHERE,
    Linked.ONE_WAY_DOWN: State.ONE_WAY,
    Linked.ONE_WAY_UP: State.ONE_WAY,
    Linked.BROKEN: State.BROKEN,
    Linked.MISSING: State.MISSING,
    Linked.UNKNOWN: State.UNKNOWN,
}
_UP = {Linked.OK, Linked.ELSEWHERE, Linked.ONE_WAY_UP}


def top(graph: Graph, above: str = "") -> Top | None:
    """Return the package's own METS, None when it has none; ``above`` is put before its path."""
    return next((Top(objid=each.objid, mets=above + each.path) for each in graph.nodes if each.path), None)


def parents(graph: Graph, above: str = "") -> Iterator[Parent]:
    """Yield the parents of the package's own METS, which are no part of the package."""
    nodes = {node.id: node for node in graph.nodes}
    first = _first(graph)
    for edge in graph.edges:
        if edge.child == first and not nodes[edge.parent].path:
            yield Parent(
                objid=nodes[edge.parent].objid,
                child=above + nodes[edge.child].path,
                state=_STATES[edge.state],
            )


def children(graph: Graph, above: str = "") -> Iterator[tuple[Edge | None, Child]]:
    """Yield the children with the links to them, None for one that no METS of the package is linked with.

    They say what the graph alone knows: nothing of files and bytes.
    """
    nodes = {node.id: node for node in graph.nodes}
    first = _first(graph)
    named = {first}
    for edge in graph.edges:
        # A METS that is its own child, or the package's own as somebody's: neither is one.
        if nodes[edge.parent].path and edge.child != first:
            named.add(edge.child)
            node = nodes[edge.child]
            yield (
                edge,
                Child(
                    objid=node.objid,
                    mets=above + node.path if node.path else "",
                    parent=above + nodes[edge.parent].path,
                    state=_STATES[edge.state],
                    down=edge.state is not Linked.ONE_WAY_UP,
                    up=edge.state in _UP,
                    found=node.found,
                    codes=edge.codes if edge.is_fault else (),
                ),
            )
    for node in graph.nodes:
        if node.path and node.id not in named:
            extra = Child(
                objid=node.objid,
                mets=above + node.path,
                parent=above + nodes[first].path,
                state=State.EXTRA,
                down=False,
                up=False,
                found=node.found,
            )
            yield None, extra


def _first(graph: Graph) -> int:
    """Return the number of the package's own METS."""
    return next((node.id for node in graph.nodes if node.path), 0)
