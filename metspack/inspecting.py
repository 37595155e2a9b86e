"""What an archive holds: its tables and, column by column, its LOBs."""

from __future__ import annotations

from dataclasses import dataclass, field

from metspack.progress import Progress, Silent
from metspack.siard.archive import Archive, Located
from metspack.siard.metadata import Field, Table
from metspack.siard.tables import Tally


@dataclass(slots=True, kw_only=True)
class LobColumn:
    """A column, or a field of one, that holds LOBs; sizes are bytes.

    ``inside`` LOBs are entries of the archive; of ``missing`` ones the archive has no entry although
    they should be inside; ``outside`` ones lie, by their column's lobFolder, in files beside it.
    """

    id: str
    table: str
    name: str
    type: str
    media_type: str | None
    inside: int = 0
    outside: int = 0
    missing: int = 0
    bytes: int = 0
    digests: int = 0
    largest: int = 0
    largest_lob: str = ""
    first_missing: str = ""


@dataclass(slots=True, kw_only=True)
class Inspection:
    """What an archive holds."""

    version: str
    product: str
    dbname: str
    tables: int = 0
    rows: int = 0
    inline: int = 0
    columns: list[LobColumn] = field(default_factory=list)

    @property
    def inside(self) -> int:
        """The LOBs that are entries of the archive."""
        return sum(each.inside for each in self.columns)

    @property
    def outside(self) -> int:
        """The LOBs that lie in files beside the archive."""
        return sum(each.outside for each in self.columns)

    @property
    def missing(self) -> int:
        """The LOBs that should be in the archive but are not."""
        return sum(each.missing for each in self.columns)

    @property
    def bytes(self) -> int:
        """The bytes of the LOBs inside."""
        return sum(each.bytes for each in self.columns)

    @property
    def largest(self) -> LobColumn | None:
        """The column with the largest LOB inside, None when there is none."""
        return max(
            (each for each in self.columns if each.inside), key=lambda each: each.largest, default=None
        )


def inspected(archive: Archive, progress: Progress | None = None) -> Inspection:
    """Return what an archive holds, reading every table's document and no LOB.

    Raises ``SourceError`` where a table cannot be read.
    """
    progress = progress or Silent()
    found = Inspection(
        version=archive.metadata.version,
        product=" ".join(archive.metadata.product.split()),
        dbname=archive.metadata.dbname,
    )
    documents = [(table, archive.document(table)) for table in archive.metadata.tables]
    progress.stage("Reading tables", sum(extent.size for _table, extent in documents))
    for table, extent in documents:
        tally = Tally()
        columns: dict[str, LobColumn] = {}
        for located in archive.located(table, tally):
            path = located.cell.place.cell
            if path not in columns:
                columns[path] = _column(table, path)
            _count(columns[path], located)
        found.tables += 1
        found.rows += tally.rows
        found.inline += tally.inline
        found.columns += columns.values()
        progress.advance(extent.size)
    return found


def _column(table: Table, path: str) -> LobColumn:
    chain: tuple[Field, ...] = table.chain(path)
    return LobColumn(
        id=f"s{table.schema}.t{table.number}.{path}",
        table=table.label,
        name=".".join(each.name for each in chain) or path,
        type=chain[-1].type if chain else "",
        media_type=next((each.mime_type for each in reversed(chain) if each.mime_type), None),
    )


def _count(column: LobColumn, located: Located) -> None:
    if located.extent is None:
        if located.outside:
            column.outside += 1
        else:
            column.missing += 1
            column.first_missing = column.first_missing or located.cell.place.id
        return
    column.inside += 1
    column.bytes += located.extent.size
    column.digests += located.cell.digest is not None
    if located.extent.size > column.largest or not column.largest_lob:
        column.largest, column.largest_lob = located.extent.size, located.cell.place.id
