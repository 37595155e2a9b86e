"""Signals, names and command lines on Linux and macOS."""

from __future__ import annotations

import errno
import sys

assert sys.platform != "win32"  # noqa: S101 -- Windows has its own

TYPE_CHECKING = False  # that of ``typing`` takes long to load, and signals are answered only then
if TYPE_CHECKING:
    import signal
    from collections.abc import Iterable
else:
    import _signal as signal  # built in; what ``signal`` has besides are enums, which take as long

ENDING: tuple[int, ...] = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
"""The signals that end a process."""

LACKING: frozenset[str] = frozenset()
"""What metspack cannot do on this system, by the words for it: nothing."""


def hold_signals() -> None:
    """Hold back the signals that end a process, in this thread and in processes that it starts."""
    signal.pthread_sigmask(signal.SIG_BLOCK, ENDING)


def let_signals_through() -> None:
    """Let the signals through that ``hold_signals`` held back."""
    signal.pthread_sigmask(signal.SIG_UNBLOCK, ENDING)


READER_LEFT = frozenset({errno.EPIPE})
"""The errors of a pipe whose reader has closed it."""


def prepare_terminal() -> None:
    """Do nothing: terminals show colours."""


def answer_closing() -> None:
    """Do nothing: closing a terminal sends SIGHUP."""


def begin_processes() -> None:
    """Start the resource tracker in this thread, where it ends the holding back of signals."""
    from multiprocessing import resource_tracker  # noqa: PLC0415 -- heavy

    resource_tracker.ensure_running()


def quoted(word: str) -> str:
    """Return a word as it is typed on a command line."""
    from shlex import quote  # noqa: PLC0415 -- seldom needed when a command starts

    return quote(word)


def command_line(words: Iterable[str]) -> str:
    """Return words as they are typed as a command."""
    return " ".join(map(quoted, words))


def unholdable(_name: str) -> str:
    """Return why this system cannot hold a file of that name: "", as it can hold any."""
    return ""
