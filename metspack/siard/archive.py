"""A SIARD archive as a source of LOBs: the container, its metadata, and every cell with its entry."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Self

from metspack import safexml, uris
from metspack.errors import SourceError
from metspack.mediatypes import media_type
from metspack.model import Budgets, LobCell, LobRef, ZipExtent
from metspack.siard import metadata, tables
from metspack.siard.container import Container
from metspack.siard.metadata import Metadata, Table
from metspack.siard.tables import Tally

_EXTENSION = re.compile(r"\.([A-Za-z0-9]{1,10})$")


@dataclass(frozen=True, slots=True, kw_only=True)
class Located:
    """A LOB cell and the archive's entry it names; ``extent`` is None when no entry has its name."""

    table: Table
    cell: LobCell
    extent: ZipExtent | None
    outside: bool


@dataclass(slots=True, kw_only=True)
class Tallies:
    """Rows and inline values by table path, filled in while cells are read."""

    by_table: dict[str, Tally] = field(default_factory=dict)


class Archive:
    """An open SIARD archive; a context manager that owns one read-only descriptor.

    Raises ``SourceError`` on opening when the file is no SIARD archive that can be read.
    """

    def __init__(self, path: Path, budgets: Budgets | None = None) -> None:
        self.path = path
        self.budgets = budgets or Budgets()
        if path.is_dir():
            raise SourceError(f"{path} is a folder, expected a .siard file", hint=_inside(path))
        self.container = Container.opened(path, self.budgets)
        try:
            self.metadata_document = self._document()
            self.metadata = self._metadata()
            self._structure = frozenset(
                f"{table.folder_path}/{table.folder}.{kind}"
                for table in self.metadata.tables
                for kind in ("xml", "xsd")
            )
        except BaseException:
            self.container.close()
            raise

    def _document(self) -> bytes:
        extent = self.container.extent(metadata.NAME)
        if extent is None:
            raise SourceError(
                f"{self.path} is a zip archive without {metadata.NAME}, so it is no SIARD archive",
                hint=_wrapped(self.container),
            )
        if extent.size > self.budgets.metadata:
            raise SourceError(
                f"{self.path}: {metadata.NAME} has {extent.size:,} bytes, expected at most "
                f"{self.budgets.metadata:,}",
                hint="If that is what it should be, raise the budget: --budget metadata=BYTES.",
            )
        return b"".join(self.container.contents(extent))

    def _metadata(self) -> Metadata:
        try:
            return metadata.read(self.metadata_document, depth=self.budgets.depth)
        except safexml.XmlError as error:
            raise SourceError(
                f"{self.path}: {metadata.NAME} line {error.line}, column {error.column}: {error.message}",
                hint=error.hint or "The archive's metadata is damaged; get another copy of it.",
            ) from None
        except SourceError as error:
            raise SourceError(f"{self.path}: {error.message}", hint=error.hint) from None

    def document(self, table: Table) -> ZipExtent:
        """Return where a table's XML lies; raises ``SourceError`` when the archive has none."""
        extent = self.container.extent(table.path)
        if extent is None:
            raise SourceError(
                f"{self.path}: table {table.label} has no document {table.path}",
                hint="metadata.xml names a table that the archive does not hold; get a complete copy.",
            )
        return extent

    def located(self, table: Table, tally: Tally | None = None) -> Iterator[Located]:
        """Yield a table's LOB cells with the entries they name, in document order.

        Raises ``SourceError`` where table and metadata.xml contradict each other and where a cell names
        an entry that is no LOB.
        """
        columns: dict[str, _Column] = {}
        blocks = self.container.contents(self.document(table))
        for cell in tables.cells(blocks, table, self.budgets, tally):
            path = cell.place.cell
            column = columns.get(path)
            if column is None:
                if not table.chain(path):
                    raise SourceError(
                        f"{self.path}: {table.path} row {cell.place.row:,} has a LOB in cell {path}, but "
                        f"metadata.xml gives table {table.label} {len(table.columns)} columns",
                        hint="Table and metadata contradict each other; get a correct copy of the archive.",
                    )
                column = columns[path] = _Column(self.metadata, table, path)
            extent = self._extent(column, cell.file)
            if extent is not None and self._is_structure(extent.name):
                raise SourceError(
                    f"{self.path}: {self._cell(table, cell)} names {cell.file!r}, which is no LOB but part "
                    "of the archive itself",
                    hint="The cell is wrong: taking that entry out would destroy the archive.",
                )
            yield Located(table=table, cell=cell, extent=extent, outside=column.outside)

    def _is_structure(self, name: str) -> bool:
        return name.startswith("header/") or name.endswith("/") or name in self._structure

    def _extent(self, column: _Column, file: str) -> ZipExtent | None:
        # Almost every archive names the entry in full; only that look-up is on the way of a million LOBs.
        if not column.outside and (extent := self.container.extent(file)) is not None:
            return extent
        for name in column.names(file):
            if (extent := self.container.extent(name)) is not None:
                return extent
        return None

    def lobs(self, tallies: Tallies | None = None) -> Iterator[LobRef]:
        """Yield every LOB: tables as in metadata.xml, then rows, then cells in document order.

        Raises ``SourceError`` for a cell whose LOB is not in the archive.
        """
        for table in self.metadata.tables:
            tally = Tally()
            if tallies is not None:
                tallies.by_table[table.path] = tally
            types: dict[str, str | None] = {}
            for each in self.located(table, tally):
                if each.extent is None:
                    raise SourceError(self._absent(each), hint=_absent_hint(each))
                path = each.cell.place.cell
                if path not in types:
                    types[path] = declared_type(table, path)
                extension = extension_of(each.cell.file)
                yield LobRef(
                    cell=each.cell,
                    size=each.extent.size,
                    extension=extension,
                    media_type=media_type(types[path], extension),
                    extent=each.extent,
                )

    def _absent(self, located: Located) -> str:
        where = f"{self.path}: {self._cell(located.table, located.cell)}"
        if located.outside:
            return f"{where}: its LOB {located.cell.file!r} lies outside the archive"
        return f"{where} names {located.cell.file!r}, but the archive has no such entry"

    @staticmethod
    def _cell(table: Table, cell: LobCell) -> str:
        return f"table {table.label} row {cell.place.row:,}, cell {cell.place.cell} ({cell.place.id})"

    def close(self) -> None:
        """Close the archive."""
        self.container.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class _Column:
    """The LOB folders above a column or field, and the names its cells may have in the archive."""

    __slots__ = ("_folders", "_table", "outside")

    def __init__(self, archive: Metadata, table: Table, path: str) -> None:
        chain = table.chain(path)
        self._table = table
        self._folders = [
            archive.lob_folder,
            *(each.lob_folder for each in chain),
            *(each.folder for each in chain),
        ]
        # A column's lobFolder sends its LOBs outside (DILCIS statement, column level).
        self.outside = any(each.lob_folder for each in chain)

    def names(self, file: str) -> Iterator[str]:
        """Yield the entry names that conventions in use give to a cell's ``file``, likeliest first."""
        archive, *below = self._folders
        for folders in (
            (),
            (archive, *below),
            tuple(below),
            (self._table.folder_path, *below),
        ):
            name = _entry_name((*(folder for folder in folders if folder), file))
            if name is not None:
                yield name


def _entry_name(parts: tuple[str, ...]) -> str | None:
    """Return the entry that a chain of folders and a file name, None when it leaves the archive."""
    segments: tuple[str, ...] = ()
    try:
        for part in parts:
            segments = uris.joined(segments, uris.parsed(part))
    except uris.ReferenceRefused:
        return None
    return "/".join(segments)


def extension_of(file: str) -> str:
    """Return the extension of a cell's ``file`` without the dot, ``bin`` when it has none."""
    found = _EXTENSION.search(file.rstrip())
    return found[1] if found else "bin"


def declared_type(table: Table, path: str) -> str | None:
    """Return the media type that metadata.xml declares for a column or the innermost field that has one."""
    declared = [each.mime_type for each in table.chain(path) if each.mime_type]
    return declared[-1] if declared else None


def _inside(folder: Path) -> str:
    found = sorted(path.name for path in folder.glob("*.siard") if path.is_file())
    if found:
        return f"It holds {', '.join(found[:3])}: name the file, {folder / found[0]}."
    return "It holds no .siard file either."


def _wrapped(container: Container) -> str:
    for name in container.names():
        if name.endswith(f"/{metadata.NAME}"):
            return (
                f"Everything lies below {name.removesuffix(metadata.NAME)!r}: pack the archive again with "
                "content/ and header/ at its root (SIARD 2.2 P_4.2-1)."
            )
    return "A SIARD archive has its metadata there (SIARD 2.2 P_4.2-5)."


def _absent_hint(located: Located) -> str:
    if located.outside:
        return (
            "Its column has a lobFolder, so its LOBs lie in files beside the archive; metspack takes LOBs "
            "that lie inside it."
        )
    return "The archive is incomplete or its cells name the wrong entries; nothing was written."
