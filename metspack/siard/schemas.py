"""The elements of metadata.xml in SIARD 2.2, their order and number, and the types of SQL.

These are facts of the published schema, from which ``metadata_schema`` writes a schema. ``faults`` checks the
types of only those texts that make an archive unusable when they are wrong.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from collections.abc import Set as AbstractSet
from itertools import islice
from typing import Any

from lxml import etree

from metspack import safexml

# --- The SQL types that SIARD 2.2 has, their notations, and their types in the schema of a table -----------

_LENGTH = r"(\s*\(\s*[1-9][0-9]*\s*\))?"
_DIGITS = r"(\s*\(\s*(0|[1-9][0-9]*)\s*\))?"
_SCALE = r"(\s*\(\s*[1-9][0-9]*\s*(,\s*[0-9]+\s*)?\))?"
_LARGE = r"(\s*\(\s*[1-9][0-9]*(\s*(K|M|G))?\s*\))?"
_INTERVAL = (
    rf"INTERVAL\s+(((YEAR|MONTH|DAY|HOUR|MINUTE){_LENGTH}"
    rf"(\s+TO\s+(MONTH|DAY|HOUR|MINUTE|SECOND){_LENGTH})?)|SECOND{_SCALE})"
)
_ZONE = r"(\s+WITH\s+TIME\s+ZONE)?"
_BINARY, _CHARACTERS = "xs:hexBinary", "xs:string"
_LARGE_FORMS = {_BINARY: "blobType", _CHARACTERS: "clobType"}

# Patterns of XML Schema that are regular expressions of Python too, and the types of cells (P_4.3-3).
_TYPES = (
    ("INTEGER|INT|SMALLINT|BIGINT", "xs:integer"),
    (f"(NUMERIC|DECIMAL|DEC){_SCALE}", "xs:decimal"),
    ("REAL", "xs:float"),
    (f"DOUBLE PRECISION|FLOAT{_LENGTH}", "xs:double"),
    (rf"(CHARACTER|CHAR)(\s+VARYING)?{_LENGTH}|VARCHAR{_LENGTH}", _CHARACTERS),
    (rf"NATIONAL\s+(CHARACTER|CHAR)(\s+VARYING)?{_LENGTH}|NCHAR( VARYING)?{_LENGTH}", _CHARACTERS),
    (rf"(CHARACTER\s+LARGE\s+OBJECT|CLOB){_LARGE}", "clobType"),
    (rf"((NATIONAL\s+CHARACTER|NCHAR)\s+LARGE\s+OBJECT|NCLOB){_LARGE}", "clobType"),
    ("XML", "clobType"),
    (rf"(BINARY(\s+VARYING)?|VARBINARY){_LENGTH}", _BINARY),
    (rf"(BINARY\s+LARGE\s+OBJECT|BLOB){_LARGE}", "blobType"),
    ("DATE", "dateType"),
    (f"TIME{_ZONE}{_LENGTH}", "timeType"),
    (f"TIMESTAMP{_ZONE}{_DIGITS}", "dateTimeType"),
    (_INTERVAL, "xs:duration"),
    ("BOOLEAN", "xs:boolean"),
    ("DATALINK", "blobType"),
)
PATTERNS = tuple(pattern for pattern, _kind in _TYPES)
"""The notations of all types, as patterns of XML Schema."""

_COMPILED = tuple((re.compile(pattern, re.ASCII), kind) for pattern, kind in _TYPES)
_BLANKS = re.compile(r" ?([(,]) ?| (?=\))")
_TIME = re.compile(r"(TIME|TIMESTAMP)(\([0-9]+\))? ?(?:(WITH)|WITHOUT) TIME ZONE")


def notation(text: str) -> str | None:
    """Return a type of SQL:1999 in the notation of SIARD 2.2, or None for a type it lacks.

    A valid notation is kept. Letter case and white space have no meaning in SQL, ``WITHOUT TIME ZONE`` is the
    default, and ``TIME(0)`` is ``TIME``. SIARD has the precision of a time after its zone, SQL before it.
    """
    for each in (text, _plain(text)):
        if any(pattern.fullmatch(each) for pattern, _kind in _COMPILED):
            return each
    return None


def _plain(text: str) -> str:
    plain = _BLANKS.sub(lambda found: found[1] or "", " ".join(text.upper().split()))
    if (found := _TIME.fullmatch(plain)) is not None:
        name, precision, zone = found.groups("")
        plain = f"{name}{' WITH TIME ZONE' if zone else ''}{precision}"
    return re.sub(r"^(TIME(?: WITH TIME ZONE)?)\(0\)$", r"\1", plain)


def cell_type(text: str, *, has_files: bool) -> str | None:
    """Return the type of a column's cells in the schema of a table (P_4.3-3), or None.

    ``text`` is the column's type. ``has_files``: cells name files, as only those of texts, bytes and large
    objects can. The result is None for another type then, and for any type that SIARD 2.2 lacks.
    """
    kind = next((kind for pattern, kind in _COMPILED if pattern.fullmatch(text)), None)
    if kind is None or not has_files:
        return kind
    large = _LARGE_FORMS.get(kind, kind)
    return large if large in _LARGE_FORMS.values() else None


# --- The elements of metadata.xml ---------------------------------------------------------------------------

METADATA_SPACE = "http://www.bar.admin.ch/xmlns/siard/2/metadata.xsd"
"""The namespace of metadata.xml in SIARD 2.1 and 2.2."""

# Each line is an element and its content in order: ? at most once, + once or more, * any number, | between
# alternatives.
_ELEMENTS = """
siardArchive: dbname description? archiver? archiverContact? dataOwner dataOriginTimespan lobFolder? \
producerApplication? archivalDate messageDigest* clientMachine? databaseProduct? connection? databaseUser? \
schemas users roles? privileges?
schemas: schema+
tables: table+
views: view+
view: name query? queryOriginal? description? columns rows?
columns: column+
table: name folder description? columns primaryKey? foreignKeys? candidateKeys? checkConstraints? triggers? \
rows
foreignKeys: foreignKey+
foreignKey: name referencedSchema referencedTable reference+ matchType? deleteAction? updateAction? \
description?
reference: column referenced
candidateKeys: candidateKey+
candidateKey: name description? column+
checkConstraints: checkConstraint+
checkConstraint: name condition description?
triggers: trigger+
trigger: name actionTime triggerEvent aliasList? triggeredAction description?
routines: routine+
parameters: parameter+
users: user*
user: name description?
roles: role+
role: name admin description?
privileges: privilege+
privilege: type object? grantor grantee option? description?
types: type+
attributes: attribute+
fields: field+
schema: name folder description? types? tables? views? routines?
type: name category underSchema? underType? instantiable final base? attributes? description?
attribute: name ( type | typeSchema? typeName ) typeOriginal? nullable? defaultValue? cardinality? \
description?
column: name lobFolder? ( type mimeType? | typeSchema? typeName ) typeOriginal? fields? nullable? \
defaultValue? cardinality? description?
field: name lobFolder? fields? mimeType? description?
primaryKey: name description? column+
routine: specificName name description? source? body? characteristic? returnType? parameters?
parameter: name mode ( type | typeSchema? typeName ) typeOriginal? cardinality? description?
messageDigest: digestType digest
"""
_CONTENTS = dict(line.split(":") for line in _ELEMENTS.split("\n") if line)
# Elements that have this content only in these parents, and text elsewhere.
_ONLY_IN = {"column": "columns", "type": "types"}
_TOKEN = re.compile(r"([A-Za-z]+)([?*+]?)|([(|)])")
# --- The schema of metadata.xml, written from these facts ------------------------------------------------

ENUMERATIONS: Mapping[str, tuple[str, ...]] = {
    "digestType": ("MD5", "SHA-1", "SHA-256"),
    "matchType": ("FULL", "PARTIAL", "SIMPLE"),
    **dict.fromkeys(
        ("deleteAction", "updateAction"), ("CASCADE", "SET NULL", "SET DEFAULT", "RESTRICT", "NO ACTION")
    ),
    "actionTime": ("BEFORE", "INSTEAD OF", "AFTER"),
    "option": ("ADMIN", "GRANT"),
    "category": ("distinct", "udt"),
}
"""The allowed texts of some elements in SIARD 2.2."""
_WRITTEN = "2.2"
_TEXTS = {
    **dict.fromkeys(("dbname", "dataOwner", "dataOriginTimespan"), "someText"),
    **dict.fromkeys(("nullable", "instantiable", "final"), "xs:boolean"),
    **dict.fromkeys(("rows", "cardinality"), "xs:integer"),
    **{name: f"{name}Text" for name in ENUMERATIONS},
    "archivalDate": "xs:date",
    "lobFolder": "xs:anyURI",
    "folder": "folderName",
    "base": "sqlType",
    "type": "sqlType",
}
_CHECKED = {"dbname", "dataOwner", "dataOriginTimespan", "archivalDate", "cardinality"} | {
    name for name, kind in _TEXTS.items() if kind == "xs:boolean"
}
"""Elements with which a wrong text makes an archive unusable."""
_OF_ANY_TYPE = {"privilege"}  # elements whose type is no type of SQL
_MOST = 100  # the most faults that are reported
_NUMBERS = {
    "": "",
    "?": ' minOccurs="0"',
    "+": ' maxOccurs="unbounded"',
    "*": ' minOccurs="0" maxOccurs="unbounded"',
}


def faults(data: bytes) -> list[str]:
    """Return the faults of a metadata.xml by the elements of SIARD 2.2; raises ``XmlError``."""
    schema = etree.XMLSchema(safexml.tree(metadata_schema(_CHECKED)))
    schema.validate(safexml.tree(data))
    log: Any = schema.error_log  # the stubs do not know that it is iterable
    return [each.message.replace(f"{{{METADATA_SPACE}}}", "") for each in islice(log, _MOST)]


def metadata_schema(typed: AbstractSet[str] = _TEXTS.keys()) -> bytes:
    """Return a schema of metadata.xml in SIARD 2.2 from the facts above (P_4.2-5, M_5.0-1).

    Only the texts of the ``typed`` elements are restricted.
    """
    root = (
        f'<xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema" xmlns="{METADATA_SPACE}" '
        f'targetNamespace="{METADATA_SPACE}" elementFormDefault="qualified" version="{_WRITTEN}">'
    )
    lines = [
        '<?xml version="1.0" encoding="UTF-8"?>',
        "<!-- Written by metspack from the elements that SIARD 2.2 has; not the published schema. -->",
        root,
        '  <xs:element name="siardArchive" type="siardArchiveType"/>',
    ]
    for name, content in _CONTENTS.items():
        lines += (
            f'  <xs:complexType name="{name}Type">',
            "    <xs:sequence>",
            *_particles(name, content, typed),
        )
        lines.append("    </xs:sequence>")
        if name == "siardArchive":
            lines.append(
                f'    <xs:attribute name="version" type="xs:string" fixed="{_WRITTEN}" use="required"/>'
            )
        lines.append("  </xs:complexType>")
    for name, values in ENUMERATIONS.items():
        facets = "".join(f'<xs:enumeration value="{each}"/>' for each in values)
        lines.append(_simple_type(f"{name}Text", facets))
    lines += (
        _simple_type("someText", '<xs:minLength value="1"/>'),
        _simple_type("folderName", '<xs:pattern value="[A-Za-z][A-Za-z0-9][A-Za-z0-9_]*"/>'),
        _simple_type("sqlType", "".join(f'<xs:pattern value="{each}"/>' for each in PATTERNS)),
        "</xs:schema>",
    )
    return "".join(f"{line}\n" for line in lines).encode()


def _particles(parent: str, content: str, typed: AbstractSet[str]) -> Iterator[str]:
    """Yield the lines of a schema for the content of an element."""
    groups = {
        "(": "<xs:choice><xs:sequence>",
        "|": "</xs:sequence><xs:sequence>",
        ")": "</xs:sequence></xs:choice>",
    }
    for name, number, mark in _TOKEN.findall(content):
        if mark:
            yield f"      {groups[mark]}"
            continue
        if name in _CONTENTS and _ONLY_IN.get(name, parent) == parent:
            kind = f"{name}Type"
        elif name == "type" and parent in _OF_ANY_TYPE:
            kind = "xs:string"
        else:
            kind = _TEXTS[name] if name in typed else "xs:string"
        yield f'      <xs:element name="{name}" type="{kind}"{_NUMBERS[number]}/>'


def _simple_type(name: str, facets: str) -> str:
    restricted = f'<xs:restriction base="xs:string">{facets}</xs:restriction>'
    return f'  <xs:simpleType name="{name}">{restricted}</xs:simpleType>'
