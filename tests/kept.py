"""Packages that many tests begin with are made once in a process and copied."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory, mkdtemp

_FOLDER = TemporaryDirectory(prefix="metspack-tests-")
_MADE: dict[object, Path] = {}


def copied(key: object, target: Path, make: Callable[[Path], object]) -> Path:
    """Copy to a target the result of ``make`` for a key, which is made once; return the target."""
    if key not in _MADE:
        made = Path(mkdtemp(dir=_FOLDER.name)) / target.name
        make(made)
        _MADE[key] = made
    return Path(shutil.copytree(_MADE[key], target))
