"""Merge the IPs of a divided representation into one CSIP package.

METS, PREMIS and schemas are written anew. Every data file is copied unchanged and compared with its digest in
the same pass; nothing is overwritten, and the IPs are only read.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from itertools import groupby, repeat
from pathlib import Path

from metspack.building import manifests, placing, selfcheck
from metspack.building import options as building_options
from metspack.building.options import PackageOptions
from metspack.containers.ipreader import OpenPacks
from metspack.containers.ipwriter import Folder
from metspack.digests import digest_function
from metspack.errors import ConfigError, SourceError, TargetError
from metspack.files import reading, tempdb, writing
from metspack.files.staging import Staging, check_space, check_vacant, stage
from metspack.merging.datafiles import DataFile, DataFiles, Wholes, proven
from metspack.merging.ips import GivenIp, check_fixity, read_ips
from metspack.mets import dialects, filetable, ids
from metspack.mets.dialects.interface import Dialect, DialectOptions, MergedContent
from metspack.mets.filetable import Placed, PlacedFile, PlacedRun, Placements
from metspack.model import SMALL
from metspack.packages.index import MetsTables
from metspack.packages.lobs import StatedFixity, together
from metspack.processes import ThreadedHashers
from metspack.progress import Progress, Silent
from metspack.sizes import counted
from metspack.sources.archive import Archive


@dataclass(frozen=True, slots=True, kw_only=True)
class Merged:
    """Result of a merge: the package, its OBJID, numbers of IPs, of data files and their bytes, warnings."""

    target: Path
    objid: str
    containers: int
    files: int
    bytes: int
    warnings: tuple[str, ...]


def merge_ips(
    paths: Sequence[Path], target: Path, options: PackageOptions, progress: Progress | None = None
) -> Merged:
    """Merge the IPs in some folders into one package at ``target``, which must not exist.

    ``paths`` are IPs, or folders that hold them side by side: a parent and all of its children. The package
    has the parent's OBJID unless the options give one, and its descriptive metadata and documentation unless
    they name others. Raises ``SourceError``, ``TargetError`` and ``ConfigError``; then nothing is left at the
    target, and the containers are as they were.
    """
    progress = progress or Silent()
    _check_dialect(options.dialect)
    _check_outside(paths, target)
    progress.stage("Reading METS", None)
    with closing(OpenPacks(options.budgets)) as packs, MetsTables(options.budgets) as tables:
        tables.execute("CREATE INDEX entry_mets ON entry (mets)")
        tables.execute("CREATE INDEX entry_id ON entry (xml_id, mets)")
        containers = read_ips(paths, packs, tables)
        with tempdb.explained("the files of the containers"):
            found = DataFiles(containers, tables)
        with stage(target) as staging:
            result = _MergeWork(containers, found, options, progress, staging).write()
            staging.publish()
    return result


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
                hint="Choose a target outside it: containers are only read.",
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
        ip = self.archive.container.ip
        path = ip.path.joinpath(*self.archive.names)
        with Archive(path, self.options.budgets, at=ip.stretch(self.archive.names)) as archive:
            return building_options.dialect(self.options, archive.stem, self.objid, archive)

    def write(self) -> Merged:
        """Write the whole package in the staging folder; return its result."""
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
        with closing(Placements()) as placed, Wholes(self.objid, formats) as wholes:
            for file in self._copy_data(staging.package / folder, wholes):
                placed.add(file)
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
            )
            others = dialect.write_merged(staging.package, content)
            placing.write_manifest_fragments(placed, f"{folder}/", staging.work, 0, others)
        manifests.write(staging.package, staging.work, [(dialect.parent_folder(self.objid), 0)], {})
        checked = selfcheck.check_made(staging.package, self.progress, whole=self.options.verify)
        return Merged(
            target=staging.target,
            objid=self.objid,
            containers=len(self.containers),
            files=files,
            bytes=size,
            warnings=(*self.warnings, *self._left_out(), *checked),
        )

    def _copy_data(self, target: Path, wholes: Wholes) -> Iterator[Placed]:
        """Copy the data files, verifying each; yield them as METS is to list them."""
        buffer = memoryview(bytearray(SMALL + 1))
        with closing(Folder(target)) as folder:
            for likeness, alike in groupby(self.found.files(), _likeness):
                for files in together(alike):
                    if likeness is None:
                        yield from (self._copy_one(file, folder, wholes) for file in files)
                    else:
                        wholes.end()
                        yield from self._copy_together(files, folder, wholes, buffer)
        wholes.end()

    def _copy_together(
        self, files: Sequence[DataFile], folder: Folder, wholes: Wholes, buffer: memoryview
    ) -> Iterator[Placed]:
        """Copy small files of one folder; what is wrong with one is told by copying it by itself."""
        first = files[0]
        said = [file.said.digest.value for file in files if file.said.digest is not None]
        names = dict.fromkeys((*filetable.algorithms(self.options.algorithm), *first.said.algorithms))
        functions = [digest_function(each) for each in names]
        at = list(names).index(first.said.algorithms[0])
        own = [file.path.rpartition("/")[2] for file in files]
        contents = reading.small_files(first.container.folder, first.names[:-1], own, repeat(None), buffer)
        digests: list[list[str]] = []
        start = 0

        def placed(stop: int) -> Iterator[PlacedRun]:
            if start < stop:
                found = dict(zip(names, zip(*digests, strict=True), strict=True))
                copied = files[start:stop]
                yield PlacedRun(
                    id=[file.id for file in copied],
                    path=[file.path for file in copied],
                    size=[file.said.size or 0 for file in copied],
                    media_type=[file.media_type for file in copied],
                    checksum=found[self.options.algorithm],
                    md5=found["MD5"],
                    sha256=found["SHA-256"],
                )

        for number, (data, file) in enumerate(zip(contents, files, strict=True)):
            if data is not None and len(data) == file.said.size:
                found = [digest(data) for digest in functions]
                if found[at] == said[number]:
                    folder.put_small(file.path, data)
                    digests.append(found)
                    self.progress.advance(len(data))
                    continue
            yield from placed(number)
            digests.clear()
            start = number + 1
            yield self._copy_one(file, folder, wholes)
        yield from placed(len(files))

    def _copy_one(self, file: DataFile, folder: Folder, wholes: Wholes) -> PlacedFile:
        algorithms = filetable.algorithms(self.options.algorithm)
        hashers = ThreadedHashers(dict.fromkeys((*algorithms, *file.said.algorithms)))
        whole = wholes.start_file(file, self.options.algorithm)
        source = file.container.folder.joinpath(*file.names)

        def blocks() -> Iterator[bytes]:
            for block in file.container.ip.blocks(file.names):
                hashers.update(block)
                whole.update(block)
                yield block
                self.progress.advance(len(block))
            check_fixity(str(source), file.said, hashers)

        folder.put(file.path, blocks(), file.said.size or 0)
        placed = filetable.placed_file(file.id, file.path, file.media_type, hashers, self.options.algorithm)
        return replace(placed, part_of=file.part_of, sequence=file.sequence, format=file.format)

    def _left_out(self) -> Iterator[str]:
        if number := self.found.left_out:
            yield (
                f"{counted(number, 'file')} of the containers left out ({', '.join(self.found.examples)}"
                f"{', ...' if number > len(self.found.examples) else ''}): neither data nor made anew"
            )


def _likeness(file: DataFile) -> tuple[int, str, str] | None:
    """Return container, folder and algorithm, which files that are copied together have in common."""
    said = file.said
    if file.part_of or file.format is not None or file.container.ip.tree.is_packed:
        return None
    if said.size is None or said.size > SMALL or not said.algorithms:
        return None
    return file.container.number, file.path.rpartition("/")[0], said.algorithms[0]


def _words_on(unproven: Sequence[Path]) -> Iterator[str]:
    """Yield what is to be said of the METS of children that the parent's METS gives no digest."""
    if len(unproven) == 1:
        yield f"{unproven[0]}: no digest in the METS of the parent proves it"
    elif unproven:
        count = counted(len(unproven), "METS of a child", "METS of children")
        yield f"{count}, {unproven[0]} first: no digest in the METS of the parent proves them"
