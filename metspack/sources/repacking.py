"""Repack an archive, whatever its form: the entries that stay are copied into a new zip file.

A zip file's entries keep their compressed bytes and their central records, without the name of a
folder that wraps them all; an unpacked archive's files are packed anew, the same in every run.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import closing
from itertools import chain, islice, pairwise

from metspack.containers.zipdirectory import unreadable
from metspack.containers.zipformat import DEFLATED, STORED, encoded
from metspack.containers.zipreader import CentralRecord, ZipContainer, is_hollow, span
from metspack.containers.zipwriter import GROWTH, ZipWriter, unwrapped, unwrapped_entry
from metspack.errors import SourceError
from metspack.files import tempdb
from metspack.files.byteranges import Medium
from metspack.model import FileExtent
from metspack.siard.entries import AnyTree
from metspack.sizes import counted
from metspack.sources.archive import Archive
from metspack.values import dataclass

_TABLE = "CREATE TABLE name (name TEXT PRIMARY KEY) WITHOUT ROWID"
_OF_SOME = "SELECT name FROM json_each(?) AS given JOIN name ON name.name = given.value"
_WHAT = "the names of an archive's entries"


class Departures(tempdb.Scratch):
    """The names of the entries that are left out of the new archive; for one thread.

    Raises ``TargetError`` when the temporary disk is full.
    """

    def __init__(self) -> None:
        super().__init__(_TABLE, "BEGIN")

    def add(self, name: str) -> bool:
        """Add an entry's name; return whether it is new: an entry that two cells name is left out once."""
        with tempdb.explained(_WHAT):
            return self._database.execute("INSERT OR IGNORE INTO name VALUES (?)", (name,)).rowcount == 1

    def add_all(self, names: Iterable[str]) -> None:
        """Add many names."""
        with tempdb.explained(_WHAT):
            self._database.executemany("INSERT OR IGNORE INTO name VALUES (?)", zip(names))

    def add_new(self, names: Sequence[str]) -> bool:
        """Add many names where all are new; return whether they were."""
        is_new = len(set(names)) == len(names) == len(self.staying(names))
        if is_new:
            self.add_all(names)
        return is_new

    def keep(self, name: str) -> None:
        """Remove a name again: its entry stays."""
        with tempdb.explained(_WHAT):
            self._database.execute("DELETE FROM name WHERE name = ?", (name,))

    def add_emptied(self, tree: AnyTree) -> None:
        """Add the folders of which no entry stays, the deepest first; those empty in the source stay."""
        with closing(tempdb.create()) as folders, tempdb.explained(_WHAT):
            folders.execute(_TABLE)
            folders.execute("BEGIN")
            folders.executemany(
                "INSERT INTO name VALUES (?)", ((name,) for name in tree.names() if name.endswith("/"))
            )
            # A folder's name is a prefix of what it holds, so descending order meets the deepest first.
            for (name,) in folders.execute("SELECT name FROM name ORDER BY name DESC"):
                departed = self._below(name)
                # The folder and the departed are all that is there; an unpacked one lists itself as well.
                if departed and not any(True for _ in islice(tree.names(name), departed + 1, None)):
                    self.add(name)

    def _below(self, folder: str) -> int:
        # "0" is the character after "/": the range holds every name that begins with the folder's.
        (count,) = self._database.execute(
            "SELECT count(*) FROM name WHERE name > ? AND name < ?", (folder, f"{folder[:-1]}0")
        ).fetchone()
        return int(count)

    def staying(self, names: Sequence[str]) -> list[str]:
        """Return those of some names that were not added."""
        with tempdb.explained(_WHAT):
            leaving = {name for (name,) in self._database.execute(_OF_SOME, (json.dumps(names),))}
        return [name for name in names if name not in leaving]

    def __contains__(self, name: str) -> bool:
        return self._database.execute("SELECT 1 FROM name WHERE name = ?", (name,)).fetchone() is not None


HEADER = "header/"
_CONTENT = "content/"


def entries(archive: Archive, departures: Departures, *, header: bool) -> Iterator[KeptEntry]:
    """Yield the entries of an archive that stay: those of the content, or those under ``header/``.

    A zip file's entries come in physical order; those beside the folder that wraps an archive do not
    come. An unpacked archive's come sorted, deflated (stored in SIARD 1.0, which knows no compression),
    of its folders ``content/``, ``header/`` and the empty ones (SIARD 2.2 P_4.2-1, M_5.1).
    """
    container = archive.container
    if container is not None:
        yield from _zipped(container, archive.prefix, departures, header=header)
        return
    for entry in _files(archive):
        if entry.name.startswith(HEADER) == header and entry.name not in departures:
            yield entry


@dataclass(frozen=True, slots=True, kw_only=True)
class _Zipped:
    """An entry of a zip file: ``found`` is its record there, ``record`` that without the wrapping folder."""

    container: ZipContainer
    root: str
    found: CentralRecord
    record: CentralRecord

    @property
    def name(self) -> str:
        return self.record.extent.name

    def contents(self) -> Iterator[bytes]:
        return self.container.contents(self.found.extent)

    def copy(self, writer: ZipWriter) -> None:
        extent = self.found.extent
        if is_hollow(extent):  # not every program takes it for empty
            self.rewrite(writer, self.contents())
            return
        where = span(self.container.medium, extent, what=str(self.container.path))
        raw = raw_bytes(self.container.medium, str(self.container.path), where.start, where.stop)
        if self.root:
            raw = unwrapped_entry(raw, encoded(self.root, extent.flags))
        writer.copy(self.record, raw)

    def rewrite(self, writer: ZipWriter, contents: Iterable[bytes]) -> None:
        writer.write(self.record, contents)


def _zipped(
    container: ZipContainer, root: str, departures: Departures, *, header: bool
) -> Iterator[KeptEntry]:
    def chosen(names: Sequence[str]) -> Iterator[str]:
        own = [name[len(root) :] for name in names if name.startswith(root) and name != root]
        staying = departures.staying([name for name in own if name.startswith(HEADER) == header])
        return (root + name for name in staying)

    for record in container.records(chosen, folder=root + HEADER if header else root):
        own = unwrapped(record, root) if root else record
        yield _Zipped(container=container, root=root, found=record, record=own)


def raw_bytes(medium: Medium, what: str, start: int, stop: int) -> Iterator[bytes]:
    """Yield all bytes between two offsets of a zip file; raises SourceError when there are fewer."""
    at = start
    try:
        for block in medium.chunks(start, stop):
            yield block
            at += len(block)
    except OSError as error:
        raise unreadable(what, error, at) from error
    if at < stop:
        raise SourceError(
            f"{what}: ends at byte {at:,}; expected {stop:,} bytes or more",
            hint="The file was cut off or changed while it was read.",
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class _UnpackedFile:
    """A file or folder of an unpacked archive; a folder has no extent."""

    tree: AnyTree
    name: str
    extent: FileExtent | None
    method: int

    def contents(self) -> Iterator[bytes]:
        return iter(()) if self.extent is None else self.tree.contents(self.extent)

    def copy(self, writer: ZipWriter) -> None:
        if self.extent is None:
            writer.add_folder(self.name)
        else:
            writer.add(self.name, self.contents(), method=self.method, most=self.extent.size)

    def rewrite(self, writer: ZipWriter, contents: Iterable[bytes]) -> None:
        most = 0 if self.extent is None else GROWTH * self.extent.size
        writer.add(self.name, contents, method=self.method, most=most)


KeptEntry = _Zipped | _UnpackedFile
"""An entry of the old archive that stays, to be copied as it is or rewritten with other contents."""


def _files(archive: Archive) -> Iterator[KeptEntry]:
    tree = archive.tree
    method = STORED if archive.metadata.version == "1.0" else DEFLATED
    for name, following in pairwise(chain(tree.names(), ("",))):
        # A folder comes before what it holds.
        if not name.endswith("/") or name in {_CONTENT, HEADER} or not following.startswith(name):
            yield _UnpackedFile(tree=tree, name=name, extent=tree.extent(name), method=method)


def left_out(archive: Archive, renamed: Collection[tuple[int, int, int]]) -> Iterator[str]:
    """Yield sentences on what a new archive made of this one no longer has, besides LOBs that moved.

    ``renamed`` are the columns, by schema, table and number, whose cells name their LOBs in another way.
    """
    if archive.prefix:
        yield _around(archive.container, archive.prefix)
    for table in archive.metadata.tables:
        for column in table.columns:
            if column.folder is not None and (table.schema, table.number, column.number) in renamed:
                yield (
                    f"column {table.label}.{column.name}: its folder {column.folder!r} is left out of "
                    "metadata.xml, as its cells now name the LOBs without it"
                )


def _around(container: ZipContainer | None, prefix: str) -> str:
    """Return the sentence on the folder that an archive lay in."""
    number, first = 0, ""
    for name in () if container is None else container.names():
        if not name.startswith(prefix):
            number, first = number + 1, first or name
    words = f"the folder {prefix} around the archive's entries is left out"
    if not number:
        return words
    entries = counted(number, "entry", "entries")
    return f"{words}, and so is what lies beside it: {entries}, the first {first}"
