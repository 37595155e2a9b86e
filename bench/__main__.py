"""Measures metspack beside the references: ``python -m bench``, or ``just bench``."""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import statistics
import sys
import tempfile
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

from bench import results
from bench.measuring import FailedError, Run, Syncs, alternated, calls, counting, forget, measured, syncs
from bench.page import baseline
from bench.rows import Figure, Row, Sample, chosen
from bench.store import PAGE, Store, against, knows

_COUNTED = (4_000, 8_000)
"""Two numbers of LOBs: what the second takes more than the first is divided by their difference.

Neither is so small that one process does all, else the start of the others would count as the second's.
"""

_START = 10
"""The number of LOBs of a run that is nearly nothing but the start of the program."""

_SHORT = 5.0  # seconds
_SHORT_RUNS = 5
_LARGE = 1_000_000
_COPIES = 3  # a source, a package, and what is made of it


class Bench:
    """Measures rows in a folder of one file system."""

    def __init__(self, folder: Path, place: str, options: argparse.Namespace) -> None:
        self._store = Store(folder)
        self._place = place
        self._cold = place == "disk"
        self._scale: float = options.scale
        self._repetitions: int = options.repetitions
        self._counting = options.calls and counting() is None
        self._calls: dict[tuple[str, int, int], float] = {}
        self._seen: dict[tuple[str, Sample, int], Run] = {}

    def row(self, row: Row) -> dict[str, Any]:
        """Return the row as JSON has it, measured or left out."""
        reason = self._hindrance(row)
        if reason is None:
            try:
                return results.told(row, self._place, self._sides(row))
            except FailedError as error:
                reason = str(error)
            finally:
                self._store.clear_out()
        return results.left_out(row, self._place, reason)

    def _hindrance(self, row: Row) -> str | None:
        if row.module and importlib.util.find_spec(row.module) is None:
            return f"{row.module} is not installed"
        if row.option and not knows("build", row.option):
            return f"metspack build has no {row.option}"
        sample = row.sample.scaled(self._scale)
        needed, room = _COPIES * sample.lobs * (sample.size + PAGE), self._store.room()
        if needed > room:
            return f"needs {needed / 1e9:.0f} GB of free space"
        self._store.trim(room - needed)
        if not self._cold:
            self._store.touch(needed)
        return None

    def _sides(self, row: Row) -> list[results.Side]:
        samples = [each.scaled(self._scale) for each in (row.sample, row.reference_sample or row.sample)]
        parts = list(zip((row.contender, row.reference), samples, row.jobs, strict=True))
        if row.figure is Figure.LARGEST:
            runs = [[self._seen.get(part) or self._once(row, *part, watched=True)] for part in parts]
        else:
            first, second = (partial(self._once, row, *part) for part in parts)
            runs = list(alternated(first, second, self._repetitions))
        counts = [self._called(row, *part) for part in parts]
        waits = [self._synced(*part) for part in parts]
        return [
            results.Side(sample=sample, runs=each, calls=count, syncs=wait)
            for sample, each, count, wait in zip(samples, runs, counts, waits, strict=True)
        ]

    def _once(self, row: Row, line: str, sample: Sample, jobs: int, *, watched: bool) -> Run:
        run = self._run(line, sample, jobs, watched=watched)
        if watched:
            self._seen[line, sample, jobs] = run
        if row.figure is Figure.GROWTH:
            return self._beyond_start(line, sample, jobs, run)
        return run

    def _beyond_start(self, line: str, sample: Sample, jobs: int, run: Run) -> Run:
        """Return what a run took longer than one of a few LOBs; of a short one as the median of several."""
        again = range(_SHORT_RUNS - 1 if run.wall < _SHORT else 0)
        runs = [run, *(self._run(line, sample, jobs, watched=False) for _ in again)]
        starts = [self._run(line, Sample(_START, sample.size), jobs, watched=False) for _ in runs]

        pairs = list(zip(runs, starts, strict=True))
        wall = statistics.median(one.wall - start.wall for one, start in pairs)
        processor = statistics.median(one.processor - start.processor for one, start in pairs)
        return replace(run, wall=max(0.0, wall), processor=max(0.0, processor))

    def _run(self, line: str, sample: Sample, jobs: int, *, watched: bool) -> Run:
        if self._cold and "{out}" in line:
            line += " && sync -f {out}"
        command = self._store.command(line, sample, jobs)
        self._store.clear_out()
        if self._cold:
            forget(self._store.inputs())
        return measured(command, watched=watched)

    def _called(self, row: Row, line: str, sample: Sample, jobs: int) -> float | None:
        if not self._counting or sample.size >= _LARGE or row.figure is Figure.LARGEST:
            return None
        key = (line, sample.size, jobs)
        if key not in self._calls:
            numbers = []
            for lobs in _COUNTED:
                command = self._store.command(line, Sample(lobs, sample.size), jobs)
                self._store.clear_out()
                numbers.append(calls(command))
            self._calls[key] = (numbers[1] - numbers[0]) / (_COUNTED[1] - _COUNTED[0])
        return self._calls[key]

    def _synced(self, line: str, sample: Sample, jobs: int) -> Syncs | None:
        """Return the calls that wait for the disk, where there is one that is written to."""
        if not (self._counting and self._cold and "{out}" in line):
            return None
        command = self._store.command(line, sample, jobs)
        self._store.clear_out()
        forget(self._store.inputs())
        return syncs(command)


def _arguments(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("--rows", help="names of rows, divided by commas; all unless told")
    parser.add_argument("--list", action="store_true", help="print the rows, and end")
    parser.add_argument("--scale", type=float, default=1.0, help="part of the full size, such as 0.01")
    parser.add_argument("--repetitions", type=int, default=3, metavar="N", help="runs that are timed (3)")
    parser.add_argument("--no-calls", dest="calls", action="store_false", help="count no system calls")
    parser.add_argument(
        "--small",
        action="store_true",
        help="try the program in a minute: --scale 0.002 --repetitions 0 --no-calls",
    )
    parser.add_argument("--tmpfs", type=Path, default=Path("/dev/shm"), metavar="DIR", help="in memory")  # noqa: S108
    parser.add_argument("--disk", type=Path, metavar="DIR", help="on disk too, from a cold cache")
    parser.add_argument(
        "--then", type=Path, metavar="DIR", help="beside another checkout by turns, not the references"
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures here")
    options = parser.parse_args(arguments)
    if options.small:
        options.scale, options.repetitions, options.calls = 0.002, 0, False
    return options


def main(arguments: list[str] | None = None) -> None:
    """Measure, print the tables, and write JSON."""
    options = _arguments(arguments)
    try:
        rows = chosen(options.rows)
    except ValueError as error:
        sys.exit(str(error))
    if options.then:  # what is then is of the same hour, which the kept baseline is not
        rows = [against(row, options.then) for row in rows]
    if options.list:
        for row in rows:
            print(f"{row.name:<16} {row.title} / {row.beside}")
        return
    report: dict[str, Any] = {
        "date": datetime.now(UTC).date().isoformat(),
        "machine": results.machine(),
        "counted": _COUNTED,
        "load": os.getloadavg()[0],
        "scale": options.scale,
        "repetitions": options.repetitions,
        "calls": (counting() or "strace -f -c") if options.calls else "not counted",
        "rows": [],
    }
    for place, folder in (("tmpfs", options.tmpfs), ("disk", options.disk)):
        measurable = [row for row in rows if place == "tmpfs" or row.disk]
        if folder is None or not measurable:
            continue
        with tempfile.TemporaryDirectory(prefix="metspack-bench-", dir=folder) as temporary:
            bench = Bench(Path(temporary), place, options)
            for row in measurable:
                print(f"{place}: {row.name}", file=sys.stderr)
                report["rows"].append(bench.row(row))
                if options.json:
                    options.json.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
        measured_here = (each for each in report["rows"] if each["place"] == place)
        then = {} if options.then else results.ratios(baseline(), place)
        print(f"{place}\n\n{results.table(measured_here, then)}")
    if options.scale < 1:
        print(f"Scale {options.scale:g}: start-up outweighs the work; only the full size is to be compared.")


if __name__ == "__main__":
    main()
