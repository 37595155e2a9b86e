"""Divide a stream of LOBs into segments; pure, in flat memory."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import Enum, unique
from itertools import accumulate, count

from metspack.errors import PlanError
from metspack.layouts import Layout, lobseg
from metspack.limits import Limits
from metspack.model import ClosedBy, LobRun, Notice, Part, PlannedSegment
from metspack.sizes import counted

PRESETS = {
    "recommendation-0.28": Limits(files=100_000, bytes=4_000_000_000),
    "recommendation-0.16": Limits(files=10_000, bytes=1_000_000_000_000),
    "dbptk": Limits(files=1_000, bytes=None),
}
"""Limits by the name of their origin (recommendation 0.28 §5 and 0.16; DBPTK's default)."""

DEFAULT_PRESET = "recommendation-0.28"

PARENT_LIMIT = 100_000
"""The most segments of a package: its parent METS names each as a child."""


@unique
class Split(Enum):
    """Treatment of a LOB that is larger than the byte limit.

    ``FILL``: its first part fills the rest of the open segment, each further part fills one, and
    the last part's segment stays open for the LOBs that follow (recommendation 0.28 §5.3, the figure).
    ``SEPARATE``: its parts share their segments with no other LOB (there in brackets). ``NEVER``: refused.
    """

    FILL = "fill"
    SEPARATE = "alone"
    NEVER = "never"


@dataclass(frozen=True, slots=True, kw_only=True)
class Division:
    """Rules of a division: limits, layout, and the treatment of a LOB larger than a segment."""

    limits: Limits
    layout: Layout = lobseg.LAYOUT
    split: Split = Split.FILL


_BARE = 100
"""A byte limit below this is a number whose unit was left out."""

_FEW = 8
"""The least number of segments that a warning is worth."""

_LARGE = 10**9
"""The least byte limit that is large enough for most LOBs."""


def slip(limits: Limits) -> str:
    """Return a warning on a byte limit whose unit seems to be missing, or ""."""
    if limits.bytes is None or limits.bytes >= _BARE:
        return ""
    allowed = counted(limits.bytes, "byte")
    return (
        f"--max-bytes {limits.bytes} allows {allowed} in a segment; if {limits.bytes}GB was meant, stop here "
        "and write it with its unit"
    )


def slip_words(limits: Limits, segments: int, containers: int, lobs: int) -> tuple[Notice, ...]:
    """Return a warning on limits that leave fewer than two LOBs in a segment on average.

    ``segments`` counts those of all ``containers``, with ``lobs`` LOBs. There is no warning where no limit
    closed the segments, or where the byte limit is a gigabyte or more.
    """
    if segments < _FEW or segments <= containers or lobs >= 2 * segments:
        return ()
    if limits.files == 1:
        limit = "--max-files is 1"
    elif limits.bytes is not None and limits.bytes < _LARGE:
        limit = f"--max-bytes is {counted(limits.bytes, 'byte')}"
    else:
        return ()
    found = f"{counted(lobs, 'LOB')} in {counted(segments, 'segment')}"
    return (Notice("segments-small", f"{found}, fewer than two in each on average: {limit}"),)


Slot = tuple[str, int, LobRun]
"""LOBs or a part of one, with their segment: its container in the layout, and its number there."""


def divide(
    lobs: Iterable[LobRun],
    limits: Limits,
    *,
    split: Split = Split.NEVER,
    layout: Layout = lobseg.LAYOUT,
    record: Callable[[PlannedSegment], object],
) -> Iterator[Slot]:
    """Yield a ``Slot`` for every run or part; ``record`` is called with each closed segment.

    A run gets one ``Slot`` for each segment; its LOBs are in the same segments as if they came singly.

    Filling is sequential, never best-fit: a segment closes when the next LOB would exceed either limit, and
    equal still fits (recommendation 0.28 §5.2.1: Northwind's Categories at 4 files and 45,000 bytes give 4 +
    3 + 1). Parts count as files. A LOB is split when it is larger than the byte limit and never otherwise; a
    part is never empty, so a segment that is full to the byte is closed even below the limit of files.
    Raises ``PlanError`` for a LOB to be split under ``Split.NEVER``, and for more segments than
    ``PARENT_LIMIT``.

    Callers rely on this order. The slots of a segment come in the order of the LOBs, and then the closed
    segment; only then come slots of the next one in its container. The parts of a LOB follow each other, with
    only the segments that they fill between them: so they are in consecutive segments. In a layout of one
    series, one segment is open at a time. Where each column has a series, those of one table may be open
    together; before the next table they are closed, in the order of the columns' first LOBs: so all segments
    of a table come before those of the next. If a table recurred, which no source causes, its columns would
    continue with their next numbers.
    """
    fillings: dict[str, _Filling] = {}
    numbers: dict[str, int] = {}
    table: tuple[int, int] | None = None
    count_of_all = count(1)

    def close(segment: PlannedSegment) -> None:
        if next(count_of_all) > PARENT_LIMIT:
            raise PlanError(
                f"the LOBs need more than {PARENT_LIMIT:,} segments, and one parent METS names at most so "
                "many children",
                hint="Make segments larger: --max-files, --max-bytes.",
            )
        record(segment)

    def close_all() -> None:
        for container, filling in fillings.items():  # which hold at least one file each
            filling.end(ClosedBy.END)
            numbers[container] = filling.index
        fillings.clear()

    for found in lobs:
        place = found.place
        if not layout.one_series and table != (table := (place.schema, place.table)):
            close_all()
        container = layout.container(place)
        filling = fillings.get(container)
        if filling is None:
            filling = fillings[container] = _Filling(
                container=container,
                limits=limits,
                split=split,
                index=numbers.get(container, 0),
                close=close,
            )
        yield from filling.take(found)
    close_all()


@dataclass(slots=True, kw_only=True)
class _Filling:
    """The open segment of a container; ``close`` is called with each that is closed."""

    container: str
    limits: Limits
    split: Split
    index: int
    close: Callable[[PlannedSegment], None]
    files: int = 0
    bytes: int = 0
    first: str = ""
    last: str = ""
    ends_in_part: bool = False

    def take(self, run: LobRun) -> Iterator[Slot]:
        """Yield the slots of LOBs, and close segments that they no longer fit in."""
        start, limit = 0, self.limits.bytes
        while start < len(run):
            stop, size = start + 1, run.sizes[start]
            if limit is not None and size > limit:
                yield from self._parts(run[start:stop], size, limit)
            else:
                self._close_before(size)
                stop = start + self._fitting(run.sizes[start:])
                yield self._take(run[start:stop])
            start = stop

    def _fitting(self, sizes: Sequence[int]) -> int:
        """Return how many of consecutive LOBs fit in the segment: the first one at least."""
        files, limit = self.limits.files, self.limits.bytes
        most = len(sizes) if files is None else min(len(sizes), files - self.files)
        return most if limit is None else bisect_right(list(accumulate(sizes[:most])), limit - self.bytes)

    def _parts(self, lob: LobRun, whole: int, limit: int) -> Iterator[Slot]:
        """Yield the slots of a LOB's parts, ``whole`` bytes in all; close the segments they fill."""
        if self.split is Split.NEVER:
            raise PlanError(
                f"LOB {lob.place.id} has {whole:,} bytes, more than a segment may hold ({limit:,})",
                hint=f"Raise the byte limit to {whole} or more (--max-bytes), or split it: --split fill.",
            )
        number = offset = 0
        while offset < whole:
            self._close_before(1, is_part=True)
            size = min(limit - self.bytes, whole - offset)
            part = Part(number=number, offset=offset, size=size, is_last=offset + size == whole)
            yield self._take(replace(lob, part=part))
            number += 1
            offset += size

    def _close_before(self, least: int, *, is_part: bool = False) -> None:
        """Close the segment if it lacks room for ``least`` bytes, or must not be shared."""
        if not self.files:
            return
        if self.files == self.limits.files:
            self.end(ClosedBy.FILES)
        elif self.limits.bytes is not None and self.bytes + least > self.limits.bytes:
            self.end(ClosedBy.BYTES)
        elif self.split is Split.SEPARATE and (is_part or self.ends_in_part):
            self.end(ClosedBy.SPLIT)

    def _take(self, run: LobRun) -> Slot:
        ids = run.ids()
        self.first, self.last = self.first or ids[0], ids[-1]
        self.ends_in_part = run.part is not None
        self.files += len(run)
        self.bytes += run.bytes
        return self.container, self.index, run

    def end(self, closed_by: ClosedBy) -> None:
        """Close the open segment, and open the next."""
        segment = PlannedSegment(
            container=self.container,
            index=self.index,
            first=self.first,
            last=self.last,
            files=self.files,
            bytes=self.bytes,
            closed_by=closed_by,
        )
        self.index += 1
        self.files = self.bytes = 0
        self.first = self.last = ""
        self.close(segment)
