"""Contradictions between SEQ, map, names and sizes of a split LOB's parts, in words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metspack.errors import SourceError
from metspack.packages.lobs import HeldPart, HeldWhole, Mapped
from metspack.packages.splitlobs import GapError, OrderError, arranged, chained, check_map, is_last
from tests.tables import tabled

GET = "Get the part from another copy of the package; metspack check shows what else is wrong with it."
REPAIR = "The METS documents are wrong or files of two packages were mixed; metspack check shows more."
SIZES = (10, 10, 7)
DOTS, NUMBERED, PLAIN = ("x.0", "x.1", "x.z"), ("x_part001", "x_part002", "x_part003"), ("a", "b", "c")


def part(number: int, name: str, seq: str | None = "", size: int | None = None) -> HeldPart:
    return HeldPart(
        id=f"p{number}",
        seq=str(number) if seq == "" else seq,
        path=(f"seg_{number}", "content.0", name),
        size=SIZES[number % 3] if size is None else size,
        digest=None,
        media_type=None,
        mets=f"seg_{number}/mets.xml",
        line=number + 5,
        segment=f"urn:x:seg_{number}",
    )


def parts(names: Sequence[str] = DOTS, seq: Sequence[str | None] = ("0", "1", "2")) -> list[HeldPart]:
    return [part(number, name, seq[number]) for number, name in enumerate(names)]


def mapped(order: Sequence[str | None] = ("1", "2", "3"), numbers: Sequence[int] = (0, 1, 2)) -> list[Mapped]:
    return [
        Mapped(
            part=f"p{number}", child=f"seg_{number}", order=order[at], source=f"mets.xml line {number + 50}"
        )
        for at, number in enumerate(numbers)
    ]


def stated(size: int | None = sum(SIZES)) -> HeldWhole:
    return HeldWhole(size=size, digest=None, media_type=None, source="mets.xml line 40")


def ids(found: Sequence[HeldPart]) -> list[str]:
    return [each.id for each in found]


def refused(
    found: Sequence[HeldPart], of: HeldWhole | None, named: Sequence[Mapped]
) -> tuple[type[SourceError], str, str]:
    with pytest.raises(SourceError) as caught:
        chained("L", found, of, named)
    assert caught.value.message.startswith("LOB L: ")
    return type(caught.value), caught.value.message.removeprefix("LOB L: "), caught.value.hint


NO_SEQ = (None, None, None)


@pytest.mark.parametrize(
    ("names", "seq", "order", "of"),
    [
        (DOTS, ("0", "1", "2"), None, stated(None)),
        (DOTS, NO_SEQ, ("1", "2", "3"), stated(None)),
        (NUMBERED, (" 0", "1 ", "02"), (" 1 ", "02", "3"), stated()),
        (NUMBERED, NO_SEQ, ("0", "1", "2"), stated(None)),
        (PLAIN, ("0", "1", "2"), NO_SEQ, stated()),
        (PLAIN, NO_SEQ, NO_SEQ, stated(None)),
        (PLAIN, ("0", "1", "2"), None, stated()),
    ],
)
def test_what_agrees_is_taken(
    names: Sequence[str], seq: Sequence[str | None], order: Sequence[str | None] | None, of: HeldWhole
) -> None:
    held = parts(names, seq)
    for turned in (held, held[::-1]):
        assert ids(chained("L", turned, of, [] if order is None else mapped(order))) == ["p0", "p1", "p2"]


def test_the_order_is_that_of_the_map_where_seq_is_missing() -> None:
    held = parts(PLAIN, NO_SEQ)
    assert ids(chained("L", held, stated(), mapped(("3", "1", "2"), (2, 0, 1)))) == ["p0", "p1", "p2"]
    assert ids(chained("L", held, stated(), mapped(("2", "3", "1"), (1, 2, 0)))) == ["p0", "p1", "p2"]
    assert ids(chained("L", held, stated(), mapped(NO_SEQ, (2, 0, 1)))) == ["p2", "p0", "p1"]


def test_names_that_count_otherwise_than_each_other_say_nothing() -> None:
    for names in (
        ("x.0", "x_part002", "x.z"),
        ("x.0", "x", "x.z"),
        ("c", "x.0", "x.z"),
        ("x.1", "x_part001", "x.z"),
    ):
        assert ids(chained("L", parts(names), stated(), [])) == ["p0", "p1", "p2"]


def test_numbers_from_1_are_proven_by_the_sizes() -> None:
    held = parts(PLAIN, ("1", "2", "3"))
    assert ids(chained("L", held, stated(), [])) == ["p0", "p1", "p2"]
    for size in (26, 28):
        kind, words, hint = refused(held, stated(size), [])
        assert (kind, hint) == (GapError, GET)
        assert words == "its part 0 is missing; found p0 with SEQ 1 first"


def test_a_single_first_part_is_in_order() -> None:
    assert ids(arranged("L", [part(0, "x.z", "0")], 10, [])) == ["p0"]
    assert ids(arranged("L", [part(0, "x.0", "0")], 10, [])) == ["p0"]
    assert ids(arranged("L", [part(0, "x.z", None)], None, mapped((None,), (0,)))) == ["p0"]


def test_a_last_part_that_is_named_so_is_enough_where_mets_says_nothing_of_the_whole() -> None:
    assert ids(chained("L", parts(DOTS), None, [])) == ["p0", "p1", "p2"]
    assert [is_last(each) for each in ("x.z", "x.0", "xz", "x.Z")] == [True, False, False, False]


@tabled
def test_what_disagrees_is_refused_in_words(
    names: list[str], seq: list[str], whole: int | None, order: list[str] | None, refusal: list[str]
) -> None:
    held = parts(names, [each or None for each in seq])
    of = None if whole is None else stated(whole or None)
    named = mapped([each or None for each in order]) if order else []
    error, *found = refused(held, of, named)
    assert [error.__name__, *found] == refusal


def test_a_part_that_is_listed_twice_is_refused_in_words() -> None:
    held = [*parts(PLAIN), replace(part(1, "again"), line=90)]
    words = (
        "a part is listed twice: p1 with SEQ 1 (seg_1/content.0/b, seg_1/mets.xml line 6) and "
        "p1 with SEQ 1 (seg_1/content.0/again, seg_1/mets.xml line 90)"
    )
    hint = "Each part is listed once; remove the wrong one from its METS."
    assert refused(held, stated(), []) == (OrderError, words, hint)


@pytest.mark.parametrize(
    ("held", "named", "words", "hint"),
    [
        (
            parts()[:2],
            mapped(),
            "its part p2 is missing: mets.xml line 52 expects it in seg_2; found p0, p1",
            GET,
        ),
        ([], mapped(), "its part p0 is missing: mets.xml line 50 expects it in seg_0; found none", GET),
        (
            parts(),
            mapped(numbers=(0, 1, 1)),
            "the parent's map names its part p1 twice: mets.xml line 51 and mets.xml line 51",
            REPAIR,
        ),
        (
            [*parts()[:2], replace(part(2, "x.z"), segment="urn:x:seg_0")],
            mapped(),
            "its part p2 is in urn:x:seg_0 (seg_2/mets.xml line 7); expected in seg_2 (mets.xml line 52)",
            REPAIR,
        ),
        (
            parts(),
            mapped()[:2],
            "its part p2 (seg_2/mets.xml line 7) is not in the parent's map; expected one of p0, p1",
            REPAIR,
        ),
    ],
)
def test_parts_and_map_name_each_other(
    held: list[HeldPart], named: list[Mapped], words: str, hint: str
) -> None:
    with pytest.raises(SourceError) as caught:
        check_map("L", held, named)
    assert (type(caught.value), caught.value.message, caught.value.hint) == (
        SourceError,
        f"LOB L: {words}",
        hint,
    )
    check_map("L", held, [])


@given(
    st.permutations(range(4)),
    st.permutations(range(4)),
    st.integers(0, 1),
    st.integers(0, 1),
    st.sampled_from(["seq", "map", "both"]),
)
def test_however_parts_and_map_are_listed_the_order_is_the_same(
    listed: list[int], written: list[int], first: int, start: int, by: str
) -> None:
    held = [part(each, f"name{each}", None if by == "map" else str(first + each)) for each in listed]
    named = [] if by == "seq" else mapped([str(start + each) for each in written], written)
    of = stated(sum(SIZES) + SIZES[0])
    assert ids(chained("L", held, of, named)) == ["p0", "p1", "p2", "p3"]
