"""Checks kept for tests of reports, without the command line."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from metspack.checking import Level, Summary
from metspack.checking.catalogue import Catalogue
from metspack.checking.facts import Observed
from metspack.checking.looking import Looking
from metspack.checking.opening import Package
from metspack.model import Finding, Severity
from metspack.reporting.gathering import facts_of
from metspack.reporting.kept import Kept
from metspack.reporting.model import Frame, ReportFacts

NONE = Summary(packages=0, files=0, links=0, bytes=0, errors=0, warnings=0, infos=0)


@contextmanager
def checked(
    package: Path, level: Level = Level.FULL, roots: Sequence[Path] = ()
) -> Iterator[tuple[Frame, Kept]]:
    """Give the frame and the findings of a check of a package."""
    facts = ReportFacts()

    def look(_package: Package, catalogue: Catalogue, is_complete: bool) -> None:
        nonlocal facts
        facts = facts_of(catalogue, level, is_complete=is_complete)

    with Kept() as kept:
        run = Observed(look, package, Looking(level=level), roots=roots)
        kept.add_all(run)
        yield Frame(path=package.name, level=level.value, summary=run.summary, facts=facts), kept


@contextmanager
def holding(*findings: Finding, frame: Frame | None = None) -> Iterator[tuple[Frame, Kept]]:
    """Give a frame whose counts are of given findings, and those findings."""
    counts = {severity: sum(each.severity is severity for each in findings) for severity in Severity}
    summary = replace(
        NONE, errors=counts[Severity.ERROR], warnings=counts[Severity.WARNING], infos=counts[Severity.INFO]
    )
    with Kept() as kept:
        kept.add_all(findings)
        yield replace(frame or Frame(path="out", level="full", summary=summary), summary=summary), kept
