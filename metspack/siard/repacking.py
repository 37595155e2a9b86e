"""An archive's entries on their way into a new zip file, from whatever the archive lies in.

A zip file's entries keep their compressed bytes and their central records, without the name of a
folder that wraps them all; an unpacked archive's files are packed anew, the same in every run.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain, pairwise
from typing import Protocol

from metspack.errors import SourceError
from metspack.media import Medium
from metspack.model import FileExtent
from metspack.siard.archive import Archive
from metspack.siard.container import CentralRecord, Container
from metspack.siard.departures import Departures
from metspack.siard.trees import AnyTree
from metspack.siard.zipcontents import span
from metspack.siard.zipdirectory import unreadable
from metspack.siard.zipformat import DEFLATED, STORED, encoded
from metspack.siard.zipwriting import GROWTH, ZipWriter, unwrapped, unwrapped_entry

HEADER = "header/"
_CONTENT = "content/"


class Entry(Protocol):
    """An entry of the old archive that stays."""

    @property
    def name(self) -> str:
        """The name it will have."""

    def contents(self) -> Iterator[bytes]:
        """Yield its bytes, proven when the iterator has ended; raises SourceError."""

    def copy(self, writer: ZipWriter) -> None:
        """Append it as it is."""

    def rewrite(self, writer: ZipWriter, contents: Iterable[bytes]) -> None:
        """Append it with other contents, at most ``GROWTH`` times as long."""


def entries(archive: Archive, departures: Departures, *, header: bool) -> Iterator[Entry]:
    """Yield what stays of an archive: the content, or what lies under ``header/``.

    A zip file's entries come in physical order; those beside the folder that wraps an archive do not
    come. An unpacked archive's come sorted, deflated (stored in SIARD 1.0, which knows no compression),
    of its folders ``content/``, ``header/`` and the empty ones (SIARD 2.2 P_4.2-1, M_5.1).
    """
    container = archive.container
    for entry in _files(archive) if container is None else _zipped(container, archive.prefix):
        if entry.name.startswith(HEADER) == header and entry.name not in departures:
            yield entry


@dataclass(frozen=True, slots=True, kw_only=True)
class _Zipped:
    """An entry of a zip file: ``found`` is its record there, ``record`` that without the wrapping folder."""

    container: Container
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
        where = span(self.container.medium, extent, what=str(self.container.path))
        raw = raw_bytes(self.container.medium, str(self.container.path), where.start, where.stop)
        if self.root:
            raw = unwrapped_entry(raw, encoded(self.root, extent.flags))
        writer.copy(self.record, raw)

    def rewrite(self, writer: ZipWriter, contents: Iterable[bytes]) -> None:
        writer.write(self.record, contents)


def _zipped(container: Container, root: str) -> Iterator[Entry]:
    for record in container.records():
        name = record.extent.name
        if not root:
            yield _Zipped(container=container, root=root, found=record, record=record)
        elif name.startswith(root) and name != root:
            yield _Zipped(container=container, root=root, found=record, record=unwrapped(record, root))


def raw_bytes(medium: Medium, what: str, start: int, stop: int) -> Iterator[bytes]:
    """Yield all bytes between two offsets of a zip file; raises SourceError when they cannot be had."""
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
class _File:
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


def _files(archive: Archive) -> Iterator[Entry]:
    tree = archive.tree
    method = STORED if archive.metadata.version == "1.0" else DEFLATED
    for name, following in pairwise(chain(tree.names(), ("",))):
        # A folder comes before what it holds.
        if not name.endswith("/") or name in {_CONTENT, HEADER} or not following.startswith(name):
            yield _File(tree=tree, name=name, extent=tree.extent(name), method=method)
