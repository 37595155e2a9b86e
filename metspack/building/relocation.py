"""Rewrite an archive: new places and digests in its cells, an upgrade, and notes."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from metspack import uris
from metspack.building import segments
from metspack.containers.zipreader import ZipContainer
from metspack.digests import Hashers, ReplacedDigest
from metspack.files import reading
from metspack.layouts import Layout
from metspack.layouts.interface import FolderUse, folder_use
from metspack.layouts.names import FolderStyle
from metspack.model import CellRun, Digest, LobCell, Notice
from metspack.planning.assignment import Assignment, Column, SegmentsOfColumn, column_of, first_place
from metspack.planning.sharedlobs import Sharing
from metspack.progress import Progress
from metspack.siard import metadata, upgrade, upgradedtables
from metspack.siard.edits import CellValues, NewCells
from metspack.siard.metadata import Table
from metspack.siard.upgrade import TARGET, Upgrade
from metspack.sources import rewriting
from metspack.sources.archive import Archive, by_extension
from metspack.sources.opening import SourceFacts
from metspack.sources.repacking import HEADER, RemovedEntries, left_out

_STRUCTURE = ("content/", HEADER)


@dataclass(kw_only=True)
class Relocation:
    """New cells for an archive whose LOBs were placed as ``assigned`` assigns them.

    ``corrected`` are the tasks that wrote digests for cells, by the segments' numbers; with ``upgrade`` the
    archive is written as SIARD 2.2.
    """

    archive: Archive
    assigned: Assignment
    layout: Layout
    sharing: Sharing
    name: str
    style: FolderStyle
    work: Path
    corrected: Mapping[int, int]
    stays: Collection[Column]
    upgrade: Upgrade | None

    def __post_init__(self) -> None:
        self._version = self.archive.metadata.version if self.upgrade is None else TARGET
        self._digest_of = _make_digest_lookup(self.work, self.corrected)
        self._renamed: set[Column] = set()
        self._tables = {column[:2] for column in (*self.assigned.runs, *self.stays)}

    def write(
        self,
        target: Path,
        removed: RemovedEntries,
        algorithms: Iterable[str],
        wrote: Callable[[int], None],
        *,
        work: Path,
        meanwhile: Callable[[], object],
    ) -> Hashers:
        """Write the archive without moved LOBs, its cells naming them; return its digests.

        ``removed`` are the entries to be left out; ``wrote`` is called with numbers of bytes written,
        ``meanwhile`` now and then. ``work`` is a folder for temporary files.
        """
        if not self.assigned.files and self.upgrade is None:
            return rewriting.copy(self.archive, target, work=work, algorithms=algorithms, seals=True)
        return rewriting.rewrite(
            self.archive,
            rewriting.moved(
                self.archive, removed, ((each, self._use(each)) for each in sorted(self.assigned.runs))
            ),
            target,
            work=work,
            values=self.make_values,
            algorithms=algorithms,
            wrote=wrote,
            meanwhile=meanwhile,
            upgrade=self.upgrade,
        )

    def _use(self, column: Column) -> FolderUse:
        container = self.layout.container(first_place(column))
        return folder_use(self.layout, self.name, container, self.style, self._version)

    def make_values(self, table: Table) -> CellValues | None:
        """Return the new values of a table's LOB cells, or None for a table without LOBs.

        Callers take the values in document order. Where LOBs stay, their cells change too: they may have been
        relative to the lobFolder of the database or the column, and both are replaced.
        """
        if (table.schema, table.number) not in self._tables:
            return None
        runs = self.assigned.runs
        of_column = cache(lambda column: SegmentsOfColumn(runs[column]))

        def value(run: CellRun) -> NewCells:
            column = column_of(run.place(0))
            if column in runs:
                self._renamed.add(column)
                return self._outside(run, self._use(column).before, of_column(column))
            files = [self._inside(table, cell) for cell in run.cells()]
            if self._version != "1.0" or files != list(run.files):
                self._renamed.add(column)
            return files, ()

        return value

    def _outside(self, run: CellRun, before: str, segments_of: SegmentsOfColumn) -> NewCells:
        """Return the new values of cells; cells that share a LOB get those of the first one."""
        firsts = self.sharing.firsts_of(run)
        unshared = [number for number, first in enumerate(firsts) if first is None]
        cells = replace(
            run,
            algorithm=None,
            rows=[run.rows[number] for number in unshared],
            files=[run.files[number] for number in unshared],
            lengths=(),
            digests=(),
            starts=(),
        )
        values = self._unshared_values(cells, before, segments_of)
        self.sharing.store_files(cells, [file for file, _ in values], [digest for _, digest in values])
        shared = {first: self.sharing.stored(first) for first in {*firsts} if first is not None}
        placed = iter(values)
        new = [next(placed) if first is None else shared[first] for first in firsts]
        return [file for file, _ in new], [digest for _, digest in new]

    def _unshared_values(
        self, run: CellRun, before: str, segments_of: SegmentsOfColumn
    ) -> list[tuple[str, Digest | None]]:
        """Return the new ``file`` and any new digest of cells that share no files."""
        found: list[tuple[str, Digest | None]] = []
        for extension, which in by_extension(run.files):
            while (start := len(found)) < which.stop:
                segment, taken = segments_of.take(which.stop - start)
                rows = run.rows[start : start + taken]
                index = self.assigned.keys[segment][1]
                files = self.layout.cell_files(self.name, index, run.place(start), rows, extension)
                found += [
                    (f"{before}{file}", self._digest_of(f"{run.id_stem}{row}", segment))
                    for row, file in zip(rows, files, strict=True)
                ]
        return found

    def left_out(self) -> Iterator[str]:
        """Yield sentences on omissions of the written archive, besides the moved LOBs."""
        # The upgrade itself reports the columns' folders.
        yield from left_out(self.archive, self._renamed if self.upgrade is None else ())

    def _inside(self, table: Table, cell: LobCell) -> str:
        """Return the full name of the entry of a LOB that stays: its column has no lobFolder."""
        (entry,) = self.archive.entries(table, cell)  # only columns with LOBs in one entry stay
        # SIARD 1.0 has a string there, later versions a URI.
        return entry if self._version == "1.0" else uris.quoted(entry.split("/"))


def _make_digest_lookup(work: Path, tasks: Mapping[int, int]) -> Callable[[str, int], Digest | None]:
    """Return a function that looks up the digests that ``tasks`` wrote, in the cells' order."""
    lines: dict[int, Iterator[tuple[str, str, str]]] = {}
    waiting: dict[int, tuple[str, str, str] | None] = {}

    def of(place: str, segment: int) -> Digest | None:
        if (task := tasks.get(segment)) is None:
            return None
        if task not in lines:
            lines[task] = segments.json_lines(segments.notes_path(work, segments.DIGESTS, task))
            waiting[task] = next(lines[task], None)
        found = waiting[task]
        if found is None or found[0] != place:
            return None
        waiting[task] = next(lines[task], None)
        return Digest(algorithm=found[1], value=found[2])

    return of


def upgrade_notes(archive: Archive) -> Iterator[Notice]:
    """Yield sentences on the treatment of values that have no place in SIARD 2.2.

    Raises ``SourceError``, naming table and column, for types and names that 2.2 lacks.
    """
    depth = archive.budgets.depth
    _, notes = upgrade.upgraded_metadata(archive.metadata_document, depth=depth, what=archive.name)
    yield from (Notice("upgrade-value", each) for each in notes)
    for name in archive.tree.names(HEADER):
        if name.startswith(upgrade.VERSION_FOLDERS):
            if not name.endswith("/") or name.count("/") > upgrade.VERSION_FOLDERS.count("/"):
                yield Notice("upgrade-entry", f"{name} is left out: {upgrade.VERSION_FOLDER} takes its place")
        elif not name.endswith("/") and name not in {metadata.NAME, upgrade.METADATA_SCHEMA}:
            yield Notice(
                "upgrade-entry",
                f"{name} is kept as it is: it was made for metadata of SIARD {upgrade.SOURCE}",
            )


def prepare_upgrade(archive: Archive, removed: RemovedEntries, progress: Progress) -> Upgrade:
    """Read all tables, and return the upgrade that makes them tables of SIARD 2.2.

    ``removed`` are the entries that leave the archive. Raises ``SourceError``, naming table, column and
    row, for cells that 2.2 cannot hold, and for names of staying entries that it lacks.
    """
    stay = (
        name
        for name in removed.staying_of(archive.tree)
        if name.startswith(_STRUCTURE) and not name.startswith(upgrade.VERSION_FOLDERS)
    )
    if faults := sorted(upgrade.name_faults(stay)):
        raise upgrade.refusal(faults, archive.name)
    progress.stage("Checking the tables against SIARD 2.2", archive.weight())
    with_files = {}
    for table in archive.metadata.tables:
        blocks = reading.with_progress(archive.tree.contents(archive.document(table)), progress.advance)
        with_files[table.path] = upgradedtables.columns_with_files(blocks, table, archive.name)
    return with_files


def history(
    archive: Archive, made_of: SourceFacts, written: ZipContainer, names: Sequence[str], style: FolderStyle
) -> tuple[str, ...]:
    """Return the notes on an archive's source; ``written`` is the archive made from it.

    Notes that came with the source stay, and name the new messageDigest. ``names`` are new notes on the
    archive's name; ``style`` is that of its LOBs outside.
    """
    before = [words for words in archive.history if words not in {each.note for each in FolderStyle}]
    digests: tuple[Digest, ...] = ()
    if (before or made_of.digests) and (extent := written.extent(metadata.NAME)) is not None:
        digests = metadata.read(b"".join(written.contents(extent))).digests
    parsed = ((words, ReplacedDigest.parsed(words)) for words in before)
    renewed = (words if each is None else each.renewed(digests).words() for words, each in parsed)
    replaced = (each.words() for each in made_of.replaced(digests))
    styled = () if style is FolderStyle.DILCIS else (style.note,)
    return tuple(dict.fromkeys((*renewed, *names, *replaced, *archive.missing_notes, *styled)))
