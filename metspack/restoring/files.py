"""Restore LOBs as files in the tree of their archive: joined, and proven while they are written.

The tree is that of the recommendation without segments: ``content/schema0/table2/lob4/record0.bin``
(0.28 §5.1), beside it the two manifests.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from pathlib import Path

from metspack import processes
from metspack.building import manifests
from metspack.building.placing import Placing, fragment, write_lines, write_manifest_fragments
from metspack.containers.ipwriter import Folder
from metspack.digests import MANIFEST_ALGORITHMS, OCTETS
from metspack.errors import SourceError
from metspack.files import reading, tempdb, writing
from metspack.files.staging import Staging, check_space, check_target, stage
from metspack.layouts import lobseg
from metspack.layouts.interface import FolderStyle
from metspack.mets.filetable import Placements
from metspack.model import Budgets, LobPlace, LobRef, LobRun
from metspack.packages import source as packages_source
from metspack.packages.source import Packaged, PackagedArchive
from metspack.planning import slices
from metspack.planning.assignment import Column, column_of
from metspack.planning.sharedlobs import Sharing
from metspack.progress import Progress, Silent
from metspack.sizes import counted
from metspack.sources.lobstream import Holdings, OpenHoldings

_PER_FILE = 1_000  # bytes that names and a line in each manifest take, generously
_PER_COLUMN = 4  # folders of schema, table and column, and the list of what goes there


@dataclass(frozen=True, slots=True, kw_only=True)
class RestoreOptions:
    """Options of a restore: ``only`` selects the LOBs, all when empty.

    ``archive`` is the name of that whose LOBs are meant, None when there is one. ``accepted`` is of
    ``lobstream.ACCEPTABLE``. ``lob_folder_style`` is how an archive leads to LOBs in a folder beside it.
    ``jobs`` is the number of processes that write files, as many as help when None.
    """

    only: tuple[str, ...] = ()
    archive: str | None = None
    accepted: frozenset[str] = frozenset()
    lob_folder_style: FolderStyle = FolderStyle.DILCIS
    budgets: Budgets = field(default_factory=Budgets)
    jobs: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Restored:
    """Result of a restore: LOBs and their bytes, and warnings.

    ``split`` were joined from parts, ``inside`` lay inside the package's archive. ``size`` and ``sha256``
    are those of the archive that was written, None when only LOBs were.
    """

    target: Path
    lobs: int
    split: int
    inside: int
    bytes: int
    size: int | None = None
    sha256: str | None = None
    warnings: tuple[str, ...] = ()


def check_restored_space(staging: Staging, lobs: int, columns: int, size: int) -> None:
    """Raise ``TargetError`` unless there is space for LOBs and what lies beside them, bytes in all."""
    files = lobs + _PER_COLUMN * columns
    check_space(staging, files=files, bytes_=size + _PER_FILE * files)


def write_manifests(package: Path, rows: Generator[tuple[str, str, str], None, None]) -> None:
    """Write both manifests of files, given by path, MD5 and SHA-256 and sorted; raises ``TargetError``."""
    with (
        closing(rows),
        writing.NewFile(package / manifests.NAMES["MD5"]) as md5,
        writing.NewFile(package / manifests.NAMES["SHA-256"]) as sha256,
    ):
        write_lines(rows, md5, sha256)


_CONTENT = "content"
_FILES_AT_ONCE = 4_000
_BYTES_AT_ONCE = 100_000_000
_CLOSE = 0.6
_LEVELS = 3  # dots in the id of a LOB: below schema, table and column


def _below_content(place: LobPlace, rows: Sequence[int], extension: str) -> list[str]:
    return [path.removeprefix(f"{_CONTENT}/") for path in lobseg.lob_paths(place, rows, extension)]


_TREE = replace(lobseg.LAYOUT, lob_paths=_below_content)


@dataclass(slots=True)
class _RestoreTally:
    """The LOBs found so far."""

    lobs: int = 0
    split: int = 0
    inside: int = 0
    bytes: int = 0
    unnamed: int = 0
    columns: set[Column] = field(default_factory=set)

    def take_run(self, run: LobRun) -> None:
        """Count LOBs that lie in files of their own."""
        self.lobs += len(run)
        self.columns.add(column_of(run.lob(0).place))
        self.bytes += sum(run.sizes)


def restore_files(
    path: Path, target: Path, options: RestoreOptions | None = None, progress: Progress | None = None
) -> Restored:
    """Write the LOBs of the package at ``path`` as whole files into a new folder; returns the result.

    Every LOB is compared with the digests of its parts and of the whole in METS and with its cell's
    digest and length; LOBs that stayed in the archive are restored too. Cells that name one file get one,
    named after the first of them, with ``only`` after the first of those asked for. Raises ``SourceError``
    and ``TargetError``; after an error or an interruption nothing is left.
    """
    options, progress = options or RestoreOptions(), progress or Silent()
    check_target(target, path)
    progress.stage("Reading METS", None)
    with (
        packages_source.opened(path, options.budgets, options.only, archive=options.archive) as source,
        Sharing() as sharing,
        stage(target) as staging,
        processes.keeping(),
    ):
        staging.journal.record(event="begin", source=str(path), only=list(options.only))
        tally = _RestoreTally()
        found = _find_lobs(source, sharing, progress, tally)
        number = _write_slices(found, tally, staging.work, options.jobs)
        check_restored_space(staging, tally.lobs, len(tally.columns), tally.bytes)
        staging.journal.record(event="planned", lobs=tally.lobs, bytes=tally.bytes)
        progress.stage("Restoring", tally.bytes)
        jobs = min(processes.useful(options.jobs, files=tally.lobs, size=tally.bytes), number)
        tasks = [
            _RestoreTask(
                number=each,
                holdings=source.holdings(),
                package=staging.package,
                work=staging.work,
                accepted=options.accepted,
            )
            for each in range(number)
        ]
        with closing(_Lines()) as lines:
            for each in processes.results(_place, tasks, jobs, progress.advance):
                lines.take(staging.work, each)
            write_manifests(staging.package, lines.manifest_rows())
        source.check_unchanged()
        staging.publish()
        return Restored(
            target=staging.target,
            lobs=tally.lobs,
            split=tally.split,
            inside=tally.inside,
            bytes=tally.bytes,
            warnings=(*_words(source, tally), *sharing.words()),
        )


def _find_lobs(
    source: Packaged, sharing: Sharing, progress: Progress, tally: _RestoreTally
) -> Iterator[LobRun | LobRef]:
    """Yield the LOBs to be restored; raises ``SourceError`` when a selected LOB is not found."""
    missing = set(source.selection.only)
    for lob in _read_selected(source, progress, tally):
        if isinstance(lob, LobRun):
            tally.take_run(lob)
            for number in range(len(lob)) if missing else ():
                missing.difference_update(source.selection.met(lob.lob(number).place.id))
            yield lob
            continue
        missing.difference_update(source.selection.met(lob.place.id))
        if sharing.is_first(lob, ""):
            tally.lobs += 1
            tally.columns.add(column_of(lob.place))
            tally.split += len(lob.extents) > 1
            tally.inside += bool(lob.entries)
            tally.bytes += lob.size
            yield lob
    for each in source.selection.only:
        if each in missing:
            raise _absent(source, each)


def _read_selected(source: Packaged, progress: Progress, tally: _RestoreTally) -> Iterator[LobRun | LobRef]:
    if isinstance(source, PackagedArchive):
        progress.stage("Reading tables", source.weight())
        yield from source.lobs(read=progress.advance)
    else:
        yield from source.lob_runs()
    for lob in source.unnamed():
        tally.unnamed += 1
        yield lob


def _absent(source: Packaged, selected: str) -> SourceError:
    """Return the error for a selection without LOBs, with the nearest that has some."""
    hint = ""
    try:
        # For the id of a LOB the package knows best.
        source.package.lob(source.id_prefix + selected)
    except SourceError as error:
        hint = error.hint
    if selected.count(".") < _LEVELS:
        near = get_close_matches(selected, _columns(source, selected.count(".") + 1), n=1, cutoff=_CLOSE)
        hint = f"Did you mean {near[0]}?" if near else hint
    return SourceError(f"the package has no LOB {selected[:200]!r}", hint=hint)


def _columns(source: Packaged, depth: int) -> dict[str, None]:
    """Return the columns with LOBs, or the tables, or the schemas, that there are."""
    known = dict.fromkeys(".".join(lob.split(".")[:depth]) for lob in source.ids())
    if isinstance(source, PackagedArchive):
        for table in source.tables:
            for column in table.columns:
                if column.is_lob:
                    words = (f"s{table.schema}", f"t{table.number}", f"c{column.number}")
                    known[".".join(words[:depth])] = None
    return known


def _write_slices(lobs: Iterable[LobRun | LobRef], tally: _RestoreTally, work: Path, jobs: int | None) -> int:
    """Write LOBs into slices, each for one process at a time; return the number of slices.

    Once there are many LOBs the processes start.
    """
    waiting = iter(lobs)
    number = 0
    is_more = True
    while is_more:
        is_more = False
        files, size = tally.lobs + _FILES_AT_ONCE, tally.bytes + _BYTES_AT_ONCE
        with slices.Slice(slices.path(work, number)) as found:
            for each in waiting:
                found.add_each(each)
                if tally.lobs >= files or tally.bytes >= size:
                    is_more = True
                    break
        number += 1
        if is_more:
            processes.prepare(_place, jobs, files=tally.lobs)
    return number


@dataclass(frozen=True, slots=True, kw_only=True)
class _RestoreTask:
    """A slice of LOBs to be written into the package by one process; ``work`` holds the slice."""

    number: int
    holdings: Holdings
    package: Path
    work: Path
    accepted: frozenset[str]


def _place(task: _RestoreTask, moved: Callable[[int], None]) -> int:
    """Write the LOBs of a slice, and their lines of the manifests; return the slice's number."""
    with closing(Placements()) as placements, OpenHoldings(task.holdings) as holdings:
        placing = Placing(
            holdings,
            _TREE,
            checksum="MD5",
            accepted=task.accepted,
            moved=moved,
            ended=lambda _passage: None,
            joined=lambda _passage: None,
        )
        with closing(Folder(task.package / _CONTENT, shared=True)) as folder:
            for placed in placing.place(slices.runs(slices.path(task.work, task.number)), folder):
                placements.add(placed)
        holdings.check_unchanged()
        write_manifest_fragments(placements, f"{_CONTENT}/", task.work, task.number, {})
    return task.number


class _Lines(tempdb.Scratch):
    """The lines of the manifests of many slices, kept on disk to be sorted."""

    def __init__(self) -> None:
        super().__init__("CREATE TABLE line (path TEXT, md5 TEXT, sha256 TEXT)", "BEGIN")

    def take(self, work: Path, number: int) -> None:
        """Put in the lines of one slice."""
        paths = [fragment(work, number, each) for each in MANIFEST_ALGORITHMS]
        with (
            open(reading.opened(paths[0]), encoding="utf-8", newline="\n", closefd=True) as md5,
            open(reading.opened(paths[1]), encoding="utf-8", newline="\n", closefd=True) as sha256,
            tempdb.explained("the lines of the manifests"),
        ):
            rows = (
                (
                    first[2 * OCTETS["MD5"] + 2 : -1],
                    first[: 2 * OCTETS["MD5"]],
                    other[: 2 * OCTETS["SHA-256"]],
                )
                for first, other in zip(md5, sha256, strict=True)
            )
            self._database.executemany("INSERT INTO line VALUES (?, ?, ?)", rows)

    def manifest_rows(self) -> Generator[tuple[str, str, str], None, None]:
        """Yield path, MD5 and SHA-256 of every file, sorted by the bytes of the path."""
        yield from self._database.execute("SELECT path, md5, sha256 FROM line ORDER BY path")


def _words(source: Packaged, tally: _RestoreTally) -> Iterator[str]:
    if tally.unnamed:
        yield f"{counted(tally.unnamed, 'LOB')} that METS lists and no cell names: restored all the same"
    yield from source.remarks()
