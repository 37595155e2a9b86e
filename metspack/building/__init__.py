"""Place and describe segments, rewrite the archive, check the package and publish it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from pathlib import Path

from metspack import checking
from metspack.checking.codes import Code
from metspack.errors import OptionsRefutedError, TargetError
from metspack.limits import Budgets
from metspack.model import Finding, Notice, Severity
from metspack.packages.files import weight
from metspack.progress import Progress
from metspack.sizes import counted

_REPORTED = {
    Code.CELL_WITH_BOTH.id,
    Code.CELLS_WITHOUT_DIGEST.id,
    Code.LOB_IN_NO_CELL.id,
    Code.LOB_IN_TWO_CELLS.id,
    Code.NO_SIARD.id,
    Code.PSEUDO_ABSOLUTE.id,
}
"""Codes of findings that the build has reported itself, or that its options request."""
OF_SOURCE = Code.ROWS_DIFFER.id
"""The error that an archive may have had in the source already."""
_CONVENTIONS = "P1"
_BYTES = {
    Code.CHILD_DIGEST_STALE.id,
    Code.DIGEST_DIFFERS.id,
    Code.MANIFEST_DIGEST_DIFFERS.id,
    Code.PART_DIGEST.id,
    Code.WHOLE_DIGEST.id,
}
_DISK = "Bytes differ from those written: the disk may be failing; see the system's log. "


def check_outcome(
    package: Path,
    progress: Progress,
    *,
    whole: bool,
    budgets: Budgets | None = None,
    miscounted: Collection[str] = (),
    jobs: int | None = 1,
) -> tuple[list[Finding], tuple[Notice, ...]]:
    """Check a package in ``jobs`` processes; return errors, and a warning for each other code.

    With ``whole`` every byte is checked, else everything but the LOBs' bytes. ``miscounted`` are the tables
    whose number of rows differed from metadata.xml in the source already; these errors are skipped.
    """
    level = checking.Level.FULL if whole else checking.Level.STRUCTURE
    progress.stage("Checking the new package", weight(package, whole=whole))
    errors: list[Finding] = []
    warned: dict[str, tuple[Finding, int]] = {}
    run = checking.check(
        package, level, progress=progress.advance, budgets=budgets, jobs=jobs, keeps_links=False
    )
    for each in run:
        if each.code == OF_SOURCE and each.place in miscounted:
            continue
        if each.severity is Severity.ERROR:
            errors.append(each)
        elif (
            each.severity is Severity.WARNING
            and each.code not in _REPORTED
            and not each.code.startswith(_CONVENTIONS)
        ):
            first, count = warned.get(checking.reported_id(each), (each, 0))
            warned[checking.reported_id(each)] = first, count + 1
    return errors, tuple(_notice(name, *each) for name, each in warned.items())


def _notice(name: str, first: Finding, count: int) -> Notice:
    """Return one warning for all findings of a code or requirement."""
    more = f" (and {count - 1:,} more of {name})" if count > 1 else ""
    return Notice(name, f"the package was checked: {first.path}: {first.code} {first.message}{more}")


def check_made(
    package: Path,
    progress: Progress,
    *,
    whole: bool,
    miscounted: Collection[str] = (),
    jobs: int | None = 1,
    given: Sequence[str] = (),
    note: Callable[[Collection[str]], object],
) -> tuple[Notice, ...]:
    """Return the warnings of a package that was just written.

    Raises ``TargetError`` when the check finds errors, after calling ``note`` with their paths. Where a
    requirement is broken, the hint names ``given``, the options that decide what METS states.
    """
    wrong, warnings = check_outcome(package, progress, whole=whole, miscounted=miscounted, jobs=jobs)
    if wrong:
        first = wrong[0]
        again, _ = check_outcome(package, progress, whole=whole, miscounted=miscounted, jobs=jobs)
        note({each.path for each in (*wrong, *again)})
        if again != wrong or any(each.code == Code.UNREADABLE.id for each in wrong):
            raise TargetError(
                f"cannot read back {package / first.path}: {first.message}; nothing was published",
                hint="The disk or the connection to it may be failing; see the system's log. "
                "Work on another disk, or run the same command again.",
            )
        message = (
            f"the new package failed its own check: {first.path}: {first.code} {first.message} "
            f"({counted(len(wrong), 'finding')}); nothing was published"
        )
        is_of_disk = any(each.code in _BYTES for each in wrong)
        if given and not is_of_disk and any(each.requirement for each in wrong):
            raise OptionsRefutedError(
                message,
                hint=f"{' or '.join(given)} may have led there: leave out what does not go with the profile, "
                "with --restart.",
            )
        raise TargetError(
            message,
            hint=f"{_DISK if is_of_disk else ''}The files are made anew when the run is resumed. If it "
            "happens again, report it as a fault of metspack.",
        )
    return warnings
