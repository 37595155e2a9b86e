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


def whole(size: int | None = sum(SIZES)) -> HeldWhole:
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
        (DOTS, ("0", "1", "2"), None, whole(None)),
        (DOTS, NO_SEQ, ("1", "2", "3"), whole(None)),
        (NUMBERED, (" 0", "1 ", "02"), (" 1 ", "02", "3"), whole()),
        (NUMBERED, NO_SEQ, ("0", "1", "2"), whole(None)),
        (PLAIN, ("0", "1", "2"), NO_SEQ, whole()),
        (PLAIN, NO_SEQ, NO_SEQ, whole(None)),
        (PLAIN, ("0", "1", "2"), None, whole()),
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
    assert ids(chained("L", held, whole(), mapped(("3", "1", "2"), (2, 0, 1)))) == ["p0", "p1", "p2"]
    assert ids(chained("L", held, whole(), mapped(("2", "3", "1"), (1, 2, 0)))) == ["p0", "p1", "p2"]
    assert ids(chained("L", held, whole(), mapped(NO_SEQ, (2, 0, 1)))) == ["p2", "p0", "p1"]


def test_names_that_count_otherwise_than_each_other_say_nothing() -> None:
    for names in (
        ("x.0", "x_part002", "x.z"),
        ("x.0", "x", "x.z"),
        ("c", "x.0", "x.z"),
        ("x.1", "x_part001", "x.z"),
    ):
        assert ids(chained("L", parts(names), whole(), [])) == ["p0", "p1", "p2"]


def test_numbers_from_1_are_proven_by_the_sizes() -> None:
    held = parts(PLAIN, ("1", "2", "3"))
    assert ids(chained("L", held, whole(), [])) == ["p0", "p1", "p2"]
    for size in (26, 28):
        kind, words, hint = refused(held, whole(size), [])
        assert (kind, hint) == (GapError, GET)
        assert words == "its part 0 is missing; found p0 with SEQ 1 first"


def test_a_single_first_part_is_in_order() -> None:
    assert ids(arranged("L", [part(0, "x.z", "0")], 10, [])) == ["p0"]
    assert ids(arranged("L", [part(0, "x.0", "0")], 10, [])) == ["p0"]
    assert ids(arranged("L", [part(0, "x.z", None)], None, mapped((None,), (0,)))) == ["p0"]


def test_a_last_part_that_is_named_so_is_enough_where_mets_says_nothing_of_the_whole() -> None:
    assert ids(chained("L", parts(DOTS), None, [])) == ["p0", "p1", "p2"]
    assert [is_last(each) for each in ("x.z", "x.0", "xz", "x.Z")] == [True, False, False, False]


NO_WHOLE = (
    "is in 3 parts (the first listed: p0, seg_0/mets.xml line 5), but the parent METS does "
    "not describe the whole; "
    'expected a file with this ID in a fileGrp USE="split LOB"'
)
NO_LAST = (
    "nothing says that p2 (seg_2/mets.xml line 7) is its last part: the parent METS has no "
    "SPLITLOB structMap of it "
    "and no size of the whole (mets.xml line 40)"
)
NO_ORDER = (
    "nothing says in which order its 3 parts come: p0 (seg_0/mets.xml line 5) has no SEQ, "
    "and the parent METS has "
    "no SPLITLOB structMap of it"
)


@pytest.mark.parametrize(
    ("held", "of", "named", "expected"),
    [
        (
            parts(PLAIN),
            None,
            [],
            (SourceError, NO_WHOLE, f"Without it a missing last part cannot be noticed. {REPAIR}"),
        ),
        (
            parts(DOTS),
            None,
            mapped(),
            (SourceError, NO_WHOLE, f"Without it a missing last part cannot be noticed. {REPAIR}"),
        ),
        (parts(PLAIN), whole(None), [], (SourceError, NO_LAST, REPAIR)),
        (parts(NUMBERED), whole(None), [], (SourceError, NO_LAST, REPAIR)),
        (
            parts(PLAIN),
            whole(1_028),
            [],
            (SourceError, "its 3 parts (p0 to p2) have 27 bytes; expected 1,028 (mets.xml line 40)", GET),
        ),
        (parts(DOTS, NO_SEQ), whole(), [], (OrderError, NO_ORDER, REPAIR)),
        (
            parts(PLAIN),
            whole(),
            mapped(("2", "1", "3")),
            (
                OrderError,
                "part 0 by SEQ is p0 (seg_0/mets.xml line 5), but by the parent's map p1 (mets.xml line 51)",
                REPAIR,
            ),
        ),
        (
            parts(PLAIN, ("0", None, "2")),
            whole(),
            mapped(),
            (
                OrderError,
                "its part p1 (seg_1/mets.xml line 6) has the SEQ none; expected a whole number",
                REPAIR,
            ),
        ),
        (
            parts(PLAIN, ("0", "9" * 101, "2")),
            whole(),
            [],
            (
                OrderError,
                f"its part p1 (seg_1/mets.xml line 6) has the SEQ {'9' * 100!r}; expected a whole number",
                REPAIR,
            ),
        ),
        (
            parts(PLAIN, ("0", "01", "1")),
            whole(),
            [],
            (
                OrderError,
                (
                    "a part is listed twice: p1 with SEQ 01 (seg_1/content.0/b, "
                    "seg_1/mets.xml line 6) and p2 with SEQ 1 "
                    "(seg_2/content.0/c, seg_2/mets.xml line 7)"
                ),
                "Each part is listed once; remove the wrong one from its METS.",
            ),
        ),
        (
            [*parts(PLAIN), replace(part(1, "again"), line=90)],
            whole(),
            [],
            (
                OrderError,
                (
                    "a part is listed twice: p1 with SEQ 1 (seg_1/content.0/b, "
                    "seg_1/mets.xml line 6) and p1 with SEQ 1 "
                    "(seg_1/content.0/again, seg_1/mets.xml line 90)"
                ),
                "Each part is listed once; remove the wrong one from its METS.",
            ),
        ),
        (
            parts(PLAIN, ("2", "3", "4")),
            whole(),
            [],
            (GapError, "its part 0 is missing; found p0 with SEQ 2 first", GET),
        ),
        (
            parts(PLAIN, ("0", "1", " 3")),
            whole(),
            [],
            (
                GapError,
                "its part 2 is missing: expected it after p1 (seg_1/mets.xml line 6); found p2 with SEQ  3",
                GET,
            ),
        ),
        (
            parts(PLAIN, NO_SEQ),
            whole(),
            mapped(("1", "8" * 101, "3")),
            (
                OrderError,
                (
                    "its part p1 has in the parent's map (mets.xml line 51) the ORDER "
                    f"{'8' * 100!r}; expected a whole number"
                ),
                REPAIR,
            ),
        ),
        (
            parts(PLAIN, NO_SEQ),
            whole(),
            mapped(("1", "2", "02")),
            (
                OrderError,
                (
                    "its parts p1 and p2 have the same ORDER 02 in the parent's map (mets.xml "
                    "line 51, mets.xml line 52)"
                ),
                REPAIR,
            ),
        ),
        (
            parts(PLAIN, NO_SEQ),
            whole(),
            mapped(("2", "3", "4")),
            (
                GapError,
                (
                    "the parent's map has no part with the ORDER 1: expected it before p0, "
                    "which has the ORDER 2 "
                    "(mets.xml line 50)"
                ),
                GET,
            ),
        ),
        (
            parts(("x.0", "x.2", "x.z")),
            whole(),
            [],
            (OrderError, "part 1 is p1 (seg_1/mets.xml line 6), but its file is called 'x.2'", REPAIR),
        ),
        (
            parts(("x_part001", "x_part003", "x_part002")),
            whole(),
            [],
            (OrderError, "part 1 is p1 (seg_1/mets.xml line 6), but its file is called 'x_part003'", REPAIR),
        ),
        (
            parts(("x.0", "x.1", "x.2")),
            whole(None),
            mapped(),
            (GapError, "its last part, .z, is missing; found 'x.2' (p2) last", GET),
        ),
    ],
)
def test_what_disagrees_is_refused_in_words(
    held: list[HeldPart],
    of: HeldWhole | None,
    named: list[Mapped],
    expected: tuple[type[SourceError], str, str],
) -> None:
    assert refused(held, of, named) == expected


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
    of = whole(sum(SIZES) + SIZES[0])
    assert ids(chained("L", held, of, named)) == ["p0", "p1", "p2", "p3"]
