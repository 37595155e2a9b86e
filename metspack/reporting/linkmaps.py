"""The map of links as figures: where boxes and arrows stand. A template makes it SVG."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from rich.cells import cell_len

from metspack.reporting.findings import printable
from metspack.reporting.model import Child, Parent, State, Top
from metspack.sizes import counted

_BOX = 360
_HEIGHT = 46
_ROW = 62
_GAP = 130
_MARGIN = 8
_DOWN, _UP = 44, 78  # where the trunks of both directions run, from the right side of the parent's box
_OFFSET = 9  # of each arrow from the middle of a box
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
    """The links of packages, drawn; the trunks lead from a parent's box to where its arrows turn off."""

    width: int
    height: int
    box: tuple[int, int]
    boxes: tuple[Box, ...]
    trunks: tuple[Arrow, ...]
    arrows: tuple[Arrow, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Place:
    """A METS before it has its place: what leads to things below it, its texts, the link from above."""

    key: _Key
    label: str
    note: str
    title: str
    state: str
    link: State | None = None
    down: bool = True
    up: bool = True


def linked(tops: Sequence[Top], children: Iterable[Child], parents: Iterable[Parent] = ()) -> Map:
    """Return the map of the links: what has no parent on the left, each level below it further right."""
    places = {each.mets: _top(each) for each in tops or (Top(objid="", mets=""),)}
    above: dict[_Key, _Place] = {}
    below: dict[_Key, list[_Place]] = {}
    for parent in parents:
        key = ("", parent.objid)
        above[key] = _outside(key, parent)
        top = places.pop(parent.child, None) or _top(Top(objid="", mets=parent.child))
        below.setdefault(key, []).append(_under(top, parent))
    drawn = [*above.values(), *places.values()]
    known = {place.key for row in (drawn, *below.values()) for place in row}
    found = [(_child(each), (each.parent, "")) for each in children]
    known |= {place.key for place, _ in found}
    for place, key in found:
        below.setdefault(key if key in known else drawn[0].key, []).append(place)
    return _drawn(drawn, below)


def _drawn(tops: Sequence[_Place], below: dict[_Key, list[_Place]]) -> Map:
    boxes: list[Box] = []
    branches: dict[_Corner, list[tuple[_Corner, _Place]]] = {}
    row = 0
    for top in tops:
        ahead: list[tuple[_Place, _Corner | None]] = [(top, None)]
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


def _box(corner: _Corner, place: _Place) -> Box:
    return Box(
        x=corner[0],
        y=corner[1],
        label=shortened(place.label),
        note=shortened(place.note, _NOTE),
        title=place.title,
        state=place.state,
    )


def _top(top: Top) -> _Place:
    label = top.mets or "no METS"
    return _Place(key=(top.mets, ""), label=label, note=top.objid or "no OBJID", title=label, state="")


def _outside(key: _Key, parent: Parent) -> _Place:
    said = {State.UNKNOWN: "not looked at", State.ELSEWHERE: "under another root"}
    note = f"parent, {said.get(parent.state, 'outside of this package')}"
    return _Place(
        key=key, label=parent.objid, note=note, title=f"{parent.objid}: {note}", state=State.UNKNOWN.value
    )


def _under(top: _Place, parent: Parent) -> _Place:
    return _Place(
        key=top.key,
        label=top.label,
        note=top.note,
        title=top.title,
        state="",
        link=parent.state,
        down=parent.state is State.ELSEWHERE,
    )


def _child(child: Child) -> _Place:
    return _Place(
        # Nothing can be below what nobody knows a METS of.
        key=(child.mets, "") if child.mets else (child.objid, child.parent),
        label=child.folder or child.mets or child.objid,
        note=_note(child),
        title=_title(child),
        state=child.state.value,
        link=child.state,
        down=child.down,
        up=child.up,
    )


def _note(child: Child) -> str:
    if child.found:
        return f"{child.state.value}, {child.found}"
    if child.files:
        return f"{child.standing}, {counted(child.files, 'file')}, {counted(child.bytes, 'byte')}"
    return f"{child.standing}, {child.objid}" if child.mets and child.objid else child.standing


def _title(child: Child) -> str:
    place = child.found or child.mets
    where = f" at {place}" if place else ""
    ways = {
        (True, True): "both name each other",
        (True, False): "it does not name its parent",
        (False, True): "its parent does not name it",
        (False, False): "neither names the other",
    }
    is_there = child.mets and child.state is not State.MISSING
    said = f"; {ways[child.down, child.up]}" if is_there else ""
    return f"{child.objid or 'a METS without OBJID'}{where}: {child.standing}{said}"


def _trunks(parent: _Corner, ends: Sequence[tuple[_Corner, _Place]]) -> Iterator[Arrow]:
    """Yield the lines that a parent's arrows share: as far as there are links, and dashed from there on."""
    right, middle = parent[0] + _BOX, parent[1] + _HEIGHT // 2
    down, up = middle - _OFFSET, middle + _OFFSET
    head = f"{right},{up} {right + 9},{up - 5} {right + 9},{up + 5}"
    tops = [(corner[1] - parent[1], place) for corner, place in ends]
    yield from _trunk(f"M{right} {down}", right + _DOWN, down, [(y, place.down) for y, place in tops], ())
    yield from _trunk(f"M{right + 7} {up}", right + _UP, up, [(y, place.up) for y, place in tops], (head,))


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


def _arrows(parent: _Corner, child: _Corner, place: _Place) -> Iterator[Arrow]:
    left, middle = child[0], child[1] + _HEIGHT // 2
    down, up = middle - _OFFSET, middle + _OFFSET
    state = (place.link or State.UNKNOWN).value
    missing = "nobody looked whether" if place.link is State.UNKNOWN else "it is not so that"
    yield Arrow(
        path=f"M{parent[0] + _BOX + _DOWN} {down}H{left - 7}",
        heads=(f"{left},{down} {left - 9},{down - 5} {left - 9},{down + 5}",),
        is_missing=not place.down,
        state=state,
        title=f"{'' if place.down else f'{missing} '}the parent names the child",
    )
    turn = parent[0] + _BOX + _UP
    yield Arrow(
        path=f"M{left} {up}H{turn + 7}",
        heads=(f"{turn},{up} {turn + 9},{up - 5} {turn + 9},{up + 5}",),
        is_missing=not place.up,
        state=state,
        title=f"{'' if place.up else f'{missing} '}the child names the parent",
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
