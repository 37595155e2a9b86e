import pytest
from hypothesis import given
from hypothesis import strategies as st

from metspack.layouts.lobseg import lob_file, lob_folder, lob_path, segment_name
from metspack.model import LobPlace


def place(cell: str, row: int = 1, schema: int = 0, table: int = 2) -> LobPlace:
    return LobPlace(schema=schema, table=table, cell=cell, row=row)


@pytest.mark.parametrize(
    ("cell", "folder"),
    [
        ("c4", "content/schema0/table2/lob4"),
        ("c12", "content/schema0/table2/lob12"),
        ("c3.u2.u3", "content/schema0/table2/lob3/u2/u3"),
        ("c3.a1", "content/schema0/table2/lob3/a1"),
        ("c3.a1.u2", "content/schema0/table2/lob3/a1/u2"),
    ],
)
def test_a_column_has_a_folder_and_a_nested_cell_keeps_its_path(cell: str, folder: str) -> None:
    assert lob_folder(place(cell)) == folder


def test_records_count_from_0_and_rows_from_1() -> None:
    assert lob_file(place("c4", 1), "bin") == "record0.bin"
    assert lob_file(place("c4", 100), "txt") == "record99.txt"


def test_a_lob_lies_where_the_recommendation_says() -> None:
    path = lob_path(place("c4"), "bin")
    assert f"{segment_name('Northwind', 0)}/{path}" == (
        "Northwind_lobseg_0/content/schema0/table2/lob4/record0.bin"
    )


NUMBERS = st.integers(0, 20)
CELLS = st.builds(
    lambda column, below: ".".join((f"c{column}", *below)),
    st.integers(1, 20),
    st.lists(st.builds("{}{}".format, st.sampled_from("ua"), st.integers(1, 12)), max_size=3),
)
PLACES = st.builds(LobPlace, schema=NUMBERS, table=NUMBERS, cell=CELLS, row=st.integers(1, 20))


@given(PLACES, PLACES)
def test_two_places_never_share_a_path(one: LobPlace, other: LobPlace) -> None:
    assert (lob_path(one, "bin") == lob_path(other, "bin")) == (one == other)
