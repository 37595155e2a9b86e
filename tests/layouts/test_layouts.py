"""Properties of every layout."""

import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metspack import layouts
from metspack.errors import ConfigError
from metspack.layouts import LAYOUTS, Layout
from metspack.layouts.interface import SegmentName, safe_extension
from metspack.model import LobPlace, Part
from tests.laws import of_each
from tests.layouts.places import NUMBERS, PLACES

LAYOUT = st.sampled_from(list(LAYOUTS.values()))
NAMES = st.text("AZaz09_-", min_size=1, max_size=12) | st.sampled_from(["N_lobs", "N_lobseg_1", "s0_t2_c4"])
UNSAFE = [
    "",
    "z",
    "Z",
    "0",
    "1",
    "001",
    "bin_part001",
    "_part001",
    "bin.z",
    "tar.gz",
    "a/b",
    "..",
    "bin\n",
    "é",
]
SAFE = ["bin", "txt", "PDF", "7z", "mp4", "e", "z1", "part001", "Zz"]
EXTENSIONS = st.text("aZz019_.", max_size=11) | st.text(max_size=5) | st.sampled_from(UNSAFE + SAFE)
PARTS = (
    st.builds(Part, number=NUMBERS, offset=NUMBERS, size=st.integers(1, 10), is_last=st.booleans())
    | st.none()
)


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
