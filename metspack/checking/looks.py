"""Reconcile segments in parallel, and hold the files on which all sources agree."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing
from itertools import chain, islice
from pathlib import Path

from metspack.checking.held import SegmentLook
from metspack.checking.options import Looking
from metspack.checking.reconciliation import parts_of
from metspack.checking.segmentreader import look_at, look_in_two, places
from metspack.checking.segments import Agreement
from metspack.digests import MANIFESTS
from metspack.files import reading
from metspack.processes import HERE
from metspack.system import os

FEW = 1 << 18
"""The bytes of METS below which rows are as fast as held segments."""

_BYTES_OF_A_FILE = 300  # in METS
_AT_ONCE = 1_000  # segments whose sizes are read together


def hold_segments(
    agreement: Agreement, package: Path, looking: Looking, progress: Callable[[int], None]
) -> None:
    """Reconcile the segments of the package in a folder; hold those on which all sources agree.

    A small package has no held segments, and neither has one that is checked in part or by other schemas.
    """
    if not looking.is_of_every_file:
        return
    try:
        sizes = [size for _, size in _looks(package.absolute(), looking)]
        if not sizes or sum(sizes) < FEW:
            return
        jobs = HERE.useful(looking.jobs, files=sum(sizes) // _BYTES_OF_A_FILE, size=0)
        looks = (look for look, _ in _looks(package.absolute(), looking))
        first = next(looks)
        if len(sizes) == 1 and jobs > 1:
            look_in_two(first, agreement.take)
            return
        with closing(HERE.results(look_at, chain((first,), looks), jobs, progress)) as results:
            for result in results:
                if result is not None:
                    agreement.take(*result)
    except (OSError, StopIteration):
        return  # the inventory reports what is missing


def _looks(root: Path, looking: Looking) -> Iterator[tuple[SegmentLook, int]]:
    """Yield the segments on disk, each with the bytes of its METS; raises ``OSError``."""
    statuses = reading.statuses(root, (), MANIFESTS.values())
    manifests = tuple(name for name, found in zip(MANIFESTS, statuses, strict=True) if found)
    found = places(root)
    while some := list(islice(found, _AT_ONCE)):
        statuses = reading.statuses(root, (), [os.fsdecode(mets) for mets, _ in some])
        for (mets, data), status in zip(some, statuses, strict=True):
            if status is not None:
                look = SegmentLook(
                    root=root,
                    mets=mets,
                    data=data,
                    manifests=manifests,
                    budgets=looking.budgets,
                    parts=parts_of(status[0]),
                )
                yield look, status[0]
