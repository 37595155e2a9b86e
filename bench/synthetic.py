"""Makes SIARD archives of any number of small internal LOBs, quickly and always the same.

Usage: python bench/synthetic.py FILE COUNT [SIZE]   (in a process of its own: a process that was
forked from a large one is counted as large itself)
"""

from __future__ import annotations

import hashlib
import struct
import sys
import zlib
from collections.abc import Iterator
from pathlib import Path

_TABLE = "content/schema0/table0"
_LOCAL = struct.Struct("<4s5H3L2H")
_CENTRAL = struct.Struct("<4s6H3L5H2L")
_END = struct.Struct("<4s4H2LH")
_END64 = struct.Struct("<4sQ2H2L4Q")
_LOCATOR64 = struct.Struct("<4sLQL")
_DATE = (1 << 5) | 1  # 1 January 1980, the zip format's first day
_MAX16 = 0xFFFF

_TABLE_HEAD = """<?xml version="1.0" encoding="UTF-8"?>
<table xmlns="http://www.bar.admin.ch/xmlns/siard/2/table.xsd" version="2.2">"""
_METADATA = """<?xml version="1.0" encoding="UTF-8"?>
<siardArchive xmlns="http://www.bar.admin.ch/xmlns/siard/2/metadata.xsd" version="2.2">
  <dbname>synthetic</dbname><dataOwner>nobody</dataOwner><dataOriginTimespan>2016</dataOriginTimespan>
  <archivalDate>2016-02-23</archivalDate>
  <schemas><schema><name>s</name><folder>schema0</folder><tables><table><name>t</name><folder>table0</folder>
    <columns><column><name>id</name><type>INTEGER</type></column><column><name>lob</name><type>BLOB</type></column>
    </columns><rows>{rows}</rows></table></tables></schema></schemas>
</siardArchive>
"""


def lob(row: int, size: int) -> bytes:
    """Return the LOB of a row (from 0): different for each, ``size`` bytes."""
    return (b"%020d" % row * (size // 20 + 1))[:size]


def entries(count: int, size: int) -> Iterator[tuple[str, bytes]]:
    """Yield the archive's entries; the table's document comes first, as SIARD Suite writes it."""
    rows = [_TABLE_HEAD]
    for row in range(count):
        digest = hashlib.md5(lob(row, size), usedforsecurity=False).hexdigest().upper()
        rows.append(
            f'<row><c1>{row}</c1><c2 digest="{digest}" digestType="MD5" '
            f'file="{_TABLE}/lob2/record{row}.bin" length="{size}"/></row>\n'
        )
    rows.append("</table>\n")
    yield f"{_TABLE}/table0.xml", "".join(rows).encode()
    for row in range(count):
        yield f"{_TABLE}/lob2/record{row}.bin", lob(row, size)
    yield "header/", b""
    yield "header/metadata.xml", _METADATA.format(rows=count).encode()


def archive(path: Path, count: int, size: int = 100) -> Path:
    """Write an archive of ``count`` stored LOBs of ``size`` bytes, unless it is there already."""
    if path.exists():
        return path
    directory: list[bytes] = []
    offset = 0
    with path.open("wb") as file:
        for name, data in entries(count, size):
            crc, raw = zlib.crc32(data), name.encode()
            head = _LOCAL.pack(b"PK\x03\x04", 20, 0, 0, 0, _DATE, crc, len(data), len(data), len(raw), 0)
            file.write(head + raw + data)
            directory.append(
                _CENTRAL.pack(
                    b"PK\x01\x02",
                    20,
                    20,
                    0,
                    0,
                    0,
                    _DATE,
                    crc,
                    len(data),
                    len(data),
                    len(raw),
                    0,
                    0,
                    0,
                    0,
                    0,
                    offset,
                )
                + raw
            )
            offset += len(head) + len(raw) + len(data)
        length = sum(map(len, directory))
        file.writelines(directory)
        few = min(len(directory), _MAX16)
        if few == _MAX16:
            file.write(
                _END64.pack(b"PK\x06\x06", 44, 45, 45, 0, 0, len(directory), len(directory), length, offset)
            )
            file.write(_LOCATOR64.pack(b"PK\x06\x07", 0, offset + length, 1))
        file.write(_END.pack(b"PK\x05\x06", 0, 0, few, few, length, offset, 0))
    return path


if __name__ == "__main__":
    archive(Path(sys.argv[1]), *(int(each) for each in sys.argv[2:]))
