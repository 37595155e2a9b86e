"""Files of a segment as columns: what METS, folder and manifests say alike of them."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

from metspack.checking.eark.document import Outline
from metspack.checking.eark.profiles import Opening
from metspack.digests import OCTETS
from metspack.mets.reader import Fact
from metspack.model import Budgets

NUL = b"\0"
"""What is between names of files, each two."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SegmentLook:
    """A segment to be looked at, by paths below the package's root, and what it is compared with.

    ``mets`` is that of its METS, ``data`` that of the folder whose files this lists: its own, or of a
    representation that below it; ``pack`` is the zip file that holds it, if one does. ``manifests`` are the
    algorithms of those that the package has. ``of_folder`` tells whether METS is looked at by itself and
    compared with the files in the folder, ``of_statements`` whether it is with manifests and metadata files.
    One that ``is_large`` is looked at in memory that does not grow with its files.
    """

    root: Path
    mets: bytes
    data: bytes
    manifests: tuple[str, ...]
    budgets: Budgets
    pack: bytes = b""
    of_folder: bool = True
    of_statements: bool = True
    is_large: bool = False

    @property
    def folder(self) -> bytes:
        """The folder of its METS."""
        return self.mets.rpartition(b"/")[0]

    @property
    def is_representation(self) -> bool:
        """Whether its METS lies above its data."""
        return self.data != self.folder

    def shared(self) -> tuple[SegmentLook, SegmentLook]:
        """Return the same look in two, for two processes; the longer one first."""
        return replace(self, of_folder=False), replace(self, of_statements=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class ManifestStretch:
    """The lines of a segment's files in a manifest, from ``start`` to ``stop`` in bytes.

    Their paths are from ``first`` to ``last``; ``mets`` is the number from 0 of the line of the METS among
    them, ``digest`` is what it says, "" where that line is not among them; ``ending`` is what the last line
    says.
    """

    algorithm: str
    start: int
    stop: int
    lines: int
    first: bytes
    last: bytes
    mets: int
    digest: str
    ending: str


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
class StatedFiles:
    """Places, sizes and digests that are stated of files, as ``AgreedColumns`` has them."""

    names: Sequence[bytes]
    sizes: array[int]
    digests: dict[str, bytes]

    def digests_of(self, algorithm: str, start: int, stop: int) -> str | None:
        """Return the digests of some files, None for an algorithm by which none are stated."""
        found, octets = self.digests.get(algorithm), OCTETS[algorithm]
        return None if found is None else found[start * octets : stop * octets].hex()


@dataclass(frozen=True, slots=True, kw_only=True)
class AgreedSegment:
    """A segment whose METS, folder and manifests agree but for missing files; paths as in ``SegmentLook``.

    ``facts`` are those of its METS without its files, ``opening`` is the METS's own, ``size`` and ``own`` are
    its bytes and digests; ``folders`` are the paths below the one of its data, ``total`` is the bytes of its
    files, whose digests METS states by ``algorithm``. Archives are not counted as files: ``kept`` has their
    paths and sizes, and they are known as all files of other folders are. ``stems`` are the IDs without their
    last digits. ``outline`` is that of a representation, whose files lie as CITS SIARD 1.0 wants LOBs of
    SIARD 2.2 to lie where they ``are_placed``. Files that METS lists and the folder has not are ``apart``, by
    their names, and no more among its files.
    """

    mets: bytes
    data: bytes
    pack: bytes
    size: int
    own: Mapping[str, str]
    opening: Opening
    facts: tuple[Fact, ...]
    folders: tuple[bytes, ...]
    files: int
    total: int
    algorithm: str
    kept: tuple[tuple[bytes, int], ...]
    stems: frozenset[str]
    stretches: tuple[ManifestStretch, ...]
    outline: Outline | None
    are_placed: bool
    apart: frozenset[bytes]

    @property
    def folder(self) -> bytes:
        """The folder of its METS, which its files are listed from."""
        return self.mets.rpartition(b"/")[0]


LookedAt = tuple[AgreedSegment, Sequence[AgreedColumns]]
Places = Callable[[Path], Iterable[tuple[bytes, bytes, bytes]]]
"""Yields the paths of METS, data and zip file of each segment of a package, as ``SegmentLook`` has them."""
Look = Callable[[SegmentLook, Callable[[int], None]], LookedAt | None]
"""Returns what all says alike of a segment, None for one that is to be looked at closely."""


class CellKind(NamedTuple):
    """What is alike of cells that name files: their archive, and whether they state lengths and digests."""

    archive: bytes
    has_length: bool
    algorithm: str | None


def divided(
    columns: Iterable[AgreedColumns], apart: AbstractSet[bytes]
) -> tuple[list[AgreedColumns], list[AgreedColumns]]:
    """Return the files that are not apart, numbered anew, and those that are."""
    divided: tuple[list[AgreedColumns], list[AgreedColumns]] = [], []
    for each in columns:
        at = 0
        for is_apart, some in groupby(each.names.split(NUL), apart.__contains__):
            stop = at + sum(1 for _ in some)
            part = divided[is_apart]
            part.append(_cut(each, slice(at, stop), part[-1].stop if part else 0))
            at = stop
    return divided


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


def texts_of(digests: bytes, algorithm: str) -> list[str]:
    """Return digests, which stand one behind the other, as texts."""
    text, width = digests.hex(), 2 * OCTETS[algorithm]
    return [text[at : at + width] for at in range(0, len(text), width)]


def paths_of(folder: bytes, columns: AgreedColumns) -> list[bytes]:
    """Return the paths of files of the segment with a folder."""
    above = folder + b"/" if folder else b""
    return [above + name for name in columns.names.split(NUL)]
