"""Progress of long work: stages, amounts done in them, and estimates of the time."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import Protocol


class Progress(Protocol):
    """An observer of long work, which may show its progress.

    With a method ``expect_lobs(count)`` it takes the number of LOBs of a stage that has just begun, with
    ``credit(workers)`` the bytes done so far by each worker of a cluster. Where its ``is_seen`` is false, no
    total is counted for it.
    """

    def stage(self, name: str, total: int | None) -> None:
        """Begin a stage of ``total`` bytes, None when they are unknown."""

    def advance(self, amount: int) -> None:
        """Add bytes done in the current stage."""


Credit = Callable[[Mapping[str, int]], None]
"""A function that takes the bytes done so far by each worker of a cluster, by its name."""


class Silent:
    """An observer without a display; stages are logged as ``metspack`` (``logging``, at INFO)."""

    def stage(self, name: str, total: int | None) -> None:
        """Log that a stage begins."""
        from logging import getLogger  # noqa: PLC0415 -- commands show their stages themselves

        getLogger("metspack").info("%s", name if total is None else f"{name}: {total:,} bytes")

    def advance(self, amount: int) -> None:
        """Ignore the amount."""


def begin_lobs(progress: Progress, name: str, total: int, lobs: int) -> None:
    """Begin a stage of ``lobs`` LOBs with ``total`` bytes."""
    progress.stage(name, total)
    getattr(progress, "expect_lobs", lambda _count: None)(lobs)


def credit_of(progress: Progress) -> Credit:
    """Return the function that takes the bytes of each worker for an observer."""
    credit: Credit = getattr(progress, "credit", lambda _workers: None)
    return credit


class LateStage:
    """A stage that begins with its first bytes, after a stage without a total.

    ``total`` is called between the two.
    """

    def __init__(self, progress: Progress, before: str, name: str, total: Callable[[], int | None]) -> None:
        self._progress = progress
        self._name = name
        self._total: Callable[[], int | None] | None = total
        progress.stage(before, None)

    def advance(self, amount: int) -> None:
        """Add bytes done."""
        if self._total is not None:
            self._progress.stage(self._name, self._total())
            self._total = None
        self._progress.advance(amount)


_CHECKING = "Checking the new package"
_DIGEST = "Comparing the archive's messageDigest"
_BUILDING = ("Looking at sizes", "Planning", _DIGEST, "Placing", "Rewriting the archive", _CHECKING)
_STAGES = {
    "build": _BUILDING,
    "in place": ("Finding LOBs", _DIGEST, "Reading", _CHECKING),
    "convert": ("Reading METS", "Comparing the archive with METS", *_BUILDING),
    "merge": ("Reading METS", "Copying", _CHECKING),
    "plan": ("Looking at sizes", "Planning"),
    "restore": ("Reading METS", "Reading tables", "Restoring"),
    "restore siard": (
        *("Reading METS", "Comparing the archive with METS", "Looking for LOBs inside", "Reading tables"),
        *("Proving LOBs that stay inside", "Restoring", "Writing the archive"),
    ),
    "restore dry run": (
        *("Reading METS", "Comparing the archive with METS", "Looking for LOBs inside", "Verifying"),
    ),
    "check": ("Reading METS", "Checking"),
}
_OPTIONAL = {"Looking at sizes"}


class StageNumbers:
    """The numbers of the stages of a command; stages that are not needed are skipped.

    ``is_writing``: the command's output is removed when it is interrupted.
    """

    def __init__(self, command: str) -> None:
        self._names: Sequence[str] = _STAGES.get(command, ())
        self._at = 0
        self.is_writing = not {"Placing", "Copying", "Restoring"}.isdisjoint(self._names)

    def begin(self, name: str) -> str:
        """Return "stage 3 of 5" for the stage that begins, "" for one without a number."""
        if name not in self._names[self._at :]:
            return ""
        if self._at == 0 and name not in _OPTIONAL:  # optional stages come first
            self._names = [each for each in self._names if each not in _OPTIONAL]
        self._at = self._names.index(name, self._at) + 1
        return f"stage {self._at} of {len(self._names)}"


class Pace:
    """The pace of a stage: bytes and LOBs for each second, and an estimate of the time left.

    The estimate needs some seconds, and a pace of the last few that agrees with that of the whole. ``now`` is
    a clock in seconds.
    """

    SOUND = 5.0
    """Seconds before the first estimate."""
    _LAST = 3.0  # seconds of the pace of late
    _LATE = 10.0  # seconds that are remembered
    _APART = 2.0  # the ratio of paces at which there is no estimate
    _LEAST = 0.02  # the share done before the first estimate

    def __init__(self, total: int | None, now: float) -> None:
        self.total = total
        self.done = 0
        self.lobs = 0
        self._began = now
        self._late: deque[tuple[float, int]] = deque([(now, 0)])

    def add(self, amount: int, now: float) -> None:
        """Take bytes that were done."""
        self.done += amount
        if now - self._late[-1][0] >= 1:
            self._late.append((now, self.done))
            while len(self._late) > 2 and now - self._late[1][0] >= self._LATE:  # noqa: PLR2004 -- two ends
                self._late.popleft()

    def elapsed(self, now: float) -> float:
        """Return the seconds since the stage began."""
        return now - self._began

    def rate(self, now: float) -> float:
        """Return the bytes done in each second."""
        return self.done / max(self.elapsed(now), 0.001)

    def lob_rate(self, now: float) -> int | None:
        """Return the approximate LOBs done in each second, computed from bytes, or None."""
        if not (self.total and self.lobs and self.done):
            return None
        return round(self.rate(now) * self.lobs / self.total)

    def percent(self) -> int | None:
        """Return the percentage done, or None without a total."""
        return min(self.done * 100 // self.total, 100) if self.total else None

    def left(self, now: float) -> float | None:
        """Return the seconds left, or None without an estimate."""
        if not self.total or self.elapsed(now) < self.SOUND or self.done < self.total * self._LEAST:
            return None
        last = next((each for each in reversed(self._late) if now - each[0] >= self._LAST), self._late[0])
        late = [(self.done - done) / max(now - since, 0.001) for since, done in (last, self._late[0])]
        slowest, *_, fastest = sorted((*late, self.rate(now)))
        if not slowest or fastest > self._APART * slowest:
            return None
        return max(self.total - self.done, 0) / slowest
