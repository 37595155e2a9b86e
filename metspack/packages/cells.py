"""Read the LOB cells of a package's SIARD archives, and locate the files that they name."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from metspack.errors import SourceError
from metspack.files import reading, release
from metspack.files.byteranges import FileBelow, FileRange
from metspack.limits import Budgets
from metspack.mets import links
from metspack.model import Extent, FileExtent, LobCell, LobRef
from metspack.packages import package as packages_package
from metspack.packages.lobs import place_of
from metspack.packages.package import Package
from metspack.siard import tables
from metspack.siard.metadata import Table
from metspack.sources.archive import Archive, Grants

_UNLISTED = "A METS of the package should list it; metspack check shows what else is wrong."


def archive_place(package: Package, path: tuple[str, ...]) -> tuple[Path, FileRange | None]:
    """Return the path of an archive of a package and, if it is packed, the range of its bytes.

    ``path`` are its names from the root, as in ``Package.archives``. Raises ``SourceError`` if it cannot be
    opened without following a link.
    """
    place = package.root.joinpath(*path)
    at = package.index.files.uncompressed(path)
    if isinstance(at, FileRange):
        return place, at
    try:
        # No link is followed below the package's root; the archive opens its files by their path.
        release((reading.opened_folder if place.is_dir() else reading.opened)(package.root, path))
    except OSError as error:
        raise SourceError(
            f"{'/'.join(path)} cannot be opened: {error.strerror}",
            hint="The METS names it as the archive; get it from another copy of the package.",
        ) from None
    return place, None


def opened_archive(package: Package, path: tuple[str, ...], budgets: Budgets | None = None) -> Archive:
    """Return an archive of a package; raises ``SourceError`` for an unreadable one."""
    place, at = archive_place(package, path)
    return Archive(place, budgets, grants(package, path), at)


def grants(package: Package, path: tuple[str, ...]) -> Grants:
    """Return the folders of a package that may have the LOBs of one of its archives."""
    first = int(len(path) == 1)  # the archive's folder is granted anyway: here it is the package's root
    folders = package.index.divided(path[:-1])
    return Grants(
        lob_roots=tuple(package.index.files.roots)[first:],
        divided={below: (root - first, names) for below, (root, names) in folders.items()},
    )


def cells(archive: Archive, table: Table) -> Iterator[LobCell]:
    """Yield a table's LOB cells in the order of rows; raises ``SourceError`` naming the archive."""
    with naming(archive):
        blocks = archive.tree.contents(archive.document(table))
        for run in tables.cell_runs(blocks, table, archive.budgets):
            yield from run.cells()


@contextmanager
def naming(archive: Archive) -> Iterator[None]:
    """Add the path of the archive to errors of the block about its documents."""
    try:
        yield
    except SourceError as error:
        is_named = error.message.startswith(str(archive.path))
        message = error.message if is_named else f"{archive.path}: {error.message}"
        raise SourceError(message, hint=error.hint) from None


def read_tables(package: Package, archive: Archive, path: tuple[str, ...]) -> Iterator[Table]:
    """Yield an archive's tables; one without a document only if METS lists LOBs of it."""
    prefix = package.index.prefix(path)
    for table in archive.metadata.tables:
        first = f"{prefix}s{table.schema}.t{table.number}"
        if table.path not in archive.lacking or package.index.holds_any(f"{first}.", f"{first}/"):
            yield table


def is_place(lob: str) -> bool:
    """Return whether an id, with or without prefix, is a place in a database."""
    return place_of(links.split_prefix(lob)[1]) is not None


def found_in(archive: Archive, lob: str) -> tuple[Table, LobCell] | None:
    """Return the table and the cell at the place ``lob``, or None if the archive lacks the cell.

    Only the table of the place is read, up to the row. Raises ``SourceError`` for an unreadable table.
    """
    if (place := place_of(lob)) is None:
        return None
    for table in archive.metadata.tables:
        if (table.schema, table.number) == (place.schema, place.table):
            for cell in cells(archive, table):
                if cell.place.id == lob:
                    return table, cell
                if cell.place.row > place.row:
                    break
    return None


def cell_of(package: Package, lob: str) -> LobCell | None:
    """Return the cell of a LOB, or None if its id is no place in a database, or in no archive.

    Raises ``SourceError`` for an unreadable archive.
    """
    for path, place in packages_package.candidate_cells(package, lob):
        with opened_archive(package, path) as archive:
            found = found_in(archive, place)
        if found is not None:
            return found[1]
    return None


def from_root(
    package: Package, path: tuple[str, ...], archive: Archive, extent: Extent
) -> tuple[str, ...] | None:
    """Return the path, as names from the package's root, of the file that ``extent`` is in.

    ``extent`` is that of a cell of the archive at ``path``. A packed file has the path that it has when
    unpacked. The result is None for an entry of the archive, or of a packed file without a METS.
    """
    if isinstance(extent, FileExtent):
        # Root 0 is the archive's folder; ``grants`` adds the package's roots.
        root = archive.resolver.roots[extent.root]
        elsewhere = package.index.files.names_of(root, "/".join(extent.path))
        return elsewhere or (extent.path if extent.root else (*path[:-1], *extent.path))
    file = archive.resolver.packed[extent.archive - 1].paths[0] if extent.archive else None
    if not isinstance(file, FileBelow):
        return None
    folder = path[:-1] if file.root == archive.resolver.roots[0] else ()
    at = FileBelow(root=package.root, segments=(*folder, *file.segments))
    return package.index.files.names_of(file if file.root in package.index.files.roots else at, extent.name)


def meant(
    package: Package, path: tuple[str, ...], archive: Archive, table: Table, cell: LobCell
) -> str | LobRef:
    """Return the LOB that a cell names: its id in METS, or, inside the archive at ``path``, the LOB.

    Raises ``SourceError`` for a LOB that is missing, or in a file that no METS lists.
    """
    lob = archive.lob(table, cell)
    if lob.entries:
        return lob
    file = from_root(package, path, archive, lob.extents[0]) or ()
    if (listed := package.index.lob_at(file)) is not None:
        return listed
    raise SourceError(f"{'/'.join(file)}, which no METS lists", hint=_UNLISTED)
