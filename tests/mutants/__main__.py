"""Make many mutants over all processors: ``python -m tests.mutants --seed 7 --count 2000``."""

from __future__ import annotations

import argparse
import os
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from functools import partial
from itertools import repeat
from pathlib import Path

from tests.mutants.bases import BASES
from tests.mutants.drawing import drawn
from tests.mutants.kinds import KINDS
from tests.mutants.package import Package
from tests.mutants.survivors import is_listed
from tests.mutants.verdicts import Judged, Verdict, judged


def _prepare() -> None:
    vars(os)["fsync"] = os.fstat  # nobody cuts the power
    os.environ.pop("SOURCE_DATE_EPOCH", None)


def _judge(seed: str, number: int, kind: str | None) -> Judged:
    found = judged(drawn(seed, number, kind))
    return replace(found, mutant=replace(found.mutant, package=Package({})))  # which is large to send


def _all(seed: str, numbers: Iterable[int], kind: str | None, jobs: int) -> Iterator[Judged]:
    if jobs == 1:
        _prepare()
        yield from map(partial(_judge, seed), numbers, repeat(kind))
        return
    with ProcessPoolExecutor(jobs, initializer=_prepare) as pool:
        yield from pool.map(_judge, repeat(seed), numbers, repeat(kind), chunksize=len(BASES))


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def _table(results: list[Judged]) -> Iterator[str]:
    """Yield a line for each kind: how many were made, and what became of them."""
    verdicts = list(Verdict)
    counts = Counter((each.mutant.kind, each.verdict) for each in results)
    yield f"{'':44}  made " + " ".join(f"{each.value:>8}" for each in verdicts)
    for kind in KINDS:
        row = [counts[kind.name, each] for each in verdicts]
        if any(row):
            yield f"{kind.name:44}{sum(row):6} " + " ".join(f"{each or '':>8}" for each in row)
    row = [sum(each.verdict is verdict for each in results) for verdict in verdicts]
    yield f"{'all':44}{sum(row):6} " + " ".join(f"{each or '':>8}" for each in row)


def main(arguments: list[str] | None = None) -> int:
    """Print a table by kind and what must not be; return 1 if there is any of it."""
    parser = argparse.ArgumentParser(prog="python -m tests.mutants", description=__doc__)
    parser.add_argument("--seed", default="0", help="another seed gives other mutants")
    parser.add_argument("--count", type=int, default=500, help="how many, numbered from 0")
    parser.add_argument("--only", type=int, action="append", help="the mutant of this number alone")
    parser.add_argument("--kind", help="mutants of kinds whose names begin so alone")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--keep", metavar="DIR", help="write the packages to a folder, by their numbers")
    given = parser.parse_args(arguments)
    numbers = given.only or range(given.count)
    if given.keep:
        for number in numbers:
            drawn(given.seed, number, given.kind).package.write(Path(given.keep) / str(number))
    results = []
    for each in _all(given.seed, numbers, given.kind, given.jobs if not given.only else 1):
        results.append(each)
        unlisted = each.verdict is Verdict.SURVIVED and not is_listed(each.mutant)
        if given.only or unlisted or each.verdict.is_failure:
            _say(f"{'not listed: ' if unlisted else ''}{each}")
    for line in _table(results):
        _say(line)
    return int(any(each.verdict.is_failure for each in results))


if __name__ == "__main__":
    sys.exit(main())
