"""Reconcile segments in parallel, and hold the files on which all sources agree."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

from metspack.checking.eark.profiles import Profile
from metspack.checking.held import SegmentLook
from metspack.checking.options import Level, Looking
from metspack.checking.reconciliation import BYTES_OF_A_FILE, parts_of
from metspack.checking.segmentreader import agreed, places
from metspack.checking.segments import Agreement
from metspack.digests import MANIFESTS
from metspack.files import reading
from metspack.processes import HERE, ahead
from metspack.system import os

FEW = 1 << 18
"""The bytes of METS below which rows are as fast as held segments."""

_PACKED = 100  # bytes of a packed segment for each byte of its METS
_AT_ONCE = 1_000  # segments whose sizes are read together


def hold_segments(agreement: Agreement, package: Path, looking: Looking) -> None:
    """Reconcile the segments of the package in a folder; hold those on which all sources agree.

    A small package has no held segments, and neither has one that is checked in part or by other schemas.
    """
    are_other_schemas = looking.strict or looking.grammar is not None
    if are_other_schemas or not looking.takes_all_files or looking.level is Level.LINKS:
        return
    try:
        sizes = [size for _, size in _looks(package.absolute(), looking)]
        if not sizes or sum(sizes) < FEW:
            return
        jobs = HERE.useful(looking.jobs, files=sum(sizes) // BYTES_OF_A_FILE, size=0)
        looks = (look for look, _ in _looks(package.absolute(), looking))
        for found in _found(looks, jobs, are_several=len(sizes) > 1):
            if (segment := next(found, None)) is not None:
                agreement.take(segment, found)
    except OSError:
        return  # the inventory reports what is missing


def _found(looks: Iterable[SegmentLook], jobs: int, *, are_several: bool) -> Iterator[Iterator[Any]]:
    """Yield the results of ``agreed`` for each segment, of processes if there are several jobs."""
    if jobs == 1 or not are_several:
        yield from (agreed(look, jobs) for look in looks)
        return
    with ahead(jobs) as begin:
        begun = (begin(agreed, look) for look in looks)
        waiting = deque(islice(begun, 2 * jobs))
        while waiting:
            yield waiting.popleft().remaining_results()
            waiting.extend(islice(begun, 1))


def _looks(root: Path, looking: Looking) -> Iterator[tuple[SegmentLook, int]]:
    """Yield the segments on disk, each with about the bytes of its METS; raises ``OSError``.

    Packed segments are left out if bytes are read: their files are read in the order of the zip file.
    """
    statuses = reading.statuses(root, (), MANIFESTS.values())
    manifests = tuple(name for name, found in zip(MANIFESTS, statuses, strict=True) if found)
    found = (each for each in places(root) if not (each[2] and looking.level.hashes))
    if looking.profile not in {Profile.AUTO, Profile.RECOMMENDATION}:
        found = (each for each in found if each[1] != each[0].rpartition(b"/")[0])  # representations
    while some := list(islice(found, _AT_ONCE)):
        statuses = reading.statuses(root, (), [os.fsdecode(pack or mets) for mets, _, pack in some])
        for (mets, data, pack), status in zip(some, statuses, strict=True):
            if status is not None:
                size = status[0] // (_PACKED if pack else 1)
                look = SegmentLook(
                    root=root,
                    mets=mets,
                    data=data,
                    manifests=() if pack else manifests,
                    budgets=looking.budgets,
                    pack=pack,
                    parts=1 if pack else parts_of(size),
                )
                yield look, size
