"""Place and describe segments as units of work, each from its slice of the plan.

A task holds all that a process needs, on this machine or another that sees the same files; its
result is small. Results are the same for every worker and every order.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from metspack.building import placing
from metspack.building.placing import Placing
from metspack.containers.ipwriter import Folder, Pack, Packing
from metspack.digests import MANIFEST_ALGORITHMS, Hashers
from metspack.files import journal, reading, writing
from metspack.files.staging import open_stretch
from metspack.layouts import Layout
from metspack.mets import filetable
from metspack.mets.dialects.interface import (
    ChildMets,
    Dialect,
    SegmentSpot,
    SplitLob,
    SplitPart,
)
from metspack.mets.filetable import PlacedFile, Placements
from metspack.planning import slices
from metspack.planning.slices import SliceStretch
from metspack.sources.lobstream import Holdings, OpenHoldings, Passage


@dataclass(frozen=True, slots=True, kw_only=True)
class SegmentTask:
    """Segments to be placed and described together: one, or those with shared split LOBs.

    ``segments`` are in order. ``parent`` is the parent's OBJID; ``packing`` that of each IP, None for
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
    holdings: Holdings
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
    placed: tuple[TaskPlaced, ...] = ()
    journal: Path | None = None
    plan: Path | None = None
    digests: tuple[str, ...] = ()
    finished: tuple[SegmentDone, ...] = ()
    clears: bool = False

    @property
    def number(self) -> int:
        """The task's number: that of its first segment."""
        return self.segments[0].number

    @property
    def sliced(self) -> Path:
        """The folder of the slices."""
        return self.plan or self.work

    @property
    def label(self) -> str:
        """The task in the names of its files: its number, or number and start of a stretch."""
        return f"{self.number}" if self.is_described else _label(self.number, self.stretch)


@dataclass(frozen=True, slots=True, kw_only=True)
class SegmentDone:
    """A segment that was placed and described, or a stretch that was placed.

    A stretch has no ``child``. ``number`` is the segment's, ``digest`` its slice's, ``bytes`` are those
    placed. ``sizes`` are those of the task's three files of notes, and ``notes`` its notes, with all segments
    of the task up to this one.
    """

    number: int
    digest: str
    bytes: int
    child: ChildMets | None
    sizes: tuple[int, int, int]
    notes: Mapping[str, int]
    stretch: SliceStretch = slices.WHOLE

    def document(self) -> dict[str, Any]:
        """Return the event that ``restored`` reads."""
        kind = journal.SEGMENT if self.child is not None else journal.STRETCH
        stretch = [self.stretch.start, self.stretch.stop]
        return {
            "event": kind,
            **{name: getattr(self, name) for name in ("number", "digest", "bytes")},
            "child": None if self.child is None else asdict(self.child),
            "sizes": list(self.sizes),
            "notes": dict(self.notes),
            "stretch": stretch,
        }

    @classmethod
    def restored(cls, document: Mapping[str, Any]) -> SegmentDone:
        """Return the result that ``document`` recorded; raises ValueError for invalid numbers."""
        start, stop = document["stretch"]
        digests, wholes, parts = document["sizes"]
        child = document["child"] or {"size": 0, "files": 0, "bytes": 0, "total": 0}
        counts = document["number"], document["bytes"], digests, wholes, parts, *document["notes"].values()
        counts += child["size"], child["files"], child["bytes"], child["total"]
        if not all(type(each) is int and 0 <= each < 1 << 63 for each in counts):
            raise ValueError(f"{counts} are no numbers of bytes and files")
        return journal.read_as(
            cls,
            {
                **{name: document[name] for name in ("number", "digest", "bytes", "notes")},
                "child": document["child"] and journal.read_as(ChildMets, document["child"]),
                "sizes": (digests, wholes, parts),
                "stretch": journal.read_as(SliceStretch, {"start": start, "stop": stop}),
            },
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskPlaced:
    """Result of a task: its segments' METS as the parent names them, and notes on LOBs.

    ``is_split`` means that there are split LOBs, ``has_digests`` that there are digests for cells.
    ``stretch`` is the placed part of the slice; without a description there are no children.
    """

    numbers: tuple[int, ...]
    children: tuple[ChildMets, ...]
    is_split: bool
    has_digests: bool
    notes: Mapping[str, int]
    stretch: SliceStretch = slices.WHOLE

    @property
    def number(self) -> int:
        """The task's number: that of its first segment."""
        return self.numbers[0]


UTF16_LENGTHS = "LOBs whose length in the table is in UTF-16 units"
PART_DIGESTS = "LOBs whose cell has the digest of their last part alone"


def _label(number: int, stretch: SliceStretch) -> str:
    return f"{number}-{stretch.start}"


def digests_path(work: Path, task: int | str) -> Path:
    """Return the path of a task's digests for cells: ``[id, algorithm, value]`` on each line."""
    return work / f"digests-{task}.jsonl"


def placed_path(work: Path, task: str) -> Path:
    """Return the path of the files of a stretch: ``filetable.text_of`` on each line."""
    return work / f"placed-{task}.jsonl"


def wholes_path(work: Path, task: int | str) -> Path:
    """Return the path of a task's split LOBs: ``SplitLob``'s fields in their order on each line."""
    return work / f"wholes-{task}.jsonl"


def parts_path(work: Path, task: int | str) -> Path:
    """Return the path of split LOBs' parts: ``[LOB id, part id, child OBJID]`` on each line."""
    return work / f"parts-{task}.jsonl"


NOTES = digests_path, wholes_path, parts_path
"""The paths of the files of notes of a task, in the order of ``SegmentDone.sizes``."""


def digest_for_cells(checksum: str) -> str:
    """Return the algorithm of digests that are added to cells.

    It is that of METS if SIARD has it (2.2 T_6.2-1), else SHA-256.
    """
    return checksum if checksum in {"MD5", "SHA-1", "SHA-256"} else "SHA-256"


def split_lobs(work: Path, tasks: Iterable[int]) -> Iterator[SplitLob]:
    """Yield the split LOBs of some tasks."""
    for task in tasks:
        for identifier, size, kind, checksum in json_lines(wholes_path(work, task)):
            yield SplitLob(id=identifier, size=size, media_type=kind, checksum=checksum)


def split_parts(work: Path, tasks: Iterable[int]) -> Iterator[SplitPart]:
    """Yield the parts of the split LOBs of some tasks, each LOB's from the first on."""
    for task in tasks:
        for lob, part, child in json_lines(parts_path(work, task)):
            yield SplitPart(lob=lob, id=part, child=child)


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
        self.digests, self.wholes, self.parts = (
            writing.grown_file(path(task.work, task.label), size, is_new=not task.clears)
            for path, size in zip(NOTES, (0, 0, 0) if last is None else last.sizes, strict=True)
        )

    def synced(self) -> tuple[int, int, int]:
        """Sync the notes so far to disk, and return the sizes of the files."""
        for each in (self.digests, self.wholes, self.parts):
            each.sync()
        return self.digests.size, self.wholes.size, self.parts.size

    def note_lob(self, passage: Passage) -> None:
        lob, task = passage.lob, self._task
        said = lob.cell.digest
        algorithm = None
        if passage.is_part_digest and said is not None:
            self.notes[PART_DIGESTS] += 1
            algorithm = said.algorithm
        elif said is None:
            algorithm = task.add_digests
        if algorithm is not None:
            digest = passage.hashers.digest(algorithm)
            self.digests.write(_line(lob.place.id, digest.algorithm, digest.value))
        if passage.unit == "UTF-16 units":
            self.notes[UTF16_LENGTHS] += 1

    def note_whole(self, passage: Passage) -> None:
        lob = passage.lob
        checksum = passage.hashers.digest(self._task.dialect.checksum_type).value
        self.wholes.write(_line(lob.place.id, lob.size, passage.media_type, checksum))

    def note_part(self, file: PlacedFile, objid: str) -> None:
        self.parts.write(_line(file.part_of, file.id, objid))

    def close(self) -> None:
        for each in (self.digests, self.wholes, self.parts):
            each.close()

    def discard(self) -> None:
        for each in (self.digests, self.wholes, self.parts):
            each.discard()


def _line(*fields: object) -> bytes:
    return json.dumps(fields, separators=(",", ":")).encode() + b"\n"


def place(task: SegmentTask, moved: Callable[[int], None]) -> TaskPlaced:
    """Place the LOBs of a task's segments, and write their METS and lines of the manifests.

    The files of a stretch are only listed, for the task that describes its segment. Each segment and stretch
    is on disk before it is recorded. ``moved`` is called with numbers of bytes copied. Raises
    ``SourceError`` and ``TargetError``.
    """
    moved(sum(each.bytes for each in task.finished))
    if len(task.finished) == len(task.segments):
        return placed_of(task, task.finished)
    with open_stretch(task.work) as disk:
        if task.placed:
            return _describe_together(task, disk)
        if task.clears:
            clear(task)
        return placed_of(task, (*task.finished, *place_rest(task, moved, disk)))


def place_rest(
    task: SegmentTask, moved: Callable[[int], None], disk: writing.SyncedTogether
) -> list[SegmentDone]:
    """Place and record the unfinished segments of a task."""
    proven = _ProvenLobs(task)
    done: list[SegmentDone] = []
    try:
        with OpenHoldings(task.holdings) as holdings:
            placer = Placing(
                holdings,
                task.layout,
                checksum=task.dialect.checksum_type,
                algorithms=(task.add_digests,) if task.add_digests else (),
                accepted=task.accepted,
                moved=moved,
                ended=proven.note_lob,
                joined=proven.note_whole,
                links=task.links,
                goes_on=bool(task.finished),
            )
            for at, spot in enumerate(task.segments[len(task.finished) :], len(task.finished)):
                child, size = (_place_segment if task.is_described else _place_stretch)(
                    task, spot, placer, proven, disk
                )
                if at + 1 == len(task.segments):
                    holdings.check_unchanged()
                done.append(
                    SegmentDone(
                        number=spot.number,
                        digest=task.digests[at] if task.digests else "",
                        bytes=size,
                        child=child,
                        sizes=proven.synced(),
                        notes=dict(proven.notes),
                        stretch=task.stretch,
                    )
                )
                record(task, done[-1], disk)
        proven.close()
    except BaseException:
        proven.discard()
        raise
    return done


def record(task: SegmentTask, done: SegmentDone, disk: writing.SyncedTogether, **said: str) -> None:
    """Sync a segment or stretch to disk, and then record it with the fields in ``said``."""
    (spot,) = (each for each in task.segments if each.number == done.number)
    disk.sync(*([task.package / spot.ip] if task.packing is None else []))
    if task.journal is not None:
        writing.record_event(task.journal, {**done.document(), **said})


def placed_of(task: SegmentTask, done: Sequence[SegmentDone]) -> TaskPlaced:
    """Return the result of a task from its finished segments or stretch."""
    last = done[-1]
    digests, wholes, _ = last.sizes
    return TaskPlaced(
        numbers=tuple(spot.number for spot in task.segments),
        children=tuple(each.child for each in done if each.child is not None),
        is_split=wholes > 0,
        has_digests=digests > 0,
        notes=last.notes,
        stretch=task.stretch,
    )


def clear(task: SegmentTask) -> None:
    """Remove the unfinished segments, or the unfinished stretch, of an earlier run."""
    first = task.segments[len(task.finished)]
    if not task.is_described:
        writing.remove(placed_path(task.work, task.label))
        for each in slices.runs(slices.path(task.sliced, first.number), task.stretch):
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
) -> tuple[ChildMets | None, int]:
    """Place and describe a segment; return its METS, and the bytes of its LOBs."""
    with closing(Placements()) as placements, _open_target(task, spot, disk) as target:
        found = slices.runs(slices.path(task.sliced, spot.number))
        for placed in placer.place(found, target.lobs):
            placements.add(placed)
            if isinstance(placed, PlacedFile) and placed.part_of:
                proven.note_part(placed, spot.objid)
        return target.describe(placements), placements.size


def _place_stretch(
    task: SegmentTask,
    spot: SegmentSpot,
    placer: Placing,
    _proven: _ProvenLobs,
    disk: writing.SyncedTogether,
) -> tuple[ChildMets | None, int]:
    """Place the LOBs of a stretch, and list their files; return None and the LOBs' bytes."""
    found = slices.runs(slices.path(task.sliced, spot.number), task.stretch)
    with closing(Placements()) as placements:
        with Folder(task.package / spot.content, shared=True, is_synced=not disk.is_possible) as folder:
            for placed in placer.place(found, folder):
                placements.add(placed)
        with writing.NewFile(placed_path(task.work, task.label)) as listed:
            for each in placements.runs():
                listed.write(f"{filetable.text_of(each)}\n".encode())
        return None, placements.size


def described_segments(
    results: Iterable[TaskPlaced],
    task_of: Callable[[tuple[int, ...]], SegmentTask],
    do: Callable[[SegmentTask], object],
) -> Iterator[TaskPlaced]:
    """Yield the results of described segments, and pass tasks for the others to ``do``.

    ``task_of`` returns the task of some segments. ``do`` is called with the task that describes a segment
    once its stretches were placed; the result of that task comes among the ``results``.
    """
    stretches: list[TaskPlaced] = []
    for each in results:
        if each.children:
            yield each
            continue
        stretches.append(each)
        if each.stretch.is_last:
            do(replace(task_of(each.numbers), placed=tuple(stretches)))
            stretches.clear()


def _describe_together(task: SegmentTask, disk: writing.SyncedTogether) -> TaskPlaced:
    """Describe a segment after all its stretches were placed."""
    (spot,) = task.segments
    labels = [_label(task.number, each.stretch) for each in task.placed]
    with closing(Placements()) as placements:
        for label in labels:
            with reading.buffered(placed_path(task.work, label)) as lines:
                for line in lines:
                    placements.add(filetable.placed_of(line.decode()))
        child = _describe_again(placements, spot, task) if task.clears else describe(placements, spot, task)
    if task.clears:
        writing.remove(digests_path(task.work, task.number))
    with writing.NewFile(digests_path(task.work, task.number)) as digests:
        for label in labels:
            with reading.opening(digests_path(task.work, label)) as descriptor:
                for block in reading.chunks(descriptor):
                    digests.write(block)
        size = digests.size
    notes: Counter[str] = Counter()
    for each in task.placed:
        notes.update(each.notes)
    done = SegmentDone(
        number=task.number,
        digest=task.digests[0] if task.digests else "",
        bytes=child.bytes,
        child=child,
        sizes=(size, 0, 0),
        notes=dict(notes),
    )
    record(task, done, disk)
    return placed_of(task, (done,))


def _describe_again(placements: Placements, spot: SegmentSpot, task: SegmentTask) -> ChildMets:
    """Describe a segment as ``describe`` does, where an earlier run may have begun to do so."""
    work = task.work / f"again-{spot.number}"
    for each in (work, *(placing.fragment(task.work, spot.number, name) for name in MANIFEST_ALGORITHMS)):
        writing.remove(each)
    writing.make_directories(work / spot.ip)
    files = _write_documents(placements, spot, task, work)
    for path in files:
        writing.make_directories((task.package / path).parent)
        writing.supersede(work / path, task.package / path)
    writing.remove(work)
    placing.write_manifest_fragments(placements, f"{spot.content}/", task.work, spot.number, files)
    return _child(placements, files, spot, task)


class _FolderTarget:
    """A segment that becomes a folder of the package."""

    def __init__(self, task: SegmentTask, spot: SegmentSpot, *, is_synced: bool) -> None:
        self._task = task
        self._spot = spot
        self.lobs = Folder(task.package / spot.content, is_synced=is_synced)

    def describe(self, placements: Placements) -> ChildMets:
        """Describe the segment once its LOBs were placed."""
        return describe(placements, self._spot, self._task)


class _PackTarget:
    """A segment that becomes one file: LOBs go there at once, documents by way of ``work``."""

    def __init__(
        self, task: SegmentTask, spot: SegmentSpot, packing: Packing, pack: Pack, work: Path
    ) -> None:
        self._task = task
        self._spot = spot
        self._packing = packing
        self._pack = pack
        self._work = work
        self.lobs = pack.below(spot.content.removeprefix(spot.ip).removeprefix("/"))

    def describe(self, placements: Placements) -> ChildMets:
        """Describe the segment once its LOBs were placed."""
        task, spot = self._task, self._spot
        writing.make_directories(self._work / spot.ip)
        files = _write_documents(placements, spot, task, self._work)
        self._pack.take(self._work, spot.ip, files)
        packed = self._pack.finish()
        placing.write_pack_fragments(self._packing.file(spot.ip), packed, task.work, spot.number)
        return _child(placements, files, spot, task, packed.size)


@contextmanager
def _open_target(
    task: SegmentTask, spot: SegmentSpot, disk: writing.SyncedTogether
) -> Iterator[_FolderTarget | _PackTarget]:
    """Open the folder or packed file that a segment is placed in, for the length of a block."""
    if task.packing is None:
        target = _FolderTarget(task, spot, is_synced=not disk.is_possible)
        with target.lobs:
            yield target
        return
    work = task.work / f"pack-{spot.number}"
    writing.make_directory(work)
    with task.packing.open_pack(task.package, spot.ip, work, MANIFEST_ALGORITHMS) as pack:
        yield _PackTarget(task, spot, task.packing, pack, work)
    writing.remove(work)


def describe(placements: Placements, spot: SegmentSpot, task: SegmentTask) -> ChildMets:
    """Describe a segment, write its lines of the manifests, and return it as a child."""
    files = _write_documents(placements, spot, task, task.package)
    placing.write_manifest_fragments(placements, f"{spot.content}/", task.work, spot.number, files)
    return _child(placements, files, spot, task)


def _write_documents(
    placements: Placements, spot: SegmentSpot, task: SegmentTask, root: Path
) -> dict[str, Hashers]:
    """Write the documents of an IP below ``root``, and return their digests by path."""
    return task.dialect.write_child(root, spot, task.parent, placements.runs)


def _child(
    placements: Placements,
    files: Mapping[str, Hashers],
    spot: SegmentSpot,
    task: SegmentTask,
    packed: int = 0,
) -> ChildMets:
    """Return a segment as its parent names it; ``packed`` are the bytes of its file, or 0."""
    mets = files[f"{spot.ip}/{task.dialect.mets}"]
    algorithms = (*MANIFEST_ALGORITHMS, task.dialect.checksum_type)
    return named_child(
        spot,
        task.dialect,
        task.packing,
        size=mets.size,
        files=placements.count,
        bytes_=placements.size,
        total=packed or placements.size + sum(each.size for each in files.values()),
        digests={each: mets.digest(each).value for each in algorithms},
    )


def named_child(
    spot: SegmentSpot,
    dialect: Dialect,
    packing: Packing | None,
    *,
    size: int,
    files: int,
    bytes_: int,
    total: int,
    digests: Mapping[str, str],
) -> ChildMets:
    """Return a segment as its parent names it: size and ``digests`` are those of its METS."""
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
        bytes=bytes_,
        total=total,
        digests={each: digests[each] for each in MANIFEST_ALGORITHMS},
    )
