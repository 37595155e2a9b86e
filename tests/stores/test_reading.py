"""Sources and packages in a store: read as those on disk are, and large objects by ranges."""

from __future__ import annotations

import os
import random
import re
from pathlib import Path

import pytest

import metspack
from metspack import BuildOptions, Limits
from metspack.errors import MetspackError
from metspack.files import mirrors, reading
from metspack.packages.files import FolderTree
from metspack.stores.ranges import Ranges
from tests import siards
from tests.stores.conftest import S3
from tests.trees import tree

pytestmark = pytest.mark.usefixtures("one_clock")


def options() -> BuildOptions:
    return BuildOptions(limits=Limits(files=2, bytes=1_000_000))


@pytest.fixture
def package(northwind: Path, tmp_path: Path) -> Path:
    metspack.build(northwind, tmp_path / "Northwind", options())
    return tmp_path / "Northwind"


def spans(s3: S3) -> list[int]:
    """Return the sizes of the ranges of a .siard that were asked for."""
    requests = [each for each in s3.loopback.requests() if each.startswith("GET") and ".siard" in each]
    found = [re.search(r"bytes=([0-9]+)-([0-9]+)", each) for each in requests]
    return [int(each[2]) + 1 - int(each[1]) for each in found if each is not None]


def test_an_archive_is_inspected_without_the_bytes_of_its_lobs(s3: S3, tmp_path: Path) -> None:
    archive = siards.siard(tmp_path / "large.siard", *(bytes([n]) * 1_000_000 for n in range(40)))
    s3.put("large.siard", archive.read_bytes())
    assert metspack.inspect(f"{s3.url}/large.siard").ok
    spans_read = spans(s3)
    assert len(spans_read) < 12
    assert sum(spans_read) < archive.stat().st_size // 4


def test_many_small_lobs_of_an_archive_come_with_few_requests(s3: S3, tmp_path: Path) -> None:
    seed = random.Random(1)  # noqa: S311
    archive = siards.siard(tmp_path / "small.siard", *(seed.randbytes(5_000) for _ in range(500)))
    s3.put("small.siard", archive.read_bytes())
    metspack.build(f"{s3.url}/small.siard", tmp_path / "built", BuildOptions(jobs=1))
    spans_read = spans(s3)
    assert len(spans_read) < 30  # 500 LOBs
    assert (
        sum(spans_read) < 4 * archive.stat().st_size
    )  # read for the plan, the LOBs, and the archive's digest
    metspack.build(archive, tmp_path / "near", BuildOptions(jobs=1))
    assert tree(tmp_path / "built") == tree(tmp_path / "near")


def test_ranges_of_an_object_are_its_bytes_anywhere(s3: S3, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mirrors, "LARGE", 1)
    seed = random.Random(1)  # noqa: S311
    data = seed.randbytes(5_300_000)
    s3.put("a b/ä+%20.bin", data)
    path = mirrors.path_of(f"{s3.url}/a b/ä+%20.bin")
    assert path is not None
    descriptor = os.open(path, os.O_RDONLY)
    ranged = Ranges(*mirrors.object_at(descriptor, os.fspath(path)))
    onward = [(0, 10), (10, 2_000_000), (2_000_010, 3_000_000), (5_299_990, 100), (7, 70_000)]
    for start, size in (*onward, (3_000_000, 10), (3_000_020, 10)):  # the last two come with one request
        assert ranged.pread(size, start) == data[start : start + size]
    for _ in range(50):
        start, size = seed.randrange(len(data)), seed.randrange(1, 300_000)
        assert ranged.pread(size, start) == data[start : start + size]
    assert ranged.pread(10, len(data)) == b""
    ranged.close()
    os.close(descriptor)


@pytest.mark.slow
def test_lobs_in_a_store_beside_an_archive_on_disk(s3: S3, package: Path, tmp_path: Path) -> None:
    archive = next(package.glob("*.siard"))
    for each in package.glob("*_lobseg_*"):
        s3.put_folder(each, f"lobs/{each.name}")
    apart = tmp_path / "alone" / archive.name
    apart.parent.mkdir()
    apart.write_bytes(archive.read_bytes())
    grants = metspack.Grants(lob_roots=(f"{s3.url}/lobs",))
    metspack.build(apart, tmp_path / "built", BuildOptions(limits=options().limits, grants=grants))
    (tmp_path / "near").mkdir()
    metspack.build(package / archive.name, tmp_path / "near" / "built", options())
    assert tree(tmp_path / "built") == tree(tmp_path / "near" / "built")


def test_a_folder_of_lobs_in_a_store(s3: S3, package: Path, tmp_path: Path) -> None:
    folder = next(package.glob("*_lobseg_0"))
    s3.put_folder(folder / "content", "loose/content")
    local = tmp_path / "loose"
    (folder / "content").rename(local.parent / "content")
    local.mkdir()
    (local.parent / "content").rename(local / "content")
    metspack.build(local, tmp_path / "one", options())
    metspack.build(f"{s3.url}/loose", tmp_path / "two", options())
    assert tree(tmp_path / "one") == tree(tmp_path / "two")


def test_a_package_in_a_store_is_checked_and_restored(s3: S3, package: Path, tmp_path: Path) -> None:
    s3.put_folder(package, "package")
    url = f"{s3.url}/package"
    report = metspack.check(url)
    assert list(report) == []
    assert report.ok
    assert [each.id for each in metspack.list_lobs(url)] == [each.id for each in metspack.list_lobs(package)]
    assert metspack.restore_dry_run(url).ok
    metspack.restore(url, tmp_path / "restored")
    metspack.restore(package, tmp_path / "near")
    assert tree(tmp_path / "restored") == tree(tmp_path / "near")
    metspack.restore_siard(url, tmp_path / "restored.siard")
    metspack.restore_siard(package, tmp_path / "near.siard")
    assert (tmp_path / "restored.siard").read_bytes() == (tmp_path / "near.siard").read_bytes()
    lob = next(iter(metspack.list_lobs(package))).id
    with metspack.open_lob(url, lob) as one, metspack.open_lob(package, lob) as other:
        assert one.read() == other.read()
    assert len(metspack.links(url).to_json()["packages"]) == len(
        metspack.links(package).to_json()["packages"]
    )


@pytest.mark.slow
def test_children_elsewhere_in_a_store_are_found_by_root(s3: S3, package: Path, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    for each in sorted(package.glob("*_lobseg_*")):
        each.rename(tmp_path / "elsewhere" / each.name)
    s3.put_folder(tmp_path / "elsewhere", "elsewhere")
    s3.put_folder(package, "Northwind")
    lost = {each.code for each in metspack.check(f"{s3.url}/Northwind")}
    assert lost == {each.code for each in metspack.check(package)}
    there = metspack.CheckOptions(roots=(f"{s3.url}/elsewhere",))
    near = metspack.CheckOptions(roots=(tmp_path / "elsewhere",))
    found = [(each.code, each.path) for each in metspack.check(f"{s3.url}/Northwind", there)]
    assert found == [(each.code, each.path) for each in metspack.check(package, near)]
    assert "L002" in lost
    assert "L002" not in {code for code, _ in found}


@pytest.mark.slow
def test_what_is_wrong_in_a_store_is_reported_as_on_disk(s3: S3, package: Path) -> None:
    lobs = sorted(package.rglob("record*.*"))
    lobs[0].write_bytes(lobs[0].read_bytes()[:-1] + b"\0")
    lobs[1].unlink()
    lobs[2].write_bytes(b"")
    (package / "extra.txt").write_text("extra")
    s3.put_folder(package, "package")
    local = [(each.code, each.path, each.message) for each in metspack.check(package)]
    there = [(each.code, each.path, each.message) for each in metspack.check(f"{s3.url}/package")]
    assert there == local
    assert local


def test_many_small_objects_are_requested_once_each(s3: S3, package: Path) -> None:
    s3.put_folder(package, "package")
    assert metspack.restore_dry_run(f"{s3.url}/package").ok
    got = [each.split()[1] for each in s3.loopback.requests() if each.startswith("GET") and "record" in each]
    assert len(got) == len(set(got))
    assert len(got) == len(list(package.rglob("record*.*")))


@pytest.mark.slow
def test_nothing_is_left_on_disk(s3: S3, package: Path, tmp_path: Path) -> None:
    s3.put_folder(package, "package")
    assert list(metspack.check(f"{s3.url}/package")) == []
    assert list((tmp_path / "tmp").iterdir())
    mirrors.forget_all()
    assert not list((tmp_path / "tmp").iterdir())


def test_what_a_process_that_was_killed_left_is_removed(s3: S3, tmp_path: Path) -> None:
    left = tmp_path / "tmp" / "metspack-stores-1"
    (left / "s3:" / "bucket").mkdir(parents=True)
    (left / "s3:" / "bucket" / "object").write_text("")
    s3.put("x", b"x")
    assert mirrors.path_of(f"{s3.url}/x") is not None
    assert not left.exists()


def test_mirrors_that_nobody_reads_are_emptied(s3: S3, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mirrors, "_FILLED", 1)
    from metspack.files import reading  # noqa: PLC0415

    for name in "abc":
        s3.put(name, name.encode() * 10_000)
    folder = mirrors.path_of(s3.url)
    assert folder is not None
    with reading.opening(folder, ("a",)) as first:
        for name in "bcb":
            with reading.opening(folder, (name,)) as descriptor:
                assert os.pread(descriptor, 20_000, 0) == name.encode() * 10_000
        assert os.pread(first, 20_000, 0) == b"a" * 10_000  # it was open all the while
    assert os.stat(folder / "c").st_blocks == 0
    assert os.stat(folder / "c").st_size == 10_000


def test_an_object_that_is_replaced_meanwhile_is_an_error(s3: S3, northwind: Path, tmp_path: Path) -> None:
    s3.put("Northwind.siard", northwind.read_bytes())
    path = mirrors.path_of(f"{s3.url}/Northwind.siard")
    assert path is not None
    assert path.exists()
    s3.put("Northwind.siard", northwind.read_bytes()[::-1])
    with pytest.raises(MetspackError, match="was replaced while it was read"):
        metspack.build(path, tmp_path / "built", options())
    assert not (tmp_path / "built").exists()


def test_what_is_deep_in_a_store_is_there_before_its_folder_was_listed(s3: S3) -> None:
    s3.put("package/child/deep/mets.xml", b"<mets/>")
    files = FolderTree(reading.as_place(f"{s3.url}/package"), ("child",))
    assert not files.is_there(b"deep/other.xml")
    assert files.is_there(b"deep/mets.xml")
