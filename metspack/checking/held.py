"""Files of a segment as columns: the statements on which METS, folder and manifests agree."""

from __future__ import annotations

import json
from array import array
from collections.abc import Iterator, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from itertools import groupby
from pathlib import Path
from typing import Any, get_args

from metspack.checking.eark.outline import Outline, StatedFileGroup
from metspack.checking.eark.profiles import Opening
from metspack.digests import OCTETS
from metspack.limits import Budgets
from metspack.mets.reader import Fact

NUL = b"\0"
"""The separator of names of files."""


COLUMNS_SCHEMA = """
CREATE TABLE columns (
    folder BLOB, start INTEGER, origin INTEGER, ids TEXT, names BLOB, lines BLOB, sizes BLOB, around TEXT,
    algorithms TEXT, digests BLOB);
CREATE INDEX columns_of_folder ON columns (folder, start)
"""
"""The table of ``AgreedColumns`` by the folders of their segments."""
PUT_COLUMNS = "INSERT INTO columns VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
COLUMNS = """
SELECT start, origin, ids, names, lines, sizes, around, algorithms, digests FROM columns
WHERE folder = ? AND start >= ? ORDER BY start
"""
"""The columns of a folder from a number on, as ``columns_of`` reads them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SegmentLook:
    """A segment to reconcile: paths below the package's root, and the manifests of the package.

    ``mets`` is its METS, ``data`` the folder of the listed files: the METS's folder, or in a representation
    the folder below; ``pack`` is the zip file that holds them, if any. ``manifests`` are the algorithms of
    the package's manifests. The files are compared in ``parts``.
    """

    root: Path
    mets: bytes
    data: bytes
    manifests: tuple[str, ...]
    budgets: Budgets
    pack: bytes = b""
    parts: int = 1

    @property
    def folder(self) -> bytes:
        """The folder of its METS."""
        return self.mets.rpartition(b"/")[0]

    @property
    def above(self) -> bytes:
        """The folder of its METS with a slash, "" for the root."""
        return self.folder + b"/" if self.folder else b""

    @property
    def is_representation(self) -> bool:
        """Return whether its METS lies above its data."""
        return self.data != self.folder


@dataclass(frozen=True, slots=True, kw_only=True)
class ManifestStretch:
    """The lines of a segment's folder in a manifest, from ``start`` to ``stop`` in bytes.

    Their paths are from ``first`` to ``last``, and ``ending`` is the digest of the last line. ``others`` are
    the lines on files that are not held, the METS among them: number from 0, path and digest.
    """

    start: int
    stop: int
    lines: int
    first: bytes
    last: bytes
    ending: str
    others: tuple[tuple[int, bytes, str], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class AgreedColumns:
    """Some files of a segment as columns: IDs, places and lines in METS, sizes, digests as stated.

    ``start`` is the number of the first among the segment's files, from 0, and ``origin`` among all that METS
    lists. IDs have a line feed between each two, names a NUL; digests stand one behind the other by
    algorithm, that of METS first. ``groups`` are the fileGrp around all of them.
    """

    start: int
    origin: int
    ids: str
    names: bytes
    lines: array[int]
    sizes: array[int]
    groups: tuple[str, ...]
    digests: Mapping[str, bytes]

    @property
    def stop(self) -> int:
        """The number behind the last."""
        return self.start + len(self.sizes)


@dataclass(frozen=True, slots=True, kw_only=True)
class AgreedSegment:
    """A segment whose METS, folder and manifests agree, except for missing files.

    ``facts``, ``opening``, ``size`` and ``digests`` are those of its METS; the facts leave its files out.
    ``folders`` are the paths of all folders below ``data``, ``total`` is the bytes of its files, whose
    digests METS states by ``algorithm``; ``stretches`` are those of manifests by algorithm. Archives are not
    counted as files: ``kept`` has their paths and sizes, and they become rows. ``stems`` are the IDs without
    their last digits. ``outline`` is that of a representation; its files ``are_placed`` if they are where
    CITS SIARD 1.0 requires LOBs of SIARD 2.2. ``apart`` has the names of missing files, which are not counted
    either.
    """

    mets: bytes
    data: bytes
    pack: bytes
    size: int
    digests: Mapping[str, str]
    opening: Opening
    facts: tuple[Fact, ...]
    folders: tuple[bytes, ...] = ()
    files: int
    total: int
    algorithm: str
    kept: tuple[tuple[bytes, int], ...]
    stems: frozenset[str]
    stretches: Mapping[str, ManifestStretch] = field(default_factory=dict)
    outline: Outline | None
    are_placed: bool
    apart: frozenset[bytes] = frozenset()

    @property
    def folder(self) -> bytes:
        """The folder of its METS, which its files are listed from."""
        return self.mets.rpartition(b"/")[0]


_COLLECTIONS = bytes, dict, frozenset, list, set, tuple
_KINDS: dict[str, Any] = {
    each.__name__: each
    for each in (
        *(*get_args(Fact), *_COLLECTIONS),
        *(AgreedSegment, ManifestStretch, Opening, Outline, StatedFileGroup),
    )
}


def text_of(segment: AgreedSegment) -> str:
    """Return a JSON text that ``segment_of`` reads: no database is to be read as code."""
    return json.dumps(_plain(segment), separators=(",", ":"))


def segment_of(text: str) -> AgreedSegment:
    """Return the segment that ``text_of`` was given, with the types of all its parts."""
    segment: AgreedSegment = _value(json.loads(text))
    return segment


def _plain(value: Any) -> Any:
    """Return a value in JSON's types; one that is neither text nor number has its kind first."""
    kind = type(value)
    if kind.__name__ not in _KINDS:
        return value
    if kind not in _COLLECTIONS:
        return [kind.__name__, *(_plain(getattr(value, each)) for each in kind.__dataclass_fields__)]
    return [kind.__name__, *map(_plain, value.items() if kind is dict else value)]


def _value(plain: Any) -> Any:
    if type(plain) is not list:
        return plain
    kind, values = _KINDS[plain[0]], map(_value, plain[1:])
    if kind in _COLLECTIONS:
        return kind(values)
    return kind(**dict(zip(kind.__dataclass_fields__, values, strict=True)))


CellKind = tuple[bytes, bool, str | None]
"""The common values of cells that name files: archive, whether they have lengths, and algorithm."""


def row_of(columns: AgreedColumns) -> tuple[Any, ...]:
    """Return columns as plain values, which ``columns_of`` reads."""
    return (
        *(columns.start, columns.origin, columns.ids, columns.names),
        *(columns.lines.tobytes(), columns.sizes.tobytes(), "\n".join(columns.groups)),
        *(" ".join(columns.digests), b"".join(columns.digests.values())),
    )


def columns_of(row: tuple[Any, ...]) -> AgreedColumns:
    """Return the columns that ``row_of`` was given."""
    start, origin, ids, names, *octets, groups, algorithms, digests = row
    lines, sizes = (array("q", each) for each in octets)
    at, of_each = 0, dict[str, bytes]()
    for name in algorithms.split(" "):
        stop = at + OCTETS[name] * len(sizes)
        of_each[name], at = digests[at:stop], stop
    return AgreedColumns(
        start=start,
        origin=origin,
        ids=ids,
        names=names,
        lines=lines,
        sizes=sizes,
        groups=tuple(groups.split("\n")) if groups else (),
        digests=of_each,
    )


def divided(
    columns: AgreedColumns, apart: AbstractSet[bytes], start: int
) -> Iterator[tuple[bool, AgreedColumns]]:
    """Yield successive files, those apart and the others, numbered from ``start`` on."""
    at = 0
    for is_apart, some in groupby(map(apart.__contains__, columns.names.split(NUL))):
        stop = at + len(list(some))
        yield is_apart, _cut(columns, slice(at, stop), columns.start + at if is_apart else start)
        start += 0 if is_apart else stop - at
        at = stop


def _cut(columns: AgreedColumns, which: slice, start: int) -> AgreedColumns:
    """Return some of the files, numbered from ``start`` on."""
    return replace(
        columns,
        start=start,
        origin=columns.origin + which.start,
        ids="\n".join(columns.ids.split("\n")[which]),
        names=NUL.join(columns.names.split(NUL)[which]),
        lines=columns.lines[which],
        sizes=columns.sizes[which],
        digests={
            name: digests[which.start * OCTETS[name] : which.stop * OCTETS[name]]
            for name, digests in columns.digests.items()
        },
    )


def cut(digests: bytes, octets: int) -> list[bytes]:
    """Return digests, which stand one behind the other, one by one."""
    return [digests[at : at + octets] for at in range(0, len(digests), octets)]


def texts_of(digests: bytes, algorithm: str) -> list[str]:
    """Return digests, which stand one behind the other, as texts."""
    text, width = digests.hex(), 2 * OCTETS[algorithm]
    return [text[at : at + width] for at in range(0, len(text), width)]


def paths_of(folder: bytes, columns: AgreedColumns) -> list[bytes]:
    """Return the paths of files of the segment with a folder."""
    above = folder + b"/" if folder else b""
    return [above + name for name in columns.names.split(NUL)]
