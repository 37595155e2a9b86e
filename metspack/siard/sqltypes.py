"""The SQL types that SIARD 2.2 has, the notations of each, and their types in the schema of a table; pure."""

from __future__ import annotations

import re

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
    """Return a type of SQL:1999 as SIARD 2.2 writes it: as it is where that is right, None for one it lacks.

    Letter case and white space mean nothing in SQL, no time zone is meant where none is named, and
    ``TIME(0)`` is ``TIME``; the precision of a time stands behind its zone in SIARD, before it in SQL.
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
    """Return the type of cells of a column in the schema of a table (P_4.3-3), None for a type it lacks.

    ``has_files``: cells name files, which none but texts, bytes and large objects can.
    """
    kind = next((kind for pattern, kind in _COMPILED if pattern.fullmatch(text)), None)
    if kind is None or not has_files:
        return kind
    large = _LARGE_FORMS.get(kind, kind)
    return large if large in _LARGE_FORMS.values() else None
