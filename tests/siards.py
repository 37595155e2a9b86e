"""Small SIARD 2.2 archives, made with the standard library alone, to be bent by a test."""

from __future__ import annotations

import hashlib
import zipfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from metspack.limits import Budgets
from metspack.model import LobCell
from metspack.siard.metadata import Table
from metspack.siard.tables import Tally, cell_runs

METADATA = "header/metadata.xml"
TABLE = "content/schema0/table0/table0.xml"
_METADATA_NAMESPACE = "http://www.bar.admin.ch/xmlns/siard/2/metadata.xsd"
_TABLE_NAMESPACE = "http://www.bar.admin.ch/xmlns/siard/2/table.xsd"


@dataclass(frozen=True, kw_only=True)
class Lob:
    """A LOB of the one column; None in ``entry`` leaves the bytes out of the archive.

    ``file`` and ``attributes`` are what the cell says; left out, it says what is right.
    """

    data: bytes
    file: str | None = None
    entry: str | None = ""
    attributes: str | None = None


def cells(
    blocks: Iterable[bytes], table: Table, budgets: Budgets | None = None, tally: Tally | None = None
) -> Iterator[LobCell]:
    """Yield the cells of a table's document one by one."""
    for run in cell_runs(blocks, table, budgets, tally):
        yield from run.cells()


def md5(data: bytes) -> str:
    return hashlib.md5(data, usedforsecurity=False).hexdigest()


def lobs(*contents: bytes) -> list[Lob]:
    return [Lob(data=data) for data in contents]


def parts(
    given: Iterable[Lob], *, version: str = "2.2", dbname: str = "Small", kind: str = "BLOB"
) -> dict[str, bytes]:
    """Return an archive's entries by name, in order: the LOBs, their table, the metadata."""
    found: dict[str, bytes] = {}
    rows = []
    for number, lob in enumerate(given, 1):
        name = f"content/schema0/table0/lob2/record{number - 1}.bin"
        file = lob.file or name
        if lob.entry is not None:
            found[lob.entry or file] = lob.data
        stated = lob.attributes
        if stated is None:
            stated = f'length="{len(lob.data)}" digestType="MD5" digest="{md5(lob.data)}"'
        rows.append(f'<row><c1>{number}</c1><c2 file="{file}" {stated}/></row>')
    text = "\n".join((f'<table xmlns="{_TABLE_NAMESPACE}" version="{version}">', *rows, "</table>", ""))
    found[TABLE] = b'<?xml version="1.0" encoding="UTF-8"?>\n' + text.encode()
    found[METADATA] = metadata(len(rows), version=version, dbname=dbname, kind=kind)
    return found


def metadata(rows: int, *, version: str = "2.2", dbname: str = "Small", kind: str = "BLOB") -> bytes:
    return f"""<?xml version="1.0" encoding="UTF-8"?>
<siardArchive xmlns="{_METADATA_NAMESPACE}" version="{version}">
  <dbname>{dbname}</dbname>
  <dataOwner>Nobody</dataOwner>
  <dataOriginTimespan>2020</dataOriginTimespan>
  <archivalDate>2020-02-20</archivalDate>
  <schemas><schema><name>S</name><folder>schema0</folder><tables><table>
    <name>T</name><folder>table0</folder>
    <columns>
      <column><name>id</name><type>INTEGER</type></column>
      <column><name>content</name><type>{kind}</type></column>
    </columns>
    <rows>{rows}</rows>
  </table></tables></schema></schemas>
</siardArchive>
""".encode()


def packed(path: Path, entries: Mapping[str, bytes], *, method: int = zipfile.ZIP_STORED) -> Path:
    """Write entries as a zip archive at ``path`` and return it."""
    with zipfile.ZipFile(path, "w", method) as container:
        for name, data in entries.items():
            container.writestr(zipfile.ZipInfo(name, (2025, 6, 1, 12, 0, 0)), data, method)
    return path


def two_columns(path: Path, contents: Sequence[bytes], rows: Iterable[tuple[int, int]]) -> Path:
    """Write an archive with two columns of LOBs; each row names two of the contents."""
    entries = {f"content/schema0/table0/lob1/{number}.bin": data for number, data in enumerate(contents)}
    cells = [
        (Lob(data=contents[one], file=name_of[one]), Lob(data=contents[other], file=name_of[other]))
        for name_of in [list(entries)]
        for one, other in rows
    ]
    given = parts(other for _, other in cells)
    for number, (one, _) in enumerate(cells, 1):
        stated = f'file="{one.file}" length="{len(one.data)}" digestType="MD5" digest="{md5(one.data)}"'
        given[TABLE] = given[TABLE].replace(f"<c1>{number}</c1>".encode(), f"<c1 {stated}/>".encode())
    given[METADATA] = given[METADATA].replace(b"INTEGER", b"BLOB")
    return packed(path, entries | given)


def siard(path: Path, *contents: bytes) -> Path:
    """Write an archive with these LOBs at ``path`` and return it."""
    return packed(path, parts(lobs(*contents)))


def outside(path: Path, *files: str) -> Path:
    """Write an archive whose LOBs are files in the folder ``lobs`` beside it, by their names."""
    entries = parts(Lob(data=b"", file=file, entry=None, attributes="") for file in files)
    before, after = b"<name>content</name>", b"<name>content</name><lobFolder>lobs/</lobFolder>"
    return packed(path, entries | {METADATA: entries[METADATA].replace(before, after)})
