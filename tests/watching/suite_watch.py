"""Refuses by an audit hook what tests may not do; imports only the standard library.

Sockets other than those of this machine's own files (and of its own addresses, where a test asks for that)
are refused, and whatever would change the file system
outside the folders that are given. What is refused is an error there and is written down, so that the test
fails although something catches the error. Commands that tests start, and metspack's own workers, are watched
too: ``sitecustomize`` beside this module begins it there.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import Any
from urllib.parse import unquote, urlsplit

HERE = os.path.dirname(os.path.abspath(__file__))
_PACKAGE = os.path.join(os.path.dirname(os.path.dirname(HERE)), "metspack", "")
_WRITER = os.path.join(_PACKAGE, "files", "writing.py")
_VARIABLE = "PYTHON_SUITE_WATCH"
LOOPBACK = "PYTHON_SUITE_LOOPBACK"
"""A variable of the environment that allows addresses of this machine."""
_OWN = {"127.0.0.1", "::1", "localhost", None}
_WITHHELD = "PYTHON_SUITE_WITHHELD"
VARIABLES = ("PYTHONPATH", _VARIABLE, _WITHHELD)
"""Variables of the environment by which processes that are started are watched."""
_WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
_DEVICES = (
    "/dev/shm/",  # noqa: S108 -- of multiprocessing, and of tests that need a second file system
    "/var/tmp/",  # noqa: S108 -- of these, where the first is in memory
    "/dev/null/",
    "/dev/full/",
    "/dev/fd/",
    "/dev/pts/",
    "/dev/ptmx/",
    "/dev/tty/",
    "/proc/self/fd/",
)

_stat = os.stat  # whatever a test makes of it
_roots: tuple[str, ...] = ()
_inside: set[tuple[int, int]] = (
    set()
)  # folders below them, by device and number: what these hold needs no path
_report = ""
_begun: list[bool] = []
_paused: list[bool] = []


class RefusedError(AssertionError):
    """Something under test did what no test may do."""


def begin(roots: list[str], report: str) -> None:
    """Watch this process, and all of Python that it starts, from now on.

    ``roots`` are folders that may be written into; ``report`` a file that what is refused is appended to.
    """
    os.environ[_VARIABLE] = "\n".join((report, *roots))
    found = os.environ.get("PYTHONPATH", "")
    if HERE not in found.split(os.pathsep):
        os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, (HERE, found)))
    _begin(roots, report)


def continue_watching() -> None:
    """Watch this process as the one that started it is watched, when it is one of metspack's."""
    words = sys.orig_argv
    is_worker = "--multiprocessing-fork" in words
    is_command = any(os.path.basename(each) == "metspack" for each in words[:4])
    if _VARIABLE in os.environ and (is_worker or is_command):
        report, *roots = os.environ[_VARIABLE].split("\n")
        _begin(roots, report)


def _begin(roots: list[str], report: str) -> None:
    global _roots, _report  # noqa: PLW0603 -- one watch, as there is one hook
    both = {each for root in roots for each in (os.path.abspath(root), os.path.realpath(root))}
    _roots = (*(f"{each}/" for each in sorted(both)), *_DEVICES)
    _report = report
    _inside.clear()
    if not _begun:
        _begun.append(True)
        sys.addaudithook(_hook)  # it stays for the life of the process, and sees what C code does too


@contextmanager
def withheld(folder: str) -> Iterator[None]:
    """Refuse in the block any change of a folder below those that tests may write to."""
    os.environ[_WITHHELD] = f"{os.path.realpath(folder)}/"
    _inside.clear()
    try:
        yield
    finally:
        del os.environ[_WITHHELD]


def pause() -> None:
    """Suspend the watch of this process: what pytest and its plugins do between tests is theirs."""
    _paused.append(True)


def resume() -> None:
    """Watch again."""
    _paused.clear()


def refused() -> list[str]:
    """Return the refusals since the last call, here and in the processes that were started."""
    try:
        with open(_report, encoding="utf-8") as file:
            found = file.read().splitlines()
    except FileNotFoundError:
        return []
    os.unlink(_report)
    return found


def _refuse(event: str, words: str) -> None:
    descriptor = os.open(_report, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    try:
        os.write(descriptor, f"{event}: {words}\n".encode(errors="backslashreplace"))
    finally:
        os.close(descriptor)
    raise RefusedError(f"{event}: {words}")


def _hook(event: str, arguments: tuple[Any, ...]) -> None:
    check = _CHECKS.get(event)
    if check is not None and not _paused:
        check(event, arguments)


def _check_address(event: str, arguments: tuple[Any, ...]) -> None:
    named = arguments[0] if event.startswith("socket.get") else arguments[-1]
    host = named[0] if isinstance(named, tuple) else named
    if LOOPBACK in os.environ and (host.decode() if isinstance(host, bytes) else host) in _OWN:
        return
    if not isinstance(arguments[-1], str | bytes) or event.startswith("socket.get"):  # a path: a socket file
        _refuse(event, f"{arguments!r}: metspack and its tests never use the network")


def _check_open(event: str, arguments: tuple[Any, ...]) -> None:
    path, _mode, flags = arguments
    if not flags or not isinstance(flags, int) or isinstance(path, int):
        return
    text = os.fsdecode(path)
    # The hook does not have the folder that a name is below: files.writing opened it, which was looked at.
    is_below = "/" not in text and text not in {".", ".."}
    if flags & _WRITES:
        if not is_below or not _is_writer():
            _check_path(event, text)
    elif flags & os.O_DIRECTORY and _is_writer() and not (is_below and flags & os.O_NOFOLLOW):
        _check_path(event, text)


def _is_writer() -> bool:
    """Return whether files.writing opens, also through a function of a test."""
    frame: FrameType | None = sys._getframe(3)
    for _ in range(3):
        if frame is None:
            return False
        if frame.f_code.co_filename == _WRITER:
            return True
        frame = frame.f_back
    return False


def _check_path(event: str, path: Any, folder: int = -1) -> None:
    if path is None or isinstance(path, int):
        return
    text = os.fsdecode(path)
    if not text.startswith("/"):
        try:
            base = os.readlink(f"/proc/self/fd/{folder}") if folder >= 0 else os.getcwd()
        except OSError:  # a folder that is gone, or a system without /proc
            return
        text = f"{base}/{text}"
    above, name = os.path.split(text.rstrip("/"))
    is_named = name not in {"", ".", ".."}
    identity = _identity(above) if is_named else None
    if identity in _inside:
        return
    whole = os.path.join(os.path.realpath(above), name) if is_named else os.path.realpath(text)
    if f"{whole}/".startswith(_roots) and not f"{whole}/".startswith(os.environ.get(_WITHHELD, "\0")):
        if identity is not None and f"{os.path.dirname(whole)}/".startswith(_roots):
            _inside.add(identity)
    elif not name.startswith(".coverage") and "/__pycache__/" not in f"{whole}/":
        _refuse(event, f"{text} is outside of the folders that tests may write to")


def _identity(folder: str) -> tuple[int, int] | None:
    try:
        found = _stat(folder)
    except OSError:
        return None
    return found.st_dev, found.st_ino


def _check_one(event: str, arguments: tuple[Any, ...]) -> None:
    _check_path(event, arguments[0], arguments[-1])


def _check_first(event: str, arguments: tuple[Any, ...]) -> None:
    _check_path(event, arguments[0])


def _check_moved(event: str, arguments: tuple[Any, ...]) -> None:
    source, target, below_source, below_target = arguments
    _check_path(event, source, below_source)
    _check_path(event, target, below_target)


def _check_linked(event: str, arguments: tuple[Any, ...]) -> None:
    _check_path(event, arguments[1], arguments[-1])


def _check_database(event: str, arguments: tuple[Any, ...]) -> None:
    name = arguments[0]
    if name not in {"", ":memory:", b"", b":memory:"}:
        is_uri = isinstance(name, str) and name.startswith("file:")
        _check_path(event, unquote(urlsplit(name).path) if is_uri else name)


_CHECKS: dict[str, Callable[[str, tuple[Any, ...]], None]] = {
    "open": _check_open,
    "sqlite3.connect": _check_database,
    **dict.fromkeys(("os.mkdir", "os.remove", "os.rmdir", "os.utime", "os.chmod", "os.chown"), _check_one),
    **dict.fromkeys(("os.truncate", "os.setxattr", "os.removexattr"), _check_first),
    **dict.fromkeys(("os.link", "os.symlink"), _check_linked),
    "os.rename": _check_moved,
    **dict.fromkeys(("socket.connect", "socket.bind", "socket.sendto", "socket.sendmsg"), _check_address),
    **dict.fromkeys(("socket.getaddrinfo", "socket.gethostbyname", "socket.gethostbyaddr"), _check_address),
}


def noting(found: list[tuple[str, str]]) -> Callable[..., int]:
    """Return an ``os.open`` that notes what metspack opens: the path as the kernel has it, and the module."""
    real = os.open

    def opened(*arguments: Any, **names: Any) -> int:
        descriptor = real(*arguments, **names)
        caller = sys._getframe(1).f_code.co_filename
        if caller.startswith(_PACKAGE):
            with suppress(OSError):  # a system without /proc
                found.append((os.readlink(f"/proc/self/fd/{descriptor}"), caller.removeprefix(_PACKAGE)))
        return descriptor

    return opened


def is_granted(path: str, roots: tuple[str, ...]) -> bool:
    """Return whether a path is below one of the folders, and has no name with secret."""
    return any(f"{path}/".startswith(root) and "/secret" not in path[len(root) - 1 :] for root in roots)
