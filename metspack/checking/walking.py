"""All that lies below a package's root, into the catalogue."""

from __future__ import annotations

import re
from collections.abc import Iterator

from metspack.checking.catalogue import (
    Batch,
    Catalogue,
    fault,
    folded_name,
    folder_of,
    is_mets_name,
    shown,
)
from metspack.checking.codes import Code
from metspack.checking.holders import Holder, Places
from metspack.model import Finding
from metspack.packs import Item, PackedError

_PUT = "INSERT OR IGNORE INTO disk VALUES (?, ?, ?)"
_PUT_FOLDER = "INSERT INTO folder (path) VALUES (?)"
_ALIKE = """
SELECT f.path, coalesce(
    (SELECT d.path FROM disk d WHERE d.path = f.name),
    (SELECT min(g.path) FROM folded g WHERE g.name = f.name AND g.path < f.path)
) AS other FROM folded f WHERE other IS NOT NULL ORDER BY f.path
"""
# Microsoft, Naming Files, Paths, and Namespaces: characters, device names, and what is cut off at the end.
_NOT_FOR_WINDOWS = re.compile(
    rb'(?i:(?:con|prn|aux|nul|com[0-9]|lpt[0-9])(?:\..*)?)|.*[<>:"\\|?*\x00-\x1f].*|.*[. ]', re.DOTALL
)
_LONGEST = 255
# An archive that was unpacked has this folder, which says its version and is empty (SIARD 2.2 P_4.2-4).
_IS_VERSION = re.compile(rb"(?:.*/)?header/(?:siard)?version/[^/]+", re.DOTALL)


def findings(catalogue: Catalogue, places: Places, start: bytes = b"", *, whole: bool) -> Iterator[Finding]:
    """Put all that lies below a path of the package into the catalogue; yield what should not be there.

    ``kind`` becomes f (file), d (folder), l (symbolic link) or s (special). Without ``whole`` only the
    METS documents are kept, no file is asked for its size, and only what cannot be read is yielded.
    """
    last = catalogue.number("SELECT max(id) FROM folder")
    catalogue.put(_PUT_FOLDER, start)
    holder, _ = places.held(start)
    if holder.is_packed:
        yield from _packed(catalogue, holder, start, whole=whole)
        return
    while (row := catalogue.row("SELECT id, path FROM folder WHERE id > ? LIMIT 1", last)) is not None:
        last, path = row
        batch = Batch(catalogue)
        try:
            yield from _folder(batch, places, path, whole=whole)
        except OSError as error:
            yield Code.UNREADABLE.at(shown(path) or ".", reason=fault(error))
        batch.flush()


def alike(catalogue: Catalogue) -> Iterator[Finding]:
    """Yield the names that differ from another in the same folder in case or Unicode form only."""
    for path, other in catalogue.rows(_ALIKE):
        yield Code.ALIKE.at(shown(path), other=shown(other))


def _folder(batch: Batch, places: Places, path: bytes, *, whole: bool) -> Iterator[Finding]:
    prefix = path + b"/" if path else b""
    holder, inner = places.held(path)
    empty = True
    for item in holder.items(inner, sizes=whole):
        empty = False
        yield from _taken(batch, prefix, item, whole=whole)
    if empty and whole:
        yield from _empty(path)


def _empty(path: bytes) -> Iterator[Finding]:
    if not _IS_VERSION.fullmatch(path):
        yield Code.EMPTY_FOLDER.at(shown(path) or ".")


def _packed(catalogue: Catalogue, holder: Holder, start: bytes, *, whole: bool) -> Iterator[Finding]:
    """List all of a zip or tar file; a folder in it is empty when nothing follows that lies in it."""
    batch = Batch(catalogue)
    prefix = start + b"/" if start else b""
    last: Item | None = None
    try:
        for item in holder.everything():
            if last is not None and whole and not item.name.startswith(last.name + b"/"):
                yield from _empty(prefix + last.name)
            last = item if item.kind == "d" else None
            yield from _taken(batch, prefix, item, whole=whole)
        if last is not None and whole:
            yield from _empty(prefix + last.name)
    except PackedError as error:
        yield Code.PACKED_DAMAGED.at(shown(start) or ".", reason=error.message)
    batch.flush()


def _taken(batch: Batch, prefix: bytes, item: Item, *, whole: bool) -> Iterator[Finding]:
    path = prefix + item.name
    if item.kind == "d":
        batch.add(_PUT_FOLDER, path)
    elif item.kind == "f" and is_mets_name(path):
        batch.add("INSERT INTO document VALUES (?)", path)
        if not whole:
            batch.add(_PUT, path, "f", None)
    if whole:
        batch.add(_PUT, path, item.kind, item.size)
        yield from _entry(batch, path, item)


def _entry(batch: Batch, path: bytes, item: Item) -> Iterator[Finding]:
    name = path.rpartition(b"/")[2]
    if item.kind == "l":
        yield Code.SYMLINK.at(shown(path))
    elif item.kind == "s":
        yield Code.SPECIAL.at(shown(path))
    folded = folded_name(name)
    if folded != name:
        batch.add("INSERT INTO folded VALUES (?, ?)", folder_of(path) + folded, path)
    yield from _name(path, name)


def _name(path: bytes, name: bytes) -> Iterator[Finding]:
    if _NOT_FOR_WINDOWS.fullmatch(name):
        yield Code.NOT_FOR_WINDOWS.at(shown(path), reason=f"Windows cannot hold the name {shown(name)!r}")
    if name.isascii():
        return
    try:
        name.decode("utf-8")
    except UnicodeDecodeError:
        yield Code.NOT_UTF8.at(shown(path))
