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
from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, fields
from itertools import accumulate, chain, groupby, islice, takewhile
from pathlib import Path
from typing import TypeVar

from metspack import processes, safexml
from metspack.checking.catalogue import Catalogue, are_usual
from metspack.checking.codes import Code
from metspack.checking.mets import grammar, schema
from metspack.checking.mets.references import References
from metspack.checking.options import Looking
from metspack.containers.ipreader import Content
from metspack.digests import MANIFESTS, OCTETS
from metspack.errors import MetspackError
from metspack.files import reading, tempdb, walking
from metspack.files.reading import Asked, FileRun
from metspack.layouts.names import SEGMENT
from metspack.mets import PLAIN_METS, is_mets_name
from metspack.mets.fastreader import Run, SinkBeside, condensed
from metspack.mets.links import Mptr
from metspack.mets.reader import Fact, File, Fptr, Identified
from metspack.model import Budgets, Finding
from metspack.packages.files import FolderTree, names_of
from metspack.packages.metsfiles import has_archive, may_lead, plain_files

MOST_FILES = 25_000
"""Files of a segment that is looked at in one go, whose names are held in memory."""

FEW = 1 << 16
"""Bytes of a manifest below which there are too few files to look at them twice."""

_MOST_FACTS = 200
_DEEPEST = 4  # folders above a segment's
_MOST_FOLDERS = 100_000
_LINE_OF_USUAL_LENGTH = 100
_LINES_AT_ONCE = 1_000
_FILES_AT_ONCE, _BYTES_AT_ONCE = 1_000, 32 << 20  # that are read together
_KEPT = "what is known of a segment's files"
_LINE = 1 << 13  # bytes that hold a line of a manifest, as a path is no longer than 4,096
_HEXADECIMAL = b"0123456789abcdef"
_METS = PLAIN_METS.encode()
_COLUMNS = tuple(
    each.name for each in fields(File) if each.name in {"id", "checksum", "checksum_type", "href", "size"}
)
_PLAIN_FILE = {"element": "file", "groupid": None, "seq": None, "embedded": False, "others": ()}

_SCHEMA = """
CREATE TABLE columns (folder BLOB PRIMARY KEY, ids TEXT, names BLOB, sizes BLOB, digests TEXT) WITHOUT ROWID;
CREATE TABLE length (folder BLOB, number INTEGER, length INTEGER, PRIMARY KEY (folder, number)) WITHOUT ROWID
"""

# What an archive says in its tables and its metadata.xml, and that there is none: no file is asked for that.
_OF_NO_FILE = {
    Code.NO_SIARD.id,
    Code.CELLS_WITHOUT_DIGEST.id,
    Code.CELLS_WITHOUT_LENGTH.id,
    Code.CELL_WITH_BOTH.id,
    Code.CELLS_ABSENT.id,
    Code.TABLE_FORM.id,
    Code.METADATA_FORM.id,
    Code.ARCHIVE_DIGEST_EMPTY.id,
    Code.ARCHIVE_DIGEST_OPEN.id,
}
_Value = TypeVar("_Value")


class Unsettled(Exception):  # noqa: N818 -- not an error: the files are looked at one by one then
    """Something is to be known of a file that was only compared with all others of its segment."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SegmentLook:
    """A segment to be looked at: its folder below the package's root, and what it is compared with.

    ``manifests`` are the algorithms of those that the package has.
    """

    root: Path
    folder: bytes
    manifests: tuple[str, ...]
    budgets: Budgets


@dataclass(frozen=True, slots=True, kw_only=True)
class ManifestStretch:
    """The lines of a segment's files in a manifest, from ``start`` to ``stop`` in bytes.

    Their paths are from ``first`` to ``last``; ``mets`` is the number from 0 of the line of the METS among
    them, ``digest`` is what it says.
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
    """The files of a segment as columns: IDs in METS, names below its folder, sizes, digests as stated.

    IDs have a line feed between each two, names a NUL; digests stand one behind the other by algorithm.
    """

    ids: str
    names: bytes
    sizes: array[int]
    digests: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class AgreedSegment:
    """A segment in which METS, folder and manifests agree.

    ``facts`` are those of its METS without its files, ``size`` the METS's own in bytes; ``folders`` are the
    paths below its own, ``total`` is the bytes of its files; ``stems`` are the IDs without their last digits.
    """

    folder: bytes
    size: int
    facts: tuple[Fact, ...]
    folders: tuple[bytes, ...]
    files: int
    total: int
    stems: frozenset[str]
    stretches: tuple[ManifestStretch, ...]

    @property
    def mets(self) -> bytes:
        """The path of its METS."""
        return self.folder + b"/" + _METS


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


class _OddError(Exception):
    """Something of a segment is to be looked at closely."""


# What is compared with files of segments, or found by them: then each file has to be in the catalogue.
_NEEDING_FILES = (
    "SELECT 1 FROM reference",  # metadata files
    "SELECT 1 FROM cell WHERE NOT inside",  # cells of other files
    """SELECT 1 FROM entry e JOIN mets m ON m.id = e.mets
    WHERE m.parent IS NOT NULL AND e.element = 'file' AND e.path IS NOT NULL""",  # children of other forms
    "SELECT 1 FROM disk WHERE substr(path, -12) = CAST('manifest.txt' AS BLOB)",  # beside an archive
    "SELECT 1 FROM siard WHERE substr(path, -12) = CAST('metadata.xml' AS BLOB)",  # an unpacked one
)


def check_settled(catalogue: Catalogue) -> None:
    """Raise ``Unsettled`` when anything in the catalogue is to be held against files of segments."""
    if any(catalogue.row(sql) is not None for sql in _NEEDING_FILES):
        raise Unsettled


LookedAt = tuple[AgreedSegment, AgreedColumns]


class Agreement(tempdb.Scratch):
    """The segments of a package in which all agrees, by their folders; a context manager.

    Their columns are kept on disk. ``is_whole`` once no segment was odd; ``verified`` files have the bytes
    that are stated.
    """

    def __init__(self, looking: Looking) -> None:
        super().__init__("BEGIN", schema=_SCHEMA)
        self.segments: dict[bytes, AgreedSegment] = {}
        self.is_whole = False
        self.verified = 0
        self._looking = looking
        self._root = Path()
        self._workers = processes.Workers(1)

    @property
    def reads_bytes(self) -> bool:
        """Whether the files are to be read."""
        return self._looking.level.hashes

    def close(self) -> None:
        """Forget all."""
        self._workers.close()
        super().close()

    def look(self, package: Path, progress: Callable[[int], None]) -> None:
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
        size = max(sizes.values(), default=0)
        if size < FEW:
            return
        looks = (
            SegmentLook(root=package, folder=folder, manifests=tuple(sizes), budgets=looking.budgets)
            for folder in _segments(package)
        )
        self._root = package
        self._start(files=size // _LINE_OF_USUAL_LENGTH, size=0)
        for each in self._workers.results(look_at, looks, progress):
            if each is None:
                return
            self._take(*each)
        self.is_whole = bool(self.segments)

    def keep_length(self, folder: bytes, number: int, length: int) -> None:
        """Keep what a cell says of a file with another number of bytes: a text may be so long."""
        with tempdb.explained(_KEPT):
            self._database.execute("INSERT OR REPLACE INTO length VALUES (?, ?, ?)", (folder, number, length))

    def are_right(self, progress: Callable[[int], None]) -> bool:
        """Read all files, where bytes are looked at; return whether they are as stated.

        When one is not, those before it are ``verified``.
        """
        if not self.reads_bytes:
            return True
        self._start(files=self.files, size=sum(each.total for each in self.segments.values()))
        for count in self._workers.results(read_stated, self._batches(), progress):
            if not count:
                return False
            self.verified += count
        return True

    def verified_files(self) -> Iterator[tuple[bytes, int]]:
        """Yield path and size of each file that is as stated."""
        files = (
            (folder + b"/" + name, size)
            for folder in self.segments
            for columns in (self.columns(folder),)
            for name, size in zip(columns.names.split(b"\0"), columns.sizes, strict=True)
        )
        return islice(files, self.verified)

    def _start(self, *, files: int, size: int) -> None:
        """Have as many processes as so much work is worth, if there are fewer."""
        jobs = processes.useful(self._looking.jobs, files=files, size=size)
        if jobs > self._workers.jobs:
            self._workers.close()
            self._workers = processes.Workers(jobs)

    def _batches(self) -> Iterator[StatedBatch]:
        """Yield all files in their order, some at a time."""
        sql = "SELECT number, length FROM length WHERE folder = ?"
        for folder in self.segments:
            columns = self.columns(folder)
            lengths = dict(self._database.execute(sql, (folder,)))
            yield from _batched(self._root, folder, columns, lengths)

    def _take(self, segment: AgreedSegment, columns: AgreedColumns) -> None:
        self.segments[segment.folder] = segment
        digests = "\n".join(f"{name} {values}" for name, values in columns.digests.items())
        row = (segment.folder, columns.ids, columns.names, columns.sizes.tobytes(), digests)
        with tempdb.explained(_KEPT):
            self._database.execute("INSERT INTO columns VALUES (?, ?, ?, ?, ?)", row)

    @property
    def files(self) -> int:
        """The number of files."""
        return sum(each.files for each in self.segments.values())

    def holding(self, path: bytes) -> AgreedSegment | None:
        """Return the segment that a path leads into, None for any other."""
        at = path.find(b"/")
        while at >= 0:
            if (found := self.segments.get(path[:at])) is not None:
                return found
            at = path.find(b"/", at + 1)
        return None

    def stretches(self, algorithm: str) -> list[tuple[AgreedSegment, ManifestStretch]]:
        """Return the stretches of a manifest in their order."""
        found = [
            (each, stretch)
            for each in self.segments.values()
            for stretch in each.stretches
            if stretch.algorithm == algorithm
        ]
        return sorted(found, key=lambda pair: pair[1].start)

    def columns(self, folder: bytes) -> AgreedColumns:
        """Return the columns of a segment."""
        sql = "SELECT ids, names, sizes, digests FROM columns WHERE folder = ?"
        ids, names, sizes, digests = self._database.execute(sql, (folder,)).fetchone()
        pairs = (line.split(" ") for line in digests.split("\n"))
        return AgreedColumns(ids=ids, names=names, sizes=array("q", sizes), digests=dict(pairs))


@dataclass(frozen=True, slots=True, kw_only=True)
class StatedBatch:
    """Files that are read together, and what is stated of all: sizes, digests one behind the other.

    ``lengths`` are those of texts, by the file's number in the batch, in units that nobody states.
    """

    runs: tuple[FileRun, ...]
    sizes: array[int]
    digests: Mapping[str, str]
    lengths: Mapping[int, int]


def _batched(
    root: Path, folder: bytes, columns: AgreedColumns, lengths: Mapping[int, int]
) -> Iterator[StatedBatch]:
    """Yield the files of a segment, some at a time."""
    names = [os.fsdecode(name) for name in columns.names.split(b"\0")]
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
                asked=Asked(algorithms=tuple(columns.digests), as_text=is_text),
            )
            for (inner, is_text), some in groupby(
                numbers, lambda each: (names[each].rpartition("/")[0], each in lengths)
            )
        )
        yield StatedBatch(
            runs=tuple(runs),
            sizes=columns.sizes[start:stop],
            digests={
                algorithm: text[start * width : stop * width]
                for algorithm, text in columns.digests.items()
                for width in (2 * OCTETS[algorithm],)
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


def _segments(root: Path) -> Iterator[bytes]:
    """Yield the folders that are called as segments are, and are in no other one."""
    waiting, count = [b""], 0
    while waiting:
        folder = waiting.pop()
        below: list[bytes] = []
        for lot in walking.lots(root, (), folder, sizes=False):
            below += lot.folders
            count += len(lot.others)
        if count > _MOST_FOLDERS:
            return
        for each in sorted(below):
            if SEGMENT.fullmatch(os.fsdecode(each.rpartition(b"/")[2])):
                yield each
            elif each.count(b"/") < _DEEPEST:
                waiting.append(each)


def look_at(look: SegmentLook, _moved: Callable[[int], None]) -> LookedAt | None:
    """Return what all says alike of a segment, None for one that is to be looked at closely."""
    try:
        return _SegmentReader(look).agreed()
    except (_OddError, OSError, MetspackError, safexml.XmlError):
        return None


class _SegmentReader:
    """One segment, as its METS and its folder have it; what is known of many files is held as texts."""

    def __init__(self, look: SegmentLook) -> None:
        self._look = look
        self._tree = FolderTree(look.root)
        self._path = look.folder + b"/" + _METS
        self._facts: list[Fact] = []
        self._folders: list[bytes] = []
        self._ids: list[str] = []
        self._names: list[str] = []
        self._sizes = array("q")
        self._digests: list[str] = []
        self._algorithms: set[str] = set()
        self._pointed: list[str] = []
        self._division = 0

    def agreed(self) -> LookedAt:
        """Return what all says alike; raises ``_OddError`` and whatever reading raises."""
        with self._tree.content(self._path) as content:
            size = content.size
            self._read(content)
        ids, stems = self._distinct_ids()
        self._check_folder(size)
        digests = {_only(self._algorithms): "".join(self._digests)}
        stretches = tuple(self._stretches(digests))
        segment = AgreedSegment(
            folder=self._look.folder,
            size=size,
            facts=tuple(self._facts),
            folders=tuple(self._folders),
            files=len(self._names),
            total=sum(self._sizes),
            stems=stems,
            stretches=stretches,
        )
        names = "\0".join(self._names).encode()
        return segment, AgreedColumns(ids=ids, names=names, sizes=self._sizes, digests=digests)

    # --- METS -------------------------------------------------------------------------------------------

    def _read(self, content: Content) -> None:
        """Read the METS, which is valid and plain."""
        name = os.fsdecode(self._path)
        validation = schema.Validation(grammar.own(), name)
        with References(name) as references:
            sink = SinkBeside(told=references.take, validated=validation.instead)
            with closing(validation.watched(content.blocks())) as watched:
                for each in condensed(watched, self._look.budgets, sink=sink):
                    self._take(each)
            _none(validation.findings(content.blocks))
            _none(references.findings(content.blocks))
        if safexml.unusual_declaration(next(iter(content.chunks()), b"")):
            raise _OddError

    def _take(self, each: Fact | Run) -> None:
        if isinstance(each, Run) and isinstance(each.fact, Fptr):
            self._check_division(each.fact)
            self._pointed.append("\n".join(map(str.strip, each.columns["fileid"])))
        elif isinstance(each, Run):
            self._take_files(each)
        elif isinstance(each, File):
            columns = {name: (getattr(each, name),) for name in _COLUMNS}
            self._take_files(Run(fact=each, count=1, columns=_given(columns), line=each.line, step=0))
        elif isinstance(each, Fptr):
            self._check_division(each)
            self._pointed.append(each.fileid.strip())
        else:
            if isinstance(each, Mptr):
                self._division = each.div
            self._facts.append(each)
            if len(self._facts) > _MOST_FACTS or (isinstance(each, Mptr) and each.is_of_part):
                raise _OddError

    def _check_division(self, fptr: Fptr) -> None:
        """Refuse an fptr beside an mptr: both name one package."""
        if fptr.div and fptr.div == self._division:
            raise _OddError

    def _take_files(self, run: Run) -> None:
        is_plain = all(getattr(run.fact, name) == value for name, value in _PLAIN_FILE.items())
        if not is_plain or {"groupid", "seq"} & run.columns.keys():
            raise _OddError
        if not isinstance(run.fact, File) or has_archive(run.fact, run):
            raise _OddError
        files = plain_files(run)
        if files is None or may_lead(run.fact, "\n".join(run.columns["href"])):
            raise _OddError
        ids, _, _, sizes, digests, names, _ = zip(*files.rows, strict=True)
        self._ids += ids
        self._names += names
        self._sizes.extend(sizes)
        self._digests.append("".join(digests))
        self._algorithms.add(files.algorithm)
        if len(self._ids) > MOST_FILES:
            raise _OddError

    def _distinct_ids(self) -> tuple[str, frozenset[str]]:
        """Return the IDs of files, and their stems.

        Refuses one that occurs twice, and fptrs that are not of the files, one of each.
        """
        ids, self._ids = self._ids, []
        distinct = set(ids)
        others = [each.id.strip() for each in self._facts if isinstance(each, Identified)]
        links = {(each.href or "").strip() for each in self._facts if isinstance(each, Mptr)}
        is_once = len(distinct) == len(ids) and len(set(others)) == len(others)
        if not ids or not is_once or not distinct.isdisjoint((*others, *links)):
            raise _OddError
        text, pointed = "\n".join(ids), "\n".join(self._pointed)
        self._pointed = []
        if text != pointed and sorted(ids) != sorted(pointed.split("\n")):
            raise _OddError
        return text, frozenset(each.rstrip("0123456789") for each in ids)

    # --- The folder -------------------------------------------------------------------------------------

    def _check_folder(self, size: int) -> None:
        """Refuse a folder that has anything but the files that METS lists, with their sizes, and the METS."""
        wanted = dict(zip(self._names, self._sizes, strict=True))
        is_once = len(wanted) == len(self._names)
        wanted[PLAIN_METS] = size
        for names, sizes in self._listed():
            if [wanted.pop(name, None) for name in names] != list(sizes):
                raise _OddError
        if wanted or not is_once:
            raise _OddError

    def _listed(self) -> Iterator[tuple[list[str], array[int]]]:
        """Yield the files in the folder and below it, by their paths from there, and their sizes."""
        folders = [self._look.folder]
        for folder in folders:
            for lot in walking.lots(self._look.root, (), folder, sizes=True):
                if lot.fault or lot.is_empty or any(kind != "d" for _, kind in lot.others):
                    raise _OddError
                folders += lot.folders
                prefix = folder[len(self._look.folder) + 1 :]
                inner = prefix + b"/" if prefix else b""
                if not are_usual(b"/".join((inner + lot.files, *(name for name, _ in lot.others)))):
                    raise _OddError
                if inner and b"mets" in lot.files and any(map(is_mets_name, lot.names)):
                    raise _OddError
                here = os.fsdecode(lot.files).split("/") if lot.files else []
                before = os.fsdecode(inner)
                yield ([before + name for name in here] if before else here), lot.sizes
            if len(folders) > _MOST_FACTS:
                raise _OddError
        self._folders = folders[1:]

    # --- Manifests --------------------------------------------------------------------------------------

    def _stretches(self, digests: dict[str, str]) -> Iterator[ManifestStretch]:
        """Yield the lines of the files in each manifest, which are as we write them; keeps their digests."""
        order = sorted(range(len(self._names)), key=self._names.__getitem__)
        own = bisect_left(order, PLAIN_METS, key=self._names.__getitem__)
        above = self._look.folder + b"/"
        paths = [above + self._names[number].encode() for number in order]
        places, paths = [*order[:own], -1, *order[own:]], [*paths[:own], self._path, *paths[own:]]
        ends = [b"  " + path for path in paths]
        for algorithm in self._look.manifests:
            width = 2 * OCTETS[algorithm]
            found = bytearray(width * len(places))  # in the order of METS, its own as the last
            with reading.opening(self._look.root, (MANIFESTS[algorithm],)) as descriptor:
                stop = start = _line_of(descriptor, paths[0], width)
                for first in range(0, len(places), _LINES_AT_ONCE):
                    some = ends[first : first + _LINES_AT_ONCE]
                    length = sum(map(len, some)) + len(some) * (width + 1)
                    lines = b"".join(reading.chunks(descriptor, stop, stop + length))
                    values = _values(lines, some, width)
                    for place, value in zip(places[first : first + _LINES_AT_ONCE], values, strict=True):
                        at = width * (place % len(places))
                        found[at : at + width] = value
                    stop += length
            text = found.decode()
            stated, own_digest = text[:-width], text[-width:]
            if digests.setdefault(algorithm, stated) != stated:
                raise _OddError
            yield ManifestStretch(
                algorithm=algorithm,
                start=start,
                stop=stop,
                lines=len(places),
                first=paths[0],
                last=paths[-1],
                mets=own,
                digest=own_digest,
            )


def _line_of(descriptor: int, path: bytes, width: int) -> int:
    """Return where a path's line begins in a manifest whose paths are in order; raises ``_OddError``."""
    low, high = 0, os.fstat(descriptor).st_size
    while low < high:
        middle = (low + high) // 2
        start, found = _line_behind(descriptor, middle, high)
        if found is None or found[width + 2 :] >= path:
            high = middle
        else:
            low = start + len(found) + 1
    return low


def _line_behind(descriptor: int, at: int, stop: int) -> tuple[int, bytes | None]:
    """Return the first line that begins at ``at`` or behind it, and where; None when none does so in time."""
    begin = max(0, at - 1)
    data = os.pread(descriptor, _LINE, begin)
    skipped = 0 if not at else data.find(b"\n") + 1
    if (at and not skipped) or begin + skipped >= stop:
        return at, None
    line, end, _ = data[skipped:].partition(b"\n")
    if not end:
        raise _OddError
    return begin + skipped, line


def _values(lines: bytes, ends: Sequence[bytes], width: int) -> list[bytes]:
    """Return the digests of lines; refuses lines that are not a digest each, two spaces and a path."""
    *found, rest = lines.split(b"\n")
    if rest or [line[width:] for line in found] != ends:
        raise _OddError
    values = [line[:width] for line in found]
    if set(map(len, values)) != {width} or b"".join(values).translate(None, _HEXADECIMAL):
        raise _OddError
    return values


def _only(values: set[_Value]) -> _Value:
    """Return the one value; raises ``_OddError`` when there are others."""
    if len(values) != 1:
        raise _OddError
    return next(iter(values))


def _none(findings: Iterator[object]) -> None:
    """Raise ``_OddError`` when there is anything to be said."""
    if next(findings, None) is not None:
        raise _OddError


def _given(columns: Mapping[str, tuple[str | None]]) -> dict[str, tuple[str]]:
    return {name: (value,) for name, (value,) in columns.items() if value is not None}
