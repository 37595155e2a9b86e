"""Place segments on other machines, and accept one attempt for each task.

Each attempt has a separate folder. A worker that dies leaves its attempt, and a slow one continues while
another makes a second; the package contains neither. Only this process moves an attempt to its place and
records it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

from metspack import cluster
from metspack.building import segments
from metspack.building.segments import SegmentDone, SegmentTask, TaskPlaced
from metspack.cluster import Cluster, ClusterExecutor, ClusterPool, RemoteWork, SharedPath, shared_path
from metspack.errors import SourceError, TargetError
from metspack.files import reading, writing
from metspack.files.byteranges import FileBelow, FileRange
from metspack.files.staging import open_stretch
from metspack.processes import HERE, Executor
from metspack.sources.lobstream import ByteSources
from metspack.system import os

_ATTEMPTS = "attempts"  # the folder of the attempts in the working folder of a run
_GONE = "attempts-gone"
_WANTED = "wanted"
_CHECKED = 20  # files of a source that each worker must see at the start; reading reports other missing ones


Attempt = tuple[str, tuple[SegmentDone, ...]]
"""Result of an attempt at a task: the name of its folder, and its segments or stretch."""


def executor(of: Cluster | None, work: Path, found: ByteSources, attempted: RemoteWork[Any, Any]) -> Executor:
    """Return the executor of a run: the workers of a cluster, or this machine's processes.

    Workers must see the files and roots of ``found``; ``attempted`` is the work of their attempts.
    """
    return HERE if of is None else ClusterExecutor(of, partial(_open_pool, of, work, found, attempted))


def _open_pool(
    of: Cluster, work: Path, found: ByteSources, attempted: RemoteWork[Any, Any]
) -> ClusterPool[Any, Any]:
    """Begin attempts in a run's working folder; return a cluster's workers. Raises ``TargetError``."""
    folder = work / _ATTEMPTS
    writing.remove(work / _GONE)
    writing.make_directory(folder)
    wanted = folder / f"{_WANTED}-{cluster.unique_name()}"
    writing.NewFile(wanted).close()
    remote = replace(attempted, wanted=wanted, stop=partial(_stop, work), clear=partial(_clear, work))
    try:
        return ClusterPool(of, remote, list(_shared_paths(found)))
    except BaseException:
        remote.stop()
        remote.clear()
        raise


def _shared_paths(found: ByteSources) -> Iterator[SharedPath]:
    """Yield the roots of a source and the first of its files, which workers must see."""
    files = (path for held in found.archives for path in held.paths)
    for each in (*found.roots, *islice(files, _CHECKED)):
        path = each.file if isinstance(each, FileRange) else each
        with suppress(OSError):  # reading the file reports the reason
            yield shared_path(path.path if isinstance(path, FileBelow) else path)


def byte_sources(found: ByteSources, of: Cluster | None) -> ByteSources:
    """Return the sources of bytes, with absolute paths if a cluster's workers open them."""
    return found if of is None else found.absolute()


def attempt(task: SegmentTask, moved: Callable[[int], None]) -> Attempt:
    """Place a task's segments like ``segments.place``, but in a new folder and unrecorded."""
    changed = {"plan": task.work, "journal": None, "clears": bool(task.finished)}
    with begin_attempt(task, task.label, **changed) as (attempted, disk):
        if task.finished:
            _copy_notes(task, attempted)
        return attempted.work.parent.name, tuple(segments.place_rest(attempted, moved, disk))


@contextmanager
def begin_attempt(task: Any, label: str, **changed: object) -> Iterator[tuple[Any, writing.SyncedTogether]]:
    """Begin an attempt at a task in a new folder; the block may write only below it.

    Yield the task with the folders of the attempt and further ``changed`` fields, and the object that syncs
    its files to disk. ``label`` is the task's. An error in the block removes the folder.
    """
    folder = task.work / _ATTEMPTS / f"{label}-{cluster.unique_name()}"
    package, work, elsewhere = folder / "package", folder / "work", replace(task.sources, elsewhere=True)
    writing.make_directory(folder)
    token = writing.ground.set(folder)
    try:
        for each in (package, work):
            writing.make_directory(each)
        with open_stretch(work) as disk:
            yield replace(task, package=package, work=work, sources=elsewhere, **changed), disk
    except BaseException:
        with suppress(TargetError):  # the first error counts; the process that submitted the task cleans up
            writing.remove(folder)
        raise
    finally:
        writing.ground.reset(token)


@contextmanager
def accept_attempt(task: Any, label: str, name: str) -> Iterator[writing.SyncedTogether]:
    """Move an attempt's files to their places for a block; then remove the other attempts.

    ``name`` is that of the attempt's folder. Yield the object that syncs files to disk: the block records the
    task with it.
    """
    folder = task.work / _ATTEMPTS / name
    with writing.SyncedTogether(task.work) as disk:
        for source, target in ((folder / "package", task.package), (folder / "work", task.work)):
            _move_into(source, target)
        yield disk
    _remove_others(task.work, label)


def _copy_notes(task: SegmentTask, attempted: SegmentTask) -> None:
    """Copy the notes on the segments that an earlier run finished."""
    for kind, size in zip(segments.NOTES, task.finished[-1].sizes, strict=True):
        with (
            reading.opening(segments.notes_path(task.work, kind, task.label)) as descriptor,
            writing.NewFile(segments.notes_path(attempted.work, kind, attempted.label)) as copy,
        ):
            copy.write_all(reading.chunks(descriptor, 0, size), size)


def _finished(task: SegmentTask) -> TaskPlaced | None:
    """Return the result of a task that an earlier run finished, or None for any other."""
    return task.finished if len(task.finished) == len(task.segments) else None


def accept(task: SegmentTask, made: Attempt, worker: str) -> TaskPlaced:
    """Move an attempt's files to their places, record it, and return the task's result.

    The journal gets the worker's name. Other attempts at the task are removed. Raises ``TargetError``.
    """
    name, done = made
    if task.clears:
        segments.clear(task)
    with accept_attempt(task, task.label, name) as disk:
        for each in done:
            segments.record(task, each, disk, worker=worker)
    return *task.finished, *done


PLACING = RemoteWork(work=attempt, finished=_finished, accept=accept)
"""Attempts at the tasks of a build."""


def _move_into(folder: Path, target: Path) -> None:
    """Move a folder's content into another folder, merging folders and replacing files."""
    for name in sorted(os.listdir(folder)):
        source, place = folder / name, target / name
        if source.is_dir() and place.is_dir():
            _move_into(source, place)
        else:
            writing.move(source, place, replaces=True, is_synced=False)
    writing.sync_directory(target)  # once for all files: there may be thousands


def _remove_others(work: Path, label: str) -> None:
    """Remove all remaining attempts at a task; an attempt in progress ends by that."""
    for each in list(os.scandir(work / _ATTEMPTS)):
        if each.name.startswith(f"{label}-"):
            with suppress(TargetError):  # an attempt in progress may add files; _clear removes these
                writing.remove(Path(each))


def _stop(work: Path) -> None:
    """Move the folder of the attempts away, with the file that marks them as wanted."""
    with suppress(SourceError, TargetError):
        if os.path.lexists(work / _ATTEMPTS):
            writing.move(work / _ATTEMPTS, work / _GONE)


def _clear(work: Path) -> None:
    """Remove the stopped attempts; a resuming run removes the rest."""
    with suppress(TargetError):
        writing.remove(work / _GONE)
