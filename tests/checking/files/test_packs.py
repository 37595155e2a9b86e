"""Zip and tar files around packages: stray files, and bytes outside of entries."""

from __future__ import annotations

import tarfile
import zipfile
from pathlib import Path

import pytest

from metspack.checking import Level, check
from metspack.model import Finding
from tests.findings import ordered
from tests.packages import forge
from tests.packages.spread import tarred, zipped

SEGMENT = "Northwind_lobseg_1"


def reported(path: Path, level: Level = Level.FULL) -> list[tuple[str, str]]:
    return [(each.code, each.path) for each in ordered(check(path, level))]


def packed(folder: Path, form: str, inside: str = "") -> Path:
    pack = zipped if form == "zip" else tarred
    return pack(folder, folder.with_name(f"{folder.name}.{form}"), inside=inside)


def added(pack: Path, name: str, data: bytes = b"x") -> None:
    """Add a file to a zip or tar file."""
    source = pack.with_name("source")
    source.write_bytes(data)
    if pack.suffix == ".zip":
        with zipfile.ZipFile(pack, "a") as zip_file:
            zip_file.write(source, name)
    else:
        with tarfile.open(pack, "a") as tar_file:
            tar_file.add(source, name)
    source.unlink()


def cut_at_its_end(pack: Path) -> int:
    """Cut a tar file where its last member ends; returns that offset."""
    with tarfile.open(pack) as tar_file:
        last = tar_file.getmembers()[-1]
    end = last.offset_data + -(-last.size // 512) * 512
    pack.write_bytes(pack.read_bytes()[:end])
    return end


@pytest.mark.parametrize("form", ["zip", "tar"])
def test_files_beside_a_packed_package_are_reported(tmp_path: Path, form: str) -> None:
    pack = packed(forge.forge(tmp_path / "ip"), form, "ip")
    assert reported(pack) == []
    added(pack, "letter.txt")
    added(pack, "other/a")
    added(pack, "other/deeper/b")
    assert reported(pack) == [("F010", "../letter.txt"), ("F010", "../other/a")]
    assert "more below 'other'" in ordered(check(pack))[1].message


@pytest.mark.parametrize("form", ["zip", "tar"])
def test_files_beside_several_packages_in_one_file_are_reported_once(tmp_path: Path, form: str) -> None:
    for name in ("one", "two"):
        forge.forge(tmp_path / f"all/{name}")
        forge.edit(tmp_path / f"all/{name}/mets.xml", 'OBJID="', f'OBJID="{name}-')
    pack = packed(tmp_path / "all", form)
    before = reported(pack)
    assert "F010" not in [code for code, _ in before]
    added(pack, "three/data/a")
    assert [each for each in reported(pack) if each not in before] == [
        ("F010", f"{pack}/one/../three/data/a")
    ]


@pytest.mark.parametrize("form", ["zip", "tar"])
@pytest.mark.parametrize("inside", [SEGMENT, ""])
def test_files_beside_a_packed_segment_are_reported(tmp_path: Path, form: str, inside: str) -> None:
    root = forge.forge(tmp_path / "ip")
    pack = packed(root / SEGMENT, form, inside)
    assert [code for code, _ in reported(root)] in ([], ["L011"])
    added(pack, "other/a")
    if inside:
        added(pack, "other/mets.xml")
    found = [each for each in reported(root) if each[0] == "F010"]
    inner = f"{pack.name}/other" if inside else f"{SEGMENT}/other"
    assert {path.rpartition("/")[0] for _, path in found} == {inner}


def test_packages_in_a_granted_root_are_not_those_under_check(tmp_path: Path) -> None:
    root = forge.forge(tmp_path / "ip")
    pack = zipped(root / SEGMENT, tmp_path / "disk/all.zip", inside=SEGMENT)
    added(pack, "other/a")
    assert {each.code for each in check(root, roots=[tmp_path / "disk"])} == {"L011"}


def the_one(path: Path, code: str = "P012") -> Finding:
    (finding,) = [each for each in check(path) if each.code == code]
    return finding


def test_a_tar_that_is_cut_off_between_packages_is_reported(tmp_path: Path) -> None:
    pack = packed(forge.forge(tmp_path / "ip"), "tar", "ip")
    end = cut_at_its_end(pack)
    finding = the_one(pack)
    assert finding.message.startswith(f"ip.tar has no end at byte {end:,}")
    assert finding.severity.value == "error"
    assert {each.code for each in check(pack, Level.LINKS)} == {"P012"}
    (tmp_path / "d").mkdir()
    pack.rename(tmp_path / "d/a.tar")
    forge.forge(tmp_path / "d/b")
    assert the_one(tmp_path / "d").path == f"{tmp_path}/d/a.tar/."


def test_a_second_tar_behind_the_first_is_reported(tmp_path: Path) -> None:
    pack = packed(forge.forge(tmp_path / "ip"), "tar", "ip")
    size = pack.stat().st_size
    pack.write_bytes(pack.read_bytes() + packed(forge.forge(tmp_path / "more"), "tar", "more").read_bytes())
    assert f"bytes from byte {size:,} on, after its end" in the_one(pack).message


def test_a_packed_segment_that_is_cut_off_is_reported(tmp_path: Path) -> None:
    root = forge.forge(tmp_path / "ip")
    cut_at_its_end(packed(root / SEGMENT, "tar", SEGMENT))
    assert the_one(root).path == f"{SEGMENT}.tar"


@pytest.mark.parametrize("place", ["before", "behind"])
def test_a_packed_segment_with_bytes_around_is_reported(tmp_path: Path, place: str) -> None:
    root = forge.forge(tmp_path / "ip")
    pack = packed(root / SEGMENT, "zip", SEGMENT)
    size, data = pack.stat().st_size, pack.read_bytes()
    pack.write_bytes(b"MZ" + data if place == "before" else data + b"MZ")
    finding = the_one(root, "P011")
    assert finding.severity.value == "error"
    at = f"byte {size:,}" if place == "behind" else "2 bytes stand before the archive"
    assert at in finding.message


def test_a_damaged_header_in_a_packed_segment_is_reported_where_it_is_read(tmp_path: Path) -> None:
    root = forge.forge(tmp_path / "ip")
    pack = packed(root / SEGMENT, "zip", SEGMENT)
    data = pack.read_bytes()
    at = data.index(b".bin") - 12  # in the name that the local header has
    pack.write_bytes(data[:at] + b"?" + data[at + 1 :])
    with zipfile.ZipFile(pack, "a") as archive:
        archive.comment = b"x"
    assert "P012" in [code for code, _ in reported(root)]


def test_what_is_between_the_entries_of_a_zip_is_reported(tmp_path: Path) -> None:
    root = forge.forge(tmp_path / "ip")
    pack = packed(root / SEGMENT, "zip", SEGMENT)
    with zipfile.ZipFile(pack, "a") as archive:
        at = archive.start_dir
        assert archive.fp is not None
        archive.fp.seek(at)
        archive.fp.write(b"hidden")
        archive.start_dir = at + 6
        archive._didModify = True  # type: ignore[attr-defined]
    finding = the_one(root)
    assert finding.path == pack.name
    assert f"has 6 bytes from byte {at:,} on" in finding.message
