"""The header of a SIARD 2.2 archive: metadata.xml and a grammar for what such a file holds."""

from __future__ import annotations

from collections.abc import Iterator

from siard_model import METADATA_SPACE, XSI_SPACE, Column, Schema, Table, Type, parts, text


def metadata(database: str, schema: Schema, digest: str) -> Iterator[str]:
    """Yield the lines of metadata.xml; ``digest`` is the MD5 of everything before ``header/``."""
    yield (
        f'<siardArchive xmlns="{METADATA_SPACE}" xmlns:xsi="{XSI_SPACE}" '
        f'xsi:schemaLocation="{METADATA_SPACE} metadata.xsd" version="2.2">'
    )
    yield f"  <dbname>{text(database)}</dbname>"
    yield "  <description>A small trading house: goods, orders, people.</description>"
    yield "  <dataOwner>Nobody: everything in this database is made up</dataOwner>"
    yield "  <dataOriginTimespan>2024 to 2025</dataOriginTimespan>"
    yield "  <producerApplication>metspack samples/make_northwind.py</producerApplication>"
    yield "  <archivalDate>2025-06-01</archivalDate>"
    yield f"  <messageDigest><digestType>MD5</digestType><digest>{digest}</digest></messageDigest>"
    yield "  <schemas>"
    yield "    <schema>"
    yield f"      <name>{schema.name}</name>"
    yield "      <folder>schema0</folder>"
    if schema.types:
        yield "      <types>"
        for kind in schema.types:
            yield from _type_metadata(schema, kind)
        yield "      </types>"
    yield "      <tables>"
    for number, table in enumerate(schema.tables):
        yield from _table_metadata(schema, table, number)
    yield "      </tables>"
    yield "    </schema>"
    yield "  </schemas>"
    yield "  <users>"
    yield "    <user><name>dbo</name></user>"
    yield "  </users>"
    yield "</siardArchive>"


def _type_metadata(schema: Schema, kind: Type) -> Iterator[str]:
    yield "        <type>"
    yield f"          <name>{kind.name}</name>"
    yield "          <category>udt</category>"
    yield "          <instantiable>true</instantiable>"
    yield "          <final>false</final>"
    yield "          <attributes>"
    for attribute in kind.attributes:
        yield "            <attribute>"
        yield f"              <name>{attribute.name}</name>"
        yield from _type_lines(schema, attribute, "              ")
        yield "            </attribute>"
    yield "          </attributes>"
    yield "        </type>"


def _type_lines(schema: Schema, column: Column, indent: str) -> Iterator[str]:
    if schema.type(column):
        yield f"{indent}<typeSchema>{schema.name}</typeSchema>"
        yield f"{indent}<typeName>{column.type}</typeName>"
    else:
        yield f"{indent}<type>{column.type}</type>"


def _table_metadata(schema: Schema, table: Table, number: int) -> Iterator[str]:
    yield "        <table>"
    yield f"          <name>{table.name}</name>"
    yield f"          <folder>table{number}</folder>"
    yield f"          <description>{text(table.description)}</description>"
    yield "          <columns>"
    for column in table.columns:
        yield from _column_metadata(schema, column)
    yield "          </columns>"
    yield "          <primaryKey>"
    yield f"            <name>PK_{table.name}</name>"
    yield from (f"            <column>{name}</column>" for name in table.key)
    yield "          </primaryKey>"
    references = [column for column in table.columns if column.references]
    if references:
        yield "          <foreignKeys>"
        for column in references:
            yield "            <foreignKey>"
            yield f"              <name>FK_{table.name}_{column.name}</name>"
            yield f"              <referencedSchema>{schema.name}</referencedSchema>"
            yield f"              <referencedTable>{column.references}</referencedTable>"
            yield "              <reference>"
            yield f"                <column>{column.name}</column>"
            yield f"                <referenced>{schema.key_of(column.references)}</referenced>"
            yield "              </reference>"
            yield "            </foreignKey>"
        yield "          </foreignKeys>"
    yield f"          <rows>{len(table.rows)}</rows>"
    yield "        </table>"


def _column_metadata(schema: Schema, column: Column) -> Iterator[str]:
    indent = "              "
    yield "            <column>"
    yield f"{indent}<name>{column.name}</name>"
    yield from _type_lines(schema, column, indent)
    inner = parts(schema, column)
    if column.media_type:
        yield f"{indent}<mimeType>{column.media_type}</mimeType>"
    if inner:
        yield from _fields(schema, inner, indent)
    yield f"{indent}<nullable>{str(column.nullable).lower()}</nullable>"
    if column.elements:
        yield f"{indent}<cardinality>{column.elements}</cardinality>"
    yield "            </column>"


def _fields(schema: Schema, columns: tuple[Column, ...], indent: str) -> Iterator[str]:
    yield f"{indent}<fields>"
    for part in columns:
        yield f"{indent}  <field>"
        yield f"{indent}    <name>{part.name}</name>"
        below = parts(schema, part)
        if below:
            yield from _fields(schema, below, indent + "    ")
        if part.media_type:
            yield f"{indent}    <mimeType>{part.media_type}</mimeType>"
        yield f"{indent}  </field>"
    yield f"{indent}</fields>"


_GRAMMAR = """
archive: dbname=some description=text? dataOwner=some dataOriginTimespan=some lobFolder=uri?
  producerApplication=text? archivalDate=date messageDigest=digest* schemas=schemas users=users
digest: digestType=algorithm digest=hex
schemas: schema=schema+
schema: name=text folder=folder types=types? tables=tables
types: type=type+
type: name=text category=category instantiable=boolean final=boolean attributes=attributes
attributes: attribute=attribute+
attribute: name=text ( type=sql | typeSchema=text? typeName=text )
tables: table=table+
table: name=text folder=folder description=text? columns=columns primaryKey=key foreignKeys=foreignKeys?
  rows=count
columns: column=column+
column: name=text lobFolder=uri? ( type=sql mimeType=text? | typeSchema=text? typeName=text )
  fields=fields? nullable=boolean cardinality=count?
fields: field=field+
field: name=text lobFolder=uri? fields=fields? mimeType=text?
key: name=text column=text+
foreignKeys: foreignKey=foreignKey+
foreignKey: name=text referencedSchema=text referencedTable=text reference=reference+
reference: column=text referenced=text
users: user=user*
user: name=text
"""
"""The grammar of metadata.xml: a type a line, its children as element=type with ? * + as in a DTD.

lobFolder does not occur in the samples but in what becomes of them when their LOBs move out.
"""

_SIMPLE = {
    "some": ("string", 'minLength value="1"'),
    "text": ("string", ""),
    "uri": ("anyURI", ""),
    "date": ("date", ""),
    "boolean": ("boolean", ""),
    "count": ("nonNegativeInteger", ""),
    "folder": ("string", 'pattern value="[A-Za-z][A-Za-z0-9_]*"'),
    "algorithm": ("string", 'pattern value="MD5|SHA-1|SHA-256"'),
    "hex": ("string", 'pattern value="([0-9A-Fa-f]{2})+"'),
    "category": ("string", 'pattern value="udt|distinct"'),
    "sql": ("string", r'pattern value="[A-Z]+(\(\d+(,\d+)?\))?"'),
}

_COUNTS = {"?": ' minOccurs="0"', "*": ' minOccurs="0" maxOccurs="unbounded"', "+": ' maxOccurs="unbounded"'}

_CHOICE = {
    "(": ["<xs:choice>", "<xs:sequence>"],
    "|": ["</xs:sequence>", "<xs:sequence>"],
    ")": ["</xs:sequence>", "</xs:choice>"],
}


def metadata_grammar() -> Iterator[str]:
    """Yield the lines of metadata.xsd."""
    yield (
        f'<xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema" xmlns="{METADATA_SPACE}" '
        f'targetNamespace="{METADATA_SPACE}" elementFormDefault="qualified" version="2.2">'
    )
    yield '  <xs:element name="siardArchive" type="archiveType"/>'
    for line in _GRAMMAR.strip().replace("\n  ", " ").splitlines():
        name, _, children = line.partition(": ")
        yield f'  <xs:complexType name="{name}Type">'
        yield "    <xs:sequence>"
        for child in children.split():
            yield from ("      " + line for line in _particle(child))
        yield "    </xs:sequence>"
        if name == "archive":
            yield '    <xs:attribute name="version" type="xs:string" fixed="2.2" use="required"/>'
        yield "  </xs:complexType>"
    for name, (base, facet) in _SIMPLE.items():
        yield f'  <xs:simpleType name="{name}Type">'
        yield (
            f'    <xs:restriction base="xs:{base}">'
            + (f"<xs:{facet}/>" if facet else "")
            + "</xs:restriction>"
        )
        yield "  </xs:simpleType>"
    yield "</xs:schema>"


def _particle(child: str) -> list[str]:
    if child in _CHOICE:
        return _CHOICE[child]
    name, _, kind = child.partition("=")
    count = _COUNTS.get(kind[-1], "")
    return [f'<xs:element name="{name}" type="{kind.rstrip("?*+")}Type"{count}/>']
