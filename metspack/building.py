"""Building a package: read, plan, place, describe, check; published by one rename."""

from __future__ import annotations

import os
import sqlite3
from bisect import bisect_right
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

from metspack import checking, fsio, identifiers, manifests, placing, planfile, segments
from metspack.digests import Hashers
from metspack.errors import ConfigError, PlanError, TargetError
from metspack.layouts import lobseg
from metspack.mets import writer
from metspack.mets.dialects import recommendation
from metspack.mets.dialects.recommendation import Setting, SiardFile, Software
from metspack.model import Budgets, Limits, LobCell, LobRef, Segment, Severity
from metspack.planfile import PlanFile
from metspack.planning import planned
from metspack.progress import Progress, Silent
from metspack.segments import SegmentPlaced, SegmentTask
from metspack.siard import markup, rewriting
from metspack.siard.archive import Archive, extension_of
from metspack.siard.container import Container
from metspack.siard.metadata import Table
from metspack.siard.rewriting import Departures, Moved
from metspack.sizes import counted

# What METS and manifests take on disk, generously: bytes per LOB and per segment.
_PER_LOB, _PER_SEGMENT = 1_000, 8_000

# Less than this is copied before further processes have started.
_SMALL_FILES, _SMALL_BYTES = 2_000, 100_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class BuildOptions:
    """How a package is built. ``created`` is the one clock value, as xs:dateTime.

    ``jobs`` processes copy LOBs; None is as many as are of use. The package is the same for any number.
    """

    created: str
    software: Software
    limits: Limits
    name: str | None = None
    objid: str | None = None
    plan: Path | None = None
    checksum: str = "MD5"
    agents: tuple[str, ...] = ()
    mets_profile: str = recommendation.PROFILE
    href_style: str = "relative"
    jobs: int | None = 1
    verify: bool = False
    check_message_digest: bool = True
    budgets: Budgets = field(default_factory=Budgets)


@dataclass(frozen=True, slots=True, kw_only=True)
class Built:
    """What a build made: the target, its OBJID, segments, LOB files and bytes, and what to know of them."""

    target: Path
    objid: str
    name: str
    segments: int
    files: int
    bytes: int
    warnings: tuple[str, ...]


@dataclass(slots=True, kw_only=True)
class _Course:
    """What is known of a package while it is made: per segment and per table, never per LOB."""

    segments: list[Segment] = field(default_factory=list)
    first_lob: dict[str, int] = field(default_factory=dict)
    columns: dict[str, set[int]] = field(default_factory=dict)
    files: int = 0
    bytes: int = 0
    compressed: int = 0
    undigested: int = 0

    def note(self, table: str, lob: LobRef) -> None:
        """Take note of the next LOB, which lies in the table with this document."""
        self.first_lob.setdefault(table, self.files)
        self.columns.setdefault(table, set()).add(int(lob.place.cell.partition(".")[0][1:]))
        self.files += 1
        self.bytes += lob.size
        self.compressed += lob.extent.compressed
        self.undigested += lob.cell.digest is None


def build(source: Path, target: Path, options: BuildOptions, progress: Progress | None = None) -> Built:
    """Build the package of a SIARD archive at ``target``, which must not exist.

    Raises ``SourceError``, ``PlanError``, ``TargetError`` and ``ConfigError``; after an error or an
    interruption nothing is left at the target or beside it, and the source is as it was.
    """
    if source.is_dir() and target.resolve().is_relative_to(source.resolve()):
        raise TargetError(
            f"the target {target} lies inside the source folder {source}",
            hint="Choose a target outside it: the source is never written to.",
        )
    fsio.check_vacant(target)  # before a large archive is read for nothing
    with Archive(source, options.budgets) as archive:
        work = _Work(archive, options, progress or Silent())
        staging = fsio.Staging(target)
        try:
            built = work.done(staging)
            archive.container.unchanged()
            staging.publish()
        except sqlite3.OperationalError as error:
            staging.discard()
            raise TargetError(
                f"a temporary database failed: {error}",
                hint="It lies in the temporary directory; SQLITE_TMPDIR names another with more room.",
            ) from error
        except BaseException:
            staging.discard()
            raise
    return built


class _Work:
    """One build of one archive: what was asked for, resolved against what the archive is."""

    def __init__(self, archive: Archive, options: BuildOptions, progress: Progress) -> None:
        self.archive = archive
        self.options = options
        self.progress = progress
        self.plan = PlanFile(options.plan) if options.plan else None
        self.limits = self.plan.header.limits if self.plan else options.limits
        self.name = _name(archive, options, self.plan)
        self.objid = (
            identifiers.package_objid(
                self.name, markup.document(archive.metadata_document, depth=archive.budgets.depth)
            )
            if options.objid is None
            else identifiers.given_objid(options.objid)
        )
        self.setting = Setting(
            version=archive.metadata.version,
            created=options.created,
            checksum_type=options.checksum,
            software=options.software,
            agents=options.agents,
            profile=options.mets_profile,
            href_style=options.href_style,
        )
        if self.objid.startswith(identifiers.child_objid(f"{self.name}_lobseg_").removesuffix("_mets")):
            raise ConfigError(
                f"the OBJID {self.objid!r} has the form of a child's", hint="Choose another with --id."
            )
        for text in (*options.agents, options.mets_profile):
            if not text.strip():
                raise ConfigError(
                    "an agent or the METS profile is empty",
                    hint="Give --agent and --mets-profile a value, or leave them out.",
                )
            writer.finalized(text)  # what XML cannot hold is refused now, not after an hour of copying
        self.algorithms = tuple(dict.fromkeys((*placing.MANIFESTS, options.checksum)))

    def done(self, staging: fsio.Staging) -> Built:
        """Make the whole package in the staging folder."""
        journal = staging.journal
        journal.record(event="begin", source=str(self.archive.path), objid=self.objid, name=self.name)
        with closing(Departures()) as departures:
            course = self._planned(staging, departures)
            self._space(staging, course)
            journal.record(event="planned", segments=len(course.segments), bytes=course.bytes)
            stale = self._stale_digests()
            placed = self._placed(staging, course)
            siard = self._siard(staging, course, departures)
        journal.record(event="rewritten")
        checksum = siard.digest(self.options.checksum).value
        siard_name = f"{self.name}.siard"
        with Container.opened(staging.package / siard_name, self.options.budgets) as written:
            zip64 = written.zip64
        mets = recommendation.parent_written(
            staging.package,
            setting=self.setting,
            objid=self.objid,
            name=self.name,
            siard=SiardFile(name=siard_name, size=siard.size, checksum=checksum, zip64=zip64),
            children=[each.mets for each in placed],
            algorithms=self.algorithms,
        )
        folders = [each.folder for each in placed]
        manifests.write(
            staging.package, staging.work, folders, {siard_name: siard, recommendation.METS: mets}
        )
        self._check(staging)
        return Built(
            target=staging.target,
            objid=self.objid,
            name=self.name,
            segments=len(course.segments),
            files=course.files,
            bytes=course.bytes,
            warnings=(*stale, *self._warnings(course)),
        )

    def _planned(self, staging: fsio.Staging, departures: Departures) -> _Course:
        """Plan, and give every segment its slice of the plan as a file."""
        self.progress.stage("Planning", None)
        course = _Course()
        tables = {(table.schema, table.number): table.path for table in self.archive.metadata.tables}
        agreed = self._agreement()
        current: fsio.NewFile | None = None
        try:
            for event in planned(self.archive.lobs(), self.limits):
                if isinstance(event, Segment):
                    if current is not None:
                        current.close()
                    current = None
                    agreed(event)
                    course.segments.append(event)
                    continue
                if current is None:
                    current = fsio.NewFile(segments.slice_path(staging.work, event.segment))
                current.write(placing.slice_line(event.lob))
                departures.add(event.lob.extent.name)
                course.note(tables[event.lob.place.schema, event.lob.place.table], event.lob)
            agreed(None)
        except BaseException:
            if current is not None:
                current.discard()
            raise
        return course

    def _agreement(self) -> Callable[[Segment | None], None]:
        """Return what is told each segment, None at the end, and refuses one the plan file has otherwise."""
        if self.plan is None:
            return lambda _segment: None
        self.plan.fitting(
            planfile.header(
                self.name,
                source_size=self.archive.container.size,
                metadata=self.archive.metadata_document,
                limits=self.limits,
            )
        )
        expected = self.plan.segments()

        def agreed(segment: Segment | None) -> None:
            if (plan := next(expected, None)) != segment:
                raise PlanError(
                    f"{self.options.plan} no longer fits its source: it plans {_words(plan)}, "
                    f"found {_words(segment)}",
                    hint="The source or the plan was changed; plan again.",
                )

        return agreed

    def _space(self, staging: fsio.Staging, course: _Course) -> None:
        need = (
            course.bytes
            + self.archive.container.size
            - course.compressed
            + (_PER_LOB + staging.block()) * course.files  # a file takes whole blocks
            + _PER_SEGMENT * (len(course.segments) + 1)
        )
        files, room = course.files + 4 * len(course.segments), staging.free_files()
        if room is not None and room < files:
            raise TargetError(
                f"there is no room for so many files at {staging.target.parent}: "
                f"needed {files:,}, free {room:,}",
                hint="Choose a target on another disk: this one has too few inodes left.",
            )
        have = staging.free()
        if have < need:
            raise TargetError(
                f"there is not enough space at {staging.target.parent}: needed {need:,} bytes, free {have:,}",
                hint="Free space or choose a target on another disk.",
            )

    def _stale_digests(self) -> list[str]:
        if not (self.options.check_message_digest and self.archive.metadata.digests):
            return []
        self.progress.stage("Comparing the archive's messageDigest", rewriting.sealed(self.archive))
        return [
            f"the archive's {said.algorithm} messageDigest is {said.value}, but its content has "
            f"{found.value}; it was changed after it was sealed (the package gets the right one)"
            for said, found in rewriting.stale_digests(self.archive, self.progress.advance)
        ]

    def _placed(self, staging: fsio.Staging, course: _Course) -> list[SegmentPlaced]:
        self.progress.stage("Placing", course.bytes)
        medium = self.archive.container.medium
        tasks = (
            SegmentTask(
                source=medium.paths,
                stamps=medium.stamps,
                package=staging.package,
                work=staging.work,
                folder=lobseg.segment_name(self.name, segment.index),
                index=segment.index,
                objid=self.objid,
                setting=self.setting,
            )
            for segment in course.segments
        )
        placed: list[SegmentPlaced] = []
        for each in segments.all_placed(tasks, _jobs(self.options.jobs, course), self.progress):
            staging.journal.record(event="segment", folder=each.folder, mets=each.mets.checksum)
            placed.append(each)
        return placed

    def _siard(self, staging: fsio.Staging, course: _Course, departures: Departures) -> Hashers:
        self.progress.stage("Rewriting the archive", None)
        target = staging.package / f"{self.name}.siard"
        if not course.files:
            return rewriting.copied(self.archive, target, self.algorithms)
        columns = {table: frozenset(numbers) for table, numbers in course.columns.items()}
        return rewriting.rewritten(
            self.archive,
            Moved(entries=departures, columns=columns),
            target,
            work=staging.work,
            values=_cell_values(self.name, course),
            algorithms=self.algorithms,
        )

    def _check(self, staging: fsio.Staging) -> None:
        level = checking.Level.FULL if self.options.verify else checking.Level.STRUCTURE
        total = checking.weight(staging.package) if self.options.verify else None
        self.progress.stage("Checking what lies on disk", total)
        wrong = [
            each
            for each in checking.check(staging.package, level, progress=self.progress.advance)
            if each.severity is Severity.ERROR
        ]
        if wrong:
            first = wrong[0]
            raise TargetError(
                f"what was written does not check: {first.path}: {first.code} {first.message} "
                f"({len(wrong):,} findings in all); nothing was published",
                hint="The disk may be failing: try another target. If it happens again, "
                "report it as a fault of metspack.",
            )

    def _warnings(self, course: _Course) -> Iterator[str]:
        if course.undigested:
            yield (
                f"{counted(course.undigested, 'LOB')} without a digest in the cell: proven by the CRC-32 of "
                "the zip entry and, where the cell has one, the length"
            )
        if self.archive.metadata.version == "1.0" and course.files:
            yield (
                "SIARD 1.0 knows no lobFolder; it was added to metadata.xml so that readers of later "
                "versions find the LOBs"
            )
        for value in self.archive.metadata.unread_digests:
            yield f"the archive's messageDigest {value!r} could not be understood and was left as it is"


def _name(archive: Archive, options: BuildOptions, plan: PlanFile | None) -> str:
    chosen = None if options.name is None else identifiers.given_name(options.name)
    if plan is None:
        return chosen or identifiers.package_name(archive.path.stem)
    if chosen is not None and chosen != plan.header.name:
        raise ConfigError(
            f"the plan names the package {plan.header.name}, --name says {chosen}",
            hint="Leave --name out, or plan again with it.",
        )
    return identifiers.given_name(plan.header.name)


def _jobs(wanted: int | None, course: _Course) -> int:
    if wanted is None:
        small = course.files < _SMALL_FILES and course.bytes < _SMALL_BYTES
        wanted = 1 if small else os.cpu_count() or 1
    return min(wanted, max(1, len(course.segments)))


def _words(segment: Segment | None) -> str:
    if segment is None:
        return "no further segment"
    return (
        f"segment {segment.index} with {segment.first} to {segment.last} "
        f"({counted(segment.files, 'file')}, {counted(segment.bytes, 'byte')})"
    )


def _cell_values(name: str, course: _Course) -> Callable[[Table], Callable[[LobCell], str]]:
    """Return for a table the function from each of its LOB cells, in document order, to its new ``file``.

    Segments are filled in the order of the cells, so a LOB's number in that order tells its segment.
    """
    starts = [0]
    for segment in course.segments:
        starts.append(starts[-1] + segment.files)

    def values(table: Table) -> Callable[[LobCell], str]:
        number = course.first_lob[table.path]
        index = bisect_right(starts, number) - 1

        def value(cell: LobCell) -> str:
            nonlocal number, index
            while number >= starts[index + 1]:
                index += 1
            number += 1
            path = lobseg.lob_path(cell.place, extension_of(cell.file))
            return f"{lobseg.segment_name(name, index)}/{path}"

        return value

    return values
