"""The extent of the tests: examples of laws, ways of large archives; more by METSPACK_THOROUGH."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Iterable
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any, TypeVar

import pytest
from hypothesis import HealthCheck, settings

THOROUGH = "METSPACK_THOROUGH" in os.environ
"""Laws are tried ten times as often, and large archives in every way."""

SLOW_EVERY = int(os.environ.get("METSPACK_SLOW_EVERY", "1"))
"""The slow tests are divided by so much, and each commit runs another part of them."""

_REQUESTED = os.environ.get("METSPACK_SEED")
"""The seed that is asked for, read before tests are kept from the surroundings."""

Case = TypeVar("Case")
Other = TypeVar("Other")


@cache
def seed() -> str:
    """Return that of the environment, else the commit: one for all who run it, another for each change."""
    if _REQUESTED is not None:
        return _REQUESTED
    folder = Path(__file__).parent
    commit = subprocess.run(
        ("git", "rev-parse", "HEAD"), cwd=folder, capture_output=True, text=True, check=False
    )
    return commit.stdout.strip() or "0"


def spread(cases: Iterable[Case], every: int) -> list[Case]:
    """Return every so many of the cases: where two things vary, each value is met with some of the other."""
    return list(cases)[:: 1 if THOROUGH else every]


def by_turns(first: Iterable[Case], second: Iterable[Other]) -> list[tuple[Case, Other]]:
    """Return pairs in which each value of both is met; each with each where that is asked for."""
    ones, others = list(first), list(second)
    if THOROUGH:
        return list(product(ones, others))
    longest = range(max(len(ones), len(others)))
    return [(ones[number % len(ones)], others[number % len(others)]) for number in longest]


def of_each(values: Iterable[Any]) -> Callable[[Callable[..., None]], Callable[[], None]]:
    """Return what makes one test of many values, tuples being several arguments: all that fail are named.

    For what takes no longer than a test of its own takes to begin and to end.
    """

    cases = list(values)

    def decorate(check: Callable[..., None]) -> Callable[[], None]:
        def test() -> None:
            failed = []
            for each in cases:
                try:
                    check(*(each if isinstance(each, tuple) else (each,)))
                except (AssertionError, pytest.fail.Exception) as fault:
                    failed.append(f"{each}: {fault}")
            assert not failed, "\n".join(failed)

        test.__name__, test.__doc__ = check.__name__, check.__doc__
        return test

    return decorate


def law(examples: int, *suppressed: HealthCheck) -> settings:
    """Return the settings of a law: of many examples, a quarter is tried where no more is asked for.

    A busy machine makes any example slow, so no law is about time.
    """
    fewer = min(examples, max(10, examples // 4))
    tried = examples * 10 if THOROUGH else fewer
    return settings(max_examples=tried, deadline=None, suppress_health_check=suppressed)
