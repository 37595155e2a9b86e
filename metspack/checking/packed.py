"""Packages packed as zip or tar files: listed and read where they are, as a stream, never extracted."""

from __future__ import annotations

import errno
import os
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager

from metspack.checking.holders import Content, Item
from metspack.checking.tars import Tar
from metspack.errors import SourceError
from metspack.media import Below, Stretch
from metspack.model import Budgets
from metspack.siard.container import Container, span
from metspack.siard.zipformat import STORED

SUFFIXES = (b".zip", b".tar")
_OPEN = 8


class PackedError(SourceError):
    """A zip or tar file, or something in it, is damaged, misleading or not readable."""


class _Zip:
    """The entries of a zip file by their paths."""

    def __init__(self, path: Below, budgets: Budgets) -> None:
        self._path = path
        self._container = Container.opened(path, budgets)

    def items(self, prefix: bytes) -> Iterator[Item]:
        for name in self._container.names(os.fsdecode(prefix)):
            extent = self._container.extent(name)
            kind = "d" if name.endswith("/") else "f"
            size = None if extent is None else extent.size
            yield Item(name=os.fsencode(name).rstrip(b"/"), kind=kind, size=size)

    def content(self, path: bytes) -> Content | None:
        extent = self._container.extent(os.fsdecode(path))
        if extent is None:
            return None
        return Content(size=extent.size, chunks=lambda: self._container.contents(extent))

    def stretch(self, path: bytes) -> Stretch | None:
        extent = self._container.extent(os.fsdecode(path))
        if extent is None or extent.method != STORED:
            return None
        place = span(self._container.medium, extent, what=str(self._path))
        return Stretch(file=self._path, offset=place.data, size=extent.size)

    def close(self) -> None:
        self._container.close()


class _Tar:
    """The members of a tar file by their paths."""

    def __init__(self, path: Below, budgets: Budgets) -> None:
        self._path = path
        self._tar = Tar(path, budgets)

    def items(self, prefix: bytes) -> Iterator[Item]:
        for member in self._tar.members(prefix):
            yield Item(name=member.name.rstrip(b"/"), kind=member.kind, size=member.size)

    def content(self, path: bytes) -> Content | None:
        member = self._tar.member(path)
        if member is None or member.kind != "f":
            return None
        return Content(size=member.size, chunks=lambda: self._tar.contents(member))

    def stretch(self, path: bytes) -> Stretch | None:
        member = self._tar.member(path)
        if member is None or member.kind != "f":
            return None
        return Stretch(file=self._path, offset=member.offset, size=member.size)

    def close(self) -> None:
        self._tar.close()


class Shelf:
    """Zip and tar files opened as they are asked for, a few at a time; for one thread."""

    def __init__(self, budgets: Budgets) -> None:
        self._budgets = budgets
        self._open: OrderedDict[Below, _Zip | _Tar] = OrderedDict()

    def opened(self, path: Below) -> _Zip | _Tar:
        """Return a file's directory; raises ``PackedError``."""
        if path in self._open:
            self._open.move_to_end(path)
            return self._open[path]
        kind = _Tar if str(path).lower().endswith(".tar") else _Zip
        try:
            self._open[path] = kind(path, self._budgets)
        except OSError as error:
            raise PackedError(f"cannot be opened: {error.strerror or error}") from error
        except SourceError as error:
            raise PackedError(_without(path, error), hint=error.hint) from error
        if len(self._open) > _OPEN:
            self._open.popitem(last=False)[1].close()
        return self._open[path]

    def close(self) -> None:
        """Close what is open."""
        while self._open:
            self._open.popitem()[1].close()


def _without(path: Below, error: SourceError) -> str:
    return error.message.removeprefix(f"{path}: ")


class Packed:
    """The part of a zip or tar file that lies below a folder in it, ``b""`` for all."""

    is_packed = True

    def __init__(self, shelf: Shelf, path: Below, folder: bytes = b"") -> None:
        self._shelf = shelf
        self._path = path
        self._prefix = folder + b"/" if folder else b""

    @property
    def shown(self) -> str:
        """The file's path, and the folder in it."""
        inside = self._prefix.rstrip(b"/").decode("utf-8", "backslashreplace")
        return f"{self._path}/{inside}" if inside else str(self._path)

    def items(self, folder: bytes, *, sizes: bool) -> Iterator[Item]:
        """Yield nothing: all that is packed is listed at once."""
        del folder, sizes
        yield from ()

    def everything(self) -> Iterator[Item]:
        """Yield all files and folders, also those that only the names of files tell of."""
        above: list[bytes] = []
        for item in self._shelf.opened(self._path).items(self._prefix):
            name = item.name[len(self._prefix) :]
            if not name:
                continue
            names = name.split(b"/")
            common = 0
            while common < min(len(above), len(names) - 1) and above[common] == names[common]:
                common += 1
            for depth in range(common + 1, len(names)):
                yield Item(name=b"/".join(names[:depth]), kind="d")
            above = names if item.kind == "d" else names[:-1]
            yield Item(name=name, kind=item.kind, size=item.size)

    @contextmanager
    def content(self, path: bytes) -> Iterator[Content]:
        """Open a file; its damage is a ``PackedError`` while its blocks are read."""
        found = self._shelf.opened(self._path).content(self._prefix + path)
        if found is None:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT))
        try:
            yield found
        except PackedError:
            raise
        except SourceError as error:
            raise PackedError(_without(self._path, error), hint=error.hint) from error

    def is_there(self, path: bytes) -> bool:
        """Whether there is a file of that name."""
        return self._shelf.opened(self._path).content(self._prefix + path) is not None

    def below(self, path: bytes) -> Below | None:
        """Return None: what is packed is no file of its own."""
        del path
        return None

    def stretch(self, path: bytes) -> Below | Stretch | None:
        """Return the bytes of the zip or tar file that a packed file is, None when they are compressed."""
        return self._shelf.opened(self._path).stretch(self._prefix + path)
