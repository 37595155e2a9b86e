"""Wall-clock time, processor time, memory and system calls of a command and all processes that it begins."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

_LOOK = 0.01
_COLUMNS = re.compile(r"^-+ (-+) -+ (-+) ", re.MULTILINE)
_SYNCS = "trace=fsync,fdatasync,syncfs,sync,msync,sync_file_range"


class FailedError(Exception):
    """A command that was to be measured did not succeed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """Seconds of a run, and bytes of memory where they were looked at."""

    wall: float
    processor: float
    memory: int = 0
    """The largest sum of the resident memory of all processes; what they share counts each time."""
    largest: int = 0
    """The largest resident memory of one process."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Syncs:
    """The calls of a run that wait for the disk: their number, and the seconds all processes spent in them.

    ``wall`` are the seconds that this run took, which was traced.
    """

    calls: int
    seconds: float
    wall: float


def environment() -> dict[str, str]:
    """Return the environment of programs: they are compiled once, as installed ones are."""
    return {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}


def measured(command: Sequence[str], *, watched: bool = False) -> Run:
    """Run a command; ``watched``, its memory is looked at every 10 ms. Raises ``FailedError``."""
    with tempfile.TemporaryFile() as errors:
        began = time.perf_counter()
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=errors, env=environment())
        with process:
            watch = Watch(process.pid) if watched else None
            _, status, usage = os.wait4(process.pid, 0)
            seconds = time.perf_counter() - began
            process.returncode = os.waitstatus_to_exitcode(status)
            peaks = watch.end() if watch else (0, 0)
        if process.returncode:
            errors.seek(0)
            told = errors.read().decode(errors="replace").strip().splitlines()[-3:]
            raise FailedError(f"ended with {process.returncode}: {' '.join(told)}")
    return Run(wall=seconds, processor=usage.ru_utime + usage.ru_stime, memory=peaks[0], largest=peaks[1])


class Watch:
    """Looks at the memory of a process and its descendants, in a thread, until it is ended."""

    def __init__(self, number: int) -> None:
        self._number = number
        self._ended = threading.Event()
        self._peaks = (0, 0)
        self._thread = threading.Thread(target=self._look)
        self._thread.start()

    def end(self) -> tuple[int, int]:
        """Return the largest sum, and the largest of one process, in bytes."""
        self._ended.set()
        self._thread.join()
        return self._peaks

    def _look(self) -> None:
        known: set[int] = set()
        while not self._ended.wait(_LOOK):
            present = list(family(self._number))
            # One that is seen for the first time may be about to become another program: until then it
            # is its parent, memory and all.
            found = [resident(each) for each in present if each in known]
            known = set(present)
            total = sum(now for now, _ in found)
            largest = max((peak for _, peak in found), default=0)
            self._peaks = max(self._peaks[0], total), max(self._peaks[1], largest)


def family(number: int) -> Iterator[int]:
    """Yield a process, all that it began, and those that they began."""
    yield number
    with suppress(OSError):
        for task in Path(f"/proc/{number}/task").glob("*/children"):
            with suppress(OSError):
                for child in task.read_text().split():
                    yield from family(int(child))


def resident(number: int) -> tuple[int, int]:
    """Return resident memory of a process and its peak, in bytes; nothing when it is gone."""
    with suppress(OSError):
        status = Path(f"/proc/{number}/status").read_text()
        now, peak = (re.search(rf"^{name}:\s+(\d+) kB", status, re.MULTILINE) for name in ("VmRSS", "VmHWM"))
        if now and peak:
            return 1024 * int(now[1]), 1024 * int(peak[1])
    return 0, 0


def counting() -> str | None:
    """Return the reason why system calls cannot be counted here; None when they can."""
    if shutil.which("strace") is None:
        return "strace is not installed"
    with tempfile.NamedTemporaryFile() as file:
        tried = subprocess.run(_traced(["true"], file.name), capture_output=True, check=False)
    return "strace may not trace processes here" if tried.returncode else None


def calls(command: Sequence[str]) -> int:
    """Return the number of system calls of a command and all processes that it begins."""
    with tempfile.NamedTemporaryFile() as file:
        measured(_traced(command, file.name))
        return counted(Path(file.name).read_text())[0]


def syncs(command: Sequence[str]) -> Syncs:
    """Return the calls of a command and all processes that it begins which wait for the disk."""
    with tempfile.NamedTemporaryFile() as file:
        run = measured(_traced(command, file.name, "-w", "-e", _SYNCS))
        summary = Path(file.name).read_text()
    number, seconds = counted(summary) if summary.strip() else (0, 0.0)
    return Syncs(calls=number, seconds=seconds, wall=run.wall)


def _traced(command: Sequence[str], summary: str, *options: str) -> list[str]:
    return ["strace", "-f", "-qq", "-c", *options, "-o", summary, *command]


def counted(summary: str) -> tuple[int, float]:
    """Return the totals of the summary that ``strace -c`` writes: calls, and seconds in them."""
    columns = _COLUMNS.search(summary)
    lines = summary.splitlines()
    if columns is None or not lines[-1].endswith(" total"):
        raise FailedError("strace wrote no total")
    seconds, number = (
        lines[-1][columns.start(each) - columns.start() : columns.end(each) - columns.start()]
        for each in (1, 2)
    )
    return int(number), float(seconds)


def forget(paths: Iterable[Path]) -> None:
    """Have the system drop what it caches of files, so that the next reader has them from disk."""
    os.sync()
    for path in paths:
        for file in (path, *path.rglob("*")) if path.is_dir() else (path,):
            if file.is_file():
                handle = os.open(file, os.O_RDONLY)
                os.posix_fadvise(handle, 0, 0, os.POSIX_FADV_DONTNEED)
                os.close(handle)


def alternated(
    first: Callable[..., Run], second: Callable[..., Run], repetitions: int
) -> tuple[list[Run], list[Run]]:
    """Return the runs of two things by turns, as many as ``repetitions`` of each.

    Which of the two comes first changes from one repetition to the next. Before, each is run once with
    ``watched``: that run has the memory of all, and is itself returned where there are no repetitions.
    """
    both = (first, second)
    watched = [each(watched=True) for each in both]
    if not repetitions:
        return watched[:1], watched[1:]
    runs: tuple[list[Run], list[Run]] = [], []
    for number in range(repetitions):
        order = (0, 1) if number % 2 == 0 else (1, 0)
        for each in order:
            run = both[each](watched=False)
            seen = watched[each]
            runs[each].append(
                Run(wall=run.wall, processor=run.processor, memory=seen.memory, largest=seen.largest)
            )
    return runs
