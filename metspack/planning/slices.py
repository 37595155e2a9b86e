"""Write and read slices of a plan: the LOBs of one segment on disk, in runs if possible."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import astuple, dataclass
from operator import attrgetter
from pathlib import Path
from typing import Any

from metspack.files import reading, writing
from metspack.model import (
    LONGEST,
    SMALL,
    Digest,
    Extent,
    FileExtent,
    LobCell,
    LobPlace,
    LobRef,
    LobRun,
    Part,
    Proofs,
    RunShared,
    ZipExtent,
)

Entry = tuple[LobRef, Part | None]
"""A LOB, or one part of it."""

_ZIP = tuple(ZipExtent.__dataclass_fields__)
_FILE = tuple(FileExtent.__dataclass_fields__)
_SHARED = tuple(RunShared.__dataclass_fields__)
_of_entry = attrgetter("name", "offset", "limit", "compressed", "crc", "method", "flags")


def path(work: Path, number: int) -> Path:
    """Return the path of a segment's slice; ``number`` is the segment's in the plan's order."""
    return work / f"slice-{number}.jsonl"


def _line(lob: LobRef, part: Part | None) -> bytes:
    cell, place = lob.cell, lob.place
    proofs = lob.proofs
    fields = (
        (place.schema, place.table, place.cell, place.row),
        (cell.file, cell.length, _said(cell.digest)),
        (lob.size, lob.extension, lob.media_type, lob.recorded),
        [astuple(extent) for extent in lob.extents],
        part and (part.number, part.offset, part.size, part.is_last),
        proofs and (_said(proofs.whole), [_said(each) for each in proofs.extents]),
    )
    return json.dumps(fields, separators=(",", ":")).encode() + b"\n"


def _said(digest: Digest | None) -> tuple[str, str] | None:
    return None if digest is None else (digest.algorithm, digest.value)


def _digest(said: list[str] | None) -> Digest | None:
    return None if said is None else Digest(algorithm=said[0], value=said[1])


def _extent(fields: list[Any]) -> Extent:
    if len(fields) == len(_ZIP):
        return ZipExtent(**dict(zip(_ZIP, fields, strict=True)))
    root, names, *stamp = fields
    return FileExtent(**dict(zip(_FILE, (root, tuple(names), *stamp), strict=True)))


def _entry(fields: list[Any]) -> Entry:
    place, (file, length, digest), (size, extension, kind, recorded), extents, part, proofs = fields
    schema, table, cell, row = place
    return (
        LobRef(
            cell=LobCell(
                place=LobPlace(schema=schema, table=table, cell=cell, row=row),
                file=file,
                length=length,
                digest=_digest(digest),
            ),
            size=size,
            extension=extension,
            media_type=kind,
            extents=tuple(_extent(extent) for extent in extents),
            proofs=proofs
            and Proofs(whole=_digest(proofs[0]), extents=tuple(_digest(each) for each in proofs[1])),
            recorded=recorded,
        ),
        part and Part(number=part[0], offset=part[1], size=part[2], is_last=part[3]),
    )


def _run(fields: list[Any]) -> LobRun:
    common, rows, files, sizes, digests, proofs, *extents = fields
    shared = dict(zip(_SHARED, common, strict=True))
    folders = shared.pop("folders")
    return LobRun(
        shared=RunShared(**shared, folders=None if folders is None else tuple(folders)),
        rows=rows,
        files=files,
        sizes=sizes,
        digests=digests,
        proofs=proofs,
        extents=extents,
    )


def _shared(lob: LobRef) -> RunShared | None:
    """Return the values that a LOB can share in a run, or None for one that stays single."""
    extent, cell = lob.extents[0], lob.cell
    proof = None if lob.proofs is None else lob.proofs.whole
    if (
        len(lob.extents) > 1
        or extent.size != lob.size
        or lob.size > SMALL
        or cell.length not in {None, lob.size}
        or (lob.proofs is not None and (lob.proofs.extents or proof is None))
        or (isinstance(extent, FileExtent) and extent.offset is not None)
    ):
        return None
    return RunShared(
        schema=cell.place.schema,
        table=cell.place.table,
        cell=cell.place.cell,
        extension=lob.extension,
        media_type=lob.media_type,
        recorded=lob.recorded,
        digest=None if cell.digest is None else cell.digest.algorithm,
        proof=None if proof is None else proof.algorithm,
        is_measured=cell.length is not None,
        holding=extent.archive if isinstance(extent, ZipExtent) else extent.root,
        folders=None if isinstance(extent, ZipExtent) else extent.path[:-1],
    )


def _run_of(shared: RunShared, lobs: Sequence[LobRef]) -> LobRun:
    """Return LOBs with shared values as a run."""
    extents = [lob.extents[0] for lob in lobs]
    return LobRun(
        shared=shared,
        rows=[lob.place.row for lob in lobs],
        files=[lob.cell.file for lob in lobs],
        sizes=[lob.size for lob in lobs],
        digests=[lob.cell.digest.value for lob in lobs if lob.cell.digest],
        proofs=[lob.proofs.whole.value for lob in lobs if lob.proofs and lob.proofs.whole],
        extents=list(map(list, zip(*map(_own, extents), strict=True))),
    )


def _own(extent: Extent) -> tuple[Any, ...]:
    """Return the values of an extent that its run has as columns."""
    if isinstance(extent, ZipExtent):
        return _of_entry(extent)
    return extent.path[-1], extent.modified, extent.inode, extent.device


STRETCH_FILES, STRETCH_BYTES = 1_000, 32 << 20
"""The files or bytes that a stretch of a slice has at least, unless it is the last."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SliceStretch:
    """A stretch of a slice, from ``start`` to ``stop`` in bytes, or to the end for None."""

    start: int
    stop: int | None

    @property
    def is_last(self) -> bool:
        """Whether the stretch is the last of its slice."""
        return self.stop is None


def stretches(cuts: Sequence[int]) -> Iterator[SliceStretch]:
    """Yield the stretches that a slice is cut into at some bytes."""
    for start, stop in zip((0, *cuts), (*cuts, None), strict=True):
        yield SliceStretch(start=start, stop=stop)


WHOLE = SliceStretch(start=0, stop=None)
"""All of a slice."""


class Slice(writing.NewFile):
    """A slice while it is written: LOBs and parts in order, LOBs with shared values in runs.

    A run has up to a thousand. ``cuts`` are the bytes at which a stretch may end: never between parts of a
    LOB. ``digest`` is the SHA-256 of the written bytes.
    """

    def __init__(self, place: Path) -> None:
        super().__init__(place)
        self._shared: RunShared | None = None
        self._alike: list[LobRef] = []
        self._files = self._bytes = 0  # since the last cut
        self.cuts: list[int] = []
        self._hasher = hashlib.sha256()

    @property
    def digest(self) -> str:
        """The SHA-256 of the slice, in hexadecimal digits."""
        return self._hasher.hexdigest()

    def add(self, lob: LobRef, part: Part | None = None) -> None:
        """Append a LOB or a part of one; raises ``TargetError``."""
        shared = None if part is not None else _shared(lob)
        if shared != self._shared or len(self._alike) == LONGEST:
            self._end_run()
        self._shared = shared
        if shared is not None:
            self._alike.append(lob)
        else:
            goes_on = part is not None and part.number > 0
            self._add_line(_line(lob, part), 1, lob.size if part is None else part.size, goes_on=goes_on)

    def add_each(self, found: LobRun | LobRef) -> None:
        """Append a LOB or a run of LOBs; raises ``TargetError``."""
        if isinstance(found, LobRun):
            self.add_run(found)
        else:
            self.add(found)

    def add_run(self, run: LobRun) -> None:
        """Append a run of LOBs; raises ``TargetError``."""
        self._end_run()
        shared = [getattr(run.shared, name) for name in _SHARED]
        columns = (run.rows, run.files, run.sizes, run.digests, run.proofs, *run.extents)
        line = json.dumps({"run": [shared, *columns]}, separators=(",", ":")).encode() + b"\n"
        self._add_line(line, len(run), sum(run.sizes))

    def _add_line(self, line: bytes, files: int, size: int, *, goes_on: bool = False) -> None:
        if not goes_on and (self._files >= STRETCH_FILES or self._bytes >= STRETCH_BYTES):
            self.cuts.append(self.size)
            self._files = self._bytes = 0
        self.write(line)
        self._hasher.update(line)
        self._files += files
        self._bytes += size

    def _end_run(self) -> None:
        lobs, self._alike = self._alike, []
        if lobs and self._shared is not None:
            self.add_run(_run_of(self._shared, lobs))

    def close(self) -> None:
        """Put the slice on disk."""
        self._end_run()
        super().close()


def runs(place: Path, stretch: SliceStretch = WHOLE) -> Iterator[LobRun | Entry]:
    """Yield runs, single LOBs and parts of a slice, or of a stretch of it, in their order."""
    with reading.buffered(place, start=stretch.start) as lines:
        at = stretch.start
        for line in lines:
            if at == stretch.stop:
                return
            at += len(line)
            found = json.loads(line)
            yield _run(found["run"]) if isinstance(found, dict) else _entry(found)


def entries(place: Path) -> Iterator[Entry]:
    """Yield all LOBs and parts of a slice one by one."""
    for each in runs(place):
        if isinstance(each, LobRun):
            yield from ((lob, None) for lob in each.lobs())
        else:
            yield each
