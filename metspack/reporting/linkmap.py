"""Map of the links between parents and children: boxes and arrows, which a template draws as SVG."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from rich.cells import cell_len

from metspack.checking.links.graph import LinkState, Node
from metspack.reporting.model import Relation, printable, word
from metspack.sizes import counted

_BOX = 360
_HEIGHT = 46
_ROW = 62
_GAP = 130
_MARGIN = 8
_DOWN, _UP = 44, 78  # where the trunks of both directions run, from the right side of the parent's box
_OFFSET = 9  # of each arrow from the middle of a box
MOST = 46
"""Children that are drawn one by one; of more, those at fault, and a box for all others."""

_LABEL, _NOTE = 32, 42  # columns that a box is wide enough for

_Key = tuple[str, str]
_Corner = tuple[int, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Box:
    """A METS in the map: its upper left corner, two lines of text, its state (empty for the package's)."""

    x: int
    y: int
    label: str
    note: str
    title: str
    state: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Arrow:
    """One direction of a link, or the trunk that several share (no state, no title): a path and heads."""

    path: str
    heads: tuple[str, ...]
    is_missing: bool
    state: str = ""
    title: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Map:
    """The drawn links of packages; trunks lead from a parent's box to the start of its arrows."""

    width: int
    height: int
    box: tuple[int, int]
    boxes: tuple[Box, ...]
    trunks: tuple[Arrow, ...]
    arrows: tuple[Arrow, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class _MapEntry:
    """A METS of the map without its place yet: its key, its texts, and the link from above."""

    key: _Key
    label: str
    note: str
    title: str
    state: str = ""
    link: LinkState = LinkState.UNKNOWN
    names_child: bool = True
    names_parent: bool = True


def link_map(
    tops: Iterable[Node],
    children: Iterable[Relation],
    parents: Iterable[Relation] = (),
    representations: Iterable[Relation] = (),
) -> Map:
    """Return the map of the links: what has no parent on the left, each level below it further right.

    Representations are parts of the packages that name them, and are counted there.
    """
    held = Counter(each.parent.path for each in representations)
    spots = {each.path: _top(each, held[each.path]) for each in tops} or {
        "": _top(Node(id=0, path="", objid=""))
    }
    above: dict[_Key, _MapEntry] = {}
    below: dict[_Key, list[_MapEntry]] = {}
    for relation in parents:
        outside = _outside(relation)
        above[outside.key] = outside
        top = spots.pop(relation.child.path, None) or _top(relation.child)
        # Of a parent that was found, nothing but what it says of the child is known.
        is_named = relation.state is LinkState.ELSEWHERE
        below.setdefault(outside.key, []).append(replace(top, link=relation.state, names_child=is_named))
    first = [*above.values(), *spots.values()]
    known = {spot.key for row in (first, *below.values()) for spot in row}
    drawn, left = _chosen(children)
    found = [(_child(each), (each.parent.path, "")) for each in drawn]
    found += [(each, first[0].key) for each in left]
    known |= {spot.key for spot, _ in found}
    for spot, key in found:
        below.setdefault(key if key in known else first[0].key, []).append(spot)
    return _drawn(first, below)


def _chosen(children: Iterable[Relation]) -> tuple[list[Relation], list[_MapEntry]]:
    """Return the children that are drawn, those at fault first, and one box each for the others by kind."""
    ordered = sorted(children, key=lambda each: not each.is_fault)
    if len(ordered) <= MOST:
        return ordered, []
    drawn = [each for each in ordered if each.is_fault][: MOST - 2]
    left = ordered[len(drawn) :]
    faults = [each for each in left if each.is_fault]
    fine = left[len(faults) :]
    together = [_together(faults, "more child at fault", "more children at fault")] if faults else []
    together += [_together(fine, "child without a fault", "children without a fault")] if fine else []
    return drawn, together


def _together(relations: Sequence[Relation], one: str, several: str) -> _MapEntry:
    """Return the box of children that are not drawn one by one; it has the links that all of them have."""
    label = counted(len(relations), one, several)
    state = LinkState.BROKEN if relations[0].is_fault else LinkState.OK
    return _MapEntry(
        key=("", label),
        label=label,
        note="not drawn one by one",
        title=label,
        state=state.value,
        link=state,
        names_child=all(each.names_child for each in relations),
        names_parent=all(each.names_parent for each in relations),
    )


def _drawn(tops: Sequence[_MapEntry], below: dict[_Key, list[_MapEntry]]) -> Map:
    boxes: list[Box] = []
    branches: dict[_Corner, list[tuple[_Corner, _MapEntry]]] = {}
    row = 0
    for top in tops:
        ahead: list[tuple[_MapEntry, _Corner | None]] = [(top, None)]
        while ahead:
            place, parent = ahead.pop()
            left = _MARGIN if parent is None else parent[0] + _BOX + _GAP
            here = (left, _MARGIN + row * _ROW)
            boxes.append(_box(here, place))
            if parent is not None:
                branches.setdefault(parent, []).append((here, place))
            # Taken out, so that a circle ends.
            inner = below.pop(place.key, [])
            ahead += [(each, here) for each in reversed(inner)]
            row += not inner
    arrows = (arrow for parent, ends in branches.items() for end in ends for arrow in _arrows(parent, *end))
    trunks = (trunk for parent, ends in branches.items() for trunk in _trunks(parent, ends))
    return Map(
        width=max(each.x for each in boxes) + _BOX + _MARGIN,
        height=max(each.y for each in boxes) + _HEIGHT + _MARGIN,
        box=(_BOX, _HEIGHT),
        boxes=tuple(boxes),
        trunks=tuple(trunks),
        arrows=tuple(arrows),
    )


def _box(corner: _Corner, place: _MapEntry) -> Box:
    return Box(
        x=corner[0],
        y=corner[1],
        label=shortened(place.label),
        note=shortened(place.note, _NOTE),
        title=place.title,
        state=place.state,
    )


def _top(top: Node, representations: int = 0) -> _MapEntry:
    label = top.path or "no METS"
    held = f", {counted(representations, 'representation')}" if representations else ""
    return _MapEntry(
        key=(top.path, ""),
        label=label,
        note=f"{shortened(top.objid or 'no OBJID', _NOTE - len(held))}{held}",
        title=f"{label}{held}",
    )


def _outside(relation: Relation) -> _MapEntry:
    said = {LinkState.UNKNOWN: "not looked at", LinkState.ELSEWHERE: "under another root"}
    objid, note = relation.parent.objid, f"parent, {said.get(relation.state, 'outside of this package')}"
    return _MapEntry(
        key=("", objid), label=objid, note=note, title=f"{objid}: {note}", state=word(LinkState.UNKNOWN)
    )


def _child(relation: Relation) -> _MapEntry:
    child = relation.child
    return _MapEntry(
        # Nothing can be below what nobody knows a METS of.
        key=(child.path, "") if child.path else (child.objid, relation.parent.path),
        label=relation.name,
        note=_note(relation),
        title=_title(relation),
        state=f"{relation.word} damaged" if relation.damage.words else relation.word,
        link=relation.state,
        names_child=relation.names_child,
        names_parent=relation.names_parent,
    )


def _note(relation: Relation) -> str:
    child = relation.child
    if child.found:
        return f"{relation.word}, {child.found}"
    if relation.damage.words:
        return relation.said
    if relation.files:
        return f"{relation.words}, {counted(relation.files, 'file')}, {counted(relation.bytes, 'byte')}"
    return f"{relation.words}, {child.objid}" if child.path and child.objid else relation.words


def _title(relation: Relation) -> str:
    child = relation.child
    place = child.found or child.path
    where = f" at {place}" if place else ""
    ways = {
        (True, True): "both name each other",
        (True, False): "it does not name its parent",
        (False, True): "its parent does not name it",
        (False, False): "neither names the other",
    }
    is_there = child.path and relation.state is not LinkState.MISSING
    said = f"; {ways[relation.names_child, relation.names_parent]}" if is_there else ""
    return f"{child.objid or 'a METS without OBJID'}{where}: {relation.said}{said}"


def _trunks(parent: _Corner, ends: Sequence[tuple[_Corner, _MapEntry]]) -> Iterator[Arrow]:
    """Yield the lines that a parent's arrows share: as far as there are links, and dashed from there on."""
    right, middle = parent[0] + _BOX, parent[1] + _HEIGHT // 2
    down, up = middle - _OFFSET, middle + _OFFSET
    head = f"{right},{up} {right + 9},{up - 5} {right + 9},{up + 5}"
    tops = [(corner[1] - parent[1], place) for corner, place in ends]
    yield from _trunk(
        f"M{right} {down}", right + _DOWN, down, [(y, place.names_child) for y, place in tops], ()
    )
    yield from _trunk(
        f"M{right + 7} {up}", right + _UP, up, [(y, place.names_parent) for y, place in tops], (head,)
    )


def _trunk(
    start: str, x: int, y: int, ends: Sequence[tuple[int, bool]], heads: tuple[str, ...]
) -> Iterator[Arrow]:
    """Yield a direction's trunk down to its last end, given how far below each is and whether it is there."""
    solid = max((far for far, is_there in ends if is_there), default=None)
    dashed = max(far for far, _ in ends)
    if solid is not None:
        yield Arrow(path=f"{start}H{x}V{y + solid}", heads=heads, is_missing=False)
        start, heads = f"M{x} {y + solid}", ()
    if solid is None or dashed > solid:
        yield Arrow(path=f"{start}H{x}V{y + dashed}", heads=heads, is_missing=True)


def _arrows(parent: _Corner, child: _Corner, place: _MapEntry) -> Iterator[Arrow]:
    left, middle = child[0], child[1] + _HEIGHT // 2
    down, up = middle - _OFFSET, middle + _OFFSET
    state = word(place.link)
    missing = "nobody looked whether" if place.link is LinkState.UNKNOWN else "it is not so that"
    yield Arrow(
        path=f"M{parent[0] + _BOX + _DOWN} {down}H{left - 7}",
        heads=(f"{left},{down} {left - 9},{down - 5} {left - 9},{down + 5}",),
        is_missing=not place.names_child,
        state=state,
        title=f"{'' if place.names_child else f'{missing} '}the parent names the child",
    )
    turn = parent[0] + _BOX + _UP
    yield Arrow(
        path=f"M{left} {up}H{turn + 7}",
        heads=(f"{turn},{up} {turn + 9},{up - 5} {turn + 9},{up + 5}",),
        is_missing=not place.names_parent,
        state=state,
        title=f"{'' if place.names_parent else f'{missing} '}the child names the parent",
    )


def shortened(text: str, longest: int = _LABEL) -> str:
    """Return text of at most ``longest`` columns, its middle left out: ends tell names apart.

    Characters that do not print are shown as codes; East Asian ones are two columns wide.
    """
    text = printable(text)
    if cell_len(text) <= longest:
        return text
    start = _fitting(text, (longest - 1) // 2)
    return f"{start}…{_fitting(text[::-1], longest - 1 - cell_len(start))[::-1]}"


def _fitting(text: str, longest: int) -> str:
    used = 0
    for number, each in enumerate(text):
        used += cell_len(each)
        if used > longest:
            return text[:number]
    return text
