"""The LOBs of packages are found by the rules of other readers, where the style is theirs."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

from metspack.building import build
from metspack.building.build import BuildOptions
from metspack.building.convert import convert_package
from metspack.checking import Checking
from metspack.checking.options import CheckOptions, Level
from metspack.layouts import LAYOUTS
from metspack.layouts.names import FolderStyle
from metspack.layouts.readers import readership_on_disk
from metspack.limits import Limits
from metspack.mets.dialects.interface import Software
from metspack.planning.division import Split
from metspack.restoring.files import RestoreOptions
from metspack.restoring.siard import Into, restore_archive
from tests.interop import readers
from tests.laws import THOROUGH, spread
from tests.shared_data import shared

pytestmark = pytest.mark.slow

OPTIONS = BuildOptions(
    created="2020-01-01T00:00:00Z",
    software=Software(name="metspack", version="metspack 0"),
    limits=Limits(files=700),
)
SAKILA_21, SAKILA_22 = ("siard", "sfdbsakila-2.1.siard"), ("siard", "sfdbsakila-2.2.siard")
DATALINK, SQL2008 = ("siard", "sample-datalink-2.2.siard"), ("siard", "sql2008", "sql2008.siard")
DBPTK, SUITE = (FolderStyle.DBPTK, readers.dbptk), (FolderStyle.SFA, readers.siard_api)
_NAMES = {FolderStyle.DBPTK: "DBPTK", FolderStyle.SFA: "SIARD Suite"}
_ALWAYS = {(SAKILA_22, "siard22", DBPTK)}


@cache
def source_digests(source: Path, look: readers.Look) -> dict[str, str | None]:
    """Return what the reader finds in the source itself, where it must find all."""
    expected = readers.digests(source, look)
    assert expected
    assert None not in expected.values()
    return expected


def siard_of(package: Path) -> Path:
    return next(package.glob("*.siard"))


WAYS = [
    (parts, layout, *way)
    for parts in (SAKILA_21, SAKILA_22, DATALINK, SQL2008)
    for layout in LAYOUTS
    for way in (DBPTK, SUITE)
    if THOROUGH or parts in {DATALINK, SQL2008} or (parts, layout, way) in _ALWAYS
]
"""Archives of thousands of LOBs are tried in some ways, in all with METSPACK_THOROUGH."""


@pytest.mark.parametrize(
    ("parts", "layout", "style", "look"),
    spread(WAYS, 2),
    ids=[f"{parts[-1]}-{layout}-{style.value}" for parts, layout, style, _look in spread(WAYS, 2)],
)
def test_every_lob_is_found_in_the_readers_style_or_reported_as_missed(
    parts: tuple[str, ...], layout: str, style: FolderStyle, look: readers.Look, tmp_path: Path
) -> None:
    source = shared("data", *parts)
    expected = source_digests(source, readers.siard_api)
    built = build.build(source, tmp_path / "out", replace(OPTIONS, layout=layout, lob_folder_style=style))
    found = readers.digests(siard_of(tmp_path / "out"), look)
    assert found.keys() == expected.keys()
    missed = {cell for cell, digest in found.items() if digest is None}
    assert {cell: found[cell] for cell in found.keys() - missed} == {
        cell: expected[cell] for cell in expected.keys() - missed
    }
    assert built.readers is not None
    (verdict,) = (each for each in built.readers.verdicts if each.reader == _NAMES[style])
    assert verdict.finds
    assert bool(missed) == bool(verdict.misses), verdict
    assert not missed or style is FolderStyle.DBPTK


@pytest.mark.parametrize(("style", "look"), [DBPTK, SUITE], ids=["dbptk", "suite"])
def test_every_lob_is_found_after_conversion_and_beside_a_restored_archive(
    style: FolderStyle, look: readers.Look, northwind_full: Path, tmp_path: Path
) -> None:
    expected = readers.digests(northwind_full, look)
    found = {cell for cell, digest in expected.items() if digest is not None}
    assert found
    build.build(northwind_full, tmp_path / "first", OPTIONS)
    options = replace(OPTIONS, layout="siard22", lob_folder_style=style)
    convert_package(tmp_path / "first", tmp_path / "second", options)
    restore_archive(
        tmp_path / "second", tmp_path / "folder", Into.FOLDER, RestoreOptions(lob_folder_style=style)
    )
    for folder in ("second", "folder"):
        again = readers.digests(siard_of(tmp_path / folder), look)
        assert {cell: again[cell] for cell in found} == {cell: expected[cell] for cell in found}


def test_dbptk_joins_parts_of_the_layout_of_siard_2_2(tmp_path: Path) -> None:
    source = shared("data", *SAKILA_22)
    expected = source_digests(source, readers.dbptk)
    options = replace(
        OPTIONS,
        layout="siard22",
        lob_folder_style=FolderStyle.DBPTK,
        limits=Limits(files=700, bytes=20_000),
        split=Split.FILL,
    )
    assert build.build(source, tmp_path / "out", options).split == 1
    assert readers.digests(siard_of(tmp_path / "out"), readers.dbptk) == expected


FOR = {"dbptk": readers.dbptk, "siard-suite": readers.siard_api}
RESOLVED = [
    (parts, key, layout)
    for parts in (SAKILA_21, SAKILA_22, SQL2008)
    for key in FOR
    for layout in (None, *LAYOUTS)
    if THOROUGH or (parts == SQL2008 and layout is None and key == "siard-suite")
]


@pytest.mark.parametrize(("parts", "key", "layout"), RESOLVED)
def test_the_reader_that_a_package_is_for_finds_its_lobs_and_the_check_says_so(
    parts: tuple[str, ...], key: str, layout: str | None, tmp_path: Path
) -> None:
    source = shared("data", *parts)
    expected = source_digests(source, readers.siard_api)
    options = replace(OPTIONS, layout=layout, reader=key, limits=Limits(files=700, bytes=20_000))
    built = build.build(source, tmp_path / "out", options)
    found = readers.digests(siard_of(tmp_path / "out"), FOR[key])
    missed = {cell for cell, digest in found.items() if digest is None}
    assert {cell: found[cell] for cell in found.keys() - missed} == {
        cell: expected[cell] for cell in expected.keys() - missed
    }
    assert bool(missed) == any(f"(--for {key})" in each for each in built.warnings)
    checking = Checking(tmp_path / "out", CheckOptions(level=Level.STRUCTURE).looking())
    list(checking)
    (archive,) = checking.summary.routes
    verdicts = {each.reader: each for each in readership_on_disk(archive).verdicts}
    assert built.readers is not None
    for each in built.readers.verdicts:
        assert (verdicts[each.reader].finds, set(verdicts[each.reader].misses)) == (
            each.finds,
            set(each.misses),
        )
