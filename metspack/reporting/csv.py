"""A check's result as CSV: a line for each package, for spreadsheets."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from itertools import groupby

from metspack.model import Finding, Severity
from metspack.reporting.model import Frame, parts, printable, rank, standing
from metspack.reporting.store import FindingStore

_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n")


def document(frame: Frame, kept: FindingStore) -> Iterator[str]:
    """Yield the report as CSV; findings outside of all packages have separate lines."""
    yield _row(("path", "OBJID", "verdict", "errors", "warnings", "first cause"))
    grouped = groupby(kept.of_owner(frame.make_package_lookup()), key=lambda each: each[0])
    found = {name: _counted(each for _, each in rows) for name, rows in grouped}
    for each in frame.summary.results:
        _, _, cause = found.pop(printable(each.path), (0, 0, ""))
        yield _row((each.path, each.objid, standing(each), each.errors, each.warnings, cause))
    for path, (errors, warnings, cause) in found.items():
        verdict = "error" if errors else "warning" if warnings else "ok"
        yield _row((path, "", verdict, errors, warnings, cause))


def _counted(findings: Iterator[Finding]) -> tuple[int, int, str]:
    """Return the numbers of errors and warnings, and the worst finding, the first by its place."""
    counts, first = dict.fromkeys(Severity, 0), None
    for each in findings:
        counts[each.severity] += 1
        key = rank(each.severity), each.path, each.line, each.code, each.place
        if each.severity is not Severity.INFO and (first is None or key < first[0]):
            first = key, f"{each.code} {parts(each)[1]}"
    return counts[Severity.ERROR], counts[Severity.WARNING], "" if first is None else first[1]


def _row(values: tuple[str | int, ...]) -> str:
    line = io.StringIO()
    csv.writer(line).writerow([_cell(str(each)) for each in values])
    return line.getvalue()


def _cell(text: str) -> str:
    """Return text as a cell that spreadsheets do not read as a formula."""
    return f"'{printable(text)}" if text.startswith(_FORMULA) else printable(text)
