"""Segments in which all agrees: METS, folder, manifests and bytes of each are compared in one go.

Nearly always a child's METS lists what lies in its folder, and nothing else is to be said of it. Such files
need no row in the catalogue, and their segments are looked at beside each other. Whatever is odd about a
segment, be it right or wrong, is left to the check of each file by itself: nothing is judged here.

It saves time and nothing else. To remove it, leave out ``checking.run``'s attempt at it, and what asks a
``CheckedTree`` for its ``agreement``.
"""

from __future__ import annotations

import os
from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, chain, groupby, islice, repeat, takewhile
from math import inf
from operator import attrgetter
from pathlib import Path

from metspack.checking.catalogue import Catalogue
from metspack.checking.codes import Code
from metspack.checking.eark.document import Outline, text_of, value_of
from metspack.checking.eark.profiles import Opening
from metspack.checking.options import Looking
from metspack.digests import MANIFESTS, OCTETS
from metspack.files import reading, tempdb
from metspack.files.reading import Asked, FileRun
from metspack.mets.reader import Fact
from metspack.model import Budgets, Finding
from metspack.packages.files import names_of
from metspack.processes import HERE, Executor, Underway

FEW = 1 << 16
"""Bytes of a manifest below which there are too few files to look at them twice."""

_LINE_OF_USUAL_LENGTH = 100
_PACKED = 100  # bytes of a packed segment for each byte of the manifest that it would have
_FILES_AT_ONCE, _BYTES_AT_ONCE = 1_000, 32 << 20  # that are read together
_PACKS_AT_ONCE = 1_000
_KEPT = "what is known of segments and their files"
_NUL, _BEHIND_SLASH = b"\0", b"0"

_SCHEMA = """
CREATE TABLE look (id INTEGER PRIMARY KEY, mets BLOB, data BLOB, pack BLOB);
CREATE TABLE segment (
    folder BLOB UNIQUE, first INTEGER, mets BLOB, data BLOB, pack BLOB, size INTEGER, own TEXT, opening TEXT,
    facts TEXT, folders BLOB, files INTEGER, total INTEGER, kept TEXT, stems TEXT, outline TEXT,
    are_placed INTEGER);
CREATE INDEX segment_data ON segment (data);
CREATE INDEX segment_pack ON segment (pack) WHERE pack <> X'';
CREATE TABLE inner (path BLOB PRIMARY KEY) WITHOUT ROWID;
CREATE TABLE stem (stem TEXT PRIMARY KEY) WITHOUT ROWID;
CREATE TABLE stretch (
    folder BLOB, algorithm TEXT, start INTEGER, stop INTEGER, lines INTEGER, first BLOB, last BLOB,
    mets INTEGER, digest TEXT);
CREATE INDEX stretch_start ON stretch (algorithm, start);
CREATE TABLE released (id INTEGER PRIMARY KEY, columns INTEGER UNIQUE);
CREATE TABLE columns (
    folder BLOB, start INTEGER, ids TEXT, names BLOB, sizes BLOB, algorithms TEXT, digests BLOB);
CREATE INDEX columns_of_folder ON columns (folder, start);
CREATE TABLE length (folder BLOB, number INTEGER, length INTEGER, PRIMARY KEY (folder, number)) WITHOUT ROWID
"""

_COLUMNS = """
SELECT algorithms, digests, start, ids, names, sizes FROM columns WHERE folder = ? AND start >= ?
ORDER BY start
"""

_PUT_SEGMENT = "INSERT INTO segment VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
_SEGMENT = """
SELECT mets, data, pack, size, own, opening, facts, folders, files, total, kept, stems, outline, are_placed
FROM segment
"""
_OF_STRETCH = ("algorithm", "start", "stop", "lines", "first", "last", "mets", "digest")
_STRETCH = attrgetter(*_OF_STRETCH)
_STRETCHES_IN_ORDER = """
SELECT s.mets, t.algorithm, t.start, t.stop, t.lines, t.first, t.last, t.mets, t.digest
FROM stretch t CROSS JOIN segment s ON s.folder = t.folder WHERE t.algorithm = ? ORDER BY t.start, t.rowid
"""
_NEXT_RELEASED = """
SELECT r.id, c.folder, c.start FROM released r CROSS JOIN columns c ON c.rowid = r.columns
WHERE r.id > ? ORDER BY r.id
"""

# What an archive says in its tables and its metadata.xml, and that there is none: no file is asked for that.
_OF_NO_FILE = {
    Code.NO_SIARD.id,
    Code.MANIFEST_MISSING.id,
    Code.PARENT_NOT_HERE.id,
    Code.CELLS_WITHOUT_DIGEST.id,
    Code.CELL_WITH_BOTH.id,
    Code.ARCHIVE_DIGEST_EMPTY.id,
    Code.ARCHIVE_DIGEST_OPEN.id,
}


class Unsettled(Exception):  # noqa: N818 -- not an error: the files are looked at one by one then
    """Something is to be known of a file that was only compared with all others of its segment."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SegmentLook:
    """A segment to be looked at, by paths below the package's root, and what it is compared with.

    ``mets`` is that of its METS, ``data`` that of the folder whose files this lists: its own, or of a
    representation that below it; ``pack`` is the zip file that holds it, if one does. ``manifests`` are the
    algorithms of those that the package has. ``of_folder`` tells whether METS is looked at by itself and
    compared with the files in the folder, ``of_statements`` whether it is with manifests and metadata files.
    """

    root: Path
    mets: bytes
    data: bytes
    manifests: tuple[str, ...]
    budgets: Budgets
    pack: bytes = b""
    of_folder: bool = True
    of_statements: bool = True

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
    them, ``digest`` is what it says, "" where that line is not among them.
    """

    algorithm: str
    start: int
    stop: int
    lines: int
    first: bytes
    last: bytes
    mets: int
    digest: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AgreedColumns:
    """Some files of a segment as columns: IDs and places in METS, sizes, digests as stated.

    ``start`` is the number of the first among the segment's files, from 0. IDs have a line feed between each
    two, names a NUL; digests stand one behind the other by algorithm.
    """

    start: int
    ids: str
    names: bytes
    sizes: array[int]
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
    """A segment in which METS, folder and manifests agree; paths are as ``SegmentLook`` has them.

    ``facts`` are those of its METS without its files, ``opening`` is the METS's own, ``size`` and ``own`` are
    its bytes and digests; ``folders`` are the paths below the one of its data, ``total`` is the bytes of its
    files. Archives are not counted as files: ``kept`` has their paths and sizes, and they are known as all
    files of other folders are. ``stems`` are the IDs without their last digits. ``outline`` is that of a
    representation, whose files lie as CITS SIARD 1.0 wants LOBs of SIARD 2.2 to lie where they
    ``are_placed``.
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
    kept: tuple[tuple[bytes, int], ...]
    stems: frozenset[str]
    stretches: tuple[ManifestStretch, ...]
    outline: Outline | None
    are_placed: bool

    @property
    def folder(self) -> bytes:
        """The folder of its METS, which its files are listed from."""
        return self.mets.rpartition(b"/")[0]


def told_all_the_same(findings: Iterator[Finding]) -> list[Finding] | None:
    """Return findings that are the same however files were looked at; None when there is any other one."""
    told: list[Finding] = []
    try:
        for each in findings:
            if each.code not in _OF_NO_FILE:
                return None
            told.append(each)
    except Unsettled:
        return None
    return told


# What is compared with files of segments, or found by them: then each file has to be in the catalogue.
_NEEDING_FILES = (
    "SELECT 1 FROM cell WHERE NOT inside",  # cells of other files
    """SELECT 1 FROM entry e JOIN mets m ON m.id = e.mets
    WHERE m.parent IS NOT NULL AND e.element = 'file' AND e.path IS NOT NULL
    AND e.xml_id GLOB '*s[0-9]*.t[0-9]*.c[0-9]*'""",  # LOBs of children of other forms
    "SELECT 1 FROM disk WHERE substr(path, -12) = CAST('manifest.txt' AS BLOB)",  # beside an archive
    "SELECT 1 FROM siard WHERE substr(path, -12) = CAST('metadata.xml' AS BLOB)",  # an unpacked one
)
_OBJECTS = "SELECT path FROM object WHERE path IS NOT NULL AND path NOT IN (SELECT path FROM disk)"


def check_settled(catalogue: Catalogue, agreement: Agreement) -> None:
    """Raise ``Unsettled`` when anything in the catalogue is to be held against files of segments."""
    if any(catalogue.row(sql) is not None for sql in _NEEDING_FILES):
        raise Unsettled
    for (path,) in catalogue.rows(_OBJECTS):
        segment = agreement.holding(path)
        if segment is not None and path.startswith(segment.data + b"/"):
            raise Unsettled


LookedAt = tuple[AgreedSegment, Sequence[AgreedColumns]]
Places = Callable[[Path], Iterable[tuple[bytes, bytes, bytes]]]
"""Yields the paths of METS, data and zip file of each segment of a package, as ``SegmentLook`` has them."""
Look = Callable[[SegmentLook, Callable[[int], None]], LookedAt | None]
"""Returns what all says alike of a segment, None for one that is to be looked at closely."""


class Agreement(tempdb.Scratch):
    """The segments of a package in which all agrees, by their folders; a context manager.

    They are kept on disk, with the columns of their files; ``files`` counts these. ``is_whole`` once no
    segment was odd; ``verified`` files have the bytes that are stated.
    """

    def __init__(self, looking: Looking, executor: Executor = HERE) -> None:
        super().__init__("BEGIN", schema=_SCHEMA)
        self.is_whole = False
        self.files = self.verified = 0
        self._total = 0
        self._depth = 1  # of the folders that a path is looked for in
        self._last: AgreedSegment | None = None
        self._looking = looking
        self._root = Path()
        self._executor = executor
        self._workers = executor.workers(1)
        self._released = _Released(self, self._batches)
        self._reading: Underway[StatedBatch, int] | None = None

    @property
    def reads_bytes(self) -> bool:
        """Whether the files are to be read."""
        return self._looking.level.hashes

    def close(self) -> None:
        """Forget all."""
        self._workers.close()
        super().close()

    def look(self, package: Path, places: Places, look: Look, progress: Callable[[int], None]) -> None:
        """Look at the segments of a package, given by its folder, until one is odd.

        At none of a package that is too small to be worth it, or has no manifest, nor where less than all is
        asked for, or more.
        """
        looking = self._looking
        if not looking.is_of_every_file:
            return
        try:
            statuses = reading.statuses(package, (), MANIFESTS.values())
        except OSError:
            return  # it is told where the package is walked
        found = zip(MANIFESTS, statuses, strict=True)
        sizes = {algorithm: status[0] for algorithm, status in found if status is not None}
        if not sizes:
            return
        count, size = self._keep_looks(package, places), max(sizes.values())
        size += self._size_of_packs(package) // _PACKED
        if size < FEW:
            return
        self._root = package.absolute()
        self._start(files=size // _LINE_OF_USUAL_LENGTH, size=0)
        # Not in this process, even if there is one look alone: what is held for it goes with its process.
        is_apart = self._workers.jobs > 1
        manifests, are_halves = tuple(sizes), count < self._workers.jobs
        tasks = self._looks(manifests, are_halves=are_halves)
        begun = self._workers.begin(look, tasks, progress, is_growing=is_apart)
        again = self._looks(manifests, are_halves=are_halves)
        half: LookedAt | None = None
        for each, result in zip(again, begun.results(), strict=True):
            if result is None:
                return
            if not each.of_folder:
                half = result
                continue
            segment, columns = result
            if half is not None:
                if half[0].own != segment.own:
                    return  # METS was changed meanwhile
                segment, columns, half = replace(segment, stretches=half[0].stretches), half[1], None
            self._take(segment, columns)
        self.is_whole = count > 0

    def _keep_looks(self, package: Path, places: Places) -> int:
        """Keep the places of the segments to be looked at; returns their number."""
        found = (each for each in places(package) if not (each[2] and self.reads_bytes))
        with tempdb.explained(_KEPT):
            self._database.executemany("INSERT INTO look (mets, data, pack) VALUES (?, ?, ?)", found)
        return int(self._database.execute("SELECT count(*) FROM look").fetchone()[0])

    def _size_of_packs(self, package: Path) -> int:
        packs = (os.fsdecode(pack) for (pack,) in self.rows("SELECT pack FROM look WHERE pack <> X''"))
        size = 0
        while names := list(islice(packs, _PACKS_AT_ONCE)):
            size += sum(each[0] for each in reading.statuses(package, (), names) if each is not None)
        return size

    def _looks(self, manifests: tuple[str, ...], *, are_halves: bool) -> Iterator[SegmentLook]:
        for mets, data, pack in self.rows("SELECT mets, data, pack FROM look ORDER BY id"):
            look = SegmentLook(
                root=self._root,
                mets=mets,
                data=data,
                manifests=manifests,
                budgets=self._looking.budgets,
                pack=pack,
            )
            yield from look.shared() if are_halves else (look,)

    def take_package(self, package: AgreedSegment) -> None:
        """Take a package of one METS as one segment, in whose files nothing is to be looked for."""
        self._take(package, ())
        self.is_whole = True

    def keep_length(self, folder: bytes, number: int, length: int) -> None:
        """Keep what a cell says of a file with another number of bytes: a text may be so long."""
        with tempdb.explained(_KEPT):
            self._database.execute("INSERT OR REPLACE INTO length VALUES (?, ?, ?)", (folder, number, length))

    def begin_reading(self, progress: Callable[[int], None]) -> None:
        """Begin to read files in other processes, if bytes are looked at, once these are released.

        Where no archive is opened all are at once.
        """
        if not self.reads_bytes:
            return
        self._start(files=self.files, size=self._total)
        if self._workers.jobs > 1:
            self._reading = self._workers.begin(read_stated, self._released, progress, is_growing=True)
            if not self._looking.level.opens_archives:
                self._release_all()
                self._reading.look()

    def release(self, folder: bytes, start: int) -> None:
        """Let files be read that begin at a number: all is known that cells say of them."""
        if self._reading is not None:
            with tempdb.explained(_KEPT):
                self._released.add("SELECT rowid FROM columns WHERE folder = ? AND start = ?", folder, start)
            self._reading.look()

    def are_right(self, progress: Callable[[int], None]) -> bool:
        """Read all files, where bytes are looked at; return whether they are as stated.

        When one is not, those before it are ``verified``. The processes are let go.
        """
        if not self.reads_bytes:
            return True
        self._release_all()
        begun = self._reading or self._workers.begin(read_stated, self._released, progress)
        with self._workers:
            return self._take_verified(begun)

    def end_reading(self) -> None:
        """Let no further files be read; those that were, and are as stated, are ``verified``."""
        if self._reading is not None:
            self._released.clear()
            self._take_verified(self._reading)

    def _take_verified(self, begun: Underway[StatedBatch, int]) -> bool:
        self._reading = None
        for count in begun.results():
            if not count:
                return False
            self.verified += count
        return True

    def _release_all(self) -> None:
        with tempdb.explained(_KEPT):
            self._released.add("SELECT rowid FROM columns ORDER BY rowid")

    def verified_files(self) -> Iterator[tuple[bytes, int]]:
        """Yield path and size of each file that is as stated."""
        files = (
            (folder + b"/" + name, size)
            for _, folder, start in self.rows(_NEXT_RELEASED, 0)
            for columns in islice(self.columns(folder, start), 1)
            for name, size in zip(columns.names.split(_NUL), columns.sizes, strict=True)
        )
        return islice(files, self.verified)

    def _start(self, *, files: int, size: int) -> None:
        """Have as many processes as so much work is worth, if there are fewer."""
        jobs = self._executor.useful(self._looking.jobs, files=files, size=size)
        if jobs > self._workers.jobs:
            self._workers.close()
            self._workers = self._executor.workers(jobs)

    def _batches(self, folder: bytes, start: int) -> Iterator[StatedBatch]:
        """Yield files that are kept together, as many at a time as are read together."""
        sql = "SELECT number - ?2, length FROM length WHERE folder = ?1 AND number >= ?2 AND number < ?3"
        for columns in islice(self.columns(folder, start), 1):
            lengths = dict(self._database.execute(sql, (folder, start, columns.stop)))
            holes = self._looking.budgets.holes
            yield from _batched(self._root, folder, columns, lengths, holes)

    def _take(self, segment: AgreedSegment, columns: Iterable[AgreedColumns]) -> None:
        folder, do = segment.folder, self._database.executemany
        kept = [(os.fsdecode(path), size) for path, size in segment.kept]
        opening = segment.opening.root, segment.opening.header
        row = (
            *(folder, self.files, segment.mets, segment.data, segment.pack, segment.size),
            *map(text_of, (segment.own, opening, segment.facts)),
            *(_NUL.join(segment.folders), segment.files, segment.total, text_of(kept)),
            *(
                text_of(segment.stems),
                segment.outline and text_of(segment.outline),
                segment.are_placed,
            ),
        )
        stretches = ((folder, *_STRETCH(each)) for each in segment.stretches)
        rows = (
            (
                *(folder, each.start, each.ids, each.names, each.sizes.tobytes()),
                *(" ".join(each.digests), b"".join(each.digests.values())),
            )
            for each in columns
        )
        with tempdb.explained(_KEPT):
            do(_PUT_SEGMENT, (row,))
            do("INSERT OR IGNORE INTO inner VALUES (?)", zip(segment.folders))
            do("INSERT OR IGNORE INTO stem VALUES (?)", zip(segment.stems))
            do("INSERT INTO stretch VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", stretches)
            do("INSERT INTO columns VALUES (?, ?, ?, ?, ?, ?, ?)", rows)
        self._depth = max(self._depth, folder.count(b"/") + 2)
        self.files += segment.files
        self._total += segment.total

    def holding(self, path: bytes) -> AgreedSegment | None:
        """Return the segment that a path leads into, None for any other."""
        last = self._last  # paths mostly come segment by segment
        if last is not None and (not last.folder or path.startswith(last.folder + b"/")):
            return last
        condition, folders = self._above(path)
        return self._one(f"{condition} ORDER BY length(folder)", *folders)

    def is_held(self, path: bytes) -> bool:
        """Whether a path leads into a segment."""
        condition, folders = self._above(path)
        return self._has(f"segment WHERE {condition}", *folders)

    def _above(self, path: bytes) -> tuple[str, list[bytes]]:
        """Return the condition that a segment's folder is one of those above a path, and these."""
        ends = takewhile((-1).__ne__, accumulate(repeat(0), lambda at, _: path.find(b"/", at + 1)))
        folders = [path[:at] for at in islice(ends, self._depth)]
        return f"folder IN ({', '.join('?' * len(folders))})", folders

    def at(self, folder: bytes) -> AgreedSegment | None:
        """Return the segment with a folder, None without one."""
        return self._one("folder = ?", folder)

    def of_data(self, data: bytes) -> AgreedSegment | None:
        """Return the segment with the data in a folder, None without one."""
        return self._one("data = ?", data)

    def in_pack(self, pack: bytes) -> AgreedSegment | None:
        """Return the segment in a zip file, None without one."""
        return self._one("pack <> X'' AND pack = ?", pack)

    def _one(self, condition: str, *values: bytes) -> AgreedSegment | None:
        row = self._database.execute(f"{_SEGMENT} WHERE {condition} LIMIT 1", values).fetchone()
        if row is None:
            return None
        mets, data, pack, size, own, opening, facts, folders, files, total, kept, stems, outline = row[:13]
        self._last = AgreedSegment(
            mets=mets,
            data=data,
            pack=pack,
            size=size,
            own=value_of(own),
            opening=Opening(*value_of(opening)),
            facts=value_of(facts),
            folders=tuple(folders.split(_NUL)) if folders else (),
            files=files,
            total=total,
            kept=tuple((os.fsencode(path), each) for path, each in value_of(kept)),
            stems=frozenset(value_of(stems)),
            stretches=(),  # they are asked for by manifest
            outline=outline and value_of(outline),
            are_placed=bool(row[13]),
        )
        return self._last

    def is_inside(self, folder: bytes) -> bool:
        """Whether a folder lies in that of a segment's data."""
        return self._has("inner WHERE path = ?", folder)

    def is_above(self, folder: bytes) -> bool:
        """Whether a folder, which ends with its slash, has segments below it."""
        return self._has("segment WHERE folder >= ? AND folder < ?", folder, folder[:-1] + _BEHIND_SLASH)

    def has_stem(self, first: str, behind: str) -> bool:
        """Whether any ID, without its last digits, is from the first on and before the one behind."""
        return self._has("stem WHERE stem >= ? AND stem < ?", first, behind)

    def are_representations(self) -> bool:
        """Whether all segments are of representations."""
        return not self._has("segment WHERE outline IS NULL")

    def _has(self, what: str, *values: object) -> bool:
        return self.row(f"SELECT 1 FROM {what} LIMIT 1", *values) is not None  # noqa: S608 -- constants

    def first_of(self, folder: bytes) -> int:
        """Return how many files are in the segments before the one with a folder."""
        (first,) = self.row("SELECT first FROM segment WHERE folder = ?", folder) or (0,)
        return int(first)

    def data_folders(self) -> Iterator[tuple[bytes, Sequence[bytes], bool]]:
        """Yield of each segment the folder of its data, those in it, and whether its files are placed."""
        for data, inner, are_placed in self.rows(
            "SELECT data, folders, are_placed FROM segment ORDER BY rowid"
        ):
            yield data, inner.split(_NUL) if inner else (), bool(are_placed)

    def stretches(self, algorithm: str) -> Iterator[tuple[bytes, ManifestStretch]]:
        """Yield the stretches of a manifest in their order, each with the METS of its segment."""
        for mets, *stretch in self.rows(_STRETCHES_IN_ORDER, algorithm):
            yield mets, ManifestStretch(**dict(zip(_OF_STRETCH, stretch, strict=True)))

    def columns(self, folder: bytes, first: int = 0) -> Iterator[AgreedColumns]:
        """Yield the files of a segment in their order, some at a time, from a number of a file on.

        Raises ``Unsettled`` for a segment of whose files nothing is known.
        """
        row = None
        for row in self.rows(_COLUMNS, folder, first):
            algorithms, digests, start, ids, names, octets = row
            sizes, at, of_each = array("q", octets), 0, dict[str, bytes]()
            for name in algorithms.split(" "):
                stop = at + OCTETS[name] * len(sizes)
                of_each[name], at = digests[at:stop], stop
            yield AgreedColumns(start=start, ids=ids, names=names, sizes=sizes, digests=of_each)
        if row is None and not first:
            raise Unsettled


@dataclass(frozen=True, slots=True, kw_only=True)
class StatedBatch:
    """Files that are read together, and what is stated of all: sizes, digests one behind the other.

    ``lengths`` are those of texts, by the file's number in the batch, in units that nobody states.
    """

    runs: tuple[FileRun, ...]
    sizes: array[int]
    digests: Mapping[str, str]
    lengths: Mapping[int, int]


class _Released(Iterator[StatedBatch]):
    """The files that may be read, in the order in which they were added; goes on when there are more."""

    def __init__(self, kept: tempdb.Scratch, batches: Callable[[bytes, int], Iterator[StatedBatch]]) -> None:
        self._kept = kept
        self._batches = batches
        self._last: float = 0
        self._next: Iterator[StatedBatch] = iter(())

    def add(self, columns: str, *values: object) -> None:
        """Add files by a query for their columns, unless they were added before."""
        self._kept.put(f"INSERT OR IGNORE INTO released (columns) {columns}", *values)

    def clear(self) -> None:
        """Drop those that were not given out."""
        self._last = inf
        self._next = iter(())

    def __next__(self) -> StatedBatch:
        while (found := next(self._next, None)) is None:
            row = self._kept.row(f"{_NEXT_RELEASED} LIMIT 1", self._last)
            if row is None:
                raise StopIteration
            self._last = row[0]
            self._next = self._batches(*row[1:])
        return found


def _batched(
    root: Path, folder: bytes, columns: AgreedColumns, lengths: Mapping[int, int], holes: int
) -> Iterator[StatedBatch]:
    """Yield some files of a segment, as many at a time as are read together."""
    names = [os.fsdecode(name) for name in columns.names.split(_NUL)]
    start = 0
    while start < len(names):
        ends = takewhile(_BYTES_AT_ONCE.__ge__, accumulate(columns.sizes[start : start + _FILES_AT_ONCE]))
        stop = start + max(1, sum(1 for _ in ends))
        numbers = range(start, stop)
        runs = (
            FileRun(
                root=root,
                folder=(*names_of(folder), *(inner.split("/") if inner else ())),
                names="/".join(names[each].rpartition("/")[2] for each in some),
                asked=Asked(algorithms=tuple(columns.digests), as_text=is_text, holes=holes),
            )
            for (inner, is_text), some in groupby(
                numbers, lambda each: (names[each].rpartition("/")[0], each in lengths)
            )
        )
        yield StatedBatch(
            runs=tuple(runs),
            sizes=columns.sizes[start:stop],
            digests={
                name: values[start * OCTETS[name] : stop * OCTETS[name]].hex()
                for name, values in columns.digests.items()
            },
            lengths={each - start: lengths[each] for each in numbers if each in lengths},
        )
        start = stop


def read_stated(batch: StatedBatch, moved: Callable[[int], None]) -> int:
    """Read the files of a batch; return their number, 0 when one of them is not as stated."""
    found = reading.hash_runs(batch.runs, moved)
    sizes = array("q", chain.from_iterable(run.sizes for run in found))
    digests = {name: "".join([run.digests[name] for run in found]) for name in batch.digests}
    is_right = sizes == batch.sizes and digests == batch.digests
    if is_right and batch.lengths:
        outcomes = [run.outcome(number) for run in found for number in range(len(run.sizes))]
        texts = {each: getattr(outcomes[each], "text", None) for each in batch.lengths}
        is_right = all(
            text is not None and text.unit(batch.lengths[each]) is not None for each, text in texts.items()
        )
    return len(sizes) if is_right else 0
