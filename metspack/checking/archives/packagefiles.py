"""Queries on the package's files in the catalogue, for the search for LOBs."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Sequence
from pathlib import Path

from metspack import uris
from metspack.checking.catalogue import Catalogue, nearest_file, shown
from metspack.checking.links import swaps
from metspack.layouts.names import SIARD
from metspack.locations import candidates
from metspack.locations.splitparts import Names
from metspack.locations.statement import Place
from metspack.mets import REPRESENTATIONS_FOLDER, links
from metspack.model import Digest
from metspack.packages.files import path_of
from metspack.uris import ReferenceRefused

_ARCHIVES = "SELECT path FROM disk WHERE kind = 'f' AND lower(CAST(substr(path, -6) AS TEXT)) = ?"
_FOLDERS_KEPT = 64
_SHARED = re.compile(rf"(?:^|/)({REPRESENTATIONS_FOLDER}/[^/]+/data/.+)".encode(), re.DOTALL)
_TOGETHER = f"""
INSERT OR IGNORE INTO together
    SELECT substr(path, instr(path, CAST('/{REPRESENTATIONS_FOLDER}/' AS BLOB)) + 1), path, size FROM disk
    WHERE kind = 'f' AND CAST(path AS TEXT) GLOB '?*/{REPRESENTATIONS_FOLDER}/*/data/*' ORDER BY path
"""  # noqa: S608 -- the name of a folder
_FILES = """
SELECT d.path, d.size FROM json_each(?) g JOIN disk d ON d.path = CAST(g.value AS BLOB) AND d.kind = 'f'
ORDER BY g.key
"""
_ANY_FILE = """
SELECT EXISTS (
    SELECT 1 FROM json_each(?) g JOIN disk d ON d.path = CAST(g.value AS BLOB) AND d.kind = 'f')
"""
_ALL_ELSEWHERE = """
SELECT t.path, t.size FROM json_each(?) g JOIN together t ON t.key = CAST(g.value AS BLOB) ORDER BY g.key
"""
_ELSEWHERE = "SELECT path, size FROM together WHERE key = ?"
_NEAREST_FOR = 50  # lost LOBs that get a guess at what was meant; each guess reads hundreds of names


def _given(paths: Sequence[bytes]) -> str:
    """Return paths as SQLite takes many at once."""
    return json.dumps([path.decode() for path in paths])


def _is_text(path: bytes) -> bool:
    return path.isascii() or path.decode(errors="replace").encode() == path


class Files:
    """The package's files as the catalogue has them; ``root`` tells absolute paths that lead into it."""

    def __init__(self, catalogue: Catalogue, root: Path) -> None:
        self._catalogue = catalogue
        self._siblings: dict[tuple[bytes, str], list[str]] = {}
        self._archives: set[str] | None = None
        self._prefixes: dict[bytes, str] = {}
        self._guesses = 0
        self._swapped = swaps.folders(catalogue)
        self._is_shared = False
        forms = {os.path.realpath(root), os.path.abspath(root)}
        self._roots = [tuple(name for name in form.split("/") if name) for form in sorted(forms)]

    def file(self, path: bytes) -> tuple[bytes, int] | None:
        """Return where the file that a path means lies, and its bytes; None when there is no such file.

        The data of a representation may be divided over several packages (E-ARK AIP1, AIP2): what is not in
        the one that a path leads into may be at the same place in the same representation of another.
        """
        if self._swapped:
            path = self._where(path)
        row = self._catalogue.row("SELECT path, size FROM disk WHERE path = ? AND kind = 'f'", path)
        if row is None and (shared := _SHARED.search(path)) is not None:
            self._put_together()
            row = self._catalogue.row(_ELSEWHERE, shared[1])
        return None if row is None else (row[0], row[1])

    def all_files(self, paths: Sequence[bytes]) -> tuple[list[bytes], list[int]] | None:
        """Return where the files that some paths mean lie, and their bytes, as ``file`` does.

        None where one has to be looked for by itself: they do not all lie as one.
        """
        if self._swapped or not all(map(_is_text, paths)):
            return None
        found = self._all(_FILES, paths)
        if found is None and all(shared := list(map(_SHARED.search, paths))):
            self._put_together()
            keys = [each[1] for each in shared if each is not None]
            # What lies where its path says is meant, whatever lies elsewhere: then each is asked for.
            is_any_here = self._catalogue.number(_ANY_FILE, _given(paths)) > 0
            found = None if is_any_here else self._all(_ALL_ELSEWHERE, keys)
        return found

    def _all(self, sql: str, keys: Sequence[bytes]) -> tuple[list[bytes], list[int]] | None:
        rows = list(self._catalogue.rows(sql, _given(keys)))
        return ([row[0] for row in rows], [row[1] for row in rows]) if len(rows) == len(keys) else None

    def _put_together(self) -> None:
        """Put the data of representations into the catalogue by their places there, once."""
        if not self._is_shared:
            self._is_shared = True
            self._catalogue.put(_TOGETHER)

    def may_hold(self, folder: bytes) -> bool:
        """Whether a path below a folder, which ends with its slash, may be that of a file of the package."""
        if self._swapped:
            folder = self._where(folder)
        if _SHARED.search(folder + b"x") is not None:
            return True
        sql = "SELECT 1 FROM disk WHERE path >= ? AND path < ? LIMIT 1"
        return self._catalogue.row(sql, folder, folder + b"\xff") is not None

    def are_one_place(self, path: bytes, other: bytes) -> bool:
        """Whether two paths mean one file, also where the data of a representation is divided."""
        here, there = _SHARED.search(path), _SHARED.search(other)
        return path == other or (here is not None and there is not None and here[1] == there[1])

    def _where(self, path: bytes) -> bytes:
        """Return where a path leads when the folders of two children are taken for each other's."""
        at = path.rfind(b"/")
        while at >= 0:
            if (other := self._swapped.get(path[: at + 1])) is not None:
                return other + path[at + 1 :]
            at = path.rfind(b"/", 0, at)
        return path

    def prefix(self, archive: bytes) -> str:
        """Return what the ids of an archive's LOBs begin with in METS, "" where none has a beginning."""
        if archive not in self._prefixes:
            found = links.prefix(shown(archive).rpartition("/")[2])
            sql = "SELECT 1 FROM entry WHERE xml_id >= ? AND xml_id < ? LIMIT 1"
            is_used = self._catalogue.row(sql, *links.bounds(found)) is not None
            self._prefixes[archive] = found if is_used else ""
        return self._prefixes[archive]

    def is_listed(self, path: bytes, digest: Digest) -> bool:
        """Whether a METS gives the file this digest."""
        sql = "SELECT 1 FROM entry WHERE path = ? AND algorithm = ? AND digest = ?"
        return self._catalogue.row(sql, path, digest.algorithm, digest.value) is not None

    def is_named(self, path: bytes, lob: str) -> bool:
        """Whether a METS has the file under a LOB's own id."""
        sql = "SELECT 1 FROM entry WHERE path = ? AND xml_id = ?"
        return self._catalogue.row(sql, path, lob) is not None

    def are_alike(self, path: bytes, other: bytes) -> bool:
        """Whether two files have the same digest, as a METS has them."""
        sql = """SELECT 1 FROM entry e JOIN entry o ON o.algorithm = e.algorithm AND o.digest = e.digest
            WHERE e.path = ? AND o.path = ?"""
        return self._catalogue.row(sql, path, other) is not None

    def nearest(self, path: bytes) -> str:
        """Return the file whose name is nearest to that of a missing one, or nothing."""
        self._guesses += 1
        return "" if self._guesses > _NEAREST_FOR else nearest_file(self._catalogue, path)

    def names(self, base: Sequence[str], place: Place) -> Names | None:
        """Return the names of a place outside the archive in ``base``, None when it is not in the package."""
        if place.drive is not None:
            return None
        if place.absolute:
            within = (place.segments[len(root) :] for root in self._roots if _starts(place.segments, root))
            return next(within, None)
        try:
            return uris.walked(base, place.segments)
        except ReferenceRefused:
            return None

    def lob_folders(self, folder: Names, siard: str) -> list[str]:
        """Return the names in a folder that writers give to LOB folders, but those of other archives.

        ``siard`` is the archive's file name. Each folder is looked at once.
        """
        key = path_of((*folder, "")), siard
        if key not in self._siblings:
            if len(self._siblings) >= _FOLDERS_KEPT:
                self._siblings.clear()
            if self._archives is None:
                archives = self._catalogue.rows(_ARCHIVES, SIARD)
                self._archives = {shown(path).rpartition("/")[2] for (path,) in archives}
            prefix = key[0]
            below = self._catalogue.rows(
                "SELECT path FROM folder WHERE path > ? AND path < ?", prefix, prefix + b"\xff"
            )
            here = (shown(path[len(prefix) :]) for (path,) in below if b"/" not in path[len(prefix) :])
            self._siblings[key] = sorted(candidates.lob_folders(here, self._archives, siard))
        return self._siblings[key]


def _starts(names: Names, root: Names) -> bool:
    return len(names) > len(root) and names[: len(root)] == root
