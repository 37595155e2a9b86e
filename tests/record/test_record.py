"""Findings and options are as recorded; a lost finding is no change of wording."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from metspack.checking import Level, looks
from metspack.files.tempdb import Scratch
from metspack.model import Severity
from tests.laws import spread
from tests.packages.cases import KINDS, Case, cases
from tests.record import findings, options

HINT = "if it was meant to, run `just record` and read what changed"
_GRAVITY = [Severity.INFO, Severity.WARNING, Severity.ERROR]


def compare(found: list[findings.Row], recorded: list[findings.Row]) -> None:
    """Compare first what no wording changes, then line, place, text and facts."""
    assert findings.keys(found) == findings.keys(recorded), f"other findings; {HINT}"
    assert findings.lines(found) == findings.lines(recorded), f"other words or lines; {HINT}"


WHOLE = {each.id for each in spread(cases(), 2)}
"""Cases that hold equal rows as columns, even few of them."""


def _hold_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(looks, "FEW", 0)


_MOST_TABLES = 20


@pytest.fixture(autouse=True)
def _few_tables(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Hold the number of tables in each temporary database of a check, by the time it is closed."""
    counts = [0]
    close = Scratch.close

    def counted(self: Scratch) -> None:
        (count,) = self.row("SELECT count(*) FROM sqlite_master WHERE type = 'table'") or (0,)
        counts.append(count)
        close(self)

    monkeypatch.setattr(Scratch, "close", counted)
    yield
    assert max(counts) <= _MOST_TABLES


@pytest.mark.parametrize("case", cases(), ids=lambda each: each.id)
def test_a_case_has_the_recorded_findings_and_the_codes_in_its_name(
    case: Case, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if case.id in WHOLE:
        _hold_all(monkeypatch)
    level = Level(case.level)
    found = findings.case_rows(case, tmp_path, level)
    compare(found, findings.recorded(findings.SINGLE, case.id, level))
    assert {each["code"] for each in found} == case.codes
    gravest = max((Severity(each["severity"]) for each in found), key=_GRAVITY.index, default=Severity.INFO)
    assert gravest is KINDS[case.kind]
    assert all(each["path"] for each in found)


@pytest.mark.slow
@pytest.mark.parametrize("case", spread(cases(), 48), ids=lambda each: each.id)
def test_a_case_has_the_recorded_findings_at_each_level(
    case: Case, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if case.id not in WHOLE:
        _hold_all(monkeypatch)
    compare(findings.case_rows(case, tmp_path, *Level), findings.recorded(findings.SINGLE, case.id, *Level))


@pytest.mark.parametrize("name", findings.golden())
def test_a_golden_package_has_the_recorded_findings(name: str) -> None:
    found = [row for level in Level for row in findings.golden_rows(name, level)]
    compare(found, findings.recorded(findings.SINGLE, f"golden/{name}", *Level))


@pytest.mark.slow
@pytest.mark.parametrize("level", Level)
def test_all_packages_as_one_delivery_have_the_recorded_findings(level: Level, tmp_path: Path) -> None:
    found = findings.rows("delivery", findings.delivery(tmp_path), level, tmp_path)
    compare(found, findings.recorded(findings.DELIVERY, "delivery", level))


def test_options_are_as_they_are_recorded() -> None:
    assert options.options() == options.OPTIONS.read_text(encoding="utf-8").split("\n")[:-1], HINT
