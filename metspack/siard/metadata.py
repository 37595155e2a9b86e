"""Read ``header/metadata.xml``: version, tables, columns, and their lobFolders."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from metspack import digests
from metspack.errors import SourceError
from metspack.model import Digest
from metspack.siard import offsets
from metspack.siard.offsets import Element

NAME = "header/metadata.xml"
"""The entry that every SIARD archive has (SIARD 2.2 P_4.2-5)."""

VERSIONS = ("1.0", "2.0", "2.1", "2.2")

NOT_NEEDED = frozenset(
    {
        "views",
        "routines",
        "users",
        "roles",
        "privileges",
        "foreignKeys",
        "candidateKeys",
        "triggers",
        "checkConstraints",
    }
)
"""Elements without information on LOBs, which are skipped with their content."""
_ESCAPED = re.compile(r"\\u00([0-9A-Fa-f]{2})")
_LOB_TYPES = re.compile(
    r"\s*(?:BLOB|CLOB|NCLOB|XML|DATALINK"
    r"|BINARY\s+LARGE\s+OBJECT|CHAR(?:ACTER)?\s+LARGE\s+OBJECT|NATIONAL\s+CHARACTER\s+LARGE\s+OBJECT"
    r"|NCHAR\s+LARGE\s+OBJECT)\b",
    re.IGNORECASE,
)
_FALSE = {"false", "0"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """A column, or a field of one: its number from 1, name, type, LOB settings and fields."""

    number: int
    name: str
    type: str
    lob_folder: str | None
    folder: str | None
    mime_type: str | None
    fields: tuple[Field, ...]
    is_nullable: bool = True

    @property
    def is_lob(self) -> bool:
        """True if the SQL type is one of large objects; cells of others may have files (P_4.3-3)."""
        return _LOB_TYPES.match(self.type) is not None


Column = Field


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """A table: the numbers in the ids of its LOBs, its folders in the archive, its columns.

    ``schema`` and ``number`` are the digits at the end of the folders' names, or positions from 0. ``rows``
    is the number of rows in metadata.xml, or None if ``rows_text``, the text there, is no number.
    ``primary_key`` has the names of the primary key's columns, in the order of the key.
    """

    schema: int
    number: int
    name: str
    schema_name: str
    folder: str
    schema_folder: str
    rows: int | None
    columns: tuple[Column, ...]
    rows_text: str = ""
    primary_key: tuple[str, ...] = ()

    @property
    def folder_path(self) -> str:
        """The table's folder in the archive, without a slash at the end."""
        return f"content/{self.schema_folder}/{self.folder}"

    @property
    def path(self) -> str:
        """The table's XML document in the archive (SIARD 2.2 P_4.2-3)."""
        return f"{self.folder_path}/{self.folder}.xml"

    @property
    def missing_note(self) -> str:
        """The note in METS on a table that was missing in the source, which a person accepted."""
        return f"table missing in the source: {self.path}"

    @property
    def label(self) -> str:
        """The table's name with its schema: ``dbo.Categories``."""
        return f"{self.schema_name}.{self.name}"

    def other_count(self, rows: int) -> str:
        """Return the number of rows in metadata.xml in words if it is not ``rows``, or ""."""
        if self.rows is None:
            return self.rows_text and repr(self.rows_text)
        return "" if self.rows == rows else f"{self.rows:,}"

    @property
    def key_numbers(self) -> dict[str, int]:
        """The numbers of the primary key's columns by their names, in the order of the key."""
        numbers = {each.name: each.number for each in reversed(self.columns)}
        return {name: numbers[name] for name in self.primary_key if name in numbers}

    def chain(self, cell: str) -> tuple[Field, ...]:
        """Return the column on a cell's path and the fields after it that metadata.xml has.

        ``c3.u2.u3`` gives column 3, field 2 of that column, and field 3 of that field.
        """
        found: list[Field] = []
        below: Sequence[Field] = self.columns
        for tag in cell.split("."):
            number = int(tag[1:])
            if not 1 <= number <= len(below):
                break
            found.append(below[number - 1])
            below = below[number - 1].fields
        return tuple(found)


@dataclass(frozen=True, slots=True, kw_only=True)
class Metadata:
    """An archive's metadata, as far as LOBs and their packages need it; texts are unescaped."""

    version: str
    dbname: str
    description: str
    data_owner: str
    origin_timespan: str
    product: str
    lob_folder: str | None
    digests: tuple[Digest, ...]
    unread_digests: tuple[str, ...]
    tables: tuple[Table, ...]
    empty_digests: int = 0
    archival_date: str = ""
    schemas: int = 0

    @property
    def has_types(self) -> bool:
        """True if a column is of a user-defined type with fields (SIARD 2.2, M_5.6)."""
        return any(column.fields and not column.type for table in self.tables for column in table.columns)


def read(data: bytes, *, depth: int = 100, elements: int | None = None) -> Metadata:
    """Return the contents of a metadata.xml with at most ``elements`` elements.

    Raises ``safexml.XmlError`` (not well-formed, DTD) and ``SourceError`` (not SIARD metadata, an unsupported
    version, a schema or table without its separate folder, too many elements).
    """
    count = data.count(b"<") - data.count(b"</")
    if elements is not None and count > elements:
        raise SourceError(
            f"{NAME} has {count:,} elements, expected at most {elements:,}",
            hint="If that is what it should be, raise the budget: --budget elements=N.",
        )
    return of(offsets.document(data, skipped=NOT_NEEDED, depth=depth, what=NAME))


def of(root: Element) -> Metadata:
    """Return the contents of the parsed document; raises ``SourceError`` as ``read`` does."""
    if root.name != "siardArchive":
        raise SourceError(
            f"{NAME} begins with <{root.name}>, expected <siardArchive>",
            hint="This is not the metadata of a SIARD archive.",
        )
    version = root.attributes.get("version", "").strip()
    if version not in VERSIONS:
        raise SourceError(
            f"{NAME} line {root.line}: SIARD version {version or '(none)'}, "
            f"expected one of {', '.join(VERSIONS)}",
            hint="Other versions of the format are not supported.",
        )
    read_digests, unread = _digests(root)
    return Metadata(
        version=version,
        dbname=_text(root, "dbname"),
        description=_text(root, "description"),
        data_owner=_text(root, "dataOwner"),
        origin_timespan=_text(root, "dataOriginTimespan"),
        product=_text(root, "databaseProduct"),
        lob_folder=folder_value(root, "lobFolder"),
        digests=read_digests,
        unread_digests=unread,
        tables=tuple(tables_of(root)),
        empty_digests=sum(not _digest_text(each) for each in root.all("messageDigest")),
        archival_date=_text(root, "archivalDate"),
        schemas=sum(1 for _ in root.all("schemas", "schema")),
    )


def unescaped(text: str) -> str:
    r"""Return a SIARD text value with ``\u00XX`` undone (SIARD 2.2 G_3.3-4)."""
    return _ESCAPED.sub(lambda found: chr(int(found[1], 16)), text)


def folder_value(element: Element, name: str) -> str | None:
    """Return the folder in a child element, or None for an absent or empty one."""
    value = element.value(name)
    return unescaped(value) if value else None


def _text(element: Element, name: str) -> str:
    return unescaped(element.value(name) or "")


def _digest_text(element: Element) -> str:
    return (element.value("digest") or "") if element.children else element.text.strip()


def _digests(root: Element) -> tuple[tuple[Digest, ...], tuple[str, ...]]:
    found: list[Digest] = []
    unread: list[str] = []
    for each in root.all("messageDigest"):
        # 1.0 and 2.0 hold "MD5<hex>" as text, 2.1 and later digestType and digest (SIARD 2.2 M_5.1).
        value = _digest_text(each)
        if not value:
            continue
        digest = digests.parsed(value, each.value("digestType"))
        if digest is None:
            unread.append(value)
        else:
            found.append(digest)
    return tuple(found), tuple(unread)


def tables_of(root: Element) -> Iterator[Table]:
    """Yield the tables of the parsed document in order; raises ``SourceError`` as ``read`` does."""
    schemas = list(root.all("schemas", "schema"))
    schema_folders = _folders(schemas, "schema")
    for schema, schema_folder, schema_number in zip(
        schemas, schema_folders, numbers(schema_folders), strict=True
    ):
        tables = list(schema.all("tables", "table"))
        folders = _folders(tables, "table")
        for table, folder, number in zip(tables, folders, numbers(folders), strict=True):
            yield Table(
                schema=schema_number,
                number=number,
                name=_text(table, "name"),
                schema_name=_text(schema, "name"),
                folder=folder,
                schema_folder=schema_folder,
                rows=_count(table.value("rows")),
                rows_text=table.value("rows") or "",
                columns=_fields(table.all("columns", "column")),
                primary_key=tuple(unescaped(each.text.strip()) for each in table.all("primaryKey", "column")),
            )


def _folders(elements: Sequence[Element], kind: str) -> list[str]:
    owners: dict[str, Element] = {}
    for element in elements:
        folder = _folder(element, kind)
        other = owners.setdefault(folder, element)
        if other is not element:
            raise SourceError(
                f"{NAME} line {element.line}: {kind} {element.value('name') or '(unnamed)'} has the folder "
                f"{folder!r}, which {kind} {other.value('name') or '(unnamed)'} has too",
                hint="Each has a folder of its own (SIARD 2.2 P_4.2-3); the archive's metadata is damaged.",
            )
    return list(owners)


def _folder(element: Element, kind: str) -> str:
    folder = (element.value("folder") or "").strip("/")
    if not folder or "/" in folder or folder in {".", ".."}:
        raise SourceError(
            f"{NAME} line {element.line}: {kind} {element.value('name') or '(unnamed)'} has the folder "
            f"{folder!r}, expected one folder name",
            hint="Each schema and table has a folder (SIARD 2.2 P_4.2-3); the archive's metadata is damaged.",
        )
    return folder


def numbers(folders: Sequence[str]) -> list[int]:
    """Return the number of each folder: the digits at the end of its name, or its position from 0.

    If two of the folders would have the same number, all have their position.
    """
    ending = [re.search(r"(?<![0-9])([0-9]{1,18})$", folder) for folder in folders]
    found = [int(digits[1]) if digits else position for position, digits in enumerate(ending)]
    return found if len(set(found)) == len(found) else list(range(len(folders)))


def _count(text: str | None) -> int | None:
    return int(text) if text and re.fullmatch(r"[0-9]{1,18}", text) else None


def _fields(elements: Iterable[Element]) -> tuple[Field, ...]:
    return tuple(
        Field(
            number=number,
            name=_text(element, "name"),
            type=sys.intern(_text(element, "type")),
            lob_folder=folder_value(element, "lobFolder"),
            folder=folder_value(element, "folder"),
            mime_type=element.value("mimeType") or None,
            fields=_fields(element.all("fields", "field")),
            is_nullable=element.value("nullable") not in _FALSE,
        )
        for number, element in enumerate(elements, start=1)
    )
