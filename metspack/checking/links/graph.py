"""Graph of a package's links: METS documents, links from parents to children, their states."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import Enum, unique

from metspack.checking.catalogue import Catalogue
from metspack.checking.codes import Code
from metspack.files.paths import shown
from metspack.mets.links import bare

_BROKEN = {
    Code.CHILD_OBJID_DIFFERS.id,
    Code.CHILDREN_SWAPPED.id,
    Code.CHILDREN_EXCHANGED.id,
    Code.OTHER_PARENT.id,
    Code.STYLES_DISAGREE.id,
    Code.CHILD_DIGEST_STALE.id,
    Code.CHILD_SIZE_STALE.id,
    Code.SELF_LINK.id,
    Code.NO_OBJID.id,
}
_SILENT = {Code.NO_PARENT.id, Code.CHILD_SILENT.id}
_ANCESTOR = Code.ANCESTOR_SILENT.id
_UNNAMED = {Code.NOT_NAMED_BY_PARENT.id, _ANCESTOR}
_EDGES = """
SELECT m.parent, m.id, e.href, e.line, e.state, e.code, m.called FROM mets m
LEFT JOIN edge e ON e.id = (
    SELECT min(id) FROM edge WHERE parent = m.parent AND child = m.id AND map IS NOT NULL)
WHERE m.parent IS NOT NULL
UNION ALL
SELECT e.parent, e.child, e.href, e.line, e.state, e.code, NULL FROM edge e
WHERE e.child IS NULL OR NOT EXISTS (SELECT 1 FROM mets m WHERE m.id = e.child AND m.parent = e.parent)
"""
_ABOVE = """
SELECT mets, href, line FROM mptr WHERE up AND NOT url AND mets IN (SELECT id FROM mets WHERE parent IS NULL)
ORDER BY mets, id
"""


@unique
class LinkState(Enum):
    """The state of the link between a parent and a child, by the METS documents."""

    OK = "ok"
    """Parent and child name each other, or a representation is in its place."""
    ELSEWHERE = "elsewhere"
    """As ok, but the child is found by its OBJID and not at the parent's location."""
    ONE_WAY_DOWN = "one-way, parent to child"
    ONE_WAY_UP = "one-way, child to parent"
    BROKEN = "broken"
    """The link leads nowhere, to a METS that cannot be read, or to one with another OBJID."""
    MISSING = "missing"
    """The parent states the child's location, which does not exist."""
    EXTRA = "extra"
    """A child that exists, but that no METS of the package lists; a graph has no such link."""
    UNKNOWN = "not looked at"
    """The parent is neither in the package nor under a root: only the child's link was read."""


_UPWARD = {LinkState.OK, LinkState.ELSEWHERE, LinkState.ONE_WAY_UP}


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """A package by its METS: its number in the graph, its path, its OBJID and its true place.

    ``path`` is the METS's from the package's root, empty for a package that was not found; ``found`` is empty
    for one at its place. ``is_listed`` is True when a METS of the package lists it, ``is_part`` when it is a
    representation's METS, which is a part of its package and no child.
    """

    id: int
    path: str
    objid: str
    found: str = ""
    is_there: bool = True
    is_listed: bool = False
    is_part: bool = False

    @property
    def folder(self) -> str:
        """Return the METS's folder without the last ``/``; empty at the root or without a path."""
        return self.path.rpartition("/")[0]


@dataclass(frozen=True, slots=True, kw_only=True)
class Edge:
    """A link from a parent to a child: their nodes, its href and its line in the parent's METS.

    ``codes`` are those of the findings that determine the state; ``names_parent`` is True when the child
    leads back to the parent, ``is_meant`` when the parent means the child by a name that leads nowhere.
    """

    parent: int
    child: int
    href: str
    line: int
    state: LinkState
    codes: tuple[str, ...] = ()
    names_parent: bool = False
    is_meant: bool = False

    @property
    def names_child(self) -> bool:
        """Return whether the parent leads to the child."""
        return self.state is not LinkState.ONE_WAY_UP and not self.is_meant

    @property
    def is_fault(self) -> bool:
        """Return whether the link is at fault.

        E-ARK AIP leaves the link from a child optional, RODA that from an ancestor.
        """
        if self.state is LinkState.ONE_WAY_DOWN:
            return Code.NO_PARENT.id in self.codes
        if self.state is LinkState.ONE_WAY_UP:
            return Code.ANCESTOR_SILENT.id not in self.codes
        return self.state in {LinkState.BROKEN, LinkState.MISSING}


@dataclass(frozen=True, slots=True, kw_only=True)
class Graph:
    """The links of one package: nodes and edges in the order of the documents, the top first."""

    path: str
    nodes: tuple[Node, ...]
    edges: tuple[Edge, ...]

    @property
    def is_broken(self) -> bool:
        """Return whether any link is at fault."""
        return any(edge.is_fault for edge in self.edges)

    @property
    def top(self) -> Node | None:
        """Return the package's METS, or None."""
        return next((node for node in self.nodes if node.path), None)

    def renamed(self, name: Callable[[str], str]) -> Graph:
        """Return the graph with each path replaced by ``name`` of it."""
        nodes = (replace(node, path=node.path and name(node.path)) for node in self.nodes)
        return replace(self, nodes=tuple(nodes))


class _Builder:
    """The builder of nodes and edges from the catalogue."""

    def __init__(self, catalogue: Catalogue) -> None:
        self._catalogue = catalogue
        self.nodes: dict[int, Node] = {}
        self.edges: list[Edge] = []
        self._unfound: dict[str, int] = {}
        self._ups: dict[int, tuple[bool, frozenset[str]]] = {}
        self._shared_codes: dict[tuple[str, ...], tuple[str, ...]] = {}

    def add_documents(self) -> None:
        sql = "SELECT id, path, objid, found, size, called, parent, package FROM mets ORDER BY id"
        for number, path, objid, found, size, called, parent, package in self._catalogue.rows(sql):
            self.nodes[number] = Node(
                id=number,
                path=shown(path),
                objid=objid or called or "",
                found=found or "",
                is_there=size is not None,
                is_listed=parent is not None,
                is_part=package is not None,
            )

    def unfound(self, objid: str) -> int:
        """Return the node number of a package with only an OBJID, adding the node if needed."""
        number = self._unfound.setdefault(bare(objid), len(self.nodes) + 1)
        if number not in self.nodes:
            found = self._catalogue.above.get(bare(objid), "")
            self.nodes[number] = Node(id=number, path="", objid=objid, found=found, is_there=False)
        return number

    def add_links(self) -> None:
        for parent, child, href, line, kept, code, called in self._catalogue.rows(_EDGES):
            node = self.nodes[self.unfound(href) if child is None else child]
            codes = self._codes(node.path)
            state = self._state(kept, linked=href is not None, node=node, codes=codes)
            codes = tuple(sorted({*codes, *([code] if code else ())}))
            # A graph may have a million links: equal texts and tuples are shared.
            self.edges.append(
                Edge(
                    parent=parent,
                    child=node.id,
                    href=node.path if href == node.path else href or called or "",
                    line=line or 0,
                    state=state,
                    codes=self._shared_codes.setdefault(codes, codes),
                    is_meant=child is not None and code == Code.MPTR_WITHOUT_FILE.id,
                    names_parent=not node.is_part and self._names_parent(parent, node.id, state),
                )
            )

    def _names_parent(self, parent: int, child: int, state: LinkState) -> bool:
        if state is not LinkState.BROKEN:
            return state in _UPWARD
        if child not in self._ups:  # read once, however many METS lead to the child
            ups = self._catalogue.all("SELECT href, url FROM mptr WHERE mets = ? AND up", child)
            self._ups[child] = any(url for _, url in ups), frozenset(bare(href) for href, _ in ups)
        by_location, names = self._ups[child]
        return by_location or bare(self.nodes[parent].objid) in names

    @staticmethod
    def _state(state: str | None, *, linked: bool, node: Node, codes: tuple[str, ...]) -> LinkState:
        if state is not None:
            return LinkState(state)
        if not node.is_there:
            return LinkState.MISSING
        if any(code in _BROKEN or code[0] == "X" for code in codes):
            return LinkState.BROKEN
        if not linked and not node.is_part:
            return LinkState.ONE_WAY_UP
        if not _SILENT.isdisjoint(codes):
            return LinkState.ONE_WAY_DOWN
        return LinkState.ELSEWHERE if node.found else LinkState.OK

    def _codes(self, path: str) -> tuple[str, ...]:
        if not path:
            return ()
        sql = "SELECT code FROM fault WHERE path = ? ORDER BY code"
        return tuple(code for (code,) in self._catalogue.rows(sql, path))

    def add_parents(self) -> None:
        """Add the parents of METS that no METS of the package names: of the top, and of orphans."""
        above = self._catalogue.all(_ABOVE)  # few: METS that others name have their edges
        if not above:
            return
        names, orphans = {bare(href) for _, href, _ in above}, {number for number, _, _ in above}
        packages = [each for each in self.nodes.values() if each.path and not each.is_part]
        named = [(key, each) for each in packages if (key := bare(each.objid)) in names and key]
        # An OBJID is unique only beside a parent: METS that no METS lists come first.
        named.sort(key=lambda each: each[1].is_listed)
        owners = {key: each.id for key, each in reversed(named)}
        linked = {(each.parent, each.child) for each in self.edges if each.child in orphans}
        for number, href, line in above:
            owner = owners.get(bare(href))
            if owner == number:
                continue
            if owner is None or self._catalogue.is_above(number, owner):
                owner = self.unfound(href)
            if (owner, number) not in linked:
                linked.add((owner, number))
                self.edges.append(self._upward(owner, number, href, line))

    def _upward(self, parent: int, child: int, href: str, line: int) -> Edge:
        codes = self._codes(self.nodes[child].path)
        state = self._above(self.nodes[parent], codes)
        return Edge(
            parent=parent,
            child=child,
            href=href,
            line=line,
            state=state,
            codes=tuple(each for each in codes if each == _ANCESTOR),
            names_parent=state in _UPWARD,
        )

    @staticmethod
    def _above(parent: Node, codes: tuple[str, ...]) -> LinkState:
        """Return the state of a link to a parent that does not lead to the child in this package."""
        if not parent.is_there and not parent.found:
            return LinkState.UNKNOWN
        is_silent = parent.is_there or not _UNNAMED.isdisjoint(codes)
        return LinkState.ONE_WAY_UP if is_silent else LinkState.ELSEWHERE


def graph(catalogue: Catalogue, path: str) -> Graph:
    """Return the graph of the links in a package's catalogue."""
    builder = _Builder(catalogue)
    builder.add_documents()
    builder.add_links()
    builder.add_parents()
    return Graph(path=path, nodes=tuple(builder.nodes.values()), edges=tuple(builder.edges))
