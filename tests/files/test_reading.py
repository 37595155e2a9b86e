import errno
import hashlib
import os
import socket
from pathlib import Path

import pytest

from metspack.errors import ConfigError, Interrupted, SourceError
from metspack.files import reading
from metspack.files.reading import as_path
from tests.tables import tabled


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "root" / "a" / "b").mkdir(parents=True)
    (tmp_path / "root" / "a" / "b" / "file").write_bytes(b"0123456789")
    (tmp_path / "outside").write_bytes(b"secret")
    return tmp_path / "root"


def contents(where: Path, *segments: str) -> bytes:
    with reading.opening(where, segments) as descriptor:
        return b"".join(reading.chunks(descriptor))


def test_a_file_is_opened_below_a_root(root: Path) -> None:
    assert contents(root, "a", "b", "file") == b"0123456789"
    assert contents(root / "a" / "b" / "file") == b"0123456789"


def test_an_interruption_within_close_is_kept(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    close = os.close

    def interrupted(descriptor: int) -> None:
        monkeypatch.setattr(os, "close", close)
        close(descriptor)
        raise Interrupted(15)

    for segments in (("a", "b", "file"), ("a", "file")):
        monkeypatch.setattr(os, "close", interrupted)
        with pytest.raises(Interrupted):
            reading.opened(root, segments)


def test_the_root_may_be_a_link(root: Path) -> None:
    (root / "link").symlink_to(root / "a" / "b" / "file")
    (root.parent / "other").symlink_to(root)
    assert contents(root / "link") == b"0123456789"
    assert contents(root.parent / "other", "a", "b", "file") == b"0123456789"
    os.close(reading.opened_folder(root.parent / "other", ("a", "b")))


@pytest.mark.parametrize("segments", [("link",), ("folder", "file"), ("a", "up", "file"), ("dangling",)])
def test_no_link_is_followed_below_it(root: Path, segments: tuple[str, ...]) -> None:
    (root / "link").symlink_to(root / "a" / "b" / "file")
    (root / "folder").symlink_to(root / "a" / "b")
    (root / "a" / "up").symlink_to("b")
    (root / "dangling").symlink_to("nowhere")
    with pytest.raises(OSError, match=r"symbolic links|Not a directory"):
        reading.opened(root, segments)
    if len(segments) > 1:
        with pytest.raises(NotADirectoryError):
            reading.opened_folder(root, segments[:-1])


@pytest.mark.parametrize("name", ["", ".", "..", "a/b", "/etc", "a\0b"])
@pytest.mark.parametrize("before", [(), ("a",)])
def test_what_is_no_name_is_refused(root: Path, name: str, before: tuple[str, ...]) -> None:
    with pytest.raises(SourceError, match="is not a name of a file or folder"):
        reading.opened(root, (*before, name))


def test_what_is_missing_is_an_oserror(root: Path) -> None:
    with pytest.raises(FileNotFoundError):
        reading.opened(root, ("a", "none"))
    with pytest.raises(FileNotFoundError):
        reading.opened(root / "none")
    with pytest.raises(NotADirectoryError):
        reading.opened(root, ("a", "b", "file", "below"))
    with pytest.raises(FileNotFoundError):
        reading.opened_folder(root, ("a", "none"))


@pytest.mark.parametrize("segments", [(), ("a", "b", "file")])
def test_a_refused_status(root: Path, segments: tuple[str, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(_: int) -> os.stat_result:
        raise OSError(errno.EACCES, os.strerror(errno.EACCES))

    before = set(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else set()
    monkeypatch.setattr(os, "fstat", refused)
    with pytest.raises(PermissionError) as caught:
        reading.opened(root, segments)
    monkeypatch.undo()
    assert caught.value.filename == str(root.joinpath(*segments))
    assert not before or set(os.listdir("/proc/self/fd")) <= before


@pytest.mark.parametrize("segments", [(), ("a",), ("a", "b")])
def test_a_folder_is_no_file(root: Path, segments: tuple[str, ...]) -> None:
    with pytest.raises(IsADirectoryError) as caught:
        reading.opened(root, segments)
    assert caught.value.filename == ("/".join(segments) or str(root))


def test_a_pipe_is_refused_without_waiting_for_a_writer(root: Path) -> None:
    os.mkfifo(root / "pipe")
    with pytest.raises(SourceError, match=r"^pipe is not a regular file but a named pipe$"):
        reading.opened(root, ("pipe",))


def test_a_device_is_refused() -> None:
    with pytest.raises(SourceError, match=r"^/dev/null is not a regular file but a character device$"):
        reading.opened(Path("/dev/null"))


def test_a_socket_cannot_be_opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)  # a socket's path is short
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind("s")
        with pytest.raises(OSError, match="No such device or address"):
            reading.opened(Path("s"))


# --- many small files of one folder ---------------------------------------------------------------------


def hashed(
    root: Path, names: str, *folder: str, request: reading.DigestRequest | None = None
) -> reading.HashedRun:
    request = request or reading.DigestRequest(algorithms=("MD5", "CRC32"))
    (found,) = reading.hash_runs(
        [reading.FileRun(root=root, folder=folder, names=names, request=request)], lambda _: None
    )
    return found


@pytest.mark.parametrize("size", [0, 1, reading.CHUNK, reading.CHUNK + 1])
def test_files_of_any_size_are_hashed_one_by_one_or_many_at_once(root: Path, size: int) -> None:
    data = b"x" * size
    (root / "a" / "b" / "more").write_bytes(data)
    found = hashed(root, "file/more", "a", "b")
    for outcome in (found.outcome(1), hashed(root, "more", "a", "b").outcome(0)):
        assert isinstance(outcome, reading.Hashed)
        assert outcome.size == size
        assert outcome.digests["MD5"] == hashlib.md5(data, usedforsecurity=False).hexdigest()
    assert list(found.sizes) == [10, size]
    assert (
        found.digests["CRC32"]
        == "a684c7c6" + reading.hash_blocks([data], REQUEST_OF_CRC32, lambda _: None).digests["CRC32"]
    )


REQUEST_OF_CRC32 = reading.DigestRequest(algorithms=("CRC32",))


def test_what_is_no_file_has_an_error_in_its_place(root: Path) -> None:
    (root / "a" / "link").symlink_to("b")
    os.mkfifo(root / "a" / "pipe")
    (root / "a" / "file").write_bytes(b"0123456789")
    found = hashed(root, "b/file/link/lost/pipe/..", "a")
    errors = [type(found.outcome(number)).__name__ for number in range(6)]
    assert errors == [
        "IsADirectoryError",
        "Hashed",
        "OSError",
        "FileNotFoundError",
        "SourceError",
        "SourceError",
    ]
    assert found.digests["CRC32"] == 8 * " " + "a684c7c6" + 32 * " "


def test_a_folder_that_is_a_link_is_not_entered(root: Path) -> None:
    (root / "link").symlink_to("a")
    (root / "a" / "file").write_bytes(b"0123456789")
    assert isinstance(hashed(root, "file", "link").outcome(0), NotADirectoryError)


def test_a_file_that_grows_meanwhile_is_read_as_a_stream(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = os.fstat

    def before(descriptor: int) -> os.stat_result:
        status = real(descriptor)
        return os.stat_result((*status[:6], status.st_size - 1, *status[7:]))

    def read() -> list[bytes | None]:
        found = reading.small_files(root, ("a", "b"), ["file"], [None], memoryview(bytearray(99)))
        return [None if data is None else bytes(data) for data in found]

    assert read() == [b"0123456789"]
    monkeypatch.setattr(os, "fstat", before)
    assert read() == [None]


def test_requests_for_more_than_digests_take_each_file_by_itself(root: Path) -> None:
    request = reading.DigestRequest(algorithms=("CRC32",), boundary=3, as_text=True)
    found = hashed(root, "file/lost", "a", "b", request=request)
    first = found.outcome(0)
    assert isinstance(first, reading.Hashed)
    assert first.text is not None
    assert first.text.unit(10) == "bytes"
    assert (
        first.until["CRC32"]
        == reading.hash_blocks([b"012"], REQUEST_OF_CRC32, lambda _: None).digests["CRC32"]
    )
    assert isinstance(found.outcome(1), FileNotFoundError)


@pytest.mark.parametrize("is_answered", [True, False])
def test_names_in_a_sandbox(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, is_answered: bool) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "link").symlink_to("nowhere")
    if not is_answered:
        monkeypatch.setattr(os, "access", lambda *_, **__: False)
    found = reading.looked_up(tmp_path, (), ("link", "none", "file"))
    assert [each is not None for each in found] == [True, False, True]


@tabled
def test_a_file_url_of_this_machine_is_its_path(text: str, path: str | None) -> None:
    if path is not None:
        assert as_path(text) == Path(path)
        return
    with pytest.raises(ConfigError, match="names no file or folder of this machine"):
        as_path(text)
