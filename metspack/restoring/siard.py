"""Restore an archive in one piece, with its LOBs inside or in one folder beside it.

Entries get their usual names (``content/schema0/table2/lob4/record0.bin``), below the folder that
metadata.xml gives the table, or with a number (``record0_1.bin``) where another entry of the archive
has that name; the names before the package was made are lost. Everything that is independent of the
LOBs' places stays the same, byte for byte.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, field, replace
from enum import Enum, unique
from itertools import chain, count
from pathlib import Path

from metspack import processes, uris
from metspack.building.placing import Placing
from metspack.containers.ipwriter import Folder
from metspack.containers.zipformat import DEFLATED, STORED
from metspack.digests import MANIFEST_ALGORITHMS, Hashers
from metspack.errors import ConfigError, SourceError
from metspack.files.journal import PLANNED, USUAL, StagingTerms
from metspack.files.staging import Staging, check_target, stage
from metspack.layouts import lobseg, siard22
from metspack.layouts.interface import check_style, folder_use
from metspack.layouts.names import SIARD, FolderStyle
from metspack.mets import ids
from metspack.mets.filetable import Placements, placed_file
from metspack.model import CellRun, LobCell, LobPlace, LobRun, Notice, ZipExtent
from metspack.packages.source import Packaged, PackagedArchive
from metspack.planning import assignment, slices
from metspack.planning.assignment import Column, column_of, first_place
from metspack.planning.sharedlobs import Sharing
from metspack.progress import Progress, Silent, begin_lobs
from metspack.restoring.files import (
    Restored,
    RestoreOptions,
    RestoreTally,
    check_restored_space,
    restore_facts,
    write_manifests,
)
from metspack.siard.edits import CellValues, NewCells
from metspack.siard.entries import is_empty
from metspack.siard.metadata import Table
from metspack.sizes import counted
from metspack.sources import rewriting
from metspack.sources.archive import by_extension
from metspack.sources.lobstream import LobReader, OpenSources
from metspack.sources.repacking import RemovedEntries, left_out
from metspack.sources.rewriting import AddedRun, Moved

_Named = Callable[[LobPlace, Sequence[int], Sequence[str]], list[str]]
"""The new ``file`` of a column's cells by a cell's place, the rows and the old ``file``."""


@unique
class Into(Enum):
    """Place of restored LOBs: inside the archive, or in a folder beside it (SIARD 2.2 L_7.1)."""

    INSIDE = "inside"
    FOLDER = "folder"


def restore_archive(
    path: Path,
    target: Path,
    into: Into = Into.INSIDE,
    options: RestoreOptions | None = None,
    progress: Progress | None = None,
    *,
    terms: StagingTerms = USUAL,
) -> Restored:
    """Write the archive of the package at ``path`` with its LOBs, and return the result.

    ``Into.INSIDE``: ``target`` is the .siard file, or with any other name a folder with ``<Name>.siard`` and
    manifests. ``Into.FOLDER``: a folder with ``<Name>.siard``, ``<Name>_lobs/s0_t2_c4/seg_0/`` for each
    column, and manifests; LOBs of columns that stayed in the archive stay there.
    Every LOB is proven as by ``restore_files``, and the archive by the digest in METS. Raises
    ``SourceError``, ``TargetError`` and ``ConfigError``; all is removed after an error or an interruption.
    """
    options, progress = options or RestoreOptions(), progress or Silent()
    if options.cluster is not None:
        raise ConfigError(
            "--siard cannot be combined with --cluster",
            hint="An archive is one file, which one machine writes: leave one of the two out.",
        )
    check_target(target, path)
    progress.stage("Reading METS", None)
    with ExitStack() as stack:
        package = options.opened(path)
        stack.enter_context(package)
        source = check_archive(package, path, into, options)
        sharing = stack.enter_context(Sharing())
        removed = stack.enter_context(closing(RemovedEntries.of(source)))
        run = replace(restore_facts(f"archive, {into.value}", source, options), is_resumable=False)
        staging = stack.enter_context(stage(target, run, terms))
        stack.enter_context(processes.keep())
        work = _RestoreWork(source, sharing, removed, staging, progress, options.jobs)
        work.find(into)
        is_file = into is Into.INSIDE and target.suffix.lower() == SIARD
        if is_file:
            written = work.write_inside(target.name)
        else:
            written = work.write_folder(into, options.lob_folder_style)
        source.check_unchanged()
        if is_file:
            staging.publish(target.name)
        else:
            staging.publish()
        return replace(work.restored(written), into=into.value)


def check_archive(source: Packaged, path: Path, into: Into, options: RestoreOptions) -> PackagedArchive:
    """Return a package's archive; raises ``SourceError`` without one.

    Raises ``ConfigError`` when the archive's version excludes the style of LOB folders.
    """
    if not isinstance(source, PackagedArchive):
        raise SourceError(
            f"{path} holds no archive into which its LOBs could be put",
            hint="To restore them as files, leave --siard out.",
        )
    if into is Into.FOLDER:
        check_style(options.lob_folder_style, source.metadata.version)
    return source


def division(
    source: PackagedArchive, into: Into, progress: Progress
) -> tuple[Callable[[LobRun], bool], Callable[[LobPlace], str]]:
    """Return two functions: whether the LOBs of a run stay inside, and the container of others.

    Raises ``SourceError``.
    """
    if into is Into.INSIDE:
        return lambda run: len(run.entries) == len(run), lambda _place: ""
    progress.stage("Looking for LOBs inside", source.weight())
    stays = assignment.small_columns(source, 1 << 62, progress.advance)  # no LOB is larger
    return lambda run: column_of(run.place) in stays, siard22.container


@dataclass
class _RestoreWork:
    """One restore of an archive.

    ``outside`` columns have LOBs to move, ``inside`` ones LOBs that stay. ``slices`` are the numbers of the
    slices by container, in the order of their first LOB.
    """

    source: PackagedArchive
    sharing: Sharing
    removed: RemovedEntries
    staging: Staging
    progress: Progress
    jobs: int | None
    moving: RestoreTally = field(default_factory=RestoreTally)
    outside: set[Column] = field(default_factory=set)
    inside: set[Column] = field(default_factory=set)
    renamed: set[Column] = field(default_factory=set)
    slices: dict[str, int] = field(default_factory=dict)
    stay: int = 0
    unmoved: int = 0

    def __post_init__(self) -> None:
        """Name the new archive."""
        self.name = ids.package_name(self.source.stem)
        self.tables = {(table.schema, table.number): table for table in self.source.metadata.tables}

    def write_inside(self, name: str, placements: Placements | None = None) -> Hashers:
        """Write the archive with all LOBs inside; with ``placements`` a manifest will list it."""
        moved = Moved(entries=self.removed, columns={})
        algorithms = ("SHA-256",) if placements is None else MANIFEST_ALGORITHMS
        return self._rewrite(name, moved, self._entry_files, self._added(), algorithms)

    def write_folder(self, into: Into, style: FolderStyle) -> Hashers:
        """Write ``<Name>.siard``, the LOBs that it does not hold beside it, and manifests."""
        siard = f"{self.name}{SIARD}"
        with closing(Placements()) as placements:
            if into is Into.INSIDE:
                hashers = self.write_inside(siard, placements)
            else:
                hashers = self._write_beside(style, siard, placements)
            placements.add(placed_file("", siard, "", hashers, "MD5"))
            write_manifests(self.staging.package, placements.manifest_rows())
        return hashers

    def _write_beside(self, style: FolderStyle, siard: str, placements: Placements) -> Hashers:
        """Write the archive, and the LOBs into one folder beside it."""
        name, version = self.name, self.source.metadata.version
        self._place(placements)
        uses = {
            column: folder_use(siard22.LAYOUT, name, siard22.container(first_place(column)), style, version)
            for column in self.outside
        }
        moved = rewriting.moved(self.source, self.removed, uses.items())

        def named(place: LobPlace, rows: Sequence[int], files: Sequence[str]) -> list[str]:
            before = uses[column_of(place)].before
            found: list[str] = []
            for extension, which in by_extension(files):
                names = siard22.LAYOUT.cell_files(name, 0, place, rows[which], extension)
                found += [before + each for each in names]
            return found

        return self._rewrite(siard, moved, named)

    def find(self, into: Into) -> None:
        """Prove the archive; write a slice of LOBs for each container, and one of those that stay."""
        self.source.prove(self.progress)
        stays, container = division(self.source, into, self.progress)
        self.progress.stage("Reading tables", self.source.weight())
        with ExitStack() as files:
            staying_lobs = files.enter_context(slices.Slice(self.staging.work / "stay.jsonl"))
            opened: dict[str, slices.Slice] = {}
            for each in self.source.lob_runs(read=self.progress.advance):
                column = column_of(each.place)
                if stays(each):
                    self.inside.add(column)
                    self.stay += len(each)
                    staying_lobs.add(each)
                    self.unmoved += each.bytes
                    continue
                self.outside.add(column)
                self.removed.add_lobs(each)
                kept = container(each.place)
                for first in self.sharing.firsts(each, kept):
                    if kept not in opened:
                        number = self.slices[kept] = len(self.slices)
                        opened[kept] = files.enter_context(
                            slices.Slice(slices.path(self.staging.work, number))
                        )
                    opened[kept].add(first)
                    self.moving.take(first)
                processes.prepare(rewriting.write_reserved, self.jobs, files=self.moving.lobs)
        lobs, size = self.moving.lobs, self.moving.bytes
        check_restored_space(self.staging, lobs, len(self.outside), size + self.source.size)
        self.staging.journal.record(event=PLANNED, segments=1, lobs=lobs, bytes=size)
        self._prove_those_that_stay()

    def _prove_those_that_stay(self) -> None:
        if not self.stay:
            return
        self.progress.stage("Verifying LOBs that stay inside", self.unmoved)
        with OpenSources(self.source.byte_sources()) as sources:
            for run in slices.runs(self.staging.work / "stay.jsonl"):
                for lob in run.lobs():
                    for block in LobReader(lob, sources, ()).proven():
                        self.progress.advance(len(block))

    def _added(self) -> Iterator[AddedRun]:
        begin_lobs(self.progress, "Writing the archive", self.moving.bytes, self.moving.lobs)
        method = self._method()
        for number in self.slices.values():
            for run in slices.runs(slices.path(self.staging.work, number)):
                names = self._entries(run.place, run.rows, run.files)
                yield AddedRun(names=names, run=run, sources=self.source.byte_sources(), method=method)

    def _method(self) -> int:
        """Return the compression method of LOBs: that of the tables; SIARD 1.0 stores them."""
        if self.source.metadata.version == "1.0":
            return STORED
        documents = (self.source.tree.extent(table.path) for table in self.source.metadata.tables)
        methods = {each.method for each in documents if isinstance(each, ZipExtent)}
        return STORED if methods == {STORED} else DEFLATED

    def _entries(self, place: LobPlace, rows: Sequence[int], files: Sequence[str]) -> list[str]:
        """Return the names of the entries for a column's LOBs, each the usual one if it is free."""
        usual = lobseg.lob_folder(place)
        folder = "/".join((self.tables[place.schema, place.table].folder_path, *usual.split("/")[3:]))
        names = [
            folder + path.removeprefix(usual)
            for extension, which in by_extension(files)
            for path in lobseg.lob_paths(place, rows[which], extension)
        ]
        return names if is_empty(self.source.tree, f"{folder}/") else [self._free(name) for name in names]

    def _free(self, usual: str) -> str:
        """Return the usual name of an entry, or the next free one."""
        stem, _, extension = usual.rpartition(".")
        # No usual name has such a number: so two LOBs never get the same name.
        names = chain((usual,), (f"{stem}_{number}.{extension}" for number in count(1)))
        return next(name for name in names if self._is_free(name))

    def _is_free(self, name: str) -> bool:
        """Return whether no staying entry has a name, or lies in a folder of that name."""
        tree, removed = self.source.tree, self.removed
        if tree.extent(name) is not None and name not in removed:
            return False
        return all(below in removed for below in tree.names(f"{name}/"))

    def _entry_files(self, place: LobPlace, rows: Sequence[int], files: Sequence[str]) -> list[str]:
        return self._written(self._entries(place, rows, files))

    def _written(self, entries: Sequence[str]) -> list[str]:
        """Return entries' names as cells have them: strings in SIARD 1.0, URIs in later versions."""
        if self.source.metadata.version == "1.0" or uris.are_plain(entries):
            return list(entries)
        return [uris.quoted(entry.split("/")) for entry in entries]

    def _rewrite(
        self,
        name: str,
        moved: Moved,
        named: _Named,
        added: Iterable[AddedRun] = (),
        algorithms: Iterable[str] = MANIFEST_ALGORITHMS,
    ) -> Hashers:
        target, work = self.staging.package / name, self.staging.work
        if not self.outside:
            return rewriting.copy(self.source, target, algorithms, work=work)
        return rewriting.rewrite(
            self.source,
            moved,
            target,
            work=work,
            values=lambda table: self._make_values(table, named),
            algorithms=algorithms,
            added=added,
            jobs=processes.useful(self.jobs, files=self.moving.lobs, size=self.moving.bytes),
            moved_lobs=self.progress.advance,
        )

    def _make_values(self, table: Table, named: _Named) -> CellValues | None:
        if not any(column[:2] == (table.schema, table.number) for column in self.outside | self.inside):
            return None

        def value(run: CellRun) -> NewCells:
            column = column_of(run.place(0))
            if column in self.inside or self.sharing.concerns(run):
                files = [self._new_file(table, cell, named) for cell in run.cells()]
            else:
                files = named(run.place(0), run.rows, run.files)
            if self.source.metadata.version != "1.0" or files != list(run.files):
                self.renamed.add(column)
            return files, ()

        return value

    def _new_file(self, table: Table, cell: LobCell, named: _Named) -> str:
        if column_of(cell.place) in self.inside:
            entries = self.source.entries(table, cell)
            if len(entries) == 1:
                return self._written(entries)[0]
        first = self.sharing.first(cell.place.id)
        if first is not None:
            return self.sharing.stored(first)[0]
        (new,) = named(cell.place, (cell.place.row,), (cell.file,))
        self.sharing.store(cell.place.id, new, None)
        return new

    def _place(self, placements: Placements) -> None:
        begin_lobs(self.progress, "Restoring", self.moving.bytes, self.moving.lobs)
        with OpenSources(self.source.byte_sources()) as sources:
            placing = Placing(
                sources,
                siard22.LAYOUT,
                checksum="MD5",
                moved=self.progress.advance,
            )
            for container, number in self.slices.items():
                folder = siard22.segment_folder(self.name, container, 0)
                found = slices.runs(slices.path(self.staging.work, number))
                with closing(Folder(self.staging.package / folder)) as target:
                    for each in placing.place(found, target):
                        placements.add(each.below(f"{folder}/"))
            sources.check_unchanged()

    def restored(self, written: Hashers) -> Restored:
        """Return the result of the restore."""
        return replace(
            self.moving.restored(self.staging.target, archive_words(self.source, self.sharing, self.renamed)),
            inside=self.stay,
            size=written.size,
            sha256=written.digest("SHA-256").value,
        )


def archive_words(
    source: PackagedArchive, sharing: Sharing, renamed: Collection[Column] = ()
) -> Iterator[Notice]:
    """Yield warnings about a restored archive; ``renamed`` columns name their LOBs anew."""
    if left := source.unnamed_count():
        yield Notice("lob-unnamed", f"{counted(left, 'LOB')} that METS lists and no cell names: left out")
    yield from (Notice("archive-reduced", each) for each in left_out(source, renamed))
    yield from source.remarks()
    yield from sharing.words()
    yield from source.conventions()
