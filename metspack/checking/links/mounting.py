"""Children stored elsewhere than their parent says: found by OBJID, and mounted in their place."""

from __future__ import annotations

import os
from collections.abc import Generator, Iterator
from dataclasses import dataclass

from metspack import uris
from metspack.checking import inventory
from metspack.checking.catalogue import Catalogue, folder_of, shown
from metspack.checking.codes import Code
from metspack.checking.links.roots import FoundPackage, Roots
from metspack.checking.opening import CheckedTree
from metspack.mets.links import bare
from metspack.mets.packages import folder_of_objid
from metspack.model import Finding

_SAME = "the same package under another name"
_OTHERS = "the child of another parent"


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """A child that is searched for: its OBJID, and the place of the link to it.

    ``place`` is where its METS should be, None when the parent does not say.
    """

    called: str
    parent_path: bytes
    parent_objid: str | None
    line: int
    place: bytes | None


@dataclass(frozen=True, slots=True, kw_only=True)
class MountOutcome:
    """The result of a search: the path of the child's METS in the package and its true place, or a hint."""

    path: bytes | None = None
    found: str | None = None
    nearest: str = ""
    likeness: str = ""


class Mounting:
    """Finds children by their OBJIDs in the roots, for the package that is the root numbered ``own``."""

    def __init__(
        self, catalogue: Catalogue, places: CheckedTree, roots: Roots, own: int, *, whole: bool
    ) -> None:
        self._catalogue = catalogue
        self._places = places
        self._roots = roots
        self._own = own
        self._whole = whole

    def found(self, wanted: Wanted) -> Generator[Finding, None, MountOutcome]:
        """Search for a child that is not at its place, and mount it if it is found elsewhere.

        A child whose place is told stays missing when it lies in the same package under another name: there
        it is not where anybody looks. One that was packed beside its place, or is in another root, is taken.
        """
        yield from self._roots.search()
        mine, others = self._roots.children(wanted.called, wanted.parent_objid)
        usable = [each for each in mine if wanted.place is None or not self._is_own_folder(each)]
        if not usable:
            in_place = self._packed_in_place(wanted)
            if in_place is None:
                return self._hinted(mine, others, wanted)
            usable = [in_place]
        if len(usable) > 1:
            usable.sort(key=_is_called_otherwise)
            facts = {"href": wanted.called, "found": usable[0].shown, "other": usable[1].shown}
            yield Code.CHILD_COPIES.at(shown(wanted.parent_path), wanted.line, **facts)
        first = usable[0]
        if self._is_own_folder(first):
            return MountOutcome(path=first.path)
        at = self._vacant(self._unpacked(first) if wanted.place is None else wanted.place)
        if wanted.place is not None and at is None:
            return MountOutcome(nearest=first.shown, likeness=_SAME)
        return (yield from self._mount(wanted, first, at))

    def _packed_in_place(self, wanted: Wanted) -> FoundPackage | None:
        """Return what is packed at a child's place; whether it is that child is told of it then."""
        at = self._vacant(wanted.place)
        return None if at is None else self._roots.packed(self._own, at)

    def _is_own_folder(self, found: FoundPackage) -> bool:
        return found.root == self._own and found.pack is None

    def _unpacked(self, found: FoundPackage) -> bytes | None:
        """Return the place that a METS packed in the package itself has once unpacked, None for any other."""
        if found.pack is None or found.root != self._own:
            return None
        return found.pack[: found.pack.rfind(b"/") + 1] + found.path

    def _vacant(self, place: bytes | None) -> bytes | None:
        """Return the folder that a child can be mounted as, None when there is one already, or none told."""
        folder = b"" if place is None else folder_of(place).rstrip(b"/")
        self._catalogue.settle()
        if not folder or self._catalogue.row("SELECT 1 FROM folder WHERE path = ?", folder) is not None:
            return None
        return folder

    def _hinted(self, mine: list[FoundPackage], others: list[FoundPackage], wanted: Wanted) -> MountOutcome:
        if mine:
            return MountOutcome(nearest=shown(mine[0].path), likeness=_SAME)
        if others:
            return MountOutcome(nearest=others[0].shown, likeness=_OTHERS)
        if wanted.place is not None:
            return MountOutcome()
        near, likeness = self._roots.nearest(wanted.called)
        return MountOutcome(nearest=near, likeness=likeness)

    def _mount(
        self, wanted: Wanted, found: FoundPackage, at: bytes | None
    ) -> Generator[Finding, None, MountOutcome]:
        name = found.path.rpartition(b"/")[2]
        folder = os.fsencode(found.shown)[: -len(name) - 1] if at is None else at
        path = folder + b"/" + name
        known = self._catalogue.row("SELECT path FROM mets WHERE found = ?", found.shown)
        if known is not None:
            return MountOutcome(path=known[0])
        self._places.mount(folder, self._roots.tree(found), apart=at is None)
        if at is None:
            self._catalogue.put("INSERT OR IGNORE INTO apart VALUES (?)", folder + b"/")
        if found.root == self._own and found.pack is not None:
            self._catalogue.put("INSERT OR IGNORE INTO pack VALUES (?, ?)", found.pack, folder + b"/")
        named = b"" if wanted.place is None else wanted.place.rpartition(b"/")[2]
        if wanted.place != path and named.lower() == name.lower():
            # The METS's own name may be written METS.xml there and mets.xml here.
            self._catalogue.put("UPDATE entry SET path = ? WHERE path = ?", path, wanted.place)
        yield from inventory.findings(self._catalogue, self._places, folder, whole=self._whole)
        if self._is_packed_in_place(found, folder):
            return MountOutcome(path=path)
        facts = {"href": wanted.called, "found": found.shown}
        yield Code.CHILD_ELSEWHERE.at(shown(wanted.parent_path), wanted.line, **facts)
        return MountOutcome(path=path, found=found.shown)

    def _is_packed_in_place(self, found: FoundPackage, folder: bytes) -> bool:
        """Return whether a child's file, unpacked where it lies, gives the folder that the parent names."""
        inside = folder_of(found.path).rstrip(b"/")
        return (
            found.root == self._own
            and found.pack is not None
            and os.path.splitext(found.pack)[0] == folder
            and inside == folder.rpartition(b"/")[2]
        )

    def found_at(self, mets: int, document: bytes, href: str) -> bytes | None:
        """Return the path of the mounted child that a location of a METS leads to outside the package."""
        row = self._catalogue.row("SELECT found FROM mets WHERE id = ?", mets)
        here = (row and row[0]) or os.path.join(self._places.base.shown, shown(document))
        try:
            reference = uris.parsed(href)
        except uris.ReferenceRefused:
            return None
        if reference.kind is not uris.Kind.RELATIVE:
            return None
        leads = os.path.normpath(os.path.join(os.path.dirname(os.path.abspath(here)), *reference.segments))
        for path, found in self._catalogue.rows("SELECT path, found FROM mets WHERE found IS NOT NULL"):
            if os.path.abspath(found) == leads:
                return bytes(path)
        return None

    def upward(self, path: bytes, line: int, objid: str | None, parent: str) -> Iterator[Finding]:
        """Search for the parent that a package under check names; yield the findings on their link."""
        yield from self._roots.search()
        parents = list(self._roots.named(parent))
        if not parents:
            near, likeness = self._roots.nearest(parent)
            facts = {"expected": parent, "nearest": near, "likeness": likeness}
            yield Code.PARENT_NOWHERE.at(shown(path), line, **facts)
            return
        key = bare(objid or "")
        naming = [each for each in parents if key in each.downs]
        if not naming:
            yield Code.NOT_NAMED_BY_PARENT.at(shown(path), line, expected=parent, found=parents[0].shown)
            return
        for sibling in sorted(naming[0].downs - {key}):
            if not self._roots.children(sibling, parent)[0]:
                yield Code.SIBLING_NOWHERE.at(shown(path), line, found=naming[0].shown, expected=sibling)


def _is_called_otherwise(found: FoundPackage) -> bool:
    """Whether a package's folder has another name than its OBJID, as no copy beside it can have."""
    return folder_of(found.path).rstrip(b"/").rpartition(b"/")[2] != os.fsencode(folder_of_objid(found.objid))
