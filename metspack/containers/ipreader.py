"""Read IPs packed in zip and tar files: entries are listed and read in place, never extracted."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from metspack.containers.zipformat import PLAIN, STORED
from metspack.containers.zipreader import ZipContainer, contents, span
from metspack.errors import SourceError
from metspack.files import reading
from metspack.files.byteranges import FileBelow, FileRange, HeldMedium
from metspack.limits import Budgets
from metspack.model import ZipExtent
from metspack.system import os

if TYPE_CHECKING:
    from metspack.containers.tarreader import Tar

ZIP, TAR = b".zip", b".tar"
SUFFIXES = (ZIP, TAR)
_APPLE_DOUBLE = b"._"  # the prefix of the file that macOS writes beside another of the same name
_OPEN = 32  # the most open packs: a check reads the directory of an open one only once


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """An entry: its name, its kind, and for files perhaps the size in bytes.

    ``kind`` is f (file), d (folder), l (link) or s (special file).
    """

    name: bytes
    kind: str
    size: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Content:
    """A file opened for reading: its size in bytes, and a function that yields all of them."""

    size: int
    chunks: Callable[[], Iterator[bytes]]

    def blocks(self) -> Iterator[bytes]:
        """Yield all bytes in blocks for a parser."""
        return reading.blocks(self.chunks())

    def lines(self) -> Iterator[bytes]:
        """Yield lines with their line feeds; a line longer than ``reading.BLOCK`` is cut."""
        return reading.lines(self.blocks())


@dataclass(frozen=True, slots=True, kw_only=True)
class Compressed:
    """A compressed entry of a zip file."""

    file: FileBelow
    entry: ZipExtent

    def __str__(self) -> str:
        return str(self.file)


class PackedError(SourceError):
    """A zip or tar file, or an entry of it, is damaged, misleading or unreadable."""


def unpacked_name(name: bytes) -> bytes | None:
    """Return a zip or tar file's name or path without its suffix, or None for other files."""
    suffix = next((each for each in SUFFIXES if name.lower().endswith(each)), None)
    is_of_macos = name.rpartition(b"/")[2].startswith(_APPLE_DOUBLE)
    return None if suffix is None or is_of_macos else name[: -len(suffix)]


def stem_of_pack(name: str) -> str | None:
    """Return the name of a zip or tar file without its suffix, or None for any other file."""
    stem = unpacked_name(os.fsencode(name))
    return None if stem is None else os.fsdecode(stem)


def form_of(head: bytes) -> str:
    """Return ``zip`` or ``tar`` by a file's first 512 bytes, or "" for any other file."""
    return "zip" if head.startswith(b"PK\x03\x04") else "tar" if head[257:262] == b"ustar" else ""


class PackFile:
    """The entries of an open zip or tar file, by their paths in its directory."""

    def __init__(self, path: FileBelow, directory: ZipContainer | Tar) -> None:
        self._path = path
        self._directory = directory
        self.top = os.fsencode(directory.top)

    def items(self, prefix: bytes) -> Iterator[Item]:
        """Yield the entries below a prefix, sorted by whole path."""
        if isinstance(self._directory, ZipContainer):
            for name, size in self._directory.sizes(os.fsdecode(prefix)):
                kind = "d" if name.endswith("/") else "f"
                yield Item(name=os.fsencode(name).rstrip(b"/"), kind=kind, size=size)
        else:
            for member in self._directory.members(prefix):
                yield Item(name=member.name.rstrip(b"/"), kind=member.kind, size=member.size)

    @property
    def held(self) -> HeldMedium:
        """The file in the form by which another process can open it."""
        return self._directory.medium.held

    def extent(self, path: str) -> ZipExtent | None:
        """Return the extent of the file at a path, or None without one."""
        return self._directory.extent(path)

    def content(self, path: bytes) -> Content | None:
        """Return the bytes of the file at a path, or None without one."""
        extent = self._directory.extent(os.fsdecode(path))
        if extent is None:
            return None
        medium, what = self._directory.medium, str(self._path)
        return Content(size=extent.size, chunks=lambda: contents(medium, extent, what=what))

    def location(self, path: bytes) -> FileRange | Compressed | None:
        """Return the place of a file's bytes in the packed file, or None without one."""
        extent = self._directory.extent(os.fsdecode(path))
        if extent is None:
            return None
        if extent.method not in {STORED, PLAIN}:
            return Compressed(file=self._path, entry=extent)
        offset = extent.offset
        if extent.method == STORED:
            offset = span(self._directory.medium, extent, what=str(self._path)).data
        return FileRange(file=self._path, offset=offset, size=extent.size)

    def stray(self) -> str:
        """Return words on bytes outside all entries or on a missing end, or "" without either."""
        return self._directory.stray()

    def close(self) -> None:
        """Close the file."""
        self._directory.close()


class OpenPacks:
    """Zip and tar files opened on first use, a few at a time; for one thread."""

    def __init__(self, budgets: Budgets) -> None:
        self._budgets = budgets
        self._open: OrderedDict[FileBelow, PackFile] = OrderedDict()

    def opened(self, path: FileBelow) -> PackFile:
        """Return an open zip or tar file by its path; raises ``PackedError``."""
        if path in self._open:
            self._open.move_to_end(path)
            return self._open[path]
        try:
            self._open[path] = self._file(path)
        except OSError as error:
            raise PackedError(f"cannot be opened: {error.strerror or error}") from error
        except SourceError as error:
            raise PackedError(without(path, error), hint=error.hint) from error
        if len(self._open) > _OPEN:
            self._open.popitem(last=False)[1].close()
        return self._open[path]

    def _file(self, path: FileBelow) -> PackFile:
        if str(path).lower().endswith(os.fsdecode(ZIP)):
            return PackFile(path, ZipContainer.opened(path, self._budgets))
        from metspack.containers.tarreader import Tar  # noqa: PLC0415 -- few packages are in one

        return PackFile(path, Tar(path, self._budgets))

    def close(self) -> None:
        """Close all open files."""
        while self._open:
            self._open.popitem()[1].close()


def without(path: FileBelow, error: SourceError) -> str:
    """Return an error's message without the path that it begins with."""
    return error.message.removeprefix(f"{path}: ")
