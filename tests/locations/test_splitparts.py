"""Parts of split LOBs in one segment and in those that follow, looked up in a table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metspack.errors import SourceError
from metspack.locations.splitparts import (
    FIRST_SUFFIXES,
    Look,
    PartMissing,
    TooMany,
    check_no_later_part,
    found,
    is_first,
)
from metspack.model import Extent, FileExtent
from tests.tables import tabled

HINT = "Parts lie in one segment folder or in consecutive ones; get the missing part."
LOBSEG = [".0", ".1", ".2", ".3", ".z"]
SIARD22 = [f"_part{number:03}" for number in range(1, 6)]


def extent(path: str, size: int) -> Extent:
    return FileExtent(root=0, path=tuple(path.split("/")), size=size, modified=0, inode=0, device=0)


def among(files: Mapping[str, int]) -> Look:
    def look(names: tuple[str, ...]) -> Extent | None:
        path = "/".join(names)
        return extent(path, files[path]) if path in files else None

    return look


def paths(files: Sequence[str], whole: str, *, size: int | None = None, wide: bool = False) -> list[str]:
    """Return the parts found among files of 10 bytes each, of a whole of that size or ``size``."""
    expected = 10 * len(files) if size is None else size
    parts = found(among(dict.fromkeys(files, 10)), tuple(whole.split("/")), expected.__eq__, wide=wide)
    return ["/".join(each.path) for each in parts if isinstance(each, FileExtent)]


def refused(kind: type[SourceError], files: Sequence[str], whole: str, *, size: int | None = None) -> str:
    with pytest.raises(SourceError) as caught:
        paths(files, whole, size=size)
    assert type(caught.value) is kind
    hint = HINT if kind is PartMissing else "Each part exists once; remove the wrong one."
    assert caught.value.hint == hint
    return caught.value.message


@tabled
def test_numbers_may_have_other_zeros_before_them(whole: str, parts: list[str]) -> None:
    assert paths(parts, whole) == []  # the usual name of the first part alone is looked for at first
    assert found(among(dict.fromkeys(parts, 10)), tuple(whole.split("/")), lambda _: True) == ()
    assert paths(parts, whole, wide=True) == parts


def test_the_usual_name_of_the_first_part_is_not_looked_for_among_the_unusual() -> None:
    assert paths(["x.0", "x.z"], "x", wide=True) == []
    assert paths(["x_part001"], "x", wide=True) == []
    assert paths(["x.00000", "x.z"], "x", wide=True) == []


def test_where_there_is_no_first_part_there_are_none() -> None:
    assert paths([], "x") == []
    assert paths(["x", "y.0", "x.1", "x.z"], "x") == []


def test_of_both_ways_of_naming_that_of_siard_2_2_is_taken() -> None:
    assert paths(["x_part001", "x.0"], "x", size=10) == ["x_part001"]


@tabled
def test_a_part_that_is_missing_is_named(files: list[str], whole: str, size: int | None, words: str) -> None:
    assert refused(PartMissing, files, whole, size=size) == words


def test_a_file_that_is_called_as_a_segment_is_none() -> None:
    assert paths(["seg_1_part001", "seg_2/seg_1_part001"], "seg_1", size=10) == ["seg_1_part001"]


def test_parts_of_siard_2_2_need_no_last_and_no_size() -> None:
    assert paths(["x_part001", "x_part002"], "x", size=7) == ["x_part001", "x_part002"]
    assert paths(["x.0", "x.z"], "x", size=7) == ["x.0", "x.z"]


@tabled
def test_a_part_that_is_there_twice_is_refused(files: list[str], words: str) -> None:
    assert refused(TooMany, files, "s_lobseg_1/x") == f"one part of a LOB exists 2 times: {words}"


@tabled
def test_later_parts_without_the_first_are_refused(whole: str, left: str, missing: str) -> None:
    with pytest.raises(PartMissing) as caught:
        check_no_later_part(among({left: 1}), tuple(whole.split("/")))
    assert caught.value.message == f"the LOB '{whole}' is split and its part {missing}"
    assert caught.value.hint == HINT


@pytest.mark.parametrize("there", ["x", "x.2", "x.00", "x_part001", "x_part003", "y.1", "x.zz"])
def test_what_is_not_a_second_or_last_part_is_not_left_of_any(there: str) -> None:
    check_no_later_part(among({there: 1}), ("x",))


def test_suffixes_of_first_parts() -> None:
    assert FIRST_SUFFIXES == ("_part001", ".0")
    first = [".0", ".00", ".000", ".0000", "_part1", "_part01", "_part001", "_part0001"]
    assert all(is_first(each) for each in first)
    assert not any(is_first(each) for each in (".1", ".z", "_part000", "_part002", ".00000", "0", ""))


@given(
    st.sampled_from([LOBSEG, SIARD22]),
    st.integers(1, 5),
    st.lists(st.booleans(), min_size=4, max_size=4),
    st.integers(0, 120),
)
def test_wherever_parts_are_cut_between_segments_they_are_found_in_order(
    suffixes: list[str], count: int, moves: list[bool], segment: int
) -> None:
    stem = "x_lobseg_" if suffixes is LOBSEG else "seg_"
    chosen = [*suffixes[: count - 1], suffixes[-1]] if suffixes is LOBSEG and count > 1 else suffixes[:count]
    numbers = [segment + sum(moves[:at]) for at in range(len(chosen))]
    parts = [f"{stem}{number}/c/lob{suffix}" for number, suffix in zip(numbers, chosen, strict=True)]
    assert paths(parts, f"{stem}{segment}/c/lob") == parts
