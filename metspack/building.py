"""Building a package: read, plan, place, describe, check; published by one rename."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

from metspack import (
    accompanying,
    closingcheck,
    coursing,
    fsio,
    identifiers,
    layouts,
    manifests,
    planfile,
    remarks,
    room,
    segments,
    staying,
)
from metspack.coursing import Column, Course
from metspack.digests import Hashers
from metspack.errors import ConfigError, TargetError
from metspack.layouts import FolderStyle, Layout, lobseg
from metspack.mets import writer
from metspack.mets.dialects import recommendation
from metspack.mets.dialects.recommendation import ChildMets, Setting, SiardFile, Software
from metspack.model import Budgets, Limits, LobPlace, Segment
from metspack.placing import MANIFESTS
from metspack.planfile import PlanFile
from metspack.planning import Division, Split
from metspack.progress import Progress, Silent
from metspack.relocating import Relocation
from metspack.segments import SegmentSpot, SegmentTask, TaskPlaced
from metspack.sharing import Sharing
from metspack.siard import markup, rewriting
from metspack.siard.archive import Archive, Grants
from metspack.siard.container import Container
from metspack.siard.departures import Departures
from metspack.siard.rewriting import Moved
from metspack.sources import opening
from metspack.sources.opening import Source

# Less than this is copied before further processes have started.
_SMALL_FILES, _SMALL_BYTES = 2_000, 100_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class BuildOptions:
    """How a package is built. ``created`` is the one clock value, as xs:dateTime.

    ``jobs`` processes copy LOBs; None is as many as are of use. The package is the same for any number.
    ``base`` is the folder that the paths of a list begin in. ``min_size`` (bytes) leaves columns inside
    whose LOBs are all smaller; ``add_digests`` gives a digest to cells without one; ``accepted`` is of
    ``copying.ACCEPTABLE``. ``mapping_uri`` and ``lob_manifest`` ask for the files of ``accompanying``.
    """

    created: str
    software: Software
    limits: Limits
    layout: str = lobseg.LAYOUT.name
    split: Split = Split.FILL
    lob_folder_style: FolderStyle = FolderStyle.DILCIS
    name: str | None = None
    objid: str | None = None
    plan: Path | None = None
    base: Path | None = None
    grants: Grants = field(default_factory=Grants)
    min_size: int | None = None
    add_digests: bool = False
    accepted: frozenset[str] = frozenset()
    mapping_uri: str | None = None
    lob_manifest: bool = False
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
    """What a build made: the target, its OBJID, segments, LOBs and their bytes, and what to know of them.

    ``files`` are LOBs, ``split`` those of them that are in parts; ``kept`` LOBs stayed inside the archive.
    """

    target: Path
    objid: str
    name: str
    segments: int
    files: int
    bytes: int
    layout: str
    split: int
    kept: int
    warnings: tuple[str, ...]


def build(source: Path, target: Path, options: BuildOptions, progress: Progress | None = None) -> Built:
    """Build the package of a source of LOBs at ``target``, which must not exist.

    Raises ``SourceError``, ``PlanError``, ``TargetError`` and ``ConfigError``; after an error or an
    interruption nothing is left at the target or beside it, and the source is as it was.
    """
    if source.is_dir() and target.resolve().is_relative_to(source.resolve()):
        raise TargetError(
            f"the target {target} lies inside the source folder {source}",
            hint="Choose a target outside it: the source is never written to.",
        )
    fsio.check_vacant(target)  # before a large archive is read for nothing
    with opening.opened(source, options.budgets, options.grants, options.base) as opened:
        return build_from(opened, target, options, progress)


def build_from(
    source: Source, target: Path, options: BuildOptions, progress: Progress | None = None
) -> Built:
    """Build the package of a source that is open already, as ``build`` does."""
    with Sharing(shares=isinstance(source, Archive)) as sharing:
        work = _Work(source, sharing, options, progress or Silent())
        staging = fsio.Staging(target)
        try:
            built = work.done(staging)
            source.unchanged()
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
    """One build of one source: what was asked for, resolved against what the source is."""

    def __init__(self, source: Source, sharing: Sharing, options: BuildOptions, progress: Progress) -> None:
        self.source = source
        self.archive = source if isinstance(source, Archive) else None
        self.sharing = sharing
        self.options = options
        self.progress = progress
        self.plan = PlanFile(options.plan) if options.plan else None
        self.division = Division(
            limits=options.limits, layout=layouts.LAYOUTS[options.layout], split=options.split
        )
        if self.plan:
            self.division = self.plan.header.division
        self.name = _name(source, options, self.plan)
        self.objid = "" if options.objid is None else identifiers.given_objid(options.objid)
        if not self.objid and self.archive is not None:
            document = markup.document(self.archive.metadata_document, depth=self.archive.budgets.depth)
            self.objid = identifiers.package_objid(self.name, document)
        version = None if self.archive is None else self.archive.metadata.version
        self.setting = Setting(
            version=version,
            created=options.created,
            checksum_type=options.checksum,
            software=options.software,
            agents=options.agents,
            profile=options.mets_profile,
            href_style=options.href_style,
        )
        if self.objid.startswith(identifiers.child_objid(f"{self.name}_").removesuffix("_mets")):
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
        accompanying.check(self.layout, options.mapping_uri, manifest=options.lob_manifest)
        if options.add_digests and version == "1.0":
            raise ConfigError(
                "SIARD 1.0 has no digests in cells", hint="Leave --add-digests out: the METS files hold them."
            )
        self.algorithms = tuple(dict.fromkeys((*MANIFESTS, options.checksum)))
        self.warnings: list[str] = []
        self.kept = 0
        self.stays: frozenset[Column] = frozenset()

    @property
    def layout(self) -> Layout:
        """The layout of the segments."""
        return self.division.layout

    def done(self, staging: fsio.Staging) -> Built:
        """Make the whole package in the staging folder."""
        journal = staging.journal
        journal.record(event="begin", source=str(self.source.path), name=self.name)
        with closing(Departures()) as departures:
            self.stays = self._staying()
            course = self._planned(staging, departures)
            self.objid = self.objid or identifiers.loose_objid(self.name, course.fingerprint)
            room.check(staging, course, 0 if self.archive is None else self.archive.size)
            journal.record(
                event="planned", objid=self.objid, segments=len(course.segments), bytes=course.bytes
            )
            self._compare_digests()
            placed = self._placed(staging, course)
            if self.archive is not None:
                staying.keep(self.archive, self.stays, departures)
                siard = self._siard(self.archive, staging, course, departures, placed)
            else:
                siard = None
        journal.record(event="rewritten")
        children = {n: child for task in placed for n, child in zip(task.numbers, task.children, strict=True)}
        ordered = [(number, children[number]) for number in course.ordered()]
        files = self._parent(staging, siard, ordered, placed)
        spots = [(child.folder, number) for number, child in ordered]
        manifests.write(staging.package, staging.work, spots, files)
        closingcheck.passed(staging.package, self.progress, whole=self.options.verify)
        remarked = remarks.remarks(self.source, course, placed, self.sharing, added=self.options.add_digests)
        return Built(
            target=staging.target,
            objid=self.objid,
            name=self.name,
            segments=len(course.segments),
            files=course.lobs,
            bytes=course.bytes,
            layout=self.layout.name,
            split=course.split,
            kept=self.kept,
            warnings=(*self.warnings, *remarked),
        )

    def _staying(self) -> frozenset[Column]:
        least = self.plan.header.min_size if self.plan else self.options.min_size
        found = staying.chosen(self.source, least, self.progress)
        if self.archive is not None and least is not None:
            self.warnings += staying.words(self.archive, found, least)
        self.kept = sum(found.values())
        return frozenset(found)

    def _planned(self, staging: fsio.Staging, departures: Departures) -> Course:
        """Plan, and give every segment its slice of the plan as a file."""
        lobs = staying.moving(self.source, self.stays, self.progress)
        return coursing.course(
            lobs,
            self.division,
            staging.work,
            sharing=self.sharing,
            departs=departures.add,
            agreed=self._agreement(),
        )

    def _agreement(self) -> Callable[[Segment | None], None]:
        """Return what is told each segment, None at the end, and refuses one the plan file has otherwise."""
        if self.plan is None:
            return lambda _segment: None
        return self.plan.agreement(planfile.header(self.name, self.source, self.division))

    def _compare_digests(self) -> None:
        archive = self.archive
        if archive is None or not (self.options.check_message_digest and archive.metadata.digests):
            return
        if not rewriting.comparable(archive):
            self.warnings.append(
                "the archive's messageDigest could not be compared with its content: it is of the zip file "
                "that the archive was before it was unpacked or wrapped (the package gets a new one)"
            )
            return
        self.progress.stage("Comparing the archive's messageDigest", rewriting.sealed(archive))
        self.warnings += [
            f"the archive's {said.algorithm} messageDigest is {said.value}, but its content has "
            f"{found.value}; it was changed after it was sealed (the package gets the right one)"
            for said, found in rewriting.stale_digests(archive, self.progress.advance)
        ]

    def _placed(self, staging: fsio.Staging, course: Course) -> list[TaskPlaced]:
        self.progress.stage("Placing", course.bytes)
        holdings = self.source.holdings()
        tasks = (
            SegmentTask(
                segments=tuple(self._spot(course, number) for number in numbers),
                holdings=holdings,
                package=staging.package,
                work=staging.work,
                parent=self.objid,
                setting=self.setting,
                layout=self.layout,
                add_digests=segments.digest_for_cells(self.options.checksum)
                if self.options.add_digests
                else None,
                accepted=self.options.accepted,
            )
            for numbers in course.tasks()
        )
        placed: list[TaskPlaced] = []
        for each in segments.all_placed(tasks, _jobs(self.options.jobs, course), self.progress):
            for child in each.children:
                staging.journal.record(event="segment", folder=child.folder, mets=child.checksum)
            placed.append(each)
        return placed

    def _spot(self, course: Course, number: int) -> SegmentSpot:
        container, index = course.keys[number]
        return SegmentSpot(
            number=number,
            folder=self.layout.segment_folder(self.name, container, index),
            index=index,
            objid=identifiers.child_objid(self.layout.segment_id(self.name, container, index)),
        )

    def _siard(
        self,
        archive: Archive,
        staging: fsio.Staging,
        course: Course,
        departures: Departures,
        placed: list[TaskPlaced],
    ) -> Hashers:
        self.progress.stage("Rewriting the archive", max(0, archive.size - course.compressed))
        target = staging.package / f"{self.name}.siard"
        if not course.files:
            return rewriting.copied(archive, target, work=staging.work, algorithms=self.algorithms)
        style = self.options.lob_folder_style
        columns: dict[str, dict[int, str]] = {}
        tables = {(table.schema, table.number): table.path for table in archive.metadata.tables}
        for schema, table, column in sorted(course.columns):
            place = LobPlace(schema=schema, table=table, cell=f"c{column}", row=1)
            folder = self.layout.column_folder(self.name, self.layout.container(place), style)
            columns.setdefault(tables[schema, table], {})[column] = folder
        relocation = Relocation(
            archive,
            course,
            self.layout,
            self.sharing,
            name=self.name,
            work=staging.work,
            corrected=segments.corrected(placed),
            stays=self.stays,
        )
        return rewriting.rewritten(
            archive,
            Moved(
                entries=departures, columns=columns, database=self.layout.database_folder(self.name, style)
            ),
            target,
            work=staging.work,
            values=relocation.values,
            algorithms=self.algorithms,
            wrote=self.progress.advance,
        )

    def _parent(
        self,
        staging: fsio.Staging,
        siard: Hashers | None,
        children: list[tuple[int, ChildMets]],
        placed: list[TaskPlaced],
    ) -> dict[str, Hashers]:
        """Write the parent's METS; returns the files beside the segments."""
        files = accompanying.written(
            staging.package,
            staging.work,
            [(child.folder, number) for number, child in children],
            mapping=self.options.mapping_uri,
            manifest=self.options.lob_manifest,
            checksum=self.options.checksum,
        )
        others = [accompanying.placed(*each, self.options.checksum) for each in files.items()]
        described: SiardFile | None = None
        if siard is not None:
            name = f"{self.name}.siard"
            with Container.opened(staging.package / name, self.options.budgets) as written:
                zip64 = written.zip64
            checksum = siard.digest(self.options.checksum).value
            described = SiardFile(name=name, size=siard.size, checksum=checksum, zip64=zip64)
            files[name] = siard
        split = [task.number for task in placed if task.is_split]
        files[recommendation.METS] = recommendation.parent_written(
            staging.package,
            setting=self.setting,
            objid=self.objid,
            name=self.name,
            siard=described,
            children=[child for _number, child in children],
            split=lambda: segments.split_lobs(staging.work, split),
            parts=lambda: segments.split_parts(staging.work, split),
            others=lambda: iter(others),
            algorithms=self.algorithms,
        )
        return files


def _name(source: Source, options: BuildOptions, plan: PlanFile | None) -> str:
    chosen = None if options.name is None else identifiers.given_name(options.name)
    if plan is None:
        return chosen or identifiers.package_name(source.stem)
    if chosen is not None and chosen != plan.header.name:
        raise ConfigError(
            f"the plan names the package {plan.header.name}, --name says {chosen}",
            hint="Leave --name out, or plan again with it.",
        )
    return identifiers.given_name(plan.header.name)


def _jobs(wanted: int | None, course: Course) -> int:
    if wanted is None:
        small = course.files < _SMALL_FILES and course.bytes < _SMALL_BYTES
        wanted = 1 if small else os.cpu_count() or 1
    return min(wanted, max(1, len(course.segments)))
