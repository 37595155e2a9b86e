"""The LOBs of packages are found by the rules of other readers, where the style is theirs."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from metspack.building import build
from metspack.building.build import BuildOptions
from metspack.building.convert import convert_package
from metspack.layouts import LAYOUTS
from metspack.layouts.folders import FolderStyle
from metspack.mets.dialects.interface import Software
from metspack.model import Limits
from metspack.planning.division import Split
from metspack.restoring.files import RestoreOptions
from metspack.restoring.siard import Into, restore_archive
from tests.interop import readers
from tests.laws import THOROUGH
from tests.shared_data import shared

OPTIONS = BuildOptions(
    created="2020-01-01T00:00:00Z",
    software=Software(name="metspack", version="metspack 0"),
    limits=Limits(files=700),
)
SAKILA_21, SAKILA_22 = ("siard", "sfdbsakila-2.1.siard"), ("siard", "sfdbsakila-2.2.siard")
DATALINK, SQL2008 = ("siard", "sample-datalink-2.2.siard"), ("siard", "sql2008", "sql2008.siard")
DBPTK, SUITE = (FolderStyle.DBPTK, readers.dbptk), (FolderStyle.SFA, readers.siard_api)
_ALWAYS = {(SAKILA_21, "lobseg", DBPTK), (SAKILA_22, "siard22", DBPTK), (SAKILA_22, "lobseg", SUITE)}


def source_digests(source: Path, look: readers.Look) -> dict[str, str | None]:
    """Return what the reader finds in the source itself, where it must find all."""
    known = readers.digests(source, look)
    assert known
    assert None not in known.values()
    return known


def siard_of(package: Path) -> Path:
    return next(package.glob("*.siard"))


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize(("style", "look"), [DBPTK, SUITE], ids=["dbptk", "suite"])
@pytest.mark.parametrize("parts", [SAKILA_21, SAKILA_22, DATALINK, SQL2008], ids=lambda parts: parts[-1])
def test_every_lob_is_found_in_the_readers_style(
    parts: tuple[str, ...], style: FolderStyle, look: readers.Look, layout: str, tmp_path: Path
) -> None:
    if parts in {DATALINK, SQL2008} and style is FolderStyle.DBPTK:
        pytest.skip("DBPTK does not read LOBs in fields")
    if parts in {SAKILA_21, SAKILA_22} and not THOROUGH and (parts, layout, (style, look)) not in _ALWAYS:
        pytest.skip("thousands of LOBs are tried in some ways, in all with METSPACK_THOROUGH")
    source = shared("data", *parts)
    known = source_digests(source, look)
    build.build(source, tmp_path / "out", replace(OPTIONS, layout=layout, lob_folder_style=style))
    assert readers.digests(siard_of(tmp_path / "out"), look) == known


@pytest.mark.parametrize(("style", "look"), [DBPTK, SUITE], ids=["dbptk", "suite"])
def test_every_lob_is_found_after_conversion_and_beside_a_restored_archive(
    style: FolderStyle, look: readers.Look, northwind_full: Path, tmp_path: Path
) -> None:
    known = readers.digests(northwind_full, look)
    found = {cell for cell, digest in known.items() if digest is not None}
    assert found
    build.build(northwind_full, tmp_path / "first", OPTIONS)
    options = replace(OPTIONS, layout="siard22", lob_folder_style=style)
    convert_package(tmp_path / "first", tmp_path / "second", options)
    restore_archive(
        tmp_path / "second", tmp_path / "folder", Into.FOLDER, RestoreOptions(lob_folder_style=style)
    )
    for folder in ("second", "folder"):
        again = readers.digests(siard_of(tmp_path / folder), look)
        assert {cell: again[cell] for cell in found} == {cell: known[cell] for cell in found}


def test_dbptk_joins_parts_of_the_layout_of_siard_2_2(tmp_path: Path) -> None:
    source = shared("data", *SAKILA_22)
    known = source_digests(source, readers.dbptk)
    options = replace(
        OPTIONS,
        layout="siard22",
        lob_folder_style=FolderStyle.DBPTK,
        limits=Limits(files=700, bytes=20_000),
        split=Split.FILL,
    )
    assert build.build(source, tmp_path / "out", options).split == 1
    assert readers.digests(siard_of(tmp_path / "out"), readers.dbptk) == known
