"""Mutants by their numbers: the same seed and number give the same package on any machine."""

from __future__ import annotations

import random
from dataclasses import dataclass, field

from tests.mutants.bases import BASES, base
from tests.mutants.kinds import KINDS
from tests.mutants.package import Package
from tests.mutants.sealing import seal

_TRIES = 1000


@dataclass(frozen=True)
class Mutant:
    """A package with one change: where it began, what was done to it at which place."""

    seed: str
    number: int
    base: str
    kind: str
    what: str
    place: str
    package: Package = field(repr=False)
    has_meaning: bool
    is_of_other_lobs: bool

    def __str__(self) -> str:
        return (
            f"[--seed {self.seed} --only {self.number}] {self.base}: {self.kind}: {self.what}: {self.place}"
        )


def drawn(seed: str, number: int, kind: str | None = None) -> Mutant:
    """Return a mutant; with a ``kind``, it is of those whose names begin so."""
    name = list(BASES)[number % len(BASES)]
    chance = random.Random(f"{seed} {number}")  # noqa: S311 -- a sample, not a secret
    before = base(name)
    kinds = [each for each in KINDS if each.name.startswith(kind or "")]
    for _ in range(_TRIES):
        (chosen,) = chance.choices(kinds, [each.weight for each in kinds])
        after = before.copy()
        change = chosen.change(after, chance)
        if change is None or after == before:
            continue
        seal(before, after)
        return Mutant(
            seed=seed,
            number=number,
            base=name,
            kind=chosen.name,
            what=change.what,
            place=change.place,
            package=after,
            has_meaning=chosen.has_meaning,
            is_of_other_lobs=change.is_of_other_lobs,
        )
    raise LookupError(f"{name} has no place for a change of the kind {kind}")
