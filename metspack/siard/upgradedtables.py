"""Tables of SIARD 1.0 as tables of 2.2: form checked, documents and schemas written; pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from functools import partial
from itertools import accumulate
from typing import NoReturn

from metspack import safexml
from metspack.errors import SourceError
from metspack.siard import schemas
from metspack.siard.edits import Edit, tag_attributes
from metspack.siard.metadata import Column, Table
from metspack.siard.offsets import Encoding, detected
from metspack.siard.tables import pieces
from metspack.siard.upgrade import TARGET, Upgrade, refusal, root_edits, stated_digest
from metspack.sizes import counted
from metspack.uris import shown

TABLE_SPACE = "http://www.bar.admin.ch/xmlns/siard/2/table.xsd"
"""The namespace of all tables in SIARD 2.1 and 2.2."""

_NAME_SHOWN = 80
_HEAD = 1024  # bytes in which the declaration stands
_TABLE, _ROW, _COLUMN = 1, 2, 3  # depth of <table>, of <row> and of its cells
_ATTRIBUTES = frozenset({"file", "length", "messageDigest", "digestType", "digest"})
_DAY = "(?!0000)[0-9]{4}-[0-9]{2}-[0-9]{2}"
_TIME = r"[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]+)?"
_IN_UTC = {
    "dateType": re.compile(f"{_DAY}Z?"),
    "timeType": re.compile(f"{_TIME}Z?"),
    "dateTimeType": re.compile(f"{_DAY}T{_TIME}Z?"),
}
_LONGEST = 100  # characters of a date or time that are looked at


def columns_with_files(blocks: Iterable[bytes], table: Table, what: str) -> AbstractSet[int]:
    """Return the numbers of a table's columns whose cells have attributes: file, length, digest.

    Raises ``SourceError`` naming table, row and column for rows that cannot be those of SIARD 2.2:
    dates and times beyond UTC (T_6.3-1, T_6.3-2), cells of no column or in another order, missing values,
    and attributes that a cell cannot have.
    """
    survey = _TableSurvey(table, what)
    for piece, final in pieces(blocks):
        survey.feed(piece, final=final)
    return survey.end()


class _TableSurvey:
    """One reading of a table's document."""

    def __init__(self, table: Table, what: str) -> None:
        self._table = table
        self._what = what
        self._kinds = {each.number: _cell_type(each, has_files=False) for each in table.columns}
        self._form = _TableForm(table.columns)
        self._with_files: set[int] = set()
        self._row = 0
        self._last = 0
        self._parser = safexml.expat_parser()
        self._install()

    def feed(self, block: bytes, *, final: bool) -> None:
        try:
            safexml.feed_block(self._parser, block, final=final)
        except safexml.XmlError as error:
            raise SourceError(f"{self._table.path} line {error.line}: {error.message}") from None

    def end(self) -> AbstractSet[int]:
        if self._form.odd:
            self._refuse(f"elements out of place: {self._form.odd:,}, the first {self._form.first}")
        for number, (count, first) in self._form.absent.items():
            column = self._table.columns[number - 1].name
            self._refuse(
                f"column {column}: no value in {counted(count, 'row')}, the first {first:,}, but not nullable"
            )
        return frozenset(self._with_files)

    def _refuse(self, why: str) -> NoReturn:
        raise refusal([f"table {self._table.label}, {why}"], self._what)

    def _where(self) -> str:
        columns = [each.name for each in self._table.columns if each.number == self._last]
        return ", ".join((*(f"column {each}" for each in columns), f"row {self._row:,}"))

    def _install(self) -> None:  # noqa: C901 -- closures, which call nothing for a usual cell
        """Install the handlers as closures: they run for every element of every row."""
        form, parser, kinds = self._form, self._parser, self._kinds
        numbers, timed = form.numbers, {number for number, kind in kinds.items() if kind in _IN_UTC}
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
                self._last = last + 1 if numbers.get(name) == last + 1 else form.cell(name, last)
                if self._last == last:
                    return  # a cell of no column, or a second one: the form counts it
                if attributes:
                    self._attributes(attributes)
                if self._last in timed:
                    text = ""
                    parser.CharacterDataHandler = take
            elif depth == _ROW:
                form.row(name, self._last)
                self._row += 1
                self._last = 0
                if attributes:
                    self._refuse(f"row {self._row:,}: it has attributes")
            elif depth == _TABLE:
                form.root(name)
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
                form.end_row(self._last)
            depth -= 1

        parser.StartElementHandler = start
        parser.EndElementHandler = end

    def _attributes(self, attributes: dict[str, str]) -> None:
        if odd := sorted(attributes.keys() - _ATTRIBUTES):
            self._refuse(f"{self._where()}: a cell has no attribute {odd[0]}")
        if _cell_type(self._table.columns[self._last - 1], has_files=True) is None:
            self._refuse(f"{self._where()}: it names a file, but its type is no text, bytes or large object")
        if (text := attributes.get("messageDigest", "").strip()) and stated_digest(text) is None:
            self._refuse(f"{self._where()}: {text!r} is not a digest that a cell can have")
        if text and not attributes.keys().isdisjoint({"digestType", "digest"}):
            self._refuse(f"{self._where()}: it has two digests, and SIARD 2.2 has one")
        self._with_files.add(self._last)


class _TableForm:
    """The form of one table so far; its methods are called for elements that begin.

    ``odd`` counts the elements that the table has no place for, ``first`` is the first of them. ``absent``
    has, for each column that needs a cell, the number of rows without one and the first of these rows.
    """

    def __init__(self, columns: Sequence[Column]) -> None:
        self.odd = 0
        self.first = ""
        self.absent: dict[int, tuple[int, int]] = {}
        self.numbers = {f"c{column.number}": column.number for column in columns}
        """The columns' numbers by the names of their cells."""
        self._columns = len(columns)
        # How many columns up to each must have a cell.
        self._needed = list(accumulate((not column.is_nullable for column in columns), initial=0))
        self._row = 0

    def root(self, name: str) -> None:
        """Check the name of the root."""
        self._expect(name, "table")

    def row(self, name: str, last: int) -> None:
        """Take a row; ``last`` is the number of the last cell of the one before."""
        self.end_row(last)
        self._row += 1
        self._expect(name, "row")

    def end_row(self, last: int) -> None:
        """End the row before, if there is one; ``last`` is the number of its last cell."""
        if self._row and last < self._columns:
            self._skip(last, self._columns + 1)

    def cell(self, name: str, last: int) -> int:
        """Take a cell that is not the next after the cell ``last``; return the number reached.

        That is the cell's number, or ``last`` for a cell of no column.
        """
        number = self.numbers.get(name) or self.numbers.get(name.rpartition(":")[2], 0)
        if not number:
            self._count(name)
            return last
        if number <= last:
            self._count(name)
        else:
            self._skip(last, number)
        return number

    def _expect(self, name: str, expected: str) -> None:
        if name.rpartition(":")[2] != expected:
            self._count(name)

    def _count(self, name: str) -> None:
        self.odd += 1
        self.first = self.first or f"<{shown(name)[:_NAME_SHOWN]}> in row {self._row:,}"

    def _skip(self, last: int, number: int) -> None:
        """Count the columns between two cells that need a cell and lack it in this row."""
        needed = self._needed
        if needed[number - 1] == needed[last]:
            return
        for column in range(last + 1, number):
            if needed[column] > needed[column - 1]:
                count, first = self.absent.get(column, (0, self._row))
                self.absent[column] = count + 1, first


def upgraded_table(blocks: Iterable[bytes], table: Table) -> Iterator[bytes]:
    """Yield a table's document with the root of SIARD 2.2, and digests of cells as 2.2 has them.

    All other bytes stay the same; memory is flat. Raises ``SourceError`` for a document that is not
    well-formed.
    """
    stream = _TableStream(table)
    for piece, final in pieces(blocks):
        yield from stream.feed(piece, final=final)


class _TableStream:
    """A table's document in passage: offsets of tags to edit, and bytes not yet yielded."""

    def __init__(self, table: Table) -> None:
        self._table = table
        self._tags: list[tuple[int, str]] = []
        self._held = b""
        self._base = 0
        self._head = b""
        self._encoding: Encoding | None = None
        self._depth = 0
        self._parser = safexml.expat_parser()
        self._parser.StartElementHandler = self._start
        self._parser.EndElementHandler = self._end

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        if not self._depth or "messageDigest" in attributes:
            self._tags.append((self._parser.CurrentByteIndex, name if not self._depth else ""))
        self._depth += 1

    def _end(self, _name: str) -> None:
        self._depth -= 1

    def feed(self, block: bytes, *, final: bool) -> Iterator[bytes]:
        self._held += block
        self._head += block[: _HEAD - len(self._head)]
        try:
            safexml.feed_block(self._parser, block, final=final)
        except safexml.XmlError as error:
            raise SourceError(f"{self._table.path} line {error.line}: {error.message}") from None
        at = 0
        for start, root in self._tags:
            self._encoding = encoding = self._encoding or detected(self._head, self._table.path)
            for edit in self._edits(start - self._base, root, encoding):
                yield self._held[at : edit.start]
                yield encoding.encoded(edit.text)
                at = edit.stop
        self._tags.clear()
        reached = max(self._parser.CurrentByteIndex, 0) - self._base
        done = len(self._held) if final else max(at, reached)
        yield self._held[at:done]
        self._held = self._held[done:]
        self._base += done

    def _edits(self, start: int, root: str, encoding: Encoding) -> list[Edit]:
        if root:
            prefix = root.rpartition(":")[0]
            return root_edits(self._held, start, encoding, prefix, TABLE_SPACE)
        value = tag_attributes(self._held, start, encoding)["messageDigest"]
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
    <xs:restriction base="{base}">
      <xs:pattern value="{pattern}"/>
    </xs:restriction>
  </xs:simpleType>"""
_NO_YEAR = "[0-9]{4}-[0-9]{2}-[0-9]{2}"
_TIME_TYPES = (
    ("dateType", "xs:date", f"{_NO_YEAR}Z?"),
    ("timeType", "xs:time", f"{_TIME}Z?"),
    ("dateTimeType", "xs:dateTime", f"{_NO_YEAR}T{_TIME}Z?"),
)


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
        '        <xs:element name="row" type="rowType" minOccurs="0" maxOccurs="unbounded"/>',
        "      </xs:sequence>",
        f'      <xs:attribute name="version" type="xs:string" fixed="{TARGET}" use="required"/>',
        "    </xs:complexType>",
        "  </xs:element>",
        '  <xs:complexType name="rowType">',
        "    <xs:sequence>",
        *rows,
        "    </xs:sequence>",
        "  </xs:complexType>",
        *(_LARGE.format(name=name, base=base) for name, base in _LARGE_TYPES),
        '  <xs:simpleType name="digestTypeText">',
        f'    <xs:restriction base="xs:string">{digest_types}</xs:restriction>',
        "  </xs:simpleType>",
        *(_TIMES.format(name=name, base=base, pattern=each) for name, base, each in _TIME_TYPES),
        "</xs:schema>",
    )
    return "".join(f"{line}\n" for line in lines).encode()


def table_schemas(tables: Iterable[Table], upgrade: Upgrade) -> dict[str, Callable[[], bytes]]:
    """Return a function for the schema of each table, by the name of the schema's entry."""
    return {
        f"{table.path.removesuffix('.xml')}.xsd": partial(
            table_schema, table, upgrade.get(table.path, frozenset())
        )
        for table in tables
    }
