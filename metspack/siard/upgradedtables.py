"""Upgrade tables of SIARD 1.0 to 2.2: check the form, write documents and schemas; pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from collections.abc import Set as AbstractSet
from functools import partial
from itertools import accumulate
from typing import NoReturn
from xml.parsers import expat

from metspack import safexml
from metspack.errors import SourceError
from metspack.siard import schemas
from metspack.siard.edits import Edit, Splicer, tag_attributes
from metspack.siard.metadata import Column, Table
from metspack.siard.tables import pieces
from metspack.siard.upgrade import TARGET, Upgrade, refusal, root_edits, stated_digest
from metspack.sizes import counted
from metspack.uris import shown

TABLE_SPACE = "http://www.bar.admin.ch/xmlns/siard/2/table.xsd"
"""The namespace of all tables in SIARD 2.1 and 2.2."""

_NAME_SHOWN = 80
_TABLE, _ROW, _COLUMN = 1, 2, 3  # depth of <table>, of <row> and of its cells
_ATTRIBUTES = frozenset({"file", "length", "messageDigest", "digestType", "digest"})
_TIME = r"[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]+)?"
_DAY = "[0-9]{4}-[0-9]{2}-[0-9]{2}"
_TIME_TYPES = (
    ("dateType", "xs:date", f"{_DAY}Z?"),
    ("timeType", "xs:time", f"{_TIME}Z?"),
    ("dateTimeType", "xs:dateTime", f"{_DAY}T{_TIME}Z?"),
)
_IN_UTC = {name: re.compile(f"(?!0000){pattern}") for name, _base, pattern in _TIME_TYPES}
_LONGEST = 100  # the most characters of a date or time


def columns_with_files(blocks: Iterable[bytes], table: Table, what: str) -> AbstractSet[int]:
    """Return the numbers of a table's columns whose cells have attributes: file, length, digest.

    Raises ``SourceError``, naming table, row and column, for rows that are invalid in SIARD 2.2: dates and
    times not in UTC (T_6.3-1, T_6.3-2), cells without a column or out of order, missing values, and
    attributes that a cell cannot have.
    """
    survey = _TableSurvey(table, what)
    for piece, final in pieces(blocks):
        survey.feed(piece, final=final)
    return survey.end()


class _TableSurvey:
    """A check of a table's document, in one reading.

    ``_misplaced`` counts elements out of place, ``_first`` is the first of them. ``_absent`` has, for each
    column that is not nullable, the number of rows without a value and the first of these rows.
    """

    def __init__(self, table: Table, what: str) -> None:
        self._table = table
        self._what = what
        self._with_files: set[int] = set()
        self._row = 0
        self._last = 0  # the number of the row's last cell so far
        self._misplaced = 0
        self._first = ""
        self._absent: dict[int, tuple[int, int]] = {}
        self._numbers = {f"c{column.number}": column.number for column in table.columns}
        # The numbers of columns up to each one that are not nullable.
        needed = (not column.is_nullable for column in table.columns)
        self._needed = list(accumulate(needed, initial=0))
        self._parser = safexml.expat_parser()
        self._install()

    def feed(self, block: bytes, *, final: bool) -> None:
        _parse(self._parser, block, self._table, final=final)

    def end(self) -> AbstractSet[int]:
        if self._misplaced:
            self._refuse(f"elements out of place: {self._misplaced:,}, the first {self._first}")
        for number, (count, first) in self._absent.items():
            column = self._table.columns[number - 1].name
            self._refuse(
                f"column {column}: no value in {counted(count, 'row')}, the first {first:,}, but not nullable"
            )
        return frozenset(self._with_files)

    def _refuse(self, why: str) -> NoReturn:
        raise refusal([f"table {self._table.label}, {why}"], self._what)

    def _where(self) -> str:
        column = f"column {self._table.columns[self._last - 1].name}, " if self._last else ""
        return f"{column}row {self._row:,}"

    def _install(self) -> None:  # noqa: C901 -- closures, which make no calls for a usual cell
        """Install the handlers as closures: they run for every element of every row."""
        parser, numbers = self._parser, self._numbers
        kinds = {each.number: _cell_type(each, has_files=False) for each in self._table.columns}
        timed = {number for number, kind in kinds.items() if kind in _IN_UTC}
        text = ""
        depth = 0
        prefix: str | None = None

        def start(name: str, attributes: dict[str, str]) -> None:
            nonlocal depth, text, prefix
            depth += 1
            if depth == _TABLE:
                prefix = name.rpartition(":")[0]
            elif name.rpartition(":")[0] != prefix:
                self._refuse(f"row {self._row:,}: <{name}> has its own namespace")
            if depth == _COLUMN:
                last = self._last
                self._last = last + 1 if numbers.get(name) == last + 1 else self._other_cell(name)
                if self._last == last:
                    return  # without a column, or a second one: it was counted
                if attributes:
                    self._attributes(attributes)
                if self._last in timed:
                    text = ""
                    parser.CharacterDataHandler = take
            elif depth == _ROW:
                self._end_row()
                self._row += 1
                self._last = 0
                self._expect(name, "row")
                if attributes:
                    self._refuse(f"row {self._row:,}: it has attributes")
            elif depth == _TABLE:
                self._expect(name, "table")
            else:
                self._refuse(f"{self._where()}: it holds an element, as no cell of SIARD 1.0 does")

        def take(piece: str) -> None:
            nonlocal text
            if len(text) < _LONGEST:
                text += piece

        def end(_name: str) -> None:
            nonlocal depth
            if parser.CharacterDataHandler is not None:
                parser.CharacterDataHandler = None
                if not _IN_UTC[str(kinds[self._last])].fullmatch(text.strip()):
                    shown = repr(text[:_LONGEST])
                    self._refuse(f"{self._where()}: {shown} is not a time in UTC (T_6.3-1, T_6.3-2)")
            elif depth == _TABLE:
                self._end_row()
            depth -= 1

        parser.StartElementHandler = start
        parser.EndElementHandler = end

    def _attributes(self, attributes: dict[str, str]) -> None:
        if unknown := sorted(attributes.keys() - _ATTRIBUTES):
            self._refuse(f"{self._where()}: a cell has no attribute {unknown[0]}")
        if _cell_type(self._table.columns[self._last - 1], has_files=True) is None:
            self._refuse(f"{self._where()}: it names a file, but its type is no text, bytes or large object")
        if (text := attributes.get("messageDigest", "").strip()) and stated_digest(text) is None:
            self._refuse(f"{self._where()}: {text!r} is not a digest that a cell can have")
        if text and not attributes.keys().isdisjoint({"digestType", "digest"}):
            self._refuse(f"{self._where()}: it has two digests, and SIARD 2.2 has one")
        self._with_files.add(self._last)

    def _expect(self, name: str, expected: str) -> None:
        if name.rpartition(":")[2] != expected:
            self._count(name)

    def _end_row(self) -> None:
        """End the last row, if there is one."""
        if self._row:
            self._skip(len(self._table.columns) + 1)

    def _other_cell(self, name: str) -> int:
        """Take a cell that is not the next one, and return its number.

        For a cell without a column, it is the number of the last cell.
        """
        number = self._numbers.get(name) or self._numbers.get(name.rpartition(":")[2], self._last)
        if number <= self._last:
            self._count(name)
        else:
            self._skip(number)
        return number

    def _count(self, name: str) -> None:
        self._misplaced += 1
        self._first = self._first or f"<{shown(name)[:_NAME_SHOWN]}> in row {self._row:,}"

    def _skip(self, number: int) -> None:
        """Count as absent the columns between the last cell and ``number`` that are not nullable."""
        needed = self._needed
        if needed[number - 1] == needed[self._last]:
            return
        for column in range(self._last + 1, number):
            if needed[column] > needed[column - 1]:
                count, first = self._absent.get(column, (0, self._row))
                self._absent[column] = count + 1, first


def _parse(parser: expat.XMLParserType, block: bytes, table: Table, *, final: bool) -> None:
    try:
        safexml.feed_block(parser, block, final=final)
    except safexml.XmlError as error:
        raise SourceError(f"{table.path} line {error.line}: {error.message}") from None


def upgraded_table(blocks: Iterable[bytes], table: Table) -> Iterator[bytes]:
    """Yield a table's document with root and digests of cells in the form of SIARD 2.2.

    All other bytes stay; memory is flat. Raises ``SourceError`` for a document that is not well-formed.
    """
    splicer = Splicer(table.path)
    tags: list[tuple[int, str]] = []  # offsets: of the root with its name, of cells with a digest with ""
    is_begun = False

    def start(name: str, attributes: dict[str, str]) -> None:
        nonlocal is_begun
        if not is_begun or "messageDigest" in attributes:
            tags.append((parser.CurrentByteIndex, "" if is_begun else name))
        is_begun = True

    parser = safexml.expat_parser()
    parser.StartElementHandler = start
    for piece, final in pieces(blocks):
        splicer.take(piece)
        _parse(parser, piece, table, final=final)
        edits = [edit for at, root in tags for edit in _tag_edits(splicer, at - splicer.base, root)]
        tags.clear()
        yield splicer.edited(edits, None if final else parser.CurrentByteIndex)


def _tag_edits(splicer: Splicer, start: int, root: str) -> list[Edit]:
    """Return the edits of the tag of the root, or of a cell with a digest."""
    data, encoding = splicer.data, splicer.encoding
    if root:
        return root_edits(data, start, encoding, root.rpartition(":")[0], TABLE_SPACE)
    value = tag_attributes(data, start, encoding)["messageDigest"]
    found = stated_digest(value.text)
    if found is not None:
        text = f'digestType="{found[0]}" digest="{found[1]}"'
        return [Edit(start=value.named, stop=value.stop + encoding.unit, text=text)]
    # An empty digest has no value to keep.
    return [Edit(start=value.named - encoding.unit, stop=value.stop + encoding.unit, text="")]


def _cell_type(column: Column, *, has_files: bool) -> str | None:
    notation = schemas.notation(column.type)
    return None if notation is None else schemas.cell_type(notation, has_files=has_files)


_LARGE = """\
  <xs:complexType name="{name}">
    <xs:simpleContent>
      <xs:extension base="{base}">
        <xs:attribute name="file" type="xs:anyURI"/>
        <xs:attribute name="length" type="xs:integer"/>
        <xs:attribute name="digestType" type="digestTypeText"/>
        <xs:attribute name="digest" type="xs:string"/>
      </xs:extension>
    </xs:simpleContent>
  </xs:complexType>"""
_LARGE_TYPES = (("clobType", "xs:string"), ("blobType", "xs:hexBinary"))
_TIMES = """\
  <xs:simpleType name="{name}">
    <xs:restriction base="{base}">{limits}
      <xs:pattern value="{pattern}"/>
    </xs:restriction>
  </xs:simpleType>"""


# The years 0001 to 9999 (T_6.3-1), in the form that DBPTK's validator expects.
_LIMITS = {"dateType": "", "dateTimeType": "T00:00:00.000000000"}


def _limits(name: str) -> str:
    if (time := _LIMITS.get(name)) is None:
        return ""
    bounds = (("minInclusive", "0001-01-01"), ("maxExclusive", "10000-01-01"))
    return "".join(f'\n      <xs:{facet} value="{day}{time}Z"/>' for facet, day in bounds)


def table_schema(table: Table, with_files: AbstractSet[int] = frozenset()) -> bytes:
    """Return the schema of a table in SIARD 2.2 (P_4.3-2, 3, 7, 8; T_6.1-2, T_6.2-1, T_6.3-1).

    ``with_files`` are the numbers of the columns whose cells have attributes, of any type.
    """
    rows = []
    for column in table.columns:
        least = ' minOccurs="0"' if column.is_nullable else ""
        kind = _cell_type(column, has_files=column.number in with_files)
        rows.append(f'      <xs:element name="c{column.number}" type="{kind}"{least}/>')
    digest_types = "".join(f'<xs:enumeration value="{each}"/>' for each in schemas.ENUMERATIONS["digestType"])
    root = (
        f'<xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema" xmlns="{TABLE_SPACE}" '
        f'targetNamespace="{TABLE_SPACE}" elementFormDefault="qualified" version="{TARGET}">'
    )
    lines = (
        '<?xml version="1.0" encoding="UTF-8"?>',
        root,
        '  <xs:element name="table">',
        "    <xs:complexType>",
        "      <xs:sequence>",
        '        <xs:element name="row" type="recordType" minOccurs="0" maxOccurs="unbounded"/>',
        "      </xs:sequence>",
        f'      <xs:attribute name="version" type="xs:string" fixed="{TARGET}" use="required"/>',
        "    </xs:complexType>",
        "  </xs:element>",
        '  <xs:complexType name="recordType">',
        "    <xs:sequence>",
        *rows,
        "    </xs:sequence>",
        "  </xs:complexType>",
        *(_LARGE.format(name=name, base=base) for name, base in _LARGE_TYPES),
        '  <xs:simpleType name="digestTypeText">',
        f'    <xs:restriction base="xs:string">{digest_types}</xs:restriction>',
        "  </xs:simpleType>",
        *(
            _TIMES.format(name=name, base=base, limits=_limits(name), pattern=each)
            for name, base, each in _TIME_TYPES
        ),
        "</xs:schema>",
    )
    return "".join(f"{line}\n" for line in lines).encode()


def table_schemas(tables: Iterable[Table], upgrade: Upgrade) -> dict[str, Callable[[], bytes]]:
    """Return functions that return the schema of a table, by the name of the schema's entry."""
    return {
        f"{table.path.removesuffix('.xml')}.xsd": partial(
            table_schema, table, upgrade.get(table.path, frozenset())
        )
        for table in tables
    }
