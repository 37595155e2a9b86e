"""Drawings of packages' links: a tree, a table, data for JSON, a Mermaid flowchart and an SVG picture.

Each form has the same order on every machine: that of the METS documents.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Any

from metspack.checking.links.graph import Edge, Graph, LinkState, Node
from metspack.reporting.model import children, parents, printable, representations
from metspack.resources import json_head
from metspack.sizes import counted
from metspack.values import dataclass, regex

HEADER = ("state", "parent", "child", "lies in", "codes")
_COLOUR = regex(r"--([\w-]+): (#[0-9a-f]{6})")
_USE = regex(r"var\(--([\w-]+)\)")
_AT_ONCE = 500  # nodes or links that are held as text
_REPRESENTATION = "representation"
_SIGNS = {"<": "#lt;", ">": "#gt;", '"': "#quot;", "#": "#35;", "&": "#amp;", "`": "#96;"}


def name(node: Node) -> str:
    """Return the name of a package: its OBJID, else the path of its METS."""
    return printable(node.objid or node.path or "(no OBJID)")


def place(node: Node) -> str:
    """Return the path of a package's METS, empty if it is not known."""
    return printable(node.found or node.path)


class _LinkTree:
    """The nodes of a graph, depth first; below a node that was met before nothing is repeated."""

    def __init__(self, graph: Graph) -> None:
        self.nodes = {node.id: node for node in graph.nodes}
        self._down: dict[int, list[Edge]] = {}
        for edge in graph.edges:
            self._down.setdefault(edge.parent, []).append(edge)
        named = {edge.child for edge in graph.edges if edge.parent != edge.child}
        above = [edge.parent for edge in graph.edges if not self.nodes[edge.parent].is_there]
        first = [*above, *(node.id for node in graph.nodes if node.id not in named)]
        self._tops = list(dict.fromkeys((*first, *self.nodes)))

    def walked(self) -> Iterator[tuple[int, Edge | None, Node, bool]]:
        """Yield depth, link from above (None at a top), node, and whether it is the last below its parent."""
        seen: set[int] = set()
        for top in self._tops:
            if top in seen:
                continue
            ahead: list[tuple[int, Edge | None, int, bool]] = [(0, None, top, True)]
            while ahead:
                depth, edge, number, last = ahead.pop()
                yield depth, edge, self.nodes[number], last
                if number in seen:
                    continue
                seen.add(number)
                below = self._down.get(number, [])
                ahead += [(depth + 1, each, each.child, each is below[-1]) for each in reversed(below)]


def tree(graph: Graph) -> Iterator[str]:
    """Yield the lines of a tree: each package's state, OBJID and place, children below their parent."""
    bars: list[str] = []
    for depth, edge, node, last in _LinkTree(graph).walked():
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
    """Return with what further rows of a line of a tree begin: the bars that go on, and an indent."""
    bars = line[: len(line) - len(line.lstrip("│├└─ "))]
    return f"{bars.replace('├── ', '│   ').replace('└── ', '    ')}    "


def summary(graph: Graph) -> Iterator[str]:
    """Yield how many links are in which state, then those at fault, in the order of the documents."""
    nodes = {node.id: node for node in graph.nodes}
    counts = Counter(_words(edge, nodes[edge.child]) for edge in graph.edges)
    said = ", ".join(f"{count:,} {words}" for words, count in sorted(counts.items()))
    yield f"{printable(graph.path)}: {counted(len(graph.edges), 'link')}{f': {said}' if said else ''}"
    for edge in graph.edges:
        if edge.is_fault:
            child = nodes[edge.child]
            yield f"  {_words(edge, child)}: {name(child)}  [{', '.join(edge.codes)}]"


def rows(graph: Graph) -> Iterator[tuple[str, str, str, str, str]]:
    """Yield the rows of a table under ``HEADER``, one for each link."""
    nodes = {node.id: node for node in graph.nodes}
    for edge in graph.edges:
        child = nodes[edge.child]
        codes = " ".join(edge.codes)
        yield _words(edge, child), name(nodes[edge.parent]), name(child), place(child), codes


def _words(edge: Edge, child: Node) -> str:
    return f"{_REPRESENTATION}, {edge.state.value}" if child.is_part else edge.state.value


def document(graphs: Iterable[Graph]) -> dict[str, Any]:
    """Return the graphs as the object for JSON."""
    return {"packages": [{name: _held(each) for name, each in _package(graph).items()} for graph in graphs]}


def _held(value: object) -> object:
    return [*value] if isinstance(value, Iterator) else value


def lines(graphs: Iterable[Graph]) -> Iterator[str]:
    """Yield the same as text, a few hundred links at a time, so that not all are held as text."""
    head = json.dumps(json_head(), indent=2).removesuffix("\n}")
    before = f'{head},\n  "packages": ['
    for package in map(_package, graphs):
        yield f"{before}\n    {{"
        for number, (name, each) in enumerate(package.items()):
            yield f"{',' if number else ''}\n      {json.dumps(name)}: "
            yield from _array(each, "\n      ") if isinstance(each, Iterator) else (json.dumps(each),)
        yield "\n    }"
        before = ","
    yield "\n  ]\n}\n" if before == "," else f"{before}]\n}}\n"


def _array(elements: Iterator[object], before: str) -> Iterator[str]:
    opening = "["
    while some := [*islice(elements, _AT_ONCE)]:
        yield opening + json.dumps(some, indent=2)[1:-2].replace("\n", before)
        opening = ","
    yield "[]" if opening == "[" else f"{before}]"


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


def mermaid(graphs: Sequence[Graph]) -> Iterator[str]:
    """Yield the lines of a Mermaid flowchart: arrows both ways where a link goes both, dotted if missing."""
    yield "flowchart TD"
    for number, graph in enumerate(graphs):
        for node in graph.nodes:
            yield f'  p{number}n{node.id}["{_quoted(name(node))}<br/>{_quoted(place(node))}"]'
        nodes = {node.id: node for node in graph.nodes}
        for edge in graph.edges:
            start, end = f"p{number}n{edge.parent}", f"p{number}n{edge.child}"
            yield f"  {start} {_arrow(edge)}|{_words(edge, nodes[edge.child])}| {end}"
    yield from (f"  %% {printable(graph.path)}: {'broken' if graph.is_broken else 'ok'}" for graph in graphs)


def _arrow(edge: Edge) -> str:
    if edge.state is LinkState.ONE_WAY_UP:
        return "x--o"
    if edge.state in {LinkState.OK, LinkState.ELSEWHERE}:
        return "<-->" if edge.names_parent else "-->"
    return "-->" if edge.state is LinkState.ONE_WAY_DOWN else "-.->"


def _quoted(text: str) -> str:
    return "".join(_SIGNS.get(each, each) for each in text)


def svg(graphs: Sequence[Graph]) -> Iterator[str]:
    """Yield the map of the HTML report as a document, all packages below each other.

    It is light whatever the screen is, for it is to stand in other documents.
    """
    from metspack.reporting.html import environment  # noqa: PLC0415
    from metspack.reporting.linkmap import link_map  # noqa: PLC0415 -- the other forms need no templates

    links = sum(len(graph.edges) for graph in graphs)
    faults = sum(edge.is_fault for graph in graphs for edge in graph.edges)
    templates = environment()
    # Few programs but browsers know variables, so that the style sheet gets the colours for them.
    light, _, _ = templates.get_template("colours.css").render().partition("@media")
    colours = dict(_COLOUR.findall(light))
    style = _USE.sub(lambda found: colours[found[1]], templates.get_template("map.css").render())
    yield templates.get_template("links.svg.j2").render(
        map=link_map(
            (graph.top for graph in graphs if graph.top is not None),
            (each for graph in graphs for each in children(graph)),
            (each for graph in graphs for each in parents(graph)),
            (each for graph in graphs for each in representations(graph)),
        ),
        style=style,
        title=f"Links of {', '.join(graph.path for graph in graphs)}",
        description=f"{counted(links, 'link')}, {faults:,} of them at fault.",
    )


@dataclass(frozen=True, kw_only=True)
class LinkReport:
    """The links of packages: a graph of each, and how many errors were found in them."""

    graphs: tuple[Graph, ...]
    errors: int

    @property
    def ok(self) -> bool:
        """Whether every link leads where it should, in both directions."""
        return not self.errors and not any(each.is_broken for each in self.graphs)

    def to_json(self) -> dict[str, Any]:
        """Return the links as data for JSON, as ``metspack links --json`` prints them."""
        return json_head() | document(self.graphs)
