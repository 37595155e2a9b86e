"""Check the links between a parent IP and its child IPs, in both directions and every style."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache, partial
from itertools import islice

from metspack import uris
from metspack.checking import grouping
from metspack.checking.catalogue import Catalogue, Mark, nearest_file
from metspack.checking.codes import Code, Rule
from metspack.checking.eark.folders import Claims
from metspack.checking.links import swaps
from metspack.checking.links.mounting import (
    METS_IN_A_FOLDER,
    SAME,
    LinkingMets,
    Mounting,
    MountOutcome,
    Upward,
    Wanted,
    resolved,
)
from metspack.checking.links.objids import ObjidIndex
from metspack.checking.mets.documents import DocumentReader
from metspack.checking.options import Level
from metspack.checking.similarity import RecentEdits, TextEdit, likeness, nearest
from metspack.checking.tree import CheckedTree
from metspack.containers.ipreader import unpacked_name
from metspack.errors import MetspackError
from metspack.files.paths import folder_of, shown
from metspack.layouts.names import SEGMENT
from metspack.mets import PLAIN_METS, is_mets_name, is_of_representation, package_of
from metspack.mets.fastreader import condensed
from metspack.mets.links import By, Mptr, bare
from metspack.model import Finding
from metspack.system import os

_MISSING = {Code.CHILD_MISSING, Code.CHILD_NOWHERE}
_NEAR_KEPT = 1_000
_NEAREST_FOR = 50  # findings that get a guess at the name meant; each guess reads hundreds of names

_DOWN = """
SELECT m.id, m.href, m.line, m.named_by, m.childward, m.div, m.map, m.part IS NOT NULL, e.id, e.path,
    m.part IS NOT NULL OR (
    EXISTS (
        SELECT 1 FROM mptr o WHERE o.mets = m.mets AND o.href = m.href AND o.id < m.id AND o.part IS NULL)
    AND NOT EXISTS (
        SELECT 1 FROM mptr o WHERE o.mets = m.mets AND o.href = m.href AND o.map = m.map
        AND o.id < m.id AND o.part IS NULL)
) FROM mptr m
LEFT JOIN entry e ON e.id = (
    SELECT id FROM entry WHERE mets = m.mets AND xml_id = m.href ORDER BY id LIMIT 1)
WHERE m.mets = ? AND NOT m.up AND (m.part IS NOT NULL) = ? ORDER BY m.id
"""
_BESIDE = "SELECT href FROM mptr WHERE mets = ? AND div = ? AND named_by = ? ORDER BY id"
_UNLINKED = """
SELECT e.xml_id, e.line, e.path, coalesce(g.is_child, 0) FROM mets p JOIN entry e ON e.mets = p.id
LEFT JOIN section g ON g.id = e.grp
WHERE p.id = ?1 AND p.leads AND e.path IS NOT NULL
AND (g.is_child OR lower(CAST(substr(e.path, -8) AS TEXT)) = ?2)
AND NOT EXISTS (SELECT 1 FROM mptr m WHERE m.mets = e.mets AND m.href = e.xml_id AND m.part IS NULL)
AND NOT EXISTS (SELECT 1 FROM mets WHERE path = e.path) ORDER BY e.id
"""
# The outermost first: it may lead to those below it.
_UNNAMED = f"""
SELECT d.path FROM mark d
WHERE d.mark = '{Mark.DOCUMENT}' AND NOT EXISTS (SELECT 1 FROM mets m WHERE m.path = d.path)
AND NOT EXISTS (SELECT 1 FROM entry e WHERE e.path = d.path)
ORDER BY length(d.path) - length(replace(CAST(d.path AS TEXT), '/', '')), d.path
"""  # noqa: S608 -- a constant
_IS_LISTED = "SELECT 1 FROM entry WHERE path = ?"
_FREE = f"""
SELECT path FROM mark WHERE mark = '{Mark.DOCUMENT}' AND path NOT IN (SELECT path FROM mets)
AND path NOT IN (SELECT path FROM entry WHERE path IS NOT NULL) ORDER BY path LIMIT ?
"""  # noqa: S608 -- a constant
# The first of the mptrs with one location, if no entry has it.
_OUTSIDE = """
SELECT xml_id, line, href FROM entry WHERE mets = ?1 AND differs = 'outside' UNION ALL
SELECT NULL, line, href FROM (SELECT min(id), line, href FROM mptr WHERE mets = ?1 AND outside
    AND href NOT IN (SELECT href FROM entry WHERE mets = ?1 AND differs = 'outside') GROUP BY href)
"""
# A METS with an entry that no other division names.
_UNSHARED_ENTRY = """
SELECT 1 FROM entry e WHERE e.mets = ?1 AND e.path = ?2 AND NOT EXISTS (
    SELECT 1 FROM fptr b WHERE b.mets = ?1 AND b.fileid = e.xml_id AND b.div <> ?3)
AND NOT EXISTS (SELECT 1 FROM mptr m WHERE m.mets = ?1 AND m.href = e.xml_id AND m.div <> ?3)
"""
# The entries that a division's fptr and mptr name, of the first two hundred each: no package has more.
_ENTRIES_BESIDE = """
SELECT e.xml_id, e.path FROM (
    SELECT * FROM (SELECT fileid, rowid AS number FROM fptr INDEXED BY fptr_div
        WHERE mets = ?1 AND div = ?2 ORDER BY rowid LIMIT 200)
    UNION ALL SELECT * FROM (SELECT href, id + (1 << 60) FROM mptr
        WHERE mets = ?1 AND div = ?2 AND part IS NULL LIMIT 200)
) b CROSS JOIN entry e ON e.id = (SELECT min(id) FROM entry WHERE mets = ?1 AND xml_id = b.fileid)
WHERE e.path IS NOT NULL ORDER BY b.number
"""
_FOLDED_INDEX = "CREATE INDEX IF NOT EXISTS entry_folded ON entry (mets, lower(CAST(path AS TEXT)))"
_WITH_FOLDED_PATH = """
SELECT coalesce(xml_id, ''), path FROM entry
WHERE mets = ? AND lower(CAST(path AS TEXT)) = ? ORDER BY id LIMIT 1
"""
# Finds a division of a structMap that names a child by OBJID and location.
_BY_BOTH = """
SELECT 1 FROM mptr o JOIN mptr u ON u.mets = o.mets AND u.div = o.div AND u.named_by = 'location'
WHERE o.mets = ? AND o.map = ? AND o.named_by = 'OBJID' AND o.childward AND NOT o.up LIMIT 1
"""
# Holds for a METS whose mptrs all name children by the IDs of their entries.
_ONLY_BY_ID = """
SELECT 1 WHERE NOT EXISTS (
    SELECT 1 FROM mptr m WHERE m.mets = ?1 AND NOT m.up AND m.part IS NULL AND m.named_by <> 'file ID')
"""
_LED_BESIDE = """
SELECT c.path FROM fptr b CROSS JOIN mptr m ON m.mets = b.mets AND m.div = b.div
CROSS JOIN edge e ON e.mptr = m.id CROSS JOIN mets c ON c.id = e.child
WHERE b.mets = ? AND b.fileid = ? ORDER BY m.id
"""
_LED_TO = "UPDATE entry SET path = ? WHERE mets = ? AND xml_id = ? AND path = ?"
_LED_IN = "UPDATE entry SET path = ?, differs = NULL WHERE mets = ? AND line = ? AND href = ?"
# The METS of an entry that no mptr names, unless another link has led to it.
_FREE_ENTRY = """
SELECT e.path FROM entry e WHERE e.mets = ?1 AND e.xml_id = ?2 AND e.path IS NOT NULL
AND NOT EXISTS (SELECT 1 FROM mptr m WHERE m.mets = e.mets AND m.href = e.xml_id)
AND NOT EXISTS (SELECT 1 FROM mets WHERE path = e.path)
"""
_ENTRY_IDS = "SELECT xml_id FROM entry WHERE mets = ? AND xml_id IS NOT NULL"
_NOT_POINTED = "AND NOT EXISTS (SELECT 1 FROM mptr m WHERE m.mets = entry.mets AND m.href = entry.xml_id)"
# A child's OBJID is unique beside its parent: a second one is reported there and against METS without a
# parent. A representation's OBJID is unique in its package.
_OBJID_TWICE = """
SELECT m.path, m.line, m.objid, o.path FROM (
    SELECT id, path, line, objid, min(
        coalesce((SELECT o.id FROM mets o WHERE o.objid = m.objid AND o.package IS m.package
            AND o.parent IS m.parent ORDER BY o.id LIMIT 1), m.id),
        coalesce((SELECT o.id FROM mets o WHERE o.objid = m.objid AND o.package IS m.package
            AND o.parent IS NULL ORDER BY o.id LIMIT 1), m.id),
        coalesce((SELECT o.id FROM mets o WHERE o.id = m.parent AND o.objid = m.objid
            AND o.package IS m.package), m.id),
        CASE WHEN m.parent IS NULL THEN (SELECT o.id FROM mets o WHERE o.objid = m.objid
            AND o.package IS m.package ORDER BY o.id LIMIT 1) ELSE m.id END
    ) AS other FROM mets m WHERE m.objid IS NOT NULL
) m JOIN mets o ON o.id = m.other WHERE m.other < m.id ORDER BY m.id
"""
# The index finds the first and the last division, however many links to the child there are between.
_ALREADY = """
SELECT 1 WHERE EXISTS (SELECT 1 FROM edge WHERE parent = ?1 AND child = ?2 AND map = ?3 AND div < ?4)
OR EXISTS (SELECT 1 FROM edge WHERE parent = ?1 AND child = ?2 AND map = ?3 AND div > ?4)
"""
_PUT_EDGE = """
INSERT INTO edge (parent, child, mptr, href, line, state, code, map, div) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
"""


@dataclass(frozen=True, slots=True)
class _Pointer:
    """An mptr that leads to a child, with the file entry of the ID that it names."""

    id: int
    href: str
    line: int
    named_by: str
    childward: int
    div: int
    map: int
    is_of_part: int
    entry: int | None
    child: bytes | None
    again: int

    @property
    def by(self) -> By:
        return By(self.named_by)

    @property
    def link(self) -> str | None:
        """Return the style of a link, or None for a file entry's ID or a childward location."""
        if self.by is By.LOCATION and self.childward:
            return None
        return None if self.entry is not None else self.named_by


class LinkCheck:
    """The check of a package's links: reads its METS from the top down into the catalogue."""

    def __init__(
        self, catalogue: Catalogue, places: CheckedTree, index: ObjidIndex, root: int, claims: Claims
    ) -> None:
        self._catalogue = catalogue
        self._claims = claims
        self._looking = looking = claims.looking
        self._places = places
        self._index = index
        self._root = root
        self._mounting = Mounting(catalogue, places, index, root, whole=looking.level > Level.LINKS)
        self._upward = Upward(catalogue, places, self._mounting, index)
        self._guesses = self._last = 0
        # Very many mptr may name one child.
        self._has_unshared_entry = lru_cache(_NEAR_KEPT)(partial(catalogue.has, _UNSHARED_ENTRY))
        self._is_by_both = lru_cache(1)(partial(catalogue.has, _BY_BOTH))
        self._edits = RecentEdits()

    def findings(self, path: bytes) -> Iterator[Finding]:
        """Read the METS at ``path`` and all those below; yield the findings on them and their links."""
        self._catalogue.new_mets(path, None)
        yield from self._documents()
        yield from swaps.findings(self._catalogue, self._places)

    def orphans(self) -> Iterator[Finding]:
        """Yield findings on METS documents on disk that no METS names, and on all METS below them."""
        named = self._catalogue.number("SELECT max(id) FROM mets")
        for (path,) in self._catalogue.rows(_UNNAMED):
            while self._met(path) is None and not self._catalogue.has(_IS_LISTED, path):
                first = yield from self._uppermost(path)
                package = package_of(first) if is_of_representation(first) else None
                self._catalogue.new_mets(first, None, package=package)
                yield from self._documents()
        yield from swaps.findings(self._catalogue, self._places, named)
        for path, line, objid, other in self._catalogue.rows(_OBJID_TWICE):
            yield Code.OBJID_TWICE.at(path, line or 0, found=objid, other=other)
        yield from swaps.divisions(self._catalogue)

    def _uppermost(self, path: bytes) -> Generator[Finding, None, bytes]:
        """Return the topmost unread METS above the one at ``path``, or ``path`` itself."""
        yield from self._index.findings()
        seen: set[bytes] = set()
        while path not in seen:
            seen.add(path)
            found = self._index.at(self._root, path)
            ups = sorted(found.ups) if found is not None and self._mounting.path_here(found) == path else []
            named = (self._mounting.path_here(each) for up in ups for each in self._index.named(up))
            path = next((each for each in named if each is not None and self._met(each) is None), path)
        return path

    def _documents(self) -> Iterator[Finding]:
        # Documents are read in the order of their ids: all before the last one were read.
        sql = "SELECT id, path, parent FROM mets WHERE id > ? AND NOT done ORDER BY id LIMIT 1"
        while (row := self._catalogue.row(sql, self._last)) is not None:
            number, path, parent = row
            self._last = number
            yield from DocumentReader(self._catalogue, self._places, number, path, self._claims).findings()
            (objid,) = self._catalogue.row("SELECT objid FROM mets WHERE id = ?", number) or (None,)
            mets = LinkingMets(number, path, parent, objid)
            yield from self._upward.findings(number)
            yield from self._children(mets)
            yield from self._outside(mets.id, path)

    def _children(self, mets: LinkingMets) -> Iterator[Finding]:
        for row in self._catalogue.rows(_DOWN, mets.id, 0):
            yield from self._child(mets, _Pointer(*row))
        yield from self._unlinked(mets)
        for row in self._catalogue.rows(_DOWN, mets.id, 1):  # no links to children, but to parts in them
            yield from self._child(mets, _Pointer(*row))
        yield from swaps.styles(self._catalogue, mets.id, mets.path, self._looking.budgets.findings)

    def _child(self, mets: LinkingMets, pointer: _Pointer) -> Iterator[Finding]:
        if pointer.again and (pointer.entry is not None or pointer.by is By.LOCATION):
            # Another structMap may name the child too, and that of split LOBs does for each part.
            sql = "SELECT child FROM edge WHERE parent = ? AND href = ? AND child IS NOT NULL"
            if (row := self._catalogue.row(sql, mets.id, pointer.href)) is not None:
                self._keep_edge(mets, pointer, row[0])
        elif pointer.entry is not None:
            yield from self._by_file(mets, pointer)
        elif pointer.by is By.LOCATION:
            yield from self._by_location(mets, pointer)
        elif pointer.by is By.OBJID:
            yield from self._by_objid(mets, pointer)
        elif (place := self._representation(mets, pointer)) is not None:
            yield from self._down(mets, pointer, place, None)
        else:
            yield from self._without_file(mets, pointer)

    def _without_file(self, mets: LinkingMets, pointer: _Pointer) -> Iterator[Finding]:
        """Yield a finding on an mptr to a missing file ID, and follow the mptr to the likely METS."""
        near, meant = self._near_id(mets.id, pointer.href)
        place = resolved(self._places, mets.path, pointer.href) if "/" in pointer.href else None
        fault, called = Code.MPTR_WITHOUT_FILE, self._beside(mets, pointer, By.OBJID)
        difference = likeness(pointer.href, near) if near else ""
        yield fault.at(mets.path, pointer.line, href=pointer.href, nearest=near, likeness=difference)
        if place is None or not (is_mets_name(place) and self._is_reached(place)):
            place, called = meant, None  # the finding reports the ID, so the OBJID is not compared again
        if place is not None:
            yield from self._down(mets, pointer, place, called, fault=fault)
        else:
            self._keep_edge(mets, pointer, None, fault)

    def _keep_edge(
        self, mets: LinkingMets, pointer: _Pointer, child: int | None, fault: Rule | None = None
    ) -> None:
        """Put a link into the catalogue, with the code of its fault if it has one."""
        state = None if fault is None else "missing" if fault in _MISSING else "broken"
        at = (pointer.id, pointer.href, pointer.line)
        where = (None, None) if pointer.is_of_part else (pointer.map, pointer.div)
        self._catalogue.put(_PUT_EDGE, mets.id, child, *at, state, fault and fault.id, *where)

    # --- the three ways in which a parent names a child -------------------------------------------------

    def _by_file(self, mets: LinkingMets, pointer: _Pointer) -> Iterator[Finding]:
        if pointer.child is not None:
            yield from self._down(mets, pointer, pointer.child, pointer.href)
        elif bare(pointer.href) != bare(mets.objid or ""):
            # The location's fault was reported; the child can still be found by its OBJID.
            outcome = yield from self._mounting.found(Wanted(pointer.href, mets, pointer.line, None))
            if outcome.path is not None:
                yield from self._down(mets, pointer, outcome.path, pointer.href, outcome.found)

    def _by_location(self, mets: LinkingMets, pointer: _Pointer) -> Iterator[Finding]:
        """Follow an mptr that gives a location, as CSIP's mptr do for representations."""
        child = resolved(self._places, mets.path, pointer.href)
        called = self._beside(mets, pointer, By.OBJID)
        if child is None and self._leaves(pointer.href):
            self._catalogue.put("UPDATE mptr SET outside = 1 WHERE id = ?", pointer.id)
        if child is None and called is not None:
            return  # the OBJID beside it names the child
        fault, other = None, self._listed_beside(mets, pointer, child)
        if other is not None and child is not None and called is not None and self._is_reached(child):
            yield from self._index.findings()
            if any(self._mounting.path_here(each) == child for each in self._index.named(called)):
                other = None  # location and OBJID agree: the fptr is of another child
        if other is not None:
            if child is not None and self._is_reached(child):
                fault = Code.DIVISION_DISAGREES
                facts = {"fileid": other[0], "found": shown(other[1]), "expected": shown(child)}
                yield fault.at(mets.path, pointer.line, other[0], **facts)
            elif child is not None:
                fault = Code.CHILD_MISSING
                expected, near = shown(child), shown(other[1])
                facts = {"href": pointer.href, "expected": expected, "nearest": near}
                yield fault.at(mets.path, pointer.line, **facts, likeness=likeness(expected, near))
                # The same change was made to the OBJID.
                edit = TextEdit.of(expected, near)
                called = edit.applied(called) if called is not None and edit.before else called
            child = other[1]
        if child is None:
            return
        meant = called or (yield from self._meant_by_folder(child))
        yield from self._down(mets, pointer, child, meant, fault=fault)
        is_sole = called is None and self._beside(mets, pointer, By.FILE) is None
        if is_sole and pointer.childward and self._is_by_both(mets.id, pointer.map):
            facts = {"found": shown(child), "href": pointer.href}
            yield Code.CHILD_BY_LOCATION.at(mets.path, pointer.line, **facts)

    def _meant_by_folder(self, child: bytes) -> Generator[Finding, None, str | None]:
        """Return the OBJID whose package would have a missing child's folder, or None.

        IPs are in folders that are named by their OBJID, with ``+`` for a colon (E-ARK AIP21).
        """
        if self._is_reached(child):
            return None
        yield from self._index.findings()
        name = shown(folder_of(child)[:-1].rpartition(b"/")[2])
        objid = name.replace("+", ":")
        return objid if name and next(self._index.named(objid), None) is not None else None

    def _leaves(self, href: str) -> bool:
        """Return whether a refused location leads out of the package; any other has its finding."""
        try:
            uris.located(href)
        except uris.ReferenceRefused:
            return False
        return True

    def _is_reached(self, child: bytes) -> bool:
        return self._met(child) is not None or self._places.is_there(child)

    def _listed_beside(
        self, mets: LinkingMets, pointer: _Pointer, child: bytes | None
    ) -> tuple[str, bytes] | None:
        """Return ID and path of the METS that a wrong location means, or None.

        A wrong location leads to no METS, or to another. The METS is in a file entry of the same division, or
        in one whose path differs only in letter case.
        """
        is_there = child is not None and self._is_reached(child)
        is_mets = child is not None and is_mets_name(child)
        beside = self._first_beside(mets.id, pointer.div, child)
        if beside is not None:
            if beside[1] == child:
                return None
            place = (mets.id, child, pointer.div)
            is_doubtful = not (is_there and is_mets) or not self._has_unshared_entry(*place)
            return beside if is_doubtful else None
        if child is None or is_there:
            return None
        self._guesses += 1
        if self._guesses > _NEAREST_FOR:
            return None
        self._catalogue.put(_FOLDED_INDEX)
        row = self._catalogue.row(_WITH_FOLDED_PATH, mets.id, shown(child).lower())
        return (str(row[0]), bytes(row[1])) if row is not None and self._is_reached(row[1]) else None

    def _first_beside(self, mets: int, div: int, child: bytes | None) -> tuple[str, bytes] | None:
        """Return ID and path of a division's first entry of ``child`` or an existing METS, or None."""
        for xml_id, path in self._catalogue.all(_ENTRIES_BESIDE, mets, div):
            if path == child or (is_mets_name(path) and self._is_reached(path)):
                return xml_id, path
        return None

    def _by_objid(self, mets: LinkingMets, pointer: _Pointer) -> Iterator[Finding]:
        """Find the child that an mptr names only by OBJID, as in E-ARK AIP and large CSIP packages."""
        if mets.objid is not None and bare(pointer.href) == bare(mets.objid):
            if pointer.again:  # a part of a split LOB in this very package
                return
            self._keep_edge(mets, pointer, mets.id, Code.SELF_LINK)
            yield Code.SELF_LINK.at(mets.path, pointer.line, href=pointer.href)
            return
        beside = self._beside(mets, pointer, By.LOCATION)
        if beside is not None and resolved(self._places, mets.path, beside) is not None:
            return  # the mptr beside this one gives the location, and its METS is compared with this OBJID
        child = self._catalogue.row(
            "SELECT id, path, parent FROM mets WHERE parent = ? AND key = ?", mets.id, bare(pointer.href)
        )
        if child is not None:
            yield from self._to_met(mets, pointer, child[1], (child[0], child[2]))
            return
        outcome = yield from self._mounting.found(Wanted(pointer.href, mets, pointer.line, None))
        if outcome.path is not None:
            yield from self._down(mets, pointer, outcome.path, pointer.href, outcome.found)
        else:
            self._keep_edge(mets, pointer, None, Code.CHILD_NOWHERE)
            facts = {"nearest": outcome.nearest, "likeness": outcome.likeness}
            if outcome.parent and mets.objid is not None:
                facts |= {"parent": outcome.parent, "expected": mets.objid}
            if outcome.meant is not None:
                self._mean(outcome.meant)
            yield Code.CHILD_NOWHERE.at(mets.path, pointer.line, href=pointer.href, **facts)

    def _beside(self, mets: LinkingMets, pointer: _Pointer, by: By) -> str | None:
        row = self._catalogue.row(_BESIDE, mets.id, pointer.div, by.value) if pointer.div else None
        return None if row is None else str(row[0])

    def _representation(self, mets: LinkingMets, pointer: _Pointer) -> bytes | None:
        """Return a representation's METS at the location in an mptr of another LOCTYPE, or None."""
        place = None if pointer.childward else resolved(self._places, mets.path, pointer.href)
        is_one = place is not None and is_of_representation(place) and self._is_reached(place)
        return place if is_one else None

    def _down(
        self,
        mets: LinkingMets,
        pointer: _Pointer,
        child: bytes,
        called: str | None,
        found: str | None = None,
        *,
        fault: Rule | None = None,
    ) -> Iterator[Finding]:
        package = self._package(pointer, child, called) if found is None else None
        if package is not None:
            called = None
        outcome = MountOutcome(path=child, found=found)
        if (within := self._within(child)) is not None:
            href = pointer.href if pointer.entry is None else shown(child)
            yield Code.FOLDER_LINKED.at(mets.path, pointer.line, href=href, found=within)
            self._catalogue.put("UPDATE entry SET path = ? WHERE id = ?", within, pointer.entry)
            child, outcome = within, MountOutcome(path=within, found=found)
        if called is not None and (inside := self._packed(child)) is not None:
            # SIARD 2.2 L_7.1-1: a segment may be packed, and then the file entry is of the packed file.
            child = inside
        if not self._is_reached(child):
            outcome = MountOutcome()
            if called is not None:
                outcome = yield from self._mounting.found(Wanted(called, mets, pointer.line, child))
        if outcome.path is None:
            yield self._missing(mets, pointer, child, called, outcome)
        elif (met := self._met(outcome.path)) is not None:
            yield from self._to_met(mets, pointer, outcome.path, met)
        else:
            named_by = pointer.link if package is None else By.LOCATION.value
            number = self._catalogue.new_mets(
                outcome.path, mets.id, called, found=outcome.found, named_by=named_by, package=package
            )
            self._keep_edge(mets, pointer, number, fault)
            yield from self._claimed(mets, pointer, outcome)
            if pointer.is_of_part:
                yield Code.CHILD_WITHOUT_MPTR.at(mets.path, pointer.line, href=outcome.path)

    def _package(self, pointer: _Pointer, path: bytes, called: str | None) -> bytes | None:
        """Return the folder of the package whose representation has the METS, or None for a child."""
        is_located = pointer.by is By.LOCATION and called is None
        # A package may be called child_0: its own division makes its representations no children.
        is_one = is_located or (is_of_representation(path) and not pointer.childward)
        return package_of(path) if is_one else None

    def _within(self, child: bytes) -> bytes | None:
        """Return the METS in the folder to which a link leads, or None when it leads elsewhere."""
        if is_mets_name(child) or unpacked_name(child) is not None:
            return None
        at = child and child + b"/"
        return next((at + name for name in METS_IN_A_FOLDER if self._places.is_there(at + name)), None)

    def _packed(self, child: bytes) -> bytes | None:
        """Return the METS that a zip or tar file has once unpacked beside itself, or None otherwise."""
        stem = unpacked_name(child)
        if stem is None or not self._places.is_there(child):
            return None
        return stem + b"/" + METS_IN_A_FOLDER[0]

    def _met(self, child: bytes) -> tuple[int, int | None] | None:
        """Return the number and the parent of a METS in the catalogue, or None without one."""
        row = self._catalogue.row("SELECT id, parent FROM mets WHERE path = ?", child)
        return None if row is None else (row[0], row[1])

    def _missing(
        self, mets: LinkingMets, pointer: _Pointer, child: bytes, called: str | None, outcome: MountOutcome
    ) -> Finding:
        package = self._package(pointer, child, called)
        number = self._catalogue.new_mets(child, mets.id, called, done=True, package=package)
        self._keep_edge(mets, pointer, number, Code.CHILD_MISSING)
        near = outcome.nearest or self._near_file(child) or self._near_mets(child, package)
        difference = outcome.likeness or (likeness(shown(child), near) if near else "")
        if near and not outcome.nearest:
            self._edits.learn(shown(child), near)
        if near and (outcome.likeness == SAME or not outcome.nearest):
            self._mean(os.fsencode(near), child)
        facts = {"href": pointer.href, "expected": shown(child), "nearest": near, "likeness": difference}
        finding = Code.CHILD_MISSING.at(mets.path, pointer.line, **facts)
        return grouping.with_manifests(self._catalogue, child, finding)

    def _mean(self, path: bytes, child: bytes = b"") -> None:
        """Note the METS that a link means; the files missing at the link are in its folder."""
        self._catalogue.mark(Mark.MEANT, path)
        if child and folder_of(path):
            self._catalogue.mark(Mark.MOVED, folder_of(child), folder_of(path))

    def _claimed(self, mets: LinkingMets, pointer: _Pointer, outcome: MountOutcome) -> Iterator[Finding]:
        """Yield a finding if a package checked before has the same child."""
        child = outcome.found or self._places.on_disk(outcome.path or b"")
        other = self._index.claim(child, self._places.on_disk(mets.path))
        if other is not None:
            yield Code.TWO_PARENTS.at(mets.path, pointer.line, href=pointer.href, expected=child, other=other)

    def _to_met(
        self, mets: LinkingMets, pointer: _Pointer, child: bytes, met: tuple[int, int | None]
    ) -> Iterator[Finding]:
        """Yield the findings on a link to a METS that is in the catalogue already."""
        number, parent = met
        facts = {"href": pointer.href, "expected": shown(child)}
        already = self._catalogue.row(_ALREADY, mets.id, number, pointer.map, pointer.div)
        if self._catalogue.is_above(number, mets.id):
            self._keep_edge(mets, pointer, number, Code.LINK_LOOP)
            yield Code.LINK_LOOP.at(mets.path, pointer.line, **facts)
        elif parent is not None and parent != mets.id:
            self._keep_edge(mets, pointer, number, Code.TWO_PARENTS)
            other = self._catalogue.row("SELECT path FROM mets WHERE id = ?", parent) or (b"",)
            yield Code.TWO_PARENTS.at(mets.path, pointer.line, **facts, other=other[0])
        else:
            self._keep_edge(mets, pointer, number)
            if already is not None:
                yield Code.CHILD_TWICE.at(mets.path, pointer.line, **facts)

    def _unlinked(self, mets: LinkingMets) -> Iterator[Finding]:
        for xml_id, line, child, labelled in self._catalogue.rows(_UNLINKED, mets.id, PLAIN_METS):
            if (led := self._led_beside(mets, xml_id, child)) is not None:
                facts = {"fileid": xml_id, "found": shown(child), "expected": shown(led)}
                yield Code.DIVISION_DISAGREES.at(mets.path, line, xml_id, **facts)
                self._catalogue.put(_LED_TO, led, mets.id, xml_id, child)
                continue
            folder, is_one = folder_of(mets.path), is_of_representation(child) and not labelled
            package = folder if is_one and package_of(child) == folder else None
            if not labelled and package is None and not self._is_child(mets, child):
                continue  # a document among the files
            if package is None:
                yield Code.CHILD_WITHOUT_MPTR.at(mets.path, line, xml_id or "", href=child)
            if not self._places.is_there(child) or self._met(child) is not None:
                continue
            if package is None and self._catalogue.has(_ONLY_BY_ID, mets.id):
                self._catalogue.new_mets(child, mets.id, xml_id)
            else:  # then the entry's ID is not the child's OBJID
                by = By.OBJID if package is None else By.LOCATION
                self._catalogue.new_mets(child, mets.id, named_by=by.value, package=package)

    def _is_child(self, mets: LinkingMets, path: bytes) -> bool:
        """Return whether a METS that no mptr names is in a segment's folder or names its parent."""
        if mets.parent is None and SEGMENT.fullmatch(shown(folder_of(path)[:-1]).rpartition("/")[2]):
            return True
        if mets.parent is None and mets.objid:
            with suppress(OSError, MetspackError), self._places.content(path) as content:
                links = (each for each in condensed(content.blocks()) if isinstance(each, Mptr))
                return any(bare(each.href or "") == bare(mets.objid) for each in links)
        return False

    def _led_beside(self, mets: LinkingMets, xml_id: str | None, child: bytes) -> bytes | None:
        """Return the METS to which the mptr beside a missing file's fptr leads, or None."""
        if self._places.is_there(child):
            return None
        rows = self._catalogue.all(_LED_BESIDE, mets.id, xml_id)
        return next((bytes(path) for (path,) in rows if self._places.is_there(path)), None)

    def _outside(self, mets: int, path: bytes) -> Iterator[Finding]:
        """Yield findings on locations that lead out of the package, except to children found there.

        The entry of a child that was found by its OBJID gets the child's path, so that size and digest are
        compared.
        """
        if not (outside := self._catalogue.all(_OUTSIDE, mets)):
            return
        found_at = self._mounting.make_found_at(mets, path)
        for identifier, line, href in outside:
            if (at := found_at(href)) is None:
                near = self._places.nearest_inside(path, href)
                yield Code.LEAVES_ROOT.at(path, line, identifier or "", href=href, nearest=near)
            else:
                self._catalogue.put(_LED_IN, at, mets, line, href)

    def _near_id(self, mets: int, href: str) -> tuple[str, bytes | None]:
        """Return the entry ID most like an href, and the path of the METS that only it can mean."""
        for meant in self._edits.meant(href):
            if (row := self._catalogue.row(_FREE_ENTRY, mets, meant)) is not None:
                return meant, row[0]
        self._guesses += 1
        if self._guesses > _NEAREST_FOR:
            return "", None
        # An entry that no mptr names is likelier.
        for more in (_NOT_POINTED, ""):
            ids = self._catalogue.rows(f"{_ENTRY_IDS} {more}", mets)
            if near := nearest(href, (xml_id for (xml_id,) in islice(ids, _NEAREST_FOR))):
                self._edits.learn(href, near)
                row = self._catalogue.row(_FREE_ENTRY, mets, near)
                return near, None if row is None else row[0]
        return "", None

    def _near_mets(self, child: bytes, package: bytes | None) -> str:
        """Return the unlisted METS whose path is nearest to a missing one's, or "".

        ``package`` is the folder of the package whose representation has the METS, or None for a child.
        """
        if self._guesses > _NEAREST_FOR:
            return ""
        free = (path for (path,) in self._catalogue.rows(_FREE, _NEAREST_FOR))
        candidates = (path for path in free if (package is None) is not is_of_representation(path))
        return nearest(shown(child), map(shown, candidates))

    def _near_file(self, child: bytes) -> str:
        for meant in self._edits.meant(shown(child)):
            if self._places.is_there(os.fsencode(meant)):
                return meant
        self._guesses += 1
        return "" if self._guesses > _NEAREST_FOR else nearest_file(self._catalogue, child)
