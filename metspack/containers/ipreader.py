"""IPs packed in zip and tar files: their entries listed and read in place, never extracted."""

from __future__ import annotations

import os
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator
from itertools import chain

from metspack.containers.zipformat import STORED
from metspack.containers.zipreader import ZipContainer, span
from metspack.errors import SourceError
from metspack.files import reading
from metspack.files.byteranges import Below, Stretch, is_gzip
from metspack.model import Budgets, ZipExtent
from metspack.values import dataclass

ZIP, TAR, GZIP_TAR = (b".zip",), (b".tar",), (b".tar.gz", b".tgz")
SUFFIXES = (*ZIP, *TAR, *GZIP_TAR)
_OPEN = 32  # a check looks through all packs of a package several times: those that stay open are read once
_RESTING = 1_000
_LONGEST = 1 << 16


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """An entry of a folder: ``kind`` f (file), d (folder), l (link), s (special); files may have a size."""

    name: bytes
    kind: str
    size: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Content:
    """A file opened for reading: its bytes, and all of them from the start in blocks."""

    size: int
    chunks: Callable[[], Iterator[bytes]]

    def blocks(self) -> Iterator[bytes]:
        """Yield all bytes in blocks for a parser."""
        return reading.blocks(self.chunks())

    def lines(self) -> Iterator[bytes]:
        """Yield lines with their line feed; a longer one than any path needs is cut into pieces."""
        return chain.from_iterable(map(cut, stretches(self.blocks())))


def stretches(blocks: Iterable[bytes]) -> Iterator[bytes]:
    """Yield lines, many at once; one that is longer than any path needs is cut into several."""
    rest = b""
    for block in blocks:
        whole, end, rest = (rest + block).rpartition(b"\n")
        if end:
            yield whole + end
        if len(rest) > _LONGEST:
            yield rest + b"\n"
            rest = b""
    if rest:
        yield rest


def cut(stretch: bytes) -> Iterator[bytes]:
    """Yield the lines of a stretch one by one."""
    *whole, rest = stretch.split(b"\n")
    for line in whole:
        yield line + b"\n"
    if rest:
        yield rest


@dataclass(frozen=True, slots=True, kw_only=True)
class Compressed:
    """A compressed entry of a zip file."""

    file: Below
    entry: ZipExtent

    def __str__(self) -> str:
        return str(self.file)


@dataclass(frozen=True, slots=True, kw_only=True)
class Streamed:
    """A member of a tar file that is compressed as a whole: its bytes have no place by themselves."""

    file: Below

    def __str__(self) -> str:
        return str(self.file)


class PackedError(SourceError):
    """A zip or tar file, or something in it, is damaged, misleading or not readable."""


def unpacked_name(name: bytes) -> bytes | None:
    """Return the name or path of a zip or tar file without its suffix, None for any other file."""
    suffix = next((each for each in SUFFIXES if name.lower().endswith(each)), None)
    return None if suffix is None else name[: -len(suffix)]


class ZipFile:
    """The entries of a zip file by their paths."""

    def __init__(self, path: Below, budgets: Budgets) -> None:
        self._path = path
        self._container = ZipContainer.opened(path, budgets)

    def items(self, prefix: bytes) -> Iterator[Item]:
        """Yield the entries below a prefix, sorted by whole path."""
        for name, size in self._container.sizes(os.fsdecode(prefix)):
            kind = "d" if name.endswith("/") else "f"
            yield Item(name=os.fsencode(name).rstrip(b"/"), kind=kind, size=size)

    def content(self, path: bytes) -> Content | None:
        """Return a file's bytes, None when there is no such file."""
        extent = self._container.extent(os.fsdecode(path))
        if extent is None:
            return None
        return Content(size=extent.size, chunks=lambda: self._container.contents(extent))

    def location(self, path: bytes) -> Stretch | Compressed | None:
        """Return the extent of a file's bytes, None when there is no such file."""
        extent = self._container.extent(os.fsdecode(path))
        if extent is None:
            return None
        if extent.method != STORED:
            return Compressed(file=self._path, entry=extent)
        place = span(self._container.medium, extent, what=str(self._path))
        return Stretch(file=self._path, offset=place.data, size=extent.size)

    def close(self) -> None:
        """Close the file."""
        self._container.close()


class TarFile:
    """The members of a tar file by their paths; of a compressed one those that ``keeps`` names are kept.

    Whether it is compressed (``is_streamed``) its first bytes say, and not its name.
    """

    def __init__(self, path: Below, budgets: Budgets, keeps: Callable[[bytes], bool]) -> None:
        from metspack.containers.tarreader import Tar  # noqa: PLC0415 -- few packages are in one

        self._path = path
        self.is_streamed = is_gzip(path)
        self._tar = Tar(path, budgets, is_gzip=self.is_streamed, keeps=keeps)

    def items(self, prefix: bytes) -> Iterator[Item]:
        """Yield the entries below a prefix, sorted by whole path."""
        for member in self._tar.members(prefix):
            yield Item(name=member.name.rstrip(b"/"), kind=member.kind, size=member.size)

    def content(self, path: bytes) -> Content | None:
        """Return a file's bytes, None when there is no such file."""
        member = self._tar.member(path)
        if member is None or member.kind != "f":
            return None
        return Content(size=member.size, chunks=lambda: self._tar.contents(member))

    def in_order(self) -> Iterator[bytes]:
        """Yield the paths of all files as they are best read, if they should be in an order."""
        return self._tar.in_order() if self.is_streamed else iter(())

    def location(self, path: bytes) -> Stretch | Streamed | None:
        """Return the extent of a file's bytes, None when there is no such file."""
        member = self._tar.member(path)
        if member is None or member.kind != "f":
            return None
        if self.is_streamed:
            return Streamed(file=self._path)
        return Stretch(file=self._path, offset=member.offset, size=member.size)

    def close(self) -> None:
        """Close the file."""
        self._tar.close()

    def rest(self) -> None:
        """Hold no more than the directory, until a file's bytes are wanted again."""
        self._tar.rest()


PackFile = ZipFile | TarFile


class OpenPacks:
    """Zip and tar files opened when they are needed, a few at a time; for one thread.

    ``keeps`` tells of which members of a compressed tar file the bytes are kept, to be read again.
    """

    def __init__(self, budgets: Budgets, keeps: Callable[[bytes], bool] = lambda _: False) -> None:
        self._budgets = budgets
        self._keeps = keeps
        self._open: OrderedDict[Below, PackFile] = OrderedDict()
        self._resting: dict[Below, TarFile] = {}

    def opened(self, path: Below) -> PackFile:
        """Return an open zip or tar file by its path; raises ``PackedError``."""
        if path in self._open:
            self._open.move_to_end(path)
            return self._open[path]
        try:
            self._open[path] = self._resting.pop(path) if path in self._resting else self._file(path)
        except OSError as error:
            raise PackedError(f"cannot be opened: {error.strerror or error}") from error
        except SourceError as error:
            raise PackedError(without(path, error), hint=error.hint) from error
        if len(self._open) > _OPEN:
            self._put_by(*self._open.popitem(last=False))
        return self._open[path]

    def _file(self, path: Below) -> PackFile:
        if str(path).lower().endswith(os.fsdecode(ZIP[0])):
            return ZipFile(path, self._budgets)
        return TarFile(path, self._budgets, self._keeps)

    def _put_by(self, path: Below, file: PackFile) -> None:
        """Close a file; the directory of one that had to be read through for it is remembered."""
        if isinstance(file, TarFile) and file.is_streamed and len(self._resting) < _RESTING:
            file.rest()
            self._resting[path] = file
        else:
            file.close()

    def close(self) -> None:
        """Close what is open."""
        for each in (*self._open.values(), *self._resting.values()):
            each.close()
        self._open.clear()
        self._resting.clear()


def without(path: Below, error: SourceError) -> str:
    """Return an error's message without the file's path in front."""
    return error.message.removeprefix(f"{path}: ")
