"""Resume builds: read from the journal which segments and archive an earlier run made."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from metspack.building.segments import SegmentDone
from metspack.digests import Hashers
from metspack.files import journal
from metspack.files.staging import FinishedStretches, Staging, amounts, keep_only
from metspack.planning import slices
from metspack.planning.assignment import Assignment, PlacedBefore
from metspack.planning.slices import SliceStretch
from metspack.sources.opening import SourceFacts
from metspack.system import os

COMPARED = "compared"
"""The event of a compared messageDigest; its ``made_of`` are the facts of the source."""

OF_TASKS = re.compile(r"(?:digests|wholes|parts|placed)-[0-9]+(?:-[0-9]+)?\.jsonl|manifest-[0-9]+\..+")
"""The names of files in the working folder that tasks leave for a run that resumes."""


class EarlierRun(FinishedStretches[SegmentDone]):
    """The results of an earlier run of a build, empty without one.

    ``archive`` is the event of this name, None before the archive was written.
    """

    def __init__(self, staging: Staging) -> None:
        super().__init__(staging, SegmentDone)
        last = {each["event"]: each for each in staging.events}
        self._compared: Mapping[str, Any] | None = last.get(COMPARED)
        self.archive: Mapping[str, Any] | None = last.get(journal.ARCHIVE)
        # A segment is described after it was placed: the last of its events counts.
        self._begun = {(each.number, each.digest): _progress(each) for each in self.all}

    def made_of(self) -> SourceFacts | None:
        """Return the facts of the source, or None before its messageDigest was compared."""
        with self.as_written():
            return None if self._compared is None else SourceFacts.restored(self._compared["made_of"])

    def begun(self, assigned: Assignment, number: int) -> PlacedBefore | None:
        """Return the progress of placing a segment, or None before its beginning.

        The slice must be the same: a run that was stopped while it planned may have found other LOBs for it.
        """
        return self._begun.get((number, assigned.digests[number]))

    def finished(
        self, assigned: Assignment, numbers: Sequence[int], stretch: SliceStretch, *, is_described: bool
    ) -> tuple[SegmentDone, ...]:
        """Return the finished ones of some segments, up to a gap, or the finished stretch."""
        found = []
        for number in numbers:
            done = self.by_key.get((number, stretch, is_described))
            if done is None or done.digest != assigned.digests[number] or not self._is_there(done):
                break
            found.append(done)
        return tuple(found)

    def done(self, assigned: Assignment) -> tuple[int, int]:
        """Return the number of LOBs and parts that are placed already, and their bytes."""
        found = {each.number: each for each in self.all if each.child is not None}
        return amounts([each for each in found.values() if each.digest == assigned.digests[each.number]])

    def _is_there(self, done: SegmentDone) -> bool:
        """Return whether a recorded segment exists by name and size; the final check reads it."""
        child = done.child
        if child is None:
            return True
        package = self.staging.package
        try:
            return (package / child.path).is_file() or os.lstat(package / child.mets).st_size == child.size
        except OSError:
            return False

    def keep(self, kept: Iterable[str], parent: Path, archive: str) -> None:
        """Remove all files of the package but the segments at ``kept`` and a written archive.

        ``parent`` is the folder in which the parent is written, ``archive`` the path of the archive there.
        """
        package, archives = self.staging.package, {archive} if self.archive is not None else set()
        keep_only(package, {*kept, *(archives if parent == package else ())})
        if parent != package and os.path.lexists(parent):
            keep_only(parent, archives)

    def record_faults(self, paths: Collection[str], segments: Iterable[tuple[int, str]]) -> None:
        """Record the segments, or the rest, that findings at ``paths`` concern.

        ``segments`` gives numbers and paths. The next run makes the recorded ones anew.
        """
        above = {each for path in paths for each in _above(path)}
        faulty = {path: number for number, path in segments if path in above}
        elsewhere = any(faulty.keys().isdisjoint(_above(path)) for path in paths)
        self.record_faulty(faulty.values(), elsewhere=elsewhere)

    def record_archive(
        self, assigned: Assignment, written: Hashers, left_out: Sequence[str], *, is_corrected: bool
    ) -> None:
        """Record that the archive is written for a plan."""
        self.staging.journal.record(
            event=journal.ARCHIVE,
            plan=assigned.digest,
            size=written.size,
            digests=written.digests(),
            left_out=list(left_out),
            is_corrected=is_corrected,
        )

    def written_archive(self, assigned: Assignment, target: Path) -> tuple[Hashers, list[str]] | None:
        """Return digests and omissions of the archive that was written for a plan, or None."""
        event = self.archive
        try:
            if event is None or event["plan"] != assigned.digest or os.lstat(target).st_size != event["size"]:
                return None
        except OSError:
            return None
        hashers = Hashers(event["digests"], event["digests"])
        hashers.size = event["size"]
        return hashers, list(event["left_out"])


def _progress(done: SegmentDone) -> PlacedBefore:
    if done.child is not None:
        return "described"
    return "placed" if done.stretch == slices.WHOLE else "in stretches"


def _above(path: str) -> Iterator[str]:
    """Yield a path and those of the folders above it."""
    yield path
    yield from (path[:at] for at, letter in enumerate(path) if letter == "/")
