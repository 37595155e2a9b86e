"""Columns with small LOBs stay inside the archive; the LOBs of the others move."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metspack.errors import ConfigError, SourceError
from metspack.limits import Budgets
from metspack.planning.assignment import (
    column_of,
    columns_inside,
    keep_columns,
    moving_lobs,
    small_columns,
    words_on_columns,
)
from metspack.sources.archive import Archive
from metspack.sources.opening import LooseLobs
from metspack.sources.repacking import RemovedEntries
from tests import siards
from tests.laws import law
from tests.planning.lobruns import lobs_of, one_by_one
from tests.siards import Lob
from tests.stages import RecordedStages
from tests.trees import put

CONTENTS = (b"", b"a", b"bcd", b"efghi")
PAIRS = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=1, max_size=6)


@law(25)
@given(PAIRS, st.integers(0, 6))
def test_a_column_stays_where_each_of_its_lobs_is_smaller(rows: list[tuple[int, int]], least: int) -> None:
    stays = {
        (0, 0, number): len(rows)
        for number, of in enumerate(zip(*rows, strict=True), start=1)
        if all(len(CONTENTS[each]) < least for each in of)
    }
    with TemporaryDirectory() as folder:
        source = siards.two_columns(Path(folder) / "A.siard", CONTENTS, rows)
        with Archive(source) as archive, RemovedEntries() as removed:
            assert small_columns(archive, least) == stays
            progress, seen = RecordedStages(), list[int]()
            assert columns_inside(archive, least, progress) == stays
            weight = archive.weight()
            assert progress.stages == {"Looking at sizes": (weight, weight)}
            lobs = list(one_by_one(moving_lobs(archive, stays, progress, seen.append)))
            assert progress.stages["Planning"] == (weight, weight)
            # All that is known of is told, whatever becomes of it.
            assert sum(seen) == 2 * len(rows)
            assert lobs == [each for each in lobs_of(archive) if column_of(each.place) not in stays]
            assert list(one_by_one(moving_lobs(archive, (), progress))) == list(lobs_of(archive))

            entries = {name for each in lobs_of(archive) for name in each.entries}
            removed.add_all(entries)
            keep_columns(archive, stays, removed)
            kept = {
                name for each in lobs_of(archive) if column_of(each.place) in stays for name in each.entries
            }
            assert {name for name in entries if name in removed} == entries - kept


def test_of_all_tables_only_the_entries_of_columns_that_stay_are_kept(northwind_full: Path) -> None:
    with Archive(northwind_full) as archive, RemovedEntries() as removed:
        sizes: dict[tuple[int, int, int], list[int]] = {}
        for each in lobs_of(archive):
            sizes.setdefault(column_of(each.place), []).append(each.size)
        stays = small_columns(archive, 12_300)
        assert stays == {column: len(of) for column, of in sizes.items() if max(of) < 12_300}
        assert len({column[:2] for column in stays}) > 1
        assert len(stays) < len(sizes)
        removed.add_all(name for each in lobs_of(archive) for name in each.entries)
        keep_columns(archive, stays, removed)
        for each in lobs_of(archive):
            assert all((name not in removed) == (column_of(each.place) in stays) for name in each.entries)


SMALL = Lob(data=b"small")


@pytest.mark.parametrize("at", [0, 1, 2])
@pytest.mark.parametrize(
    "other",
    [
        Lob(data=b"gone", entry=None),
        Lob(data=b"big", file="../outside.bin", entry=None),
    ],
    ids=["missing", "outside"],
)
def test_a_column_with_a_lob_elsewhere_does_not_stay(tmp_path: Path, at: int, other: Lob) -> None:
    (tmp_path / "outside.bin").write_bytes(b"big")
    lobs = [SMALL, SMALL]
    lobs.insert(at, other)
    (tmp_path / "in").mkdir()
    with Archive(siards.packed(tmp_path / "in" / "A.siard", siards.parts(lobs))) as archive:
        assert small_columns(archive, 100) == {}
    with Archive(siards.packed(tmp_path / "in" / "B.siard", siards.parts([SMALL, SMALL]))) as archive:
        assert small_columns(archive, 100) == {(0, 0, 2): 2}


def test_a_column_with_a_lob_in_several_entries_does_not_stay(tmp_path: Path) -> None:
    given = siards.parts(siards.lobs(b"abcdef", b"xyz"))
    name = "content/schema0/table0/lob2/record0.bin"
    del given[name]
    source = siards.packed(tmp_path / "A.siard", {f"{name}.0": b"abc", f"{name}.z": b"def"} | given)
    with Archive(source) as archive:
        assert [len(each.entries) for each in lobs_of(archive)] == [2, 1]
        seen: list[int] = []
        assert [len(each.entries) for each in moving_lobs(archive, (), RecordedStages(), seen.append)] == [
            2,
            1,
        ]
        assert seen == [1, 1]
        assert small_columns(archive, 100) == {}


def test_no_more_lobs_may_be_missing_than_the_budget_allows(tmp_path: Path) -> None:
    lobs = [SMALL, Lob(data=b"gone", file="a.bin", entry=None), Lob(data=b"gone", file="b.bin", entry=None)]
    source = siards.packed(tmp_path / "A.siard", siards.parts(lobs))
    with Archive(source, budgets=replace(Budgets(), missing=2)) as archive:
        assert small_columns(archive, 100) == {}
    with (
        Archive(source, budgets=replace(Budgets(), missing=1)) as archive,
        pytest.raises(SourceError),
    ):
        small_columns(archive, 100)


def test_without_a_least_size_nothing_is_looked_at(tmp_path: Path) -> None:
    progress = RecordedStages()
    with Archive(siards.siard(tmp_path / "A.siard", b"one")) as archive:
        assert columns_inside(archive, None, progress) == {}
    assert progress.stages == {}


def loose(folder: Path, names: Iterable[str]) -> LooseLobs:
    return LooseLobs(put(folder, {name: name.encode() for name in names}))


def test_where_no_archive_is_nothing_can_stay_inside(tmp_path: Path) -> None:
    with loose(tmp_path, ["content/schema0/table0/lob1/record0.bin"]) as source:
        assert columns_inside(source, None, RecordedStages()) == {}
        with pytest.raises(ConfigError) as refused:
            columns_inside(source, 1, RecordedStages())
    assert str(refused.value) == "the source has no SIARD archive, so no LOB can stay inside it"
    assert refused.value.hint == "Leave --min-size out."


def test_lobs_of_a_folder_all_move(tmp_path: Path) -> None:
    names = [f"content/schema0/table0/lob{cell}/record{row}.bin" for cell in (1, 2) for row in range(3)]
    with loose(tmp_path, names) as source:
        progress, seen = RecordedStages(), list[int]()
        lobs = list(one_by_one(moving_lobs(source, (), progress, seen.append)))
        assert lobs == list(lobs_of(source))
        assert progress.stages == {"Planning": (None, 0)}
        assert sum(seen) == len(lobs) == 6
        assert list(one_by_one(moving_lobs(source, [(0, 0, 1)], progress))) == [
            each for each in lobs if each.place.cell == "c2"
        ]


def test_each_column_that_stays_is_reported(northwind: Path) -> None:
    with Archive(northwind) as archive:
        (sentence,) = words_on_columns(archive, small_columns(archive, 20_000), 20_000)
    assert sentence == (
        "column dbo.Categories.Picture (s0.t2.c4) stays inside the archive: 8 LOBs, each smaller "
        "than 20,000 bytes"
    )
