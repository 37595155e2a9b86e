"""Laws of reading several files as one, and what tells that a file is another."""

import gzip
import hashlib
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

from metspack.errors import SourceError
from metspack.files import byteranges, reading
from metspack.files.byteranges import Below, GzipMedium, Medium, SpooledMedium, Stamp
from tests.laws import law


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("parts")


def written(folder: Path, parts: list[bytes]) -> list[Path]:
    paths = [folder / f"part{number}" for number in range(len(parts))]
    for path, data in zip(paths, parts, strict=True):
        path.write_bytes(data)
    return paths


@given(st.lists(st.binary(max_size=9), min_size=1, max_size=6), st.integers(0, 60), st.integers(0, 60))
def test_parts_read_as_the_whole_at_every_place(
    folder: Path, parts: list[bytes], start: int, length: int
) -> None:
    whole = b"".join(parts)
    with Medium(written(folder, parts)) as medium:
        assert medium.size == len(whole)
        assert medium.pread(length, start) == whole[start : start + length]
        assert b"".join(medium.chunks(start, start + length)) == whole[start : start + length]
        assert b"".join(medium.chunks()) == whole


def test_blocks_are_of_the_chunk_size_also_across_parts(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
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


@given(st.lists(st.binary(max_size=9), max_size=6), st.integers(0, 60), st.integers(0, 60), st.integers(1, 9))
def test_what_can_only_be_read_from_its_beginning_is_kept_and_read_at_every_place(
    blocks: list[bytes], start: int, length: int, size: int
) -> None:
    whole = b"".join(blocks)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(byteranges, "_BLOCK", size)
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


# --- what gzip has compressed -----------------------------------------------------------------------------


def gzipped(folder: Path, members: list[bytes], more: bytes = b"") -> Below:
    (path,) = written(folder, [b"".join(gzip.compress(each, 1, mtime=0) for each in members) + more])
    return Below(root=path, segments=())


SMALL = {"_READ": 64, "_INFLATED": 96, "_SPACING": 200, "_COPIES": 4}


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in SMALL.items():
        monkeypatch.setattr(byteranges, name, value)


def noise(size: int) -> bytes:
    return hashlib.shake_128(b"noise").digest(size)


@pytest.mark.usefixtures("small")
@law(60, HealthCheck.function_scoped_fixture)
@given(
    sizes=st.lists(st.integers(0, 1500), min_size=1, max_size=5),
    places=st.lists(st.tuples(st.integers(0, 6000), st.integers(0, 700)), max_size=12),
    padding=st.integers(0, 99),
)
def test_what_gzip_compressed_is_read_at_every_place(
    folder: Path, sizes: list[int], places: list[tuple[int, int]], padding: int
) -> None:
    members = [noise(size) for size in sizes]
    whole = b"".join(members)
    with GzipMedium(gzipped(folder, members, bytes(padding))) as medium:
        for start, length in places:
            assert medium.pread(length, start) == whole[start : start + length]
            assert b"".join(medium.chunks(start, start + length)) == whole[start : start + length]
        assert b"".join(medium.chunks()) == whole
        assert medium.size == len(whole)
        medium.rest()
        assert b"".join(medium.chunks(1)) == whole[1:]


@pytest.mark.usefixtures("small")
def test_gzip_is_inflated_once_onward_and_from_the_nearest_copy_back(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = noise(20_000)
    inflated: list[int] = []
    inflate = GzipMedium._inflate_given

    def counted(self: GzipMedium, state: byteranges._Inflating) -> None:
        before = state.at
        inflate(self, state)
        inflated.append(state.at - before)

    monkeypatch.setattr(GzipMedium, "_inflate_given", counted)
    with GzipMedium(gzipped(folder, [whole])) as medium:
        for start in range(0, 20_000, 100):
            assert medium.pread(100, start) == whole[start : start + 100]
        assert sum(inflated) == 20_000
        assert len(medium._copies) <= 4
        inflated.clear()
        for start in range(19_900, -1, -100):
            assert medium.pread(100, start) == whole[start : start + 100]
        assert max(inflated) <= 96
        assert sum(inflated) < 200 * 20_000 / 3


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (lambda data: data[:-1], "is cut off"),
        (lambda data: data[:200], "is cut off"),
        (lambda data: data[:3], "is cut off"),
        (lambda data: data[:1], "is not a gzip file"),
        (lambda _: b"", "empty"),
        (lambda _: b"no gzip", "is not a gzip file, near byte 0 of the file"),
        (lambda data: data + b"\0\0more", "has other bytes after its end"),
        (lambda data: data + b"\x1f", "has other bytes after its end"),
        (lambda data: data[:300] + bytes([data[300] ^ 1]) + data[301:], "is damaged: incorrect data check"),
        (lambda data: data[:-8] + bytes([data[-8] ^ 1]) + data[-7:], "is damaged: incorrect data check"),
        (lambda data: data + b"\x1f\x8b\x09" + bytes(9), "is damaged: unknown compression method"),
    ],
)
def test_gzip_that_is_cut_off_or_damaged_is_refused(
    folder: Path, damage: Callable[[bytes], bytes], said: str
) -> None:
    (path,) = written(folder, [damage(gzip.compress(noise(5000), mtime=0))])
    with GzipMedium(Below(root=path, segments=())) as medium, pytest.raises(SourceError) as caught:
        medium.check_rest()
    assert said in caught.value.message
    assert caught.value.message.startswith(f"{path}: ")
    assert caught.value.hint


def test_gzip_that_becomes_too_large_is_refused(folder: Path) -> None:
    file = gzipped(folder, [bytes(40 << 20)])
    with GzipMedium(file) as medium:
        medium.check_rest()
    with GzipMedium(file, ratio=100) as medium, pytest.raises(SourceError, match="100 times as large"):
        medium.check_rest()


def test_gzip_that_was_changed_meanwhile_is_refused(folder: Path) -> None:
    file = gzipped(folder, [b"first"])
    with GzipMedium(file) as medium:
        medium.check_rest()
        medium.rest()
        gzipped(folder, [b"another"])
        with pytest.raises(SourceError, match="was changed"):
            medium.pread(1, 0)
