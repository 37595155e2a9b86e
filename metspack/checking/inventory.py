"""List a package's folders into the catalogue, and report files and names at risk."""

from __future__ import annotations

import re
from bisect import bisect
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from metspack.checking import grouping
from metspack.checking.catalogue import PUT_MARK, Batch, Catalogue, Mark, are_usual, outermost
from metspack.checking.codes import Code
from metspack.checking.files import listed
from metspack.checking.held import AgreedSegment
from metspack.checking.segments import Agreement
from metspack.checking.tree import CheckedTree
from metspack.containers.ipreader import Item, PackedError
from metspack.files import walking
from metspack.files.byteranges import FileBelow
from metspack.files.paths import folded_name, folder_of, path_of, reason_of, shown, span_below
from metspack.files.tempdb import BulkInsert
from metspack.mets import PLAIN_METS, is_mets_name
from metspack.model import Finding
from metspack.packages.files import FolderTree, PackageTree, PackedTree
from metspack.system import os
from metspack.system.winnames import unholdable

_PUT = "INSERT OR IGNORE INTO disk VALUES (?, ?, ?)"
_FILES = BulkInsert("disk", "?{0}, 'f', ?{1}", per_row=2)
# Folders found since are below the last one, and so after it.
_NEXT_FOLDER = "SELECT path FROM disk WHERE kind = 'd' AND path > ? ORDER BY path LIMIT 1"
_COLLIDING = """
SELECT f.path, coalesce(
    (SELECT d.path FROM disk d WHERE d.path = f.other),
    (SELECT min(g.path) FROM mark g WHERE g.mark = f.mark AND g.other = f.other AND g.path < f.path)
) AS first FROM mark f WHERE f.mark = ? AND first IS NOT NULL ORDER BY f.path
"""
_METS = PLAIN_METS.encode()
_Folders = Mapping[Path, set[bytes]]
# An archive that was unpacked has this folder, which states its version and is empty (SIARD 2.2 P_4.2-4).
_IS_VERSION = re.compile(rb"(?:.*/)?header/(?:siard)?version/[^/]+", re.DOTALL)


def findings(
    catalogue: Catalogue, places: CheckedTree, start: bytes = b"", *, whole: bool
) -> Iterator[Finding]:
    """Put all files below a path of the package into the catalogue; yield the findings on them.

    ``kind`` becomes f (file), d (folder), l (symbolic link) or s (special). Without ``whole`` only the METS
    documents are kept, no sizes are read, and only findings on unreadable folders are yielded. Empty folders
    wait for ``empty_folders``.
    """
    tree, _ = places.held(start)
    taking = _Taking(catalogue, start, whole=whole)
    if (agreed := places.agreement.at(start)) is not None:
        taking.take_agreed(agreed)
    elif isinstance(tree, FolderTree):
        yield from _walk(taking, tree, places.agreement)
    else:
        yield from _list_packed(taking, tree, start)
    yield from taking.found()


_NAMED_BELOW = """
SELECT EXISTS (SELECT 1 FROM entry WHERE path > ?1 AND path < ?2)
OR EXISTS (SELECT 1 FROM listed WHERE path > ?1 AND path < ?2)
"""


def empty_folders(catalogue: Catalogue) -> Iterator[Finding]:
    """Yield the empty folders, once METS and manifests are read.

    One with files that METS or a manifest name has no finding, as these are reported missing.
    """
    for path in catalogue.marked(Mark.EMPTY):
        if not (path and catalogue.number(_NAMED_BELOW, *span_below(path + b"/"))):
            yield Code.EMPTY_FOLDER.at(shown(path) or ".")


def name_collisions(catalogue: Catalogue) -> Iterator[Finding]:
    """Yield findings on names in one folder that differ only in letter case or Unicode form."""
    for path, other in catalogue.rows(_COLLIDING, Mark.FOLDED):
        yield Code.NAMES_COLLIDE.at(path, other=other)


def _walk(taking: _Taking, tree: FolderTree, agreement: Agreement) -> Iterator[Finding]:
    """Take the contents of the folders in the catalogue, and of all folders below."""
    while (path := taking.next_folder()) is not None:
        if agreement.is_inside(taking.prefix + path):
            continue
        if (segment := agreement.of_data(taking.prefix + path)) is not None:
            taking.take_agreed(segment)
            continue
        for lot in walking.lots(tree.root, tree.names, path, sizes=taking.whole):
            taking.take(lot)
            yield from taking.found()


class _Taking:
    """The files of a listing that go to the catalogue; ``start`` is the path where it began."""

    def __init__(self, catalogue: Catalogue, start: bytes, *, whole: bool) -> None:
        self.catalogue = catalogue
        self._batch = Batch(catalogue.put_many)
        self._findings: list[Finding] = []
        self.prefix = start + b"/" if start else b""
        self.whole = whole
        self._last: bytes | None = None
        if start:
            catalogue.put(_PUT, start, "d", None)

    def next_folder(self) -> bytes | None:
        """Return the next folder to be listed, or None after the last."""
        if self._last is None:
            self._last = self.prefix
            return b""
        row = self.catalogue.row(_NEXT_FOLDER, self._last)
        if row is None or not row[0].startswith(self.prefix):
            return None
        self._last = bytes(row[0])
        return self._last[len(self.prefix) :]

    def take(self, lot: walking.Lot) -> None:
        """Add a batch of a folder's names."""
        prefix = self.prefix + lot.prefix
        names = lot.names
        if _METS in lot.files.lower():
            self._keep_documents(prefix, names)
        if self.whole:
            self.catalogue.insert(_FILES, (), ([prefix + name for name in names], lot.sizes))
            if not are_usual(lot.files):
                for name in names:
                    self._keep_name(prefix + name)
        for name, kind in lot.others:
            self.take_other(prefix + name, kind)
        if lot.fault is not None:
            path = shown(prefix.rstrip(b"/")) or "."
            self._findings.append(Code.UNREADABLE.at(path, reason=reason_of(lot.fault)))
        elif not (lot.files or lot.others):
            self.take_empty(prefix.rstrip(b"/"))
        self.flush()

    def take_agreed(self, segment: AgreedSegment) -> None:
        """Add the data of an agreed segment: METS, archives and folders, but no other file."""
        if segment.data == segment.folder:
            self.take_file(segment.mets, segment.size)
        for path, size in segment.kept:
            self.take_file(path, size)
        for folder in segment.folders:
            self.take_other(folder, "d")
        self.flush()

    def take_file(self, path: bytes, size: int | None) -> None:
        """Add one file."""
        if is_mets_name(path):
            self._keep_documents(b"", (path,))
        if self.whole:
            self._batch.add(_PUT, path, "f", size)
            self._keep_name(path)

    def take_other(self, path: bytes, kind: str) -> None:
        """Add a folder, a link or a special file."""
        if self.whole or kind == "d":
            self._batch.add(_PUT, path, kind, None)
        if self.whole:
            if kind != "d":
                self._findings.append((Code.SYMLINK if kind == "l" else Code.SPECIAL).at(path))
            self._keep_name(path)

    def take_empty(self, path: bytes) -> None:
        """Add an empty folder."""
        if self.whole and not _IS_VERSION.fullmatch(path):
            self._batch.add(PUT_MARK, Mark.EMPTY, path, None, None)

    def found(self) -> Iterator[Finding]:
        """Yield the findings on the files taken since the last call."""
        found, self._findings = self._findings, []
        return iter(found)

    def flush(self) -> None:
        """Put all files into the catalogue."""
        self._batch.flush()

    def _keep_documents(self, prefix: bytes, names: Iterable[bytes]) -> None:
        for path in (prefix + name for name in names if is_mets_name(name)):
            self._batch.add(PUT_MARK, Mark.DOCUMENT, path, None, None)
            if not self.whole:
                self._batch.add(_PUT, path, "f", None)

    def _keep_name(self, path: bytes) -> None:
        name = path.rpartition(b"/")[2]
        folded = folded_name(name)
        if folded != name:
            self._batch.add(PUT_MARK, Mark.FOLDED, path, folder_of(path) + folded, None)
        if unholdable(os.fsdecode(name)):
            reason = f"Windows cannot hold the name {shown(name)!r}"
            self._findings.append(Code.NOT_FOR_WINDOWS.at(path, reason=reason))
        if not name.isascii() and name.decode(errors="replace").encode() != name:
            self._findings.append(Code.NOT_UTF8.at(path))


def _list_packed(taking: _Taking, tree: PackageTree, start: bytes) -> Iterator[Finding]:
    """List all of a zip or tar file; a folder is empty when no entry below it follows."""
    last: Item | None = None
    try:
        for item in tree.walk():
            if last is not None and not item.name.startswith(last.name + b"/"):
                taking.take_empty(taking.prefix + last.name)
            last = item if item.kind == "d" else None
            if item.kind == "f":
                taking.take_file(taking.prefix + item.name, item.size)
            else:
                taking.take_other(taking.prefix + item.name, item.kind)
            yield from taking.found()
        if last is not None:
            taking.take_empty(taking.prefix + last.name)
    except PackedError as error:
        yield Code.PACKED_DAMAGED.at(shown(start) or ".", reason=error.message)
    taking.flush()


def beside(
    places: CheckedTree,
    packages: _Folders,
    seen: set[FileBelow],
    covers: Callable[[str], bool] | None,
    together: grouping.FindingGroups,
) -> Iterator[Finding]:
    """Yield findings on bytes between the entries of packed files, and files outside packages.

    ``packages`` are the folders of packages under check, by their roots: a packed file in a granted root may
    hold other packages. Packed files that were ``seen`` or hold an agreed segment are left out. Files for
    which ``covers`` is true are on a list and have no finding; without ``covers`` only the bytes between
    entries are checked. ``together`` keeps the note on files that macOS left behind.
    """
    packed: dict[FileBelow, list[PackedTree]] = {}
    for tree in places.trees:
        if isinstance(tree, PackedTree) and tree.file not in seen:
            packed.setdefault(tree.file, []).append(tree)
    seen.update(packed)
    for file, trees in packed.items():
        if places.agreement.in_pack(path_of(file.segments)) is None:
            with suppress(PackedError):  # reported where the file is listed
                yield from _beside(file, trees, packages, covers, together)


def _beside(
    file: FileBelow,
    trees: Sequence[PackedTree],
    packages: _Folders,
    covers: Callable[[str], bool] | None,
    of_package: grouping.FindingGroups,
) -> Iterator[Finding]:
    name, whole = "/".join(file.segments), trees[0].all_of_file()
    if stray := whole.stray():
        yield Code.PACKED_DAMAGED.at(name or ".", reason=f"{file.path.name} {stray}")
    if covers is None or file.root not in packages:
        return
    inside = () if file.segments else packages[file.root]
    before = f"{name}/" if name else "../" * len(trees[0].folder.split(b"/"))
    together = grouping.FindingGroups()
    with suppress(PackedError):
        for item in _in_none(whole, {*inside, *(each.folder for each in trees)}):
            if not covers(f"{file}/{shown(item.name)}"):
                folder = item.name.rpartition(b"/")[0].partition(b"/")[0] or None
                path = os.fsencode(before) + item.name
                yield from listed.take_unlisted(together, of_package, path, item.size or 0, folder)
    yield from together.release()


def _in_none(whole: PackedTree, folders: Iterable[bytes]) -> Iterator[Item]:
    """Yield the files of a zip or tar file outside some folders."""
    around = list(outermost(sorted(folder + b"/" if folder else b"" for folder in folders)))
    for item in whole.items():
        at = item.name + b"/"
        if item.kind != "d" and not at.startswith(around[max(0, bisect(around, at) - 1)]):
            yield item
