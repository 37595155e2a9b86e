"""Resolver of LOB cells: the file or zip entry of a cell, and the convention that found it.

A file of fitting size at the statement's place ends the search; otherwise all conventions are tried in a
fixed order, and digests decide among several hits. The result depends on the cell, never on the cells before
it. Only files below the granted roots are opened.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path
from types import MappingProxyType

from metspack.errors import SourceError
from metspack.files.byteranges import HeldMedium
from metspack.files.reading import Closable, Stamp
from metspack.limits import Budgets
from metspack.locations import Convention
from metspack.locations.candidates import Candidate, Candidates
from metspack.locations.disksearch import Column, Sources, located
from metspack.locations.grantedroots import Granted, Mapped, Spot
from metspack.locations.packedsegments import Packed
from metspack.locations.splitparts import FIRST_SUFFIXES
from metspack.locations.statement import Place
from metspack.model import SMALL, CellRun, Extent, ExtentColumns, LobCell
from metspack.siard.entries import AnyTree
from metspack.siard.metadata import Table
from metspack.system import os, quoted
from metspack.uris import PLAIN, Repair, are_plain

_REMEMBERED = 1_000
_ADVISED = 4  # the most drives, and first folders of absolute paths, for which a folder is searched
_TRIES = 2  # LOBs at most that search that folder
_DEEP = 64  # the most names in the path of such a LOB
_PROVEN = 8  # the most places with a file of the LOB's name that are tried


@dataclass(frozen=True, slots=True, kw_only=True)
class Resolution:
    """A located LOB: its ``size`` bytes are those of ``extents``, one after the other.

    ``repairs`` are the tolerated faults of the references. ``warnings`` are sentences, empty if the
    path follows the statement on the location of LOBs and the length fits.
    """

    extents: tuple[Extent, ...]
    size: int
    convention: Convention
    repairs: tuple[Repair, ...] = ()
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class FilesTogether:
    """Files of one folder, found by a convention; ``root`` is the number of the granted root."""

    root: int
    folders: tuple[str, ...]
    names: Sequence[str]
    statuses: Sequence[Stamp]
    convention: Convention


class Resolver(Closable):
    """A resolver locates the LOBs of one archive.

    ``tree`` is None for a folder of LOBs without an archive. ``roots`` are the granted folders, the .siard's
    first; ``siard_name`` is the .siard's file name; ``lob_folder`` is that of the database in metadata.xml.
    ``drives`` (``{"S:": folder}``) are granted too. ``mapping`` comes from ``read_mapping``, ``divided`` is
    as in ``Granted``. ``budgets`` limit packed segments; ``version`` is SIARD's: cells of 1.0 have names in
    place of URIs. Memory grows with columns and packed segments, never with LOBs. A context manager, for one
    thread: it has packed segments open. Raises ValueError without roots.
    """

    def __init__(
        self,
        tree: AnyTree | None,
        roots: Sequence[Path],
        *,
        siard_name: str,
        lob_folder: str | None = None,
        drives: Mapping[str, Path] = MappingProxyType({}),
        mapping: Mapped = MappingProxyType({}),
        divided: Mapping[tuple[str, ...], Spot] = MappingProxyType({}),
        budgets: Budgets = Budgets(),  # noqa: B008 - frozen
        version: str = "",
    ) -> None:
        granted = Granted(roots, drives, mapping, divided)
        self.roots = granted.roots
        """The granted roots as ``FileExtent.root`` numbers them, those of drives last."""
        self._packed = Packed(self.roots, budgets)
        self.packed_entries = self._packed.entries
        """Returns the entries of packed segments for a path, given by its root's number and names."""
        self._sources = Sources(tree=tree, granted=granted, packed=self._packed, siard=siard_name)
        self.contents = self._sources.blocks
        """Yields the bytes of an extent of a ``Resolution``, proven when the iterator has ended.

        Raises ``SourceError`` when they cannot be read or have changed since they were found.
        """
        self._given_roots, self._drives = tuple(roots), drives
        self._like = partial(
            Resolver,
            tree,
            siard_name=siard_name,
            lob_folder=lob_folder,
            mapping=mapping,
            divided=divided,
            budgets=budgets,
            version=version,
        )
        self._advisor = _Advisor(self, self._sources)
        self._lob_folder = lob_folder
        self._literal = version.startswith("1.")
        self._columns: dict[tuple[str, str], Column] = {}
        self.tally: Counter[tuple[str, str, Convention]] = Counter()
        """The numbers of LOBs located by another convention than the statement's.

        The keys are table path, cell path (without numbers of array elements) and convention.
        """

    @property
    def packed(self) -> tuple[HeldMedium, ...]:
        """The packed segments found so far; ``ZipExtent.archive`` numbers them from 1."""
        return self._packed.held

    def close(self) -> None:
        """Close the packed segments; the caller closes the tree."""
        self._packed.close()

    def named_in_full(self, table: Table, run: CellRun) -> ExtentColumns | None:
        """Return sizes and extents of the entries that cells name in full, or None.

        They are columns of a ``LobRun``. The result is None unless each cell names an entry of at most
        ``SMALL`` bytes, and as many bytes as the cell's length, if any.
        """
        tree = self._sources.tree
        if not self._column(table, run.cell).candidates.is_inside or tree is None or not are_plain(run.files):
            return None
        found = tree.columns(run.files)
        if found is None or max(found[0]) > SMALL or (run.lengths and found[0] != run.lengths):
            return None
        return found

    def conventions(self, table: Table, path: str, files: Iterable[str]) -> Iterator[Convention]:
        """Yield the convention of each cell's ``file``, an entry's full name."""
        return map(self._column(table, path).candidates.named_in_full, files)

    def resolved(self, table: Table, cell: LobCell) -> Resolution:
        """Return the extents of a cell's LOB, and the convention that found it.

        Raises ``LobUnresolved``, and ``SourceError`` for an unreadable archive.
        """
        column = self._column(table, cell.place.cell)
        # Cells of most archives name the entry in full: this look-up is enough.
        candidates, is_plain = column.candidates, PLAIN.fullmatch(cell.file) is not None
        found = None
        if candidates.is_inside and is_plain:
            found = self._entry(column, cell, cell.file, candidates.named_in_full(cell.file))
        elif self._literal and not is_plain:
            found = self._named(column, cell)
        if found is not None:
            return found
        hit = located(self._sources, table, column, cell)
        convention = hit.candidate.convention
        self._count(column, convention)
        warnings = []
        if not convention.is_statement:
            warnings.append(
                f"located by convention {convention.letter} ({convention.title}) instead of the DILCIS "
                "Board's rule"
            )
        if not candidates.fits(hit.size, cell.length):
            warnings.append(
                f"has {hit.size:,} bytes though its cell says {cell.length:,}; its digest is right"
            )
        return Resolution(
            extents=hit.extents,
            size=hit.size,
            convention=convention,
            repairs=hit.candidate.repairs,
            warnings=tuple(warnings),
        )

    def stated_files(
        self, table: Table, path: str, files: Sequence[str], lengths: Sequence[int | None]
    ) -> FilesTogether | None:
        """Return the files of many cells of one column or field, or None.

        The result is None unless all are files in one folder, at the statement's place, and each has as many
        bytes as its cell's length, if any, and at most ``SMALL``: ``resolved`` then locates each cell's LOB.
        ``path`` is the path of the cells, ``files`` and ``lengths`` are their attributes.
        """
        column = self._column(table, path)
        names = names_together(files)
        stated = self._stated(column, files[0]) if names else None
        if stated is None:
            return None
        first, spot = stated
        found = self._sources.granted.files(spot, names, FIRST_SUFFIXES)
        if found is None:
            return None
        sizes = [each[0] for each in found]
        are_measured = all(one in {None, other} for one, other in zip(lengths, sizes, strict=True))
        if not are_measured or max(sizes) > SMALL:
            return None
        return FilesTogether(
            root=spot.root, folders=spot.path[:-1], names=names, statuses=found, convention=first.convention
        )

    def _stated(self, column: Column, file: str) -> tuple[Candidate, Spot] | None:
        """Return a cell's candidate by the statement, and its spot; None if another may be meant."""
        first = next(column.candidates.of(file, []), None)
        if first is None or not first.stated or first.place.inside or first.repairs:
            return None
        granted = self._sources.granted
        try:
            spot = granted.spot(first.place)
        except SourceError:
            return None
        # A mapping or a packed segment gives other places.
        if next(granted.mapped(first.place), None) is not None or self._packed.has_candidates(
            spot.root, spot.path
        ):
            return None
        return (first, spot) if spot.path[-1] == file.rpartition("/")[2] else None

    def advice(self, table: Table, cell: LobCell) -> str:
        """Return the option by which a LOB on a drive or an absolute path is found, or "".

        The LOB is elsewhere below a granted folder. Callers pass each cell whose LOB was not found; only the
        first few of each drive are searched.
        """
        return self._advisor.advice(table, cell, self._column(table, cell.place.cell))

    def advised(self) -> tuple[str, ...]:
        """Return the different results of ``advice`` so far, in their order."""
        return tuple(dict.fromkeys(filter(None, self._advisor.found.values())))

    def granting(
        self, roots: Sequence[Path] = (), drives: Mapping[str, Path] = MappingProxyType({})
    ) -> Resolver:
        """Return a resolver of the same archive with more granted folders; the caller closes it."""
        given = {drive.upper(): folder for drive, folder in self._drives.items()}
        return self._like((*self._given_roots, *roots), drives={**given, **drives})

    def _named(self, column: Column, cell: LobCell) -> Resolution | None:
        """Return the entry with the literal name in a SIARD 1.0 cell, or None.

        Names such as ``a#b.bin`` and ``record%200.bin`` are no URIs there.
        """
        names = cell.file.split("/")
        if not {"", ".", ".."}.isdisjoint(names):
            return None
        levels = column.candidates.levels
        below = ([levels.table, levels.folder] if levels.folder else [levels.table]) if levels.table else []
        for folder in ([], below, below[1:]):
            convention = Convention.I if folder else Convention.C
            found = self._entry(column, cell, "/".join([*folder, *names]), convention)
            if found is not None:
                return found
        return None

    def _entry(self, column: Column, cell: LobCell, name: str, convention: Convention) -> Resolution | None:
        """Return and count the entry with a name if it may be the cell's LOB, or return None."""
        extent = None if self._sources.tree is None else self._sources.tree.extent(name)
        if extent is None or not column.candidates.fits(extent.size, cell.length):
            return None
        self._count(column, convention)
        return Resolution(extents=(extent,), size=extent.size, convention=convention)

    def _column(self, table: Table, path: str) -> Column:
        column = self._columns.get((table.path, path))
        if column is None:
            if len(self._columns) >= _REMEMBERED:  # each element of an array has another path
                self._columns.clear()
            chain = table.chain(path)
            tags = [re.sub("^a[0-9]+$", "a", tag) for tag in path.split(".")]
            column = self._columns[table.path, path] = Column(
                table=table.path,
                cell=".".join(tags[: len(chain)]),
                candidates=Candidates.of_field(chain, self._lob_folder, table.folder_path),
            )
        return column

    def _count(self, column: Column, convention: Convention) -> None:
        if not convention.is_statement:
            self.tally[column.table, column.cell, convention] += 1


def names_together(files: Sequence[str]) -> list[str]:
    """Return the last names of files that are plain and in one folder, or an empty list."""
    folder, slash, _ = files[0].rpartition("/")
    before = folder + slash
    names = [file[len(before) :] for file in files]
    # Conventions may take a last name without a dot for a folder's.
    have_extensions = all("." in each and "/" not in each for each in names)
    are_there = have_extensions and are_plain(files) and list(files) == [before + each for each in names]
    return names if are_there else []


class _Advisor:
    """The search for the folder in place of a drive, or of an absolute path's first folder."""

    def __init__(self, resolver: Resolver, sources: Sources) -> None:
        self._resolver = resolver
        self._sources = sources
        self._folders: list[Spot] | None = None
        self.found: dict[str, str] = {}
        self._tries: Counter[str] = Counter()

    def advice(self, table: Table, cell: LobCell, column: Column) -> str:
        places = (each.place for each in column.candidates.of(cell.file, []))
        place = next((each for each in places if each.absolute), None)
        if place is None or not 0 < len(place.segments) <= _DEEP:
            return ""
        key = place.drive or f"/{place.segments[0]}"
        is_new = key not in self._tries
        if self.found.get(key) or self._tries[key] >= _TRIES or (is_new and len(self._tries) >= _ADVISED):
            return self.found.get(key, "")
        self._tries[key] += 1
        sentences = self._sentences(table, cell, column, place)
        self.found[key] = next((each for each in sentences if each.isprintable()), "")
        return self.found[key]

    def _sentences(self, table: Table, cell: LobCell, column: Column, place: Place) -> Iterator[str]:
        """Yield sentences with options, each tried, by which the LOB is found."""
        for at, folder in islice(self._places(column, cell, place), _PROVEN):
            before = place.segments[:at]
            if place.drive is not None and folder.parts[1:][-at or len(folder.parts) :] == before:
                above = folder.parents[at - 1] if at else folder
                # A folder above a granted one is not read.
                if at or self._is_found(table, cell, self._resolver.granting(drives={place.drive: above})):
                    yield _add(f"--map-drive {quoted(f'{place.drive}={above}')}")
            if self._is_found(table, cell, self._resolver.granting(roots=(folder,))):
                yield _add(f"--lob-root {quoted(str(folder))}")

    def _places(self, column: Column, cell: LobCell, place: Place) -> Iterator[tuple[int, Path]]:
        """Yield folders that have the rest of the path without its first names, with their number."""
        if self._folders is None:
            self._folders = list(self._sources.granted.folders())
        for at in range(len(place.segments)):
            for each in self._folders:
                spot = Spot(root=each.root, path=(*each.path, *place.segments[at:]))
                if self._is_at(spot, column, cell):
                    yield at, Path(os.path.realpath(self._sources.granted.shown(each)))

    def _is_at(self, spot: Spot, column: Column, cell: LobCell) -> bool:
        try:
            found = self._sources.at(spot)
        except SourceError:
            return False
        if any(column.candidates.fits(each.size, cell.length) for each in found):
            return True
        return not found and bool(self._sources.beside(spot, FIRST_SUFFIXES))

    @staticmethod
    def _is_found(table: Table, cell: LobCell, resolver: Resolver) -> bool:
        with resolver:
            try:
                resolver.resolved(table, cell)
            except SourceError:
                return False
        return True


def _add(option: str) -> str:
    return f"The LOB lies in a granted folder, elsewhere than the archive says: add {option}."
