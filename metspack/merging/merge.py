"""Merge the IPs of a divided representation into one CSIP package.

METS, PREMIS and schemas are written anew. Every data file is copied unchanged and compared with its digest in
the same pass; nothing is overwritten, and the IPs are only read.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from functools import partial
from itertools import groupby
from pathlib import Path

from metspack import processes
from metspack.building import manifests, placing, selfcheck
from metspack.building import options as building_options
from metspack.building.options import PackageOptions
from metspack.containers.ipreader import OpenPacks
from metspack.containers.ipwriter import Folder
from metspack.digests import OCTETS, Hashers, Seal, Sealed, digest_function
from metspack.errors import ConfigError, SourceError, TargetError
from metspack.files import writing
from metspack.files.staging import Staging, check_space, check_vacant, stage
from metspack.merging.datafiles import DataFile, DataFiles, DataRun, Wholes, read_files
from metspack.merging.ips import GivenIp, check_fixity, proven
from metspack.mets import CSIP_METS, dialects, filetable, ids, packages
from metspack.mets.dialects.interface import Dialect, DialectOptions, MergedContent
from metspack.mets.filetable import Placed, PlacedFile, PlacedRun, Placements
from metspack.model import LONGEST, SMALL
from metspack.packages.lobs import StatedFixity
from metspack.processes import ThreadedHashers
from metspack.progress import Progress, Silent
from metspack.sizes import counted
from metspack.sources.archive import Archive

_BYTES_AT_ONCE = 64_000_000  # for one process


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
) -> Merged:
    """Merge the IPs in some folders into one package at ``target``, which must not exist.

    ``paths`` are IPs, or folders that hold them side by side: a parent and all of its children. The package
    has the parent's OBJID unless the options give one, and its descriptive metadata and documentation unless
    they name others. ``jobs`` processes copy files, as many as help when None; the package is the same for
    any number. Raises ``SourceError``, ``TargetError`` and ``ConfigError``; then nothing is left at the
    target, and the containers are as they were.
    """
    progress = progress or Silent()
    _check_dialect(options.dialect)
    _check_outside(paths, target)
    progress.stage("Reading METS", None)
    seen = partial(_prepare, jobs)
    with (
        processes.keeping(),
        closing(OpenPacks(options.budgets)) as packs,
        read_files(paths, packs, options.budgets, seen) as (containers, found),
        stage(target) as staging,
    ):
        result = _MergeWork(containers, found, options, progress, staging).write(jobs)
        staging.publish()
    return result


def _prepare(jobs: int | None, files: int) -> None:
    processes.prepare(_copy, jobs, files=files)


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


class _MergeWork:
    """One merge: the IPs, the options that their parent adds to, and the staged package."""

    def __init__(
        self,
        containers: Sequence[GivenIp],
        found: DataFiles,
        options: PackageOptions,
        progress: Progress,
        staging: Staging,
    ) -> None:
        self.containers = containers
        self.staging = staging
        self.found = found
        self.progress = progress
        self.parent = containers[0]
        self.objid = ids.given_objid(options.objid or self.parent.objid)
        self.documentation: list[tuple[str, ...]] = []
        self.warnings = [*_words_on(found.unproven)]
        self.options = replace(options, objid=self.objid)
        self.archive = self._archive()

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

    def _archive(self) -> DataFile:
        archives = self.found.archives()
        if len(archives) != 1:
            found = ", ".join(each.path for each in archives) or "no SIARD archive"
            raise SourceError(
                f"{self.parent.folder} and its children hold {found}, expected one archive",
                hint="Only the IPs of one archive and its LOBs can be merged.",
            )
        return archives[0]

    def _dialect(self) -> Dialect:
        ip = self.archive.ip
        path = ip.path.joinpath(*self.archive.names)
        with Archive(path, self.options.budgets, at=ip.stretch(self.archive.names)) as archive:
            return building_options.dialect(self.options, archive.stem, self.objid, archive)

    def write(self, jobs: int | None) -> Merged:
        """Write the whole package in the staging folder with some processes; return its result."""
        staging = self.staging
        files, size = self.found.amounts()
        footprint, ips = dialects.named(self.options.dialect).footprint, len(self.containers)
        check_space(
            staging,
            files=files + footprint.files_per_ip * ips,
            bytes_=size + footprint.per_lob * files + footprint.per_ip * ips,
        )
        self.options = replace(self.options, dialect_options=self._adopt(self.options))
        dialect = self._dialect()
        staging.journal.record(event="begin", objid=self.objid, files=files, bytes=size)
        self.progress.stage("Copying", size)
        folder = dialect.data_folder(self.objid)
        formats = self.found.split_formats()
        with closing(Placements(held=0)) as placed, Wholes(self.objid, formats) as wholes:
            useful = processes.useful(jobs, files=files, size=size)
            if size >= files * processes.LARGE:
                useful = processes.of_large(useful)
            with closing(self._copy_data(staging.package / folder, wholes, useful)) as copied:
                for each in copied:
                    placed.add(each)
            staging.journal.record(event="copied")
            content = MergedContent(
                objid=self.objid,
                containers=len(self.containers),
                archive=self.archive.id,
                files=placed.runs,
                split=wholes.lobs,
                parts=wholes.parts,
                root=self.root,
                documentation=self.documentation,
                history=self._history(),
            )
            others = dialect.write_merged(staging.package, content)
            placing.write_manifest_fragments(placed, f"{folder}/", staging.work, 0, others)
        top = dialect.parent_folder(self.objid)
        path = f"{top}/{dialect.mets}"
        sealed = manifests.write(staging.package, staging.work, [(top, 0)], {}, path)
        checked = selfcheck.check_made(staging.package, self.progress, whole=self.options.verify, jobs=jobs)
        return Merged(
            target=staging.target,
            objid=self.objid,
            containers=len(self.containers),
            files=files,
            bytes=size,
            warnings=(*self.warnings, *self._left_out(), *checked),
            sealed=sealed,
        )

    def _history(self) -> tuple[str, ...]:
        """Return the notes of the parent's METS on what the archive was made of."""
        archive = self.archive.names[-1]
        found = packages.history(self.parent.ip.blocks((CSIP_METS,)), archive, self.options.budgets)
        return tuple(packages.noted(archive, each) for each in found)

    def _copy_data(self, target: Path, wholes: Wholes, jobs: int) -> Generator[Placed, None, None]:
        """Copy the data files, verifying each; yield them as METS is to list them."""
        algorithm, moved = self.options.algorithm, self.progress.advance
        with closing(Folder(target)) as folder, processes.Workers(jobs) as workers:
            copier = _Copier(folder, algorithm, moved)
            for is_apart, runs in groupby(self.found.runs(), _is_apart):
                if is_apart:
                    for run in runs:
                        yield from copier.copy(run, _likeness(run), wholes)
                    continue
                tasks = (_CopyTask(runs=each, target=target, checksum=algorithm) for each in _bundles(runs))
                for copied in workers.results(_copy, tasks, moved):
                    yield from copied
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
    is_plain = is_small and not run.part_of and run.format is None
    return run.algorithm if is_plain and run.algorithm in OCTETS else None


_Bundle = tuple[tuple[DataRun, str | None], ...]


def _bundles(runs: Iterable[DataRun]) -> Iterator[_Bundle]:
    """Yield files for one process at a time, in their order, with the likeness of each run."""
    bundle: list[tuple[DataRun, str | None]] = []
    files = size = 0
    for run in runs:
        likeness, start = _likeness(run), 0
        for number, each in enumerate(run.sizes, 1):
            files, size = files + 1, size + (_BYTES_AT_ONCE if each is None else each)
            if files == LONGEST or size >= _BYTES_AT_ONCE:
                yield (*bundle, (run[start:number], likeness))
                bundle.clear()
                files, size, start = 0, 0, number
        if start < len(run):
            bundle.append((run[start:], likeness))
    if bundle:
        yield tuple(bundle)


@dataclass(frozen=True, slots=True, kw_only=True)
class _CopyTask:
    """Files to be copied into a folder by one process, and the algorithm of their digests in METS."""

    runs: _Bundle
    target: Path
    checksum: str


def _copy(task: _CopyTask, moved: Callable[[int], None]) -> list[Placed]:
    """Copy the files of a task; return them in their order. Raises ``SourceError`` and ``TargetError``."""
    with closing(Folder(task.target, shared=True)) as folder:
        copier = _Copier(folder, task.checksum, moved)
        return [each for run, likeness in task.runs for each in copier.copy(run, likeness)]


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
        hashers = ThreadedHashers(dict.fromkeys((*algorithms, *file.said.algorithms)))
        takers = (hashers,) if whole is None else (hashers, whole)
        source = file.ip.path.joinpath(*file.names)

        def blocks() -> Iterator[bytes]:
            for block in file.ip.blocks(file.names):
                for each in takers:
                    each.update(block)
                yield block
                self._moved(len(block))
            check_fixity(str(source), file.said, hashers)

        self._folder.put(file.path, blocks(), file.said.size or 0)
        placed = filetable.placed_file(file.id, file.path, file.media_type, hashers, self._checksum)
        return replace(placed, part_of=file.part_of, sequence=file.sequence, format=file.format)


def _words_on(unproven: Sequence[Path]) -> Iterator[str]:
    """Yield what is to be said of the METS of children that the parent's METS gives no digest."""
    if len(unproven) == 1:
        yield f"{unproven[0]}: no digest in the METS of the parent proves it"
    elif unproven:
        count = counted(len(unproven), "METS of a child", "METS of children")
        yield f"{count}, {unproven[0]} first: no digest in the METS of the parent proves them"
