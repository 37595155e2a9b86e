"""Verification of a source's LOBs: each read and compared with its cell's digest and length."""

from __future__ import annotations

import json
import zlib
from collections import Counter
from collections.abc import Generator, Iterator, Mapping
from dataclasses import field, replace
from enum import Enum, unique
from itertools import repeat
from typing import Any

from metspack import processes
from metspack.digests import OCTETS, digest_function
from metspack.errors import SourceError
from metspack.files import reading, tempdb
from metspack.inspecting import survey
from metspack.model import (
    SMALL,
    Digest,
    FileExtent,
    LobCell,
    LobPlace,
    LobRef,
    LobRun,
    RunShared,
    ZipExtent,
)
from metspack.processes import Moved
from metspack.progress import Progress, Silent
from metspack.sources.lobstream import Holdings, OpenHoldings, Passage
from metspack.sources.opening import Source
from metspack.values import dataclass

_LOBS_AT_ONCE = 2_000
_BYTES_AT_ONCE = 64_000_000
_TOLD = 1 << 20  # bytes of small LOBs that are read before it is told
_SPOOL = "the places of LOBs"
_KEPT: Mapping[str, type[Any]] = {
    kind.__name__: kind
    for kind in (LobRun, RunShared, LobRef, LobCell, LobPlace, Digest, ZipExtent, FileExtent)
}


@unique
class Fault(Enum):
    """Faults of a LOB that was read.

    ``UNREADABLE`` is also a CRC that differs and a file that was changed meanwhile; ``PART_DIGEST`` a cell
    whose digest is the last part's alone, as DBPTK writes it.
    """

    DIGEST = "digest"
    PART_DIGEST = "part digest"
    LENGTH = "length"
    UNREADABLE = "unreadable"


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """Result of reading a LOB: its fault, None without one, and the message and hint about it.

    ``algorithm`` is that of the digest which it has, ``unit`` what its length counts: None when its
    cell has none. ``is_part_digest``: the digest is the last part's alone, and that was accepted.
    """

    lob: str
    fault: Fault | None = None
    message: str = ""
    hint: str = ""
    algorithm: str | None = None
    unit: str | None = None
    is_part_digest: bool = False


@dataclass(slots=True, kw_only=True)
class Verification:
    """Totals of a verification: LOBs, bytes, and LOBs proven by each algorithm and unit.

    ``undigested`` and ``unmeasured`` are LOBs without a fault whose cells have no digest, no length;
    ``part_digests`` those whose digest is accepted though it is the last part's alone.
    """

    lobs: int = 0
    bytes: int = 0
    algorithms: Counter[str] = field(default_factory=Counter)
    units: Counter[str] = field(default_factory=Counter)
    undigested: int = 0
    part_digests: int = 0
    unmeasured: int = 0
    faults: Counter[Fault] = field(default_factory=Counter)

    @property
    def failed(self) -> int:
        """The LOBs that have a fault."""
        return self.faults.total()

    def add(self, other: Verification) -> None:
        """Count what another has counted."""
        self.lobs += other.lobs
        self.bytes += other.bytes
        self.algorithms += other.algorithms
        self.units += other.units
        self.undigested += other.undigested
        self.part_digests += other.part_digests
        self.unmeasured += other.unmeasured
        self.faults += other.faults

    def take(self, verdict: Verdict, number: int = 1) -> None:
        """Count LOBs with the same verdict."""
        self.lobs += number
        if verdict.fault is not None:
            self.faults[verdict.fault] += number
            return
        if verdict.is_part_digest:
            self.part_digests += number
        elif verdict.algorithm is None:
            self.undigested += number
        else:
            self.algorithms[verdict.algorithm] += number
        if verdict.unit is None:
            self.unmeasured += number
        else:
            self.units[verdict.unit] += number


class LobReader(reading.Closable):
    """Reads LOBs of given holdings, in any order; a context manager, for one thread.

    ``accepted`` is of ``lobstream.ACCEPTABLE``; ``moved`` is called with numbers of bytes read; ``counts`` is
    of all that was read so far.
    """

    def __init__(self, holdings: Holdings, accepted: frozenset[str], moved: Moved) -> None:
        self.counts = Verification()
        self._accepted = accepted
        self._moved = moved
        self._holdings = holdings
        self._opened = OpenHoldings(holdings)

    def verify(self, lob: LobRef) -> Verdict:
        """Read a LOB, count it, and return the verdict."""
        verdict = self._read_at_once(lob)
        if verdict is None:
            verdict = self._read(lob)
        self.counts.take(verdict)
        return verdict

    def _read_at_once(self, lob: LobRef) -> Verdict | None:
        """Return the verdict on a small LOB that is as its cell says, None where there is more to be said."""
        cell, digest = lob.cell, lob.cell.digest
        if len(lob.extents) > 1 or lob.size > SMALL or cell.length not in {None, lob.size}:
            return None
        if lob.proofs is not None or (digest is not None and digest.algorithm not in OCTETS):
            return None
        try:
            data = self._opened_for(lob).small(lob.extents[0])
        except SourceError:
            return None
        if data is None or (digest is not None and digest_function(digest.algorithm)(data) != digest.value):
            return None
        self._moved(len(data))
        self.counts.bytes += len(data)
        return Verdict(
            lob=lob.place.id,
            algorithm=None if digest is None else digest.algorithm,
            unit=None if cell.length is None else "bytes",
        )

    def failures(self, found: LobRun | LobRef) -> Iterator[Verdict]:
        """Read a LOB, or LOBs that go together, count them, and yield the verdicts of those with a fault."""
        if isinstance(found, LobRef):
            if (verdict := self.verify(found)).fault is not None:
                yield verdict
        elif found.shared.proof is None and found.shared.digest in {None, *OCTETS}:
            yield from self._run_failures(found)
        else:
            for lob in found.lobs():
                yield from self.failures(lob)

    def _run_failures(self, run: LobRun) -> Iterator[Verdict]:
        """Read the LOBs of a run; one that is not what it should be goes by itself, which tells why."""
        shared, sizes, digests = run.shared, run.sizes, run.digests
        digest = None if shared.digest is None else digest_function(shared.digest)
        odd = waiting = 0
        for data, number in zip(self._contents(run), range(len(run)), strict=False):
            if data is not None and (digest is None or digest(data) == digests[number]):
                waiting += sizes[number]
                if waiting >= _TOLD:
                    self._tell(waiting)
                    waiting = 0
                continue
            odd += 1
            verdict = self._read(run.lob(number))
            self.counts.take(verdict)
            if verdict.fault is not None:
                yield verdict
        self._tell(waiting)
        if odd < len(run):
            usual = Verdict(lob="", algorithm=shared.digest, unit="bytes" if shared.is_measured else None)
            self.counts.take(usual, len(run) - odd)

    def _contents(self, run: LobRun) -> Iterator[bytes | memoryview | None]:
        """Yield the bytes of each LOB of a run, None for one that goes by itself, and without an end then."""
        try:
            yield from self._opened.small_contents(run)
        except SourceError:  # each by itself tells why
            yield from repeat(None)

    def _tell(self, number: int) -> None:
        self._moved(number)
        self.counts.bytes += number

    def _opened_for(self, lob: LobRef) -> OpenHoldings:  # noqa: ARG002 -- of others
        return self._opened

    def _read(self, lob: LobRef) -> Verdict:
        passage = Passage(lob, self._opened_for(lob), (), self._accepted)
        try:
            for block in passage.portion():
                self._moved(len(block))
                self.counts.bytes += len(block)
        except SourceError as error:
            return _failed(lob, Fault.UNREADABLE, error)
        try:
            passage.end()
        except SourceError as error:
            if passage.unit is None and lob.cell.length is not None:
                return _failed(lob, Fault.LENGTH, error)
            return _failed(lob, Fault.PART_DIGEST if passage.is_part_digest else Fault.DIGEST, error)
        digest = lob.cell.digest
        return Verdict(
            lob=lob.place.id,
            algorithm=None if digest is None else digest.algorithm,
            unit=passage.unit,
            is_part_digest=passage.is_part_digest,
        )

    def check_unchanged(self) -> None:
        """Raise SourceError when the source was changed while it was read."""
        self._opened.check_unchanged()

    def close(self) -> None:
        """Close what is open."""
        self._opened.close()


class Verifier(LobReader):
    """Reads the LOBs of one source, in any order; a context manager, for one thread."""

    def __init__(
        self, source: Source, accepted: frozenset[str] = frozenset(), progress: Progress | None = None
    ) -> None:
        super().__init__(source.holdings(), accepted, (progress or Silent()).advance)
        self._source = source

    def _opened_for(self, lob: LobRef) -> OpenHoldings:
        held = survey.holdings(self._source, lob, self._holdings)
        if held is not self._holdings:
            self._opened.check_unchanged()
            self._holdings = held
            self._opened = OpenHoldings(held)
        return self._opened

    def verify_spool(self, spool: LobSpool, jobs: int | None = 1) -> Generator[Verdict, None, None]:
        """Read the LOBs of a spool, and yield the verdicts of those with a fault, in their order.

        ``jobs`` is the number of processes, as many as help when None; the result is the same for any. Raises
        SourceError when the source was changed meanwhile.
        """
        kept, holdings = spool.tasks(), self._source.holdings()
        tasks = (_VerifyTask(lobs=lobs, holdings=holdings, accepted=self._accepted) for (lobs,) in kept)
        useful = min(processes.useful(jobs, files=spool.lobs, size=spool.bytes), max(1, spool.number))
        with processes.Workers(useful) as workers:
            for each in workers.results(_verify, tasks, self._moved):
                self.counts.add(each.counts)
                yield from each.failures


class LobSpool(tempdb.Scratch):
    """LOBs that were found, kept on disk in their order; a context manager, for one thread.

    First ``add``, then ``tasks``; then ``lobs`` and ``bytes`` are of all, ``number`` is of the tasks. Raises
    TargetError when the temporary disk is full.
    """

    __slots__ = ("_lobs", "_size", "_waiting", "bytes", "lobs", "number")

    def __init__(self) -> None:
        self.lobs = self.bytes = self.number = 0
        self._waiting: list[LobRun | LobRef] = []
        self._lobs = self._size = 0
        with tempdb.explained(_SPOOL):
            super().__init__("CREATE TABLE task (lobs BLOB NOT NULL)", "BEGIN")

    def add(self, found: LobRun | LobRef) -> None:
        """Append a LOB, or LOBs that go together."""
        number = 1
        if isinstance(found, LobRun):
            number = len(found)
            # Who reads a LOB asks for its extent and not for what its cell calls it.
            found = replace(found, files=[""] * number, entries=())
        self._waiting.append(found)
        self.lobs += number
        self.bytes += found.bytes
        if self.lobs - self._lobs >= _LOBS_AT_ONCE or self.bytes - self._size >= _BYTES_AT_ONCE:
            self._flush()

    def _flush(self) -> None:
        if self._waiting:
            lobs = zlib.compress(
                json.dumps(self._waiting, default=_fields, separators=(",", ":")).encode(), 1
            )
            with tempdb.explained(_SPOOL):
                self._database.execute("INSERT INTO task VALUES (?)", (lobs,))
            self.number += 1
            self._waiting.clear()
            self._lobs, self._size = self.lobs, self.bytes

    def tasks(self) -> Iterator[tuple[bytes]]:
        """Return the LOBs, so many together that they are worth a task."""
        self._flush()
        return tempdb.rows(self._database, "SELECT lobs FROM task ORDER BY rowid")


def _fields(value: Any) -> dict[str, list[Any]]:
    kind = type(value)
    return {kind.__name__: [getattr(value, name) for name in kind.__dataclass_fields__]}


def _value(written: dict[str, list[Any]]) -> Any:
    ((name, fields),) = written.items()
    kind = _KEPT[name]
    values = (tuple(each) if isinstance(each, list) else each for each in fields)
    return kind(**dict(zip(kind.__dataclass_fields__, values, strict=True)))


@dataclass(frozen=True, slots=True, kw_only=True)
class _VerifyTask:
    """LOBs of a spool that are read by one process."""

    lobs: bytes
    holdings: Holdings
    accepted: frozenset[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Verified:
    """Result of a task: what was counted, and the verdicts of LOBs with a fault."""

    counts: Verification
    failures: list[Verdict]


def _verify(task: _VerifyTask, moved: Moved) -> _Verified:
    with LobReader(task.holdings, task.accepted, moved) as reader:
        failures: list[Verdict] = []
        for found in json.loads(zlib.decompress(task.lobs), object_hook=_value):
            failures += reader.failures(found)
        reader.check_unchanged()
        return _Verified(counts=reader.counts, failures=failures)


def _failed(lob: LobRef, fault: Fault, error: SourceError) -> Verdict:
    return Verdict(lob=lob.place.id, fault=fault, message=error.message, hint=error.hint)
