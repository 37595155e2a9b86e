"""The table of a package's files: path, size and digests of each, by order of placing and by path."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from metspack.digests import MANIFEST_ALGORITHMS, Hashers
from metspack.files import tempdb
from metspack.model import Format


@dataclass(frozen=True, slots=True, kw_only=True)
class PlacedFile:
    """A file of a segment as it lies on disk: path inside the segment, size in bytes, digests in hex."""

    id: str
    path: str
    size: int
    media_type: str
    checksum: str
    md5: str
    sha256: str
    part_of: str = ""
    """The id of the LOB that the file is a part of, "" when it is a whole one."""
    sequence: int | None = None
    """The part's number, from 0."""
    format: Format | None = None
    """Its format, for those that were identified."""


def algorithms(checksum: str) -> tuple[str, ...]:
    """Return the algorithms that a package's files are hashed with: the manifests', and that of METS."""
    return tuple(dict.fromkeys((*MANIFEST_ALGORITHMS, checksum)))


def placed_file(
    identifier: str,
    path: str,
    media_type: str,
    hashers: Hashers,
    checksum: str,
    *,
    kind: Format | None = None,
) -> PlacedFile:
    """Return a whole file by its digests, which are those of ``algorithms(checksum)`` or more."""
    return PlacedFile(
        id=identifier,
        path=path,
        size=hashers.size,
        media_type=media_type,
        checksum=hashers.digest(checksum).value,
        md5=hashers.digest("MD5").value,
        sha256=hashers.digest("SHA-256").value,
        format=kind,
    )


_OWN = tuple(name for name in PlacedFile.__dataclass_fields__ if name != "format")
COLUMNS = (*_OWN, "puid", "format_name", "format_version")
"""The columns of a table of placed files."""


def row_of(file: PlacedFile) -> tuple[object, ...]:
    """Return a placed file as a row of such a table."""
    return (*(getattr(file, name) for name in _OWN), *row_of_format(file.format))


def file_of(row: Sequence[Any]) -> PlacedFile:
    """Return the placed file that a row of such a table is."""
    own = dict(zip(_OWN, row[: len(_OWN)], strict=True))
    return PlacedFile(**own, format=format_of(row[len(_OWN) :]))


def row_of_format(kind: Format | None) -> tuple[str | None, str | None, str | None]:
    """Return a format as the three last columns of such a row, all empty for None."""
    return (None, None, None) if kind is None else (kind.puid, kind.name, kind.version)


def format_of(row: Sequence[Any]) -> Format | None:
    """Return the format that three columns of a row are."""
    puid, name, version = row
    return None if puid is None else Format(puid=puid, name=name, version=version)


class Placements(tempdb.Scratch):
    """The placed files of one segment, kept on disk: by order of placing, and sorted by path."""

    def __init__(self) -> None:
        super().__init__(f"CREATE TABLE placed (n INTEGER PRIMARY KEY, {', '.join(COLUMNS)})", "BEGIN")

    def add(self, file: PlacedFile) -> None:
        """Add the next file."""
        with tempdb.explained("the files of a segment"):
            self._database.execute(_PUT, row_of(file))

    def files(self) -> Iterator[PlacedFile]:
        """Yield the files in the order they were placed."""
        for row in self._database.execute(_ALL):
            yield file_of(row)

    def ids(self) -> Iterator[str]:
        """Yield the files' ids in the order they were placed."""
        for (each,) in self._database.execute("SELECT id FROM placed ORDER BY n"):
            yield each

    def manifest_rows(self) -> Generator[tuple[str, str, str], None, None]:
        """Yield path, MD5 and SHA-256 of every file, sorted by the bytes of the path."""
        yield from self._database.execute("SELECT path, md5, sha256 FROM placed ORDER BY path")


_PUT = f"INSERT INTO placed ({', '.join(COLUMNS)}) VALUES ({', '.join('?' * len(COLUMNS))})"  # noqa: S608
_ALL = f"SELECT {', '.join(COLUMNS)} FROM placed ORDER BY n"  # noqa: S608
