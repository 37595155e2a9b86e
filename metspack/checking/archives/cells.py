"""Put cells that name LOBs into the catalogue with their LOBs' paths; yield the findings."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from functools import lru_cache, partial

from metspack import sizes
from metspack.checking import grouping
from metspack.checking.archives.forms import ArchiveForm
from metspack.checking.archives.packagefiles import Files
from metspack.checking.catalogue import Batch, Catalogue
from metspack.checking.codes import Code, Rule
from metspack.checking.files import splitlobs
from metspack.files.paths import shown
from metspack.files.tempdb import BulkInsert
from metspack.layouts.names import ArchiveRoutes, FolderStyle, LobRoute
from metspack.locations import Convention
from metspack.locations.listedsearch import ColumnSearch, ListedSearch, LobFiles, Loss, Lost
from metspack.locations.statement import Levels
from metspack.mets import REPRESENTATIONS_FOLDER
from metspack.model import CellRun, Finding, LobCell
from metspack.siard.metadata import Metadata, Table
from metspack.sizes import counted

_PUT_PART = "INSERT INTO cell (id, archive, place, inside, path, size) VALUES (?, ?, ?, ?, ?, ?)"
_PUT_RUN = BulkInsert(
    "cell (id, archive, inside, algorithm, place, path, size, length, digest)",
    "?1 + {row} * ?2, ?3, ?4, ?5, ?{0}, ?{1}, ?{2}, ?{3}, ?{4}",
    per_row=5,
    counts=1,
)
_PIECES = """
SELECT p.path, d.size FROM piece p JOIN disk d ON d.path = p.path AND d.kind = 'f'
WHERE p.whole = ? AND p.origin IN (?, ?) ORDER BY p.position LIMIT 100000
"""
_FIRST = re.compile(rb"(.+)(?:\.0+|_part0*1)", re.DOTALL)
_PARTS = """
SELECT e.path, d.size FROM entry e JOIN disk d ON d.path = e.path AND d.kind = 'f'
WHERE e.groupid = ? ORDER BY e.id LIMIT 100000
"""
_PUT_LOST = "INSERT INTO statement (source, path, document, xml_id) VALUES ('cell', ?, ?, ?)"
_NUMBERED = re.compile(rb"_part[0-9]{3,}$")
_USUAL = (".bin", ".txt")
_COLUMNS_KEPT = 1_000
_FEW = 32


@dataclass(slots=True)
class _CellCount:
    """A number of cells of one kind, and the first, with its LOB's files where these matter."""

    id: str
    file: str
    found: LobFiles | None
    count: int = 0
    tolerated: dict[str, None] = field(default_factory=dict)

    @property
    def facts(self) -> dict[str, str | int]:
        """The facts of a finding on all of them."""
        facts: dict[str, str | int] = {"count": self.count, "other": self.id}
        if self.found is not None:
            side = "archive" if self.found.inside else "package"
            facts |= {"file": self.file, "found": shown(self.found.path), "side": side}
        return facts


class Routes:
    """The routes from one archive, at ``path``, to its LOBs outside, each with a count."""

    def __init__(self, path: bytes) -> None:
        self._counts: Counter[LobRoute] = Counter()
        self._is_apart = False
        self._path, self._package = path, _package_of(path)

    def of_archive(self, metadata: Metadata) -> ArchiveRoutes:
        """Return all routes of the archive, which has this metadata.xml."""
        return ArchiveRoutes(
            path=shown(self._path),
            version=metadata.version,
            routes=tuple(self._counts.items()),
            is_apart=self._is_apart,
            has_types=metadata.has_types,
        )

    def take_run(self, levels: Levels, run: CellRun, found: LobFiles) -> None:
        """Count whole LOBs outside the archive."""
        if found.inside:
            return
        folders = [path.rpartition(b"/")[0] for path in found.paths]
        kinds = list(zip(folders, [file.endswith(_USUAL) for file in run.files], strict=True))
        firsts = dict(zip(reversed(kinds), reversed(range(len(kinds))), strict=True))
        for kind, number in Counter(kinds).items():
            first = firsts[kind]
            self._take(levels, run.at(first), found.paths[first], number, is_split=False)

    def take_split(self, levels: Levels, cell: LobCell, found: LobFiles) -> None:
        """Count a split LOB if it is outside the archive."""
        if not found.inside:
            self._take(levels, cell, found.paths[0], 1, is_split=True)

    def _take(self, levels: Levels, cell: LobCell, first: bytes, count: int, *, is_split: bool) -> None:
        self._is_apart |= self._package is not None and _package_of(first) not in {self._package, None}
        whole = levels.column, *levels.fields
        self._counts[
            LobRoute(
                joined=_is_up(next(filter(None, (levels.database, levels.column, cell.file)), None)),
                cell=levels.column is None and _is_up(cell.file),
                innermost=_is_up(whole[-1]),
                nested="." in cell.place.cell,
                unusual=not cell.file.endswith(_USUAL),
                split=is_split,
                numbered=is_split and _NUMBERED.search(first) is not None,
            )
        ] += count


def _is_up(reference: str | None) -> bool:
    return reference is not None and reference.startswith("../")


def _package_of(path: bytes) -> bytes | None:
    """Return the folder of the package whose representation has a file, or None without one."""
    folder, found, _ = f"/{shown(path)}".rpartition(f"/{REPRESENTATIONS_FOLDER}/")
    return folder.encode() if found else None


def _of_style(style: FolderStyle, version: str) -> Rule | None:
    """Return the code for LOBs located in a style, or None; METS notes the style for all."""
    by_cell = style is FolderStyle.DBPTK and version != "2.2"
    return Code.of_convention(Convention.A if by_cell else Convention.H)


class Cells:
    """The cells of one table, put into the catalogue, each with the path of its LOB.

    ``lost`` counts the cells whose LOB was not found.
    """

    def __init__(
        self,
        catalogue: Catalogue,
        finder: ListedSearch,
        form: ArchiveForm,
        metadata: Metadata,
        table: Table,
        *,
        files: Files,
        routes: Routes,
        notes: Collection[str] = (),
    ) -> None:
        self._catalogue = catalogue
        self._batch = Batch(catalogue.put_many)
        self._files = files
        self._finder = finder
        self._archive = form.path
        # The entries of an unpacked archive are files of the package.
        self._folder = form.path + b"/" if form.is_unpacked else None
        self._routes = routes
        self.lost = 0
        self._name = shown(form.path)
        self._table = table
        # Array elements have any number of tags.
        self._column = lru_cache(_COLUMNS_KEPT)(partial(finder.column, metadata, table))
        # Reported once for a column.
        self._counts: dict[tuple[str, Rule], _CellCount] = {}
        self._as_noted = {_of_style(each, metadata.version) for each in FolderStyle if each.note in notes}
        # Reported once for a folder.
        self._lost_together = grouping.FindingGroups()
        self._absent = grouping.make_missing_folder_lookup(catalogue)
        self._is_reported = grouping.make_reported_test(catalogue)
        self._absent_entries = grouping.make_climb(self._is_no_entry)

    def take_run(self, run: CellRun) -> Iterator[Finding]:
        """Put cells into the catalogue, together if all are found in one way; yield the findings."""
        column = self._column(run.cell)
        found = self._finder.find_all(column, run)
        if found is not None:
            self._take_whole(column, run, found)
        elif len(run) > 1:  # one of them may be lost
            step = _FEW if len(run) > _FEW else 1
            for first in range(0, len(run), step):
                yield from self.take_run(run[first : first + step])
        else:
            yield from self._take(column, run)

    def _take_whole(self, column: ColumnSearch, run: CellRun, found: LobFiles) -> None:
        """Put cells into the catalogue unless they agree with the files of segments."""
        self._note(column, run.at(0), found, len(run))
        self._routes.take_run(column.candidates.levels, run, found)
        stem = self._id(run.at(0)).removesuffix(str(run.rows[0]))
        ids = [f"{stem}{row}" for row in run.rows]
        first = self._catalogue.reserve("cell", len(run))
        if not found.inside and self._files.agree(self._archive, run, ids, found.paths, first):
            return
        inside, paths, sizes = found.inside, found.paths, found.sizes if found.inside else None
        if inside and self._folder is not None:
            inside, paths, sizes = False, [self._folder + path for path in paths], None
        self._catalogue.insert(
            _PUT_RUN,
            (first, 1, self._archive, inside, run.algorithm),
            (ids, paths, sizes, run.lengths or None, run.digests or None),
        )

    def _take(self, column: ColumnSearch, run: CellRun) -> Iterator[Finding]:
        """Look for the LOB of a single cell everywhere; yield the findings on its location."""
        cell = run.at(0)
        found = self._finder.find(column, cell)
        if isinstance(found, Lost):
            self._note_cells(column, cell, 1)
            self.lost += found.why is not Loss.PART_TWICE
            yield from self._lost(cell, found)
            return
        if found.rival is not None:
            facts = {"file": cell.file, "found": shown(found.path), "other": shown(found.rival)}
            yield Code.LOB_AMBIGUOUS.at(self._name, 0, self._id(cell), **facts)
        if found.split is None:
            self._take_whole(column, run, found)
            return
        self._note(column, cell, found, 1)
        self._routes.take_split(column.candidates.levels, cell, found)
        yield self._split_finding(cell, found.split, len(found.paths))
        pieces = tuple(zip(found.paths, found.sizes, strict=True))
        yield from self._split(cell, pieces, inside=found.inside)

    def _note(self, column: ColumnSearch, cell: LobCell, found: LobFiles, number: int) -> None:
        """Count cells that were found in the same way as one, for the findings per column."""
        self._note_cells(column, cell, number)
        code = Code.of_convention(found.convention)
        if code is not None and code not in self._as_noted:
            self._count(column, code, cell, number, found)
        if found.tolerated:
            seen = self._count(column, Code.LOCATION_REPAIRED, cell, number, found)
            seen.tolerated.update(dict.fromkeys(found.tolerated))

    def _note_cells(self, column: ColumnSearch, cell: LobCell, number: int) -> None:
        if cell.digest is None:
            self._count(column, Code.CELLS_WITHOUT_DIGEST, cell, number)
        if not column.is_described:
            self._count(column, Code.CELLS_OF_NO_COLUMN, cell, number)

    def _count(
        self, column: ColumnSearch, code: Rule, cell: LobCell, number: int, found: LobFiles | None = None
    ) -> _CellCount:
        first = _CellCount(self._id(cell), cell.file, found)
        seen = self._counts.setdefault((column.label, code), first)
        seen.count += number
        return seen

    def ended(self) -> Iterator[Finding]:
        """Yield the findings that are reported once per column or folder."""
        self._batch.flush()
        yield from self._lost_together.release()
        for (label, code), seen in self._counts.items():
            facts = seen.facts
            if code is Code.LOCATION_REPAIRED:
                facts["reason"] = ", ".join(seen.tolerated)
            if code is Code.CELLS_OF_NO_COLUMN:
                facts |= {"count": f"{seen.count:,}", "expected": f"{len(self._table.columns):,}"}
            yield code.at(self._name, 0, label, **facts)

    def _id(self, cell: LobCell) -> str:
        """Return the id of a cell's LOB in METS."""
        return self._finder.prefix + cell.place.id

    def _put_part(self, cell: LobCell, path: bytes, size: int | None) -> None:
        """Put a part of a cell's LOB into the catalogue: an entry with its size, or a file."""
        number, inside = self._catalogue.reserve("cell", 1), size is not None
        self._batch.add(_PUT_PART, number, self._archive, self._id(cell), inside, path, size)

    def _split(
        self, cell: LobCell, pieces: tuple[tuple[bytes, int], ...], *, inside: bool = False
    ) -> Iterator[Finding]:
        """Put the parts of a LOB into the catalogue; yield the finding on their sizes."""
        folder = (self._folder or b"") if inside else b""
        is_packed = inside and self._folder is None
        for path, size in pieces:
            self._put_part(cell, folder + path, size if is_packed else None)
        paths = [folder + path for path, _ in pieces]
        splitlobs.put_cell(self._batch, self._archive, self._id(cell), cell, paths, inside=is_packed)
        where = (self._name, 0, self._id(cell))
        count, found = len(pieces), sum(size for _, size in pieces)
        if cell.length is not None and not sizes.is_possible(cell.length, found):
            facts = {"found": counted(found, "byte"), "expected": f"{cell.length:,}"}
            yield Code.SPLIT_LENGTH.at(*where, count=count, **facts)

    def _lost(self, cell: LobCell, lost: Lost) -> Iterator[Finding]:
        where = (self._name, 0, self._id(cell))
        rule: Rule = getattr(Code, lost.why.name)
        expected = shown(lost.expected)
        if lost.why in {Loss.LOCATION, Loss.LOB_OUTSIDE}:
            yield rule.at(*where, file=cell.file, **({"reason": lost.reason} if lost.reason else {}))
            return
        grouped = () if lost.why is Loss.ENTRY_MISSING else self._grouped(cell)
        if lost.why in {Loss.PART_LOST, Loss.PART_TWICE}:
            for path in dict.fromkeys(path for path, _ in (*lost.pieces, *grouped)):
                self._put_part(cell, path, None)
            yield rule.at(*where, file=cell.file, expected=expected, reason=lost.reason)
        elif grouped:
            self.lost -= 1
            yield self._elsewhere(cell, lost.expected, grouped)
            yield from self._split(cell, grouped)
        else:
            is_file = lost.why is Loss.LOB_MISSING
            folder = (self._absent if is_file else self._absent_entries)(lost.expected)
            if is_file and (missing := self._reported_at(lost.expected, folder)) is not None:
                self._batch.add(_PUT_LOST, missing, self._archive, self._id(cell))
                return
            near = self._files.nearest(lost.expected) if is_file else ""
            finding = rule.at(*where, file=cell.file, expected=expected, nearest=near)
            yield from self._lost_together.take(folder, finding)

    def _reported_at(self, path: bytes, folder: bytes | None) -> bytes | None:
        """Return the missing file, here or in another IP, whose finding covers the LOB, or None."""
        return path if self._is_reported(path, folder) else self._files.lost_elsewhere(path)

    def _split_finding(self, cell: LobCell, whole: bytes, count: int) -> Finding:
        parts = counted(count, "part")
        return Code.SPLIT_LOB.at(self._name, 0, self._id(cell), expected=whole, count=count, parts=parts)

    def _elsewhere(self, cell: LobCell, named: bytes, pieces: tuple[tuple[bytes, int], ...]) -> Finding:
        """Return the finding on a cell whose LOB's parts only METS joins."""
        where, count, first = (self._name, 0, self._id(cell)), len(pieces), pieces[0][0]
        whole = _FIRST.fullmatch(first)
        if whole is None or self._files.are_one_place(whole[1], named):
            return self._split_finding(cell, named, count)
        facts = {"file": cell.file, "found": shown(named), "first": shown(first), "expected": shown(whole[1])}
        return Code.SPLIT_LOB_ELSEWHERE.at(*where, count=count, **facts)

    def _is_no_entry(self, folder: bytes) -> bool:
        prefix = f"{folder.decode('utf-8', 'surrogateescape')}/"
        return next(self._finder.container.names(prefix), None) is None

    def _grouped(self, cell: LobCell) -> tuple[tuple[bytes, int], ...]:
        """Return the parts that a METS puts together under the LOB's id (GROUPID)."""
        lob = self._id(cell)
        rows = self._catalogue.all(_PIECES, lob, splitlobs.BY_METS, splitlobs.BY_GROUP)
        return tuple((path, size) for path, size in rows or self._catalogue.all(_PARTS, lob))
