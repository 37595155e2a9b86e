"""Index the METS of given packages, and of those below further roots, by OBJID."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from itertools import starmap, takewhile
from pathlib import Path
from typing import NamedTuple

from metspack.containers.ipreader import OpenPacks, PackedError, unpacked_name
from metspack.errors import MetspackError
from metspack.files import tempdb, walking
from metspack.files.byteranges import FileBelow
from metspack.files.paths import folder_of, names_of, reason_of, shown
from metspack.layouts.names import SEGMENT
from metspack.limits import Budgets
from metspack.mets import is_mets_name, is_of_representation, reader
from metspack.mets.fastreader import Run, condensed
from metspack.mets.links import By, Mptr, bare
from metspack.packages.delivery import DeliveredPackage
from metspack.packages.files import FolderTree, PackageTree, PackedTree
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
_AFTER_DOT = b"/"
_KEPT = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundPackage:
    """A package found below a root: its METS's place, its OBJID, and the parents that it names.

    ``path`` is the METS's path from that root, ``pack`` the path of the zip or tar file that holds it, if
    any; ``root`` counts the roots as they were given. ``ups`` and ``downs`` are bare identifiers. ``given``
    is the path by which a given package was given; empty for any other.
    """

    root: int
    pack: bytes | None
    path: bytes
    objid: str
    ups: frozenset[str]
    downs: frozenset[str]
    shown: str
    given: str = ""


class SearchFault(NamedTuple):
    """A fault of a search: the path of a folder, METS or packed file, and the reason.

    The reason is "" for a granted root without METS; ``is_segment`` is true for a packed segment of a given
    package.
    """

    path: str
    reason: str = ""
    is_packed: bool = False
    is_segment: bool = False


PackedMets = tuple[bytes, Sequence[reader.Fact]]
"""The path of the only METS in a zip or tar file, and its facts without those of files."""


class PackageIndex(tempdb.Scratch):
    """The index of packages and granted roots, filled by the first ``search``; for one thread.

    A root is a folder, or a zip or tar file; the first ``checked`` are those of the given packages.
    ``read_before`` returns the METS of a packed file, by its root and path, if it was read before.
    """

    read_before: Callable[[int, bytes], PackedMets | None]

    def __init__(
        self,
        packages: Sequence[DeliveredPackage],
        granted: Sequence[Path],
        packs: OpenPacks,
        budgets: Budgets,
    ) -> None:
        super().__init__("BEGIN", cache=1_000, schema=_SCHEMA)
        self._is_searched = False
        self.read_before = lambda _root, _pack: None
        checked = list(dict.fromkeys(each.path for each in packages))
        self._roots = (*checked, *granted)
        self._numbers = {root: number for number, root in enumerate(checked)}
        self.checked = len(checked)
        # The packages' given paths, by the number of the root and the path of the METS from there.
        several = packages if len(packages) > 1 else ()
        self._given = {(self.number(each), _mets_of(each)): each.shown for each in several}
        self._budgets = budgets
        self._packs = packs
        # Each of its children looks up a parent, which may have very many links.
        self._found = lru_cache(_KEPT)(self._with_links)
        self.lacking = lru_cache(1)(self._lacking)
        self._real = [os.path.realpath(each) for each in self._roots]
        self._before = set[str]()  # roots that were searched: packages in one belong to it

    def number(self, package: DeliveredPackage) -> int:
        """Return the number of the root of a given package."""
        return self._numbers[package.path]

    @property
    def granted(self) -> bool:
        """Return whether further roots were granted."""
        return len(self._roots) > self.checked

    @property
    def are_several(self) -> bool:
        """Return whether another package or root may have the other end of a link."""
        return self.granted or len(self._given) > 1

    def search(self) -> Iterator[SearchFault]:
        """Search all roots once; yield the faults of roots, folders and files."""
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

    def _root(self, root: int) -> Iterator[SearchFault]:
        if self._roots[root].is_file():
            yield from self._pack(root, b"")
        else:
            yield from self._folders(root)
        holds_others = any(each.startswith(f"{self._real[root]}/") for each in self._before)
        is_any = holds_others or self.row("SELECT 1 FROM document WHERE root = ?", root)
        if root >= self.checked and not is_any:
            yield SearchFault(self._shown(root, None, b""))

    def _is_before(self, root: int, path: bytes) -> bool:
        """Return whether the path in a root is another root that was searched before."""
        return os.path.join(self._real[root], os.fsdecode(path)) in self._before

    def _folders(self, root: int) -> Iterator[SearchFault]:
        leaves_out = partial(self._is_before, root)
        for lot in walking.all_lots(self._roots[root], sizes=False, leaves_out=leaves_out):
            for name in lot.names:
                if is_mets_name(name):
                    yield from self._document(root, None, lot.prefix + name)
                elif unpacked_name(name) is not None and not self._is_before(root, lot.prefix + name):
                    yield from self._pack(root, lot.prefix + name)
            if lot.fault is not None and root >= self.checked:
                # The unreadable folders of a given package are reported by its listing.
                yield SearchFault(self._shown(root, None, lot.folder), reason_of(lot.fault))

    def _pack(self, root: int, path: bytes) -> Iterator[SearchFault]:
        if (before := self.read_before(root, path)) is not None:
            yield from self._document(root, path, before[0])
            return
        try:
            for item in self._packs.opened(self._below(root, path)).items(b""):
                if item.kind == "f" and is_mets_name(item.name):
                    yield from self._document(root, path, item.name)
        except PackedError as error:
            name = shown(unpacked_name(path.rpartition(b"/")[2]) or b"")
            is_segment = root < self.checked and SEGMENT.fullmatch(name) is not None
            at = self._shown(root, path, b"")
            yield SearchFault(at, error.message, is_packed=True, is_segment=is_segment)

    def _below(self, root: int, path: bytes) -> FileBelow:
        return FileBelow(root=self._roots[root], segments=names_of(path))

    def _document(self, root: int, pack: bytes | None, path: bytes) -> Iterator[SearchFault]:
        """Put a METS into the index, read up to its root element."""
        objid = None
        try:
            for fact in self._facts(root, pack, path):
                objid = fact.objid if isinstance(fact, reader.Root) else None
                break
        except (OSError, MetspackError) as error:
            if root >= self.checked:
                reason = reason_of(error) if isinstance(error, OSError) else error.message
                yield SearchFault(self._shown(root, pack, path), reason)
        key = bare(objid) if objid else ""
        sql = "INSERT INTO document (root, pack, path, objid, bare) VALUES (?, ?, ?, ?, ?)"
        self.put(sql, root, pack, path, objid and objid.strip(), key)

    def _facts(self, root: int, pack: bytes | None, path: bytes) -> Iterator[reader.Fact]:
        if pack and (before := self.read_before(root, pack)) is not None:
            yield from before[1]
            return
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
        """Yield the OBJIDs of the METS in the given packages, and the names of their folders."""
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
        """Return a given package, or None for one without a readable METS."""
        return self.at(self.number(package), _mets_of(package))

    def at(self, root: int, path: bytes) -> FoundPackage | None:
        """Return the package whose METS is at a path below a root, or None without one."""
        condition = "root = ? AND path = ? ORDER BY pack IS NOT NULL AND pack <> ''"
        return next(self._documents(condition, root, path), None)

    def _with_links(
        self, document: int, root: int, pack: bytes | None, path: bytes, objid: str | None
    ) -> FoundPackage:
        self.read_links(document, root, pack, path)
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
        """Return whether a child is in another given package that has the OBJID of its parent."""
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

    def tree(self, found: FoundPackage) -> PackageTree:
        """Return the file tree of a package that was found."""
        return self._tree(found.root, found.pack, folder_of(found.path).rstrip(b"/"))

    def read_links(self, document: int, root: int, pack: bytes | None, path: bytes) -> None:
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
