"""Put the files that METS documents list into the catalogue, with the groups around them."""

from __future__ import annotations

from metspack.checking.catalogue import Catalogue
from metspack.files.tempdb import BulkInsert
from metspack.mets.links import SPLIT_LOBS, is_of_children

PUT_ENTRY = """INSERT INTO entry
    (id, mets, element, xml_id, groupid, grp, line, size, algorithm, digest, href, path, pseudo, seq,
    named, filed, mdtype, mimetype, differs)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"""
FILES = BulkInsert(
    "entry (id, mets, element, grp, algorithm, href, path, xml_id, size, digest, groupid, seq, line, pseudo)",
    """?3 + {row} * ?4, ?5, ?6, ?7, ?8, ?{0}, CAST(?9 || ?{0} AS BLOB), ?{1}, ?{2}, ?{3}, ?{4}, ?{5},
    ?1 + {row} * ?2, 0""",
    per_row=6,
    counts=2,
)
"""Files with common values: line, number, their steps, METS, element, group, algorithm, folder."""
_PUT_GROUP = """
INSERT OR IGNORE INTO section (mets, outer, name, is_child, is_whole, is_other) VALUES (?, ?, ?, ?, ?, ?)
"""
_OF_NO_LOBS = ("Documentation", "Schemas")


class FileGroups:
    """The fileGrp of one document; each name is kept once for all its files and groups.

    The properties of all names around a file are kept with the innermost one.
    """

    def __init__(self, catalogue: Catalogue, mets: int) -> None:
        self._catalogue = catalogue
        self._mets = mets
        self._names: tuple[str, ...] = ()
        self._open: list[tuple[int, bool, bool, bool]] = [(0, False, False, False)]

    def number(self, names: tuple[str, ...]) -> int:
        """Return the number of the innermost of the IDs and USEs around a file, 0 without any."""
        if names != self._names:
            pairs = enumerate(zip(names, self._names, strict=False))
            longest = min(len(names), len(self._names))
            shared = next((number for number, (one, other) in pairs if one != other), longest)
            del self._open[shared + 1 :]
            for name in names[shared:]:
                self._open.append(self._put(name, *self._open[-1]))
            self._names = names
        return self._open[-1][0]

    def _put(
        self, name: str, outer: int, is_child: bool, is_whole: bool, is_other: bool
    ) -> tuple[int, bool, bool, bool]:
        flags = (
            is_child or is_of_children((name,)),
            is_whole or SPLIT_LOBS in name,
            is_other or name.startswith(_OF_NO_LOBS),
        )
        key = self._mets, outer, name
        self._catalogue.put(_PUT_GROUP, *key, *flags)
        sql = "SELECT id FROM section WHERE mets = ? AND outer = ? AND name = ?"
        return self._catalogue.number(sql, *key), *flags
