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
from metspack.digests import MANIFEST_ALGORITHMS, OCTETS, Hashers, digest_function
from metspack.errors import SourceError, TargetError
from metspack.files import reading, writing
from metspack.files.threads import ThreadedHashers
from metspack.layouts import Layout
from metspack.mets.filetable import ManifestLines, Placed, PlacedFile, PlacedRun, algorithms, placed_file
from metspack.model import LONGEST, FileExtent, LobRef, LobRun, Part, RunShared
from metspack.planning import slices
from metspack.planning.slices import Entry
from metspack.processes import Moved
from metspack.sizes import counted
from metspack.sources.lobstream import OpenHoldings, Passage, what, where


@dataclass(frozen=True, slots=True, kw_only=True)
class Links:
    """LOBs that are hard-linked: their number, and their bytes."""

    lobs: int = 0
    bytes: int = 0

    def words(self, lobs: int) -> Iterator[str]:
        """Yield a warning on the effect of hard links, if any; ``lobs`` counts all LOBs."""
        if self.lobs:
            others = lobs - self.lobs
            copied = f", {counted(others, 'other was', 'others were')} copied" if others else ""
            yield (
                f"{counted(self.lobs, 'LOB')} hard-linked to the files of the source{copied}: a later edit "
                "of such a file is an edit of the package too"
            )


def planned_links(work: Path, segments: Iterable[int], device: int) -> Links:
    """Return the LOBs of some segments that can be hard-linked: those that are whole files.

    ``work`` holds the slices, ``device`` is that of the target. Raises ``TargetError`` for a whole file on
    another device.
    """
    lobs = size = 0
    for number in segments:
        for each in slices.runs(slices.path(work, number)):
            if isinstance(each, LobRun):
                if each.shared.folders is None:
                    continue
                devices = each.extents[-1]
                if devices.count(device) != len(devices):
                    odd = next(at for at, found in enumerate(devices) if found != device)
                    raise _is_elsewhere(each.lob(odd))
                lobs += len(each)
                size += sum(each.sizes)
            elif each[1] is None and (extent := whole_file(each[0])) is not None:
                if extent.device != device:
                    raise _is_elsewhere(each[0])
                lobs += 1
                size += extent.size
    return Links(lobs=lobs, bytes=size)


def _is_elsewhere(lob: LobRef) -> TargetError:
    return TargetError(
        f"{what(lob)} lies on another file system than the target, and a hard link cannot lead there",
        hint="Choose a target on the file system of the LOBs, or leave --link-mode hardlink out, and they "
        "are copied.",
    )


def whole_file(lob: LobRef) -> FileExtent | None:
    """Return the file that holds just this LOB, or None for a LOB in parts or inside a file."""
    extent = lob.extents[0]
    is_whole = len(lob.extents) == 1 and extent.size == lob.size
    return extent if is_whole and isinstance(extent, FileExtent) and extent.offset is None else None


def place_together(
    listed: PlacedRun,
    stated: Sequence[tuple[str, Sequence[str]]],
    contents: Iterable[bytes | memoryview | None],
    checksum: str,
    *,
    put: Callable[[str, bytes | memoryview], None] | None,
    moved: Moved,
    apart: Callable[[int], PlacedFile],
) -> Iterator[Placed]:
    """Place small files together, each proven by its digests in ``stated``.

    ``stated`` gives algorithms, each with its values. ``checksum`` is the algorithm in METS. Bytes are
    ``put`` at their path, unless they are there already. A file that fails the proof is placed ``apart`` by
    its number, which reports the reason.
    """
    names = list(dict.fromkeys((*algorithms(checksum), *(name for name, _ in stated))))
    functions = [digest_function(name) for name in names]
    compared = [names.index(name) for name, _ in stated]
    expected = [*zip(*(values for _, values in stated), strict=True)] or [()] * len(listed)
    digests: list[list[str]] = []
    start = 0

    def placed(stop: int) -> Iterator[PlacedRun]:
        if start < stop:
            own = dict(zip(names, zip(*digests, strict=True), strict=True))
            known = {name: getattr(listed, name)[start:stop] for name in ("id", "path", "size", "media_type")}
            yield PlacedRun(**known, checksum=own[checksum], md5=own["MD5"], sha256=own["SHA-256"])

    for number, data in enumerate(contents):
        if data is not None and len(data) == listed.size[number]:
            found = [digest(data) for digest in functions]
            if tuple([found[at] for at in compared]) == expected[number]:
                if put is not None:
                    put(listed.path[number], data)
                digests.append(found)
                moved(len(data))
                continue
        yield from placed(number)
        digests.clear()
        start = number + 1
        yield apart(number)
    yield from placed(len(listed))


@dataclass(slots=True)
class Placing:
    """Copies LOBs and parts of LOBs to their places in order, hashing each byte once.

    The parts of a LOB are placed in order and by one ``Placing``, so that the whole is read once.
    ``checksum`` is the METS algorithm, ``algorithms`` are those that the whole of each LOB gets beside it;
    files get those of the manifests as well. ``moved`` is called with numbers of bytes copied, ``ended`` with
    each LOB when its last byte was taken and proven, except LOBs of runs that agree with their cells;
    ``joined`` as well with a LOB in parts.
    With ``links`` a whole file becomes a hard link in folders, and is read and proven all the same.
    With ``goes_on`` a run that was stopped may have placed earlier parts of the first LOB.
    """

    holdings: OpenHoldings
    layout: Layout
    _: KW_ONLY
    checksum: str
    algorithms: tuple[str, ...] = ()
    accepted: frozenset[str] = frozenset()
    moved: Moved
    ended: Callable[[Passage], None]
    joined: Callable[[Passage], None]
    links: bool = False
    goes_on: bool = False
    _split: Passage | None = field(default=None, init=False)

    def place(self, found: Iterable[LobRun | Entry], segment: Destination) -> Iterator[Placed]:
        """Place LOBs and parts in a segment; yield files once written, a run's together.

        Raises ``SourceError`` for a LOB that contradicts its source or its cell, ``TargetError``
        where writing fails.
        """
        for each in found:
            if not isinstance(each, LobRun):
                yield self._place_one(*each, segment)
            elif self._is_plain(each.shared):
                yield from self._place_run(each, segment)
            else:
                for lob in each.lobs():
                    yield self._place_one(lob, None, segment)

    def _is_plain(self, shared: RunShared) -> bool:
        """Return whether a run's LOBs need only be compared with their stated digests."""
        is_asked = bool(self.algorithms) and shared.digest is None
        known = {shared.digest, shared.proof} - {None} <= OCTETS.keys()
        return not is_asked and known

    def _place_run(self, run: LobRun, segment: Destination) -> Iterator[Placed]:
        """Place a run's LOBs together, and each that fails its proof singly, to report why."""
        shared = run.shared
        media_type = shared.media_type if shared.recorded is None else shared.recorded
        paths = lob_paths(self.layout, run)
        given = ((shared.digest, run.digests), (shared.proof, run.proofs))
        stated = [(name, values) for name, values in given if name is not None]
        links = self._link_folder(segment) if shared.folders is not None else None
        contents = self.holdings.small_contents(run) if links is None else self._link_run(run, paths, links)

        def apart(number: int) -> PlacedFile:
            if links is not None:
                links.take_back(paths[number])
            return self._place_one(run.lob(number), None, segment)

        return place_together(
            PlacedRun(id=run.ids(), path=paths, size=run.sizes, media_type=[media_type] * len(run)),
            stated,
            contents,
            self.checksum,
            put=segment.put_small if links is None else None,
            moved=self.moved,
            apart=apart,
        )

    def _link_folder(self, segment: Destination) -> Folder | None:
        """Return the segment if whole files are linked into it, else None."""
        return segment if self.links and isinstance(segment, Folder) else None

    def _link_run(self, run: LobRun, paths: Sequence[str], segment: Folder) -> Iterator[memoryview | None]:
        """Link the files of a run to their places and return their bytes, read there.

        The hashed bytes are thus those in the package, even when the name in the source changes.
        """
        shared, names = run.shared, run.extents[0]
        try:
            with self.holdings.open_folder(shared.holding, shared.folders or ()) as folder:
                for path, name in zip(paths, names, strict=True):
                    segment.link(path, folder, name)
        except OSError:  # placing each LOB singly reports why
            return repeat(None, len(run))
        folder_path = segment.root / paths[0].rpartition("/")[0]
        here = (path.rpartition("/")[2] for path in paths)
        return self.holdings.linked_contents(run, folder_path, here, seen=writing.sync_file)

    def _place_one(self, lob: LobRef, part: Part | None, segment: Destination) -> PlacedFile:
        lob_id = lob.place.id
        path = self.layout.lob_path(lob.place, lob.extension)
        if part is None:
            whole = self._place_whole(lob, path, segment)
            return placed_file(lob_id, path, whole.media_type, whole.hashers, self.checksum)
        path += self.layout.part_suffix(part)
        hashers = self._place_part(lob, part, path, segment)
        return replace(
            # A piece of a film is no film: only the whole gets the media type of its bytes.
            placed_file(f"{lob_id}.p{part.number}", path, lob.media_type, hashers, self.checksum),
            part_of=lob_id,
            sequence=part.number,
        )

    def _place_whole(self, lob: LobRef, path: str, segment: Destination) -> Passage:
        wanted = (*algorithms(self.checksum), *self.algorithms)
        passage = Passage(lob, self.holdings, wanted, self.accepted)
        folder, file = self._link_folder(segment), whole_file(lob)
        if folder is None or file is None:
            segment.put(path, self._passing(passage), lob.size)
        else:
            self._link(passage, file, path, folder)
        self.ended(passage)
        return passage

    def _link(self, passage: Passage, file: FileExtent, path: str, folder: Folder) -> None:
        """Link a file, read it where it was found, and check that the link leads to this file."""
        try:
            with suppress(OSError), self.holdings.open_folder(file.root, file.path[:-1]) as source:
                folder.link(path, source, file.path[-1])
            for _ in self._passing(passage):  # also reports why there is nothing to link
                pass
            _check_link(file, folder, path)
        except BaseException:
            folder.take_back(path)
            raise

    def _passing(
        self,
        passage: Passage,
        size: int | None = None,
        hashers: Hashers | None = None,
        *,
        is_last: bool = True,
    ) -> Iterator[bytes]:
        """Yield the next ``size`` bytes of a LOB, the last ones before the LOB is proven."""
        for block in passage.portion(size):
            if hashers is not None:
                hashers.update(block)
            yield block
            self.moved(len(block))
        if is_last:
            passage.end()

    def _place_part(self, lob: LobRef, part: Part, path: str, segment: Destination) -> Hashers:
        if part.number == 0 or self.goes_on:
            wanted = (self.checksum, *self.algorithms)
            self._split = Passage(lob, self.holdings, wanted, self.accepted)
            for _ in self._split.portion(part.offset):  # the parts before it are in their places already
                pass
        self.goes_on = False
        passage = self._split
        if passage is None or passage.lob != lob:
            raise AssertionError(f"part {part.number} of {lob.place.id} does not follow the one before it")
        hashers = ThreadedHashers(algorithms(self.checksum))
        segment.put(path, self._passing(passage, part.size, hashers, is_last=part.is_last), part.size)
        if part.is_last:
            self._split = None
            self.ended(passage)
            self.joined(passage)
        return hashers


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


def lob_paths(layout: Layout, found: LobRun | Entry) -> list[str]:
    """Return the paths of LOBs, or of a part of one, in their segment."""
    if isinstance(found, LobRun):
        return layout.lob_paths(found.place, found.rows, found.shared.extension)
    lob, part = found
    return [layout.lob_path(lob.place, lob.extension) + ("" if part is None else layout.part_suffix(part))]


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


def write_pack_fragments(path: str, pack: Hashers, work: Path, number: int) -> None:
    """Write the line of both manifests for a segment that is packed as one file, into ``work``."""
    for algorithm in MANIFEST_ALGORITHMS:
        with writing.NewFile(fragment(work, number, algorithm)) as file:
            file.write(manifest_line(pack.digest(algorithm).value, path))


def manifest_line(digest: str, path: str) -> bytes:
    """Return one line as ``md5sum -c`` and ``sha256sum -c`` read it: hex, two spaces, path."""
    return f"{digest}  {path}\n".encode()
