"""Guess OBJIDs in the index of packages, claim children for parents, and report its faults."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from pathlib import Path

from metspack.checking.codes import Code
from metspack.checking.similarity import RecentEdits, likeness, nearest
from metspack.containers.ipreader import OpenPacks
from metspack.limits import Budgets
from metspack.mets.links import bare
from metspack.model import Finding
from metspack.packages.delivery import DeliveredPackage
from metspack.packages.objids import FoundPackage, PackageIndex

_SIBLINGS = """
SELECT DISTINCT d.bare FROM document d JOIN link l ON l.document = d.id AND l.up AND l.bare = ?
"""
_NEAR = 2_000
_GUESSES = 50  # OBJIDs that get a guess at the one meant


class ObjidIndex(PackageIndex):
    """The index of the packages under check and granted roots, with guesses and claims."""

    def __init__(
        self,
        packages: Sequence[DeliveredPackage],
        granted: Sequence[Path],
        packs: OpenPacks,
        budgets: Budgets,
    ) -> None:
        super().__init__(packages, granted, packs, budgets)
        self._claims: dict[str, str] = {}
        self._edits = RecentEdits()
        self._guesses = 0
        self._unlike: set[tuple[str, int]] = set()
        self._siblings: dict[str, frozenset[str]] = {}
        self._meant: set[tuple[str, str]] = set()

    def findings(self) -> Iterator[Finding]:
        """Search all roots once; yield findings on unreadable files and folders."""
        for path, reason, is_packed, is_segment in self.search():
            if not reason:
                yield Code.ROOT_WITHOUT_METS.at(path)
            elif not is_packed:
                yield Code.UNREADABLE.at(path, reason=reason)
            else:
                at = Code.PACK_UNREADABLE.error_at if is_segment else Code.PACK_UNREADABLE.at
                yield at(path, reason=reason)

    def nearest(self, objid: str, others: AbstractSet[str] = frozenset()) -> tuple[str, str]:
        """Return the bare OBJID nearest to one, except ``others``, and how they differ; or "" twice."""
        key = bare(objid)
        sql = "SELECT 1 FROM document WHERE bare = ?"
        meant = (each for each in self._edits.meant(key) if each not in others and self.row(sql, each))
        near = next(meant, "")
        if not near and (key, len(others)) not in self._unlike and self._guesses < _GUESSES:
            self._guesses += 1
            sql = "SELECT DISTINCT bare FROM document WHERE bare <> '' ORDER BY bare LIMIT ?"
            near = nearest(key, (each for (each,) in self.rows(sql, _NEAR) if each not in others))
            if near:
                self._edits.learn(key, near)
            else:
                self._unlike.add((key, len(others)))
        return near, likeness(key, near) if near else ""

    def nearest_parent(self, objid: str, child: str) -> tuple[str, str]:
        """Return the OBJID nearest to a missing parent's, as ``nearest`` does, but no child's."""
        key = bare(objid)
        if key not in self._siblings:
            if len(self._siblings) >= _GUESSES:
                return "", ""
            for row in self.all("SELECT id, root, pack, path FROM document ORDER BY id LIMIT ?", _NEAR):
                self.read_links(*row)
            self._siblings[key] = frozenset(each for (each,) in self.all(_SIBLINGS, key))
        return self.nearest(objid, self._siblings[key] | {bare(child)})

    def mean(self, found: FoundPackage, parent: str | None) -> None:
        """Note a package that a parent means by a wrong name."""
        self._meant.add((found.shown, bare(parent or "")))

    def is_meant(self, child: str, parent: str) -> bool:
        """Return whether a parent means the package of METS ``child`` by a name that leads nowhere."""
        return (child, bare(parent)) in self._meant

    def claim(self, child: str, parent: str) -> str | None:
        """Claim a child for a parent METS; return the other parent that claimed it before, or None."""
        other = self._claims.setdefault(child, parent)
        return None if other == parent else other

    def is_taken(self, child: str, parent: str) -> bool:
        """Return whether another METS than ``parent`` has claimed a child."""
        return self._claims.get(child, parent) != parent

    def is_claimed(self, child: str) -> bool:
        """Return whether a parent that was checked has this METS as its child."""
        return child in self._claims
