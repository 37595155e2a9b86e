"""Verdicts on packages: what check says that it did not say before, and what commands make of the rest."""

from __future__ import annotations

import traceback
from collections import Counter
from dataclasses import dataclass
from enum import Enum
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import metspack
from metspack import MetspackError, Severity
from tests.mutants import commands
from tests.mutants.bases import base
from tests.mutants.commands import Outcome
from tests.mutants.drawing import Mutant
from tests.mutants.package import Package


class Verdict(Enum):
    """The outcome of a mutant; the last three are faults."""

    KILLED = "killed"
    """Check has an error or a warning that was not there before."""
    NOTED = "noted"
    """Check has a new note, and all commands succeed."""
    SURVIVED = "survived"
    """Check reports no finding, and all commands succeed."""
    REFUSED = "refused"
    """A command refuses what check passes, or returns other bytes without a warning."""
    ALARM = "alarm"
    """Check has a finding on a change that has no meaning."""
    CRASHED = "crashed"
    """An unexpected exception was raised."""

    @property
    def is_failure(self) -> bool:
        return self in {Verdict.REFUSED, Verdict.ALARM, Verdict.CRASHED}


@dataclass(frozen=True)
class Judged:
    mutant: Mutant
    verdict: Verdict
    why: str = ""

    def __str__(self) -> str:
        return f"{self.verdict.value}: {self.mutant}: {self.why}"


Found = Counter[tuple[str, Severity]]


@dataclass(frozen=True)
class Checked:
    """The number of findings by code, their words, and whether ``links`` reports a broken link."""

    found: Found
    words: list[str]
    is_broken: bool


def _checked(root: Path) -> Checked:
    checking = metspack.check(root)
    findings = list(checking)
    return Checked(
        Counter((each.code, each.severity) for each in findings),
        [f"{each.code} {each.path} {each.place} {each.message}" for each in findings],
        any(graph.is_broken for graph in checking.graphs),
    )


def _written(package: Package, folder: str) -> Path:
    return package.write(Path(folder) / "package")


def archives(package: Package) -> tuple[str, ...]:
    return tuple(path.rpartition("/")[2][: -len(".siard")] for path in package.archives)


@cache
def before(name: str) -> tuple[Found, Outcome]:
    """Return the findings of the unchanged package, and the output of the commands."""
    with TemporaryDirectory(prefix="metspack-mutants-") as folder:
        root = _written(base(name), folder)
        return _checked(root).found, commands.run(root, archives(base(name)))


def judged(mutant: Mutant, *, thoroughly: bool = True) -> Judged:
    """Return the verdict; thoroughly, commands are run as well where check has told already."""
    try:
        verdict, why = _verdict(mutant, thoroughly=thoroughly)
    except Exception:  # noqa: BLE001 -- whatever it is, it is a fault
        return Judged(mutant, Verdict.CRASHED, traceback.format_exc())
    return Judged(mutant, verdict, "; ".join(why))


def _verdict(mutant: Mutant, *, thoroughly: bool) -> tuple[Verdict, list[str]]:
    stated, outcome = before(mutant.base)
    with TemporaryDirectory(prefix="metspack-mutants-") as folder:
        root = _written(mutant.package, folder)
        try:
            checked = _checked(root)
        except MetspackError as error:
            return Verdict.KILLED, [error.message]
        new = checked.found - stated
        words = _of(new, checked.words)
        killed = any(severity is Severity.ERROR for _, severity in new)
        if killed and mutant.has_meaning and not thoroughly:
            return Verdict.KILLED, words
        after = commands.run(root, archives(mutant.package))
    if killed or (new and not mutant.has_meaning):
        return Verdict.KILLED if mutant.has_meaning else Verdict.ALARM, words
    warned = any(severity is Severity.WARNING for _, severity in new)
    broken = ["links: a link is broken"] if checked.is_broken else []
    others = [] if warned else _others(outcome, after, mutant)
    if refused := [*broken, *after.refused, *others]:
        return Verdict.REFUSED, refused
    return (Verdict.KILLED if warned else Verdict.NOTED if new else Verdict.SURVIVED), words


def _of(new: Found, words: list[str]) -> list[str]:
    codes = {code for code, _ in new}
    return [each for each in words if each.partition(" ")[0] in codes]


def _others(outcome: Outcome, after: Outcome, mutant: Mutant) -> list[str]:
    """Return what commands give otherwise than of the package that was not changed."""
    if mutant.is_of_other_lobs:
        return []
    names = sorted(outcome.given.keys() | after.given.keys())
    return [
        f"{name} is {after.given.get(name, 'gone')[:12]}, was {outcome.given.get(name, 'not there')[:12]}"
        for name in names
        if outcome.given.get(name) != after.given.get(name)
    ]
