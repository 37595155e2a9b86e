"""Changes that nobody need be told of, each with the reason."""

from __future__ import annotations

from collections.abc import Mapping
from fnmatch import fnmatchcase

from tests.mutants.drawing import Mutant
from tests.tables import tables_of

SURVIVORS: Mapping[str, str] = tables_of(__file__)["survivors"]
"""What was changed (``*`` for any words), and why it goes unseen."""


def is_known(mutant: Mutant) -> bool:
    return not mutant.has_meaning or any(
        fnmatchcase(f"{mutant.kind}: {mutant.what}", each) for each in SURVIVORS
    )
