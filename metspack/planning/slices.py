"""Write and read slices of a plan: the LOBs of one segment on disk, in runs if possible."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import astuple, dataclass, fields
from pathlib import Path
from typing import Any, TypeVar

from metspack.files import reading, writing
from metspack.model import Digest, Extent, FileExtent, LobDetail, LobRun, Part, RunShared, ZipExtent

_Kind = TypeVar("_Kind", RunShared, ZipExtent, FileExtent, Digest, Part)


def path(work: Path, number: int) -> Path:
    """Return the path of a segment's slice; ``number`` is the segment's in the plan's order."""
    return work / f"slice-{number}.jsonl"


def _line(run: LobRun) -> bytes:
    columns = (run.rows, run.files, run.sizes, run.lengths, run.digests, run.proofs, run.extents)
    values = (run.shared, *columns, run.detail, run.part, run.paths)
    return json.dumps(values, default=astuple, separators=(",", ":")).encode() + b"\n"


def _run(line: bytes) -> LobRun:
    shared, rows, files, sizes, lengths, digests, proofs, extents, detail, part, paths = json.loads(line)
    *common, folders = shared
    return LobRun(
        shared=_made(RunShared, (*common, None if folders is None else tuple(folders))),
        rows=rows,
        files=files,
        sizes=sizes,
        lengths=lengths,
        digests=digests,
        proofs=proofs,
        extents=extents,
        paths=paths or (),
        detail=detail and _detail(*detail),
        part=part and _made(Part, part),
    )


def _detail(extents: list[list[Any]], proofs: list[list[str] | None]) -> LobDetail:
    digests = tuple(None if each is None else _made(Digest, each) for each in proofs)
    return LobDetail(extents=tuple(map(_extent, extents)), proofs=digests)


def _extent(values: list[Any]) -> Extent:
    if len(values) == len(fields(ZipExtent)):
        return _made(ZipExtent, values)
    root, names, *stamp = values
    return _made(FileExtent, (root, tuple(names), *stamp))


def _made(kind: type[_Kind], values: Sequence[Any]) -> _Kind:
    """Return an instance of a data class with these values of its fields."""
    return kind(**dict(zip(kind.__dataclass_fields__, values, strict=True)))


STRETCH_FILES, STRETCH_BYTES = 1_000, 32 << 20
"""The files or bytes that a stretch of a slice has at least, unless it is the last."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SliceStretch:
    """A stretch of a slice, from ``start`` to ``stop`` in bytes, or to the end for None."""

    start: int
    stop: int | None

    @property
    def is_last(self) -> bool:
        """True if the stretch is the last of its slice."""
        return self.stop is None


def stretches(cuts: Sequence[int]) -> Iterator[SliceStretch]:
    """Yield the stretches that a slice is cut into at some bytes."""
    for start, stop in zip((0, *cuts), (*cuts, None), strict=True):
        yield SliceStretch(start=start, stop=stop)


WHOLE = SliceStretch(start=0, stop=None)
"""All of a slice."""


class Slice(writing.NewFile):
    """A slice while it is written: LOBs and parts in order, as runs.

    ``cuts`` are the bytes at which a stretch may end: never between parts of a LOB. ``digest`` is the SHA-256
    of the written bytes.
    """

    def __init__(self, place: Path) -> None:
        super().__init__(place)
        self._files = self._bytes = 0  # since the last cut
        self.cuts: list[int] = []
        self._hasher = hashlib.sha256()

    @property
    def digest(self) -> str:
        """The SHA-256 of the slice, in hexadecimal digits."""
        return self._hasher.hexdigest()

    def add(self, run: LobRun) -> None:
        """Append LOBs, or a part of one; raises ``TargetError``."""
        if not run.is_continued and (self._files >= STRETCH_FILES or self._bytes >= STRETCH_BYTES):
            self.cuts.append(self.size)
            self._files = self._bytes = 0
        line = _line(run)
        self.write(line)
        self._hasher.update(line)
        self._files += len(run)
        self._bytes += run.bytes


def runs(place: Path, stretch: SliceStretch = WHOLE) -> Iterator[LobRun]:
    """Yield the runs of a slice, or of a stretch of it, in their order."""
    with reading.buffered(place, start=stretch.start) as lines:
        at = stretch.start
        for line in lines:
            if at == stretch.stop:
                return
            at += len(line)
            yield _run(line)
