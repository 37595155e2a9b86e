"""Each style leads to the same file, by the rule of those who read it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metspack.errors import ConfigError
from metspack.layouts import LAYOUTS, Layout
from metspack.layouts.interface import FolderUse, check_style, folder_use
from metspack.layouts.names import FolderStyle
from metspack.locations.conventions import from_zip_root
from metspack.locations.statement import located
from metspack.model import LobPlace
from metspack.uris import parsed
from tests.layouts.places import NUMBERS, PLACES
from tests.layouts.test_layouts import EXTENSIONS, LAYOUT, NAMES

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
