"""Sizes of the IPs to hand over: exact after a build, and estimated before it."""

from __future__ import annotations

import zipfile
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import pytest

from metspack.building.build import BuildOptions, Built, build
from metspack.building.convert import convert_package
from metspack.building.draft import draft_plan
from metspack.building.inplace import Described, describe_in_place
from metspack.digests import is_manifest
from metspack.limits import Limits
from metspack.sizes import HandedOver
from tests import segmented_folders, siards
from tests.killing import stop_after
from tests.tables import tabled

OPTIONS = BuildOptions(created="2020-01-01T00:00:00Z")
DEVIATION = 0.15


def size(path: Path) -> int:
    """Return the bytes of a file, or of all files in a folder."""
    return sum(each.stat().st_size for each in (path, *path.rglob("*")) if each.is_file())


def on_disk(package: Path, children: Iterable[str]) -> dict[str, int]:
    """Return the sizes of all IPs of a package by their paths: what is in no other is the parent's."""
    tops = [each.name for each in package.iterdir() if not is_manifest(each.name)]
    if "mets.xml" not in tops:
        return {each: size(package / each) for each in tops}
    further = [each for each in tops if "_parent_" in each]
    sizes = {each: size(package / each) for each in (*children, *further)}
    return {**sizes, ".": size(package) - sum(sizes.values())}


def exact(built: Built | Described, package: Path) -> HandedOver:
    """Return what a build said of the sizes, which are those on disk."""
    made = built.handed_over
    assert made is not None
    sizes = on_disk(package, [child.path for child in built.children])
    assert made.parent_bytes == sizes.pop(made.parent_path)
    assert made.bytes == max(sizes.values()) == sizes[made.path]
    return made


def source(folder: Path, *, lobs: int = 400, each: int = 700) -> Path:
    """Write an archive with LOBs of many sizes, from 0 to twice ``each`` bytes."""
    contents = (bytes([number % 251]) * (number * 37 % (2 * each)) for number in range(lobs))
    return siards.siard(folder / "Archive.siard", *contents)


@pytest.mark.slow
@tabled
def test_a_plan_fits_builds(each: int, dialect: str, pack: str | None, layout: str, tmp_path: Path) -> None:
    options = replace(OPTIONS, dialect=dialect, pack=pack, layout=layout, limits=Limits(files=150))
    archive = source(tmp_path, lobs=400, each=each)
    planned = draft_plan(archive, options).handed_over
    made = exact(build(archive, tmp_path / "out", options), tmp_path / "out")
    assert planned.is_estimated > made.is_estimated
    assert planned.bytes == pytest.approx(made.bytes, rel=DEVIATION)
    assert planned.parent_bytes == pytest.approx(made.parent_bytes, rel=DEVIATION)


def test_a_resumed_build_counts_earlier_segments(northwind_full: Path, tmp_path: Path) -> None:
    options = replace(OPTIONS, limits=Limits(files=12))
    stop_after(2, lambda: build(northwind_full, tmp_path / "out", options))
    exact(build(northwind_full, tmp_path / "out", options), tmp_path / "out")


@pytest.mark.slow
@pytest.mark.parametrize("dialect", ["recommendation", "csip"])
def test_a_converted_package(dialect: str, northwind_full: Path, tmp_path: Path) -> None:
    build(northwind_full, tmp_path / "first", replace(OPTIONS, pack="zip", limits=Limits(files=3)))
    options = replace(OPTIONS, dialect=dialect, limits=Limits(files=9))
    exact(convert_package(tmp_path / "first", tmp_path / "out", options), tmp_path / "out")


@pytest.mark.parametrize("is_unpacked", [False, True])
def test_a_folder_described_where_it_stands(northwind: Path, tmp_path: Path, *, is_unpacked: bool) -> None:
    folder = segmented_folders.dbptk_21(tmp_path / "N", segmented_folders.pictures(northwind))
    if is_unpacked:
        (archive,) = folder.glob("*.siard")
        archive.rename(tmp_path / "packed")
        with zipfile.ZipFile(tmp_path / "packed") as packed:
            packed.extractall(archive)
    exact(describe_in_place(folder, OPTIONS), folder)


@tabled
def test_the_largest_stands_first(sizes: tuple[str, int, int], words: str) -> None:
    path, child, parent = sizes
    built = HandedOver(path=path, bytes=child, parent_path=".", parent_bytes=parent)
    assert built.sentence() == f"Largest to hand over: {words}"
    shown = built.document()
    assert shown["parent"] == {"path": ".", "bytes": parent}
    assert shown["largest"] == shown["largest_child" if child > parent else "parent"]
    planned = replace(built, is_estimated=True).sentence()
    assert planned.startswith("Largest to hand over (estimated): ")
    assert planned.count(" about ") == built.sentence().count("byte")
