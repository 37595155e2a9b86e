"""LOBs in parts: the parts joined, against what METS and cells say of the whole; each part is read once."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from metspack.checking.catalogue import Batch, Catalogue, Row, shown
from metspack.checking.codes import Code
from metspack.checking.fixity import Fixity
from metspack.checking.hashing import Text, length_found
from metspack.checking.structure import source_of
from metspack.digests import Hashers
from metspack.model import Digest, Finding, LobCell

_BY_METS, _BY_NAMES = 0, 1  # who says which parts a LOB has; what METS says goes before the parts' names
_PUT_PIECE = "INSERT OR IGNORE INTO piece VALUES (?, ?, ?, ?)"
_PUT_SAID = "INSERT INTO said VALUES (?, ?, ?, ?, ?, ?)"
_PARTS = """
SELECT x.groupid, p.part, p.id, x.path FROM mptr p
LEFT JOIN entry e ON e.id = (SELECT min(id) FROM entry WHERE mets = p.mets AND xml_id = p.href)
LEFT JOIN mets c ON c.path = e.path
LEFT JOIN entry x ON x.id = (SELECT min(id) FROM entry WHERE mets = c.id AND xml_id = p.part)
WHERE p.part IS NOT NULL ORDER BY p.id
"""
_PUT_SAID_BY_METS = """
INSERT INTO said SELECT e.xml_id, m.path, e.line, e.size, e.algorithm, e.digest
FROM entry e JOIN mets m ON m.id = e.mets
WHERE e.path IS NULL AND e.href IS NULL AND e.xml_id IN (SELECT whole FROM piece) ORDER BY e.id
"""
_WHOLES = """
SELECT whole, min(origin) FROM piece WHERE whole IN (SELECT whole FROM said) GROUP BY whole ORDER BY whole
"""
_PIECES = """
SELECT p.path, d.size FROM piece p LEFT JOIN disk d ON d.path = p.path AND d.kind = 'f'
WHERE p.whole = ? AND p.origin = ? ORDER BY p.position
"""
_SAID = "SELECT path, line, size, algorithm, digest FROM said WHERE whole = ? ORDER BY rowid"
_IS_SAMPLED = "SELECT 1 FROM sampled WHERE path = ?"
_LONGEST_CHARACTER = 4  # bytes of UTF-8


@dataclass(frozen=True, slots=True, kw_only=True)
class _Said:
    """What is said of a whole LOB, in which file; ``line`` is 0 for a cell of an archive.

    ``size`` is bytes in METS; in a cell it may be characters.
    """

    path: bytes
    line: int
    size: int | None
    digest: Digest | None

    def fits(self, size: int) -> bool:
        """Whether the parts' bytes can be the whole's; where they cannot, that was told from the sizes."""
        if self.size is None or self.line:
            return self.size in {None, size}
        return self.size <= size <= self.size * _LONGEST_CHARACTER

    @property
    def source(self) -> str:
        return source_of(self.path, self.line) if self.line else "the cell"


def put_cell(batch: Batch, archive: bytes, cell: LobCell, paths: list[bytes]) -> None:
    """Take the parts of a cell's LOB, in their order, and what the cell says of the whole."""
    for position, path in enumerate(paths):
        batch.add(_PUT_PIECE, cell.place.id, _BY_NAMES, position, path)
    algorithm, value = (None, None) if cell.digest is None else (cell.digest.algorithm, cell.digest.value)
    batch.add(_PUT_SAID, cell.place.id, archive, 0, cell.length, algorithm, value)


def of_mets(catalogue: Catalogue) -> Iterator[Finding]:
    """Take what the METS documents say of split LOBs; yield those whose parts' sizes are not the whole's."""
    batch = Batch(catalogue)
    for group, part, position, path in catalogue.rows(_PARTS):
        whole = group or part.rpartition(".p")[0] or part
        batch.add(_PUT_PIECE, whole, _BY_METS, position, path)
    batch.flush()
    catalogue.put(_PUT_SAID_BY_METS)
    for whole, paths, size in _complete(catalogue):
        for said in _all_said(catalogue, whole):
            if said.line and said.size is not None and not said.fits(size):
                facts: dict[str, str | int] = {
                    "count": len(paths),
                    "found": f"{size:,}",
                    "expected": f"{said.size:,}",
                }
                yield Code.WHOLE_SIZE.at(shown(said.path), said.line, whole, source=said.source, **facts)


def findings(catalogue: Catalogue, fixity: Fixity, *, sampled: bool) -> Iterator[Finding]:
    """Read the parts of split LOBs; yield the wholes that are not what is said of them.

    What is said of each part by itself ``fixity`` keeps. Of a sample those LOBs are read whose first part is
    in it.
    """
    for whole, paths, size in _complete(catalogue):
        if sampled and catalogue.row(_IS_SAMPLED, paths[0]) is None:
            continue
        told = [each for each in _all_said(catalogue, whole) if each.fits(size)]
        joined = Hashers(dict.fromkeys(each.digest.algorithm for each in told if each.digest is not None))
        text = Text() if any(each.size not in {None, size} for each in told) else None

        def take(block: bytes, joined: Hashers = joined, text: Text | None = text) -> None:
            joined.update(block)
            if text is not None:
                text.update(block)

        is_read = True
        for path in paths:
            is_read &= yield from fixity.of_part(path, take)
        if is_read:
            yield from _compared(whole, told, len(paths), joined, text)


def _compared(
    whole: str, told: list[_Said], count: int, joined: Hashers, text: Text | None
) -> Iterator[Finding]:
    for said in told:
        where = (shown(said.path), said.line, whole)
        if said.digest is not None and (found := joined.digest(said.digest.algorithm)) != said.digest:
            facts = {"algorithm": found.algorithm, "found": found.value, "expected": said.digest.value}
            yield Code.WHOLE_DIGEST.at(*where, count=count, source=said.source, **facts)
        if text is not None and said.size not in {None, joined.size}:
            text.update(b"", final=True)
            if not text.fits(said.size or 0):
                facts = {"found": length_found(joined.size, text), "expected": f"{said.size:,}"}
                yield Code.SPLIT_LENGTH.at(*where, count=count, **facts)


def _complete(catalogue: Catalogue) -> Iterator[tuple[str, list[bytes], int]]:
    """Yield the LOBs that something is said of and all of whose parts are there: paths and bytes together."""
    for whole, origin in catalogue.rows(_WHOLES):
        pieces: list[Row] = list(catalogue.rows(_PIECES, whole, origin))
        if all(size is not None for _, size in pieces):
            yield whole, [path for path, _ in pieces], sum(size for _, size in pieces)


def _all_said(catalogue: Catalogue, whole: str) -> Iterator[_Said]:
    for path, line, size, algorithm, value in catalogue.rows(_SAID, whole):
        digest = None if value is None else Digest(algorithm=algorithm, value=value)
        yield _Said(path=path, line=line, size=size, digest=digest)
