"""Open a source by its path: an archive in any form, a folder of LOBs, or a list of files."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

from metspack.errors import ConfigError, SourceError
from metspack.files.tempdb import Closable
from metspack.model import Budgets, LobRef, LobRun, one_by_one
from metspack.siard import forms
from metspack.sources import lobfolder
from metspack.sources.archive import Archive, Grants
from metspack.sources.csvlist import LobList
from metspack.sources.lobstream import Holdings


class LooseLobs(Closable):
    """A source without an archive: a folder of LOBs, or a list of files; a context manager.

    ``base`` is the folder that a list's paths begin in; without one ``path`` is itself the folder of LOBs
    (``content/schema0/table2/lob4/record0.bin``). ``size`` and ``metadata_document`` stand for the archive,
    which is missing. Raises SourceError as ``LobList`` and ``lobfolder.lob_runs`` do.
    """

    def __init__(self, path: Path, base: Path | None = None) -> None:
        self.path = path
        self.stem = path.resolve().stem if base is not None else path.resolve().name
        self.size = 0
        self.metadata_document = b""
        self._folder = path if base is None else base
        self._listing = None if base is None else LobList(path, base)

    def lobs(self) -> Iterator[LobRef]:
        """Yield the LOBs by schema, table, row and cell."""
        return one_by_one(self.lob_runs())

    def lob_runs(self, seen: Callable[[int], None] | None = None) -> Iterator[LobRun | LobRef]:
        """Yield the LOBs as ``lobs`` does, those that are alike together.

        ``seen`` is called with numbers of files while a folder is looked through.
        """
        if self._listing is None:
            return lobfolder.lob_runs(self._folder, seen)
        return self._listing.lob_runs()

    def holdings(self) -> Holdings:
        """Return the holdings that the LOBs are read from."""
        return Holdings(archives=(), roots=(self._folder,))

    def check_unchanged(self) -> None:
        """Raise nothing: each file is compared with what was found when it is read."""

    def close(self) -> None:
        """Close the list."""
        if self._listing is not None:
            self._listing.close()


def is_lob_folder(path: Path) -> bool:
    """Return whether a folder looks like one of LOBs without an archive."""
    return any(path.glob("content/schema*/table*")) or any(path.glob("schema*/table*"))


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
                f"{path} is a list of files, and the folder in which its paths begin is not given",
                hint="Name it: --base DIR.",
            )
        return LooseLobs(path, base)
    if base is not None:
        raise ConfigError(
            f"--base requires a list of files, and {path} is not one",
            hint="A list is a CSV: schema,table,column,row,path.",
        )
    if path.is_dir() and not forms.is_unpacked(path) and is_lob_folder(path):
        return LooseLobs(path)
    return Archive(path, budgets, grants)
