"""The ``FILEID`` of a document's fptrs against the IDs of its files, compared as a whole.

In a large METS each file has its fptr. The sums of the hashes of FILEIDs and of IDs are equal when both are
the same set, whatever their order; only when they differ does the catalogue get a row for each fptr.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import count, repeat

from metspack.checking.catalogue import Batch, Catalogue
from metspack.mets.runs import Run

_PUT = "INSERT INTO fptr VALUES (?, ?, ?)"
_WAIT = "INSERT INTO pointing VALUES (?, ?, ?)"
_WAITING = "SELECT fileids, line, step FROM pointing ORDER BY rowid"
_BITS = 128
_BETWEEN = "\n"  # the FILEIDs of a run, in which no value has it


class Pointers:
    """The IDs of one document's files and the FILEIDs of its fptrs, as they come; ``mets`` is its number."""

    def __init__(self, catalogue: Catalogue, mets: int) -> None:
        self._catalogue = catalogue
        self._batch = Batch(catalogue)
        self._mets = mets
        self._files = self._pointed = 0

    def add_files(self, identifiers: Iterable[str]) -> None:
        """Take the IDs of files."""
        self._files += _sum(list(identifiers))

    def add(self, fileid: str, line: int) -> None:
        """Take the FILEID of one fptr."""
        self._pointed += _sum([fileid])
        self._batch.add(_WAIT, fileid, line, None)

    def add_run(self, run: Run) -> None:
        """Take the FILEIDs of many fptrs."""
        fileids = list(map(str.strip, run.columns["fileid"]))
        self._pointed += _sum(fileids)
        self._batch.add_all(_WAIT, [(_BETWEEN.join(fileids), run.line, run.step)])

    def end(self) -> None:
        """Say in the catalogue that all is as it should be, or put in all fptrs so that it can be told."""
        if self._pointed and self._files == self._pointed:
            self._catalogue.put("UPDATE mets SET pointed = 1 WHERE id = ?", self._mets)
        else:
            self._batch.flush()
            for fileids, line, step in self._catalogue.rows(_WAITING):
                if step is None:
                    self._batch.add(_PUT, self._mets, fileids, line)
                else:
                    rows = zip(repeat(self._mets), fileids.split(_BETWEEN), count(line, step), strict=False)
                    self._batch.add_all(_PUT, rows)
            self._batch.flush()
        self._catalogue.put("DELETE FROM pointing")


def _sum(texts: Sequence[str]) -> int:
    """Return the sum of the hashes of texts, and their number above its bits."""
    # Python's hash of a text has 64 bits, and a key that each process draws: nobody can aim at a sum.
    return (len(texts) << _BITS) + sum(map(hash, texts))
