"""Inspect a source: its tables and, by column, its LOBs, their places and conventions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass, field

from metspack import processes
from metspack.inspecting import survey
from metspack.inspecting.survey import ColumnFound, LevelFound, LevelKind, Surveyed, SurveyedRun
from metspack.inspecting.unreferenced import Names, Unreferenced
from metspack.inspecting.verification import Verdict, Verification, verify
from metspack.locations import Convention
from metspack.locations.errors import LobUnresolved
from metspack.mets.notes import history_beside
from metspack.model import LobRun, Notice
from metspack.progress import Progress, Silent
from metspack.siard.tables import Tally
from metspack.sizes import Histogram, counted
from metspack.sources.archive import Archive, LostLob
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
    def digests(self) -> int:
        """The cells with a digest."""
        return self.algorithms.total()

    @property
    def label(self) -> str:
        """The column by its names in the database: ``dbo.Categories.Picture``."""
        return f"{self.found.schema}.{self.found.table}.{self.found.name}"

    def take(self, each: Surveyed) -> None:
        """Count a cell of the column."""
        digest = each.cell.digest
        self._take_cells((each.cell.file,), None if digest is None else digest.algorithm)
        if each.error is not None:
            self.losses[each.error.kind] += 1
            if len(self.errors) < LISTED:
                self.errors.append((each.cell.place.id, each.error))
        elif each.lob is not None:
            size = each.lob.size
            self._have(1, size, size, each.cell.place.id, is_inside=each.is_inside)
            self._take_lengths([each.cell.length], [size])
            if each.convention is not None:
                self.conventions[each.convention] += 1

    def take_run(self, each: SurveyedRun) -> None:
        """Count the cells of a run as ``take`` does one cell."""
        run = each.run
        self._take_cells(run.files, run.shared.digest)
        largest = max(run.sizes)
        lob = run.ids()[run.sizes.index(largest)]
        self._have(len(run), run.bytes, largest, lob, is_inside=bool(run.entries))
        self.conventions.update(each.conventions)
        self._take_lengths(run.stated_lengths, run.sizes)

    def _take_lengths(self, lengths: Sequence[int | None], sizes: Sequence[int]) -> None:
        """Count the lengths of texts by their unit; that of ASCII alone may be either."""
        for length, size in zip(lengths, sizes, strict=True) if self.found.is_text else ():
            if length:
                self.lengths["bytes" if length == size else "characters"] += 1

    def _take_cells(self, files: Sequence[str], digest: str | None) -> None:
        """Count cells by the paths in them, and by the algorithm of their digests."""
        if self.found.levels:  # without an archive there are no cells
            self.cells.update(map(survey.cell_level, files))
        if digest is None:
            self.undigested += len(files)
        else:
            self.algorithms[digest] += len(files)

    def _have(self, number: int, size: int, largest: int, lob: str, *, is_inside: bool) -> None:
        """Count LOBs that were found, with their bytes together and the largest of them."""
        if is_inside:
            self.inside += number
            self.bytes_inside += size
        else:
            self.outside += number
        self.bytes += size
        if largest > self.largest or not self.largest_lob:
            self.largest, self.largest_lob = largest, lob


@dataclass(slots=True, kw_only=True)
class Inspection:
    """Contents of a source; ``rows``, ``inline`` and ``datalinks`` are None without an archive.

    ``lob_folder`` is the database's; ``inline`` large objects stand in the cell itself, ``datalinks`` are
    links without a file, which are never followed. ``warnings`` are sentences, ``history`` the notes on the
    archive in its package's METS.
    """

    version: str | None = None
    product: str = ""
    dbname: str = ""
    lob_folder: LevelFound | None = None
    tables: int = 0
    rows: int | None = None
    inline: int | None = None
    datalinks: int | None = None
    columns: list[LobColumn] = field(default_factory=list)
    sizes: Histogram = field(default_factory=Histogram)
    unreferenced: Unreferenced
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


def inspected(source: Source, progress: Progress | None = None) -> Inspection:
    """Return the contents of a source, reading every table's document and no LOB.

    Raises ``SourceError`` where a table cannot be read, or a folder of LOBs has faults.
    """
    progress = progress or Silent()
    archive = source if isinstance(source, Archive) else None
    columns: dict[str, LobColumn] = {}
    sizes, total = Histogram(), Tally()
    with Names(source) as names:
        if archive is not None:
            progress.stage("Reading tables", archive.weight())
        for batch in survey.batches(source, progress.advance, in_runs=True):
            for each in batch.lobs:
                column = columns.get(each.column.id)
                if column is None:
                    column = columns[each.column.id] = LobColumn(found=each.column)
                if isinstance(each, SurveyedRun):
                    column.take_run(each)
                    sizes.add_all(each.run.sizes)
                    names.take_run(each.run)
                else:
                    column.take(each)
                    if each.lob is not None:
                        sizes.add(each.lob.size)
                        names.take(each.lob)
            total.rows += batch.tally.rows
            total.inline += batch.tally.inline
            total.datalinks += batch.tally.datalinks
        unreferenced = names.unreferenced()
    summed = Inspection(columns=list(columns.values()), sizes=sizes, unreferenced=unreferenced)
    if archive is None:
        summed.tables = len({(each.found.schema, each.found.table) for each in summed.columns})
    else:
        _describe(summed, archive, total)
    summed.warnings += tuple(_about_files(unreferenced))
    return summed


def verified(
    source: Source, inspection: Inspection, accepted: frozenset[str], jobs: int | None, progress: Progress
) -> Generator[tuple[Verification, list[Verdict]], None, None]:
    """Verify the LOBs of an inspected source, as ``verification.verify`` does.

    ``jobs`` is the number of processes, as many as help when None.
    """
    progress.stage("Verifying", inspection.bytes)
    lobs = inspection.inside + inspection.outside
    useful = processes.useful(jobs, files=lobs, size=inspection.bytes)
    found = _found_again(source, inspection.losses.total())
    yield from verify(found, source.holdings, accepted, jobs=useful, moved=progress.advance)


def _found_again(source: Source, lost: int) -> Iterator[LobRun | LostLob]:
    """Yield the LOBs of a source, and the lost ones beyond the ``lost`` of the inspection."""
    for each in source.found() if isinstance(source, Archive) else source.lob_runs():
        if isinstance(each, LostLob) and lost:
            lost -= 1
        else:
            yield each


def _describe(found: Inspection, archive: Archive, total: Tally) -> None:
    found.version = archive.metadata.version
    found.product = " ".join(archive.metadata.product.split())
    found.dbname = archive.metadata.dbname
    found.lob_folder = survey.level(archive.metadata.lob_folder)
    found.tables = len(archive.metadata.tables)
    found.rows, found.inline, found.datalinks = total.rows, total.inline, total.datalinks
    found.warnings = tuple(archive.conventions())
    found.history = archive.history or history_beside(archive.path)


def _about_files(unreferenced: Unreferenced) -> Iterator[Notice]:
    if unreferenced.twice:
        what = counted(unreferenced.twice, "file is", "files are")
        yield Notice(
            "lob-shared", f"{what} named by more than one cell, such as {shown(unreferenced.example)}"
        )
    for each in unreferenced.unseen:
        yield Notice("folder-unseen", f"not looked through for files that no cell names: {each}")
