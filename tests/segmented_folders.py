"""Folders with a SIARD archive and segments of LOBs, as other tools leave them."""

from __future__ import annotations

import hashlib
import zipfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.siard import forging

SIZE = 6_000
"""The bytes of a part where a LOB is split."""


def pictures(northwind: Path) -> list[bytes]:
    """Return the LOBs of the sample with 8 pictures, in the order of its rows."""
    with zipfile.ZipFile(northwind) as archive:
        names = [name for name in archive.namelist() if "/lob" in name and not name.endswith("/")]
        return [archive.read(f"{names[0].rpartition('/')[0]}/record{n}.bin") for n in range(len(names))]


@dataclass(frozen=True, kw_only=True)
class TableFrom1(forging.Table):
    """A table as DBPTK counts it: ``schema1/table1``."""

    folder: str = "table1"

    @property
    def path(self) -> str:
        return f"content/schema1/{self.folder}/{self.folder}.xml"


def siard(
    path: Path, rows: Sequence[str], *, database: str, column: str | None, version: str, columns: int = 3
) -> Path:
    """Write an archive whose last column has the LOBs, and return its path."""
    given = [forging.column(f"C{n}", "INTEGER") for n in range(1, columns)]
    table = TableFrom1(columns=(*given, forging.column("Picture", lob_folder=column)), rows=tuple(rows))
    whole = forging.metadata(version, [table], lob_folder=database).replace(b"schema0", b"schema1")
    path.parent.mkdir(parents=True, exist_ok=True)
    return forging.siard(path, version=version, tables=[table], document=whole)


def cell(tag: str, file: str, data: bytes, *, digest: bytes | None = None) -> str:
    """Return a cell; ``digest`` is what its digest is of, when that is not the LOB."""
    value = hashlib.sha256(data if digest is None else digest).hexdigest().upper()
    return f'<{tag} file="{file}" length="{len(data)}" digestType="SHA-256" digest="{value}"/>'


def write(path: Path, data: bytes) -> None:
    """Write a file and the folders for it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)


def dbptk_21(folder: Path, lobs: Iterable[bytes], *, per_folder: int = 3) -> Path:
    """Make what DBPTK writes for SIARD 2.1: ``x.siard_lobseg_1/content/schema1/table1/lob4/record1.bin``."""
    rows = []
    for n, data in enumerate(lobs):
        file = f"x.siard_lobseg_{n // per_folder + 1}/content/schema1/table1/lob4/record{n + 1}.bin"
        write(folder / file, data)
        rows.append(cell("c4", f"../{file}", data))
    siard(folder / "x.siard", rows, database="content", column=None, version="2.1", columns=4)
    return folder


def dbptk_22(folder: Path, lobs: Iterable[bytes], *, whole_digests: bool = True, most: int = 12_100) -> Path:
    """Make what DBPTK writes for SIARD 2.2: ``x.siard_lobs/s1_t1_c3/seg_0/t1_c3_r1.bin`` and ``_part001``.

    Without ``whole_digests`` the digest of a split LOB is that of its last part.
    """
    column = folder / "x.siard_lobs" / "s1_t1_c3"
    rows, segment = [], 0
    for row, data in enumerate(lobs, start=1):
        name = f"t1_c3_r{row}.bin"
        file = f"seg_{segment}/{name}"
        pieces = [data[at : at + SIZE] for at in range(0, len(data), SIZE)] if len(data) > most else []
        for number, piece in enumerate(pieces, start=1):
            write(column / f"seg_{segment}" / f"{name}_part{number:03d}", piece)
            segment += 1
        if not pieces:
            write(column / file, data)
        last = pieces[-1] if pieces and not whole_digests else None
        rows.append(cell("c3", file, data, digest=last))
    siard(folder / "x.siard", rows, database="../x.siard_lobs", column="s1_t1_c3", version="2.2")
    return folder
