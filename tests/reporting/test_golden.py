"""Reports of good and bad packages are those kept; ``just record`` writes them anew."""

from __future__ import annotations

from pathlib import Path

import pytest

from metspack.checking import Level
from tests.reporting import golden


@pytest.mark.parametrize(
    ("package", "level"), golden.PACKAGES, ids=[golden.name_of(*each) for each in golden.PACKAGES]
)
def test_the_reports_of_a_package_are_as_they_are_kept(package: str, level: Level, tmp_path: Path) -> None:
    for suffix, report in golden.reports(package, level, tmp_path):
        kept = golden.HERE / f"{golden.name_of(package, level)}.{suffix}"
        assert report == kept.read_text(encoding="utf-8"), f"{kept.name}: if meant to, run `just record`"


def test_no_other_reports_are_kept() -> None:
    names = {golden.name_of(*each) for each in golden.PACKAGES}
    assert {each.stem for each in golden.HERE.iterdir()} == names
