"""Bytes that can only be had from their beginning on: those of a compressed entry of a zip file."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from metspack.closable import Closable
from metspack.media import Below, Medium, Stamp
from metspack.model import ZipExtent
from metspack.siard import zipcontents


class Onward:
    """Any place of bytes that come in blocks from the beginning on: to go back is to begin again.

    One block is held at a time; ``blocks`` gives all of them, none of which is empty.
    """

    def __init__(self, blocks: Callable[[], Iterator[bytes]]) -> None:
        self._all = blocks
        self._blocks: Iterator[bytes] = iter(())
        self._block = b""
        self._start: int | None = None  # of the block; nothing was read yet

    def at(self, position: int) -> memoryview:
        """Return the bytes from a position, which lies before the end, up to the end of their block."""
        if self._start is None or position < self._start:
            self._blocks, self._block, self._start = self._all(), b"", 0
        while position >= self._start + len(self._block):
            self._start += len(self._block)
            self._block = next(self._blocks)  # what ends early raises by itself
        return memoryview(self._block)[position - self._start :]


class Inflated(Closable):
    """A compressed entry of a zip file as the file that it is; a context manager, for one thread.

    ``size`` and ``stamps`` are as ``Medium`` has them, the stamps those of the zip file. Raises what
    ``reading.opened`` does.
    """

    def __init__(self, file: Below, entry: ZipExtent) -> None:
        self._medium = Medium((file,))
        self._entry = entry
        self._what = str(file)
        self._onward = Onward(self.chunks)
        self.size = entry.size
        self.stamps = self._medium.stamps

    def stamped(self) -> tuple[Stamp, ...]:
        """Return the stamp that the zip file has now."""
        return self._medium.stamped()

    def chunks(self) -> Iterator[bytes]:
        """Yield all bytes in blocks; ``SourceError`` after the last when size or CRC-32 are others."""
        yield from zipcontents.contents(self._medium, self._entry, what=self._what)

    def pread(self, size: int, offset: int) -> bytes:
        """Return up to ``size`` bytes from ``offset``, none only at the end; raises ``SourceError``."""
        return bytes(self._onward.at(offset)[:size]) if offset < self.size else b""

    def close(self) -> None:
        """Close the zip file."""
        self._medium.close()
