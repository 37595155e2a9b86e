"""A package divided anew, and back again: the first package is restored byte for byte."""

from __future__ import annotations

import zipfile
from collections.abc import Iterator
from dataclasses import replace
from itertools import product
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

from metspack import checking
from metspack.building import build
from metspack.building.build import BuildOptions
from metspack.building.convert import convert_package
from metspack.errors import ConfigError, SourceError, TargetError
from metspack.layouts import FolderStyle
from metspack.limits import Limits
from metspack.model import Severity
from metspack.planning.division import Split
from metspack.sources.archive import Archive, Grants
from metspack.sources.lobstream import OpenSources
from tests import segmented_folders, siards
from tests.conftest import CHECKOUT
from tests.laws import law, spread
from tests.packages import forge
from tests.planning.lobruns import lobs_of
from tests.restoring import splitting
from tests.shared_data import shared
from tests.trees import names, tree

SAMPLES = CHECKOUT / "samples" / "northwind"
OPTIONS = BuildOptions(created="2020-01-01T00:00:00Z", limits=Limits(files=3))
OTHER = replace(OPTIONS, layout="siard22", limits=Limits(files=2, bytes=5_000), split=Split.SEPARATE)


def errors(package: Path) -> list[str]:
    return [
        f"{each.code} {each.message}" for each in checking.check(package) if each.severity is Severity.ERROR
    ]


def contents(siard: Path) -> Iterator[tuple[str, bytes]]:
    with Archive(siard) as archive:
        found = list(lobs_of(archive))
        with OpenSources(archive.byte_sources()) as shelf:
            for lob in found:
                yield lob.place.id, b"".join(b"".join(shelf.contents(each, "")) for each in lob.extents)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("parts", "style"),
    spread(
        [
            *product(
                (("sample", "Northwind-full.siard"), ("siard", "sql2008", "sql2008.siard")), FolderStyle
            ),
            # SIARD 1.0 has no form for DBPTK.
            *((("northwind", "Northwind.siard"), each) for each in FolderStyle if each != FolderStyle.DBPTK),
        ],
        3,
    ),
    ids=lambda each: each.value if isinstance(each, FolderStyle) else "-".join(each),
)
def test_there_and_back_is_the_first(parts: tuple[str, ...], style: FolderStyle, tmp_path: Path) -> None:
    source = SAMPLES / parts[1] if parts[0] == "sample" else shared("data", *parts)
    with Archive(source) as archive:
        largest = max(lob.size for lob in lobs_of(archive))
    first = replace(OPTIONS, limits=Limits(files=3, bytes=largest // 2))
    build.build(source, tmp_path / "first", first)
    second = replace(OTHER, limits=Limits(files=2, bytes=largest // 4), lob_folder_style=style)
    other = convert_package(tmp_path / "first", tmp_path / "other", second)
    assert not errors(tmp_path / "other")
    assert list(contents(tmp_path / "other" / f"{other.name}.siard")) == list(contents(source))
    back = convert_package(tmp_path / "other", tmp_path / "back", first)
    assert (back.objid, back.name, back.files) == (other.objid, other.name, other.files)
    assert tree(tmp_path / "back") == tree(tmp_path / "first")


BYTES = st.none() | st.integers(20, 300)


def segmented(*layouts: str) -> st.SearchStrategy[BuildOptions]:
    return st.builds(
        lambda layout, files, size, split, style: replace(
            OPTIONS,
            layout=layout,
            limits=Limits(files=files, bytes=size),
            split=split,
            lob_folder_style=style,
        ),
        st.sampled_from(layouts),
        st.none() | st.integers(1, 4),
        BYTES,
        st.sampled_from([Split.FILL, Split.SEPARATE]),
        st.sampled_from(list(FolderStyle)),
    )


@pytest.mark.slow
@given(
    data=st.lists(st.binary(max_size=200), min_size=1, max_size=6),
    first=segmented("lobseg", "siard22"),
    second=segmented("lobseg", "siard22"),
)
@law(5, HealthCheck.function_scoped_fixture)
def test_any_way_of_dividing_leads_back_to_any_other(
    tmp_path_factory: pytest.TempPathFactory, data: list[bytes], first: BuildOptions, second: BuildOptions
) -> None:
    folder = tmp_path_factory.mktemp("law")
    source = siards.siard(folder / "Small.siard", *data)
    build.build(source, folder / "first", first)
    convert_package(folder / "first", folder / "second", second)
    build.build(source, folder / "direct", second)
    assert tree(folder / "second") == tree(folder / "direct")
    convert_package(folder / "second", folder / "back", first)
    assert tree(folder / "back") == tree(folder / "first")


@pytest.mark.slow
def test_what_stayed_inside_stays_with_the_same_option(northwind_full: Path, tmp_path: Path) -> None:
    first = replace(OPTIONS, min_size=1_000)
    kept = build.build(northwind_full, tmp_path / "first", first).kept
    other = convert_package(tmp_path / "first", tmp_path / "other", replace(OTHER, min_size=1_000))
    assert other.kept == kept > 0
    convert_package(tmp_path / "other", tmp_path / "back", first)
    assert tree(tmp_path / "back") == tree(tmp_path / "first")
    assert convert_package(tmp_path / "first", tmp_path / "all", OTHER).files == 46


@pytest.mark.slow
def test_name_and_objid_are_kept_unless_others_are_given(northwind: Path, tmp_path: Path) -> None:
    build.build(northwind, tmp_path / "first", replace(OPTIONS, name="Named", objid="urn:x:1"))
    kept = convert_package(tmp_path / "first", tmp_path / "kept", OTHER)
    assert (kept.name, kept.objid) == ("Named", "urn:x:1")
    given_ = convert_package(
        tmp_path / "first", tmp_path / "given", replace(OTHER, name="New", objid="urn:x:2")
    )
    assert (given_.name, given_.objid) == ("New", "urn:x:2")


@pytest.mark.slow
def test_a_package_without_an_archive_is_divided_anew(northwind_full: Path, tmp_path: Path) -> None:
    with zipfile.ZipFile(northwind_full) as archive:
        for name in archive.namelist():
            if "/lob" in name:
                archive.extract(name, tmp_path / "loose")
    first = replace(OPTIONS, name="Loose")
    built = build.build(tmp_path / "loose", tmp_path / "first", first)
    other = convert_package(tmp_path / "first", tmp_path / "other", OTHER)
    assert (other.name, other.objid, other.files) == ("Loose", built.objid, built.files)
    convert_package(tmp_path / "other", tmp_path / "back", first)
    assert tree(tmp_path / "back") == tree(tmp_path / "first")


@pytest.mark.parametrize("kind", ["2.1", "2.2"])
def test_what_dbptk_writes_is_made_a_package(kind: str, northwind: Path, tmp_path: Path) -> None:
    pictures = segmented_folders.pictures(northwind)
    made = segmented_folders.dbptk_21 if kind == "2.1" else segmented_folders.dbptk_22
    folder = made(tmp_path / "folder", pictures)
    before = tree(folder)
    built = convert_package(folder, tmp_path / "package", OPTIONS)
    assert (built.name, built.files, built.layout) == ("x", len(pictures), "lobseg")
    assert not errors(tmp_path / "package")
    convert_package(tmp_path / "package", tmp_path / "siard22", replace(OTHER, limits=Limits()))
    assert [data for _, data in contents(tmp_path / "siard22" / "x.siard")] == pictures
    assert tree(folder) == before


# What is wrong with a package


def refused(tmp_path: Path, root: Path, options: BuildOptions = OTHER) -> str:
    with pytest.raises(SourceError) as refusal:
        convert_package(root, tmp_path / "new", options)
    assert refusal.value.hint
    assert names(tmp_path) == {root.name}
    return " ".join((refusal.value.message, *refusal.value.details))


def test_lobs_that_no_cell_names_are_left_out_and_reported(tmp_path: Path) -> None:
    root = splitting.forged(tmp_path / "package")
    cells = [forge.Lob(lob.segment, lob.row, lob.data, lob.extension) for lob in splitting.LOBS[:1]]
    archive = forge.siard(forge.table(cells, "Northwind"), rows=len(cells))
    digest = forge.md5((root / "Northwind.siard").read_bytes())
    (root / "Northwind.siard").write_bytes(archive)
    forge.edit(root / "mets.xml", digest, forge.md5(archive))
    built = convert_package(root, tmp_path / "new", OTHER)
    assert built.files == 1
    assert "2 LOBs that METS lists and no cell names: left out" in built.warnings


@pytest.mark.parametrize("holds", [(), ("A.siard", "B.siard"), ("A.SIARD", "B.Siard")])
def test_a_folder_that_is_no_package(holds: tuple[str, ...], tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    for name in holds:
        siards.siard(folder / name, b"x")
    assert refused(tmp_path, folder).startswith(f"{folder} holds no mets.xml, and {len(holds)} .siard files")


def test_a_package_without_its_parent_mets_is_not_taken_for_a_folder(tmp_path: Path) -> None:
    root = tmp_path / "package"
    siards.siard(tmp_path / "Small.siard", b"one", b"two")
    build.build(tmp_path / "Small.siard", root, OPTIONS)
    (tmp_path / "Small.siard").unlink()
    (root / "mets.xml").unlink()
    missing = "the parent METS is missing"
    (child,) = root.glob("*/mets.xml")
    words = refused(tmp_path, root)
    assert words.startswith(f"{root} holds no mets.xml, but {root}/manifest-")
    assert words.endswith(f"which lists {child.relative_to(root)}: {missing}")
    for manifest in root.glob("manifest-*.txt"):
        lines = manifest.read_bytes().split(b"\n")
        manifest.write_bytes(b"\n".join(line for line in lines if b"mets" not in line))
    assert refused(tmp_path, root) == f"{root} holds no mets.xml, but {child}: {missing}"
    child.unlink()
    assert convert_package(root, tmp_path / "new", OTHER).files == 2


def test_a_target_in_the_package_or_in_the_way(tmp_path: Path) -> None:
    root = splitting.forged(tmp_path / "package")
    before = tree(tmp_path)
    for target in (root / "new", root):
        with pytest.raises(ConfigError, match="lies inside the package"):
            convert_package(root, target, OTHER)
    (tmp_path / "new").mkdir()
    with pytest.raises(TargetError, match="exists already"):
        convert_package(root, tmp_path / "new", OTHER)
    (tmp_path / "new").rmdir()
    assert tree(tmp_path) == before


def test_folders_are_granted_only_without_mets(tmp_path: Path) -> None:
    root = splitting.forged(tmp_path / "package")
    granted = replace(OTHER, grants=Grants(lob_roots=(tmp_path,)))
    with pytest.raises(ConfigError, match="no other folder can be granted"):
        convert_package(root, tmp_path / "new", granted)
