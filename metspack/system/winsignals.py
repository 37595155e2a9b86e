"""Signals on Windows: Ctrl-C, Ctrl-Break and the closing of a console window."""

from __future__ import annotations

import _thread
import ctypes
import signal
import sys
import time
from ctypes import wintypes

assert sys.platform == "win32"  # noqa: S101 -- no other platform imports it

ENDING: tuple[int, ...] = (signal.SIGINT, signal.SIGTERM, signal.SIGBREAK)
"""The signals that end a process."""

_CLOSING = {2, 5, 6}  # CTRL_CLOSE_EVENT, CTRL_LOGOFF_EVENT, CTRL_SHUTDOWN_EVENT
_PATIENCE = 60.0  # seconds; Windows itself ends the process after five or so
_handlers: list[object] = []  # a handler that Python frees is still called


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


def hold_signals() -> None:
    """Do nothing: Windows holds back no signals. A worker that is starting may end by Ctrl-C."""


def let_signals_through() -> None:
    """Do nothing: none were held back."""


def begin_processes() -> None:
    """Do nothing: ``multiprocessing`` follows no resources here."""
