"""What a dialect is: what it writes beside the LOBs, for each segment and for the parent, and where all lies.

Paths have ``/`` and lie below the package's root, the folder that holds parent and children.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from metspack.digests import Hashers
from metspack.model import Format
from metspack.placing import PlacedFile


@dataclass(frozen=True, slots=True, kw_only=True)
class Software:
    """The software agent of a METS header."""

    name: str
    version: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SiardFile:
    """The archive of a package: its path, size in bytes, checksum, and whether it is ZIP64."""

    path: str
    size: int
    checksum: str
    zip64: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class SplitLob:
    """A LOB whose parts lie in children: its id, and what the whole is; ``size`` is bytes."""

    id: str
    size: int
    media_type: str
    checksum: str
    format: Format | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SplitPart:
    """A part of a split LOB: the LOB's id, its own id in the child, and the child's OBJID."""

    lob: str
    id: str
    child: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SegmentSpot:
    """Where a segment comes to lie: its number in the plan, and the folder ``content`` of its LOBs.

    ``ip`` is the child IP's own folder: the same one, or one above it. ``index`` is its number among
    those of its container; ``objid`` that of its METS.
    """

    number: int
    ip: str
    content: str
    index: int
    objid: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SegmentWords:
    """How a segment is called: its ``number`` in the plan, its ``index`` among those of its container.

    ``parent`` is the parent's OBJID, ``name`` the package's; by its layout the segment has ``word``, its
    name as one word, and ``folder``, the path that the cells of its LOBs begin with. ``is_added``: it is of
    an archive that comes into a package of another one.
    """

    number: int
    index: int
    parent: str
    name: str
    word: str
    folder: str
    is_added: bool = False

    @property
    def suffix(self) -> str:
        """What tells the segment from others of the parent.

        It has the archive's name where that is not the first, which may have the same columns.
        """
        return f"_{self.word}" if self.is_added else self.word.removeprefix(self.name)


@dataclass(frozen=True, slots=True, kw_only=True)
class Footprint:
    """What a dialect's documents take on disk: bytes for each LOB and IP, files and folders for each IP.

    What is made on the way to them, and the folders of an IP's LOBs, are among them.
    """

    per_lob: int
    per_ip: int
    files_per_ip: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ChildMets:
    """A child IP as its parent names it; ``content`` is the folder of its LOBs, the rest is of its METS."""

    objid: str
    folder: str
    content: str
    size: int
    checksum: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ChildContent:
    """What a child IP holds: its spot, the OBJID of its ``parent``, and its files in the order of placing.

    The paths of ``files`` are those below ``spot.content``. Both functions begin anew at every call.
    """

    spot: SegmentSpot
    parent: str
    files: Callable[[], Iterator[PlacedFile]]
    ids: Callable[[], Iterator[str]]


def _nothing() -> Iterator[PlacedFile]:
    return iter(())


def _no_lobs() -> Iterator[SplitLob]:
    return iter(())


def _no_parts() -> Iterator[SplitPart]:
    return iter(())


@dataclass(frozen=True, slots=True, kw_only=True)
class ParentContent:
    """What the parent IP holds: OBJID, the package's name, the archive if there is one, and the children.

    ``split`` gives the split LOBs, ``parts`` their parts in the same order, each LOB's from the first on.
    ``pieces`` are the files of an archive that is not one file (``siard`` is None then), ``others`` what
    else lies outside the segments; their ids are those of METS. Every function begins anew at every call.
    """

    objid: str
    name: str
    siard: SiardFile | None
    children: Sequence[ChildMets]
    split: Callable[[], Iterator[SplitLob]] = _no_lobs
    parts: Callable[[], Iterator[SplitPart]] = _no_parts
    pieces: Callable[[], Iterator[PlacedFile]] = _nothing
    others: Callable[[], Iterator[PlacedFile]] = _nothing


class Dialect(Protocol):
    """One way to describe a package; a frozen value that holds what all its METS say alike.

    It can be pickled: segments are described by other processes. The same content gives the same bytes.
    """

    @property
    def mets(self) -> str:
        """The name of every IP's METS."""

    @property
    def checksum_type(self) -> str:
        """The algorithm of the checksums in METS, as METS calls it."""

    @property
    def footprint(self) -> Footprint:
        """What it takes on disk beside the LOBs, generously."""

    def check(self, objid: str) -> None:
        """Raise ``ConfigError`` for what cannot be said in METS, before hours of copying.

        ``objid`` is the parent's, "" while it is not known.
        """

    def archive_path(self, objid: str, name: str) -> str:
        """Return where the archive of the package ``name`` lies, whose parent has this OBJID."""

    def parent_folder(self, objid: str) -> str:
        """Return the folder that the parent IP is, "" when it is the package's root."""

    def spot(self, words: SegmentWords) -> SegmentSpot:
        """Return where a segment comes to lie, and the OBJID of its METS."""

    def child_written(self, package: Path, content: ChildContent) -> dict[str, Hashers]:
        """Write all that a child IP is beside its LOBs; returns each file's digests, with METS's, by path.

        The digests are those of ``placing.algorithms``. Raises ``TargetError`` and ``ConfigError``.
        """

    def parent_written(self, package: Path, content: ParentContent) -> dict[str, Hashers]:
        """Write all that the parent IP is beside the archive, as ``child_written`` does for a child."""
