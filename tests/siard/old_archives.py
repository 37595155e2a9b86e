"""A small archive of SIARD 1.0 with all that 1.0 has, to be bent by a test."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

TABLE = "content/schema0/table0/table0.xml"
SCHEMA = "content/schema0/table0/table0.xsd"
LOBS = {
    "content/schema0/table0/lob3/record0.txt": "Grüße".encode(),
    "content/schema0/table0/lob4/record0.bin": b"first",
    "content/schema0/table0/lob4/record1.bin": b"second one",
}
_FOLDER = Path(__file__).with_name("old")
METADATA_XML = (_FOLDER / "metadata.xml").read_text(encoding="utf-8")
TABLE_XML = (_FOLDER / "table0.xml").read_text(encoding="utf-8")


def entries(metadata: str = METADATA_XML, table: str = TABLE_XML) -> Mapping[str, bytes]:
    """Return the entries of the archive by name, in their order."""
    return {
        **LOBS,
        TABLE: table.encode(),
        SCHEMA: b"<schema of='1.0'/>",
        "header/": b"",
        "header/metadata.xml": metadata.encode(),
        "header/metadata.xsd": b"<schema of='1.0'/>",
        "header/metadata.xsl": b"<stylesheet/>",
    }
