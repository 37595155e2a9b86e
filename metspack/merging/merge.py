"""Merge the IPs of a divided representation into one CSIP package.

METS, PREMIS and schemas are written anew. Every data file is copied unchanged and compared with its digest in
the same pass; nothing is overwritten, and the IPs are only read.
"""

from __future__ import annotations

import hashlib
import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, suppress
from dataclasses import astuple, dataclass, replace
from itertools import count, groupby
from pathlib import Path

from metspack import processes
from metspack.building import check_made, manifests, placing
from metspack.building import options as building_options
from metspack.building.options import PackageOptions
from metspack.containers.ipreader import OpenPacks
from metspack.containers.ipwriter import Folder
from metspack.digests import OCTETS, Hashers, Seal, Sealed, digest_function
from metspack.errors import ConfigError, SourceError, TargetError
from metspack.files import journal, reading, threads, writing
from metspack.files.byteranges import Stamp
from metspack.files.journal import USUAL, StagingTerms
from metspack.files.staging import (
    FinishedStretches,
    StretchDone,
    are_there,
    check_count,
    check_space,
    check_vacant,
    open_stretch,
    record_stretch,
    stage,
)
from metspack.merging.datafiles import DataFile, DataFiles, DataRun, DataTables, DoubtfulError, Wholes
from metspack.merging.ips import DATA, GivenIp, check_fixity, ips, proven, read_ips
from metspack.mets import CSIP_METS, REPRESENTATIONS_FOLDER, dialects, filetable, ids, packages
from metspack.mets.dialects.interface import Dialect, DialectOptions, MergedContent
from metspack.mets.filetable import ManifestLines, Placed, PlacedFile, PlacedRun
from metspack.model import LONGEST, SMALL, Budgets
from metspack.packages.lobs import StatedFixity
from metspack.processes import Underway
from metspack.progress import Progress, Silent
from metspack.sizes import counted
from metspack.sources.archive import Archive

_BYTES_AT_ONCE = 64_000_000  # for one process

_ONE_BY_ONE = "one by one"
"""Files that are alike are no longer looked at together: what was copied before is copied again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Merged(Sealed):
    """Result of a merge: the package, its OBJID, numbers of IPs, data files and bytes, warnings, seal."""

    target: Path
    objid: str
    containers: int
    files: int
    bytes: int
    warnings: tuple[str, ...]
    sealed: Seal | None = None


def merge_ips(
    paths: Sequence[Path],
    target: Path,
    options: PackageOptions,
    progress: Progress | None = None,
    *,
    jobs: int | None = 1,
    terms: StagingTerms = USUAL,
) -> Merged:
    """Merge the IPs in some folders into one package at ``target``, which must not exist.

    ``paths`` are IPs, or folders that hold them side by side: a parent and all of its children. The package
    has the parent's OBJID unless the options give one, and its descriptive metadata and documentation unless
    they name others. ``jobs`` processes copy files, as many as help when None; the package is the same for
    any number. One that was stopped is gone on with. Raises ``SourceError``, ``TargetError`` and
    ``ConfigError``; then nothing is at the target, and the containers are as they were.
    """
    progress = progress or Silent()
    _check_dialect(options.dialect)
    _check_outside(paths, target)
    progress.stage("Reading METS", None)
    with processes.keeping(), closing(OpenPacks(options.budgets)) as packs:
        run = building_options.run_facts("merge", options, _identity(paths, packs, options.budgets))
        with stage(target, run, terms) as staging:
            options = replace(options, created=staging.created)
            earlier = FinishedStretches(staging, voids=_ONE_BY_ONE)
            is_in_doubt = any(each["event"] == _ONE_BY_ONE for each in staging.events)
            for together in (False,) if is_in_doubt else (True, False):  # files that are alike, at first
                with suppress(DoubtfulError), DataTables(options.budgets, together=together) as tables:
                    containers = read_ips(paths, packs, tables)
                    with closing(_MergeWork(containers, tables, options, progress, earlier)) as work:
                        result = work.write(jobs)
                    staging.publish()
                    return result
                earlier.void(_ONE_BY_ONE)
                progress.stage("Reading METS", None)
    raise AssertionError("files that were looked at one by one are not in doubt")


def _check_dialect(name: str) -> None:
    if not dialects.facts(name).merges:
        raise ConfigError(
            f"packages of the dialect {name} cannot be merged",
            hint=f"Only those of {', '.join(dialects.that_merge())} can.",
        )


def _check_outside(paths: Sequence[Path], target: Path) -> None:
    check_vacant(target)
    for path in paths:
        if target.resolve().is_relative_to(path.resolve()):
            raise TargetError(
                f"the target {target} lies inside {path}",
                hint="Choose a target outside the packages.",
            )


def _identity(paths: Sequence[Path], packs: OpenPacks, budgets: Budgets) -> str:
    """Return what betrays other IPs in some folders, or a change of their METS, as words."""
    told = hashlib.sha256()
    below = (CSIP_METS, f"{REPRESENTATIONS_FOLDER}/*/{CSIP_METS}")
    for ip in (each for path in paths for each in ips(path, packs, budgets)):
        read = [ip.path] if ip.tree.is_packed else [each for name in below for each in ip.path.glob(name)]
        for each in sorted(read):
            with suppress(OSError):
                stamp = astuple(Stamp.of_status(os.stat(each)))
                told.update(repr((str(each.resolve()), stamp)).encode(errors="surrogateescape"))
    return f"{', '.join(str(path.resolve()) for path in paths)}, state {told.hexdigest()[:16]}"


class _MergeWork:
    """One merge: the IPs, the options that their parent adds to, and the staged package."""

    def __init__(
        self,
        containers: Sequence[GivenIp],
        tables: DataTables,
        options: PackageOptions,
        progress: Progress,
        earlier: FinishedStretches,
    ) -> None:
        self.containers = containers
        self.staging = earlier.staging
        self.found = DataFiles(containers, tables)
        self.progress = progress
        self.parent = containers[0]
        self.objid = ids.given_objid(options.objid or self.parent.objid)
        self.documentation: list[tuple[str, ...]] = []
        self.warnings: list[str] = []
        self.options = replace(options, objid=self.objid)
        self.data = self.staging.work / DATA
        self._earlier = earlier
        self._numbers = count()
        self._copied = 0
        self._prepare()
        self._workers = processes.Workers(1)
        self._runs = _PlainRuns(self.found)
        self._bundles = _Bundles(self._runs, is_growing=True)
        self._ahead: Underway[_CopyTask, int] | None = None
        self._listing: Underway[_ListTask, None] | None = None
        self._moved: int | None = 0

    def _prepare(self) -> None:
        """Make the folder that files are copied into, or take that of an earlier run."""
        staging = self.staging
        moved = [each["folder"] for each in staging.events if each["event"] == journal.DESCRIBED]
        if moved and os.path.lexists(place := staging.package / moved[-1]):
            writing.move(place, self.data)
        self._earlier.prepare(lambda number: [_placed_path(staging.work, number)], work=DATA)
        writing.make_directories(self.data)

    def close(self) -> None:
        """End the processes that copy files."""
        self._workers.close()

    def _adopt(self, options: PackageOptions) -> DialectOptions:
        """Verify the parent's documents that are kept, unpack them if need be; return options with them."""
        adopted = dialects.named(options.dialect).adopted(
            options.dialect_options,
            self.root,
            (names for names, _ in self.found.documents()),
            self.found.representation,
        )
        for names, said in self.found.documents():
            if names in adopted.documents:
                self._take(names, said)
        self.documentation += adopted.documentation
        for names in adopted.left:
            path = self.parent.folder.joinpath(*names)
            self.warnings.append(f"{path} is left out: another file describes the package")
        return adopted.options

    @property
    def root(self) -> Path:
        """The folder in which the parent's documentation and description lie: its own, if it is one."""
        return self.staging.work / "unpacked" if self.parent.ip.tree.is_packed else self.parent.folder

    def _take(self, names: tuple[str, ...], said: StatedFixity) -> None:
        """Verify a file of the parent's documentation or description; extract it if the parent is packed."""
        blocks = proven(self.parent, names, said)
        if not self.parent.ip.tree.is_packed:
            for _ in blocks:
                pass
            return
        place = self.root.joinpath(*names)
        writing.make_directories(place.parent)
        with writing.NewFile(place) as copy:
            for block in blocks:
                copy.write(block)

    def _find_archive(self) -> DataFile:
        archives = self.found.archives()
        if len(archives) != 1:
            found = ", ".join(each.path for each in archives) or "no SIARD archive"
            raise SourceError(
                f"{self.parent.folder} and its children hold {found}, expected one archive",
                hint="Only the IPs of one archive and its LOBs can be merged.",
            )
        return archives[0]

    def _dialect(self, found: DataFile) -> Dialect:
        path = found.ip.path.joinpath(*found.names)
        with Archive(path, self.options.budgets, at=found.ip.stretch(found.names)) as archive:
            return building_options.dialect(self.options, archive.stem, self.objid, archive)

    def write(self, jobs: int | None) -> Merged:
        """Write the whole package in the staging folder with some processes; return its result."""
        staging = self.staging
        for _ in self.found.read():
            self._copy_ahead(jobs)
        self._bundles.is_growing = False
        siard = self._find_archive()
        files, size = self.found.amounts()
        done, copied = self._earlier.amounts()
        footprint, ips = dialects.named(self.options.dialect).footprint, len(self.containers)
        check_space(
            staging,
            files=files - done + footprint.files_per_ip * ips,
            bytes_=size - copied + footprint.per_lob * files + footprint.per_ip * ips,
        )
        self._earlier.record_plan(None, files, size)
        self.options = replace(self.options, dialect_options=self._adopt(self.options))
        dialect = self._dialect(siard)
        self.progress.stage("Copying", size)
        moved, self._moved = self._moved, None
        self.progress.advance(moved or 0)
        folder = dialect.data_folder(self.objid)
        with Wholes(self.objid) as wholes:
            if self._ahead is None:
                useful = processes.useful(jobs, files=files, size=size)
                self._workers.jobs = useful if _are_small(files, size) else processes.of_large(useful)
            content = MergedContent(
                objid=self.objid,
                containers=sum(not each.is_list for each in self.containers),
                archive=siard.id,
                placing=self._copy_data(wholes, f"{folder}/"),
                work=staging.work,
                split=wholes.lobs,
                parts=wholes.parts,
                root=self.root,
                documentation=self.documentation,
                history=self._history(siard),
            )
            others = dialect.write_merged(staging.package, content)
            if self._earlier.clears:
                check_count(self.data, files)
            staging.journal.record(event=journal.DESCRIBED, folder=folder)
            writing.make_directories((staging.package / folder).parent)
            writing.move(self.data, staging.package / folder)
        for _ in () if self._listing is None else self._listing.results():
            pass
        path = f"{dialect.parent_folder(self.objid)}/{dialect.mets}"
        sealed = manifests.write(staging.package, staging.work, [(f"{folder}/", 0)], others, path)
        self._workers.close()
        checked = check_made(
            staging.package,
            self.progress,
            whole=self.options.verify,
            jobs=jobs,
            note=self._earlier.record_fault,
        )
        return Merged(
            target=staging.target,
            objid=self.objid,
            containers=len(self.containers),
            files=files,
            bytes=size,
            warnings=(*_words_on(self.found.unproven), *self.warnings, *self._left_out(), *checked),
            sealed=sealed,
        )

    def _copy_ahead(self, jobs: int | None) -> None:
        """Copy files that METS list, while further METS are read, in other processes.

        Errors of METS are told first, as if all had been read before.
        """
        if self._ahead is not None:
            self._ahead.look()
            return
        processes.prepare(_copy, jobs, files=self.found.count)
        files, size = self.found.amounts() if processes.are_many(self.found.count) else (0, 0)
        if files and _are_small(files, size) and processes.useful(jobs, files=files, size=size) > 1:
            self.staging.keep_room()
            self._workers.jobs = processes.useful(jobs, files=files, size=size)
            self._ahead = self._workers.begin(
                _copy, self._tasks(self._bundles), self._advance, is_growing=True
            )

    def _tasks(self, bundles: Iterator[_Bundle]) -> Iterator[_CopyTask]:
        # Unlike a generator, this goes on where it ended before there were further bundles.
        return map(self._task, bundles)

    def _task(self, bundle: _Bundle) -> _CopyTask:
        number = next(self._numbers)
        return _CopyTask(
            runs=bundle,
            number=number,
            target=self.data,
            work=self.staging.work,
            journal=self._earlier.journal,
            checksum=self.options.algorithm,
            finished=self._earlier.find(number),
            clears=self._earlier.clears,
        )

    def _advance(self, count: int) -> None:
        """Count bytes that were copied, which are shown once that stage has come."""
        if self._moved is None:
            self.progress.advance(count)
        else:
            self._moved += count

    def _history(self, siard: DataFile) -> tuple[str, ...]:
        """Return the notes of the parent's METS on what the archive was made of."""
        archive = siard.names[-1]
        found = packages.history(self.parent.ip.blocks((CSIP_METS,)), archive, self.options.budgets)
        return tuple(packages.noted(archive, each) for each in found)

    def _copy_data(self, wholes: Wholes, folder: str) -> Iterator[Placed]:
        """Copy the data files, verifying each; yield them as METS is to list them.

        Their lines of the manifests, which list them in ``folder``, are written beside what comes next.
        """
        for number in self._copy_all(wholes):
            self._copied = number + 1
            yield from _all_placed(self.staging.work, (number,))
        lists = iter((_ListTask(self.staging.work, self._copied, folder),))
        self._listing = self._workers.begin(_list, lists, self._advance, is_growing=self._ahead is not None)
        self._listing.look()

    def _copy_all(self, wholes: Wholes) -> Iterator[int]:
        """Copy the data files, verifying each; yield the numbers of the tasks in their order."""
        if self._ahead is not None:
            yield from self._ahead.results()
        for is_apart, runs in groupby(self.found.runs(self._runs.last), _is_apart):
            tasks = self._tasks(_Bundles(runs))
            if is_apart:
                yield from (_copy(each, self._advance, wholes) for each in tasks)
            else:
                yield from self._workers.results(_copy, tasks, self._advance)
        wholes.end()

    def _left_out(self) -> Iterator[str]:
        if number := self.found.left_out:
            yield (
                f"{counted(number, 'file')} of the containers left out ({', '.join(self.found.examples)}"
                f"{', ...' if number > len(self.found.examples) else ''}): neither data nor regenerated"
            )


def _is_apart(run: DataRun) -> bool:
    """Return whether files are copied by this process alone: parts of a LOB, and what it has open packed."""
    return bool(run.part_of) or run.ip.tree.is_packed


def _likeness(run: DataRun) -> str | None:
    """Return the algorithm of the digests of files that are copied together, None for those that are not."""
    is_small = run.sizes[0] is not None and run.sizes[0] <= SMALL
    is_plain = is_small and not run.part_of
    return run.algorithm if is_plain and run.algorithm in OCTETS else None


def _are_small(files: int, size: int) -> bool:
    return size < files * threads.LARGE


class _PlainRuns(Iterator[DataRun]):
    """The files of METS that were read, in their order, up to the first that are copied apart.

    It ends where no further are known, and goes on once there are; ``last`` is the number of the last file.
    """

    def __init__(self, found: DataFiles) -> None:
        self.last = 0
        self._found = found
        self._known: deque[tuple[int, DataRun]] = deque()

    def __next__(self) -> DataRun:
        if not self._known:
            self._known.extend(self._found.next_runs(self.last))
        if not self._known or _is_apart(self._known[0][1]):
            raise StopIteration
        self.last, run = self._known.popleft()
        return run


_Bundle = tuple[tuple[DataRun, str | None], ...]


class _Bundles(Iterator[_Bundle]):
    """Files for one process at a time, in their order, with the likeness of each run.

    While it ``is_growing``, ``runs`` that have ended may go on, and the last bundle is not full.
    """

    def __init__(self, runs: Iterator[DataRun], *, is_growing: bool = False) -> None:
        self.is_growing = is_growing
        self._runs = runs
        self._rest: DataRun | None = None
        self._bundle: list[tuple[DataRun, str | None]] = []
        self._files = self._size = 0

    def __next__(self) -> _Bundle:
        is_full = False
        while not is_full and (run := self._rest or next(self._runs, None)) is not None:
            is_full = self._take(run)
        if not is_full and (self.is_growing or not self._bundle):
            raise StopIteration
        found, self._bundle = tuple(self._bundle), []
        self._files = self._size = 0
        return found

    def _take(self, run: DataRun) -> bool:
        """Take files of a run as far as there is room; return whether the bundle is full."""
        for number, each in enumerate(run.sizes, 1):
            self._files, self._size = self._files + 1, self._size + (_BYTES_AT_ONCE if each is None else each)
            if self._files == LONGEST or self._size >= _BYTES_AT_ONCE:
                self._bundle.append((run[:number], _likeness(run)))
                self._rest = run[number:] if number < len(run) else None
                return True
        self._bundle.append((run, _likeness(run)))
        self._rest = None
        return False


@dataclass(frozen=True, slots=True)
class _CopyTask:
    """Files to be copied into a folder by one process, and the algorithm of their digests in METS.

    They are listed in ``work`` and recorded in ``journal`` by a number. ``finished`` is what an earlier run
    did of them; with ``clears`` that run may have left some of them.
    """

    runs: _Bundle
    number: int
    target: Path
    work: Path
    journal: Path
    checksum: str
    finished: StretchDone | None
    clears: bool

    @property
    def placed(self) -> Path:
        """Where the files are listed as METS is to list them."""
        return _placed_path(self.work, self.number)

    @property
    def digest(self) -> str:
        """The SHA-256 of what is said of the files, the same in whatever runs they come."""
        told = [hashlib.sha256() for _ in _TOLD]
        common: list[tuple[str, int]] = []
        for run, _ in self.runs:
            said = repr((str(run.ip.path), run.representation, run.algorithm, run.part_of))
            before = common.pop()[1] if common and common[-1][0] == said else 0
            common.append((said, before + len(run)))
            for name, each in zip(_TOLD, told, strict=True):
                text = "\0".join([*map(str, getattr(run, name)), ""])
                each.update(text.encode(errors="surrogateescape"))
        whole = repr((common, [each.hexdigest() for each in told]))
        return hashlib.sha256(whole.encode(errors="surrogateescape")).hexdigest()


_TOLD = ("paths", "ids", "media_types", "sizes", "digests", "sequences")


def _placed_path(work: Path, number: int) -> Path:
    return work / f"placed-{number}.jsonl"


def _all_placed(work: Path, numbers: Iterable[int]) -> Iterator[Placed]:
    """Yield the files of tasks as METS is to list them."""
    for each in numbers:
        with reading.opening(_placed_path(work, each)) as descriptor:
            text = b"".join(reading.chunks(descriptor)).decode()
        yield from map(filetable.placed_of, text.split("\n")[:-1])


@dataclass(frozen=True, slots=True)
class _ListTask:
    """The files of so many tasks, which were copied, to be listed in manifests as those of a folder."""

    work: Path
    tasks: int
    folder: str


def _list(task: _ListTask, _moved: Callable[[int], None]) -> None:
    """Write the lines of both manifests for the files of some tasks."""
    with ManifestLines() as placed:
        for each in _all_placed(task.work, range(task.tasks)):
            placed.add(each)
        placing.write_manifest_fragments(placed, task.folder, task.work, 0, {})


def _copy(task: _CopyTask, moved: Callable[[int], None], wholes: Wholes | None = None) -> int:
    """Copy the files of a task, which are then on disk, listed and recorded; return its number.

    ``wholes`` takes note of those that are parts of LOBs. Raises ``SourceError`` and ``TargetError``.
    """
    digest = task.digest
    if (found := _finished(task, digest)) is not None:
        if wholes is not None:
            for run, _ in task.runs:
                _read_again(run, task.checksum, wholes)
        moved(_amounts(found)[1])
        return task.number
    with open_stretch(task.work) as disk:
        if task.clears:
            for path in (task.placed, *(task.target / each for run, _ in task.runs for each in run.paths)):
                writing.remove(path)
        is_synced = not disk.is_possible
        with closing(Folder(task.target, shared=True, is_synced=is_synced)) as folder:
            copier = _Copier(folder, task.checksum, moved)
            found = [each for run, likeness in task.runs for each in copier.copy(run, likeness, wholes)]
        with writing.NewFile(task.placed, is_synced=is_synced) as listed:
            for each in found:
                listed.write(f"{filetable.text_of(each)}\n".encode())
        disk.sync(task.work)
        record_stretch(task.journal, task.number, digest, _amounts(found), [task.placed])
    return task.number


def _finished(task: _CopyTask, digest: str) -> list[Placed] | None:
    """Return the files of a task that were copied before, None unless all are there, by name and size."""
    done = task.finished
    if done is None or done.digest != digest or not done.has_notes([task.placed]):
        return None
    found = list(_all_placed(task.work, (task.number,)))
    files = [
        ([each.path], [each.size]) if isinstance(each, PlacedFile) else (each.path, each.size)
        for each in found
    ]
    return found if all(are_there(task.target, *each) for each in files) else None


def _amounts(placed: Iterable[Placed]) -> tuple[int, int]:
    """Return the number of files, and their bytes."""
    sizes = [[each.size] if isinstance(each, PlacedFile) else each.size for each in placed]
    return sum(map(len, sizes)), sum(map(sum, sizes))


def _read_again(run: DataRun, checksum: str, wholes: Wholes) -> None:
    """Read parts of LOBs that were copied before, for the digests of the wholes."""
    if not run.part_of:
        wholes.end()
        return
    for file in map(run.file, range(len(run))):
        for _ in _proven_blocks(
            file, threads.ThreadedHashers(file.said.algorithms), wholes.start_file(file, checksum)
        ):
            pass


class _Copier:
    """Copies data files into a folder, and compares each with what METS says of it.

    ``checksum`` is the algorithm of the digests in the new METS, ``moved`` is called with numbers of bytes.
    """

    def __init__(self, folder: Folder, checksum: str, moved: Callable[[int], None]) -> None:
        self._folder = folder
        self._checksum = checksum
        self._moved = moved
        self._buffer = memoryview(bytearray(SMALL + 1))

    def copy(self, run: DataRun, likeness: str | None, wholes: Wholes | None = None) -> Iterator[Placed]:
        """Copy files, together if they are alike; yield them as METS is to list them.

        ``wholes`` takes note of those that are parts of LOBs.
        """
        if likeness is not None:
            yield from self._copy_together(run, likeness)
            return
        for file in map(run.file, range(len(run))):
            whole = None if wholes is None else wholes.start_file(file, self._checksum)
            yield self._copy_one(file, whole)

    def _copy_together(self, run: DataRun, algorithm: str) -> Iterator[Placed]:
        """Copy small files of one folder; what is wrong with one is told by copying it by itself."""
        names = list(dict.fromkeys((*filetable.algorithms(self._checksum), algorithm)))
        functions = [digest_function(each) for each in names]
        at = names.index(algorithm)
        own = [path.rpartition("/")[2] for path in run.paths]
        contents = run.ip.small_files(run.file(0).names[:-1], own, self._buffer)
        expected = zip(run.sizes, run.digests, run.paths, strict=True)
        digests: list[list[str]] = []
        start = 0

        def placed(stop: int) -> Iterator[PlacedRun]:
            if start < stop:
                found = dict(zip(names, zip(*digests, strict=True), strict=True))
                yield PlacedRun(
                    id=run.ids[start:stop],
                    path=run.paths[start:stop],
                    size=[size or 0 for size in run.sizes[start:stop]],
                    media_type=run.media_types[start:stop],
                    checksum=found[self._checksum],
                    md5=found["MD5"],
                    sha256=found["SHA-256"],
                )

        for number, (data, (size, said, path)) in enumerate(zip(contents, expected, strict=True)):
            if data is not None and len(data) == size:
                found = [digest(data) for digest in functions]
                if found[at] == said:
                    self._folder.put_small(path, data)
                    digests.append(found)
                    self._moved(size)
                    continue
            yield from placed(number)
            digests.clear()
            start = number + 1
            yield self._copy_one(run.file(number))
        yield from placed(len(run))

    def _copy_one(self, file: DataFile, whole: Hashers | None = None) -> PlacedFile:
        """Copy a file by itself; its bytes are added to those of the LOB that it is a part of."""
        algorithms = filetable.algorithms(self._checksum)
        hashers = threads.ThreadedHashers(dict.fromkeys((*algorithms, *file.said.algorithms)))

        def blocks() -> Iterator[bytes]:
            for block in _proven_blocks(file, hashers, whole):
                yield block
                self._moved(len(block))

        self._folder.put(file.path, blocks(), file.said.size or 0)
        placed = filetable.placed_file(file.id, file.path, file.media_type, hashers, self._checksum)
        return replace(placed, part_of=file.part_of, sequence=file.sequence)


def _proven_blocks(file: DataFile, hashers: Hashers, whole: Hashers | None) -> Iterator[bytes]:
    """Yield the bytes of a file, which are added to digests of it and of the LOB that it is a part of.

    Raises ``SourceError`` after the last when they are not what METS says.
    """
    takers = (hashers,) if whole is None else (hashers, whole)
    for block in file.ip.blocks(file.names):
        for each in takers:
            each.update(block)
        yield block
    check_fixity(str(file.ip.path.joinpath(*file.names)), file.said, hashers)


def _words_on(unproven: Sequence[Path]) -> Iterator[str]:
    """Yield what is to be said of the METS of children that the parent's METS gives no digest."""
    if len(unproven) == 1:
        yield f"{unproven[0]}: no digest in the METS of the parent proves it"
    elif unproven:
        count = counted(len(unproven), "METS of a child", "METS of children")
        yield f"{count}, {unproven[0]} first: no digest in the METS of the parent proves them"
