"""The cells of a package's SIARD archives: what the database itself says of its LOBs."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from metspack.digests import OCTETS, Hashers
from metspack.errors import SourceError
from metspack.files import reading
from metspack.files.byteranges import Below, Medium, Stretch
from metspack.mets import lobids
from metspack.model import Budgets, Digest, Extent, FileExtent, LobCell
from metspack.packages import archives
from metspack.packages.files import uncompressed
from metspack.packages.package import Package
from metspack.progress import Progress
from metspack.siard import tables
from metspack.siard.metadata import Table
from metspack.sources.archive import Archive, Grants

_PLACE = re.compile(r"s([0-9]{1,18})\.t([0-9]{1,18})\.(c.+)\.r([0-9]{1,18})", re.ASCII)
_UNLISTED = "A METS of the package should list it; metspack check tells what else is wrong."


@dataclass(frozen=True, slots=True, kw_only=True)
class Meant:
    """What a cell means: the LOB that METS lists as ``lob``, or, with None, ``entries`` of the archive.

    ``extents`` are of use with the archive's resolver; ``files`` are the names from the package's root.
    """

    lob: str | None
    entries: tuple[str, ...]
    extents: tuple[Extent, ...]
    files: tuple[tuple[str, ...], ...] = ()


def archive_place(package: Package, path: tuple[str, ...]) -> tuple[Path, Stretch | None]:
    """Return where an archive of a package lies, by its names from the root as ``Package.archives`` has them.

    The second is where its bytes are when it is packed.
    Raises ``SourceError`` when it cannot be opened without following a link.
    """
    place = package.root.joinpath(*path)
    inside = package.index.files.inside(path)
    if inside is not None:
        at = uncompressed(package.root, path, inside)
        return place, at if isinstance(at, Stretch) else None
    try:
        # No link is followed below the package's root; the archive opens its files by their path.
        os.close((reading.opened_folder if place.is_dir() else reading.opened)(package.root, path))
    except OSError as error:
        raise SourceError(
            f"{'/'.join(path)} cannot be opened: {error.strerror}",
            hint="The METS names it as the archive; get it from another copy of the package.",
        ) from None
    return place, None


def opened_archive(package: Package, path: tuple[str, ...], budgets: Budgets | None = None) -> Archive:
    """Return an archive of a package; raises ``SourceError`` when it cannot be read."""
    place, at = archive_place(package, path)
    return Archive(place, budgets, grants(package, path), at)


def grants(package: Package, path: tuple[str, ...]) -> Grants:
    """Return the folders of a package in which the LOBs of one of its archives may lie."""
    if len(path) == 1:
        return Grants()  # its own folder, which is the package's root
    return Grants(lob_roots=(package.root,), divided=package.index.divided(path[:-1]))


@dataclass(frozen=True, slots=True, kw_only=True)
class Altered:
    """A file of an archive, or a piece of one, that has another digest than METS ``said``.

    ``found`` is None for one that cannot be opened, for the ``reason``.
    """

    name: str
    said: Digest
    found: Digest | None
    reason: str = ""


def altered(package: Package, path: tuple[str, ...], progress: Progress) -> Iterator[Altered]:
    """Yield the files of an archive, all its pieces, that are not what METS says of them.

    Those are passed over that METS gives no digest, or one by an algorithm that cannot be computed here.
    """
    for file, digest in package.index.digests_of(path):
        if digest.algorithm not in OCTETS:
            continue
        name, hashers = "/".join(file), Hashers((digest.algorithm,))
        try:
            place = uncompressed(package.root, file, package.index.files.inside(file))
            with Medium((place,)) as medium:
                progress.stage("Comparing the archive with METS", medium.size)
                for block in medium.chunks():
                    hashers.update(block)
                    progress.advance(len(block))
        except OSError as error:
            yield Altered(name=name, said=digest, found=None, reason=error.strerror or str(error))
            continue
        if (found := hashers.digest(digest.algorithm)) != digest:
            yield Altered(name=name, said=digest, found=found)


def cells(archive: Archive, table: Table) -> Iterator[LobCell]:
    """Yield a table's LOB cells, in the order of its rows; raises ``SourceError`` naming the archive."""
    try:
        yield from tables.cells(archive.tree.contents(archive.document(table)), table, archive.budgets)
    except SourceError as error:
        told = error.message.startswith(str(archive.path))
        message = error.message if told else f"{archive.path}: {error.message}"
        raise SourceError(message, hint=error.hint) from None


def is_place(lob: str) -> bool:
    """Return whether an id is a place in a database, as those that metspack gives are."""
    return _PLACE.fullmatch(lobids.parted(lob)[1]) is not None


def found_in(archive: Archive, lob: str) -> tuple[Table, LobCell] | None:
    """Return the cell with the id of a LOB, and its table; None when the archive has none.

    ``lob`` is its place; only its own table is read, up to its row. Raises ``SourceError`` when it cannot be.
    """
    place = _PLACE.fullmatch(lob)
    if place is None:
        return None
    schema, number, row = int(place[1]), int(place[2]), int(place[4])
    for table in archive.metadata.tables:
        if (table.schema, table.number) == (schema, number):
            for cell in cells(archive, table):
                if cell.place.id == lob:
                    return table, cell
                if cell.place.row > row:
                    break
    return None


def cell_of(package: Package, lob: str) -> LobCell | None:
    """Return the cell of a LOB, None when its id is no place in a database or no archive has it.

    Raises ``SourceError`` for an archive that the METS names and that cannot be read.
    """
    for path, place in archives.places(package, lob):
        with opened_archive(package, path) as archive:
            found = found_in(archive, place)
        if found is not None:
            return found[1]
    return None


def from_root(path: tuple[str, ...], archive: Archive, extent: Extent) -> tuple[str, ...] | None:
    """Return the names from the package's root of a file that a cell of the archive at ``path`` means.

    A packed one has those of the folder that it is packed from; None for an entry of the archive itself.
    """
    if isinstance(extent, FileExtent):
        # Root 0 is the archive's folder, the next that was granted (``grants``) the package's.
        return extent.path if extent.root else (*path[:-1], *extent.path)
    file = archive.resolver.packed[extent.archive - 1].paths[0] if extent.archive else None
    if not isinstance(file, Below):
        return None
    *above, name = file.segments
    stem, inside = os.path.splitext(name)[0], tuple(extent.name.split("/"))
    folder = (*(path[:-1] if file.root == archive.resolver.roots[0] else ()), *above)
    return (*folder, *inside) if inside[0] == stem else (*folder, stem, *inside)


def meant(package: Package, path: tuple[str, ...], archive: Archive, table: Table, cell: LobCell) -> Meant:
    """Return what a cell of the archive at ``path`` means; raises ``SourceError`` when it means nothing.

    Such are cells whose LOB cannot be found, and those whose LOB is in a file that no METS lists.
    """
    found = archive.resolver.resolved(table, cell)
    entries = archive.entries(table, cell)
    if entries:
        return Meant(lob=None, entries=entries, extents=found.extents)
    files = tuple(from_root(path, archive, each) or () for each in found.extents)
    if (lob := package.index.lob_at(files[0])) is not None:
        return Meant(lob=lob, entries=(), extents=found.extents, files=files)
    raise SourceError(f"{'/'.join(files[0])}, which no METS lists", hint=_UNLISTED)
