import pytest

from metspack.layouts.interface import SegmentName
from metspack.layouts.lobseg import (
    LAYOUT,
    lob_folder,
    lob_paths,
    parsed_folder,
    part_suffix,
    segment_folder,
)
from metspack.model import Part
from tests.layouts.places import place


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
    folder = "content/schema0/table2/lob4"
    assert lob_paths(place("c4"), (1, 100), "bin") == [f"{folder}/record0.bin", f"{folder}/record99.bin"]


def test_a_lob_is_where_the_recommendation_says() -> None:
    path = LAYOUT.lob_path(place("c4"), "bin")
    assert f"{segment_folder('Northwind', '', 0)}/{path}" == (
        "Northwind_lobseg_0/content/schema0/table2/lob4/record0.bin"
    )
    assert LAYOUT.cell_files("Northwind", 0, place("c4"), (1,), "bin") == [f"Northwind_lobseg_0/{path}"]


def test_parts_are_numbered_from_0_and_the_last_is_z() -> None:
    parts = [Part(number=n, offset=n, size=1, is_last=n == 12) for n in range(13)]
    assert [part_suffix(each) for each in parts[8:]] == [".8", ".9", ".10", ".11", ".z"]


def test_all_lobs_share_one_series_of_segments() -> None:
    assert LAYOUT.one_series
    assert LAYOUT.container(place("c4")) == LAYOUT.container(place("c5.u1", table=7)) == ""
    assert LAYOUT.segment_folder("Northwind", "", 3) == "Northwind_lobseg_3"
    assert LAYOUT.segment_id("Northwind", "", 3) == "Northwind_lobseg_3"


def test_cells_begin_in_the_folder_that_holds_the_siard() -> None:
    assert LAYOUT.column_folders("Northwind", "") == ("", "")


def test_segment_folders_read_back() -> None:
    assert parsed_folder("A_lobseg_1_lobseg_20") == SegmentName(name="A_lobseg_1", container="", index=20)
    assert parsed_folder("n.siard_lobseg_1") == SegmentName(name="n.siard", container="", index=1)


@pytest.mark.parametrize(
    "folder",
    [
        "",
        "_lobseg_1",
        "N_lobseg_",
        "N_lobseg_01",
        "N_lobseg_1/",
        "a/N_lobseg_1",
        "N_lobs",
        "N_lobseg_x",
        "N_lobseg_z",
    ],
)
def test_what_is_no_segments_folder_says_nothing(folder: str) -> None:
    assert parsed_folder(folder) is None
