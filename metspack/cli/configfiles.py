"""Where configuration files lie: the project's, and the user's own."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

import typer

from metspack.cli.settings import FILE_NAME


def project_file() -> Path | None:
    """Return the ``metspack.toml`` of the current folder, or of the nearest folder above, if there is one.

    The search ends with a folder that holds ``.git``, with the home folder, and where another file system
    begins; above the current one, no folder is looked into that everybody may write to, such as /tmp.
    """
    here = Path.cwd()
    for folder in _searched(here):
        if os.path.lexists(folder / FILE_NAME):
            return Path(FILE_NAME) if folder == here else folder / FILE_NAME
    return None


def user_file() -> Path:
    """Return where the user's own file is looked for: $XDG_CONFIG_HOME, ~/.config, or as macOS has it."""
    return Path(typer.get_app_dir("metspack")) / FILE_NAME


def _searched(here: Path) -> Iterator[Path]:
    yield here
    home = Path.home()
    device = here.stat().st_dev
    below = here
    for folder in here.parents:
        if below == home or os.path.lexists(below / ".git"):
            return
        status = folder.stat()
        if status.st_dev != device or status.st_mode & stat.S_IWOTH:
            return
        yield folder
        below = folder
