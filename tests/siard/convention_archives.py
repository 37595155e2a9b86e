"""Small archives, one for each convention of where LOBs are, made with the standard library alone."""

from __future__ import annotations

import hashlib
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from xml.sax.saxutils import escape, quoteattr

BINARY = bytes(range(256)) * 40
"""The first row's LOB."""
SECOND = b"\x89PNG another picture" * 9
"""The second row's LOB."""
TABLE = "content/schema0/table2"
_NAMESPACE = "http://www.bar.admin.ch/xmlns/siard/2/metadata.xsd"


@dataclass(frozen=True, kw_only=True)
class Row:
    """A row's LOB and what its cell says; ``length`` and ``digest`` None leave the attribute out."""

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
        for name, data in self.outside.items():
            file = folder / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(data)
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


def _two(first: str, second: str) -> tuple[Row, ...]:
    return Row(file=first), Row(file=second, data=SECOND)


def _bytes(first: str, second: str) -> dict[str, bytes]:
    return {first: BINARY, second: SECOND}


SAMPLES: Mapping[str, Sample] = {
    "A-outside": Sample(
        letter="A",
        database="../Northwind_lobs/",
        column="s0_t2_c1/",
        rows=_two("seg_0/t2_c1_r1.bin", "seg_0/t2_c1_r2.bin"),
        outside=_bytes(
            "Northwind_lobs/s0_t2_c1/seg_0/t2_c1_r1.bin", "Northwind_lobs/s0_t2_c1/seg_0/t2_c1_r2.bin"
        ),
    ),
    "A-inside": Sample(
        letter="A",
        database="content/",
        rows=_two("schema0/table2/lob1/record0.bin", "schema0/table2/lob1/record1.bin"),
        inside=_bytes(f"{TABLE}/lob1/record0.bin", f"{TABLE}/lob1/record1.bin"),
    ),
    "A-cell": Sample(
        letter="A",
        rows=_two("../lobs/record0.bin", "../lobs/record1.bin"),
        outside=_bytes("lobs/record0.bin", "lobs/record1.bin"),
    ),
    "C-inside": Sample(
        letter="C",
        database="./Northwind_lobs/",
        rows=_two(f"{TABLE}/lob1/record0.bin", f"{TABLE}/lob1/record1.bin"),
        inside=_bytes(f"{TABLE}/lob1/record0.bin", f"{TABLE}/lob1/record1.bin"),
    ),
    "C-outside": Sample(
        letter="C",
        database="./Northwind_lobs/",
        column="s0_t2_c1/",
        version="2.2",
        rows=_two("seg_0/t2_c1_r1.bin", "seg_1/t2_c1_r2.bin"),
        outside=_bytes(
            "Northwind_lobs/s0_t2_c1/seg_0/t2_c1_r1.bin", "Northwind_lobs/s0_t2_c1/seg_1/t2_c1_r2.bin"
        ),
    ),
    "D-outside": Sample(
        letter="D",
        database="../northwind.siard_lobs",
        column="s1_t1_c3",
        siard="northwind.siard",
        version="2.2",
        rows=_two("seg_0/t1_c3_r1.bin", "seg_0/t1_c3_r2.bin"),
        outside=_bytes(
            "northwind.siard_lobs/s1_t1_c3/seg_0/t1_c3_r1.bin",
            "northwind.siard_lobs/s1_t1_c3/seg_0/t1_c3_r2.bin",
        ),
    ),
    "D-inside": Sample(
        letter="D",
        database="content",
        column="schema1/table1/lob3",
        version="2.2",
        rows=_two("record1.bin", "record2.bin"),
        inside=_bytes("content/schema1/table1/lob3/record1.bin", "content/schema1/table1/lob3/record2.bin"),
    ),
    "E": Sample(
        letter="E",
        database="content",
        siard="x.siard",
        rows=_two(
            "../x.siard_lobseg_1/content/schema1/table1/lob4/record1.bin",
            "../x.siard_lobseg_2/content/schema1/table1/lob4/record2.bin",
        ),
        outside=_bytes(
            "x.siard_lobseg_1/content/schema1/table1/lob4/record1.bin",
            "x.siard_lobseg_2/content/schema1/table1/lob4/record2.bin",
        ),
    ),
    "F": Sample(
        letter="F",
        database="content",
        rows=_two("content/schema1/table1/lob4/record1.bin", "content/schema1/table1/lob4/record2.bin"),
        inside=_bytes("content/schema1/table1/lob4/record1.bin", "content/schema1/table1/lob4/record2.bin"),
    ),
    "G-content": Sample(
        letter="G",
        database="content/",
        column="schema0/table0/lob1/",
        rows=_two("seg0/rec1.txt", "seg1/rec2.txt"),
        inside=_bytes(
            "content/schema0/table0/lob1/seg0/rec1.txt", "content/schema0/table0/lob1/seg1/rec2.txt"
        ),
    ),
    "G-column": Sample(
        letter="G",
        column="content/schema0/table74/lob3/",
        rows=_two("seg0/rec1.txt", "seg0/rec2.txt"),
        inside=_bytes(
            "content/schema0/table74/lob3/seg0/rec1.txt", "content/schema0/table74/lob3/seg0/rec2.txt"
        ),
    ),
    "G-short": Sample(
        letter="G",
        column="schema0/table0/lob1/",
        rows=_two("seg0/rec1.txt", "seg0/rec2.txt"),
        inside=_bytes(
            "content/schema0/table0/lob1/seg0/rec1.txt", "content/schema0/table0/lob1/seg0/rec2.txt"
        ),
    ),
    "H-inside": Sample(
        letter="H",
        column="lob2",
        rows=_two("content/schema0/table0/lob2/record0.txt", "content/schema0/table0/lob2/record1.txt"),
        inside=_bytes("content/schema0/table0/lob2/record0.txt", "content/schema0/table0/lob2/record1.txt"),
    ),
    "H-outside": Sample(
        letter="H",
        column="../lobs/",
        rows=_two("record0.txt", "seq3/record1.txt"),
        outside=_bytes("lobs/record0.txt", "lobs/seq3/record1.txt"),
    ),
    "H-cell": Sample(
        letter="H",
        database="./Northwind_lobs/",
        rows=_two("../lobs/record0.bin", "../lobs/record1.bin"),
        outside=_bytes("lobs/record0.bin", "lobs/record1.bin"),
    ),
    "I": Sample(
        letter="I",
        folder="lob1",
        version="2.0",
        rows=_two("record0.bin", "record1.bin"),
        inside=_bytes(f"{TABLE}/lob1/record0.bin", f"{TABLE}/lob1/record1.bin"),
    ),
    "I-whole": Sample(
        letter="I",
        folder=f"{TABLE}/lob1/",
        version="2.0",
        rows=_two("record0.bin", "record1.bin"),
        inside=_bytes(f"{TABLE}/lob1/record0.bin", f"{TABLE}/lob1/record1.bin"),
    ),
    "I-database": Sample(
        letter="I",
        database="content",
        folder="schema0/table2/lob1",
        version="2.0",
        rows=_two("record0.bin", "record1.bin"),
        inside=_bytes(f"{TABLE}/lob1/record0.bin", f"{TABLE}/lob1/record1.bin"),
    ),
    "J-database": Sample(
        letter="J",
        database="..\\WinMed 2.siard_documents\\content",
        siard="WinMed 2.siard",
        rows=_two("schema1/table1/lob3/rec1.bin", "schema1\\table1\\lob3\\rec2.bin"),
        outside=_bytes(
            "WinMed 2.siard_documents/content/schema1/table1/lob3/rec1.bin",
            "WinMed 2.siard_documents/content/schema1/table1/lob3/rec2.bin",
        ),
    ),
    "J-cell": Sample(
        letter="J",
        column="./lobs/",
        rows=_two("seq1\\record0.txt", "seq2\\record1.txt"),
        outside=_bytes("lobs/seq1/record0.txt", "lobs/seq2/record1.txt"),
    ),
    "K-cell": Sample(
        letter="K",
        rows=_two(
            "file:///Northwind_lobseg_0/content/schema0/table2/lob4/record0.bin",
            "file:///Northwind_lobseg_1/content/schema0/table2/lob4/record1.bin",
        ),
        outside=_bytes(
            "Northwind_lobseg_0/content/schema0/table2/lob4/record0.bin",
            "Northwind_lobseg_1/content/schema0/table2/lob4/record1.bin",
        ),
    ),
    "K-column": Sample(
        letter="K",
        column="file:///Northwind_lobseg_0/content/",
        rows=_two("schema0/table2/lob4/record0.bin", "schema0/table2/lob4/record1.bin"),
        outside=_bytes(
            "Northwind_lobseg_0/content/schema0/table2/lob4/record0.bin",
            "Northwind_lobseg_0/content/schema0/table2/lob4/record1.bin",
        ),
    ),
    "K-database": Sample(
        letter="K",
        database="file:///Archives/Northwind/",
        rows=_two("Northwind_lobseg_0/record0.bin", "Northwind_lobseg_0/record1.bin"),
        outside=_bytes(
            "Archives/Northwind/Northwind_lobseg_0/record0.bin",
            "Archives/Northwind/Northwind_lobseg_0/record1.bin",
        ),
    ),
    "S": Sample(
        letter="S",
        database="./elsewhere/",
        column="s0_t2_c1/",
        rows=_two("seg_0/t2_c1_r1.bin", "seg_0/t2_c1_r2.bin"),
        outside=_bytes("s0_t2_c1/seg_0/t2_c1_r1.bin", "s0_t2_c1/seg_0/t2_c1_r2.bin"),
    ),
    "R": Sample(
        letter="R",
        database="../before.siard_lobs",
        column="s1_t1_c3",
        siard="after.siard",
        rows=_two("seg_0/t1_c3_r1.bin", "seg_0/t1_c3_r2.bin"),
        outside=_bytes(
            "after.siard_lobs/s1_t1_c3/seg_0/t1_c3_r1.bin", "after.siard_lobs/s1_t1_c3/seg_0/t1_c3_r2.bin"
        ),
    ),
    "R-segment": Sample(
        letter="R",
        database="content",
        siard="after.siard",
        rows=_two("../before.siard_lobseg_1/c/record1.bin", "../before.siard_lobseg_2/c/record2.bin"),
        outside=_bytes("after.siard_lobseg_1/c/record1.bin", "after.siard_lobseg_2/c/record2.bin"),
    ),
}
"""By convention; those that need an absolute path (B) are made by a function."""


PACKED: Mapping[str, Sample] = {
    "0.16, root folder": Sample(
        letter="C",
        column="./",
        rows=_two("Northwind_lobseg_0/content/record0.bin", "Northwind_lobseg_1/content/record1.bin"),
        packed={
            "Northwind_lobseg_0.zip": {
                "Northwind_lobseg_0/mets.xml": b"<mets/>",
                "Northwind_lobseg_0/content/record0.bin": BINARY,
            },
            "Northwind_lobseg_1.zip": {"Northwind_lobseg_1/content/record1.bin": SECOND},
        },
    ),
    "0.16, cells as file URIs": Sample(
        letter="K",
        rows=_two(
            "file:///Northwind_lobseg_0/content/record0.bin", "file:///Northwind_lobseg_0/content/record1.bin"
        ),
        packed={"Northwind_lobseg_0.zip": _bytes("content/record0.bin", "content/record1.bin")},
    ),
    "2.2, segments of the database": Sample(
        letter="C",
        database="./Northwind_lobs/",
        column="./",
        version="2.2",
        rows=_two("seg_0/t2_c1_r1.bin", "seg_1/t2_c1_r2.bin"),
        packed={
            "Northwind_lobs/seg_0.zip": {"t2_c1_r1.bin": BINARY},
            "Northwind_lobs/seg_1.zip": {"seg_1/t2_c1_r2.bin": SECOND},
        },
    ),
    "2.2, segments of the column": Sample(
        letter="C",
        database="./Northwind_lobs/",
        column="s0_t2_c1/",
        version="2.2",
        rows=_two("seg_0/t2_c1_r1.bin", "seg_0/t2_c1_r2.bin"),
        packed={"Northwind_lobs/s0_t2_c1/seg_0.zip": _bytes("t2_c1_r1.bin", "t2_c1_r2.bin")},
    ),
    "2.2, all of the column": Sample(
        letter="C",
        database="./Northwind_lobs/",
        column="s0_t2_c1/",
        version="2.2",
        rows=_two("seg_0/t2_c1_r1.bin", "seg_1/t2_c1_r2.bin"),
        packed={"Northwind_lobs/s0_t2_c1.zip": _bytes("seg_0/t2_c1_r1.bin", "s0_t2_c1/seg_1/t2_c1_r2.bin")},
    ),
    "2.2, one unpacked": Sample(
        letter="C",
        database="./Northwind_lobs/",
        column="s0_t2_c1/",
        version="2.2",
        rows=_two("seg_0/t2_c1_r1.bin", "seg_1/t2_c1_r2.bin"),
        outside={"Northwind_lobs/s0_t2_c1/seg_0/t2_c1_r1.bin": BINARY},
        packed={"Northwind_lobs/s0_t2_c1/seg_1.zip": {"t2_c1_r2.bin": SECOND}},
    ),
    "2.2, the zip file named": Sample(
        letter="C",
        column="./sips/SIP1234.ZIP/",
        version="2.2",
        rows=_two("lobs/record0.bin", "lobs/record1.bin"),
        packed={"sips/SIP1234.ZIP": _bytes("lobs/record0.bin", "SIP1234/lobs/record1.bin")},
    ),
    "DBPTK, renamed": Sample(
        letter="R",
        database="content",
        siard="after.siard",
        rows=_two("../before.siard_lobseg_1/c/record1.bin", "../before.siard_lobseg_2/c/record2.bin"),
        packed={
            "after.siard_lobseg_1.zip": {"c/record1.bin": BINARY},
            "after.siard_lobseg_2.zip": {"after.siard_lobseg_2/c/record2.bin": SECOND},
        },
    ),
}
"""Segments packed as zip files: by recommendation 0.16, SIARD 2.2 L_7.1-1 and G_3.4-3."""


def absolute(folder: Path) -> Mapping[str, Sample]:
    """Return the samples of convention B, whose absolute paths lie below a folder."""
    files = _bytes("lobs/record0.bin", "lobs/record1.bin")
    return {
        "B-cell": Sample(
            letter="B",
            rows=_two(f"{folder}/lobs/record0.bin", f"file://{folder}/lobs/record1.bin"),
            outside=files,
        ),
        "B-column": Sample(
            letter="B",
            database="./Northwind_lobs/",
            column=f"file://{folder}/lobs/",
            rows=_two("record0.bin", "record1.bin"),
            outside=files,
        ),
    }
