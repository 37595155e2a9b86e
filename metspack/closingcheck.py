"""The check with which a package is made: of what lies on disk, by the code that checks any package."""

from __future__ import annotations

from pathlib import Path

from metspack import checking
from metspack.errors import TargetError
from metspack.model import Severity
from metspack.progress import Progress


def passed(package: Path, progress: Progress, *, whole: bool) -> None:
    """Raise ``TargetError`` when a package that was just written has errors.

    ``whole`` reads every byte back; else all is looked at that needs no LOB's bytes.
    """
    level = checking.Level.FULL if whole else checking.Level.STRUCTURE
    progress.stage("Checking what lies on disk", checking.weight(package) if whole else None)
    wrong = [
        each
        for each in checking.check(package, level, progress=progress.advance)
        if each.severity is Severity.ERROR
    ]
    if wrong:
        first = wrong[0]
        raise TargetError(
            f"what was written does not check: {first.path}: {first.code} {first.message} "
            f"({len(wrong):,} findings in all); nothing was published",
            hint="The disk may be failing: try another target. If it happens again, "
            "report it as a fault of metspack.",
        )
