"""The mutants that may survive, each with the reason: ``survivors.toml``."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path

LIST = Path(__file__).with_name("survivors.toml")
EQUIVALENT, NOT_WORTH_IT, UNREACHED = "equivalent", "not worth a test", "beyond mutmut"
KINDS = (EQUIVALENT, NOT_WORTH_IT, UNREACHED)


@dataclass(frozen=True, kw_only=True)
class Mutant:
    """One change of the code: what stood in a function, and what stands there now, without indentation."""

    function: str
    was: str
    now: str


@dataclass(frozen=True, kw_only=True)
class Reason:
    """Why some mutants may survive: function, what was there, and what is.

    One without ``now`` stands for every change of what was there, one without ``was`` for all of a function.
    """

    why: str
    kind: str
    mutants: tuple[tuple[str, str | None, str | None], ...]

    def covers(self, mutant: Mutant) -> bool:
        """Return whether the reason is given for a mutant."""
        return any(
            function == mutant.function and was in {None, mutant.was} and now in {None, mutant.now}
            for function, was, now in self.mutants
        )


_SQL = re.compile(r"(?:\b(?:SELECT|INSERT|UPDATE|DELETE|CREATE)\b[^']*|^\"BEGIN\",)$", re.IGNORECASE)


def is_letter_case_of_sql(mutant: Mutant) -> bool:
    """Return whether a mutant is SQL in another letter case, without literals: it means the same."""
    return mutant.was.lower() == mutant.now.lower() and _SQL.search(mutant.was) is not None


def kind_of(mutant: Mutant) -> str | None:
    """Return why a mutant may survive, one of ``KINDS``, or None for an unlisted one."""
    if is_letter_case_of_sql(mutant):
        return EQUIVALENT
    return next((reason.kind for reason in reasons() if reason.covers(mutant)), None)


@cache
def reasons(text: str | None = None) -> tuple[Reason, ...]:
    """Return the reasons of the list, or of a text as it has."""
    read = tomllib.loads(LIST.read_text(encoding="utf-8") if text is None else text)
    return tuple(
        Reason(
            why=each["why"],
            kind=each["kind"],
            mutants=tuple((one["in"], one.get("was"), one.get("now")) for one in each["mutants"]),
        )
        for each in read["reason"]
    )
