"""A SIARD archive as a source: its metadata, and for each LOB cell its LOB or an error."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain, groupby, islice, repeat
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from metspack import safexml
from metspack.errors import ConfigError, SourceError
from metspack.files import reading
from metspack.files.byteranges import FileRange, HeldMedium
from metspack.files.reading import Closable, StrPath, as_path, as_places
from metspack.layouts.names import stem_of
from metspack.limits import Budgets
from metspack.locations import Convention, errors
from metspack.locations.errors import (
    LobsUnresolved,
    LobUnresolved,
    Losses,
)
from metspack.locations.grantedroots import Spot, difference, folded
from metspack.locations.mappingtxt import mapping_beside, read_mapping
from metspack.locations.resolver import Resolver
from metspack.model import LONGEST, CellRun, Extent, LobCell, LobRef, LobRun, Notice, RunShared, ZipExtent
from metspack.siard import forms, metadata, tables
from metspack.siard.metadata import Metadata, Table
from metspack.siard.tables import Tally
from metspack.sizes import counted
from metspack.sources.lobstream import MISSING_TABLE, ByteSources
from metspack.sources.mediatypes import media_type
from metspack.system import os
from metspack.uris import Repair, shown

_ELEMENT = re.compile("a[0-9]+")
_EXTENSION = re.compile(r"\.([A-Za-z0-9]{1,10})$")
_ELEMENTS = re.compile(r"\ba\b")
_NUMBER = re.compile(r"\[[0-9]+\]$")


@dataclass(frozen=True, slots=True, kw_only=True)
class Grants:
    """Folders that a person grants besides the .siard's: LOB roots, and folders for drives.

    ``mapping`` is a mapping file (SIARD 2.2 S_8.1.2-0); by default, one beside the .siard is read.
    ``divided`` are folders that cells name below the .siard's folder, and that are below one of
    ``lob_roots``: by the path from the .siard's folder, the number of the root, from 0, and the path there.
    """

    lob_roots: tuple[StrPath, ...] = ()
    drives: Mapping[str, StrPath] = field(default_factory=lambda: MappingProxyType({}))
    mapping: StrPath | None = None
    divided: Mapping[tuple[str, ...], tuple[int, tuple[str, ...]]] = field(
        default_factory=lambda: MappingProxyType({})
    )


LostLob = tuple[str, SourceError]
"""An error, and the id of the LOB that was not found, or "" for an error about several LOBs."""


class FoundLobs(NamedTuple):
    """The results of a search for LOBs: those found, in runs, and errors about the others.

    ``conventions`` are those that located the LOBs of cells, one for each LOB; they can be iterated once.
    """

    runs: Sequence[LobRun] = ()
    lost: Sequence[LostLob] = ()
    conventions: Iterable[Convention] = ()

    @property
    def unresolved(self) -> list[LobUnresolved]:
        """The errors about single cells whose LOBs were not found."""
        return [error for _, error in self.lost if isinstance(error, LobUnresolved)]

    def cells(self) -> list[FoundCell]:
        """Return the cells in their order, each with its LOB or its error."""
        ones = (run[number : number + 1] for run in self.runs for number in range(len(run)))
        found = zip(ones, chain(self.conventions, repeat(None)), strict=False)
        cells: list[FoundCell] = [(run.lob(0).cell, run, convention, None) for run, convention in found]
        cells += [(each.cell, None, None, each) for each in self.unresolved]
        return sorted(cells, key=lambda each: each[0].place.row)

    def selected(self, takes: Callable[[str], bool]) -> FoundLobs:
        """Return the results for LOBs for whose id ``takes`` returns True."""
        lobs = [lob for run in self.runs for lob in run.lobs() if takes(lob.place.id)]
        return FoundLobs(list(in_runs(lobs)), [each for each in self.lost if takes(each[0])])


FoundCell = tuple[LobCell, LobRun | None, Convention | None, LobUnresolved | None]
"""A cell with its LOB as a run of one and its convention, or with its error."""


def in_runs(lobs: Iterable[LobRef]) -> Iterator[LobRun]:
    """Yield LOBs in runs of successive ones with the same shared values."""
    for shared, group in groupby(lobs, lambda lob: lob.shared if lob.detail is None else None):
        while some := list(islice(group, 1 if shared is None else LONGEST)):
            yield LobRun.of(some)


def raising(found: Iterable[FoundLobs]) -> Iterator[LobRun]:
    """Yield the runs of LOBs; raise the first error about a LOB."""
    for each in found:
        for _, error in each.lost:
            raise error
        yield from each.runs


class Archive(Closable):
    """An open SIARD archive, whole, in parts or unpacked; a context manager.

    ``tree`` has its entries; ``container`` is the zip file, None for an unpacked archive; ``prefix`` is
    the folder that wraps all entries, ``my_archive/``, or "" without one; ``size`` is in bytes. ``at`` is the
    range of an archive in a packed file. ``lacking`` has a sentence for each table without a document, by the
    document's path. Raises ``SourceError`` for anything but a readable SIARD archive, and ``ConfigError`` for
    a granted folder that is not a folder.
    """

    def __init__(
        self,
        path: Path,
        budgets: Budgets | None = None,
        grants: Grants | None = None,
        at: FileRange | None = None,
    ) -> None:
        self.path = path
        self.budgets = budgets or Budgets()
        opened = forms.opened(path, self.budgets, at)
        self.tree = opened.tree
        self.container = opened.container
        self.prefix = opened.prefix
        self.name = opened.name
        self.size = opened.size
        self.repairs: dict[tuple[str, str], tuple[int, frozenset[Repair]]] = {}
        self.miscounted: dict[str, str] = {}
        self._valued: dict[str, str] = {}
        self._reported_conventions: tuple[Notice, ...] | None = None
        self._unread = ""
        try:
            self.metadata_document = self._document()
            self.metadata = self._metadata()
            self.lacking = {
                table.path: f"table {table.label} has no document {table.path} in the archive: its rows are "
                "missing, and their LOBs, if there were any (metspack explain Z005)"
                for table in self.metadata.tables
                if self.tree.extent(table.path) is None
            }
            self._structure = frozenset(
                f"{table.folder_path}/{table.folder}.{kind}"
                for table in self.metadata.tables
                for kind in ("xml", "xsd")
            )
            self.resolver = self._resolver(opened, grants or Grants())
        except BaseException:
            self.tree.close()
            raise

    @property
    def stem(self) -> str:
        """The name of the .siard file, or of the folder, without ``.siard``."""
        return Path(self.name).stem if self.container else stem_of(self.name)

    @property
    def history(self) -> tuple[str, ...]:
        """The notes of METS on the archive's origin, empty for an archive outside packages."""
        return ()

    def _resolver(self, opened: forms.Opened, grants: Grants) -> Resolver:
        lob_roots = as_places(grants.lob_roots)
        drives = {letter: as_path(folder) for letter, folder in grants.drives.items()}
        for folder in (*lob_roots, *drives.values()):
            if not folder.is_dir():
                raise ConfigError(
                    f"{folder} is not a folder",
                    hint="Name an existing folder with --lob-root or --map-drive.",
                )
        if grants.mapping is None:
            mapping, self._unread = mapping_beside(opened.roots[0])
        else:
            mapping = read_mapping(as_path(grants.mapping))
        return Resolver(
            self.tree,
            (*opened.roots, *lob_roots),
            siard_name=opened.name,
            lob_folder=self.metadata.lob_folder,
            drives=drives,
            mapping=mapping,
            divided={
                folder: Spot(root=len(opened.roots) + number, path=names)
                for folder, (number, names) in grants.divided.items()
            },
            budgets=self.budgets,
            version=self.metadata.version,
        )

    def _document(self) -> bytes:
        extent = self.tree.extent(metadata.NAME)
        if extent is None:
            raise SourceError(f"{self.path} has no {metadata.NAME}", hint="It is not a SIARD archive.")
        if extent.size > self.budgets.metadata:
            raise SourceError(
                f"{self.path}: {metadata.NAME} has {extent.size:,} bytes, expected at most "
                f"{self.budgets.metadata:,}",
                hint="If that is what it should be, raise the budget: --budget metadata=BYTES.",
            )
        return b"".join(self.tree.contents(extent))

    def _metadata(self) -> Metadata:
        try:
            return metadata.read(
                self.metadata_document, depth=self.budgets.depth, elements=self.budgets.elements
            )
        except safexml.XmlError as error:
            raise SourceError(
                f"{self.path}: {metadata.NAME} line {error.line}, column {error.column}: {error.message}",
                hint=error.hint or "The archive's metadata is damaged; get another copy of it.",
            ) from None
        except SourceError as error:
            raise SourceError(f"{self.path}: {error.message}", hint=error.hint) from None

    def document(self, table: Table) -> Extent:
        """Return the extent of a table's XML; raises ``SourceError`` when the archive lacks it."""
        extent: Extent | None = self.tree.extent(table.path)
        if extent is None:
            raise SourceError(
                f"{self.path}: table {table.label} has no document {table.path}",
                hint="metadata.xml names a table that the archive does not hold; get a complete copy.",
            )
        return extent

    def weight(self) -> int:
        """Return the bytes of all tables' documents, which the search for LOBs reads."""
        return sum(self.document(table).size for table in self.tables)

    @property
    def missing_notes(self) -> tuple[str, ...]:
        """The notes for METS on the tables that are missing."""
        return tuple(each.missing_note for each in self.metadata.tables if each.path in self.lacking)

    @property
    def tables(self) -> tuple[Table, ...]:
        """The tables with a document in the archive, in the order of metadata.xml."""
        return tuple(each for each in self.metadata.tables if each.path not in self.lacking)

    def check_complete(self, accepted: Collection[str]) -> None:
        """Raise ``SourceError`` if a table is missing and not accepted as missing.

        ``MISSING_TABLE`` in ``accepted`` accepts any, a note in ``history`` one.
        """
        noted = self.history
        lacking = (each for each in self.metadata.tables if each.path in self.lacking)
        missing = [each for each in lacking if each.missing_note not in noted]
        if not missing or MISSING_TABLE in accepted:
            return
        more = f", nor have {len(missing) - 1:,} more tables" if len(missing) > 1 else ""
        hint = (
            "metadata.xml names a table that the archive does not hold; get a complete copy. If there "
            f"is none, --accept {MISSING_TABLE} packages the archive as it is."
        )
        if other := self._respelled(path := missing[0].path):
            how = difference(other, path)
            hint = f"{shown(other)} differs only in {how}: pack the archive again with the original names."
        raise SourceError(
            f"{self.path}: table {missing[0].label} has no document {missing[0].path}{more}", hint=hint
        )

    def _respelled(self, path: str) -> str:
        """Return the entry whose name differs only in letter case or Unicode form, or ""."""
        return next((each for each in self.tree.names() if folded(each) == folded(path)), "")

    def located(
        self, table: Table, tally: Tally | None = None, read: Callable[[int], None] | None = None
    ) -> Iterator[FoundLobs]:
        """Yield the LOBs of a table's cells in document order, and the errors about missing LOBs.

        Each result is of cells of one column in consecutive rows. All readers of an archive's LOBs use this;
        ``lob_runs`` raises the errors. ``tally`` counts rows and inline values, ``read`` is called with each
        number of bytes read. Raises ``SourceError`` for an unreadable table, and one that contradicts
        metadata.xml.
        """
        for run, declared in self._cell_runs(table, tally, read):
            found = self._entries_of(table, run, declared)
            yield from self._outside(table, run, declared) if found is None else (found,)

    def within_budget(self, found: Iterable[FoundLobs], losses: Losses) -> Iterator[FoundLobs]:
        """Yield the given results, and add the errors about missing LOBs to ``losses``.

        Raises ``SourceError`` for more missing LOBs than the budget, and the error about a table.
        """
        for each in found:
            for _, error in each.lost:
                if not isinstance(error, LobUnresolved):
                    raise error
                losses.take(error)
                if len(losses) > (most := self.budgets.missing):
                    raise errors.too_many(str(self.path), most, losses, self.resolver.advised())
            yield each

    def _outside(self, table: Table, run: CellRun, declared: str | None) -> Iterator[FoundLobs]:
        """Yield the LOBs of cells that name files, one result for each folder."""
        folders = [file.rpartition("/")[0] for file in run.files]
        start = 0
        for _, group in groupby(folders):
            part = run[start : start + sum(1 for _ in group)]
            start += len(part)
            lengths: Sequence[int | None] = part.lengths or [None] * len(part)
            found = None
            if self.container is not None and len(part) > 1:
                found = self.resolver.stated_files(table, part.cell, part.files, lengths)
            if found is None or any(status[-2:] in self._itself for status in found.statuses):
                yield self._each(table, part, declared)
                continue
            sizes, *stamps = map(list, zip(*found.statuses, strict=True))
            extents = [list(found.names), *stamps]
            runs = _runs_of(part, declared, sizes, extents, root=found.root, folders=found.folders)
            yield FoundLobs(runs, conventions=repeat(found.convention, len(part)))

    def _each(self, table: Table, run: CellRun, declared: str | None) -> FoundLobs:
        """Return the LOBs of cells after a separate search for each."""
        lobs: list[LobRef] = []
        conventions: list[Convention] = []
        lost: list[LostLob] = []
        for cell in run.cells():
            try:
                lob, convention = self._located(table, cell, declared)
            except LobUnresolved as error:
                lost.append((cell.place.id, error))
            else:
                lobs.append(lob)
                conventions.append(convention)
        return FoundLobs(list(in_runs(lobs)), lost, conventions)

    def _cell_runs(
        self, table: Table, tally: Tally | None, read: Callable[[int], None] | None
    ) -> Iterator[tuple[CellRun, str | None]]:
        """Yield the LOB cells of a table, each run with the media type declared for it."""
        declared: dict[str, str | None] = {}
        tally = Tally() if tally is None else tally
        blocks = self.tree.contents(self.document(table))
        if read is not None:
            blocks = reading.with_progress(blocks, read)
        for run in tables.cell_runs(blocks, table, self.budgets, tally):
            path = run.cell
            if path not in declared:
                if not table.chain(path):
                    raise SourceError(
                        f"{self.path}: {table.path} row {run.rows[0]:,} has a LOB in cell {path}, but "
                        f"metadata.xml gives table {table.label} {len(table.columns)} columns",
                        hint="Table and metadata contradict each other; get a correct copy of the archive.",
                    )
                declared[path] = declared_type(table, path)
            yield run, declared[path]
        if stated := table.other_count(tally.rows):
            self.miscounted[table.path] = (
                f"table {table.label} ({table.path}) has {counted(tally.rows, 'row')} where metadata.xml "
                f"says {stated}: rows were lost or added before; kept as it is (metspack explain Z031)"
            )
        if tally.both:
            self._valued[table.path] = (
                f"table {table.label} ({table.path}): {counted(tally.both, 'cell')} with a file and a value "
                f"as well (first {tally.first_of_both}); the file is taken for the LOB, the value stays "
                "(metspack explain Z035)"
            )

    def _entries_of(self, table: Table, run: CellRun, declared: str | None) -> FoundLobs | None:
        """Return the LOBs of cells if all name their entries in full, or None."""
        text = "\n".join(("", *run.files, ""))
        if "\nheader/" in text or "/\n" in text or not self._structure.isdisjoint(run.files):
            return None
        found = self.resolver.named_in_full(table, run)
        if found is None:
            return None
        conventions = self.resolver.conventions(table, run.cell, run.files)
        return FoundLobs(_runs_of(run, declared, *found), conventions=conventions)

    def _located(self, table: Table, cell: LobCell, declared: str | None) -> tuple[LobRef, Convention]:
        """Return the LOB of a cell and the convention that located it; raises ``LobUnresolved``."""
        try:
            found = self.resolver.resolved(table, cell)
        except LobUnresolved as unresolved:
            advice = "" if unresolved.kind == "ambiguous" else self.resolver.advice(table, cell)
            if advice:
                unresolved.hint = advice
            elif unresolved.kind == "missing":
                unresolved.hint = " ".join((unresolved.hint, *self._advice()))
            raise
        if found.repairs:
            key = table.path, _ELEMENT.sub("a", cell.place.cell)
            number, kinds = self.repairs.get(key, (0, frozenset[Repair]()))
            self.repairs[key] = number + 1, kinds.union(found.repairs)
        entries = tuple(name for each in found.extents if (name := self._entry(each)))
        if any(map(self._is_structure, entries)) or any(map(self._is_itself, found.extents)):
            raise errors.error(
                "refused",
                table,
                cell,
                "names a part of the archive itself, not a LOB",
                tried=(),
                hint="The cell is wrong: moving that file out would destroy the archive.",
            )
        extension = extension_of(cell.file)
        lob = LobRef(
            cell=cell,
            size=found.size,
            extension=extension,
            media_type=media_type(declared, extension),
            extents=found.extents,
            entries=entries,
        )
        return lob, found.convention

    def _advice(self) -> Iterator[str]:
        """Yield further reasons why a LOB may be missing."""
        if self.container is not None and self.path.is_symlink():
            yield (
                f"{self.path} is a symbolic link: LOBs are looked for beside the link, not beside "
                f"{os.path.realpath(self.path)}; name that file, or grant its folder with --lob-root."
            )
        if self._unread:
            yield f"{self._unread}."

    def _entry(self, extent: Extent) -> str:
        """Return the name of the archive's entry at an extent, or "" for any other extent."""
        if isinstance(extent, ZipExtent):
            return "" if extent.archive else extent.name[len(self.prefix) :]
        if self.container is None and extent.root == forms.UNPACKED_ROOT:
            return "/".join(extent.path)[len(self.prefix) :]
        return ""

    def lob(self, table: Table, cell: LobCell) -> LobRef:
        """Return the LOB that a cell of a table names; raises ``LobUnresolved``."""
        return self._located(table, cell, declared_type(table, cell.place.cell))[0]

    def entries(self, table: Table, cell: LobCell) -> tuple[str, ...]:
        """Return the names of the entries that hold a cell's LOB; raises ``LobUnresolved``."""
        return self.lob(table, cell).entries

    def _is_itself(self, extent: Extent) -> bool:
        """Return whether an extent is of the .siard file itself, or of a part of it."""
        if isinstance(extent, ZipExtent):
            return False
        return (extent.inode, extent.device) in self._itself

    @cached_property
    def _itself(self) -> frozenset[tuple[int, int]]:
        """The inode and device of the .siard file, or of each of its parts."""
        stamps = () if self.container is None else self.container.medium.stamps
        return frozenset((each.inode, each.device) for each in stamps)

    def _is_structure(self, name: str) -> bool:
        return name.startswith("header/") or name.endswith("/") or name in self._structure

    def lob_runs(self, read: Callable[[int], None] | None = None) -> Iterator[LobRun]:
        """Yield every LOB: tables as in metadata.xml, then rows, then cells in document order.

        ``read`` is called with each number of bytes read; their sum is ``weight``. Raises ``LobsUnresolved``,
        naming all LOBs that were not found, after the last LOB.
        """
        losses = Losses()
        for each in self.within_budget(self.found(read), losses):
            yield from each.runs
        if losses:
            raise LobsUnresolved(str(self.path), losses, self.resolver.advised())

    def found(self, read: Callable[[int], None] | None = None) -> Iterator[FoundLobs]:
        """Yield every LOB as ``lob_runs`` does, and all errors, those about tables too."""
        self.resolver.tally.clear()
        self.repairs.clear()
        for table in self.tables:
            try:
                yield from self.located(table, read=read)
            except SourceError as error:
                yield FoundLobs(lost=[("", error)])
        # Later calls of ``located`` would count LOBs twice.
        self._reported_conventions = tuple(self._conventions())

    def conventions(self) -> Iterator[Notice]:
        """Yield a sentence for each column with LOBs that the statement does not locate.

        Further sentences report repaired references, missing tables, numbers of rows other than in
        metadata.xml, and cells with a file and a value. They cover the LOBs of the last complete
        ``lob_runs``, or else all cells read so far.
        """
        yield from self._conventions() if self._reported_conventions is None else self._reported_conventions

    def _conventions(self) -> Iterator[Notice]:
        if self._unread:
            yield Notice("mapping-unread", self._unread)
        tables = {table.path: table for table in self.metadata.tables}
        for (path, cell, convention), number in self.resolver.tally.items():
            yield Notice(
                "location-convention",
                f"{named(tables[path], cell)}: {counted(number, 'LOB')} located by convention "
                f"{convention.letter} ({convention.title}) instead of the DILCIS Board's rule "
                f"(metspack explain {convention.code})",
            )
        for (path, cell), (number, kinds) in self.repairs.items():
            what = ", ".join(sorted(each.value for each in kinds))
            yield Notice(
                "location-malformed",
                f"{named(tables[path], cell)}: {counted(number, 'reference')} malformed ({what}), "
                "read as meant (metspack explain P120)",
            )
        yield from (Notice("table-missing", each) for each in self.lacking.values())
        yield from (Notice("rows-differ", each) for each in self.miscounted.values())
        yield from (Notice("cell-with-value", each) for each in self._valued.values())

    def byte_sources(self) -> ByteSources:
        """Return the files and folders that have the bytes of the LOBs found so far."""
        whole = HeldMedium(paths=(), stamps=()) if self.container is None else self.container.medium.held
        return ByteSources(archives=(whole, *self.resolver.packed), roots=self.resolver.roots)

    def check_unchanged(self) -> None:
        """Raise SourceError if the archive was changed since it was opened."""
        self.tree.check_unchanged()

    def close(self) -> None:
        """Close the archive."""
        self.resolver.close()
        self.tree.close()


def _runs_of(
    run: CellRun,
    declared: str | None,
    sizes: list[int],
    extents: list[list[Any]],
    *,
    root: int = 0,
    folders: tuple[str, ...] | None = None,
) -> list[LobRun]:
    """Return cells with their entries or files as runs, a run for each extension."""
    return [
        LobRun(
            shared=RunShared(
                schema=run.schema,
                table=run.table,
                cell=run.cell,
                extension=extension,
                media_type=media_type(declared, extension),
                digest=run.algorithm,
                is_measured=bool(run.lengths),
                source=root,
                folders=folders,
            ),
            rows=run.rows[which],
            files=run.files[which],
            sizes=sizes[which],
            digests=run.digests[which],
            extents=[column[which] for column in extents],
            entries=run.files[which] if folders is None else (),
        )
        for extension, which in by_extension(run.files)
    ]


def named(table: Table, cell: str) -> str:
    """Return words on a column or field: its names, and its path in ids.

    ``a`` in the cell's path stands for all elements of an array: ``c14.a``.
    """
    chain = table.chain(_ELEMENTS.sub("a1", cell))
    names = [each.name for each in chain]
    if _ELEMENTS.search(cell):  # metadata.xml has a field for each element: Letters[1], Letters[2]
        names = [_NUMBER.sub("[]", name) for name in names]
    return f"column {'.'.join((table.label, *names))} (s{table.schema}.t{table.number}.{cell})"


def extension_of(file: str) -> str:
    """Return the extension in a cell's ``file``, without the dot, or ``bin``."""
    return found[1] if (found := _EXTENSION.search(file.rstrip())) else "bin"


def by_extension(files: Sequence[str]) -> Iterator[tuple[str, slice]]:
    """Yield each extension of cells' files in order, with the slice of the files that have it."""
    start = 0
    for _, group in groupby([file[file.rfind(".") :] for file in files]):
        which = slice(start, start + sum(1 for _ in group))
        start = which.stop
        yield extension_of(files[which.start]), which


def declared_type(table: Table, path: str) -> str | None:
    """Return the media type declared by the innermost field of a path, or the column, or None."""
    declared = [each.mime_type for each in table.chain(path) if each.mime_type]
    return declared[-1] if declared else None
