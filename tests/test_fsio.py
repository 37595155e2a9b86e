import errno
import gc
import json
import os
import posix
import resource
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from metspack import fsio
from metspack.errors import TargetError
from metspack.fsio import Journal, NewFile, Staging


@pytest.fixture(autouse=True)
def _no_descriptor_is_left_open() -> Iterator[None]:
    gc.collect()  # what other tests dropped
    before = os.listdir("/dev/fd")
    yield
    assert os.listdir("/dev/fd") == before


@pytest.fixture(autouse=True)
def _what_is_written_is_synchronised(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "fsync", posix.fsync)


@contextmanager
def files_no_larger_than(size: int) -> Iterator[None]:
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def put(path: Path, kind: str) -> None:
    """Put something in the way."""
    if kind == "file":
        path.write_bytes(b"mine")
    elif kind == "folder":
        path.mkdir()
    else:
        path.symlink_to({"link": os.devnull, "dangling": "nowhere"}[kind])


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
    put(path, in_the_way)
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


def test_a_patch_cut_short_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with NewFile(tmp_path / "new") as file:
        file.write(b"0123")
        monkeypatch.setattr(os, "pwrite", lambda *_: 1)
        with pytest.raises(TargetError, match="short write"):
            file.patch(0, b"ab")


def test_what_was_appended_is_read_back(tmp_path: Path) -> None:
    with NewFile(tmp_path / "new") as file:
        file.write(b"0123456789")
        assert b"".join(file.written(2, 5)) == b"234"
        assert list(file.written(5, 5)) == []
        file.write(b"x")
        assert b"".join(file.written(0, file.size)) == b"0123456789x"
        with pytest.raises(TargetError, match="it ends at byte 11"):
            list(file.written(0, 12))


def test_short_writes_are_continued(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = os.write
    monkeypatch.setattr(os, "write", lambda descriptor, block: whole(descriptor, bytes(block[:3])))
    with NewFile(tmp_path / "new") as file:
        file.write(b"0123456789")
        file.write(b"abc")
    assert (tmp_path / "new").read_bytes() == b"0123456789abc"


def test_an_error_inside_the_block_leaves_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "fsync", lambda _: pytest.fail("nothing is to be kept"))

    def interrupted() -> None:
        with NewFile(tmp_path / "new") as file:
            file.write(b"lost")
            raise KeyError

    with pytest.raises(KeyError):
        interrupted()
    assert not (tmp_path / "new").exists()


def test_a_file_can_be_discarded_twice_and_after_closing(tmp_path: Path) -> None:
    file = NewFile(tmp_path / "new")
    file.close()
    other = NewFile(tmp_path / "other")  # takes the number that the first one had
    file.discard()
    file.discard()
    other.write(b"still open")
    other.close()
    assert (tmp_path / "other").read_bytes() == b"still open"


def test_a_file_too_large_for_the_disk_is_explained(tmp_path: Path) -> None:
    refused = pytest.raises(TargetError, match="File too large")
    with files_no_larger_than(1 << 19), refused as caught, NewFile(tmp_path / "new") as file:
        file.write(b"x" * (1 << 20))
    assert "Free space or choose another target" in caught.value.hint


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT])
def test_a_full_disk_is_explained(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    def full(*_: object) -> int:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(os, "write", full)
    refused = pytest.raises(TargetError, match=f"cannot write {tmp_path / 'new'}: {os.strerror(number)}")
    with refused as caught, NewFile(tmp_path / "new") as file:
        file.write(b"x")
    assert "disk or quota is full" in caught.value.hint


def test_a_disk_that_fails_at_last_is_an_error_and_leaves_the_file_closed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def failing(_: int) -> None:
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(os, "fsync", failing)
    with pytest.raises(TargetError, match="Input/output error"), NewFile(tmp_path / "new") as file:
        file.write(b"x")


@pytest.mark.parametrize(
    ("number", "words"), [(errno.EACCES, "may write to"), (errno.EROFS, "may write to"), (errno.EIO, "")]
)
def test_hints_follow_the_error(tmp_path: Path, number: int, words: str) -> None:
    with pytest.raises(TargetError) as caught, fsio.explained(tmp_path):
        raise OSError(number, "said")
    assert caught.value.message == f"cannot write {tmp_path}: said"
    assert words in caught.value.hint
    assert bool(words) == bool(caught.value.hint)


def test_an_error_without_a_number_is_told_in_its_own_words(tmp_path: Path) -> None:
    with pytest.raises(TargetError, match=r"cannot write .*: just so"), fsio.explained(tmp_path):
        raise OSError("just so")


# --- folders ------------------------------------------------------------------------------------------


def test_folders_are_made_once_or_as_needed(tmp_path: Path) -> None:
    fsio.make_directory(tmp_path / "a")
    with pytest.raises(TargetError, match="File exists"):
        fsio.make_directory(tmp_path / "a")
    fsio.make_directories(tmp_path / "a" / "b" / "c")
    fsio.make_directories(tmp_path / "a" / "b" / "c")
    assert (tmp_path / "a" / "b" / "c").is_dir()


def test_the_deepest_folder_is_on_disk_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a" / "b").mkdir(parents=True)
    synced: list[Path] = []
    monkeypatch.setattr(fsio, "sync_directory", synced.append)
    fsio.sync_tree(tmp_path)
    assert synced == [tmp_path / "a" / "b", tmp_path / "a", tmp_path]


def test_a_folder_that_cannot_be_put_on_disk_is_an_error(tmp_path: Path) -> None:
    fsio.sync_directory(tmp_path)
    with pytest.raises(TargetError, match="No such file"):
        fsio.sync_directory(tmp_path / "none")


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
    fsio.remove(gone)
    assert sorted(each.name for each in tmp_path.iterdir()) == ["kept"]
    assert (kept / "file").exists()


def test_a_link_is_removed_and_not_what_it_leads_to(tmp_path: Path) -> None:
    kept = tmp_path / "kept"
    kept.mkdir()
    (kept / "file").write_bytes(b"")
    (tmp_path / "link").symlink_to(kept)
    fsio.remove(tmp_path / "link")
    assert (kept / "file").exists()
    assert not os.path.lexists(tmp_path / "link")


def test_a_file_and_what_is_gone_already_are_removed(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    fsio.remove(tmp_path / "file")
    fsio.remove(tmp_path / "file")
    assert list(tmp_path.iterdir()) == []


# --- the journal --------------------------------------------------------------------------------------


def test_the_journal_holds_a_line_an_event(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "journal")
    journal.record(event="begin", source="é")
    journal.record(event="end")
    journal.close()
    lines = (tmp_path / "journal").read_bytes().splitlines()
    assert [json.loads(line) for line in lines] == [{"event": "begin", "source": "é"}, {"event": "end"}]


def test_the_journal_is_never_half_written_in_silence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    journal = Journal(tmp_path / "journal")
    monkeypatch.setattr(os, "write", lambda *_: 1)
    with pytest.raises(TargetError, match="short write"):
        journal.record(event="begin")
    journal.close()


# --- staging ------------------------------------------------------------------------------------------


def test_a_package_is_published_by_one_rename_and_nothing_else_is_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    renamed: list[tuple[Path, Path]] = []
    rename = os.rename

    def noted(source: Path, target: Path) -> None:
        renamed.append((source, target))
        rename(source, target)

    monkeypatch.setattr(os, "rename", noted)
    staging = Staging(tmp_path / "out")
    (staging.package / "mets.xml").write_bytes(b"<mets/>")
    (staging.work / "slice").write_bytes(b"")
    staging.journal.record(event="begin")
    assert staging.free() > 0
    assert not staging.target.exists()
    inode = staging.package.stat().st_ino
    staging.publish()
    assert renamed == [(staging.package, staging.target)]
    assert [each.name for each in tmp_path.iterdir()] == ["out"]
    assert (tmp_path / "out").stat().st_ino == inode
    assert (tmp_path / "out" / "mets.xml").read_bytes() == b"<mets/>"


def test_what_is_discarded_leaves_nothing(tmp_path: Path) -> None:
    staging = Staging(tmp_path / "out")
    (staging.package / "folder").mkdir()
    (staging.package / "folder" / "file").write_bytes(b"")
    staging.discard()
    staging.discard()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["out", "out.partial"])
@pytest.mark.parametrize("in_the_way", ["file", "folder", "dangling"])
def test_nothing_may_be_in_the_way(tmp_path: Path, name: str, in_the_way: str) -> None:
    path = tmp_path / name
    put(path, in_the_way)
    with pytest.raises(TargetError, match=f"{path} exists already") as caught:
        Staging(tmp_path / "out")
    assert caught.value.hint
    assert [each.name for each in tmp_path.iterdir()] == [name]
    assert in_the_way != "file" or path.read_bytes() == b"mine"


@pytest.mark.parametrize("target", [".", "..", "folder/..", "folder/"])
def test_a_target_that_names_a_folder_there_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, target: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder").mkdir()
    with pytest.raises(TargetError, match="exists already"):
        Staging(Path(target))


@pytest.mark.parametrize("above", ["none", "file"])
def test_the_folder_for_the_target_must_be_there(tmp_path: Path, above: str) -> None:
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(
        TargetError, match=f"{tmp_path / above} is not a folder, so out cannot be made in it"
    ) as caught:
        Staging(tmp_path / above / "out")
    assert caught.value.hint == "Make the folder first."


def test_a_target_is_made_where_a_link_above_it_leads(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    monkeypatch.chdir(tmp_path)
    staging = Staging(Path("link/out"))
    staging.publish()
    assert (tmp_path / "real" / "out").is_dir()
    assert staging.target == tmp_path.resolve() / "real" / "out"


def test_a_target_that_came_to_exist_meanwhile_is_not_replaced(tmp_path: Path) -> None:
    staging = Staging(tmp_path / "out")
    (tmp_path / "out").mkdir()
    with pytest.raises(TargetError, match="came to exist"):
        staging.publish()
    staging.discard()
    assert [each.name for each in tmp_path.iterdir()] == ["out"]


def test_staging_that_is_interrupted_as_it_begins_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    true = os.mkdir

    def mkdir(path: Path) -> None:
        true(path)
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "mkdir", mkdir)
    with pytest.raises(KeyboardInterrupt):
        Staging(tmp_path / "out")
    assert list(tmp_path.iterdir()) == []


def test_staging_that_another_began_meanwhile_is_left_to_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    true = os.mkdir

    def mkdir(path: Path) -> None:
        true(path)
        true(path)

    monkeypatch.setattr(os, "mkdir", mkdir)
    with pytest.raises(TargetError, match="File exists"):
        Staging(tmp_path / "out")
    assert (tmp_path / "out.partial").is_dir()


def test_staging_that_fails_to_begin_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def failing(_: Path) -> None:
        raise TargetError("no journal")

    monkeypatch.setattr(fsio, "Journal", failing)
    with pytest.raises(TargetError, match="no journal"):
        Staging(tmp_path / "out")
    assert list(tmp_path.iterdir()) == []


def test_the_root_of_everything_is_no_target() -> None:
    with pytest.raises(TargetError, match="/ exists already"):
        fsio.check_vacant(Path("/"))
