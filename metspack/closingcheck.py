"""The check with which a package is made: of what lies on disk, by the code that checks any package."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

from metspack import checking
from metspack.checking.codes import Code
from metspack.errors import TargetError
from metspack.model import Budgets, Finding, Severity
from metspack.progress import Progress


def errors(
    package: Path,
    progress: Progress,
    *,
    whole: bool,
    budgets: Budgets | None = None,
    miscounted: Collection[str] = (),
) -> list[Finding]:
    """Return the errors of a package: with ``whole`` of every byte, else of all that needs no LOB's bytes.

    ``miscounted`` are the tables whose rows were not as many as metadata.xml says in the source already:
    they are not an error of what was written.
    """
    level = checking.Level.FULL if whole else checking.Level.STRUCTURE
    progress.stage("Checking what lies on disk", checking.weight(package) if whole else None)
    found = checking.check(package, level, progress=progress.advance, budgets=budgets)
    return [
        each
        for each in found
        if each.severity is Severity.ERROR
        and not (each.code == Code.ROWS_DIFFER.id and each.place in miscounted)
    ]


def passed(package: Path, progress: Progress, *, whole: bool, miscounted: Collection[str] = ()) -> None:
    """Raise ``TargetError`` when a package that was just written has errors, as ``errors`` finds them."""
    if wrong := errors(package, progress, whole=whole, miscounted=miscounted):
        first = wrong[0]
        raise TargetError(
            f"what was written does not check: {first.path}: {first.code} {first.message} "
            f"({len(wrong):,} findings in all); nothing was published",
            hint="The disk may be failing: try another target. If it happens again, "
            "report it as a fault of metspack.",
        )
