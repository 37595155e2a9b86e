"""Copying a segment's LOBs to their place while hashing them: each byte is read once.

A segment is placed knowing only its own slice of the plan, so segments can be placed in any order
and by any number of processes with the same result.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from metspack import fsio, reading
from metspack.digests import Hashers
from metspack.errors import SourceError
from metspack.layouts import lobseg
from metspack.lengths import Lengths
from metspack.media import Medium
from metspack.model import Digest, LobCell, LobPlace, LobRef, ZipExtent
from metspack.siard import zipcontents

MANIFESTS = ("MD5", "SHA-256")
"""The algorithms of the two manifests, always both."""


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


class Placements:
    """The placed files of one segment, kept on disk: by order of placing, and sorted by path."""

    def __init__(self) -> None:
        # An unnamed database is SQLite's own temporary file, gone when it is closed.
        self._database = sqlite3.connect("", isolation_level=None)
        self._database.execute("PRAGMA cache_size = -2000")
        self._database.execute("PRAGMA temp_store = FILE")
        self._database.execute("PRAGMA journal_mode = OFF")
        self._database.execute(
            "CREATE TABLE placed (n INTEGER PRIMARY KEY, id TEXT, path TEXT, size INTEGER, media_type TEXT,"
            " checksum TEXT, md5 TEXT, sha256 TEXT)"
        )
        self._database.execute("BEGIN")

    def add(self, file: PlacedFile) -> None:
        """Add the next file."""
        self._database.execute(
            "INSERT INTO placed (id, path, size, media_type, checksum, md5, sha256)"
            " VALUES (?, ?, ?, ?, ?, ?, ?)",
            (file.id, file.path, file.size, file.media_type, file.checksum, file.md5, file.sha256),
        )

    def files(self) -> Iterator[PlacedFile]:
        """Yield the files in the order they were placed."""
        for row in self._database.execute(
            "SELECT id, path, size, media_type, checksum, md5, sha256 FROM placed ORDER BY n"
        ):
            yield _placed_file(row)

    def ids(self) -> Iterator[str]:
        """Yield the files' ids in the order they were placed."""
        for (each,) in self._database.execute("SELECT id FROM placed ORDER BY n"):
            yield each

    def manifest_rows(self) -> Generator[tuple[str, str, str], None, None]:
        """Yield path, MD5 and SHA-256 of every file, sorted by the bytes of the path."""
        yield from self._database.execute("SELECT path, md5, sha256 FROM placed ORDER BY path")

    def close(self) -> None:
        """Forget everything."""
        self._database.close()


def _placed_file(row: tuple[str, str, int, str, str, str, str]) -> PlacedFile:
    identifier, path, size, media_type, checksum, md5, sha256 = row
    return PlacedFile(
        id=identifier, path=path, size=size, media_type=media_type, checksum=checksum, md5=md5, sha256=sha256
    )


def slice_line(lob: LobRef) -> bytes:
    """Return a LOB as one line of a segment's slice of the plan."""
    cell, place, extent = lob.cell, lob.place, lob.extent
    digest = (cell.digest.algorithm, cell.digest.value) if cell.digest else None
    fields = (
        (place.schema, place.table, place.cell, place.row),
        (cell.file, cell.length, digest),
        (lob.size, lob.extension, lob.media_type),
        tuple(getattr(extent, name) for name in ZipExtent.__dataclass_fields__),
    )
    return json.dumps(fields, separators=(",", ":")).encode() + b"\n"


def slice_lobs(path: Path) -> Iterator[LobRef]:
    """Yield the LOBs of a segment's slice of the plan, as ``slice_line`` wrote them."""
    names = ZipExtent.__dataclass_fields__.keys()
    with open(reading.opened(path), encoding="utf-8", closefd=True) as lines:
        for line in lines:
            (schema, table, cell, row), (file, length, digest), (size, extension, media_type), extent = (
                json.loads(line)
            )
            yield LobRef(
                cell=LobCell(
                    place=LobPlace(schema=schema, table=table, cell=cell, row=row),
                    file=file,
                    length=length,
                    digest=Digest(algorithm=digest[0], value=digest[1]) if digest else None,
                ),
                size=size,
                extension=extension,
                media_type=media_type,
                extent=ZipExtent(**dict(zip(names, extent, strict=True))),
            )


def placed(
    lobs: Iterable[LobRef],
    *,
    source: Medium,
    segment: Path,
    checksum: str,
    moved: Callable[[int], None],
) -> Iterator[PlacedFile]:
    """Copy LOBs from an open archive into a new segment folder, yielding each file once it is on disk.

    ``checksum`` is the METS algorithm; ``moved`` is told the bytes as they go. Raises
    ``SourceError`` for a LOB that is not what its entry and its cell say, ``TargetError`` where
    writing fails.
    """
    fsio.make_directory(segment)
    made: set[str] = set()
    for lob in lobs:
        folder = lobseg.lob_folder(lob.place)
        if folder not in made:
            fsio.make_directories(segment / folder)
            made.add(folder)
        path = f"{folder}/{lobseg.lob_file(lob.place, lob.extension)}"
        hashers = _copied(lob, source, segment / path, checksum, moved)
        yield PlacedFile(
            id=lob.place.id,
            path=path,
            size=lob.size,
            media_type=lob.media_type,
            checksum=hashers.digest(checksum).value,
            md5=hashers.digest("MD5").value,
            sha256=hashers.digest("SHA-256").value,
        )


def _copied(
    lob: LobRef, source: Medium, target: Path, checksum: str, moved: Callable[[int], None]
) -> Hashers:
    expected = lob.cell.digest
    hashers = Hashers(dict.fromkeys((*MANIFESTS, checksum, *((expected.algorithm,) if expected else ()))))
    # Counting characters costs as much as a digest; only a text LOB that is not all ASCII needs it.
    lengths = Lengths() if lob.cell.length not in {None, lob.size} else None
    what = f"LOB {lob.place.id} ({lob.extent.name})"
    with fsio.NewFile(target) as file:
        for block in zipcontents.contents(source, lob.extent, what=what):
            hashers.update(block)
            if lengths is not None:
                lengths.update(block)
            file.write(block)
            moved(len(block))
        _check(lob, what, hashers, lengths)
    return hashers


def _check(lob: LobRef, what: str, hashers: Hashers, lengths: Lengths | None) -> None:
    length, expected = lob.cell.length, lob.cell.digest
    if lengths is not None and length is not None and lengths.unit(length) is None:
        raise SourceError(
            f"{what} has {lengths.bytes:,} bytes ({lengths.characters:,} characters), but its cell says "
            f"length {length:,}",
            hint="The archive contradicts itself; find out which is right before it is packed.",
        )
    if expected is not None and (found := hashers.digest(expected.algorithm)) != expected:
        raise SourceError(
            f"{what} has the {expected.algorithm} {found.value}, but its cell says {expected.value}",
            hint="The LOB or its digest was changed after the archive was made; get another copy of it.",
        )


def manifest_fragments(placements: Placements, segment: str, work: Path, mets: PlacedFile) -> None:
    """Write the segment's lines of both manifests, sorted by path, into ``work``."""
    paths = (work / f"{segment}.{algorithm}" for algorithm in MANIFESTS)
    with (
        closing(placements.manifest_rows()) as rows,
        fsio.NewFile(next(paths)) as md5,
        fsio.NewFile(next(paths)) as sha256,
    ):
        for path, md5_value, sha256_value in _with(rows, (mets.path, mets.md5, mets.sha256)):
            md5.write(manifest_line(md5_value, f"{segment}/{path}"))
            sha256.write(manifest_line(sha256_value, f"{segment}/{path}"))


def _with(
    rows: Iterable[tuple[str, str, str]], extra: tuple[str, str, str]
) -> Iterator[tuple[str, str, str]]:
    """Yield sorted rows with one more at its place."""
    pending: tuple[str, str, str] | None = extra
    for row in rows:
        if pending is not None and pending[0] < row[0]:
            yield pending
            pending = None
        yield row
    if pending is not None:
        yield pending


def manifest_line(digest: str, path: str) -> bytes:
    """Return one line as ``md5sum -c`` and ``sha256sum -c`` read it: hex, two spaces, path."""
    return f"{digest}  {path}\n".encode()
