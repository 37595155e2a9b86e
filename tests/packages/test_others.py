"""Packages as other tools write them: what is told of them whole, and of one thing that is wrong in them."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from metspack.checking import check, told_as
from tests.packages.others import OTHERS, Other


def reported(path: Path) -> Counter[str]:
    return Counter(told_as(each) for each in check(path))


@pytest.mark.parametrize("other", OTHERS, ids=lambda other: other.name)
def test_one_fault_is_one_finding_more(tmp_path: Path, other: Other) -> None:
    found = reported(other.made(tmp_path, is_broken=True))
    assert found == Counter(other.whole.split()) + Counter(other.more.split())
    assert len(other.more.split()) == 1


def test_there_are_twenty_dialects_of_names_of_their_own() -> None:
    assert len({other.name for other in OTHERS}) == len(OTHERS) >= 20


@pytest.mark.slow
def test_all_of_them_are_one_delivery(tmp_path: Path) -> None:
    """Report the same on each package of a delivery, and a note if some share an OBJID."""
    expected = Counter[str]()
    for number, other in enumerate(OTHERS):
        other.made(tmp_path / f"{number:02}")
        expected += Counter(other.whole.split())
    run = check(tmp_path)
    found = Counter(told_as(each) for each in run)
    assert {code: count for code, count in found.items() if code != "L041"} == expected
    assert len(run.summary.results) == len(OTHERS) + 1, "one of them is two packages"
    assert all(each.is_complete and each.kind for each in run.summary.results)
