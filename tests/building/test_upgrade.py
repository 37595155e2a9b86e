"""Archives of SIARD 1.0 become packages with one of 2.2: valid, with all rows and LOBs; or are refused."""

from __future__ import annotations

import hashlib
import io
import posixpath
import re
import zipfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest
from lxml import etree

from metspack import api
from metspack.building.build import BuildOptions, build
from metspack.building.convert import convert_package
from metspack.building.draft import draft_plan
from metspack.checking import CheckSummary, check
from metspack.errors import ConfigError, SourceError
from metspack.limits import Limits
from metspack.restoring.siard import restore_archive
from tests import siards
from tests.shared_data import shared
from tests.siard import old_archives
from tests.siard.old_archives import TABLE_XML, entries
from tests.trees import put

OPTIONS = BuildOptions(
    created="2020-01-01T00:00:00Z",
    limits=Limits(files=2),
    siard_version="2.2",
)
AS_IT_IS = replace(OPTIONS, siard_version=None)
Row = tuple[tuple[str, str], ...]


def old(path: Path, **changed: str) -> Path:
    return siards.packed(path, entries(**changed))


def northwind() -> Path:
    return shared("data", "northwind", "Northwind.siard")


def local(element: Any) -> str:  # comments have a function as their tag, which the stubs do not know
    return etree.QName(element).localname if isinstance(element.tag, str) else ""


def texts(element: etree._Element, name: str) -> str:
    return next((each.text or "" for each in element if local(each) == name), "")


def below(element: etree._Element, *names: str) -> list[etree._Element]:
    found = [element]
    for name in names:
        found = [each for above in found for each in above if local(each) == name]
    return found


def database(siard: Path) -> dict[str, list[Row]]:
    """Return the rows of all tables, with LOBs as digests, read without metspack."""
    with zipfile.ZipFile(siard) as archive:
        root = etree.fromstring(archive.read("header/metadata.xml"))
        return {
            f"{texts(schema, 'name')}.{texts(table, 'name')}": list(rows(archive, siard, root, schema, table))
            for schema in below(root, "schemas", "schema")
            for table in below(schema, "tables", "table")
        }


def rows(
    archive: zipfile.ZipFile,
    siard: Path,
    root: etree._Element,
    schema: etree._Element,
    table: etree._Element,
) -> Iterator[Row]:
    folder = f"content/{texts(schema, 'folder')}/{texts(table, 'folder')}"
    columns = below(table, "columns", "column")
    document = etree.fromstring(archive.read(f"{folder}/{texts(table, 'folder')}.xml"))
    for row in below(document, "row"):
        cells = []
        for cell in row:
            value = cell.text or ""
            if (file := cell.get("file")) is not None:
                column = columns[int(local(cell)[1:]) - 1]
                above = texts(root, "lobFolder") + texts(column, "lobFolder")
                outside = siard.parent / posixpath.normpath(above + unquote(file))
                if above and outside.is_file():
                    data = outside.read_bytes()
                elif file in archive.namelist():
                    data = archive.read(file)
                else:
                    data = archive.read(f"{folder}/{texts(column, 'folder')}/{file}")
                value = hashlib.sha256(data).hexdigest()
            cells.append((local(cell), value))
        yield tuple(cells)


def check_valid(siard: Path) -> None:
    """Hold metadata and tables against the official schema and those in the archive."""
    with zipfile.ZipFile(siard) as archive:
        names = archive.namelist()
        root = etree.fromstring(archive.read("header/metadata.xml"))
        official = etree.parse(shared("data", "xsd", "siard-2.2-metadata.xsd"))
        for schema in (official, etree.parse(io.BytesIO(archive.read("header/metadata.xsd")))):
            etree.XMLSchema(schema).assertValid(root)
        assert "header/siardversion/2.2/" in names
        for name in names:
            if re.fullmatch(r"content/\w+/(\w+)/\1\.xml", name):
                own = etree.XMLSchema(etree.fromstring(archive.read(f"{name.removesuffix('xml')}xsd")))
                own.assertValid(etree.fromstring(archive.read(name)))
        [seal] = below(root, "messageDigest")
        first = min(each.header_offset for each in archive.infolist() if each.filename.startswith("header/"))
        digest = hashlib.md5(siard.read_bytes()[:first], usedforsecurity=False).hexdigest()
        assert texts(seal, "digest").lower() == digest


def checked(package: Path) -> CheckSummary:
    checking = check(package)
    # Cells without a digest, and a messageDigest that is made up.
    assert {each.code for each in checking} <= {"Z021", "Z051"}
    return checking.summary


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "layout"), [("old", "siard22"), ("northwind", "lobseg")])
def test_an_upgraded_archive_is_valid_with_every_row_and_lob(tmp_path: Path, kind: str, layout: str) -> None:
    given = old(tmp_path / "old.siard") if kind == "old" else northwind()
    built = build(given, tmp_path / "out", replace(OPTIONS, layout=layout))
    siard = tmp_path / "out" / f"{given.stem}.siard"
    check_valid(siard)
    assert database(siard) == database(given)
    assert built.unopened == checked(tmp_path / "out").unopened == ()
    restore_archive(tmp_path / "out", tmp_path / "whole.siard")
    check_valid(tmp_path / "whole.siard")
    assert database(tmp_path / "whole.siard") == database(given)


@pytest.mark.parametrize("min_size", [6, 100_000])
def test_lobs_that_stay_inside_are_named_as_2_2_names_them(tmp_path: Path, min_size: int) -> None:
    given = old(tmp_path / "old.siard")
    build(given, tmp_path / "out", replace(OPTIONS, min_size=min_size))
    check_valid(tmp_path / "out" / "old.siard")
    assert database(tmp_path / "out" / "old.siard") == database(given)
    checked(tmp_path / "out")


def test_unpacked_and_wrapped_archives_are_upgraded_too(tmp_path: Path) -> None:
    given = old(tmp_path / "old.siard")
    with zipfile.ZipFile(given) as archive:
        archive.extractall(tmp_path / "unpacked")
        wrapped = {f"around/{name}": archive.read(name) for name in archive.namelist()}
    siards.packed(tmp_path / "wrapped.siard", wrapped | {"beside.txt": b""})
    for name in ("unpacked", "wrapped.siard"):
        built = build(tmp_path / name, tmp_path / f"{name}-out", OPTIONS)
        siard = next((tmp_path / f"{name}-out").glob("*.siard"))
        check_valid(siard)
        assert database(siard) == database(given)
        beside = "and so is what lies beside it: 1 entry, the first beside.txt"
        warning = f"the folder around/ around the archive's entries is left out, {beside}"
        assert (warning in built.warnings) == (name == "wrapped.siard")


def test_what_is_missing_is_made_and_another_version_folder_goes(tmp_path: Path) -> None:
    given = {
        name: data
        for name, data in entries().items()
        if not name.endswith((".xsd", ".xsl")) and name != "header/"
    }
    given |= {"header/siardversion/1.0/": b"", "header/siardversion/": b""}
    siards.packed(tmp_path / "old.siard", given)
    built = build(tmp_path / "old.siard", tmp_path / "out", OPTIONS)
    check_valid(tmp_path / "out" / "old.siard")
    with zipfile.ZipFile(tmp_path / "out" / "old.siard") as archive:
        names = [each for each in archive.namelist() if each.startswith("header/")]
    assert names == ["header/siardversion/2.2/", "header/metadata.xml", "header/metadata.xsd"]
    assert "header/siardversion/1.0/ is left out: header/siardversion/2.2/ takes its place" in built.warnings


def test_omissions_are_reported(tmp_path: Path) -> None:
    built = build(old(tmp_path / "old.siard"), tmp_path / "out", OPTIONS)
    warning = "\n".join(built.warnings)
    assert "SIARD 2.2 has no folder of a column: left out" in warning
    assert "header/metadata.xsl is kept as it is: it was made for metadata of SIARD 1.0" in warning
    assert "SIARD 1.0 has no lobFolder" not in warning
    assert "is left out of metadata.xml" not in warning


def test_without_an_upgrade_removed_folders_are_reported(tmp_path: Path) -> None:
    built = build(old(tmp_path / "old.siard"), tmp_path / "out", AS_IT_IS)
    assert [each for each in built.warnings if "left out" in each] == [
        f"column S x.T.{column}: its folder '{folder}' is left out of metadata.xml, "
        "as its cells now name the LOBs without it"
        for column, folder in (("words", "lob3"), ("bytes", "lob4"))
    ]


def test_a_column_that_keeps_its_folder_is_not_reported(tmp_path: Path) -> None:
    built = build(old(tmp_path / "old.siard"), tmp_path / "out", replace(AS_IT_IS, min_size=6))
    assert [each.partition(":")[0] for each in built.warnings if "left out" in each] == [
        "column S x.T.words",
        "column S x.T.bytes",
    ]


def test_packages_are_upgraded_as_the_archive_would_be(tmp_path: Path) -> None:
    given = old(tmp_path / "old.siard")
    build(given, tmp_path / "first", AS_IT_IS)
    convert_package(tmp_path / "first", tmp_path / "out", OPTIONS)
    check_valid(tmp_path / "out" / "old.siard")
    assert database(tmp_path / "out" / "old.siard") == database(given)
    checked(tmp_path / "out")


def test_the_dialect_describes_the_version_that_is_written(tmp_path: Path) -> None:
    given = old(tmp_path / "old.siard")
    built = build(given, tmp_path / "out", replace(OPTIONS, dialect="csip", objid="OLD"))
    assert built.layout == "siard22"
    [siard] = (tmp_path / "out").glob("**/*.siard")
    check_valid(siard)
    assert 'OTHERCONTENTINFORMATIONTYPE="SIARD2"' not in siard.read_text("latin-1")
    mets = "".join(each.read_text() for each in (tmp_path / "out").glob("**/METS.xml"))
    assert "SIARD1" not in mets
    assert draft_plan(given, replace(OPTIONS, dialect="csip")).header.division.layout.name == "siard22"


def test_digests_are_added_where_2_2_has_a_place_for_them(tmp_path: Path) -> None:
    build(old(tmp_path / "old.siard"), tmp_path / "out", replace(OPTIONS, add_digests=True))
    check_valid(tmp_path / "out" / "old.siard")
    with zipfile.ZipFile(tmp_path / "out" / "old.siard") as archive:
        assert archive.read(old_archives.TABLE).count(b"digestType=") == 3


# --- What is refused --------------------------------------------------------------------------------------


@pytest.mark.parametrize("version", ["2.0", "2.1", "2.2"])
def test_other_versions_are_refused(tmp_path: Path, version: str) -> None:
    given = siards.packed(tmp_path / "a.siard", siards.parts(siards.lobs(b"one"), version=version))
    for make in (lambda: build(given, tmp_path / "out", OPTIONS), lambda: draft_plan(given, OPTIONS)):
        with pytest.raises(ConfigError, match=f"this one is of SIARD {version}"):
            make()
    assert not (tmp_path / "out").exists()


def test_lobs_without_an_archive_are_refused(tmp_path: Path) -> None:
    put(tmp_path / "lobs", {"content/schema0/table0/lob1/record0.bin": b"one"})
    with pytest.raises(ConfigError, match="--siard-version requires a SIARD archive"):
        build(tmp_path / "lobs", tmp_path / "out", OPTIONS)


def test_no_other_version_is_written(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"siard_version '2\.1' is not known"):
        api.build(old(tmp_path / "old.siard"), tmp_path / "out", replace(OPTIONS, siard_version="2.1"))


def test_what_2_2_lacks_is_refused_and_nothing_is_written(tmp_path: Path) -> None:
    given = old(tmp_path / "old.siard", table=TABLE_XML.replace("06.789Z", "06.789+02:00"))
    reason = "table S x.T, column at, row 1: '2001-02-03T04:05:06.789+02:00' is not a time in UTC"
    with pytest.raises(SourceError, match=re.escape(reason)):
        build(given, tmp_path / "out", OPTIONS)
    assert sorted(each.name for each in tmp_path.iterdir()) == ["old.siard"]


def test_names_of_entries_that_2_2_lacks_are_refused_where_they_stay(tmp_path: Path) -> None:
    text = TABLE_XML.replace("lob4/record1.bin", "lob4/record-1.bin")
    given = dict(entries(table=text))
    given["content/schema0/table0/lob4/record-1.bin"] = given.pop("content/schema0/table0/lob4/record1.bin")
    siards.packed(tmp_path / "old.siard", given)
    build(tmp_path / "old.siard", tmp_path / "out", OPTIONS)
    check_valid(tmp_path / "out" / "old.siard")
    reason = "the entry 'content/schema0/table0/lob4/record-1.bin' has a name that SIARD 2.2 lacks"
    with pytest.raises(SourceError, match=re.escape(reason)):
        build(tmp_path / "old.siard", tmp_path / "other", replace(OPTIONS, min_size=100_000))
