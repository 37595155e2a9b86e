"""Packed IPs are read where they are, and give what the same IPs give unpacked."""

from __future__ import annotations

import shutil
import tarfile
import zipfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from metspack import building, checking, converting
from metspack.building import BuildOptions
from metspack.errors import SourceError
from metspack.mets.dialects.interface import Software
from metspack.model import Limits
from metspack.restoring.files import restored_files
from metspack.restoring.joining import extracted, open_lob
from metspack.restoring.package import Package
from metspack.restoring.ranges import parsed
from metspack.restoring.roundtrip import proven
from metspack.restoring.shards import shards
from metspack.restoring.siard import restored_siard
from tests import siards
from tests.trees import tree

DIALECTS = {"recommendation": "MD5", "csip": "SHA-256"}
CONTENTS = (b"a" * 40, b"b" * 30, bytes(range(250)), b"d", b"")
SPLIT = "s0.t0.c2.r3"


def built(folder: Path, dialect: str, pack: str | None, layout: str = "lobseg") -> Path:
    source = folder / "N.siard"
    if not source.exists():
        siards.siard(source, *CONTENTS)
    building.build(source, folder / f"{dialect}-{pack}", options(dialect, pack, layout))
    return folder / f"{dialect}-{pack}"


def options(dialect: str, pack: str | None, layout: str = "lobseg") -> BuildOptions:
    return BuildOptions(
        created="2023-11-14T22:13:20Z",
        software=Software(name="metspack", version="metspack 0"),
        limits=Limits(files=3, bytes=100),
        dialect=dialect,
        checksum=DIALECTS[dialect],
        layout=layout,
        pack=pack,
    )


@pytest.mark.parametrize("pack", ["zip", "tar"])
@pytest.mark.parametrize("layout", ["lobseg", "siard22"])
@pytest.mark.parametrize("dialect", DIALECTS)
def test_what_is_given_back_is_what_the_unpacked_package_gives(
    tmp_path: Path, dialect: str, layout: str, pack: str
) -> None:
    plain = built(tmp_path, dialect, None, layout)
    package = built(tmp_path, dialect, pack, layout)
    before = tree(package)
    for each in (plain, package):
        restored_siard(each, each.with_suffix(".siard"))
        restored_files(each, each.with_suffix(".files"))
    assert package.with_suffix(".siard").read_bytes() == plain.with_suffix(".siard").read_bytes()
    assert tree(package.with_suffix(".files")) == tree(plain.with_suffix(".files"))
    with Package(package) as opened:
        proof = proven(opened)
        assert [each.message for each in proof] == []
        assert proof.summary.lobs == len(CONTENTS)
        with open_lob(opened, SPLIT) as file:
            file.seek(120)
            assert file.read(60) == CONTENTS[2][120:180]
        ranges = [parsed("95-105"), parsed("-1")]
        assert b"".join(extracted(opened, SPLIT, ranges)) == CONTENTS[2][95:106] + CONTENTS[2][-1:]
        for shard in shards(opened):
            whole = b"".join(
                (package / each.url).read_bytes()[each.offset : each.offset + each.length]
                for each in shard.files
            )
            assert whole == b"".join(extracted(opened, shard.lob))
    assert tree(package) == before


def test_a_packed_package_is_divided_anew(tmp_path: Path) -> None:
    package = built(tmp_path, "csip", "tar")
    converting.converted(package, tmp_path / "new", options("csip", None))
    assert tree(tmp_path / "new") == tree(built(tmp_path, "csip", None))
    again = replace(options("csip", None), pack="tar")
    converting.converted(tmp_path / "new", tmp_path / "again", again)
    assert tree(tmp_path / "again") == tree(package)


def test_the_file_of_the_parent_can_be_named(tmp_path: Path) -> None:
    package = built(tmp_path, "csip", "zip")
    with Package(package) as opened:
        parent = opened.mets.partition("/")[0]
    with Package(package / f"{parent}.zip") as opened:
        assert b"".join(extracted(opened, SPLIT)) == CONTENTS[2]


def test_lobs_without_an_archive_are_read_where_they_are(tmp_path: Path) -> None:
    lobs = tmp_path / "content" / "schema0" / "table2" / "lob4"
    lobs.mkdir(parents=True)
    (lobs / "record0.bin").write_bytes(b"x" * 250)
    building.build(tmp_path, tmp_path.with_name("out"), options("recommendation", "tar"))
    with Package(tmp_path.with_name("out")) as opened:
        assert b"".join(extracted(opened, "s0.t2.c4.r1")) == b"x" * 250
    restored_files(tmp_path.with_name("out"), tmp_path.with_name("files"))
    (found,) = tmp_path.with_name("files").rglob("record0.bin")
    assert found.read_bytes() == b"x" * 250


# --- What is damaged or misleading ----------------------------------------------------------------------


def cut(path: Path, inside: str) -> None:
    del inside
    path.write_bytes(path.read_bytes()[:-700])


def repacked(path: Path, names: Callable[[str], str], method: int = zipfile.ZIP_STORED) -> None:
    with zipfile.ZipFile(path) as file:
        entries = {names(each): file.read(each) for each in file.namelist()}
    with zipfile.ZipFile(path, "w", method) as file:
        for name, data in entries.items():
            file.writestr(name, data)


def climbing(path: Path, inside: str) -> None:
    repacked(path, lambda name: f"{inside}/../x" if name.endswith(".bin") else name)


def renamed(path: Path, inside: str) -> None:
    repacked(path, lambda name: name.replace(inside, "other", 1))


def encrypted(path: Path, inside: str) -> None:
    del inside
    data = bytearray(path.read_bytes())
    at = data.index(b"PK\x01\x02")
    data[at + 8] |= 1
    path.write_bytes(data)


def compressed(path: Path, inside: str) -> None:
    del inside
    repacked(path, str, zipfile.ZIP_DEFLATED)


@pytest.mark.parametrize(
    ("damage", "found"),
    [
        (cut, "no zip|is not a zip|end of|ends"),
        (climbing, r"\.\."),
        (renamed, "holds no N_lobseg_0/mets.xml"),
        (encrypted, "encrypted"),
        (compressed, "uncompressed"),
    ],
)
def test_a_bad_zip_file_is_refused_and_told(
    tmp_path: Path, damage: Callable[[Path, str], None], found: str
) -> None:
    package = built(tmp_path, "recommendation", "zip")
    damage(package / "N_lobseg_0.zip", "N_lobseg_0")
    with pytest.raises(SourceError, match=found):
        restored_files(package, tmp_path / "files")
    assert not (tmp_path / "files").exists()
    assert "error" in {each.severity.value for each in checking.check(package)}


def test_a_tar_file_that_was_cut_off_is_refused_and_told(tmp_path: Path) -> None:
    package = built(tmp_path, "recommendation", "tar")
    path = package / "N_lobseg_0.tar"
    path.write_bytes(path.read_bytes()[:530])
    with pytest.raises(SourceError, match=r"N_lobseg_0.tar.* is cut off"):
        restored_files(package, tmp_path / "files")
    assert "error" in {each.severity.value for each in checking.check(package)}


def test_two_roots_are_told_as_what_no_mets_lists(tmp_path: Path) -> None:
    package = built(tmp_path, "recommendation", "tar")
    (tmp_path / "x").write_bytes(b"x")
    with tarfile.open(package / "N_lobseg_0.tar", "a") as file:
        file.add(tmp_path / "x", "another/x")
    assert "error" in {each.severity.value for each in checking.check(package)}


def test_a_changed_byte_in_a_pack_is_found_by_what_is_read(tmp_path: Path) -> None:
    package = built(tmp_path, "recommendation", "tar")
    path = package / "N_lobseg_0.tar"
    path.write_bytes(path.read_bytes().replace(b"a" * 40, b"a" * 39 + b"b"))
    with pytest.raises(SourceError, match="MD5"), Package(package) as opened:
        list(extracted(opened, "s0.t0.c2.r1"))
    assert {each.code for each in checking.check(package)} >= {"F003", "F026"}


def test_a_pack_that_is_gone_is_told_as_a_child_that_is(tmp_path: Path) -> None:
    package = built(tmp_path, "csip", "zip")
    with Package(package) as opened:
        parent = opened.mets.partition("/")[0]
    for path in package.glob("*.zip"):
        if path.stem != parent:
            path.unlink()
            break
    with pytest.raises(SourceError, match=r"METS\.xml cannot be read: No such file"):
        restored_files(package, tmp_path / "files")
    shutil.rmtree(package)
    package.mkdir()
    with pytest.raises(SourceError, match="so it is no package"):
        Package(package)
