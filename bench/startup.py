"""Prints what commands take to start, as ratios to a Python that does nothing.

Usage: python -m bench.startup [RUNS]   (15 unless told)

Measured is the processor time of a process and those that it began, in alternating runs: one of each command,
then the next of each. A ratio is that of a run to the empty Python of the same round.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from bench.measuring import environment

_SAMPLE = Path(__file__).resolve().parents[1] / "samples" / "northwind" / "golden" / "Northwind"
_EMPTY = "empty Python"
_METSPACK = (os.fspath(Path(sys.executable).with_name("metspack")),)  # the program as it is installed


def commands() -> Mapping[str, Sequence[str]]:
    """Return what is measured, by name; the empty Python comes first."""
    return {
        _EMPTY: (sys.executable, "-c", "pass"),
        "--version": (*_METSPACK, "--version"),
        "--help": (*_METSPACK, "--help"),
        "build --help": (*_METSPACK, "build", "--help"),
        "explain L001": (*_METSPACK, "explain", "L001"),
        "completion": _METSPACK,
        "check of the sample": (*_METSPACK, "check", "--quiet", str(_SAMPLE)),
        "import metspack": (sys.executable, "-c", "import metspack"),
    }


def seconds(command: Sequence[str], *, completes: bool) -> float:
    """Run a command and return its seconds of processor time."""
    surroundings = environment()
    if completes:
        surroundings |= {"_METSPACK_COMPLETE": "complete_zsh", "_TYPER_COMPLETE_ARGS": "metspack explain L00"}
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, env=surroundings) as process:
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"{' '.join(command)} ended with {process.returncode}")
    return usage.ru_utime + usage.ru_stime


def rounds(runs: int) -> dict[str, list[float]]:
    """Return the seconds of each command, run by run."""
    there = commands()
    found: dict[str, list[float]] = {name: [] for name in there}
    for number in range(runs + 1):
        for name, command in there.items():
            taken = seconds(command, completes=name == "completion")
            if number:  # the first run of each compiles and fills caches
                found[name].append(taken)
    return found


def main(arguments: list[str]) -> None:
    found = rounds(int(arguments[0]) if arguments else 15)
    empty = found[_EMPTY]
    print("| command | ms | times an empty Python: median | min | max |")
    print("|---|---:|---:|---:|---:|")
    for name, taken in found.items():
        ratios = [each / floor for each, floor in zip(taken, empty, strict=True)]
        figures = (statistics.median(ratios), min(ratios), max(ratios))
        milliseconds = statistics.median(taken) * 1000
        print(f"| {name} | {milliseconds:.0f} | {' | '.join(f'{each:.1f}' for each in figures)} |")


if __name__ == "__main__":
    main(sys.argv[1:])
