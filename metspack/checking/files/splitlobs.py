"""Check split LOBs and archives: what METS states of parts, and joined parts with wholes.

A part is named in the parent's SPLITLOB structMap (CONTENTIDS, ORDER) and listed in its child (ID, GROUPID,
SEQ). The order is found by the rule by which LOBs are given back (``packages.splitlobs``). Each part is read
once.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from operator import itemgetter

from metspack import sizes
from metspack.checking.archives.forms import Entries
from metspack.checking.catalogue import PUT_MARK, Batch, Catalogue, Mark, Row
from metspack.checking.codes import Code, Rule
from metspack.checking.files.fixity import Fixity, Parts
from metspack.checking.files.listed import source_of
from metspack.digests import digest_function
from metspack.errors import SourceError
from metspack.files.paths import shown
from metspack.files.reading import DigestRequest, Hashed, Hashing, hash_blocks
from metspack.mets.links import By
from metspack.model import Digest, Finding, LobCell
from metspack.packages.lobs import HeldPart, Mapped
from metspack.packages.splitlobs import GapError, OrderError, arranged, is_last

BY_METS, _BY_NAMES, _INSIDE, BY_GROUP = range(4)
"""The source of a LOB's parts: parent's map, file names, entry names, GROUPID without a map.

The map precedes the parts' names; entries have only names.
"""

_PUT_PIECE = "INSERT OR IGNORE INTO piece VALUES (?, ?, ?, ?)"
_PUT_STATEMENT = """INSERT INTO statement
    (source, xml_id, document, line, size, algorithm, digest, boundary)
    VALUES ('whole', ?, ?, ?, ?, ?, ?, ?)"""
_PUT_STATEMENTS_OF_METS = """
INSERT INTO statement (source, xml_id, document, line, size, algorithm, digest)
SELECT 'whole', e.xml_id, m.path, e.line, e.size, e.algorithm, e.digest
FROM entry e JOIN mets m ON m.id = e.mets
WHERE e.path IS NULL AND e.href IS NULL AND e.xml_id IN (SELECT whole FROM piece WHERE origin = 0)
ORDER BY e.id
"""
_WHOLES = """
SELECT whole, min(origin) FROM piece
WHERE origin < 2 AND whole IN (SELECT xml_id FROM statement WHERE source = 'whole')
GROUP BY whole ORDER BY whole
"""
_PIECES_INSIDE = "SELECT path FROM piece WHERE whole = ? AND origin = 2 ORDER BY position"
_FORGET_INSIDE = """
DELETE FROM statement
WHERE source = 'whole' AND document = ? AND xml_id IN (SELECT whole FROM piece WHERE origin = 2)
"""
_PIECES = """
SELECT p.path, d.size FROM piece p LEFT JOIN disk d ON d.path = p.path AND d.kind = 'f'
WHERE p.whole = ? AND p.origin = ? ORDER BY p.position
"""
_STATEMENTS = """
SELECT document, line, size, algorithm, digest, boundary FROM statement
WHERE source = 'whole' AND xml_id = ? ORDER BY rowid
"""
# A child is named by the ID of its file entry (recommendation) or by its OBJID, with a URN before it or not
# (E-ARK); its METS, or those of its representations, list its files. Each ID is found once for all
# its parts.
_FIND_HOLDERS = """
WITH listed AS MATERIALIZED (
    SELECT e.mets, e.xml_id, c.id AS holder, min(e.id) FROM entry e CROSS JOIN mets c ON c.path = e.path
    WHERE EXISTS (SELECT 1 FROM mptr p WHERE p.mets = e.mets AND p.href = e.xml_id AND p.part IS NOT NULL)
    GROUP BY e.mets, e.xml_id
)
UPDATE mptr SET holder = coalesce(
    l.holder, CASE WHEN p.child IS NULL THEN p.mets END,
    (SELECT c.id FROM mets c WHERE c.parent = p.mets AND c.key = p.child),
    (SELECT c.id FROM mets c WHERE +c.parent = p.mets AND c.objid = p.href))
FROM mptr p LEFT JOIN listed l ON l.mets = p.mets AND l.xml_id = p.href
WHERE p.id = mptr.id AND p.part IS NOT NULL
"""
_FIND_PARTS = f"""
WITH represented AS MATERIALIZED (
    SELECT r.parent, e.xml_id, min(e.id) AS entry FROM mets r CROSS JOIN entry e ON e.mets = r.id
    WHERE r.named_by = '{By.LOCATION.value}' AND r.parent IS NOT NULL
    AND EXISTS (SELECT 1 FROM mptr p WHERE p.part = e.xml_id) GROUP BY r.parent, e.xml_id
)
UPDATE mptr SET entry = coalesce(
    (SELECT id FROM entry WHERE mets = p.holder AND xml_id = p.part ORDER BY id LIMIT 1), r.entry)
FROM mptr p LEFT JOIN represented r ON r.parent = p.holder AND r.xml_id = p.part
WHERE p.id = mptr.id AND p.part IS NOT NULL
"""  # noqa: S608 -- a constant
_MISSING = """
SELECT m.path, p.line, p.part, c.path FROM mptr p JOIN mets m ON m.id = p.mets
JOIN mets c ON c.id = p.holder AND c.ok WHERE p.part IS NOT NULL AND p.entry IS NULL ORDER BY p.id
"""
_WHOLE = """
e.path IS NULL AND e.href IS NULL AND EXISTS (SELECT 1 FROM section g WHERE g.id = e.grp AND g.is_whole)
"""
# The METS entries on each split LOB: 0 the whole, 1 the parts in the map, 2 the parts in the children.
_ON_LOBS = f"""
SELECT * FROM (
    SELECT e.xml_id AS lob, 0 AS kind, e.id AS id, m.path AS mets, e.line, NULL AS part, NULL AS place,
        NULL AS path, e.size, NULL AS held
    FROM entry e JOIN mets m ON m.id = e.mets WHERE {_WHOLE} AND e.xml_id IS NOT NULL
    UNION ALL
    SELECT coalesce(p.lob, ''), 1, p.id, m.path, p.line, p.part, p.place, x.path, NULL,
        CASE WHEN x.id IS NULL THEN NULL ELSE coalesce(x.groupid, '') END
    FROM mptr p JOIN mets m ON m.id = p.mets LEFT JOIN entry x ON x.id = p.entry WHERE p.part IS NOT NULL
    UNION ALL
    SELECT e.groupid, 2, e.id, m.path, e.line, coalesce(e.xml_id, ''), e.seq, e.path,
        coalesce(e.size, (SELECT d.size FROM disk d WHERE d.path = e.path AND d.kind = 'f'), 0),
        EXISTS (SELECT 1 FROM mptr p WHERE p.part = e.xml_id)
    FROM entry e JOIN mets m ON m.id = e.mets AND m.parent IS NOT NULL
    WHERE e.groupid IS NOT NULL AND e.element = 'file' AND e.path IS NOT NULL
    AND (e.seq IS NOT NULL OR EXISTS (SELECT 1 FROM mptr p WHERE p.lob = e.groupid))
) ORDER BY lob, kind, id
"""  # noqa: S608 -- a constant
_HAS_WHOLES = f"SELECT 1 FROM entry e WHERE {_WHOLE}"  # noqa: S608 -- a constant
_HAS_MAP = "SELECT 1 FROM mptr WHERE part IS NOT NULL"
_PARTS_KEPT = 100_000
_REPRESENTATIONS = b"representations"


@dataclass(frozen=True, slots=True, kw_only=True)
class _StatedWhole:
    """The stated size and digest of a whole LOB, and their source; ``line`` is 0 for a cell.

    ``size`` is bytes in METS; in a cell it may be characters. An archive's messageDigest covers the bytes
    before its ``boundary``.
    """

    path: bytes
    line: int
    size: int | None
    digest: Digest | None
    boundary: int | None

    def fits(self, size: int) -> bool:
        """Return whether the parts' bytes may be the whole's; if not, the size has a finding."""
        if self.size is None or self.line:
            return self.size in {None, size}
        return sizes.is_possible(self.size, size)

    @property
    def source(self) -> str:
        return source_of(self.path, self.line) if self.line else "the cell"


def put_cell(
    batch: Batch, archive: bytes, lob: str, cell: LobCell, paths: list[bytes], *, inside: bool
) -> None:
    """Put a cell's statement and the parts of its LOB, with the id ``lob``, into the catalogue.

    With ``inside`` the paths are names of entries in the archive's zip file.
    """
    for position, path in enumerate(paths):
        batch.add(_PUT_PIECE, lob, _INSIDE if inside else _BY_NAMES, position, path)
    algorithm, value = (None, None) if cell.digest is None else (cell.digest.algorithm, cell.digest.value)
    batch.add(_PUT_STATEMENT, lob, archive, 0, cell.length, algorithm, value, None)


def put_archive(
    catalogue: Catalogue, path: bytes, files: Sequence[bytes], boundary: int, digest: Digest
) -> None:
    """Put the parts of an archive into the catalogue, in their order, with its messageDigest."""
    name = f"/{shown(path)}"  # no LOB is called so
    catalogue.put_many(_PUT_PIECE, [(name, _BY_NAMES, number, file) for number, file in enumerate(files)])
    catalogue.put(_PUT_STATEMENT, name, path, 0, None, digest.algorithm, digest.value, boundary)


def of_mets(catalogue: Catalogue) -> Iterator[Finding]:
    """Put METS statements on split LOBs into the catalogue; yield findings on contradictions."""
    yield from _in_mets(catalogue)
    catalogue.put(_PUT_STATEMENTS_OF_METS)
    for whole, paths, size in _complete(catalogue):
        for each in _statements(catalogue, whole):
            if each.line and each.size is not None and not each.fits(size):
                facts = {"found": f"{size:,}", "expected": f"{each.size:,}", "source": each.source}
                yield Code.WHOLE_SIZE.at(each.path, each.line, whole, count=len(paths), **facts)


def findings(
    catalogue: Catalogue, fixity: Fixity, *, sampled: bool, jobs: int | None = 1
) -> Iterator[Finding]:
    """Read the parts of split LOBs; yield a finding for each whole with a wrong statement.

    ``fixity`` keeps the statements on each part. With ``sampled`` those LOBs are read whose first part is in
    the sample. ``jobs`` is the number of processes, or None for as many as are of use.
    """
    given: deque[tuple[str, list[_StatedWhole], list[bytes]]] = deque()

    def wholes() -> Iterator[Parts]:
        for whole, paths, size in _complete(catalogue):
            if sampled and not catalogue.is_marked(Mark.SAMPLED, paths[0]):
                continue
            if catalogue.is_marked(Mark.DISORDERED, whole):
                continue
            stated = [each for each in _statements(catalogue, whole) if each.fits(size)]
            if fixity.ledger.is_taken(paths, _facts(stated, paths)):
                continue
            given.append((whole, stated, paths))
            yield Parts(paths=paths, request=_request(stated, size))

    for found in fixity.read_parts(wholes(), jobs):
        whole, stated, paths = given.popleft()
        is_read = True
        for path, part in zip(paths, found.parts, strict=True):
            is_read &= yield from fixity.of_part(path, part)
        if is_read and isinstance(last := found.parts[-1], Hashed):
            wrong = list(_compared(whole, stated, len(paths), found.whole, last))
            if not wrong:
                fixity.ledger.note_whole(_facts(stated, paths))
            yield from wrong


def _facts(stated: Sequence[_StatedWhole], paths: Sequence[bytes]) -> tuple[str, ...]:
    """Return the stated facts of a whole, and a digest of its parts' paths, for a ledger."""
    parts = digest_function("SHA-256")(b"\0".join(paths))
    digests = ((each.boundary or "", each.digest) for each in stated if each.digest is not None)
    facts = [f"parts:{parts}"]
    facts += [f"whole@{boundary}:{digest.algorithm}:{digest.value}" for boundary, digest in digests]
    facts += [f"whole-size:{each.size} of {parts}" for each in stated if each.size is not None]
    return tuple(dict.fromkeys(facts))


def inside(
    catalogue: Catalogue, archive: bytes, entries: Entries, progress: Callable[[int], None]
) -> Iterator[Finding]:
    """Read the parts of split LOBs in an archive; yield each whole that differs from its cell.

    Damaged entries are reported elsewhere.
    """
    for (whole,) in catalogue.all("SELECT DISTINCT whole FROM piece WHERE origin = 2 ORDER BY whole"):
        extents = [
            extent
            for (name,) in catalogue.rows(_PIECES_INSIDE, whole)
            if (extent := entries.extent(name.decode("utf-8", "surrogateescape"))) is not None
        ]
        stated = [each for each in _statements(catalogue, whole) if each.path == archive]
        request = _request(stated, -1)
        joined = Hashing(request)
        if not extents:
            continue
        try:
            for each in extents[:-1]:
                for block in entries.contents(each):
                    joined.update(block)
                    progress(len(block))
            last = hash_blocks(entries.contents(extents[-1]), request, progress, joined)
        except SourceError:
            continue
        found = joined.result()
        stated = [each for each in stated if each.fits(found.size)]
        yield from _compared(whole, stated, len(extents), found, last)
    catalogue.put(_FORGET_INSIDE, archive)
    catalogue.put("DELETE FROM piece WHERE origin = 2")


def _request(stated: Sequence[_StatedWhole], size: int) -> DigestRequest:
    """Return the digests and lengths that the statements require of a whole of ``size`` bytes."""
    algorithms = (each.digest.algorithm for each in stated if each.digest is not None)
    return DigestRequest(
        algorithms=tuple(dict.fromkeys(algorithms)),
        # An archive has one boundary for all algorithms.
        boundary=next((each.boundary for each in stated if each.boundary is not None), 0),
        as_text=any(each.size not in {None, size} for each in stated),
    )


def _compared(
    whole: str, stated: list[_StatedWhole], count: int, joined: Hashed, last: Hashed
) -> Iterator[Finding]:
    """Yield the findings on the statements about a whole; ``last`` is its last part."""
    for each in stated:
        where = (shown(each.path), each.line, whole)
        if (digest := each.digest) is not None:
            algorithm = digest.algorithm
            found = (joined.digests if each.boundary is None else joined.until)[algorithm]
            facts = {"algorithm": algorithm, "found": found, "expected": digest.value}
            if found == digest.value:
                pass
            elif each.boundary is not None:
                yield Code.ARCHIVE_DIGEST.at(each.path, **facts)
            else:
                # DBPTK gives cells the digest of the last part.
                is_of_last = not each.line and last.digests[algorithm] == digest.value
                code = Code.PART_DIGEST if is_of_last else Code.WHOLE_DIGEST
                yield code.at(*where, count=count, source=each.source, **facts)
        if joined.text is not None and each.size is not None and joined.text.unit(each.size) is None:
            facts = {"found": str(joined.text), "expected": f"{each.size:,}"}
            yield Code.SPLIT_LENGTH.at(*where, count=count, **facts)


def _complete(catalogue: Catalogue) -> Iterator[tuple[str, list[bytes], int]]:
    """Yield each stated LOB whose parts all exist: its id, their paths and their bytes together."""
    for whole, origin in catalogue.rows(_WHOLES):
        pieces: list[Row] = catalogue.all(_PIECES, whole, origin)
        if all(size is not None for _, size in pieces):
            yield whole, [path for path, _ in pieces], sum(size for _, size in pieces)


def _statements(catalogue: Catalogue, whole: str) -> Iterator[_StatedWhole]:
    for path, line, size, algorithm, value, boundary in catalogue.rows(_STATEMENTS, whole):
        digest = None if value is None else Digest(algorithm=algorithm, value=value)
        yield _StatedWhole(path=path, line=line, size=size, digest=digest, boundary=boundary)


@dataclass(slots=True)
class _MetsOnLob:
    """The METS entries and mptr of one split LOB."""

    lob: str
    wholes: list[Row] = field(default_factory=list)
    mapped: list[Row] = field(default_factory=list)
    held: list[Row] = field(default_factory=list)

    @property
    def names(self) -> set[str]:
        """Return the parts that the map names."""
        return {row[5] for row in self.mapped}

    @property
    def is_complete(self) -> bool:
        """Return whether the children list exactly the parts that the map names, all in the package."""
        is_listed = all(row[9] is not None for row in self.mapped)
        return is_listed and self.names == {row[5] for row in self.held}

    @property
    def has_last(self) -> bool:
        """Return whether the name of one of the parts marks it as the last."""
        return any(is_last(shown(row[7])) for row in self.held)

    @property
    def is_of_metspack(self) -> bool:
        """Return whether a part has an id as metspack writes them; other writers group files too."""
        return any(str(row[5]).startswith(f"{self.lob}.p") for row in self.held)

    @property
    def is_in_representations(self) -> bool:
        """Return whether representations list all parts: CSIP76 requires a location for each file."""
        return all(row[3].split(b"/")[-3:-2] == [_REPRESENTATIONS] for row in self.held)


def _in_mets(catalogue: Catalogue) -> Iterator[Finding]:
    """Put the parts of split LOBs into the catalogue, in order; yield METS's contradictions."""
    if catalogue.has(_HAS_MAP):
        catalogue.put(_FIND_HOLDERS)
        catalogue.put(_FIND_PARTS)
    for path, line, part, child in catalogue.rows(_MISSING):
        yield Code.PART_MISSING.at(path, line, part, expected=part, child=child)
    is_child = catalogue.has("SELECT 1 FROM mptr WHERE mets = 1 AND up")
    is_divided = catalogue.has(_HAS_WHOLES) or catalogue.has(_HAS_MAP)
    batch = Batch(catalogue.put_many)
    for lob, rows in groupby(catalogue.rows(_ON_LOBS), itemgetter(0)):
        stated = _MetsOnLob(lob)
        lists = stated.wholes, stated.mapped, stated.held
        for row in rows:
            if len(lists[row[1]]) < _PARTS_KEPT:
                lists[row[1]].append(row)
        if stated.mapped:
            # A part that another LOB's map names is reported there.
            stated.held = [row for row in stated.held if not row[9] or row[5] in stated.names]
            yield from _of_map(stated, batch)
        elif stated.held and stated.is_of_metspack and not any(row[9] for row in stated.held):
            yield from _of_groups(stated, batch)
            if not is_child:
                yield _unmapped(stated, is_divided=is_divided)
    batch.flush()


def _of_map(stated: _MetsOnLob, batch: Batch) -> Iterator[Finding]:
    """Put the parts of a LOB that the parent's map names into the catalogue; yield the finding."""
    paths: list[bytes | None] = [row[7] for row in stated.mapped]
    finding = _disagreement(stated) or _undescribed(stated)
    if finding is None and stated.is_complete:
        try:
            paths = list(_ordered(stated))
        except OrderError as error:
            finding = _uncertain(stated, stated.mapped[0], error)
    if finding is not None:
        batch.add(PUT_MARK, Mark.DISORDERED, stated.lob, None, None)
        yield finding
    for position, path in enumerate(paths):
        batch.add(_PUT_PIECE, stated.lob, BY_METS, position, path)


def _of_groups(stated: _MetsOnLob, batch: Batch) -> Iterator[Finding]:
    """Put the parts of a LOB that no map names into the catalogue; yield the finding on order."""
    paths = [row[7] for row in stated.held]
    try:
        paths = list(_ordered(stated))
    except GapError:
        pass  # the sizes show the gap
    except OrderError as error:
        yield _uncertain(stated, stated.held[0], error)
    for position, path in enumerate(paths):
        batch.add(_PUT_PIECE, stated.lob, BY_GROUP, position, path)


def _disagreement(stated: _MetsOnLob) -> Finding | None:
    """Return the finding on parts that the map and the children name differently, or None."""
    lob = stated.lob or "no LOB"
    named: dict[str, Row] = {}
    for row in stated.mapped:
        part, held = row[5], row[9]
        if (before := named.setdefault(part, row)) is not row:
            reason = f"the map names part {part!r} twice, in lines {before[4]} and {row[4]}"
        elif held is not None and held != stated.lob:
            given = f"the GROUPID {held!r}" if held else "no GROUPID"
            reason = f"the map has part {part!r} as one of {lob}, its child gives it {given}"
        else:
            continue
        return _at(Code.PARTS_DISAGREE, stated, row, reason)
    listed: dict[str, Row] = {}
    for row in stated.held:
        part = row[5]
        if (before := listed.setdefault(part, row)) is not row:
            where = f"{shown(before[3])} line {before[4]}"
            return _at(Code.PARTS_DISAGREE, stated, row, f"part {part!r} is listed here and in {where}")
    if any(row[9] is None for row in stated.mapped):
        return None
    for part, row in listed.items():
        if part not in named:
            reason = f"part {part!r} has the GROUPID {lob!r}, the parent's map of it does not name it"
            return _at(Code.PARTS_DISAGREE, stated, row, reason)
    return None


def _undescribed(stated: _MetsOnLob) -> Finding | None:
    if stated.wholes or not stated.held or stated.is_in_representations:
        return None
    expected = 'a file with this ID in a fileGrp USE="split LOB"'
    return Code.WHOLE_NOT_DESCRIBED.at(
        stated.mapped[0][3], stated.mapped[0][4], stated.lob, count=len(stated.held), expected=expected
    )


def _unmapped(stated: _MetsOnLob, *, is_divided: bool) -> Finding:
    """Return the finding on a LOB whose parts the parent's map does not name."""
    row = stated.wholes[0] if stated.wholes else stated.held[0]
    where, count = (shown(row[3]), row[4], stated.lob), len(stated.held)
    if stated.wholes or (stated.has_last and not (is_divided or stated.is_in_representations)):
        return Code.LOB_NOT_MAPPED.at(*where, count=count)
    expected = 'a division with this LABEL in a structMap TYPE="SPLITLOB" of the parent\'s METS'
    return Code.WHOLE_NOT_DESCRIBED.at(*where, count=count, expected=expected)


def _ordered(stated: _MetsOnLob) -> Iterator[bytes]:
    """Yield the paths of the parts in their order; raises ``OrderError``."""
    paths = {row[2]: row[7] for row in stated.held}
    parts = [_part(row) for row in stated.held]
    mapped = [
        Mapped(part=row[5], child="", order=row[6], source=f"{shown(row[3])} line {row[4]}")
        for row in stated.mapped
    ]
    size = stated.wholes[0][8] if stated.wholes else None
    for part in arranged(stated.lob, parts, size, mapped):
        yield paths[int(part.segment)]


def _part(row: Row) -> HeldPart:
    _, _, number, mets, line, part, seq, path, size, _ = row
    return HeldPart(
        id=part,
        seq=seq,
        path=tuple(shown(path).split("/")),
        size=size,
        digest=None,
        media_type=None,
        mets=shown(mets),
        line=line,
        segment=str(number),
    )


def _uncertain(stated: _MetsOnLob, row: Row, error: SourceError) -> Finding:
    return _at(Code.ORDER_UNCERTAIN, stated, row, error.message.removeprefix(f"LOB {stated.lob}: "))


def _at(code: Rule, stated: _MetsOnLob, row: Row, reason: str) -> Finding:
    return code.at(row[3], row[4], stated.lob or row[5], reason=reason)
