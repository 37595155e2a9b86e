"""Prints the microseconds of processor time per LOB that a row's contender spends in each stage.

``python -m bench.profiling ROW``, or ``just profile ROW``: one process, sampled by processor time, first by
the module that leads (planning, segments, the closing check), then by package and by function of the code
that is running. Time in libraries counts for the code of metspack that called them.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

from bench.measuring import FailedError, measured
from bench.rows import Row, Sample, chosen
from bench.store import CHECKOUT, Store

_LARGE = 1_000_000
_METSPACK = f"{sys.executable} -m metspack "
_SHOWN = 20

Counted = Sequence[tuple[str, str, str, int]]


def profiled(row: Row, sample: Sample, folder: Path) -> tuple[float, Counted]:
    """Return seconds of processor time and the samples of a row's contender. Raises ``FailedError``."""
    store = Store(folder)
    target = folder / "samples.json"
    shell, option, line = store.command(row.contender, sample, 1)
    if _METSPACK not in line:
        raise FailedError(f"the contender of {row.name} is not metspack")
    sampled = f"{sys.executable} -m bench.sampling {target} "
    measured(["env", f"PYTHONPATH={CHECKOUT}", shell, option, line.replace(_METSPACK, sampled)])
    told = json.loads(target.read_text(encoding="utf-8"))
    return told["processor"], [tuple(each) for each in told["samples"]]


def report(processor: float, samples: Counted, lobs: int) -> str:
    """Return the table by stage, and that of the functions that take most."""
    total = sum(number for *_, number in samples) or 1
    unit = 1e6 * processor / total / lobs
    lines = [f"{unit * total:.1f} microseconds per LOB, {lobs:,} LOBs, {total:,} samples"]
    for column, title in enumerate(("stage", "package", "function")):
        counted: Counter[str] = Counter()
        for sample in samples:
            counted[str(sample[column])] += sample[3]
        lines += ["", *_lines(title, counted.most_common(_SHOWN), unit)]
    return "\n".join(lines)


def _lines(title: str, counted: Iterable[tuple[str, int]], unit: float) -> Iterable[str]:
    yield f"{'us/LOB':>8}  {title}"
    for name, number in counted:
        yield f"{unit * number:>8.1f}  {name}"


def main(arguments: list[str] | None = None) -> None:
    """Profile a row and print it."""
    parser = argparse.ArgumentParser(prog="python -m bench.profiling", description=__doc__)
    parser.add_argument("row")
    parser.add_argument("--scale", type=float, default=0.2, help="part of the row's full size (0.2)")
    parser.add_argument("--tmpfs", type=Path, default=Path("/dev/shm"), metavar="DIR")  # noqa: S108
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="metspack-bench-", dir=options.tmpfs) as folder:
        try:
            (row,) = chosen(options.row)
            sample = row.sample.scaled(options.scale)
            processor, samples = profiled(row, sample, Path(folder))
        except (ValueError, FailedError) as error:
            sys.exit(str(error))
    if sample.size >= _LARGE:
        print("LOBs are large: a unit of a million bytes stands for a LOB")
        sample = Sample(sample.lobs * sample.size // _LARGE, _LARGE)
    print(report(processor, samples, sample.lobs))


if __name__ == "__main__":
    main()
