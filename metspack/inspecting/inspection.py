"""Inspect a source: its tables and, by column, its LOBs, their places and conventions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby, islice

from metspack import processes
from metspack.inspecting import survey
from metspack.inspecting.survey import ColumnFound, Level, LevelKind
from metspack.inspecting.unreferenced import Names, Unnamed
from metspack.inspecting.verification import Verdict, Verification, verify
from metspack.locations import Convention
from metspack.locations.errors import LobUnresolved
from metspack.mets.notes import history_beside
from metspack.model import LobPlace, LobRun, Notice
from metspack.progress import Progress, Silent
from metspack.siard.tables import Tally
from metspack.sizes import Histogram, counted
from metspack.sources.archive import Archive, FoundLobs
from metspack.sources.opening import Source
from metspack.uris import shown

KINDS = ("missing", "refused", "ambiguous")
"""Kinds of unresolved LOBs: refused are those whose cell is an error, or leads to a forbidden place."""

LISTED = 20
"""Number of unresolved LOBs of a column whose errors are kept; all are counted."""


@dataclass(slots=True, kw_only=True)
class LobColumn:
    """A column, or a field of one, that holds LOBs; sizes are bytes.

    ``inside`` LOBs are entries of the archive, ``outside`` ones files beside it. ``losses`` counts unresolved
    ones by their kind, one of ``KINDS``; the first ``LISTED`` of them are in ``errors``. ``cells`` counts the
    cells by kind of location, ``algorithms`` by digest; ``undigested`` counts those without one. ``lengths``
    counts texts by the unit of the length in their cells: bytes, as long as the file, or characters.
    """

    found: ColumnFound
    inside: int = 0
    outside: int = 0
    losses: Counter[str] = field(default_factory=Counter)
    bytes: int = 0
    bytes_inside: int = 0
    cells: Counter[LevelKind] = field(default_factory=Counter)
    conventions: Counter[Convention] = field(default_factory=Counter)
    algorithms: Counter[str] = field(default_factory=Counter)
    undigested: int = 0
    lengths: Counter[str] = field(default_factory=Counter)
    largest: int = 0
    largest_lob: str = ""
    errors: list[tuple[str, LobUnresolved]] = field(default_factory=list)

    @property
    def lobs(self) -> int:
        """The LOBs that were found."""
        return self.inside + self.outside

    @property
    def lost(self) -> int:
        """The LOBs that could not be resolved."""
        return self.losses.total()

    @property
    def label(self) -> str:
        """The column by its names in the database: ``dbo.Categories.Picture``."""
        return f"{self.found.schema}.{self.found.table}.{self.found.name}"

    def take(self, run: LobRun, conventions: Iterable[Convention]) -> None:
        """Count LOBs of the column, each with the convention that found it."""
        self._take_cells(run.files, run.shared.digest)
        number, size, largest = len(run), run.bytes, max(run.sizes)
        if run.entries:
            self.inside += number
            self.bytes_inside += size
        else:
            self.outside += number
        self.bytes += size
        if largest > self.largest or not self.largest_lob:
            self.largest, self.largest_lob = largest, run.ids()[run.sizes.index(largest)]
        for convention, group in groupby(conventions):  # a look-up for each group
            self.conventions[convention] += sum(1 for _ in group)
        # Bytes and characters of ASCII text are the same: the length may be either.
        for length, size in zip(run.stated_lengths, run.sizes, strict=True) if self.found.is_text else ():
            if length:
                self.lengths["bytes" if length == size else "characters"] += 1

    def take_lost(self, error: LobUnresolved) -> None:
        """Count a cell of the column whose LOB was not found."""
        cell = error.cell
        self._take_cells((cell.file,), None if cell.digest is None else cell.digest.algorithm)
        self.losses[error.kind] += 1
        if len(self.errors) < LISTED:
            self.errors.append((cell.place.id, error))

    def _take_cells(self, files: Sequence[str], digest: str | None) -> None:
        """Count cells by the paths in them, and by the algorithm of their digests."""
        if self.found.levels:  # without an archive there are no cells
            self.cells.update(map(survey.cell_level, files))
        if digest is None:
            self.undigested += len(files)
        else:
            self.algorithms[digest] += len(files)


@dataclass(slots=True, kw_only=True)
class Inspection:
    """Contents of a source; ``rows``, ``inline`` and ``datalinks`` are None without an archive.

    ``lob_folder`` is the database's; ``inline`` large objects stand in the cell itself, ``datalinks`` are
    links without a file, which are never followed. ``unreferenced`` are the files that no cell names, inside
    and outside, ``named_twice`` counts those that several name. ``warnings`` are sentences, ``history`` the
    notes on the archive in its package's METS.
    """

    version: str | None = None
    product: str = ""
    dbname: str = ""
    lob_folder: Level | None = None
    tables: int = 0
    rows: int | None = None
    inline: int | None = None
    datalinks: int | None = None
    columns: list[LobColumn] = field(default_factory=list)
    sizes: Histogram = field(default_factory=Histogram)
    unreferenced: tuple[Unnamed, Unnamed]
    named_twice: int = 0
    warnings: tuple[Notice, ...] = ()
    history: tuple[str, ...] = ()

    @property
    def inside(self) -> int:
        """The LOBs that are entries of the archive."""
        return sum(each.inside for each in self.columns)

    @property
    def outside(self) -> int:
        """The LOBs that are files beside the archive."""
        return sum(each.outside for each in self.columns)

    @property
    def losses(self) -> Counter[str]:
        """The LOBs that could not be resolved, by their kind."""
        return sum((each.losses for each in self.columns), Counter[str]())

    @property
    def lengths(self) -> Counter[str]:
        """The texts by the unit of the length in their cells."""
        return sum((each.lengths for each in self.columns), Counter[str]())

    @property
    def bytes(self) -> int:
        """The bytes of the LOBs that were found."""
        return sum(each.bytes for each in self.columns)

    @property
    def largest(self) -> LobColumn | None:
        """The column with the largest LOB, or None without LOBs."""
        return max((each for each in self.columns if each.lobs), key=lambda each: each.largest, default=None)


def inspect(source: Source, progress: Progress | None = None) -> Inspection:
    """Return the contents of a source, reading every table's document and no LOB.

    Raises ``SourceError`` where a table cannot be read, or a folder of LOBs has faults.
    """
    progress = progress or Silent()
    archive = source if isinstance(source, Archive) else None
    columns: dict[str, LobColumn] = {}
    sizes, tallies = Histogram(), list[Tally]()
    with Names(source) as names:
        if archive is not None:
            progress.stage("Reading tables", archive.weight())
        for column_of, tally, batches in survey.by_table(source, progress.advance):
            tallies.append(tally)

            def column(place: LobPlace, of: survey.ColumnOf = column_of) -> LobColumn:
                found = of(place)
                return columns.setdefault(found.id, LobColumn(found=found))

            for batch in batches:
                conventions = iter(batch.conventions)
                for run in batch.runs:
                    column(run.place).take(run, islice(conventions, len(run)))
                    sizes.add_all(run.sizes)
                    names.take(run)
                for error in batch.unresolved:
                    column(error.cell.place).take_lost(error)
        unnamed, unseen = names.unreferenced()
        twice, example = names.twice()
    summed = Inspection(columns=[*columns.values()], sizes=sizes, unreferenced=unnamed, named_twice=twice)
    if archive is None:
        summed.tables = len({(each.found.schema, each.found.table) for each in summed.columns})
    else:
        _describe(summed, archive, tallies)
    if twice:
        what = counted(twice, "file is", "files are")
        words = f"{what} named by more than one cell, such as {shown(example)}"
        summed.warnings += (Notice("lob-shared", words),)
    summed.warnings += tuple(
        Notice("folder-unseen", f"not looked through for files that no cell names: {each}") for each in unseen
    )
    return summed


def verify_lobs(
    source: Source, inspection: Inspection, accepted: frozenset[str], jobs: int | None, progress: Progress
) -> Generator[tuple[Verification, list[Verdict]], None, None]:
    """Verify the LOBs of an inspected source, as ``verification.verify`` does.

    ``jobs`` is the number of processes, as many as help when None.
    """
    progress.stage("Verifying", inspection.bytes)
    useful = processes.useful(jobs, files=inspection.inside + inspection.outside, size=inspection.bytes)
    found = _found_again(source.found(), inspection.losses.total())
    yield from verify(found, source.byte_sources, accepted, jobs=useful, moved=progress.advance)


def _found_again(found: Iterable[FoundLobs], lost: int) -> Iterator[FoundLobs]:
    """Yield LOBs, and the lost ones beyond the ``lost`` of the inspection."""
    for each in found:
        more = each.lost[lost:]
        lost -= len(each.lost) - len(more)
        yield each._replace(lost=more)


def _describe(found: Inspection, archive: Archive, tallies: Sequence[Tally]) -> None:
    found.version = archive.metadata.version
    found.product = " ".join(archive.metadata.product.split())
    found.dbname = archive.metadata.dbname
    found.lob_folder = survey.level(archive.metadata.lob_folder)
    found.tables = len(archive.metadata.tables)
    found.rows = sum(each.rows for each in tallies)
    found.inline = sum(each.inline for each in tallies)
    found.datalinks = sum(each.datalinks for each in tallies)
    found.warnings = tuple(archive.conventions())
    found.history = archive.history or history_beside(archive.path)
