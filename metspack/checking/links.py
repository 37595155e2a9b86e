"""The links between a parent IP and its child IPs, both ways, from the METS documents alone."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from metspack import uris
from metspack.checking.catalogue import (
    Catalogue,
    folder_of,
    is_mets_name,
    nearest,
    nearest_file,
    path_of,
    segments_of,
    shown,
)
from metspack.checking.codes import Code
from metspack.checking.documents import Document
from metspack.model import Budgets, Finding

_NEAREST_FOR = 50  # findings that get a guess at what was meant; each guess reads hundreds of names

_DOWN = """
SELECT m.href, m.line, m.url, m.up, e.id, e.path, m.part IS NOT NULL OR (
    SELECT count(*) AND NOT coalesce(sum(o.map = m.map), 0) FROM mptr o
    WHERE o.mets = m.mets AND o.href = m.href AND o.id < m.id AND o.part IS NULL
) FROM mptr m
LEFT JOIN entry e ON e.id = (SELECT min(id) FROM entry WHERE mets = m.mets AND xml_id = m.href)
WHERE m.mets = ? ORDER BY m.id
"""
_UNLINKED = """
SELECT e.xml_id, e.line, e.path, e.grp FROM entry e WHERE e.mets = ? AND e.path IS NOT NULL
AND NOT EXISTS (SELECT 1 FROM mptr m WHERE m.mets = e.mets AND m.href = e.xml_id)
AND NOT EXISTS (SELECT 1 FROM mets WHERE path = e.path) ORDER BY e.id
"""
_ORPHANS = """
SELECT d.path FROM document d WHERE NOT EXISTS (SELECT 1 FROM mets m WHERE m.path = d.path)
AND NOT EXISTS (SELECT 1 FROM entry e WHERE e.path = d.path) ORDER BY d.path
"""
_ENTRY_IDS = "SELECT xml_id FROM entry WHERE mets = ? AND xml_id IS NOT NULL"
_OBJID_TWICE = """
SELECT m.path, m.line, m.objid,
    (SELECT path FROM mets WHERE objid = m.objid AND id < m.id ORDER BY id LIMIT 1)
FROM mets m WHERE EXISTS (SELECT 1 FROM mets o WHERE o.objid = m.objid AND o.id < m.id) ORDER BY m.id
"""


class Links:
    """Reads the METS documents of a package from its own METS down, into the catalogue."""

    def __init__(self, catalogue: Catalogue, root: Path, budgets: Budgets) -> None:
        self._catalogue = catalogue
        self._budgets = budgets
        self._root = root
        self._guesses = 0

    def findings(self, path: bytes) -> Iterator[Finding]:
        """Read the METS at ``path`` and all it leads to; yield what is wrong with them and their links."""
        self._catalogue.new_mets(path, None)
        yield from self._documents()

    def orphans(self) -> Iterator[Finding]:
        """Yield the METS documents on disk that nobody names; they are read, so their files are known."""
        self._catalogue.index()
        root_ok = self._catalogue.number("SELECT ok FROM mets WHERE id = 1")
        for (path,) in self._catalogue.rows(_ORPHANS):
            mets = self._catalogue.new_mets(path, None, done=True)
            yield from Document(self._catalogue, self._root, mets, path, self._budgets).findings()
            if root_ok:
                row = self._catalogue.row("SELECT objid, line FROM mets WHERE id = ?", mets)
                objid, line = row or (None, 0)
                yield Code.ORPHAN.at(shown(path), line or 0, found=shown(path), objid=objid or "")
        yield from self._twice()

    def _documents(self) -> Iterator[Finding]:
        sql = "SELECT id, path, parent, called FROM mets WHERE NOT done ORDER BY id LIMIT 1"
        while (row := self._catalogue.row(sql)) is not None:
            mets, path, parent, called = row
            self._catalogue.put("UPDATE mets SET done = 1 WHERE id = ?", mets)
            yield from Document(self._catalogue, self._root, mets, path, self._budgets).findings()
            found = self._catalogue.row("SELECT objid, line, ok FROM mets WHERE id = ?", mets)
            objid, line, ok = found or (None, 0, 0)
            if called is not None and objid is not None and objid != called:
                # Only another child's own OBJID tells something: that children changed places.
                other = self._catalogue.row(
                    "SELECT xml_id FROM entry WHERE mets = ? AND xml_id = ?", parent, objid
                )
                yield Code.CHILD_OBJID_DIFFERS.at(
                    shown(path), line, found=objid, expected=called, nearest=objid if other else ""
                )
            yield from self._mptrs(mets, path, parent, ok=bool(ok))

    def _mptrs(self, mets: int, path: bytes, parent: int | None, *, ok: bool) -> Iterator[Finding]:
        ups = self._catalogue.number("SELECT count(*) FROM mptr WHERE mets = ? AND up", mets)
        above = self._catalogue.row("SELECT objid, path FROM mets WHERE id = ?", parent)
        if above is not None and not ups:
            # Other labels than the recommendation's: the mptr that names the parent is the link to it.
            sql = """UPDATE mptr SET up = 1 WHERE mets = ? AND (href = ? OR NOT EXISTS
                (SELECT 1 FROM entry e WHERE e.mets = mptr.mets AND e.xml_id = mptr.href))"""
            self._catalogue.put(sql, mets, above[0])
            ups = self._catalogue.number("SELECT count(*) FROM mptr WHERE mets = ? AND up", mets)
        if above is not None and not ups and ok:
            line = self._catalogue.number("SELECT line FROM mets WHERE id = ?", mets)
            yield Code.NO_PARENT.at(shown(path), line, expected=above[0] or "")
        for row in self._catalogue.rows(_DOWN, mets):
            href, line, url, up, entry, child, again = row
            if up:
                yield from self._up(path, href, line, above, url=bool(url))
            elif again and (entry is not None or url):
                # Another structMap may name the child too, and that of split LOBs does for each part.
                continue
            elif entry is None and url:
                yield from self._by_location(mets, path, href, line)
            elif entry is None:
                yield Code.MPTR_WITHOUT_FILE.at(
                    shown(path), line, href=href, nearest=self._near_id(mets, href)
                )
            elif child is not None:
                yield from self._down(mets, path, child, href, line, by_id=True)
        yield from self._unlinked(mets, path, parent)

    def _up(
        self, path: bytes, href: str, line: int, above: tuple[str | None, bytes] | None, *, url: bool
    ) -> Iterator[Finding]:
        if above is None:
            yield Code.PARENT_NOT_HERE.at(shown(path), line, expected=href)
            return
        objid, parent = above
        if objid is None or href == objid or (url and self._resolved(path, href) == parent):
            return
        yield Code.OTHER_PARENT.at(shown(path), line, found=href, expected=objid)

    def _resolved(self, path: bytes, href: str) -> bytes | None:
        try:
            return path_of(uris.joined(tuple(shown(folder_of(path)).split("/")[:-1]), uris.parsed(href)))
        except uris.ReferenceRefused:
            return None

    def _by_location(self, mets: int, path: bytes, href: str, line: int) -> Iterator[Finding]:
        """Follow an mptr that gives a location itself, as CSIP's do for representations."""
        child = self._resolved(path, href)
        if child is None:
            yield Code.LEAVES_ROOT.at(shown(path), line, href=href)
        else:
            yield from self._down(mets, path, child, href, line, by_id=False)

    def _down(
        self, mets: int, path: bytes, child: bytes, href: str, line: int, *, by_id: bool
    ) -> Iterator[Finding]:
        facts = {"href": href, "expected": shown(child)}
        known = self._catalogue.row("SELECT id FROM mets WHERE path = ?", child)
        if known is not None:
            code = Code.LINK_LOOP if known[0] in self._above(mets) else Code.CHILD_TWICE
            yield code.at(shown(path), line, **facts)
        elif self._present(child):
            called = href if by_id else None
            self._catalogue.new_mets(child, mets, called)
        else:
            self._catalogue.new_mets(child, mets, done=True)
            yield Code.CHILD_MISSING.at(shown(path), line, **facts, nearest=self._near_file(child))

    def _present(self, child: bytes) -> bool:
        try:
            (self._root.joinpath(*segments_of(child))).lstat()
        except OSError:
            return False
        return True

    def _above(self, mets: int) -> Iterator[int]:
        each: int | None = mets
        while each is not None:
            yield each
            row = self._catalogue.row("SELECT parent FROM mets WHERE id = ?", each)
            each = row[0] if row else None

    def _unlinked(self, mets: int, path: bytes, parent: int | None) -> Iterator[Finding]:
        for xml_id, line, child, groups in self._catalogue.rows(_UNLINKED, mets):
            labelled = "child" in groups.casefold()
            if not (labelled or (parent is None and is_mets_name(child))):
                continue
            place = xml_id or ""
            yield Code.CHILD_WITHOUT_MPTR.at(shown(path), line, place, href=shown(child))
            if self._present(child):
                self._catalogue.new_mets(child, mets, xml_id)

    def _twice(self) -> Iterator[Finding]:
        for path, line, objid, other in self._catalogue.rows(_OBJID_TWICE):
            yield Code.OBJID_TWICE.at(shown(path), line or 0, found=objid, other=shown(other))

    def _near_id(self, mets: int, href: str) -> str:
        self._guesses += 1
        if self._guesses > _NEAREST_FOR:
            return ""
        sql = "SELECT xml_id FROM entry WHERE mets = ? AND xml_id = ?"
        if self._catalogue.row(sql, mets, href) is not None:
            return href
        # An entry that no mptr names is the likelier one to be meant.
        for more in ("AND xml_id NOT IN (SELECT href FROM mptr WHERE mets = entry.mets)", ""):
            ids = self._catalogue.rows(f"{_ENTRY_IDS} {more}", mets)
            if near := nearest(href, (xml_id for (xml_id,) in islice(ids, _NEAREST_FOR))):
                return near
        return ""

    def _near_file(self, child: bytes) -> str:
        self._guesses += 1
        return "" if self._guesses > _NEAREST_FOR else nearest_file(self._catalogue, child)
