"""Check split LOBs and archives: what METS states of parts, and joined parts with wholes.

A part is named in the parent's SPLITLOB structMap (CONTENTIDS, ORDER) and listed in its child (ID, GROUPID,
SEQ). The order is found by the rule by which LOBs are given back (``packages.splitlobs``). Each part is read
once.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from operator import itemgetter

from metspack import sizes
from metspack.checking.archives.forms import Entries
from metspack.checking.catalogue import Batch, Catalogue, Row, shown
from metspack.checking.codes import Code, Rule
from metspack.checking.files.fixity import Fixity, Parts, Progress
from metspack.checking.files.listed import source_of
from metspack.digests import digest_function
from metspack.errors import SourceError
from metspack.files.reading import Asked, Hashed, Hashing, hash_blocks
from metspack.mets.links import By
from metspack.model import Digest, Finding, LobCell
from metspack.packages.lobs import HeldPart, Mapped
from metspack.packages.splitlobs import GapError, OrderError, arranged, is_last

BY_METS, _BY_NAMES, _INSIDE, BY_GROUP = range(4)
"""The source of a LOB's parts: parent's map, file names, entry names, GROUPID without a map.

The map precedes the parts' names; entries have only names.
"""

_PUT_PIECE = "INSERT OR IGNORE INTO piece VALUES (?, ?, ?, ?)"
_PUT_SAID = "INSERT INTO said VALUES (?, ?, ?, ?, ?, ?, ?)"
_PUT_SAID_BY_METS = """
INSERT INTO said SELECT e.xml_id, m.path, e.line, e.size, e.algorithm, e.digest, NULL
FROM entry e JOIN mets m ON m.id = e.mets
WHERE e.path IS NULL AND e.href IS NULL AND e.xml_id IN (SELECT whole FROM piece WHERE origin = 0)
ORDER BY e.id
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
_IS_DISORDERED = "SELECT 1 FROM disordered WHERE whole = ?"
_IS_SAMPLED = "SELECT 1 FROM sampled WHERE path = ?"
_PUT_DISORDERED = "INSERT OR IGNORE INTO disordered VALUES (?)"
# A child is named by the ID of its file entry (recommendation) or by its OBJID, with a URN before it or not
# (E-ARK); its METS lists its files, or those of its representations do.
_FILL = """
INSERT INTO mapped SELECT id, mets, lob, part, place, line, child, coalesce(
    (SELECT id FROM entry WHERE mets = child AND xml_id = part ORDER BY id LIMIT 1),
    (SELECT entry FROM represented WHERE package = child AND xml_id = part))
FROM (
    SELECT p.id, p.mets, p.lob, p.part, p.place, p.line, coalesce(
        (SELECT mets FROM listed_mets l WHERE l.parent = p.mets AND l.xml_id = p.href),
        CASE WHEN p.child IS NULL THEN p.mets END,
        (SELECT c.id FROM mets c WHERE c.parent = p.mets AND c.key = p.child),
        (SELECT c.id FROM mets c WHERE +c.parent = p.mets AND c.objid = p.href)) AS child
    FROM mptr p WHERE p.part IS NOT NULL
) ORDER BY id
"""
# Without these each part would be looked for among all entries of an ID, or in all representations.
_BEFORE = (
    """
INSERT OR IGNORE INTO listed_mets SELECT e.mets, e.xml_id, c.id FROM entry e
CROSS JOIN mets c ON c.path = e.path WHERE EXISTS (
    SELECT 1 FROM mptr p WHERE p.mets = e.mets AND p.href = e.xml_id AND p.part IS NOT NULL)
ORDER BY e.id
""",
    f"""
INSERT OR IGNORE INTO represented SELECT r.parent, e.xml_id, e.id FROM mets r
CROSS JOIN entry e ON e.mets = r.id WHERE r.named_by = '{By.LOCATION.value}' AND r.parent IS NOT NULL
AND EXISTS (SELECT 1 FROM mptr p WHERE p.part = e.xml_id) ORDER BY e.id
""",  # noqa: S608 -- a constant
)
_MISSING = """
SELECT m.path, p.line, p.part, c.path FROM mapped p JOIN mets m ON m.id = p.mets
JOIN mets c ON c.id = p.child AND c.ok WHERE p.entry IS NULL ORDER BY p.id
"""
_WHOLE = """
e.path IS NULL AND e.href IS NULL AND EXISTS (SELECT 1 FROM grp g WHERE g.id = e.grp AND g.is_whole)
"""
# The METS entries on each split LOB: 0 the whole, 1 the parts in the map, 2 the parts in the children.
_METS_SAID = f"""
SELECT * FROM (
    SELECT e.xml_id AS lob, 0 AS kind, e.id AS id, m.path AS mets, e.line, NULL AS part, NULL AS place,
        NULL AS path, e.size, NULL AS held
    FROM entry e JOIN mets m ON m.id = e.mets WHERE {_WHOLE} AND e.xml_id IS NOT NULL
    UNION ALL
    SELECT coalesce(p.lob, ''), 1, p.id, m.path, p.line, p.part, p.place, x.path, NULL,
        CASE WHEN x.id IS NULL THEN NULL ELSE coalesce(x.groupid, '') END
    FROM mapped p JOIN mets m ON m.id = p.mets LEFT JOIN entry x ON x.id = p.entry
    UNION ALL
    SELECT e.groupid, 2, e.id, m.path, e.line, coalesce(e.xml_id, ''), e.seq, e.path,
        coalesce(e.size, (SELECT d.size FROM disk d WHERE d.path = e.path AND d.kind = 'f'), 0),
        EXISTS (SELECT 1 FROM mptr p WHERE p.part = e.xml_id)
    FROM entry e JOIN mets m ON m.id = e.mets AND m.parent IS NOT NULL
    WHERE e.groupid IS NOT NULL AND e.element = 'file' AND e.path IS NOT NULL
    AND (e.seq IS NOT NULL OR EXISTS (SELECT 1 FROM mptr p WHERE p.lob = e.groupid))
) ORDER BY lob, kind, id
"""  # noqa: S608 -- a constant
_IS_CHILD = "SELECT 1 FROM mptr WHERE mets = 1 AND up"
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
        """Return whether the parts' bytes can be the whole's; if not, the size has a finding."""
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
    batch.add(_PUT_SAID, lob, archive, 0, cell.length, algorithm, value, None)


def put_archive(
    catalogue: Catalogue, path: bytes, files: Sequence[bytes], boundary: int, digest: Digest
) -> None:
    """Put the parts of an archive into the catalogue, in their order, with its messageDigest."""
    name = f"/{shown(path)}"  # no LOB is called so
    catalogue.put_many(_PUT_PIECE, [(name, _BY_NAMES, number, file) for number, file in enumerate(files)])
    catalogue.put(_PUT_SAID, name, path, 0, None, digest.algorithm, digest.value, boundary)


def of_mets(catalogue: Catalogue) -> Iterator[Finding]:
    """Put METS statements on split LOBs into the catalogue; yield those that disagree."""
    yield from _in_mets(catalogue)
    catalogue.put(_PUT_SAID_BY_METS)
    for whole, paths, size in _complete(catalogue):
        for said in _all_said(catalogue, whole):
            if said.line and said.size is not None and not said.fits(size):
                facts = {"found": f"{size:,}", "expected": f"{said.size:,}", "source": said.source}
                yield Code.WHOLE_SIZE.at(said.path, said.line, whole, count=len(paths), **facts)


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
            if sampled and not catalogue.has(_IS_SAMPLED, paths[0]):
                continue
            if catalogue.has(_IS_DISORDERED, whole):
                continue
            told = [each for each in _all_said(catalogue, whole) if each.fits(size)]
            if fixity.ledger.is_taken(paths, _facts(told, paths)):
                continue
            given.append((whole, told, paths))
            yield Parts(paths=paths, asked=_asked(told, size))

    for found in fixity.read_parts(wholes(), jobs):
        whole, told, paths = given.popleft()
        is_read = True
        for path, part in zip(paths, found.parts, strict=True):
            is_read &= yield from fixity.of_part(path, part)
        if is_read and isinstance(last := found.parts[-1], Hashed):
            wrong = list(_compared(whole, told, len(paths), found.whole, last))
            if not wrong:
                fixity.ledger.note_whole(_facts(told, paths))
            yield from wrong


def _facts(told: Sequence[_StatedWhole], paths: Sequence[bytes]) -> tuple[str, ...]:
    """Return the stated facts of a whole, and a digest of its parts' paths, in a ledger's form."""
    parts = digest_function("SHA-256")(b"\0".join(paths))
    digests = ((each.boundary or "", each.digest) for each in told if each.digest is not None)
    facts = [f"parts:{parts}"]
    facts += [f"whole@{boundary}:{digest.algorithm}:{digest.value}" for boundary, digest in digests]
    facts += [f"whole-size:{each.size} of {parts}" for each in told if each.size is not None]
    return tuple(dict.fromkeys(facts))


def inside(catalogue: Catalogue, archive: bytes, entries: Entries, progress: Progress) -> Iterator[Finding]:
    """Read the parts of split LOBs in an archive; yield each whole that differs from its cell.

    Damaged entries are reported elsewhere.
    """
    for (whole,) in catalogue.all(_WHOLES_INSIDE):
        extents = [
            extent
            for (name,) in catalogue.rows(_PIECES_INSIDE, whole)
            if (extent := entries.extent(name.decode("utf-8", "surrogateescape"))) is not None
        ]
        told = [each for each in _all_said(catalogue, whole) if each.path == archive]
        asked = _asked(told, -1)
        joined = Hashing(asked)
        if not extents:
            continue
        try:
            for each in extents[:-1]:
                for block in entries.contents(each):
                    joined.update(block)
                    progress(len(block))
            last = hash_blocks(entries.contents(extents[-1]), asked, progress, joined)
        except SourceError:
            continue
        found = joined.result()
        told = [each for each in told if each.fits(found.size)]
        yield from _compared(whole, told, len(extents), found, last)
    catalogue.put(_SAID_INSIDE, archive)
    catalogue.put("DELETE FROM piece WHERE origin = 2")


def _asked(told: Sequence[_StatedWhole], size: int) -> Asked:
    """Return the digests and lengths that the statements require of a whole of ``size`` bytes."""
    algorithms = (each.digest.algorithm for each in told if each.digest is not None)
    return Asked(
        algorithms=tuple(dict.fromkeys(algorithms)),
        # An archive has one boundary for all algorithms.
        boundary=next((each.boundary for each in told if each.boundary is not None), 0),
        as_text=any(each.size not in {None, size} for each in told),
    )


def _compared(
    whole: str, told: list[_StatedWhole], count: int, joined: Hashed, last: Hashed
) -> Iterator[Finding]:
    """Yield the findings on the statements about a whole; ``last`` is its last part."""
    for said in told:
        where = (shown(said.path), said.line, whole)
        if (digest := said.digest) is not None:
            algorithm = digest.algorithm
            found = (joined.digests if said.boundary is None else joined.until)[algorithm]
            facts = {"algorithm": algorithm, "found": found, "expected": digest.value}
            if found == digest.value:
                pass
            elif said.boundary is not None:
                yield Code.ARCHIVE_DIGEST.at(said.path, **facts)
            else:
                # DBPTK gives cells the digest of the last part.
                is_of_last = not said.line and last.digests[algorithm] == digest.value
                code = Code.PART_DIGEST if is_of_last else Code.WHOLE_DIGEST
                yield code.at(*where, count=count, source=said.source, **facts)
        if joined.text is not None and said.size is not None and joined.text.unit(said.size) is None:
            facts = {"found": str(joined.text), "expected": f"{said.size:,}"}
            yield Code.SPLIT_LENGTH.at(*where, count=count, **facts)


def _complete(catalogue: Catalogue) -> Iterator[tuple[str, list[bytes], int]]:
    """Yield each stated LOB with all its parts there: its id, their paths and sum of bytes."""
    for whole, origin in catalogue.rows(_WHOLES):
        pieces: list[Row] = catalogue.all(_PIECES, whole, origin)
        if all(size is not None for _, size in pieces):
            yield whole, [path for path, _ in pieces], sum(size for _, size in pieces)


def _all_said(catalogue: Catalogue, whole: str) -> Iterator[_StatedWhole]:
    for path, line, size, algorithm, value, boundary in catalogue.rows(_SAID, whole):
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
        for sql in (*_BEFORE, _FILL):
            catalogue.put(sql)
    for path, line, part, child in catalogue.rows(_MISSING):
        yield Code.PART_MISSING.at(path, line, part, expected=part, child=child)
    is_child = catalogue.has(_IS_CHILD)
    is_divided = catalogue.has(_HAS_WHOLES) or catalogue.has(_HAS_MAP)
    batch = Batch(catalogue.put_many)
    for lob, rows in groupby(catalogue.rows(_METS_SAID), itemgetter(0)):
        said = _MetsOnLob(lob)
        lists = said.wholes, said.mapped, said.held
        for row in rows:
            if len(lists[row[1]]) < _PARTS_KEPT:
                lists[row[1]].append(row)
        if said.mapped:
            # A part that another LOB's map names is reported there.
            said.held = [row for row in said.held if not row[9] or row[5] in said.names]
            yield from _of_map(said, batch)
        elif said.held and said.is_of_metspack and not any(row[9] for row in said.held):
            yield from _of_groups(said, batch)
            if not is_child:
                yield _unmapped(said, is_divided=is_divided)
    batch.flush()


def _of_map(said: _MetsOnLob, batch: Batch) -> Iterator[Finding]:
    """Put the parts of a LOB that the parent's map names into the catalogue; yield the finding."""
    paths: list[bytes | None] = [row[7] for row in said.mapped]
    finding = _disagreement(said) or _unsaid(said)
    if finding is None and said.is_complete:
        try:
            paths = list(_ordered(said))
        except OrderError as error:
            finding = _uncertain(said, said.mapped[0], error)
    if finding is not None:
        batch.add(_PUT_DISORDERED, said.lob)
        yield finding
    for position, path in enumerate(paths):
        batch.add(_PUT_PIECE, said.lob, BY_METS, position, path)


def _of_groups(said: _MetsOnLob, batch: Batch) -> Iterator[Finding]:
    """Put the parts of a LOB that no map names into the catalogue; yield the finding on order."""
    paths = [row[7] for row in said.held]
    try:
        paths = list(_ordered(said))
    except GapError:
        pass  # the sizes show the gap
    except OrderError as error:
        yield _uncertain(said, said.held[0], error)
    for position, path in enumerate(paths):
        batch.add(_PUT_PIECE, said.lob, BY_GROUP, position, path)


def _disagreement(said: _MetsOnLob) -> Finding | None:
    """Return the finding on parts that the map and the children name differently, or None."""
    lob = said.lob or "no LOB"
    named: dict[str, Row] = {}
    for row in said.mapped:
        part, held = row[5], row[9]
        if (before := named.setdefault(part, row)) is not row:
            reason = f"the map names part {part!r} twice, in lines {before[4]} and {row[4]}"
        elif held is not None and held != said.lob:
            own = f"the GROUPID {held!r}" if held else "no GROUPID"
            reason = f"the map has part {part!r} as one of {lob}, its child gives it {own}"
        else:
            continue
        return _at(Code.PARTS_DISAGREE, said, row, reason)
    listed: dict[str, Row] = {}
    for row in said.held:
        part = row[5]
        if (before := listed.setdefault(part, row)) is not row:
            where = f"{shown(before[3])} line {before[4]}"
            return _at(Code.PARTS_DISAGREE, said, row, f"part {part!r} is listed here and in {where}")
    if any(row[9] is None for row in said.mapped):
        return None
    for part, row in listed.items():
        if part not in named:
            reason = f"part {part!r} has the GROUPID {lob!r}, the parent's map of it does not name it"
            return _at(Code.PARTS_DISAGREE, said, row, reason)
    return None


def _unsaid(said: _MetsOnLob) -> Finding | None:
    if said.wholes or not said.held or said.is_in_representations:
        return None
    expected = 'a file with this ID in a fileGrp USE="split LOB"'
    return Code.WHOLE_NOT_DESCRIBED.at(
        said.mapped[0][3], said.mapped[0][4], said.lob, count=len(said.held), expected=expected
    )


def _unmapped(said: _MetsOnLob, *, is_divided: bool) -> Finding:
    """Return the finding on a LOB whose parts the parent's map does not name."""
    row = said.wholes[0] if said.wholes else said.held[0]
    where, count = (shown(row[3]), row[4], said.lob), len(said.held)
    if said.wholes or (said.has_last and not (is_divided or said.is_in_representations)):
        return Code.LOB_NOT_MAPPED.at(*where, count=count)
    expected = 'a division with this LABEL in a structMap TYPE="SPLITLOB" of the parent\'s METS'
    return Code.WHOLE_NOT_DESCRIBED.at(*where, count=count, expected=expected)


def _ordered(said: _MetsOnLob) -> Iterator[bytes]:
    """Yield the paths of the parts in their order; raises ``OrderError``."""
    paths = {row[2]: row[7] for row in said.held}
    parts = [_part(row) for row in said.held]
    mapped = [
        Mapped(part=row[5], child="", order=row[6], source=f"{shown(row[3])} line {row[4]}")
        for row in said.mapped
    ]
    size = said.wholes[0][8] if said.wholes else None
    for part in arranged(said.lob, parts, size, mapped):
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


def _uncertain(said: _MetsOnLob, row: Row, error: SourceError) -> Finding:
    return _at(Code.ORDER_UNCERTAIN, said, row, error.message.removeprefix(f"LOB {said.lob}: "))


def _at(code: Rule, said: _MetsOnLob, row: Row, reason: str) -> Finding:
    return code.at(row[3], row[4], said.lob or row[5], reason=reason)
