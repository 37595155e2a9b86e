"""Ends a test that takes too long, and makes its programs print where they are.

pytest-timeout ends the test itself. Before that its programs are aborted: Python prints the stacks of one
that is (``PYTHONFAULTHANDLER``), where the test, which waited for it, finds them.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress

_SHARE = 0.8
"""Programs have so much of the time that a test has: what becomes of them then is the test's to tell."""
_LOOK = 1.0
_now = time.monotonic
_sleep = time.sleep
_running: list[tuple[float, float]] = []
"""The time to abort programs of the running test, and its start after that of the machine."""


def begin() -> None:
    """Limit the tests of this process from now on (Linux)."""
    os.environ["PYTHONFAULTHANDLER"] = "1"
    if sys.platform == "linux":
        threading.Thread(target=_watch, daemon=True).start()


@contextmanager
def limited(seconds: float) -> Iterator[None]:
    """Abort programs that the block started, before so many seconds; never for 0."""
    before = _running[:]
    _running[:] = [(_now() + seconds * _SHARE, _uptime())] if seconds else []
    try:
        yield
    finally:
        _running[:] = before


def _uptime() -> float:
    return time.clock_gettime(time.CLOCK_BOOTTIME) if sys.platform == "linux" else 0.0


def _watch() -> None:
    while True:
        _sleep(_LOOK)
        if _running and _now() > _running[0][0]:
            _, begun = _running.pop()
            for process in started_since(begun):
                with suppress(ProcessLookupError):
                    os.kill(process, signal.SIGABRT)


def started_since(begun: float) -> list[int]:
    """Return the descendants of this process that started after a moment."""
    tick = os.sysconf("SC_CLK_TCK")
    parents: dict[int, tuple[int, float]] = {}
    for name in filter(str.isdigit, os.listdir("/proc")):
        with suppress(OSError), open(f"/proc/{name}/stat", encoding="utf-8", errors="replace") as file:
            facts = file.read().rpartition(")")[2].split()
            parents[int(name)] = int(facts[1]), int(facts[19]) / tick
    found, waiting = [], [os.getpid()]
    while waiting:
        parent = waiting.pop()
        children = [each for each, (of, at) in parents.items() if of == parent and at >= begun - 1 / tick]
        found += children
        waiting += children
    return found
