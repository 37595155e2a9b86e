"""The elements of metadata.xml in SIARD 2.2, their order and number, and the types of SQL.

These are facts of the schema, not the schema itself; ``metadata_schema`` writes a schema from them. Types of
texts are checked only where a wrong one cannot be used.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache

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

    A right notation is kept. Letter case and white space have no meaning in SQL, a type without a time zone
    is ``WITHOUT TIME ZONE``, and ``TIME(0)`` is ``TIME``; the precision of a time stands behind its zone in
    SIARD, before it in SQL.
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

    ``text`` is the column's type. ``has_files``: cells name files, which only texts, bytes and large objects
    can; None for all other types, and for a type that SIARD 2.2 lacks.
    """
    kind = next((kind for pattern, kind in _COMPILED if pattern.fullmatch(text)), None)
    if kind is None or not has_files:
        return kind
    large = _LARGE_FORMS.get(kind, kind)
    return large if large in _LARGE_FORMS.values() else None


# --- The elements of metadata.xml ---------------------------------------------------------------------------

METADATA_SPACE = "http://www.bar.admin.ch/xmlns/siard/2/metadata.xsd"
"""The namespace of metadata.xml in SIARD 2.1 and 2.2."""

# Each line is an element and its content in order: ? for once or not at all, + for once or more, * for any
# number, and | between alternatives.
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
# Elsewhere these are texts.
_ONLY_IN = {"column": "columns", "type": "types"}
_FOREIGN_ATTRIBUTE = re.compile(r"http://www\.w3\.org/(?:2001/XMLSchema-instance|XML/1998/namespace) .*")
_TEXT, _TRUTH = "a text", "true or false"
_VALUES: Mapping[str, tuple[re.Pattern[str], str]] = {
    **dict.fromkeys(("dbname", "dataOwner", "dataOriginTimespan"), (re.compile(r".+", re.DOTALL), _TEXT)),
    "archivalDate": (re.compile(r"\s*-?[0-9]{4,}(?:-[0-9]{2}){2}(?:Z|[+-][0-9:]{5})?\s*"), "a date"),
    "nullable": (re.compile(r"\s*(?:true|false|0|1)\s*"), _TRUTH),
    "instantiable": (re.compile(r"\s*(?:true|false|0|1)\s*"), _TRUTH),
    "final": (re.compile(r"\s*(?:true|false|0|1)\s*"), _TRUTH),
    "cardinality": (re.compile(r"\s*[+-]?[0-9]+\s*"), "a whole number"),
}
_TOKEN = re.compile(r"([A-Za-z]+)([?*+]?)|([(|)])")
_LONGEST = 256  # characters of a text that are kept to be checked
_SHOWN = 80
_MOST = 100  # kinds of faults that are reported


@dataclass(frozen=True, slots=True, kw_only=True)
class _ContentModel:
    """The content of an element: a pattern over names, all names, and those that are needed."""

    pattern: str
    names: frozenset[str]
    needed: tuple[str, ...]


@cache
def _content_model(name: str) -> _ContentModel:
    pattern, names, needed, depth = "", [], [], 0
    for inner, number, mark in _TOKEN.findall(_CONTENTS[name]):
        if mark:
            pattern += "(?:" if mark == "(" else mark
            depth += {"(": 1, ")": -1}.get(mark, 0)
            continue
        pattern += f"(?:{inner} ){number}"
        names.append(inner)
        if not depth and number in {"", "+"}:
            needed.append(inner)
    return _ContentModel(pattern=pattern, names=frozenset(names), needed=tuple(needed))


@dataclass(slots=True, kw_only=True)
class _Open:
    """An open element: name, content model (None for a text), children and text so far."""

    name: str
    model: _ContentModel | None
    children: list[str] = field(default_factory=list)
    text: str = ""


class _MetadataReader:
    """A reader of one metadata.xml, element by element."""

    def __init__(self) -> None:
        self._open: list[_Open] = []
        self._parser = safexml.expat_parser(namespaces=True)
        self._parser.StartElementHandler = self._start
        self._parser.EndElementHandler = self._end
        self._parser.CharacterDataHandler = self._text
        self.faults: dict[str, None] = {}

    def read(self, data: bytes) -> None:
        """Read the document; raises ``XmlError``."""
        safexml.feed(self._parser, (data,))

    def _tell(self, reason: str) -> None:
        if len(self.faults) < _MOST:
            self.faults[reason] = None

    def _start(self, qualified: str, attributes: dict[str, str]) -> None:
        namespace, _, name = qualified.rpartition(" ")
        around = self._open[-1].name if self._open else ""
        if namespace != METADATA_SPACE:
            name = qualified
        for attribute in attributes:
            if not _FOREIGN_ATTRIBUTE.fullmatch(attribute) and (around or attribute != "version"):
                self._tell(f"<{_cut(name)}> has the attribute {_quoted(attribute)}")
        if around:
            self._open[-1].children.append(name)
        is_text = name not in _CONTENTS or _ONLY_IN.get(name, around) != around
        self._open.append(_Open(name=name, model=None if is_text else _content_model(name)))

    def _text(self, words: str) -> None:
        element = self._open[-1]
        if element.model is None and len(element.text) < _LONGEST:
            element.text += words[:_LONGEST]

    def _end(self, _qualified: str) -> None:
        element = self._open.pop()
        if element.model is not None or element.children:
            self._judge(element)
        elif (value := _VALUES.get(element.name)) is not None and not value[0].fullmatch(element.text):
            said = f"has {_quoted(element.text)}" if element.text.strip() else "is empty"
            self._tell(f"<{element.name}> {said}, expected {value[1]}")

    def _judge(self, element: _Open) -> None:
        written = "".join(f"{name} " for name in element.children)
        model = element.model or _ContentModel(pattern="", names=frozenset(), needed=())
        # Of hundreds of patterns a document needs a few; each is compiled once.
        if re.fullmatch(model.pattern, written):
            return
        around = f"<{_cut(element.name)}>"
        strange = sorted({*element.children} - model.names)
        missing = [name for name in model.needed if name not in element.children]
        for name in strange:
            self._tell(f"{around} has <{_cut(name)}>")
        for name in missing:
            self._tell(f"{around} lacks <{name}>")
        if not strange and not missing:
            self._tell(f"the elements in {around} are others, or in another order")


def faults(data: bytes) -> list[str]:
    """Return the faults of a metadata.xml by the schema of SIARD 2.2; raises ``XmlError``."""
    document = _MetadataReader()
    document.read(data)
    return [*document.faults]


def _cut(text: str) -> str:
    return text[:_SHOWN]


def _quoted(text: str) -> str:
    return repr(text[:_SHOWN])


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
"""The texts that some elements are restricted to in SIARD 2.2."""
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
_OF_ANY_TYPE = {"privilege"}  # their type is not one of SQL
_NUMBERS = {
    "": "",
    "?": ' minOccurs="0"',
    "+": ' maxOccurs="unbounded"',
    "*": ' minOccurs="0" maxOccurs="unbounded"',
}


def metadata_schema() -> bytes:
    """Return a schema of metadata.xml in SIARD 2.2 from the facts above (P_4.2-5, M_5.0-1)."""
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
        lines += (f'  <xs:complexType name="{name}Type">', "    <xs:sequence>", *_particles(name, content))
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


def _particles(parent: str, content: str) -> Iterator[str]:
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
            kind = _TEXTS.get(name, "xs:string")
        yield f'      <xs:element name="{name}" type="{kind}"{_NUMBERS[number]}/>'


def _simple_type(name: str, facets: str) -> str:
    restricted = f'<xs:restriction base="xs:string">{facets}</xs:restriction>'
    return f'  <xs:simpleType name="{name}">{restricted}</xs:simpleType>'
