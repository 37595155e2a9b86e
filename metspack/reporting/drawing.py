"""Pictures of a package as figures: where boxes, arrows and bars stand. Templates make them SVG."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from metspack.model import Limits
from metspack.reporting.model import Child, ReportFacts, Segment, SplitLob, State, Top
from metspack.sizes import counted

DRAWN = 60
"""Children that are drawn with their arrows; more become tiles."""

_BOX = 300
_HEIGHT = 46
_ROW = 62
_GAP = 130
_MARGIN = 8
_DOWN, _UP = 44, 78  # where the arrows of both directions run, from the right side of the parent's box
_OFFSET = 9  # of each arrow from the middle of a box
_LABEL, _NOTE = 32, 42  # characters that a box is wide enough for
_STRIP = 1_000
_NARROWEST = 3.0


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
    """One direction of a link: an SVG path, the points of its heads, whether it is missing, whose it is."""

    path: str
    heads: tuple[str, ...]
    is_missing: bool
    state: str
    title: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Map:
    """The links of a package, drawn."""

    width: int
    height: int
    box: tuple[int, int]
    boxes: tuple[Box, ...]
    arrows: tuple[Arrow, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Bar:
    """A figure against what it is compared with: its share in percent, and whether it is too much."""

    value: int
    share: float
    is_over: bool
    said: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Fill:
    """How full a segment is."""

    name: str
    files: Bar
    bytes: Bar


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """A part of a split LOB on its strip: where it begins and how wide it is, of 1,000."""

    x: float
    width: float
    label: str
    title: str
    is_missing: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Strip:
    """A split LOB over the children that hold its parts."""

    id: str
    said: str
    is_whole: bool
    pieces: tuple[Piece, ...]


def linked(facts: ReportFacts) -> Map:
    """Return the map of the links: packages on the left, each level below them further right."""
    tops = facts.tops or (Top(objid="", mets=""),)
    known = {each.mets for each in facts.children} | {each.mets for each in tops}
    below: dict[str, list[Child]] = {}
    for each in facts.children:
        below.setdefault(each.parent if each.parent in known else tops[0].mets, []).append(each)
    boxes: list[Box] = []
    arrows: list[Arrow] = []
    row = 0
    for top in tops:
        corner = (_MARGIN, _MARGIN + row * _ROW)
        boxes.append(_box(corner, top.mets or "no METS", top.objid or "no OBJID", top.mets, ""))
        start = row
        ahead = [(child, corner, 1) for child in reversed(below.pop(top.mets, []))]
        while ahead:
            child, parent, depth = ahead.pop()
            here = (_MARGIN + depth * (_BOX + _GAP), _MARGIN + row * _ROW)
            label = child.folder or child.mets or child.objid
            boxes.append(_box(here, label, _note(child), _title(child), child.state.value))
            arrows += _arrows(parent, here, child)
            # Taken out, so that a circle ends.
            inner = below.pop(child.mets, []) if child.mets else []
            ahead += [(each, here, depth + 1) for each in reversed(inner)]
            row += not inner
        row = max(row, start + 1)
    return Map(
        width=max(each.x for each in boxes) + _BOX + _MARGIN,
        height=max(each.y for each in boxes) + _HEIGHT + _MARGIN,
        box=(_BOX, _HEIGHT),
        boxes=tuple(boxes),
        arrows=tuple(sorted(arrows, key=lambda each: each.is_missing, reverse=True)),
    )


def _box(corner: tuple[int, int], label: str, note: str, title: str, state: str) -> Box:
    return Box(
        x=corner[0],
        y=corner[1],
        label=shortened(label),
        note=shortened(note, _NOTE),
        title=title,
        state=state,
    )


def _note(child: Child) -> str:
    held = f", {counted(child.files, 'file')}, {counted(child.bytes, 'byte')}" if child.files else ""
    return f"{child.state.value}{held}"


def _title(child: Child) -> str:
    where = f" at {child.mets}" if child.mets else ""
    ways = {
        (True, True): "both name each other",
        (True, False): "it does not name its parent",
        (False, True): "its parent does not name it",
        (False, False): "neither names the other",
    }
    is_there = child.mets and child.state is not State.MISSING
    said = f"; {ways[child.down, child.up]}" if is_there else ""
    return f"{child.objid or 'a METS without OBJID'}{where}: {child.state.value}{said}"


def _arrows(parent: tuple[int, int], child: tuple[int, int], facts: Child) -> Iterator[Arrow]:
    right, middle = parent[0] + _BOX, parent[1] + _HEIGHT // 2
    left, end = child[0], child[1] + _HEIGHT // 2
    down, up = end - _OFFSET, end + _OFFSET
    yield Arrow(
        path=f"M{right} {middle - _OFFSET}H{right + _DOWN}V{down}H{left - 7}",
        heads=(f"{left},{down} {left - 9},{down - 5} {left - 9},{down + 5}",),
        is_missing=not facts.down,
        state=facts.state.value,
        title="the parent names the child" if facts.down else "the parent does not name the child",
    )
    turn, into = right + _UP, middle + _OFFSET
    yield Arrow(
        path=f"M{left} {up}H{turn}V{into}H{right + 7}",
        heads=(
            f"{turn},{up} {turn + 9},{up - 5} {turn + 9},{up + 5}",
            f"{right},{into} {right + 9},{into - 5} {right + 9},{into + 5}",
        ),
        is_missing=not facts.up,
        state=facts.state.value,
        title="the child names the parent" if facts.up else "the child does not name the parent",
    )


def shortened(text: str, longest: int = _LABEL) -> str:
    """Return text of at most ``longest`` characters, its middle left out: ends tell names apart."""
    if len(text) <= longest:
        return text
    kept = longest - 1
    return f"{text[: kept // 2]}…{text[-(kept - kept // 2) :]}"


def fills(segments: Sequence[Segment], limits: Limits) -> Iterator[Fill]:
    """Yield how full each segment is, against the limits or, where there is none, the fullest segment."""
    most_files = max((each.files for each in segments), default=0)
    most_bytes = max((each.bytes for each in segments), default=0)
    for each in segments:
        yield Fill(
            name=each.name,
            files=_bar(each.files, limits.files, most_files, "file"),
            bytes=_bar(each.bytes, limits.bytes, most_bytes, "byte"),
        )


def _bar(value: int, limit: int | None, most: int, what: str) -> Bar:
    whole = limit or most
    share = round(100 * value / whole, 1) if whole else 0.0
    of = "the limit" if limit else "the fullest"
    return Bar(
        value=value,
        share=min(share, 100.0),
        is_over=limit is not None and value > limit,
        said=f"{counted(value, what)}, {share} % of {of} ({whole:,})",
    )


def strips(lobs: Iterable[SplitLob]) -> Iterator[Strip]:
    """Yield each split LOB as a strip; parts of unknown size share what is missing of the whole."""
    for lob in lobs:
        held = sum(part.size or 0 for part in lob.parts)
        lost = sum(part.size is None for part in lob.parts)
        missing = max((lob.size or 0) - held, 0)
        # Without the whole's size a lost part is drawn as wide as the others are on average.
        guess = (missing or held // max(len(lob.parts) - lost, 1) or 1) // max(lost, 1) if lost else 0
        yield Strip(
            id=lob.id,
            said=_said(lob, held, lost),
            is_whole=not lost and (lob.size is None or lob.size == held),
            pieces=tuple(_pieces(lob, max(guess, 1), held + max(guess, 1) * lost)),
        )


def _said(lob: SplitLob, held: int, lost: int) -> str:
    of = "" if lob.size is None else f" of {lob.size:,}"
    gone = f", {counted(lost, 'part')} without a known size" if lost else ""
    return f"{counted(len(lob.parts), 'part')}, {held:,}{of} bytes{gone}"


def _pieces(lob: SplitLob, guess: int, total: int) -> Iterator[Piece]:
    x = 0.0
    for part in lob.parts:
        width = round(_STRIP * (guess if part.size is None else part.size) / max(total, 1), 1)
        size = "size unknown" if part.size is None else counted(part.size, "byte")
        yield Piece(
            x=round(x, 1),
            width=max(width, _NARROWEST),
            label=part.id.rpartition(".")[2] or part.id,
            title=f"{part.id}: {size} in {part.child}",
            is_missing=part.size is None,
        )
        x += width
