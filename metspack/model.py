"""The values that flow from stage to stage; imports nothing of metspack.

Sizes and offsets are bytes. Rows are counted from 1, schemas and tables by the
number in their folder, segments from 0 (recommendation 0.28 §5.1).
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, unique


@dataclass(frozen=True, slots=True, kw_only=True)
class Digest:
    """A message digest: METS algorithm name (``MD5``, ``SHA-1``, ``SHA-256`` ...) and lower-case hex."""

    algorithm: str
    value: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LobPlace:
    """Where a LOB stands in the database: ``cell`` is the path of tags below the row (``c3.u2.u3``)."""

    schema: int
    table: int
    cell: str
    row: int

    @property
    def id(self) -> str:
        """The LOB's identifier, an NCName: ``s0.t2.c4.r1`` (recommendation 0.16, child METS)."""
        return f"s{self.schema}.t{self.table}.{self.cell}.r{self.row}"


@dataclass(frozen=True, slots=True, kw_only=True)
class LobCell:
    """A table cell with a ``file`` attribute, as it is written there.

    ``file`` is the attribute's value, undecoded; ``length`` is bytes for binary and characters for
    text (SIARD 2.2 T_6.2-1), None when absent; ``digest`` is None when the cell has none.
    """

    place: LobPlace
    file: str
    length: int | None
    digest: Digest | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ZipExtent:
    """Where a zip entry's bytes lie: enough to read it with the archive's descriptor and nothing else.

    ``offset`` is the local header's; ``limit`` the first byte that no longer belongs to the entry
    (the next local header or the central directory).
    """

    name: str
    offset: int
    limit: int
    compressed: int
    size: int
    crc: int
    method: int
    flags: int
    archive: int = 0
    """Which of a source's zip files: 0 is the SIARD archive, others are packed segments."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FileExtent:
    """A whole file that holds a LOB or a part of one: its segments below one of a source's granted roots.

    ``modified`` (nanoseconds) and ``inode`` tell whether it is still the file that was found.
    """

    root: int
    path: tuple[str, ...]
    size: int
    modified: int
    inode: int


@dataclass(frozen=True, slots=True, kw_only=True)
class LobRef:
    """A LOB found: its cell, its size in bytes, and where its bytes are."""

    cell: LobCell
    size: int
    extension: str
    media_type: str
    extent: ZipExtent

    @property
    def place(self) -> LobPlace:
        """The LOB's place in the database."""
        return self.cell.place


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What a segment may hold; None is no limit. Equal to the limit still fits.

    Raises ValueError for a limit below 1.
    """

    files: int | None = None
    bytes: int | None = None

    def __post_init__(self) -> None:
        for limit in (self.files, self.bytes):
            if limit is not None and limit < 1:
                raise ValueError(f"a limit is at least 1, not {limit}")


@unique
class ClosedBy(Enum):
    """Why a segment takes no more LOBs."""

    FILES = "file limit"
    BYTES = "byte limit"
    END = "end"


@dataclass(frozen=True, slots=True, kw_only=True)
class Slot:
    """A LOB's place in a segment."""

    segment: int
    lob: LobRef


@dataclass(frozen=True, slots=True, kw_only=True)
class Segment:
    """A closed segment: number from 0, first and last LOB, files and bytes, and what closed it."""

    index: int
    first: str
    last: str
    files: int
    bytes: int
    closed_by: ClosedBy


@unique
class Severity(Enum):
    """How bad a finding is. ``INFO`` never makes a check fail."""

    ERROR = "error"
    WARNING = "warning"
    INFO = "info"


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """Something that is wrong with a package.

    ``path`` is the file it is about, relative to the package root with ``/``; ``line`` counts from 1,
    0 when it means nothing; ``place`` narrows it further (an id, a cell). ``facts`` are the values
    the message was made from, as sorted pairs.
    """

    code: str
    severity: Severity
    path: str
    line: int = 0
    place: str = ""
    message: str
    facts: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Budgets:
    """How much a source may ask of the reader before it is refused as hostile or damaged.

    ``ratio`` is size over compressed size of one zip entry (deflate cannot reach 1,100);
    ``depth`` counts nested XML elements; ``attribute`` and ``metadata`` are bytes.
    """

    entries: int = 200_000_000
    ratio: int = 1_100
    depth: int = 100
    attribute: int = 1 << 20
    metadata: int = 1 << 30
