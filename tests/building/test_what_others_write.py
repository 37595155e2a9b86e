"""Archives as other programs write them: what is in no doubt is read, and the package is right for all."""

from __future__ import annotations

import zipfile
from dataclasses import replace
from pathlib import Path

import pytest

from metspack import api, checking
from metspack.building import build
from metspack.building.build import BuildOptions
from metspack.limits import Limits
from metspack.model import Severity
from metspack.restoring.siard import restore_archive
from tests import siards
from tests.siard.zips import Entry, forged

OPTIONS = BuildOptions(created="2020-01-01T00:00:00Z", limits=Limits(files=2))
CONTENTS = (b"first", b"", b"third", b"")


def hollow(path: Path, entries: dict[str, bytes], *more: str) -> Path:
    """Write an archive as Java programs do: what is empty is marked as deflated, and no byte is there."""
    all_of = [*entries.items(), *((name, b"") for name in more)]
    made = (Entry(name=name, data=data, method=8, payload=None if data else b"") for name, data in all_of)
    path.write_bytes(forged(*made))
    return path


@pytest.mark.parametrize(("dialect", "layout"), [("recommendation", "siard22"), ("csip", "lobseg")])
def test_empty_entries_marked_as_deflated_are_empty(dialect: str, layout: str, tmp_path: Path) -> None:
    extra = "content/schema0/table0/note.txt"
    source = hollow(tmp_path / "Small.siard", siards.parts(siards.lobs(*CONTENTS)), extra)
    with zipfile.ZipFile(source) as archive:
        assert archive.testzip() is None  # so Python reads it
    options = replace(OPTIONS, layout=layout, dialect=dialect, checksum="SHA-256")
    built = build.build(source, tmp_path / "out", options)
    (word,) = (each for each in built.warnings if "deflate stream" in each)
    assert word.startswith(
        "3 entries of the archive marked as deflated without a deflate stream, the first "
        "content/schema0/table0/lob2/record1.bin: taken as empty"
    )
    assert not [each for each in checking.check(tmp_path / "out") if each.severity is Severity.ERROR]
    assert list(api.restore_dry_run(tmp_path / "out")) == []
    restore_archive(tmp_path / "out", tmp_path / "back.siard")
    with zipfile.ZipFile(tmp_path / "back.siard") as archive:
        found = [archive.read(f"content/schema0/table0/lob2/record{n}.bin") for n in range(len(CONTENTS))]
        assert tuple(found) == CONTENTS
        assert archive.read(extra) == b""
        written = archive.getinfo(extra)
    assert (written.compress_type, written.compress_size) != (8, 0)  # no program takes that for damage


def test_an_archive_without_lobs_gets_the_right_message_digest(tmp_path: Path) -> None:
    entries = siards.parts([])
    wrong = b"<messageDigest><digestType>MD5</digestType><digest>%s</digest></messageDigest>" % (b"0" * 32)
    entries[siards.METADATA] = entries[siards.METADATA].replace(b"  <schemas>", b"  " + wrong + b"<schemas>")
    source = siards.packed(tmp_path / "Small.siard", entries)
    built = build.build(source, tmp_path / "out", OPTIONS)
    assert [each for each in built.warnings if "carry the recomputed digest" in each]
    assert not [each for each in checking.check(tmp_path / "out") if each.severity is Severity.ERROR]


def test_an_archive_without_lobs_that_is_right_is_copied_byte_for_byte(tmp_path: Path) -> None:
    source = siards.packed(tmp_path / "Small.siard", siards.parts([]))
    build.build(source, tmp_path / "out", OPTIONS)
    assert (tmp_path / "out" / "Small.siard").read_bytes() == source.read_bytes()
