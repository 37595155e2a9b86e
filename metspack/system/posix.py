"""Signals, names and command lines on Linux and macOS."""

from __future__ import annotations

import errno
import os
import sys

assert sys.platform != "win32"  # noqa: S101 -- Windows has its own

TYPE_CHECKING = False  # loading ``typing`` takes long, and signals are handled only afterwards
if TYPE_CHECKING:
    import signal
    from collections.abc import Callable, Iterable
else:
    import _signal as signal  # built in; loading the enums of ``signal`` takes as long

ENDING: tuple[int, ...] = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
"""The signals that end a process."""

O_SEARCH = getattr(os, "O_PATH", os.O_RDONLY)
"""Flags to open a folder, even an unlistable one, only to look up names in it."""

LACKING: frozenset[str] = frozenset()
"""The features that metspack lacks on this system, by their words."""


class HeldSignals:
    """Block the signals that end a process, in this thread and in processes that it starts."""

    def __enter__(self) -> None:
        signal.pthread_sigmask(signal.SIG_BLOCK, ENDING)

    def __exit__(self, *_: object) -> None:
        """Keep them blocked: their handlers run in another thread."""


def let_signals_through() -> None:
    """Unblock the signals that ``HeldSignals`` blocked."""
    signal.pthread_sigmask(signal.SIG_UNBLOCK, ENDING)


READER_LEFT = frozenset({errno.EPIPE})
"""The errors of a pipe whose reader has closed it."""


def prepare_terminal() -> None:
    """Leave the terminal as it is, as it shows colours."""


def answer_closing() -> None:
    """Leave signals as they are, as closing a terminal sends SIGHUP."""


def begin_processes() -> None:
    """Prepare for processes, and for the threads that wait for them.

    The resource tracker is started in this thread, as starting it unblocks signals.
    """
    import ctypes  # noqa: PLC0415 -- slow to import
    from multiprocessing import resource_tracker  # noqa: PLC0415 -- as above

    resource_tracker.ensure_running()
    # By default GNU's library has a heap for each thread, which keeps megabytes of freed memory.
    if (mallopt := getattr(ctypes.CDLL(None), "mallopt", None)) is not None:
        mallopt(_M_ARENA_MAX, 1)


_M_ARENA_MAX = -8


def cores() -> int:
    """Return the number of processor cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1  # macOS


def syncfs() -> Callable[[int], int] | None:
    """Return the system call that puts a file system on disk, or None where it hides errors.

    Linux reports its errors from 5.8 on.
    """
    import ctypes  # noqa: PLC0415 -- only commands that write many files need it
    import re  # noqa: PLC0415 -- as above

    version = re.match(r"Linux ([0-9]+)\.([0-9]+)", "{0.sysname} {0.release}".format(os.uname()))
    if version is None or tuple(map(int, version.groups())) < _REPORTS_ERRORS:
        return None
    found: Callable[[int], int] | None = getattr(ctypes.CDLL(None, use_errno=True), "syncfs", None)
    return found


_REPORTS_ERRORS = (5, 8)


def quoted(word: str) -> str:
    """Return a word as it is typed on a command line."""
    from shlex import quote  # noqa: PLC0415 -- seldom needed when a command starts

    return quote(word)


def command_line(words: Iterable[str]) -> str:
    """Return words as they are typed as a command."""
    return " ".join(map(quoted, words))


def unholdable(_name: str) -> str:
    """Return "": this system can have files of any name."""
    return ""
