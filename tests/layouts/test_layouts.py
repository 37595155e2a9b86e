"""Properties of every layout."""

from __future__ import annotations

import pickle
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metspack import layouts
from metspack.errors import ConfigError
from metspack.layouts import LAYOUTS, Layout, lobseg
from metspack.layouts.interface import FolderUse, SegmentName, check_style, folder_use, safe_extension
from metspack.layouts.names import FolderStyle
from metspack.locations.conventions import from_zip_root
from metspack.locations.statement import located
from metspack.model import LobPlace, Part
from metspack.uris import parsed
from tests.laws import of_each
from tests.layouts.places import NUMBERS, PLACES, place
from tests.tables import read_table, tabled

LAYOUT = st.sampled_from(list(LAYOUTS.values()))
NAMES = st.text("AZaz09_-", min_size=1, max_size=12) | st.sampled_from(["N_lobs", "N_lobseg_1", "s0_t2_c4"])
UNSAFE = read_table(__file__, "UNSAFE")
SAFE = ["bin", "txt", "PDF", "7z", "mp4", "e", "z1", "part001", "Zz"]
EXTENSIONS = st.text("aZz019_.", max_size=11) | st.text(max_size=5) | st.sampled_from(UNSAFE + SAFE)


def test_the_layouts_have_names_and_the_recommendations_comes_first() -> None:
    assert list(LAYOUTS) == ["lobseg", "siard22"]
    assert all(layout.name == name for name, layout in LAYOUTS.items())


def test_a_layout_can_be_handed_to_another_process() -> None:
    for layout in LAYOUTS.values():
        assert pickle.loads(pickle.dumps(layout)) == layout  # noqa: S301 -- made here


@pytest.mark.parametrize("extension", SAFE)
def test_an_extension_is_the_sources_own(extension: str) -> None:
    assert safe_extension(extension) == extension


@of_each([*UNSAFE, "elevenchars", "\N{ARABIC-INDIC DIGIT THREE}"])
def test_an_extension_that_could_make_a_whole_lob_a_part_is_replaced(extension: str) -> None:
    assert safe_extension(extension) == "bin"


@given(LAYOUT, NAMES, PLACES, NUMBERS)
def test_segment_folders_read_back(layout: Layout, name: str, place: LobPlace, index: int) -> None:
    container = layout.container(place)
    assert layout.parsed_folder(layout.segment_folder(name, container, index)) == SegmentName(
        name=name, container=container, index=index
    )


@given(LAYOUT, st.text(max_size=30))
def test_reading_names_never_fails(layout: Layout, text: str) -> None:
    folder = layout.parsed_folder(text)
    assert folder is None or layout.segment_folder(folder.name, folder.container, folder.index) == text


@given(LAYOUT, PLACES, PLACES)
def test_two_places_never_share_a_path(layout: Layout, one: LobPlace, other: LobPlace) -> None:
    def path(place: LobPlace) -> tuple[str, str]:
        return layout.container(place), layout.lob_path(place, "bin")

    assert (path(one) == path(other)) == (one == other)


def test_a_layout_is_found_by_its_name() -> None:
    assert [layouts.named(name).name for name in LAYOUTS] == list(LAYOUTS)
    with pytest.raises(ConfigError, match="unknown layout 'flat'") as refused:
        layouts.named("flat")
    assert refused.value.hint == "Layouts are lobseg, siard22."


VERSIONS = st.sampled_from(["1.0", "2.0", "2.1", "2.2"])
LOBSEG, SIARD22 = LAYOUTS["lobseg"], LAYOUTS["siard22"]


@pytest.mark.parametrize(
    ("layout", "style", "version", "use"),
    [
        (LOBSEG, FolderStyle.DILCIS, "2.1", FolderUse(database="./", column="./")),
        (SIARD22, FolderStyle.DILCIS, "2.2", FolderUse(database="./N_lobs/", column="s0_t2_c4/")),
        (LOBSEG, FolderStyle.SFA, "2.1", FolderUse(column="../", is_innermost=True)),
        (SIARD22, FolderStyle.SFA, "2.0", FolderUse(column="../N_lobs/s0_t2_c4/", is_innermost=True)),
        (LOBSEG, FolderStyle.DBPTK, "2.0", FolderUse(before="../")),
        (SIARD22, FolderStyle.DBPTK, "2.1", FolderUse(before="../N_lobs/s0_t2_c4/")),
        (LOBSEG, FolderStyle.DBPTK, "2.2", FolderUse(column="../")),
        (SIARD22, FolderStyle.DBPTK, "2.2", FolderUse(column="../N_lobs/s0_t2_c4/")),
    ],
)
def test_a_style_is_one_use_of_lob_folders(
    layout: Layout, style: FolderStyle, version: str, use: FolderUse
) -> None:
    check_style(style, version)
    assert folder_use(layout, "N", "s0_t2_c4", style, version) == use


def test_siard_1_0_has_no_form_for_dbptk() -> None:
    with pytest.raises(ConfigError, match=r"^--lob-folder-style dbptk has no form in SIARD 1\.0") as caught:
        check_style(FolderStyle.DBPTK, "1.0")
    assert caught.value.hint == "Choose another style; no reader of SIARD 1.0 knows LOBs outside."


@given(LAYOUT, NAMES, PLACES, EXTENSIONS, NUMBERS, st.sampled_from(FolderStyle), VERSIONS)
def test_the_levels_name_the_file_beside_the_siard(  # noqa: PLR0917 -- what is drawn
    layout: Layout,
    name: str,
    place: LobPlace,
    extension: str,
    index: int,
    style: FolderStyle,
    version: str,
) -> None:
    container = layout.container(place)
    steps = f"{layout.segment_folder(name, container, index)}/{layout.lob_path(place, extension)}".split("/")
    use = folder_use(layout, name, container, style, version)
    (own,) = layout.cell_files(name, index, place, (place.row,), extension)
    file = f"{use.before}{own}"
    if style is FolderStyle.DILCIS:  # the statement's rule
        found = located(use.database, use.column, file)
        assert found is not None
    else:  # that of DBPTK and of the SIARD Suite: the .siard is a folder
        found = from_zip_root([parsed(each) for each in (use.column, file) if each is not None])
    assert not found.inside
    assert list(found.segments) == steps


# --- what each layout makes of a place ----------------------------------------------------------------


@tabled
def test_a_lob_is_where_the_standard_says(layout: str, at: list[Any], extension: str, path: str) -> None:
    cell, row, table = at
    assert LAYOUTS[layout].lob_path(place(cell, row=row, table=table), extension) == path


def test_the_records_of_a_column_are_named_together() -> None:
    folder = "content/schema0/table2/lob4"
    assert lobseg.lob_paths(place("c4"), (1, 100), "bin") == [f"{folder}/record{at}.bin" for at in (0, 99)]


@tabled
def test_a_segment_has_a_folder_and_a_word_for_its_id(
    name: str, container: str, folder: str, word: str, folders: tuple[str, str]
) -> None:
    layout = LAYOUTS[name]
    assert layout.segment_folder("Northwind", container, 3) == folder
    assert layout.segment_id("Northwind", container, 3) == word
    assert layout.column_folders("Northwind", container) == folders
    (file,) = layout.cell_files("Northwind", 3, place("c4"), (1,), "bin")
    assert file == f"{folder.removeprefix(''.join(folders))}/{layout.lob_path(place('c4'), 'bin')}"


def test_lobs_share_one_series_of_segments_or_have_one_of_their_column() -> None:
    nested = place("c5.u1", table=7)
    assert (LOBSEG.one_series, SIARD22.one_series) == (True, False)
    assert [LOBSEG.container(each) for each in (place("c4"), nested)] == ["", ""]
    assert [SIARD22.container(each) for each in (place("c4"), nested)] == ["s0_t2_c4", "s0_t7_c5"]


def test_parts_are_numbered_as_the_standards_say() -> None:
    parts = [Part(number=n, offset=n, size=1, is_last=n == 12) for n in range(13)]
    assert [LOBSEG.part_suffix(each) for each in parts[8:]] == [".8", ".9", ".10", ".11", ".z"]
    parts = [Part(number=n, offset=n, size=1, is_last=False) for n in (0, 9, 998, 999, 12_344)]
    assert [SIARD22.part_suffix(each) for each in parts] == [
        *("_part001", "_part010", "_part999", "_part1000", "_part12345")
    ]


@tabled
def test_a_segments_folder_is_recognised_by_its_name(
    layout: str, folder: str, name: str | None, container: str, index: int
) -> None:
    expected = None if name is None else SegmentName(name=name, container=container, index=index)
    assert LAYOUTS[layout].parsed_folder(folder) == expected
