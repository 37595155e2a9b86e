"""A plugin of pytest: laws try the same few examples each time, without shrinking.

A mutant is killed by the first example that fails; which one that is does not matter.
"""

from functools import wraps

from hypothesis import HealthCheck, Phase, settings

from tests import laws

_FEW = 100

settings.register_profile(
    "steady", derandomize=True, database=None, deadline=None, phases=(Phase.explicit, Phase.generate)
)
settings.load_profile("steady")  # what tests.laws and the tests ask for inherits from it
_law = laws.law


@wraps(_law)
def _of_few(examples: int, *suppressed: HealthCheck) -> settings:
    return _law(min(examples, _FEW), *suppressed)


laws.law = _of_few  # before a test or conftest imports it
