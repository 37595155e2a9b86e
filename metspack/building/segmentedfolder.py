"""List the files of a folder divided into segments, and compare its LOBs in place.

Paths are relative to the folder, with ``/``. The facts on each file are kept on disk.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, replace
from itertools import chain, groupby, pairwise
from pathlib import Path

from metspack import uris
from metspack.building.placing import Placing
from metspack.building.segments import (
    PARTS,
    WHOLES,
    json_line,
    notes_path,
    remarks,
    whole_line,
)
from metspack.digests import Hashers, is_manifest
from metspack.errors import SourceError
from metspack.files import reading, tempdb, walking, writing
from metspack.files.reading import Stamp
from metspack.files.staging import Partial
from metspack.files.threads import ThreadedHashers
from metspack.files.walking import Entry
from metspack.layouts import lobseg
from metspack.layouts.names import ARCHIVE, LOBS, LOBSEG, SEG
from metspack.locations import splitparts
from metspack.mets import filetable, is_mets_name
from metspack.mets.filetable import PlacedRun
from metspack.mets.ids import ncname
from metspack.model import FileExtent, LobRef, LobRun, Part, ZipExtent
from metspack.planning import slices
from metspack.planning.sharedlobs import Sharing
from metspack.progress import Progress
from metspack.siard import entries, metadata
from metspack.sources.archive import Archive, extension_of, in_runs
from metspack.sources.lobstream import OpenSources, what
from metspack.sources.mediatypes import media_type
from metspack.system import os
from metspack.uris import ReferenceRefused, shown

_FILES = "the files of the folder"


@dataclass(frozen=True, slots=True, kw_only=True)
class SegmentFolder:
    """A segment's folder, with its ``series`` and the number in its name, or None.

    ``word`` stands for it in ids: ``Northwind_s0_t2_c4_seg_0``.
    """

    path: str
    series: str
    number: int | None
    word: str


def segment_folder(path: str) -> SegmentFolder | None:
    """Return the segment of a file by its path, or None for a file in the root.

    Folders ``*_lobseg_<n>`` and ``*_lobs/<column>/seg_<n>`` are segments by their names; else the segment is
    the first folder of the path.
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
    """The files below a folder, as listed at the start; a context manager.

    ``root`` is absolute. Raises ``SourceError`` for entries that are neither file nor folder, and for names
    that no METS can hold.
    """

    def __init__(self, root: Path) -> None:
        self.root = root
        super().__init__(
            "CREATE TABLE file (path TEXT, segment TEXT, size INTEGER, stamp TEXT, lob TEXT)", "BEGIN"
        )
        try:
            with tempdb.explained(_FILES), closing(walking.entries(root)) as found:
                self._database.executemany("INSERT INTO file VALUES (?, ?, ?, ?, NULL)", self._rows(found))
                # An index made at the end is sorted in one go.
                self._database.execute("CREATE UNIQUE INDEX file_path ON file (path)")
        except BaseException:
            self.close()
            raise

    def _rows(self, found: Iterable[Entry]) -> Iterator[tuple[str, str | None, int, str]]:
        for names, stamp in found:
            if stamp is None:
                continue
            try:
                uris.quoted(names)
            except ReferenceRefused as refused:
                raise SourceError(f"{self.root}: {refused.message}", hint=refused.hint) from None
            path = "/".join(names)
            segment = segment_folder(path)
            # An inode may have 64 bits, one more than SQLite's integers.
            yield path, None if segment is None else segment.path, stamp.size, json.dumps(stamp)

    def archives(self) -> list[str]:
        """Return the names of the SIARD archives in the root: whole, in parts or unpacked."""
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
        """Take the files of an archive, whole, in parts or unpacked, out of the segments."""
        sql = "SELECT path FROM file WHERE segment IS NULL"
        files = [
            (path,)
            for (path,) in self._database.execute(sql)
            if (found := ARCHIVE.fullmatch(path)) and found[1] == archive
        ]
        below = f"{archive}/"
        self._database.executemany("UPDATE file SET lob = '' WHERE path = ?", files)
        self._database.execute(
            "UPDATE file SET lob = '', segment = NULL WHERE substr(path, 1, ?) = ?", (len(below), below)
        )

    def claim(self, path: str, lob: str) -> str:
        """Record that a file belongs to a LOB; return the first LOB recorded for the file.

        The result is "" for a file of the archive. Raises ``SourceError`` for a file in the root, and for one
        that was missing when the files were listed.
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

        A file beside the folders of segments (``x_lobs/notes.txt``) is in no segment, unless it is a LOB:
        then all of ``x_lobs`` is one. Raises ``SourceError`` for gaps and repetitions in the numbers.
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
            if (each := segment_folder(f"{path}/x")) is not None  # true for the path of a file
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
                    hint="Give each segment folder another number.",
                )

    def segment_of(self, path: str) -> str:
        """Return the folder of the segment that a file is in."""
        (found,) = self._database.execute("SELECT segment FROM file WHERE path = ?", (path,)).fetchone()
        return str(found)

    def archive_files(self) -> Iterator[FileExtent]:
        """Yield the files of the archive, sorted by their paths."""
        return self._extents("lob = ''")

    def unnamed(self) -> Iterator[FileExtent]:
        """Yield the files in segments that no LOB claimed, sorted by their paths."""
        return self._extents("lob IS NULL AND segment IS NOT NULL")

    def others(self) -> Iterator[FileExtent]:
        """Yield the files that are neither the archive's nor in a segment, sorted by their paths."""
        return self._extents("lob IS NULL AND segment IS NULL")

    def _extents(self, which: str) -> Iterator[FileExtent]:
        sql = f"SELECT path, stamp FROM file WHERE {which} ORDER BY path"  # noqa: S608 -- ours
        for path, stamp in self._database.execute(sql):
            yield FileExtent(root=0, path=tuple(path.split("/")), **Stamp(*json.loads(stamp))._asdict())

    def amounts(self) -> tuple[int, int]:
        """Return the number of files and the sum of their bytes."""
        files, size = self._database.execute("SELECT count(*), coalesce(sum(size), 0) FROM file").fetchone()
        return int(files), int(size)

    def check_unchanged(self) -> None:
        """Raise ``SourceError`` when files were added, removed or changed after their listing."""
        seen = 0
        with closing(walking.entries(self.root)) as found:
            for path, _, _, stamp in self._rows(found):
                row = self.row("SELECT stamp FROM file WHERE path = ?", path)
                if row is None:
                    raise self._changed(f"{shown(path)} was added")
                if row != (stamp,):
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


_LOBS = "the LOBs of the folder"
_LISTED, _AGAIN = 0, 1  # the slices: LOBs to be listed, and those only to be compared with their cells
_EXAMPLES = 3


class SegmentedLobs(tempdb.Scratch):
    """LOBs and other files of a folder's segments, kept on disk; a context manager.

    ``find`` finds the LOBs of all cells, ``read`` reads all files of the segments; the other methods return
    the results. ``notes`` counts LOBs by the warning about them. ``lobs`` are those in segments, with
    ``bytes``, ``inside`` those inside the archive; ``shared`` counts cells whose file an earlier cell names,
    ``example`` is the first such pair; ``unnamed`` counts the files that no cell names, ``strangers`` are the
    first of them.
    """

    def __init__(self, archive: Archive, folder: SegmentedFolder, checksum: str) -> None:
        self._archive = archive
        self._folder = folder
        self._checksum = checksum
        self._prefixes: dict[int, str] = {}
        self.inside = self.undigested = self.bytes = self.lobs = self.shared = self.unnamed = 0
        self.example = ("", "")
        self.strangers: list[str] = []
        self.notes: Counter[str] = Counter()
        super().__init__(
            "CREATE TABLE placed (n INTEGER PRIMARY KEY, segment TEXT, files TEXT)",
            "BEGIN",
        )

    def find(self, staging: Partial) -> None:
        """Find the LOBs of all cells, inside the archive or in files of the folder.

        Raises ``SourceError`` for a LOB elsewhere, and for one that has some parts of another LOB.
        """
        with (
            Sharing() as sharing,
            slices.Slice(slices.path(staging.work, _LISTED)) as listed,
            slices.Slice(slices.path(staging.work, _AGAIN)) as again,
        ):
            for is_apart, lobs in groupby(self._claimed(sharing, again), _is_split):
                for run in chain.from_iterable(map(_parts, lobs)) if is_apart else in_runs(lobs):
                    listed.add(run)

    def _claimed(self, sharing: Sharing, again: slices.Slice) -> Iterator[LobRef]:
        """Yield the LOBs that have claimed their files; those whose files others have go ``again``."""
        for run in self._archive.lob_runs():
            if run.entries:
                self.inside += len(run)
                continue
            self.undigested += len(run) if run.shared.digest is None else 0
            for lob, is_first in zip(run.lobs(), sharing.are_first(run, ""), strict=True):
                paths = [self._path(lob, extent) for extent in lob.extents]
                if not is_first:
                    self._share(sharing.first(lob.place.id) or "", lob)
                    continue
                claimed = {self._folder.claim(path, lob.place.id) for path in paths}
                if claimed == {lob.place.id}:
                    self.lobs += 1
                    self.bytes += lob.size
                    yield lob
                elif claimed == {""}:
                    self.inside += 1
                elif len(claimed) == 1:
                    self._share(claimed.pop(), lob)
                    again.add(LobRun.of([lob]))
                else:
                    others = ", ".join(sorted(claimed - {lob.place.id}))
                    raise SourceError(
                        f"{what(lob)} has parts that belong to another LOB as well ({others})",
                        hint="Two cells name the same parts; find out which is right.",
                    )

    def _share(self, first: str, lob: LobRef) -> None:
        self.shared += 1
        if self.shared == 1:
            self.example = (first, lob.place.id)

    def _path(self, lob: LobRef, extent: FileExtent | ZipExtent) -> str:
        """Return the path of a LOB's file below the folder; raises ``SourceError`` for others."""
        if isinstance(extent, ZipExtent):
            raise SourceError(
                f"{what(lob)} lies in a packed segment; in place only folders can be described",
                hint="Put its folder in its place, or make a package elsewhere: metspack build -o OUT.",
            )
        prefix = self._prefixes.get(extent.root)
        if prefix is None:
            root = os.path.realpath(self._archive.resolver.roots[extent.root])
            prefix = self._prefixes[extent.root] = os.path.relpath(root, self._folder.root)
        path = os.path.normpath(os.path.join(prefix, *extent.path)).replace(os.sep, "/")
        if path.startswith("../"):
            raise SourceError(
                f"{what(lob)} lies outside {self._folder.root}",
                hint="All LOBs of a package lie in its folder: move it there, or make a package elsewhere "
                "that holds a copy: metspack build -o OUT.",
            )
        return path

    def read(
        self, staging: Partial, accepted: frozenset[str], progress: Progress, objids: Mapping[str, str]
    ) -> None:
        """Read all files of the segments once: LOBs in the order of their cells, then others.

        Split LOBs and their parts are noted, with the ``objids`` of the segments' folders. Raises
        ``SourceError`` for a LOB that contradicts its cell, and for changed files.
        """
        work = staging.work
        with (
            OpenSources(self._archive.byte_sources()) as sources,
            tempdb.explained(_LOBS),
            writing.NewFile(notes_path(work, WHOLES, 0)) as wholes,
            writing.NewFile(notes_path(work, PARTS, 0)) as parts,
        ):
            placing = Placing(
                sources,
                lobseg.LAYOUT,
                checksum=self._checksum,
                accepted=accepted,
                moved=progress.advance,
                ended=lambda reader: self.notes.update(remarks(reader)),
                joined=lambda reader: wholes.write(whole_line(reader, self._checksum)),
            )
            for run in slices.runs(slices.path(work, _LISTED)):
                (placed,) = placing.place([run], None)
                segment = self._take(replace(placed, path=self._paths(run)))
                for lob, part in zip(placed.part_of, placed.id, strict=False):
                    parts.write(json_line(lob, part, objids[segment]))
            placing.moved = lambda _: None  # the files of the others are read already
            for _ in placing.place(slices.runs(slices.path(work, _AGAIN)), None):
                pass
            sources.check_unchanged()
            for extent in self._folder.unnamed():
                self._read_unnamed(extent, progress)
            self._database.execute("CREATE INDEX placed_segment ON placed (segment, n)")

    def _paths(self, run: LobRun) -> list[str]:
        """Return the path of each LOB's file, or of that of the part, below the folder."""
        number = 0 if run.part is None else run.part.number
        return [self._path(lob, lob.extents[number]) for lob in run.lobs()]

    def _read_unnamed(self, extent: FileExtent, progress: Progress) -> None:
        self.unnamed += 1
        # No LOB's id begins so: theirs are s<schema>.t<table>...
        file, _ = self.read_whole(extent, f"unreferenced.{self.unnamed}", progress)
        if self.unnamed <= _EXAMPLES:
            self.strangers += file.path
        self._take(file)

    def read_whole(
        self, extent: FileExtent, identifier: str, progress: Progress
    ) -> tuple[PlacedRun, Hashers]:
        """Read a file that is not a LOB; return it with its path below the folder, and its digests."""
        hashers = ThreadedHashers(filetable.algorithms(self._checksum))
        hashers.take(reading.with_progress(entries.contents(self._folder.root, extent), progress.advance))
        path = "/".join(extent.path)
        kind = media_type(None, extension_of(path))
        return filetable.placed_file(identifier, path, kind, hashers, self._checksum), hashers

    def _take(self, run: PlacedRun) -> str:
        """Keep files of one folder; return the folder of their segment."""
        segment = self._folder.segment_of(run.path[0])
        inner = replace(run, path=[path[len(segment) + 1 :] for path in run.path])
        sql = "INSERT INTO placed (segment, files) VALUES (?, ?)"
        self._database.execute(sql, (segment, filetable.text_of(inner)))
        return segment

    def files(self, segment: str) -> Iterator[PlacedRun]:
        """Yield a segment's files: LOBs and parts in the order of cells, then others by path."""
        sql = "SELECT files FROM placed WHERE segment = ? ORDER BY n"
        for (files,) in self._database.execute(sql, (segment,)):
            yield filetable.placed_of(files)

    def turns(self) -> dict[str, int]:
        """Return the segments, each with the number of its first file in reading order."""
        return dict(self._database.execute("SELECT segment, min(n) FROM placed GROUP BY segment"))


def _parts(lob: LobRef) -> Iterator[LobRun]:
    """Yield the parts of a LOB, each a file."""
    run, offset = LobRun.of([lob]), 0
    for number, extent in enumerate(lob.extents):
        end = offset + extent.size
        yield replace(run, part=Part(number=number, offset=offset, size=extent.size, is_last=end == lob.size))
        offset = end


def _is_split(lob: LobRef) -> bool:
    """Return whether a LOB is in parts; a single part is recognised by its name."""
    extent = lob.extents[0]
    if len(lob.extents) > 1 or isinstance(extent, ZipExtent):
        return len(lob.extents) > 1
    name, whole = extent.path[-1], uris.parsed(lob.cell.file).segments[-1]
    return name.startswith(whole) and splitparts.is_first(name[len(whole) :])


def descriptions(root: Path) -> Iterator[str]:
    """Yield the paths of a folder's METS and manifests; raises OSError if unreadable."""

    def fail(error: OSError) -> None:
        raise error

    for folder, _, names in os.walk(root, onerror=fail):
        for name in names:
            path = os.path.relpath(os.path.join(folder, name), root).replace(os.sep, "/")
            if is_mets_name(name) or is_manifest(path):
                yield path
