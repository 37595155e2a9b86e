"""The walk over a package: what it takes."""

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metspack.checking import check
from metspack.checking.catalogue import are_usual
from metspack.files.paths import folded_name
from metspack.system.winnames import unholdable
from tests.laws import law
from tests.packages import csip
from tests.packages.spread import zipped

NAME = st.text(st.sampled_from("abxCO.N 1_-é/:"), min_size=1, max_size=5).filter(lambda each: "/" not in each)


@law(100)
@given(names=st.lists(st.one_of(NAME, st.sampled_from(["con", "lpt1.a", "b.", "nul", "aux.x"])), min_size=1))
def test_usual_names_need_no_finding(names: list[str]) -> None:
    raw = [os.fsencode(each) for each in names]
    if are_usual(b"/".join(raw)):
        for name in raw:
            assert folded_name(name) == name
            assert not unholdable(os.fsdecode(name))


@pytest.mark.parametrize("name", ["record0.bin", "0", "a.b", "s0-t1_c2", ".x", "connect.bin"])
def test_names_as_archives_have_them_are_usual(name: str) -> None:
    assert are_usual(f"a/{name}/b".encode())


@pytest.mark.parametrize("is_packed", [False, True])
def test_a_folder_that_has_lost_all_its_files_is_reported_with_these(is_packed: bool, tmp_path: Path) -> None:
    root = csip.forge(tmp_path / "package")
    (root / "documentation" / "readme.txt").unlink()
    (root / "documentation" / "more").mkdir()
    if is_packed:
        root = zipped(root, tmp_path / "x.zip", inside="package")
    reported = [(each.code, each.path) for each in check(root)]
    assert reported == [("P010", "documentation/more"), ("F001", "documentation/readme.txt")]
