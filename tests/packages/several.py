"""Packages of two archives, which no command makes, and the LOBs of each."""

from __future__ import annotations

import shutil
from pathlib import Path

from tests.packages.cases import HERE

FIRST = (b"a" * 40, b"b" * 30, b"c" * 250, b"d", b"")
SECOND = (b"A" * 50, b"B" * 260, b"C", b"D" * 70)
FORMS = {"recommendation": "two_archives", "csip": "csip_two_archives"}


def several(out: Path, dialect: str) -> Path:
    """Copy the package of the archives ``First`` and ``Orders`` to a path."""
    shutil.copytree(HERE / "forms" / FORMS[dialect], out)
    return out
