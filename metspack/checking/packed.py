"""Packages packed as zip or tar files: listed and read where they are, as a stream, never extracted."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager

from metspack.errors import SourceError
from metspack.media import Below, Stretch
from metspack.packs import Content, Item, PackedError, Shelf, without


class Packed:
    """The part of a zip or tar file that lies below a folder in it, ``b""`` for all."""

    is_packed = True
    place = None

    def __init__(self, shelf: Shelf, path: Below, folder: bytes = b"") -> None:
        self._shelf = shelf
        self._path = path
        self._prefix = folder + b"/" if folder else b""

    @property
    def shown(self) -> str:
        """The file's path, and the folder in it."""
        inside = self._prefix.rstrip(b"/").decode("utf-8", "backslashreplace")
        return f"{self._path}/{inside}" if inside else str(self._path)

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
        except SourceError as error:
            raise PackedError(without(self._path, error), hint=error.hint) from error

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
