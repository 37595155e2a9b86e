"""A package as a source of LOBs: what its archive's cells mean, with what METS says of the bytes as proofs.

Whoever reads the LOBs through ``copying.Passage`` has every part, every whole and every cell proven in
the one pass that copies them.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

from metspack import scratch
from metspack.errors import SourceError
from metspack.layouts import LAYOUTS
from metspack.media import Held
from metspack.model import (
    Budgets,
    Extent,
    FileExtent,
    LobRef,
    ZipExtent,
)
from metspack.progress import Progress
from metspack.restoring import several
from metspack.restoring.cells import altered, archive_place, from_root, grants
from metspack.restoring.listedlobs import ANOTHER, KEEPING, ListedLobs, check_size, place_of
from metspack.restoring.package import Package
from metspack.restoring.selection import Selection
from metspack.siard.archive import Archive, Located, Tallies
from metspack.siard.holdings import Holdings
from metspack.siard.metadata import Table
from metspack.siard.packed import Packed
from metspack.siard.tables import Tally
from metspack.sources.found import cell_key
from metspack.sources.loose import LooseLobs
from metspack.uris import shown


class PackagedArchive(Archive):
    """The archive of a package; its LOBs in segments come with proofs. A context manager.

    Of the tables' cells only those selected are seen. Takes the package, and closes it. Raises
    ``SourceError`` as ``Archive`` does.
    """

    def __init__(
        self, package: Package, path: tuple[str, ...], budgets: Budgets | None, selection: Selection
    ) -> None:
        self.package = package
        self.selection = selection
        self._names = path
        place, at = archive_place(package, path)
        # Paths in METS begin in the package's root, those of cells in the archive's folder: root 0.
        self._root = 0 if len(path) == 1 else 1
        super().__init__(place, budgets, grants(package, path), at)
        self.id_prefix = package.index.prefix(path)
        # Of several archives the first has ids that begin with no name; another one without has none in METS.
        first = next((each for each in package.archives if not package.index.prefix(each)), path)
        self._lobs = ListedLobs(package, self.id_prefix if self.id_prefix or path == first else None)

    def ids(self) -> Iterator[str]:
        """Yield the ids of the LOBs that METS lists for it, without what they begin with."""
        return self._lobs.ids()

    def located(
        self, table: Table, tally: Tally | None = None, read: Callable[[int], None] | None = None
    ) -> Iterator[Located]:
        """Yield a table's selected LOB cells as ``Archive.located`` does."""
        if not self.selection.meets(f"s{table.schema}.t{table.number}"):
            if read is not None:
                read(self.document(table).size)
            return
        for each in super().located(table, tally, read):
            if self.selection.takes(each.cell.place.id):
                yield each

    def lobs(
        self, tallies: Tallies | None = None, read: Callable[[int], None] | None = None
    ) -> Iterator[LobRef]:
        """Yield every selected LOB that a cell names, as ``Archive.lobs`` does.

        Raises ``SourceError`` also for one that no METS lists, or that METS says other things of.
        """
        for lob in super().lobs(tallies, read):
            yield lob if lob.entries else self._listed(lob)

    def _listed(self, lob: LobRef) -> LobRef:
        """Return a LOB with what METS says of it."""
        files = tuple(self._file(each) for each in lob.extents)
        first = lob.extents[0]
        where = "/".join(first.path) if isinstance(first, FileExtent) else first.name
        held = self._lobs.held(f"LOB {lob.place.id} ({shown(where)})", self.id_prefix + lob.place.id, files)
        for part, extent in zip(held.parts, lob.extents, strict=True):
            check_size(held.id, part, extent.size)
        return replace(lob, proofs=self._lobs.proofs(held), recorded=self._lobs.kinds.recorded(held))

    def _file(self, extent: Extent) -> tuple[str, ...] | None:
        """Return the names from the package's root of a file that lies below it."""
        if isinstance(extent, FileExtent) and extent.root not in {0, self._root}:
            return None
        return from_root(self._names, self, extent)

    def unnamed(self) -> Iterator[LobRef]:
        """Yield the selected LOBs that METS lists and no cell named so far; raises ``SourceError``."""
        for lob in self._lobs.others(self.selection):
            yield self._lobs.reference(self.package.lob(lob), self._root, self._entries)

    def _entries(self, names: tuple[str, ...]) -> list[ZipExtent]:
        return self.resolver.packed_entries(self._root, names)

    def unnamed_count(self) -> int:
        """Return how many LOBs METS lists that no cell named so far."""
        return sum(1 for _ in self._lobs.others(self.selection))

    def remarks(self) -> Iterator[str]:
        """Yield sentences about what could not be proven by METS."""
        yield from self._lobs.remarks()

    def prove(self, progress: Progress) -> None:
        """Raise ``SourceError`` when METS gives the archive or a piece of it a digest it does not have."""
        for each in altered(self.package, self._names, progress):
            if each.found is None:
                raise SourceError(f"{each.name} cannot be opened: {each.reason}", hint=ANOTHER)
            raise SourceError(
                f"{each.name} has the {each.found.algorithm} {each.found.value}, but METS says "
                f"{each.said.value}",
                hint="The archive was changed after it was packaged. " + ANOTHER,
            )

    def close(self) -> None:
        """Close archive and package."""
        super().close()
        self._lobs.close()


class PackagedLobs(LooseLobs):
    """The LOBs of a package without an archive, with proofs; a context manager.

    ``stem`` is the name in its segments' folders. Takes the package, and closes it.
    """

    def __init__(self, package: Package, budgets: Budgets | None, selection: Selection) -> None:
        super().__init__(package.root)
        self._packed = Packed((package.root,), budgets or Budgets())
        self.package = package
        self.selection = selection
        self._lobs = ListedLobs(package)
        self.id_prefix = ""
        self.stem = _name(package) or self.stem

    def lobs(self) -> Iterator[LobRef]:
        """Yield the selected LOBs by schema, table, row and cell; raises ``SourceError``."""
        with closing(self._sorted()) as ids:
            for lob in ids:
                self._lobs.take(lob)
                yield self._lobs.reference(self.package.lob(lob), 0, self._entries)

    def _entries(self, names: tuple[str, ...]) -> list[ZipExtent]:
        return self._packed.entries(0, names)

    def holdings(self) -> Holdings:
        """Return what the LOBs found so far are read from."""
        return replace(super().holdings(), archives=(Held(paths=(), stamps=()), *self._packed.held))

    def ids(self) -> Iterator[str]:
        """Yield the ids of the LOBs that METS lists."""
        return self.package.ids()

    def _sorted(self) -> Generator[str, None, None]:
        columns = "schema, place_table, place_row, cell"
        with closing(scratch.opened()) as places, scratch.explained(KEEPING):
            places.execute(f"CREATE TABLE place ({columns}, id)")
            places.execute("BEGIN")
            for lob in filter(self.selection.takes, self.package.ids()):
                place = place_of(lob)
                row = (place.schema, place.table, place.row, cell_key(place.cell), lob)
                places.execute("INSERT INTO place VALUES (?, ?, ?, ?, ?)", row)
            for (lob,) in places.execute(f"SELECT id FROM place ORDER BY {columns}"):  # noqa: S608 -- a constant
                yield lob

    def unnamed(self) -> Iterator[LobRef]:
        """Yield nothing: without an archive no cell is missing."""
        yield from ()

    def unnamed_count(self) -> int:
        """Return 0: without an archive no cell is missing."""
        return 0

    def remarks(self) -> Iterator[str]:
        """Yield sentences about what could not be proven by METS."""
        yield from self._lobs.remarks()

    def prove(self, progress: Progress) -> None:
        """Raise nothing: there is no archive."""

    def close(self) -> None:
        """Close the package."""
        super().close()
        self._packed.close()
        self._lobs.close()


Packaged = PackagedArchive | PackagedLobs


def _name(package: Package) -> str | None:
    for segment in package.segments:
        for layout in LAYOUTS.values():
            if (parsed := layout.parsed_folder("/".join(segment.folder))) is not None:
                return parsed.name
    return None


def _check(package: Package, *, partial: bool) -> None:
    for fault in () if partial else package.faults:
        raise fault


def opened(
    path: Path,
    budgets: Budgets | None = None,
    only: tuple[str, ...] = (),
    *,
    archive: str | None = None,
    hint: str = "Say which is meant: --archive NAME.",
) -> Packaged:
    """Return the package at ``path`` as a source of LOBs, of those that ``only`` selects (``Selection``).

    ``archive`` is the name of the one that is meant, when there are several and the ids of ``only`` do not
    begin with it. Raises ``SourceError`` when it is no package, holds several archives and none is meant
    (``hint`` says what to do then), or a child cannot be read and all LOBs are asked for.
    """
    package = Package(path, budgets)
    try:
        chosen, places = several.chosen(package, archive, only, hint)
        _check(package, partial=bool(only))
        selection = Selection(only=places)
        if chosen is not None:
            return PackagedArchive(package, chosen, budgets, selection)
        return PackagedLobs(package, budgets, selection)
    except BaseException:
        package.close()
        raise
