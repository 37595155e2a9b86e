"""Places of LOBs in a database are read from their ids."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metspack.errors import SourceError
from metspack.model import LobPlace
from metspack.packages.lobs import needed_place, place_of
from tests.laws import law

CELLS = st.sampled_from(["c1", "c2", "c1.a2.u3", "c4.a2"])


@law(50)
@given(st.integers(0, 2000), st.integers(0, 2000), CELLS, st.integers(1, 2000))
def test_a_place_is_read_from_its_id(schema: int, table: int, cell: str, row: int) -> None:
    place = LobPlace(schema=schema, table=table, cell=cell, row=row)
    assert place_of(place.id) == needed_place(place.id) == place


@pytest.mark.parametrize(
    "row", ["0", "", "00", "x", "1x", "1.r2", "\u0661", "9" * 19, " 1", "+1", "1_0", "1.p0", "1\n"]
)
def test_other_ids_are_no_places(row: str) -> None:
    with pytest.raises(SourceError, match="is not a place in a database"):
        needed_place(f"s0.t0.c1.r{row}")
