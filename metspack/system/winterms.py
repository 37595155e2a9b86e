"""Signals, names and command lines on Windows."""

from __future__ import annotations

import _thread
import ctypes
import errno
import os
import re
import signal
import sys
import time
from collections.abc import Iterable
from ctypes import wintypes

from metspack.system.winnames import unholdable as unholdable  # noqa: PLC0414 -- exported

assert sys.platform == "win32"  # noqa: S101 -- no other platform imports it

ENDING: tuple[int, ...] = (signal.SIGINT, signal.SIGTERM, signal.SIGBREAK)
"""The signals that end a process."""

O_SEARCH = os.O_RDONLY
"""Flags to open a folder only to look up names in it."""

_CLOSING = {2, 5, 6}  # CTRL_CLOSE_EVENT, CTRL_LOGOFF_EVENT, CTRL_SHUTDOWN_EVENT
_COLOURS = 0x0004  # ENABLE_VIRTUAL_TERMINAL_PROCESSING
_PATIENCE = 60.0  # seconds; Windows itself ends the process after five or so
_starting = _thread.allocate_lock()  # one process at a time
_handlers: list[object] = []  # kept, as Windows would call them even after Python freed them


READER_LEFT = frozenset({errno.EPIPE, errno.EINVAL})
"""The errors of a pipe whose reader has closed it."""


def prepare_terminal() -> None:
    """Enable colours in consoles older than Windows Terminal."""
    kernel32 = ctypes.WinDLL("kernel32")
    kernel32.GetStdHandle.restype = wintypes.HANDLE
    for number in (-11, -12):  # stdout, stderr
        handle, mode = wintypes.HANDLE(kernel32.GetStdHandle(number)), wintypes.DWORD()
        if kernel32.GetConsoleMode(handle, ctypes.byref(mode)):
            kernel32.SetConsoleMode(handle, mode.value | _COLOURS)


def answer_closing() -> None:
    """Send this process SIGTERM when the window is closed or the user logs off.

    The process ends when the handler returns, so it waits for the main thread to end it.
    """

    def answer(event: int) -> bool:
        if event not in _CLOSING:
            return False  # the next handler's, that of Python
        _thread.interrupt_main(signal.SIGTERM)
        time.sleep(_PATIENCE)
        return True

    handler = ctypes.WINFUNCTYPE(wintypes.BOOL, wintypes.DWORD)(answer)
    _handlers.append(handler)
    ctypes.WinDLL("kernel32").SetConsoleCtrlHandler(handler, True)  # noqa: FBT003 -- its signature


class HeldSignals:
    """Make processes started in the block, and this one during the block, ignore Ctrl-C."""

    def __enter__(self) -> None:
        _starting.acquire()
        ctypes.WinDLL("kernel32").SetConsoleCtrlHandler(None, True)  # noqa: FBT003 -- its signature

    def __exit__(self, *_: object) -> None:
        ctypes.WinDLL("kernel32").SetConsoleCtrlHandler(None, False)  # noqa: FBT003 -- as above
        _starting.release()


def let_signals_through() -> None:
    """Leave signals as they are: a worker ignores Ctrl-C."""


def begin_processes() -> None:
    """Start no resource tracker: ``multiprocessing`` has one on POSIX only."""


def cores() -> int:
    """Return the number of processor cores."""
    return os.cpu_count() or 1


def syncfs() -> None:
    """Return None: Windows has no call for a whole file system, so that each file is synced."""


LACKING = frozenset({"--cluster", "an object store", "any name"})
"""The features that metspack lacks on Windows, by their words."""

_PLAIN = re.compile(r"[\w@+=:,./\\~-]+")


def quoted(word: str) -> str:
    """Return a word as typed in PowerShell and cmd; names of files lack quotation marks."""
    return word if _PLAIN.fullmatch(word) else f'"{word}"'


def command_line(words: Iterable[str]) -> str:
    """Return words as they are typed as a command."""
    return " ".join(map(quoted, words))
