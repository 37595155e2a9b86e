"""Seeded data to measure with: folders of LOBs, archives, and METS files of any length.

``python -m bench.data KIND PATH LOBS SIZE`` makes one, in a process of its own, so that the memory it takes
is not that of whoever measures. The same arguments always give the same bytes.
"""

from __future__ import annotations

import hashlib
import random
import sys
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

from metspack.mets.reader import METS, XLINK

TABLE = "content/schema0/table0"
COLUMN = f"{TABLE}/lob2"
_POOL_SIZE = 1 << 23
_MARK = 20
_WORDS = b"of the database that is kept, and of what it refers to. "
_IN_A_FOLDER = 10_000
_EMPTY = hashlib.md5(b"", usedforsecurity=False).hexdigest()
_EARLY = (1980, 1, 1, 0, 0, 0)

_METADATA = """<?xml version="1.0" encoding="UTF-8"?>
<siardArchive xmlns="http://www.bar.admin.ch/xmlns/siard/2/metadata.xsd" version="2.2">
  <dbname>measured</dbname><dataOwner>nobody</dataOwner><dataOriginTimespan>2016</dataOriginTimespan>
  <archivalDate>2016-02-23</archivalDate>
  <schemas><schema><name>s</name><folder>schema0</folder><tables><table><name>t</name><folder>table0</folder>
    <columns><column><name>id</name><type>INTEGER</type></column><column><name>lob</name><type>BLOB</type></column>
    </columns><rows>{rows}</rows></table></tables></schema></schemas>
</siardArchive>
"""
_TABLE_HEAD = (
    '<?xml version="1.0" encoding="UTF-8"?>\n'
    '<table xmlns="http://www.bar.admin.ch/xmlns/siard/2/table.xsd" version="2.2">\n'
)


class Contents:
    """The bytes of LOBs: those of even rows can be compressed, the others cannot; no two are the same."""

    def __init__(self) -> None:
        self._noise = random.Random(20160223).randbytes(_POOL_SIZE)  # noqa: S311 -- the same in every run
        self._text = _WORDS * (_POOL_SIZE // len(_WORDS))

    def lob(self, row: int, size: int) -> bytes:
        """Return the LOB of a row, from 0; ``size`` may be that of the pool, less what is marked."""
        pool = self._noise if row % 2 else self._text
        start = row * 97 % max(1, len(pool) - size)
        return (b"%0*d" % (_MARK, row) + pool[start : start + size])[:size]

    def blocks(self, row: int, size: int) -> Iterator[bytes]:
        """Yield the bytes of a LOB of any size."""
        for number, start in enumerate(range(0, size, _POOL_SIZE // 2)):
            yield self.lob(2 * (row * 1_000_000 + number) + 1, min(_POOL_SIZE // 2, size - start))


def make_folder(path: Path, lobs: int, size: int) -> None:
    """Write a folder of LOBs, as an archive unpacked has it."""
    column = path / COLUMN
    column.mkdir(parents=True)
    contents = Contents()
    for row in range(lobs):
        with (column / f"record{row}.bin").open("wb") as file:
            if size < _POOL_SIZE:
                file.write(contents.lob(row, size))
            else:
                file.writelines(contents.blocks(row, size))


def make_stored(path: Path, lobs: int, size: int) -> None:
    """Write a .siard whose entries are stored; the cells have MD5 digests."""
    _make_archive(path, lobs, size, zipfile.ZIP_STORED)


def make_deflated(path: Path, lobs: int, size: int) -> None:
    """Write a .siard whose entries are deflated; the cells have MD5 digests."""
    _make_archive(path, lobs, size, zipfile.ZIP_DEFLATED)


def _make_archive(path: Path, lobs: int, size: int, compression: int) -> None:
    contents = Contents()

    def entry(name: str) -> zipfile.ZipInfo:
        made = zipfile.ZipInfo(name, _EARLY)
        made.compress_type = compression
        return made

    with zipfile.ZipFile(path, "w") as archive:
        with archive.open(entry(f"{TABLE}/table0.xml"), "w", force_zip64=True) as table:
            table.writelines(line.encode() for line in _table(contents, lobs, size))
        for row in range(lobs):
            archive.writestr(entry(f"{COLUMN}/record{row}.bin"), contents.lob(row, size))
        archive.writestr(entry("header/"), b"")
        archive.writestr(entry("header/metadata.xml"), _METADATA.format(rows=lobs))


def make_table(path: Path, lobs: int, size: int) -> None:
    """Write the table's document of such an archive, alone."""
    with path.open("w", encoding="utf-8") as file:
        file.writelines(_table(Contents(), lobs, size))


def _table(contents: Contents, lobs: int, size: int) -> Iterator[str]:
    yield _TABLE_HEAD
    for row in range(lobs):
        digest = hashlib.md5(contents.lob(row, size), usedforsecurity=False).hexdigest().upper()
        yield (
            f'<row><c1>{row}</c1><c2 digest="{digest}" digestType="MD5" '
            f'file="{COLUMN}/record{row}.bin" length="{size}"/></row>\n'
        )
    yield "</table>\n"


def make_mets(path: Path, lobs: int, _size: int) -> None:
    """Write a folder of empty files and a METS that lists them, as a child package's does; no manifests."""
    _make_described(path, lobs, '<fptr FILEID="{}"/>')


def make_items(path: Path, lobs: int, _size: int) -> None:
    """Write the same with a ``div`` for each file, which metsrw asks for."""
    _make_described(path, lobs, '<div TYPE="Item" LABEL="{0}"><fptr FILEID="{0}"/></div>')


def _make_described(path: Path, lobs: int, pointer: str) -> None:
    path.mkdir()
    with (path / "mets.xml").open("w", encoding="utf-8") as mets:
        mets.write(f'<mets xmlns="{METS}" xmlns:xlink="{XLINK}" OBJID="measured">\n<fileSec><fileGrp>\n')
        for row in range(lobs):
            name = f"content/lob{row // _IN_A_FOLDER}/record{row}.bin"
            file = path / name
            if row % _IN_A_FOLDER == 0:
                file.parent.mkdir(parents=True)
            file.touch()
            mets.write(
                f'<file ID="s0.t2.c4.r{row}" OWNERID="s0.t2.c4.r{row}" SIZE="0" '
                f'MIMETYPE="application/octet-stream" CHECKSUM="{_EMPTY}" CHECKSUMTYPE="MD5">\n<FLocat '
                f'LOCTYPE="URL" xlink:type="simple" xlink:href="{name}"/>\n</file>\n'
            )
        mets.write('</fileGrp></fileSec>\n<structMap TYPE="physical"><div TYPE="Directory" LABEL="lobs">\n')
        mets.writelines(f"{pointer.format(f's0.t2.c4.r{row}')}\n" for row in range(lobs))
        mets.write("</div></structMap></mets>\n")


KINDS: dict[str, Callable[[Path, int, int], None]] = {
    "folder": make_folder,
    "stored": make_stored,
    "deflated": make_deflated,
    "table": make_table,
    "mets": make_mets,
    "items": make_items,
}
"""Makers of data, by the name that rows give them."""

if __name__ == "__main__":
    KINDS[sys.argv[1]](Path(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4]))
