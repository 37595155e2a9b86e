"""What a LOB is as a file object: read-only, seekable, over whatever holds its bytes."""

from __future__ import annotations

import io
import os
from abc import abstractmethod
from typing import TYPE_CHECKING

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
            raise ValueError(f"there is no position {bases[whence] + offset}")
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
