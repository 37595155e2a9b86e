"""Changes that need no finding, each with the reason."""

from __future__ import annotations

from collections.abc import Mapping
from fnmatch import fnmatchcase

from tests.mutants.drawing import Mutant
from tests.tables import tables_of

SURVIVORS: Mapping[str, str] = tables_of(__file__)["survivors"]
"""Patterns of changes (``*`` for any words), and why each needs no finding."""


def is_listed(mutant: Mutant) -> bool:
    return not mutant.has_meaning or any(
        fnmatchcase(f"{mutant.kind}: {mutant.what}", each) for each in SURVIVORS
    )
