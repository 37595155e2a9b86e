"""Where the project's own data lie: in the wheel under ``_data``, in a checkout beside the package."""

from __future__ import annotations

from pathlib import Path

_PACKAGE = Path(__file__).resolve().parent


def root(package: Path = _PACKAGE) -> Path:
    """Return the folder that holds ``templates``, ``schemas`` and ``samples`` for the package in a folder."""
    packaged = package / "_data"
    return packaged if packaged.is_dir() else package.parent


def template_folder() -> Path:
    """Return the folder of the templates, but for those of dialects, which have their own."""
    return root() / "templates"


def schema_folder() -> Path:
    """Return the folder of the schemas written for this project."""
    return root() / "schemas"


def sample_folder(name: str) -> Path:
    """Return the folder of a sample's files."""
    return root() / "samples" / name
