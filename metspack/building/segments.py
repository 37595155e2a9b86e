"""Place and describe segments as units of work, each from its slice of the plan.

A task holds all that a process needs, on this machine or another that sees the same files; its
result is small. Results are the same for every worker and every order.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Any, Self

from metspack.building import placing
from metspack.building.placing import Placing
from metspack.containers.ipwriter import Destination, Folder, Packing
from metspack.digests import MANIFEST_ALGORITHMS, Hashers
from metspack.files import journal, reading, writing
from metspack.files.staging import StretchDone, open_stretch
from metspack.layouts import Layout
from metspack.mets import filetable
from metspack.mets.dialects.interface import (
    ChildMets,
    Dialect,
    SegmentSpot,
)
from metspack.mets.filetable import ManifestLines, PlacedRun, Placements
from metspack.planning import slices
from metspack.planning.slices import SliceStretch
from metspack.sources.lobstream import ByteSources, LobReader, OpenSources


@dataclass(frozen=True, slots=True, kw_only=True)
class SegmentTask:
    """Segments to be placed and described together: one, or those with shared split LOBs.

    ``segments`` are in order. ``parent`` is the parent's OBJID; ``packing`` is that of each IP, None for
    folders. ``add_digests`` is the algorithm of digests for cells without one; ``accepted`` are the faults
    that a LOB may have; with ``links`` LOBs that are whole files are hard-linked.
    ``stretch`` is the part of the slice to be placed; with ``is_described`` it is all of the slice, and the
    segments are described. Otherwise a later task describes them, with the results in ``placed``.
    ``journal`` records finished segments, with the ``digests`` of their slices; None for no record.
    ``plan`` is the folder of the slices, None for ``work``. ``finished`` are the results of an earlier run,
    which stay: of all segments, or of the first ones. With ``clears`` that run may have left more, which is
    removed.
    """

    segments: tuple[SegmentSpot, ...]
    sources: ByteSources
    package: Path
    work: Path
    parent: str
    dialect: Dialect
    layout: Layout
    packing: Packing | None = None
    add_digests: str | None = None
    accepted: frozenset[str] = frozenset()
    links: bool = False
    stretch: SliceStretch = slices.WHOLE
    is_described: bool = True
    placed: tuple[SegmentDone, ...] = ()
    journal: Path | None = None
    plan: Path | None = None
    digests: tuple[str, ...] = ()
    finished: tuple[SegmentDone, ...] = ()
    clears: bool = False

    @property
    def label(self) -> str:
        """The task in the names of its files: its number, or number and start of a stretch."""
        number = self.segments[0].number
        return f"{number}" if self.is_described else _label(number, self.stretch)


@dataclass(frozen=True, slots=True, kw_only=True)
class SegmentDone(StretchDone):
    """A segment that was placed and described, or a stretch that was placed.

    A stretch has no ``child``. ``number`` is the segment's, ``digest`` its slice's, ``files`` and ``bytes``
    are those placed. ``sizes`` are those of the task's three files of notes, and ``notes`` its notes, with
    all segments of the task up to this one.
    """

    child: ChildMets | None
    notes: Mapping[str, int]
    stretch: SliceStretch = slices.WHOLE

    @property
    def event(self) -> str:
        """The kind of the event that records it."""
        return journal.STRETCH if self.child is None else journal.SEGMENT

    @property
    def key(self) -> tuple[int, SliceStretch, bool]:
        """The number, the stretch, and whether it is described."""
        return self.number, self.stretch, self.child is not None

    @classmethod
    def restored(cls, event: Mapping[str, Any]) -> Self:
        """Return the result from the event that ``record`` wrote; raises as ``read_as`` does."""
        child, stretch = event["child"], journal.read_as(SliceStretch, event["stretch"])
        journal.counts(event["notes"].values())
        digests, wholes, parts = event["sizes"]
        nested = {"child": child and journal.read_as(ChildMets, child), "stretch": stretch}
        nested["sizes"] = digests, wholes, parts
        return super(SegmentDone, cls).restored({**event, **nested})


TaskPlaced = tuple[SegmentDone, ...]
"""Result of a task: its segments, the last one with the notes of the whole task, or its stretch."""


UTF16_LENGTHS = "LOBs whose length in the table is in UTF-16 units"
PART_DIGESTS = "LOBs whose cell has the digest of their last part alone"


def _label(number: int, stretch: SliceStretch) -> str:
    return f"{number}-{stretch.start}"


DIGESTS, WHOLES, PARTS = NOTES = "digests", "wholes", "parts"
"""The kinds of notes of a task, in the order of ``SegmentDone.sizes``.

Their lines are digests for cells, ``[id, algorithm, value]``; split LOBs, the fields of ``SplitLob`` in their
order; and the parts of these, ``[LOB id, part id, child OBJID]``.
"""

PLACED = "placed"
"""The kind of notes of placed files, with ``filetable.text_of`` on each line."""


def notes_path(work: Path, kind: str, task: int | str) -> Path:
    """Return the path of a task's notes of a kind."""
    return work / f"{kind}-{task}.jsonl"


def write_placed(path: Path, placed: Iterable[PlacedRun], *, is_synced: bool = True) -> None:
    """Write the notes on placed files."""
    with writing.NewFile(path, is_synced=is_synced) as listed:
        for each in placed:
            listed.write(f"{filetable.text_of(each)}\n".encode())


def placed_files(work: Path, task: int | str) -> Iterator[PlacedRun]:
    """Yield the placed files of a task from its notes."""
    with reading.text(notes_path(work, PLACED, task)) as lines:
        yield from map(filetable.placed_of, lines)


def digest_for_cells(checksum: str) -> str:
    """Return the algorithm of digests that are added to cells.

    It is that of METS if SIARD has it (2.2 T_6.2-1), else SHA-256.
    """
    return checksum if checksum in {"MD5", "SHA-1", "SHA-256"} else "SHA-256"


def noted(work: Path, kind: str, tasks: Iterable[int]) -> Iterator[Any]:
    """Yield the notes of a kind of some tasks: split LOBs, or parts, each LOB's from the first on."""
    return chain.from_iterable(json_lines(notes_path(work, kind, task)) for task in tasks)


def json_lines(path: Path) -> Iterator[Any]:
    """Yield the values of a file of JSON lines that a task wrote."""
    with reading.text(path) as lines:
        for line in lines:
            yield json.loads(line)


class _ProvenLobs:
    """Writes notes on proven LOBs to files: digests for cells, split LOBs and their parts."""

    def __init__(self, task: SegmentTask) -> None:
        self._task = task
        last = task.finished[-1] if task.finished else None
        self.notes: Counter[str] = Counter(last.notes if last is not None else ())
        self.files = [
            writing.reopen_file(notes_path(task.work, kind, task.label), size, is_new=not task.clears)
            for kind, size in zip(NOTES, (0, 0, 0) if last is None else last.sizes, strict=True)
        ]
        self.digests, self.wholes, self.parts = self.files

    def synced(self) -> tuple[int, int, int]:
        """Sync the notes so far to disk, and return the sizes of the files."""
        for each in self.files:
            each.sync()
        return self.digests.size, self.wholes.size, self.parts.size

    def note_lob(self, reader: LobReader) -> None:
        stated, added = reader.lob.cell.digest, self._task.add_digests
        algorithm = added if stated is None else stated.algorithm if reader.is_part_digest else None
        if algorithm is not None:
            digest = reader.hashers.digest(algorithm)
            self.digests.write(json_line(reader.lob.place.id, digest.algorithm, digest.value))
        self.notes.update(remarks(reader))


def whole_line(reader: LobReader, checksum: str) -> bytes:
    """Return the note on a split LOB that was read, with its digest by an algorithm."""
    lob, value = reader.lob, reader.hashers.digest(checksum).value
    return json_line(lob.place.id, lob.size, reader.media_type, value)


def remarks(reader: LobReader) -> Iterator[str]:
    """Yield the remarks on a LOB that was read; callers count them."""
    if reader.is_part_digest:
        yield PART_DIGESTS
    if reader.unit == "UTF-16 units":
        yield UTF16_LENGTHS


def json_line(*fields: object) -> bytes:
    """Return values as a line that ``json_lines`` reads."""
    return json.dumps(fields, separators=(",", ":")).encode() + b"\n"


def place(task: SegmentTask, moved: Callable[[int], None]) -> TaskPlaced:
    """Place the LOBs of a task's segments, and write their METS and lines of the manifests.

    The files of a stretch are only listed, for the task that describes its segment. Each segment and stretch
    is on disk before it is recorded. ``moved`` is called with numbers of bytes copied. Raises
    ``SourceError`` and ``TargetError``.
    """
    moved(sum(each.bytes for each in task.finished))
    if len(task.finished) == len(task.segments):
        return task.finished
    with open_stretch(task.work) as disk:
        if task.placed:
            return _describe_together(task, disk)
        if task.clears:
            clear(task)
        return *task.finished, *place_rest(task, moved, disk)


def place_rest(
    task: SegmentTask, moved: Callable[[int], None], disk: writing.SyncedTogether
) -> list[SegmentDone]:
    """Place and record the unfinished segments of a task."""
    proven = _ProvenLobs(task)
    done: list[SegmentDone] = []
    try:
        with OpenSources(task.sources) as sources:
            placer = Placing(
                sources,
                task.layout,
                checksum=task.dialect.checksum_type,
                algorithms=(task.add_digests,) if task.add_digests else (),
                accepted=task.accepted,
                moved=moved,
                ended=proven.note_lob,
                joined=lambda reader: proven.wholes.write(whole_line(reader, task.dialect.checksum_type)),
                links=task.links,
                is_resumed=bool(task.finished),
            )
            for at, spot in enumerate(task.segments[len(task.finished) :], len(task.finished)):
                child, files, size = _place_segment(task, spot, placer, proven, disk)
                if at + 1 == len(task.segments):
                    sources.check_unchanged()
                done.append(
                    SegmentDone(
                        number=spot.number,
                        digest=task.digests[at] if task.digests else "",
                        files=files,
                        bytes=size,
                        sizes=proven.synced(),
                        child=child,
                        notes=dict(proven.notes),
                        stretch=task.stretch,
                    )
                )
                record(task, done[-1], disk)
        for each in proven.files:
            each.close()
    except BaseException:
        for each in proven.files:
            each.discard()
        raise
    return done


def record(task: SegmentTask, done: SegmentDone, disk: writing.SyncedTogether, **more: str) -> None:
    """Sync a segment or stretch to disk, and then record it with the further fields ``more``."""
    (spot,) = (each for each in task.segments if each.number == done.number)
    disk.sync(*([task.package / spot.ip] if task.packing is None else []))
    if task.journal is not None:
        done.record(task.journal, **more)


def clear(task: SegmentTask) -> None:
    """Remove the unfinished segments, or the unfinished stretch, of an earlier run."""
    first = task.segments[len(task.finished)]
    if not task.is_described:
        writing.remove(notes_path(task.work, PLACED, task.label))
        for each in slices.runs(slices.path(task.plan or task.work, first.number), task.stretch):
            for path in placing.lob_paths(task.layout, each):
                writing.remove(task.package / first.content / path)
        return
    for spot in task.segments[len(task.finished) :]:
        clear_segment(task, spot)


def clear_segment(task: SegmentTask, spot: SegmentSpot) -> None:
    """Remove all files of a segment."""
    for algorithm in MANIFEST_ALGORITHMS:
        writing.remove(placing.fragment(task.work, spot.number, algorithm))
    writing.remove(task.work / f"pack-{spot.number}")
    writing.remove(task.package / (spot.ip if task.packing is None else task.packing.file(spot.ip)))


def _place_segment(
    task: SegmentTask,
    spot: SegmentSpot,
    placer: Placing,
    proven: _ProvenLobs,
    disk: writing.SyncedTogether,
) -> tuple[ChildMets | None, int, int]:
    """Place a segment or stretch; return a segment's METS (else None), and files and bytes.

    A segment is described, in a folder or a packed file; the files of a stretch are only listed.
    """
    with closing(Placements()) as placements:

        def place_in(target: Destination) -> None:
            found = slices.runs(slices.path(task.plan or task.work, spot.number), task.stretch)
            for placed in placer.place(found, target):
                placements.add(placed)
                if placed.part_of:
                    for lob, part in zip(placed.part_of, placed.id, strict=True):
                        proven.parts.write(json_line(lob, part, spot.objid))

        if task.packing is None or not task.is_described:
            content, is_synced = task.package / spot.content, not disk.is_possible
            with Folder(content, shared=not task.is_described, is_synced=is_synced) as folder:
                place_in(folder)
            if task.is_described:
                return describe(placements, spot, task), placements.count, placements.size
            write_placed(notes_path(task.work, PLACED, task.label), placements.runs())
            return None, placements.count, placements.size
        work = task.work / f"pack-{spot.number}"
        writing.make_directory(work)
        with task.packing.open_pack(task.package, spot.ip, work, MANIFEST_ALGORITHMS) as pack:
            place_in(pack.below(spot.content.removeprefix(spot.ip).removeprefix("/")))
            writing.make_directories(work / spot.ip)
            files = task.dialect.write_child(work, spot, task.parent, placements.runs)
            pack.take(work, spot.ip, files)
            packed = pack.finish()
        writing.remove(work)
        file = {task.packing.file(spot.ip): packed}
        placing.write_manifest_fragments(ManifestLines(), "", task.work, spot.number, file)
        child = _child(placements, files, spot, task, packed.size)
        return child, placements.count, placements.size


def describe_segments(
    results: Iterable[TaskPlaced],
    task_of: Callable[[tuple[int, ...]], SegmentTask],
    submit: Callable[[SegmentTask], object],
) -> Iterator[TaskPlaced]:
    """Yield the results of described segments; submit tasks that describe the others.

    ``task_of`` returns the task of some segments. Once all stretches of a segment were placed, the task that
    describes it is submitted by ``submit``; its result comes later among the ``results``.
    """
    stretches: list[SegmentDone] = []
    for each in results:
        last = each[-1]
        if last.child is not None:
            yield each
            continue
        stretches.append(last)
        if last.stretch.is_last:
            submit(replace(task_of((last.number,)), placed=tuple(stretches)))
            stretches.clear()


def _describe_together(task: SegmentTask, disk: writing.SyncedTogether) -> TaskPlaced:
    """Describe a segment after all its stretches were placed."""
    (spot,) = task.segments
    labels = [_label(spot.number, each.stretch) for each in task.placed]
    with closing(Placements()) as placements:
        for label in labels:
            for each in placed_files(task.work, label):
                placements.add(each)
        child = _describe_again(placements, spot, task)
    target = notes_path(task.work, DIGESTS, spot.number)
    writing.remove(target)
    with writing.NewFile(target) as digests:
        for label in labels:
            with reading.opening(notes_path(task.work, DIGESTS, label)) as descriptor:
                digests.write_all(reading.chunks(descriptor), 0)
        size = digests.size
    notes: Counter[str] = Counter()
    for stretch in task.placed:
        notes.update(stretch.notes)
    done = SegmentDone(
        number=spot.number,
        digest=task.digests[0] if task.digests else "",
        files=child.files,
        bytes=child.bytes,
        sizes=(size, 0, 0),
        child=child,
        notes=dict(notes),
    )
    record(task, done, disk)
    return (done,)


def _describe_again(placements: Placements, spot: SegmentSpot, task: SegmentTask) -> ChildMets:
    """Describe a segment as ``describe`` does, replacing what an earlier run may have left."""
    work = task.work / f"again-{spot.number}"
    for each in (work, *(placing.fragment(task.work, spot.number, name) for name in MANIFEST_ALGORITHMS)):
        writing.remove(each)
    writing.make_directories(work / spot.ip)
    files = task.dialect.write_child(work, spot, task.parent, placements.runs)
    for path in files:
        writing.make_directories((task.package / path).parent)
        writing.move(work / path, task.package / path, replaces=True)
    writing.remove(work)
    placing.write_manifest_fragments(placements, f"{spot.content}/", task.work, spot.number, files)
    return _child(placements, files, spot, task)


def describe(placements: Placements, spot: SegmentSpot, task: SegmentTask) -> ChildMets:
    """Describe a segment, write its lines of the manifests, and return it as a child."""
    files = task.dialect.write_child(task.package, spot, task.parent, placements.runs)
    placing.write_manifest_fragments(placements, f"{spot.content}/", task.work, spot.number, files)
    return _child(placements, files, spot, task)


def _child(
    placements: Placements,
    files: Mapping[str, Hashers],
    spot: SegmentSpot,
    task: SegmentTask,
    packed: int = 0,
) -> ChildMets:
    """Return a segment as its parent names it; ``packed`` are the bytes of its file, or 0."""
    mets = files[f"{spot.ip}/{task.dialect.mets}"]
    total = packed or placements.size + sum(each.size for each in files.values())
    counts = mets.size, placements.count, placements.size, total
    return named_child(spot, task.dialect, task.packing, counts, mets.digests())


def named_child(
    spot: SegmentSpot,
    dialect: Dialect,
    packing: Packing | None,
    counts: Sequence[int],
    digests: Mapping[str, str],
) -> ChildMets:
    """Return a segment as its parent names it, with ``digests`` of its METS.

    ``counts`` are the bytes of its METS, its LOBs and parts of LOBs, their bytes, and those of the whole IP.
    """
    size, files, lobs_bytes, total = counts
    name = f"{spot.ip}/{dialect.mets}"
    packed = "" if packing is None else packing.file(spot.ip)
    return ChildMets(
        objid=spot.objid,
        folder=spot.ip,
        content=spot.content,
        size=size,
        checksum=digests[dialect.checksum_type],
        path=packed or spot.ip,
        mets=f"{packed}/{name}" if packed else name,
        files=files,
        bytes=lobs_bytes,
        total=total,
        digests={each: digests[each] for each in MANIFEST_ALGORITHMS},
    )
