"""Bars and strips as figures: shares of what they stand against, and never more than all of it."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metspack.limits import Limits
from metspack.reporting import html
from tests.reporting.reports import node, related


@given(
    st.lists(st.tuples(st.integers(0, 99), st.integers(0, 10**13))),
    st.integers(1, 99),
    st.integers(1, 10**13),
)
def test_bars_are_shares_of_the_limit(held: list[tuple[int, int]], most: int, largest: int) -> None:
    child = related(node("s/mets.xml"))
    segments = [replace(child, files=files, bytes=size) for files, size in held]
    for limits in (Limits(), Limits(files=most, bytes=largest)):
        for fill, (files, size) in zip(html.fills(segments, limits), held, strict=True):
            for bar, value, limit in (
                (fill["files"], files, limits.files),
                (fill["bytes"], size, limits.bytes),
            ):
                assert 0 <= bar["share"] <= 100
                assert bar["value"] == value
                assert bar["is_over"] == (limit is not None and value > limit)


def test_a_bar_says_what_it_is_against() -> None:
    (fill,) = html.fills([replace(related(node("s/mets.xml"), files=3), bytes=50_000)], Limits(bytes=40_000))
    assert fill["files"]["words"] == "3 files, 100.0 % of the fullest (3)"
    assert fill["bytes"]["words"] == "50,000 bytes, 125.0 % of the limit (40,000)"
    assert (fill["bytes"]["share"], fill["bytes"]["is_over"]) == (100.0, True)


PARTS = st.lists(st.one_of(st.none(), st.integers(0, 10**12)), min_size=1, max_size=20)


@given(PARTS, st.one_of(st.none(), st.integers(0, 10**13)))
def test_strips_fill_their_width(sizes: list[int | None], whole: int | None) -> None:
    parts = tuple((f"r1.p{number}", "x", size, False) for number, size in enumerate(sizes))
    (strip,) = html.strips([("r1", whole, parts)])
    assert len(strip["pieces"]) == len(sizes)
    assert [piece["is_missing"] for piece in strip["pieces"]] == [size is None for size in sizes]
    assert all(
        before["x"] <= after["x"] for before, after in zip(strip["pieces"], strip["pieces"][1:], strict=False)
    )
    last = strip["pieces"][-1]
    assert last["x"] + last["width"] <= 1_000 + 2 * len(sizes) + 3
    if any(sizes):
        assert last["x"] + last["width"] >= 1_000 - len(sizes)
    assert strip["is_whole"] == (None not in sizes and whole in {None, sum(size or 0 for size in sizes)})


@pytest.mark.parametrize(
    ("sizes", "whole", "words"),
    [
        ([5, 5], 10, "2 parts, 10 of 10 bytes"),
        ([5, None], 10, "2 parts, 5 of 10 bytes, 1 part without a known size"),
        ([5], None, "1 part, 5 bytes"),
    ],
)
def test_a_strip_says_its_figures(sizes: list[int | None], whole: int | None, words: str) -> None:
    parts = tuple(("r1.p0", "x", size, False) for size in sizes)
    (strip,) = html.strips([("r1", whole, parts)])
    assert strip["words"] == words
    assert strip["pieces"][0]["title"] == "r1.p0: 5 bytes in x"


def test_a_part_whose_file_is_gone_makes_a_strip_incomplete() -> None:
    parts = (("r1.p0", "x", 4, False), ("r1.p1", "y", 6, True))
    (strip,) = html.strips([("r1", 10, parts)])
    assert not strip["is_whole"]
    assert strip["words"] == "2 parts, 10 of 10 bytes listed, the file of 1 part missing"
    assert [(each["width"], each["is_missing"]) for each in strip["pieces"]] == [
        (400.0, False),
        (600.0, True),
    ]
    assert strip["pieces"][1]["title"] == "r1.p1: 6 bytes in y, file missing"
