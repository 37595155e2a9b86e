"""Reports of inspections as they are kept: ``python -m tests.inspecting.golden`` writes them anew."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from unittest.mock import patch

from tests.conftest import CHECKOUT
from tests.inspecting.test_runs import document
from tests.siard.forging import Table, column, field, siard

HERE = Path(__file__).with_name("golden")
MD5 = f"digestType='MD5' digest='{'0' * 32}'"
SHA = f"digestType='SHA-1' digest='{'0' * 40}'"
TABLES = [
    Table(
        folder="table1",
        name="people",
        columns=(
            column("ID", "INTEGER"),
            column("PHOTO").replace("</type>", "</type><mimeType>image/png</mimeType>"),
            column("S", fields=field("f") + field("g")),
            column("OUT", lob_folder="./lobs/"),
        ),
        rows=(
            f"<c1>1</c1><c2 file='content/1' {MD5}/><c3><u2 file='content/2'/></c3><c4 file='x'/>",
            "<c1>2</c1><c2 file='content/3'/><c3><u2 file='content/none'/></c3><c4 file='/y'/>",
            "<c1>3</c1><c2>0A0B</c2><c3><u2 file='content/never'/></c3>",
            f"<c2 file='content/0' {SHA}/><c4 dlurlpathonly='http://localhost/x'/>",
        ),
    ),
    Table(folder="table2", name="empty"),
]
LOBS = {"content/0": b"", "content/1": b"x" * 10, "content/2": b"x" * 30, "content/3": b"x" * 20}
_STRAY = {"content/9": b"no cell", "content/schema0/table1/lob2/z.bin": b"", "other/1": b"not below"}


def written(path: Path, data: bytes = b"x") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return path


def archive(folder: Path) -> Path:
    """Write an archive with LOBs inside, outside and missing, and with unreferenced entries."""
    written(folder / "lobs" / "x", b"outside")
    return siard(folder / "s.siard", tables=TABLES, lobs=LOBS | _STRAY, folders=("content/empty/",))


def without_lobs(folder: Path) -> Path:
    return siard(folder / "s.siard", tables=TABLES[1:])


def unpacked(folder: Path) -> Path:
    with zipfile.ZipFile(siard(folder / "s.siard", tables=TABLES, lobs=LOBS)) as packed:
        packed.extractall(folder / "unpacked")
    written(folder / "unpacked" / "content" / "stray")
    return folder / "unpacked"


def levels(folder: Path) -> Path:
    """Write an archive with lobFolder of all kinds at all levels."""
    columns = (
        column("S", lob_folder="a b/", fields=field("f", lob_folder="file:///x/")),
        column("OLD", folder="lob2"),
        column("BAD", lob_folder="http://localhost/"),
    )
    rows = (
        "<c1><u1 file='r'/></c1><c2 file='one'/><c3 file='r'/>",
        "<c2 file='/one'/>",
        "<c2 file='http:x'/>",
        "<c2 file='a b'/>",
    )
    return siard(folder / "s.siard", tables=[Table(columns=columns, rows=rows)], lob_folder="./l/")


def elements(folder: Path) -> Path:
    """Write an archive with an array and a lobFolder of one of its elements."""
    fields = field("A[1]") + field("A[2]", lob_folder="./x/") + field("A[3]")
    cell = "".join(f"<a{n} file='content/{n}'/>" for n in (1, 2, 3))
    table = Table(columns=(column("A", fields=fields),), rows=(f"<c1>{cell}</c1>",))
    written(folder / "x" / "content" / "2")
    return siard(folder / "s.siard", tables=[table], lobs={"content/1": b"1", "content/3": b"3"})


def folder_of_lobs(folder: Path) -> Path:
    written(folder / "content" / "schema0" / "table2" / "lob4" / "record0.bin", b"one")
    written(folder / "content" / "schema0" / "table3" / "lob1" / "u2" / "record1.bin", b"three")
    return folder


def sample(_folder: Path) -> Path:
    return CHECKOUT / "samples" / "northwind" / "Northwind-full.siard"


SOURCES: Mapping[str, Callable[[Path], Path]] = {
    make.__name__: make
    for make in (archive, without_lobs, unpacked, levels, elements, folder_of_lobs, sample)
}


def report(name: str, folder: Path) -> str:
    """Return the report on a source made in an empty folder, without its size and digest."""
    source = SOURCES[name](folder)
    # Messages cut long paths, and how long a path is depends on where the tests run.
    with patch("metspack.uris._SHOWN", 1_000):
        found = {key: value for key, value in document(source).items() if key != "source"}
    return json.dumps(found, indent=1, default=list).replace(str(folder), "DIR") + "\n"


if __name__ == "__main__":
    HERE.mkdir(exist_ok=True)
    for each in SOURCES:
        with TemporaryDirectory() as temporary:
            (HERE / f"{each}.json").write_text(report(each, Path(temporary)), encoding="utf-8", newline="\n")
