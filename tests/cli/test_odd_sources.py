"""Unusual contents of a folder of LOBs, and unusual names and places."""

from __future__ import annotations

import errno
import hashlib
import json
import os
import stat
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from metspack.building import segments
from tests import siards
from tests.cli.conftest import Commands
from tests.packages import forge
from tests.trees import tree

SECRET = b"nobody gave leave to read this"


@pytest.fixture
def lobs(tmp_path: Path) -> Path:
    folder = tmp_path / "lobs"
    folder.mkdir()
    return folder


def archive(lobs: Path, *paths: str) -> Path:
    """Return an archive beside the folder, whose cells name these paths in it."""
    return siards.outside(lobs.parent / "Odd.siard", *paths)


def placed(out: Path) -> list[Path]:
    return sorted(path for path in (out / "Odd_lobseg_0" / "content").rglob("*") if path.is_file())


def test_two_names_of_one_file_are_two_lobs(metspack: Commands, lobs: Path, tmp_path: Path) -> None:
    (lobs / "a.bin").write_bytes(b"content")
    os.link(lobs / "a.bin", lobs / "b.bin")
    assert metspack("build", archive(lobs, "a.bin", "b.bin"), "-o", tmp_path / "out", "-q").code == 0
    assert [each.read_bytes() for each in placed(tmp_path / "out")] == [b"content"] * 2
    assert metspack("check", tmp_path / "out").code == 0
    assert (lobs / "a.bin").stat().st_nlink == 2


@pytest.mark.parametrize("path", ["itself", "up/up/up/a.bin"])
def test_links_in_a_circle_are_refused(metspack: Commands, lobs: Path, tmp_path: Path, path: str) -> None:
    (lobs / "a.bin").write_bytes(b"content")
    for name, to in (("itself", "itself"), ("up", "."), ("to", "and"), ("and", "to")):
        (lobs / name).symlink_to(to)
    outcome = metspack("build", archive(lobs, path), "-o", tmp_path / "out")
    assert outcome.code == 3
    assert "link" in outcome.err
    assert not (tmp_path / "out").exists()


def _link(path: Path, secret: Path) -> None:
    path.unlink()
    path.symlink_to(secret)


def _folder_link(path: Path, secret: Path) -> None:
    path.parent.rename(path.parent.with_name("away"))
    path.parent.symlink_to(secret.parent, target_is_directory=True)


def _other(path: Path, secret: Path) -> None:
    path.unlink()
    path.write_bytes(secret.read_bytes())


def _pipe(path: Path, _secret: Path) -> None:
    path.unlink()
    os.mkfifo(path)


@pytest.mark.parametrize("swapped", [_link, _folder_link, _other, _pipe])
def test_what_is_swapped_between_plan_and_copy_is_noticed(
    metspack: Commands,
    lobs: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    swapped: Callable[[Path, Path], None],
) -> None:
    path, secret = lobs / "folder" / "a.bin", tmp_path / "secret" / "a.bin"
    for each, data in ((path, b"c" * len(SECRET)), (secret, SECRET)):
        each.parent.mkdir()
        each.write_bytes(data)
        os.utime(each, ns=(0, 0))
    real = segments.place

    def place(task: segments.SegmentTask, moved: Callable[[int], None]) -> segments.TaskPlaced:
        swapped(path, secret)
        return real(task, moved)

    monkeypatch.setattr(segments, "place", place)
    outcome = metspack("build", archive(lobs, "folder/a.bin"), "-o", tmp_path / "out", "-j", "1")
    assert outcome.code == 3, outcome
    assert "a.bin" in outcome.err
    assert not (tmp_path / "out").exists()
    left = (tmp_path / "out.partial").rglob("*")
    assert not [each for each in left if each.is_file() and SECRET in each.read_bytes()]


def _hole(path: Path, size: int) -> None:
    try:
        with path.open("wb") as file:
            file.truncate(size)
    except OSError as error:
        if error.errno not in {errno.EFBIG, errno.ENOSPC, errno.EINVAL}:
            raise
        pytest.skip(f"the file system for temporary files has no sparse file of {size:,} bytes")


def test_holes_are_zeros(metspack: Commands, lobs: Path, tmp_path: Path) -> None:
    _hole(lobs / "a.bin", 3_000_000)
    with (lobs / "a.bin").open("ab") as file:
        file.write(b"end")
    outcome = metspack("build", archive(lobs, "a.bin"), "-o", tmp_path / "out", "--json")
    assert outcome.code == 0, outcome
    (path,) = placed(tmp_path / "out")
    assert path.read_bytes() == bytes(3_000_000) + b"end"
    digest = hashlib.md5(bytes(3_000_000) + b"end", usedforsecurity=False).hexdigest()
    assert digest in (tmp_path / "out" / "manifest-md5.txt").read_text()
    assert metspack("check", tmp_path / "out").code == 0


@pytest.mark.parametrize("size", [2**31, 2**32 + 1, 2**63 - 1])
def test_a_size_of_any_number_of_bits_is_counted(metspack: Commands, lobs: Path, size: int) -> None:
    _hole(lobs / "a.bin", size)
    (lobs / "b.bin").write_bytes(b"b")
    source = archive(lobs, "a.bin", "b.bin")
    outcome = metspack("plan", source, "--max-bytes", str(size), "--split", "never", "--json")
    assert outcome.code == 0, outcome
    assert [each["bytes"] for each in json.loads(outcome.out)["segments"]] == [size, 1]
    smaller = metspack("plan", source, "--max-bytes", str(size - 1), "--split", "never")
    assert smaller.code == 3
    assert f"{size:,} bytes" in smaller.err


def test_extended_attributes_stay_behind(metspack: Commands, lobs: Path, tmp_path: Path) -> None:
    (lobs / "a.bin").write_bytes(b"content")
    try:
        os.setxattr(lobs / "a.bin", "user.kind", b"resource fork")
    except (AttributeError, OSError):
        pytest.skip("the file system for temporary files has no extended attributes")
    assert metspack("build", archive(lobs, "a.bin"), "-o", tmp_path / "out", "-q").code == 0
    (path,) = placed(tmp_path / "out")
    assert os.listxattr(path) == []
    assert os.getxattr(lobs / "a.bin", "user.kind") == b"resource fork"


NAMES = ("mets.xml", "METS.xml", "record1.bin.z", "record1.bin.0", "a.bin_part001", "manifest-md5.txt")


def test_reserved_names_are_given_up(metspack: Commands, lobs: Path, tmp_path: Path) -> None:
    for name in NAMES:
        (lobs / name).write_bytes(name.encode())
    assert metspack("build", archive(lobs, *NAMES), "-o", tmp_path / "out", "-q").code == 0
    assert [path.name.partition(".")[0] for path in placed(tmp_path / "out")] == [
        f"record{number}" for number in range(len(NAMES))
    ]
    assert sorted(path.read_text() for path in placed(tmp_path / "out")) == sorted(NAMES)
    assert metspack("check", tmp_path / "out").code == 0


LONG = ("n" * 256, "/".join(["n" * 200] * 25), "n" * 5_000)


@pytest.mark.parametrize("path", LONG, ids=lambda path: str(len(path)))
def test_too_long_names_are_refused(metspack: Commands, lobs: Path, tmp_path: Path, path: str) -> None:
    before = tree(lobs)
    outcome = metspack("build", archive(lobs, path), "-o", tmp_path / "out")
    assert (outcome.code, tree(lobs)) == (3, before)
    source = siards.packed(
        tmp_path / "Small.siard", siards.parts([siards.Lob(data=b"x", file=path, entry=None)])
    )
    assert metspack("build", source, "-o", tmp_path / "out").code == 3
    package = forge.forge(tmp_path / "package")
    forge.edit(package / forge.CHILD, forge.FIRST.partition("/")[2], path)
    outcome = metspack("check", package)
    assert (outcome.code, "F014" in outcome.out) == (1, True)
    assert not (tmp_path / "out").exists()


def test_a_long_path_is_no_finding(metspack: Commands, tmp_path: Path, lobs: Path) -> None:
    path = f"{'/'.join(['folder' * 10] * 6)}/a.bin"
    (lobs / path).parent.mkdir(parents=True)
    (lobs / path).write_bytes(b"content")
    assert metspack("build", archive(lobs, path), "-o", tmp_path / "out", "-q").code == 0
    package = forge.forge(tmp_path / "package")
    first = package / forge.FIRST
    (package / "Northwind_lobseg_0" / path).parent.mkdir(parents=True)
    first.rename(package / "Northwind_lobseg_0" / path)
    forge.edit(package / forge.CHILD, forge.FIRST.partition("/")[2], path)
    forge.seal(package)
    assert "N0" not in metspack("check", package).out


@pytest.fixture
def no_umask() -> Iterator[None]:
    before = os.umask(0)
    yield
    os.umask(before)


@pytest.mark.usefixtures("no_umask")
def test_without_a_umask_nobody_else_may_write_to_what_is_made(metspack: Commands, tmp_path: Path) -> None:
    source = siards.siard(tmp_path / "Small.siard", b"one", b"two")
    modes: dict[str, int] = {}

    def look() -> None:
        modes.update({str(each): each.lstat().st_mode for each in tmp_path.rglob("*")})

    with pytest.MonkeyPatch.context() as patch:
        real = segments.place

        def place(task: segments.SegmentTask, moved: Callable[[int], None]) -> segments.TaskPlaced:
            result = real(task, moved)
            look()
            return result

        patch.setattr(segments, "place", place)
        assert metspack("build", source, "-o", tmp_path / "out", "-j", "1").code == 0
    assert metspack("restore", tmp_path / "out", "-o", tmp_path / "back").code == 0
    assert metspack("convert", tmp_path / "out", "-o", tmp_path / "new", "--layout", "siard22").code == 0
    assert metspack("check", tmp_path / "out", "--report", tmp_path / "report.json").code == 0
    look()
    made = {path: stat.S_IMODE(mode) for path, mode in modes.items() if path != str(source)}
    assert len(made) > 20
    assert not {path: oct(mode) for path, mode in made.items() if mode & 0o022}
