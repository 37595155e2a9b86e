"""Folders whose LOBs lie in segments already: their files, by segment and by LOB.

Paths are relative to the folder, with ``/``. What is known of each file is kept on disk.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import closing
from itertools import pairwise
from pathlib import Path

from metspack import uris
from metspack.digests import is_manifest
from metspack.errors import SourceError
from metspack.files import tempdb, walking
from metspack.files.walking import Entry
from metspack.layouts.names import ARCHIVE, LOBS, LOBSEG, SEG
from metspack.mets import PLAIN_METS, is_mets_name
from metspack.mets.ids import ncname
from metspack.model import FileExtent
from metspack.siard import metadata
from metspack.uris import ReferenceRefused, shown
from metspack.values import dataclass

_LISTED = 100
_WHAT = "the files of the folder"


@dataclass(frozen=True, slots=True, kw_only=True)
class SegmentFolder:
    """A segment's folder, and the number in its name among those of its ``series`` (None without one).

    ``word`` names it in ids: ``Northwind_s0_t2_c4_seg_0``.
    """

    path: str
    series: str
    number: int | None
    word: str


def segment_folder(path: str) -> SegmentFolder | None:
    """Return the segment that a file belongs to by its path, None for one in the root itself.

    ``*_lobseg_<n>`` and ``*_lobs/<column>/seg_<n>`` are known by their names; else it is the first
    folder of the path.
    """
    first, *below = path.split("/")
    if not below:
        return None
    if found := LOBSEG.fullmatch(first):
        return SegmentFolder(path=first, series=found[1], number=int(found[2]), word=ncname(first))
    lobs = LOBS.fullmatch(first)
    if lobs and len(below) > 2 and (found := SEG.fullmatch(below[1])):  # noqa: PLR2004 -- and a file in it
        return SegmentFolder(
            path=f"{first}/{below[0]}/{below[1]}",
            series=f"{first}/{below[0]}/{found[1]}",
            number=int(found[2]),
            word=ncname(f"{lobs[1]}_{below[0]}_{below[1]}"),
        )
    return SegmentFolder(path=first, series=first, number=None, word=ncname(first))


class SegmentedFolder(tempdb.Scratch):
    """The files below a folder as they were when it was looked through; a context manager.

    ``root`` is absolute. Raises ``SourceError`` for what is neither file nor folder, and for names that no
    METS can hold.
    """

    def __init__(self, root: Path) -> None:
        self.root = root
        super().__init__()
        try:
            with tempdb.explained(_WHAT), closing(walking.entries(root)) as found:
                self._database.execute(
                    "CREATE TABLE file "
                    "(path TEXT, segment TEXT, size INTEGER, modified INTEGER, inode TEXT, device TEXT, "
                    "lob TEXT)"
                )
                self._database.execute("BEGIN")
                self._database.executemany(
                    "INSERT INTO file VALUES (?, ?, ?, ?, ?, ?, NULL)", self._rows(found)
                )
                # An index made at the end is sorted in one go.
                self._database.execute("CREATE UNIQUE INDEX file_path ON file (path)")
        except BaseException:
            self.close()
            raise

    def _rows(self, found: Iterable[Entry]) -> Iterator[tuple[str, str | None, int, int, str, str]]:
        for entry in found:
            if entry.stamp is None:
                continue
            try:
                uris.quoted(entry.path)
            except ReferenceRefused as refused:
                raise SourceError(f"{self.root}: {refused.message}", hint=refused.hint) from None
            path = "/".join(entry.path)
            segment = segment_folder(path)
            # An inode may have 64 bits, one more than SQLite's integers.
            stamp = entry.stamp
            yield (
                path,
                None if segment is None else segment.path,
                stamp.size,
                stamp.modified,
                str(stamp.inode),
                str(stamp.device),
            )

    def descriptions(self) -> list[str]:
        """Return the METS documents and manifests in the folder, sorted, up to a hundred."""
        sql = (
            "SELECT path FROM file WHERE lower(path) = ?1 OR lower(path) LIKE '%/' || ?1 "
            "OR path LIKE 'manifest-%' ORDER BY path"
        )
        names = (
            path
            for (path,) in self._database.execute(sql, (PLAIN_METS,))
            if is_mets_name(path) or is_manifest(path)
        )
        return [path for path, _ in zip(names, range(_LISTED), strict=False)]

    def archives(self) -> list[str]:
        """Return the names of the SIARD archives in the root: files, the wholes of parts, unpacked ones."""
        sql = "SELECT path FROM file WHERE segment IS NULL OR path LIKE '%/' || ? ORDER BY path"
        names: dict[str, None] = {}
        for (path,) in self._database.execute(sql, (metadata.NAME,)):
            folder, _, below = path.partition("/")
            if below == metadata.NAME:
                names[folder] = None
            elif not below and (found := ARCHIVE.fullmatch(path)):
                names[found[1]] = None
        return list(names)

    def set_apart(self, archive: str) -> None:
        """Take the files that an archive is, whole or in parts or unpacked, out of the segments."""
        sql = "SELECT path FROM file WHERE segment IS NULL"
        own = [
            (path,)
            for (path,) in self._database.execute(sql)
            if (found := ARCHIVE.fullmatch(path)) and found[1] == archive
        ]
        below = f"{archive}/"
        self._database.executemany("UPDATE file SET lob = '' WHERE path = ?", own)
        self._database.execute(
            "UPDATE file SET lob = '', segment = NULL WHERE substr(path, 1, ?) = ?", (len(below), below)
        )

    def claim(self, path: str, lob: str) -> str:
        """Record that a file holds a LOB or a part of one; return the first LOB that was recorded for it.

        "" for the archive's own files. Raises ``SourceError`` for a file in the root, and for one that was
        not there.
        """
        row = self._database.execute("SELECT segment, lob FROM file WHERE path = ?", (path,)).fetchone()
        if row is None:
            raise self._changed(f"{shown(path)} was added")
        segment, first = row
        if first is not None:
            return str(first)
        if segment is None:
            raise SourceError(
                f"{self.root}: the LOB {lob} is {shown(path)}, which lies in no folder; expected a segment's",
                hint="A child METS describes a folder. Make a package elsewhere: metspack build -o OUT.",
            )
        self._database.execute("UPDATE file SET lob = ? WHERE path = ?", (lob, path))
        return lob

    def segments(self) -> list[SegmentFolder]:
        """Return the segments, by series and number, once all LOBs have claimed their files.

        A file among the folders of segments and in none of them (``x_lobs/notes.txt``) belongs to none,
        unless it is a LOB: then all of ``x_lobs`` is one. Raises ``SourceError`` for gaps in the numbers.
        """
        for (first,) in self._database.execute(_UNDIVIDED).fetchall():
            if not LOBS.fullmatch(first) or not self._divided(first):
                continue
            if self._database.execute(_HAS_LOBS, (first,)).fetchone() is None:
                self._database.execute("UPDATE file SET segment = NULL WHERE segment = ?", (first,))
            else:
                within = (first, len(first) + 1, f"{first}/")
                self._database.execute("UPDATE file SET segment = ? WHERE substr(path, 1, ?) = ?", within)
        found = [
            each
            for (path,) in self._database.execute(_SEGMENTS)
            if (each := segment_folder(f"{path}/x")) is not None  # it is, with a file in it
        ]
        found.sort(key=lambda each: (each.series, each.number or 0))
        self._check_numbers(found)
        return found

    def _divided(self, first: str) -> bool:
        bounds = (f"{first}/", f"{first}0")  # 0 is the character after the slash
        sql = "SELECT 1 FROM file WHERE segment > ? AND segment < ? LIMIT 1"
        return self._database.execute(sql, bounds).fetchone() is not None

    def _check_numbers(self, segments: Iterable[SegmentFolder]) -> None:
        for before, after in pairwise(segments):
            if before.series != after.series or before.number is None or after.number is None:
                continue
            if after.number > before.number + 1:
                raise SourceError(
                    f"{self.root}: segment {before.number + 1} is missing between {shown(before.path)} and "
                    f"{shown(after.path)}",
                    hint="Find the missing folder: a package's segments are numbered without gaps.",
                )
            if after.number == before.number:
                raise SourceError(
                    f"{self.root}: {shown(before.path)} and {shown(after.path)} have the same number",
                    hint="Each segment has a number of its own.",
                )

    def segment_of(self, path: str) -> str:
        """Return the folder of the segment that a file is in."""
        (found,) = self._database.execute("SELECT segment FROM file WHERE path = ?", (path,)).fetchone()
        return str(found)

    def archive_files(self) -> Iterator[FileExtent]:
        """Yield the files that the archive is, sorted by their paths."""
        return self._extents("lob = ''")

    def unnamed(self) -> Iterator[FileExtent]:
        """Yield the files in segments that no LOB claimed, sorted by their paths."""
        return self._extents("lob IS NULL AND segment IS NOT NULL")

    def others(self) -> Iterator[FileExtent]:
        """Yield the files that are neither the archive's nor in a segment, sorted by their paths."""
        return self._extents("lob IS NULL AND segment IS NULL")

    def _extents(self, which: str) -> Iterator[FileExtent]:
        sql = f"SELECT path, size, modified, inode, device FROM file WHERE {which} ORDER BY path"  # noqa: S608 -- ours
        for path, size, modified, inode, device in self._database.execute(sql):
            names = tuple(path.split("/"))
            yield FileExtent(
                root=0, path=names, size=size, modified=modified, inode=int(inode), device=int(device)
            )

    def amounts(self) -> tuple[int, int]:
        """Return the number of files and the sum of their bytes."""
        files, size = self._database.execute("SELECT count(*), coalesce(sum(size), 0) FROM file").fetchone()
        return int(files), int(size)

    def check_unchanged(self) -> None:
        """Raise ``SourceError`` when files below the folder were added, removed or changed since."""
        seen = 0
        with closing(walking.entries(self.root)) as found:
            for path, _, *stamp in self._rows(found):
                row = self._database.execute(
                    "SELECT size, modified, inode, device FROM file WHERE path = ?", (path,)
                ).fetchone()
                if row is None:
                    raise self._changed(f"{shown(path)} was added")
                if list(row) != stamp:
                    raise self._changed(f"{shown(path)} was changed")
                seen += 1
        if seen != (files := self.amounts()[0]):
            raise self._changed(f"{files - seen:,} of {files:,} files are gone")

    def _changed(self, what: str) -> SourceError:
        return SourceError(
            f"{self.root}: was changed while it was read: {what}",
            hint="Start again when nothing writes to it any more.",
        )


_SEGMENTS = "SELECT DISTINCT segment FROM file WHERE segment IS NOT NULL"
_UNDIVIDED = f"{_SEGMENTS} AND instr(segment, '/') = 0"
_HAS_LOBS = "SELECT 1 FROM file WHERE segment = ? AND lob IS NOT NULL LIMIT 1"
