"""Digests: every statement about a file's bytes against the bytes, each file read once."""

from __future__ import annotations

import codecs
from collections.abc import Callable, Generator, Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby

from metspack.checking import lineends
from metspack.checking.catalogue import Catalogue, Row, shown
from metspack.checking.codes import Code, Rule
from metspack.checking.documents import of_opening
from metspack.checking.holders import Content, Places
from metspack.checking.sampling import Sampled
from metspack.checking.structure import source_of
from metspack.digests import Hashers
from metspack.errors import MetspackError
from metspack.model import Digest, Finding

Progress = Callable[[int], None]
Hashed = Callable[[Sampled], None]
_LIKENESS_OF = 64 << 20  # bytes of the largest file that is read once more for a hint
_LIKENESSES = 1_000

# Each row: path, rank, number, line, place, algorithm, digest, length. Ranks say whose statement it is.
_METS, _MANIFEST, _CELL, _LENGTH, _ARCHIVE = range(1, 6)
_BY_METS = """
SELECT e.path AS path, 1 AS rank, e.mets, e.line, coalesce(e.xml_id, ''), e.algorithm, e.digest, NULL
FROM entry e WHERE e.path IS NOT NULL AND e.digest IS NOT NULL
"""
_BY_MANIFEST = """
SELECT l.path, 2, l.manifest, l.line, '', f.algorithm, l.digest, NULL
FROM listed l JOIN manifest f ON f.id = l.manifest
"""
_BY_CELL = """
SELECT c.path, 3, 0, 0, c.place, c.algorithm, c.digest, NULL
FROM cell c WHERE NOT c.inside AND c.digest IS NOT NULL
UNION ALL
SELECT c.path, 4, c.id, 0, c.place, NULL, NULL, c.length FROM cell c JOIN disk s ON s.path = c.path
WHERE NOT c.inside AND c.length < s.size AND c.length * 4 >= s.size
AND NOT EXISTS (SELECT 1 FROM entry e WHERE e.path = c.path AND e.size = c.length)
UNION ALL
SELECT a.path, 5, a.boundary, 0, '', a.algorithm, a.digest, NULL FROM archive a
"""
_OF_FILES = (
    "SELECT * FROM ({}) WHERE path IN (SELECT path FROM disk WHERE kind = 'f') "
    "AND path NOT IN done ORDER BY path, rank"
)
_OF_ONE = "SELECT * FROM ({}) WHERE path = ? ORDER BY rank"
_OF_METS = (
    "SELECT * FROM ({}) WHERE path IN (SELECT path FROM mets WHERE size IS NOT NULL) ORDER BY path, rank"
)

_ALL = f"{_BY_METS} UNION ALL {_BY_MANIFEST} UNION ALL {_BY_CELL}"
_IN_SAMPLE = "SELECT * FROM ({}) WHERE path IN sampled OR path IN (SELECT path FROM mets)"
_IS_METS = "SELECT 1 FROM mets WHERE path = ?"

_SWAPPED = """
SELECT a.path, (SELECT min(b.path) FROM wrong b WHERE b.expected = a.found AND b.found = a.expected
    AND b.algorithm = a.algorithm AND b.code = a.code AND b.path > a.path) AS other, a.algorithm
FROM wrong a WHERE a.code IN ('F003', 'F026', 'Z015') AND other IS NOT NULL ORDER BY a.path
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Claim:
    """What somewhere is said about a file's bytes."""

    rank: int
    place: str
    source: str
    digest: Digest


class Text:
    """Counts the code points and UTF-16 units of a stream of blocks; none when it is not UTF-8."""

    def __init__(self) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")()
        self.valid = True
        self.characters = 0
        self.units = 0

    def update(self, block: bytes, *, final: bool = False) -> None:
        """Take the next bytes."""
        if not self.valid:
            return
        try:
            text = self._decoder.decode(block, final)
        except UnicodeDecodeError:
            self.valid = False
            return
        self.characters += len(text)
        self.units += len(text.encode("utf-16-le", "surrogatepass")) // 2

    def fits(self, length: int) -> bool:
        """Whether the text has this length in characters or in UTF-16 units."""
        return self.valid and length in {self.characters, self.units}


def length_found(size: int, text: Text) -> str:
    """Return how long a file is, in all the units a cell may count."""
    if not text.valid:
        return f"{size:,} bytes"
    return f"{size:,} bytes, {text.characters:,} characters, {text.units:,} UTF-16 units"


class Fixity:
    """Reads files and keeps in the catalogue which statements about them are wrong."""

    def __init__(self, catalogue: Catalogue, places: Places, progress: Progress, hashed: Hashed) -> None:
        self._catalogue = catalogue
        self._places = places
        self._progress = progress
        self._hashed_file = hashed
        self._likenesses = 0

    def of_documents(self, *, manifests: bool) -> Iterator[Finding]:
        """Read the METS documents, to compare what other METS, and ``manifests``, say of them."""
        statements = f"{_BY_METS} UNION ALL {_BY_MANIFEST}" if manifests else _BY_METS
        yield from self._read(_OF_METS.format(statements))
        yield from self._wrong()

    def of_files(self, *, sampled: bool = False) -> Iterator[Finding]:
        """Read every file that anything is said about; files that are swapped give one finding.

        With ``sampled`` those of the sample alone, and the METS documents.
        """
        statements = _ALL
        if sampled:
            statements = _IN_SAMPLE.format(statements)
        yield from self._read(_OF_FILES.format(statements))
        yield from self._swapped()
        yield from self._wrong()

    def _read(self, sql: str) -> Iterator[Finding]:
        for path, rows in groupby(self._catalogue.rows(sql), key=lambda row: row[0]):
            yield from self._opened(path, list(rows))

    def of_part(self, path: bytes, take: Callable[[bytes], None]) -> Generator[Finding, None, bool]:
        """Read one file, and hand its bytes on as well; returns whether they could all be read."""
        self._catalogue.put("INSERT OR IGNORE INTO done VALUES (?)", path)
        return (yield from self._opened(path, list(self._catalogue.rows(_OF_ONE.format(_ALL), path)), take))

    def _opened(
        self, path: bytes, rows: list[Row], take: Callable[[bytes], None] | None = None
    ) -> Generator[Finding, None, bool]:
        try:
            with self._places.content(path) as content:
                yield from self._file(content, path, rows, take)
            if self._catalogue.row(_IS_METS, path) is None:
                self._hashed_file(Sampled(hashed=1))
        except (OSError, MetspackError) as error:
            yield of_opening(path, error)
            return False
        return True

    def _file(
        self, content: Content, path: bytes, rows: list[Row], take: Callable[[bytes], None] | None
    ) -> Iterator[Finding]:
        prefix = [row for row in rows if row[1] == _ARCHIVE]
        lengths = [row for row in rows if row[1] == _LENGTH]
        hashers = Hashers(dict.fromkeys(row[5] for row in rows if row[1] != _LENGTH))
        text = Text() if lengths else None
        boundary = prefix[0][2] if prefix else 0
        before = hashers.copy()
        for block in _cut(content.chunks(), boundary):
            self._hashed(block, hashers, text)
            if take is not None:
                take(block)
            if hashers.size == boundary:
                before = hashers.copy()
        for row in prefix:
            yield from _content_digest(path, row, before)
        if text is not None:
            text.update(b"", final=True)
            yield from self._lengths(path, lengths, hashers.size, text)
        self._compared(content, path, [self._claim(row) for row in rows if row[1] <= _CELL], hashers)

    def _hashed(self, block: bytes, hashers: Hashers, text: Text | None) -> None:
        hashers.update(block)
        if text is not None:
            text.update(block)
        self._progress(len(block))

    def _lengths(self, path: bytes, rows: list[Row], size: int, text: Text) -> Iterator[Finding]:
        for row in rows:
            if not text.fits(row[7]):
                archive = self._catalogue.row("SELECT archive FROM cell WHERE id = ?", row[2]) or (b"",)
                found = length_found(size, text)
                yield Code.LENGTH_DIFFERS.at(
                    shown(archive[0]), 0, row[4], file=shown(path), expected=f"{row[7]:,}", found=found
                )

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

    def _compared(self, content: Content, path: bytes, claims: list[_Claim], hashers: Hashers) -> None:
        """Keep the wrong statements; when all are wrong the file is, and the first speaks for all."""
        wrong = [each for each in claims if hashers.digest(each.digest.algorithm) != each.digest]
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
                hashers.digest(each.digest.algorithm).value,
                others,
                self._likeness(content, each.digest),
            )

    def _likeness(self, content: Content, expected: Digest) -> str:
        """Return how like a file is to what it should be; large files, and the thousandth, are not asked."""
        if content.size > _LIKENESS_OF or self._likenesses >= _LIKENESSES:
            return ""
        self._likenesses += 1
        return lineends.likeness(content.chunks(), expected)

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
        for path, other, algorithm in self._catalogue.rows(_SWAPPED):
            if self._catalogue.number(taken, path, other):
                continue
            self._catalogue.put(mark, path)
            self._catalogue.put(mark, other)
            yield Code.FILES_SWAPPED.at(shown(path), other=shown(other), algorithm=algorithm)

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


def _content_digest(path: bytes, row: Row, content: Hashers) -> Iterator[Finding]:
    """Yield the archive's messageDigest when it is not that of what lies before ``header/``."""
    found = content.digest(row[5])
    if found.value != row[6]:
        yield Code.ARCHIVE_DIGEST.at(shown(path), algorithm=row[5], expected=row[6], found=f"{found.value}")
