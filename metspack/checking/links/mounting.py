"""Mount children found elsewhere, and check the links up to parents."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from functools import lru_cache
from itertools import compress
from operator import not_

from metspack import uris
from metspack.checking import inventory
from metspack.checking.catalogue import Catalogue, Mark, Row
from metspack.checking.codes import Code
from metspack.checking.links.objids import ObjidIndex
from metspack.checking.similarity import likeness
from metspack.checking.tree import CheckedTree
from metspack.containers.ipreader import unpacked_name
from metspack.files.paths import folder_of, shown
from metspack.mets import METS_NAMES, is_mets_name
from metspack.mets.links import By, bare, folder_of_objid
from metspack.model import Finding
from metspack.packages.objids import FoundPackage
from metspack.system import os

SAME = "the same package under another name"
"""The likeness of a missing child to one found under another name."""

_OTHERS = "the child of another parent"

METS_IN_A_FOLDER = tuple(name.encode() for name in METS_NAMES)
"""The names that the METS of a folder may have."""

_FOUND_SINCE = "SELECT id, path, found FROM mets WHERE found IS NOT NULL AND id > ? ORDER BY id"


@dataclass(frozen=True, slots=True)
class LinkingMets:
    """The METS document whose links are followed."""

    id: int
    path: bytes
    parent: int | None
    objid: str | None


@dataclass(frozen=True, slots=True)
class Wanted:
    """A child that is searched for: its OBJID, and the place of the link to it.

    ``place`` is the path that the parent states for its METS, or None.
    """

    called: str
    parent: LinkingMets
    line: int
    place: bytes | None


@dataclass(frozen=True, slots=True, kw_only=True)
class MountOutcome:
    """The result of a search: the path of the child's METS and its true place, or a hint.

    ``path`` is that of the child's METS in the package, ``meant`` that of the nearest METS; ``parent`` is the
    parent that the nearest METS names.
    """

    path: bytes | None = None
    found: str | None = None
    nearest: str = ""
    likeness: str = ""
    meant: bytes | None = None
    parent: str = ""


class Mounting:
    """The search for children by their OBJIDs in all roots, for the package in one ``root``."""

    def __init__(
        self, catalogue: Catalogue, places: CheckedTree, index: ObjidIndex, root: int, *, whole: bool
    ) -> None:
        self._catalogue = catalogue
        self._places = places
        self._index = index
        self._root = root
        self._whole = whole
        self._named_by = lru_cache(1)(self._names_of)
        self._last_found = 0
        self._found_at: dict[str, bytes] = {}  # the paths of mounted METS, by their places on disk

    def found(self, wanted: Wanted) -> Generator[Finding, None, MountOutcome]:
        """Search for a child that is not at its place, and mount it if it is found elsewhere.

        A child with a stated place stays missing when it lies in the same package under another name: a
        reader would miss it there. A child that was packed beside its place, or is in another root, is
        mounted.
        """
        yield from self._index.findings()
        mine, others = self._index.children(wanted.called, wanted.parent.objid)
        # A child of a copy of the parent, which is under check too, is no child of this parent.
        copy = wanted.parent.objid or "", self._root
        mine = [each for each in mine if not self._index.is_within_copy(each, *copy)]
        usable = [each for each in mine if wanted.place is None or self.path_here(each) is None]
        if not usable:
            # The OBJID of the package packed at its place is compared once it is mounted.
            at = self._vacant(wanted.place)
            in_place = None if at is None else self._index.packed(self._root, at)
            if in_place is None:
                return self._hinted(mine, others, wanted)
            usable = [in_place]
        usable.sort(key=lambda each: self._rank(each, wanted))
        if any(not each.given for each in usable[1:]):
            facts = {"href": wanted.called, "found": usable[0].shown, "other": usable[1].shown}
            yield Code.CHILD_COPIES.at(wanted.parent.path, wanted.line, **facts)
        first = usable[0]
        if (path := self.path_here(first)) is not None:
            return MountOutcome(path=path)
        at = self._vacant(self._unpacked(first) if wanted.place is None else wanted.place)
        if wanted.place is not None and at is None:
            return MountOutcome(nearest=first.shown, likeness=SAME)
        return (yield from self._mount(wanted, first, at))

    def _rank(self, found: FoundPackage, wanted: Wanted) -> tuple[bool, bool, int, bool]:
        """Return a sort key: granted roots, claimed, distant and otherwise named packages come last."""
        parent = self._places.on_disk(wanted.parent.path)
        return (
            found.root >= self._index.checked,
            self._index.is_taken(found.shown, parent),
            self._index.distance(self._root, found),
            _is_called_otherwise(found, wanted.place),
        )

    def path_here(self, found: FoundPackage) -> bytes | None:
        """Return the path of a found package in this one, or None when it is elsewhere or packed."""
        if self._places.members:
            return self._places.of_member(found.root, found.path)
        return found.path if found.root == self._root and found.pack is None else None

    def _unpacked(self, found: FoundPackage) -> bytes | None:
        """Return the place of a METS in one of the package's packs once unpacked, or None."""
        if found.pack is None or found.root != self._root:
            return None
        return found.pack[: found.pack.rfind(b"/") + 1] + found.path

    def _vacant(self, place: bytes | None) -> bytes | None:
        """Return the folder to mount a child as, or None without ``place`` or if the folder exists."""
        folder = b"" if place is None else folder_of(place).rstrip(b"/")
        if not folder or self._catalogue.is_folder(folder):
            return None
        return folder

    def _hinted(self, mine: list[FoundPackage], others: list[FoundPackage], wanted: Wanted) -> MountOutcome:
        if mine:
            return MountOutcome(nearest=shown(self.path_here(mine[0]) or mine[0].path), likeness=SAME)
        if others:
            parent = min(others[0].ups, default="")
            return MountOutcome(
                nearest=others[0].shown,
                likeness=f"{_OTHERS}, {parent!r}" if parent else _OTHERS,
                meant=self.path_here(others[0]),
                parent=parent,
            )
        if wanted.place is not None:
            return MountOutcome()
        # An OBJID that the parent names too is only a last resort, and no guess at the child.
        near, likeness = self._index.nearest(wanted.called, self._named_by(wanted.parent))
        found = next(self._index.named(near), None) if near else None
        if not near:
            near, likeness = self._index.nearest(wanted.called, {bare(wanted.parent.objid or "")})
        if found is not None:
            self._index.mean(found, wanted.parent.objid)
        return MountOutcome(
            nearest=near, likeness=likeness, meant=None if found is None else self.path_here(found)
        )

    def _names_of(self, parent: LinkingMets) -> AbstractSet[str]:
        """Return the OBJIDs of a parent METS and its children; no other name can mean them."""
        hrefs = self._catalogue.rows("SELECT href FROM mptr WHERE mets = ? AND NOT url", parent.id)
        return {bare(parent.objid or ""), *(bare(href) for (href,) in hrefs if href)}

    def _mount(
        self, wanted: Wanted, found: FoundPackage, at: bytes | None
    ) -> Generator[Finding, None, MountOutcome]:
        name = found.path.rpartition(b"/")[2]
        folder = os.fsencode(found.shown)[: -len(name) - 1] if at is None else at
        path = folder + b"/" + name
        mounted = self._catalogue.row("SELECT path FROM mets WHERE found = ?", found.shown)
        if mounted is not None:
            return MountOutcome(path=mounted[0])
        self._places.mount(folder, self._index.tree(found), apart=at is None)
        if at is None:
            self._catalogue.apart.add(folder + b"/")
        if found.root == self._root and found.pack is not None:
            self._catalogue.mark(Mark.PACK, found.pack, folder + b"/")
        named = b"" if wanted.place is None else wanted.place.rpartition(b"/")[2]
        if wanted.place != path and named.lower() == name.lower():
            # The METS may be METS.xml there and mets.xml here.
            self._catalogue.put("UPDATE entry SET path = ? WHERE path = ?", path, wanted.place)
        if found.given:
            self._places.given[shown(folder)] = found.given
        yield from inventory.findings(self._catalogue, self._places, folder, whole=self._whole)
        is_here, inside = found.root == self._root, folder_of(found.path).rstrip(b"/")
        stem = unpacked_name(found.pack or b"")
        name = (stem or inside).rpartition(b"/")[2]
        if is_here and stem == folder and inside == name:
            return MountOutcome(path=path)
        # Restore looks at the parent's location, in packs at the root and in the folder of the same name.
        is_missed = (wanted.place is not None and stem != folder) or (stem and inside not in {name, b""})
        finding = Code.CHILD_ELSEWHERE.error_at if is_here and is_missed else Code.CHILD_ELSEWHERE.at
        yield finding(wanted.parent.path, wanted.line, href=wanted.called, found=found.shown)
        return MountOutcome(path=path, found=found.shown)

    def make_found_at(self, mets: int, document: bytes) -> Callable[[str], bytes | None]:
        """Return a function from a location outside to the path of the child mounted there, or None.

        It serves the locations in one METS; no child may be mounted while it is in use.
        """
        for number, path, found in self._catalogue.rows(_FOUND_SINCE, self._last_found):
            self._last_found = number
            self._found_at.setdefault(os.path.abspath(found), bytes(path))
        here = self._folder_on_disk(mets, document)
        return lambda href: self._found_at.get(_joined(here, href)) if self._found_at else None

    def leads_to(self, mets: int, document: bytes, href: str, other: bytes) -> bool:
        """Return whether a location in a METS leads to another METS by their places on disk."""
        there = os.path.abspath(self._places.on_disk(other))
        return _joined(self._folder_on_disk(mets, document), href) == there

    def _folder_on_disk(self, mets: int, document: bytes) -> str:
        row = self._catalogue.row("SELECT found FROM mets WHERE id = ?", mets)
        return os.path.dirname(os.path.abspath((row and row[0]) or self._places.on_disk(document)))

    def upward(
        self, path: bytes, objid: str | None, link: tuple[str, int], *, is_ancestor: bool
    ) -> Iterator[Finding]:
        """Search for the parent that a package under check names; yield the findings on their link.

        ``link`` is the parent's OBJID in the package's METS and the line. An ancestor may leave its
        descendants unnamed.
        """
        parent, line = link
        yield from self._index.findings()
        parents = list(self._index.named(parent))
        if not parents:
            near, likeness = self._index.nearest_parent(parent, objid or "")
            at = next(self._index.named(near)).shown if near else ""
            hint = "; ".join(filter(None, (likeness, at and f"it lies at {at}")))
            facts = {"expected": parent, "nearest": near, "likeness": hint}
            code = Code.PARENT_NOWHERE if self._index.granted else Code.PARENT_NOT_HERE
            yield code.at(path, line, **facts)
            return
        key = bare(objid or "")
        naming = [each for each in parents if key in each.downs]
        first = naming[0] if naming else parents[0]
        self._catalogue.above.setdefault(bare(parent), shown(os.fsencode(first.shown)))
        if not naming:
            code = Code.ANCESTOR_SILENT if is_ancestor else Code.NOT_NAMED_BY_PARENT
            if not is_ancestor and self._index.is_meant(self._places.on_disk(path), parent):
                # The finding on the parent's link reports it; the link still leads only up.
                self._catalogue.put("INSERT OR IGNORE INTO fault VALUES (?, ?)", shown(path), code.id)
                return
            yield code.at(path, line, expected=parent, found=first.shown)
            return
        if not self._index.granted:
            return  # every given package has its own check
        for sibling in self._index.lacking(naming[0], parent):
            if sibling != key:
                yield Code.SIBLING_NOWHERE.at(path, line, found=naming[0].shown, expected=sibling)


def resolved(places: CheckedTree, document: bytes, href: str) -> bytes | None:
    """Return the path that a location in a document means, or None for a refused location."""
    try:
        return places.resolved(document, uris.located(href))
    except uris.ReferenceRefused:
        return None


def _joined(folder: str, href: str) -> str:
    """Return the path that a relative location in a folder leads to, "" for any other location."""
    try:
        reference = uris.located(href)
    except uris.ReferenceRefused:
        return ""
    is_relative = reference.kind is uris.Kind.RELATIVE
    return os.path.normpath(os.path.join(folder, *reference.segments)) if is_relative else ""


def _is_called_otherwise(found: FoundPackage, place: bytes | None) -> bool:
    """Return whether a folder has the name of neither OBJID nor place; that of a copy may."""
    names = {os.fsencode(folder_of_objid(found.objid)), _folder_name(place or b"")}
    return _folder_name(found.path) not in names


def _folder_name(path: bytes) -> bytes:
    return folder_of(path).rstrip(b"/").rpartition(b"/")[2]


_UPS = "SELECT href, line, url, ancestor FROM mptr WHERE mets = ? AND up ORDER BY id"
# For labels outside the recognised styles: the mptr that names the parent is the link to it.
_UNLABELLED = """
UPDATE mptr SET up = 1 WHERE mets = ? AND NOT childward AND part IS NULL AND (href = ? OR (
    (NOT url OR href LIKE '../%')
    AND NOT EXISTS (SELECT 1 FROM entry e WHERE e.mets = mptr.mets AND e.xml_id = mptr.href)))
"""
_CALLED = "SELECT path FROM mets WHERE bare = ? ORDER BY id LIMIT 1"
_ANY = "SELECT 1 FROM mptr WHERE mets = ? AND up"
_CHILDWARD = "SELECT id, href, line, url FROM mptr WHERE mets = ? AND childward AND NOT up ORDER BY id"
_TURN = "UPDATE mptr SET up = ?, childward = 1 - ?1 WHERE id = ?"
# A METS that no METS names: the one that it calls its parent has a file entry, as only children have. Each
# entry is looked at once, however many mptr name it, and each mptr once, however many entries have that ID.
_POINTED_UP = """
SELECT e.xml_id, e.path FROM entry e WHERE e.mets = ?1 AND e.path IS NOT NULL
AND e.xml_id IN (SELECT href FROM mptr WHERE mets = ?1 AND up)
"""
_UPWARD = "SELECT id, href, line FROM mptr WHERE mets = ? AND up ORDER BY id"


_TOP = 1  # the number of the package's METS


class Upward:
    """The check of the upward links of the documents in the catalogue."""

    def __init__(
        self, catalogue: Catalogue, places: CheckedTree, mounting: Mounting, index: ObjidIndex
    ) -> None:
        self._catalogue = catalogue
        self._places = places
        self._mounting = mounting
        self._index = index
        self._named_above = lru_cache(1)(self._names_above)

    def findings(self, mets: int) -> Iterator[Finding]:
        """Yield the findings on a document's links to its parent and ancestors."""
        sql = "SELECT path, objid, line, ok, parent, named_by FROM mets WHERE id = ?"
        path, objid, line, ok, parent, link = self._catalogue.row(sql, mets) or (b"", None, 0, 0, None, None)
        above = self._catalogue.row("SELECT objid, path FROM mets WHERE id = ?", parent)
        yield from self._of_other_direction(mets, path, above)
        if above is not None and not self._catalogue.has(_ANY, mets):
            self._catalogue.put(_UNLABELLED, mets, above[0])
        ups = self._catalogue.all(_UPS, mets)
        to_itself = [objid is not None and bare(each[0]) == bare(objid) for each in ups]
        for href, at, *_ in compress(ups, to_itself):
            yield Code.SELF_LINK.at(path, at, href=href)
        ups = list(compress(ups, map(not_, to_itself)))
        if above is None and mets == _TOP:
            yield from self._without_parent(path, objid, ups)
        elif above is None:
            yield from self._forgotten(path, objid, line, ups)
        elif ups:
            yield from self._to_parent(path, ups, above, mets)
        elif ok and not any(to_itself):
            yield from _silent(path, line, above[0] or "", link)

    def _of_other_direction(self, mets: int, path: bytes, above: Row | None) -> Iterator[Finding]:
        """Yield one finding on links labelled with the wrong direction, and turn these links."""
        if above is None:
            entries = self._catalogue.rows(_POINTED_UP, mets)
            children = {name for name, at in entries if is_mets_name(at)}
            meant = [each for each in self._catalogue.rows(_UPWARD, mets) if each[1] in children]
            words = {"found": "a child", "expected": "the parent"}
        elif not self._catalogue.has(_ANY, mets):
            rows = self._catalogue.all(_CHILDWARD, mets)
            meant = [each for each in rows if self._is_of_parent(path, each[1], above, is_url=each[3])]
            words = {"found": "the parent", "expected": "a child"}
        else:
            return
        for number, *_ in meant:
            self._catalogue.put(_TURN, above is not None, number)
        for _, href, line, *_ in meant[:1]:
            yield Code.WRONG_DIRECTION.at(path, line, href=href, **words)

    def _is_of_parent(self, path: bytes, href: str, above: Row, *, is_url: bool) -> bool:
        if is_url:
            return resolved(self._places, path, href) == bytes(above[1])
        return above[0] is not None and bare(href) == bare(above[0])

    def _to_parent(self, path: bytes, ups: list[Row], above: Row, mets: int) -> Iterator[Finding]:
        objid, parent = above
        plain = [each for each in ups if not each[3]]
        named = any(objid is not None and bare(each[0]) == bare(objid) for each in plain)
        is_reported = False
        for href, line, url, _ in plain:
            if url and named and self._leads_out(mets, path, href):
                near = self._places.nearest_inside(path, href)
                yield Code.LEAVES_ROOT.at(path, line, href=href, nearest=near)
                continue
            if objid is None or bare(href) == bare(objid):
                continue
            if url and self._mounting.leads_to(mets, path, href, parent):
                continue
            place = resolved(self._places, path, href) if url else None
            # A refused location is no fault beside a right OBJID.
            if url and (is_reported or place == parent or (place is None and named)):
                continue
            is_reported, near = True, likeness(objid, href)
            yield Code.OTHER_PARENT.at(path, line, found=href, expected=objid, likeness=near)
        ancestors = [each for each in ups if each[3]]
        if ancestors and objid is not None:
            yield from self._ancestors(path, ancestors, objid, mets, are_all=not plain)

    def _ancestors(
        self, path: bytes, ancestors: list[Row], objid: str, mets: int, *, are_all: bool
    ) -> Iterator[Finding]:
        """Yield a finding if all ancestors for RODA are elsewhere than above this package."""
        if any(self._is_above(mets, bare(href)) for href, *_ in ancestors):
            return
        href, line, *_ = ancestors[0]
        if are_all:
            yield Code.OTHER_PARENT.at(path, line, found=href, expected=objid)
        else:
            reason = f"the ancestors for RODA name {href!r}, but the parent is {objid!r}"
            yield Code.STYLES_DISAGREE.at(path, line, reason=reason)

    def _is_above(self, mets: int, key: str) -> bool:
        """Return whether a METS above has the OBJID ``key``, or the topmost one names it as above."""
        called = self._catalogue.rows("SELECT id FROM mets WHERE bare = ?", key)
        if any(number != mets and self._catalogue.is_above(number, mets) for (number,) in called):
            return True
        top = self._catalogue.at_depth(mets, 0)
        return top != mets and key in self._named_above(top)

    def _names_above(self, mets: int) -> AbstractSet[str]:
        return {bare(href) for href, *_ in self._catalogue.rows(_UPS, mets)}

    def _without_parent(self, path: bytes, objid: str | None, ups: list[Row]) -> Iterator[Finding]:
        """Yield the findings on a package whose parent is not part of the check."""
        plain = [each for each in ups if not each[3]] or ups
        names: dict[str, tuple[str, int, bool]] = {}
        for href, line, url, ancestor in plain:
            if not url or len(plain) == 1:
                names.setdefault(bare(href), (href, line, bool(ancestor)))
            if ancestor:
                break
        for href, line, _ in list(names.values())[1:]:
            first = next(iter(names.values()))[0]
            reason = f"one link names the parent {first!r}, another {href!r}"
            yield Code.STYLES_DISAGREE.at(path, line, reason=reason)
        for href, line, is_ancestor in list(names.values())[:1]:
            if self._index.are_several:
                yield from self._mounting.upward(path, objid, (href, line), is_ancestor=is_ancestor)
            else:
                yield Code.PARENT_NOT_HERE.at(path, line, expected=href)

    def _forgotten(self, path: bytes, objid: str | None, line: int, ups: list[Row]) -> Iterator[Finding]:
        """Yield the finding on a METS that no METS, or no ancestor in the package, names."""
        for href, at, *_ in (each for each in ups if each[3]):
            above = self._catalogue.row(_CALLED, bare(href))
            if above is not None:
                yield Code.ANCESTOR_SILENT.at(path, at, expected=href, found=above[0])
                return
        if self._catalogue.is_marked(Mark.MEANT, path):
            return  # the finding on the link that should lead here names it
        if self._catalogue.number("SELECT ok FROM mets WHERE id = ?", _TOP):
            yield Code.ORPHAN.at(path, line, found=path, objid=objid or "")

    def _leads_out(self, mets: int, path: bytes, href: str) -> bool:
        """Return whether a location leads out of the package; False for a child that lies elsewhere."""
        if not self._catalogue.has("SELECT 1 FROM mets WHERE id = ? AND found IS NULL", mets):
            return False
        try:
            reference = uris.located(href)
            self._places.resolved(path, reference)
        except uris.ReferenceRefused as error:
            return error.rule in {"leaves-root", "drive"}
        is_absolute = reference.kind is uris.Kind.ABSOLUTE
        is_pseudo = uris.Repair.PSEUDO_ABSOLUTE in reference.repairs
        return is_absolute and not is_pseudo and self._places.here(reference) is None


def _silent(path: bytes, line: int, parent: str, link: str | None) -> Iterator[Finding]:
    """Yield a finding on a child without a link to its parent, if the links' style requires it."""
    if link is None:
        yield Code.NO_PARENT.at(path, line, expected=parent)
    elif link == By.OBJID.value:
        yield Code.CHILD_SILENT.at(path, line, expected=parent)
