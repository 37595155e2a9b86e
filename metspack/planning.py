"""Dividing a stream of LOBs into segments; pure, and in memory that does not grow with the LOBs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from metspack.errors import PlanError
from metspack.model import ClosedBy, Limits, LobRef, Segment, Slot

PRESETS = {
    "recommendation-0.28": Limits(files=100_000, bytes=4_000_000_000),
    "recommendation-0.16": Limits(files=10_000, bytes=1_000_000_000_000),
    "dbptk": Limits(files=1_000, bytes=None),
}
"""Limits by the name of their origin (recommendation 0.28 §5 and 0.16; DBPTK's default)."""

DEFAULT_PRESET = "recommendation-0.28"


def planned(lobs: Iterable[LobRef], limits: Limits) -> Iterator[Slot | Segment]:
    """Yield a ``Slot`` for every LOB, and each ``Segment`` as soon as it is closed.

    Filling is sequential, never best-fit: a segment closes when the next LOB would exceed either
    limit, and equal still fits (recommendation 0.28 §5.2.1: Northwind's Categories at 4 files and
    45,000 bytes give 4 + 3 + 1). Raises ``PlanError`` for a LOB larger than the byte limit.
    """
    filling = _Filling(limits)
    for lob in lobs:
        if limits.bytes is not None and lob.size > limits.bytes:
            raise PlanError(
                f"LOB {lob.place.id} has {lob.size:,} bytes, more than a segment may hold ({limits.bytes:,})",
                hint=f"Raise the byte limit to {lob.size} or more (--max-bytes).",
            )
        closed_by = filling.closed_by(lob.size)
        if closed_by is not None:
            yield filling.segment(closed_by)
            filling.begin_next()
        filling.take(lob)
        yield Slot(segment=filling.index, lob=lob)
    if filling.files:
        yield filling.segment(ClosedBy.END)


@dataclass(slots=True)
class _Filling:
    """The segment that is being filled."""

    limits: Limits
    index: int = 0
    files: int = 0
    bytes: int = 0
    first: str = field(default="")
    last: str = field(default="")

    def closed_by(self, size: int) -> ClosedBy | None:
        if self.limits.files is not None and self.files + 1 > self.limits.files:
            return ClosedBy.FILES
        if self.files and self.limits.bytes is not None and self.bytes + size > self.limits.bytes:
            return ClosedBy.BYTES
        return None

    def take(self, lob: LobRef) -> None:
        self.last = lob.place.id
        self.first = self.first or self.last
        self.files += 1
        self.bytes += lob.size

    def segment(self, closed_by: ClosedBy) -> Segment:
        return Segment(
            index=self.index,
            first=self.first,
            last=self.last,
            files=self.files,
            bytes=self.bytes,
            closed_by=closed_by,
        )

    def begin_next(self) -> None:
        self.index += 1
        self.files = self.bytes = 0
        self.first = self.last = ""
