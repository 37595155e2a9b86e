"""Laws of reading several files as one, and what tells that a file is another."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metspack.files import reading
from metspack.files.byteranges import Medium, SpooledMedium
from metspack.files.reading import Stamp


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("parts")


def written(folder: Path, parts: list[bytes]) -> list[Path]:
    paths = [folder / f"part{number}" for number in range(len(parts))]
    for path, data in zip(paths, parts, strict=True):
        path.write_bytes(data)
    return paths


@given(st.lists(st.binary(max_size=9), min_size=1, max_size=6), st.integers(0, 60), st.integers(0, 60))
def test_parts_read_as_the_whole(folder: Path, parts: list[bytes], start: int, length: int) -> None:
    whole = b"".join(parts)
    with Medium(written(folder, parts)) as medium:
        assert medium.size == len(whole)
        assert medium.pread(length, start) == whole[start : start + length]
        assert b"".join(medium.chunks(start, start + length)) == whole[start : start + length]
        assert b"".join(medium.chunks()) == whole


def test_blocks_have_the_chunk_size_across_parts(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "CHUNK", 4)
    with Medium(written(folder, [b"abcdef", b"", b"ghi"])) as medium:
        assert list(medium.chunks()) == [b"abcd", b"efgh", b"i"]


def test_a_file_that_was_cut_ends_the_bytes_early(folder: Path) -> None:
    (path,) = written(folder, [b"abcdef"])
    with Medium((path,)) as medium:
        os.truncate(path, 3)
        assert b"".join(medium.chunks()) == b"abc"


def test_a_missing_part_leaves_nothing_open(folder: Path) -> None:
    before = len(os.listdir("/proc/self/fd")) if Path("/proc/self/fd").exists() else 0
    paths = written(folder, [b"a"])
    with pytest.raises(FileNotFoundError):
        Medium([*paths, folder / "absent"])
    assert not before or len(os.listdir("/proc/self/fd")) == before


def _appended(path: Path) -> None:
    path.write_bytes(path.read_bytes() + b"!")


def _touched(path: Path) -> None:
    os.utime(path, ns=(1, 1))


def _replaced(path: Path) -> None:
    other = path.with_name("other")
    other.write_bytes(path.read_bytes())
    status = path.stat()
    os.utime(other, ns=(status.st_atime_ns, status.st_mtime_ns))
    other.replace(path)


@pytest.mark.parametrize("change", [_appended, _touched, _replaced])
def test_a_stamp_tells_that_a_file_is_another(tmp_path: Path, change: Callable[[Path], None]) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"content")

    def taken() -> tuple[Stamp, ...]:
        with Medium((path,)) as medium:
            assert medium.stamps == medium.stamped()
            return medium.stamps

    before = taken()
    assert taken() == before
    change(path)
    assert taken() != before


@given(st.lists(st.binary(max_size=9), max_size=6), st.integers(0, 60), st.integers(0, 60))
def test_a_stream_is_kept_and_read_at_every_place(blocks: list[bytes], start: int, length: int) -> None:
    whole = b"".join(blocks)
    with SpooledMedium([Path("whole")], blocks) as medium:
        assert medium.size == len(whole)
        assert medium.pread(length, start) == whole[start : start + length]
        assert b"".join(medium.chunks(start, start + length)) == whole[start : start + length]
        assert medium.stamped() == medium.stamps


def test_what_fails_while_it_is_kept_leaves_nothing_open() -> None:
    def blocks() -> Iterator[bytes]:
        yield b"a"
        raise EOFError

    before = len(os.listdir("/proc/self/fd")) if Path("/proc/self/fd").exists() else 0
    with pytest.raises(EOFError):
        SpooledMedium([Path("whole")], blocks())
    assert not before or len(os.listdir("/proc/self/fd")) == before
