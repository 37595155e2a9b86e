"""LOBs that are found together: files of one folder, entries named in full, and what is counted of them."""

from __future__ import annotations

import zipfile
from collections.abc import Sequence
from pathlib import Path

import pytest

from metspack.locations import Convention
from metspack.locations.grantedroots import Spot
from metspack.locations.mappingtxt import read_mapping
from metspack.locations.resolver import Resolver, names_together
from metspack.locations.splitparts import FIRST_SUFFIXES
from metspack.model import SMALL, CellRun, ExtentColumns
from metspack.siard.metadata import Field
from tests.locations.test_resolver import Entries, cell, field, table
from tests.tables import tabled
from tests.trees import put

FILES = ("seg_0/1.bin", "seg_0/2.bin")
C = Convention.C


@tabled
def test_names_of_one_folder_go_together(files: list[str], names: list[str]) -> None:
    assert names_together(files) == names


def outside(folder: Path, *, lob_folder: str | None = "lobs/", kind: str = "BLOB") -> tuple[Resolver, Field]:
    put(folder, {f"lobs/{FILES[0]}": b"1", f"lobs/{FILES[1]}": b"22"})
    return Resolver(None, [folder], siard_name="x.siard"), field(lob_folder=lob_folder, kind=kind)


def test_files_of_one_folder_are_found(tmp_path: Path) -> None:
    resolver, column = outside(tmp_path)
    only = table(column)
    found = resolver.stated_files(only, "c1", FILES, [None, 2])
    assert found is not None
    assert (found.root, found.folders, found.names) == (0, ("lobs", "seg_0"), ["1.bin", "2.bin"])
    assert [each[0] for each in found.statuses] == [1, 2]


@pytest.mark.parametrize(
    ("kind", "lengths", "is_found"),
    [
        ("BLOB", [1, 2], True),
        ("BLOB", [None, None], True),
        ("BLOB", [None, 3], False),
        ("BLOB", [2, 1], False),
        ("CLOB", [1, 1], False),  # one character may take two bytes
        ("CLOB", [1, 2], True),
    ],
)
def test_lengths_are_the_sizes(kind: str, lengths: list[int | None], is_found: bool, tmp_path: Path) -> None:
    resolver, column = outside(tmp_path, kind=kind)
    assert (resolver.stated_files(table(column), "c1", FILES, lengths) is not None) is is_found


@pytest.mark.parametrize(("size", "is_small"), [(SMALL, True), (SMALL + 1, False)])
def test_small_ones_have_a_size_at_most(size: int, is_small: bool, tmp_path: Path) -> None:
    resolver, column = outside(tmp_path)
    with (tmp_path / "lobs" / FILES[1]).open("wb") as file:
        file.truncate(size)
    found = resolver.stated_files(table(column), "c1", FILES, [1, size])
    assert (found is not None) is is_small


@pytest.mark.parametrize("files", [("seg_0/1.bin", "seg_0/3.bin"), ("seg_0/1.bin", "2.bin")])
def test_one_that_is_elsewhere_parts_them(files: Sequence[str], tmp_path: Path) -> None:
    resolver, column = outside(tmp_path)
    assert resolver.stated_files(table(column), "c1", files, [None, None]) is None


@pytest.mark.parametrize("lob_folder", [None, " lobs/", "../x/", "lobs%5C/"])
def test_what_is_not_stated_outside_as_it_stands_is_looked_for_separately(
    lob_folder: str | None, tmp_path: Path
) -> None:
    resolver, column = outside(tmp_path, lob_folder=lob_folder)
    assert resolver.stated_files(table(column), "c1", FILES, [1, 2]) is None


@pytest.mark.parametrize("scheme", ["", "file://"])
def test_what_is_an_error_by_the_statement_is_looked_for_separately(scheme: str, tmp_path: Path) -> None:
    root = put(tmp_path, {f"lobs/{each}": b"1" for each in FILES})
    resolver = Resolver(None, [root], siard_name="x.siard", lob_folder="./a/")
    column = field(lob_folder=f"{scheme}{root}/lobs/")
    assert resolver.stated_files(table(column), "c1", FILES, [1, 1]) is None


@pytest.mark.parametrize("beside", ["lobs/seg_0.zip", "lobs.zip"])
def test_a_packed_segment_beside_them_may_be_meant(beside: str, tmp_path: Path) -> None:
    resolver, column = outside(tmp_path)
    with zipfile.ZipFile(tmp_path / beside, "w") as file:
        file.writestr("1.bin", b"x")
    assert resolver.stated_files(table(column), "c1", FILES, [1, 2]) is None


@pytest.mark.parametrize(("suffix", "is_first"), [*((each, True) for each in FIRST_SUFFIXES), (".7", False)])
def test_a_first_part_beside_them_may_be_meant(suffix: str, is_first: bool, tmp_path: Path) -> None:
    resolver, column = outside(tmp_path)
    put(tmp_path, {f"lobs/{FILES[1]}{suffix}": b"2"})
    resolver, _ = outside(tmp_path)
    assert (resolver.stated_files(table(column), "c1", FILES, [1, 2]) is None) is is_first


def test_a_mapping_gives_them_another_place(tmp_path: Path) -> None:
    outside(tmp_path)
    (tmp_path / "mapping.txt").write_text("lobs/seg_0/ ./store/\n", encoding="utf-8")
    mapped = read_mapping(tmp_path / "mapping.txt")
    resolver = Resolver(None, [tmp_path], siard_name="x.siard", mapping=mapped)
    column = field(lob_folder="lobs/")
    assert resolver.stated_files(table(column), "c1", FILES, [1, 2]) is None
    put(tmp_path, {"lobs/seg_1/3.bin": b"3"})
    assert resolver.stated_files(table(column), "c1", ["seg_1/3.bin"], [1]) is not None


# --- Entries that are named in full ---------------------------------------------------------------------


class Together(Entries):
    """Entries that are found together as well."""

    def columns(self, names: Sequence[str]) -> ExtentColumns | None:
        if not all(each in self.entries for each in names):
            return None
        return [len(self.entries[each]) for each in names], [list(names)]


def cells(files: Sequence[str], lengths: Sequence[int] = ()) -> CellRun:
    numbers = range(len(files))
    return CellRun(
        schema=0,
        table=2,
        cell="c1",
        algorithm=None,
        rows=numbers,
        files=files,
        lengths=list(lengths),
        digests=(),
        starts=numbers,
    )


@tabled
def test_entries_that_are_named_in_full_are_found(
    lengths: list[int], big: int, found: bool, tmp_path: Path
) -> None:
    tree = Together({"content/a.bin": b"1", "content/b.bin": bytes(big)})
    resolver = Resolver(tree, [tmp_path], siard_name="x.siard")
    run = cells(list(tree.entries), lengths)
    columns = resolver.named_in_full(table(field()), run)
    assert columns == (([1, big], [list(tree.entries)]) if found else None)


def test_others_are_looked_for_separately(tmp_path: Path) -> None:
    tree = Together({"content/a.bin": b"1", "content/a%20b.bin": b"1"})
    resolver = Resolver(tree, [tmp_path], siard_name="x.siard")
    for number, (column, files) in enumerate(
        (
            (field(), ["content/other.bin"]),
            (field(), ["content/a%20b.bin"]),
            (field(lob_folder="lobs/"), ["content/a.bin"]),
        )
    ):
        assert resolver.named_in_full(table(column, number=number), cells(files)) is None
    rootless = Resolver(None, [tmp_path], siard_name="x.siard")
    assert rootless.named_in_full(table(field()), cells(["content/a.bin"])) is None


def test_a_run_is_of_one_convention_or_of_those_of_its_entries(tmp_path: Path) -> None:
    resolver = Resolver(None, [tmp_path], siard_name="x.siard", lob_folder="content")
    assert [*resolver.conventions(table(field()), "c1", ["a.bin", "b.bin"])] == [C, C]


# --- SIARD 1.0, and more granted folders ----------------------------------------------------------------


def test_a_folder_that_is_apart_is_looked_into(tmp_path: Path) -> None:
    root = put(tmp_path, {"one/lobs/seg_0/1.bin": b"1", "two/2.bin": b"22"})
    resolver = Resolver(
        None,
        [root / "one", root / "two"],
        siard_name="x.siard",
        divided={("lobs", "seg_1"): Spot(root=1, path=())},
    )
    (extent,) = resolver.resolved(table(field(lob_folder="lobs/")), cell("seg_1/2.bin")).extents
    assert extent.size == 2
