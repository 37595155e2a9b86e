"""The operating system by the calls of POSIX, which ``windows`` makes by calls of Windows.

``os`` and ``fcntl`` are those of Python; on Windows they are ``windows`` and ``winlocks``, which add what is
missing there. No module outside this package imports them from elsewhere, or tests for the platform.
"""

from __future__ import annotations

import sys

if sys.platform == "win32":
    from metspack.system import windows as os
    from metspack.system import winlocks as fcntl
    from metspack.system import winterms as terms
else:
    import fcntl
    import os

    from metspack.system import posix as terms

ENDING = terms.ENDING
HeldSignals = terms.HeldSignals
LACKING = terms.LACKING
O_SEARCH = terms.O_SEARCH
READER_LEFT = terms.READER_LEFT
answer_closing = terms.answer_closing
begin_processes = terms.begin_processes
command_line = terms.command_line
cores = terms.cores
let_signals_through = terms.let_signals_through
prepare_terminal = terms.prepare_terminal
quoted = terms.quoted
syncfs = terms.syncfs
unholdable = terms.unholdable

__all__ = ["fcntl", "os"]
