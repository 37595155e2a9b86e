"""Attempts at segments on other machines: each in a folder of its own, and accepted here, one for each task.

A worker that dies leaves an attempt, one that is slow goes on with its own while another makes a second, and
neither is seen in the package. Only this process moves an attempt to its place, and records it.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, TypeVar

from metspack import cluster
from metspack.building import segments
from metspack.building.options import BuildOptions
from metspack.building.segments import SegmentDone, SegmentTask, TaskPlaced
from metspack.cluster import Cluster, ClusterPool, RemoteWork, Sight
from metspack.errors import ConfigError, SourceError, TargetError
from metspack.files import reading, writing
from metspack.files.byteranges import Below, Stretch
from metspack.files.staging import open_stretch
from metspack.model import LinkMode
from metspack.processes import Workers
from metspack.progress import Progress, Silent, credit_of
from metspack.sources.lobstream import Holdings

Task = TypeVar("Task")
Result = TypeVar("Result")

ATTEMPTS = "attempts"
"""The folder of the attempts in the working folder of a run."""

_GONE = "attempts-gone"
_WANTED = "wanted"
_ASKED = 20  # files of a source that each worker is asked for; it tells of others when it reads them


Attempt = tuple[str, tuple[SegmentDone, ...]]
"""What an attempt at a task has done: the name of its folder, and its segments or stretch."""


def begin(work: Path, of: RemoteWork[Task, Result]) -> RemoteWork[Task, Result]:
    """Begin attempts in the working folder of a run; returns the work with what stops and clears them."""
    folder = work / ATTEMPTS
    writing.remove(work / _GONE)
    writing.make_directory(folder)
    wanted = folder / f"{_WANTED}-{cluster.unique_name()}"
    writing.NewFile(wanted).close()
    return replace(of, wanted=wanted, stop=partial(_stop, work), clear=partial(_clear, work))


def placing(work: Path) -> RemoteWork[SegmentTask, TaskPlaced]:
    """Begin attempts at segments in the working folder of a run; returns the placing as workers do it."""
    return begin(work, RemoteWork(work=attempt, known=_finished, accept=accept))


@contextmanager
def open_cluster(options: BuildOptions, progress: Progress | None = None) -> Iterator[Cluster | None]:
    """Open the cluster that a build is to be done on, for the length of a block; None for none.

    Raises ``ConfigError`` and ``TargetError``.
    """
    if options.cluster is not None and options.link_mode is LinkMode.HARDLINK:
        raise ConfigError(
            "--link-mode hardlink cannot be combined with --cluster",
            hint="Links move no bytes, so other machines have nothing to do: leave one of the two out.",
        )
    with cluster.opened(options.cluster, credit_of(progress or Silent())) as opened:
        yield opened


def use(workers: Workers, of: Cluster | None, work: Path, found: Holdings) -> None:
    """Let the workers of a cluster, if there is one, do the work instead."""
    if of is not None:
        workers.use(lambda: open_pool(of, work, found), of.jobs)


def open_pool(
    of: Cluster, work: Path, found: Holdings, attempted: RemoteWork[Any, Any] | None = None
) -> ClusterPool[Any, Any]:
    """Return the workers of a cluster, once they were asked whether they see the holdings of a source.

    ``attempted`` is what attempts are made of, by itself the placing of segments. Raises ``TargetError``.
    """
    remote = placing(work) if attempted is None else begin(work, attempted)
    try:
        return of.pool(remote, list(_sights(found)))
    except BaseException:
        remote.stop()
        remote.clear()
        raise


def _sights(found: Holdings) -> Iterator[Sight]:
    """Yield what workers have to see of a source; of many files that it has, the first ones."""
    files = (path for held in found.archives for path in held.paths)
    for each in (*found.roots, *islice(files, _ASKED)):
        path = each.file if isinstance(each, Stretch) else each
        with suppress(OSError):  # who reads it tells why that cannot be
            yield Sight.of(path.path if isinstance(path, Below) else path)


def holdings(found: Holdings, of: Cluster | None) -> Holdings:
    """Return the holdings of a source as the workers of a cluster open them, whatever folder they are in."""
    return found if of is None else found.absolute()


def attempt(task: SegmentTask, moved: Callable[[int], None]) -> Attempt:
    """Place a task's segments as ``segments.place`` does, in a new folder below ``work``; records nothing."""
    with making(task.work, task.label) as folder:
        own = replace(
            task,
            package=folder / "package",
            work=folder / "work",
            plan=task.work,
            journal=None,
            holdings=replace(task.holdings, elsewhere=True),
            clears=bool(task.finished),
        )
        for each in (own.package, own.work):
            writing.make_directory(each)
        if task.finished:
            _copy_notes(task, own)
        with open_stretch(own.work) as disk:
            return folder.name, tuple(segments.place_rest(own, moved, disk))


@contextmanager
def making(work: Path, label: str) -> Iterator[Path]:
    """Give a new folder for an attempt at a task, below which alone the block writes.

    ``label`` is the task's; an error takes all of the folder away.
    """
    folder = work / ATTEMPTS / f"{label}-{cluster.unique_name()}"
    writing.make_directory(folder)
    token = writing.ground.set(folder)
    try:
        yield folder
    except BaseException:
        with suppress(TargetError):  # the error is the one to tell, and who gave the task removes the rest
            writing.remove(folder)
        raise
    finally:
        writing.ground.reset(token)


def _copy_notes(task: SegmentTask, own: SegmentTask) -> None:
    """Copy the notes on the segments that an earlier run finished."""
    for path, size in zip(segments.NOTES, task.finished[-1].sizes, strict=True):
        with (
            reading.opening(path(task.work, task.label)) as descriptor,
            writing.NewFile(path(own.work, own.label)) as copy,
        ):
            for block in reading.chunks(descriptor, 0, size):
                copy.write(block)


def _finished(task: SegmentTask) -> TaskPlaced | None:
    """Return the result of a task that an earlier run finished."""
    return segments.placed_of(task, task.finished) if len(task.finished) == len(task.segments) else None


def accept(task: SegmentTask, made: Attempt, worker: str) -> TaskPlaced:
    """Move what an attempt made to its place and record it, with the worker's name; returns the result.

    Other attempts at the task are removed. Raises ``TargetError``.
    """
    name, done = made
    folder = task.work / ATTEMPTS / name
    if task.clears:
        segments.clear(task)
    with writing.SyncedTogether(task.work) as disk:
        for own, target in ((folder / "package", task.package), (folder / "work", task.work)):
            move_into(own, target)
        for each in done:
            segments.record(task, each, disk, worker=worker)
    remove_others(task.work, task.label)
    return segments.placed_of(task, (*task.finished, *done))


def move_into(folder: Path, target: Path) -> None:
    """Move all that is in a folder into another one, whose folders stay and whose files give way."""
    for name in sorted(os.listdir(folder)):
        own, place = folder / name, target / name
        if own.is_dir() and place.is_dir():
            move_into(own, place)
        else:
            writing.supersede(own, place, is_synced=False)
    writing.sync_directory(target)  # once for all: there may be thousands


def remove_others(work: Path, label: str) -> None:
    """Remove what is left of all attempts at a task; one that is still made ends by that."""
    for each in list(os.scandir(work / ATTEMPTS)):
        if each.name.startswith(f"{label}-"):
            with suppress(TargetError):  # of one that is still made: the rest goes at the end
                writing.remove(Path(each))


def _stop(work: Path) -> None:
    """Take away what says that attempts are wanted, and the folder that they are made in."""
    with suppress(SourceError, TargetError):
        if os.path.lexists(work / ATTEMPTS):
            writing.move(work / ATTEMPTS, work / _GONE)


def _clear(work: Path) -> None:
    """Remove the attempts that were stopped; what cannot be removed now is by who goes on."""
    with suppress(TargetError):
        writing.remove(work / _GONE)
