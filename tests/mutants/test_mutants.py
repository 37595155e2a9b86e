"""A check reports each change of a package that a command refuses; digests are put right.

Without an error of ``check``, links, shards, restore --dry-run, restore and restore --siard succeed and
give the same bytes as before the change; a change without a meaning gives no finding. ``just mutate`` tries
more.
"""

from __future__ import annotations

import pytest

from tests.laws import THOROUGH, seed, spread
from tests.mutants.bases import BASES, base
from tests.mutants.drawing import Mutant, drawn
from tests.mutants.kinds import KINDS
from tests.mutants.sealing import seal
from tests.mutants.survivors import is_listed
from tests.mutants.verdicts import Judged, Verdict, before, judged

pytestmark = pytest.mark.slow

_EACH = 3
_FULL_EVERY = 7


@pytest.fixture(scope="module", params=spread(BASES, 2))
def results(request: pytest.FixtureRequest) -> list[Judged]:
    first = list(BASES).index(request.param)
    numbers = range(first, len(BASES) * _EACH, len(BASES))
    return [
        judged(drawn(seed(), number), thoroughly=at % _FULL_EVERY == 0) for at, number in enumerate(numbers)
    ]


def test_a_package_that_was_not_changed_is_good(results: list[Judged]) -> None:
    found, outcome = before(results[0].mutant.base)
    assert {code for code, _ in found} <= {"S010"}
    assert outcome.refused == []
    assert outcome.given


def test_what_check_does_not_tell_no_command_refuses(results: list[Judged]) -> None:
    failures = [str(each) for each in results if each.verdict.is_failure]
    assert not failures, "\n".join(failures)


@pytest.mark.skipif(not THOROUGH, reason="each commit draws other kinds: just mutate lists those without")
def test_what_nobody_tells_is_listed_with_a_reason(results: list[Judged]) -> None:
    unlisted = [
        str(each) for each in results if each.verdict is Verdict.SURVIVED and not is_listed(each.mutant)
    ]
    assert not unlisted, "\n".join(unlisted)


@pytest.mark.parametrize("number", [3, 22, 40])
def test_the_same_seed_and_number_give_the_same_mutant(number: int) -> None:
    one, two = drawn("0", number), drawn("0", number)
    assert isinstance(one, Mutant)
    assert one == two
    assert one.package.files != base(one.base).files
    assert drawn("1", number) != one


def test_a_package_without_a_change_is_left_as_it_is() -> None:
    package = base("csip zip").copy()
    seal(base("csip zip"), package)
    assert package == base("csip zip")


def test_kinds_have_names_of_their_own() -> None:
    assert len({each.name for each in KINDS}) == len(KINDS)
