"""Pictures as figures: every child once, every link twice, nothing outside of the picture."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metspack.model import Limits
from metspack.reporting import drawing
from metspack.reporting.model import Child, ReportFacts, Segment, SplitLob, SplitPart, State, Top


def child(mets: str, parent: str = "mets.xml", state: State = State.OK, **more: bool) -> Child:
    ways = {"down": True, "up": True} | more
    return Child(objid=f"ID {mets}", mets=mets, parent=parent, state=state, files=0, bytes=0, **ways)


NAMES = [f"{letter}/mets.xml" for letter in "abcdef"]
TREES = st.lists(st.sampled_from(range(-1, 6)), min_size=6, max_size=6).map(
    lambda above: tuple(
        child(name, "mets.xml" if parent < 0 else NAMES[parent])
        for name, parent in zip(NAMES, above, strict=True)
    )
)


@given(TREES)
def test_every_child_that_hangs_together_is_drawn_once_inside_the_picture(
    children: tuple[Child, ...],
) -> None:
    found = drawing.linked(ReportFacts(tops=(Top(objid="", mets="mets.xml"),), children=children))
    names = [box.title for box in found.boxes]
    assert len(names) == len(set(names)) <= 7
    assert len({(box.x, box.y) for box in found.boxes}) == len(found.boxes), "no box hides another"
    assert len(found.arrows) == 2 * (len(found.boxes) - 1)
    width, height = found.box
    assert all(
        0 <= box.x <= found.width - width and 0 <= box.y <= found.height - height for box in found.boxes
    )
    for arrow in found.arrows:
        numbers = [int(each) for each in re.findall(r"-?[0-9]+", " ".join((arrow.path, *arrow.heads)))]
        assert all(0 <= each <= max(found.width, found.height) for each in numbers)


def test_children_of_children_stand_to_the_right() -> None:
    nested = (child("a/mets.xml"), child("a/b/mets.xml", "a/mets.xml"), child("c/mets.xml"))
    found = drawing.linked(ReportFacts(tops=(Top(objid="", mets="mets.xml"),), children=nested))
    _, first, inner, last = found.boxes
    assert [first.label, inner.label, last.label] == ["a", "a/b", "c"]
    assert first.x < inner.x
    assert (first.y, last.x) == (inner.y, first.x)
    assert last.y > first.y


def test_missing_directions_are_marked_and_said() -> None:
    children = (
        child("a/mets.xml", state=State.ONE_WAY, up=False),
        child("b/mets.xml", state=State.ONE_WAY, down=False),
        child("c/mets.xml", state=State.EXTRA, up=False, down=False),
        child("d/mets.xml", state=State.MISSING, up=False),
        child("", state=State.BROKEN, up=False),
    )
    found = drawing.linked(ReportFacts(tops=(Top(objid="", mets="mets.xml"),), children=children))
    assert [arrow.is_missing for arrow in found.arrows].count(True) == 6
    assert [box.title for box in found.boxes[1:]] == [
        "ID a/mets.xml at a/mets.xml: one-way; it does not name its parent",
        "ID b/mets.xml at b/mets.xml: one-way; its parent does not name it",
        "ID c/mets.xml at c/mets.xml: extra; neither names the other",
        "ID d/mets.xml at d/mets.xml: missing",
        "ID : broken",
    ]


def test_a_package_without_anything_is_a_box() -> None:
    found = drawing.linked(ReportFacts())
    assert [(box.label, box.note) for box in found.boxes] == [("no METS", "no OBJID")]
    assert not found.arrows


@given(st.text(), st.integers(3, 50))
def test_shortened_keeps_both_ends(text: str, longest: int) -> None:
    found = drawing.shortened(text, longest)
    assert len(found) <= longest
    assert found == text or ("…" in found and text.startswith(found[0]) and text.endswith(found[-1]))


@given(
    st.lists(st.tuples(st.integers(0, 99), st.integers(0, 10**13))),
    st.integers(1, 99),
    st.integers(1, 10**13),
)
def test_bars_are_shares_of_the_limit_or_of_the_fullest(
    held: list[tuple[int, int]], most: int, largest: int
) -> None:
    segments = [Segment(name="s", files=files, bytes=size) for files, size in held]
    for limits in (Limits(), Limits(files=most, bytes=largest)):
        for fill, (files, size) in zip(drawing.fills(segments, limits), held, strict=True):
            for bar, value, limit in ((fill.files, files, limits.files), (fill.bytes, size, limits.bytes)):
                assert 0 <= bar.share <= 100
                assert bar.value == value
                assert bar.is_over == (limit is not None and value > limit)


def test_a_bar_says_what_it_is_against() -> None:
    (fill,) = drawing.fills([Segment(name="s", files=3, bytes=50_000)], Limits(bytes=40_000))
    assert fill.files.said == "3 files, 100.0 % of the fullest (3)"
    assert fill.bytes.said == "50,000 bytes, 125.0 % of the limit (40,000)"
    assert (fill.bytes.share, fill.bytes.is_over) == (100.0, True)


PARTS = st.lists(st.one_of(st.none(), st.integers(0, 10**12)), min_size=1, max_size=20)


@given(PARTS, st.one_of(st.none(), st.integers(0, 10**13)))
def test_strips_fill_their_width(sizes: list[int | None], whole: int | None) -> None:
    parts = tuple(SplitPart(id=f"r1.p{number}", child="x", size=size) for number, size in enumerate(sizes))
    (strip,) = drawing.strips([SplitLob(id="r1", size=whole, parts=parts)])
    assert len(strip.pieces) == len(sizes)
    assert [piece.is_missing for piece in strip.pieces] == [size is None for size in sizes]
    assert all(before.x <= after.x for before, after in zip(strip.pieces, strip.pieces[1:], strict=False))
    last = strip.pieces[-1]
    assert last.x + last.width <= 1_000 + 2 * len(sizes) + 3
    if any(sizes):
        assert last.x + last.width >= 1_000 - len(sizes)
    assert strip.is_whole == (None not in sizes and whole in {None, sum(size or 0 for size in sizes)})


@pytest.mark.parametrize(
    ("sizes", "whole", "said"),
    [
        ([5, 5], 10, "2 parts, 10 of 10 bytes"),
        ([5, None], 10, "2 parts, 5 of 10 bytes, 1 part without a known size"),
        ([5], None, "1 part, 5 bytes"),
    ],
)
def test_a_strip_says_its_figures(sizes: list[int | None], whole: int | None, said: str) -> None:
    parts = tuple(SplitPart(id="r1.p0", child="x", size=size) for size in sizes)
    (strip,) = drawing.strips([SplitLob(id="r1", size=whole, parts=parts)])
    assert strip.said == said
    assert strip.pieces[0].title == "r1.p0: 5 bytes in x"
