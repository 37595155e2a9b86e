"""The graph of a package's links, from what a check has seen: who names whom, both ways, and how it is."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, unique

from metspack.checking.catalogue import Catalogue, shown
from metspack.checking.codes import Code
from metspack.mets.links import bare

_BROKEN = {
    Code.CHILD_OBJID_DIFFERS.id,
    Code.CHILDREN_SWAPPED.id,
    Code.OTHER_PARENT.id,
    Code.STYLES_DISAGREE.id,
    Code.CHILD_DIGEST_STALE.id,
    Code.CHILD_SIZE_STALE.id,
    Code.SELF_LINK.id,
    Code.NO_OBJID.id,
}
_SILENT = {Code.NO_PARENT.id, Code.CHILD_SILENT.id}
_EDGES = """
SELECT m.parent, m.id, e.href, e.line, e.state, e.code, m.called FROM mets m
LEFT JOIN edge e ON e.id = (SELECT min(id) FROM edge WHERE parent = m.parent AND child = m.id)
WHERE m.parent IS NOT NULL
UNION ALL
SELECT e.parent, e.child, e.href, e.line, e.state, e.code, NULL FROM edge e
WHERE e.child IS NULL OR NOT EXISTS (SELECT 1 FROM mets m WHERE m.id = e.child AND m.parent = e.parent)
"""
_ABOVE = "SELECT href, line FROM mptr WHERE mets = ? AND up AND NOT url ORDER BY id"


@unique
class State(Enum):
    """How a link is. ``ELSEWHERE`` is right both ways, but the child lies elsewhere than the parent says."""

    OK = "ok"
    ELSEWHERE = "elsewhere"
    ONE_WAY_DOWN = "one-way, parent to child"
    ONE_WAY_UP = "one-way, child to parent"
    BROKEN = "broken"
    MISSING = "missing"
    UNKNOWN = "not looked at"


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """A package by its METS: its number in the graph, its METS's path, its OBJID, and where it was found.

    ``path`` is from the package's root, empty for one that was not found anywhere; ``found`` is empty for
    one that lies where it should.
    """

    id: int
    path: str
    objid: str
    found: str = ""
    is_there: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Edge:
    """A link from a parent to a child: their nodes, what it is called by, its line in the parent's METS.

    ``codes`` are those of the findings that make it what it is.
    """

    parent: int
    child: int
    href: str
    line: int
    state: State
    codes: tuple[str, ...] = ()

    @property
    def is_fault(self) -> bool:
        """Whether the package is not whole because of it; E-ARK's AIP needs no link from the child."""
        silent = self.state is State.ONE_WAY_DOWN and Code.NO_PARENT.id in self.codes
        return silent or self.state in {State.ONE_WAY_UP, State.BROKEN, State.MISSING}


@dataclass(frozen=True, slots=True, kw_only=True)
class Graph:
    """The links of one package: nodes and edges in the order of the documents, the top first."""

    path: str
    nodes: tuple[Node, ...]
    edges: tuple[Edge, ...]

    @property
    def is_broken(self) -> bool:
        """Whether any link is at fault."""
        return any(edge.is_fault for edge in self.edges)


class _Builder:
    """Nodes and edges as they are read from the catalogue."""

    def __init__(self, catalogue: Catalogue) -> None:
        self._catalogue = catalogue
        self.nodes: dict[int, Node] = {}
        self.edges: list[Edge] = []
        self._nowhere: dict[str, int] = {}

    def documents(self) -> None:
        sql = "SELECT id, path, objid, found, size, called FROM mets ORDER BY id"
        for number, path, objid, found, size, called in self._catalogue.rows(sql):
            self.nodes[number] = Node(
                id=number,
                path=shown(path),
                objid=objid or called or "",
                found=found or "",
                is_there=size is not None,
            )

    def nowhere(self, objid: str) -> int:
        """Return the node of a package that is known by its OBJID alone."""
        number = self._nowhere.setdefault(bare(objid), len(self.nodes) + 1)
        self.nodes.setdefault(number, Node(id=number, path="", objid=objid, is_there=False))
        return number

    def links(self) -> None:
        for parent, child, href, line, state, code, called in list(self._catalogue.rows(_EDGES)):
            number = self.nowhere(href) if child is None else child
            codes = self._codes(self.nodes[number].path)
            self.edges.append(
                Edge(
                    parent=parent,
                    child=number,
                    href=href or called or "",
                    line=line or 0,
                    state=self._state(state, linked=href is not None, node=self.nodes[number], codes=codes),
                    codes=tuple(sorted({*codes, *([code] if code else ())})),
                )
            )

    @staticmethod
    def _state(state: str | None, *, linked: bool, node: Node, codes: tuple[str, ...]) -> State:
        if state is not None:
            return State(state)
        if not node.is_there:
            return State.MISSING
        if any(code in _BROKEN or code[0] == "X" for code in codes):
            return State.BROKEN
        if not linked:
            return State.ONE_WAY_UP
        if not _SILENT.isdisjoint(codes):
            return State.ONE_WAY_DOWN
        return State.ELSEWHERE if node.found else State.OK

    def _codes(self, path: str) -> tuple[str, ...]:
        if not path:
            return ()
        sql = "SELECT code FROM fault WHERE path = ? ORDER BY code"
        return tuple(code for (code,) in self._catalogue.rows(sql, path))

    def upward(self) -> None:
        """Take in the parents of what no METS of the package names: the top's own, and those of orphans."""
        sql = "SELECT id, objid FROM mets WHERE parent IS NULL ORDER BY id"
        tops = list(self._catalogue.rows(sql))
        owners = {bare(objid): number for number, objid in reversed(tops) if objid}
        linked = {(each.parent, each.child) for each in self.edges}
        for number, _objid in tops:
            for href, line in list(self._catalogue.rows(_ABOVE, number)):
                owner = owners.get(bare(href))
                if owner == number:
                    continue
                parent = self.nowhere(href) if owner is None else owner
                state = State.ONE_WAY_UP if owner is not None else self._above(number)
                edge = Edge(parent=parent, child=number, href=href, line=line, state=state)
                if (parent, number) not in linked:
                    linked.add((parent, number))
                    self.edges.append(edge)

    def _above(self, number: int) -> State:
        codes = self._codes(self.nodes[number].path)
        if Code.NOT_NAMED_BY_PARENT.id in codes:
            return State.ONE_WAY_UP
        if Code.PARENT_NOWHERE.id in codes or Code.PARENT_NOT_HERE.id in codes:
            return State.UNKNOWN
        return State.ELSEWHERE


def graph(catalogue: Catalogue, path: str) -> Graph:
    """Return the links of the package that a catalogue is of."""
    builder = _Builder(catalogue)
    builder.documents()
    builder.links()
    builder.upward()
    return Graph(path=path, nodes=tuple(builder.nodes.values()), edges=tuple(builder.edges))
