"""``--link-mode hardlink``: LOBs that are other names of the source's files, in a package like any other."""

from __future__ import annotations

import errno
import os
import signal
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from metspack import checking
from metspack.building.build import BuildWork
from tests import segmented_folders, siards
from tests.cli.conftest import Commands
from tests.trees import put, tree

pytestmark = pytest.mark.usefixtures("one_clock")

HARDLINK = ("--link-mode", "hardlink")
COLUMN = "content/schema0/table0/lob1"
LARGE = b"larger than is read at once" * 50_000


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder of LOBs: small ones, an empty one, one that is read in blocks, one in parts."""
    root = tmp_path / "lobs"
    lobs = {f"record{number}.bin": b"%d" % number * (number + 7) for number in range(5)}
    lobs |= {"record5.bin": b"", "record6.bin": LARGE, "record7.bin.0": b"first ", "record7.bin.z": b"last"}
    for path in put(root / COLUMN, lobs).iterdir():
        path.chmod(0o640)
    return root


def states(folder: Path) -> dict[Path, tuple[int, ...]]:
    """Return what a file system says of files, but for the number of their names."""
    found = {path: path.stat() for path in sorted(folder.rglob("*")) if path.is_file()}
    return {
        path: (each.st_ino, each.st_mode, each.st_uid, each.st_gid, each.st_size, each.st_mtime_ns)
        for path, each in found.items()
    }


def names_of(folder: Path) -> dict[str, int]:
    """Return how many names each file below a folder has."""
    return {path.name: path.stat().st_nlink for path in sorted(folder.rglob("*")) if path.is_file()}


def lob_files(package: Path) -> dict[str, Path]:
    """Return the files of LOBs in a package by their names."""
    return {path.name: path for path in package.rglob("record*")}


def test_the_package_is_the_same_with_linked_lobs(metspack: Commands, folder: Path, tmp_path: Path) -> None:
    before = states(folder)
    options = ("--max-files", "3", "-j", "1")
    assert metspack("build", folder, "-o", tmp_path / "copied", *options).code == 0
    outcome = metspack("build", folder, "-o", tmp_path / "linked", *options, *HARDLINK)
    assert outcome.code == 0, outcome
    assert tree(tmp_path / "copied") == tree(tmp_path / "linked")
    assert states(folder) == before
    for name, path in lob_files(tmp_path / "linked").items():
        source = folder / COLUMN / name
        is_linked = source.exists() and source.samefile(path)
        assert is_linked == (name != "record7.bin")
        assert path.stat().st_nlink == (2 if is_linked else 1)
    assert names_of(folder) == {
        **{f"record{number}.bin": 2 for number in range(7)},
        "record7.bin.0": 1,
        "record7.bin.z": 1,
    }
    assert outcome.err.splitlines()[-1] == (
        "warning: 7 LOBs hard-linked to the files of the source, 1 other was copied: a later edit of such a "
        "file is an edit of the package too"
    )
    assert [each.code for each in checking.check(tmp_path / "linked")] == ["Z007"]


def test_lobs_beside_an_archive_are_linked(metspack: Commands, northwind: Path, tmp_path: Path) -> None:
    source = segmented_folders.dbptk_21(tmp_path / "x", segmented_folders.pictures(northwind))
    before = states(source)
    for name, mode in (("copied", ()), ("linked", HARDLINK)):
        given = ("-o", tmp_path / name, "-j", "1", "--dialect", "csip", "--id", "A-1", *mode)
        assert metspack("build", source / "x.siard", *given).code == 0
    assert tree(tmp_path / "copied") == tree(tmp_path / "linked")
    linked = [path for path in (tmp_path / "linked").rglob("*.bin") if path.stat().st_nlink == 2]
    assert len(linked) == len(segmented_folders.pictures(northwind))
    assert states(source) == before


def test_a_cells_digest_is_compared_before_publishing(metspack: Commands, tmp_path: Path) -> None:
    source = archive_with_lobs_beside(tmp_path / "source", (b"one", b"two", LARGE), wrong=1)
    before = states(source.parent)
    outcome = metspack("build", source, "-o", tmp_path / "out", *HARDLINK)
    assert (outcome.code, "but its cell says" in outcome.err) == (3, True), outcome
    assert states(source.parent) == before
    assert set(names_of(source.parent).values()) == {1}
    assert not list(tmp_path.glob("out*"))


def archive_with_lobs_beside(folder: Path, contents: tuple[bytes, ...], wrong: int | None = None) -> Path:
    """Write an archive whose LOBs lie beside it; the digest of one cell may be ``wrong``."""
    folder.mkdir()
    lobs = []
    for number, data in enumerate(contents):
        (folder / f"lob{number}.bin").write_bytes(data)
        digest = "0" * 32 if number == wrong else siards.md5(data)
        attributes = f'length="{len(data)}" digestType="MD5" digest="{digest}"'
        lobs.append(siards.Lob(data=data, file=f"../lob{number}.bin", entry=None, attributes=attributes))
    return siards.packed(folder / "a.siard", siards.parts(lobs))


def test_lobs_in_a_zip_file_cannot_be_linked(metspack: Commands, northwind: Path, tmp_path: Path) -> None:
    outcome = metspack("build", northwind, "-o", tmp_path / "out", *HARDLINK)
    assert (outcome.code, outcome.out) == (2, "")
    assert outcome.err.splitlines()[0].startswith("error: no LOB can be hard-linked")
    assert not list(tmp_path.glob("out*"))


@pytest.mark.parametrize("size", [3, len(LARGE)])
def test_what_is_linked_is_on_disk_before_the_package_appears(
    metspack: Commands, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, size: int
) -> None:
    source = archive_with_lobs_beside(tmp_path / "source", (LARGE[:size],))
    synchronised: list[int] = []
    monkeypatch.setattr(os, "fsync", lambda descriptor: synchronised.append(os.fstat(descriptor).st_ino))
    assert metspack("build", source, "-o", tmp_path / "out", *HARDLINK, "-j", "1").code == 0
    assert (source.parent / "lob0.bin").stat().st_ino in synchronised


def test_failed_fsync_of_a_link(metspack: Commands, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = archive_with_lobs_beside(tmp_path / "source", (b"one",))
    inode = (source.parent / "lob0.bin").stat().st_ino

    def fail(descriptor: int) -> None:
        if os.fstat(descriptor).st_ino == inode:
            raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(os, "fsync", fail)
    outcome = metspack("build", source, "-o", tmp_path / "out", *HARDLINK, "-j", "1")
    assert (outcome.code, "Input/output error" in outcome.err) == (4, True), outcome
    assert (source.parent / "lob0.bin").stat().st_nlink == 1


@pytest.fixture
def elsewhere(tmp_path: Path) -> Iterator[Path]:
    """A folder on another file system than ``tmp_path``."""
    here = tmp_path.stat().st_dev
    for place in ("/dev/shm", "/var/tmp"):  # noqa: S108 -- those that the watch grants
        if os.access(place, os.W_OK) and Path(place).stat().st_dev != here:
            with tempfile.TemporaryDirectory(dir=place) as found:
                yield Path(found)
            return
    pytest.skip("all folders that can be written to lie on one file system")


def test_another_file_system_is_reported_first(metspack: Commands, tmp_path: Path, elsewhere: Path) -> None:
    source = archive_with_lobs_beside(tmp_path / "source", (b"one",))
    outcome = metspack("build", source, "-o", elsewhere / "out", *HARDLINK)
    assert outcome.code == 4
    assert outcome.err.splitlines()[0] == (
        "error: LOB s0.t0.c2.r1 ('lob0.bin') lies on another file system than the target, and a hard link "
        "cannot lead there"
    )
    assert "leave --link-mode hardlink out" in outcome.err
    assert not list(elsewhere.iterdir())
    assert metspack("build", source, "-o", elsewhere / "out").code == 0


@pytest.mark.parametrize(
    ("number", "size"), [(errno.EXDEV, 3), (errno.EPERM, len(LARGE)), (errno.EMLINK, 3), (errno.ENOSPC, 3)]
)
def test_a_link_that_the_system_refuses_is_an_error_with_a_hint(
    metspack: Commands, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int, size: int
) -> None:
    source = archive_with_lobs_beside(tmp_path / "source", (LARGE[:size],))

    def refuse(*_: object, **_named: object) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(os, "link", refuse)
    outcome = metspack("build", source, "-o", tmp_path / "out", *HARDLINK, "-j", "1")
    assert outcome.code == 4
    assert f"a hard link: {os.strerror(number)}" in outcome.err
    assert "\nhint: " in outcome.err
    assert not list(tmp_path.glob("out*"))


def test_an_interruption_leaves_the_source_as_it_was(
    metspack: Commands, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = states(folder)

    def interrupt(*_: object) -> None:
        assert names_of(folder)["record6.bin"] == 2
        os.kill(os.getpid(), signal.SIGINT)

    monkeypatch.setattr(BuildWork, "_describe", interrupt)
    assert metspack("build", folder, "-o", tmp_path / "out", *HARDLINK, "-j", "1").code == 130
    assert states(folder) == before
    assert set(names_of(folder).values()) == {1}
    assert not list(tmp_path.glob("out*"))
