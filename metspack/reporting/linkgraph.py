"""The links of packages as a tree and as JSON.

Each form has the same order on every machine: that of the METS documents.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from metspack.checking import Level, check
from metspack.checking.links.graph import Edge, Graph, Node
from metspack.limits import Budgets
from metspack.reporting import jsontext
from metspack.reporting.model import printable
from metspack.resources import json_head
from metspack.sizes import counted

_REPRESENTATION = "representation"


def name(node: Node) -> str:
    """Return the name of a package: its OBJID, else the path of its METS."""
    return printable(node.objid or node.path or "(no OBJID)")


def place(node: Node) -> str:
    """Return the path of a package's METS, empty without one."""
    return printable(node.found or node.path)


def _depth_first(graph: Graph) -> Iterator[tuple[int, Edge | None, Node, bool]]:
    """Yield depth, link from the parent (None at a top), node, and whether it is the last child.

    The children of a node are yielded at its first occurrence only.
    """
    nodes = {node.id: node for node in graph.nodes}
    down: dict[int, list[Edge]] = {}
    for edge in graph.edges:
        down.setdefault(edge.parent, []).append(edge)
    named = {edge.child for edge in graph.edges if edge.parent != edge.child}
    above = [edge.parent for edge in graph.edges if not nodes[edge.parent].is_there]
    first = [*above, *(node.id for node in graph.nodes if node.id not in named)]
    seen: set[int] = set()
    for top in dict.fromkeys((*first, *nodes)):
        ahead: list[tuple[int, Edge | None, int, bool]] = [] if top in seen else [(0, None, top, True)]
        while ahead:
            depth, link, number, last = ahead.pop()
            yield depth, link, nodes[number], last
            if number not in seen:
                seen.add(number)
                below = down.get(number, [])
                ahead += [(depth + 1, each, each.child, each is below[-1]) for each in reversed(below)]


def tree(graph: Graph) -> Iterator[str]:
    """Yield the lines of a tree: each package's state, OBJID and place, children below their parent."""
    bars: list[str] = []
    for depth, edge, node, last in _depth_first(graph):
        del bars[max(depth - 1, 0) :]
        where = f"  {place(node)}" if place(node) not in {"", name(node)} else ""
        if edge is None:
            yield f"{name(node)}{where}{'' if node.is_there or node.found else '  (not looked at)'}"
            continue
        branch = "└── " if last else "├── "
        codes = f"  [{', '.join(edge.codes)}]" if edge.codes and edge.is_fault else ""
        yield f"{''.join(bars)}{branch}{_words(edge, node)}: {name(node)}{where}{codes}"
        bars.append("    " if last else "│   ")


def hanging(line: str) -> str:
    """Return the beginning of the further rows of a wrapped line: its bars, and an indent."""
    bars = line[: len(line) - len(line.lstrip("│├└─ "))]
    return f"{bars.replace('├── ', '│   ').replace('└── ', '    ')}    "


def summary(graph: Graph) -> Iterator[str]:
    """Yield the numbers of links by state, then those at fault, in the order of the documents."""
    nodes = {node.id: node for node in graph.nodes}
    counts = Counter(_words(edge, nodes[edge.child]) for edge in graph.edges)
    words = ", ".join(f"{count:,} {words}" for words, count in sorted(counts.items()))
    yield f"{printable(graph.path)}: {counted(len(graph.edges), 'link')}{f': {words}' if words else ''}"
    for edge in graph.edges:
        if edge.is_fault:
            child = nodes[edge.child]
            yield f"  {_words(edge, child)}: {name(child)}  [{', '.join(edge.codes)}]"


def _words(edge: Edge, child: Node) -> str:
    return f"{_REPRESENTATION}, {edge.state.value}" if child.is_part else edge.state.value


def lines(graphs: Iterable[Graph]) -> Iterator[str]:
    """Yield the graphs as one JSON object, link by link, so that memory stays flat."""
    yield from jsontext.pieces(json_head() | {"packages": map(_package, graphs)})
    yield "\n"


def _package(graph: Graph) -> dict[str, object]:
    nodes = {node.id: node for node in graph.nodes}
    return {
        "path": graph.path,
        "broken": graph.is_broken,
        "documents": (
            {
                "number": node.id,
                "objid": node.objid or None,
                "path": node.path or None,
                "found": node.found or None,
                "there": node.is_there,
            }
            for node in graph.nodes
        ),
        "links": (
            {
                "parent": edge.parent,
                "child": edge.child,
                "kind": _REPRESENTATION if nodes[edge.child].is_part else "child",
                "href": edge.href,
                "line": edge.line or None,
                "state": edge.state.value,
                "fault": edge.is_fault,
                "codes": list(edge.codes),
            }
            for edge in graph.edges
        ),
    }


@dataclass(frozen=True, kw_only=True)
class LinkReport:
    """The links of packages: a graph of each, and the number of errors found in them."""

    graphs: tuple[Graph, ...]
    errors: int

    @property
    def ok(self) -> bool:
        """True if every link leads to its target, in both directions."""
        return not self.errors and not any(each.is_broken for each in self.graphs)

    @classmethod
    def of(cls, paths: Sequence[Path], roots: Sequence[Path] = (), budgets: Budgets | None = None) -> Self:
        """Return the links of packages; raises as ``check`` does."""
        run = check(paths, Level.LINKS, roots=roots, budgets=budgets)
        for _ in run:
            pass
        return cls(graphs=tuple(run.graphs), errors=run.summary.errors)

    def to_json(self) -> dict[str, Any]:
        """Return the links as data for JSON, as ``metspack links --json`` prints them."""
        parsed: dict[str, Any] = json.loads("".join(lines(self.graphs)))
        return parsed
