"""All that lies below a package's root, into the catalogue."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

from metspack import reading
from metspack.checking.catalogue import (
    Batch,
    Catalogue,
    fault,
    folded_name,
    folder_of,
    is_mets_name,
    segments_of,
    shown,
)
from metspack.checking.codes import Code
from metspack.model import Finding

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


def findings(catalogue: Catalogue, root: Path, *, whole: bool) -> Iterator[Finding]:
    """Put all that lies below the root into the catalogue; yield what should not be in a package.

    ``kind`` becomes f (file), d (folder), l (symbolic link) or s (special). Without ``whole`` only the
    METS documents are kept, no file is asked for its size, and only what cannot be read is yielded.
    """
    catalogue.put(_PUT_FOLDER, b"")
    last = 0
    while (row := catalogue.row("SELECT id, path FROM folder WHERE id > ? LIMIT 1", last)) is not None:
        last, path = row
        batch = Batch(catalogue)
        try:
            yield from _folder(batch, root, path, whole=whole)
        except OSError as error:
            yield Code.UNREADABLE.at(shown(path) or ".", reason=fault(error))
        batch.flush()


def alike(catalogue: Catalogue) -> Iterator[Finding]:
    """Yield the names that differ from another in the same folder in case or Unicode form only."""
    for path, other in catalogue.rows(_ALIKE):
        yield Code.ALIKE.at(shown(path), other=shown(other))


def _folder(batch: Batch, root: Path, path: bytes, *, whole: bool) -> Iterator[Finding]:
    prefix = path + b"/" if path else b""
    descriptor = reading.opened_folder(root, segments_of(path) if path else ())
    empty = True
    try:
        with os.scandir(descriptor) as entries:
            for entry in entries:
                empty = False
                if whole:
                    yield from _entry(batch, prefix, entry)
                else:
                    _document(batch, prefix, entry)
    finally:
        os.close(descriptor)
    if empty and whole:
        yield Code.EMPTY_FOLDER.at(shown(path) or ".")


def _document(batch: Batch, prefix: bytes, entry: os.DirEntry[str]) -> None:
    """Keep an entry that is a folder or a METS document."""
    path = prefix + os.fsencode(entry.name)
    if entry.is_dir(follow_symlinks=False):
        batch.add(_PUT_FOLDER, path)
    elif is_mets_name(path) and entry.is_file(follow_symlinks=False):
        batch.add("INSERT INTO document VALUES (?)", path)
        batch.add("INSERT INTO disk VALUES (?, ?, ?)", path, "f", None)


def _entry(batch: Batch, prefix: bytes, entry: os.DirEntry[str]) -> Iterator[Finding]:
    name = os.fsencode(entry.name)
    path = prefix + name
    size = None
    if entry.is_file(follow_symlinks=False):
        kind = "f"
        size = entry.stat(follow_symlinks=False).st_size
        if is_mets_name(path):
            batch.add("INSERT INTO document VALUES (?)", path)
    elif entry.is_dir(follow_symlinks=False):
        kind = "d"
        batch.add(_PUT_FOLDER, path)
    elif entry.is_symlink():
        kind = "l"
        yield Code.SYMLINK.at(shown(path))
    else:
        kind = "s"
        yield Code.SPECIAL.at(shown(path))
    batch.add("INSERT INTO disk VALUES (?, ?, ?)", path, kind, size)
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
