"""The place that a requirement demands is compared with a location in any spelling."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metspack.checking import Level, check
from metspack.checking.eark import folders
from tests.laws import law
from tests.packages import csip, forge

DC = "metadata/descriptive/dc.xml"
FORMS = (
    DC,
    f"./{DC}",
    f"file:{DC}",
    f"file://./{DC}",
    DC.replace("/", "%2F"),
    f"{DC}#id",
    DC.replace("m", "%6D"),
)


def requirements(root: Path) -> set[str]:
    csip.seal(root)
    return {each.requirement for each in check(root, Level.STRUCTURE)}


@pytest.mark.parametrize("form", FORMS)
def test_a_metadata_file_is_in_the_folder_of_its_kind(tmp_path: Path, form: str) -> None:
    root = csip.forge(tmp_path / "NW")
    forge.edit(root / csip.PACKAGE_METS, f'href="{DC}"', f'href="{form}"')
    assert "CSIPSTR7" not in requirements(root)


@pytest.mark.parametrize("form", ["file:metadata/other/dc.xml", "metadata/descriptive", "descriptive/dc.xml"])
def test_a_metadata_file_elsewhere_is_reported(tmp_path: Path, form: str) -> None:
    root = csip.forge(tmp_path / "NW")
    forge.edit(root / csip.PACKAGE_METS, f'href="{DC}"', f'href="{form}"')
    assert "CSIPSTR7" in requirements(root)


@pytest.mark.parametrize("form", FORMS[1:4:2])
def test_the_media_type_is_that_of_the_file_that_is_meant(tmp_path: Path, form: str) -> None:
    root = csip.forge(tmp_path / "NW")
    (root / DC).write_bytes(b"%PDF-1.7\n")
    forge.edit(root / csip.PACKAGE_METS, f'href="{DC}"', f'href="{form}"')
    assert "CSIP26" in requirements(root)


@law(100)
@given(
    st.lists(
        st.sampled_from(
            [
                "N_lobs/s0_t0_c2/seg_1/t0_c2_r1.bin",
                "N_lobs/s0_t0_c2/seg_1/t0_c2_a1_r1.txt",
                "N_lobs/s0_t0_c2/seg_1/t0_c2_r1.bin\n",
                "N_lobs/s0_t0_c2/seg_1/t0_c2_r1",
                "N_lobs/s0_t0_c2/t0_c2_r1.bin",
                "N_lobs/",
                "N_lobs/N_lobs/s0_t0_c2/seg_1/t0_c2_r1.bin",
                "N.siard",
                "other/t0_c2_r1.bin",
            ]
        ),
        max_size=5,
    )
)
def test_files_are_placed_where_each_of_them_is(names: list[str]) -> None:
    below = [name.partition("_lobs/")[2] for name in names]
    expected = all(not each or folders.PLACED.fullmatch(each) for each in below)
    assert folders.are_placed(b"ip/representations/rep1", names) == expected
