"""Check for swapped children: with another child's OBJID, in each other's folder, or exchanged by the parent.

METS, manifests and cells are then compared with the folder in which each of the two really lies.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from metspack.checking.catalogue import Catalogue, Row, likeness, shown
from metspack.checking.codes import Code
from metspack.checking.opening import CheckedTree
from metspack.digests import Hashers
from metspack.errors import MetspackError
from metspack.mets.links import bare
from metspack.model import Finding

_CALLED = """
SELECT id, path, folder, parent, called, key, objid, line, found FROM mets
WHERE called IS NOT NULL AND objid IS NOT NULL ORDER BY id
"""
_SIBLING = f"{_CALLED.partition(' ORDER')[0]} AND parent = ? AND key = ? ORDER BY id"
_ENTRY = "SELECT id, algorithm, digest FROM entry WHERE mets = ? AND path = ? ORDER BY id LIMIT 1"
_LINK = "SELECT line FROM edge WHERE parent = ? AND child = ? ORDER BY id LIMIT 1"
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

    def is_named_after(self, folder: bytes) -> bool:
        """Whether its OBJID and a folder are called alike, as ``ID_X_lobseg_0_mets`` and ``X_lobseg_0``."""
        name, objid = shown(folder.rstrip(b"/").rpartition(b"/")[2]), bare(self.objid)
        return bool(name and objid) and (name in self.objid or objid in name)


def _child(row: Row) -> _Child:
    return _Child(*row)


def findings(catalogue: Catalogue, places: CheckedTree) -> Iterator[Finding]:
    """Yield findings on children whose OBJID is not the one their parent names, once all were read."""
    told: set[int] = set()
    others = [child for child in map(_child, catalogue.rows(_CALLED)) if child.is_another]
    for child in others:
        if child.id in told:
            continue
        other = _counterpart(catalogue, child)
        if other is None:
            yield _of_one(catalogue, child)
            continue
        pairs = ((child, other), (other, child))
        is_whole = all(_is_whole(catalogue, places, each) for each in (child, other))
        is_described = is_whole and all(_is_described(catalogue, places, *pair) for pair in pairs)
        at_home = all(each.is_named_after(each.folder) for each in (child, other))
        away = is_whole and all(each.is_named_after(another.folder) for each, another in pairs)
        if at_home and not away:
            told.add(other.id)
            yield _exchanged(catalogue, child, other, is_described=is_described)
        elif is_described or away:
            told.add(other.id)
            yield _swapped(catalogue, child, other, is_described=is_described)
        else:
            yield _of_one(catalogue, child)


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


def _exchanged(catalogue: Catalogue, child: _Child, other: _Child, *, is_described: bool) -> Finding:
    """Return that the parent has two children's names exchanged, and let it name each where it lies."""
    row = catalogue.row(_LINK, child.parent, child.id)
    parent = catalogue.row("SELECT path FROM mets WHERE id = ?", child.parent) or (b"",)
    _rename(catalogue, child, other)
    if is_described:
        _describe(catalogue, child, other)
    for each in (child, other):
        catalogue.put(
            "INSERT OR IGNORE INTO fault VALUES (?, ?)", shown(each.path), Code.CHILDREN_EXCHANGED.id
        )
    return Code.CHILDREN_EXCHANGED.at(
        shown(parent[0]),
        0 if row is None else row[0],
        expected=child.called,
        found=shown(child.path),
        other=other.called,
        where=shown(other.path),
    )


def _swapped(catalogue: Catalogue, child: _Child, other: _Child, *, is_described: bool) -> Finding:
    """Return that two children lie in each other's folder, and let each be where it really lies."""
    _rename(catalogue, child, other)
    for one, another in ((child, other), (other, child)):
        catalogue.put("INSERT OR IGNORE INTO swapped VALUES (?, ?)", one.folder, another.folder)
    if is_described:
        _describe(catalogue, child, other)
        catalogue.put(_IN_THE_OTHER, child.folder, other.folder)
    catalogue.put("INSERT OR IGNORE INTO fault VALUES (?, ?)", shown(other.path), Code.CHILDREN_SWAPPED.id)
    return Code.CHILDREN_SWAPPED.at(
        shown(child.path),
        child.line,
        found=child.objid,
        other=shown(other.path),
        expected=other.objid,
    )


def _counterpart(catalogue: Catalogue, child: _Child) -> _Child | None:
    """Return the child that is called as this one should be, while this one is called as that one should."""
    row = catalogue.row(_SIBLING, child.parent, bare(child.objid))
    other = None if row is None else _child(row)
    if other is None or bare(other.objid) != child.key:
        return None
    # A folder in the other one, or in another place altogether, is another matter.
    is_plain = child.found is None and other.found is None and bool(child.folder and other.folder)
    is_apart = not (child.folder.startswith(other.folder) or other.folder.startswith(child.folder))
    return other if is_plain and is_apart else None


def _is_whole(catalogue: Catalogue, places: CheckedTree, child: _Child) -> bool:
    """Whether the first file of a child lies beside its METS."""
    first = catalogue.row(_FIRST_FILE, child.id)
    return first is not None and places.is_there(first[0])


def _is_described(catalogue: Catalogue, places: CheckedTree, child: _Child, other: _Child) -> bool:
    """Whether a METS is what the parent has described at the other's place."""
    entry = catalogue.row(_ENTRY, other.parent, other.path)
    if entry is None or entry[2] is None:
        return False
    hashers = Hashers((entry[1],))
    try:
        with places.content(child.path) as content:
            for block in content.chunks():
                hashers.update(block)
    except (OSError, MetspackError):  # it could be read a moment ago; what it has become is told as it is
        return False
    return hashers.digest(entry[1]).value == str(entry[2])


def _rename(catalogue: Catalogue, child: _Child, other: _Child) -> None:
    """Let each of two children be called what it calls itself."""
    for one, another in ((child, other), (other, child)):
        sql = "UPDATE mets SET called = ?, key = ? WHERE id = ?"
        catalogue.put(sql, another.called, another.key, one.id)
    catalogue.put(_OTHER_CHILD, child.id, other.id)


def _describe(catalogue: Catalogue, child: _Child, other: _Child) -> None:
    """Let what the parent says of each of two METS be said of the other."""
    entries = [
        (each.path, catalogue.number(_ENTRY, another.parent, another.path))
        for each, another in ((child, other), (other, child))
    ]
    for path, entry in entries:
        catalogue.put("UPDATE entry SET path = ? WHERE id = ?", path, entry)
