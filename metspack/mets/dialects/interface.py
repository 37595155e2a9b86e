# ruff: noqa: ARG002, ARG003 -- a base method that refuses, or has a plain answer, looks at no argument
"""The interface of dialects: descriptions of child and parent IPs, merging, and places.

Paths have ``/`` and are relative to the package's root, the folder that holds parent and children.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Self

from metspack.digests import Hashers
from metspack.errors import ConfigError
from metspack.layouts import Layout, lobseg
from metspack.layouts.names import SIARD
from metspack.mets.filetable import PlacedRun
from metspack.mets.notes import noted
from metspack.mets.reader import Fact
from metspack.model import Notice
from metspack.siard.metadata import Metadata

HREF_STYLES = ("relative", "file-uri")
"""Styles of the locations of files in METS; the first is the default."""

Names = tuple[str, ...]
"""The names of the folders, and of the file, on the path of a file."""


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


SplitLob = tuple[str, int, str, str]
"""A LOB whose parts are in children: its id, and the whole's size in bytes, media type and checksum."""

SplitPart = tuple[str, str, str]
"""A part of a split LOB: the LOB's id, the part's id in the child, and the child's OBJID."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SegmentSpot:
    """The place of a segment: its number in the plan, and the folder ``content`` of its LOBs.

    ``ip`` is the child IP's folder: the same one, or one above it. ``index`` is its number among those of its
    container; ``objid`` that of its METS.
    """

    number: int
    ip: str
    content: str
    index: int
    objid: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Footprint:
    """The disk space of a dialect's documents: bytes per LOB and IP, files and folders per IP.

    Intermediate files, and the folders of an IP's LOBs, are included. The others are the usual bytes and
    number of an IP's ``documents``, and the bytes in them for each LOB, besides its digest and its path,
    which they repeat ``paths`` times, and in the parent's for each child.
    """

    per_lob: int
    per_ip: int
    files_per_ip: int
    documents: int
    size: int
    row: int
    paths: int
    child: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ChildMets:
    """A child IP as its parent lists it.

    ``path`` is its place: its ``folder``, or the file in which this is packed; it has ``total`` bytes.
    ``content`` is the folder of its LOBs: ``files`` LOBs and parts with ``bytes`` in all. ``digests`` and
    the other facts are those of its METS.
    """

    objid: str
    folder: str
    content: str
    size: int
    checksum: str
    path: str
    mets: str
    files: int
    bytes: int
    total: int
    digests: Mapping[str, str]

    def document(self) -> dict[str, object]:
        """Return the object for JSON."""
        digests = {name.lower().replace("-", ""): value for name, value in self.digests.items()}
        return {
            "objid": self.objid,
            "path": self.path,
            "files": self.files,
            "bytes": self.bytes,
            "mets": {"path": self.mets, "bytes": self.size, **digests},
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class ParentContent:
    """The content of the parent IP: OBJID, the package's name, the archive if any, and children.

    ``split`` gives the split LOBs, ``parts`` their parts in the same order, each LOB's from the first on.
    ``pieces`` are the files of an archive that is not one file (``siard`` is None then), ``others`` all other
    files outside the segments; their ids are those of METS. Every function begins anew at every call.
    ``history`` are the notes on the source of the archive; ``archive`` is its name in them, where that is not
    the package's.
    """

    objid: str
    name: str
    siard: SiardFile | None
    children: Sequence[ChildMets]
    split: Callable[[], Iterator[SplitLob]] = lambda: iter(())
    parts: Callable[[], Iterator[SplitPart]] = lambda: iter(())
    pieces: Callable[[], Iterator[PlacedRun]] = lambda: iter(())
    others: Callable[[], Iterator[PlacedRun]] = lambda: iter(())
    history: tuple[str, ...] = ()
    archive: str = ""

    @property
    def notes(self) -> tuple[str, ...]:
        """The notes on the source of the archive, with its name, as METS has them."""
        return tuple(noted(self.archive or f"{self.name}{SIARD}", each) for each in self.history)


class DialectOptions:
    """Options of a single dialect: each dialect has a class of its own below this one."""

    __slots__ = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class PackageFacts:
    """The facts of a package that a dialect describes: options, and the archive's ``metadata``.

    ``mets_profile`` and ``options`` of None stand for the dialect's defaults, and so do another dialect's
    ``options``.
    """

    name: str
    metadata: Metadata | None
    created: str
    checksum_type: str
    software: Software
    agents: tuple[str, ...] = ()
    mets_profile: str | None = None
    href_style: str = HREF_STYLES[0]
    options: DialectOptions | None = None

    @property
    def version(self) -> str | None:
        """The version of SIARD, None for LOBs that belong to no archive."""
        return None if self.metadata is None else self.metadata.version


@dataclass(frozen=True, slots=True, kw_only=True)
class Adopted:
    """The parent's documents that a merged package keeps: ``options`` that name them, and the rest.

    ``profile`` is a PROFILE that ``options`` cannot express, or None. ``documents`` are all that is kept,
    ``documentation`` those that ``options`` do not name, ``left`` those that are left out.
    """

    options: DialectOptions
    profile: str | None
    documents: frozenset[Names]
    documentation: tuple[Names, ...]
    left: tuple[Names, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class MergedContent:
    """The content of a merged package: OBJID, number of containers, and the representation's data.

    The files are put in place while ``placing`` is read, to its end and before the rest. Their paths are
    relative to the data folder; ``archive`` is the ID of the archive among them. ``split`` gives the split
    LOBs and ``parts`` their parts in the same order; every function begins anew at every call. ``work`` is a
    folder for temporary notes. ``documentation`` are names below the folder ``root`` that go along when the
    dialect has no documentation of its own. ``history`` are the notes on the source of the archive, as the
    parent's METS has them.
    """

    objid: str
    containers: int
    archive: str
    placing: Iterator[PlacedRun]
    work: Path
    split: Callable[[], Iterable[SplitLob]]
    parts: Callable[[], Iterable[SplitPart]]
    root: Path
    documentation: Sequence[Names] = ()
    history: tuple[str, ...] = ()


def _refusal() -> ConfigError:
    """Return the error of a dialect that cannot merge packages."""
    return ConfigError(
        "packages of this dialect cannot be merged",
        hint="metspack convert recreates them in another dialect.",
    )


class Dialect(ABC):
    """One way to describe a package; a frozen value that holds the facts common to all its METS.

    It can be pickled: segments are described by other processes. The same content gives the same bytes.
    ``mets`` is the name of every IP's METS, ``footprint`` its disk space beside the LOBs, generously;
    ``checksum_type`` is the algorithm of the checksums in METS, as METS calls it.
    """

    __slots__ = ()

    mets: ClassVar[str]
    footprint: ClassVar[Footprint]

    checksum_type: str

    # --- before a package is made -----------------------------------------------------------------------

    @classmethod
    @abstractmethod
    def of(cls, package: PackageFacts) -> Self:
        """Return the dialect of a package's options; raises ``ConfigError`` for unsupported ones."""

    @classmethod
    def options(cls, given: Mapping[str, object]) -> DialectOptions | None:
        """Return the dialect's options from values by name (``DialectFacts.options``), or defaults."""
        return None

    @classmethod
    def layout(cls, version: str | None) -> Layout:
        """Return the default layout of segments; ``version`` is SIARD's, None without an archive."""
        return lobseg.LAYOUT

    @classmethod
    def layout_warnings(cls, layout: Layout, version: str | None) -> tuple[Notice, ...]:
        """Return warnings about a layout that the user chose."""
        return ()

    @abstractmethod
    def check(self, objid: str) -> None:
        """Raise ``ConfigError`` for values that METS cannot hold, before hours of copying.

        ``objid`` is the parent's, "" before it is determined.
        """

    @classmethod
    def packed_objid(cls, objid: str, options: DialectOptions | None) -> str:
        """Return the default OBJID of a parent with packed IPs, from that of one with folders."""
        return objid

    # --- places -----------------------------------------------------------------------------------------

    @classmethod
    @abstractmethod
    def parent_folder(cls, objid: str) -> str:
        """Return the folder of the parent IP, "" when it is the package's root."""

    @abstractmethod
    def archive_path(self, objid: str, name: str) -> str:
        """Return the path of the archive of the package ``name``, whose parent has this OBJID."""

    @abstractmethod
    def spot(self, *, number: int, index: int, parent: str, name: str, word: str, folder: str) -> SegmentSpot:
        """Return the place of a segment, and the OBJID of its METS.

        It has a ``number`` in the plan and an ``index`` in its container. ``parent`` is the parent's OBJID,
        ``name`` the package's; by its layout the segment has ``word``, its name as one word, and ``folder``,
        the path that the cells of its LOBs begin with.
        """

    # --- a new package ----------------------------------------------------------------------------------

    @abstractmethod
    def write_child(
        self, package: Path, spot: SegmentSpot, parent: str, files: Callable[[], Iterator[PlacedRun]]
    ) -> dict[str, Hashers]:
        """Write all files of a child IP beside its LOBs; return the digests of each file by path.

        ``parent`` is its parent's OBJID; ``files`` yields its files in the order of placing at every call,
        with paths below ``spot.content``. The digests are those of ``filetable.algorithms``. Raises
        ``TargetError`` and ``ConfigError``.
        """

    @abstractmethod
    def write_parent(self, package: Path, content: ParentContent) -> dict[str, Hashers]:
        """Write all files of the parent IP beside the archive, as ``write_child`` does for a child."""

    # --- parent and children put together: of dialects whose facts say that they merge ------------------

    @classmethod
    def adopted(
        cls,
        options: DialectOptions | None,
        root: Path,
        documents: Iterable[Names],
        representation: str | None,
        header: Iterable[Fact],
    ) -> Adopted:
        """Return the documents to be kept of the parent's ``documents``, which are below ``root``.

        ``representation`` is the name of the one that was divided, or None. ``header`` are the facts of the
        parent's METS down to its header, whose terms are kept where options have the defaults.
        """
        raise _refusal()

    def data_folder(self, objid: str) -> str:
        """Return the folder of the data of the merged package with an OBJID."""
        raise _refusal()

    def write_merged(self, package: Path, content: MergedContent) -> dict[str, Hashers]:
        """Write all files of a merged package beside its data; return each file's digests by path.

        Raises ``TargetError`` and ``ConfigError``, and ``SourceError`` for documentation that cannot be read.
        """
        raise _refusal()
