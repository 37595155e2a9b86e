"""The files of a package wherever they are: in folders, or in zip and tar files that stand for folders.

``Northwind_lobseg_0.zip`` stands for the folder ``Northwind_lobseg_0`` beside it; what is packed in it lies
below one folder of that name, or at its root (SIARD 2.2 L_7.1-1). Nothing is extracted.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from metspack import reading
from metspack.errors import SourceError
from metspack.media import Below, Medium, Stretch
from metspack.model import Budgets
from metspack.packs import SUFFIXES, Content, PackedError, PackFile, Shelf
from metspack.restoring.held import Inside, Part
from metspack.restoring.inflated import Inflated

_ABSENT = {errno.ENOENT, errno.ENOTDIR}
_HINT = "Unpack it where it lies; metspack check tells what else is wrong with it."

Names = tuple[str, ...]


class Packs:
    """The zip and tar files below a package's root; for one thread."""

    def __init__(self, root: Path, budgets: Budgets) -> None:
        self._root = root
        self._shelf = Shelf(budgets)
        self._known: dict[Names, tuple[Below, str]] = {}

    @contextmanager
    def document(self, path: Names) -> Iterator[Content]:
        """Open a METS, packed or not; what else is packed with it is known from then on.

        Raises OSError, and ``SourceError`` for a zip or tar file that cannot be read.
        """
        try:
            descriptor = reading.opened(self._root, path)
        except OSError as error:
            if error.errno not in _ABSENT:
                raise
            yield self._packed(path, error)
            return
        try:
            yield Content(size=os.fstat(descriptor).st_size, chunks=lambda: reading.chunks(descriptor))
        finally:
            os.close(descriptor)

    def _packed(self, path: Names, absent: OSError) -> Content:
        for length in range(len(path) - 1, 0, -1):
            *above, name = path[:length]
            for suffix in SUFFIXES:
                file = Below(root=self._root, segments=(*above, name + os.fsdecode(suffix)))
                if (pack := self._opened(file)) is None:
                    continue
                for prefix in (f"{name}/", ""):
                    content = pack.content(os.fsencode(prefix + "/".join(path[length:])))
                    if content is not None:
                        self._known[path[:length]] = file, prefix
                        return content
                inside = "/".join(path[length - 1 :])
                raise SourceError(f"{file} holds no {inside}, which the package has there", hint=_HINT)
        raise absent

    def _opened(self, file: Below) -> PackFile | None:
        with suppress(OSError):
            os.close(reading.opened(file.root, file.segments))
            try:
                return self._shelf.opened(file)
            except PackedError as error:
                raise PackedError(f"{file}: {error.message}", hint=error.hint) from None
        return None

    def inside(self, path: Names) -> Inside | None:
        """Return where a file is packed, None when no packed METS has to do with it.

        Raises ``SourceError`` when it is not in the file that it should be in.
        """
        for length in range(len(path) - 1, 0, -1) if self._known else ():
            if (known := self._known.get(path[:length])) is None:
                continue
            file, prefix = known
            inner = os.fsencode(prefix + "/".join(path[length:]))
            pack = self._shelf.opened(file)
            if (stretch := pack.stretch(inner)) is not None:
                return Inside(file=file.segments, offset=stretch.offset, size=stretch.size)
            if (entry := pack.compressed(inner)) is not None:
                return Inside(file=file.segments, offset=entry.offset, size=entry.size, entry=entry)
            raise SourceError(f"{file} does not hold {'/'.join(path[length:])}", hint=_HINT)
        return None

    def close(self) -> None:
        """Close what is open."""
        self._shelf.close()


def place(root: Path, path: Names, inside: Inside | None) -> Below | Stretch:
    """Return the file at a path below a package's root, or the bytes of the one that it is packed in.

    Raises ``SourceError`` for a compressed one, whose bytes lie nowhere as they are.
    """
    if inside is None:
        return Below(root=root, segments=path)
    file = Below(root=root, segments=inside.file)
    if inside.entry is not None:
        raise SourceError(
            f"{'/'.join(path)} is compressed in {file}; expected it there as it is",
            hint=_HINT,
        )
    return Stretch(file=file, offset=inside.offset, size=inside.size)


def opened(root: Path, part: Part) -> Medium | Inflated:
    """Return the bytes of a part; raises as ``reading.opened`` does."""
    inside = part.inside
    if inside is not None and inside.entry is not None:
        return Inflated(Below(root=root, segments=inside.file), inside.entry)
    return Medium((place(root, part.path, inside),))
