"""Tables that workers read while others are planned: the LOBs of each in a file until its turn comes.

Only what leaves nothing to be said goes this way: a table all of whose cells name entries of the archive in
full. Any other, and one that cannot be read, is left to who plans, as if nobody had looked at it.
"""

from __future__ import annotations

import heapq
import os
import sqlite3
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path

from metspack import processes
from metspack.containers.zipreader import ZipContainer
from metspack.errors import MetspackError, TargetError
from metspack.files import writing
from metspack.files.byteranges import HeldMedium
from metspack.files.staging import open_stretch
from metspack.locations import Convention
from metspack.model import Budgets, LobRun
from metspack.planning import slices
from metspack.planning.slices import Slice
from metspack.processes import Moved, Underway, Workers
from metspack.siard.metadata import Table
from metspack.siard.tables import Tally
from metspack.sources.archive import Archive, Beside, TableFound
from metspack.sources.opening import Source
from metspack.values import dataclass

_FOLDER = "tables"
_ENTRIES = "entries.db"
_WORTH = 8 << 20, 4, 32, 4
"""Bytes of a table's document from which on a worker is worth it, and processes from which on.

Bytes in all, for each byte of metadata.xml, which each worker reads, and of all such tables together for each
entry of the archive, as the index of these is copied. Fewer processes are busy enough with placing.
"""
_AHEAD = 2  # tables for each worker that may have been read, or are being read, before their turn
# What a table takes that the planner reads itself is 1; by a worker; and then its LOBs from their file.
_READ, _TAKEN = 0.8, 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class TableTask:
    """A table to be read: its path in the archive ``held``, and the bytes of its document.

    ``entries`` are those of the archive as they were saved, ``runs`` is the file that its LOBs come into.
    """

    archive: Path
    held: HeldMedium
    budgets: Budgets
    entries: Path
    table: str
    size: int
    work: Path
    runs: Path


@dataclass(frozen=True, slots=True, kw_only=True)
class TableCounts:
    """What was counted in a table that was read: as ``TableFound`` has it."""

    tally: Tally
    conventions: Mapping[str, Mapping[Convention, int]]

    @property
    def lobs(self) -> int:
        """The number of its LOBs."""
        return sum(number for each in self.conventions.values() for number in each.values())


@contextmanager
def reading_beside(
    source: Source,
    work: Path,
    wanted: int | None,
    read: Moved,
    meanwhile: Callable[[], None] = lambda: None,
) -> Iterator[Beside]:
    """Give what returns the LOBs of each table that workers read, to be asked for every table in its turn.

    They are started when it is asked for the first one, if they are worth it, and end with the block.
    ``work`` is the working folder of a run, ``wanted`` the number of processes that it is to have, None for
    as many as there are cores. ``read`` is called with numbers of bytes whose LOBs were taken, ``meanwhile``
    now and then while a worker is waited for. Raises ``TargetError`` when a worker was killed.
    """
    wanted = processes.cores() if wanted is None else wanted
    jobs = wanted // 2 if wanted >= _WORTH[-1] else 0
    tasks = list(_tasks(source, work, jobs)) if isinstance(source, Archive) and jobs else []
    container = source.container if isinstance(source, Archive) else None
    if container is None or not tasks:
        yield lambda _: None
        return
    try:
        with Workers(min(jobs, len(tasks)), is_apart=True) as workers:
            yield _TablesAhead(container, workers, tasks, read, meanwhile).take
    finally:
        with suppress(TargetError):  # it goes with the working folder
            writing.remove(work / _FOLDER)


def held_bytes(work: Path) -> int:
    """Return the bytes in a run's working folder that will be free once its tables were read."""
    with suppress(OSError), os.scandir(work / _FOLDER) as found:
        return sum(each.stat(follow_symlinks=False).st_size for each in found)
    return 0


def _tasks(archive: Archive, work: Path, jobs: int) -> Iterator[TableTask]:
    """Yield the tables of an archive that workers are to read, none where they are not worth it."""
    container, folder = archive.container, work / _FOLDER
    # One that is read with a package's METS, in several files, or below a folder is rare.
    if type(archive) is not Archive or container is None or archive.prefix:
        return
    held = container.medium.held
    least, of_metadata, of_entries, _ = _WORTH
    least = max(least, of_metadata * len(archive.metadata_document))
    sizes = [archive.document(table).size for table in archive.tables]
    large = [size for size in sizes if size >= least]
    if held.paths != (archive.path,) or len(large) <= 1 or sum(large) < of_entries * len(container):
        return
    given = shared_out(sizes, least, jobs)
    for number, (table, size, is_given) in enumerate(zip(archive.tables, sizes, given, strict=True)):
        if is_given:
            yield TableTask(
                archive=archive.path,
                held=held,
                budgets=archive.budgets,
                entries=folder / _ENTRIES,
                table=table.path,
                size=size,
                work=work,
                runs=folder / f"{number}.jsonl",
            )


def shared_out(sizes: Sequence[int], least: int, workers: int) -> Iterator[bool]:
    """Yield of each table whether a worker is to read it: one of ``least`` bytes that will be there in time.

    The planner is not to wait long for it, when it may as well read it itself; the less so the more a
    worker does for it meanwhile.
    """
    now, free = 0.0, [0.0] * workers
    for size in sizes:
        done = free[0] + _READ * size
        taken, alone = max(now, done) + _TAKEN * size, now + size
        is_given = size >= least and alone - taken > _READ * size / (workers + 1)
        if is_given:
            heapq.heapreplace(free, done)
        now = taken if is_given else alone
        yield is_given


class _TablesAhead(Iterator[TableTask]):
    """Tables that are read ahead, in their order; as an iterator those that may be begun by now."""

    def __init__(
        self,
        container: ZipContainer,
        workers: Workers,
        tasks: Sequence[TableTask],
        read: Moved,
        meanwhile: Callable[[], None],
    ) -> None:
        self._container = container
        self._workers = workers
        self._tasks = deque(tasks)
        self._awaited = deque(tasks)
        self._room = _AHEAD * workers.jobs
        self._read = read
        self._meanwhile = meanwhile
        self._underway: Underway[TableTask, TableCounts | None] | None = None
        self._results: Iterator[TableCounts | None] = iter(())

    def __next__(self) -> TableTask:
        if not self._room or not self._tasks:
            raise StopIteration
        self._room -= 1
        return self._tasks.popleft()

    def take(self, table: Table) -> TableFound | None:
        """Return the LOBs of a table in its turn, None where it is to be read."""
        if self._underway is None and self._awaited:
            self._begin(self._awaited[0].entries)
        if not self._awaited or table.path != self._awaited[0].table:
            return None
        task = self._awaited.popleft()
        counts = next(self._results)
        if counts is None:
            self._give_room()
            return None
        runs = self._runs(task, counts.lobs)
        return TableFound(runs=runs, tally=counts.tally, conventions=counts.conventions)

    def _begin(self, entries: Path) -> None:
        """Let workers begin, unless there is no room for what they need: then all is read without them."""
        try:
            writing.make_directory(entries.parent)
            self._container.save_entries(entries)
        except TargetError:
            self._awaited.clear()
            return
        self._underway = self._workers.begin(read_table, self, lambda _: self._meanwhile(), is_growing=True)
        self._underway.look()
        self._results = self._underway.results()

    def _give_room(self) -> None:
        """Let a further table be read."""
        self._room += 1
        if self._underway is not None:
            self._underway.look()

    def _runs(self, task: TableTask, lobs: int) -> Iterator[LobRun]:
        """Yield the LOBs of a table and remove their file, telling how much of the table that is."""
        taken = told = 0
        for each in slices.runs(task.runs):
            if isinstance(each, LobRun):
                taken += len(each)
                self._read(task.size * taken // lobs - told)
                told = task.size * taken // lobs
                yield replace(each, entries=each.files)
        self._read(task.size - told)
        writing.remove(task.runs)
        self._give_room()


def read_table(task: TableTask, moved: Moved) -> TableCounts | None:
    """Read a table and write its LOBs to their file; None where who plans is to read it.

    Raises nothing of its own: who reads it again tells what is wrong.
    """
    try:
        with open_stretch(task.work):
            counts = _counts(task, moved)
    except (MetspackError, OSError, sqlite3.Error):
        counts = None
    if counts is None:
        with suppress(TargetError):
            writing.remove(task.runs)
    return counts


def _counts(task: TableTask, moved: Moved) -> TableCounts | None:
    tally = Tally()
    with (
        Archive(task.archive, task.budgets, entries=task.entries) as archive,
        Slice(task.runs, is_synced=False) as found,
    ):
        if archive.container is None or archive.container.medium.held != task.held:
            return None
        table = next(each for each in archive.tables if each.path == task.table)
        for run in archive.runs_inside(table, tally, moved):
            if run is None:
                return None
            found.add_run(run)
        archive.check_unchanged()
        conventions = {cell: dict(each.conventions) for (_, cell), each in archive.resolver.tally().items()}
    return TableCounts(tally=tally, conventions=conventions)
