"""Check of fixity: every stated digest and size against the file's bytes, each file read once."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from metspack import processes, textlength
from metspack.checking import grouping, similarity
from metspack.checking.catalogue import Catalogue, Row, shown
from metspack.checking.codes import Code, Rule
from metspack.checking.files.listed import source_of
from metspack.checking.mets.documents import of_opening
from metspack.checking.opening import CheckedTree
from metspack.checking.options import Sampled
from metspack.digests import Hashers
from metspack.errors import MetspackError
from metspack.files import reading
from metspack.files.byteranges import Below
from metspack.model import Digest, Finding
from metspack.textlength import TextLength

Progress = Callable[[int], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """The digests wanted of a file: algorithms for the whole, and for the bytes up to a boundary.

    ``boundary`` is in bytes, 0 for none; ``as_text`` asks how long the text is.
    """

    algorithms: tuple[str, ...]
    boundary: int = 0
    as_text: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Hashed:
    """The result of hashing a file: digests of the whole and up to the boundary, size, length of the text."""

    size: int
    digests: dict[str, str]
    until: dict[str, str]
    text: TextLength | None


def hash_blocks(chunks: Iterable[bytes], asked: Asked, progress: Progress) -> Hashed:
    """Read a file's bytes and return their digests and size; raises as ``chunks`` does."""
    hashers = Hashers(asked.algorithms)
    text = TextLength() if asked.as_text else None
    until = hashers.copy()
    for block in _cut(chunks, asked.boundary):
        hashers.update(block)
        if text is not None:
            text.update(block)
        progress(len(block))
        if hashers.size == asked.boundary:
            until = hashers.copy()
    return Hashed(size=hashers.size, digests=_values(hashers, asked), until=_values(until, asked), text=text)


def _values(hashers: Hashers, asked: Asked) -> dict[str, str]:
    return {name: hashers.digest(name).value for name in asked.algorithms}


def _cut(blocks: Iterable[bytes], boundary: int) -> Iterator[bytes]:
    """Yield blocks, the one that goes over the boundary in two."""
    at = 0
    for block in blocks:
        if at < boundary < at + len(block):
            yield block[: boundary - at]
            yield block[boundary - at :]
        else:
            yield block
        at += len(block)


Batch = Sequence[tuple[Below, Asked]]
"""Files that lie on disk as such, and what is asked of each."""

Outcome = Hashed | OSError | MetspackError


def hash_files(batch: Batch, progress: Progress) -> list[Outcome]:
    """Read files and return the result for each: an error if it could not be opened or read."""
    return [_outcome(where, asked, progress) for where, asked in batch]


def _outcome(where: Below, asked: Asked, progress: Progress) -> Outcome:
    try:
        with reading.opening(where.root, where.segments) as descriptor:
            return hash_blocks(reading.chunks(descriptor), asked, progress)
    except (OSError, MetspackError) as error:
        return error


Counted = Callable[[Sampled], None]
_LIKENESS_OF = 64 << 20  # bytes of the largest file that is read once more for a hint
_LIKENESSES = 1_000
_FILES_AT_ONCE, _BYTES_AT_ONCE = 200, 32 << 20  # that another process is asked for
Group = tuple[bytes, list[Row]]

# Each row: path, rank, number, line, place, algorithm, digest, length. Ranks say whose statement it is.
_METS, _MANIFEST, _CELL, _LENGTH, _ARCHIVE, _PREMIS = range(1, 7)
_BY_METS = """
SELECT e.path AS path, 1 AS rank, e.mets, e.line, coalesce(e.xml_id, ''), e.algorithm, e.digest, NULL
FROM entry e WHERE e.path IS NOT NULL AND e.digest IS NOT NULL
"""
_BY_MANIFEST = """
SELECT l.path, 2, l.manifest, l.line, '', f.algorithm, l.digest, NULL
FROM listed l JOIN manifest f ON f.id = l.manifest
"""
_BY_CELL = f"""
SELECT c.path, 3, 0, 0, c.place, c.algorithm, c.digest, NULL
FROM cell c WHERE NOT c.inside AND c.digest IS NOT NULL
UNION ALL
SELECT c.path, 4, c.id, 0, c.place, NULL, NULL, c.length FROM cell c JOIN disk s ON s.path = c.path
WHERE NOT c.inside AND c.length <> s.size AND NOT {textlength.impossible_sql("c.length", "s.size")}
AND NOT EXISTS (SELECT 1 FROM entry e WHERE e.path = c.path AND e.size = c.length)
UNION ALL
SELECT a.path, 5, a.boundary, 0, '', a.algorithm, a.digest, NULL FROM archive a
"""  # noqa: S608 -- names of columns
# What METS, manifests and cells say as well was compared with PREMIS already.
_BY_PREMIS = "SELECT path, 6, rowid, line, '', algorithm, digest, NULL FROM apart_object"
_DOCUMENT = "SELECT document FROM apart_object WHERE rowid = ?"
_OF_FILES = (
    "SELECT * FROM ({}) WHERE path IN (SELECT path FROM disk WHERE kind = 'f') "
    "AND path NOT IN done ORDER BY path, rank"
)
_OF_ONE = "SELECT * FROM ({}) WHERE path = ? ORDER BY rank"
_OF_METS = (
    "SELECT * FROM ({}) WHERE path IN (SELECT path FROM mets WHERE size IS NOT NULL) ORDER BY path, rank"
)

_ALL = f"{_BY_METS} UNION ALL {_BY_MANIFEST} UNION ALL {_BY_CELL} UNION ALL {_BY_PREMIS}"
_IN_SAMPLE = "SELECT * FROM ({}) WHERE path IN sampled OR path IN (SELECT path FROM mets)"
_IS_METS = "SELECT 1 FROM mets WHERE path = ?"

_SWAPPED = """
SELECT a.path, (SELECT min(b.path) FROM wrong b WHERE b.expected = a.found AND b.found = a.expected
    AND b.algorithm = a.algorithm AND b.code = a.code AND b.path > a.path) AS other, a.algorithm
FROM wrong a WHERE a.code IN ('F003', 'F026', 'Z015') AND other IS NOT NULL ORDER BY a.path
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Claim:
    """A stated digest or size of a file, and where it is stated."""

    rank: int
    place: str
    source: str
    digest: Digest


class Fixity:
    """The check of files against their stated sizes and digests; wrong statements go to the catalogue."""

    def __init__(
        self, catalogue: Catalogue, places: CheckedTree, progress: Progress, counted: Counted
    ) -> None:
        self._catalogue = catalogue
        self._places = places
        self._progress = progress
        self._counted = counted
        self._likenesses = 0

    def of_documents(self, *, manifests: bool) -> Iterator[Finding]:
        """Read the METS documents, to compare what other METS, and ``manifests``, say of them."""
        statements = f"{_BY_METS} UNION ALL {_BY_MANIFEST}" if manifests else _BY_METS
        yield from self._read(_OF_METS.format(statements))
        yield from self._wrong()

    def of_files(self, *, sampled: bool = False, jobs: int | None = 1) -> Iterator[Finding]:
        """Read every file that anything is said about; files that are swapped give one finding.

        With ``sampled`` those of the sample alone, and the METS documents. ``jobs`` processes read them,
        None for as many as are of use.
        """
        files, size = self._catalogue.row("SELECT count(*), sum(size) FROM disk WHERE kind = 'f'") or (0, 0)
        jobs = processes.useful(jobs, files=files, size=size or 0)
        statements = _ALL
        if sampled:
            statements = _IN_SAMPLE.format(statements)
        yield from self._read(_OF_FILES.format(statements), jobs)
        yield from self._swapped()
        yield from self._wrong()

    def _read(self, sql: str, jobs: int = 1) -> Iterator[Finding]:
        groups = (
            (path, list(rows)) for path, rows in groupby(self._catalogue.rows(sql), key=lambda row: row[0])
        )
        if jobs > 1 and self._places.are_unpacked:
            yield from self._read_together(groups, jobs)
            return
        for path, rows in groups:
            yield from self._read_one(path, rows)

    def _read_together(self, groups: Iterator[Group], jobs: int) -> Iterator[Finding]:
        """Have other processes read the files, some at a time; what they find is judged in order, here."""
        given: deque[list[Group]] = deque()

        def batches() -> Iterator[Batch]:
            for group in self._batched(groups):
                given.append(group)
                files = ((self._places.below(path), rows) for path, rows in group)
                yield [(where, _asked(rows)) for where, rows in files if where is not None]

        for outcomes in processes.results(hash_files, batches(), jobs, self._progress):
            for (path, rows), outcome in zip(given.popleft(), outcomes, strict=True):
                yield from self._judge(path, rows, outcome)

    def _batched(self, groups: Iterator[Group]) -> Iterator[list[Group]]:
        batch: list[Group] = []
        size = 0
        for path, rows in groups:
            batch.append((path, rows))
            size += self._catalogue.number("SELECT size FROM disk WHERE path = ?", path)
            if len(batch) >= _FILES_AT_ONCE or size >= _BYTES_AT_ONCE:
                yield batch
                batch, size = [], 0
        if batch:
            yield batch

    def of_part(self, path: bytes, take: Callable[[bytes], None]) -> Generator[Finding, None, bool]:
        """Read one file, and hand its bytes on as well; returns whether they could all be read."""
        self._catalogue.put("INSERT OR IGNORE INTO done VALUES (?)", path)
        rows = list(self._catalogue.rows(_OF_ONE.format(_ALL), path))
        return (yield from self._read_one(path, rows, take))

    def _read_one(
        self, path: bytes, rows: list[Row], take: Callable[[bytes], None] | None = None
    ) -> Generator[Finding, None, bool]:
        outcome: Outcome
        try:
            with self._places.content(path) as content:
                chunks = content.chunks() if take is None else _told(content.chunks(), take)
                outcome = hash_blocks(chunks, _asked(rows), self._progress)
        except (OSError, MetspackError) as error:
            outcome = error
        return (yield from self._judge(path, rows, outcome))

    def _judge(self, path: bytes, rows: list[Row], outcome: Outcome) -> Generator[Finding, None, bool]:
        """Compare the statements about a file with its bytes; returns whether it could be read."""
        if not isinstance(outcome, Hashed):
            yield of_opening(path, outcome)
            return False
        for row in rows:
            if row[1] == _ARCHIVE and outcome.until[row[5]] != row[6]:
                # The archive's messageDigest is that of what lies before header/.
                found = outcome.until[row[5]]
                yield Code.ARCHIVE_DIGEST.at(shown(path), algorithm=row[5], expected=row[6], found=found)
            if row[1] == _PREMIS and outcome.digests[row[5]] != row[6]:
                document = self._catalogue.row(_DOCUMENT, row[2]) or (b"",)
                facts = {"file": shown(path), "found": f"{row[5]} {row[6]}", "count": "1"}
                expected = outcome.digests[row[5]]
                yield Code.PREMIS_DIFFERS.at(
                    shown(document[0]), row[3], **facts, source="the file itself", expected=expected
                )
        yield from self._lengths(path, [row for row in rows if row[1] == _LENGTH], outcome)
        self._compare(path, [self._claim(row) for row in rows if row[1] <= _CELL], outcome)
        if self._catalogue.row(_IS_METS, path) is None:
            self._counted(Sampled(hashed=1))
        return True

    def _lengths(self, path: bytes, rows: list[Row], file: Hashed) -> Iterator[Finding]:
        for row in rows:
            if file.text is not None and file.text.unit(row[7]) is None:
                archive = self._catalogue.row("SELECT archive FROM cell WHERE id = ?", row[2]) or (b"",)
                facts = {"file": shown(path), "expected": f"{row[7]:,}", "found": str(file.text)}
                yield Code.LENGTH_DIFFERS.at(shown(archive[0]), 0, row[4], **facts)

    def _claim(self, row: Row) -> _Claim:
        _, rank, number, line, place, algorithm, value, _ = row
        if rank == _METS:
            mets = self._catalogue.row("SELECT path FROM mets WHERE id = ?", number) or (b"",)
            source = source_of(mets[0], line)
        elif rank == _MANIFEST:
            name = self._catalogue.row("SELECT name FROM manifest WHERE id = ?", number) or ("",)
            source = f"{name[0]} line {line}"
        else:
            source = f"cell {place}"
        return _Claim(rank=rank, place=place, source=source, digest=Digest(algorithm=algorithm, value=value))

    def _compare(self, path: bytes, claims: list[_Claim], file: Hashed) -> None:
        """Keep the wrong statements; when all are wrong the file is, and the first speaks for all."""
        wrong = [each for each in claims if file.digests[each.digest.algorithm] != each.digest.value]
        right = [each.source for each in claims if each not in wrong]
        if right:
            others = f"{', '.join(right)} agree{'s' if len(right) == 1 else ''} with the file"
        elif len(wrong) > 1:
            others = f"{', '.join(each.source for each in wrong[1:])} disagree with the file too"
        else:
            others = "nothing else says what it should be"
        for each in wrong if right else wrong[:1]:
            self._catalogue.put(
                "INSERT INTO wrong VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
                path,
                self._code(path, each.rank).id,
                each.place,
                each.source,
                each.digest.algorithm,
                each.digest.value,
                file.digests[each.digest.algorithm],
                others,
                self._likeness(path, file.size, each.digest),
            )

    def _likeness(self, path: bytes, size: int, expected: Digest) -> str:
        """Return how like a file is to what it should be; large files, and the thousandth, are not asked."""
        if size > _LIKENESS_OF or self._likenesses >= _LIKENESSES:
            return ""
        self._likenesses += 1
        try:
            with self._places.content(path) as content:
                return similarity.line_end_likeness(content.chunks(), expected)
        except (OSError, MetspackError):  # it could be read a moment ago; a hint is not worth more words
            return ""

    def _code(self, path: bytes, rank: int) -> Rule:
        if rank == _MANIFEST:
            return Code.MANIFEST_DIGEST_DIFFERS
        if rank == _CELL:
            return Code.CELL_DIGEST_DIFFERS
        is_mets = self._catalogue.row(_IS_METS, path) is not None
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
            finding = Code.FILES_SWAPPED.at(shown(path), other=shown(other), algorithm=algorithm)
            yield from together.take(folder, finding, other_folder)
        yield from together.release()

    def _wrong(self) -> Iterator[Finding]:
        sql = "SELECT path, code, place, source, algorithm, expected, found, others, likeness FROM wrong"
        rows = self._catalogue.rows(f"{sql} ORDER BY rowid")
        for path, code, place, source, algorithm, expected, found, others, likeness in rows:
            if code == Code.FILES_SWAPPED.id:
                continue
            yield Code.named(code).at(
                shown(path),
                0,
                place,
                source=source,
                file=shown(path),
                algorithm=algorithm,
                expected=expected,
                found=found,
                others=others,
                likeness=likeness,
            )


def _asked(rows: list[Row]) -> Asked:
    return Asked(
        algorithms=tuple(dict.fromkeys(row[5] for row in rows if row[1] != _LENGTH)),
        boundary=next((row[2] for row in rows if row[1] == _ARCHIVE), 0),
        as_text=any(row[1] == _LENGTH for row in rows),
    )


def _told(blocks: Iterable[bytes], take: Callable[[bytes], None]) -> Iterator[bytes]:
    for block in blocks:
        yield block
        take(block)
