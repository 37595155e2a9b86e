"""METS notes the options of a build that a later check has to respect."""

from __future__ import annotations

import re
import zipfile
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from itertools import cycle
from pathlib import Path

import pytest

import metspack
from metspack import checking
from metspack.building.build import BuildOptions, build
from metspack.building.convert import convert_package
from metspack.building.inplace import describe_in_place
from metspack.errors import SourceError
from metspack.layouts import FolderStyle
from metspack.layouts.readers import FOR
from metspack.limits import Limits
from metspack.mets import dialects
from metspack.model import Severity
from metspack.sources.lobstream import ACCEPTABLE, MISSING_TABLE, PART_DIGEST
from tests import segmented_folders, siards

OPTIONS = BuildOptions(created="2020-01-01T00:00:00Z", limits=Limits(files=12))
FORMS = [("recommendation", None), ("csip", "zip")]
CONTENTS = [b"one", b"two", b"three"]
ACCEPTED = frozenset({MISSING_TABLE})


def lacking(whole: Path, target: Path, table: str = "table4") -> Path:
    """Write an archive anew without a table, and without messageDigest."""
    target.parent.mkdir(exist_ok=True)
    with zipfile.ZipFile(whole) as before, zipfile.ZipFile(target, "w") as after:
        for name in before.namelist():
            if f"/{table}/" not in name:
                data = before.read(name)
                after.writestr(name, re.sub(rb"(?s)<messageDigest>.*?</messageDigest>", b"", data))
    return target


def codes(package: Path, worst: Severity) -> Counter[str]:
    """Return the codes of findings that are of some severity or worse."""
    return Counter(each.code for each in checking.check(package) if each.severity >= worst)


def in_parts(folder: Path) -> Path:
    return segmented_folders.dbptk_22(folder, [b"x" * 20_000, b"y" * 9], whole_digests=False)


SOURCES: dict[str, Callable[[Path, Path], Path]] = {
    MISSING_TABLE: lambda northwind, folder: lacking(northwind, folder / "Lacking.siard"),
    PART_DIGEST: lambda _northwind, folder: in_parts(folder),
}


@pytest.mark.slow
@pytest.mark.parametrize("what", ACCEPTABLE)
@pytest.mark.parametrize(("dialect", "pack"), FORMS)
def test_what_was_accepted_is_no_error_of_the_package(
    what: str, dialect: str, pack: str | None, northwind_full: Path, tmp_path: Path
) -> None:
    source = SOURCES[what](northwind_full, tmp_path / "source")
    archive = source if source.is_file() else next(source.glob("*.siard"))
    options = replace(OPTIONS, dialect=dialect, pack=pack)
    with pytest.raises(SourceError) as error:
        build(archive, tmp_path / "out", options)
    assert f"--accept {what}" in (error.value.hint or "")
    build(archive, tmp_path / "out", replace(options, accepted=frozenset({what})))
    assert codes(tmp_path / "out", Severity.ERROR) == {}
    assert list(metspack.restore_dry_run(tmp_path / "out")) == []


@pytest.mark.slow
@pytest.mark.parametrize("dialect", dialects.DIALECTS)
def test_a_table_lost_later_is_an_error(dialect: str, northwind_full: Path, tmp_path: Path) -> None:
    source = lacking(northwind_full, tmp_path / "source" / "Lacking.siard")
    build(source, tmp_path / "out", replace(OPTIONS, dialect=dialect, accepted=ACCEPTED))
    build(northwind_full, tmp_path / "whole", replace(OPTIONS, dialect=dialect))
    for package, table in (("out", "table2"), ("whole", "table4")):
        (archive,) = (tmp_path / package).rglob("*.siard")
        lacking(archive, tmp_path / "lost.siard", table).replace(archive)
        found = [each for each in checking.check(tmp_path / package) if each.code == "Z005"]
        assert [table in each.message for each in found] == [True]
        assert found[0].severity is Severity.ERROR


@pytest.mark.slow
def test_what_was_accepted_stays_so(northwind_full: Path, tmp_path: Path) -> None:
    source = lacking(northwind_full, tmp_path / "source" / "Lacking.siard")
    accepting = replace(OPTIONS, accepted=ACCEPTED)
    build(source, tmp_path / "first", replace(accepting, dialect="csip"))
    convert_package(tmp_path / "first", tmp_path / "second", replace(OPTIONS, limits=Limits(files=5)))
    for package in ("first", "second"):
        assert codes(tmp_path / package, Severity.ERROR) == {}
        assert codes(tmp_path / package, Severity.INFO)["Z052"] == 1
    metspack.merge(tmp_path / "first", tmp_path / "merged")
    assert codes(tmp_path / "merged", Severity.ERROR) == {}


def test_a_folder_without_mets_is_held_against_it_as_well(northwind_full: Path, tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    lacking(northwind_full, folder / "Lacking.siard")
    with pytest.raises(SourceError, match="has no document"):
        convert_package(folder, tmp_path / "out", OPTIONS)
    convert_package(folder, tmp_path / "out", replace(OPTIONS, accepted=ACCEPTED))
    assert codes(tmp_path / "out", Severity.ERROR) == {}


@pytest.mark.parametrize(("name", "is_unpacked"), [(None, True), ("Another", False)])
def test_in_place(name: str | None, northwind_full: Path, tmp_path: Path, *, is_unpacked: bool) -> None:
    folder = tmp_path / "folder"
    archive = lacking(northwind_full, folder / "Lacking.siard")
    if is_unpacked:
        archive = archive.rename(tmp_path / "packed.zip")
        with zipfile.ZipFile(archive) as packed:
            packed.extractall(folder / "Lacking")
    with pytest.raises(SourceError, match="has no document"):
        describe_in_place(folder, replace(OPTIONS, name=name))
    describe_in_place(folder, replace(OPTIONS, name=name, accepted=ACCEPTED))
    assert codes(folder, Severity.ERROR) == {}
    assert codes(folder, Severity.INFO)["Z052"] == 1


@pytest.mark.parametrize(("version", "reader"), [*zip(cycle(("2.2", "2.0", "2.1")), FOR, strict=False)])
def test_lobs_located_for_a_reader_are_one_note_at_most(version: str, reader: str, tmp_path: Path) -> None:
    source = siards.packed(tmp_path / "A.siard", siards.parts(siards.lobs(*CONTENTS), version=version))
    given = FOR[reader]
    terms = dict(given.required(is_packed=False))
    dialect = str(terms.pop("dialect", "recommendation"))
    if terms:
        terms["submitter"] = ("Archive",)
    options = replace(
        OPTIONS, reader=reader, dialect=dialect, dialect_options=dialects.named(dialect).options(terms)
    )
    build(source, tmp_path / "out", options)
    found = [each for each in checking.check(tmp_path / "out") if each.code.startswith("P1")]
    expected = [] if given.style is FolderStyle.DILCIS else [("P121", Severity.INFO)]
    assert [(each.code, each.severity) for each in found] == expected


def test_a_style_is_noted_as_it_is_now(northwind: Path, tmp_path: Path) -> None:
    build(northwind, tmp_path / "one", replace(OPTIONS, lob_folder_style=FolderStyle.SFA))
    convert_package(tmp_path / "one", tmp_path / "two", replace(OPTIONS, lob_folder_style=FolderStyle.DBPTK))
    convert_package(tmp_path / "two", tmp_path / "three", OPTIONS)
    (found,) = (each for each in checking.check(tmp_path / "two") if each.code == "P121")
    assert "style dbptk," in found.message
    assert codes(tmp_path / "three", Severity.INFO)["P121"] == 0


def test_without_a_note_locations_of_others_are_warned_of(northwind: Path, tmp_path: Path) -> None:
    """Locations are reported again once the note is removed or the locations change."""
    build(northwind, tmp_path / "out", replace(OPTIONS, lob_folder_style=FolderStyle.SFA))
    mets = tmp_path / "out" / "mets.xml"
    text = mets.read_text()
    assert FolderStyle.SFA.note in text
    mets.write_text(text.replace(FolderStyle.SFA.note, "something else"))
    assert codes(tmp_path / "out", Severity.WARNING)["P108"] == 1
    mets.write_text(text.replace("N" + "orthwind.siard: LOBs", "Other.siard: LOBs"))
    assert codes(tmp_path / "out", Severity.WARNING)["P108"] == 1
