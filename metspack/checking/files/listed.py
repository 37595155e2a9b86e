"""Check the files that METS documents list against those on disk; no bytes are read."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cached_property, partial
from itertools import islice, pairwise, product, starmap

from metspack.checking import grouping
from metspack.checking.catalogue import (
    IN_OUTERMOST,
    IS_GONE,
    OF_BAG,
    Batch,
    Catalogue,
    Mark,
    is_marked,
    nearest_file,
)
from metspack.checking.codes import Code
from metspack.checking.codes.rule import Rule
from metspack.checking.similarity import likeness, nearest
from metspack.checking.tree import CheckedTree
from metspack.errors import MetspackError
from metspack.files.paths import folder_of, shown
from metspack.files.reading import DigestRequest, hash_blocks
from metspack.layouts.names import OF_MACOS, SEGMENT
from metspack.mets import is_top_mets_name
from metspack.model import Finding, Severity
from metspack.packages.metsfiles import is_of_lob
from metspack.sizes import counted

_LOST = "FROM entry WHERE differs = 'missing' AND digest IS NOT NULL"
_INDEX_LOST = (
    _LOST.replace("FROM entry", "CREATE INDEX IF NOT EXISTS entry_lost ON entry (digest, algorithm, size)"),
    _LOST.replace("FROM entry", "CREATE INDEX IF NOT EXISTS entry_lost_size ON entry (size)"),
)
_ALGORITHMS = f"SELECT DISTINCT algorithm {_LOST} ORDER BY algorithm"
_OF_SIZE = f"EXISTS (SELECT 1 {_LOST.replace('entry', 'entry INDEXED BY entry_lost_size')} AND size"
_IS_ONE_SO_LARGE = f"SELECT 1 WHERE {_OF_SIZE} = ?) OR {_OF_SIZE} IS NULL)"
_MATCH = f"SELECT path {_LOST} AND algorithm = ? AND digest = ? AND size IS ? ORDER BY id LIMIT 1"
_IS_RENAMED = "UPDATE entry SET differs = 'renamed' WHERE path = ? AND differs IN ('missing', 'unclear')"


def find(catalogue: Catalogue, places: CheckedTree, progress: Callable[[int], None]) -> None:
    """Match missing files with unlisted ones, and put the pairs into the catalogue.

    Only unlisted files of a missing one's size are read; an unreadable one stays unlisted.
    """
    # This comes first: where no file is unlisted, the missing ones need no search.
    if not (found_unlisted := list(unlisted(catalogue))):
        return
    if not (algorithms := catalogue.all(_ALGORITHMS)):
        return
    for sql in _INDEX_LOST:
        catalogue.put(sql)
    request = DigestRequest(algorithms=tuple(name for (name,) in algorithms))
    for path, size in found_unlisted:
        if not catalogue.has(_IS_ONE_SO_LARGE, size):
            continue
        try:
            with places.content(path) as content:
                hashed = hash_blocks(content.chunks(), request, progress)
        except (OSError, MetspackError):
            continue
        for (name, digest), stated in product(hashed.digests.items(), (size, None)):
            if (found := catalogue.row(_MATCH, name, digest, stated)) is not None:
                catalogue.mark(Mark.RENAMED, found[0], path, name)
                catalogue.put(_IS_RENAMED, found[0])
                break


_NEAREST_FOR = 50
_CANDIDATES = 2_000
_IN_ANY_SCRIPT = re.compile(SEGMENT.pattern.replace("[0-9]", r"\d"))

# One statement finds all entries that may be missing or of another size; each is examined afterwards.
_DIFFERING = """
UPDATE entry SET differs = CASE
    WHEN EXISTS (SELECT 1 FROM disk d WHERE d.path = entry.path AND d.kind <> 'd') THEN 'size'
    WHEN pseudo OR path = x'' OR EXISTS (SELECT 1 FROM disk d WHERE d.path = entry.path) THEN 'unclear'
    ELSE 'missing' END
WHERE path IS NOT NULL AND differs IS NULL AND NOT EXISTS (
    SELECT 1 FROM disk d
    WHERE d.path = entry.path AND d.kind = 'f' AND coalesce(entry.size, d.size) IS d.size)
"""
# The check of links covers them.
_OF_METS = """
UPDATE entry SET differs = 'METS' WHERE id IN (
    SELECT e.id FROM mets c CROSS JOIN entry e ON e.path = c.path)
"""
_UNCLEAR = """
SELECT e.id, m.path, e.line, e.xml_id, e.path, e.href,
    EXISTS (SELECT 1 FROM disk d WHERE d.path = e.path AND d.kind = 'd')
FROM entry e CROSS JOIN mets m ON m.id = e.mets WHERE e.differs = 'unclear' ORDER BY e.id
"""
# A file that METS list several times is reported at its first entry.
_MISSING = f"""
SELECT m.path, e.line, e.xml_id, e.path, r.other, r.note FROM (
    SELECT min(e.id) AS first, e.* FROM entry e
    WHERE {IS_GONE} AND NOT {is_marked(Mark.UNFETCHED, "e.path")} GROUP BY e.path
) e JOIN mets m ON m.id = e.mets LEFT JOIN mark r ON r.mark = '{Mark.RENAMED}' AND r.path = e.path
ORDER BY e.first
"""  # noqa: S608 -- a constant
_ALSO_LISTED = """
SELECT m.path, e.line FROM entry e JOIN mets m ON m.id = e.mets
WHERE e.path = ? ORDER BY e.id LIMIT -1 OFFSET 1
"""
_LOST_CELLS = "SELECT document, xml_id FROM statement WHERE source = 'cell' AND path = ? ORDER BY rowid"
_IS_THERE = "SELECT 1 FROM disk WHERE path = ?"
_SOURCES = 3  # METS documents that are named of all that list one file
_SIZES = """
SELECT m.path, e.line, e.xml_id, e.path, e.size, coalesce(c.size, d.size), c.id
FROM entry e CROSS JOIN mets m ON m.id = e.mets
LEFT JOIN mets c ON c.path = e.path LEFT JOIN disk d ON d.path = e.path AND d.kind = 'f'
WHERE e.differs IN ('METS', 'size') AND e.size IS NOT NULL AND coalesce(c.size, d.size) <> e.size
AND NOT EXISTS (SELECT 1 FROM wrong w WHERE w.path = e.path AND w.code = 'F004') ORDER BY e.id
"""
_UNLISTED = f"""
SELECT d.path, d.size FROM disk d WHERE d.kind = 'f'
AND NOT EXISTS (SELECT 1 FROM entry e WHERE e.path = d.path)
AND NOT EXISTS (SELECT 1 FROM mets m WHERE m.path = d.path)
AND NOT EXISTS (SELECT 1 FROM manifest f WHERE f.path = d.path)
AND NOT {is_marked(Mark.PACK, "d.path")}
AND NOT EXISTS (SELECT 1 FROM mark r WHERE r.mark = '{Mark.RENAMED}' AND r.other = d.path)
AND NOT {IN_OUTERMOST.format("d.path")} ORDER BY d.path
"""  # noqa: S608 -- a constant
_DAMAGED = "SELECT folder FROM mets WHERE ok = 0 ORDER BY folder"
_OBJECTS = b"objects/"
_IN_A_BAG = f"SELECT 1 FROM manifest WHERE {OF_BAG}"  # noqa: S608 -- a constant
_BY_BAG = f"""
SELECT 1 FROM listed JOIN manifest ON manifest.id = listed.manifest WHERE listed.path = ? AND {OF_BAG}
"""  # noqa: S608 -- a constant
_LISTED_BELOW = """
SELECT 1 WHERE EXISTS (SELECT 1 FROM entry WHERE path > ?1 AND path < ?2)
OR EXISTS (SELECT 1 FROM mets WHERE size IS NOT NULL AND path > ?1 AND path < ?2)
"""
_TWICE = """
SELECT (SELECT path FROM mets WHERE id = e.mets), e.line, e.xml_id, e.path, o.line,
    (SELECT path FROM mets WHERE id = o.mets)
FROM (SELECT path, min(id) AS first FROM entry WHERE path IS NOT NULL GROUP BY path HAVING count(*) > 1) t
JOIN entry e ON e.path = t.path AND e.id > t.first JOIN entry o ON o.id = t.first
WHERE e.element <> 'FLocat' AND o.element <> 'FLocat'
AND NOT EXISTS (SELECT 1 FROM mets c WHERE c.path = e.path
    AND (o.mets <> e.mets OR EXISTS (SELECT 1 FROM mptr p WHERE p.mets = e.mets AND p.href = e.xml_id)))
ORDER BY e.id
"""
# The schema reports an ID that begins with a hash; the meaning is plain.
_WITHOUT_HASH = "UPDATE fptr SET fileid = substr(fileid, 2) WHERE div IS NULL AND fileid GLOB '#*'"
_DANGLING = """
SELECT m.path, f.line, f.fileid FROM fptr f JOIN mets m ON m.id = f.mets AND m.ok
WHERE f.div IS NULL AND NOT EXISTS (SELECT 1 FROM entry e WHERE e.mets = f.mets AND e.xml_id = f.fileid)
AND NOT EXISTS (SELECT 1 FROM ident i WHERE i.mets = f.mets AND i.xml_id = f.fileid AND i.element = 'fileGrp')
"""
_ARE_ANY_NAMED = """
SELECT EXISTS (SELECT 1 FROM fptr WHERE mets = ?1 AND div IS NULL)
OR EXISTS (SELECT 1 FROM edge WHERE parent = ?1 AND child IS NOT NULL)
OR EXISTS (SELECT 1 FROM mptr p JOIN entry e ON e.mets = p.mets AND e.xml_id = p.href WHERE p.mets = ?1)
"""
# The groups that fptrs name with all files in them, the files that fptrs name, and METS are found once for
# all files.
_UNPOINTED = """
WITH RECURSIVE pointed (grp) AS (
    SELECT id FROM section WHERE mets = ?1 AND name IN (
        SELECT i.xml_id FROM ident i WHERE i.mets = ?1 AND i.element = 'fileGrp'
        AND EXISTS (SELECT 1 FROM fptr f WHERE f.mets = i.mets AND f.fileid = i.xml_id AND f.div IS NULL))
    UNION
    SELECT g.id FROM pointed p CROSS JOIN section g ON g.mets = ?1 AND g.outer = p.grp
)
SELECT (SELECT path FROM mets WHERE id = e.mets), e.line, e.xml_id FROM entry e
WHERE e.id BETWEEN ?2 AND ?3 AND +e.mets = ?1 AND e.element = 'file' AND e.xml_id IS NOT NULL
AND e.id NOT IN (
    SELECT o.id FROM (SELECT DISTINCT fileid FROM fptr WHERE mets = ?1 AND div IS NULL) f
    CROSS JOIN entry o ON o.mets = ?1 AND o.xml_id = f.fileid
) AND e.differs IS NOT 'METS'
AND NOT (e.href IS NULL AND EXISTS (SELECT 1 FROM entry o WHERE o.groupid = e.xml_id)
    AND NOT EXISTS (SELECT 1 FROM mptr p WHERE p.lob = e.xml_id))
AND NOT EXISTS (SELECT 1 FROM mptr p WHERE p.mets = e.mets AND p.href = e.xml_id)
AND e.grp NOT IN (SELECT grp FROM pointed) ORDER BY e.id
"""
# An index shows at once whether an ID occurs twice; only then each row is examined.
_ANY_ID_TWICE = """
SELECT EXISTS (SELECT 1 FROM ident i CROSS JOIN entry e ON e.mets = i.mets AND e.xml_id = i.xml_id)
OR (SELECT count(*) FROM ident) > (SELECT count(*) FROM (SELECT DISTINCT mets, xml_id FROM ident))
OR (SELECT count(xml_id) FROM entry) >
    (SELECT count(*) FROM (SELECT DISTINCT mets, xml_id FROM entry WHERE xml_id IS NOT NULL))
"""
_IDS_TWICE = """
SELECT m.path, e.line, e.xml_id, e.element, e.first FROM (
    SELECT *, row_number() OVER of_id AS number, first_value(line) OVER of_id AS first FROM (
        SELECT mets, xml_id, element, line, 0 AS kind, id FROM entry WHERE xml_id IS NOT NULL
        UNION ALL SELECT mets, xml_id, element, line, 1, id FROM ident
    ) WINDOW of_id AS (PARTITION BY mets, xml_id ORDER BY line, kind, id)
) e JOIN mets m ON m.id = e.mets WHERE e.number > 1 ORDER BY e.id
"""
# The first file of an ID is found once.
_LOBS_TWICE = """
WITH twice AS (
    SELECT xml_id FROM entry WHERE xml_id GLOB '*s[0-9]*.t[0-9]*.c[0-9]*' GROUP BY xml_id HAVING count(*) > 1
), first AS MATERIALIZED (
    SELECT o.xml_id, o.mets, min(o.path) AS path FROM twice t JOIN entry o ON o.xml_id = t.xml_id
    WHERE EXISTS (SELECT 1 FROM cell c WHERE c.path = o.path AND NOT c.inside) GROUP BY o.xml_id
)
SELECT m.path, e.line, e.xml_id, e.path, f.path
FROM first f JOIN entry e ON e.xml_id = f.xml_id AND e.mets <> f.mets JOIN mets m ON m.id = e.mets
WHERE m.parent IS NOT NULL AND e.element = 'file' AND e.groupid IS NULL
AND e.path IS NOT NULL AND e.path <> f.path
AND NOT EXISTS (SELECT 1 FROM cell c WHERE c.path = e.path AND NOT c.inside)
AND EXISTS (SELECT 1 FROM disk d WHERE d.path = e.path AND d.kind = 'f') ORDER BY e.id
"""
# The first of archives with the same bytes is found once.
_ARCHIVES_TWICE = """
WITH archive AS MATERIALIZED (
    SELECT e.* FROM (SELECT DISTINCT mets, path FROM entry WHERE filed IS NOT NULL) s
    CROSS JOIN entry e ON e.mets = s.mets AND e.path = s.path
), same AS MATERIALIZED (
    SELECT mets, size, algorithm, digest, min(path) AS path FROM archive
    WHERE size IS NOT NULL AND digest IS NOT NULL GROUP BY mets, size, algorithm, digest HAVING count(*) > 1
)
SELECT m.path, e.line, e.xml_id, e.path, a.path FROM same a
JOIN archive e ON e.digest = a.digest AND e.algorithm = a.algorithm AND e.mets = a.mets AND e.size = a.size
JOIN mets m ON m.id = e.mets
WHERE e.element = 'file' AND a.path < e.path AND EXISTS (
    SELECT 1 FROM cell c JOIN cell d ON d.path = c.path AND d.archive = a.path AND NOT d.inside
    WHERE c.archive = e.path AND NOT c.inside) ORDER BY e.id
"""

_FOLDERS = f"SELECT m.path, {IN_OUTERMOST.format('m.path')} FROM mets m"  # noqa: S608 -- a constant


def lobs_twice(catalogue: Catalogue) -> Iterator[Finding]:
    """Yield findings on LOB IDs in two children, and on archives with the bytes of another.

    The cells must be in the catalogue; those of such archives name the same LOBs.
    """
    if not catalogue.has("SELECT 1 FROM cell"):
        return
    together = grouping.FindingGroups()
    for mets, line, identifier, path, other in catalogue.rows(_LOBS_TWICE):
        facts = {"id": identifier, "found": shown(path), "other": shown(other)}
        finding = Code.LOB_IN_TWO_CHILDREN.at(mets, line, identifier, **facts)
        yield from together.take(folder_of(mets).rstrip(b"/"), finding)
    yield from together.release()
    for mets, line, identifier, _path, other in catalogue.rows(_ARCHIVES_TWICE):
        yield Code.ARCHIVE_TWICE.at(mets, line, identifier or "", other=other)


def source_of(mets: bytes, line: int) -> str:
    """Return a statement's source for messages: ``Northwind_lobseg_0/mets.xml line 12``."""
    return f"{shown(mets)} line {line}"


def documents(catalogue: Catalogue, most: int) -> Iterator[Finding]:
    """Yield the findings on the IDs and structMaps of each METS document, ``most`` singly."""
    catalogue.put(_WITHOUT_HASH)
    if catalogue.number(_ANY_ID_TWICE):
        yield from grouping.each_counted(catalogue, _IDS_TWICE, most, _id_twice)
    yield from grouping.each_counted(catalogue, _DANGLING, most, partial(_of_id, Code.FPTR_DANGLING))
    for mets, path in catalogue.rows("SELECT id, path FROM mets WHERE ok AND NOT pointed ORDER BY id"):
        yield from _structure(catalogue, mets, path, most)


def _id_twice(path: bytes, line: int, identifier: str, element: str, other: int) -> Finding:
    return Code.ID_TWICE.at(path, line, identifier, found=identifier, other=other, element=element)


def _of_id(rule: Rule, path: bytes, line: int, identifier: str) -> Finding:
    return rule.at(path, line, identifier, found=identifier)


def _structure(catalogue: Catalogue, mets: int, path: bytes, most: int) -> Iterator[Finding]:
    if catalogue.number(_ARE_ANY_NAMED, mets):
        bounds = catalogue.row("SELECT min(id), max(id) FROM entry WHERE mets = ?", mets) or ()
        made = partial(_of_id, Code.FILE_IN_NO_FPTR)
        yield from grouping.each_counted(catalogue, _UNPOINTED, most, made, mets, *bounds)
        return
    files = catalogue.number("SELECT count(*) FROM entry WHERE mets = ? AND element = 'file'", mets)
    if files:
        yield Code.NO_FPTR.at(path, count=files)


def compare(catalogue: Catalogue, *, whole: bool) -> None:
    """Mark entries of METS, and entries that differ from the disk, for ``files`` and ``sizes``.

    The files on disk and the METS documents must be in the catalogue. Without ``whole`` only the
    entries of METS are marked.
    """
    catalogue.put(_OF_METS)
    if whole:
        catalogue.put(_DIFFERING)


def files(
    catalogue: Catalogue, places: CheckedTree, most: int, together: grouping.FindingGroups
) -> Iterator[Finding]:
    """Yield findings on listed folders, unlisted files and files listed twice.

    One finding covers all files below an unlisted folder; ``most`` are reported singly. ``together`` keeps
    the note on files that macOS left behind.
    """
    guesses = 0
    batch = Batch(catalogue.put_many)
    for number, mets, line, xml_id, path, href, is_folder in catalogue.rows(_UNCLEAR):
        place = xml_id or ""
        places.agreement.put_all_back()  # any file may be the one that is meant
        if is_folder or not path:
            folder = shown(path) or "."
            yield Code.DIRECTORY.at(folder, 0, place, expected=folder, source=source_of(mets, line))
        elif b"/" not in path or not catalogue.has(_IS_THERE, path.partition(b"/")[0]):
            near = places.nearest_inside(mets, href)
            if not near and guesses < _NEAREST_FOR:
                guesses += 1
                near = nearest_file(catalogue, path.rpartition(b"/")[2])
            yield Code.LEAVES_ROOT.at(mets, line, place, href=href, nearest=near)
        else:
            continue
        batch.add("UPDATE entry SET differs = 'reported' WHERE id = ?", number)
    batch.flush()
    unlisted_folder = grouping.make_folder_without_lookup(catalogue, _LISTED_BELOW)
    for path, size in unlisted(catalogue):
        yield from take_unlisted(together, together, path, size, unlisted_folder(path))
    yield from together.release()
    yield from grouping.each_counted(catalogue, _TWICE, most, _listed_twice)


def take_unlisted(
    together: grouping.FindingGroups,
    of_package: grouping.FindingGroups,
    path: bytes,
    size: int,
    around: bytes | None,
) -> Iterator[Finding]:
    """Take an unlisted file; ``around`` is the uppermost folder around it without listed files.

    Files that macOS leaves behind are one note ``of_package``.
    """
    finding = Code.UNLISTED.at(path, found=f"{size:,}")
    if OF_MACOS.fullmatch(path):
        yield from of_package.take(b".", replace(finding, severity=Severity.INFO))
    else:
        yield from together.take(around, finding)


def _listed_twice(  # noqa: PLR0917 -- a row
    mets: bytes, line: int, xml_id: str | None, path: bytes, other_line: int, other: bytes
) -> Finding:
    where = source_of(other, other_line)
    at = Code.LISTED_TWICE.error_at if is_of_lob(xml_id) else Code.LISTED_TWICE.at
    return at(shown(mets), line, xml_id or "", expected=shown(path), other=where)


def missing(catalogue: Catalogue, most: int) -> Iterator[Finding]:
    """Yield one finding for each listed file that is missing or renamed.

    All METS, manifests and cells must have been read. One finding covers all files below a missing or renamed
    folder. The first ``most`` findings name all sources that list the file, the others one METS.
    """
    single = 0
    others = UnlistedNames(catalogue)
    missing_folder = grouping.make_missing_folder_lookup(catalogue)
    together = grouping.FindingGroups()
    for mets, line, xml_id, path, other, algorithm in catalogue.rows(_MISSING):
        place = xml_id or ""
        if other is not None:
            source = _sources(catalogue, mets, line, path)
            facts = {"expected": shown(path), "found": shown(other), "algorithm": algorithm, "source": source}
            facts["likeness"] = likeness(shown(path), shown(other))
            before, now = grouping.moved(path, other) or (None, None)
            yield from together.take(before, Code.RENAMED.at(path, 0, place, **facts), now)
            continue
        folder = missing_folder(path)
        if together.count(folder, Code.FILE_MISSING.id, mets):
            continue
        near = others.nearest(path)
        single += folder is None
        source = _sources(catalogue, mets, line, path) if single <= most else source_of(mets, line)
        facts = {"expected": shown(path), "source": source, "nearest": near}
        yield from together.take(folder, Code.FILE_MISSING.at(path, 0, place, **facts), mets)
    yield from together.release()


class UnlistedNames:
    """The names of files that no METS lists, for guesses at a missing file's present name."""

    def __init__(self, catalogue: Catalogue) -> None:
        self._catalogue = catalogue
        self._guesses = 0

    @cached_property
    def _names(self) -> dict[bytes, list[str]]:
        names: dict[bytes, list[str]] = {}
        for path, _ in islice(unlisted(self._catalogue), _CANDIDATES):
            names.setdefault(folder_of(path), []).append(shown(path))
        return names

    def nearest(self, path: bytes) -> str:
        """Return the file in the same folder whose name is nearest to a missing one's, or ""."""
        self._guesses += 1
        if self._guesses > _NEAREST_FOR:
            return ""
        return nearest(shown(path), self._names.get(folder_of(path), ()))


def _sources(catalogue: Catalogue, mets: bytes, line: int, path: bytes) -> str:
    """Return all METS, manifests and cells that name a missing file, for messages."""
    found = [source_of(mets, line), *starmap(source_of, catalogue.rows(_ALSO_LISTED, path))][:_SOURCES]
    found += [f"{name} line {number}" for name, number in catalogue.rows(grouping.IN_MANIFESTS, path)]
    cells = list(catalogue.rows(_LOST_CELLS, path))
    found += [f"the cell {place} of {shown(archive)}" for archive, place in cells[:1]]
    found += [f"{counted(len(cells) - 1, 'more cell')}"] if len(cells) > 1 else []
    *first, last = found
    return f"{', '.join(first)} and {last}" if first else last


def unlisted(catalogue: Catalogue) -> Iterator[tuple[bytes, int]]:
    """Yield the unlisted files with their sizes, except renamed ones.

    Archivematica's METS lists only ``objects``: the manifest of its bag lists the rest.
    """
    (top,) = catalogue.row("SELECT path FROM mets WHERE id = 1") or (b"",)
    is_of_objects = is_top_mets_name(shown(top)) and catalogue.has(_IN_A_BAG)
    catalogue.keep_outermost(folder for (folder,) in catalogue.rows(_DAMAGED))
    for path, size in catalogue.rows(_UNLISTED):
        if not (is_of_objects and not path.startswith(_OBJECTS) and catalogue.row(_BY_BAG, path)):
            yield path, size


def sizes(catalogue: Catalogue) -> Iterator[Finding]:
    """Yield findings on files and child METS of another size, except swapped files."""
    for mets, line, xml_id, path, expected, found, child in catalogue.rows(_SIZES):
        code = Code.CHILD_SIZE_STALE if child is not None else Code.SIZE_DIFFERS if found else Code.EMPTY
        yield code.at(
            path, 0, xml_id or "", found=f"{found:,}", expected=f"{expected:,}", source=source_of(mets, line)
        )


def segments(catalogue: Catalogue) -> Iterator[Finding]:
    """Yield findings on gaps in the numbers of segments, on disk or named by a METS."""
    numbers: dict[str, set[int]] = {}
    catalogue.keep_outermost(sorted(catalogue.apart))
    for path, apart in catalogue.rows(_FOLDERS):
        *above, folder, _ = ("", *shown(path).split("/"))
        if apart:  # the segments lie in different places; their numbers still belong together
            above = [""]
        # Digits of other scripts are numbers to some programs, and to others a part of the name.
        if found := _IN_ANY_SCRIPT.fullmatch(folder):
            number = int(found[2])
            numbers.setdefault("/".join((*above[1:], found[1])), set()).add(number)
            if str(number) != found[2]:
                name = shown(path).rpartition("/")[0]
                yield Code.SEGMENT_ZEROS.at(name, found=folder, expected=f"{found[1]}{number}")
    for prefix, found_numbers in sorted(numbers.items()):
        ordered = sorted(found_numbers)
        if ordered[0] != 0:
            yield Code.SEGMENT_START.at(
                f"{prefix}{ordered[0]}", found=f"{prefix}{ordered[0]}", expected=f"{prefix}0"
            )
        for before, after in pairwise(ordered):
            if after == before + 1:
                continue
            first, last = f"{prefix}{before + 1}", f"{prefix}{after - 1}"
            lost = f"segment {first!r} is missing"
            if first != last:
                lost = f"{after - before - 1:,} segments, {first!r} to {last!r}, are missing"
            yield Code.SEGMENT_GAP.at(
                first, expected=first, reason=lost, before=f"{prefix}{before}", found=f"{prefix}{after}"
            )
