# ruff: noqa: ARG002, ARG003 -- base methods that raise, or return a default, use no argument
"""The interface of dialects: places and descriptions of child and parent IPs, and merging.

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
from metspack.files.paths import Names
from metspack.layouts import Layout, lobseg
from metspack.layouts.names import SIARD
from metspack.mets.filetable import PlacedRun
from metspack.mets.notes import noted
from metspack.mets.reader import Fact
from metspack.model import Notice
from metspack.siard.metadata import Metadata

HREF_STYLES = ("relative", "file-uri")
"""Styles of the locations of files in METS; the first is the default."""


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
"""A LOB in parts: its id, and the whole's size in bytes, media type and checksum."""

SplitPart = tuple[str, str, str]
"""A part of a split LOB: the LOB's id, the part's id in the child, and the child's OBJID."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SegmentSpot:
    """The place of a segment: its number in the plan, and the folder ``content`` of its LOBs.

    ``ip`` is the child IP's folder: ``content``, or one above it. ``index`` is the segment's number in its
    container, ``objid`` the OBJID of its METS.
    """

    number: int
    ip: str
    content: str
    index: int
    objid: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Footprint:
    """The disk space of a dialect's documents: at most, and usually.

    ``per_lob`` and ``per_ip`` are bytes, and ``files_per_ip`` files and folders, at most, with intermediate
    files and the folders of an IP's LOBs. Usually an IP has ``documents`` of ``size`` bytes in all, with
    ``row`` bytes more for each LOB, besides its digest and its path (``paths`` times), and in the parent
    ``child`` bytes more for each child.
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

    ``path`` is its ``folder`` or its packed file, with ``total`` bytes. ``content`` is the folder of its
    LOBs: ``files`` LOBs and parts with ``bytes`` in all. ``mets`` is the path of its METS, with ``size``,
    ``checksum`` and ``digests``.
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
        """Return the child as data for JSON."""
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
    """The content of the parent IP: OBJID, the package's name, the archive, if any, and children.

    ``split`` yields the split LOBs, ``parts`` their parts in the same order, each LOB's from the first on.
    ``pieces`` yields the files of an archive of several files (then ``siard`` is None), ``others`` all other
    files outside the segments; their ids are those of METS. Every call of these begins again. ``history`` are
    the notes on the source of the archive; ``archive`` is the archive's name in them, or "" for that of the
    package.
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
        """The notes on the source of the archive, in the form of METS."""
        return tuple(noted(self.archive or f"{self.name}{SIARD}", each) for each in self.history)


class DialectOptions:
    """A base of the options of dialects."""

    __slots__ = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class PackageFacts:
    """The facts of a package that a dialect describes: options, and the archive's ``metadata``.

    ``mets_profile`` None stands for the dialect's default, ``options`` None or of another dialect for its
    defaults.
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
        """The version of SIARD, or None for LOBs without an archive."""
        return None if self.metadata is None else self.metadata.version


@dataclass(frozen=True, slots=True, kw_only=True)
class Adopted:
    """The parent's documents that a merged package keeps, some of them named by ``options``.

    ``profile`` is a PROFILE that ``options`` cannot express, or None. ``documents`` are all kept documents,
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

    Iterating ``placing`` puts the files in place: this happens once, before all else. Their paths begin in
    the data folder; ``archive`` is the ID of the archive among them. ``split`` yields the split LOBs and
    ``parts`` their parts in the same order; every call begins again. ``work`` is a folder for temporary
    files. ``documentation`` are paths below the folder ``root`` of files for a dialect without documentation
    of the user's. ``history`` are the notes on the source of the archive in the parent's METS.
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
    """A form of describing packages: a frozen value with the facts that all METS of a package share.

    It can be pickled, as other processes describe segments. The same content gives the same bytes. ``mets``
    is the name of every IP's METS, ``footprint`` the disk space besides the LOBs; ``checksum_type`` is the
    algorithm of the checksums in METS, by its name there.
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
        """Return the dialect's options from values by name (``DialectFacts.options``), or None."""
        return None

    @classmethod
    def layout(cls, version: str | None) -> Layout:
        """Return the default layout of segments for a version of SIARD, None without an archive."""
        return lobseg.LAYOUT

    @classmethod
    def layout_warnings(cls, layout: Layout, version: str | None) -> tuple[Notice, ...]:
        """Return warnings about a layout that a person chose."""
        return ()

    @abstractmethod
    def check(self, objid: str) -> None:
        """Raise ``ConfigError`` for values that METS cannot have, before anything is copied.

        ``objid`` is the parent's, or "" before it is determined.
        """

    @classmethod
    def packed_objid(cls, objid: str, options: DialectOptions | None) -> str:
        """Return the default OBJID of a parent with packed IPs, given that of one with folders."""
        return objid

    # --- places -----------------------------------------------------------------------------------------

    @classmethod
    @abstractmethod
    def parent_folder(cls, objid: str) -> str:
        """Return the folder of the parent IP, "" for the package's root."""

    @abstractmethod
    def archive_path(self, objid: str, name: str) -> str:
        """Return the path of the archive in the package ``name``, whose parent has this OBJID."""

    @abstractmethod
    def spot(self, *, number: int, index: int, parent: str, name: str, word: str, folder: str) -> SegmentSpot:
        """Return the place of a segment, and the OBJID of its METS.

        Its number is ``number`` in the plan and ``index`` in its container. ``parent`` is the parent's OBJID,
        ``name`` that of the package; by the layout, ``word`` is the segment's name in one word, and
        ``folder`` the path with which cells of its LOBs begin.
        """

    # --- a new package ----------------------------------------------------------------------------------

    @abstractmethod
    def write_child(
        self, package: Path, spot: SegmentSpot, parent: str, files: Callable[[], Iterator[PlacedRun]]
    ) -> dict[str, Hashers]:
        """Write all files of a child IP beside its LOBs; return the digests of each file by path.

        ``parent`` is its parent's OBJID; each call of ``files`` yields its files in the order of placing,
        with paths below ``spot.content``. The digests are by ``filetable.algorithms``. Raises ``TargetError``
        and ``ConfigError``.
        """

    @abstractmethod
    def write_parent(self, package: Path, content: ParentContent) -> dict[str, Hashers]:
        """Write all files of the parent IP beside the archive, as ``write_child`` does for a child."""

    # --- merging, for dialects whose facts have ``merges`` ----------------------------------------------

    @classmethod
    def adopted(
        cls,
        options: DialectOptions | None,
        root: Path,
        documents: Iterable[Names],
        representation: str | None,
        header: Iterable[Fact],
    ) -> Adopted:
        """Return those of the parent's ``documents``, below ``root``, that a merged package keeps.

        ``representation`` is the name of the divided one, or None. ``header`` are the facts of the parent's
        METS up to its header, whose terms replace the defaults of options.
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
