"""Write a SIARD 2.2 archive whose bytes depend on nothing but its contents.

Every entry is stored, not deflated, so that no zlib has a say; times are fixed. The content comes
first, then the empty entry ``header/``, so that the archive's digest can be taken over all before it
(SIARD 2.2 §5.1).
"""

from __future__ import annotations

import hashlib
import io
import zipfile

from siard_metadata import metadata, metadata_grammar
from siard_model import Schema, document
from siard_tables import table_files

_TIME = (2025, 6, 1, 12, 0, 0)


def archive(database: str, schema: Schema) -> bytes:
    """Return the bytes of the archive."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_STORED) as container:

        def add(name: str, data: bytes = b"") -> None:
            entry = zipfile.ZipInfo(name, _TIME)
            entry.create_system = 3
            entry.external_attr = 0o40755 << 16 | 0x10 if name.endswith("/") else 0o100644 << 16
            container.writestr(entry, data)

        add("content/")
        for number, table in enumerate(schema.tables):
            for name, data in table_files(schema, table, number):
                add(name, data)
        content = buffer.tell()
        add("header/")
        add("header/siardversion/2.2/")
        add("header/metadata.xsd", document(metadata_grammar()))
        digest = hashlib.md5(buffer.getvalue()[:content], usedforsecurity=False).hexdigest()
        add("header/metadata.xml", document(metadata(database, schema, digest)))
    return buffer.getvalue()
