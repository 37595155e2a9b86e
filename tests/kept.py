"""What many tests begin with is made once in a process; each test has a copy of its own."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory, mkdtemp

_FOLDER = TemporaryDirectory(prefix="metspack-tests-")
_MADE: dict[object, Path] = {}


def copied(key: object, target: Path, make: Callable[[Path], object]) -> Path:
    """Copy to a target what ``make`` makes for this key at a place that it is given; returns the target.

    It must be the same wherever it is made.
    """
    if key not in _MADE:
        made = Path(mkdtemp(dir=_FOLDER.name)) / target.name
        make(made)
        _MADE[key] = made
    return Path(shutil.copytree(_MADE[key], target))
