"""A segment's slice of the plan: the LOBs and parts that go into it, one JSON line each.

With its slice and the source's holdings a segment can be placed by any process.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from metspack.files import reading
from metspack.model import (
    Digest,
    Extent,
    FileExtent,
    Format,
    LobCell,
    LobPlace,
    LobRef,
    Part,
    Proofs,
    Recorded,
    ZipExtent,
)

_ZIP = tuple(ZipExtent.__dataclass_fields__)
_FILE = tuple(FileExtent.__dataclass_fields__)


def path(work: Path, number: int) -> Path:
    """Return where the slice of the segment with this number, in the order of the plan, lies."""
    return work / f"slice-{number}.jsonl"


def line(lob: LobRef, part: Part | None) -> bytes:
    """Return a LOB, or a part of one, as a line of a slice."""
    cell, place = lob.cell, lob.place
    proofs = lob.proofs
    fields = (
        (place.schema, place.table, place.cell, place.row),
        (cell.file, cell.length, _said(cell.digest)),
        (lob.size, lob.extension, lob.media_type, _kind(lob.recorded)),
        [_written(extent) for extent in lob.extents],
        part and (part.number, part.offset, part.size, part.is_last),
        proofs and (_said(proofs.whole), [_said(each) for each in proofs.extents]),
    )
    return json.dumps(fields, separators=(",", ":")).encode() + b"\n"


def _kind(said: Recorded | None) -> tuple[str, ...] | None:
    if said is None:
        return None
    of = said.format
    return (said.media_type,) if of is None else (said.media_type, of.puid, of.name, of.version)


def _recorded(said: list[str] | None) -> Recorded | None:
    if said is None:
        return None
    media_type, *of = said
    return Recorded(
        media_type=media_type, format=Format(puid=of[0], name=of[1], version=of[2]) if of else None
    )


def _said(digest: Digest | None) -> tuple[str, str] | None:
    return None if digest is None else (digest.algorithm, digest.value)


def _digest(said: list[str] | None) -> Digest | None:
    return None if said is None else Digest(algorithm=said[0], value=said[1])


def _written(extent: Extent) -> list[Any]:
    return [getattr(extent, name) for name in (_ZIP if isinstance(extent, ZipExtent) else _FILE)]


def _extent(fields: list[Any]) -> Extent:
    if len(fields) == len(_ZIP):
        return ZipExtent(**dict(zip(_ZIP, fields, strict=True)))
    root, names, *stamp = fields
    return FileExtent(**dict(zip(_FILE, (root, tuple(names), *stamp), strict=True)))


def entries(path: Path) -> Iterator[tuple[LobRef, Part | None]]:
    """Yield the LOBs and parts of a slice, as ``line`` wrote them."""
    with open(reading.opened(path), encoding="utf-8", closefd=True) as lines:
        for each in lines:
            place, (file, length, digest), (size, extension, kind, said), extents, part, proofs = json.loads(
                each
            )
            schema, table, cell, row = place
            yield (
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
                    recorded=_recorded(said),
                ),
                part and Part(number=part[0], offset=part[1], size=part[2], is_last=part[3]),
            )
