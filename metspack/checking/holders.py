"""Where the bytes of a package lie: its own folder, and what was found elsewhere and stands in it.

A child that the parent names but that lies on another disk, or in a zip or tar file, is *mounted* at
its place: from then on the package is checked as if it were whole.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Protocol

from metspack import reading, uris
from metspack.checking.catalogue import folder_of, path_of, segments_of, shown
from metspack.media import Below, Stretch
from metspack.packs import Content, Item


class Holder(Protocol):
    """A folder, or what is packed like one; paths are bytes below it, ``b""`` is itself."""

    @property
    def shown(self) -> str:
        """Where it lies, for people."""

    @property
    def is_packed(self) -> bool:
        """Whether it is a zip or tar file, all of which is listed by ``everything``."""

    @property
    def place(self) -> tuple[Path, tuple[str, ...]] | None:
        """The trusted root and the names below it of a folder on disk, None when it is packed."""

    def everything(self) -> Iterator[Item]:
        """Yield all that is packed, by whole path, each folder before what it holds."""

    def content(self, path: bytes) -> AbstractContextManager[Content]:
        """Open a file; raises OSError, and ``MetspackError`` for what is no regular file or damaged."""

    def is_there(self, path: bytes) -> bool:
        """Whether there is anything at a path."""

    def below(self, path: bytes) -> Below | None:
        """Return the file of its own that a path is, None when it is packed."""

    def stretch(self, path: bytes) -> Below | Stretch | None:
        """Return the file that a path is, or the bytes of one; None when they are compressed there.

        Raises ``MetspackError`` for a packed file that is damaged.
        """


class Folder:
    """A folder on disk, ``below`` a trusted root; no link is followed from the root on."""

    is_packed = False

    def __init__(self, root: Path, below: tuple[str, ...] = ()) -> None:
        self._root = root
        self._below = below
        self.place: tuple[Path, tuple[str, ...]] | None = root, below

    @property
    def shown(self) -> str:
        """Its path as it was given."""
        return str(self._root.joinpath(*self._below))

    def everything(self) -> Iterator[Item]:
        """Yield nothing: a folder is listed level by level."""
        yield from ()

    @contextmanager
    def content(self, path: bytes) -> Iterator[Content]:
        """Open a file."""
        with reading.opening(self._root, (*self._below, *segments_of(path))) as descriptor:
            yield Content(size=os.fstat(descriptor).st_size, chunks=lambda: reading.chunks(descriptor))

    def is_there(self, path: bytes) -> bool:
        """Whether there is anything at a path, be it a link."""
        return os.path.lexists(self._root.joinpath(*self._below, *segments_of(path)))

    def below(self, path: bytes) -> Below | None:
        """Return the file."""
        return Below(root=self._root, segments=(*self._below, *segments_of(path)))

    def stretch(self, path: bytes) -> Below | Stretch | None:
        """Return the file."""
        return self.below(path)


def _lies(at: bytes, holder: Holder) -> list[tuple[bytes, tuple[str, ...]]]:
    """Return the names on the way to a folder on disk, as given and without links; none when packed."""
    if holder.is_packed:
        return []
    forms = dict.fromkeys((os.path.abspath(holder.shown), os.path.realpath(holder.shown)))
    return [(at, tuple(name for name in form.split("/") if name)) for form in forms]


class Places:
    """A package's paths and the holders that their bytes lie in, the longest mount first."""

    def __init__(self, base: Holder) -> None:
        self.base = base
        self._mounts: dict[bytes, Holder] = {}
        self._apart: list[bytes] = []
        self._last: tuple[bytes, bytes, tuple[str, ...]] = (b"", b"", ())
        self._here: list[tuple[bytes, tuple[str, ...]]] = _lies(b"", base)

    def mount(self, at: bytes, holder: Holder, *, apart: bool = False) -> None:
        """Let ``holder`` stand at a path; ``apart`` when that is no path of the package, but a label."""
        self._mounts[at] = holder
        self._here += _lies(at + b"/", holder)
        if apart:
            self._apart.append(at + b"/")

    def held(self, path: bytes) -> tuple[Holder, bytes]:
        """Return what holds a path, and the path in it."""
        if self._mounts:
            at = path
            while at:
                if (holder := self._mounts.get(at)) is not None:
                    return holder, path[len(at) + 1 :]
                at = at[: max(at.rfind(b"/"), 0)]
        return self.base, path

    @property
    def are_unpacked(self) -> bool:
        """Whether all that lies there is files of their own."""
        return not any(each.is_packed for each in (self.base, *self._mounts.values()))

    def content(self, path: bytes) -> AbstractContextManager[Content]:
        """Open a file as its holder does."""
        holder, inner = self.held(path)
        return holder.content(inner)

    def is_there(self, path: bytes) -> bool:
        """Whether there is anything at a path."""
        holder, inner = self.held(path)
        return not inner or holder.is_there(inner)

    def below(self, path: bytes) -> Below | None:
        """Return the file of its own that a path is, None when it is packed."""
        holder, inner = self.held(path)
        return holder.below(inner)

    def stretch(self, path: bytes) -> Below | Stretch | None:
        """Return the file that a path is, or the bytes of one; None when they are compressed there."""
        holder, inner = self.held(path)
        return holder.stretch(inner)

    def here(self, reference: uris.Reference) -> bytes | None:
        """Return the path that an absolute reference means when it leads to where the package now lies."""
        if reference.kind is not uris.Kind.ABSOLUTE or ".." in reference.segments:
            return None
        for at, names in self._here:
            if reference.segments[: len(names)] == names and len(reference.segments) > len(names):
                return at + path_of(reference.segments[len(names) :])
        return None

    def resolved(self, document: bytes, reference: uris.Reference) -> bytes:
        """Return the path that a reference in a document means; raises ``ReferenceRefused``.

        What is mounted apart is a package of its own, and no reference leads out of it.
        """
        if self._last[0] != document:  # a document's references come one after the other
            boundary = next((each for each in self._apart if document.startswith(each)), b"")
            inner = folder_of(document)[len(boundary) :]
            self._last = document, boundary, tuple(shown(inner).split("/")[:-1])
        if (path := self.here(reference)) is not None:
            return path
        _, boundary, base = self._last
        return boundary + path_of(uris.joined(base, reference))
