"""Packages built into a store: the same bytes as on disk, shown at the end, gone on with after a stop."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

import metspack
from metspack import BuildOptions, Limits
from metspack.errors import (
    ConfigError,
    Interrupted,
    MetspackError,
    SourceUnfinishedError,
    StoreError,
    TargetExistsError,
)
from metspack.files import mirrors, staging, storetarget
from metspack.files.mirrors import UNFINISHED
from metspack.model import LinkMode
from metspack.stores import client
from tests import siards
from tests.stores.conftest import S3
from tests.trees import tree

pytestmark = pytest.mark.usefixtures("one_clock")


def files(folder: Path) -> dict[str, bytes]:
    """Return the files below a folder, as a store has them: it knows no folders."""
    return {path: data for path, data in tree(folder).items() if not path.endswith("/")}


def options(**others: object) -> BuildOptions:
    return BuildOptions(**{"limits": Limits(files=2, bytes=1_000_000), **others})  # type: ignore[arg-type]


@pytest.fixture
def expected(northwind: Path, tmp_path: Path) -> dict[str, bytes]:
    """The same package as it lies on disk."""
    metspack.build(northwind, tmp_path / "package", options())
    return files(tmp_path / "package")


def build_stopped(s3: S3, source: Path | str, put: int, **others: object) -> None:
    """Build a package whose store fails from this put on; the store works again at the end."""
    s3.loopback.err(fails_from_put=put)
    with pytest.raises(StoreError, match="ExpiredToken"):
        metspack.build(source, f"{s3.url}/package", options(**others))
    s3.loopback.err()


def left(tmp_path: Path) -> list[str]:
    return [each.name for each in (tmp_path / "tmp").glob("metspack-build-*")]


@pytest.mark.slow
def test_a_new_object_is_seen_once_it_exists(s3: S3, northwind: Path, expected: dict[str, bytes]) -> None:
    s3.put("Northwind.siard", northwind.read_bytes())
    metspack.inspect(f"{s3.url}/Northwind.siard")  # which lists the folder
    target = f"{s3.url}/package"
    with pytest.raises(MetspackError):
        list(metspack.check(target))
    metspack.build(northwind, target, options())
    assert metspack.check(target).ok
    assert s3.objects("package") == expected


@pytest.mark.parametrize("given", [{}, {"pack": "zip", "layout": "siard22"}])
def test_a_package_in_a_store_is_that_on_disk(s3: S3, given: dict[str, Any], tmp_path: Path) -> None:
    source = siards.siard(tmp_path / "Small.siard", b"one", b"", b"three" * 99, b"four")
    metspack.build(source, tmp_path / "package", options(**given))
    built = metspack.build(source, f"{s3.url}/package", options(**given))
    assert str(built.target) == f"{s3.url}/package"
    assert s3.objects("package") == files(tmp_path / "package")
    assert not left(tmp_path)
    assert metspack.check(f"{s3.url}/package").ok


def test_manifests_and_the_parent_are_put_last(s3: S3, northwind: Path) -> None:
    metspack.build(northwind, f"{s3.url}/package", options())
    puts = [each.split()[1].partition("/package/")[2] for each in s3.loopback.requests() if each[:3] == "PUT"]
    assert puts[0].startswith(UNFINISHED)
    assert {each.partition("?")[0] for each in puts[-3:]} == {
        "mets.xml",
        "manifest-md5.txt",
        "manifest-sha256.txt",
    }
    assert len(puts) == len(set(puts))


@pytest.mark.slow
@pytest.mark.parametrize("number", [3, 13, 16])
def test_a_build_that_stopped_is_unfinished_and_the_same_command_resumes(
    s3: S3, northwind: Path, expected: dict[str, bytes], number: int, tmp_path: Path
) -> None:
    s3.put("Northwind.siard", northwind.read_bytes())
    source, target = f"{s3.url}/Northwind.siard", f"{s3.url}/package"
    build_stopped(s3, source, number)
    s3.forget()  # as another process would
    assert UNFINISHED in s3.objects("package")
    with pytest.raises(SourceUnfinishedError, match="is not finished"):
        list(metspack.check(target))
    with pytest.raises(SourceUnfinishedError, match="is not finished"):
        list(metspack.restore_dry_run(target))
    s3.forget()
    s3.loopback.requests()
    metspack.build(source, target, options())
    assert s3.objects("package") == expected
    assert not left(tmp_path)


@pytest.mark.slow
def test_going_on_puts_no_segment_twice(s3: S3, northwind: Path, expected: dict[str, bytes]) -> None:
    build_stopped(s3, northwind, 9)
    before = len(s3.objects("package"))
    s3.loopback.requests()
    metspack.build(northwind, f"{s3.url}/package", options())
    puts = [each for each in s3.loopback.requests() if each.startswith("PUT")]
    assert before > 7
    assert len(puts) <= len(expected) - before + 1 + 2 + 1  # the marks, and the segment at hand again
    assert s3.objects("package") == expected


@pytest.mark.slow
def test_without_what_is_on_disk_the_build_begins_anew(
    s3: S3, northwind: Path, expected: dict[str, bytes], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    build_stopped(s3, northwind, 9)
    s3.put("package/Northwind_lobseg_0/stray.bin", b"of another build")
    (tmp_path / "other").mkdir()
    monkeypatch.setenv("TMPDIR", str(tmp_path / "other"))
    s3.forget()
    metspack.build(northwind, f"{s3.url}/package", options())
    assert s3.objects("package") == expected


@pytest.mark.slow
def test_an_unfinished_package_of_other_options_is_left_untouched_unless_requested(
    s3: S3, northwind: Path, expected: dict[str, bytes], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = f"{s3.url}/package"
    build_stopped(s3, northwind, 9, name="Other")
    before = s3.objects("package")
    (tmp_path / "other").mkdir()
    monkeypatch.setenv("TMPDIR", str(tmp_path / "other"))
    s3.forget()
    with pytest.raises(TargetExistsError, match="unfinished package of another source"):
        metspack.build(northwind, target, options())
    assert s3.objects("package") == before
    metspack.build(northwind, target, options(), restart=True)
    assert s3.objects("package") == expected


def test_a_prefix_that_is_not_empty_is_refused(s3: S3, northwind: Path, tmp_path: Path) -> None:
    s3.put("package/notes.txt", b"mine")
    for target in (f"{s3.url}/package", f"{s3.url}/package/notes.txt"):
        with pytest.raises(TargetExistsError, match=r"is not empty|is an object already"):
            metspack.build(northwind, target, options())
    assert s3.objects("package") == {"notes.txt": b"mine"}
    assert not left(tmp_path)


def test_an_error_of_the_source_leaves_nothing(s3: S3, northwind: Path, tmp_path: Path) -> None:
    damaged = tmp_path / "Northwind.siard"
    data = bytearray(northwind.read_bytes())
    data[len(data) // 2] ^= 1
    damaged.write_bytes(data)
    with pytest.raises(MetspackError):
        metspack.build(damaged, f"{s3.url}/package", options())
    assert s3.objects("package") == {}
    assert not left(tmp_path)


@pytest.mark.slow
def test_a_late_listing_is_waited_for(s3: S3, northwind: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(storetarget, "_WAITS", (0, 0.01))
    s3.loopback.err(hide="record0")
    with pytest.raises(StoreError, match="does not list"):
        metspack.build(northwind, f"{s3.url}/package", options())
    assert "mets.xml" not in s3.objects("package")
    assert UNFINISHED in s3.objects("package")
    s3.loopback.err()
    metspack.build(northwind, f"{s3.url}/package", options())
    assert UNFINISHED not in s3.objects("package")


def test_changed_bytes_are_found_by_verify(s3: S3, northwind: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = client.ObStore.read

    def read(self: client.ObStore, found: client.StoredObject, start: int, stop: int) -> bytes:
        data = real(self, found, start, stop)
        return data[:-1] + b"\0" if found.key.endswith("record0.bin") else data

    monkeypatch.setattr(client.ObStore, "read", read)
    with pytest.raises(StoreError, match="does not give back the bytes"):
        metspack.build(northwind, f"{s3.url}/package", options(verify=True))
    assert "mets.xml" not in s3.objects("package")


def test_stored_segments_take_no_room_here(s3: S3, northwind: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[int] = []
    real = storetarget.StoreTarget.finish

    def finish(self: storetarget.StoreTarget, package: Path, *rest: object) -> None:
        lobs = [path for path in package.rglob("record*.*") if path.stat().st_size]
        seen.append(len(lobs))
        assert all(path.stat().st_blocks == 0 for path in lobs)
        real(self, package, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(storetarget.StoreTarget, "finish", finish)
    metspack.build(northwind, f"{s3.url}/package", options())
    assert seen == [8]


@pytest.mark.slow
def test_an_object_of_many_parts(s3: S3, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(client, "PART", 5 << 20)
    monkeypatch.setattr(storetarget, "PART", 5 << 20)
    data = os.urandom(1 << 20) * 17 + b"end"
    folder = tmp_path / "loose" / "content" / "schema0" / "table0" / "lob1"
    folder.mkdir(parents=True)
    (folder / "record0.bin").write_bytes(data)
    metspack.build(tmp_path / "loose", f"{s3.url}/package", options(limits=Limits(files=10)))
    found = {key: value for key, value in s3.objects("package").items() if key.endswith("record0.bin")}
    assert list(found.values()) == [data]
    assert len([each for each in s3.loopback.requests() if "partNumber" in each]) == 4
    assert metspack.check(f"{s3.url}/package").ok


def test_hard_links_and_a_whole_bucket_are_refused(s3: S3, northwind: Path) -> None:
    with pytest.raises(ConfigError, match="hardlink"):
        metspack.build(northwind, f"{s3.url}/package", options(link_mode=LinkMode.HARDLINK))
    with pytest.raises(TargetExistsError, match="is a whole bucket"):
        metspack.build(northwind, "s3://archive", options())


def test_what_only_disks_can_do_refuses_a_url(s3: S3, northwind: Path) -> None:
    for call in (
        lambda: metspack.restore(northwind, f"{s3.url}/restored"),
        lambda: metspack.convert(f"{s3.url}/package", "new"),
        lambda: metspack.merge([f"{s3.url}/package"], "new"),
    ):
        with pytest.raises(ConfigError, match="is in a store; expected a file or folder of this machine"):
            call()
    assert mirrors.path_of("plain/path") is None


@pytest.mark.slow
def test_a_note_that_was_not_written_to_its_end_hides_no_later_ones(
    s3: S3, northwind: Path, expected: dict[str, bytes], tmp_path: Path
) -> None:
    for number in (6, 9):  # puts of both runs
        build_stopped(s3, northwind, number)
        log = next((tmp_path / "tmp").glob("metspack-build-*")) / "sent.jsonl"
        log.write_bytes(log.read_bytes() + b'{"event": "sent", "sent": [["cut o')
    metspack.build(northwind, f"{s3.url}/package", options())
    assert s3.objects("package") == expected


def test_a_build_that_is_interrupted_once_its_package_is_shown_leaves_it(
    s3: S3, northwind: Path, expected: dict[str, bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    real = staging.Partial.discard

    def interrupted(made: staging.Partial) -> None:
        real(made)
        raise Interrupted

    with monkeypatch.context() as patch:
        patch.setattr(staging.Partial, "discard", interrupted)
        with pytest.raises(Interrupted):
            metspack.build(northwind, f"{s3.url}/package", options())
    assert s3.objects("package") == expected
