"""List a package's folders into the catalogue, and report files and names at risk."""

from __future__ import annotations

import re
from bisect import bisect
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from metspack.checking.catalogue import (
    Batch,
    Catalogue,
    are_usual,
    fault,
    folded_name,
    folder_of,
    outermost,
    shown,
    span_below,
)
from metspack.checking.codes import Code
from metspack.checking.held import AgreedSegment
from metspack.checking.segments import Agreement
from metspack.checking.tree import CheckedTree
from metspack.containers.ipreader import Item, PackedError
from metspack.files import walking
from metspack.files.byteranges import Below
from metspack.files.tempdb import BulkInsert
from metspack.mets import PLAIN_METS, is_mets_name
from metspack.model import Finding
from metspack.packages.files import FolderTree, PackageTree, PackedTree, path_of
from metspack.system import os

_PUT = "INSERT OR IGNORE INTO disk VALUES (?, ?, ?)"
_FILES = BulkInsert("disk", "(?{0}, 'f', ?{1})", shared=0, own=2)
_PUT_FOLDER = "INSERT INTO folder (path) VALUES (?)"
_FOLDERS = "SELECT id, path FROM folder WHERE id > ? ORDER BY id LIMIT ?"
_ALIKE = """
SELECT f.path, coalesce(
    (SELECT d.path FROM disk d WHERE d.path = f.name),
    (SELECT min(g.path) FROM folded g WHERE g.name = f.name AND g.path < f.path)
) AS other FROM folded f WHERE other IS NOT NULL ORDER BY f.path
"""
# Microsoft, Naming Files, Paths, and Namespaces: characters, device names, and characters cut off at the end.
_NOT_FOR_WINDOWS = re.compile(
    rb'(?i:(?:con|prn|aux|nul|com[0-9]|lpt[0-9])(?:\..*)?)|.*[<>:"\\|?*\x00-\x1f].*|.*[. ]', re.DOTALL
)
_METS = PLAIN_METS.encode()
_UNREADABLE, _EMPTY, _ODD = "unreadable", "empty", "odd"
_Folders = Mapping[Path, set[bytes]]
# An archive that was unpacked has this folder, which states its version and is empty (SIARD 2.2 P_4.2-4).
_IS_VERSION = re.compile(rb"(?:.*/)?header/(?:siard)?version/[^/]+", re.DOTALL)


def findings(
    catalogue: Catalogue, places: CheckedTree, start: bytes = b"", *, whole: bool
) -> Iterator[Finding]:
    """Put all files below a path of the package into the catalogue; yield the findings on them.

    ``kind`` becomes f (file), d (folder), l (symbolic link) or s (special). Without ``whole`` only the METS
    documents are kept, no sizes are read, and only findings on unreadable folders are yielded.
    """
    tree, _ = places.held(start)
    taking = _Taking(catalogue, start, whole=whole)
    agreed = None if places.agreement is None else places.agreement.at(start)
    if agreed is not None:
        taking.take_agreed(agreed)
    elif isinstance(tree, FolderTree):
        _walk(taking, (tree.root, tree.names), None if start else places.agreement)
    else:
        yield from _list_packed(taking, tree, start)
    yield from noticed(catalogue, are_read=False)


_NOTICED = "SELECT path, kind, reason FROM noticed"
_NAMED_BELOW = """
SELECT EXISTS (SELECT 1 FROM entry WHERE path > ?1 AND path < ?2)
OR EXISTS (SELECT 1 FROM listed WHERE path > ?1 AND path < ?2)
"""


def noticed(catalogue: Catalogue, *, are_read: bool = True) -> Iterator[Finding]:
    """Yield the findings on the files listed since the last call.

    An empty folder with files that METS or a manifest name has no finding, as these are reported missing.
    Empty folders wait until METS and manifests ``are_read``.
    """
    kinds = "" if are_read else f"WHERE kind <> '{_EMPTY}'"
    for path, kind, reason in catalogue.rows(f"{_NOTICED} {kinds} ORDER BY rowid"):
        if kind != _EMPTY or not (path and catalogue.number(_NAMED_BELOW, *span_below(path + b"/"))):
            yield from _noticed(path, kind, reason)
    catalogue.put(f"DELETE FROM noticed {kinds}")  # noqa: S608 -- a constant


def alike(catalogue: Catalogue) -> Iterator[Finding]:
    """Yield findings on names in one folder that differ only in letter case or Unicode form."""
    for path, other in catalogue.rows(_ALIKE):
        yield Code.ALIKE.at(path, other=other)


def _walk(taking: _Taking, place: tuple[Path, tuple[str, ...]], agreement: Agreement | None) -> None:
    """Take the contents of the folders on disk that the catalogue has, and of those below."""
    while (path := taking.next_folder()) is not None:
        if agreement is not None and agreement.is_inside(path):
            continue
        if agreement is not None and (segment := agreement.of_data(path)) is not None:
            taking.take_agreed(segment)
            continue
        for lot in walking.lots(*place, path, sizes=taking.whole):
            taking.take(lot)


class _Taking:
    """The files of a listing that go to the catalogue; ``start`` is the path where it began."""

    def __init__(self, catalogue: Catalogue, start: bytes, *, whole: bool) -> None:
        self.catalogue = catalogue
        self._batch = Batch(catalogue.put_many)
        self.prefix = start + b"/" if start else b""
        self.whole = whole
        self._last = catalogue.put(_PUT_FOLDER, start) - 1

    def next_folder(self) -> bytes | None:
        """Return the next folder to be listed, or None after the last."""
        row = self.catalogue.row(_FOLDERS, self._last, 1)
        if row is None:
            return None
        self._last, path = row
        return bytes(path[len(self.prefix) :])

    def take(self, lot: walking.Lot) -> None:
        """Add a batch of a folder's names."""
        prefix = self.prefix + lot.prefix
        names = lot.names
        if _METS in lot.files.lower():
            self._keep_documents(prefix, names)
        if self.whole:
            rows = zip(map(prefix.__add__, names), lot.sizes, strict=True)
            self.catalogue.insert(_FILES, (), rows)
            if not are_usual(lot.files):
                for name in names:
                    self._keep_name(prefix + name)
        for name, kind in lot.others:
            self.take_other(prefix + name, kind)
        if lot.fault is not None:
            self.notice(prefix.rstrip(b"/"), _UNREADABLE, fault(lot.fault))
        elif lot.is_empty:
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
        if kind == "d":
            self._batch.add(_PUT_FOLDER, path)
        if self.whole:
            self._batch.add(_PUT, path, kind, None)
            if kind != "d":
                self.notice(path, kind)
            self._keep_name(path)

    def take_empty(self, path: bytes) -> None:
        """Add an empty folder."""
        if self.whole and not _IS_VERSION.fullmatch(path):
            self.notice(path, _EMPTY)

    def notice(self, path: bytes, kind: str, reason: str = "") -> None:
        """Note something for a finding: a link, a special file, an unreadable folder."""
        self._batch.add("INSERT INTO noticed VALUES (?, ?, ?)", path, kind, reason)

    def flush(self) -> None:
        """Put all files into the catalogue."""
        self._batch.flush()

    def _keep_documents(self, prefix: bytes, names: Iterable[bytes]) -> None:
        for path in (prefix + name for name in names if is_mets_name(name)):
            self._batch.add("INSERT INTO document VALUES (?)", path)
            if not self.whole:
                self._batch.add(_PUT, path, "f", None)

    def _keep_name(self, path: bytes) -> None:
        name = path.rpartition(b"/")[2]
        folded = folded_name(name)
        if folded != name:
            self._batch.add("INSERT INTO folded VALUES (?, ?)", folder_of(path) + folded, path)
        if _NOT_FOR_WINDOWS.fullmatch(name) or not _is_utf8(name):
            self.notice(path, _ODD)


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
        if last is not None:
            taking.take_empty(taking.prefix + last.name)
    except PackedError as error:
        yield Code.PACKED_DAMAGED.at(shown(start) or ".", reason=error.message)
    taking.flush()


def beside(
    catalogue: Catalogue,
    places: CheckedTree,
    packages: _Folders,
    seen: set[Below],
    covers: Callable[[str], bool] | None,
) -> Iterator[Finding]:
    """Yield bytes of a package's zip and tar files outside entries; note files in no package.

    ``packages`` are the folders of those under check, by their roots: a file in a granted root may hold
    others. Files that were ``seen`` are passed over, and those of segments that agree. Files for which
    ``covers`` is true are on a list and not noted; without ``covers`` only bytes are looked at.
    """
    packed: dict[Below, list[PackedTree]] = {}
    for tree in places.trees:
        if isinstance(tree, PackedTree) and tree.file not in seen:
            packed.setdefault(tree.file, []).append(tree)
    seen.update(packed)
    for file, trees in packed.items():
        if places.agreement is None or places.agreement.in_pack(path_of(file.segments)) is None:
            with suppress(PackedError):  # reported where the file is listed
                yield from _beside(catalogue, file, trees, packages, covers)


def _beside(
    catalogue: Catalogue,
    file: Below,
    trees: Sequence[PackedTree],
    packages: _Folders,
    covers: Callable[[str], bool] | None,
) -> Iterator[Finding]:
    name, whole = "/".join(file.segments), trees[0].all_of_file()
    if stray := whole.stray():
        yield Code.PACKED_DAMAGED.at(name or ".", reason=f"{file.path.name} {stray}")
    if covers is None or file.root not in packages:
        return
    inside = () if file.segments else packages[file.root]
    before = f"{name}/" if name else "../" * len(trees[0].folder.split(b"/"))
    for item in _in_none(whole, {*inside, *(each.folder for each in trees)}):
        if not covers(f"{file}/{shown(item.name)}"):
            folder = item.name.rpartition(b"/")[0].partition(b"/")[0] or None
            row = os.fsencode(before) + item.name, item.size or 0, folder, before
            catalogue.put("INSERT INTO stray VALUES (?, ?, ?, ?)", *row)


def _in_none(whole: PackedTree, folders: Iterable[bytes]) -> Iterator[Item]:
    """Yield the files of a zip or tar file that lie in none of some folders."""
    around = list(outermost(sorted(folder + b"/" if folder else b"" for folder in folders)))
    for item in whole.items():
        at = item.name + b"/"
        if item.kind != "d" and not at.startswith(around[max(0, bisect(around, at) - 1)]):
            yield item


def _noticed(path: bytes, kind: str, reason: str) -> Iterator[Finding]:
    if kind == _UNREADABLE:
        yield Code.UNREADABLE.at(shown(path) or ".", reason=reason)
    elif kind == _EMPTY:
        yield Code.EMPTY_FOLDER.at(shown(path) or ".")
    elif kind == "l":
        yield Code.SYMLINK.at(path)
    elif kind == "s":
        yield Code.SPECIAL.at(path)
    else:
        name = path.rpartition(b"/")[2]
        if _NOT_FOR_WINDOWS.fullmatch(name):
            yield Code.NOT_FOR_WINDOWS.at(path, reason=f"Windows cannot hold the name {shown(name)!r}")
        if not _is_utf8(name):
            yield Code.NOT_UTF8.at(path)


def _is_utf8(name: bytes) -> bool:
    if not name.isascii():
        try:
            name.decode("utf-8")
        except UnicodeDecodeError:
            return False
    return True
