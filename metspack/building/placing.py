"""Copy or link a segment's LOBs to their places and hash them, reading each byte once.

Placing a segment takes only its slice of the plan, so segments can be placed in any order
and by any number of processes with the same result.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import KW_ONLY, dataclass, field, replace
from itertools import islice, repeat
from pathlib import Path

from metspack.containers.ipwriter import Destination, Folder
from metspack.digests import Hashers
from metspack.errors import SourceError, TargetError
from metspack.files import reading, writing
from metspack.files.threads import ThreadedHashers
from metspack.layouts import Layout
from metspack.mets.filetable import ManifestLines, PlacedRun, algorithms
from metspack.model import LONGEST, FileExtent, LobRef, LobRun, Notice, Part
from metspack.planning import slices
from metspack.processes import Moved
from metspack.sizes import counted
from metspack.sources.lobstream import Contents, LobReader, OpenSources, Stated, digested, what, where


def link_words(linked: int, lobs: int) -> Iterator[Notice]:
    """Yield a warning on the effect of hard links, if any; ``linked`` of all LOBs are such."""
    if linked:
        others = lobs - linked
        copied = f", {counted(others, 'other was', 'others were')} copied" if others else ""
        yield Notice(
            "lob-hard-linked",
            f"{counted(linked, 'LOB')} hard-linked to the files of the source{copied}: a later edit "
            "of such a file is an edit of the package too",
        )


def planned_links(work: Path, segments: Iterable[int], device: int) -> tuple[int, int]:
    """Return number and bytes of the LOBs in segments that can be hard-linked: whole files.

    ``work`` holds the slices, ``device`` is that of the target. Raises ``TargetError`` for a whole file on
    another device.
    """
    lobs = size = 0
    for number in segments:
        for run in slices.runs(slices.path(work, number)):
            if run.part is not None or run.lob(0).file is None:
                continue
            devices = run.extents[-1]
            if devices.count(device) != len(devices):
                lob = run.lob(next(at for at, each in enumerate(devices) if each != device))
                raise TargetError(
                    f"{what(lob)} lies on another file system than the target, and a hard link cannot lead "
                    "there",
                    hint="Choose a target on the file system of the LOBs, or leave --link-mode hardlink out, "
                    "and they are copied.",
                )
            lobs += len(run)
            size += run.bytes
    return lobs, size


def place_together(
    listed: PlacedRun,
    stated: Stated,
    contents: Contents,
    checksum: str,
    *,
    put: Callable[[str, bytes | memoryview], None] | None,
    moved: Moved,
    apart: Callable[[int], Hashers],
) -> PlacedRun:
    """Place files in their order and return them with digests; small ones are proven together.

    ``stated`` has the stated digests by algorithm, which the bytes must have. ``checksum`` is the algorithm
    in METS. ``put`` writes bytes at a path; it is None where they are there already. A file whose bytes are
    missing or differ is placed singly: ``apart`` gets its number, and reports the reason.
    """
    kept = algorithms(checksum)
    sizes = list(listed.size)
    digests: list[list[str]] = []
    for number, proven in enumerate(digested(contents, listed.size, stated, kept)):
        if proven is not None:
            data, found = proven
            if put is not None:
                put(listed.path[number], data)
            digests.append(found[: len(kept)])
            moved(len(data))
            continue
        hashers = apart(number)
        sizes[number] = hashers.size
        digests.append([hashers.digest(name).value for name in kept])
    values = dict(zip(kept, zip(*digests, strict=True), strict=True))
    return replace(listed, size=sizes, checksum=values[checksum], md5=values["MD5"], sha256=values["SHA-256"])


@dataclass(slots=True)
class Placing:
    """Copies LOBs and parts of LOBs to their places in order, hashing each byte once.

    The parts of a LOB are placed in order and by one ``Placing``, so that the whole is read once.
    ``checksum`` is the algorithm in METS; each file also gets the digests of the manifests, and each whole
    LOB those of ``algorithms``. ``moved`` is called with numbers of bytes copied; ``ended`` with the reader
    of each proven LOB, except LOBs of runs that agree with their cells; ``joined`` also with that of a LOB in
    parts. With ``links`` whole files become hard links in folders, and are still read and proven. With
    ``is_resumed`` an earlier run may have placed the first parts of the first LOB.
    """

    sources: OpenSources
    layout: Layout
    _: KW_ONLY
    checksum: str
    algorithms: tuple[str, ...] = ()
    accepted: frozenset[str] = frozenset()
    moved: Moved
    ended: Callable[[LobReader], object] = lambda _: None
    joined: Callable[[LobReader], object] = lambda _: None
    links: bool = False
    is_resumed: bool = False
    _split: LobReader | None = field(default=None, init=False)

    def place(self, runs: Iterable[LobRun], segment: Destination | None) -> Iterator[PlacedRun]:
        """Place LOBs and parts in a segment; yield the files of a run once all are written.

        Without a segment the files are only read: they stay where they are.
        Raises ``SourceError`` for a LOB that contradicts its source or its cell, ``TargetError``
        where writing fails.
        """
        return (self._place_run(run, segment) for run in runs)

    def _place_run(self, run: LobRun, segment: Destination | None) -> PlacedRun:
        """Place a run's LOBs together, and each that fails its proof singly, to report why."""
        shared, part, number = run.shared, run.part, len(run)
        paths = lob_paths(self.layout, run)
        links = self._link_folder(segment) if shared.folders is not None else None
        contents: Contents = repeat(None, number)
        # Other LOBs are placed singly: they need digests for cells, or are in parts.
        adds_digests = bool(self.algorithms) and shared.digest is None
        if not adds_digests and not run.is_apart:
            contents = (
                self.sources.small_contents(run) if links is None else self._link_run(run, paths, links)
            )

        def apart(number: int) -> Hashers:
            if links is not None:
                links.take_back(paths[number])
            return self._place_apart(run.lob(number), part, paths[number], segment)

        # A part of a LOB is no file of its format: only the whole has a media type.
        kind = shared.mets_type if part is None else shared.media_type
        listed = PlacedRun(
            id=run.ids(),
            path=paths,
            size=run.sizes,
            media_type=[kind] * number,
            part_of=[] if part is None else [run.place.id],
            sequence=[] if part is None else [part.number],
        )
        return place_together(
            listed,
            run.stated,
            contents,
            self.checksum,
            put=None if segment is None or links is not None else segment.put_small,
            moved=self.moved,
            apart=apart,
        )

    def _link_folder(self, segment: Destination | None) -> Folder | None:
        """Return the segment if whole files are linked into it, else None."""
        return segment if self.links and isinstance(segment, Folder) else None

    def _link_run(self, run: LobRun, paths: Sequence[str], segment: Folder) -> Contents:
        """Link the files of a run to their places and return their bytes, read there.

        The hashed bytes are thus those in the package, even when the name in the source changes.
        """
        shared, names = run.shared, run.extents[0]
        try:
            with self.sources.open_folder(shared.source, shared.folders or ()) as folder:
                for path, name in zip(paths, names, strict=True):
                    segment.link(path, folder, name)
        except OSError:  # placing each LOB singly reports why
            return repeat(None, len(run))
        folder_path = segment.root / paths[0].rpartition("/")[0]
        here = (path.rpartition("/")[2] for path in paths)
        return self.sources.linked_contents(run, folder_path, here, seen=writing.sync_file)

    def _place_apart(self, lob: LobRef, part: Part | None, path: str, segment: Destination | None) -> Hashers:
        """Place a LOB or a part of it by itself, and return the digests of the file."""
        if part is not None:
            return self._place_part(lob, part, path, segment)
        wanted = (*algorithms(self.checksum), *self.algorithms)
        reader = LobReader(lob, self.sources, wanted, self.accepted)
        folder, file = self._link_folder(segment), lob.file
        if folder is None or file is None:
            _put(segment, path, self._passing(reader), lob.size)
        else:
            self._link(reader, file, path, folder)
        self.ended(reader)
        return reader.hashers

    def _link(self, reader: LobReader, file: FileExtent, path: str, folder: Folder) -> None:
        """Link a file, read it where it was found, and check that the link leads to this file."""
        try:
            with suppress(OSError), self.sources.open_folder(file.root, file.path[:-1]) as source:
                folder.link(path, source, file.path[-1])
            _put(None, path, self._passing(reader), 0)  # also reports why there is nothing to link
            _check_link(file, folder, path)
        except BaseException:
            folder.take_back(path)
            raise

    def _passing(
        self,
        reader: LobReader,
        size: int | None = None,
        hashers: Hashers | None = None,
        *,
        is_last: bool = True,
    ) -> Iterator[bytes]:
        """Yield the next ``size`` bytes of a LOB, the last ones before the LOB is proven."""
        for block in reader.portion(size):
            if hashers is not None:
                hashers.update(block)
            yield block
            self.moved(len(block))
        if is_last:
            reader.end()

    def _place_part(self, lob: LobRef, part: Part, path: str, segment: Destination | None) -> Hashers:
        if part.number == 0 or self.is_resumed:
            wanted = (self.checksum, *self.algorithms)
            self._split = LobReader(lob, self.sources, wanted, self.accepted)
            for _ in self._split.portion(part.offset):  # the parts before it are in their places already
                pass
        self.is_resumed = False
        reader = self._split
        if reader is None or reader.lob != lob:
            raise AssertionError(f"part {part.number} of {lob.place.id} does not follow the one before it")
        hashers = ThreadedHashers(algorithms(self.checksum))
        _put(segment, path, self._passing(reader, part.size, hashers, is_last=part.is_last), part.size)
        if part.is_last:
            self._split = None
            self.ended(reader)
            self.joined(reader)
        return hashers


def _put(segment: Destination | None, path: str, blocks: Iterable[bytes], size: int) -> None:
    """Put a file into a segment or, without one, only read its bytes, which proves them."""
    if segment is not None:
        segment.put(path, blocks, size)
        return
    for _ in blocks:
        pass


def _check_link(file: FileExtent, folder: Folder, path: str) -> None:
    """Sync a linked file to disk; raise ``SourceError`` unless it is the file that was read."""
    found = reading.Stamp(size=file.size, modified=file.modified, inode=file.inode, device=file.device)
    try:
        place = folder.root / path
        with reading.opening(folder.root, path.split("/")) as descriptor, writing.explained(place):
            is_same = reading.Stamp.of(descriptor) == found
            writing.sync_file(descriptor)
    except OSError:
        is_same = False
    if not is_same:
        raise SourceError(
            f"the file {where(file)} was changed while it was read",
            hint="Wait until nothing else writes to it and start again.",
        )


def lob_paths(layout: Layout, run: LobRun) -> list[str]:
    """Return the paths of LOBs, or of a part of one, in their segment."""
    end = "" if run.part is None else layout.part_suffix(run.part)
    paths = run.paths or layout.lob_paths(run.place, run.rows, run.shared.extension)
    return [path + end for path in paths]


def fragment(work: Path, number: int, algorithm: str) -> Path:
    """Return the path of a segment's lines of a manifest."""
    return work / f"manifest-{number}.{algorithm}"


def write_manifest_fragments(
    placements: ManifestLines, folder: str, work: Path, number: int, files: Mapping[str, Hashers]
) -> None:
    """Write the lines of both manifests for a segment's files, sorted by path, into ``work``.

    ``folder`` is that of the placed files below the package's root (with a slash at its end, or "");
    ``files`` are others of the segment, by their paths below the root.
    """
    others = sorted(
        (path, each.digest("MD5").value, each.digest("SHA-256").value) for path, each in files.items()
    )
    with (
        closing(placements.manifest_rows()) as rows,
        writing.NewFile(fragment(work, number, "MD5")) as md5,
        writing.NewFile(fragment(work, number, "SHA-256")) as sha256,
    ):
        placed = ((f"{folder}{path}", value, other) for path, value, other in rows)
        write_lines(heapq.merge(placed, others), md5, sha256)


def write_lines(rows: Iterable[tuple[str, str, str]], md5: writing.NewFile, sha256: writing.NewFile) -> None:
    """Write lines of both manifests for files that are given by path, MD5 and SHA-256."""
    found = iter(rows)
    while batch := list(islice(found, LONGEST)):
        md5.write(b"".join([manifest_line(value, path) for path, value, _ in batch]))
        sha256.write(b"".join([manifest_line(value, path) for path, _, value in batch]))


def manifest_line(digest: str, path: str) -> bytes:
    """Return one line as ``md5sum -c`` and ``sha256sum -c`` read it: hex, two spaces, path."""
    return f"{digest}  {path}\n".encode()
