"""Reconcile segments in parallel, and hold the files on which all sources agree."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing
from itertools import islice
from pathlib import Path

from metspack.checking.held import SegmentLook
from metspack.checking.options import Looking
from metspack.checking.reconciliation import parts_of
from metspack.checking.segmentreader import look_at, look_in_two, places
from metspack.checking.segments import Agreement
from metspack.digests import MANIFESTS
from metspack.files import reading, tempdb
from metspack.processes import HERE
from metspack.system import os

FEW = 1 << 18
"""Bytes of METS below which there are too few files to be worth it."""

_BYTES_OF_A_FILE = 300  # in METS
_PACKED = 100  # bytes of a packed segment for each byte of its METS
_AT_ONCE = 1_000  # segments whose sizes are asked for together
_KEPT = "what is known of segments"
_SCHEMA = "CREATE TABLE look (id INTEGER PRIMARY KEY, mets BLOB, data BLOB, pack BLOB, size INTEGER)"


def hold_segments(
    agreement: Agreement, package: Path, looking: Looking, progress: Callable[[int], None]
) -> None:
    """Look at the segments of a package, given by its folder; hold those without an odd file.

    At none of a package that is too small to be worth it, nor where less than all is asked for, or more.
    """
    if not looking.is_of_every_file:
        return
    root = package.absolute()
    with _Looks(root, looking) as looks:
        try:
            looks.find()
        except OSError:
            return  # it is reported where the package is walked
        if looks.size < FEW:
            return
        jobs = HERE.useful(looking.jobs, files=looks.size // _BYTES_OF_A_FILE, size=0)
        if looks.count == 1 and jobs > 1 and not (only := next(looks.all_looks())).pack:
            look_in_two(only, agreement.take)
            return
        with closing(HERE.results(look_at, looks.all_looks(), jobs, progress)) as results:
            for result in results:
                if result is not None:
                    agreement.take(*result)


class _Looks(tempdb.Scratch):
    """The places of segments on disk; ``size`` is about the bytes of their METS."""

    def __init__(self, root: Path, looking: Looking) -> None:
        super().__init__("BEGIN", schema=_SCHEMA)
        self._root = root
        self._looking = looking
        self._manifests: tuple[str, ...] = ()
        self.count = self.size = 0

    def find(self) -> None:
        """Find the segments, without packed ones if bytes are read. Raises ``OSError``."""
        statuses = reading.statuses(self._root, (), MANIFESTS.values())
        self._manifests = tuple(name for name, found in zip(MANIFESTS, statuses, strict=True) if found)
        found = (each for each in places(self._root) if not (each[2] and self._looking.level.hashes))
        while some := list(islice(found, _AT_ONCE)):
            statuses = reading.statuses(self._root, (), [os.fsdecode(pack or mets) for mets, _, pack in some])
            rows = [
                (*place, status[0] // (_PACKED if place[2] else 1))
                for place, status in zip(some, statuses, strict=True)
                if status is not None
            ]
            with tempdb.explained(_KEPT):
                sql = "INSERT INTO look (mets, data, pack, size) VALUES (?, ?, ?, ?)"
                self._database.executemany(sql, rows)
            self.count, self.size = self.count + len(rows), self.size + sum(row[-1] for row in rows)

    def all_looks(self) -> Iterator[SegmentLook]:
        """Yield all looks."""
        for mets, data, pack, size in self.rows("SELECT mets, data, pack, size FROM look ORDER BY id"):
            yield SegmentLook(
                root=self._root,
                mets=mets,
                data=data,
                manifests=() if pack else self._manifests,
                budgets=self._looking.budgets,
                pack=pack,
                parts=1 if pack else parts_of(size),
            )
