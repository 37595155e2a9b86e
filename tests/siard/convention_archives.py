"""Small archives, one for each convention of LOB locations, by the standard library."""

from __future__ import annotations

import hashlib
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from urllib.parse import quote
from xml.sax.saxutils import escape, quoteattr

from tests.tables import read_table
from tests.trees import put

BINARY = bytes(range(256)) * 40
"""The first row's LOB."""
SECOND = b"\x89PNG another picture" * 9
"""The second row's LOB."""
TABLE = "content/schema0/table2"
_NAMESPACE = "http://www.bar.admin.ch/xmlns/siard/2/metadata.xsd"


@dataclass(frozen=True, kw_only=True)
class Row:
    """A row's LOB and its cell; with None the cell lacks ``length`` or ``digest``."""

    file: str
    data: bytes = BINARY
    length: int | None = -1
    digest: str | None = ""

    @property
    def attributes(self) -> str:
        """The cell's attributes as written; left as they are, length and digest are right."""
        length = len(self.data) if self.length == -1 else self.length
        digest = hashlib.md5(self.data, usedforsecurity=False).hexdigest() if not self.digest else self.digest
        return "".join(
            (
                f"file={quoteattr(self.file)}",
                "" if length is None else f' length="{length}"',
                "" if self.digest is None else f' digestType="MD5" digest="{digest}"',
            )
        )


@dataclass(frozen=True, kw_only=True)
class Sample:
    """An archive to be built: its levels, its rows, the LOBs inside by entry and outside by path.

    ``packed`` are the LOBs in zip files: those by path, then by entry.
    """

    letter: str
    database: str | None = None
    column: str | None = None
    folder: str | None = None
    type: str = "BLOB"
    version: str = "2.1"
    siard: str = "Northwind.siard"
    rows: tuple[Row, ...]
    inside: Mapping[str, bytes] = field(default_factory=dict)
    outside: Mapping[str, bytes] = field(default_factory=dict)
    packed: Mapping[str, Mapping[str, bytes]] = field(default_factory=dict)

    @property
    def metadata(self) -> str:
        """The archive's metadata.xml."""

        def element(name: str, text: str | None) -> str:
            # A backslash in a text of metadata.xml is written as SIARD escapes it (G_3.3-4).
            written = escape(text or "").replace("\\", "\\u005c")
            return "" if text is None else f"<{name}>{written}</{name}>"

        return (
            '<?xml version="1.0" encoding="UTF-8"?>'
            f'<siardArchive xmlns="{_NAMESPACE}" version="{self.version}">'
            "<dbname>Northwind</dbname><dataOwner>Nobody</dataOwner>"
            f"<dataOriginTimespan>2020</dataOriginTimespan>{element('lobFolder', self.database)}"
            "<archivalDate>2020-02-20</archivalDate><schemas><schema><name>dbo</name><folder>schema0</folder><tables><table>"
            "<name>Categories</name><folder>table2</folder><columns><column><name>Picture</name>"
            f"{element('lobFolder', self.column)}{element('folder', self.folder)}"
            f"<type>{self.type}</type></column></columns><rows>{len(self.rows)}</rows>"
            "</table></tables></schema></schemas></siardArchive>"
        )

    def build(self, folder: Path) -> Path:
        """Write the archive and the files beside it below a folder and return the archive's path."""
        path = folder / self.siard
        rows = "".join(f"<row><c1 {row.attributes}/></row>" for row in self.rows)
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr(f"{TABLE}/table2.xml", f"<table>{rows}</table>")
            for name, data in self.inside.items():
                archive.writestr(name, data)
            archive.writestr("header/metadata.xml", self.metadata)
        put(folder, self.outside)
        for name, entries in self.packed.items():
            zipped(folder / name, entries)
        return path


def zipped(path: Path, entries: Mapping[str, bytes]) -> Path:
    """Write a zip file, and the folders for it, and return its path."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in entries.items():
            archive.writestr(name, data)
    return path


_DATA = {"first": BINARY, "second": SECOND, "mets": b"<mets/>"}


def _samples(kind: str) -> dict[str, Sample]:
    """Return the archives of a kind by name; their cells have the first and the second LOB."""
    return {name: _sample(**each) for name, each in read_table(__file__, kind).items()}


def _sample(*, cells: tuple[str, str], **given: Any) -> Sample:
    for where in ("inside", "outside"):
        given[where] = _named(given.get(where, {}))
    packed = {file: _named(entries) for file, entries in given.pop("packed", {}).items()}
    return Sample(rows=_two(*cells), packed=packed, **given)


def _named(entries: Mapping[str, str]) -> dict[str, bytes]:
    return {path: _DATA[each] for path, each in entries.items()}


def _two(first: str, second: str) -> tuple[Row, ...]:
    return Row(file=first), Row(file=second, data=SECOND)


SAMPLES: Mapping[str, Sample] = _samples("samples")
"""By convention; those that need an absolute path (B) are made by a function."""
PACKED: Mapping[str, Sample] = _samples("packed")
"""Segments packed as zip files: by recommendation 0.16, SIARD 2.2 L_7.1-1 and G_3.4-3."""


def absolute(folder: Path) -> Mapping[str, Sample]:
    """Return the samples of convention B, whose absolute paths lie below a folder."""
    path, uri = quote(str(folder)), folder.as_uri()
    cells = _two(f"{path}/lobs/record0.bin", f"{uri}/lobs/record1.bin")
    lobs = {"lobs/record0.bin": BINARY, "lobs/record1.bin": SECOND}
    outer = Sample(letter="B", rows=cells, outside=lobs)
    records = _two("record0.bin", "record1.bin")
    inner = replace(outer, database="./Northwind_lobs/", column=f"{uri}/lobs/", rows=records)
    return {"B-cell": outer, "B-column": inner}
