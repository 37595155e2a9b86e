"""Sources beside one whole archive with LOBs inside: what is built from them, and what is said of it."""

from __future__ import annotations

import errno
import hashlib
import shutil
import zipfile
from dataclasses import replace
from pathlib import Path

import pytest

from metspack import checking, restore_dry_run
from metspack.building import build
from metspack.building.build import BuildOptions, Built
from metspack.errors import ConfigError, SourceError
from metspack.limits import Limits
from metspack.model import Severity
from metspack.packages.package import Package
from metspack.sources import opening
from metspack.sources.archive import Archive, Grants
from metspack.sources.lobstream import OpenSources
from tests import siards
from tests.planning.lobruns import lobs_of
from tests.siard.forging import Table, column, siard
from tests.siards import md5
from tests.trees import put, tree

OPTIONS = BuildOptions(created="2020-01-01T00:00:00Z", limits=Limits(files=2))
FOLDER = "content/schema0/table0"


def built(source: Path, target: Path, **options: object) -> Built:
    """Build and check in full."""
    made = build.build(source, target, replace(OPTIONS, **options))  # type: ignore[arg-type]
    assert not [each for each in checking.check(target) if each.severity is Severity.ERROR]
    return made


def contents(siard_file: Path) -> dict[str, bytes]:
    """Return the bytes of every LOB, by its id."""
    with Archive(siard_file) as archive:
        lobs = list(lobs_of(archive))
        with OpenSources(archive.byte_sources()) as shelf:
            return {
                lob.place.id: b"".join(b"".join(shelf.contents(each, "it")) for each in lob.extents)
                for lob in lobs
            }


def entries(siard_file: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(siard_file) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


# --- LOBs without an archive --------------------------------------------------------------------------

LOOSE = {
    "content/schema0/table2/lob4/record0.bin": b"one",
    "content/schema0/table2/lob4/record1.bin": b"three",
    "content/schema0/table10/lob1/u2/record0.txt": b"",
}


def test_a_folder_of_lobs_is_packaged_without_an_archive(tmp_path: Path) -> None:
    made = built(put(tmp_path / "My lobs", LOOSE), tmp_path / "out")
    assert (made.name, made.segments, made.files, made.bytes) == ("My_lobs", 2, 3, 8)
    assert made.objid.startswith("urn:uuid:")
    assert any("no SIARD archive" in each for each in made.warnings)
    files = tree(tmp_path / "out")
    assert files["My_lobs_lobseg_0/content/schema0/table2/lob4/record1.bin"] == b"three"
    assert files["My_lobs_lobseg_1/content/schema0/table10/lob1/u2/record0.txt"] == b""
    assert b'TYPE="SIARD_lobs INDEX"' in files["mets.xml"]
    assert b"ID_SIARD_DDL" not in files["mets.xml"]


def test_a_target_inside_the_source_is_refused(tmp_path: Path) -> None:
    folder = put(tmp_path / "lobs", LOOSE)
    with pytest.raises(ConfigError, match="lies inside the source folder"):
        built(folder, folder / "out")


def test_options_of_an_archive_mean_nothing_without_one(tmp_path: Path) -> None:
    with pytest.raises(ConfigError):
        built(put(tmp_path / "lobs", LOOSE), tmp_path / "out", min_size=5)


# --- cells that share a file --------------------------------------------------------------------------


def shared_archive(path: Path, second: str = "") -> Path:
    attributes = f"length='3' digestType='MD5' digest='{md5(b'one')}'"
    rows = (
        f"<c1 file='{FOLDER}/lob1/record0.bin' {attributes}/>",
        f"<c1 file='{FOLDER}/lob1/record1.bin'/>",
        f"<c1 file='{FOLDER}/lob1/record0.bin' {second or attributes}/>",
    )
    lobs = {f"{FOLDER}/lob1/record0.bin": b"one", f"{FOLDER}/lob1/record1.bin": b"other"}
    return siard(path, tables=[Table(rows=rows)], lobs=lobs)


def test_cells_that_say_different_things_of_one_file_get_each_their_own(tmp_path: Path) -> None:
    source = shared_archive(tmp_path / "A.siard", "length='3'")
    made = built(source, tmp_path / "out")
    assert made.files == 3
    assert contents(tmp_path / "out" / "A.siard") == contents(source)
    wrong = shared_archive(tmp_path / "B.siard", f"digestType='MD5' digest='{md5(b'two')}'")
    with pytest.raises(SourceError, match=r"LOB s0.t0.c1.r3 .* has the MD5"):
        built(wrong, tmp_path / "none")


# --- small LOBs stay ----------------------------------------------------------------------------------


@pytest.mark.parametrize("layout", ["lobseg", "siard22"])
def test_columns_of_small_lobs_stay_inside(tmp_path: Path, layout: str) -> None:
    rows = tuple(
        f"<c1 file='a{n}' length='4'/><c2 file='../out/b{n}.bin'/><c3 file='{FOLDER}/c{n}'/>"
        for n in range(3)
    )
    columns = (
        column("SMALL", folder="lob1"),
        column("OUT", lob_folder="."),
        column("LARGE"),
    )
    lobs = {f"{FOLDER}/lob1/a{n}": b"tiny" for n in range(3)} | {
        f"{FOLDER}/c{n}": b"x" * 10 * n for n in range(3)
    }
    put(tmp_path, {f"out/b{n}.bin": b"b" for n in range(3)})
    (tmp_path / "src").mkdir()
    source = siard(
        tmp_path / "src" / "A.siard", tables=[Table(columns=columns, rows=rows)], lobs=lobs, version="2.0"
    )
    grants = Grants(lob_roots=(tmp_path,))
    with Archive(source, grants=grants) as archive:
        assert len(list(lobs_of(archive))) == 9
    made = built(source, tmp_path / "made", grants=grants, min_size=5, layout=layout)
    assert made.files == 6
    assert any("SMALL" in each and "stays inside" in each for each in made.warnings)
    found = contents(tmp_path / "made" / "A.siard")
    assert found == {
        f"s0.t0.c{column}.r{n + 1}": (b"tiny", b"b", b"x" * 10 * n)[column - 1]
        for n in range(3)
        for column in (1, 2, 3)
    }
    inside = entries(tmp_path / "made" / "A.siard")
    assert {f"{FOLDER}/lob1/a{n}" for n in range(3)} <= inside.keys()
    assert not any(name.startswith(f"{FOLDER}/c") for name in inside)
    assert f'<c1 file="{FOLDER}/lob1/a1"'.encode() in inside[f"{FOLDER}/table0.xml"].replace(b"'", b'"')
    assert inside["header/metadata.xml"].count(b"<lobFolder>./</lobFolder>") == (
        3 if layout == "lobseg" else 0
    )
    assert not [each for each in checking.check(tmp_path / "made") if each.code.startswith("P1")]


# --- digests ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("version", "attributes"),
    [("2.0", f'messageDigest="MD5{md5(b"one")}"'), ("2.2", f'digestType="MD5" digest="{md5(b"one")}"')],
)
def test_cells_without_a_digest_get_one_when_requested(tmp_path: Path, version: str, attributes: str) -> None:
    rows = tuple(f"<c1 file='{FOLDER}/{n}.bin'/>" for n in (0, 1, 0))
    lobs = {f"{FOLDER}/0.bin": b"one", f"{FOLDER}/1.bin": b"two"}
    source = siard(tmp_path / "A.siard", tables=[Table(rows=rows)], lobs=lobs, version=version)
    made = built(source, tmp_path / "out", add_digests=True)
    assert not any("without a digest" in each for each in made.warnings)
    table = entries(tmp_path / "out" / "A.siard")[f"{FOLDER}/table0.xml"].decode()
    assert table.count(attributes) == 2
    assert "Z021" not in {each.code for each in checking.check(tmp_path / "out")}


@pytest.mark.parametrize("checksum", ["SHA-1", "SHA-512"])
def test_the_cell_of_a_split_lob_gets_a_digest_whatever_that_of_mets(tmp_path: Path, checksum: str) -> None:
    data = b"more than fifty bytes " * 5
    rows = (f"<c1 file='{FOLDER}/0.bin'/>",)
    source = siard(tmp_path / "A.siard", tables=[Table(rows=rows)], lobs={f"{FOLDER}/0.bin": data})
    built(source, tmp_path / "out", add_digests=True, checksum=checksum, limits=Limits(files=9, bytes=50))
    table = entries(tmp_path / "out" / "A.siard")[f"{FOLDER}/table0.xml"].decode()
    algorithm = "SHA-256" if checksum == "SHA-512" else checksum
    value = hashlib.new(algorithm.replace("-", ""), data).hexdigest()
    assert f'digestType="{algorithm}" digest="{value}"' in table


def test_siard_1_0_has_no_digests_to_add(tmp_path: Path) -> None:
    source = siard(tmp_path / "A.siard", version="1.0")
    with pytest.raises(ConfigError, match=r"SIARD 1\.0 has no digests"):
        built(source, tmp_path / "out", add_digests=True)


@pytest.mark.slow
def test_packed_segments_are_read(tmp_path: Path) -> None:
    source = siards.siard(tmp_path / "A.siard", b"one", b"two", b"three")
    first = tmp_path / "first"
    built(source, first)
    packed = tmp_path / "packed"
    packed.mkdir()
    shutil.copy(first / "A.siard", packed)
    for number in range(2):
        shutil.make_archive(
            str(packed / f"A_lobseg_{number}"), "zip", root_dir=first, base_dir=f"A_lobseg_{number}"
        )
    made = built(packed / "A.siard", tmp_path / "again", jobs=2)
    assert (made.segments, made.files) == (2, 3)
    names = [name for name in tree(first) if "_lobseg_" in name]
    assert {name: tree(first)[name] for name in names} == {
        name: tree(tmp_path / "again")[name] for name in names
    }


def test_a_lob_that_is_a_siard_archive_is_a_lob(tmp_path: Path) -> None:
    inner = siards.siard(tmp_path / "inner.siard", b"of another archive").read_bytes()
    names = [f"content/schema0/table0/lob2/record{n}.siard" for n in range(2)]
    lobs = [siards.Lob(data=data, file=name) for data, name in zip((inner, b"no zip"), names, strict=True)]
    source = siards.packed(tmp_path / "A.siard", siards.parts(lobs))
    made = built(source, tmp_path / "out")
    assert made.files == 2
    assert not list(checking.check(tmp_path / "out"))
    with Package(tmp_path / "out") as package:
        assert package.archives == (("A.siard",),)
    assert not list(restore_dry_run(tmp_path / "out"))


def test_unreadable_sources(northwind: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "delivery" / "closed").mkdir(parents=True)
    shutil.copy(northwind, tmp_path / "delivery")

    is_file = Path.is_file

    def denied(path: Path) -> bool:
        if path.parent.name == "closed":
            raise PermissionError(errno.EACCES, "Permission denied", str(path))
        return is_file(path)

    monkeypatch.setattr(Path, "is_file", denied)
    with pytest.raises(SourceError, match=r"closed/.* cannot be read: Permission denied"):
        opening.opened(tmp_path / "delivery")
