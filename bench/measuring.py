"""Time and peak memory of commands, each in a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """Wall-clock seconds, and the peak resident memory of the process in bytes."""

    seconds: float
    rss: int


def measured(command: Sequence[str], *, times: int = 1) -> Measured:
    """Run a command and return the best of its times and the largest of its peaks."""
    best, peak = float("inf"), 0
    for _ in range(times):
        began = time.perf_counter()
        with subprocess.Popen(command, stdout=subprocess.DEVNULL) as process:
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            raise SystemExit(f"{' '.join(command)} ended with {process.returncode}")
        best = min(best, time.perf_counter() - began)
        # Linux counts kilobytes, macOS bytes.
        peak = max(peak, usage.ru_maxrss * (1 if sys.platform == "darwin" else 1024))
    return Measured(seconds=best, rss=peak)
