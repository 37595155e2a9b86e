"""Index the METS of the packages under check, and of those below further roots, by OBJID."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from functools import lru_cache, partial
from itertools import starmap, takewhile
from pathlib import Path

from metspack.checking.catalogue import fault, folder_of, shown
from metspack.checking.codes import Code
from metspack.checking.similarity import RecentEdits, likeness, nearest
from metspack.containers.ipreader import OpenPacks, PackedError, unpacked_name
from metspack.errors import MetspackError
from metspack.files import tempdb, walking
from metspack.files.byteranges import FileBelow
from metspack.layouts.names import SEGMENT
from metspack.limits import Budgets
from metspack.mets import is_mets_name, is_of_representation, reader
from metspack.mets.fastreader import Run, condensed
from metspack.mets.links import By, Mptr, bare
from metspack.model import Finding
from metspack.packages.delivery import DeliveredPackage
from metspack.packages.files import FolderTree, PackageTree, PackedTree, names_of
from metspack.system import os

_SCHEMA = """
CREATE TABLE document (
    id INTEGER PRIMARY KEY, root INTEGER, pack BLOB, path BLOB, objid TEXT, bare TEXT, read INTEGER DEFAULT 0
);
CREATE INDEX document_bare ON document (bare);
CREATE INDEX document_path ON document (root, path);
CREATE INDEX document_pack ON document (root, pack);
CREATE TABLE link (document INTEGER, up INTEGER, href TEXT, bare TEXT);
CREATE INDEX link_document ON link (document);
"""
_SIBLINGS = """
SELECT DISTINCT d.bare FROM document d JOIN link l ON l.document = d.id AND l.up AND l.bare = ?
"""
_AFTER_DOT = b"/"
_KEPT = 10
_NEAR = 2_000
_GUESSES = 50  # OBJIDs that get a guess at the one meant


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundPackage:
    """A package found below a root: its METS's place, its OBJID, and the parents that it names.

    ``path`` is the METS's path from that root, ``pack`` the path of the zip or tar file that holds it, if
    any; ``root`` counts the roots as they were given. ``ups`` and ``downs`` are bare identifiers. ``given``
    is the path by which a package under check was given; empty for any other.
    """

    root: int
    pack: bytes | None
    path: bytes
    objid: str
    ups: frozenset[str]
    downs: frozenset[str]
    shown: str
    given: str = ""


class ObjidIndex(tempdb.Scratch):
    """The index of packages and granted roots, filled by the first ``search``; for one thread.

    A root is a folder, or a zip or tar file; the first ``checked`` are those of the packages under check.
    """

    def __init__(
        self,
        packages: Sequence[DeliveredPackage],
        granted: Sequence[Path],
        packs: OpenPacks,
        budgets: Budgets,
    ) -> None:
        super().__init__("BEGIN", cache=2_000, schema=_SCHEMA)
        self._is_searched = False
        checked = list(dict.fromkeys(each.path for each in packages))
        self._roots = (*checked, *granted)
        self._numbers = {root: number for number, root in enumerate(checked)}
        self.checked = len(checked)
        # The packages' given paths, by the number of the root and the path of the METS from there.
        several = packages if len(packages) > 1 else ()
        self._given = {(self.number(each), _mets_of(each)): each.shown for each in several}
        self._budgets = budgets
        self._packs = packs
        self._claims: dict[str, str] = {}
        self._edits = RecentEdits()
        self._guesses = 0
        # Each of its children looks up a parent, which may have very many links.
        self._found = lru_cache(_KEPT)(self._with_links)
        self._unlike: set[tuple[str, int]] = set()
        self._siblings: dict[str, frozenset[str]] = {}
        self._meant: set[tuple[str, str]] = set()
        self.lacking = lru_cache(1)(self._lacking)
        self._real = [os.path.realpath(each) for each in self._roots]
        self._before = set[str]()  # roots that were searched: packages in one belong to it

    def number(self, package: DeliveredPackage) -> int:
        """Return the number of the root of a package under check."""
        return self._numbers[package.path]

    @property
    def granted(self) -> bool:
        """Return whether further roots were granted."""
        return len(self._roots) > self.checked

    @property
    def are_several(self) -> bool:
        """Return whether another package or root may have the other end of a link."""
        return self.granted or len(self._given) > 1

    def search(self) -> Iterator[Finding]:
        """Search all roots once; yield findings on unreadable files and folders."""
        if self._is_searched:
            return
        self._is_searched = True
        for root, real in enumerate(self._real):
            if self._before.isdisjoint((real, *map(os.fspath, Path(real).parents))):
                yield from self._root(root)
            self._before.add(real)
        for root, path in self._given:
            if not is_mets_name(path):  # the METS of a package may have another name
                yield from self._document(root, b"" if self._roots[root].is_file() else None, path)

    def _root(self, root: int) -> Iterator[Finding]:
        if self._roots[root].is_file():
            yield from self._pack(root, b"")
        else:
            yield from self._folders(root)
        holds_others = any(each.startswith(f"{self._real[root]}/") for each in self._before)
        is_any = holds_others or self.row("SELECT 1 FROM document WHERE root = ?", root)
        if root >= self.checked and not is_any:
            yield Code.ROOT_WITHOUT_METS.at(self._shown(root, None, b""))

    def _is_before(self, root: int, path: bytes) -> bool:
        """Return whether the path in a root is another root that was searched before."""
        return os.path.join(self._real[root], os.fsdecode(path)) in self._before

    def _folders(self, root: int) -> Iterator[Finding]:
        leaves_out = partial(self._is_before, root)
        for lot in walking.all_lots(self._roots[root], (), (b"",), sizes=False, leaves_out=leaves_out):
            for name in lot.names:
                if is_mets_name(name):
                    yield from self._document(root, None, lot.prefix + name)
                elif unpacked_name(name) is not None and not self._is_before(root, lot.prefix + name):
                    yield from self._pack(root, lot.prefix + name)
            if lot.fault is not None and root >= self.checked:
                # The unreadable folders of a package under check are reported by its listing.
                yield Code.UNREADABLE.at(self._shown(root, None, lot.folder), reason=fault(lot.fault))

    def _pack(self, root: int, path: bytes) -> Iterator[Finding]:
        try:
            for item in self._packs.opened(self._below(root, path)).items(b""):
                if item.kind == "f" and is_mets_name(item.name):
                    yield from self._document(root, path, item.name)
        except PackedError as error:
            name = shown(unpacked_name(path.rpartition(b"/")[2]) or b"")
            is_checked_segment = root < self.checked and SEGMENT.fullmatch(name) is not None
            at = Code.PACK_UNREADABLE.error_at if is_checked_segment else Code.PACK_UNREADABLE.at
            yield at(self._shown(root, path, b""), reason=error.message)

    def _below(self, root: int, path: bytes) -> FileBelow:
        return FileBelow(root=self._roots[root], segments=names_of(path))

    def _document(self, root: int, pack: bytes | None, path: bytes) -> Iterator[Finding]:
        """Put a METS into the index, read up to its root element."""
        objid = None
        try:
            for fact in self._facts(root, pack, path):
                objid = fact.objid if isinstance(fact, reader.Root) else None
                break
        except (OSError, MetspackError) as error:
            if root >= self.checked:
                reason = fault(error) if isinstance(error, OSError) else error.message
                yield Code.UNREADABLE.at(self._shown(root, pack, path), reason=reason)
        key = bare(objid) if objid else ""
        sql = "INSERT INTO document (root, pack, path, objid, bare) VALUES (?, ?, ?, ?, ?)"
        self.put(sql, root, pack, path, objid and objid.strip(), key)

    def _facts(self, root: int, pack: bytes | None, path: bytes) -> Iterator[reader.Fact]:
        tree = self._tree(root, pack, b"")
        with tree.content(path) as content:
            for each in condensed(content.blocks(), self._budgets):
                if not isinstance(each, Run):  # runs hold neither roots nor links
                    yield each

    def _tree(self, root: int, pack: bytes | None, folder: bytes) -> PackageTree:
        if pack is not None:
            return PackedTree(self._packs, self._below(root, pack), folder)
        return FolderTree(self._roots[root], names_of(folder))

    def _shown(self, root: int, pack: bytes | None, path: bytes) -> str:
        names = [str(self._roots[root]), *(shown(each) for each in (pack or b"", path) if each)]
        return "/".join(names)

    # --- queries ------------------------------------------------------------------------------------

    def checked_names(self) -> Iterator[str]:
        """Yield the OBJIDs of the METS in the packages under check, and the names of their folders."""
        for pack, path, objid in self.rows(
            "SELECT pack, path, objid FROM document WHERE root < ?", self.checked
        ):
            if not is_of_representation(path):
                folder = folder_of(path).rstrip(b"/") or unpacked_name(pack or b"") or b""
                yield from filter(None, (objid, shown(folder.rpartition(b"/")[2])))

    def named(self, objid: str) -> Iterator[FoundPackage]:
        """Yield the packages with an OBJID, with any URN before it, in the order of the roots."""
        yield from self._documents("bare = ? ORDER BY root, pack, path", bare(objid))

    def _documents(self, condition: str, *values: object) -> Iterator[FoundPackage]:
        sql = f"SELECT id, root, pack, path, objid FROM document WHERE {condition}"  # noqa: S608 -- constants
        return starmap(self._found, self.all(sql, *values))

    def packed(self, root: int, folder: bytes) -> FoundPackage | None:
        """Return the package packed beside the place of its folder, with any OBJID, or None.

        The file is named after the folder, which is the only folder in it, or the file holds the folder's
        content.
        """
        within = folder.rpartition(b"/")[2] + b"/"
        condition = "root = ? AND pack >= ? AND pack < ?"
        for each in self._documents(condition, root, folder + b".", folder + _AFTER_DOT):
            if unpacked_name(each.pack or b"") == folder and folder_of(each.path) in {within, b""}:
                return each
        return None

    def of(self, package: DeliveredPackage) -> FoundPackage | None:
        """Return a package under check, or None for one without a readable METS."""
        return self.at(self.number(package), _mets_of(package))

    def at(self, root: int, path: bytes) -> FoundPackage | None:
        """Return the package whose METS is at a path below a root, or None without one."""
        condition = "root = ? AND path = ? ORDER BY pack IS NOT NULL AND pack <> ''"
        return next(self._documents(condition, root, path), None)

    def _with_links(
        self, document: int, root: int, pack: bytes | None, path: bytes, objid: str | None
    ) -> FoundPackage:
        self._read(document, root, pack, path)
        links = self.all("SELECT up, bare FROM link WHERE document = ?", document)
        return FoundPackage(
            root=root,
            pack=pack,
            path=path,
            objid=objid or "",
            ups=frozenset(each for up, each in links if up),
            downs=frozenset(each for up, each in links if not up),
            shown=self._shown(root, pack, path),
            given=self._given.get((root, path), ""),
        )

    def is_within_copy(self, found: FoundPackage, parent: str, root: int) -> bool:
        """Return whether a child is in another package under check that has the OBJID of its parent."""
        if found.given or found.root in {root, *range(self.checked, len(self._roots))}:
            return False
        of_root = [path for root, path in self._given if root == found.root]
        sql = "SELECT 1 FROM document WHERE root = ? AND path = ? AND bare = ?"
        return any(self.row(sql, found.root, path, bare(parent)) is not None for path in of_root)

    def distance(self, root: int, found: FoundPackage) -> int:
        """Return how far a found package is from a root: the folders that they do not share."""
        here, there = (Path(self._real[each]).parts for each in (root, found.root))
        shared = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(here, there, strict=False)))
        return len(here) + len(there) - 2 * shared

    def children(self, objid: str, parent: str | None) -> tuple[list[FoundPackage], list[FoundPackage]]:
        """Return a parent's children with this OBJID, and the other packages with this OBJID.

        A child's OBJID is unique only beside its parent: a package that names another parent is a child of
        that one. A package without a parent is taken if no other fits (the link is optional in E-ARK AIP).
        """
        found = list(self.named(objid))
        if parent is None:
            return found, []
        # An mptr that names the parent is the link to it, with any label.
        mine = [each for each in found if bare(parent) in each.ups | each.downs]
        if not mine:
            mine = [each for each in found if not each.ups and bare(each.objid) != bare(parent)]
        return mine, [each for each in found if each not in mine]

    def _lacking(self, found: FoundPackage, parent: str) -> list[str]:
        """Return the children that a package names by OBJID and that all roots lack."""
        return [each for each in sorted(found.downs) if not self.children(each, parent)[0]]

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
                self._read(*row)
            self._siblings[key] = frozenset(each for (each,) in self.all(_SIBLINGS, key))
        return self.nearest(objid, self._siblings[key] | {bare(child)})

    def mean(self, found: FoundPackage, parent: str | None) -> None:
        """Note a package that a parent means by a wrong name."""
        self._meant.add((found.shown, bare(parent or "")))

    def is_meant(self, child: str, parent: str) -> bool:
        """Return whether a parent means the package of METS ``child`` by a name that leads nowhere."""
        return (child, bare(parent)) in self._meant

    def tree(self, found: FoundPackage) -> PackageTree:
        """Return the file tree of a package that was found."""
        return self._tree(found.root, found.pack, folder_of(found.path).rstrip(b"/"))

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

    def _read(self, document: int, root: int, pack: bytes | None, path: bytes) -> None:
        """Read the links of a document once, up to a fault."""
        if self.row("SELECT 1 FROM document WHERE id = ? AND read", document) is not None:
            return
        self.put("UPDATE document SET read = 1 WHERE id = ?", document)
        try:
            for fact in self._facts(root, pack, path):
                if isinstance(fact, Mptr) and fact.href and fact.named_by is not By.LOCATION:
                    row = (document, fact.is_upward, fact.href, bare(fact.href))
                    self.put("INSERT INTO link VALUES (?, ?, ?, ?)", *row)
        except (OSError, MetspackError):
            return  # reported by the check of that package


def _mets_of(package: DeliveredPackage) -> bytes:
    """Return the path of a package's METS below its root, in a zip or tar file below that."""
    mets = os.fsencode(package.mets or "")
    return os.fsencode(package.within) + b"/" + mets if package.within else mets
