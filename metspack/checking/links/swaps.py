"""Check for swapped children: with another child's OBJID, or in each other's folder.

METS, manifests and cells are then compared with the folder in which each of the two really lies.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from metspack.checking.catalogue import Catalogue, Row, shown
from metspack.checking.codes import Code
from metspack.checking.opening import CheckedTree
from metspack.checking.similarity import likeness
from metspack.digests import Hashers
from metspack.errors import MetspackError
from metspack.mets.links import bare
from metspack.model import Finding

_CALLED = """
SELECT id, path, folder, parent, called, key, objid, line, found FROM mets
WHERE called IS NOT NULL AND objid IS NOT NULL ORDER BY id
"""
_SIBLING = f"{_CALLED.partition(' ORDER')[0]} AND parent = ? AND key = ? ORDER BY id"
_ENTRY = "SELECT id, algorithm, digest FROM entry WHERE mets = ? AND xml_id = ? AND path = ?"
_FIRST_FILE = "SELECT path FROM entry WHERE mets = ? AND path IS NOT NULL ORDER BY id LIMIT 1"
_IN_THE_OTHER = """
UPDATE listed SET path = CASE substr(path, 1, length(?1))
    WHEN ?1 THEN CAST(?2 || substr(path, length(?1) + 1) AS BLOB)
    ELSE CAST(?1 || substr(path, length(?2) + 1) AS BLOB) END
WHERE substr(path, 1, length(?1)) = ?1 OR substr(path, 1, length(?2)) = ?2
"""
_OTHER_CHILD = "UPDATE edge SET child = CASE child WHEN ?1 THEN ?2 ELSE ?1 END WHERE child IN (?1, ?2)"


@dataclass(frozen=True, slots=True)
class _Child:
    """A child as its parent calls it, and as it calls itself."""

    id: int
    path: bytes
    folder: bytes
    parent: int
    called: str
    key: str
    objid: str
    line: int
    found: str | None

    @property
    def is_another(self) -> bool:
        return bare(self.objid) != self.key


def _child(row: Row) -> _Child:
    return _Child(*row)


def findings(catalogue: Catalogue, places: CheckedTree) -> Iterator[Finding]:
    """Yield findings on children whose OBJID is not the one their parent names, once all were read."""
    told: set[int] = set()
    others = [child for child in map(_child, catalogue.rows(_CALLED)) if child.is_another]
    for child in others:
        if child.id in told:
            continue
        other = _swapped(catalogue, places, child)
        if other is None:
            yield _of_one(catalogue, child)
        else:
            told.add(other.id)
            _undo(catalogue, child, other)
            catalogue.put(
                "INSERT OR IGNORE INTO fault VALUES (?, ?)", shown(other.path), Code.CHILDREN_SWAPPED.id
            )
            yield Code.CHILDREN_SWAPPED.at(
                shown(child.path),
                child.line,
                found=child.objid,
                other=shown(other.path),
                expected=other.objid,
            )


def folders(catalogue: Catalogue) -> dict[bytes, bytes]:
    """Return the folders of children that lie in another's, with that folder; both end with a slash."""
    return dict(catalogue.rows("SELECT folder, other FROM swapped"))


def _of_one(catalogue: Catalogue, child: _Child) -> Finding:
    # Only another child's own OBJID tells something: that children changed places.
    sql = "SELECT xml_id FROM entry WHERE mets = ? AND xml_id = ?"
    other = child.objid if catalogue.row(sql, child.parent, child.objid) else ""
    near = "" if other else likeness(bare(child.called), bare(child.objid))
    facts = {"found": child.objid, "expected": child.called, "nearest": other, "likeness": near}
    return Code.CHILD_OBJID_DIFFERS.at(shown(child.path), child.line, **facts)


def _swapped(catalogue: Catalogue, places: CheckedTree, child: _Child) -> _Child | None:
    """Return the child that lies in this one's folder, while this one lies in that one's."""
    row = catalogue.row(_SIBLING, child.parent, bare(child.objid))
    other = None if row is None else _child(row)
    if other is None or bare(other.objid) != child.key:
        return None
    # A folder in the other one, or in another place altogether, is another matter.
    is_plain = child.found is None and other.found is None and bool(child.folder and other.folder)
    is_apart = not (child.folder.startswith(other.folder) or other.folder.startswith(child.folder))
    if not (is_plain and is_apart):
        return None
    pairs = ((child, other), (other, child))
    return other if all(_lies_whole(catalogue, places, *pair) for pair in pairs) else None


def _lies_whole(catalogue: Catalogue, places: CheckedTree, child: _Child, other: _Child) -> bool:
    """Whether a METS is what the parent has described at the other's place, with its first file beside it."""
    entry = catalogue.row(_ENTRY, other.parent, other.called, other.path)
    first = catalogue.row(_FIRST_FILE, child.id)
    if entry is None or entry[2] is None or first is None or not places.is_there(first[0]):
        return False
    hashers = Hashers((entry[1],))
    try:
        with places.content(child.path) as content:
            for block in content.chunks():
                hashers.update(block)
    except (OSError, MetspackError):  # it could be read a moment ago; what it has become is told as it is
        return False
    return hashers.digest(entry[1]).value == str(entry[2])


def _undo(catalogue: Catalogue, child: _Child, other: _Child) -> None:
    """Let what is said of each of two children be said of the folder in which it really lies."""
    for one, another in ((child, other), (other, child)):
        entry = catalogue.number(_ENTRY, one.parent, one.called, one.path)
        catalogue.put("UPDATE entry SET path = ? WHERE id = ?", another.path, entry)
        sql = "UPDATE mets SET called = ?, key = ? WHERE id = ?"
        catalogue.put(sql, another.called, another.key, one.id)
        catalogue.put("INSERT OR IGNORE INTO swapped VALUES (?, ?)", one.folder, another.folder)
    catalogue.put(_OTHER_CHILD, child.id, other.id)
    catalogue.put(_IN_THE_OTHER, child.folder, other.folder)
