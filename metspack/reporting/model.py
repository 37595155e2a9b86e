"""What a report is made from, beside the findings: the check's frame, and figures for pictures and tables."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum, unique

from metspack.checking import Summary
from metspack.checking.sampling import Sample
from metspack.model import Limits, Severity


@unique
class State(Enum):
    """How a child stands to its parent, from the METS documents alone."""

    OK = "ok"
    """The parent leads to it, and it names the parent."""
    ELSEWHERE = "elsewhere"
    """As ok, but it lies elsewhere than the parent says, and was found by its OBJID."""
    ONE_WAY = "one-way"
    """It is there, but only one of the two names the other."""
    BROKEN = "broken"
    """The link leads nowhere, to a METS that cannot be read, or to one that is called otherwise."""
    MISSING = "missing"
    """The parent says where it is, and it is not there."""
    EXTRA = "extra"
    """It is there, and no METS of the package names it."""
    UNKNOWN = "unknown"
    """Of a parent: it lies neither in the package nor under a root, so nobody looked whether it names it."""


_CODES = 3  # beside a state: the findings say all


@dataclass(frozen=True, slots=True, kw_only=True)
class Child:
    """A child IP: its identifier and METS, as its parent calls them or as it does itself when nobody does.

    ``mets`` is the path from the package's root, empty when nothing says it; ``found`` is where its METS
    lies when that is elsewhere. ``parent`` is the METS that names it, the package's own for one that nobody
    names. ``down`` tells of an mptr from the parent, ``up`` of one to it. ``files`` and ``bytes`` are what
    its METS lists, other METS left out. ``codes`` are those of the findings that make the link what it is.
    """

    objid: str
    mets: str
    parent: str
    state: State
    down: bool
    up: bool
    files: int = 0
    bytes: int = 0
    found: str = ""
    codes: tuple[str, ...] = ()

    @property
    def standing(self) -> str:
        """Its state, with the codes that tell why when the link is at fault."""
        return " ".join((self.state.value, *self.codes[:_CODES]))

    @property
    def folder(self) -> str:
        """The folder that holds its METS, without the last ``/``; empty at the root or when not known."""
        return self.mets.rpartition("/")[0]


@dataclass(frozen=True, slots=True, kw_only=True)
class Parent:
    """A parent IP that is no part of the package: its OBJID, the METS that names it, how the link is."""

    objid: str
    child: str
    state: State


@dataclass(frozen=True, slots=True, kw_only=True)
class Segment:
    """What a child IP holds: files and bytes of LOBs as its METS lists them."""

    name: str
    files: int
    bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SplitPart:
    """A part of a split LOB: its id, the child that the parent says holds it, its bytes there.

    ``size`` is None when that child does not list the part, or no size for it; ``is_lost`` tells that it
    lists it, but the file is not there.
    """

    id: str
    child: str
    size: int | None
    is_lost: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class SplitLob:
    """A LOB in parts, in their order; ``size`` is the whole's as the parent says, None when it does not."""

    id: str
    size: int | None
    parts: tuple[SplitPart, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Fixity:
    """What digests of one algorithm, stated in one kind of place, were worth.

    ``source`` is ``METS`` or a manifest's name. ``files`` have a digest there, of ``bytes`` together;
    ``read`` of them were hashed, ``failed`` of those differ. Both are None when the check was interrupted.
    """

    source: str
    algorithm: str
    files: int
    bytes: int
    read: int | None
    failed: int | None

    @property
    def verified(self) -> int | None:
        """How many files are proven to be what the digest says."""
        return None if self.read is None or self.failed is None else self.read - self.failed


@dataclass(frozen=True, slots=True, kw_only=True)
class Top:
    """A package that was checked: its OBJID, empty for none, and its METS."""

    objid: str
    mets: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportFacts:
    """Figures of the packages of a check: links, segments, split LOBs, fixity.

    Children stand by name, those without a METS last. They and split LOBs are as many as there are
    segments, never as many as LOBs. ``splits_left_out`` counts what is no longer in ``splits``. Of
    several packages, paths begin with the package's own, as those of findings do.
    """

    tops: tuple[Top, ...] = ()
    parents: tuple[Parent, ...] = ()
    children: tuple[Child, ...] = ()
    segments: tuple[Segment, ...] = ()
    splits: tuple[SplitLob, ...] = ()
    splits_left_out: int = 0
    fixity: tuple[Fixity, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Frame:
    """A check as its reports tell of it.

    ``path`` is the package as it was named; ``sample`` chose the files that were hashed (``summary.sampled``
    says how many), None for all; ``is_complete`` is False when the check was interrupted; ``created`` is an
    xs:dateTime, empty to leave it out; findings of ``fail_on`` or worse fail, None is never; ``limits`` are
    those that the segments are drawn against.
    """

    path: str
    level: str
    summary: Summary
    sample: Sample | None = None
    is_complete: bool = True
    created: str = ""
    fail_on: Severity | None = Severity.ERROR
    limits: Limits = field(default_factory=Limits)
    facts: ReportFacts = field(default_factory=ReportFacts)

    def fails(self, severity: Severity) -> bool:
        """Whether a finding of this severity makes the check fail."""
        return self.fail_on is not None and rank(severity) <= rank(self.fail_on)

    @property
    def is_failed(self) -> bool:
        """Whether the check fails as a whole."""
        counts = {
            Severity.ERROR: self.summary.errors,
            Severity.WARNING: self.summary.warnings,
            Severity.INFO: self.summary.infos,
        }
        return any(count and self.fails(severity) for severity, count in counts.items())


def rank(severity: Severity) -> int:
    """Return a severity's place from the worst, 0, on."""
    return list(Severity).index(severity)
