"""Every code has a package as its case; its findings are compared with the record."""

import pytest

from metspack.checking import ALL_CODES, Code
from metspack.checking.codes import RETIRED, Rule
from tests.packages.cases import HERE, KINDS, cases

# 64 MB of METS are no test data, archives in other forms no recipes, nor what an option alone tells, nor what
# lies in a delivery beside packages: they have tests of their own.
ELSEWHERE = {"Z023", "Z024", "M014", "M015", "M017", "M028", "M044", "M045", "F046"}
AT_LEAST = {"bad": 120, "warn": 20, "good": 20}
MOST_BYTES = 2_000_000


def test_no_code_is_declared_twice() -> None:
    assert len({code.id for code in ALL_CODES}) == len(ALL_CODES)
    names = [name for name in dir(Code) if isinstance(getattr(Code, name), Rule)]
    assert {getattr(Code, name) for name in names} == set(ALL_CODES)
    assert all(Code.named(code.id) is code for code in ALL_CODES)


def test_no_code_is_used_again() -> None:
    assert not {code.id for code in ALL_CODES} & {*RETIRED}


def test_every_code_has_a_case() -> None:
    assert {case.code for case in cases() if case.codes} | ELSEWHERE == {code.id for code in ALL_CODES}


@pytest.mark.parametrize("kind", KINDS)
def test_there_are_as_many_cases_as_the_documents_state(kind: str) -> None:
    assert sum(each.kind == kind for each in cases()) >= AT_LEAST[kind]


def test_no_two_cases_are_the_same_recipe() -> None:
    recipes = [({**case.recipe, "about": ""}, case.level) for case in cases() if not case.is_of_files]
    assert len(recipes) == len({repr(each) for each in recipes})


def test_the_cases_stay_small() -> None:
    assert sum(path.stat().st_size for path in HERE.rglob("*") if path.is_file()) < MOST_BYTES
