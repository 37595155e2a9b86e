"""The operating system: calls as POSIX has them, which ``windows`` makes by calls of Windows.

``os`` and ``fcntl`` are Python's own; on Windows they are ``windows`` and ``winlocks``, which have what is
missing there. No module outside this package imports them from elsewhere, or asks for the platform.
"""

from __future__ import annotations

import sys

if sys.platform == "win32":
    from metspack.system import windows as os
    from metspack.system import winlocks as fcntl
    from metspack.system.windows import LACKING, unholdable
    from metspack.system.winsignals import (
        ENDING,
        answer_closing,
        begin_processes,
        hold_signals,
        let_signals_through,
    )
else:
    import fcntl
    import os

    from metspack.system.posix import (
        ENDING,
        LACKING,
        answer_closing,
        begin_processes,
        hold_signals,
        let_signals_through,
        unholdable,
    )

__all__ = [
    "ENDING",
    "LACKING",
    "answer_closing",
    "begin_processes",
    "fcntl",
    "hold_signals",
    "let_signals_through",
    "os",
    "unholdable",
]
