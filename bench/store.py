"""Data and packages that commands begin with, made when they are first asked for; and the commands."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections import OrderedDict
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path

from bench.data import KINDS
from bench.measuring import measured
from bench.rows import PREPARED, Row, Sample

CHECKOUT = Path(__file__).resolve().parents[1]
_SCHEMAS = CHECKOUT / "schemas"
_MOST_FILES = 1_000
_SEGMENTS = 10
_PARTS = 0.4e9 / (1 << 30)
_SMALLEST_PART = 1_000
PAGE = 4_096
_BUDGET = 9_000_000_000
_WORDS = re.compile(r"(?:^|(?<=&& ))(metspack|floor|reference|bagit) (\w+)?")
_SUFFIXES = {"stored": ".siard", "deflated": ".siard", "table": ".xml"}


@cache
def helped(command: str) -> str:
    """Return the help of a command of metspack, with all options where it has a short one too."""
    said = ""
    for option in ("--help", "--help-all"):
        if option in (said or option):
            done = subprocess.run(
                [sys.executable, "-m", "metspack", command, option],
                check=True,
                capture_output=True,
                text=True,
            )
            said = done.stdout
    return said


def knows(command: str, option: str) -> bool:
    """Return whether a command of metspack has an option."""
    return re.search(rf"{re.escape(option)}\b", helped(command)) is not None


def expanded(line: str, jobs: int) -> str:
    """Return a command with programs in place of their names, and the number of processes they take."""

    def program(match: re.Match[str]) -> str:
        name, work = match[1], match[2] or ""
        python = sys.executable
        if name == "metspack":
            told = f" -j {jobs}" if knows(work, "--jobs") else ""
            return f"{python} -m metspack {work} -q{told}"
        if name == "floor":
            return f"{python} {CHECKOUT}/bench/floor.py {work} -j {jobs}"
        if name == "bagit":
            return f"{python} -m bagit {work}"
        return f"env PYTHONPATH={CHECKOUT} {python} -m bench.references {work}"

    return _WORDS.sub(program, line)


def against(row: Row, checkout: Path) -> Row:
    """Return the row with what its contender takes in another checkout, with its environment, beside it."""
    program = f"{checkout.resolve()}/.venv/bin/metspack"
    line = expanded(row.contender, row.jobs[0]).replace(f"{sys.executable} -m metspack", program)
    return replace(
        row,
        beside="the same by another checkout",
        reference=line,
        reference_sample=None,
        jobs=(row.jobs[0],) * 2,
    )


class Store(Mapping[str, str]):
    """What the names in the commands of a row stand for, by the sample that they are of."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._made: OrderedDict[Path, None] = OrderedDict()
        self._used: set[Path] = set()
        self._sample = Sample(0, 0)
        self._jobs = 2
        self._touched = 0
        self.out = folder / "out"

    def command(self, line: str, sample: Sample, jobs: int) -> list[str]:
        """Return the command, with all that it begins with made."""
        before, self._sample, self._jobs = self._sample, sample, jobs
        try:
            text = expanded(line, jobs).format_map(self)
        finally:
            self._sample = before
        return ["sh", "-c", text if "&&" in text else f"exec {text}"]

    def __getitem__(self, name: str) -> str:
        sample = self._sample
        if name == "out":
            return str(self.out)
        if name == "files":
            return str(min(_MOST_FILES, max(2, sample.lobs // _SEGMENTS)))
        if name == "bytes":
            return str(max(_SMALLEST_PART, round(sample.size * _PARTS)))
        if name == "schema":
            return str(_SCHEMAS / "mets.xsd")
        return str(self._artefact(name, sample))

    def __iter__(self) -> Iterator[str]:
        return iter((*KINDS, *PREPARED))

    def __len__(self) -> int:
        return len(KINDS) + len(PREPARED)

    def inputs(self) -> list[Path]:
        """Return what the commands since the last ``trim`` begin with."""
        return sorted(self._used)

    def _artefact(self, name: str, sample: Sample) -> Path:
        path = self._folder / f"{name}-{sample.lobs}-{sample.size}{_SUFFIXES.get(name, '')}"
        self._used.add(path)
        if path not in self._made:
            if name in KINDS:
                numbers = (str(sample.lobs), str(sample.size))
                measured(
                    [
                        "env",
                        f"PYTHONPATH={CHECKOUT}",
                        sys.executable,
                        "-m",
                        "bench.data",
                        name,
                        str(path),
                        *numbers,
                    ]
                )
            else:
                line = PREPARED[name].replace("{made}", str(path))
                measured(self.command(line, sample, self._jobs))
        self._made[path] = None
        self._made.move_to_end(path)
        return path

    def clear_out(self) -> None:
        """Remove what a run wrote."""
        remove(self.out)

    def room(self) -> int:
        """Return the bytes that would be free without what is kept for later rows."""
        return free(self._folder) + sum(map(taken, self._made))

    def touch(self, size: int) -> None:
        """Write and remove a file of ``size`` bytes, unless as many were touched before.

        A virtual machine gets a page from its host when it is first written to: whichever run comes first
        would wait for it.
        """
        if size <= self._touched:
            return
        path, block = self._folder / "touched", bytes(1 << 20)
        with path.open("wb") as file:
            for _ in range(size // len(block)):
                file.write(block)
        path.unlink()
        self._touched = size

    def trim(self, budget: int) -> None:
        """Remove what was not used for longest, while all together takes more than ``budget`` bytes."""
        self._used.clear()
        budget = min(budget, _BUDGET)
        sizes = {path: taken(path) for path in self._made}
        for path in list(self._made):
            if sum(sizes.values()) <= budget:
                return
            remove(path)
            del self._made[path], sizes[path]


def taken(path: Path) -> int:
    """Return the bytes that a file or all of a folder takes, a page for each file's own record included."""
    if path.is_dir():
        return sum(map(taken, map(Path, os.scandir(path))))
    return PAGE + 512 * path.stat().st_blocks if path.exists() else 0


def free(folder: Path) -> int:
    """Return the free bytes of a file system; of one in memory no more than memory that is available."""
    space = shutil.disk_usage(folder).free
    kind = subprocess.run(
        ["stat", "-f", "-c", "%T", folder], check=True, capture_output=True, text=True
    ).stdout
    available = re.search(r"^MemAvailable:\s+(\d+) kB", Path("/proc/meminfo").read_text(), re.MULTILINE)
    if kind.strip() == "tmpfs" and available:
        return min(space, 1024 * int(available[1]))
    return space


def remove(path: Path) -> None:
    """Remove a file or folder if it is there."""
    if path.is_dir():
        shutil.rmtree(path)
    elif path.exists():
        os.unlink(path)
