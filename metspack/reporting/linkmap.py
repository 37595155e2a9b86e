"""Map of the links between parents and children: boxes and arrows, which a template draws as SVG."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from rich.cells import cell_len

from metspack.checking.links.graph import LinkState, Node
from metspack.reporting.model import Relation, ReportFacts, printable, word
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


@dataclass(slots=True, kw_only=True)
class _Branch:
    """A METS, the link from its parent, and the METS below it, which come with ``inner``.

    ``key`` is that of the METS. ``rows`` are those that it takes, ``least`` those that show all faults,
    ``packages`` and ``faults`` the METS from it on and those at fault. Drawing gives its box a place.
    """

    key: _Key = ("", "")
    box: Box
    link: LinkState = LinkState.UNKNOWN
    names_child: bool = True
    names_parent: bool = True
    level: int = 0
    inner: Sequence[_Branch] = ()
    rows: int = 1
    least: int = 1
    packages: int = 1
    faults: int = 0


def link_map(facts: ReportFacts) -> Map:
    """Return the map of the links: METS without a parent on the left, each level further right.

    Representations are parts of the packages that name them, and are counted there.
    """
    held = Counter(each.parent.path for each in facts.representations)
    tops = facts.tops or (Node(id=0, path="", objid=""),)
    spots = {each.path: _top(each, held[each.path]) for each in tops}
    above: dict[_Key, _Branch] = {}
    below: dict[_Key, list[_Branch]] = {}
    for relation in facts.parents:
        outside = _outside(relation)
        above[outside.key] = outside
        top = spots.pop(relation.child.path, None) or _top(relation.child)
        # Of a parent that was found, only the link to the child is read.
        is_named = relation.state is LinkState.ELSEWHERE
        below.setdefault(outside.key, []).append(replace(top, link=relation.state, names_child=is_named))
    first = [*above.values(), *spots.values()]
    by_fault = sorted(facts.children, key=lambda each: not each.is_fault)
    ordered = [(each.parent.path, _child(each)) for each in by_fault]
    drawn = {each.key for row in (first, *below.values()) for each in row} | {each.key for _, each in ordered}
    for parent, each in ordered:
        key = parent, ""
        below.setdefault(key if key in drawn else first[0].key, []).append(each)
    levels = _expand(first, below)
    return _drawn(_fit(first, MOST), min(levels, _DEEPEST))


def _expand(tops: Sequence[_Branch], below: dict[_Key, list[_Branch]]) -> int:
    """Put those below into each branch, and cut deep ones.

    Returns the number of levels before they were cut.
    """
    ahead, seen = [*reversed(tops)], list[_Branch]()
    while ahead:
        branch = ahead.pop()
        seen.append(branch)
        # Each METS is expanded once: so a cycle ends.
        branch.inner = below.pop(branch.key, [])
        for each in branch.inner:
            each.level = branch.level + 1
        ahead += reversed(branch.inner)
    for branch in reversed(seen):
        branch.rows = max(sum(each.rows for each in branch.inner), 1)
        faulty = [each for each in branch.inner if each.faults]
        branch.least = max(sum(each.least for each in faulty) + (len(faulty) < len(branch.inner)), 1)
        branch.packages += sum(each.packages for each in branch.inner)
        branch.faults += sum(each.faults for each in branch.inner)
        if branch.level == _DEEPEST - 2 and branch.packages > 1 + len(branch.inner):
            branch.inner = [_together(branch.inner)]
            branch.rows = branch.least = 1
    return 1 + max(each.level for each in seen)


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
    for number, each in enumerate(branches):
        ahead -= each.least
        share = room - ahead if each.least + ahead <= room else room // (len(branches) - number)
        each.inner = _fit(each.inner, max(share, 1))
        each.rows = max(sum(inner.rows for inner in each.inner), 1)
        room -= each.rows
    return [*branches]


def _together(branches: Sequence[_Branch], shown: int = 0) -> _Branch:
    """Return one box for all METS that are not drawn one by one, with the links of all of them."""
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
    links = {each.link for each in branches}
    state = LinkState.BROKEN if faults else LinkState.OK
    return _Branch(
        box=Box(
            label=label,
            note=f"{below}{', ' if below else ''}not drawn one by one",
            title=f"{label}, {below}" if below else label,
            state=state.value,
        ),
        link=links.pop() if len(links) == 1 else state,
        names_child=all(each.names_child for each in branches),
        names_parent=all(each.names_parent for each in branches),
        level=branches[0].level,
        packages=sum(each.packages for each in branches),
        faults=sum(each.faults for each in branches),
    )


def _drawn(tops: Sequence[_Branch], levels: int) -> Map:
    wide = min(_BOX, (_WIDEST - 2 * _MARGIN - (levels - 1) * _GAP) // levels)
    ahead, drawn, row = [*reversed(tops)], list[_Branch](), 0
    while ahead:
        branch = ahead.pop()
        branch.box = replace(
            branch.box,
            label=shortened(branch.box.label, _LABEL * wide // _BOX),
            note=shortened(branch.box.note, _NOTE * wide // _BOX),
            x=_MARGIN + branch.level * (wide + _GAP),
            y=_MARGIN + row * _ROW,
        )
        drawn.append(branch)
        ahead += reversed(branch.inner)
        row += not branch.inner
    parents = [(each.box.x + wide, each) for each in drawn if each.inner]
    ends = [(right, each) for right, parent in parents for each in parent.inner]
    return Map(
        width=max(each.box.x for each in drawn) + wide + _MARGIN,
        height=max(each.box.y for each in drawn) + _HEIGHT + _MARGIN,
        box=(wide, _HEIGHT),
        boxes=tuple(each.box for each in drawn),
        trunks=tuple(trunk for right, parent in parents for trunk in _trunks(right, parent)),
        arrows=tuple(arrow for right, each in ends for arrow in _arrows(right, each)),
    )


def _top(top: Node, representations: int = 0) -> _Branch:
    label = top.path or "no METS"
    held = f", {counted(representations, 'representation')}" if representations else ""
    note = f"{shortened(top.objid or 'no OBJID', _NOTE - len(held))}{held}"
    return _Branch(key=(top.path, ""), box=Box(label=label, note=note, title=f"{label}{held}"))


def _outside(relation: Relation) -> _Branch:
    notes = {LinkState.UNKNOWN: "not looked at", LinkState.ELSEWHERE: "under another root"}
    objid, note = relation.parent.objid, f"parent, {notes.get(relation.state, 'outside of this package')}"
    box = Box(label=objid, note=note, title=f"{objid}: {note}", state=word(LinkState.UNKNOWN))
    return _Branch(key=("", objid), box=box)


def _child(relation: Relation) -> _Branch:
    """Return a child; the key of one without a METS differs from those of all parents."""
    child, state = relation.child, f"{relation.word} damaged" if relation.damage else relation.word
    return _Branch(
        key=(child.path, "") if child.path else (child.objid, relation.parent.path),
        box=Box(label=relation.name, note=_note(relation), title=_title(relation), state=state),
        link=relation.state,
        names_child=relation.names_child,
        names_parent=relation.names_parent,
        faults=int(relation.is_fault),
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
    if relation.names_child:
        way = "both name each other" if relation.names_parent else "it does not name its parent"
    else:
        way = "its parent does not name it" if relation.names_parent else "neither names the other"
    is_there = child.path and relation.state is not LinkState.MISSING
    directions = f"; {way}" if is_there else ""
    return f"{child.objid or 'a METS without OBJID'}{where}: {relation.summary}{directions}"


def _trunks(right: int, parent: _Branch) -> Iterator[Arrow]:
    """Yield the trunks of a parent's arrows: solid to the last link, dashed below.

    ``right`` is the right side of the parent's box.
    """
    middle = parent.box.y + _HEIGHT // 2
    down, up = middle - _OFFSET, middle + _OFFSET
    childward = [(each.box.y - parent.box.y, each.names_child) for each in parent.inner]
    parentward = [(each.box.y - parent.box.y, each.names_parent) for each in parent.inner]
    yield from _trunk(f"M{right} {down}", right + _DOWN, down, childward, ())
    yield from _trunk(f"M{right + 7} {up}", right + _UP, up, parentward, (_head(right, up, 9),))


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


def _arrows(right: int, child: _Branch) -> Iterator[Arrow]:
    """Yield both directions of the link to a child.

    ``right`` is the right side of its parent's box.
    """
    left, turn, middle = child.box.x, right + _UP, child.box.y + _HEIGHT // 2
    down, up = middle - _OFFSET, middle + _OFFSET
    missing = "not checked: " if child.link is LinkState.UNKNOWN else "missing: "
    across, back = f"M{right + _DOWN} {down}H{left - 7}", f"M{left} {up}H{turn + 7}"
    for path, head, is_there, words in (
        (across, _head(left, down, -9), child.names_child, "the parent names the child"),
        (back, _head(turn, up, 9), child.names_parent, "the child names the parent"),
    ):
        title = words if is_there else f"{missing}{words}"
        yield Arrow(path=path, heads=(head,), is_missing=not is_there, state=word(child.link), title=title)


def _head(x: int, y: int, back: int) -> str:
    """Return the points of an arrowhead whose tip is at a place."""
    return f"{x},{y} {x + back},{y - 5} {x + back},{y + 5}"


def shortened(text: str, longest: int) -> str:
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
