"""Rewriting an archive so that its cells point at the segments: spliced, never re-serialised.

Changed are ``file`` of moved cells, lobFolder (and 2.0's ``folder``) of their columns and fields, the
database's lobFolder, and messageDigest. Gone are exactly the moved LOBs' entries and the folders
that this leaves empty. Every other entry is copied as the bytes it has.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from metspack import digests, fsio
from metspack.digests import Hashers
from metspack.model import Digest, LobCell
from metspack.siard import markup, metadata
from metspack.siard.archive import Archive
from metspack.siard.container import CentralRecord, Container
from metspack.siard.encoding import Encoding, detected
from metspack.siard.markup import Element
from metspack.siard.metadata import Metadata, Table
from metspack.siard.splicing import Edit, edited, spliced_table
from metspack.siard.zipcontents import span
from metspack.siard.zipwriting import ZipWriter

_HEADER = "header/"
HERE = "./"
"""The lobFolder of database and columns: cells count from the folder of the .siard (DILCIS statement)."""


class Departures:
    """The names of the entries that leave the archive, kept on disk."""

    def __init__(self) -> None:
        self._names = sqlite3.connect("", isolation_level=None)
        self._names.execute("PRAGMA cache_size = -2000")
        self._names.execute("PRAGMA journal_mode = OFF")
        self._names.execute("CREATE TABLE departed (name TEXT PRIMARY KEY) WITHOUT ROWID")
        self._names.execute("BEGIN")

    def add(self, name: str) -> None:
        """Add an entry's name; one that two cells name leaves once."""
        self._names.execute("INSERT OR IGNORE INTO departed VALUES (?)", (name,))

    def add_emptied(self, container: Container) -> None:
        """Add the folders of which nothing stays, the deepest first; empty ones of the source stay."""
        with closing(sqlite3.connect("", isolation_level=None)) as folders:
            folders.execute("PRAGMA journal_mode = OFF")
            folders.execute("CREATE TABLE folder (name TEXT PRIMARY KEY) WITHOUT ROWID")
            folders.execute("BEGIN")
            folders.executemany(
                "INSERT INTO folder VALUES (?)", ((name,) for name in container.names() if name.endswith("/"))
            )
            # A folder's name is a prefix of what it holds, so descending order meets the deepest first.
            for (name,) in folders.execute("SELECT name FROM folder ORDER BY name DESC"):
                departed = self._below(name)
                if departed and not any(True for _ in islice(container.names(name), departed + 1, None)):
                    self.add(name)  # the folder and the departed are all that is there

    def _below(self, folder: str) -> int:
        # "0" is the character after "/": the range holds every name that begins with the folder's.
        (count,) = self._names.execute(
            "SELECT count(*) FROM departed WHERE name > ? AND name < ?", (folder, f"{folder[:-1]}0")
        ).fetchone()
        return int(count)

    def __contains__(self, name: str) -> bool:
        return self._names.execute("SELECT 1 FROM departed WHERE name = ?", (name,)).fetchone() is not None

    def close(self) -> None:
        """Forget everything."""
        self._names.close()


@dataclass(frozen=True, slots=True, kw_only=True)
class Moved:
    """What leaves the archive: entries, and the columns (numbers from 1) by table document."""

    entries: Departures
    columns: Mapping[str, frozenset[int]]


def rewritten(
    archive: Archive,
    moved: Moved,
    target: Path,
    *,
    work: Path,
    values: Callable[[Table], Callable[[LobCell], str]],
    algorithms: Iterable[str],
) -> Hashers:
    """Write the archive anew without its moved LOBs; returns the new file's digests and size.

    ``values`` gives for a table the function from a LOB cell to its new ``file``. Raises
    ``SourceError`` and ``TargetError``.
    """
    moved.entries.add_emptied(archive.container)
    tables = {table.path: table for table in archive.metadata.tables if moved.columns.get(table.path)}
    writer = ZipWriter(target, work)
    try:
        for record in _records(archive.container, moved.entries, header=False):
            table = tables.get(record.extent.name)
            if table is None:
                writer.copy(record, _raw(archive, record))
            else:
                blocks = archive.container.contents(record.extent)
                writer.write(record, spliced_table(blocks, table, archive.budgets, values(table)))
        seals = Hashers({digest.algorithm for digest in archive.metadata.digests})
        for block in writer.file.written(0, writer.file.size):
            seals.update(block)
        for record in _records(archive.container, moved.entries, header=True):
            if record.extent.name == metadata.NAME:
                document = described(
                    archive.metadata_document, moved.columns, seals, depth=archive.budgets.depth
                )
                writer.write(record, (document,))
            else:
                writer.copy(record, _raw(archive, record))
        writer.finish(archive.container.comment)
        hashers = Hashers(algorithms)
        for block in writer.file.written(0, writer.file.size):
            hashers.update(block)
        writer.file.close()
    except BaseException:
        writer.abandon()
        raise
    return hashers


def copied(archive: Archive, target: Path, algorithms: Iterable[str]) -> Hashers:
    """Write an archive from which nothing moves, byte for byte; returns its digests and size."""
    hashers = Hashers(algorithms)
    with fsio.NewFile(target) as file:
        for block in archive.container.medium.chunks():
            hashers.update(block)
            file.write(block)
    return hashers


def _records(container: Container, departures: Departures, *, header: bool) -> Iterator[CentralRecord]:
    """Yield what stays, in physical order: the content, or what lies under ``header/``.

    The content comes before the header whatever the source did: messageDigest covers the bytes up
    to the header's first entry (SIARD 2.2 M_5.1).
    """
    for record in container.records():
        if record.extent.name.startswith(_HEADER) == header and record.extent.name not in departures:
            yield record


def _raw(archive: Archive, record: CentralRecord) -> Iterator[bytes]:
    where = span(archive.container.medium, record.extent, what=str(archive.path))
    return archive.container.medium.chunks(where.start, where.stop)


def sealed(archive: Archive) -> int:
    """Return how many bytes messageDigest covers: those before the header's first entry (SIARD 2.2 M_5.1)."""
    headers = (r.extent.offset for r in archive.container.records() if r.extent.name.startswith(_HEADER))
    return next(headers, archive.container.size)


def stale_digests(archive: Archive, read: Callable[[int], None]) -> Iterator[tuple[Digest, Digest]]:
    """Yield each messageDigest of the archive that its bytes do not have, with the one they have.

    ``read`` is told the bytes as they are read: all that the digest covers.
    """
    hashers = Hashers({digest.algorithm for digest in archive.metadata.digests})
    for block in archive.container.medium.chunks(0, sealed(archive)):
        hashers.update(block)
        read(len(block))
    for digest in archive.metadata.digests:
        if (found := hashers.digest(digest.algorithm)) != digest:
            yield digest, found


def described(
    document: bytes, columns: Mapping[str, frozenset[int]], seals: Hashers, *, depth: int = 100
) -> bytes:
    """Return metadata.xml as it describes the archive after the move.

    ``seals`` holds the digests of the new content, for messageDigest.
    """
    root = markup.document(document, skipped=metadata.NOT_NEEDED, depth=depth)
    encoding = detected(document[:1024])
    facts = metadata.of(root)
    edits = [
        *_database_edits(root, document, encoding),
        *_digest_edits(root, seals),
        *_column_edits(root, facts, columns, document, encoding),
    ]
    return edited(document, edits, encoding)


def _database_edits(root: Element, document: bytes, encoding: Encoding) -> Iterator[Edit]:
    present = root.child("lobFolder")
    if present is not None:
        yield _replacing(present, HERE)
        return
    before = root.child("dataOriginTimespan") or root.child("dataOwner") or root.child("dbname")
    if before is not None:
        yield _inserting(before, document, encoding)


def _column_edits(
    root: Element,
    facts: Metadata,
    columns: Mapping[str, frozenset[int]],
    document: bytes,
    encoding: Encoding,
) -> Iterator[Edit]:
    elements = (table for schema in root.all("schemas", "schema") for table in schema.all("tables", "table"))
    for table, element in zip(facts.tables, elements, strict=True):
        moving = columns.get(table.path, frozenset())
        for number, column in enumerate(element.all("columns", "column"), start=1):
            present = column.child("lobFolder")
            if number in moving:
                name = column.child("name")
                if present is not None:
                    yield _replacing(present, HERE)
                elif name is not None:
                    yield _inserting(name, document, encoding)
                gone = [column.child("folder")]
            else:
                gone = [present]
            for field in _fields(column):
                gone += (field.child("lobFolder"), field.child("folder") if number in moving else None)
            for found in gone:
                if found is not None:
                    yield _removing(found, document, encoding)


def _fields(element: Element) -> Iterator[Element]:
    for field in element.all("fields", "field"):
        yield field
        yield from _fields(field)


def _digest_edits(root: Element, seals: Hashers) -> Iterator[Edit]:
    for element in root.all("messageDigest"):
        value = element.child("digest") if element.children else element
        algorithm = element.value("digestType")
        if value is None or (old := digests.parsed(value.text, algorithm)) is None:
            continue
        text = digests.in_form_of(value.text, algorithm, seals.digest(old.algorithm))
        yield Edit(start=value.inner, stop=value.inner_stop, text=text)


def _replacing(element: Element, text: str) -> Edit:
    if element.inner == element.stop:  # an empty-element tag: there is nothing between tags to replace
        name = f"{element.prefix}:{element.name}" if element.prefix else element.name
        return Edit(start=element.start, stop=element.stop, text=f"<{name}>{text}</{name}>")
    return Edit(start=element.inner, stop=element.inner_stop, text=text)


def _inserting(before: Element, document: bytes, encoding: Encoding) -> Edit:
    """Return the edit that puts a lobFolder behind ``before``, indented as that is."""
    name = f"{before.prefix}:lobFolder" if before.prefix else "lobFolder"
    indent = encoding.decoded(document[_gap(before.start, document, encoding) : before.start])
    return Edit(start=before.stop, stop=before.stop, text=f"{indent}<{name}>{HERE}</{name}>")


def _removing(element: Element, document: bytes, encoding: Encoding) -> Edit:
    """Return the edit that takes an element out, with the white space before it."""
    return Edit(start=_gap(element.start, document, encoding), stop=element.stop, text="")


def _gap(start: int, document: bytes, encoding: Encoding) -> int:
    """Return where the white space before an offset begins."""
    blanks = {encoding.encoded(each) for each in " \t\r\n"}
    while start >= encoding.unit and document[start - encoding.unit : start] in blanks:
        start -= encoding.unit
    return start
