"""LOBs of an archive, together and one by one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import pytest

from metspack.limits import Limits
from metspack.locations.resolver import Resolver
from metspack.model import CellRun, LobDetail, LobRef, LobRun, PlannedSegment, RunShared
from metspack.planning.division import divide
from metspack.sources.archive import Archive
from metspack.sources.opening import Source


def cells_of(cell: str, rows: Sequence[int], *, table: int = 2) -> CellRun:
    """Return cells of one column that name the same file, without lengths and digests."""
    return CellRun(
        schema=0,
        table=table,
        cell=cell,
        algorithm=None,
        rows=rows,
        files=["a.bin"] * len(rows),
        lengths=(),
        digests=(),
        starts=range(len(rows)),
    )


def one_by_one(runs: Iterable[LobRun]) -> Iterator[LobRef]:
    """Yield the LOBs of runs one by one."""
    for each in runs:
        yield from each.lobs()


def lobs_of(source: Source) -> Iterator[LobRef]:
    """Yield the LOBs of a source one by one."""
    return one_by_one(source.lob_runs())


def apart(lobs: Iterable[LobRef]) -> Iterator[LobRun]:
    """Yield LOBs as runs of one, each to be read by itself."""
    for lob in lobs:
        detail = LobDetail(lob.extents, lob.proofs.extents)
        yield replace(LobRun.of([lob]), detail=detail)


def one_after_the_other(patch: pytest.MonkeyPatch) -> None:
    """Let an archive look for the LOB of each cell by itself."""
    patch.setattr(Archive, "_entries_of", lambda *_: None)
    patch.setattr(Resolver, "stated_files", lambda *_: None)


def run_of(
    rows: Sequence[int],
    sizes: Sequence[int],
    *,
    offsets: Sequence[int] | None = None,
    digests: Sequence[str] = (),
    is_measured: bool = True,
    cell: str = "c4",
    names: Sequence[str] | None = None,
    extents: Sequence[Sequence[Any]] | None = None,
) -> LobRun:
    """Return a run of entries, or of files with ``names``, in one column."""
    number = len(rows)
    zeros = [0] * number
    offsets = list(range(number)) if offsets is None else offsets
    entries = [f"record{row}.bin" for row in rows]
    return LobRun(
        shared=RunShared(
            schema=0,
            table=2,
            cell=cell,
            extension="bin",
            media_type="application/octet-stream",
            recorded=None,
            digest="MD5" if digests else None,
            proof=None,
            is_measured=is_measured,
            source=0,
            folders=None if names is None else ("content", "lob"),
        ),
        rows=list(rows),
        files=entries if names is None else names,
        sizes=sizes,
        digests=digests,
        proofs=(),
        extents=extents
        if extents is not None
        else [entries, offsets, offsets, sizes, zeros, zeros, zeros]
        if names is None
        else [names, zeros, zeros, zeros],
        entries=entries if names is None else (),
    )


class Slot(NamedTuple):
    """LOBs or a part of one, and their segment in its container."""

    container: str
    segment: int
    run: LobRun


def planned_events(lobs: Iterable[LobRun], limits: Limits, **options: Any) -> Iterator[Slot | PlannedSegment]:
    """Yield the slots of a plan, and each segment when it is closed."""
    closed: list[PlannedSegment] = []
    for slot in divide(lobs, limits, record=closed.append, **options):
        yield from closed
        closed.clear()
        yield Slot(*slot)
    yield from closed
