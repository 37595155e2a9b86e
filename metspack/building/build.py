"""Build a package: read, plan, place, describe and check it, and publish it by one rename."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, suppress
from dataclasses import replace
from functools import partial
from itertools import starmap
from pathlib import Path

from metspack import cluster, processes
from metspack.building import attempts, check_made, manifests, relocation, segments, targets
from metspack.building import options as building_options
from metspack.building.options import BuildOptions, Built
from metspack.building.parents import Parent, PlacedSegments, SegmentSpots
from metspack.building.placing import link_words, planned_links
from metspack.building.relocation import Relocation, prepare_upgrade, upgrade_notes
from metspack.building.resumption import COMPARED, OF_TASKS, EarlierRun
from metspack.building.segments import SegmentTask, TaskPlaced
from metspack.cluster import Cluster
from metspack.containers.ipwriter import Packing
from metspack.containers.zipreader import ZipContainer
from metspack.digests import Hashers, Seal
from metspack.errors import ConfigError, SourceError, TargetError
from metspack.files import journal, writing
from metspack.files.reading import as_path
from metspack.files.staging import Partial, Staging, check_outside, check_space, check_vacant, stage
from metspack.layouts import FolderStyle, Layout, readers
from metspack.layouts.interface import check_style
from metspack.layouts.readers import LobTraits, Readership
from metspack.mets import CSIP_METS, PLAIN_METS, filetable, ids
from metspack.mets.dialects.interface import SegmentSpot, SiardFile
from metspack.model import LinkMode, Notice
from metspack.planning import assignment, slices
from metspack.planning.assignment import Assignment, Column, SegmentGroups
from metspack.planning.division import slip_words
from metspack.planning.planfile import PlanFile
from metspack.planning.sharedlobs import Sharing
from metspack.planning.slices import SliceStretch
from metspack.processes import Underway
from metspack.progress import Progress, Silent, begin_lobs, credit_of
from metspack.siard.upgrade import Upgrade
from metspack.sizes import HandedOver, counted
from metspack.sources import opening
from metspack.sources.archive import Archive
from metspack.sources.opening import Source, SourceFacts
from metspack.sources.repacking import RemovedEntries

__all__ = ["BuildOptions", "BuildWork", "Built", "build", "build_from"]

_FOLDERS = 3  # of a column's LOBs below a segment: schema, table and column


def build(source: Path, target: Path, options: BuildOptions, progress: Progress | None = None) -> Built:
    """Build the package of a source of LOBs at ``target``, which must not exist.

    A build that was stopped is resumed. Raises ``SourceError``, ``PlanError``, ``TargetError`` and
    ``ConfigError``; after an error the target is absent, and the source is unchanged.
    """
    if source.is_dir():
        check_outside(target, source, "the source folder")
    elif any((source.parent / each).exists() for each in (PLAIN_METS, CSIP_METS)):
        check_outside(target, source.parent, "the package")
    with targets.open_target(source, target, options) as sending:
        check_vacant(sending.local)  # before a large archive is read for nothing
        with opening.opened(source, options.budgets, options.grants) as opened:
            if isinstance(opened, Archive):
                opened.check_complete(options.accepted)
            built = build_from(opened, sending.local, options, progress, sending=sending)
    return replace(built, target=target) if sending.is_remote else built


def build_from(
    source: Source,
    target: Path,
    options: BuildOptions,
    progress: Progress | None = None,
    *,
    command: str = "build",
    identity: str = "",
    remarks: Callable[[], Iterable[Notice]] = tuple,
    sending: targets.Sending | None = None,
) -> Built:
    """Build the package of a source that is open already, as ``build`` does.

    ``command`` is the name of the command that builds; ``identity`` differs for another or a changed source.
    ``remarks`` returns further warnings about the source, and is called after planning.
    """
    progress = progress or Silent()
    building_options.check_reader(options)
    run = building_options.run_facts(command, options, identity or opening.identity(source))
    with processes.keep(), Sharing(shares=isinstance(source, Archive)) as sharing:
        work = BuildWork(source, sharing, options, progress)
        helping = cluster.connect(options.cluster, credit_of(progress))
        with helping as helpers, stage(target, run, options.terms) as staging:
            if staging.created != options.created:
                options = replace(options, created=staging.created)
                work = BuildWork(source, sharing, options, progress)
            work.cluster, work.sending = helpers, sending or work.sending
            work.sending.begin(staging, run, restarts=options.terms.restart)
            built = work.make(staging, remarks)
            source.check_unchanged()
            work.sending.finish(staging.package, work.parent.top, verifies=options.verify)
            staging.publish()
    return built


class BuildWork:
    """One build of one source: its options, resolved against the source."""

    def __init__(self, source: Source, sharing: Sharing, options: BuildOptions, progress: Progress) -> None:
        self.source = source
        self.archive = source if isinstance(source, Archive) else None
        self.sharing = sharing
        self.options = options
        self.progress = progress
        self.version = building_options.written_version(self.archive, options.siard_version)
        self.plan = PlanFile(as_path(options.plan)) if options.plan else None
        self.division = (
            self.plan.header.division if self.plan else building_options.division(options, self.version)
        )
        self.name = building_options.name(options, source.stem, self.plan.header.name if self.plan else None)
        self.objid = building_options.objid(options, self.name, self.archive)
        if self.objid.startswith(ids.child_objid(f"{self.name}_").removesuffix("_mets")):
            raise ConfigError(
                f"the OBJID {self.objid!r} has the form of a child's", hint="Choose another with --id."
            )
        self.dialect = building_options.dialect(options, self.name, self.objid, self.archive, self.version)
        manifests.check(self.layout, options)
        self.packing = None if options.pack is None else Packing(form=options.pack, created=options.created)
        if self.packing is not None:
            self.packing.check()
        targets.check_options(options, self.version)
        self.style = readers.style_for(options.reader, options.lob_folder_style, self.version)
        if self.version is not None:
            check_style(self.style, self.version)
        self.sending = targets.Sending()
        self.warnings = [*ids.name_words(source.stem, self.name if self.plan else options.name)]
        self.warnings += self.dialect.layout_warnings(self.layout, self.version)
        if self.archive is not None and options.siard_version is not None:
            self.warnings += upgrade_notes(self.archive)
        self.kept = 0
        self._expected = 0
        self.cluster: Cluster | None = None
        self._ending = ExitStack()
        self._placing: Underway[SegmentTask, TaskPlaced] | None = None
        self._moved: int | None = 0  # bytes, as long as another stage is shown
        self.traits = LobTraits(has_types=self.archive is not None and self.archive.metadata.has_types)
        self.stays: frozenset[Column] = frozenset()
        self.upgrade: Upgrade | None = None
        self.made_of = SourceFacts(name=source.stem)
        self._earlier: EarlierRun

    @property
    def parent(self) -> Parent:
        """The parent of the package."""
        return Parent(dialect=self.dialect, objid=self.objid, name=self.name, packing=self.packing)

    @property
    def layout(self) -> Layout:
        """The layout of the segments."""
        return self.division.layout

    def make(self, staging: Staging, remarks: Callable[[], Iterable[Notice]] = tuple) -> Built:
        """Make the package in the staging folder, or the parts that an earlier run left undone."""
        self._earlier = EarlierRun(staging)
        with closing(RemovedEntries.of(self.archive)) as removed, self._ending:
            root = self.parent.make_root(staging)
            self._earlier.prepare(lambda name: OF_TASKS.fullmatch(name) or staging.work / name == root)
            assigned = self._plan_all(staging, removed)
            readership, missed = self.readership(assigned.split)
            linked, linked_bytes = self._links(staging, assigned)
            (files, size), most = self.needed(assigned), self.division.limits.bytes
            done, moved = self._earlier.done(assigned)
            files, size = files - max(linked, done), size - max(linked_bytes, moved)
            size = self.sending.room(size, assigned, most, self.options.jobs)
            check_space(staging, files=files, bytes_=size)
            remarked = list(remarks())
            self._earlier.record_plan(assigned.segments, assigned.lobs, assigned.bytes)
            if self._earlier.is_there:
                spots = map(self.spots(assigned).of, range(len(assigned.keys)))
                self._earlier.keep(map(self._path_of, spots), root, self.parent.archive_path)
            self._compare(staging)
            siard, placed = self._write_all(staging, assigned, removed)
        staging.journal.record(event=journal.DESCRIBED)
        sealed, handed_over, checked = self._describe(staging, siard, placed)
        return Built(
            target=staging.target,
            checked=building_options.checked_level(self.options),
            objid=self.objid,
            name=self.name,
            segments=assigned.segments,
            files=assigned.lobs,
            bytes=assigned.bytes,
            layout=self.layout.name,
            split=assigned.split,
            kept=self.kept,
            warnings=(
                *self.warnings,
                *slip_words(
                    self.division.limits, assigned.segments, len({*assigned.keys.containers}), assigned.lobs
                ),
                *self._about_lobs(assigned, placed.notes),
                *missed,
                *checked,
                *link_words(linked, assigned.lobs),
                *remarked,
            ),
            readers=readership,
            unopened=(self.parent.archive_path,) if self.version == "1.0" and self.traits.lobs else (),
            linked=linked if self._is_linking else None,
            made_of=self.made_of,
            children=placed,
            handed_over=handed_over,
            sealed=sealed,
        )

    def readership(self, split: int) -> tuple[Readership | None, tuple[Notice, ...]]:
        """Return the readers of the LOBs, and a sentence on LOBs that they miss.

        Only LOBs beside an archive have readers. Raises ``ConfigError`` for a CLOB in parts behind which
        the intended reader finds no other.
        """
        reader = self.options.reader
        readers.check_texts(reader, self.version, self.traits, self.division.limits.bytes)
        if self.version is None or not self.traits.lobs:
            return None, ()
        written = readers.Writing(version=self.version, layout=self.layout.name, style=self.style)
        traits, is_merged = replace(self.traits, split=split), "/" in self.parent.archive_path
        return readers.readership(written, traits, is_merged=is_merged), readers.missed_words(
            reader, written, traits
        )

    def _plan_all(self, staging: Partial, removed: RemovedEntries) -> Assignment:
        """Plan, and decide columns, OBJID and upgrade before the first LOB is placed."""
        self.stays = self._choose_columns()
        assigned = self._plan(staging, removed)
        self.objid = self.objid or ids.loose_objid(self.name, assigned.fingerprint)
        if self.archive is not None:
            assignment.keep_columns(self.archive, self.stays, removed)
            if self.options.siard_version is not None:
                self.upgrade = prepare_upgrade(self.archive, removed, self.progress)
        return assigned

    def _compare(self, staging: Partial) -> None:
        """Compare the archive's messageDigest, unless an earlier run has."""
        if (made_of := self._earlier.made_of()) is not None:
            self.made_of = made_of
        else:
            self.made_of = building_options.source_facts(self.options, self.source, self.progress)
            staging.journal.record(event=COMPARED, made_of=self.made_of.document())
        self.warnings += self.made_of.warnings(rewritten=True)

    @property
    def _is_linking(self) -> bool:
        return self.options.link_mode is LinkMode.HARDLINK

    def _links(self, staging: Partial, assigned: Assignment) -> tuple[int, int]:
        """Return the number of LOBs to hard-link, and their bytes.

        Raises ``TargetError`` for one on another file system, ``ConfigError`` when no LOB can be linked.
        """
        if not self._is_linking:
            return 0, 0
        found = planned_links(staging.work, range(assigned.segments), staging.device())
        if assigned.lobs and not found[0]:
            raise ConfigError(
                "no LOB can be hard-linked: none is a whole file outside an archive, and not larger than a "
                "segment",
                hint="Leave --link-mode hardlink out.",
            )
        return found

    def _about_lobs(self, assigned: Assignment, notes: Mapping[str, int]) -> Iterator[Notice]:
        """Yield warnings about the LOBs; ``notes`` counts LOBs by the remark on them."""
        archive = self.archive
        if assigned.undigested and archive is not None and not self.options.add_digests:
            yield Notice(
                "lob-without-digest",
                f"{counted(assigned.undigested, 'LOB')} without a digest in the cell: verified by the CRC-32 "
                "of the zip entry where there is one and, where the cell has one, the length",
            )
        for what, number in sorted(notes.items()):
            yield Notice("lob-remark", f"{what}: {number:,}")
        yield from self.sharing.words()
        if archive is None:
            yield Notice("no-archive", "there is no SIARD archive, so the expected number of LOBs is unknown")
            return
        number, first = (0, "") if archive.container is None else archive.container.hollow()
        if number:
            yield Notice(
                "entry-hollow",
                f"{counted(number, 'entry', 'entries')} of the archive marked as deflated without a deflate "
                f"stream, the first {first}: taken as empty, as size and CRC-32 say",
            )
        yield from archive.conventions()
        if self.version == "1.0" and assigned.files:
            yield Notice(
                "lob-folder-added",
                "SIARD 1.0 has no lobFolder; it was added to metadata.xml so that readers of later "
                "versions find the LOBs",
            )
        for value in archive.metadata.unread_digests:
            yield Notice(
                "digest-unread",
                f"the archive's messageDigest {value!r} could not be understood and was left as it is",
            )

    def needed(self, assigned: Assignment) -> tuple[int, int]:
        """Return upper bounds of the number of new files and folders, and of their bytes."""
        footprint, ips = self.dialect.footprint, assigned.segments + 1
        archive = 0 if self.archive is None else max(0, self.archive.size - assigned.compressed)
        copies = 1 if self.parent.pack is None else 2  # the parent is packed from a folder
        files = assigned.files + _FOLDERS * len(assigned.runs) + footprint.files_per_ip * ips
        return files, (
            assigned.bytes + copies * archive + footprint.per_lob * assigned.files + footprint.per_ip * ips
        )

    def _describe(
        self, staging: Partial, siard: Hashers | None, placed: PlacedSegments
    ) -> tuple[Seal, HandedOver, tuple[Notice, ...]]:
        """Describe the parent, write the manifests, and check the package.

        Returns the seal, the sizes of the largest IP and the parent, and the warnings.
        """
        files = self.parent.pack_files(staging, self._write_parent(staging, siard, placed))
        # The beginning of each segment's paths in the manifests, and its number.
        fragments = (
            (f"{spot.ip}/" if self.packing is None else self._path_of(spot), spot.number)
            for spot in placed.spots()
        )
        sealed = manifests.write(staging.package, staging.work, fragments, files, self.parent.top)
        checked = check_made(
            staging.package,
            self.progress,
            whole=self.options.verify and not self.sending.is_remote,
            miscounted=() if self.archive is None else self.archive.miscounted,
            jobs=self.options.jobs,
            given=building_options.mets_options(self.options),
            note=lambda paths: self._earlier.record_faults(
                paths, ((spot.number, self._path_of(spot)) for spot in placed.spots())
            ),
        )
        return sealed, self.parent.handed_over(staging.package, files, placed), checked

    def _choose_columns(self) -> frozenset[Column]:
        least = self.plan.header.min_size if self.plan else self.options.min_size
        found = assignment.columns_inside(self.source, least, self.progress)
        if self.archive is not None and least is not None:
            self.warnings += assignment.words_on_columns(self.archive, found, least)
        self.kept = sum(found.values())
        return frozenset(found)

    def _plan(self, staging: Partial, removed: RemovedEntries) -> Assignment:
        """Plan, and write every segment's slice of the plan to a file."""
        lobs = assignment.moving_lobs(self.source, self.stays, self.progress, self._expect)
        return assignment.assign(
            map(self.traits.take, lobs),
            self.division,
            staging.work,
            sharing=self.sharing,
            record_departure=removed.add_lobs,
            compare=self.plan.make_comparison(self.source.size, self.source.metadata_document)
            if self.plan
            else lambda _segment: None,
            report_growth=lambda assigned: self._place_ahead(staging, assigned),
        )

    def _expect(self, lobs: int) -> None:
        """Count further LOBs; once there are many, start the processes that place them."""
        self._expected += lobs
        if self._placing is None and self.cluster is None:
            processes.prepare(segments.place, self.options.jobs, files=self._expected)

    def _write_all(
        self, staging: Partial, assigned: Assignment, removed: RemovedEntries
    ) -> tuple[Hashers | None, PlacedSegments]:
        """Place all LOBs, describe their segments, and write the archive.

        The archive is written while other processes place LOBs, unless cells are to get digests of these.
        Then, and after a failure, it is written afterwards, so that errors of LOBs are reported first.
        Raises ``SourceError`` and ``TargetError``.
        """
        written = None
        if self._earlier.is_there and self.archive is not None:
            target = self._archive_target(staging)
            if (written := self._earlier.written_archive(assigned, target)) is None:
                writing.remove(target)  # an earlier run may have begun it
        begin_lobs(self.progress, "Placing", assigned.bytes, assigned.lobs)
        if (placing := self._placing) is None:
            jobs = assigned.jobs(self.options.jobs)
            placing = self._begin_placing(staging, assigned, jobs, is_worth=self.cluster is not None)
        moved, self._moved = self._moved, None
        self._advance(moved or 0)
        if self.archive is not None and placing.is_beside and not written and not self.options.add_digests:
            with suppress(SourceError, TargetError):
                written = self._write_archive(
                    self.archive, staging, assigned, removed, corrected={}, meanwhile=placing.submit_more
                )
        described = segments.describe_segments(
            placing.results(), partial(self._task, staging, assigned), placing.added.append
        )
        spots = self.spots(assigned)
        placed = PlacedSegments(spots, self.packing)
        for each in self.sending.send_each(described, staging.package, spots.of, self.packing):
            placed.take(each)
        corrected = placed.corrected
        is_corrected = self._earlier.archive is not None and self._earlier.archive["is_corrected"]
        if self.archive is not None and (written is None or (corrected and not is_corrected)):
            writing.remove(self._archive_target(staging))
            self.progress.stage("Rewriting the archive", max(0, self.archive.size - assigned.compressed))
            written = self._write_archive(self.archive, staging, assigned, removed, corrected=corrected)
        if written is None:
            return None, placed
        siard, left_out = written
        self.warnings += (Notice("archive-reduced", each) for each in left_out)
        return siard, placed

    def _place_ahead(self, staging: Partial, assigned: Assignment) -> None:
        """Place planned segments in other processes while planning continues.

        Errors of the plan are reported first, as if it had been completed before. Placing begins after
        planning where the first LOB requires the whole plan, and where segments are sent to a store: they
        would fill the disk for as long as planning takes.
        """
        options = self.options
        if self._placing is not None:
            self._placing.submit_more()
        elif (
            # Without an archive the OBJID follows from the plan; that dialect names segments without it.
            (self.objid or not (self.packing or self.cluster))
            and self.plan is None
            and not (self._is_linking or self.sending.is_remote)
            and processes.are_many(assigned.lobs)
            and (jobs := processes.useful(options.jobs, files=assigned.lobs, size=assigned.bytes)) > 1
        ):
            staging.keep_room()
            self._placing = self._begin_placing(staging, assigned, jobs, is_worth=True)
            self._placing.submit_more()

    def _advance(self, count: int) -> None:
        """Count placed bytes, and show them once the stage of placing has begun."""
        if self._moved is None:
            self.progress.advance(count)
        else:
            self._moved += count

    def _begin_placing(
        self, staging: Partial, assigned: Assignment, jobs: int, *, is_worth: bool
    ) -> Underway[SegmentTask, TaskPlaced]:
        sources = self.source.byte_sources()
        executor = attempts.executor(self.cluster, staging.work, sources, attempts.PLACING)
        # One file is written from its start to its end.
        shared = 1 if self.packing or self.cluster else jobs
        # Unlike a generator, the groups continue after their end once the plan has further ones.
        begun_before, is_named = partial(self._earlier.begun, assigned), bool(self.objid)
        groups = SegmentGroups(assigned, shared, begun_before, is_named=is_named)
        tasks = starmap(partial(self._task, staging, assigned), groups)
        begun = executor.begin(segments.place, tasks, jobs, self._advance, is_growing=is_worth)
        return self._ending.enter_context(closing(begun))

    def _task(
        self,
        staging: Partial,
        assigned: Assignment,
        numbers: Sequence[int],
        stretch: SliceStretch = slices.WHOLE,
        is_described: bool = True,
    ) -> SegmentTask:
        earlier = self._earlier
        task = SegmentTask(
            segments=tuple(map(self.spots(assigned).of, numbers)),
            sources=attempts.byte_sources(self.source.byte_sources(), self.cluster),
            package=staging.package,
            work=staging.work,
            parent=self.objid,
            dialect=self.dialect,
            layout=self.layout,
            packing=self.packing,
            add_digests=segments.digest_for_cells(self.options.algorithm)
            if self.options.add_digests
            else None,
            accepted=frozenset(self.options.accepted),
            links=self._is_linking,
            stretch=stretch,
            is_described=is_described,
            journal=earlier.journal,
            digests=tuple(assigned.digests[number] for number in numbers),
            finished=earlier.finished(assigned, numbers, stretch, is_described=is_described),
            clears=earlier.is_there,
        )
        is_first = not is_described and not stretch.start
        if earlier.is_there and is_first and earlier.begun(assigned, numbers[0]) is None:
            segments.clear_segment(task, task.segments[0])  # an earlier run may have begun all of it
        return task

    def _path_of(self, spot: SegmentSpot) -> str:
        return spot.ip if self.packing is None else self.packing.file(spot.ip)

    def spots(self, assigned: Assignment) -> SegmentSpots:
        """Return the folders and OBJIDs of all segments."""
        return SegmentSpots(
            dialect=self.dialect,
            layout=self.layout,
            keys=assigned.keys,
            name=self.name,
            parent=self.objid,
        )

    def _write_archive(
        self,
        archive: Archive,
        staging: Partial,
        assigned: Assignment,
        removed: RemovedEntries,
        *,
        corrected: Mapping[int, int],
        meanwhile: Callable[[], object] | None = None,
    ) -> tuple[Hashers, list[str]]:
        """Write the archive; return its digests, and sentences on its omissions.

        ``meanwhile`` is called regularly to continue other work; progress is shown when it is None.
        """
        moved = Relocation(
            archive=archive,
            assigned=assigned,
            layout=self.layout,
            sharing=self.sharing,
            name=self.name,
            style=self.style,
            work=staging.work,
            corrected=corrected,
            stays=self.stays,
            upgrade=self.upgrade,
        )
        target = self._archive_target(staging)
        # Each attempt to write the archive has a separate folder for temporary files.
        scratch = staging.work / ("archive-again" if meanwhile is None else "archive")
        for folder in (target.parent, scratch):
            writing.make_directories(folder)
        written = moved.write(
            target,
            removed,
            filetable.algorithms(self.options.algorithm),
            self.progress.advance if meanwhile is None else lambda _: None,
            work=scratch,
            meanwhile=meanwhile or (lambda: None),
        )
        left_out = list(moved.left_out())
        self._earlier.record_archive(assigned, written, left_out, is_corrected=bool(corrected))
        return written, left_out

    def _archive_target(self, staging: Partial) -> Path:
        return self.parent.make_root(staging) / self.parent.archive_path

    def _write_parent(
        self,
        staging: Partial,
        siard: Hashers | None,
        placed: PlacedSegments,
    ) -> dict[str, Hashers]:
        """Write the parent's documents, and return the files beside the segments."""
        checksum = self.options.algorithm
        root = self.parent.make_root(staging)
        files = manifests.write_sidecars(root, staging.work, placed.spots, self.dialect.mets, self.options)
        others = [
            filetable.placed_file(f"ID_{name}", name, "text/plain", hashers, checksum)
            for name, hashers in files.items()
        ]
        content = replace(self.parent.content(staging.work, placed), others=lambda: iter(others))
        if siard is not None and self.archive is not None:
            path = self.parent.archive_path
            with ZipContainer.opened(self._archive_target(staging), self.options.budgets) as written:
                zip64 = written.zip64
                names = ids.name_history(self.source.stem, self.options.name, self.name)
                style = self.style if placed.ordered else FolderStyle.DILCIS
                history = relocation.history(self.archive, self.made_of, written, names, style)
            value = siard.digest(checksum).value
            described = SiardFile(path=path, size=siard.size, checksum=value, zip64=zip64)
            content = replace(content, siard=described, history=history)
            files[path] = siard
        return files | self.dialect.write_parent(root, content)
