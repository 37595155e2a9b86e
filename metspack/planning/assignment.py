"""The way from LOBs to segments: each segment's slice of the plan on disk, and where each cell's LOB goes.

What is kept in memory is per segment and per column, never per LOB.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from metspack import processes
from metspack.files import writing
from metspack.model import LobPlace, LobRef, Segment, Slot, ZipExtent
from metspack.planning import slices
from metspack.planning.division import Division, planned
from metspack.planning.sharedlobs import Sharing

Column = tuple[int, int, int]
"""A column of the database: numbers of schema, table and column, as in ids (``s0.t2.c4``)."""


def column_of(place: LobPlace) -> Column:
    """Return the column that a LOB's cell stands in."""
    return place.schema, place.table, int(place.cell.partition(".")[0][1:])


@dataclass(slots=True)
class _ColumnRun:
    """Cells of a column that follow one another and have their LOBs in one segment."""

    segment: int
    cells: int


@dataclass(slots=True, kw_only=True)
class Course:
    """What is known of a package while it is made.

    ``keys`` are container and index of the segments by their number, which is that of their first
    LOB's turn; ``joined`` the numbers of those that begin with a part of a LOB that began before.
    ``columns`` are those whose LOBs move; ``runs`` tell in which segments they come to lie.
    """

    segments: list[Segment] = field(default_factory=list)
    keys: list[tuple[str, int]] = field(default_factory=list)
    joined: set[int] = field(default_factory=set)
    columns: set[Column] = field(default_factory=set)
    runs: dict[Column, list[_ColumnRun]] = field(default_factory=dict)
    files: int = 0
    lobs: int = 0
    split: int = 0
    bytes: int = 0
    compressed: int = 0
    undigested: int = 0
    fingerprint: str = ""

    def tasks(self) -> Iterator[list[int]]:
        """Yield the numbers of the segments that are to be placed together, in order."""
        chains: dict[int, list[int]] = {}
        latest: dict[str, list[int]] = {}
        for number, (container, _index) in enumerate(self.keys):
            if number in self.joined:
                latest[container].append(number)
            else:
                latest[container] = chains[number] = [number]
        yield from chains.values()

    def ordered(self) -> list[int]:
        """Return the numbers of the segments container by container, as the parent names them."""
        first: dict[str, int] = {}
        for number, (container, _index) in enumerate(self.keys):
            first.setdefault(container, number)
        return sorted(range(len(self.keys)), key=lambda n: (first[self.keys[n][0]], self.keys[n][1]))

    def jobs(self, wanted: int | None) -> int:
        """Return how many processes to place the LOBs with: no more than there are segments."""
        useful = processes.useful(wanted, files=self.files, size=self.bytes)
        return min(useful, max(1, len(self.segments)))

    def note(self, lob: LobRef, number: int) -> None:
        """Take note of the next LOB, whose first byte lies in the segment with this number."""
        runs = self.runs.setdefault(column_of(lob.place), [])
        if runs and runs[-1].segment == number:
            runs[-1].cells += 1
        else:
            runs.append(_ColumnRun(number, 1))
        self.lobs += 1
        self.bytes += lob.size
        self.compressed += sum(each.compressed for each in lob.extents if isinstance(each, ZipExtent))
        self.undigested += lob.cell.digest is None


def course(
    lobs: Iterable[LobRef],
    division: Division,
    work: Path,
    *,
    sharing: Sharing,
    departs: Callable[[str], object],
    agreed: Callable[[Segment | None], None],
) -> Course:
    """Plan, and write every segment's slice of the plan into ``work``.

    ``departs`` is told the entries that leave the archive; ``agreed`` each segment once it is closed, None
    at the end. Raises ``SourceError``, ``PlanError`` and ``TargetError``.
    """
    drawn = _Drawn(work)

    def own() -> Iterator[LobRef]:
        for lob in lobs:
            drawn.course.columns.add(column_of(lob.place))
            for entry in lob.entries:
                departs(entry)
            if sharing.is_first(lob, division.layout.container(lob.place)):
                yield lob

    try:
        for event in planned(own(), division.limits, split=division.split, layout=division.layout):
            if isinstance(event, Segment):
                drawn.close(event)
                agreed(event)
            else:
                drawn.take(event)
        agreed(None)
    except BaseException:
        drawn.discard()
        raise
    return drawn.ended()


class _Drawn:
    """A course while it is drawn: the slices that are open, and what is known so far."""

    def __init__(self, work: Path) -> None:
        self.course = Course()
        self._work = work
        self._open: dict[tuple[str, int], tuple[int, writing.NewFile]] = {}
        self._fingerprint = hashlib.sha256()

    def take(self, slot: Slot) -> None:
        course, lob, part = self.course, slot.lob, slot.part
        goes_on = part is not None and part.number > 0
        key = slot.container, slot.segment
        if key not in self._open:
            number = len(course.keys)
            course.keys.append(key)
            if goes_on:
                course.joined.add(number)
            self._open[key] = number, writing.NewFile(slices.path(self._work, number))
        number, file = self._open[key]
        file.write(slices.line(lob, part))
        course.files += 1
        if not goes_on:
            course.split += part is not None
            course.note(lob, number)
            self._fingerprint.update(f"{lob.place.id} {lob.size} {lob.extension}\n".encode())

    def close(self, segment: Segment) -> None:
        _number, file = self._open.pop((segment.container, segment.index))
        file.close()
        self.course.segments.append(segment)

    def ended(self) -> Course:
        self.course.fingerprint = self._fingerprint.hexdigest()
        return self.course

    def discard(self) -> None:
        for _number, file in self._open.values():
            file.discard()


class Whereabouts:
    """In which segment each cell's LOB begins, told column by column in the order of the cells."""

    def __init__(self, runs: Iterable[_ColumnRun]) -> None:
        self._runs = iter(runs)
        self._run = _ColumnRun(-1, 0)

    def next(self) -> int:
        """Return the number of the segment of the column's next LOB."""
        while not self._run.cells:
            following = next(self._runs)
            self._run = _ColumnRun(following.segment, following.cells)
        self._run.cells -= 1
        return self._run.segment
