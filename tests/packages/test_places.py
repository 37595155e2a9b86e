"""Places of LOBs that are told together are those that are told one by one."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from metspack.errors import SourceError
from metspack.packages.lobs import place_of, rows_of
from tests.laws import law

ROWS = st.one_of(
    st.integers(1, 2000).map(str),
    st.sampled_from(
        ["0", "", "01", "00", "x", "1x", "1.r2", "\u0661", "9" * 18, "9" * 19, " 1", "+1", "1_0"]
    ),
)
STEMS = st.sampled_from(
    ["s0.t0.c1.r"] * 6 + ["s0.t0.c2.r", "s0.t1.c1.r", "s0.t0.c1.a2.u3.r", "s0.t0.c1", "r", ""]
)


@law(100)
@given(
    st.lists(
        st.one_of(st.integers(1, 99).map("s0.t0.c1.r{}".format), st.tuples(STEMS, ROWS).map("".join)),
        min_size=1,
    )
)
@example(["s0.t0.c1.r1", "s0.t0.c1.r0"])
def test_places_of_many_are_those_of_each(lobs: list[str]) -> None:
    expected, wrong = [], ""
    for lob in lobs:
        try:
            place = place_of(lob)
        except SourceError as error:
            wrong = wrong or error.message
        else:
            expected.append((place.schema, place.table, place.row, place.cell))
    if not wrong:
        assert rows_of(lobs) == expected
        return
    with pytest.raises(SourceError) as caught:
        rows_of(lobs)
    assert caught.value.message == wrong


def test_a_place_is_read_from_an_id() -> None:
    place = place_of("s0.t12.c4.a2.r345")
    assert (place.schema, place.table, place.cell, place.row) == (0, 12, "c4.a2", 345)
