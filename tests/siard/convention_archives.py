"""Small archives, one for each convention of LOB locations, by the standard library."""

from __future__ import annotations

import hashlib
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import quote
from xml.sax.saxutils import escape, quoteattr

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


Pair = tuple[str, str]
"""The names of the two LOBs."""


def _two(first: str, second: str) -> tuple[Row, ...]:
    return Row(file=first), Row(file=second, data=SECOND)


def _bytes(first: str, second: str) -> dict[str, bytes]:
    return {first: BINARY, second: SECOND}


def _at(cells: Pair, at: str | Pair) -> dict[str, bytes]:
    return _bytes(*(at if isinstance(at, tuple) else (f"{at}{cells[0]}", f"{at}{cells[1]}")))


def _inside(letter: str, cells: Pair, at: str | Pair, **levels: str) -> Sample:
    """Return an archive with LOBs inside, ``at`` these names or prefixes of the cells' names."""
    return Sample(letter=letter, rows=_two(*cells), inside=_at(cells, at), **levels)  # type: ignore[arg-type]


def _outside(letter: str, cells: Pair, at: str | Pair, **levels: str) -> Sample:
    """Return an archive with LOBs outside; ``at`` is as above."""
    return Sample(letter=letter, rows=_two(*cells), outside=_at(cells, at), **levels)  # type: ignore[arg-type]


def _pair(before: str, *, first: int = 0, extension: str = "bin", other: str = "") -> Pair:
    """Return the names of two records in a folder, or in one and in another."""
    names = f"record{first}.{extension}", f"record{first + 1}.{extension}"
    return f"{before}{names[0]}", f"{other or before}{names[1]}"


_RECORDS = _pair("")
_LOBS = _pair("lobs/")
_IN_ONE = ("seg_0/t2_c1_r1.bin", "seg_0/t2_c1_r2.bin")
_IN_TWO = ("seg_0/t2_c1_r1.bin", "seg_1/t2_c1_r2.bin")
_DBPTK = ("seg_0/t1_c3_r1.bin", "seg_0/t1_c3_r2.bin")
_TEXTS = ("seg0/rec1.txt", "seg0/rec2.txt")
_OWN = "./Northwind_lobs/"
_FIRST, _LATER = (f"Northwind_lobseg_{number}/content/schema0/table2/lob4/" for number in (0, 1))

_SEGMENT_1, _SEGMENT_2 = (f"x.siard_lobseg_{number}/content/schema1/table1/lob4/" for number in (1, 2))

SAMPLES: Mapping[str, Sample] = {
    "A-outside": _outside(
        "A", _IN_ONE, "Northwind_lobs/s0_t2_c1/", database="../Northwind_lobs/", column="s0_t2_c1/"
    ),
    "A-inside": _inside("A", _pair("schema0/table2/lob1/"), "content/", database="content/"),
    "A-cell": _outside("A", _pair("../lobs/"), _LOBS),
    "C-inside": _inside("C", _pair(f"{TABLE}/lob1/"), "", database=_OWN),
    "C-outside": _outside(
        "C", _IN_TWO, "Northwind_lobs/s0_t2_c1/", database=_OWN, column="s0_t2_c1/", version="2.2"
    ),
    "D-outside": _outside(
        *("D", _DBPTK, "northwind.siard_lobs/s1_t1_c3/"),
        database="../northwind.siard_lobs",
        column="s1_t1_c3",
        siard="northwind.siard",
        version="2.2",
    ),
    "D-inside": _inside(
        *("D", _pair("", first=1), "content/schema1/table1/lob3/"),
        database="content",
        column="schema1/table1/lob3",
        version="2.2",
    ),
    "E": _outside(
        *("E", _pair(f"../{_SEGMENT_1}", first=1, other=f"../{_SEGMENT_2}")),
        _pair(_SEGMENT_1, first=1, other=_SEGMENT_2),
        database="content",
        siard="x.siard",
    ),
    "F": _inside("F", _pair("content/schema1/table1/lob4/", first=1), "", database="content"),
    "G-content": _inside(
        *("G", ("seg0/rec1.txt", "seg1/rec2.txt"), "content/schema0/table0/lob1/"),
        database="content/",
        column="schema0/table0/lob1/",
    ),
    "G-column": _inside("G", _TEXTS, "content/schema0/table74/lob3/", column="content/schema0/table74/lob3/"),
    "G-short": _inside("G", _TEXTS, "content/schema0/table0/lob1/", column="schema0/table0/lob1/"),
    "H-inside": _inside("H", _pair("content/schema0/table0/lob2/", extension="txt"), "", column="lob2"),
    "H-outside": _outside("H", ("record0.txt", "seq3/record1.txt"), "lobs/", column="../lobs/"),
    "H-cell": _outside("H", _pair("../lobs/"), _LOBS, database=_OWN),
    "I": _inside("I", _RECORDS, f"{TABLE}/lob1/", folder="lob1", version="2.0"),
    "I-whole": _inside("I", _RECORDS, f"{TABLE}/lob1/", folder=f"{TABLE}/lob1/", version="2.0"),
    "I-database": _inside(
        "I", _RECORDS, f"{TABLE}/lob1/", database="content", folder="schema0/table2/lob1", version="2.0"
    ),
    "J-database": _outside(
        *("J", ("schema1/table1/lob3/rec1.bin", "schema1\\table1\\lob3\\rec2.bin")),
        (
            "WinMed 2.siard_documents/content/schema1/table1/lob3/rec1.bin",
            "WinMed 2.siard_documents/content/schema1/table1/lob3/rec2.bin",
        ),
        database="..\\WinMed 2.siard_documents\\content",
        siard="WinMed 2.siard",
    ),
    "J-cell": _outside(
        *(
            "J",
            ("seq1\\record0.txt", "seq2\\record1.txt"),
            ("lobs/seq1/record0.txt", "lobs/seq2/record1.txt"),
        ),
        column="./lobs/",
    ),
    "K-cell": _outside(
        "K", _pair(f"file:///{_FIRST}", other=f"file:///{_LATER}"), _pair(_FIRST, other=_LATER)
    ),
    "K-column": _outside(
        *("K", _pair("schema0/table2/lob4/"), "Northwind_lobseg_0/content/"),
        column="file:///Northwind_lobseg_0/content/",
    ),
    "K-database": _outside(
        "K", _pair("Northwind_lobseg_0/"), "Archives/Northwind/", database="file:///Archives/Northwind/"
    ),
    "S": _outside("S", _IN_ONE, "s0_t2_c1/", database="./elsewhere/", column="s0_t2_c1/"),
    "R": _outside(
        *("R", _DBPTK, "after.siard_lobs/s1_t1_c3/"),
        database="../before.siard_lobs",
        column="s1_t1_c3",
        siard="after.siard",
    ),
    "R-segment": _outside(
        *("R", _pair("../before.siard_lobseg_1/c/", first=1, other="../before.siard_lobseg_2/c/")),
        _pair("after.siard_lobseg_1/c/", first=1, other="after.siard_lobseg_2/c/"),
        database="content",
        siard="after.siard",
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
    path, uri = quote(str(folder)), folder.as_uri()
    return {
        "B-cell": _outside("B", (f"{path}/lobs/record0.bin", f"{uri}/lobs/record1.bin"), _LOBS),
        "B-column": _outside("B", _RECORDS, _LOBS, database=_OWN, column=f"{uri}/lobs/"),
    }
