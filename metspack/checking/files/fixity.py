"""Check fixity: every stated digest and size against the file's bytes, each file read once."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import accumulate, groupby, takewhile
from operator import itemgetter
from pathlib import Path
from typing import Any

from metspack import sizes
from metspack.checking import grouping, similarity
from metspack.checking.catalogue import Catalogue, Mark, Row, is_marked
from metspack.checking.codes import Code, Rule
from metspack.checking.files.listed import source_of
from metspack.checking.ledger import LedgerUse, Remembering
from metspack.checking.mets.documents import of_opening
from metspack.checking.options import Sampled
from metspack.checking.segments import Agreement
from metspack.checking.tree import CheckedTree
from metspack.cluster import Cluster, ClusterExecutor, ClusterPool, RemoteWork, SharedPath, shared_path
from metspack.errors import MetspackError
from metspack.files import reading
from metspack.files.paths import folder_of, shown
from metspack.files.reading import (
    DigestRequest,
    FileRun,
    Hashed,
    HashedParts,
    HashedRun,
    Hashing,
    Outcome,
    PartRun,
    hash_blocks,
)
from metspack.model import Digest, Finding
from metspack.packages.delivery import DeliveredPackage
from metspack.processes import HERE, Executor, Moved
from metspack.system import os

Counted = Callable[[Sampled], None]
_LIKENESS_OF = 64 << 20  # bytes of the largest file that is read once more for a hint
_LIKENESSES = 1_000
_FILES_AT_ONCE, _BYTES_AT_ONCE = 1_000, 32 << 20  # that are read and compared together
_STATED = 16  # times as many statements as files are too many to be read at once
Group = tuple[bytes, list[Row]]


# Each row: path, rank, number, line, place, algorithm, digest, length. The rank is the statement's source.
_METS, _MANIFEST, _CELL, _LENGTH, _ARCHIVE, _PREMIS = range(1, 7)
_BY_METS = """
SELECT e.path AS path, 1 AS rank, e.mets AS number, e.line AS line, coalesce(e.xml_id, '') AS place,
    e.algorithm AS algorithm, e.digest AS digest, NULL AS length
FROM entry e WHERE e.path IS NOT NULL AND e.digest IS NOT NULL
"""
_BY_MANIFEST = """
SELECT l.path, 2, l.manifest, l.line, '', f.algorithm, l.digest, NULL
FROM listed l JOIN manifest f ON f.id = l.manifest
"""
_BY_CELL = """
SELECT c.path, 3, 0, 0, c.place, c.algorithm, c.digest, NULL
FROM cell c WHERE NOT c.inside AND c.digest IS NOT NULL
"""
# The statements of METS, manifests and cells were compared with PREMIS already.
_MORE = f"""
SELECT c.path, 4, c.id, 0, c.place, NULL, NULL, c.length FROM cell c JOIN disk s ON s.path = c.path
WHERE NOT c.inside AND c.length <> s.size AND NOT {sizes.impossible_sql("c.length", "s.size")}
AND NOT EXISTS (SELECT 1 FROM entry e WHERE e.path = c.path AND e.size = c.length)
UNION ALL
SELECT path, 5, boundary, 0, '', algorithm, digest, NULL FROM statement WHERE source = 'archive'
UNION ALL
SELECT path, 6, rowid, line, '', algorithm, digest, NULL FROM statement WHERE source = 'PREMIS only'
"""  # noqa: S608 -- names of columns
_DOCUMENT = "SELECT document FROM statement WHERE rowid = ?"
# Above this number equal statements are held once, with the first line.
_MOST_OF_ONE = 10_000
_SOURCES, _FEWEST = 1_000, 3  # sources that are named in all findings on a file, and in each
_OF_METS = (
    "SELECT * FROM ({}) WHERE path IN (SELECT path FROM mets WHERE size IS NOT NULL) ORDER BY path, rank"
)

_ALL = f"{_BY_METS} UNION ALL {_BY_MANIFEST} UNION ALL {_BY_CELL} UNION ALL {_MORE}"
# The facts of a ledger.
_FACTS = f"""
SELECT path, CASE rank WHEN {_LENGTH} THEN 'length:' || length
    WHEN {_ARCHIVE} THEN algorithm || '@' || number || ':' || digest
    ELSE algorithm || ':' || digest END AS fact
FROM ({_ALL})
"""  # noqa: S608 -- constants
_READ = "SELECT size, algorithm, digest FROM statement WHERE source = 'read' AND path = ?"
_ALL_READ = f"""
SELECT DISTINCT path FROM statement s WHERE source = 'read' AND NOT {is_marked(Mark.DONE, "s.path")}
ORDER BY path
"""  # noqa: S608 -- a constant
_IS_METS = "SELECT 1 FROM mets WHERE path = ?"

# The files of a batch, after the last path of the one before, and the statements between two paths.
_FILES = f"""
SELECT path, size FROM disk WHERE path > ? AND kind = 'f' AND NOT {is_marked(Mark.DONE, "disk.path")}
ORDER BY path LIMIT ?
"""  # noqa: S608 -- a constant
_IS_ANY_METS = "EXISTS (SELECT 1 FROM mets m WHERE m.path = disk.path)"
_IN_SAMPLE = f"AND ({is_marked(Mark.SAMPLED, 'disk.path')} OR {_IS_ANY_METS}) ORDER"
_FILES_OF_SAMPLE = _FILES.replace("ORDER", _IN_SAMPLE)
_BETWEEN = "path >= ? AND path <= ?"
_ALL_BETWEEN = f"SELECT * FROM ({_ALL}) WHERE {_BETWEEN} ORDER BY path, rank"  # noqa: S608 -- constants
_MANY_BETWEEN = """
SELECT count(*) FROM (
    SELECT 1 FROM entry WHERE path >= ?1 AND path <= ?2
    UNION ALL SELECT 1 FROM listed WHERE path >= ?1 AND path <= ?2
    UNION ALL SELECT 1 FROM cell WHERE path >= ?1 AND path <= ?2 LIMIT ?3
)
"""

_INDEX_DIGESTS = """
CREATE INDEX IF NOT EXISTS entry_digest ON entry (digest, algorithm, path)
WHERE size > 0 AND digest IS NOT NULL
"""
# The first path before the file, or else the first after it: the file may have any number of entries.
_OF_DIGEST = """
SELECT path FROM (SELECT path FROM entry INDEXED BY entry_digest
    WHERE digest = ?1 AND algorithm = ?2 AND path < ?3 AND size > 0 ORDER BY path LIMIT 1)
UNION ALL
SELECT path FROM (SELECT path FROM entry INDEXED BY entry_digest
    WHERE digest = ?1 AND algorithm = ?2 AND path > ?3 AND size > 0 ORDER BY path LIMIT 1)
"""
_OF_WRONG = ("source", "algorithm", "expected", "found", "others", "likeness")
_PUT_WRONG = "INSERT INTO wrong VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"
_SWAPPED = """
SELECT a.path, (SELECT min(b.path) FROM wrong b WHERE b.expected = a.found AND b.found = a.expected
    AND b.algorithm = a.algorithm AND b.code = a.code AND b.path > a.path) AS other, a.algorithm
FROM wrong a WHERE a.code IN ('F003', 'F026', 'Z015') AND other IS NOT NULL ORDER BY a.path
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """The paths of a whole's parts, in their order, and the digests wanted of the whole.

    Also of some files in a zip or tar file, and the digests wanted of each.
    """

    paths: list[bytes]
    request: DigestRequest


class Fixity:
    """The check of files against stated sizes and digests; catalogues the wrong statements."""

    def __init__(
        self,
        catalogue: Catalogue,
        places: CheckedTree,
        progress: Moved,
        counted: Counted,
        ledger: Remembering | None = None,
        *,
        executor: Executor = HERE,
    ) -> None:
        self._executor = executor
        self._catalogue = catalogue
        self._places = places
        self._progress = progress
        self._counted = counted
        self._likenesses = 0
        self.ledger = LedgerUse(catalogue, places, ledger, _FACTS)

    def of_documents(self, *, manifests: bool) -> Iterator[Finding]:
        """Read the METS documents, to compare the statements of other METS and ``manifests``."""
        statements = f"{_BY_METS} UNION ALL {_BY_MANIFEST}" if manifests else _BY_METS
        for path, rows in groupby(self._catalogue.rows(_OF_METS.format(statements)), key=itemgetter(0)):
            yield from self._read_one(path, list(rows))
        yield from self._wrong()

    def of_files(self, *, sampled: bool = False, jobs: int | None = 1) -> Iterator[Finding]:
        """Read every file with a statement; a pair of swapped files has one finding.

        With ``sampled`` only the files of the sample and the METS documents are read. ``jobs`` is the number
        of processes, or None for as many as are useful.
        """
        for (path,) in self._catalogue.rows(_ALL_READ):
            if rows := self._statements(path):
                yield from self._read_one(path, rows)
            self._catalogue.mark(Mark.DONE, path)
        yield from self._read_files(_FILES_OF_SAMPLE if sampled else _FILES, self._useful(jobs))
        yield from self._swapped()
        yield from self._wrong()

    def of_agreed(self, agreement: Agreement) -> Iterator[Finding]:
        """Hash the files of agreed segments; compare the batches that differ file by file."""
        for paths, found in agreement.unlike(self._progress):
            yield from self._judge_all([(path, self._statements(path)) for path in paths], found)

    def _useful(self, jobs: int | None) -> int:
        if not self._places.are_unpacked:
            return 1
        files, size = self._catalogue.row("SELECT count(*), sum(size) FROM disk WHERE kind = 'f'") or (0, 0)
        return self._executor.useful(jobs, files=files, size=size or 0)

    def _read_files(self, sql: str, jobs: int) -> Iterator[Finding]:
        """Read stated files in batches, in ``jobs`` processes, and judge them in order."""
        given: deque[tuple[list[Group], list[FileRun | Parts]]] = deque()

        def tasks() -> Iterator[list[FileRun]]:
            for groups in filter(None, map(self._groups, self._batches(sql))):
                paths = [path for path, _ in groups]
                runs = self._runs(paths, [self._request(rows) for _, rows in groups])
                given.append((groups, runs))
                self.ledger.look_at(paths)
                yield [run for run in runs if isinstance(run, FileRun)]

        for hashed in self._executor.results(reading.hash_runs, tasks(), jobs, self._progress):
            groups, runs = given.popleft()
            ready = iter(hashed)
            found = [next(ready) if isinstance(run, FileRun) else self._read_packed(run) for run in runs]
            yield from self._judge_all(groups, found)

    def _batches(self, sql: str) -> Iterator[list[bytes]]:
        """Yield the paths of the files to read, some at a time."""
        last = b""
        while rows := self._catalogue.all(sql, last, _FILES_AT_ONCE):
            ends = accumulate(size or 0 for _, size in rows)
            count = max(1, sum(1 for _ in takewhile(_BYTES_AT_ONCE.__ge__, ends)))
            paths = [path for path, _ in rows[:count]]
            last = paths[-1]
            yield paths

    def _groups(self, paths: list[bytes]) -> list[Group]:
        """Return all statements on some files, file by file."""
        wanted, most = set(paths), _STATED * len(paths)
        if self._catalogue.number(_MANY_BETWEEN, paths[0], paths[-1], most) == most:
            of_one = ((path, self._statements(path)) for path in paths)
            return [(path, rows) for path, rows in of_one if rows]
        rows = self._catalogue.rows(_ALL_BETWEEN, paths[0], paths[-1])
        return [(path, list(group)) for path, group in groupby(rows, key=itemgetter(0)) if path in wanted]

    def _runs(self, paths: list[bytes], requests: Iterable[DigestRequest]) -> list[FileRun | Parts]:
        """Return files in runs of one folder each, with the same digests wanted of each file."""
        found: list[FileRun | Parts] = []
        files = zip(map(folder_of, paths), requests, paths, strict=False)
        for (folder, wanted), group in groupby(files, key=itemgetter(0, 1)):
            some = [path for _, _, path in group]
            place = self._places.below(folder.rstrip(b"/"))
            if place is None:
                found.append(Parts(paths=some, request=wanted))
            else:
                names = os.fsdecode(b"/".join([path[len(folder) :] for path in some]))
                found.append(
                    FileRun(root=place.root.absolute(), folder=place.segments, names=names, request=wanted)
                )
        return found

    def _read_packed(self, run: Parts) -> HashedRun:
        return HashedRun.of([self._hash(path, run.request) for path in run.paths])

    def _hash(self, path: bytes, request: DigestRequest, whole: Hashing | None = None) -> Outcome:
        # A ledger needs the stamp of before the reading: with one a hashed METS is read again.
        is_read = whole is None and request.is_plain and not self.ledger.is_kept
        read = self._catalogue.all(_READ, path) if is_read else []
        found = {name: digest for _, name, digest in read}
        if read and found.keys() >= set(request.algorithms):
            self._progress(read[0][0])
            return Hashed(size=read[0][0], digests=found, until=found, text=None)
        try:
            with self._places.content(path) as content:
                return hash_blocks(content.chunks(), request, self._progress, whole)
        except (OSError, MetspackError) as error:
            return error

    def _judge_all(self, groups: list[Group], found: list[HashedRun]) -> Iterator[Finding]:
        outcomes = (run.outcome(number) for run in found for number in range(len(run.sizes)))
        judged = [(*group, outcome) for group, outcome in zip(groups, outcomes, strict=True)]
        for path, rows, outcome in judged:
            yield from self._judge(path, rows, outcome)
        self._note(judged)

    def _note(self, judged: Iterable[tuple[bytes, Sequence[Row], Outcome]]) -> None:
        """Note files in the ledger, if any, with the stated facts and the results."""
        if self.ledger.is_kept:
            found = [(path, _facts(rows, outcome), outcome) for path, rows, outcome in judged]
            read = sum(isinstance(outcome, Hashed) for _, _, outcome in found)
            self.ledger.note({path: facts for path, facts, _ in found}, read)

    def read_parts(self, wholes: Iterable[Parts], jobs: int | None = 1) -> Iterator[HashedParts]:
        """Read files that are parts of wholes, each once; yield each whole's result, in order.

        ``of_files`` leaves these files out. ``jobs`` is as in ``of_files``.
        """
        given: deque[Parts] = deque()

        def tasks() -> Iterator[PartRun]:
            for whole in wholes:
                self._catalogue.mark_all(Mark.DONE, whole.paths)
                given.append(whole)
                self.ledger.look_at(whole.paths)
                yield self._run(whole)

        found = self._executor.results(
            reading.hash_parts, tasks(), self._executor.of_large(self._useful(jobs)), self._progress
        )
        for hashed in found:
            whole = given.popleft()
            yield hashed if hashed.parts else self._read_packed_parts(whole)

    def _requests_of(self, whole: Parts) -> Iterator[DigestRequest]:
        """Yield the digests wanted of each part; the last part has the whole's algorithms too.

        Cells may state the digest of the last part in place of the whole's.
        """
        for number, path in enumerate(whole.paths, 1):
            request = self._request(self._statements(path))
            more = whole.request.algorithms if number == len(whole.paths) else ()
            yield replace(request, algorithms=tuple(dict.fromkeys((*request.algorithms, *more))))

    def _run(self, whole: Parts) -> PartRun:
        """Return how to read the parts of a whole; without files when one of them is packed."""
        places = [place for path in whole.paths if (place := self._places.below(path)) is not None]
        if len(places) < len(whole.paths):
            return whole.request, ()
        files = zip(places, self._requests_of(whole), strict=True)
        return whole.request, tuple((place.root.absolute(), place.segments, each) for place, each in files)

    def _read_packed_parts(self, whole: Parts) -> HashedParts:
        joined = Hashing(whole.request)
        files = zip(whole.paths, self._requests_of(whole), strict=True)
        parts = tuple(self._hash(path, request, joined) for path, request in files)
        return HashedParts(parts=parts, whole=joined.result())

    def of_part(self, path: bytes, outcome: Outcome) -> Generator[Finding, None, bool]:
        """Compare the statements on a part with its bytes; return whether it could be read."""
        rows = self._statements(path)
        is_read = yield from self._judge(path, rows, outcome)
        self._note([(path, rows, outcome)])
        return is_read

    def _statements(self, path: bytes) -> list[Row]:
        return self._catalogue.statements(_ALL, path, _MOST_OF_ONE)

    def _request(self, rows: list[Row]) -> DigestRequest:
        return DigestRequest(
            algorithms=tuple(dict.fromkeys(row[5] for row in rows if row[1] != _LENGTH)),
            boundary=next((row[2] for row in rows if row[1] == _ARCHIVE), 0),
            as_text=any(row[1] == _LENGTH for row in rows),
            holes=self._places.holes,
        )

    def _read_one(self, path: bytes, rows: list[Row]) -> Iterator[Finding]:
        self.ledger.look_at([path])
        outcome = self._hash(path, self._request(rows))
        yield from self._judge(path, rows, outcome)
        self._note([(path, rows, outcome)])

    def _judge(self, path: bytes, rows: list[Row], outcome: Outcome) -> Generator[Finding, None, bool]:
        """Compare the statements on a file with its bytes; return whether it could be read."""
        if not isinstance(outcome, Hashed):
            yield of_opening(path, outcome)
            return False
        if all(row[1] <= _CELL and outcome.digests[row[5]] == row[6] for row in rows):
            self._count_one(path)
            return True
        for row in rows:
            if row[1] == _ARCHIVE and outcome.until[row[5]] != row[6]:
                # The archive's messageDigest covers the bytes before header/.
                found = outcome.until[row[5]]
                yield Code.ARCHIVE_DIGEST.at(path, algorithm=row[5], expected=row[6], found=found)
            if row[1] == _PREMIS and outcome.digests[row[5]] != row[6]:
                document = self._catalogue.row(_DOCUMENT, row[2]) or (b"",)
                facts = {"file": shown(path), "found": f"{row[5]} {row[6]}", "count": "1"}
                expected = outcome.digests[row[5]]
                yield Code.PREMIS_DIFFERS.at(
                    document[0], row[3], **facts, source="the file itself", expected=expected
                )
        yield from self._lengths(path, [row for row in rows if row[1] == _LENGTH], outcome)
        self._compare(path, [row for row in rows if row[1] <= _CELL], outcome)
        self._count_one(path)
        return True

    def _count_one(self, path: bytes) -> None:
        """Count a file that was read, unless it is a METS document."""
        if not self._catalogue.has(_IS_METS, path):
            self._counted(Sampled(hashed=1))

    def _lengths(self, path: bytes, rows: list[Row], file: Hashed) -> Iterator[Finding]:
        for row in rows:
            if file.text is not None and file.text.unit(row[7]) is None:
                archive = self._catalogue.row("SELECT archive FROM cell WHERE id = ?", row[2]) or (b"",)
                facts = {"file": shown(path), "expected": f"{row[7]:,}", "found": str(file.text)}
                yield Code.LENGTH_DIFFERS.at(archive[0], 0, row[4], **facts)

    def _source(self, row: Row) -> str:
        """Return where a digest is stated."""
        _, rank, number, line, place, *_ = row
        if rank == _METS:
            (mets,) = self._catalogue.row("SELECT path FROM mets WHERE id = ?", number) or (b"",)
            return source_of(mets, line)
        if rank == _MANIFEST:
            (name,) = self._catalogue.row("SELECT name FROM manifest WHERE id = ?", number) or ("",)
            return f"{name} line {line}"
        return f"cell {place}"

    def _compare(self, path: bytes, rows: list[Row], file: Hashed) -> None:
        """Keep the wrong digests, or only the first if all are wrong."""
        wrong = [row for row in rows if file.digests[row[5]] != row[6]]
        right = [self._source(row) for row in rows if file.digests[row[5]] == row[6]]
        # Each finding names the right sources: of very many findings each names fewer.
        most = max(_FEWEST, _SOURCES // len(wrong)) if right and wrong else _SOURCES
        if right:
            others = f"{grouping.some_of(right, most)} agree{'s' if len(right) == 1 else ''} with the file"
        elif len(wrong) > 1:
            sources = grouping.some_of(list(map(self._source, wrong[1:])), most)
            others = f"{sources} also disagree{'' if wrong[2:] else 's'}"
        else:
            others = "no other checksum for this file is recorded in the package"
        for row in wrong if right else wrong[:1]:
            _, rank, _, _, place, algorithm, value, _ = row
            near = self._likeness(path, file.size, Digest(algorithm=algorithm, value=value))
            stated = self._source(row), algorithm, value, file.digests[algorithm], others, near
            self._catalogue.put(_PUT_WRONG, path, self._code(path, rank).id, place, *stated)

    def _likeness(self, path: bytes, size: int, expected: Digest) -> str:
        """Return a hint on converted line ends, or ""; large files, and all after 1,000, get ""."""
        if size > _LIKENESS_OF or self._likenesses >= _LIKENESSES:
            return ""
        self._likenesses += 1
        try:
            with self._places.content(path) as content:
                return similarity.line_end_likeness(content.chunks(), expected)
        except (OSError, MetspackError):  # the file was read before; a hint needs no finding
            return ""

    def _code(self, path: bytes, rank: int) -> Rule:
        if rank == _MANIFEST:
            return Code.MANIFEST_DIGEST_DIFFERS
        if rank == _CELL:
            return Code.CELL_DIGEST_DIFFERS
        is_mets = self._catalogue.has(_IS_METS, path)
        return Code.CHILD_DIGEST_STALE if is_mets else Code.DIGEST_DIFFERS

    def _swapped(self) -> Iterator[Finding]:
        mark = "UPDATE wrong SET code = 'F004' WHERE path = ?"
        taken = "SELECT count(*) FROM wrong WHERE path IN (?, ?) AND code = 'F004'"
        together = grouping.FindingGroups()
        for path, other, algorithm in self._catalogue.rows(_SWAPPED):
            if self._catalogue.number(taken, path, other):
                continue
            self._catalogue.put(mark, path)
            self._catalogue.put(mark, other)
            folder, other_folder = grouping.moved(path, other) or (None, None)
            finding = Code.FILES_SWAPPED.at(path, other=other, algorithm=algorithm)
            yield from together.take(folder, finding, other_folder)
        yield from together.release()

    def _whose(self, path: bytes, algorithm: str, digest: str) -> str:
        """Return a note on another listed file with the same bytes, or ""."""
        self._catalogue.put(_INDEX_DIGESTS)
        row = self._catalogue.row(_OF_DIGEST, digest, algorithm, path)
        return "" if row is None else f"it has the bytes of {shown(row[0])!r}"

    def _wrong(self) -> Iterator[Finding]:
        if (agreement := self._places.agreement).held:
            found = {each for (each,) in self._catalogue.rows("SELECT found FROM wrong WHERE likeness = ''")}
            if found:
                agreement.put_matching_back(digests=found)
        sql = f"SELECT path, code, place, {', '.join(_OF_WRONG)} FROM wrong"  # noqa: S608 -- constants
        for path, code, place, *stated in self._catalogue.rows(f"{sql} ORDER BY path, rowid"):
            if code != Code.FILES_SWAPPED.id:
                facts = dict(zip(_OF_WRONG, stated, strict=True))
                facts["likeness"] = facts["likeness"] or self._whose(path, facts["algorithm"], facts["found"])
                yield Code.named(code).at(path, 0, place, file=path, **facts)


def _facts(rows: Iterable[Row], outcome: Outcome) -> tuple[str, ...]:
    """Return a file's facts as a ledger has them; empty when a statement or the file is wrong."""
    if not isinstance(outcome, Hashed):
        return ()
    facts = [f"{algorithm}:{value}" for algorithm, value in outcome.digests.items()]
    for _, rank, boundary, _, _, algorithm, value, length in rows:
        if rank == _LENGTH:
            is_right = outcome.text is not None and outcome.text.unit(length) is not None
            facts.append(f"length:{length}")
        elif rank == _ARCHIVE:
            is_right = outcome.until[algorithm] == value
            facts.append(f"{algorithm}@{boundary}:{value}")
        else:
            is_right = outcome.digests[algorithm] == value
        if not is_right:
            return ()
    return tuple(facts)


def executor(of: Cluster | None, packages: Sequence[DeliveredPackage], granted: Sequence[Path]) -> Executor:
    """Return the executor for packages and granted roots: a cluster's workers, or this machine.

    This process reads a file again that a worker could not read: a disk that is missing on one machine is no
    finding on the package.
    """
    if of is None:
        return HERE
    places = [each.path for each in packages] + list(granted)
    places += [each.path / each.mets for each in packages if each.mets and not each.is_packed]
    paths: list[SharedPath] = []
    for place in dict.fromkeys(places):
        with suppress(OSError):  # the reader reports the reason
            paths.append(shared_path(place))
    return ClusterExecutor(of, lambda: ClusterPool(of, RemoteWork(doubts=_is_unread), paths))


def _is_unread(made: Any) -> bool:
    """Return whether a worker failed to read a file that it was to hash."""
    if isinstance(made, HashedParts):
        return not all(isinstance(each, Hashed) for each in made.parts)
    if isinstance(made, list):
        runs = [each for each in made if isinstance(each, HashedRun)]
        return not all(isinstance(found, Hashed) for each in runs for found in each.others.values())
    return False
