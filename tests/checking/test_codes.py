"""Every code has a bad package, and every bad package exactly the codes it should."""

from pathlib import Path

import pytest

from metspack.checking import Code, Level, check, ordered
from metspack.reporting import findings as reporting
from tests.packages.bad import BAD, Bad

# Permission cannot be taken from the administrator, and a package in a zip file is none of these folders:
# both have tests of their own.
ELSEWHERE = {"P007", "Z023"}


@pytest.mark.parametrize("recipe", BAD, ids=[each.name for each in BAD])
def test_a_bad_package_gives_exactly_its_codes(recipe: Bad, tmp_path: Path) -> None:
    package = recipe.made(tmp_path / "package")
    roots = [tmp_path / each for each in recipe.roots]
    found = list(ordered(check(package, Level(recipe.level), roots=roots)))
    shown = "\n".join(reporting.line(each) for each in found)
    assert {each.code for each in found} == recipe.codes, shown
    for each in found:
        assert each.path, shown


def test_every_code_has_a_bad_package() -> None:
    assert {recipe.code for recipe in BAD} | ELSEWHERE == {code.id for code in Code}
