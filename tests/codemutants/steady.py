"""A plugin of pytest under which laws try the same examples each time, and do not look for smaller ones.

A mutant is killed by the first example that fails; which one that is does not matter.
"""

from hypothesis import Phase, settings

settings.register_profile(
    "steady", derandomize=True, database=None, deadline=None, phases=(Phase.explicit, Phase.generate)
)
settings.load_profile("steady")  # what tests.laws and the tests ask for inherits from it
