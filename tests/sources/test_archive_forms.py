"""Archives in every form, and as metspack itself writes them: all LOBs are found, and they are the same."""

from __future__ import annotations

import zipfile
from collections.abc import Iterator
from functools import cache
from itertools import product
from pathlib import Path

import pytest

from metspack.sources.archive import Archive, Grants
from metspack.sources.lobstream import LobReader, OpenSources
from tests.conftest import CHECKOUT
from tests.laws import THOROUGH, spread
from tests.planning.lobruns import lobs_of
from tests.shared_data import shared

SAMPLE = CHECKOUT / "samples" / "northwind" / "Northwind.siard"
REAL = (
    ("northwind", "Northwind.siard"),
    ("siard", "dbptk-example.siard"),
    ("siard", "sfdbsakila-2.1.siard"),
    ("siard", "sfdbsakila-2.2.siard"),
    ("siard", "sample-datalink-2.2.siard"),
    ("siard", "sql2008", "sql2008.siard"),
)
TWINS = ("sfdbsakila-2.1.siard", "sfdbsakila-2.2.siard")
"""The archives with thousands of LOBs."""
FORMS = ("zip", "unpacked", "parts", "wrapped", "unpacked wrapped")


@cache
def digests_of(archive: Path) -> list[tuple[str, str]]:
    """Return id and SHA-256 of every LOB of an archive as it was given."""
    return list(found(archive, Grants()))


def named(parts: tuple[str, ...] | None) -> str:
    return "sample" if parts is None else parts[-1]


@pytest.fixture
def archive(request: pytest.FixtureRequest) -> Path:
    return SAMPLE if request.param is None else shared("data", *request.param)


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


def granted(archive: Path) -> Grants:
    return Grants(lob_roots=(archive.parent,))


def found(path: Path, grants: Grants) -> Iterator[tuple[str, str]]:
    """Yield id and SHA-256 of every LOB, each proven against its cell."""
    with Archive(path, grants=grants) as opened:
        lobs = list(lobs_of(opened))
        with OpenSources(opened.byte_sources()) as shelf:
            for lob in lobs:
                reader = LobReader(lob, shelf, ("SHA-256",))
                for _ in reader.portion():
                    pass
                reader.end()
                yield lob.place.id, reader.hashers.digest("SHA-256").value


def cells(archive: Path) -> int:
    """Return the number of cells with a file, counted by other means."""
    with zipfile.ZipFile(archive) as source:
        return sum(
            source.read(name).count(b" file=")
            for name in source.namelist()
            if name.startswith("content/") and name.endswith(".xml") and name.count("/") == 3
        )


def read_forms() -> Iterator[tuple[tuple[str, ...] | None, str]]:
    """Yield each archive in every form."""
    for parts, form in product((None, *REAL), FORMS):
        if THOROUGH or named(parts) not in TWINS:
            yield parts, form


@pytest.mark.parametrize(
    ("archive", "form"),
    [pytest.param(*read, id=f"{named(read[0])}-{read[1]}") for read in spread(read_forms(), 3)],
    indirect=["archive"],
)
def test_every_lob_of_every_archive_is_found_in_every_form(archive: Path, form: str, tmp_path: Path) -> None:
    expected = digests_of(archive)
    assert len(expected) == cells(archive)
    assert list(found(formed(archive, form, tmp_path), granted(archive))) == expected
