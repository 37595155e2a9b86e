import pytest

from metspack.layouts.interface import SegmentName
from metspack.layouts.siard22 import (
    LAYOUT,
    container,
    parsed_folder,
    part_suffix,
    segment_folder,
    segment_id,
)
from metspack.model import Part
from tests.layouts.places import place


def test_a_lob_is_where_the_standard_says() -> None:
    # SIARD 2.2 L_7.1-0 and the statement on the location of LOBs.
    picture = place("c4")
    assert container(picture) == "s0_t2_c4"
    assert segment_folder("Northwind", "s0_t2_c4", 0) == "Northwind_lobs/s0_t2_c4/seg_0"
    assert LAYOUT.lob_path(picture, "bin") == "t2_c4_r1.bin"
    assert LAYOUT.cell_files("Northwind", 0, picture, (1,), "bin") == ["seg_0/t2_c4_r1.bin"]
    assert not LAYOUT.one_series


def test_a_nested_cell_is_with_its_column_and_keeps_its_path() -> None:
    nested = place("c3.u2.a3", table=1)
    assert container(nested) == "s0_t1_c3"
    assert LAYOUT.lob_path(nested, "txt") == "t1_c3_u2_a3_r1.txt"


def test_a_segment_has_one_word_for_its_id() -> None:
    assert segment_id("Northwind", "s0_t2_c4", 0) == "Northwind_s0_t2_c4_seg_0"


def test_parts_are_numbered_from_001_and_continue_after_999() -> None:
    suffixes = [
        part_suffix(Part(number=n, offset=n, size=1, is_last=False)) for n in (0, 9, 998, 999, 12_344)
    ]
    assert suffixes == ["_part001", "_part010", "_part999", "_part1000", "_part12345"]


def test_lob_folders_lead_to_the_column() -> None:
    assert LAYOUT.column_folders("Northwind", "s0_t2_c4") == ("Northwind_lobs/", "s0_t2_c4/")


def test_segment_folders_read_back() -> None:
    name = SegmentName(name="A_lobs", container="s0_t12_c3", index=20)
    assert parsed_folder("A_lobs_lobs/s0_t12_c3/seg_20") == name


@pytest.mark.parametrize(
    "folder",
    [
        "",
        "N_lobs/s0_t2_c4",
        "N_lobs/s0_t2_c4/seg_00",
        "N_lobs/s0_t2_c0/seg_0",
        "N/s0_t2_c4/seg_0",
        "_lobs/s0_t2_c4/seg_0",
        "N_lobs/s0_t2_c4/seg_0/",
        "a/N_lobs/s0_t2_c4/seg_0",
        "N_lobseg_0",
    ],
)
def test_what_is_no_segments_folder_says_nothing(folder: str) -> None:
    assert parsed_folder(folder) is None
