"""The METS that the file entries beside an mptr are of: looked up once for all mptr of a division."""

from __future__ import annotations

from collections.abc import Callable

from metspack.checking.catalogue import Catalogue
from metspack.mets import is_mets_name

# Each entry once, however many fptr and mptr of the division name it: those of fptr first.
_PUT = """
INSERT INTO listed_beside (fileid, path) SELECT e.xml_id, e.path FROM (
    SELECT fileid, min(kind) AS kind, min(number) AS number FROM (
        SELECT fileid, 0 AS kind, rowid AS number FROM beside WHERE mets = ?1 AND div = ?2
        UNION ALL SELECT href, 1, id FROM mptr WHERE mets = ?1 AND div = ?2 AND part IS NULL
    ) GROUP BY fileid
) b CROSS JOIN entry e ON e.mets = ?1 AND e.xml_id = b.fileid WHERE e.path IS NOT NULL
ORDER BY b.kind, b.number, e.id
"""
_OF_PATH = "SELECT number FROM listed_beside WHERE path = ? ORDER BY number LIMIT 1"
_MET_SINCE = """
SELECT b.number, b.path FROM mets m CROSS JOIN listed_beside b ON b.path = m.path WHERE m.id > ?
ORDER BY b.number
"""
_ALL = "SELECT number, path FROM listed_beside ORDER BY number"
_AT = "SELECT fileid, path FROM listed_beside WHERE number = ?"


class ListedBeside:
    """The entries that a division's fptr and mptr name; ``is_reached`` tells whether a METS is there."""

    def __init__(self, catalogue: Catalogue, is_reached: Callable[[bytes], bool]) -> None:
        self._catalogue = catalogue
        self._is_reached = is_reached
        self._division = (0, 0)
        self._first: int | None = None
        self._met = 0

    def first(self, mets: int, div: int, child: bytes | None) -> tuple[str, bytes] | None:
        """Return ID and path of a division's first entry that is of ``child``, or of a METS that is there.

        None when there is no such entry.
        """
        self._look(mets, div)
        numbers = [] if self._first is None else [self._first]
        if (row := self._catalogue.row(_OF_PATH, child)) is not None:
            numbers.append(row[0])
        row = self._catalogue.row(_AT, min(numbers)) if numbers else None
        return None if row is None else (str(row[0]), bytes(row[1]))

    def _look(self, mets: int, div: int) -> None:
        """Find the first METS of a division that is there: of those not there before, the ones met since."""
        met = self._catalogue.number("SELECT max(id) FROM mets")
        if (mets, div) != self._division:
            self._division = mets, div
            self._catalogue.put("DELETE FROM listed_beside")
            self._catalogue.put(_PUT, mets, div)
            found = (
                number
                for number, path in self._catalogue.rows(_ALL)
                if is_mets_name(path) and self._is_reached(path)
            )
            self._first = next(found, None)
        elif met > self._met:
            since = self._catalogue.rows(_MET_SINCE, self._met)
            found = (number for number, path in since if is_mets_name(path))
            if (number := next(found, None)) is not None:
                self._first = number if self._first is None else min(self._first, number)
        self._met = met
