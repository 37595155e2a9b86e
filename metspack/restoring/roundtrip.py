"""Prove that every LOB can be restored: all are joined and hashed, nothing is written."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import closing
from itertools import repeat
from pathlib import Path
from typing import Any, Self

from metspack import processes
from metspack.digests import digest_function
from metspack.errors import SourceError
from metspack.files import reading, tempdb
from metspack.model import LONGEST, SMALL, Budgets, LobCell
from metspack.packages.cells import CellTable, InsideLob, altered, is_place, opened_archive
from metspack.packages.lobs import CellKind, Disagreement, HeldLob, ListedColumns
from metspack.packages.package import Package
from metspack.packages.proofs import CellProving, Evidence, Proving
from metspack.progress import Progress, Silent, begin_lobs
from metspack.resources import json_head
from metspack.restoring.joining import opened_part, part_blocks
from metspack.restoring.shards.writing import unrelated
from metspack.sources.archive import Archive
from metspack.values import dataclass

_BYTES_AT_ONCE = 100_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """Totals of a roundtrip: LOBs in segments, split ones among them, LOBs in the archive, bytes hashed.

    A LOB counts when all its bytes were read, whether they were the right ones or not; ``evidence`` has
    how many were proven by what, ``unproven`` is how many by nothing. ``files`` are those that METS lists and
    that are no LOBs: no cell names them, and their IDs are no places in a database.
    """

    lobs: int
    split: int
    inside: int
    bytes: int
    disagreements: int
    evidence: Mapping[Evidence, int]
    unproven: int
    files: int = 0

    @property
    def proven(self) -> dict[str, int]:
        """How many LOBs were proven by what, for JSON."""
        found = {evidence.name.lower(): number for evidence, number in self.evidence.items()}
        return found | {"nothing": self.unproven}


class Roundtrip(Iterator[Disagreement]):
    """A proof of all LOBs as an iterator of disagreements; ``summary`` has the totals so far.

    Compared are the archive and each part with their digests in METS, the parts of a LOB together with the
    whole's, every LOB with the digest and length in its cell, and the files that its cell means with those
    that METS lists, as restoring does; LOBs that stayed in the archive are read there.
    LOBs that no cell names and cells without a LOB are told, and parts that map and child do not both
    name. ``jobs`` processes read LOBs, as many as help when None. Flat memory. Raises ``SourceError`` when
    the parent METS cannot be read, ``TargetError`` when the temporary disk is full.
    """

    def __init__(
        self,
        package: Package,
        progress: Progress | None = None,
        budgets: Budgets | None = None,
        jobs: int | None = None,
    ) -> None:
        self._package = package
        self._progress = progress or Silent()
        self._budgets = budgets
        self._lobs = self._split = self._inside = self._bytes = self._count = self._unproven = self._files = 0
        self._evidence: Counter[Evidence] = Counter()
        self._archives: list[tuple[str, ...]] = []
        self._jobs = jobs
        self._begun: deque[_Begun] = deque()
        self._found = self._proven()

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> Disagreement:
        with tempdb.explained("what is known of the LOBs"):
            found = next(self._found)
        self._count += 1
        return found

    @property
    def summary(self) -> Summary:
        """The totals so far; complete when the iterator is exhausted."""
        return Summary(
            lobs=self._lobs,
            split=self._split,
            inside=self._inside,
            bytes=self._bytes,
            disagreements=self._count,
            evidence={each: self._evidence[each] for each in Evidence},
            unproven=self._unproven,
            files=self._files,
        )

    def _proven(self) -> Iterator[Disagreement]:
        self._progress.stage("Reading METS", None)
        for fault in self._package.faults:
            yield _incomplete(fault)
        yield from unrelated(self._package)
        files, size = self._package.index.weight()
        jobs = processes.useful(self._jobs, files=files, size=size)
        is_much = files > LONGEST or size > _BYTES_AT_ONCE
        with processes.Workers(jobs) as workers, CellTable(self._package, self._budgets) as cells:
            if is_much:
                workers.start(_prove)
            self._progress.stage("Reading tables", None)
            for path in self._package.archives:
                try:
                    cells.take(path)
                except SourceError as error:
                    yield _incomplete(error)
                else:
                    self._archives.append(path)
                    yield from self._changed(path)
            begin_lobs(self._progress, "Joining LOBs", size, files)
            with closing(workers.results(_prove, self._tasks(cells), self._progress.advance)) as proven:
                for each in proven:
                    yield from self._told(each, self._begun.popleft(), cells)
            for path in self._archives:
                yield from self._entries(path, cells)
            for lob, archive, reason in cells.nowhere():
                yield Disagreement(
                    lob=lob, part="", what=f"{archive} has a cell of it", expected="its bytes", found=reason
                )

    def _changed(self, path: tuple[str, ...]) -> Iterator[Disagreement]:
        """Yield the digests in METS that an archive's files, or its pieces, do not have."""
        for each in altered(self._package, path, self._progress):
            if each.found is None:
                yield _incomplete(SourceError(f"{each.name} cannot be opened: {each.reason}"))
                continue
            what = f"{each.name} has another {each.said.algorithm} than METS says"
            yield Disagreement(lob="", part="", what=what, expected=each.said.value, found=each.found.value)

    def _tasks(self, cells: CellTable) -> Iterator[_ProofTask]:
        """Yield the LOBs many at a time: those of one folder that are alike together, others alone."""
        for listed in self._package.listed(_BYTES_AT_ONCE):
            kinds, digests = cells.said(listed)
            alike: dict[tuple[str, str | None, CellKind], list[int]] = {}
            names: list[str] = []
            alone: dict[int, _LobAlone] = {}
            for at, (path, algorithm, kind) in enumerate(
                zip(listed.paths, listed.algorithms, kinds, strict=True)
            ):
                folder, _, name = (path or "").rpartition("/")
                names.append(name)
                if kind is None:
                    alone[at] = self._alone(listed.lobs[at], cells)
                else:
                    alike.setdefault((folder, algorithm, kind), []).append(at)
            self._begun.append(_Begun(listed=listed, alike=alike, alone=alone))
            yield _ProofTask(
                root=self._package.root,
                runs=[
                    _AlikeLobs(
                        folders=folder.split("/") if folder else [],
                        names=[names[at] for at in own],
                        sizes=[listed.sizes[at] for at in own],
                        stated=[
                            (each, [values[at] for at in own])
                            for each, values in ((algorithm, listed.digests), (kind.algorithm, digests))
                            if each is not None
                        ],
                    )
                    for (folder, algorithm, kind), own in alike.items()
                ],
                alone=list(alone.values()),
            )

    def _told(self, proof: _Proof, begun: _Begun, cells: CellTable) -> Iterator[Disagreement]:
        """Count what was proven; yield what is wrong, in the order of the LOBs."""
        odd: list[int] = []
        for ((_, _, kind), own), found in zip(begun.alike.items(), proof.odd, strict=True):
            odd += [own[number] for number in found]
            count = len(own) - len(found)
            self._lobs += count
            self._bytes += sum(begun.listed.sizes[at] for at in own)
            self._bytes -= sum(begun.listed.sizes[own[number]] for number in found)
            self._evidence[Evidence.METS_DIGEST] += count
            self._evidence[Evidence.CELL_DIGEST] += count * kind.has_digest
            self._evidence[Evidence.CELL_LENGTH] += count * kind.is_measured
        alone = dict(zip(begun.alone, proof.alone, strict=True))
        for at in sorted((*odd, *alone)):
            if at in alone:
                yield from self._told_alone(begun.alone[at], alone[at], cells)
            else:  # what is wrong is told by proving it again by itself
                lob = self._alone(begun.listed.lobs[at], cells)
                again = _prove_alone(self._package.root, lob, self._progress.advance)
                yield from self._told_alone(lob, again, cells)

    def _alone(self, lob: str, cells: CellTable) -> _LobAlone:
        named = cells.of_lob(lob)
        try:
            return _LobAlone(lob=lob, held=self._package.lob(lob), cells=named)
        except SourceError as error:
            return _LobAlone(lob=lob, held=None, cells=named, lost=_lost(lob, error))

    def _told_alone(self, lob: _LobAlone, proof: _ProofAlone, cells: CellTable) -> Iterator[Disagreement]:
        # Without all cells nobody knows that none names it.
        if not lob.cells and len(self._archives) == len(self._package.archives):
            if not is_place(lob.lob):
                self._files += 1
                yield from proof.found
                return
            found = "none" if self._archives else "no archive in the package"
            what = "a METS lists it"
            yield Disagreement(lob=lob.lob, part="", what=what, expected="a cell that names it", found=found)
        self._bytes += proof.bytes
        yield from proof.found
        if proof.is_lost or lob.held is None:
            return
        self._lobs += 1
        self._split += lob.held.is_split
        self._take(proof.evidence)
        # A wrong length or digest may be why the cell's files were not found: that is told already.
        for archive, reason in () if proof.found else cells.astray(lob.lob):
            what = f"its cell in {archive} means something else than METS lists"
            yield Disagreement(
                lob=lob.lob, part="", what=what, expected="the files that METS lists", found=reason
            )

    def _entries(self, path: tuple[str, ...], cells: CellTable) -> Iterator[Disagreement]:
        """Read the LOBs that stayed in an archive."""
        self._progress.stage("Reading LOBs in the archive", None)
        with opened_archive(self._package, path, self._budgets) as archive:
            for lob in cells.inside(path):
                try:
                    yield from self._entry(archive, lob)
                except SourceError as error:
                    yield _lost(self._package.index.prefix(path) + lob.cell.place.id, error)
                    continue
                self._inside += 1

    def _entry(self, archive: Archive, lob: InsideLob) -> Iterator[Disagreement]:
        proving = CellProving(lob.cell, f"the entry {lob.entries[0]}")
        for extent in map(archive.tree.extent, lob.entries):
            for block in () if extent is None else archive.tree.contents(extent):
                proving.update(block)
                self._bytes += len(block)
                self._progress.advance(len(block))
        yield from proving.end()
        crc = {Evidence.CRC} if archive.container is not None else set()
        self._take(proving.evidence | crc)

    def _take(self, evidence: Collection[Evidence]) -> None:
        self._evidence.update(evidence)
        self._unproven += not evidence


@dataclass(frozen=True, slots=True, kw_only=True)
class _LobAlone:
    """A LOB that is proven by itself, and the cells that name it; ``lost`` says why there is no ``held``."""

    lob: str
    held: HeldLob | None
    cells: Sequence[LobCell]
    lost: Disagreement | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class _AlikeLobs:
    """Small LOBs of one folder, as columns: names, sizes, and digests by each algorithm that is stated."""

    folders: Sequence[str]
    names: Sequence[str]
    sizes: Sequence[int]
    stated: Sequence[tuple[str, Sequence[str | None]]]


@dataclass(frozen=True, slots=True, kw_only=True)
class _ProofTask:
    """LOBs that are proven by one process at a time."""

    root: Path
    runs: Sequence[_AlikeLobs]
    alone: Sequence[_LobAlone]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Begun:
    """LOBs that are being proven: the places in ``listed`` of those in each run, and those by themselves."""

    listed: ListedColumns
    alike: Mapping[tuple[str, str | None, CellKind], Sequence[int]]
    alone: Mapping[int, _LobAlone]


@dataclass(frozen=True, slots=True, kw_only=True)
class _ProofAlone:
    """What was found of a LOB by itself: its bytes, what is wrong with it, and what proved it."""

    bytes: int
    found: Sequence[Disagreement]
    evidence: frozenset[Evidence]
    is_lost: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class _Proof:
    """What was found of the LOBs of a task: the odd ones of each run by their place in it, and the others."""

    odd: Sequence[Sequence[int]]
    alone: Sequence[_ProofAlone]


def _prove(task: _ProofTask, moved: Callable[[int], None]) -> _Proof:
    """Prove LOBs, in any process."""
    buffer = memoryview(bytearray(SMALL + 1 if task.runs else 0))
    return _Proof(
        odd=[_odd(task.root, run, buffer, moved) for run in task.runs],
        alone=[_prove_alone(task.root, lob, moved) for lob in task.alone],
    )


def _odd(root: Path, run: _AlikeLobs, buffer: memoryview, moved: Callable[[int], None]) -> list[int]:
    """Return the LOBs that have not the sizes and digests that are stated, or cannot be read."""
    (first, *others) = [(digest_function(algorithm), digests) for algorithm, digests in run.stated]
    digest, digests = first
    odd: list[int] = []
    untold = 0
    contents = reading.small_files(root, run.folders, run.names, repeat(None), buffer)
    for number, (data, size, value) in enumerate(zip(contents, run.sizes, digests, strict=True)):
        is_right = data is not None and len(data) == size and digest(data) == value
        if data is None or not (is_right and all(other(data) == values[number] for other, values in others)):
            odd.append(number)
            continue
        untold += size
        if untold >= reading.CHUNK:
            moved(untold)
            untold = 0
    moved(untold)
    return odd


def _prove_alone(root: Path, lob: _LobAlone, moved: Callable[[int], None]) -> _ProofAlone:
    """Join a LOB from its parts, and compare all that is known of it."""
    if lob.held is None:
        found = [] if lob.lost is None else [lob.lost]
        return _ProofAlone(bytes=0, found=found, evidence=frozenset(), is_lost=True)
    proving = Proving(lob.held, lob.cells)
    found = [*proving.begin()]
    size = 0
    is_lost = False
    try:
        for part in lob.held.parts:
            with opened_part(root, lob.lob, part) as medium:
                for block in part_blocks(lob.lob, part, medium):
                    proving.update(block)
                    size += len(block)
                    moved(len(block))
            found += proving.end_part(part)
        found += proving.end()
    except SourceError as error:
        found.append(_lost(lob.lob, error))
        is_lost = True
    return _ProofAlone(bytes=size, found=found, evidence=proving.evidence, is_lost=is_lost)


def _lost(lob: str, error: SourceError) -> Disagreement:
    # The error's message names the LOB already.
    found = error.message.removeprefix(f"LOB {lob}: ")
    return Disagreement(lob=lob, part="", what="it cannot be restored", expected="all its bytes", found=found)


def _incomplete(error: SourceError) -> Disagreement:
    return Disagreement(
        lob="",
        part="",
        what="the package is incomplete",
        expected="METS and archives that can be read",
        found=error.message,
    )


class RoundtripReport(Iterator[Disagreement]):
    """A proof that LOBs can be restored, as an iterator of what speaks against it; ``summary`` has totals.

    ``ok`` and ``to_json`` read what is left to be read.
    """

    def __init__(self, path: Path, proof: Roundtrip) -> None:
        self.path = path
        self._proof = proof
        self._found: list[Disagreement] = []

    def __next__(self) -> Disagreement:
        """Return the next disagreement."""
        self._found.append(next(self._proof))
        return self._found[-1]

    @property
    def summary(self) -> Summary:
        """The totals so far; complete when the iterator is exhausted."""
        return self._proof.summary

    @property
    def ok(self) -> bool:
        """Whether every LOB can be restored as it was."""
        for _ in self:
            pass
        return not self._found

    def to_json(self) -> dict[str, Any]:
        """Return the proof as data for JSON, as ``metspack roundtrip --json`` prints it."""
        self.ok  # noqa: B018 -- reads what is left
        said = self.summary
        return json_head() | {
            "package": str(self.path),
            "disagreements": [each.document() for each in self._found],
            "proven": said.proven,
            "lobs": said.lobs,
            "split": said.split,
            "inside": said.inside,
            "bytes": said.bytes,
        }
