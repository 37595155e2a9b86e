"""Check of split LOBs and archives: the parts joined against the stated whole; each is read once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from metspack import textlength
from metspack.checking.catalogue import Batch, Catalogue, Row, shown
from metspack.checking.codes import Code
from metspack.checking.files.fixity import Fixity
from metspack.checking.files.listed import source_of
from metspack.digests import Hashers
from metspack.errors import SourceError
from metspack.model import Digest, Finding, LobCell
from metspack.textlength import TextLength

# Who says which parts a LOB has; what METS says goes before the parts' names. Entries go by names alone.
_BY_METS, _BY_NAMES, _INSIDE = 0, 1, 2
_PUT_PIECE = "INSERT OR IGNORE INTO piece VALUES (?, ?, ?, ?)"
_PUT_SAID = "INSERT INTO said VALUES (?, ?, ?, ?, ?, ?, ?)"
_PARTS = """
SELECT x.groupid, p.part, p.id, x.path FROM mptr p
LEFT JOIN entry e ON e.id = (SELECT min(id) FROM entry WHERE mets = p.mets AND xml_id = p.href)
LEFT JOIN mets c ON c.path = e.path
LEFT JOIN entry x ON x.id = (SELECT min(id) FROM entry WHERE mets = c.id AND xml_id = p.part)
WHERE p.part IS NOT NULL ORDER BY p.id
"""
_PUT_SAID_BY_METS = """
INSERT INTO said SELECT e.xml_id, m.path, e.line, e.size, e.algorithm, e.digest, NULL
FROM entry e JOIN mets m ON m.id = e.mets
WHERE e.path IS NULL AND e.href IS NULL AND e.xml_id IN (SELECT whole FROM piece) ORDER BY e.id
"""
_WHOLES = """
SELECT whole, min(origin) FROM piece WHERE origin < 2 AND whole IN (SELECT whole FROM said)
GROUP BY whole ORDER BY whole
"""
_WHOLES_INSIDE = "SELECT DISTINCT whole FROM piece WHERE origin = 2 ORDER BY whole"
_PIECES_INSIDE = "SELECT path FROM piece WHERE whole = ? AND origin = 2 ORDER BY position"
_SAID_INSIDE = "DELETE FROM said WHERE path = ? AND whole IN (SELECT whole FROM piece WHERE origin = 2)"
_PIECES = """
SELECT p.path, d.size FROM piece p LEFT JOIN disk d ON d.path = p.path AND d.kind = 'f'
WHERE p.whole = ? AND p.origin = ? ORDER BY p.position
"""
_SAID = "SELECT path, line, size, algorithm, digest, boundary FROM said WHERE whole = ? ORDER BY rowid"
_IS_SAMPLED = "SELECT 1 FROM sampled WHERE path = ?"


@dataclass(frozen=True, slots=True, kw_only=True)
class _StatedWhole:
    """The stated size and digest of a whole LOB, and their source; ``line`` is 0 for a cell.

    ``size`` is bytes in METS; in a cell it may be characters. An archive's messageDigest is of what lies
    before its ``boundary``.
    """

    path: bytes
    line: int
    size: int | None
    digest: Digest | None
    boundary: int | None

    def fits(self, size: int) -> bool:
        """Whether the parts' bytes can be the whole's; where they cannot, that was told from the sizes."""
        if self.size is None or self.line:
            return self.size in {None, size}
        return textlength.is_possible(self.size, size)

    @property
    def source(self) -> str:
        return source_of(self.path, self.line) if self.line else "the cell"


def put_cell(
    batch: Batch, archive: bytes, lob: str, cell: LobCell, paths: list[bytes], *, inside: bool
) -> None:
    """Put the parts of a cell's LOB, with the id ``lob``, into the catalogue, with the cell's statement.

    ``inside`` the archive's zip file the paths are names of entries.
    """
    for position, path in enumerate(paths):
        batch.add(_PUT_PIECE, lob, _INSIDE if inside else _BY_NAMES, position, path)
    algorithm, value = (None, None) if cell.digest is None else (cell.digest.algorithm, cell.digest.value)
    batch.add(_PUT_SAID, lob, archive, 0, cell.length, algorithm, value, None)


def put_archive(
    catalogue: Catalogue, path: bytes, files: Sequence[bytes], boundary: int, digest: Digest
) -> None:
    """Put the parts of an archive into the catalogue, in their order, with its messageDigest."""
    name = f"/{shown(path)}"  # no LOB is called so
    catalogue.put_many(_PUT_PIECE, [(name, _BY_NAMES, number, file) for number, file in enumerate(files)])
    catalogue.put(_PUT_SAID, name, path, 0, None, digest.algorithm, digest.value, boundary)


def of_mets(catalogue: Catalogue) -> Iterator[Finding]:
    """Put METS statements on split LOBs into the catalogue; yield those whose parts differ in size."""
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
    """Read the parts of split LOBs; yield a finding for each whole that differs from its statement.

    What is said of each part by itself ``fixity`` keeps. Of a sample those LOBs are read whose first part is
    in it.
    """
    for whole, paths, size in _complete(catalogue):
        if sampled and catalogue.row(_IS_SAMPLED, paths[0]) is None:
            continue
        told = [each for each in _all_said(catalogue, whole) if each.fits(size)]
        joined = _Joined(told, size)
        is_read = True
        for path in paths:
            joined.is_last = path == paths[-1]
            is_read &= yield from fixity.of_part(path, joined.update)
        if is_read:
            yield from _compared(whole, told, len(paths), joined)


def inside(
    catalogue: Catalogue, archive: bytes, contents: Callable[[str], Iterable[bytes]]
) -> Iterator[Finding]:
    """Read the parts of split LOBs in an archive; yield a finding for each whole that differs from its cell.

    ``contents`` are those of an entry; where it raises ``SourceError``, the damage is told elsewhere.
    """
    for (whole,) in list(catalogue.rows(_WHOLES_INSIDE)):
        names = [name.decode("utf-8", "surrogateescape") for (name,) in catalogue.rows(_PIECES_INSIDE, whole)]
        told = [each for each in _all_said(catalogue, whole) if each.path == archive]
        joined = _Joined(told, -1)
        try:
            for name in names:
                joined.is_last = name == names[-1]
                for block in contents(name):
                    joined.update(block)
        except SourceError:
            continue
        told = [each for each in told if each.fits(joined.whole.size)]
        yield from _compared(whole, told, len(names), joined)
    catalogue.put(_SAID_INSIDE, archive)
    catalogue.put("DELETE FROM piece WHERE origin = 2")


class _Joined:
    """The digests of parts as they are read one after the other."""

    def __init__(self, told: Sequence[_StatedWhole], size: int) -> None:
        algorithms = [each.digest.algorithm for each in told if each.digest is not None]
        self.whole = Hashers(dict.fromkeys(algorithms))
        self.text = TextLength() if any(each.size not in {None, size} for each in told) else None
        # An archive has one boundary, whatever the algorithms.
        self.boundary = next((each.boundary for each in told if each.boundary is not None), None)
        self.before = Hashers(dict.fromkeys(algorithms))
        self.last = Hashers(dict.fromkeys(algorithms))
        self.is_last = False

    def update(self, block: bytes) -> None:
        if self.boundary is not None and self.before.size < self.boundary:
            self.before.update(block[: self.boundary - self.before.size])
        self.whole.update(block)
        if self.is_last:
            self.last.update(block)
        if self.text is not None:
            self.text.update(block)


def _compared(whole: str, told: list[_StatedWhole], count: int, joined: _Joined) -> Iterator[Finding]:
    for said in told:
        where = (shown(said.path), said.line, whole)
        if said.boundary is not None and said.digest is not None:
            found = joined.before.digest(said.digest.algorithm)
            if found != said.digest:
                facts = {"algorithm": found.algorithm, "found": found.value, "expected": said.digest.value}
                yield Code.ARCHIVE_DIGEST.at(shown(said.path), **facts)
        elif said.digest is not None and (found := joined.whole.digest(said.digest.algorithm)) != said.digest:
            facts = {"algorithm": found.algorithm, "found": found.value, "expected": said.digest.value}
            # DBPTK gives cells the digest of the last part.
            is_of_last = not said.line and joined.last.digest(found.algorithm) == said.digest
            code = Code.PART_DIGEST if is_of_last else Code.WHOLE_DIGEST
            yield code.at(*where, count=count, source=said.source, **facts)
        if joined.text is not None and said.size is not None and joined.text.unit(said.size) is None:
            facts = {"found": str(joined.text), "expected": f"{said.size:,}"}
            yield Code.SPLIT_LENGTH.at(*where, count=count, **facts)


def _complete(catalogue: Catalogue) -> Iterator[tuple[str, list[bytes], int]]:
    """Yield the LOBs that something is said of and all of whose parts are there: paths and bytes together."""
    for whole, origin in catalogue.rows(_WHOLES):
        pieces: list[Row] = list(catalogue.rows(_PIECES, whole, origin))
        if all(size is not None for _, size in pieces):
            yield whole, [path for path, _ in pieces], sum(size for _, size in pieces)


def _all_said(catalogue: Catalogue, whole: str) -> Iterator[_StatedWhole]:
    for path, line, size, algorithm, value, boundary in catalogue.rows(_SAID, whole):
        digest = None if value is None else Digest(algorithm=algorithm, value=value)
        yield _StatedWhole(path=path, line=line, size=size, digest=digest, boundary=boundary)
