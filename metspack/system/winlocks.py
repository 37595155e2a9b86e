"""Locks of files on Windows, in the form of ``fcntl``: of ranges far behind the end of a file.

Locks of Windows prevent others from reading and writing; no program reads or writes there.
"""

from __future__ import annotations

import ctypes
import msvcrt
import sys
from ctypes import wintypes

from metspack.system import windows

assert sys.platform == "win32"  # noqa: S101 -- no other platform imports it

LOCK_SH, LOCK_EX, LOCK_NB, LOCK_UN = 1, 2, 4, 8

_WHOLE, _APPENDING = 1 << 30, (1 << 30) + 1  # high halves of offsets, of flock and of lockf
_FAIL_AT_ONCE, _EXCLUSIVE = 1, 2
_HELD = {32, 33, 997}  # sharing violation, lock violation, pending


class _Overlapped(ctypes.Structure):
    _fields_ = (
        ("internal", ctypes.c_void_p),
        ("internal_high", ctypes.c_void_p),
        ("offset", wintypes.DWORD),
        ("offset_high", wintypes.DWORD),
        ("event", wintypes.HANDLE),
    )


_kernel32 = ctypes.WinDLL("kernel32", use_last_error=True)
_kernel32.LockFileEx.argtypes = (wintypes.HANDLE, *[wintypes.DWORD] * 4, ctypes.c_void_p)
_kernel32.UnlockFileEx.argtypes = (wintypes.HANDLE, *[wintypes.DWORD] * 3, ctypes.c_void_p)


def flock(descriptor: int, how: int) -> None:
    """Lock or unlock an open file, or a folder by a file beside it; raises ``BlockingIOError``."""
    _lock(windows.lock_file(descriptor), how, _WHOLE)


def lockf(descriptor: int, how: int) -> None:
    """Lock or unlock an open file for one write; waits for others unless ``how`` has LOCK_NB."""
    _lock(descriptor, how, _APPENDING)


def _lock(descriptor: int, how: int, high: int) -> None:
    handle, place = msvcrt.get_osfhandle(descriptor), _Overlapped(offset_high=high)
    if how & LOCK_UN:
        _kernel32.UnlockFileEx(handle, 0, 1, 0, ctypes.byref(place))  # one that is not locked is fine
        return
    flags = (_FAIL_AT_ONCE if how & LOCK_NB else 0) | (_EXCLUSIVE if how & LOCK_EX else 0)
    if not _kernel32.LockFileEx(handle, flags, 0, 1, 0, ctypes.byref(place)):
        number = ctypes.get_last_error()
        if number in _HELD:
            raise BlockingIOError(number, "another process has it locked")
        raise ctypes.WinError(number)
