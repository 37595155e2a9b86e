"""Real archives and official schemas that lie beside a checkout, for tests to use when they are there."""

import os
from pathlib import Path

import pytest

ARCHIVES = (
    ("northwind", "Northwind.siard"),
    ("siard", "dbptk-example.siard"),
    ("siard", "sfdbsakila-2.1.siard"),
    ("siard", "sfdbsakila-2.2.siard"),
    ("siard", "sample-datalink-2.2.siard"),
)
"""Real archives, below ``data``."""

_DEFAULT = Path(__file__).resolve().parents[2] / "shared"


def shared(*parts: str) -> Path:
    """Return a path among the shared data; skips the test, saying why, when it is not there."""
    path = Path(os.environ.get("METSPACK_SHARED", _DEFAULT)).joinpath(*parts)
    if not path.exists():
        pytest.skip(f"needs {'/'.join(parts)} of the shared data (METSPACK_SHARED names its folder)")
    return path
