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
_DOWN, _UP = 44, 78  # distances of the trunks of both directions from the right side of the parent's box
_OFFSET = 9  # of each arrow from the middle of a box
_WIDEST = 3_000
_DEEPEST = 10  # levels that are drawn; deeper ones are counted
MOST = 46
"""The most rows of boxes; of more, METS without a fault share one box, then others do."""

_LABEL, _NOTE = 32, 42  # columns of text that fit into the widest box
_LETTERS = 12  # pixels of the smaller letters in the style sheet
_LEAST = 10  # pixels of letters that are legible
_PAPER = (900, 1_150)  # the size of a sheet with legible letters

_Key = tuple[str, str]
_Corner = tuple[int, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Box:
    """A METS in the map: two lines of text, its state (empty for the package's), its upper left corner."""

    label: str
    note: str
    title: str
    state: str = ""
    x: int = 0
    y: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Arrow:
    """One direction of a link, or a trunk that several share, without state and title."""

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

    @property
    def narrowest(self) -> int:
        """The width in pixels below which letters are illegible."""
        return -(-self.width * _LEAST // _LETTERS)

    @property
    def fits_paper(self) -> bool:
        """True if the map is legible when it is printed on one sheet."""
        return self.width <= _PAPER[0] and self.height <= _PAPER[1]


@dataclass(frozen=True, slots=True, kw_only=True)
class _MapEntry:
    """A METS of the map before it has a place: its key, and the link from its parent.

    ``of`` is its box, or the relation that a box is made from if it is drawn.
    """

    key: _Key
    of: Relation | Box
    link: LinkState = LinkState.UNKNOWN
    names_child: bool = True
    names_parent: bool = True

    @property
    def is_fault(self) -> bool:
        """True if the link from above, or any of its files, is at fault."""
        return isinstance(self.of, Relation) and self.of.is_fault

    def box(self, corner: _Corner, wide: int) -> Box:
        """Return the box with its place, and with texts that fit into it."""
        box = _box(self.of) if isinstance(self.of, Relation) else self.of
        label, note = shortened(box.label, _LABEL * wide // _BOX), shortened(box.note, _NOTE * wide // _BOX)
        return replace(box, label=label, note=note, x=corner[0], y=corner[1])


@dataclass(slots=True, kw_only=True)
class _Branch:
    """A METS and those below it: the rows that they take, and the least rows that show all faults."""

    entry: _MapEntry
    level: int = 0
    inner: Sequence[_Branch] = ()
    rows: int = 1
    least: int = 1
    packages: int = 1
    faults: int = 0

    def measure(self) -> None:
        """Count the METS below, after these have been measured."""
        self.rows = max(sum(each.rows for each in self.inner), 1)
        faulty = [each for each in self.inner if each.faults]
        self.least = max(sum(each.least for each in faulty) + (len(faulty) < len(self.inner)), 1)
        self.packages = 1 + sum(each.packages for each in self.inner)
        self.faults = self.entry.is_fault + sum(each.faults for each in self.inner)


def link_map(
    tops: Iterable[Node],
    children: Iterable[Relation],
    parents: Iterable[Relation] = (),
    representations: Iterable[Relation] = (),
) -> Map:
    """Return the map of the links: METS without a parent on the left, each level further right.

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
        # Of a parent that was found, only the link to the child is read.
        is_named = relation.state is LinkState.ELSEWHERE
        below.setdefault(outside.key, []).append(replace(top, link=relation.state, names_child=is_named))
    first = [*above.values(), *spots.values()]
    drawn = {spot.key for row in (first, *below.values()) for spot in row}
    ordered = sorted(children, key=lambda each: not each.is_fault)
    drawn.update(map(_key, ordered))
    for relation in ordered:
        key = relation.parent.path, ""
        below.setdefault(key if key in drawn else first[0].key, []).append(_child(relation))
    del drawn, ordered
    branches, levels = _branches(first, below)
    return _drawn(_fit(branches, MOST), min(levels, _DEEPEST))


def _branches(first: Sequence[_MapEntry], below: dict[_Key, list[_MapEntry]]) -> tuple[list[_Branch], int]:
    """Return the trees of the entries, and their number of levels; deep ones are then cut."""
    tops = [_Branch(entry=each) for each in first]
    ahead, seen = tops[::-1], []
    while ahead:
        branch = ahead.pop()
        seen.append(branch)
        # Each METS is expanded once: so a cycle ends.
        inner = below.pop(branch.entry.key, [])
        branch.inner = [_Branch(entry=each, level=branch.level + 1) for each in inner]
        ahead += reversed(branch.inner)
    for branch in reversed(seen):
        branch.measure()
        if branch.level == _DEEPEST - 2 and branch.packages > 1 + len(branch.inner):
            branch.inner = [_together(branch.inner)]
            branch.rows = branch.least = 1
    return tops, 1 + max((each.level for each in seen), default=0)


def _fit(branches: Sequence[_Branch], most: int) -> Sequence[_Branch]:
    """Reduce branches to ``most`` rows: those without a fault share a box, then others do."""
    if sum(each.rows for each in branches) <= most:
        return branches
    faulty = [each for each in branches if each.faults]
    fine = [each for each in branches if not each.faults]
    wanted = sum(each.least for each in faulty)
    if len(fine) + wanted <= most and any(each.inner for each in fine):
        return [*_share_rows(faulty, most - len(fine)), *_share_rows(fine, len(fine))]
    room = most - bool(fine)
    if faulty and room < 1:
        return [_together(branches)]
    shown = faulty if len(faulty) <= room else faulty[: room - 1]
    left = faulty[len(shown) :]
    drawn = _share_rows(shown, room - bool(left))
    return drawn + [_together(each, len(drawn)) for each in (left, fine) if each]


def _share_rows(branches: Sequence[_Branch], room: int) -> list[_Branch]:
    """Reduce branches to ``room`` rows together, at least one for each."""
    ahead = sum(each.least for each in branches)
    drawn = []
    for number, each in enumerate(branches):
        ahead -= each.least
        share = room - ahead if each.least + ahead <= room else room // (len(branches) - number)
        each.inner = _fit(each.inner, max(share, 1))
        each.rows = max(sum(inner.rows for inner in each.inner), 1)
        room -= each.rows
        drawn.append(each)
    return drawn


def _together(branches: Sequence[_Branch], shown: int = 0) -> _Branch:
    """Return one box for all METS that are not drawn one by one, with the links of all of them."""
    entries = [each.entry for each in branches]
    faults = sum(bool(each.faults) for each in branches)
    is_top = branches[0].level == 0
    one, several = ("package", "packages") if is_top else ("child", "children")
    if faults == len(branches):
        more = "more " if shown else ""
        label = counted(faults, f"{more}{one} at fault", f"{more}{several} at fault")
    elif faults:
        label = f"{counted(len(branches), one, several)}, {faults:,} at fault"
    elif is_top:
        label = f"{counted(len(branches), one, several)}, no child at fault"
    else:
        label = counted(len(branches), f"{one} without a fault", f"{several} without a fault")
    deeper = sum(each.packages - 1 for each in branches)
    below = f"{counted(deeper, 'child', 'children')} below" if deeper else ""
    links = {each.link for each in entries}
    return _Branch(
        entry=_MapEntry(
            key=("", label),
            of=Box(
                label=label,
                note=f"{below}{', ' if below else ''}not drawn one by one",
                title=f"{label}, {below}" if below else label,
                state=(LinkState.BROKEN if faults else LinkState.OK).value,
            ),
            link=links.pop() if len(links) == 1 else LinkState.BROKEN if faults else LinkState.OK,
            names_child=all(each.names_child for each in entries),
            names_parent=all(each.names_parent for each in entries),
        ),
        level=branches[0].level,
        packages=sum(each.packages for each in branches),
        faults=sum(each.faults for each in branches),
    )


def _drawn(tops: Sequence[_Branch], levels: int) -> Map:
    wide = min(_BOX, (_WIDEST - 2 * _MARGIN - (levels - 1) * _GAP) // levels)
    boxes: list[Box] = []
    branches: dict[_Corner, list[tuple[_Corner, _MapEntry]]] = {}
    row = 0
    ahead: list[tuple[_Branch, _Corner | None]] = [(top, None) for top in reversed(tops)]
    while ahead:
        branch, parent = ahead.pop()
        left = _MARGIN if parent is None else parent[0] + wide + _GAP
        here = (left, _MARGIN + row * _ROW)
        boxes.append(branch.entry.box(here, wide))
        if parent is not None:
            branches.setdefault(parent, []).append((here, branch.entry))
        ahead += [(each, here) for each in reversed(branch.inner)]
        row += not branch.inner
    lines = [((left + wide, top), ends) for (left, top), ends in branches.items()]
    arrows = (arrow for parent, ends in lines for end in ends for arrow in _arrows(parent, *end))
    trunks = (trunk for parent, ends in lines for trunk in _trunks(parent, ends))
    return Map(
        width=max(each.x for each in boxes) + wide + _MARGIN,
        height=max(each.y for each in boxes) + _HEIGHT + _MARGIN,
        box=(wide, _HEIGHT),
        boxes=tuple(boxes),
        trunks=tuple(trunks),
        arrows=tuple(arrows),
    )


def _top(top: Node, representations: int = 0) -> _MapEntry:
    label = top.path or "no METS"
    held = f", {counted(representations, 'representation')}" if representations else ""
    note = f"{shortened(top.objid or 'no OBJID', _NOTE - len(held))}{held}"
    return _MapEntry(key=(top.path, ""), of=Box(label=label, note=note, title=f"{label}{held}"))


def _outside(relation: Relation) -> _MapEntry:
    notes = {LinkState.UNKNOWN: "not looked at", LinkState.ELSEWHERE: "under another root"}
    objid, note = relation.parent.objid, f"parent, {notes.get(relation.state, 'outside of this package')}"
    box = Box(label=objid, note=note, title=f"{objid}: {note}", state=word(LinkState.UNKNOWN))
    return _MapEntry(key=("", objid), of=box)


def _child(relation: Relation) -> _MapEntry:
    return _MapEntry(
        key=_key(relation),
        of=relation,
        link=relation.state,
        names_child=relation.names_child,
        names_parent=relation.names_parent,
    )


def _key(relation: Relation) -> _Key:
    """Return the key of a child; that of a child without a METS differs from all parents'."""
    child = relation.child
    return (child.path, "") if child.path else (child.objid, relation.parent.path)


def _box(relation: Relation) -> Box:
    return Box(
        label=relation.name,
        note=_note(relation),
        title=_title(relation),
        state=f"{relation.word} damaged" if relation.damage else relation.word,
    )


def _note(relation: Relation) -> str:
    child = relation.child
    if child.found:
        return f"{relation.word}, {child.found}"
    if relation.damage:
        return relation.summary
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
    directions = f"; {ways[relation.names_child, relation.names_parent]}" if is_there else ""
    return f"{child.objid or 'a METS without OBJID'}{where}: {relation.summary}{directions}"


def _trunks(parent: _Corner, ends: Sequence[tuple[_Corner, _MapEntry]]) -> Iterator[Arrow]:
    """Yield the trunks of a parent's arrows: solid to the last link, dashed below.

    ``parent`` is the upper right corner of the parent's box.
    """
    right, middle = parent[0], parent[1] + _HEIGHT // 2
    down, up = middle - _OFFSET, middle + _OFFSET
    head = _head(right, up, 9)
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
    """Yield the trunk of a direction; ``ends`` are its links' depths, and whether they exist."""
    solid = max((far for far, is_there in ends if is_there), default=None)
    dashed = max(far for far, _ in ends)
    if solid is not None:
        yield Arrow(path=f"{start}H{x}V{y + solid}", heads=heads, is_missing=False)
        start, heads = f"M{x} {y + solid}", ()
    if solid is None or dashed > solid:
        yield Arrow(path=f"{start}H{x}V{y + dashed}", heads=heads, is_missing=True)


def _arrows(parent: _Corner, child: _Corner, place: _MapEntry) -> Iterator[Arrow]:
    left, turn, middle = child[0], parent[0] + _UP, child[1] + _HEIGHT // 2
    down, up = middle - _OFFSET, middle + _OFFSET
    missing = "not checked: " if place.link is LinkState.UNKNOWN else "missing: "
    ways = (
        (
            f"M{parent[0] + _DOWN} {down}H{left - 7}",
            _head(left, down, -9),
            place.names_child,
            "parent",
            "child",
        ),
        (f"M{left} {up}H{turn + 7}", _head(turn, up, 9), place.names_parent, "child", "parent"),
    )
    for path, head, is_there, one, other in ways:
        title = f"{'' if is_there else missing}the {one} names the {other}"
        yield Arrow(path=path, heads=(head,), is_missing=not is_there, state=word(place.link), title=title)


def _head(x: int, y: int, back: int) -> str:
    """Return the points of an arrowhead whose tip is at a place."""
    return f"{x},{y} {x + back},{y - 5} {x + back},{y + 5}"


def shortened(text: str, longest: int = _LABEL) -> str:
    """Return a text of at most ``longest`` columns, without its middle: ends distinguish names.

    Characters that do not print are escaped; East Asian ones are two columns wide.
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
