"""Check for children with another's OBJID, in another's folder, or exchanged by the parent.

METS, manifests and cells are then compared with the folder that really holds each child. Further findings are
on divisions with one child's mptr and another's fptr, on children of another kind than their parent, and on
structMaps that name different children.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise, starmap

from metspack.checking import grouping
from metspack.checking.catalogue import Catalogue
from metspack.checking.codes import Code
from metspack.checking.similarity import likeness
from metspack.checking.tree import CheckedTree
from metspack.digests import Hashers
from metspack.errors import MetspackError
from metspack.files.paths import shown, span_below
from metspack.mets.links import By, bare, folder_of_objid
from metspack.model import Finding
from metspack.system import os

_CALLED = """
SELECT id, path, folder, parent, called, key, objid, line, found FROM mets
WHERE called IS NOT NULL AND objid IS NOT NULL AND id > ? ORDER BY id
"""
_SIBLING = f"{_CALLED.partition(' ORDER')[0]} AND parent = ? AND key = ? ORDER BY id"
_NAMED_BY_OBJID = _CALLED.replace("ORDER", "AND found IS NULL AND named_by = ? ORDER")
_ENTRY = "SELECT id, algorithm, digest FROM entry WHERE +mets = ? AND path = ? ORDER BY +id LIMIT 1"
_LINK = """
SELECT p.path, e.line FROM mets p LEFT JOIN edge e ON e.parent = p.id AND e.child = ?2
WHERE p.id = ?1 ORDER BY e.id LIMIT 1
"""
_LINE = """
SELECT m.algorithm, l.digest FROM listed l JOIN manifest m ON m.id = l.manifest
WHERE l.path = ? ORDER BY l.rowid LIMIT 1
"""
_FIRST_FILE = "SELECT path FROM entry WHERE mets = ? AND path IS NOT NULL ORDER BY id LIMIT 1"
# A changed path is marked, so that it is changed once.
_MOVE_LISTED = """
UPDATE listed SET path = CAST(x'00' || ?3 || substr(path, length(?1) + 1) AS BLOB)
WHERE path >= ?1 AND path < ?2
"""
# The joins are CROSS ones for their order: SQLite would begin with edges, and look at all entries for each.
_OF_ANOTHER = """
WITH listed_child AS MATERIALIZED (
    SELECT DISTINCT e.mets, e.xml_id AS fileid, c.id AS child FROM entry e
    CROSS JOIN mets c ON c.path = e.path WHERE c.parent = e.mets
    AND EXISTS (SELECT 1 FROM fptr b WHERE b.mets = e.mets AND b.fileid = e.xml_id AND b.div IS NOT NULL)
), division AS MATERIALIZED (
    SELECT q.mets, q.div, min(CASE WHEN q.part IS NULL AND d.child IS NOT NULL THEN q.id END) AS mptr
    FROM mptr q JOIN edge d ON d.mptr = q.id
    WHERE EXISTS (SELECT 1 FROM fptr b WHERE b.mets = q.mets AND b.div = q.div)
    GROUP BY q.mets, q.div HAVING count(d.code) = 0
)
SELECT m.path, b.line, b.fileid, c.path, k.path FROM fptr b CROSS JOIN division q
ON q.mets = b.mets AND q.div = b.div AND q.mptr IS NOT NULL CROSS JOIN mets m ON m.id = b.mets
CROSS JOIN listed_child o ON o.fileid = b.fileid AND o.mets = b.mets CROSS JOIN mets c ON c.id = o.child
CROSS JOIN edge d ON d.id = (
    SELECT id FROM edge WHERE mptr = q.mptr AND child IS NOT NULL ORDER BY id LIMIT 1)
CROSS JOIN mets k ON k.id = d.child
WHERE (b.mets, b.div, c.id) NOT IN (
    SELECT y.mets, y.div, x.child FROM mptr y JOIN edge x ON x.mptr = y.id
    WHERE x.child IS NOT NULL AND EXISTS (SELECT 1 FROM fptr w WHERE w.mets = y.mets AND w.div = y.div))
AND NOT EXISTS (SELECT 1 FROM fault f WHERE f.path = CAST(c.path AS TEXT) AND f.code IN (?, ?))
GROUP BY b.rowid ORDER BY b.rowid
"""
# Among all entries of a child, one that no fptr names is reported.
_WITHOUT_FPTR = """
WITH pointed AS MATERIALIZED (
    SELECT o.mets, o.map, min(o.id) AS first FROM mptr o WHERE o.childward AND NOT o.up AND o.part IS NULL
    AND EXISTS (SELECT 1 FROM fptr b WHERE b.mets = o.mets AND b.div = o.div) GROUP BY o.mets, o.map
), free AS MATERIALIZED (
    SELECT e.mets, c.id AS child, min(e.id) AS entry FROM mets c CROSS JOIN entry e ON e.path = c.path
    WHERE NOT EXISTS (
        SELECT 1 FROM fptr b WHERE b.mets = e.mets AND b.fileid = e.xml_id AND b.div IS NOT NULL)
    GROUP BY e.mets, c.id
)
SELECT m.path, q.line, e.xml_id, c.path FROM (
    SELECT p.first, min(q.id) AS mptr, d.child, f.entry FROM mptr q
    CROSS JOIN pointed p ON p.map = q.map AND p.mets = q.mets CROSS JOIN edge d ON d.mptr = q.id
    CROSS JOIN free f ON f.child = d.child AND f.mets = q.mets
    WHERE q.childward AND NOT q.up AND q.part IS NULL
    AND NOT EXISTS (SELECT 1 FROM fptr b WHERE b.mets = q.mets AND b.div = q.div)
    GROUP BY p.first, q.div
) x JOIN mptr q ON q.id = x.mptr JOIN mets m ON m.id = q.mets JOIN mets c ON c.id = x.child
JOIN entry e ON e.id = x.entry ORDER BY x.first, q.id
"""
_SAME_ORDER = """
SELECT m.path, max(q.line), q.sibling, min(q.line) FROM mptr q JOIN mets m ON m.id = q.mets
WHERE q.sibling IS NOT NULL AND q.childward AND NOT q.up GROUP BY q.mets, q.sibling
HAVING count(DISTINCT q.div) > 1 ORDER BY q.mets, min(q.id)
"""
# A representation is part of its own package; the rules of E-ARK check its TYPE.
_OF_ANOTHER_KIND = """
SELECT c.path, c.line, ?1, c.package_type, p.package_type, p.path FROM mets c JOIN mets p ON p.id = c.parent
WHERE c.ok AND p.ok AND c.package IS NULL AND c.package_type <> p.package_type
UNION ALL
SELECT c.path, c.line, ?2, c.type, p.type, p.path FROM mets c JOIN mets p ON p.id = c.parent
WHERE c.ok AND p.ok AND c.package IS NULL AND (c.package_type IS NULL OR p.package_type IS NULL)
AND c.type <> p.type AND EXISTS (SELECT 1 FROM mets o WHERE o.parent = c.parent AND o.type = p.type)
"""
_OTHER_KINDS = Code.CHILD_OF_ANOTHER_KIND.id, Code.CHILD_OF_ANOTHER_TYPE.id
_EXCHANGED = Code.CHILDREN_SWAPPED.id, Code.CHILDREN_EXCHANGED.id


@dataclass(frozen=True, slots=True)
class _Child:
    """A child with the OBJID that its parent names and the OBJID in its METS."""

    id: int
    path: bytes
    folder: bytes
    parent: int
    called: str
    key: str
    objid: str
    line: int
    found: str | None

    def is_named_after(self, folder: bytes) -> bool:
        """Return whether OBJID and folder agree, as ``ID_X_lobseg_0_mets`` and ``X_lobseg_0``."""
        name, objid = shown(folder.rstrip(b"/").rpartition(b"/")[2]), bare(self.objid)
        return bool(name and objid) and (name in self.objid or objid in name)


_Ring = tuple[_Child, ...]
"""A cycle of children, each with the OBJID that the next one should have."""
_Pairs = tuple[tuple[_Child, _Child], ...]
"""Each child with the child in whose place it should be."""


def findings(catalogue: Catalogue, places: CheckedTree, after: int = 0) -> Iterator[Finding]:
    """Yield findings on children with another OBJID than their parent names, once all were read.

    Children numbered up to ``after`` were checked before.
    """

    def sibling(child: _Child) -> _Child | None:
        row = catalogue.row(_SIBLING, after, child.parent, bare(child.objid))
        return None if row is None else _Child(*row)

    reported: set[int] = set()
    others = [
        child for child in starmap(_Child, catalogue.rows(_CALLED, after)) if bare(child.objid) != child.key
    ]
    for ring in filter(_is_exchange, _rings(others, sibling)):
        # What is stated of them is compared and corrected.
        places.agreement.put_holding_back(*(each.path for each in ring))
        pairs = _pairs(ring)
        is_whole = all(_is_whole(catalogue, places, each) for each in ring)
        is_described = is_whole and all(_is_described(catalogue, places, *pair) for pair in pairs)
        at_home = all(each.is_named_after(each.folder) for each in ring)
        away = is_whole and all(each.is_named_after(place.folder) for each, place in pairs)
        if at_home and not away:
            yield _exchanged(catalogue, pairs, is_described=is_described)
        elif is_described or away:
            yield _swapped(catalogue, pairs, is_described=is_described)
        else:
            continue
        reported.update(each.id for each in ring)
    yield from (_of_one(catalogue, child) for child in others if child.id not in reported)
    yield from _by_objid(catalogue, places, after)


def _by_objid(catalogue: Catalogue, places: CheckedTree, after: int) -> Iterator[Finding]:
    """Yield findings on children, named only by OBJID, whose folders have each other's OBJIDs."""
    misnamed: dict[bytes, _Child] = {}
    for child in starmap(_Child, catalogue.rows(_NAMED_BY_OBJID, after, By.OBJID.value)):
        if _named_folder(child) != child.folder:
            misnamed[child.folder] = child

    def owner(child: _Child) -> _Child | None:
        other = misnamed.get(_named_folder(child))
        return other if other is not None and other.parent == child.parent else None

    for ring in _rings(misnamed.values(), owner):
        # What is stated of them is compared and corrected.
        places.agreement.put_holding_back(*(each.path for each in ring))
        pairs = _pairs(ring)
        row = catalogue.row(_LINE, pairs[0][1].path)
        if row is not None and _has_digest(places, pairs[0][0], *row):  # the manifests precede the swap
            _list_anew(catalogue, pairs)
        for each in ring:
            _fault(catalogue, each, Code.CHILDREN_SWAPPED.id)
        yield _exchange_of(*pairs[0], len(pairs))


def _rings(starts: Iterable[_Child], follow: Callable[[_Child], _Child | None]) -> Iterator[_Ring]:
    """Yield the rings of two or more children that ``follow`` closes, each from its first child.

    Every child is followed once, however long the ways to a ring are.
    """
    walked: set[int] = set()
    for start in starts:
        way: dict[int, _Child] = {}
        child: _Child | None = start
        while child is not None and child.id not in walked:
            walked.add(child.id)
            way[child.id] = child
            child = follow(child)
        if child is None or child.id not in way:
            continue
        ids = list(way)
        ids = ids[ids.index(child.id) :]
        first = ids.index(min(ids))
        if len(ids) > 1:
            yield tuple(way[each] for each in (*ids[first:], *ids[:first]))


def _is_exchange(ring: _Ring) -> bool:
    """Return whether the children are in separate folders of the package, which do not overlap."""
    ordered = sorted(each.folder for each in ring)
    is_apart = not any(after.startswith(one) for one, after in pairwise(ordered))
    return is_apart and all(each.found is None and each.folder for each in ring)


def _pairs(ring: _Ring) -> _Pairs:
    return tuple(zip(ring, (*ring[1:], ring[0]), strict=True))


def _named_folder(child: _Child) -> bytes:
    """Return the folder named by a child's OBJID, beside the child's present folder."""
    beside = child.folder[:-1].rpartition(b"/")
    return beside[0] + beside[1] + os.fsencode(folder_of_objid(child.objid)) + b"/"


def _of_one(catalogue: Catalogue, child: _Child) -> Finding:
    # Only another child's OBJID is worth a hint: children changed places.
    sql = "SELECT xml_id FROM entry WHERE mets = ? AND xml_id = ?"
    other = child.objid if catalogue.row(sql, child.parent, child.objid) else ""
    near = "" if other else likeness(bare(child.called), bare(child.objid))
    facts = {"found": child.objid, "expected": child.called, "nearest": other, "likeness": near}
    return Code.CHILD_OBJID_DIFFERS.at(child.path, child.line, **facts)


def _exchanged(catalogue: Catalogue, pairs: _Pairs, *, is_described: bool) -> Finding:
    """Return the finding that the parent has children's names exchanged; correct the links."""
    (child, other), *_ = pairs
    parent, line = catalogue.row(_LINK, child.parent, child.id) or (b"", 0)
    _rename(catalogue, pairs)
    if is_described:
        _describe(catalogue, pairs)
    for each, _ in pairs:
        _fault(catalogue, each, Code.CHILDREN_EXCHANGED.id)
    facts = {"expected": child.called, "found": shown(child.path), "other": child.objid}
    return Code.CHILDREN_EXCHANGED.at(parent, line or 0, **facts, where=other.path, count=len(pairs))


def _swapped(catalogue: Catalogue, pairs: _Pairs, *, is_described: bool) -> Finding:
    """Return the finding that children lie in each other's folders; correct the catalogue."""
    (child, other), *_ = pairs
    _rename(catalogue, pairs)
    for each, place in pairs:
        catalogue.swapped.setdefault(place.folder, each.folder)
        _fault(catalogue, each, Code.CHILDREN_SWAPPED.id)
    if is_described:
        _describe(catalogue, pairs)
        _list_anew(catalogue, pairs)
    return _exchange_of(child, other, len(pairs))


def _exchange_of(child: _Child, other: _Child, count: int) -> Finding:
    return Code.CHILDREN_SWAPPED.at(
        child.path, child.line, found=child.objid, other=other.path, expected=other.objid, count=count
    )


def _fault(catalogue: Catalogue, child: _Child, code: str) -> None:
    catalogue.put("INSERT OR IGNORE INTO fault VALUES (?, ?)", shown(child.path), code)


def _is_whole(catalogue: Catalogue, places: CheckedTree, child: _Child) -> bool:
    """Return whether the first file that a child's METS lists exists."""
    first = catalogue.row(_FIRST_FILE, child.id)
    return first is not None and places.is_there(first[0])


def _is_described(catalogue: Catalogue, places: CheckedTree, child: _Child, other: _Child) -> bool:
    """Return whether a child's METS has the digest that the parent states at the other's place."""
    entry = catalogue.row(_ENTRY, other.parent, other.path)
    return entry is not None and entry[2] is not None and _has_digest(places, child, *entry[1:])


def _has_digest(places: CheckedTree, child: _Child, algorithm: str, digest: object) -> bool:
    try:
        with places.content(child.path) as content:
            hashers = Hashers((algorithm,)).take(content.chunks())
    except (OSError, MetspackError):  # it could be read a moment ago; other checks report its new state
        return False
    return hashers.digest(algorithm).value == str(digest)


def _rename(catalogue: Catalogue, pairs: _Pairs) -> None:
    """Set the OBJID expected of each child to that in its METS, and turn the links to match."""
    for each, place in pairs:
        sql = "UPDATE mets SET called = ?, key = ? WHERE id = ?"
        catalogue.put(sql, place.called, place.key, each.id)
        catalogue.put("UPDATE edge SET child = -?2 WHERE child = ?1", place.id, each.id)
    catalogue.put("UPDATE edge SET child = -child WHERE child < 0")


def _describe(catalogue: Catalogue, pairs: _Pairs) -> None:
    """Apply the parent's entry for the METS at each place to the child that should be there."""
    entries = [(each.path, catalogue.number(_ENTRY, place.parent, place.path)) for each, place in pairs]
    for path, entry in entries:
        catalogue.put("UPDATE entry SET path = ? WHERE id = ?", path, entry)


def _list_anew(catalogue: Catalogue, pairs: _Pairs) -> None:
    """Apply the manifests' lines on each child's files to the paths where these files are."""
    for each, place in pairs:
        catalogue.put(_MOVE_LISTED, *span_below(place.folder), each.folder)
    catalogue.put("UPDATE listed SET path = substr(path, 2) WHERE path >= x'00' AND path < x'01'")


def divisions(catalogue: Catalogue) -> Iterator[Finding]:
    """Yield the findings on divisions, once all links are followed."""
    if catalogue.has("SELECT 1 FROM fptr WHERE div IS NOT NULL"):
        for path, line, fileid, child, expected in catalogue.rows(_OF_ANOTHER, *_EXCHANGED):
            facts = {"fileid": fileid, "found": shown(child), "expected": shown(expected)}
            yield Code.DIVISION_DISAGREES.at(path, line, fileid, **facts)
        for path, line, fileid, child in catalogue.rows(_WITHOUT_FPTR):
            yield Code.DIVISION_WITHOUT_FPTR.at(path, line, fileid or "", fileid=fileid or "", found=child)
    for path, line, place, other in catalogue.rows(_SAME_ORDER):
        yield Code.ORDER_TWICE.at(path, line, order=str(place).partition(" ")[2], other=other)
    for path, line, code, found, expected, parent in catalogue.rows(_OF_ANOTHER_KIND, *_OTHER_KINDS):
        yield Code.named(code).at(path, line, found=found, expected=expected, parent=parent)


# --- structMaps that disagree ---------------------------------------------------------------------------

# At most a hundred structMaps: no package has more, and of very many with very many links the work would be
# the product.
_NAMING = "SELECT DISTINCT q.map FROM edge d JOIN mptr q ON q.id = d.mptr AND q.childward WHERE d.parent = ?1"
_ARE_SEVERAL = f"SELECT count(*) > 1 FROM ({_NAMING} LIMIT 2)"  # noqa: S608 -- a constant
_DISAGREEING = f"""
WITH naming AS MATERIALIZED ({_NAMING} LIMIT 100), named AS MATERIALIZED (
    SELECT DISTINCT d.child, q.map FROM edge d JOIN mptr q ON q.id = d.mptr AND q.map IN naming
    WHERE d.parent = ?1
)
SELECT e.line, d.href, s.name, o.name FROM edge d JOIN mptr e ON e.id = d.mptr AND e.childward
CROSS JOIN naming n JOIN section s ON s.id = e.map JOIN section o ON o.id = n.map
LEFT JOIN named i ON i.child = d.child AND i.map = n.map
WHERE d.parent = ?1 AND d.child IS NOT NULL AND i.map IS NULL ORDER BY e.id, o.name
"""  # noqa: S608 -- a constant


def styles(catalogue: Catalogue, mets: int, path: bytes, most: int) -> Iterator[Finding]:
    """Yield a finding for each link that another structMap lacks, ``most`` singly."""

    def finding(line: int, href: str, name: str, other: str) -> Finding:
        reason = f"{_called_map(name)} names the child {href!r}, {_called_map(other)} does not"
        return Code.STYLES_DISAGREE.at(path, line, reason=reason)

    if catalogue.number(_ARE_SEVERAL, mets):
        yield from grouping.each_counted(catalogue, _DISAGREEING, most, finding, mets)


def _called_map(name: str) -> str:
    kind, _, label = name.partition("\n")
    return f"the structMap labelled {label!r}" if label != "None" else f"the structMap of type {kind!r}"
