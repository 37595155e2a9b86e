"""What a person names as a source, opened as what it is."""

from __future__ import annotations

from pathlib import Path

from metspack.errors import ConfigError, SourceError
from metspack.model import Budgets
from metspack.siard import opening
from metspack.siard.archive import Archive, Grants
from metspack.sources.loose import LooseLobs, is_lob_folder

Source = Archive | LooseLobs


def opened(
    path: Path,
    budgets: Budgets | None = None,
    grants: Grants = Grants(),  # noqa: B008 -- frozen
    base: Path | None = None,
) -> Source:
    """Return a source of LOBs: an archive in any form, a folder of LOBs, or a list with its ``base``.

    A CSV (``.csv``) is a list. Raises ``SourceError`` and ``ConfigError``.
    """
    if path.suffix.lower() == ".csv" and path.is_file():
        if base is None:
            raise SourceError(
                f"{path} is a list of files, and the folder that its paths begin in is not named",
                hint="Name it: --base DIR.",
            )
        return LooseLobs(path, base)
    if base is not None:
        raise ConfigError(
            f"--base goes with a list of files, and {path} is none",
            hint="A list is a CSV: schema,table,column,row,path.",
        )
    if path.is_dir() and not opening.is_unpacked(path) and is_lob_folder(path):
        return LooseLobs(path)
    return Archive(path, budgets, grants)
