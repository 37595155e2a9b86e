"""Check of the links from a package up to its parent and to its ancestors."""

from __future__ import annotations

from collections.abc import Iterator

from metspack import uris
from metspack.checking.catalogue import Catalogue, Row, shown
from metspack.checking.codes import Code
from metspack.checking.links.mounting import Mounting
from metspack.checking.links.roots import Roots
from metspack.checking.opening import CheckedTree
from metspack.checking.similarity import likeness
from metspack.mets import is_mets_name
from metspack.mets.links import By, bare
from metspack.model import Finding

_UPS = "SELECT href, line, url, ancestor FROM mptr WHERE mets = ? AND up ORDER BY id"
# Other labels than those of the known styles: the mptr that names the parent is the link to it.
_UNLABELLED = """
UPDATE mptr SET up = 1 WHERE mets = ? AND NOT childward AND part IS NULL AND (href = ? OR (
    (NOT url OR href LIKE '../%')
    AND NOT EXISTS (SELECT 1 FROM entry e WHERE e.mets = mptr.mets AND e.xml_id = mptr.href)))
"""
_ANY = "SELECT 1 FROM mptr WHERE mets = ? AND up"
_CHILDWARD = "SELECT id, href, line, url FROM mptr WHERE mets = ? AND childward AND NOT up ORDER BY id"
_TURN = "UPDATE mptr SET up = ?, childward = 1 - ?1 WHERE id = ?"
# Of a METS that nobody names: what it calls its parent has a file entry, as children alone have it.
_OF_CHILDREN = """
SELECT m.id, m.href, m.line, e.path FROM mptr m JOIN entry e ON e.mets = m.mets AND e.xml_id = m.href
WHERE m.mets = ? AND m.up AND e.path IS NOT NULL ORDER BY m.id
"""


_OWN = 1  # the number of the package's own METS


class Upward:
    """The check of the upward links of the documents in the catalogue."""

    def __init__(self, catalogue: Catalogue, places: CheckedTree, mounting: Mounting, roots: Roots) -> None:
        self._catalogue = catalogue
        self._places = places
        self._mounting = mounting
        self._roots = roots

    def findings(self, mets: int) -> Iterator[Finding]:
        """Yield the findings on a document's links to its parent and ancestors."""
        sql = "SELECT path, objid, line, ok, parent, named_by FROM mets WHERE id = ?"
        path, objid, line, ok, parent, link = self._catalogue.row(sql, mets) or (b"", None, 0, 0, None, None)
        above = self._catalogue.row("SELECT objid, path FROM mets WHERE id = ?", parent)
        yield from self._of_other_direction(mets, path, above)
        if above is not None and self._catalogue.row(_ANY, mets) is None:
            self._catalogue.put(_UNLABELLED, mets, above[0])
        ups = self._catalogue.all(_UPS, mets)
        own = [each for each in ups if objid is not None and bare(each[0]) == bare(objid)]
        for href, at, *_ in own:
            yield Code.SELF_LINK.at(shown(path), at, href=href)
        ups = [each for each in ups if each not in own]
        if above is None and mets == _OWN:
            yield from self._alone(path, objid, ups)
        elif above is None:
            yield from self._forgotten(path, objid, line, ups)
        elif ups:
            yield from self._to_parent(path, ups, above, mets)
        elif ok and not own:
            yield from _silent(path, line, above[0] or "", link)

    def _of_other_direction(self, mets: int, path: bytes, above: Row | None) -> Iterator[Finding]:
        """Yield links that are labelled with the other direction, one of each; they are taken as meant."""
        if above is None:
            meant = [each for each in self._catalogue.rows(_OF_CHILDREN, mets) if is_mets_name(each[3])]
            words = {"found": "a child", "expected": "the parent"}
        elif self._catalogue.row(_ANY, mets) is None:
            rows = self._catalogue.all(_CHILDWARD, mets)
            meant = [each for each in rows if self._is_of_parent(path, each[1], above, is_url=each[3])]
            words = {"found": "the parent", "expected": "a child"}
        else:
            return
        for number, *_ in meant:
            self._catalogue.put(_TURN, above is not None, number)
        for _, href, line, *_ in meant[:1]:
            yield Code.WRONG_DIRECTION.at(shown(path), line, href=href, **words)

    def _is_of_parent(self, path: bytes, href: str, above: Row, *, is_url: bool) -> bool:
        if is_url:
            return self._resolved(path, href) == bytes(above[1])
        return above[0] is not None and bare(href) == bare(above[0])

    def _to_parent(self, path: bytes, ups: list[Row], above: Row, mets: int) -> Iterator[Finding]:
        objid, parent = above
        plain = [each for each in ups if not each[3]]
        named = any(objid is not None and bare(each[0]) == bare(objid) for each in plain)
        told = False
        for href, line, url, _ in plain:
            if url and named and self._leads_out(mets, path, href):
                near = self._places.nearest_inside(path, href)
                yield Code.LEAVES_ROOT.at(shown(path), line, href=href, nearest=near)
                continue
            if objid is None or bare(href) == bare(objid):
                continue
            place = self._resolved(path, href) if url else None
            # That a location is refused says nothing against an OBJID that is right.
            if url and (told or place == parent or (place is None and named)):
                continue
            told, near = True, likeness(objid, href)
            yield Code.OTHER_PARENT.at(shown(path), line, found=href, expected=objid, likeness=near)
        ancestors = [each for each in ups if each[3]]
        if ancestors and objid is not None:
            yield from self._ancestors(path, ancestors, objid, mets, alone=not plain)

    def _ancestors(
        self, path: bytes, ancestors: list[Row], objid: str, mets: int, *, alone: bool
    ) -> Iterator[Finding]:
        """Yield that none of the ancestors that RODA would read is above this package."""
        above = {bare(each) for each in self._objids_above(mets)}
        if any(bare(href) in above for href, *_ in ancestors):
            return
        href, line, *_ = ancestors[0]
        if alone:
            yield Code.OTHER_PARENT.at(shown(path), line, found=href, expected=objid)
        else:
            reason = f"the ancestors for RODA name {href!r}, but the parent is {objid!r}"
            yield Code.STYLES_DISAGREE.at(shown(path), line, reason=reason)

    def _objids_above(self, mets: int) -> Iterator[str]:
        sql = "SELECT p.id, p.objid FROM mets m JOIN mets p ON p.id = m.parent WHERE m.id = ?"
        top = mets
        while (row := self._catalogue.row(sql, top)) is not None:
            top = row[0]
            if row[1] is not None:
                yield row[1]
        # What the topmost one names is above as well.
        yield from (href for href, *_ in self._catalogue.rows(_UPS, top) if top != mets)

    def _alone(self, path: bytes, objid: str | None, ups: list[Row]) -> Iterator[Finding]:
        """Yield the findings on a package whose parent is not part of the check."""
        plain = [each for each in ups if not each[3]] or ups
        names: dict[str, tuple[str, int, bool]] = {}
        for href, line, url, ancestor in plain:
            if not url or len(plain) == 1:
                names.setdefault(bare(href), (href, line, bool(ancestor)))
            if ancestor:
                is_ancestor = True
                break
        for href, line, _ in list(names.values())[1:]:
            first = next(iter(names.values()))[0]
            reason = f"one link names the parent {first!r}, another {href!r}"
            yield Code.STYLES_DISAGREE.at(shown(path), line, reason=reason)
        for href, line, is_ancestor in list(names.values())[:1]:
            if self._roots.are_several:
                yield from self._mounting.upward(path, objid, (href, line), is_ancestor=is_ancestor)
            else:
                yield Code.PARENT_NOT_HERE.at(shown(path), line, expected=href)

    def _forgotten(self, path: bytes, objid: str | None, line: int, ups: list[Row]) -> Iterator[Finding]:
        """Yield that no METS of the package names this one, unless what it calls an ancestor is there."""
        for href, at, *_ in (each for each in ups if each[3]):
            found = self._catalogue.rows("SELECT path, objid FROM mets WHERE objid IS NOT NULL ORDER BY id")
            above = next((each for each, named in found if bare(named) == bare(href)), None)
            if above is not None:
                yield Code.ANCESTOR_SILENT.at(shown(path), at, expected=href, found=shown(above))
                return
        if self._catalogue.row("SELECT 1 FROM meant WHERE path = ?", path) is not None:
            return  # the finding on the link that should lead here names it
        if self._catalogue.number("SELECT ok FROM mets WHERE id = ?", _OWN):
            yield Code.ORPHAN.at(shown(path), line, found=shown(path), objid=objid or "")

    def _leads_out(self, mets: int, path: bytes, href: str) -> bool:
        """Whether a location leads out of the package; a child that lies elsewhere does so by nature."""
        if self._catalogue.row("SELECT 1 FROM mets WHERE id = ? AND found IS NULL", mets) is None:
            return False
        try:
            reference = uris.located(href)
            self._places.resolved(path, reference)
        except uris.ReferenceRefused as error:
            return error.rule in {"leaves-root", "drive"}
        is_absolute = reference.kind is uris.Kind.ABSOLUTE
        is_pseudo = uris.Repair.PSEUDO_ABSOLUTE in reference.repairs
        return is_absolute and not is_pseudo and self._places.here(reference) is None

    def _resolved(self, path: bytes, href: str) -> bytes | None:
        try:
            return self._places.resolved(path, uris.located(href))
        except uris.ReferenceRefused:
            return None


def _silent(path: bytes, line: int, parent: str, link: str | None) -> Iterator[Finding]:
    """Yield that a child names no parent, as far as the style of the link to it asks for that."""
    if link is None:
        yield Code.NO_PARENT.at(shown(path), line, expected=parent)
    elif link == By.OBJID.value:
        yield Code.CHILD_SILENT.at(shown(path), line, expected=parent)
