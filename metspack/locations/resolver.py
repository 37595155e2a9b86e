"""Resolver of LOB cells: the file or zip entry that a cell means, and the convention that found it.

The statement's place with a fitting size ends the search; else all conventions are tried in a
fixed order, and digests decide among several. The result does not depend on the cells before.
Nothing outside the granted roots is opened.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from metspack.files.byteranges import HeldMedium
from metspack.files.tempdb import Closable
from metspack.locations.candidates import Candidates, Convention
from metspack.locations.errors import LobAmbiguous, LobMissing, LobRefused, LobUnresolved
from metspack.locations.grantedroots import Granted, Mapped, Spot
from metspack.locations.mappingtxt import read_mapping
from metspack.locations.packedsegments import Packed
from metspack.locations.search import Column, EntrySearch, Hit, Search, Sources
from metspack.model import Budgets, Extent, LobCell, ZipExtent
from metspack.siard.metadata import Table
from metspack.uris import PLAIN, Repair

__all__ = [
    "EntrySearch",
    "LobAmbiguous",
    "LobMissing",
    "LobRefused",
    "LobUnresolved",
    "Resolution",
    "Resolver",
    "Tallied",
    "read_mapping",
]

_REMEMBERED = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Resolution:
    """A LOB found: its bytes are those of ``extents`` one after the other, ``size`` of them.

    ``repairs`` are the tolerated faults of the references; ``warnings`` are sentences, none when the
    statement on the location of LOBs was followed.
    """

    extents: tuple[Extent, ...]
    size: int
    convention: Convention
    repairs: tuple[Repair, ...]
    warnings: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Tallied:
    """Numbers of LOBs found in one column: by each convention, inside and outside."""

    conventions: Mapping[Convention, int]
    inside: int
    outside: int


class Resolver(Closable):
    """Finds the LOBs of one archive.

    ``tree`` is None for a folder of LOBs alone. ``roots`` are the granted folders, that of the
    .siard first; ``siard_name`` is its file name; ``lob_folder`` the database's, as metadata.xml has
    it. ``drives`` (``{"S:": folder}``) are granted too. ``mapping`` is what ``read_mapping`` returns.
    ``budgets`` are those of packed segments; ``version`` is SIARD's: in 1.0 a cell has a name and no URI.
    Memory is flat: per column and per packed segment, never per
    LOB. A context manager, for one thread: it holds packed segments open. Raises ValueError without roots.
    """

    def __init__(
        self,
        tree: EntrySearch | None,
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
        self._tree = tree
        granted = Granted(roots, drives, mapping, divided)
        self._packed = Packed(granted.roots, budgets)
        self._sources = Sources(tree=tree, granted=granted, packed=self._packed, siard=siard_name)
        self._lob_folder = lob_folder
        self._literal = version.startswith("1.")
        self._table: Table | None = None
        self._columns: dict[tuple[str, str], Column] = {}
        self._here: dict[str, Column] = {}
        self._counts: dict[tuple[str, str], Counter[tuple[Convention, bool]]] = {}

    @property
    def roots(self) -> tuple[Path, ...]:
        """The granted roots as ``FileExtent.root`` counts them: those given, then those of drives."""
        return self._sources.granted.roots

    @property
    def packed(self) -> tuple[HeldMedium, ...]:
        """The packed segments found so far: ``ZipExtent.archive`` 1 is the first of them, and stays so."""
        return self._packed.held

    def packed_entries(self, root: int, names: Sequence[str]) -> list[ZipExtent]:
        """Return the entries of packed segments that lie where these names below a granted root would be.

        Raises ``Obstacle`` as ``Packed.entries`` does.
        """
        return self._packed.entries(root, tuple(names))

    def contents(self, extent: Extent) -> Iterator[bytes]:
        """Yield the bytes of an extent of a ``Resolution``, proven when the iterator has ended.

        Raises ``SourceError`` when they cannot be read or are not those that were found.
        """
        return self._sources.blocks(extent)

    def close(self) -> None:
        """Close the packed segments; the caller closes the tree."""
        self._packed.close()

    def tally(self) -> Mapping[tuple[str, str], Tallied]:
        """Return the numbers of LOBs found, by the table's path and the cell's (array elements as one)."""
        return {key: _tallied(counts) for key, counts in self._counts.items() if counts}

    def recount(self) -> None:
        """Reset what ``tally`` has counted."""
        for counts in self._counts.values():
            counts.clear()

    def resolved(self, table: Table, cell: LobCell) -> Resolution:
        """Return where the bytes of a cell's LOB are.

        Raises ``LobMissing``, ``LobRefused`` and ``LobAmbiguous``, and ``SourceError`` for an archive
        that cannot be read.
        """
        if table is not self._table:
            self._table, self._here = table, {}
        column = self._here.get(cell.place.cell) or self._column(table, cell.place.cell)
        # Almost every archive names the entry in full: most LOBs take this look-up alone.
        candidates = column.candidates
        if candidates.is_inside and self._tree is not None and PLAIN.fullmatch(cell.file):
            extent = self._tree.extent(cell.file)
            if extent is not None and candidates.fits(extent.size, cell.length):
                convention = candidates.named_in_full(cell.file)
                column.counts[convention, True] += 1
                return Resolution(
                    extents=(extent,), size=extent.size, convention=convention, repairs=(), warnings=()
                )
        if self._literal and not PLAIN.fullmatch(cell.file):
            named = self._named(column, cell)
            if named is not None:
                return named
        return _accepted(column, cell, Search(self._sources, table, column, cell).hit())

    def _named(self, column: Column, cell: LobCell) -> Resolution | None:
        """Return the entry whose literal name a cell of SIARD 1.0 has: ``a#b.bin``, ``record%200.bin``."""
        names = cell.file.split("/")
        if self._tree is None or not {"", ".", ".."}.isdisjoint(names):
            return None
        levels = column.candidates.levels
        below = ([levels.table, levels.folder] if levels.folder else [levels.table]) if levels.table else []
        for folder in ([], below, below[1:]):
            extent = self._tree.extent("/".join([*folder, *names]))
            if extent is not None and column.candidates.fits(extent.size, cell.length):
                convention = Convention.I if folder else Convention.C
                column.counts[convention, True] += 1
                return Resolution(
                    extents=(extent,), size=extent.size, convention=convention, repairs=(), warnings=()
                )
        return None

    def _column(self, table: Table, path: str) -> Column:
        column = self._columns.get((table.path, path))
        if column is None:
            if len(self._columns) >= _REMEMBERED:  # every element of an array has a path of its own
                self._columns.clear()
                self._here.clear()
            column = self._columns[table.path, path] = self._new_column(table, path)
        self._here[path] = column
        return column

    def _new_column(self, table: Table, path: str) -> Column:
        chain = table.chain(path)
        tags = [re.sub("^a[0-9]+$", "a", tag) for tag in path.split(".")]
        counts = self._counts.setdefault((table.path, ".".join(tags[: len(chain)])), Counter())
        return Column(
            candidates=Candidates.of_field(chain, self._lob_folder, table.folder_path), counts=counts
        )


def _accepted(column: Column, cell: LobCell, hit: Hit) -> Resolution:
    """Return the resolution of a hit, and count it."""
    convention = hit.candidate.convention
    inside = hit.candidate.place.inside
    column.counts[convention, inside] += 1
    warnings = []
    if not convention.is_statement:
        warnings.append(
            f"found by convention {convention.letter} ({convention.title}), not as the statement on the "
            "location of LOBs says"
        )
    if not column.candidates.fits(hit.size, cell.length):
        warnings.append(f"has {hit.size:,} bytes though its cell says {cell.length:,}; its digest is right")
    return Resolution(
        extents=hit.extents,
        size=hit.size,
        convention=convention,
        repairs=hit.candidate.repairs,
        warnings=tuple(warnings),
    )


def _tallied(counts: Counter[tuple[Convention, bool]]) -> Tallied:
    conventions: Counter[Convention] = Counter()
    sides: Counter[bool] = Counter()
    for (convention, inside), number in counts.items():
        conventions[convention] += number
        sides[inside] += number
    return Tallied(conventions=dict(conventions), inside=sides[True], outside=sides[False])
