"""SIARD archives that METS documents list, in all forms: a .siard, its parts, or unpacked."""

from __future__ import annotations

import re
import sqlite3
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

from metspack.checking.catalogue import Catalogue
from metspack.checking.codes import Code
from metspack.checking.tree import CheckedTree
from metspack.containers.zipreader import ZipContainer
from metspack.errors import SourceError
from metspack.files.byteranges import FileBelow, FileRange, Medium, SpooledMedium
from metspack.files.paths import path_of, reason_of
from metspack.layouts.names import ARCHIVE_BYTES
from metspack.limits import Budgets
from metspack.model import ExtentColumns, Finding, ZipExtent
from metspack.siard import metadata
from metspack.siard.entries import ArchiveEntries

_LISTED = """
SELECT DISTINCT e.path FROM entry e INDEXED BY entry_archive WHERE e.filed IS NOT NULL
AND e.filed >= (SELECT max(filed) FROM entry o WHERE o.mets = e.mets AND o.filed IS NOT NULL) AND (e.named
OR NOT (EXISTS (SELECT 1 FROM entry o WHERE o.mets = e.mets AND o.path < e.path AND o.filed IS NOT NULL)
    OR EXISTS (SELECT 1 FROM entry o WHERE o.mets = e.mets AND o.path > e.path AND o.filed IS NOT NULL)))
ORDER BY e.path
"""
_TYPES = """
SELECT DISTINCT m.path, m.line, m.type FROM entry e JOIN mets m ON m.id = e.mets
WHERE e.path = ? AND e.filed IS NOT NULL ORDER BY m.id
"""
_VERSIONS = "header/siardversion/"
_VERSION = re.compile(r"SIARD[ _-]?([0-9]\.[0-9])")
_BELOW = """
SELECT CASE kind WHEN 'd' THEN CAST(path || '/' AS BLOB) ELSE path END, coalesce(size, 0) FROM disk
WHERE path >= ?1 AND path < ?2 AND kind IN ('f', 'd') ORDER BY 1
"""
_INNER = re.escape(metadata.NAME).encode()
_NAMED = re.compile(ARCHIVE_BYTES.pattern + rb"|.+\.siard/" + _INNER, re.DOTALL | re.IGNORECASE)
_METADATA = f"/{metadata.NAME}".encode()
_FILED = re.compile(rb".+/" + _INNER, re.DOTALL)


Entries = ArchiveEntries[ZipExtent]
"""An archive's entries by their names."""

_WHOLE, _IN_PARTS, _UNPACKED = range(3)


class CompressedError(SourceError):
    """An archive is compressed in a zip file, and the message is why it is not inflated."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchiveForm:
    """An archive of the package: whole, in parts or unpacked.

    ``path`` is that of the .siard, also in parts, or of an unpacked archive's folder; ``files`` are those
    that METS lists: the .siard, its parts in their order, or the unpacked metadata.xml.
    """

    path: bytes
    files: tuple[bytes, ...]
    is_unpacked: bool = False


def is_named(path: bytes, *, filed: bool) -> bool:
    """Return whether a file has the name of an archive, of a part or of an archive's metadata.

    The folder of an unpacked archive may have any name where the METS has it filed as the archive.
    """
    return _NAMED.fullmatch(path) is not None or (filed and _FILED.fullmatch(path) is not None)


def listed(catalogue: Catalogue) -> Iterator[ArchiveForm]:
    """Yield the archives that METS documents list, with or without all of their files."""
    found = (_file(path) for (path,) in catalogue.all(_LISTED))
    for (path, kind), files in groupby(sorted(found), key=lambda each: each[:2]):
        yield ArchiveForm(path=path, files=tuple(each[3] for each in files), is_unpacked=kind == _UNPACKED)


def _file(path: bytes) -> tuple[bytes, int, int, bytes]:
    """Return a file's archive, the kind of it, the file's number in it, and the file."""
    if path.endswith(_METADATA):
        return path.removesuffix(_METADATA), _UNPACKED, 0, path
    number = _part(path)
    if number is None:
        return path, _WHOLE, 0, path
    return path.rpartition(b"_")[0], _IN_PARTS, number, path


def _part(path: bytes) -> int | None:
    """Return the number of a file among the parts of an archive, or None for any other file."""
    found = ARCHIVE_BYTES.fullmatch(path)
    return None if found is None or found[2] is None else int(found[2])


def is_there(catalogue: Catalogue, form: ArchiveForm) -> bool:
    """Return whether all files of an archive exist; a missing one has its finding elsewhere."""
    return all(map(catalogue.is_file, form.files))


def opened(
    form: ArchiveForm, catalogue: Catalogue, places: CheckedTree, budgets: Budgets, *, whole: bool
) -> ZipContainer | Unpacked:
    """Return an archive's open entries by name; the caller closes them.

    A compressed archive is inflated into a temporary file, where its bytes are to be read anyway (``whole``)
    and are within the budget. Raises ``SourceError`` and OSError as ``Container`` does, and
    ``CompressedError``.
    """
    if form.is_unpacked:
        return Unpacked(catalogue, places, form.path)
    numbers = [number for path in form.files if (number := _part(path)) is not None]
    for expected, number in enumerate(numbers, start=1):
        if number != expected:
            raise SourceError(
                f"the archive is in parts, and part {number:03d} is listed where {expected:03d} is expected",
                hint="All parts are needed, numbered from 001 without a gap (SIARD 2.2 S_8.2-0).",
            )
    medium = _medium(form, places, budgets, whole=whole)
    try:
        return ZipContainer(Path(str(medium.paths[0])), medium, budgets)
    except BaseException:
        medium.close()
        raise


def _medium(form: ArchiveForm, places: CheckedTree, budgets: Budgets, *, whole: bool) -> Medium:
    """Return the bytes of an archive's files as one; compressed ones are inflated to a file."""
    found = [places.location(path) for path in form.files]
    plain = [each for each in found if isinstance(each, FileBelow | FileRange)]
    if len(plain) == len(found):
        return Medium(plain)
    if not whole:
        raise CompressedError("it is inflated only where its bytes are read, at the level full")
    size = sum(_size(places, path) for path in form.files)
    if size > budgets.inflated:
        raise CompressedError(f"it has {size:,} bytes, more than {budgets.inflated:,} (--budget inflated=N)")
    try:
        return SpooledMedium([Path(str(each)) for each in found], _inflated(places, form.files))
    except sqlite3.Error as error:
        raise CompressedError(f"it cannot be kept in a temporary file: {error}") from error


def _size(places: CheckedTree, path: bytes) -> int:
    with places.content(path) as content:
        return content.size


def _inflated(places: CheckedTree, paths: Sequence[bytes]) -> Iterator[bytes]:
    for path in paths:
        with places.content(path) as content:
            yield from content.chunks()


def versions(catalogue: Catalogue, form: ArchiveForm, entries: Entries, version: str) -> Iterator[Finding]:
    """Yield findings if the SIARD version differs between metadata.xml and other places.

    These are the folder in header/siardversion/ and the TYPE in METS.
    """
    folders = {name.split("/")[2] for name in entries.names(_VERSIONS)} - {""}
    if folders and version not in folders:
        found = ", ".join(sorted(folders))
        yield Code.VERSION_FOLDER.at(form.path, 0, metadata.NAME, found=found, expected=version)
    for path, line, kind in catalogue.rows(_TYPES, form.files[0]):
        stated = _VERSION.search(kind or "")
        if stated is not None and stated[1] != version:
            yield Code.VERSION_LABEL.at(path, line, file=form.path, found=kind, expected=version)


class Unpacked:
    """An unpacked archive: the package's files below a folder in any tree, as its entries.

    Its extents have a size but no offset of bytes; ``crc`` is that of the path, to separate names.
    """

    def __init__(self, catalogue: Catalogue, places: CheckedTree, folder: bytes) -> None:
        self._catalogue = catalogue
        self._places = places
        self._prefix = folder + b"/"

    def columns(self, names: Sequence[str]) -> ExtentColumns | None:
        """Return the sizes of files, or None if one is missing."""
        found = [extent.size for extent in map(self.extent, names) if extent is not None]
        return (found, []) if len(found) == len(names) else None

    def extent(self, name: str) -> ZipExtent | None:
        """Return the file with exactly that name, or None without one."""
        path = self._path(name)
        row = self._catalogue.row("SELECT size FROM disk WHERE path = ? AND kind = 'f'", path)
        if row is None:
            return None
        (size,) = row
        where = {"offset": 0, "limit": 0, "compressed": size, "method": 0, "flags": 0}
        return ZipExtent(name=name, size=size, crc=zlib.crc32(path), **where)

    def names(self, prefix: str = "") -> Iterator[str]:
        """Yield the names that begin with ``prefix``, folders' too, sorted as bytes."""
        return (name for name, _ in self.sizes(prefix))

    def sizes(self, prefix: str = "") -> Iterator[tuple[str, int]]:
        """Yield the names that begin with ``prefix`` as ``names`` does, each with the file's bytes."""
        first = self._path(prefix)
        for path, size in self._catalogue.rows(_BELOW, first, first + b"\xff"):
            yield path[len(self._prefix) :].decode("utf-8", "surrogateescape"), size

    def contents(self, extent: ZipExtent) -> Iterator[bytes]:
        """Yield a file's bytes; raises ``SourceError`` when it is unreadable."""
        try:
            with self._places.content(self._path(extent.name)) as content:
                yield from content.chunks()
        except OSError as error:
            raise SourceError(f"{extent.name} cannot be read: {reason_of(error)}") from error

    def _path(self, name: str) -> bytes:
        return self._prefix + path_of((name,))

    def check_unchanged(self) -> None:
        """Return at once: a check reads the files as they are."""

    def close(self) -> None:
        """Return at once: no file is kept open."""
