"""Values that pass from stage to stage: LOBs, limits, segments, findings.

Sizes and offsets are bytes. Rows are counted from 1, schemas and tables by the number in their folder,
segments from 0 (recommendation 0.28 §5.1). The module imports no other one of metspack.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from enum import Enum, unique
from functools import total_ordering
from operator import attrgetter
from typing import Any, ClassVar, NamedTuple, Self, cast


@dataclass(frozen=True, slots=True, kw_only=True)
class Digest:
    """A message digest: METS algorithm name (``MD5``, ``SHA-256`` ...) and lower-case hex."""

    algorithm: str
    value: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LobPlace:
    """A LOB's place in the database; ``cell`` is the path of tags below a row (``c3.u2.u3``)."""

    schema: int
    table: int
    cell: str
    row: int

    @property
    def id(self) -> str:
        """The LOB's identifier, an NCName: ``s0.t2.c4.r1`` (recommendation 0.16, child METS)."""
        return f"s{self.schema}.t{self.table}.{self.cell}.r{self.row}"


def number_of(cell: str) -> int:
    """Return the number of the column that a cell is in."""
    return int(cell.partition(".")[0][1:])


@dataclass(frozen=True, slots=True, kw_only=True)
class LobCell:
    """A table cell with a ``file`` attribute, and its attributes as they are written.

    ``file`` is the attribute's value, undecoded; ``length`` is bytes for binary and characters for
    text (SIARD 2.2 T_6.2-1), None when absent; ``digest`` is None when absent.
    """

    place: LobPlace
    file: str
    length: int | None = None
    digest: Digest | None = None


SMALL = 1 << 20
"""The most bytes of a LOB in a run."""

LONGEST = 1_000
"""The most LOBs in a run."""


class Columnar:
    """A data class of columns: the fields ``OF_EACH``. The first is complete, others may be empty."""

    __slots__ = ()

    OF_EACH: ClassVar[tuple[str, ...]]

    def __len__(self) -> int:
        return len(getattr(self, self.OF_EACH[0]))

    def __getitem__(self, which: slice) -> Self:
        """Return the same slice of all columns."""
        some: Self = replace(cast("Any", self), **{name: getattr(self, name)[which] for name in self.OF_EACH})
        return some


@dataclass(frozen=True, slots=True, kw_only=True)
class CellRun(Columnar):
    """LOB cells of one column in consecutive rows with the same attributes, as columns.

    Columns have one length; ``lengths`` and ``digests`` are empty for cells without. ``algorithm`` is that of
    the digests. ``starts`` are the offsets of the cells' start tags in the table's document.
    """

    schema: int
    table: int
    cell: str
    algorithm: str | None
    rows: Sequence[int]
    files: Sequence[str]
    lengths: Sequence[int]
    digests: Sequence[str]
    starts: Sequence[int]

    OF_EACH = ("rows", "files", "lengths", "digests", "starts")

    @property
    def id_stem(self) -> str:
        """The identifiers of the LOBs without their rows: ``s0.t2.c4.r``."""
        return f"s{self.schema}.t{self.table}.{self.cell}.r"

    def place(self, number: int) -> LobPlace:
        """Return the place of one of the cells, by its place in the run from 0."""
        return LobPlace(schema=self.schema, table=self.table, cell=self.cell, row=self.rows[number])

    def at(self, number: int) -> LobCell:
        """Return one of the cells, by its place in the run from 0."""
        return LobCell(
            place=self.place(number),
            file=self.files[number],
            length=self.lengths[number] if self.lengths else None,
            digest=_digest(self.algorithm, self.digests, number),
        )

    def cells(self) -> Iterator[LobCell]:
        """Yield the cells one by one."""
        return map(self.at, range(len(self.rows)))


@dataclass(frozen=True, slots=True, kw_only=True)
class ZipExtent:
    """The extent of a zip entry's bytes: enough to read it with the archive's descriptor alone.

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
    """The number of the source's zip file: 0 is the SIARD archive, others are packed segments."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FileExtent:
    """A file that holds a LOB or a part of one: its path below a granted root of a source.

    ``modified`` (nanoseconds), ``inode`` and ``device`` identify the file that was found; an inode is unique
    only on its device. With ``offset`` the extent is ``size`` bytes of the file at ``path``, packed there
    uncompressed.
    """

    root: int
    path: tuple[str, ...]
    size: int
    modified: int
    inode: int
    device: int
    offset: int | None = None


Extent = ZipExtent | FileExtent
"""The extent of a LOB's bytes, to be read with the source's ``ByteSources``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Proofs:
    """Digests of a LOB's bytes that METS has: of the whole, and of each of its extents.

    None where METS has no digest; ``extents`` is empty where METS has no digest of any extent.
    """

    whole: Digest | None = None
    extents: tuple[Digest | None, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class LobRef:
    """A located LOB: its cell, its size in bytes, and the extents of its bytes in order.

    ``entries`` are the names of its entries in the archive, empty for a LOB outside; ``proofs`` and the media
    type ``recorded`` are those of METS where the LOB comes from a package.
    """

    cell: LobCell
    size: int
    extension: str
    media_type: str
    extents: tuple[Extent, ...]
    entries: tuple[str, ...] = ()
    proofs: Proofs = Proofs()
    recorded: str | None = None

    @property
    def place(self) -> LobPlace:
        """The LOB's place in the database."""
        return self.cell.place

    @property
    def file(self) -> FileExtent | None:
        """The file that holds just this LOB, None for a LOB in parts or inside a file."""
        first = self.extents[0]
        is_whole = len(self.extents) == 1 and first.size == self.size
        return first if is_whole and isinstance(first, FileExtent) and first.offset is None else None

    @property
    def shared(self) -> RunShared:
        """The values that LOBs in one run have in common, with this LOB's first extent."""
        first, cell, proof = self.extents[0], self.cell, self.proofs.whole
        source, folders, _ = _place(first)
        return RunShared(
            schema=cell.place.schema,
            table=cell.place.table,
            cell=cell.place.cell,
            extension=self.extension,
            media_type=self.media_type,
            recorded=self.recorded,
            digest=None if cell.digest is None else cell.digest.algorithm,
            proof=None if proof is None else proof.algorithm,
            is_measured=cell.length is not None,
            source=source,
            folders=folders,
        )

    @property
    def detail(self) -> LobDetail | None:
        """The values that columns lack, None for a small LOB whose bytes are one file or entry."""
        first = self.extents[0]
        is_plain = (
            len(self.extents) == 1
            and first.size == self.size <= SMALL
            and (isinstance(first, ZipExtent) or first.offset is None)
            and not self.proofs.extents
        )
        return None if is_plain else LobDetail(self.extents, self.proofs.extents)


class LobDetail(NamedTuple):
    """The values that columns lack of a LOB: all its extents, and their digests in METS."""

    extents: tuple[Extent, ...]
    proofs: tuple[Digest | None, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class RunShared:
    """The values that the LOBs of a run have in common.

    ``digest`` and ``proof`` are the algorithms of the digests in cells and in METS, None without any;
    ``is_measured``: all cells have a length, or all lack it. ``folders`` are those of all files below root
    ``source``; None for entries of zip file ``source``.
    """

    schema: int
    table: int
    cell: str
    extension: str
    media_type: str
    recorded: str | None = None
    digest: str | None = None
    proof: str | None = None
    is_measured: bool = False
    source: int = 0
    folders: tuple[str, ...] | None

    @property
    def mets_type(self) -> str:
        """The media type that METS states, or will state."""
        return self.media_type if self.recorded is None else self.recorded


ExtentColumns = tuple[list[int], list[list[Any]]]
"""Sizes of extents, and the columns of their other values, as in a ``LobRun``."""

OF_ENTRY = ("name", "offset", "limit", "compressed", "crc", "method", "flags")
"""The columns of the extents of entries in a ``LobRun``."""

_of_entry = attrgetter(*OF_ENTRY)


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """A piece of a split LOB: its number from 0, and its bytes as offset in the LOB and size."""

    number: int
    offset: int
    size: int
    is_last: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class LobRun(Columnar):
    """Consecutive LOBs of one column: columns of one length.

    At most ``LONGEST``, each whole, in one extent and of at most ``SMALL`` bytes. Any other LOB is a run of
    one with a ``detail``, and its first extent in the columns; with ``part`` the run is that piece of it.
    ``files`` are the cells' attributes of that name; ``entries`` the names of their entries in the archive,
    empty for LOBs outside it. ``extents`` are the columns of the extents' values beside their sizes: name,
    modified, inode and device of files; name, offset, limit, compressed, crc, method and flags of entries.
    ``lengths`` are the cells', empty if absent or equal to the sizes of the LOBs; ``digests`` and
    ``proofs`` are empty where ``shared`` has no algorithm for them. ``paths`` are those of their files where
    the layout does not decide.
    """

    shared: RunShared
    rows: Sequence[int]
    files: Sequence[str]
    sizes: Sequence[int]
    lengths: Sequence[int | None] = ()
    digests: Sequence[str] = ()
    proofs: Sequence[str] = ()
    extents: Sequence[Sequence[Any]]
    entries: Sequence[str] = ()
    paths: Sequence[str] = ()
    detail: LobDetail | None = None
    part: Part | None = None

    OF_EACH = ("rows", "files", "sizes", "lengths", "digests", "proofs", "entries", "paths")

    @classmethod
    def of(cls, lobs: Sequence[LobRef]) -> Self:
        """Return a run of LOBs with the same ``shared``; a LOB with a ``detail`` is a run of one."""
        firsts = [lob.extents[0] for lob in lobs]
        are_sizes = all(lob.cell.length in {None, lob.size} for lob in lobs)
        return cls(
            shared=lobs[0].shared,
            rows=[lob.place.row for lob in lobs],
            files=[lob.cell.file for lob in lobs],
            sizes=[lob.size for lob in lobs],
            lengths=[] if are_sizes else [lob.cell.length for lob in lobs],
            digests=[lob.cell.digest.value for lob in lobs if lob.cell.digest],
            proofs=[lob.proofs.whole.value for lob in lobs if lob.proofs.whole],
            extents=list(map(list, zip(*map(_column_values, firsts), strict=True))),
            entries=tuple(name for lob in lobs for name in lob.entries),
            detail=lobs[0].detail,
        )

    def __getitem__(self, which: slice) -> Self:
        """Return a slice of the LOBs."""
        if len(range(len(self))[which]) == len(self):
            return self
        return replace(Columnar.__getitem__(self, which), extents=[column[which] for column in self.extents])

    @property
    def place(self) -> LobPlace:
        """The place of the first of the LOBs."""
        shared = self.shared
        return LobPlace(schema=shared.schema, table=shared.table, cell=shared.cell, row=self.rows[0])

    @property
    def bytes(self) -> int:
        """The sizes of all LOBs together, or that of the part."""
        return sum(self.sizes) if self.part is None else self.part.size

    @property
    def is_apart(self) -> bool:
        """True for one LOB, or a part of one, that columns alone cannot describe."""
        return self.detail is not None or self.part is not None

    @property
    def is_continued(self) -> bool:
        """True for the second or a later part of a LOB."""
        return self.part is not None and self.part.number > 0

    @property
    def stated_lengths(self) -> Sequence[int | None]:
        """The lengths in the cells, or None for those without."""
        return self.lengths or (self.sizes if self.shared.is_measured else [None] * len(self))

    @property
    def stated(self) -> list[tuple[str, Sequence[str]]]:
        """The algorithms of the digests in cells and in METS, each with its digests."""
        given = ((self.shared.digest, self.digests), (self.shared.proof, self.proofs))
        return [(name, values) for name, values in given if name is not None]

    def places(self) -> Iterator[tuple[int, tuple[str, ...] | None, Sequence[str]]]:
        """Yield the files or entries that hold the LOBs: their source, folders (None: entries) and names."""
        together = [(self.shared.source, self.shared.folders, self.extents[0])]
        return iter(together) if self.detail is None else map(_place, self.detail.extents)

    @property
    def starts(self) -> Sequence[Any]:
        """The offsets in the zip file at which the LOBs begin, or the names of their files."""
        if self.detail is not None and isinstance(first := self.detail.extents[0], FileExtent):
            return [first.path[-1] if first.offset is None else f"{first.path[-1]}/{first.offset:020}"]
        return self.extents[0 if self.shared.folders is not None else 1]

    @property
    def compressed(self) -> int:
        """The bytes of their entries in the archive, 0 of files."""
        return sum(self.of_entries("compressed"))

    def of_entries(self, name: str) -> Sequence[int]:
        """Return a value (``OF_ENTRY``) of each entry that the LOBs are in; empty for files."""
        if self.shared.folders is not None:
            return ()
        if self.detail is not None:
            found = zip(self.detail.extents, self.places(), strict=True)
            return [getattr(each, name) for each, (archive, *_) in found if archive == self.shared.source]
        return self.extents[OF_ENTRY.index(name)]

    @property
    def id_stem(self) -> str:
        """The identifiers of the LOBs without their rows: ``s0.t2.c4.r``."""
        return self.place.id.removesuffix(str(self.rows[0]))

    def ids(self) -> list[str]:
        """Return the identifiers of the LOBs, or the part's: ``s0.t2.c4.r15.p0``."""
        stem, end = self.id_stem, "" if self.part is None else f".p{self.part.number}"
        return [f"{stem}{row}{end}" for row in self.rows]

    def lobs(self) -> Iterator[LobRef]:
        """Yield the LOBs one by one."""
        return map(self.lob, range(len(self.rows)))

    def extent(self, number: int) -> Extent:
        """Return the first extent of one of the LOBs, by its place in the run from 0."""
        if self.detail is not None:
            return self.detail.extents[0]
        shared, size = self.shared, self.sizes[number]
        name, *others = (column[number] for column in self.extents)
        if shared.folders is None:
            values = dict(zip(OF_ENTRY[1:], others, strict=True))
            return ZipExtent(name=name, **values, size=size, archive=shared.source)
        values = dict(zip(("modified", "inode", "device"), others, strict=True))
        return FileExtent(root=shared.source, path=(*shared.folders, name), size=size, **values)

    def lob(self, number: int) -> LobRef:
        """Return one of the LOBs, by its place in the run from 0."""
        shared, detail = self.shared, self.detail
        cell = LobCell(
            place=replace(self.place, row=self.rows[number]),
            file=self.files[number],
            length=self.stated_lengths[number],
            digest=_digest(shared.digest, self.digests, number),
        )
        return LobRef(
            cell=cell,
            size=self.sizes[number],
            extension=shared.extension,
            media_type=shared.media_type,
            extents=(self.extent(number),) if detail is None else detail.extents,
            entries=tuple(self.entries[number : number + 1] if detail is None else self.entries),
            proofs=Proofs(
                whole=_digest(shared.proof, self.proofs, number),
                extents=() if detail is None else detail.proofs,
            ),
            recorded=shared.recorded,
        )


def _place(extent: Extent) -> tuple[int, tuple[str, ...] | None, Sequence[str]]:
    """Return the number of an extent's source, its folders (None: an entry) and its name."""
    if isinstance(extent, ZipExtent):
        return extent.archive, None, (extent.name,)
    return extent.root, extent.path[:-1], extent.path[-1:]


def _column_values(extent: Extent) -> tuple[Any, ...]:
    """Return the values of an extent that a run keeps in columns."""
    if isinstance(extent, ZipExtent):
        return _of_entry(extent)
    return extent.path[-1], extent.modified, extent.inode, extent.device


def _digest(algorithm: str | None, values: Sequence[str], number: int) -> Digest | None:
    return None if algorithm is None else Digest(algorithm=algorithm, value=values[number])


class Notice(str):
    """A warning for people; ``id`` is that of its kind, for programs."""

    __slots__ = ("id",)

    id: str

    def __new__(cls, id_: str, words: str) -> Self:
        """Return the words as a warning of a kind."""
        made = super().__new__(cls, words)
        made.id = id_
        return made

    def __getnewargs__(self) -> tuple[str, str]:  # type: ignore[override]
        return self.id, str(self)


def noticed(warnings: Iterable[Notice]) -> dict[str, list[str]]:
    """Return warnings and the ids of their kinds as members of a JSON object."""
    found = [*warnings]
    return {"warnings": [*map(str, found)], "warning_ids": [each.id for each in found]}


@unique
class LinkMode(Enum):
    """Treatment of LOBs that are whole files: ``COPY``, or ``HARDLINK``, a second name."""

    COPY = "copy"
    HARDLINK = "hardlink"


@unique
class ClosedBy(Enum):
    """The reason why a segment is closed.

    ``SPLIT``: there was room left, but the parts of a split LOB share their segments with no other LOB.
    ``END``: no more LOBs are to come for it.
    """

    FILES = "file limit"
    BYTES = "byte limit"
    SPLIT = "split LOB"
    END = "end"


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedSegment:
    """A closed segment: its number from 0 in its container, files, bytes, and why it was closed.

    ``first`` and ``last`` are the ids of its first and last file, each a LOB or a part.
    """

    container: str = ""
    index: int
    first: str
    last: str
    files: int
    bytes: int
    closed_by: ClosedBy


@unique
@total_ordering
class Severity(Enum):
    """The severity of a finding; the worse is the greater. ``INFO`` never makes a check fail."""

    ERROR = "error"
    WARNING = "warning"
    INFO = "info"

    def __lt__(self, other: object) -> bool:
        """Return whether this is less severe."""
        if not isinstance(other, Severity):
            return NotImplemented
        return list(Severity).index(self) > list(Severity).index(other)  # the worst comes first


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """The explanation of a code or requirement: its meaning, its clause and its remedy.

    ``example`` is the XML, or the paths, to write for a requirement; empty without one.
    """

    code: str
    title: str
    severity: Severity
    meaning: str
    clause: str
    remedy: str
    example: str = ""

    def to_json(self) -> dict[str, object]:
        """Return the explanation as data for JSON, as ``metspack explain --json`` has it."""
        return {**asdict(self), "severity": self.severity.value, "example": self.example or None}


MOST_PLACES = 10_000
"""The most places that one finding has; its ``count`` includes all others."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FindingPlace:
    """Another place of a finding: file, line and a narrower place, as ``Finding`` has them."""

    path: str
    line: int = 0
    place: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """A fault of a package, or a remark on it.

    ``path`` is the file concerned, relative to the package root with ``/``; ``line`` counts from 1, 0
    without a line; ``place`` narrows it further (an id, a cell). ``facts`` are the values from which the
    message was made, as sorted pairs. ``requirement`` is the requirement of E-ARK concerned (``CSIP60``),
    or empty. One cause in many places is one finding: ``count`` is the number of places, ``others`` are
    those beside the first, at most ``MOST_PLACES`` in all.
    """

    code: str
    severity: Severity
    path: str
    line: int = 0
    place: str = ""
    message: str
    facts: tuple[tuple[str, str], ...] = ()
    requirement: str = ""
    count: int = 1
    others: tuple[FindingPlace, ...] = ()

    @property
    def explanation(self) -> Explanation:
        """The explanation of the finding's code or requirement."""
        return _EXPLAINED[-1](self)

    @property
    def title(self) -> str:
        """The fault in a few words, the same for every finding of the kind."""
        return self.explanation.title

    @property
    def clause(self) -> str:
        """The clause of a standard, or the rule, that is broken."""
        return self.explanation.clause

    @property
    def remedy(self) -> str:
        """The action that removes the finding's cause."""
        return self.explanation.remedy


_EXPLAINED: list[Callable[[Finding], Explanation]] = []


def explain_by(explained: Callable[[Finding], Explanation]) -> None:
    """Set the function that explains findings; the catalogue of codes provides it."""
    _EXPLAINED.append(explained)
