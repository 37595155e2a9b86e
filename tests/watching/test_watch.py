"""The watch refuses what no test may do, here and in the processes that tests start."""

from __future__ import annotations

import os
import socket
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from tests.siards import siard
from tests.tables import tabled
from tests.watching import suite_watch
from tests.watching.suite_watch import RefusedError


@pytest.fixture(autouse=True)
def outside(tmp_path: Path) -> Iterator[Path]:
    """A path that is not there, in a folder that may not be written into."""
    folder = tmp_path / "withheld"
    folder.mkdir()
    (folder / "README.md").write_text("as it was")
    with suite_watch.withheld(str(folder)):
        yield folder / "never"
    suite_watch.refused()  # it was meant
    assert {path.name: path.read_text() for path in folder.iterdir()} == {"README.md": "as it was"}


def _below_a_descriptor(path: Path) -> None:
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.mkdir(path.name, dir_fd=folder)
    finally:
        os.close(folder)


CHANGES: dict[str, Callable[[Path], object]] = {
    "open": lambda path: path.write_bytes(b""),
    "append": lambda path: os.open(path, os.O_APPEND | os.O_CREAT),
    "mkdir": Path.mkdir,
    "mkdir below a descriptor": _below_a_descriptor,
    "makedirs": lambda path: (path / "below").mkdir(parents=True),
    "remove": Path.unlink,
    "rmdir": Path.rmdir,
    "rename": lambda path: path.rename(path.parent / "there"),
    "link": lambda path: os.link(path.parent / "README.md", path),
    "symlink": lambda path: path.symlink_to("README.md"),
    "chmod": lambda path: path.chmod(0o600),
    "utime": os.utime,
    "truncate": lambda path: os.truncate(path, 0),
    "database": sqlite3.connect,
    "database by its URI": lambda path: sqlite3.connect(f"file://{path}?mode=rwc", uri=True),
}


@pytest.mark.parametrize("change", CHANGES)
def test_nothing_outside_is_changed(change: str, outside: Path, tmp_path: Path) -> None:
    with pytest.raises(RefusedError, match="never"):
        CHANGES[change](outside)
    (tmp_path / "link").symlink_to(outside.parent, target_is_directory=True)
    with pytest.raises(RefusedError, match="never"):
        CHANGES[change](tmp_path / "link" / outside.name)
    with pytest.raises(RefusedError, match="never"):
        CHANGES[change](tmp_path / ".." / os.path.relpath(outside, tmp_path.parent))


@pytest.mark.parametrize("name", ["remove", "truncate", "chmod", "utime", "open", "rename"])
def test_nothing_that_is_there_is_changed(name: str, outside: Path) -> None:
    with pytest.raises(RefusedError, match="README"):
        CHANGES[name](outside.with_name("README.md"))


def test_what_is_caught_is_remembered(outside: Path) -> None:
    with suppress(RefusedError):
        outside.mkdir()
    (refusal,) = suite_watch.refused()
    assert refusal.startswith(f"os.mkdir: {outside} is outside of the folders that tests may write to")
    assert suite_watch.refused() == []


def test_the_network_is_refused() -> None:
    for reach in (
        lambda: socket.create_connection(("127.0.0.1", 9), timeout=1),
        lambda: socket.getaddrinfo("localhost", 9),
        lambda: socket.gethostbyname("localhost"),
    ):
        with pytest.raises(RefusedError, match="never use the network"):
            reach()
    with socket.socket() as opened, pytest.raises(RefusedError):
        opened.bind(("127.0.0.1", 0))
    assert len(suite_watch.refused()) == 4


def test_a_test_may_ask_for_the_addresses_of_only_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(suite_watch.LOOPBACK, "1")
    with socket.socket() as opened:
        opened.bind(("127.0.0.1", 0))
    assert socket.getaddrinfo("127.0.0.1", 9)
    assert suite_watch.refused() == []
    for reach in (
        lambda: socket.create_connection(("192.0.2.1", 9), timeout=1),
        lambda: socket.getaddrinfo("example.org", 9),
    ):
        with pytest.raises(RefusedError, match="never use the network"):
            reach()


def test_a_socket_that_is_a_file_is_none_of_the_network(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with socket.socket(socket.AF_UNIX) as opened:
        opened.bind("here")
    assert suite_watch.refused() == []


@pytest.mark.slow
def test_a_command_that_a_test_starts_is_watched(outside: Path, tmp_path: Path) -> None:
    source = siard(tmp_path / "Small.siard", b"content")
    command = [sys.executable, "-m", "metspack", "build", str(source), "-o", str(outside)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, "RefusedError" in done.stderr) == (70, True)
    assert suite_watch.refused()


def test_a_worker_is_watched(outside: Path) -> None:
    text = f"import os; os.mkdir({str(outside)!r})"
    done = subprocess.run(
        [sys.executable, "-c", text, "--multiprocessing-fork"], capture_output=True, check=False
    )
    assert (done.returncode, len(suite_watch.refused())) == (1, 1)
    done = subprocess.run([sys.executable, "-c", "pass"], capture_output=True, check=False)
    assert (done.returncode, done.stderr, suite_watch.refused()) == (0, b"", [])


@tabled
def test_what_is_opened_is_below_what_was_granted(path: str, granted: bool) -> None:
    assert suite_watch.is_granted(path, ("/a/b/", "/secrets/")) is granted


def test_files_without_a_name_are_made_in_temporary_folders() -> None:
    with tempfile.TemporaryFile() as file:
        assert file.write(b"x") == 1
