"""Queries on the folders and files of the catalogue for the requirements."""

from __future__ import annotations

from collections.abc import Iterator

from metspack.checking.catalogue import Catalogue
from metspack.mets import is_mets_name

_FIRST = "SELECT path, kind FROM disk WHERE path > ? AND path < ? ORDER BY path LIMIT 1"
_NOT_REFERRED = """
SELECT d.path FROM disk d WHERE d.path > ? AND d.path < ? AND d.kind = 'f'
AND NOT EXISTS (SELECT 1 FROM entry e WHERE e.path = d.path AND e.element = 'mdRef') ORDER BY d.path
"""


class CataloguedFiles:
    """The files of one catalogue; ``folder`` is bytes with a slash at the end, empty for the root."""

    def __init__(self, catalogue: Catalogue) -> None:
        self._catalogue = catalogue

    def has_folder(self, path: bytes) -> bool:
        """Whether there is a folder at a path, or anything in it."""
        row = self._catalogue.row("SELECT 1 FROM disk WHERE path = ? AND kind = 'd'", path)
        return row is not None or self._first(path + b"/", path + b"0") is not None

    def children(self, folder: bytes) -> Iterator[tuple[bytes, bool]]:
        """Yield the names right below a folder, each with whether it is a folder, in order of names."""
        at, end = folder, folder[:-1] + b"0" if folder else b"\xff"
        folders: set[bytes] = set()  # what lies in one may come after its neighbours: "a", "a.txt", "a/b"
        while (row := self._first(at, end)) is not None:
            at, kind = row
            name, slash, _ = at[len(folder) :].partition(b"/")
            if slash:
                at = folder + name + b"0"
            if not slash and kind != "d":
                yield name, False
            elif name not in folders:
                folders.add(name)
                yield name, True

    def mets_in(self, folder: bytes) -> bytes | None:
        """Return the path of a folder's METS, in any spelling; one spelled METS.xml if there are several."""
        found = sorted(
            folder + name for name, below in self.children(folder) if not below and is_mets_name(name)
        )
        return found[0] if found else None

    def files(self, folder: bytes) -> Iterator[bytes]:
        """Yield the paths of all files below a folder."""
        sql = "SELECT path FROM disk WHERE path > ? AND path < ? AND kind = 'f' ORDER BY path"
        for (path,) in self._catalogue.rows(sql, folder, folder[:-1] + b"0"):
            yield path

    def not_referred(self, folder: bytes) -> Iterator[bytes]:
        """Yield the files below a folder that no mdRef names."""
        for (path,) in self._catalogue.rows(_NOT_REFERRED, folder, folder[:-1] + b"0"):
            yield path

    def _first(self, after: bytes, end: bytes) -> tuple[bytes, str] | None:
        row = self._catalogue.row(_FIRST, after, end)
        return None if row is None else (row[0], row[1])
