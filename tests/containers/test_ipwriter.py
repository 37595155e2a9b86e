"""IPs packed as one file each: what comes out is the package that is not packed, and checks as it does."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import tarfile
import time
import zipfile
from collections.abc import Iterable, Iterator
from dataclasses import replace
from datetime import UTC, datetime
from itertools import product
from pathlib import Path

import pytest

from metspack import checking
from metspack.building import build
from metspack.building.build import BuildOptions
from metspack.containers import ipwriter, zipwriter
from metspack.containers.ipwriter import Packing
from metspack.digests import MANIFEST_ALGORITHMS
from metspack.errors import ConfigError, MetspackError
from metspack.limits import Limits
from metspack.mets.dialects.interface import Software
from tests import siards
from tests.laws import spread
from tests.tables import tabled
from tests.trees import names, tree, untar

CREATED = "2023-11-14T22:13:21Z"
CONTENTS = (b"a" * 40, b"b" * 30, b"c" * 250, b"d", b"")
DIALECTS = {"recommendation": "MD5", "csip": "SHA-256"}
MANIFEST = {"manifest-md5.txt", "manifest-sha256.txt"}


def options(dialect: str, pack: str | None, layout: str = "lobseg") -> BuildOptions:
    return BuildOptions(
        created=CREATED,
        software=Software(name="metspack", version="metspack 0"),
        limits=Limits(files=3, bytes=100),
        dialect=dialect,
        checksum=DIALECTS[dialect],
        layout=layout,
        pack=pack,
    )


def built(folder: Path, wanted: BuildOptions, target: str = "out") -> Path:
    source = folder / "N.siard"
    if not source.exists():
        siards.siard(source, *CONTENTS)
    build.build(source, folder / target, wanted)
    return folder / target


def unpacked(package: Path, target: Path) -> Path:
    """Unpack every IP where it lies, in a copy of the package, by Python's own modules."""
    shutil.copytree(package, target)
    for path in sorted(target.rglob("*")):
        if path.suffix == ".zip":
            with zipfile.ZipFile(path) as file:
                assert file.testzip() is None
                file.extractall(path.parent)  # noqa: S202 -- made a moment ago
        elif path.suffix == ".tar":
            untar(path, path.parent)
        else:
            continue
        path.unlink()
    return target


def without_manifests(package: Path) -> dict[str, bytes]:
    return {name: data for name, data in tree(package).items() if name not in MANIFEST}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("dialect", "layout", "pack"), spread(product(DIALECTS, ["lobseg", "siard22"], ipwriter.FORMS), 3)
)
def test_an_unpacked_package_is_the_plain_one(tmp_path: Path, dialect: str, layout: str, pack: str) -> None:
    package = built(tmp_path, options(dialect, pack, layout))
    objid = None if dialect == "recommendation" else min(each.stem for each in package.glob("uuid-*"))
    plain = built(tmp_path, replace(options(dialect, None, layout), objid=objid), "plain")
    found = list(checking.check(package))
    assert {each.code for each in found} <= {"S010"}  # a split LOB
    assert found == list(checking.check(plain))
    inside = {each.suffix for each in package.rglob("*") if each.is_file()}
    kept = {".siard", ".xml"} if dialect == "recommendation" else set()
    assert inside == {f".{pack}", ".txt", *kept}
    assert without_manifests(unpacked(package, tmp_path / "un")) == without_manifests(plain)


@pytest.mark.parametrize("pack", ipwriter.FORMS)
def test_what_is_packed_has_one_root_fixed_times_and_no_owner(tmp_path: Path, pack: str) -> None:
    package = built(tmp_path, options("csip", pack))
    files = [each for each in package.iterdir() if each.name not in MANIFEST]
    assert len(files) > 2
    for path in files:
        assert path.name.startswith("uuid-")
        if pack == "zip":
            with zipfile.ZipFile(path) as file:
                entries = file.infolist()
            assert {each.date_time for each in entries} == {(2023, 11, 14, 22, 13, 20)}
            assert {each.compress_type for each in entries} == {zipfile.ZIP_STORED}
            inside = [each.filename for each in entries]
        else:
            with tarfile.open(path) as packed:
                members = packed.getmembers()
            assert {each.mtime for each in members} == {1_700_000_001}
            assert {(each.mode, each.uid, each.gid, each.uname, each.gname) for each in members} == {
                (0o644, 0, 0, "", "")
            }
            inside = [each.name for each in members]
        assert {each.partition("/")[0] for each in inside} == {path.stem}
        assert f"{path.stem}/METS.xml" in inside


def test_the_same_bytes_come_out_in_any_time_zone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    one = tree(built(tmp_path, options("recommendation", "zip"), "one"))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TZ", "Pacific/Kiritimati")
    time.tzset()
    try:
        two = tree(built(tmp_path, options("recommendation", "zip"), "two"))
    finally:
        monkeypatch.undo()
        time.tzset()
    assert one == two


@tabled
def test_the_bytes_are_those_of_every_version_so_far(tmp_path: Path, pack: str, expected: str) -> None:
    package = built(tmp_path, options("recommendation", pack))
    found = hashlib.sha256((package / f"N_lobseg_0.{pack}").read_bytes()).hexdigest()
    assert found == expected


@pytest.mark.parametrize("dialect", DIALECTS)
def test_manifests_list_the_packed_files(tmp_path: Path, dialect: str) -> None:
    package = built(tmp_path, options(dialect, "tar"))
    for manifest in MANIFEST:
        listed = [line.split("  ")[1] for line in (package / manifest).read_text().splitlines()]
        assert listed == sorted(names(package) - MANIFEST)
        algorithm = manifest.removeprefix("manifest-").removesuffix(".txt")
        subprocess.run([f"{algorithm}sum", "-c", "--quiet", manifest], cwd=package, check=True)


def test_forms_are_zip_and_tar_only(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="pack '7z' is not known"):
        built(tmp_path, options("csip", "7z"))


def pack_of(folder: Path, form: str, files: Iterable[tuple[str, bytes]]) -> Path:
    (folder / "work").mkdir()
    with Packing(form=form, created=CREATED).open_pack(
        folder, "ip", folder / "work", MANIFEST_ALGORITHMS
    ) as pack:
        for name, data in files:
            pack.below("").put(name, iter([data]), len(data))
        pack.finish()
    return folder / f"ip.{form}"


LONG = "/".join(["b" * 50] * 5)


def test_tar_names_of_any_length_and_script(tmp_path: Path) -> None:
    files = [("a" * 90, b"1"), (LONG, b"2"), ("ä/ö", b"3"), ("z" * 200, b"4" * 600)]
    path = pack_of(tmp_path, "tar", files)
    assert path.stat().st_size % tarfile.RECORDSIZE == 0
    with tarfile.open(path) as packed:
        read = packed.extractfile
        found = {each.name: b"".join(read(each) or ()) for each in packed.getmembers()}
    assert found == {f"ip/{name}": data for name, data in files}


@pytest.mark.parametrize("form", ipwriter.FORMS)
@pytest.mark.parametrize("most", [1, 3, 100])
def test_packing_small_files(form: str, most: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ipwriter, "LONGEST", most)
    monkeypatch.setattr(ipwriter, "SMALL", 10 * most)
    files = [(f"{number}ö" if number % 3 else f"{number}", b"x" * number) for number in range(20)]
    (tmp_path / "alone").mkdir()
    single = pack_of(tmp_path / "alone", form, files)
    with Packing(form=form, created=CREATED).open_pack(tmp_path, "ip", tmp_path, ("MD5",)) as pack:
        for number, (name, data) in enumerate(files):
            if number in {4, 5, 11}:
                pack.put(name, iter([data]), len(data))
            else:
                pack.put_small(name, memoryview(bytearray(data)))
        pack.finish()
    assert (tmp_path / f"ip.{form}").read_bytes() == single.read_bytes()


def test_what_cannot_be_finished_leaves_no_file(tmp_path: Path) -> None:
    def fails() -> Iterator[bytes]:
        yield b"1"
        raise MetspackError("gone", hint="")

    for form in ipwriter.FORMS:
        (tmp_path / form).mkdir()
        (tmp_path / form / "work").mkdir()
        packs = Packing(form=form, created=CREATED)
        with (
            pytest.raises(MetspackError, match="gone"),
            packs.open_pack(tmp_path / form, "ip", tmp_path / form / "work", ("MD5",)) as pack,
        ):
            pack.put("x", fails(), 2)
        assert names(tmp_path / form) == {"work"}


def test_a_file_of_another_size_than_stated_is_a_fault_of_the_program(tmp_path: Path) -> None:
    with pytest.raises(AssertionError, match="has 1 bytes; expected 2"):
        Packing(form="tar", created=CREATED).open_pack(tmp_path, "ip", tmp_path, ("MD5",)).put("x", [b"1"], 2)


@pytest.mark.parametrize(
    ("year", "expected"), [(1970, (0, 0x21)), (2023, (0xB9AA, 0x576E)), (2200, (0xB9AA, 0xFF6E))]
)
def test_the_time_that_a_zip_file_can_hold(year: int, expected: tuple[int, int]) -> None:
    assert zipwriter.moment(datetime(year, 11, 14, 23, 13, 20, tzinfo=UTC)) == expected
