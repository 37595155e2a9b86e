import errno
import fcntl
import os
import posix
import stat
import sys
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

from metspack import processes
from metspack.errors import SourceError, TargetError
from metspack.files import lock, threads, writing
from metspack.files.journal import unsealed
from metspack.files.writing import NewFile, OpenFolder, RunJournal
from tests.laws import law
from tests.trees import names, put_in_the_way


@pytest.fixture(autouse=True)
def _what_is_written_is_synchronised(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "fsync", posix.fsync)


# --- NewFile ------------------------------------------------------------------------------------------


def test_a_file_is_written_from_start_to_end(tmp_path: Path) -> None:
    with NewFile(tmp_path / "new") as file:
        for block in (b"one", b"", b"two", b"x" * (1 << 19), b"three"):
            file.write(block)
        assert file.size == 11 + (1 << 19)
    assert (tmp_path / "new").read_bytes() == b"onetwo" + b"x" * (1 << 19) + b"three"
    assert stat.S_IMODE((tmp_path / "new").stat().st_mode) & 0o600 == 0o600


@pytest.mark.parametrize("in_the_way", ["file", "folder", "link", "dangling"])
def test_what_exists_is_not_overwritten(tmp_path: Path, in_the_way: str) -> None:
    path = tmp_path / "new"
    put_in_the_way(path, in_the_way)
    with pytest.raises(TargetError, match=f"cannot write {path}: File exists"):
        NewFile(path)
    assert not (tmp_path / "nowhere").exists()


def test_bytes_are_patched_in_place(tmp_path: Path) -> None:
    with NewFile(tmp_path / "new") as file:
        file.write(b"0123456789")
        file.patch(2, b"ab")
        file.write(b"X")
        assert file.size == 11
    assert (tmp_path / "new").read_bytes() == b"01ab456789X"


def test_what_was_appended_is_read_back(tmp_path: Path) -> None:
    with NewFile(tmp_path / "new") as file:
        file.write(b"0123456789")
        assert b"".join(file.read_back(2, 5)) == b"234"
        assert list(file.read_back(5, 5)) == []
        file.write(b"x")
        assert b"".join(file.read_back(0, file.size)) == b"0123456789x"
        with pytest.raises(TargetError, match="it ends at byte 11"):
            list(file.read_back(0, 12))


@pytest.fixture
def large(monkeypatch: pytest.MonkeyPatch) -> None:
    """Files of sixteen bytes that are large, and two cores."""
    monkeypatch.setattr(processes, "cores", lambda: 2)
    monkeypatch.setattr(threads, "LARGE", 16)


@pytest.mark.usefixtures("large")
@given(blocks=st.lists(st.binary(max_size=12), max_size=9))
@law(100, HealthCheck.function_scoped_fixture)
def test_all_blocks_are_written_in_order(tmp_path: Path, blocks: list[bytes]) -> None:
    data = b"".join(blocks)
    path = tmp_path / "file"
    with NewFile(path) as file:
        file.write_all(iter(blocks), len(data))
    assert path.read_bytes() == data
    assert file.size == len(data)
    path.unlink()


@pytest.mark.usefixtures("large")
@pytest.mark.parametrize("error", [SourceError("it cannot be read"), KeyboardInterrupt()])
@given(count=st.integers(0, 7))
@law(20, HealthCheck.function_scoped_fixture)
def test_an_error_at_any_block_leaves_no_file(tmp_path: Path, error: BaseException, count: int) -> None:
    def blocks() -> Iterator[bytes]:
        yield from [bytes(8)] * count
        raise error

    def write() -> None:
        with NewFile(tmp_path / "file") as file:
            file.write_all(blocks(), 64)

    with pytest.raises(type(error)):
        write()
    assert not list(tmp_path.iterdir())


@pytest.mark.usefixtures("large")
@pytest.mark.parametrize("at", range(4))
def test_a_disk_full_at_any_block(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, at: int) -> None:
    written = 0

    def write(descriptor: int, block: bytes) -> int:
        nonlocal written
        if written == at:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        written += 1
        return posix.write(descriptor, block)

    def write_file() -> None:
        with NewFile(tmp_path / "file") as file:
            file.write_all([bytes(writing._BUFFER)] * 4, 4 * writing._BUFFER)

    monkeypatch.setattr(os, "write", write)
    with pytest.raises(TargetError, match="No space left"):
        write_file()
    assert not list(tmp_path.iterdir())


def test_a_new_file_is_whole_at_its_place_or_not_there(tmp_path: Path) -> None:
    target = tmp_path / "a"

    def interrupted() -> None:
        with writing.open_whole(target) as file:
            file.write(b"half")
            file.flush()
            assert not target.exists()
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert not list(tmp_path.iterdir())
    with writing.open_whole(target) as file:
        file.write(b"whole")
    assert [(each.name, each.read_bytes()) for each in tmp_path.iterdir()] == [("a", b"whole")]


@pytest.mark.parametrize("size", [4, 1 << 23])
def test_a_file_that_finds_no_room_leaves_nothing_and_is_called_by_its_name(
    size: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(_descriptor: int, _data: bytes) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(writing, "write", full)
    for opened in (writing.open_whole, writing.NewFile):
        with pytest.raises(TargetError) as refused, opened(tmp_path / "report.html") as file:
            file.write(bytes(size))
        assert refused.value.message == f"cannot write {tmp_path / 'report.html'}: No space left on device"
        assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("number", [errno.EPERM, errno.EIO])
def test_a_new_file_replaces_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    """Replace no file without hard links either; report other errors as they are."""
    target = tmp_path / "a"

    def refused(*_: object, **__: object) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(os, "link", refused)
    if number == errno.EPERM:
        with writing.open_whole(target) as file:
            file.write(b"first")
    else:
        target.write_bytes(b"first")
    words = "File exists" if number == errno.EPERM else "Input/output error"
    with pytest.raises(TargetError, match=words), writing.open_whole(target) as file:
        file.write(b"second")
    assert [(each.name, each.read_bytes()) for each in tmp_path.iterdir()] == [("a", b"first")]


def test_a_file_gets_a_name_in_another_folder(tmp_path: Path) -> None:
    source, target = tmp_path / "source", tmp_path / "target"
    for path in (source, target):
        path.mkdir()
    (source / "file").write_bytes(b"data")
    (source / "symbolic").symlink_to("file")
    folder = os.open(source, os.O_RDONLY)
    with OpenFolder(target) as opened:
        assert opened.link("name", folder, "file")
        assert opened.link("other", folder, "symbolic")
        assert not opened.link("none", folder, "missing")
        with pytest.raises(
            TargetError, match=r"cannot make .*/target/name a hard link: File exists"
        ) as refused:
            opened.link("name", folder, "file")
        assert refused.value.hint.startswith("Nothing is overwritten")
        assert (target / "name").samefile(source / "file")
        assert (target / "other").readlink() == Path("file")  # the link itself: nothing is followed
        opened.take_back("name")
        opened.take_back("name")
    os.close(folder)
    assert names(target) == {"other"}
    assert (source / "file").stat().st_nlink == 1


def test_a_file_can_be_discarded_twice_and_after_closing(tmp_path: Path) -> None:
    file = NewFile(tmp_path / "new")
    file.close()
    other = NewFile(tmp_path / "other")  # takes the number that the first one had
    file.discard()
    file.discard()
    other.write(b"still open")
    other.close()
    assert (tmp_path / "other").read_bytes() == b"still open"


def test_a_failed_fsync_leaves_the_file_closed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def failing(_: int) -> None:
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(os, "fsync", failing)
    with pytest.raises(TargetError, match="Input/output error"), NewFile(tmp_path / "new") as file:
        file.write(b"x")


@pytest.mark.parametrize(
    ("number", "words"),
    [
        *((errno.EACCES, "may write to"), (errno.EROFS, "may write to"), (errno.EIO, "may be failing")),
        *((each, "disk or quota is full") for each in (errno.ENOSPC, errno.EDQUOT)),
        (errno.EFBIG, "Free space or choose another target"),
    ],
)
def test_hints_follow_the_error(tmp_path: Path, number: int, words: str) -> None:
    with pytest.raises(TargetError) as caught, writing.explained(tmp_path):
        raise OSError(number, "said")
    assert caught.value.message == f"cannot write {tmp_path}: said"
    assert words in caught.value.hint


# --- folders ------------------------------------------------------------------------------------------


def test_folders_are_made_once_or_as_needed(tmp_path: Path) -> None:
    writing.make_directory(tmp_path / "a")
    with pytest.raises(TargetError, match="File exists"):
        writing.make_directory(tmp_path / "a")
    writing.make_directories(tmp_path / "a" / "b" / "c")
    writing.make_directories(tmp_path / "a" / "b" / "c")
    assert (tmp_path / "a" / "b" / "c").is_dir()


def test_the_deepest_folder_is_on_disk_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a" / "b").mkdir(parents=True)
    synced: list[Path] = []
    monkeypatch.setattr(writing, "sync_directory", synced.append)
    writing.sync_tree(tmp_path)
    assert not synced or sys.platform != "linux"  # the system does it at once
    synced.clear()
    monkeypatch.setattr(writing, "_syncfs", lambda: None)
    writing.sync_tree(tmp_path)
    assert synced == [tmp_path / "a" / "b", tmp_path / "a", tmp_path]


def test_a_folder_that_cannot_be_put_on_disk_is_an_error(tmp_path: Path) -> None:
    writing.sync_directory(tmp_path)
    with pytest.raises(TargetError, match="No such file"):
        writing.sync_directory(tmp_path / "none")


def test_everything_below_is_removed_and_no_link_followed(tmp_path: Path) -> None:
    kept = tmp_path / "kept"
    kept.mkdir()
    (kept / "file").write_bytes(b"")
    gone = tmp_path / "gone"
    (gone / "a" / "b").mkdir(parents=True)
    (gone / "a" / "file").write_bytes(b"")
    (gone / "a" / "folder-link").symlink_to(kept)
    (gone / "file-link").symlink_to(kept / "file")
    (gone / "dangling").symlink_to("nowhere")
    writing.remove(gone)
    assert sorted(each.name for each in tmp_path.iterdir()) == ["kept"]
    assert (kept / "file").exists()


def test_a_link_in_place_of_a_folder_is_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("kept", "gone/a"):
        (tmp_path / name).mkdir(parents=True)
        (tmp_path / name / "file").write_bytes(b"")
    listed = writing._some_entries

    def exchange(folder: int) -> list[str]:
        found = listed(folder)
        if (tmp_path / "gone" / "a").is_dir() and not (tmp_path / "away").exists():
            (tmp_path / "gone" / "a").rename(tmp_path / "away")
            (tmp_path / "gone" / "a").symlink_to(tmp_path / "kept")
        return found

    monkeypatch.setattr(writing, "_some_entries", exchange)
    writing.remove(tmp_path / "gone")
    assert not (tmp_path / "gone").exists()
    assert (tmp_path / "kept" / "file").exists()


@pytest.mark.parametrize(
    "write",
    [
        writing.NewFile,
        partial(writing.NewFile, is_new=False),
        partial(writing.reopen_file, size=1, is_new=False),
        lambda path: writing.OpenFolder(path.parent),
        writing.make_directory,
        writing.take_away,
        writing.remove,
        lambda path: writing.put(path.parents[2] / "staged", path),
        lambda path: writing.move(path.parents[2] / "staged", path),
        lambda path: writing.move(path.parents[2] / "staged", path, replaces=True),
        lambda path: writing.make_directories(path / "deeper"),
    ],
)
def test_nothing_is_written_behind_a_link(tmp_path: Path, write: Callable[[Path], object]) -> None:
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "old").write_bytes(b"12")
    (tmp_path / "staged").write_bytes(b"")
    (tmp_path / "out.partial").mkdir()
    (tmp_path / "out.partial" / "package").symlink_to("../outside")
    for name in ("old", "new"):
        with suppress(TargetError) if write is writing.remove else pytest.raises(TargetError):
            write(tmp_path / "out.partial" / "package" / name)
    assert {each.name: each.read_bytes() for each in (tmp_path / "outside").iterdir()} == {"old": b"12"}


def test_a_file_that_keeps_its_name_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "gone").mkdir()
    (tmp_path / "gone" / "open").write_bytes(b"")
    monkeypatch.setattr(os, "unlink", lambda _name, *, dir_fd: os.fstat(dir_fd))
    with pytest.raises(TargetError, match="not empty"):
        writing.remove(tmp_path / "gone")


def test_many_files_are_removed_some_at_a_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writing, "_ENTRIES", 2)
    for number in range(7):
        (tmp_path / f"gone/{number % 3}").mkdir(parents=True, exist_ok=True)
        (tmp_path / f"gone/{number % 3}/{number}").write_bytes(b"")
        (tmp_path / f"gone/{number}.bin").write_bytes(b"")
    writing.remove(tmp_path / "gone")
    assert not list(tmp_path.iterdir())


def test_of_files_in_a_directory_nothing_is_held(tmp_path: Path) -> None:
    for number in range(3_000):
        (tmp_path / f"a name that takes some memory {number}").write_bytes(b"")
    tracemalloc.start()
    try:
        writing.sync_tree(tmp_path)
        assert tracemalloc.get_traced_memory()[1] < 100_000
    finally:
        tracemalloc.stop()


def test_a_link_is_removed_and_not_what_it_leads_to(tmp_path: Path) -> None:
    kept = tmp_path / "kept"
    kept.mkdir()
    (kept / "file").write_bytes(b"")
    (tmp_path / "link").symlink_to(kept)
    writing.remove(tmp_path / "link")
    assert (kept / "file").exists()
    assert not os.path.lexists(tmp_path / "link")


def test_a_file_and_what_is_gone_already_are_removed(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    writing.remove(tmp_path / "file")
    writing.remove(tmp_path / "file")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("error", "expected"), [(BlockingIOError(), False), (OSError(errno.ENOLCK, ""), True)]
)
def test_unsupported_locks(monkeypatch: pytest.MonkeyPatch, error: OSError, *, expected: bool) -> None:
    def failing(*_: object) -> None:
        raise error

    monkeypatch.setattr(fcntl, "flock", failing)
    assert lock(0) is expected


# --- the journal --------------------------------------------------------------------------------------


def test_the_journal_holds_a_line_an_event(tmp_path: Path) -> None:
    journal = RunJournal(tmp_path / "journal")
    journal.record(event="begin", source="é")
    journal.record(event="end")
    journal.close()
    lines = (tmp_path / "journal").read_bytes().splitlines()
    assert [unsealed(line) for line in lines] == [{"event": "begin", "source": "é"}, {"event": "end"}]


def test_the_journal_is_written_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    journal = RunJournal(tmp_path / "journal")
    whole = os.write
    with monkeypatch.context() as patch:
        patch.setattr(os, "write", lambda descriptor, data: whole(descriptor, data[:3]))
        journal.record(event="begin")
    sizes = iter((4, 0))

    def full(descriptor: int, data: memoryview) -> int:
        if size := next(sizes):
            return whole(descriptor, data[:size])
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "write", full)
    with pytest.raises(TargetError, match="No space left"):
        journal.record(event="end")
    journal.close()
    assert unsealed((tmp_path / "journal").read_bytes().splitlines()[0]) == {"event": "begin"}


def test_a_file_that_is_written_on_keeps_its_first_bytes_all_the_time(tmp_path: Path) -> None:
    path = tmp_path / "notes"
    path.write_bytes(b"kept, and what was not recorded")
    file = writing.reopen_file(path, 4, is_new=False)
    assert path.read_bytes() == b"kept"  # a kill here loses nothing
    file.write(b" on")
    file.close()
    assert (path.read_bytes(), file.size) == (b"kept on", 7)
    with pytest.raises(TargetError, match="ends at byte 7; expected 8"):
        writing.reopen_file(path, 8, is_new=False)
    writing.reopen_file(path, 0, is_new=False).close()
    assert path.read_bytes() == b""
