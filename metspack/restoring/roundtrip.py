"""Prove that every LOB can be restored: all are joined and hashed, nothing is written."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby, islice, repeat
from typing import Self

from metspack.digests import OCTETS, digest_function
from metspack.errors import SourceError
from metspack.files import reading, tempdb
from metspack.model import LONGEST, SMALL, Budgets
from metspack.packages.cells import CellFacts, CellTable, InsideLob, altered, opened_archive
from metspack.packages.lobs import Disagreement, HeldLob, ListedFile
from metspack.packages.package import Package
from metspack.packages.proofs import CellProving, Evidence, Proving
from metspack.progress import Progress, Silent
from metspack.restoring.joining import opened_part, part_blocks
from metspack.restoring.shards.writing import unrelated
from metspack.sources.archive import Archive


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """Totals of a roundtrip: LOBs in segments, split ones among them, LOBs in the archive, bytes hashed.

    A LOB counts when all its bytes were read, whether they were the right ones or not; ``evidence`` has
    how many were proven by what, ``unproven`` is how many by nothing.
    """

    lobs: int
    split: int
    inside: int
    bytes: int
    disagreements: int
    evidence: Mapping[Evidence, int]
    unproven: int


class Roundtrip(Iterator[Disagreement]):
    """A proof of all LOBs as an iterator of disagreements; ``summary`` has the totals so far.

    Compared are the archive and each part with their digests in METS, the parts of a LOB together with the
    whole's, every LOB with the digest and length in its cell, and the files that its cell means with those
    that METS lists, as restoring does; LOBs that stayed in the archive are read there.
    LOBs that no cell names and cells without a LOB are told, and parts that map and child do not both
    name. Flat memory. Raises ``SourceError`` when the parent METS cannot be read, ``TargetError`` when
    the temporary disk is full.
    """

    def __init__(self, package: Package, progress: Progress | None, budgets: Budgets | None) -> None:
        self._package = package
        self._progress = progress or Silent()
        self._budgets = budgets
        self._lobs = self._split = self._inside = self._bytes = self._count = self._unproven = 0
        self._evidence: Counter[Evidence] = Counter()
        self._archives: list[tuple[str, ...]] = []
        self._buffer = memoryview(bytearray(SMALL + 1))
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
        )

    def _proven(self) -> Iterator[Disagreement]:
        self._progress.stage("Reading METS", None)
        for fault in self._package.faults:
            yield _incomplete(fault)
        yield from unrelated(self._package)
        with CellTable(self._package, self._budgets) as cells:
            self._progress.stage("Reading tables", None)
            for path in self._package.archives:
                try:
                    cells.take(path)
                except SourceError as error:
                    yield _incomplete(error)
                else:
                    self._archives.append(path)
                    yield from self._changed(path)
            self._progress.stage("Joining LOBs", self._package.index.weight())
            ids = self._package.ids()
            while batch := list(islice(ids, LONGEST)):
                yield from self._many(batch, cells)
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

    def _advance(self, block: bytes) -> None:
        self._bytes += len(block)
        self._progress.advance(len(block))

    def _many(self, lobs: Sequence[str], cells: CellTable) -> Iterator[Disagreement]:
        """Prove many LOBs: those of one folder that are alike in one loop, all others by themselves."""
        files, named = self._package.listed_files(lobs), cells.alone(lobs)
        each_with = [(lob, _provable(files.get(lob), named.get(lob))) for lob in lobs]
        for likeness, alike in groupby(each_with, lambda pair: _likeness(pair[1])):
            if likeness is None:
                for lob, _ in alike:
                    yield from self._lob(lob, cells)
            else:
                yield from self._alike(*likeness, [each for _, each in alike if each is not None], cells)

    def _alike(
        self, folder: str, algorithms: tuple[str, str | None], lobs: Sequence[_Provable], cells: CellTable
    ) -> Iterator[Disagreement]:
        """Prove LOBs of one folder; what is wrong with one is told by proving it again by itself."""
        _, said = algorithms
        functions = [digest_function(each) for each in dict.fromkeys(algorithms) if each is not None]
        names = [file.path.rpartition("/")[2] for file, _ in lobs]
        folders = folder.split("/") if folder else []
        contents = reading.small_files(self._package.root, folders, names, repeat(None), self._buffer)
        for data, (file, cell) in zip(contents, lobs, strict=True):
            if data is not None and len(data) == file.size:
                found = [digest(data) for digest in functions]
                if found[0] == file.digest and (said is None or found[-1] == cell.digest):
                    self._bytes += file.size
                    self._progress.advance(file.size)
                    self._lobs += 1
                    self._evidence[Evidence.METS_DIGEST] += 1
                    self._evidence[Evidence.CELL_DIGEST] += said is not None
                    self._evidence[Evidence.CELL_LENGTH] += cell.length is not None
                    continue
            yield from self._lob(file.lob, cells)

    def _lob(self, lob: str, cells: CellTable) -> Iterator[Disagreement]:
        named = cells.of_lob(lob)
        # Without all cells nobody knows that none names it.
        if not named and len(self._archives) == len(self._package.archives):
            found = "none" if self._archives else "no archive in the package"
            what = "a METS lists it"
            yield Disagreement(lob=lob, part="", what=what, expected="a cell that names it", found=found)
        try:
            held = self._package.lob(lob)
            proving = Proving(held, named)
            before = self._count
            yield from self._joined(held, proving)
        except SourceError as error:
            yield _lost(lob, error)
            return
        self._lobs += 1
        self._split += held.is_split
        self._take(proving.evidence)
        # A wrong length or digest may be why the cell's files were not found: that is told already.
        for archive, reason in cells.astray(lob) if self._count == before else ():
            what = f"its cell in {archive} means something else than METS lists"
            yield Disagreement(
                lob=lob, part="", what=what, expected="the files that METS lists", found=reason
            )

    def _joined(self, lob: HeldLob, proving: Proving) -> Iterator[Disagreement]:
        yield from proving.begin()
        for part in lob.parts:
            with opened_part(self._package.root, lob.id, part) as medium:
                for block in part_blocks(lob.id, part, medium):
                    proving.update(block)
                    self._advance(block)
            yield from proving.end_part(part)
        yield from proving.end()

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
                self._advance(block)
        yield from proving.end()
        crc = {Evidence.CRC} if archive.container is not None else set()
        self._take(proving.evidence | crc)

    def _take(self, evidence: Collection[Evidence]) -> None:
        self._evidence.update(evidence)
        self._unproven += not evidence


_Provable = tuple[ListedFile, CellFacts]
"""A LOB that is one file, and what its one cell says of it."""


def _provable(file: ListedFile | None, cell: CellFacts | None) -> _Provable | None:
    """Return a small LOB with digests that can be computed, and with the length of its file if any."""
    if file is None or cell is None or file.size > SMALL or cell.length not in {None, file.size}:
        return None
    is_known = file.algorithm in OCTETS and (cell.algorithm is None or cell.algorithm in OCTETS)
    return (file, cell) if is_known else None


def _likeness(lob: _Provable | None) -> tuple[str, tuple[str, str | None]] | None:
    """Return folder and algorithms, which LOBs that are proven together have in common."""
    if lob is None:
        return None
    file, cell = lob
    return file.path.rpartition("/")[0], (file.algorithm or "", cell.algorithm)


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


def proven(package: Package, progress: Progress | None = None, budgets: Budgets | None = None) -> Roundtrip:
    """Return an iterator of the disagreements that keep a package's LOBs from being restored as they were."""
    return Roundtrip(package, progress, budgets)
