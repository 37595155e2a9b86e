"""Files on which METS, folder and manifests agree, held as columns beside the catalogue.

Most files agree and need no row in the catalogue. A step of the check that needs one file of a held segment
puts that segment back: its files become rows, with the numbers and lines that they would have had.
"""

from __future__ import annotations

from array import array
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import closing
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import accumulate, chain, count, groupby, islice, repeat, takewhile
from pathlib import Path
from typing import Any

from metspack.checking.catalogue import Catalogue, Mark
from metspack.checking.held import (
    COLUMNS,
    COLUMNS_SCHEMA,
    NUL,
    PUT_COLUMNS,
    AgreedColumns,
    AgreedSegment,
    CellKind,
    ManifestStretch,
    columns_of,
    divided,
    paths_of,
    row_of,
    segment_of,
    text_of,
    texts_of,
)
from metspack.checking.mets.entries import PUT_ENTRY, FileGroups
from metspack.checking.options import Looking
from metspack.digests import MANIFESTS, OCTETS
from metspack.files import reading, tempdb
from metspack.files.paths import names_of, span_below
from metspack.files.reading import DigestRequest, FileRun, HashedRun
from metspack.packages.objids import PackedMets
from metspack.processes import HERE, Executor, Underway
from metspack.system import os

_FILES_AT_ONCE, _BYTES_AT_ONCE = 1_000, 32 << 20  # that are read together
_CACHE = 256  # KiB: rows are large, and read once or twice
_SEGMENTS_KEPT, _STRETCHES_KEPT = 100, 16  # in memory
_KINDS = 1 << 20  # of cells

_SCHEMA = """
CREATE TABLE segment (
    folder BLOB UNIQUE, mets BLOB, data BLOB, pack BLOB, files INTEGER, total INTEGER,
    algorithm TEXT, entry INTEGER, kept TEXT);
CREATE INDEX segment_pack ON segment (pack) WHERE pack <> X'';
CREATE INDEX segment_data ON segment (data);
CREATE TABLE inner (path BLOB PRIMARY KEY) WITHOUT ROWID;
CREATE TABLE stem (stem TEXT PRIMARY KEY) WITHOUT ROWID;
CREATE TABLE stretch (folder BLOB, algorithm TEXT, start INTEGER, line INTEGER);
CREATE INDEX stretch_start ON stretch (algorithm, start);
CREATE INDEX stretch_folder ON stretch (folder, algorithm);
CREATE TABLE released (id INTEGER PRIMARY KEY, columns INTEGER UNIQUE);
CREATE TABLE named (folder BLOB, start INTEGER, cells BLOB, PRIMARY KEY (folder, start)) WITHOUT ROWID;
CREATE TABLE length (folder BLOB, number INTEGER, length INTEGER, PRIMARY KEY (folder, number)) WITHOUT ROWID
"""

_LINES_IN_ORDER = "SELECT folder FROM stretch WHERE algorithm = ? ORDER BY start, rowid"
_FIGURES = "SELECT folder, mets, files, total, algorithm FROM segment"
_LISTS_READ = "SELECT algorithm, line FROM stretch WHERE folder = ? AND line IS NOT NULL"
_MANIFEST = "SELECT id FROM manifest WHERE path = ?"
_PUT_FIGURES = "UPDATE mets SET agreed = ?, agreed_bytes = ?, algorithm = ? WHERE path = ?"
_ADD_LINES = "UPDATE manifest SET agreed = agreed + ?, agreed_bytes = agreed_bytes + ? WHERE path = ?"
_ADD_LOBS = "UPDATE holding SET agreed_bytes = agreed_bytes + ? WHERE archive = ?"
_PUT_FILE = "INSERT OR IGNORE INTO disk VALUES (?, 'f', ?)"
_PUT_CELL = """
INSERT INTO cell (id, archive, place, inside, path, size, length, algorithm, digest)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
"""
_NEXT_RELEASED = """
SELECT r.id, c.folder, c.start FROM released r CROSS JOIN columns c ON c.rowid = r.columns
WHERE r.id > ? ORDER BY r.id
"""


class Agreement(tempdb.Scratch):
    """The held segments of a package, by their folders; a context manager.

    ``root`` is the package's folder. Segments and the columns of their files are kept in a temporary
    database. ``files`` counts all files that were held at first, ``puts`` the segments that were put back
    into the ``catalogue``.
    """

    def __init__(self, root: Path, looking: Looking, catalogue: Catalogue, executor: Executor = HERE) -> None:
        super().__init__("BEGIN", cache=_CACHE, schema=f"{_SCHEMA};{COLUMNS_SCHEMA}")
        self.files = self.puts = 0
        self._catalogue = catalogue
        self._put_back = self._total = 0
        self._cells: dict[tuple[bytes, int], array[int]] = {}  # of the stretches asked for last
        self._kind_of: dict[CellKind, int] = {}
        self._depth = 1  # of the folders that a path is looked for in
        self._last: AgreedSegment | None = None
        self._segment = lru_cache(_SEGMENTS_KEPT)(self._kept_segment)
        self._looking = looking
        self._root = root
        self._executor = executor
        self._released = _Released(self, self._batches)
        self._reading: Underway[StatedBatch, list[HashedRun]] | None = None

    def close(self) -> None:
        """End the reading processes and drop the database."""
        if self._reading is not None:
            self._reading.close()
        super().close()

    def keep_length(self, folder: bytes, number: int, length: int) -> None:
        """Keep the length that a cell states for a file with another size: it may count characters."""
        self.put("INSERT OR REPLACE INTO length VALUES (?, ?, ?)", folder, number, length)

    def begin_reading(self, progress: Callable[[int], None]) -> None:
        """Begin to hash files in other processes, each once it is released, if the level hashes.

        At a level that opens no archive all files are released at once.
        """
        if not (self._looking.level.hashes and self.held):
            return
        jobs = self._executor.useful(self._looking.jobs, files=self.files, size=self._total)
        if jobs > 1:
            self._reading = self._executor.begin(read_stated, self._released, jobs, progress, is_growing=True)
            if not self._looking.level.opens_archives:
                self._release_all()
                self._reading.submit_more()

    def unlike(self, progress: Callable[[int], None]) -> Iterator[tuple[list[bytes], list[HashedRun]]]:
        """Hash all files if the level hashes; yield the batches with a file that differs.

        Each batch is its paths and the results, after its segment was put back; the other files of that
        segment are not read again. Files of segments that were put back before are read with all others.
        """
        if not self._looking.level.hashes:
            return
        self._release_all()
        begun = self._reading or self._executor.begin(read_stated, self._released, 1, progress)
        put = set[bytes]()
        with closing(begun):
            for found in begun.results():
                folder, start, first, number, size = self._released.given.popleft()
                segment = self.at(folder)
                if segment is None and folder not in put:
                    progress(-sum(chain.from_iterable(run.sizes for run in found)) if found else -size)
                elif found:
                    if segment is not None:
                        put.add(folder)
                        self.put_back(segment)
                        self._catalogue.mark_all(Mark.DONE, self.paths(folder))
                    yield list(islice(self.paths(folder, start), first, first + number)), found

    def _release_all(self) -> None:
        self._released.add("SELECT c.rowid FROM segment CROSS JOIN columns c USING (folder) ORDER BY c.rowid")

    def _batches(self, folder: bytes, start: int) -> Iterator[StatedBatch]:
        """Yield the files of one row of columns in batches that are read together."""
        for columns in islice(self.columns(folder, start), 1):
            lengths = {each - start: length for each, length in self._lengths(folder, columns).items()}
            holes = self._looking.budgets.holes
            for first, batch in _batched(self._root, folder, columns, lengths, holes):
                self._released.given.append((folder, start, first, len(batch.sizes), sum(batch.sizes)))
                yield batch

    def _lengths(self, folder: bytes, columns: AgreedColumns) -> dict[int, int]:
        """Return the kept lengths of some files, by the files' numbers."""
        sql = "SELECT number, length FROM length WHERE folder = ? AND number >= ? AND number < ?"
        return dict(self.all(sql, folder, columns.start, columns.stop))

    def take(self, segment: AgreedSegment, columns: Iterable[AgreedColumns]) -> None:
        """Hold the files of a segment."""
        folder, do = segment.folder, self._database.executemany
        files = total = 0
        for each in columns:
            for is_apart, some in divided(each, segment.apart, files):
                # A NUL is before the folder of files apart.
                self.put(PUT_COLUMNS, NUL + folder if is_apart else folder, *row_of(some))
                files += 0 if is_apart else len(some.sizes)
                total += 0 if is_apart else sum(some.sizes)
        kept = text_of(replace(segment, apart=frozenset(), files=files, total=total))
        row = folder, segment.mets, segment.data, segment.pack, files, total, segment.algorithm, kept
        do("INSERT INTO segment VALUES (?, ?, ?, ?, ?, ?, ?, NULL, ?)", (row,))
        do("INSERT OR IGNORE INTO inner VALUES (?)", zip(segment.folders))
        do("INSERT OR IGNORE INTO stem VALUES (?)", zip(segment.stems))
        starts = ((folder, name, stretch.start) for name, stretch in segment.stretches.items())
        do("INSERT INTO stretch VALUES (?, ?, ?, NULL)", starts)
        self._depth = max(self._depth, folder.count(b"/") + 2)
        self.files += files
        self._total += total

    @property
    def held(self) -> int:
        """The number of files that are not in the catalogue."""
        return self.files - self._put_back

    def put_apart(self, segment: AgreedSegment, mets: int) -> None:
        """Put the METS entries of missing files into the catalogue; ``mets`` is the METS's number.

        The numbers of the entries of all files of the segment are reserved.
        """
        catalogue, folder = self._catalogue, segment.folder
        apart = list(self.columns(NUL + folder))
        first = catalogue.reserve("entry", segment.files + sum(len(each.sizes) for each in apart))
        self.put("UPDATE segment SET entry = ? WHERE folder = ?", first, folder)
        for each in apart:
            self._put_entries(folder, each, mets, first + each.origin)

    def _put_entries(self, folder: bytes, columns: AgreedColumns, mets: int, first: int) -> None:
        algorithm = next(iter(columns.digests))
        group = FileGroups(self._catalogue, mets).number(columns.groups)
        values = (
            *(count(first), repeat(mets), repeat("file"), columns.ids.split("\n"), repeat(None)),
            *(repeat(group), columns.lines, columns.sizes, repeat(algorithm)),
            *(texts_of(columns.digests[algorithm], algorithm), map(os.fsdecode, columns.names.split(NUL))),
            *(paths_of(folder, columns), repeat(0), *repeat(repeat(None), 6)),
        )
        self._catalogue.put_many(PUT_ENTRY, zip(*values, strict=False))

    def skip(self, folder: bytes, algorithm: str, line: int) -> None:
        """Keep the number of the first line of a segment's stretch, which is not read."""
        self.put("UPDATE stretch SET line = ? WHERE folder = ? AND algorithm = ?", line, folder, algorithm)

    def cells(self, folder: bytes, columns: AgreedColumns) -> array[int]:
        """Return the number and the kind of the cell that names each of some files, or 0."""
        place = folder, columns.start
        if (cells := self._cells.pop(place, None)) is None:
            row = self.row("SELECT cells FROM named WHERE folder = ? AND start = ?", *place)
            cells = array("q", row[0] if row else bytes(8 * len(columns.sizes)))
        self._cells[place] = cells
        if len(self._cells) > _STRETCHES_KEPT:
            oldest = next(iter(self._cells))
            self.put("INSERT OR REPLACE INTO named VALUES (?, ?, ?)", *oldest, self._cells.pop(oldest))
        return cells

    def name(
        self, folder: bytes, columns: AgreedColumns, numbers: Sequence[int], cell: int, kind: CellKind
    ) -> None:
        """Keep the kind and the numbers, from ``cell`` on, of the cells that name some files.

        Once cells name all files of a stretch, these are released for hashing.
        """
        cells, of_kind = self.cells(folder, columns), self._kind_of.setdefault(kind, len(self._kind_of))
        for each, number in enumerate(numbers, cell):
            cells[number] = each * _KINDS + of_kind
        if self._reading is not None and all(cells):
            sql = "SELECT rowid FROM columns WHERE folder = ? AND start = ?"
            self._released.add(sql, folder, columns.start)
            self._reading.submit_more()

    def put_back(self, segment: AgreedSegment) -> None:
        """Move a segment's files with all their statements into the catalogue."""
        catalogue, folder = self._catalogue, segment.folder
        (first,) = self.row("SELECT entry FROM segment WHERE folder = ?", folder) or (None,)
        (mets,) = catalogue.row("SELECT id FROM mets WHERE path = ? AND ok", segment.mets) or (None,)
        for each in self.columns(folder):
            paths = paths_of(folder, each)
            catalogue.put_many(_PUT_FILE, zip(paths, each.sizes, strict=True))
            if mets is not None:
                self._put_entries(folder, each, mets, first + each.origin)
            catalogue.put_many(_PUT_CELL, self._cells_of(folder, each, paths))
        catalogue.put_many("INSERT INTO listed VALUES (?, ?, ?, ?)", self._lines_of(segment))
        self.puts += 1
        self._put_back += segment.files
        self._last = None
        self.put("DELETE FROM segment WHERE folder = ?", folder)

    def _cells_of(
        self, folder: bytes, columns: AgreedColumns, paths: Sequence[bytes]
    ) -> Iterator[tuple[Any, ...]]:
        """Yield the cells that name some files, as the catalogue has them."""
        kinds = list(self._kind_of)
        lengths = self._lengths(folder, columns)
        texts = {name: texts_of(columns.digests[name], name) for name in columns.digests}
        ids = columns.ids.split("\n")
        for number, (named, path) in enumerate(zip(self.cells(folder, columns), paths, strict=True)):
            if named:
                cell, kind = divmod(named, _KINDS)
                archive, has_length, algorithm = kinds[kind]
                length = lengths.get(columns.start + number, columns.sizes[number]) if has_length else None
                digest = None if algorithm is None else texts[algorithm][number]
                yield cell, archive, ids[number], 0, path, None, length, algorithm, digest

    def _lines_of(self, segment: AgreedSegment) -> Iterator[tuple[int, bytes, str, int]]:
        """Yield the lines on a segment's files in the manifests that were read so far."""
        folder = segment.folder
        for algorithm, line in self.all(_LISTS_READ, folder):
            (manifest,) = self._catalogue.row(_MANIFEST, MANIFESTS[algorithm].encode()) or (0,)
            stretch = segment.stretches[algorithm]
            others = {number for number, *_ in stretch.others}
            files = sorted(
                chain.from_iterable(
                    zip(paths_of(folder, each), texts_of(each.digests[algorithm], algorithm), strict=True)
                    for each in self.columns(folder)
                )
            )
            numbers = (line + number for number in range(stretch.lines) if number not in others)
            for (path, digest), number in zip(files, numbers, strict=True):
                yield manifest, path, digest, number

    def put_figures(self) -> None:
        """Put the counts of digests and of LOBs' bytes into the catalogue, for the report."""
        catalogue = self._catalogue
        for folder, mets, *of_files, algorithm in self.all(_FIGURES):
            catalogue.put(_PUT_FIGURES, *of_files, algorithm, mets)
            for name, *_ in self.all(_LISTS_READ, folder):
                catalogue.put(_ADD_LINES, *of_files, MANIFESTS[name].encode())
            found = Counter[int]()
            for each in self.columns(folder):
                for named, size in zip(self.cells(folder, each), each.sizes, strict=True):
                    found[named % _KINDS] += size if named else 0
            sizes = ((found[number], archive) for number, (archive, *_) in enumerate(self._kind_of))
            catalogue.put_many(_ADD_LOBS, sizes)

    def paths(self, folder: bytes, first: int = 0) -> Iterator[bytes]:
        """Yield the paths of a segment's files, as ``columns`` has them."""
        return chain.from_iterable(paths_of(folder, each) for each in self.columns(folder, first))

    def put_holding_back(self, *paths: bytes) -> None:
        """Put back the segments that paths lead into."""
        for path in paths:
            if (segment := self.holding(path)) is not None:
                self.put_back(segment)

    def put_all_back(self, *, representations: bool = True) -> None:
        """Put all segments into the catalogue, or all but ``representations``."""
        self.put_some_back(lambda _: True, where="1" if representations else "data = folder")

    def put_named_back(self, table: str) -> None:
        """Put back the segments with files whose paths are in a table of the catalogue."""
        sql = f"""SELECT path FROM {table} WHERE path >= ? AND path < ?
            AND path NOT IN (SELECT path FROM disk)"""  # noqa: S608 -- names of tables
        listing = "SELECT 1 FROM entry WHERE path = ?"

        def is_named(segment: AgreedSegment) -> bool:
            below = span_below(segment.data + b"/" if segment.data else b"")
            named = {path for (path,) in self._catalogue.rows(sql, *below)}
            if table == "listed":  # lines on files that METS lists as missing have their finding
                return any(not self._catalogue.has(listing, path) for path in named)
            return bool(named) and not named.isdisjoint(self.paths(segment.folder))

        self.put_some_back(is_named)

    def put_unread_back(self) -> None:
        """Put back the segments whose METS no link led to."""
        sql = "SELECT 1 FROM mets WHERE path = ? AND ok"
        self.put_some_back(lambda segment: not self._catalogue.has(sql, segment.mets))

    def put_unnamed_back(self) -> None:
        """Put back the segments with a file that no cell has named."""
        self.put_some_back(
            lambda segment: (
                not all(all(self.cells(segment.folder, each)) for each in self.columns(segment.folder))
            )
        )

    def put_matching_back(
        self, ids: AbstractSet[str] = frozenset(), digests: AbstractSet[str] = frozenset()
    ) -> None:
        """Put back the segments that have a file with one of some IDs, or of some digests."""

        def is_matching(columns: AgreedColumns) -> bool:
            texts = (texts_of(each, algorithm) for algorithm, each in columns.digests.items() if digests)
            are_ids = bool(ids) and not ids.isdisjoint(columns.ids.split("\n"))
            return are_ids or any(not digests.isdisjoint(each) for each in texts)

        self.put_some_back(lambda segment: any(map(is_matching, self.columns(segment.folder))))

    def put_some_back(self, is_meant: Callable[[AgreedSegment], bool], where: str = "1") -> None:
        """Put back the segments that ``is_meant`` selects, of those under an SQL condition."""
        sql = f"SELECT folder FROM segment WHERE {where} ORDER BY rowid"  # noqa: S608 -- names of columns
        for (folder,) in self.all(sql):
            if (segment := self.at(folder)) is not None and is_meant(segment):
                self.put_back(segment)

    def holding(self, path: bytes) -> AgreedSegment | None:
        """Return the segment that holds a path, or None."""
        last = self._last  # paths mostly come segment by segment
        if last is not None and (not last.folder or path.startswith(last.folder + b"/")):
            return last
        ends = takewhile((-1).__ne__, accumulate(repeat(0), lambda at, _: path.find(b"/", at + 1)))
        above = [path[:at] for at in islice(ends, self._depth)]
        return self._one(f"folder IN ({', '.join('?' * len(above))}) ORDER BY length(folder)", *above)

    def at(self, folder: bytes) -> AgreedSegment | None:
        """Return the segment in a folder, or None."""
        return self._one("folder = ?", folder)

    def of_data(self, data: bytes) -> AgreedSegment | None:
        """Return the segment whose data folder this is, or None."""
        return self._one("data = ?", data)

    def in_pack(self, pack: bytes) -> AgreedSegment | None:
        """Return the segment in a zip file, or None."""
        return self._one("pack <> X'' AND pack = ?", pack)

    def mets_in(self, pack: bytes) -> PackedMets | None:
        """Return the METS in a zip file as read with its segment, or None."""
        segment = self.in_pack(pack)
        return None if segment is None else (segment.mets, segment.facts)

    def _one(self, condition: str, *values: bytes) -> AgreedSegment | None:
        row = self.row(f"SELECT folder FROM segment WHERE {condition} LIMIT 1", *values)  # noqa: S608 -- constants
        if row is not None:
            self._last = self._segment(row[0])
        return None if row is None else self._last

    def _kept_segment(self, folder: bytes) -> AgreedSegment:
        (kept,) = self.row("SELECT kept FROM segment WHERE folder = ?", folder) or ("",)
        return segment_of(kept)

    def is_inside(self, folder: bytes) -> bool:
        """Return whether a folder is inside a segment's data folder."""
        return self._has("inner WHERE path = ?", folder)

    def is_above(self, folder: bytes) -> bool:
        """Return whether a folder, which ends with its slash, has segments below it."""
        return self._has("segment WHERE folder >= ? AND folder < ?", *span_below(folder))

    def has_stem(self, first: str, behind: str) -> bool:
        """Return whether any ID, without its last digits, is in a range."""
        return self._has("stem WHERE stem >= ? AND stem < ?", first, behind)

    def _has(self, what: str, *values: object) -> bool:
        return self.row(f"SELECT 1 FROM {what} LIMIT 1", *values) is not None  # noqa: S608 -- constants

    def data_folders(self) -> Iterator[tuple[bytes, Sequence[bytes], bool]]:
        """Yield each segment's data folder, its folders, and whether its files are placed."""
        for (folder,) in self.rows("SELECT folder FROM segment ORDER BY rowid"):
            segment = self._segment(folder)
            yield segment.data, segment.folders, segment.are_placed

    def stretches(self, algorithm: str) -> Iterator[tuple[AgreedSegment, ManifestStretch]]:
        """Yield the stretches of a manifest in their order, each with its segment while it is held."""
        for (folder,) in self.all(_LINES_IN_ORDER, algorithm):
            if (segment := self.at(folder)) is not None:
                yield segment, segment.stretches[algorithm]

    def columns(self, folder: bytes, first: int = 0) -> Iterator[AgreedColumns]:
        """Yield the columns of a segment in order, from those that start at a number on."""
        return map(columns_of, self.rows(COLUMNS, folder, first))


@dataclass(frozen=True, slots=True, kw_only=True)
class StatedBatch:
    """Files that are read together, with their stated sizes and concatenated digests.

    ``lengths`` are the lengths that cells state, by the file's number in the batch, in an unstated unit.
    """

    runs: tuple[FileRun, ...]
    sizes: array[int]
    digests: Mapping[str, str]
    lengths: Mapping[int, int]


class _Released(Iterator[StatedBatch]):
    """The released files in batches, in the order of their release; more may follow the end."""

    def __init__(self, kept: tempdb.Scratch, batches: Callable[[bytes, int], Iterator[StatedBatch]]) -> None:
        self._kept = kept
        self._batches = batches
        self._last = 0
        self._next: Iterator[StatedBatch] = iter(())
        self.given = deque[tuple[bytes, int, int, int, int]]()
        """The batches given out: folder and number of their columns, first there, number and bytes."""

    def add(self, columns: str, *values: object) -> None:
        """Add files by a query for their columns, unless they were added before."""
        self._kept.put(f"INSERT OR IGNORE INTO released (columns) {columns}", *values)

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
) -> Iterator[tuple[int, StatedBatch]]:
    """Yield a segment's files in the batches of reading, with the first one's number."""
    names = [os.fsdecode(name) for name in columns.names.split(NUL)]
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
                request=DigestRequest(algorithms=tuple(columns.digests), as_text=is_text, holes=holes),
            )
            for (inner, is_text), some in groupby(
                numbers, lambda each: (names[each].rpartition("/")[0], each in lengths)
            )
        )
        batch = StatedBatch(
            runs=tuple(runs),
            sizes=columns.sizes[start:stop],
            digests={
                name: values[start * OCTETS[name] : stop * OCTETS[name]].hex()
                for name, values in columns.digests.items()
            },
            lengths={each - start: lengths[each] for each in numbers if each in lengths},
        )
        yield start, batch
        start = stop


def read_stated(batch: StatedBatch, moved: Callable[[int], None]) -> list[HashedRun]:
    """Hash a batch of files; return the results if one differs, otherwise an empty list."""
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
    return [] if is_right else found
