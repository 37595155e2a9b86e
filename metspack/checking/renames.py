"""Renamed files: a listed one is missing, and an unlisted one has its bytes."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from metspack.checking.catalogue import Catalogue
from metspack.checking.holders import Places
from metspack.digests import Hashers
from metspack.errors import MetspackError

_LOST = """
INSERT INTO lost SELECT e.path, e.size, e.algorithm, e.digest FROM entry e
WHERE e.path IS NOT NULL AND e.digest IS NOT NULL AND NOT e.pseudo
AND NOT EXISTS (SELECT 1 FROM disk d WHERE d.path = e.path)
AND NOT EXISTS (SELECT 1 FROM mets c WHERE c.path = e.path) ORDER BY e.id
"""
_ALGORITHMS = "SELECT DISTINCT algorithm FROM lost WHERE size = ? OR size IS NULL ORDER BY algorithm"
_MATCH = """
SELECT min(rowid), path FROM lost WHERE algorithm = ? AND digest = ? AND (size = ? OR size IS NULL)
AND path NOT IN (SELECT path FROM renamed) HAVING path IS NOT NULL
"""


def find(
    catalogue: Catalogue,
    places: Places,
    unlisted: Iterator[tuple[bytes, int]],
    progress: Callable[[int], None],
) -> None:
    """Put into the catalogue which missing file is which of the ``unlisted`` ones (paths and sizes).

    Only unlisted files of a missing one's size are read; one that cannot be read is left as unlisted.
    """
    catalogue.put(_LOST)
    if not catalogue.number("SELECT count(*) FROM (SELECT 1 FROM lost LIMIT 1)"):
        return
    for path, size in list(unlisted):
        algorithms = [name for (name,) in catalogue.rows(_ALGORITHMS, size)]
        if not algorithms:
            continue
        hashers = Hashers(algorithms)
        try:
            with places.content(path) as content:
                for block in content.chunks():
                    hashers.update(block)
                    progress(len(block))
        except (OSError, MetspackError):
            continue
        for name in algorithms:
            found = catalogue.row(_MATCH, name, hashers.digest(name).value, size)
            if found is not None:
                catalogue.put("INSERT INTO renamed VALUES (?, ?, ?)", found[1], path, name)
                break
