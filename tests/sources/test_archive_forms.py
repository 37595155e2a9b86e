"""Archives in every form, and as metspack itself writes them: all LOBs are found, and they are the same."""

from __future__ import annotations

import hashlib
import zipfile
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from itertools import product
from pathlib import Path

import pytest

from metspack import checking
from metspack.building import build
from metspack.building.build import BuildOptions
from metspack.layouts import LAYOUTS, FolderStyle
from metspack.mets.dialects.interface import Software
from metspack.model import Limits, Severity
from metspack.planning.division import Split
from metspack.sources.archive import Archive, Grants
from metspack.sources.lobstream import OpenHoldings, Passage
from tests.conftest import CHECKOUT
from tests.laws import THOROUGH, spread
from tests.shared_data import shared
from tests.trees import tree

SAMPLE = CHECKOUT / "samples" / "northwind" / "Northwind.siard"
REAL = (
    ("northwind", "Northwind.siard"),
    ("siard", "dbptk-example.siard"),
    ("siard", "sfdbsakila-2.1.siard"),
    ("siard", "sfdbsakila-2.2.siard"),
    ("siard", "sample-datalink-2.2.siard"),
    ("siard", "sql2008", "sql2008.siard"),
)
TWINS: dict[str, tuple[tuple[str, FolderStyle, bool], tuple[str, ...]]] = {
    "sfdbsakila-2.1.siard": (("lobseg", FolderStyle.DILCIS, False), ("unpacked", "parts")),
    "sfdbsakila-2.2.siard": (("siard22", FolderStyle.SFA, True), ("wrapped",)),
}
"""The way in which each of the archives with thousands of LOBs is written, and in which forms it is read."""
FORMS = ("zip", "unpacked", "parts", "wrapped", "unpacked wrapped")
OPTIONS = BuildOptions(
    created="2020-01-01T00:00:00Z",
    software=Software(name="metspack", version="metspack 0"),
    limits=Limits(files=3),
)


@cache
def known(archive: Path) -> list[tuple[str, str]]:
    """Return id and SHA-256 of every LOB of an archive as it was given."""
    return list(found(archive, Grants()))


def named(parts: tuple[str, ...] | None) -> str:
    return "sample" if parts is None else parts[-1]


@pytest.fixture
def archive(request: pytest.FixtureRequest) -> Path:
    return SAMPLE if request.param is None else shared("data", *request.param)


def ways() -> Iterator[tuple[tuple[str, ...] | None, str, FolderStyle, bool]]:
    """Yield the sample in every way to write it, other archives in some; of the twins only one, in one."""
    possible = list(product(LAYOUTS, FolderStyle, (False, True)))
    for number, parts in enumerate((None, *REAL)):
        if THOROUGH or parts is None:
            chosen = possible[:: 1 if THOROUGH else 5]
        elif named(parts) in TWINS:
            chosen = [TWINS[named(parts)][0]] if parts == REAL[3] else []
        else:
            chosen = possible[number % 6 :: 6]
        for way in chosen:
            if parts != REAL[0] or way[1] is not FolderStyle.DBPTK:  # which SIARD 1.0 has no form for
                yield parts, *way


def formed(archive: Path, form: str, folder: Path) -> Path:
    """Return the archive in a form, in a folder beside which its LOBs can be granted."""
    target = folder / archive.name
    if form == "zip":
        target.write_bytes(archive.read_bytes())
        return target
    if form == "parts":
        data = archive.read_bytes()
        third = len(data) // 3 + 1
        for number in range(3):
            part = data[number * third : (number + 1) * third]
            (folder / f"{archive.name}_part{number + 1:03d}").write_bytes(part)
        return target.with_name(f"{target.name}_part001")
    root = "my archive/" if "wrapped" in form else ""
    with zipfile.ZipFile(archive) as source:
        if form.startswith("unpacked"):
            source.extractall(target / root)
            return target
        with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as other:
            for entry in source.infolist():
                other.writestr(root + entry.filename, source.read(entry))
    return target


def segmented(lobs: int, files: int) -> int:
    """Return how many files a segment may hold: few, but many LOBs go into about 40 segments."""
    return max(files, lobs // 40)


def granted(archive: Path) -> Grants:
    return Grants(lob_roots=(archive.parent,))


def found(path: Path, grants: Grants) -> Iterator[tuple[str, str]]:
    """Yield id and SHA-256 of every LOB, each proven against its cell."""
    with Archive(path, grants=grants) as opened:
        lobs = list(opened.lobs())
        with OpenHoldings(opened.holdings()) as shelf:
            for lob in lobs:
                passage = Passage(lob, shelf, ("SHA-256",))
                for _ in passage.portion():
                    pass
                passage.end()
                yield lob.place.id, passage.hashers.digest("SHA-256").value


def cells(archive: Path) -> int:
    """Return the number of cells with a file, counted by other means."""
    with zipfile.ZipFile(archive) as source:
        return sum(
            source.read(name).count(b" file=")
            for name in source.namelist()
            if name.startswith("content/") and name.endswith(".xml") and name.count("/") == 3
        )


def read_forms() -> Iterator[tuple[tuple[str, ...] | None, str]]:
    """Yield each archive in every form; of the twins with thousands of LOBs, each in some."""
    for parts, form in product((None, *REAL), FORMS):
        if THOROUGH or form in TWINS.get(named(parts), ((), FORMS))[1]:
            yield parts, form


@pytest.mark.parametrize(
    ("archive", "form"),
    [pytest.param(*read, id=f"{named(read[0])}-{read[1]}") for read in spread(read_forms(), 3)],
    indirect=["archive"],
)
def test_every_lob_of_every_archive_is_found_in_every_form(archive: Path, form: str, tmp_path: Path) -> None:
    expected = known(archive)
    assert len(expected) == cells(archive)
    assert list(found(formed(archive, form, tmp_path), granted(archive))) == expected


@pytest.mark.slow
@pytest.mark.parametrize(
    ("archive", "layout", "style", "split"),
    [
        pytest.param(*way, id=f"{named(way[0])}-{way[1]}-{way[2].value}-{'split' if way[3] else 'whole'}")
        for way in ways()
    ],
    indirect=["archive"],
)
def test_what_is_written_outside_is_found_again(
    archive: Path, layout: str, style: FolderStyle, split: bool, tmp_path: Path
) -> None:
    expected = known(archive)
    with Archive(archive) as opened:
        largest = max((lob.size for lob in opened.lobs()), default=0)
    files = segmented(len(expected), 3)
    limits = Limits(files=files, bytes=largest // 3 + 1 if split else None)
    options = replace(OPTIONS, layout=layout, lob_folder_style=style, limits=limits, split=Split.FILL)
    built = build.build(archive, tmp_path / "out", options)
    assert built.files == len(expected)
    siard = tmp_path / "out" / f"{built.name}.siard"
    assert list(found(siard, Grants())) == expected
    with Archive(siard) as again:
        assert all(not lob.entries for lob in again.lobs())
    findings = list(checking.check(tmp_path / "out"))
    assert not [each for each in findings if each.severity is Severity.ERROR]
    if style is FolderStyle.DILCIS:
        assert not [each for each in findings if each.code.startswith("P1")]


@pytest.mark.parametrize(
    "archive",
    [parts for parts in (None, *REAL) if THOROUGH or named(parts) not in TWINS],
    ids=named,
    indirect=True,
)
def test_segments_are_the_same_from_inside_and_from_outside(archive: Path, tmp_path: Path) -> None:
    with Archive(archive) as opened:
        limits = Limits(files=segmented(sum(1 for _ in opened.lobs()), 2))
    first = build.build(archive, tmp_path / "first", replace(OPTIONS, limits=limits))
    outside = build.build(archive, tmp_path / "outside", replace(OPTIONS, limits=limits, layout="siard22"))
    again = build.build(
        tmp_path / "outside" / f"{outside.name}.siard",
        tmp_path / "again",
        replace(OPTIONS, limits=limits),
    )
    assert again.objid == first.objid
    assert segments(tmp_path / "again") == segments(tmp_path / "first")
    assert len(segments(tmp_path / "first")) >= first.segments


def segments(package: Path) -> dict[str, str]:
    return {
        name: hashlib.sha256(data).hexdigest() for name, data in tree(package).items() if "_lobseg_" in name
    }
