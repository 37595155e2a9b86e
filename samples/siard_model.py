"""What a SIARD 2.2 archive is made of, as values, and the text both kinds of its XML share."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from xml.sax.saxutils import escape

METADATA_SPACE = "http://www.bar.admin.ch/xmlns/siard/2/metadata.xsd"
TABLE_SPACE = "http://www.bar.admin.ch/xmlns/siard/2/table.xsd"
XSI_SPACE = "http://www.w3.org/2001/XMLSchema-instance"


@dataclass(frozen=True, slots=True, kw_only=True)
class File:
    """A LOB that is written as a file of its own; text is written in UTF-8."""

    content: bytes | str
    extension: str

    @property
    def data(self) -> bytes:
        """The bytes of the file."""
        return self.content.encode() if isinstance(self.content, str) else self.content


Value = None | bool | int | str | bytes | File | tuple["Value", ...]
"""A cell's value; a tuple holds a structured type's fields after "u" or an array's elements after "a"."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """A column, or an attribute of a structured type; ``type`` is an SQL type or the name of a ``Type``."""

    name: str
    type: str
    nullable: bool = True
    references: str = ""
    elements: int = 0
    media_type: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Type:
    """A structured type and its attributes."""

    name: str
    attributes: tuple[Column, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """A table with its rows, each a tuple as long as ``columns``."""

    name: str
    description: str
    columns: tuple[Column, ...]
    key: tuple[str, ...]
    rows: Sequence[tuple[Value, ...]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Schema:
    """A database schema."""

    name: str
    types: tuple[Type, ...]
    tables: tuple[Table, ...]

    def type(self, column: Column) -> Type | None:
        """Return the structured type of a column, None when it has an SQL type."""
        return next((each for each in self.types if each.name == column.type), None)

    def key_of(self, table: str) -> str:
        """Return the one column of a table's primary key."""
        (key,) = next(each.key for each in self.tables if each.name == table)
        return key


_DECLARED = re.compile(
    r"(?P<name>\w+) (?P<type>[A-Za-z]+(?:\([0-9,]+\))?)(?: ARRAY\[(?P<elements>\d+)\])?"
    r"(?P<required> NOT NULL)?(?: REFERENCES (?P<references>\w+))?(?: AS (?P<media>[a-z/]+))?"
)


def columns(declared: str) -> tuple[Column, ...]:
    """Return columns declared one a line as in SQL: ``Photo BLOB AS image/png``, ``ID INTEGER NOT NULL``.

    ``REFERENCES Table`` makes a foreign key to the table's primary key, ``ARRAY[3]`` an array.
    """
    found = []
    for line in declared.strip().splitlines():
        match = _DECLARED.fullmatch(line.strip())
        if match is None:
            raise ValueError(f"not a column: {line}")
        found.append(
            Column(
                name=match["name"],
                type=match["type"],
                nullable=match["required"] is None,
                references=match["references"] or "",
                elements=int(match["elements"] or 0),
                media_type=match["media"] or "",
            )
        )
    return tuple(found)


def parts(schema: Schema, column: Column) -> tuple[Column, ...]:
    """Return the elements of an array or the fields of a structured type; a plain column has none.

    Elements are named as M_5.7-1 recommends: ``Letters[1]``.
    """
    if column.elements:
        return tuple(
            replace(column, name=f"{column.name}[{number}]", elements=0, nullable=True)
            for number in range(1, column.elements + 1)
        )
    kind = schema.type(column)
    return kind.attributes if kind else ()


def document(lines: Iterator[str]) -> bytes:
    """Return the bytes of an XML document."""
    return ('<?xml version="1.0" encoding="UTF-8"?>\n' + "\n".join(lines) + "\n").encode()


def text(value: str) -> str:
    """Return text as it stands in XML; refuses what SIARD would want escaped with a backslash."""
    if "\\" in value or "  " in value or re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]", value):
        raise ValueError(f"{value!r} holds what SIARD 2.2 G_3.3-4 wants escaped")
    return escape(value, {'"': "&quot;", "'": "&apos;"})
