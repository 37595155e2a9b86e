"""Segments as units of work: each is placed and described from its own slice of the plan.

A task holds all that a process needs, on this machine or another that sees the same files; what
comes back is small. Results are the same whoever did the work, in whatever order.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from metspack import placing
from metspack.errors import SourceError, TargetError
from metspack.media import Medium, Stamp
from metspack.mets.dialects import recommendation
from metspack.mets.dialects.recommendation import ChildMets, Setting
from metspack.placing import PlacedFile, Placements
from metspack.progress import Progress

_REPORTED = 1 << 18  # bytes a worker moves before it says so, and looks whether it is still wanted
_LOOK = 0.1  # seconds between two looks at what the workers say
_ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@dataclass(frozen=True, slots=True, kw_only=True)
class SegmentTask:
    """One segment to be placed and described.

    ``source`` is the archive's file, or the parts it was cut into; ``stamps`` theirs.
    """

    source: tuple[Path, ...]
    stamps: tuple[Stamp, ...]
    package: Path
    work: Path
    folder: str
    index: int
    objid: str
    setting: Setting


@dataclass(frozen=True, slots=True, kw_only=True)
class SegmentPlaced:
    """A segment on disk: its folder's name and its METS as the parent names it."""

    folder: str
    mets: ChildMets


def slice_path(work: Path, index: int) -> Path:
    """Return where a segment's slice of the plan lies."""
    return work / f"slice-{index}.jsonl"


def placed(task: SegmentTask, moved: Callable[[int], None]) -> SegmentPlaced:
    """Place a segment's LOBs, write its METS and its lines of the manifests.

    ``moved`` is told the bytes as they go. Raises ``SourceError`` and ``TargetError``.
    """
    segment = task.package / task.folder
    checksum = task.setting.checksum_type
    with Medium(task.source) as source, closing(Placements()) as placements:
        _expect(task, source)
        lobs = placing.slice_lobs(slice_path(task.work, task.index))
        for file in placing.placed(lobs, source=source, segment=segment, checksum=checksum, moved=moved):
            placements.add(file)
        _expect(task, source)
        hashers = recommendation.child_written(
            segment,
            setting=task.setting,
            objid=task.objid,
            folder=task.folder,
            index=task.index,
            files=placements.files,
            ids=placements.ids,
            algorithms=tuple(dict.fromkeys((*placing.MANIFESTS, checksum))),
        )
        mets = PlacedFile(
            id="",
            path=recommendation.METS,
            size=hashers.size,
            media_type="application/xml",
            checksum=hashers.digest(checksum).value,
            md5=hashers.digest("MD5").value,
            sha256=hashers.digest("SHA-256").value,
        )
        placing.manifest_fragments(placements, task.folder, task.work, mets)
    return SegmentPlaced(
        folder=task.folder, mets=ChildMets(folder=task.folder, size=mets.size, checksum=mets.checksum)
    )


def _expect(task: SegmentTask, source: Medium) -> None:
    if source.stamped() != task.stamps:
        raise SourceError(
            f"{task.source[0]} was changed while it was read",
            hint="Build again when nothing writes to it any more.",
        )


def all_placed(tasks: Iterable[SegmentTask], jobs: int, progress: Progress) -> Iterator[SegmentPlaced]:
    """Place segments with up to ``jobs`` processes; yields them in the order of the tasks.

    The first error, in that order, stops the rest and is raised.
    """
    if jobs == 1:
        for task in tasks:
            yield placed(task, progress.advance)
        return
    yield from _pooled(tasks, jobs, progress)


def _pooled(tasks: Iterable[SegmentTask], jobs: int, progress: Progress) -> Iterator[SegmentPlaced]:
    # Not forked: the parent has threads (progress) and open databases, which a fork would copy half-way.
    context = multiprocessing.get_context("spawn")
    # Every worker counts for itself: a lock would stay taken for ever when one that holds it is killed.
    counts = context.RawArray("Q", jobs)
    stop = context.RawValue("b", 0)
    shown = 0
    pending: deque[Future[SegmentPlaced]] = deque()
    pool = ProcessPoolExecutor(jobs, context, _begin, (counts, context.Value("I", 0), stop))

    def first() -> SegmentPlaced:
        nonlocal shown
        while True:
            done, _ = wait((pending[0],), timeout=_LOOK)
            counted = sum(counts)
            progress.advance(counted - shown)
            shown = counted
            if done:
                return pending.popleft().result()

    try:
        for task in tasks:
            with _undisturbed():
                pending.append(pool.submit(_run, task))
            if len(pending) > 2 * jobs:
                yield first()
        while pending:
            yield first()
    except BrokenProcessPool as error:
        raise TargetError(
            "a worker process was ended from outside",
            hint="The machine may be out of memory: try fewer with -j 1.",
        ) from error
    finally:
        stop.value = 1
        pool.shutdown(cancel_futures=True)


@contextmanager
def _undisturbed() -> Iterator[None]:
    """Hold back what ends a process while another is started: it is to start whole, or not at all."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _ENDING)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


class _Stopped(Exception):  # noqa: N818 -- not an error: the parent asked for it
    """The parent no longer wants the result."""


_worker: dict[str, Any] = {}


def _end_with_parent() -> None:
    """End this process when the parent is gone, which may have been killed without a word."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _begin(counts: Any, seats: Any, stop: Any) -> None:
    # Ctrl-C reaches every process of the terminal; the parent alone decides what it means.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, _ENDING)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    with seats.get_lock():
        _worker.update(counts=counts, seat=seats.value, stop=stop)
        seats.value += 1


def _run(task: SegmentTask) -> SegmentPlaced:
    unreported = 0
    counts, seat, stop = _worker["counts"], _worker["seat"], _worker["stop"]

    def report() -> None:
        nonlocal unreported
        counts[seat] += unreported
        unreported = 0
        if stop.value:
            raise _Stopped

    def moved(amount: int) -> None:
        nonlocal unreported
        unreported += amount
        if unreported >= _REPORTED:
            report()

    result = placed(task, moved)
    report()
    return result
