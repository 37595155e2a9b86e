"""Names of segment folders and of archives: what is one, and which numbers are read."""

import re

import pytest

from metspack.building.segmentedfolder import segment_folder
from metspack.checking.archives.forms import is_named
from metspack.layouts import LAYOUTS, names
from metspack.layouts.names import ARCHIVE, ARCHIVE_BYTES, LOBSEG, PART, SEG, SEGMENT, SEGMENT_GROUP
from metspack.locations import splitparts
from metspack.locations.candidates import is_lob_folder
from tests.layouts.places import place
from tests.tables import tabled

LONGEST = 255  # bytes of a name, in every file system


@pytest.mark.parametrize("digits", [1, 18, 19, 200, LONGEST - len("x_lobseg_")])
def test_the_number_of_a_segment_is_read_as_long_as_a_name_can_be(digits: int) -> None:
    number = "9" * digits
    assert LOBSEG.fullmatch(f"x_lobseg_{number}")
    assert SEG.fullmatch(f"seg_{number}")
    assert SEGMENT.fullmatch(f"x_lobseg_{number}")
    assert SEGMENT_GROUP.fullmatch(f"seg_{number}")
    assert is_lob_folder(f"x_lobseg_{number}")
    found = segment_folder(f"x_lobseg_{number}/content/a.bin")
    assert found is not None
    assert found.number == int(number)


@pytest.mark.parametrize("pattern", [LOBSEG, SEG, SEGMENT, SEGMENT_GROUP])
def test_no_number_is_longer_than_python_reads(pattern: re.Pattern[str]) -> None:
    assert not pattern.fullmatch(f"x_lobseg_{'9' * 5000}")
    assert not pattern.fullmatch(f"seg_{'9' * 5000}")


@pytest.mark.parametrize("index", [0, 7, 10**17])
def test_folders_that_are_made_are_those_that_are_read(index: int) -> None:
    for layout in LAYOUTS.values():
        *above, folder = layout.segment_folder("Northwind", layout.container(place("c4")), index).split("/")
        assert (found := SEGMENT.fullmatch(folder)) is not None
        assert int(found[2]) == index
        assert (LOBSEG if layout.one_series else SEG).fullmatch(folder)
        assert not above or names.LOBS.fullmatch(above[0])


@pytest.mark.parametrize("name", ["seg_٣", "x_lobseg_", "seg_1.zip", "lobsegs_1", "seg_-1", "seg_1\n"])
def test_other_names_are_none(name: str) -> None:
    assert not any(each.fullmatch(name) for each in (LOBSEG, SEG, SEGMENT, SEGMENT_GROUP))


@tabled
def test_an_archive_and_its_parts(name: str, whole: str, number: int | None) -> None:
    for found, written in (
        (ARCHIVE.fullmatch(name), whole),
        (ARCHIVE_BYTES.fullmatch(name.encode()), whole.encode()),
    ):
        assert found is not None
        assert found[1] == written
        assert (found[2] and int(found[2])) == number
    assert is_named(name.encode(), filed=False)
    if number is not None:
        assert name == whole + names.part_suffix(number)
        assert PART.fullmatch(name)


@tabled
def test_what_is_no_archive(name: str) -> None:
    assert ARCHIVE.fullmatch(name) is None
    assert ARCHIVE_BYTES.fullmatch(name.encode()) is None


@tabled
def test_a_lob_and_its_parts(name: str, whole: str, suffix: str | None, number: str | None) -> None:
    found = names.LOB_PART.fullmatch(name)
    assert (found.group(2, 3) if found else (None, None)) == (suffix, number)
    assert names.whole_of(name) == whole


@pytest.mark.parametrize("number", [1, 9, 999, 1000, 10**18 - 1])
def test_parts_that_are_written_are_those_that_are_read(number: int) -> None:
    suffix = names.part_suffix(number)
    found = names.LOB_PART.fullmatch(f"a.bin{suffix}")
    assert found is not None
    assert found.group(1, 3) == ("a.bin", f"{number:03d}")


@pytest.mark.parametrize(
    "suffix", ["_part001", "_part1", "_part01", "_part0001", ".0", ".00", ".000", ".0000"]
)
def test_first_parts(suffix: str) -> None:
    assert splitparts.is_first(suffix)


@pytest.mark.parametrize("suffix", ["", "_part002", "_part00001", ".1", ".z", ".00000", "_part001.zip"])
def test_later_parts_and_other_files_are_no_first_parts(suffix: str) -> None:
    assert not splitparts.is_first(suffix)


@tabled
def test_an_archive_in_one_file_is_recognised_in_either_letter_case(name: str, stem: str | None) -> None:
    assert names.is_archive(name) is (stem is not None)
    assert names.stem_of(name) == (name if stem is None else stem)


def test_the_metadata_of_an_unpacked_archive_stands_for_it() -> None:
    assert is_named(b"data/a.siard/header/metadata.xml", filed=False)
    assert is_named(b"data/A.SIARD/header/metadata.xml", filed=False)
    assert not is_named(b"data/a/header/metadata.xml", filed=False)
    assert is_named(b"data/a/header/metadata.xml", filed=True)
