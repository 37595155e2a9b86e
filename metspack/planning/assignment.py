"""Assign LOBs to segments: write the slices of the plan, and record each LOB's segment.

Memory is taken per segment and per column, never per LOB.
"""

from __future__ import annotations

import hashlib
import heapq
from array import array
from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, NamedTuple

from metspack import processes
from metspack.errors import ConfigError
from metspack.locations.errors import Losses
from metspack.model import LobPlace, LobRun, Notice, PlannedSegment, number_of
from metspack.planning import slices
from metspack.planning.division import Division, divide
from metspack.planning.sharedlobs import Sharing
from metspack.planning.slices import SliceStretch
from metspack.progress import Progress
from metspack.sizes import counted
from metspack.sources.archive import Archive, named, raising
from metspack.sources.opening import Source
from metspack.sources.repacking import RemovedEntries

_PER_FILE = 16 << 10  # bytes that take as long as the overhead of a file
_LARGE = 1 << 30  # greatest cost of a segment that is placed as a whole during planning
_LARGEST = 8 << 30  # the same after planning: a resumed run may have to repeat it
_LATE = 1.05  # the multiple of an equal load that a process may get in whole segments

Column = tuple[int, int, int]
"""A column of the database: numbers of schema, table and column, as in ids (``s0.t2.c4``)."""


def first_place(column: Column) -> LobPlace:
    """Return the place of the first row's cell in a column."""
    schema, table, number = column
    return LobPlace(schema=schema, table=table, cell=f"c{number}", row=1)


def column_of(place: LobPlace) -> Column:
    """Return the column of a LOB's cell."""
    return place.schema, place.table, number_of(place.cell)


@dataclass(slots=True)
class SegmentKeys:
    """The container of each segment, and its index there, as columns."""

    containers: list[str] = field(default_factory=list)
    indexes: array[int] = field(default_factory=lambda: array("q"))

    def append(self, container: str, index: int) -> None:
        """Add the key of the next segment."""
        self.containers.append(container)
        self.indexes.append(index)

    def __len__(self) -> int:
        return len(self.indexes)

    def __getitem__(self, number: int) -> tuple[str, int]:
        return self.containers[number], self.indexes[number]

    def ordered(self) -> array[int]:
        """Return the segments' numbers by container, in the order of the first segments."""
        order = {name: place for place, name in enumerate(dict.fromkeys(self.containers))}
        numbers = range(len(self))
        return array("q", sorted(numbers, key=lambda n: (order[self.containers[n]], self.indexes[n])))


@dataclass(slots=True, kw_only=True)
class Assignment:
    """An assignment of LOBs to segments: segments in order, columns that move, and totals.

    Segments are numbered in the order of their first LOBs; ``segments`` counts those that are closed.
    ``keys`` are their containers and indexes; ``joined`` the numbers of those that begin with a further part
    of a LOB; ``cuts`` are the bytes at which their slices may be cut, if any. ``runs`` are the columns whose
    LOBs move, each with the segments in which its LOBs begin, in the order of the cells, and behind each of
    these the number of cells in it. ``fingerprint`` is "" until all is planned. ``digests`` are the SHA-256
    of the slices of closed segments, ``costs`` the effort of placing them, in equivalent bytes.
    """

    segments: int = 0
    keys: SegmentKeys = field(default_factory=SegmentKeys)
    joined: set[int] = field(default_factory=set)
    cuts: dict[int, list[int]] = field(default_factory=dict)
    runs: dict[Column, array[int]] = field(default_factory=dict)
    files: int = 0
    lobs: int = 0
    split: int = 0
    bytes: int = 0
    compressed: int = 0
    undigested: int = 0
    fingerprint: str = ""
    digests: dict[int, str] = field(default_factory=dict)
    costs: array[int] = field(default_factory=lambda: array("q"))

    @property
    def digest(self) -> str:
        """The SHA-256 of all slices' digests, which changes with every LOB and its file."""
        return hashlib.sha256(
            "".join(self.digests[each] for each in sorted(self.digests)).encode()
        ).hexdigest()

    def jobs(self, wanted: int | None) -> int:
        """Return the number of placing processes: at most one for each segment or stretch."""
        useful = processes.useful(wanted, files=self.files, size=self.bytes)
        return min(useful, max(1, self.segments + sum(map(len, self.cuts.values()))))

    def note(self, run: LobRun, number: int) -> None:
        """Count the next LOBs or part of one, which are in the segment with this number."""
        self.files += len(run)
        self.bytes += run.bytes
        if run.is_continued:
            return
        runs = self.runs.setdefault(column_of(run.place), array("q"))
        if runs and runs[-2] == number:
            runs[-1] += len(run)
        else:
            runs.extend((number, len(run)))
        self.lobs += len(run)
        self.split += run.part is not None
        self.compressed += run.compressed
        self.undigested += len(run) if run.shared.digest is None else 0


def assign(
    lobs: Iterable[LobRun],
    division: Division,
    work: Path,
    *,
    sharing: Sharing,
    record_departure: Callable[[LobRun], object],
    compare: Callable[[PlannedSegment | None], None],
    report_growth: Callable[[Assignment], object] = lambda _: None,
) -> Assignment:
    """Plan, and write every segment's slice of the plan into ``work``.

    ``record_departure`` is called with all LOBs, before they are in a slice; ``compare`` with each closed
    segment and with None at the end; ``report_growth`` with the assignment after each closed segment. Raises
    ``SourceError``, ``PlanError`` and ``TargetError``.
    """
    writer = _SliceWriter(work)

    def departing() -> Iterator[LobRun]:
        for each in lobs:
            writer.assigned.runs.setdefault(column_of(each.place), array("q"))
            record_departure(each)
            yield from sharing.firsts(each, division.layout.container(each.place))

    def close(segment: PlannedSegment) -> None:
        writer.close(segment)
        compare(segment)
        report_growth(writer.assigned)

    slots = divide(departing(), division.limits, split=division.split, layout=division.layout, record=close)
    try:
        for slot in slots:
            writer.take(*slot)
        compare(None)
    except BaseException:
        writer.discard()
        raise
    writer.assigned.fingerprint = writer.fingerprint.hexdigest()
    return writer.assigned


PlacedBefore = Literal["described", "placed", "in stretches"]
"""Progress of an earlier run with a segment."""


class SegmentGroup(NamedTuple):
    """Segments that are placed together, in order, and the stretch of their slices.

    ``is_described`` means that the same task describes them, which it does for whole slices only.
    """

    numbers: list[int]
    stretch: SliceStretch
    is_described: bool


@dataclass(eq=False)
class SegmentGroups(Iterator[SegmentGroup]):
    """Groups of segments that one process places, in order.

    A group has whole slices, as two processes that make files in one folder wait for each other. With several
    ``jobs`` a very large segment, or one that would keep one process busy while others are idle, is divided
    into stretches of its slice. While segments are planned, the iterator ends before the first group that may
    still grow, and continues later. Until planning is complete, segments are described only if ``is_named``:
    the parent's OBJID is decided. ``begun`` returns an earlier run's progress with a segment, or None.
    """

    assigned: Assignment
    jobs: int
    begun: Callable[[int], PlacedBefore | None] = lambda _: None
    is_named: bool = field(default=True, kw_only=True)

    def __post_init__(self) -> None:
        self._loads = [0.0] * self.jobs  # the costs given to each process, a heap
        self._all = 0  # the costs of all segments, set after planning
        self._read = 0
        self._open: dict[str, list[int]] = {}
        self._groups: deque[list[int]] = deque()
        self._tasks: deque[SegmentGroup] = deque()

    def __next__(self) -> SegmentGroup:
        if not self._tasks:
            group = self._group()
            begun = self.begun(group[0])
            cuts = self._cuts(group, begun)
            is_described = not cuts and (self._is_ready if begun is None else begun == "described")
            self._tasks.extend(SegmentGroup(group, each, is_described) for each in slices.stretches(cuts))
        return self._tasks.popleft()

    @property
    def _is_ready(self) -> bool:
        """True if the facts for the METS of segments are complete."""
        return self.is_named or bool(self.assigned.fingerprint)

    def _group(self) -> list[int]:
        assigned = self.assigned
        for number in range(self._read, len(assigned.keys)):
            container, _index = assigned.keys[number]
            if number in assigned.joined:
                self._open[container].append(number)
            else:
                self._open[container] = [number]
                self._groups.append(self._open[container])
        self._read = len(assigned.keys)
        if not self._groups:
            raise StopIteration
        first = self._groups[0]
        if not assigned.fingerprint and self._open[assigned.keys[first[0]][0]] is first:
            raise StopIteration
        if len(first) > 1 and not self._is_ready:  # notes on parts of LOBs contain the OBJIDs of segments
            raise StopIteration
        return self._groups.popleft()

    def _cuts(self, group: list[int], begun: PlacedBefore | None) -> Sequence[int]:
        """Return the bytes at which the slice of a segment is cut."""
        cuts = () if len(group) > 1 else self.assigned.cuts.get(group[0], ())
        cost = sum(self.assigned.costs[number] for number in group)
        if not (self._is_shared(cost) if begun is None else begun == "in stretches"):
            cuts = ()
        for _ in range(1 + len(cuts)):
            heapq.heapreplace(self._loads, self._loads[0] + cost / (1 + len(cuts)))
        return cuts

    def _is_shared(self, cost: int) -> bool:
        """Return whether processes share the next segment, which has this cost."""
        if self.jobs == 1:
            return False
        if not self.assigned.fingerprint:
            return cost > _LARGE
        self._all = self._all or sum(self.assigned.costs)
        return cost > _LARGEST or (self._loads[0] + cost) * self.jobs > _LATE * self._all


class _SliceWriter:
    """Writer of the slices of open segments; ``assigned`` is the assignment so far."""

    def __init__(self, work: Path) -> None:
        self.assigned = Assignment()
        self._work = work
        self._open: dict[tuple[str, int], tuple[int, slices.Slice]] = {}
        self.fingerprint = hashlib.sha256()

    def take(self, container: str, segment: int, run: LobRun) -> None:
        number, file = self._slice((container, segment), is_continued=run.is_continued)
        file.add(run)
        self.assigned.note(run, number)
        if not run.is_continued:
            stem, extension = run.id_stem, run.shared.extension
            sizes = zip(run.rows, run.sizes, strict=True)
            lines = [f"{stem}{row} {size} {extension}\n" for row, size in sizes]
            self.fingerprint.update("".join(lines).encode())

    def _slice(self, key: tuple[str, int], *, is_continued: bool) -> tuple[int, slices.Slice]:
        """Return the number of a segment and its slice, which is begun unless it is open."""
        if key not in self._open:
            number = len(self.assigned.keys)
            self.assigned.keys.append(*key)
            self.assigned.costs.append(0)
            if is_continued:
                self.assigned.joined.add(number)
            self._open[key] = number, slices.Slice(slices.path(self._work, number))
        return self._open[key]

    def close(self, segment: PlannedSegment) -> None:
        number, file = self._open.pop((segment.container, segment.index))
        file.close()
        if file.cuts:
            self.assigned.cuts[number] = file.cuts
        self.assigned.digests[number] = file.digest
        self.assigned.costs[number] = segment.bytes + _PER_FILE * segment.files
        self.assigned.segments += 1

    def discard(self) -> None:
        for _number, file in self._open.values():
            file.discard()


class SegmentsOfColumn:
    """Segments in which the LOBs of a column begin, one for each of its cells in their order."""

    def __init__(self, runs: Iterable[int]) -> None:
        self._numbers = iter(runs)
        self._segment = self._cells = 0

    def take(self, most: int) -> tuple[int, int]:
        """Return the segment of the column's next LOBs, and how many of ``most`` begin in it."""
        while not self._cells:
            self._segment, self._cells = next(self._numbers), next(self._numbers)
        taken = min(most, self._cells)
        self._cells -= taken
        return self._segment, taken


# --- Columns whose LOBs are small enough to stay inside the archive (``--min-size``) ---


def columns_inside(source: Source, least: int | None, progress: Progress) -> dict[Column, int]:
    """Return the columns that stay inside the archive; without ``least``, all columns move.

    With ``least`` they are those of ``small_columns``. Raises ``ConfigError`` for a source without an
    archive, and ``SourceError`` as ``small_columns`` does.
    """
    if least is None:
        return {}
    if not isinstance(source, Archive):
        raise ConfigError(
            "the source has no SIARD archive, so no LOB can stay inside it",
            hint="Leave --min-size out.",
        )
    progress.stage("Looking at sizes", source.weight())
    return small_columns(source, least, progress.advance)


def moving_lobs(
    source: Source,
    stays: Collection[Column],
    progress: Progress,
    seen: Callable[[int], None] | None = None,
) -> Iterator[LobRun]:
    """Return an iterator over the LOBs of a source except those of columns that stay inside.

    ``seen`` is called with numbers of LOBs as soon as they are found.
    """
    progress.stage("Planning", source.weight() if isinstance(source, Archive) else None)
    if isinstance(source, Archive):
        lobs = _counted(source.lob_runs(read=progress.advance), seen or (lambda _: None))
    else:
        lobs = source.lob_runs(seen)
    return (each for each in lobs if column_of(each.place) not in stays) if stays else lobs


def _counted(lobs: Iterator[LobRun], seen: Callable[[int], None]) -> Iterator[LobRun]:
    for each in lobs:
        seen(len(each))
        yield each


def small_columns(
    archive: Archive, least: int, read: Callable[[int], None] | None = None
) -> dict[Column, int]:
    """Return the columns that stay inside the archive, and the number of LOBs in each.

    All their LOBs are inside and below ``least`` bytes. A column moves whole or not at all, for it has one
    lobFolder (DILCIS statement, column level). One with a LOB that is in several pieces, outside or not found
    moves. ``read`` is called with numbers of bytes read, which add up to the archive's ``weight``.
    """
    found: dict[Column, int] = {}
    moving: set[Column] = set()
    losses = Losses()
    for table in archive.tables:
        for each in archive.within_budget(archive.located(table, read=read), losses):
            moving.update(column_of(error.cell.place) for error in each.unresolved)
            for run in each.runs:
                column = column_of(run.place)
                found[column] = found.get(column, 0) + len(run)
                if max(run.sizes) >= least or len(run.entries) != len(run):
                    moving.add(column)
    return {column: number for column, number in found.items() if column not in moving}


def keep_columns(archive: Archive, stays: Collection[Column], removed: RemovedEntries) -> None:
    """Keep the entries of columns that stay inside."""
    if not stays:
        return
    for table in archive.tables:
        if any((table.schema, table.number) == column[:2] for column in stays):
            for run in raising(archive.located(table)):
                for entry in run.entries if column_of(run.place) in stays else ():
                    removed.keep(entry)


def words_on_columns(archive: Archive, found: dict[Column, int], least: int) -> Iterator[Notice]:
    """Yield a sentence about each column that stays inside the archive."""
    labels = {(table.schema, table.number): table for table in archive.metadata.tables}
    for (schema, number, column), count in found.items():
        table = labels[schema, number]
        yield Notice(
            "column-inside",
            f"{named(table, f'c{column}')} stays inside the archive: {counted(count, 'LOB')}, each smaller "
            f"than {least:,} bytes",
        )
