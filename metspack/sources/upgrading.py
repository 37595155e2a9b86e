"""The upgrade of an archive of SIARD 1.0 to 2.2: what it leaves out, and whether 2.2 can hold the rest."""

from __future__ import annotations

from collections.abc import Container, Iterator

from metspack.progress import Progress
from metspack.siard import metadata, upgrade, upgradedtables
from metspack.siard.metadata import Table
from metspack.siard.upgrade import Upgrade
from metspack.sources.archive import Archive
from metspack.sources.repacking import HEADER

_STRUCTURE = ("content/", HEADER)


def notes(archive: Archive) -> Iterator[str]:
    """Yield sentences on what becomes of values that SIARD 2.2 has no place for.

    Raises ``SourceError``, naming table and column, for types and names that 2.2 lacks.
    """
    yield from upgrade.upgraded_metadata(
        archive.metadata_document, depth=archive.budgets.depth, what=archive.name
    ).notes
    for name in archive.tree.names(HEADER):
        if name.startswith(upgrade.VERSION_FOLDERS):
            if not name.endswith("/") or name.count("/") > upgrade.VERSION_FOLDERS.count("/"):
                yield f"{name} is left out: {upgrade.VERSION_FOLDER} takes its place"
        elif not name.endswith("/") and name not in {metadata.NAME, upgrade.METADATA_SCHEMA}:
            yield f"{name} is kept as it is: it was made for metadata of SIARD {upgrade.SOURCE}"


def prepare(archive: Archive, departures: Container[str], progress: Progress) -> Upgrade:
    """Read all tables, and return how they become those of SIARD 2.2.

    ``departures`` are the entries that leave the archive. Raises ``SourceError``, naming table, column and
    row, for cells that 2.2 cannot hold, and for names that it lacks of entries that stay.
    """
    stay = (
        name
        for name in archive.tree.names()
        if name.startswith(_STRUCTURE)
        and not name.startswith(upgrade.VERSION_FOLDERS)
        and name not in departures
    )
    if faults := list(upgrade.name_faults(stay)):
        raise upgrade.refusal(faults, archive.name)
    progress.stage("Checking the tables against SIARD 2.2", archive.weight())
    with_files = {}
    for table in archive.metadata.tables:
        blocks = _blocks(archive, table, progress)
        with_files[table.path] = upgradedtables.columns_with_files(blocks, table, archive.name)
    return Upgrade(with_files=with_files)


def _blocks(archive: Archive, table: Table, progress: Progress) -> Iterator[bytes]:
    for block in archive.tree.contents(archive.document(table)):
        progress.advance(len(block))
        yield block
