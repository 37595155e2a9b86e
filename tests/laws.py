"""How much is tried: of laws some examples, of large archives some ways; METSPACK_THOROUGH asks for more."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import TypeVar

from hypothesis import HealthCheck, settings

THOROUGH = "METSPACK_THOROUGH" in os.environ
"""Whether laws are tried ten times as often, and large archives in every way."""

Case = TypeVar("Case")


def spread(cases: Iterable[Case], every: int) -> list[Case]:
    """Return every so many of the cases: where two things vary, each value is met with some of the other."""
    return list(cases)[:: 1 if THOROUGH else every]


def law(examples: int, *suppressed: HealthCheck) -> settings:
    """Return the settings of a law; a busy machine makes any example slow, so no law is about time."""
    return settings(
        max_examples=examples * (10 if THOROUGH else 1), deadline=None, suppress_health_check=suppressed
    )
