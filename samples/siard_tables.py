"""A table of a SIARD 2.2 archive: its rows, their grammar, and the files of its LOBs."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator

from siard_model import TABLE_SPACE, XSI_SPACE, Column, File, Schema, Table, Value, document, parts, text


def table_files(schema: Schema, table: Table, number: int) -> Iterator[tuple[str, bytes]]:
    """Yield names and bytes: the rows, their grammar, then the files of LOBs in the order of the cells."""
    folder = f"content/schema0/table{number}"
    files: list[tuple[str, bytes]] = []
    rows = [
        "<row>"
        + "".join(_cell(f"c{i}", f"{folder}/lob{i}", record, value, files) for i, value in enumerate(row, 1))
        + "</row>"
        for record, row in enumerate(table.rows)
    ]
    head = (
        f'<table xmlns="{TABLE_SPACE}" xmlns:xsi="{XSI_SPACE}" '
        f'xsi:schemaLocation="{TABLE_SPACE} table{number}.xsd" version="2.2">'
    )
    yield f"{folder}/table{number}.xml", document(iter([head, *rows, "</table>"]))
    yield f"{folder}/table{number}.xsd", document(_table_grammar(schema, table))
    yield from files


def _cell(tag: str, folder: str, record: int, value: Value, files: list[tuple[str, bytes]]) -> str:
    """Return a cell with what is in it, and add the files of its LOBs to ``files``."""
    if value is None:
        return ""
    if isinstance(value, File):
        name = f"{folder}/record{record}.{value.extension}"
        files.append((name, value.data))
        # Bytes of binary, characters of text (T_6.2-1).
        length = len(value.content)
        digest = hashlib.md5(value.data, usedforsecurity=False).hexdigest()
        return f'<{tag} file="{name}" length="{length}" digestType="MD5" digest="{digest}"/>'
    if isinstance(value, tuple):
        kind, fields = str(value[0]), value[1:]
        inner = "".join(
            _cell(f"{kind}{i}", f"{folder}/{kind}{i}", record, field, files)
            for i, field in enumerate(fields, 1)
        )
    elif isinstance(value, bool):
        inner = str(value).lower()
    elif isinstance(value, int | str):
        inner = text(str(value))
    else:
        inner = value.hex().upper()
    return f"<{tag}>{inner}</{tag}>"


_XML_TYPES = {
    "BLOB": "blobType",
    "BOOLEAN": "xs:boolean",
    "CHARACTER": "xs:string",
    "CLOB": "clobType",
    "DATE": "dateType",
    "DECIMAL": "xs:decimal",
    "INTEGER": "xs:integer",
    "REAL": "xs:float",
    "SMALLINT": "xs:integer",
    "TIMESTAMP": "dateTimeType",
    "VARCHAR": "xs:string",
}
"""SQL types and their XML types (P_4.3-3), for those that occur here."""

_LOB_TYPES = (
    *(
        line
        for name, base in (("clobType", "xs:string"), ("blobType", "xs:hexBinary"))
        for line in (
            f'  <xs:complexType name="{name}">',
            "    <xs:simpleContent>",
            f'      <xs:extension base="{base}">',
            '        <xs:attribute name="file" type="xs:anyURI"/>',
            '        <xs:attribute name="length" type="xs:nonNegativeInteger"/>',
            '        <xs:attribute name="digestType" type="digestTypeType"/>',
            '        <xs:attribute name="digest" type="xs:string"/>',
            "      </xs:extension>",
            "    </xs:simpleContent>",
            "  </xs:complexType>",
        )
    ),
    '  <xs:simpleType name="digestTypeType">',
    '    <xs:restriction base="xs:string">',
    '      <xs:enumeration value="MD5"/>',
    '      <xs:enumeration value="SHA-1"/>',
    '      <xs:enumeration value="SHA-256"/>',
    "    </xs:restriction>",
    "  </xs:simpleType>",
    # Years 0001 to 9999, UTC (T_6.3-1, T_6.3-2).
    *(
        line
        for name, base, pattern in (
            ("dateType", "xs:date", r"\d{4}-\d\d-\d\dZ?"),
            ("dateTimeType", "xs:dateTime", r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z?"),
        )
        for line in (
            f'  <xs:simpleType name="{name}">',
            f'    <xs:restriction base="{base}"><xs:pattern value="{pattern}"/></xs:restriction>',
            "  </xs:simpleType>",
        )
    ),
)


def _table_grammar(schema: Schema, table: Table) -> Iterator[str]:
    yield (
        f'<xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema" xmlns="{TABLE_SPACE}" '
        f'targetNamespace="{TABLE_SPACE}" elementFormDefault="qualified" version="2.2">'
    )
    yield '  <xs:element name="table">'
    yield "    <xs:complexType>"
    yield "      <xs:sequence>"
    yield '        <xs:element name="row" type="rowType" minOccurs="0" maxOccurs="unbounded"/>'
    yield "      </xs:sequence>"
    yield '      <xs:attribute name="version" type="xs:string" fixed="2.2" use="required"/>'
    yield "    </xs:complexType>"
    yield "  </xs:element>"
    yield '  <xs:complexType name="rowType">'
    yield "    <xs:sequence>"
    for number, column in enumerate(table.columns, 1):
        yield from _cell_grammar(schema, column, f"c{number}", "      ")
    yield "    </xs:sequence>"
    yield "  </xs:complexType>"
    yield from _LOB_TYPES
    yield "</xs:schema>"


def _cell_grammar(schema: Schema, column: Column, tag: str, indent: str) -> Iterator[str]:
    element = f'{indent}<xs:element name="{tag}"' + (' minOccurs="0"' if column.nullable else "")
    inner = parts(schema, column)
    if not inner:
        yield f'{element} type="{_XML_TYPES[column.type.partition("(")[0]]}"/>'
        return
    yield f"{element}>"
    yield f"{indent}  <xs:complexType>"
    yield f"{indent}    <xs:sequence>"
    kind = "a" if column.elements else "u"
    for number, part in enumerate(inner, 1):
        yield from _cell_grammar(schema, part, f"{kind}{number}", indent + "      ")
    yield f"{indent}    </xs:sequence>"
    yield f"{indent}  </xs:complexType>"
    yield f"{indent}</xs:element>"
