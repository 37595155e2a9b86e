"""Expect LOBs that are not found, each for a reason."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from metspack.locations.errors import LobUnresolved


@contextmanager
def unresolved(kind: str, match: str | None = None) -> Iterator[pytest.ExceptionInfo[LobUnresolved]]:
    """Expect that a LOB is not found for the reason ``kind``."""
    with pytest.raises(LobUnresolved, match=match) as caught:
        yield caught
    assert caught.value.kind == kind
