"""Files' bytes: the same is found out about them by one process or several."""

import hashlib
import pickle
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

from metspack.checking import CheckSummary, Code, Level, check
from metspack.checking.files import fixity
from metspack.files import threads
from metspack.files.reading import DigestRequest, FileRun, Hashed, hash_blocks, hash_parts, hash_runs
from metspack.model import Finding
from metspack.sizes import TextLength
from tests.laws import law
from tests.packages import forge
from tests.packages.forge import lobs


def whole_length(data: bytes) -> TextLength:
    length = TextLength()
    length.update(data)
    return length


@given(
    data=st.one_of(st.binary(max_size=40), st.text(max_size=20).map(str.encode)),
    size=st.integers(1, 50),
    boundary=st.integers(0, 50),
)
def test_all_that_is_requested_is_found_whatever_the_blocks(data: bytes, size: int, boundary: int) -> None:
    reported: list[int] = []
    requested = DigestRequest(algorithms=("MD5", "SHA-256"), boundary=boundary, as_text=True)
    found = hash_blocks(
        (data[at : at + size] for at in range(0, len(data), size)), requested, reported.append
    )
    assert found.digests["SHA-256"] == hashlib.sha256(data).hexdigest()
    if boundary <= len(data):
        assert found.until["MD5"] == hashlib.md5(data[:boundary], usedforsecurity=False).hexdigest()
    assert found.size == len(data) == sum(reported)
    assert found.text is not None
    assert str(found.text) == str(whole_length(data))
    assert hash_blocks(iter([data]), replace(requested, as_text=False), reported.append).text is None


def test_what_was_found_can_be_sent(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes("äö".encode())
    requested = DigestRequest(algorithms=("MD5",), as_text=True)
    runs = [FileRun(root=tmp_path, folder=(), names="a/lost/a", request=requested)]
    sent = pickle.loads(pickle.dumps(runs))  # noqa: S301 -- our own
    (found,) = pickle.loads(pickle.dumps(hash_runs(sent, lambda _: None)))  # noqa: S301
    first, lost, again = map(found.outcome, range(3))
    assert isinstance(lost, FileNotFoundError)
    assert isinstance(first, Hashed)
    assert first.digests == again.digests
    assert first.text is not None
    assert first.text.unit(2) == "characters"


@pytest.fixture(params=[16, threads.LARGE])
def large(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Files that are large from so many bytes on."""
    monkeypatch.setattr(threads, "LARGE", request.param)


@pytest.mark.usefixtures("large")
@given(
    parts=st.lists(st.binary(max_size=40), min_size=1, max_size=5),
    boundary=st.integers(0, 60),
    lost=st.none() | st.integers(0, 4),
)
@law(30, HealthCheck.function_scoped_fixture)
def test_parts_and_whole_are_hashed_in_one_reading(
    tmp_path_factory: pytest.TempPathFactory,
    parts: list[bytes],
    boundary: int,
    lost: int | None,
) -> None:
    folder = tmp_path_factory.mktemp("parts")
    for number, data in enumerate(parts):
        if number != lost:
            (folder / str(number)).write_bytes(data)
    of_part = DigestRequest(algorithms=("SHA-256",), boundary=boundary)
    of_whole = DigestRequest(algorithms=("MD5", "CRC32"), boundary=boundary, as_text=True)
    files = tuple((folder, (str(number),), of_part) for number in range(len(parts)))
    reported: list[int] = []
    found = hash_parts((of_whole, files), reported.append)
    there = [b"" if number == lost else data for number, data in enumerate(parts)]
    for number, (part, data) in enumerate(zip(found.parts, there, strict=True)):
        assert isinstance(part, FileNotFoundError if number == lost else Hashed)
        if isinstance(part, Hashed):
            assert (part.size, part.digests) == (len(data), {"SHA-256": hashlib.sha256(data).hexdigest()})
    whole = b"".join(there)
    single = hash_blocks([whole], of_whole, lambda _: None)
    assert (found.whole.size, found.whole.digests) == (len(whole), single.digests)
    assert found.whole.until == single.until
    assert str(found.whole.text) == str(whole_length(whole))
    assert sum(reported) == len(whole)


def outcome(package: Path, level: Level, jobs: int | None) -> tuple[list[Finding], CheckSummary]:
    checking = check(package, level, jobs=jobs)
    return list(checking), checking.summary


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """A package of 60 LOBs with all kinds of damage to their bytes."""
    package = forge.forge(tmp_path / "package", lobs(60, 3))
    held = [package / f"Northwind_lobseg_{each.segment}" / each.path for each in lobs(60, 3)]
    first, second = held[0].read_bytes(), held[1].read_bytes()
    held[0].write_bytes(second)
    held[1].write_bytes(first)
    held[7].write_bytes(b"other")
    held[20].write_bytes(held[20].read_bytes().upper())
    held[40].write_bytes(held[40].read_bytes().replace(b"\n", b"\r\n"))
    held[50].unlink()
    held[59].write_bytes(b"")
    forge.edit(package / "manifest-sha256.txt", "  mets.xml", "0  mets.xml")
    return package


def test_several_processes_find_the_same_in_the_same_order(
    package: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fixity, "_FILES_AT_ONCE", 7)
    single = outcome(package, Level.FULL, 1)
    assert {"F003", "F004", "F005"} & {each.code for each in single[0]}
    assert outcome(package, Level.FULL, 2) == single


def test_files_that_cannot_be_read_by_the_time_are_reported_in_their_place(
    package: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def gone(self: fixity.Fixity, sql: str, jobs: int) -> Iterator[Finding]:
        (package / "Northwind_lobseg_0" / lobs(60, 3)[3].path).unlink()
        yield from real(self, sql, jobs)

    real = fixity.Fixity._read_files
    monkeypatch.setattr(fixity.Fixity, "_read_files", gone)
    found, _ = outcome(package, Level.FIXITY, 2)
    assert [each.path for each in found if each.code == Code.UNREADABLE.id] == [
        f"Northwind_lobseg_0/{lobs(60, 3)[3].path}"
    ]
