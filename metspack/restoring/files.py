"""Restore LOBs as files in the tree of their archive, joined, and proven on writing.

The tree is that of the recommendation without segments: ``content/schema0/table2/lob4/record0.bin``
(0.28 §5.1), beside it the two manifests.
"""

from __future__ import annotations

import heapq
from collections.abc import Collection, Generator, Iterable, Iterator, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from itertools import chain, count, islice
from pathlib import Path

from metspack import cluster, optionfields, processes
from metspack.building import attempts, manifests
from metspack.building.options import Fault, StyleWord, option_facts
from metspack.building.placing import Placing, fragment, lob_paths, write_lines, write_manifest_fragments
from metspack.cluster import Cluster, RemoteWork
from metspack.containers.ipwriter import Folder
from metspack.digests import MANIFEST_ALGORITHMS, OCTETS
from metspack.errors import LobNotFoundError, MetspackError, SourceError, TargetError
from metspack.files import reading, writing
from metspack.files.journal import USUAL, RunFacts, StagingTerms
from metspack.files.mirrors import check_no_store
from metspack.files.reading import StrPath, as_places
from metspack.files.staging import (
    FinishedStretches,
    Staging,
    StretchDone,
    amounts,
    are_there,
    check_count,
    check_space,
    check_target,
    keep_only,
    open_stretch,
    record_stretch,
    stage,
)
from metspack.layouts import lobseg
from metspack.layouts.names import FolderStyle
from metspack.limits import Budgets
from metspack.mets.filetable import Placements
from metspack.model import LONGEST, LobPlace, LobRun, Notice, noticed
from metspack.optionfields import OptionField
from metspack.packages import package as packages_package
from metspack.packages import source as packages_source
from metspack.packages.source import Packaged, PackagedArchive
from metspack.planning import slices
from metspack.planning.assignment import Column, column_of
from metspack.planning.sharedlobs import Sharing
from metspack.processes import Executor, Moved
from metspack.progress import Progress, Silent, begin_lobs, credit_of
from metspack.resources import json_head
from metspack.restoring.filenames import FileNames, KeyNames, NamesWord
from metspack.sizes import counted
from metspack.sources import opening
from metspack.sources.archive import FoundLobs, raising
from metspack.sources.lobstream import ACCEPTABLE, ByteSources, OpenSources

_PER_FILE = 1_000  # bytes that names and a line in each manifest take, generously
_PER_COLUMN = 4  # folders of schema, table and column, and the list of what goes there


@dataclass(frozen=True, kw_only=True)
class RestoreOptions:
    """Options of a restore: ``only`` selects the LOBs, all when empty.

    ``archive`` is the name of the one whose LOBs are meant, None for the only one. ``accepted`` are faults
    of ``lobstream.ACCEPTABLE``. ``lob_folder_style`` is how an archive leads to LOBs in a folder beside it.
    ``jobs`` is the number of processes that write files, as many as help when None; ``cluster``, in a form of
    ``cluster.FORMS``, is a Dask cluster whose workers write them instead. Children that are missing from
    their places are searched for in the ``roots``, by OBJID. ``names`` are those of the files.
    """

    only: OptionField[tuple[str, ...], str | Sequence[str]] = optionfields.texts()
    archive: str | None = None
    accepted: OptionField[frozenset[str], Fault | Collection[str]] = optionfields.words(ACCEPTABLE)
    lob_folder_style: OptionField[FolderStyle, FolderStyle | StyleWord] = optionfields.choice(
        FolderStyle, FolderStyle.DILCIS
    )
    budgets: OptionField[Budgets, Budgets] = optionfields.instance(Budgets)
    jobs: OptionField[int | None, int | None] = optionfields.jobs(None)
    cluster: str | None = None
    roots: OptionField[tuple[Path, ...], StrPath | Sequence[StrPath]] = optionfields.paths(as_places)
    names: OptionField[FileNames, FileNames | NamesWord] = optionfields.choice(FileNames, FileNames.ARCHIVE)

    def opened(self, path: Path, *, partial: bool = False) -> Packaged:
        """Return the package at ``path`` as a source; raises as ``packages_source.opened`` does."""
        return packages_source.opened(
            path, self.budgets, self.only, archive=self.archive, partial=partial, roots=self.roots
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Restored:
    """Result of a restore: LOBs, bytes and warnings; ``target`` is None for a dry run.

    ``split`` were joined from parts, ``inside`` were inside the package's archive. ``into`` is the place of
    the LOBs of an archive that was written, None when only LOBs were; ``size`` and ``sha256`` are its own.
    """

    target: Path | None
    lobs: int
    split: int
    inside: int
    bytes: int
    size: int | None = None
    sha256: str | None = None
    into: str | None = None
    warnings: tuple[Notice, ...] = ()

    def to_json(self) -> dict[str, object]:
        """Return the result as data for JSON; one without a target is that of a dry run."""
        document: dict[str, object] = {
            "target": None if self.target is None else str(self.target),
            "dry_run": self.target is None,
            "errors": [],
            "lobs": self.lobs,
            "joined_lobs": self.split,
            "bytes": self.bytes,
        }
        if self.into is None:
            document["from_inside"] = self.inside
        else:
            document |= {
                "into": self.into,
                "stayed_inside": self.inside,
                "archive_bytes": self.size,
                "archive_sha256": self.sha256,
            }
        return json_head() | document | noticed(self.warnings)


def restore_facts(form: str, source: Packaged, options: RestoreOptions) -> RunFacts:
    """Return the facts that decide the restored bytes; ``form`` is their kind."""
    package = packages_package.identity(source.package, opening.identity(source))
    return RunFacts(
        command="restore",
        facts={"package": package, "form": form, **option_facts(options)},
    )


def check_restored_space(staging: Staging, lobs: int, columns: int, size: int) -> None:
    """Raise ``TargetError`` unless there is space for LOBs of ``size`` bytes and further files."""
    files = lobs + _PER_COLUMN * columns
    check_space(staging, files=files, bytes_=size + _PER_FILE * files)


def write_manifests(package: Path, rows: Generator[tuple[str, str, str], None, None]) -> None:
    """Write both manifests from sorted rows of path, MD5 and SHA-256; raises ``TargetError``."""
    with (
        closing(rows),
        writing.NewFile(package / manifests.NAMES["MD5"]) as md5,
        writing.NewFile(package / manifests.NAMES["SHA-256"]) as sha256,
    ):
        write_lines(rows, md5, sha256)


_CONTENT = "content"
_FILES_AT_ONCE = 4_000
_BYTES_AT_ONCE = 100_000_000
_MERGED = 100  # fragments of a manifest that are open at once: some systems allow 256 files in all
_LEVELS = 3  # of the id of a column: schema, table and column


def _below_content(place: LobPlace, rows: Sequence[int], extension: str) -> list[str]:
    return [path.removeprefix(f"{_CONTENT}/") for path in lobseg.lob_paths(place, rows, extension)]


_TREE = replace(lobseg.LAYOUT, lob_paths=_below_content)


@dataclass(slots=True)
class RestoreTally:
    """Totals of the LOBs found so far."""

    lobs: int = 0
    split: int = 0
    inside: int = 0
    bytes: int = 0
    columns: set[Column] = field(default_factory=set)

    def take(self, run: LobRun) -> None:
        """Count the LOBs of a run."""
        self.lobs += len(run)
        self.columns.add(column_of(run.place))
        self.split += run.detail is not None and len(run.detail.extents) > 1
        self.inside += len(run) if run.entries else 0
        self.bytes += run.bytes

    def restored(self, target: Path | None, warnings: Iterable[Notice]) -> Restored:
        """Return the result of a restore of the LOBs as files."""
        return Restored(
            target=target,
            lobs=self.lobs,
            split=self.split,
            inside=self.inside,
            bytes=self.bytes,
            warnings=tuple(warnings),
        )


def restore_files(
    path: Path,
    target: Path,
    options: RestoreOptions | None = None,
    progress: Progress | None = None,
    terms: StagingTerms = USUAL,
) -> Restored:
    """Write the LOBs of a package as whole files into a new folder, and return the result.

    Every LOB is compared with the digests of its parts and of the whole in METS and with its cell's
    digest and length; LOBs that stayed in the archive are restored too. Cells that name one file get one,
    named after the first of them, with ``only`` after the first selected one. A restore that was stopped is
    resumed. Raises ``SourceError`` and ``TargetError``; after an error the target is absent.
    """
    options, progress = options or RestoreOptions(), progress or Silent()
    check_no_store(options.cluster, (path, target))
    check_target(target, path)
    with cluster.connect(options.cluster, credit_of(progress)) as helpers, processes.keep():
        progress.stage("Reading METS", None)
        return _restore(path, target, options, progress, terms, helpers=helpers)


def _restore(
    path: Path,
    target: Path,
    options: RestoreOptions,
    progress: Progress,
    terms: StagingTerms,
    *,
    helpers: Cluster | None,
) -> Restored:
    with (
        options.opened(path) as source,
        Sharing() as sharing,
        stage(target, restore_facts("files", source, options), terms) as staging,
        ExitStack() as stack,
    ):
        tally = RestoreTally()
        executor = attempts.executor(helpers, staging.work, source.byte_sources(), _WRITING)
        found = _RestoreSlices(source, staging, options, progress, tally, executor, helpers)
        found_lobs = (FoundLobs([run]) for run in _lob_runs(source, progress))
        lobs = raising(find_lobs(source, sharing, tally, found_lobs))
        if options.names is FileNames.KEY:
            lobs = stack.enter_context(KeyNames(source, options.budgets)).add_names(lobs)
        tasks = found.tasks(lobs)
        jobs = executor.useful(options.jobs, files=_FILES_AT_ONCE, size=0)
        begun = tasks if jobs > 1 else iter(list(tasks))
        try:
            placed = list(executor.results(_place, begun, jobs, found.advance))
        except MetspackError:
            # Faults in finding the other LOBs are reported first, as if all had been found before.
            for _ in tasks:
                pass
            raise
        if staging.is_resumed:
            check_count(staging.package / _CONTENT, tally.lobs)
        for algorithm in MANIFEST_ALGORITHMS:
            fragments = [fragment(staging.work, number, algorithm) for number in placed]
            _write_merged(fragments, staging.package / manifests.NAMES[algorithm], 2 * OCTETS[algorithm] + 2)
        source.check_unchanged()
        staging.publish()
        return tally.restored(staging.target, (*file_words(source), *sharing.words()))


def find_lobs(
    source: Packaged, sharing: Sharing, tally: RestoreTally, named: Iterator[FoundLobs]
) -> Iterator[FoundLobs]:
    """Yield the LOBs to be restored: ``named`` ones and those that only METS lists.

    Raises ``SourceError`` when a selected LOB is missing.
    """
    missing = set(source.selection.only)
    for found in chain(named, source.unnamed()):
        if missing:
            lobs = (lob for run in found.runs for lob in run.ids())
            lost = (lob.removeprefix(source.id_prefix) for lob, _ in found.lost)
            missing.difference_update(*map(source.selection.met, chain(lobs, lost)))
        firsts = [first for run in found.runs for first in sharing.firsts(run, "")]
        for run in firsts:
            tally.take(run)
        yield FoundLobs(firsts, found.lost)
    for each in source.selection.only:
        if each in missing:
            raise _absent(source, each)


def _lob_runs(source: Packaged, progress: Progress) -> Iterator[LobRun]:
    if not isinstance(source, PackagedArchive):
        return source.lob_runs()
    progress.stage("Reading tables", source.weight())
    return source.lob_runs(read=progress.advance)


def _absent(source: Packaged, selected: str) -> SourceError:
    """Return the error for a selection without LOBs; its hint names a similar one with LOBs."""
    hint = ""
    try:
        # For the id of a LOB the package has a better hint.
        source.package.lob(source.id_prefix + selected)
    except SourceError as error:
        hint = error.hint
    depth = selected.count(".") + 1
    if depth <= _LEVELS:
        columns = {".".join(lob.split(".")[:depth]) for lob in source.ids()}
        near = get_close_matches(selected, sorted(columns), n=1)
        hint = f"Did you mean {near[0]}?" if near else hint
    return LobNotFoundError(f"the package has no LOB {selected[:200]!r}", hint=hint)


@dataclass(frozen=True, slots=True, kw_only=True)
class _RestoreTask:
    """A slice of LOBs to be written into the package by one process.

    It is recorded in ``journal`` with the ``digest`` of the slice. ``finished`` is an earlier run's result;
    with ``clears`` that run may have left some of the files.
    """

    number: int
    slice: Path
    digest: str
    sources: ByteSources
    package: Path
    work: Path
    journal: Path
    accepted: frozenset[str]
    finished: StretchDone | None
    clears: bool


@dataclass
class _RestoreSlices:
    """Slices of LOBs; the first ones may be written while further LOBs are searched for."""

    source: Packaged
    staging: Staging
    options: RestoreOptions
    progress: Progress
    tally: RestoreTally
    executor: Executor
    cluster: Cluster | None

    def __post_init__(self) -> None:
        """Adopt the results of an earlier run."""
        self.staging.keep_room()
        self._earlier = FinishedStretches(self.staging, StretchDone)
        done = self._earlier.all
        notes = {path.name for each in done for path in _fragment(self.staging.work, each.number)}
        self._earlier.prepare(notes.__contains__)
        keep_only(self.staging.package, {_CONTENT})
        self._room = amounts(done)
        self._is_over = False
        self._moved = 0

    def advance(self, size: int) -> None:
        """Count written bytes, and report them as progress once all LOBs were found."""
        self._moved += size
        if self._is_over:
            self.progress.advance(self._moved)
            self._moved = 0

    def tasks(self, lobs: Iterator[LobRun]) -> Iterator[_RestoreTask]:
        """Yield tasks, each a slice of LOBs, while there is space for the LOBs found.

        Once there are many LOBs the processes start. Raises ``TargetError`` where there is no space for all.
        """
        tally, staging = self.tally, self.staging
        for number in count():
            digest, is_more = self._write_slice(number, lobs)
            if is_more:
                self.executor.prepare(_place, self.options.jobs, files=tally.lobs)
            if self._has_space():
                yield _RestoreTask(
                    number=number,
                    slice=slices.path(staging.work, number),
                    digest=digest,
                    sources=attempts.byte_sources(self.source.byte_sources(), self.cluster),
                    package=staging.package,
                    work=staging.work,
                    journal=self._earlier.journal,
                    accepted=self.options.accepted,
                    finished=self._earlier.by_key.get(number),
                    clears=self._earlier.is_there,
                )
            if not is_more:
                break
        self._check_space()
        self._earlier.record_plan(number + 1, tally.lobs, tally.bytes)
        begin_lobs(self.progress, "Restoring", tally.bytes, tally.lobs)
        self._is_over = True

    def _write_slice(self, number: int, lobs: Iterator[LobRun]) -> tuple[str, bool]:
        """Write the next LOBs into a slice; return its digest, and whether there may be more."""
        tally, is_more = self.tally, False
        files, size = tally.lobs + _FILES_AT_ONCE, tally.bytes + _BYTES_AT_ONCE
        with slices.Slice(slices.path(self.staging.work, number)) as found:
            for each in lobs:
                found.add(each)
                if is_more := tally.lobs >= files or tally.bytes >= size:
                    break
        return found.digest, is_more

    def _has_space(self) -> bool:
        """Return whether there is space for the LOBs found; a lack is reported at the end."""
        try:
            self._check_space()
        except TargetError:
            return False
        return True

    def _check_space(self) -> None:
        tally, (files, size) = self.tally, self._room
        lobs, more = max(0, tally.lobs - files), max(0, tally.bytes - size)
        check_restored_space(self.staging, lobs, len(tally.columns), more)


def _place(task: _RestoreTask, moved: Moved) -> int:
    """Write the LOBs of a slice, and their lines of the manifests; return the slice's number.

    The files are on disk before the slice is recorded.
    """
    if task.finished is not None and _is_done(task, task.finished):
        moved(task.finished.bytes)
        return task.number
    with open_stretch(task.work) as disk:
        if task.clears:
            _clear(task)
        _record(task, _write_lobs(task, moved, disk), disk)
    return task.number


def _record(task: _RestoreTask, amounts: tuple[int, int], disk: writing.SyncedTogether, **more: str) -> None:
    """Sync the files of a slice to disk, and then record it with the further fields ``more``."""
    disk.sync(task.package / _CONTENT, task.work)
    record_stretch(task.journal, task.number, task.digest, amounts, _fragment(task.work, task.number), **more)


_RestoreAttempt = tuple[str, tuple[int, int]]
"""Result of an attempt at a slice: the name of its folder, and the number of files and bytes."""


def _attempt(task: _RestoreTask, moved: Moved) -> _RestoreAttempt:
    """Write the LOBs of a slice like ``_place``, but in a new folder and unrecorded."""
    with attempts.begin_attempt(task, f"{task.number}") as (attempted, disk):
        amounts = _write_lobs(attempted, moved, disk)
        disk.sync(attempted.package / _CONTENT, attempted.work)
        return attempted.work.parent.name, amounts


def _accept(task: _RestoreTask, made: _RestoreAttempt, worker: str) -> int:
    """Move an attempt's files to their places, record the slice, and return its number."""
    name, amounts = made
    if task.clears:
        _clear(task)
    with attempts.accept_attempt(task, f"{task.number}", name) as disk:
        _record(task, amounts, disk, worker=worker)
    return task.number


def _finished(task: _RestoreTask) -> int | None:
    """Return the number of a slice that an earlier run finished, or None for any other."""
    return task.number if task.finished is not None and _is_done(task, task.finished) else None


_WRITING = RemoteWork(work=_attempt, finished=_finished, accept=_accept)


def _is_done(task: _RestoreTask, done: StretchDone) -> bool:
    """Return whether an event records this slice, and all its files exist by name and size."""
    if done.digest != task.digest or not done.has_notes(_fragment(task.work, task.number)):
        return False
    return all(
        are_there(
            task.package / _CONTENT,
            lob_paths(_TREE, each),
            each.sizes,
        )
        for each in slices.runs(task.slice)
    )


def _clear(task: _RestoreTask) -> None:
    """Remove the files that an earlier run left of a slice."""
    for each in _fragment(task.work, task.number):
        writing.remove(each)
    for found in slices.runs(task.slice):
        for path in lob_paths(_TREE, found):
            writing.remove(task.package / _CONTENT / path)


def _write_lobs(task: _RestoreTask, moved: Moved, disk: writing.SyncedTogether) -> tuple[int, int]:
    """Write a slice's LOBs and their lines of the manifests; return their number and bytes."""
    with closing(Placements()) as placements, OpenSources(task.sources) as sources:
        placing = Placing(
            sources,
            _TREE,
            checksum="MD5",
            accepted=task.accepted,
            moved=moved,
        )
        with closing(Folder(task.package / _CONTENT, shared=True, is_synced=not disk.is_possible)) as folder:
            for placed in placing.place(slices.runs(task.slice), folder):
                placements.add(placed)
        sources.check_unchanged()
        write_manifest_fragments(placements, f"{_CONTENT}/", task.work, task.number, {})
        return placements.count, placements.size


def _fragment(work: Path, number: int) -> tuple[Path, ...]:
    """Return the paths of a slice's lines of both manifests."""
    return tuple(fragment(work, number, each) for each in MANIFEST_ALGORITHMS)


def _write_merged(fragments: list[Path], target: Path, start: int) -> None:
    """Merge fragments of a manifest, sorted by the bytes of the paths, opening a few at a time.

    A path begins at ``start`` of its line.
    """
    while len(fragments) > _MERGED:
        some, fragments = fragments[:_MERGED], fragments[_MERGED:]
        fragments.append(some[0].with_name(f"{some[0].name}.merged"))
        _write_merged(some, fragments[-1], start)
    with ExitStack() as files, writing.NewFile(target) as merged:
        opened = [files.enter_context(reading.buffered(each)) for each in fragments]
        lines = heapq.merge(*opened, key=lambda line: line[start:-1])
        while batch := list(islice(lines, LONGEST)):
            merged.write(b"".join(batch))


def file_words(source: Packaged) -> Iterator[Notice]:
    """Yield warnings about LOBs restored as files."""
    if unnamed := source.unnamed_count():
        yield Notice(
            "lob-unnamed",
            f"{counted(unnamed, 'LOB')} that METS lists and no cell names: restored nevertheless",
        )
    yield from source.remarks()
