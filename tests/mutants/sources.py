"""The archives that packages are made of: two tables, LOBs of bytes and of text, a messageDigest."""

from __future__ import annotations

from pathlib import Path

from tests.siard import forging
from tests.siards import md5

FIRST = (b"a" * 40, b"bc" * 15, bytes(range(250)), b"d", b"")


def _cell(tag: str, path: str, data: bytes) -> str:
    return f'<{tag} file="{path}" length="{len(data)}" digestType="MD5" digest="{md5(data)}"/>'


def archive(path: Path, contents: tuple[bytes, ...]) -> Path:
    """Write an archive whose first table has these LOBs, the second a text; return its path."""
    lobs: dict[str, bytes] = {}

    def put(tag: str, table: int, row: int, data: bytes, extension: str) -> str:
        name = f"content/schema0/table{table}/lob{tag[1:]}/record{row}.{extension}"
        lobs[name] = data
        return _cell(tag, name, data)

    number = forging.column("NUMBER", "INTEGER")
    first = forging.Table(
        columns=(number, forging.column()),
        rows=tuple(f"<c1>{row}</c1>{put('c2', 0, row, data, 'bin')}" for row, data in enumerate(contents)),
    )
    text = contents[0].hex().encode()[:70]
    second = forging.Table(
        folder="table1",
        name="u",
        columns=(number, forging.column("TEXT", "CLOB")),
        rows=(f"<c1>1</c1>{put('c2', 1, 0, text, 'txt')}", "<c1>2</c1>"),
    )
    return forging.siard(path, tables=(first, second), lobs=lobs, digests=forging.NEW_MD5)
