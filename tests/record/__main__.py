"""Write the record anew, after a change that is meant to change it: ``python -m tests.record``."""

from __future__ import annotations

import os
import tempfile
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from metspack.checking import Level
from tests.packages.cases import Case, cases
from tests.record import findings, options


def _case(case: Case) -> list[findings.Row]:
    with tempfile.TemporaryDirectory() as folder:
        return findings.case_rows(case, Path(folder), *Level)


def _delivery(level: Level) -> list[findings.Row]:
    with tempfile.TemporaryDirectory() as folder:
        given = findings.delivery(Path(folder))
        return findings.rows("delivery", given, level, Path(folder))


def main() -> None:
    options.OPTIONS.write_text("\n".join([*options.options(), ""]), encoding="utf-8")
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        together = pool.map(_delivery, Level)
        single = [row for found in pool.map(_case, cases(), chunksize=8) for row in found]
        for name in findings.golden():
            single += [row for level in Level for row in findings.golden_rows(name, level)]
        findings.write(findings.SINGLE, single)
        findings.write(findings.DELIVERY, [row for found in together for row in found])


if __name__ == "__main__":
    main()
