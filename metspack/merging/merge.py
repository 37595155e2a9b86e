"""Merge the IPs of a divided representation into one CSIP package.

METS, PREMIS and schemas are written anew. Every data file is copied unchanged and compared with its digest in
the same pass; existing files stay, and the IPs are only read.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from itertools import count, groupby, repeat
from pathlib import Path

from metspack import processes
from metspack.building import check_made, manifests, placing, segments
from metspack.building import options as building_options
from metspack.building.options import PackageOptions
from metspack.building.segments import PARTS, PLACED, WHOLES, notes_path, placed_files, write_placed
from metspack.containers.ipreader import Compressed
from metspack.containers.ipwriter import Folder
from metspack.digests import Hashers, Seal, Sealed
from metspack.errors import ConfigError, SourceError
from metspack.files import journal, reading, threads, writing
from metspack.files.byteranges import FileRange
from metspack.files.journal import USUAL, StagingTerms
from metspack.files.staging import (
    FinishedStretches,
    StretchDone,
    amounts,
    are_there,
    check_count,
    check_outside,
    check_space,
    check_vacant,
    keep_only,
    open_stretch,
    record_stretch,
    stage,
)
from metspack.merging.datafiles import DataFiles, DataRun, Wholes, proven_blocks
from metspack.merging.dataindex import DATA, MOST
from metspack.merging.representation import MergedIp, open_ips
from metspack.mets import CSIP_METS, dialects, filetable, ids, notes, reader
from metspack.mets.dialects.interface import Dialect, MergedContent
from metspack.mets.filetable import ManifestLines, PlacedRun
from metspack.mets.reader import Fact, Root
from metspack.model import LONGEST, Notice, noticed
from metspack.packages.files import UNPACK
from metspack.packages.index import Index
from metspack.packages.lobs import StatedFixity
from metspack.progress import Progress, Silent
from metspack.resources import json_head
from metspack.sizes import counted
from metspack.sources.archive import Archive
from metspack.system import os


@dataclass(frozen=True, slots=True, kw_only=True)
class Merged(Sealed):
    """Result of a merge: package, OBJID, numbers of IPs, data files and bytes, warnings, seal.

    ``checked`` is the level of the check that the package has passed.
    """

    target: Path
    objid: str
    containers: int
    files: int
    bytes: int
    warnings: tuple[Notice, ...]
    checked: str
    sealed: Seal | None = None

    def to_json(self) -> dict[str, object]:
        """Return the result as data for JSON."""
        return json_head() | {
            "target": str(self.target),
            "existed": False,
            "objid": self.objid,
            "containers": self.containers,
            "children": [],
            "files": self.files,
            "bytes": self.bytes,
            "checked": self.checked,
            "seal": self.seal,
            **noticed(self.warnings),
        }


def merge_ips(
    paths: Sequence[Path],
    target: Path,
    options: PackageOptions,
    progress: Progress | None = None,
    *,
    jobs: int | None = 1,
    roots: Sequence[Path] = (),
    terms: StagingTerms = USUAL,
) -> Merged:
    """Merge the IPs in some folders into one package at ``target``, which must not exist.

    ``paths`` are IPs, or folders that hold them side by side: a parent and all of its children. Some children
    may be in the ``roots``. The package has the parent's OBJID unless the options give one, and the parent's
    descriptive metadata and documentation unless the options name others. ``jobs`` processes copy files, as
    many as help when None; the package is the same for any number. A merge that was stopped is resumed.
    Raises ``SourceError``, ``TargetError`` and ``ConfigError``; after an error the target is absent, and the
    containers are unchanged.
    """
    progress = progress or Silent()
    if not dialects.facts(options.dialect).merges:
        raise ConfigError(
            f"packages of the dialect {options.dialect} cannot be merged",
            hint=f"Only those of {', '.join(dialects.that_merge())} can.",
        )
    check_vacant(target)
    for path in paths:
        check_outside(target, path, "the package")
    progress.stage("Reading METS", None)
    with processes.keep(), open_ips(paths, roots, options.budgets) as (index, containers):
        processes.prepare(_copy, jobs, files=index.amounts()[0])
        found = DataFiles(index, containers)
        run = building_options.run_facts("merge", options, _identity(paths, index))
        with stage(target, run, terms) as staging:
            options = replace(options, created=staging.created)
            result = _MergeWork(
                containers, found, options, progress, FinishedStretches(staging, StretchDone)
            ).write(jobs)
            staging.publish()
            return result


def _identity(paths: Sequence[Path], index: Index) -> str:
    """Return an identity of the IPs at some paths: it changes with the IPs, and with their METS."""
    state = hashlib.sha256()
    for (path,) in index.rows("SELECT path FROM mets ORDER BY id"):
        place = Path(str(index.files.place(tuple(path.split("/")))))
        stamp = tuple(reading.Stamp.of_status(os.stat(place)))
        state.update(repr((str(place.resolve()), stamp)).encode(errors="surrogateescape"))
    return f"{', '.join(str(path.resolve()) for path in paths)}, state {state.hexdigest()[:16]}"


class _MergeWork:
    """One merge: the IPs, the options that their parent adds to, and the staged package."""

    def __init__(
        self,
        containers: Sequence[MergedIp],
        found: DataFiles,
        options: PackageOptions,
        progress: Progress,
        earlier: FinishedStretches[StretchDone],
    ) -> None:
        self.containers = containers
        self.staging = earlier.staging
        self.found = found
        self.progress = progress
        self.parent = containers[0]
        self.objid = ids.given_objid(options.objid or found.index.objid)
        self.documentation: list[tuple[str, ...]] = []
        self.warnings: list[Notice] = []
        self.options = replace(options, objid=self.objid)
        self.data = self.staging.work / DATA
        self._earlier = earlier
        self._stretches = 0
        self._prepare()

    def _prepare(self) -> None:
        """Make the folder that files are copied into, or reuse that of an earlier run."""
        staging = self.staging
        moved = [each["folder"] for each in staging.events if each["event"] == journal.DESCRIBED]
        if moved and os.path.lexists(place := staging.package / moved[-1]):
            writing.move(place, self.data)
        self._earlier.prepare(lambda name: name == DATA or name.startswith(f"{PLACED}-"))
        keep_only(staging.package, ())
        writing.make_directories(self.data)

    def _adopt(self, options: PackageOptions) -> PackageOptions:
        """Verify the parent's kept documents, unpack packed ones, and return options with them."""
        adopted = dialects.named(options.dialect).adopted(
            options.dialect_options,
            self.root,
            (names for names, _ in self.found.documents()),
            self.found.representation,
            self._header(),
        )
        for names, stated in self.found.documents():
            if names in adopted.documents:
                self._take(names, stated)
        self.documentation += adopted.documentation
        for names in adopted.left:
            path = self.parent.path.joinpath(*names)
            self.warnings.append(
                Notice("description-replaced", f"{path} is left out: another file describes the package")
            )
        profile = options.mets_profile or adopted.profile
        return replace(options, mets_profile=profile, dialect_options=adopted.options)

    def _header(self) -> list[Fact]:
        """Return root, header and agents of the parent's METS, with a PROFILE that is given."""
        with self.parent.tree.content(CSIP_METS.encode()) as content:
            found = reader.head(content.blocks(), self.options.budgets)
        given = self.options.mets_profile
        return [replace(each, profile=given) if isinstance(each, Root) and given else each for each in found]

    @property
    def root(self) -> Path:
        """The folder of the parent's documentation and description, unpacked if it is packed."""
        return self.staging.work / "unpacked" if self.parent.tree.is_packed else self.parent.path

    def _take(self, names: tuple[str, ...], stated: StatedFixity) -> None:
        """Verify a kept document of the parent, and extract it if the parent is packed."""
        shown, hashers = str(self.parent.path.joinpath(*names)), threads.ThreadedHashers(stated.algorithms)
        blocks = proven_blocks(self.found.place(self.parent, names), shown, stated, hashers)
        if not self.parent.tree.is_packed:
            for _ in blocks:
                pass
            return
        place = self.root.joinpath(*names)
        writing.make_directories(place.parent)
        with writing.NewFile(place) as copy:
            for block in blocks:
                copy.write(block)

    def _find_archive(self) -> DataRun:
        archives = self.found.archives()
        if len(archives) != 1:
            found = ", ".join(each.paths[0] for each in archives) or "no SIARD archive"
            raise SourceError(
                f"{self.parent.path} and its children hold {found}, expected one archive",
                hint="Only the IPs of one archive and its LOBs can be merged.",
            )
        return archives[0]

    def _dialect(self, found: DataRun) -> Dialect:
        place = found.place
        if isinstance(place, Compressed):
            raise SourceError(f"{found.shown.name} is compressed in {place}; store it there", hint=UNPACK)
        at = place if isinstance(place, FileRange) else None
        with Archive(found.shown, self.options.budgets, at=at) as archive:
            return building_options.dialect(self.options, archive.stem, self.objid, archive)

    def write(self, jobs: int | None) -> Merged:
        """Write the whole package in the staging folder with some processes; return its result."""
        staging = self.staging
        siard = self._find_archive()
        writing.check_names(self.found.paths())
        files, size = self.found.index.amounts()
        done, copied = amounts(self._earlier.all)
        footprint, number = dialects.named(self.options.dialect).footprint, len(self.containers)
        check_space(
            staging,
            files=files - done + footprint.files_per_ip * number,
            bytes_=size - copied + footprint.per_lob * files + footprint.per_ip * number,
        )
        self._earlier.record_plan(None, files, size)
        self.options = self._adopt(self.options)
        dialect = self._dialect(siard)
        self.progress.stage("Copying", size)
        useful = processes.useful(jobs, files=files, size=size)
        workers = useful if size < files * threads.LARGE else processes.of_large(useful)
        folder = dialect.data_folder(self.objid)
        with ManifestLines() as lines:
            content = MergedContent(
                objid=self.objid,
                containers=sum(not each.is_list for each in self.containers),
                archive=siard.ids[0],
                placing=self._copy_data(lines, workers),
                work=staging.work,
                split=lambda: segments.noted(staging.work, WHOLES, [0]),
                parts=lambda: segments.noted(staging.work, PARTS, [0]),
                root=self.root,
                documentation=self.documentation,
                history=self._history(siard),
            )
            others = dialect.write_merged(staging.package, content)
            if self._earlier.is_there:
                check_count(self.data, files)
            staging.journal.record(event=journal.DESCRIBED, folder=folder)
            writing.make_directories((staging.package / folder).parent)
            writing.move(self.data, staging.package / folder)
            placing.write_manifest_fragments(lines, f"{folder}/", staging.work, 0, {})
        path = f"{dialect.parent_folder(self.objid)}/{dialect.mets}"
        sealed = manifests.write(staging.package, staging.work, [(f"{folder}/", 0)], others, path)
        checked = check_made(
            staging.package,
            self.progress,
            whole=self.options.verify,
            jobs=jobs,
            given=building_options.mets_options(self.options),
            note=lambda _paths: self._earlier.record_faulty(range(self._stretches), elsewhere=True),
        )
        return Merged(
            target=staging.target,
            checked=building_options.checked_level(self.options),
            objid=self.objid,
            containers=number,
            files=files,
            bytes=size,
            warnings=(*self._notices(), *checked),
            sealed=sealed,
        )

    def _history(self, siard: DataRun) -> tuple[str, ...]:
        """Return the notes on the archive's source in the parent's METS."""
        archive = Path(siard.paths[0]).name
        with self.parent.tree.content(CSIP_METS.encode()) as content:
            found = notes.history(content.blocks(), archive, self.options.budgets)
        return tuple(notes.noted(archive, each) for each in found)

    def _copy_data(self, lines: ManifestLines, jobs: int) -> Iterator[PlacedRun]:
        """Copy and verify the data files; yield them for METS, and add them to ``lines``.

        Only this process copies parts of LOBs, as it hashes the wholes as well.
        """
        work, self._stretches = self.staging.work, 0
        with (
            writing.NewFile(notes_path(work, WHOLES, 0)) as lobs,
            writing.NewFile(notes_path(work, PARTS, 0)) as parts,
        ):
            wholes = Wholes(lobs, parts, self.objid, self.options.algorithm)
            for are_parts, runs in groupby(self.found.runs(), lambda run: bool(run.part_of)):
                tasks = map(self._task, _bundles(runs), count(self._stretches))
                copied = (
                    (_copy(each, self.progress.advance, wholes) for each in tasks)
                    if are_parts
                    else processes.results(_copy, tasks, jobs, self.progress.advance)
                )
                for number in copied:
                    self._stretches = number + 1
                    for each in placed_files(work, number):
                        lines.add(each)
                        yield each
            wholes.end()

    def _task(self, bundle: tuple[DataRun, ...], number: int) -> _CopyTask:
        return _CopyTask(
            runs=bundle,
            number=number,
            target=self.data,
            work=self.staging.work,
            journal=self._earlier.journal,
            checksum=self.options.algorithm,
            finished=self._earlier.by_key.get(number),
            clears=self._earlier.is_there,
        )

    def _notices(self) -> Iterator[Notice]:
        """Yield the warnings on missing digests, replaced descriptions and files left out."""
        if unproven := self.found.unproven:
            count = counted(len(unproven), "METS of a child", "METS of children")
            words = f"{count}, {unproven[0]} first: no digest in the METS of the parent proves them"
            yield Notice("digest-absent", words)
        yield from self.warnings
        if number := self.found.left_out:
            yield Notice(
                "file-no-lob",
                f"{counted(number, 'file')} of the containers left out ({', '.join(self.found.examples)}"
                f"{', ...' if number > len(self.found.examples) else ''}): neither data nor regenerated",
            )


def _bundles(runs: Iterable[DataRun]) -> Iterator[tuple[DataRun, ...]]:
    """Yield the files of one task at a time, in their order."""
    bundle: list[DataRun] = []
    files = size = 0
    for run in runs:
        more = sum(MOST if each is None else each for each in run.sizes)
        files, size = files + len(run), size + more
        if bundle and (files > LONGEST or size > MOST):
            yield tuple(bundle)
            bundle.clear()
            files, size = len(run), more
        bundle.append(run)
    if bundle:
        yield tuple(bundle)


@dataclass(frozen=True, slots=True)
class _CopyTask:
    """Files to be copied into a folder by one process.

    They are listed in ``work`` and recorded in ``journal`` by ``number``. ``checksum`` is the algorithm of
    their digests in METS. ``finished`` is an earlier run's result; with ``clears`` that run may have left
    some of the files.
    """

    runs: tuple[DataRun, ...]
    number: int
    target: Path
    work: Path
    journal: Path
    checksum: str
    finished: StretchDone | None
    clears: bool

    @property
    def listing(self) -> Path:
        """The path of the notes on the copied files."""
        return notes_path(self.work, PLACED, self.number)

    @property
    def digest(self) -> str:
        """The SHA-256 of the facts on the files."""
        return hashlib.sha256(repr(self.runs).encode(errors="surrogateescape")).hexdigest()


def _copy(task: _CopyTask, moved: Callable[[int], None], wholes: Wholes | None = None) -> int:
    """Copy the files of a task to disk, list and record them, and return the task's number.

    Parts of LOBs are added to ``wholes``. Raises ``SourceError`` and ``TargetError``.
    """
    digest = task.digest
    if (found := _finished(task, digest)) is not None:
        if wholes is not None:
            for file in (each for run in task.runs for each in run.each()):
                hashers = threads.ThreadedHashers(file.stated.algorithms)
                for _ in file.blocks(hashers, wholes.start_part(file)):
                    pass
        moved(_amounts(found)[1])
        return task.number
    with open_stretch(task.work) as disk:
        if task.clears:
            for path in (task.listing, *(task.target / each for run in task.runs for each in run.paths)):
                writing.remove(path)
        is_synced = not disk.is_possible
        with closing(Folder(task.target, shared=True, is_synced=is_synced)) as folder:
            found = [_copy_run(run, folder, task.checksum, moved, wholes) for run in task.runs]
        write_placed(task.listing, found, is_synced=is_synced)
        disk.sync(task.work)
        record_stretch(task.journal, task.number, digest, _amounts(found), [task.listing])
    return task.number


def _finished(task: _CopyTask, digest: str) -> list[PlacedRun] | None:
    """Return the files that an earlier run copied, or None unless all exist by name and size."""
    done = task.finished
    if done is None or done.digest != digest or not done.has_notes([task.listing]):
        return None
    found = list(placed_files(task.work, task.number))
    return found if all(are_there(task.target, each.path, each.size) for each in found) else None


def _amounts(placed: Sequence[PlacedRun]) -> tuple[int, int]:
    """Return the number of files, and their bytes."""
    return sum(map(len, placed)), sum(sum(each.size) for each in placed)


def _copy_run(
    run: DataRun, folder: Folder, checksum: str, moved: Callable[[int], None], wholes: Wholes | None
) -> PlacedRun:
    """Copy files, together if they are small; return them as METS is to list them.

    Each is compared with its size and digest in METS. ``checksum`` is the algorithm of the digests in the new
    METS, ``moved`` is called with numbers of bytes. Files that are parts of LOBs are added to ``wholes``.
    """

    def copy_one(number: int) -> Hashers:
        file = run[number : number + 1]
        algorithms = filetable.algorithms(checksum)
        hashers = threads.ThreadedHashers(dict.fromkeys((*algorithms, *file.stated.algorithms)))
        whole = () if wholes is None else (wholes.start_part(file),)
        blocks = reading.with_progress(file.blocks(hashers, *whole), moved)
        folder.put(file.paths[0], blocks, file.stated.size or 0)
        return hashers

    listed = PlacedRun(
        id=run.ids,
        path=run.paths,
        size=[size or 0 for size in run.sizes],
        media_type=run.media_types,
        part_of=[run.part_of] * len(run) if run.part_of else [],
        sequence=run.sequences if run.part_of else [],
    )
    return placing.place_together(
        listed,
        [(run.algorithm, run.digests)],
        repeat(None, len(run)) if run.part_of else run.small_contents(),
        checksum,
        put=folder.put_small,
        moved=moved,
        apart=copy_one,
    )
