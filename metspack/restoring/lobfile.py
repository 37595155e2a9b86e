"""LOBs as read-only files by id: listed in METS, under another cell's id, or still in the archive."""

from __future__ import annotations

import io
import os
from abc import abstractmethod
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from typing import TYPE_CHECKING

from metspack.errors import SourceError
from metspack.model import LobCell
from metspack.packages import cells
from metspack.packages import package as packages_package
from metspack.packages.cells import Meant
from metspack.packages.files import Onward
from metspack.packages.lobs import HeldLob
from metspack.packages.package import Package
from metspack.packages.proofs import CellProving
from metspack.sources.archive import Archive

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer


class LobFile(io.RawIOBase):
    """A LOB with this id, of ``size`` bytes, as a file; what holds the bytes gives them by ``block``."""

    def __init__(self, lob: str, size: int) -> None:
        super().__init__()
        self.size = size
        self._name = lob
        self._position = 0

    @property
    def name(self) -> str:
        """The LOB's id."""
        return self._name

    @abstractmethod
    def block(self, position: int, size: int) -> bytes | memoryview:
        """Return up to ``size`` bytes from a position inside the LOB, one at least; raises ``SourceError``.

        Of a LOB of 0 bytes it is asked for those at 0, so that what holds nothing is looked at as well.
        """

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
        bases = {os.SEEK_SET: 0, os.SEEK_CUR: self._position, os.SEEK_END: self.size}
        if whence not in bases:
            raise ValueError(f"whence is 0, 1 or 2, not {whence}")
        if bases[whence] + offset < 0:
            raise ValueError(f"the position {bases[whence] + offset} lies before the start")
        self._position = bases[whence] + offset
        return self._position

    def readinto(self, buffer: WriteableBuffer, /) -> int:
        """Read into a buffer, as much as comes at once; returns the number of bytes, 0 at the LOB's end."""
        self._check_open()
        if self._position >= self.size > 0:
            return 0
        with memoryview(buffer).cast("B") as view:
            given = self.block(min(self._position, self.size), len(view))
            view[: len(given)] = given
        self._position += len(given)
        return len(given)

    def _check_open(self) -> None:
        if self.closed:
            raise ValueError(f"LOB {self.name} is closed")


_ANOTHER = (
    "Get the archive from another copy of the package; metspack check shows what else is wrong with it."
)


class ArchivedLob(LobFile):
    """A LOB that stayed in the archive as a read-only, seekable file; to move back is to read it again.

    With ``verify`` it is read whole and proven, by its CRC-32 and its cell, before any byte of it is
    handed out; without, only up to the bytes asked for. Reading raises ``SourceError``. It takes the
    archive, and closes it.
    """

    def __init__(self, archive: Archive, cell: LobCell, meant: Meant, *, verify: bool = True) -> None:
        size = sum(each.size for each in meant.extents)
        super().__init__(cell.place.id, size)
        self.entries = meant.entries
        self._archive = archive
        self._cell = cell
        self._extents = meant.extents
        self._is_proven = not verify
        self._onward = Onward(lambda: self.contents(verify=False))

    def contents(self, *, verify: bool = True) -> Iterator[bytes]:
        """Yield all bytes in blocks; proven when the iterator has ended, with ``verify`` by the cell too."""
        proving = CellProving(self._cell, f"the entry {self.entries[0]}")
        for extent in self._extents:
            for block in self._archive.resolver.contents(extent):
                if verify:
                    proving.update(block)
                yield block
        for disagreement in proving.end() if verify else ():
            raise SourceError(disagreement.message, hint=_ANOTHER)

    def block(self, position: int, size: int) -> memoryview:
        """Return bytes from a position up to the end of a block of the entry."""
        if not self._is_proven:
            for _ in self.contents():
                pass
            self._is_proven = True
        given = self._onward.at(position)[:size] if self.size else memoryview(b"")
        if self._archive.container is not None:  # files of an unpacked one are compared when they are read
            self._archive.check_unchanged()
        return given

    def close(self) -> None:
        """Close the archive."""
        if not self.closed:
            self._archive.close()
        super().close()


def found(package: Package, lob: str, *, verify: bool = True) -> HeldLob | ArchivedLob:
    """Return the LOB with this id: what METS lists, or, opened, what stayed in the archive.

    Two cells may name one file, which METS lists under the first one's id: with the other's id it is
    found by the cell. Raises ``SourceError`` as ``Package.lob`` does, for a cell that means nothing, and for
    a place that LOBs of several archives have.
    """
    lob = packages_package.as_id(lob)
    packages_package.check_one(package, lob, lambda path, place: _has_cell(package, path, place))
    if _may_be_listed(package, own := packages_package.listed_id(package, lob)):
        return package.lob(own)
    for path, place in packages_package.candidate_cells(package, lob):
        it = _in_archive(package, path, place, verify=verify)
        if it is not None:
            return package.lob(it) if isinstance(it, str) else it
    return package.lob(lob)


def listed(package: Package, lob: str) -> str | None:
    """Return the id under which METS lists a LOB, None for one that stayed in the archive.

    An id that nothing knows is returned as it is. Raises ``SourceError`` as ``found`` does.
    """
    lob = packages_package.as_id(lob)
    packages_package.check_one(package, lob, lambda path, place: _has_cell(package, path, place))
    own = packages_package.listed_id(package, lob)
    for path, place in () if _may_be_listed(package, own) else packages_package.candidate_cells(package, lob):
        it = _in_archive(package, path, place, verify=False)
        if isinstance(it, ArchivedLob):
            it.close()
            return None
        if it is not None:
            return it
    return own


def _has_cell(package: Package, path: tuple[str, ...], place: str) -> bool:
    with suppress(SourceError), cells.opened_archive(package, path) as archive:
        return cells.found_in(archive, place) is not None
    return False


def _may_be_listed(package: Package, lob: str) -> bool:
    return package.index.holds(lob) or not cells.is_place(lob)


def _in_archive(
    package: Package, path: tuple[str, ...], lob: str, *, verify: bool
) -> str | ArchivedLob | None:
    """Return the LOB of the cell with this id, an id in METS or a LOB in the archive; None without one."""
    with ExitStack() as opened:
        try:
            archive = opened.enter_context(cells.opened_archive(package, path))
            cell = cells.found_in(archive, lob)
            meant = None if cell is None else cells.meant(package, path, archive, *cell)
        except SourceError as error:
            if package.faults:  # the METS that would list it may be one of those that cannot be read
                return None
            raise SourceError(
                f"no METS lists LOB {lob}, and its cell cannot be resolved: {error.message}", hint=error.hint
            ) from None
        if cell is None or meant is None:
            return None
        if meant.lob is not None:
            return meant.lob
        kept = ArchivedLob(archive, cell[1], meant, verify=verify)
        opened.pop_all()
        return kept
