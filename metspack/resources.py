"""The installed package: its version, and its data files.

The data files are in a wheel under ``_data``, in a checkout beside the package.
"""

from __future__ import annotations

from pathlib import Path

_PACKAGE = Path(__file__).resolve().parent

__version__ = "0.2.0"
"""The version of the software for METS headers, and for the metadata of the package."""

SCHEMA_VERSION = 1
"""The version of all JSON that is printed or written; ``schemas/`` has the schemas."""


def json_head() -> dict[str, object]:
    """Return the members that every JSON object begins with, apart from the report of a check."""
    return {"schema_version": SCHEMA_VERSION, "metspack": __version__}


def root(package: Path = _PACKAGE) -> Path:
    """Return the folder of ``templates``, ``schemas`` and ``samples`` for code in ``package``."""
    packaged = package / "_data"
    return packaged if packaged.is_dir() else package.parent
