"""The two ways of a check: what agrees looked at in one go, and each file by itself. Both tell the same."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from metspack.checking import Level, check, segments

_NEVER = 1 << 60


def found(package: Path, level: Level, **options: Any) -> tuple[object, ...]:
    """Return all that a check tells: its findings, its figures, its links."""
    checking = check(package, level, **options)
    return list(checking), checking.summary, checking.graphs


def file_by_file(patch: pytest.MonkeyPatch, module: ModuleType = segments, name: str = "FEW") -> None:
    """Have no package be large enough to be looked at in one go."""
    patch.setattr(module, name, _NEVER)


def assert_told_alike(
    package: Path,
    level: Level,
    patch: pytest.MonkeyPatch,
    *,
    module: ModuleType = segments,
    name: str = "FEW",
    alone: dict[str, Any] | None = None,
    **options: Any,
) -> None:
    """Assert that all is told that is told of each file by itself, checked with the options ``alone``."""
    together = found(package, level, **options)
    file_by_file(patch, module, name)
    assert together == found(package, level, **(options if alone is None else alone))
