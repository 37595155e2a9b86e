"""Verification of a source's LOBs: each read and compared with its cell's digest and length."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import Enum, unique

from metspack.digests import OCTETS, digest_function
from metspack.errors import SourceError
from metspack.files.tempdb import Closable
from metspack.inspecting import survey
from metspack.model import SMALL, LobRef
from metspack.progress import Progress, Silent
from metspack.sources.lobstream import OpenHoldings, Passage
from metspack.sources.opening import Source


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


class Verifier(Closable):
    """Reads the LOBs of one source, in any order; a context manager, for one thread.

    ``accepted`` is of ``lobstream.ACCEPTABLE``; ``counts`` is of all that was read so far.
    """

    def __init__(
        self, source: Source, accepted: frozenset[str] = frozenset(), progress: Progress | None = None
    ) -> None:
        self.counts = Verification()
        self._source = source
        self._accepted = accepted
        self._progress = progress or Silent()
        self._holdings = source.holdings()
        self._opened = OpenHoldings(self._holdings)

    def verify(self, lob: LobRef) -> Verdict:
        """Read a LOB, count it, and return the verdict."""
        verdict = self._read_at_once(lob)
        if verdict is None:
            verdict = self._read(lob, Passage(lob, self._opened_for(lob), (), self._accepted))
        self._count(verdict)
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
        self._progress.advance(len(data))
        self.counts.bytes += len(data)
        return Verdict(
            lob=lob.place.id,
            algorithm=None if digest is None else digest.algorithm,
            unit=None if cell.length is None else "bytes",
        )

    def _opened_for(self, lob: LobRef) -> OpenHoldings:
        held = survey.holdings(self._source, lob, self._holdings)
        if held is not self._holdings:
            self._opened.check_unchanged()
            self._holdings = held
            self._opened = OpenHoldings(held)
        return self._opened

    def _read(self, lob: LobRef, passage: Passage) -> Verdict:
        try:
            for block in passage.portion():
                self._progress.advance(len(block))
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

    def _count(self, verdict: Verdict) -> None:
        self.counts.lobs += 1
        if verdict.fault is not None:
            self.counts.faults[verdict.fault] += 1
            return
        if verdict.is_part_digest:
            self.counts.part_digests += 1
        elif verdict.algorithm is None:
            self.counts.undigested += 1
        else:
            self.counts.algorithms[verdict.algorithm] += 1
        if verdict.unit is None:
            self.counts.unmeasured += 1
        else:
            self.counts.units[verdict.unit] += 1

    def check_unchanged(self) -> None:
        """Raise SourceError when the source was changed while it was read."""
        self._opened.check_unchanged()

    def close(self) -> None:
        """Close what is open."""
        self._opened.close()


def failures(source: Source, verifier: Verifier) -> Iterator[Verdict]:
    """Read every LOB of a source that was found, and yield the verdicts of those with a fault."""
    for batch in survey.batches(source):
        for each in batch.lobs:
            if each.lob is not None and (verdict := verifier.verify(each.lob)).fault is not None:
                yield verdict
    verifier.check_unchanged()


def _failed(lob: LobRef, fault: Fault, error: SourceError) -> Verdict:
    return Verdict(lob=lob.place.id, fault=fault, message=error.message, hint=error.hint)
