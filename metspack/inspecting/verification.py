"""Verify a source's LOBs: read each, and compare it with its cell and with METS, if listed.

The bytes are discarded: ``inspect --verify`` and ``restore --dry-run`` read LOBs here.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Generator, Iterable, Iterator
from dataclasses import dataclass, field, fields
from enum import Enum, unique
from itertools import repeat

from metspack import processes
from metspack.errors import SourceError
from metspack.model import LobRef, LobRun
from metspack.processes import Moved
from metspack.sources.archive import FoundLobs
from metspack.sources.lobstream import ByteSources, Contents, LobReader, OpenSources

_LOBS_AT_ONCE = 2_000
_BYTES_AT_ONCE = 64_000_000


@unique
class Fault(Enum):
    """Faults of a LOB that was read.

    ``UNREADABLE`` includes a CRC that differs, a file that was changed meanwhile, and a LOB that was not
    found; ``PART_DIGEST`` is a cell whose digest is that of only the last part, as DBPTK writes it.
    """

    DIGEST = "digest"
    PART_DIGEST = "part digest"
    LENGTH = "length"
    UNREADABLE = "unreadable"


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """Result of reading a LOB: its fault, None without one, and the message and hint about it.

    ``lob`` is "" for a fault of more than one LOB. ``algorithm`` is that of the cell's digest, ``unit`` the
    unit of the cell's length: None for a cell without one. ``is_part_digest`` means that the digest is that
    of only the last part, which was accepted.
    """

    lob: str
    fault: Fault | None = None
    message: str = ""
    hint: str = ""
    algorithm: str | None = None
    unit: str | None = None
    is_part_digest: bool = False

    def document(self) -> dict[str, str | None]:
        """Return the fault as the object for JSON."""
        fault = self.fault and self.fault.value
        return {"lob": self.lob, "fault": fault, "message": self.message, "hint": self.hint}


@dataclass(slots=True, kw_only=True)
class Verification:
    """Totals of a verification: LOBs, bytes, and LOBs proven by each algorithm and unit.

    ``undigested`` and ``unmeasured`` are LOBs without a fault whose cells have no digest, no length;
    ``part_digests`` those whose digest is accepted though it is that of only the last part.
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
        """Add the totals of another verification."""
        for each in fields(self):
            setattr(self, each.name, getattr(self, each.name) + getattr(other, each.name))

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


def verify(
    found: Iterable[FoundLobs],
    sources: Callable[[], ByteSources],
    accepted: frozenset[str],
    *,
    jobs: int,
    moved: Moved,
) -> Generator[tuple[Verification, list[Verdict]], None, None]:
    """Read LOBs in ``jobs`` processes; yield totals and verdicts with a fault, some at a time.

    ``sources`` returns those of the LOBs found so far; ``accepted`` are faults of ``lobstream.ACCEPTABLE``;
    ``moved`` is called with numbers of bytes read. Raises ``SourceError`` when a file that holds LOBs was
    changed meanwhile.
    """
    tasks = ((some, sources(), accepted) for some in _batches(found))
    yield from processes.results(_verify, tasks, jobs, moved)


def verdict_on(lob: LobRef, sources: OpenSources, accepted: frozenset[str], moved: Moved) -> Verdict:
    """Read one LOB, and return the verdict on it."""
    reader = LobReader(lob, sources, (), accepted)
    is_read = False
    try:
        for block in reader.portion():
            moved(len(block))
        is_read = True
        reader.end()
    except SourceError as error:
        fault = Fault.PART_DIGEST if reader.is_part_digest else Fault.DIGEST
        if reader.unit is None and lob.cell.length is not None:
            fault = Fault.LENGTH
        return _failed(lob.place.id, fault if is_read else Fault.UNREADABLE, error)
    digest = lob.cell.digest
    return Verdict(
        lob=lob.place.id,
        algorithm=None if digest is None else digest.algorithm,
        unit=reader.unit,
        is_part_digest=reader.is_part_digest,
    )


def _batches(found: Iterable[FoundLobs]) -> Iterator[list[FoundLobs]]:
    """Yield lists of LOBs, each large enough for a task."""
    some: list[FoundLobs] = []
    lobs = size = 0
    for each in found:
        some.append(each._replace(conventions=()))
        lobs += sum(map(len, each.runs)) + len(each.lost)
        size += sum(run.bytes for run in each.runs)
        if lobs >= _LOBS_AT_ONCE or size >= _BYTES_AT_ONCE:
            yield some
            some, lobs, size = [], 0, 0
    if some:
        yield some


def _verify(
    task: tuple[list[FoundLobs], ByteSources, frozenset[str]], moved: Moved
) -> tuple[Verification, list[Verdict]]:
    some, held, accepted = task
    counts = Verification()
    verdicts: list[Verdict] = []

    def count(size: int) -> None:
        counts.bytes += size
        moved(size)

    with OpenSources(held) as sources:
        for found in some:
            verdicts += (_failed(lob, Fault.UNREADABLE, error) for lob, error in found.lost)
            for run in found.runs:
                single = list(_verdicts(run, sources, accepted, count))
                unit = "bytes" if run.shared.is_measured else None
                counts.take(Verdict(lob="", algorithm=run.shared.digest, unit=unit), len(run) - len(single))
                verdicts += single
        sources.check_unchanged()
    for each in verdicts:
        counts.take(each)
    return counts, [each for each in verdicts if each.fault is not None]


def _verdicts(run: LobRun, sources: OpenSources, accepted: frozenset[str], moved: Moved) -> Iterator[Verdict]:
    """Yield the verdicts on a run's LOBs that fail the common comparison."""
    for data, number in zip(_contents(run, sources), range(len(run)), strict=False):
        if data is None:
            yield verdict_on(run.lob(number), sources, accepted, moved)
        else:
            moved(len(data))


def _contents(run: LobRun, sources: OpenSources) -> Contents:
    """Yield the proven bytes of each LOB of a run, or None for one to be read singly."""
    try:
        yield from sources.proven_contents(run)
    except SourceError:  # reading each LOB singly reports why
        yield from repeat(None)


def _failed(lob: str, fault: Fault, error: SourceError) -> Verdict:
    return Verdict(lob=lob, fault=fault, message=error.message, hint=error.hint)
