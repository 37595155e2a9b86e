"""A LOB by its id wherever the package has it: listed in METS, under another id, or still in the archive."""

from __future__ import annotations

import io
import os
from collections.abc import Iterator
from contextlib import ExitStack
from typing import TYPE_CHECKING

from metspack.errors import SourceError
from metspack.model import LobCell
from metspack.restoring import cells
from metspack.restoring.cells import Meant
from metspack.restoring.held import HeldLob
from metspack.restoring.package import Package
from metspack.restoring.proving import CellProving
from metspack.siard.archive import Archive

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

_ANOTHER = (
    "Get the archive from another copy of the package; metspack check tells what else is wrong with it."
)


class ArchivedLob(io.RawIOBase):
    """A LOB that stayed in the archive as a read-only, seekable file; to move back is to read it again.

    With ``verify`` it is read whole and proven, by its CRC-32 and its cell, before any byte of it is
    handed out; without, only up to the bytes asked for. Reading raises ``SourceError``. It takes the
    archive, and closes it.
    """

    def __init__(self, archive: Archive, cell: LobCell, meant: Meant, *, verify: bool = True) -> None:
        super().__init__()
        self.entries = meant.entries
        self.size = sum(each.size for each in meant.extents)
        self._archive = archive
        self._cell = cell
        self._extents = meant.extents
        self._is_proven = not verify
        self._position = 0
        self._blocks: Iterator[bytes] = iter(())
        self._block = b""
        self._start = (
            self.size
        )  # of the block, in the LOB: nothing was read yet, so that any place is before it

    @property
    def name(self) -> str:
        """The LOB's id."""
        return self._cell.place.id

    def contents(self, *, verify: bool = True) -> Iterator[bytes]:
        """Yield all bytes in blocks; proven when the iterator has ended, with ``verify`` by the cell too."""
        proving = CellProving(self._cell, f"the entry {self.entries[0]}")
        for extent in self._extents:
            for block in self._archive.resolver.contents(extent):
                if verify:
                    proving.update(block)
                yield block
        for disagreement in proving.ended() if verify else ():
            raise SourceError(disagreement.message, hint=_ANOTHER)

    def readable(self) -> bool:
        """Whether it can be read: always."""
        return True

    def seekable(self) -> bool:
        """Whether it can be moved in: always."""
        return True

    def tell(self) -> int:
        """Return the position, in bytes from the LOB's start."""
        self._check_open()
        return self._position

    def seek(self, offset: int, whence: int = os.SEEK_SET, /) -> int:
        """Move and return the position; beyond the end is allowed, before the start ValueError."""
        self._check_open()
        self._position = moved(self._position, self.size, offset, whence)
        return self._position

    def readinto(self, buffer: WriteableBuffer, /) -> int:
        """Read into a buffer up to the end of a block; returns the number of bytes, 0 at the LOB's end."""
        self._check_open()
        if self._position >= self.size:
            return 0
        if not self._is_proven:
            for _ in self.contents():
                pass
            self._is_proven = True
        self._go()
        if self._archive.container is not None:  # files of an unpacked one are compared when they are read
            self._archive.unchanged()
        with memoryview(buffer).cast("B") as view, memoryview(self._block) as block:
            given = block[self._position - self._start :][: len(view)]
            view[: len(given)] = given
            self._position += len(given)
            return len(given)

    def _go(self) -> None:
        """Read up to the block that holds the position."""
        if self._position < self._start:
            self._blocks, self._block, self._start = self.contents(verify=False), b"", 0
        while self._position >= self._start + len(self._block):
            self._start += len(self._block)
            self._block = next(self._blocks)  # what ends early raises by itself

    def _check_open(self) -> None:
        if self.closed:
            raise ValueError(f"LOB {self.name} is closed")

    def close(self) -> None:
        """Close the archive."""
        if not self.closed:
            self._archive.close()
        super().close()


def moved(position: int, size: int, offset: int, whence: int) -> int:
    """Return the position that ``seek`` gives; raises ValueError for one before the start."""
    bases = {os.SEEK_SET: 0, os.SEEK_CUR: position, os.SEEK_END: size}
    if whence not in bases:
        raise ValueError(f"whence is 0, 1 or 2, not {whence}")
    if bases[whence] + offset < 0:
        raise ValueError(f"there is no position {bases[whence] + offset}")
    return bases[whence] + offset


def found(package: Package, lob: str, *, verify: bool = True) -> HeldLob | ArchivedLob:
    """Return the LOB with this id: what METS lists, or, opened, what stayed in the archive.

    Two cells may name one file, which METS lists under the first one's id: with the other's id it is
    found by the cell. Raises ``SourceError`` as ``Package.lob`` does, and for a cell that means nothing.
    """
    if _may_be_listed(package, lob):
        return package.lob(lob)
    for path in package.archives:
        it = _in_archive(package, path, lob, verify=verify)
        if it is not None:
            return package.lob(it) if isinstance(it, str) else it
    return package.lob(lob)


def listed(package: Package, lob: str) -> str | None:
    """Return the id under which METS lists a LOB, None for one that stayed in the archive.

    An id that nothing knows is returned as it is. Raises ``SourceError`` for a cell that means nothing.
    """
    for path in () if _may_be_listed(package, lob) else package.archives:
        it = _in_archive(package, path, lob, verify=False)
        if isinstance(it, ArchivedLob):
            it.close()
            return None
        if it is not None:
            return it
    return lob


def _may_be_listed(package: Package, lob: str) -> bool:
    return package.index.holds(lob) or not cells.is_place(lob)


def _in_archive(
    package: Package, path: tuple[str, ...], lob: str, *, verify: bool
) -> str | ArchivedLob | None:
    """Return what the cell with this id means, an id in METS or a LOB in the archive; None without one."""
    with ExitStack() as opened:
        try:
            archive = opened.enter_context(cells.opened_archive(package, path))
            cell = cells.found_in(archive, lob)
            meant = None if cell is None else cells.meant(package, path, archive, *cell)
        except SourceError as error:
            if package.faults:  # the METS that would list it may be one of those that cannot be read
                return None
            raise SourceError(
                f"no METS lists LOB {lob}, and of its cell: {error.message}", hint=error.hint
            ) from None
        if cell is None or meant is None:
            return None
        if meant.lob is not None:
            return meant.lob
        kept = ArchivedLob(archive, cell[1], meant, verify=verify)
        opened.pop_all()
        return kept
