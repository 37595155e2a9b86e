"""Files and folders: staging, transactions, journals; system calls, repeated until all is done."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from contextlib import contextmanager

from metspack.system import fcntl, os


def pread(descriptor: int, size: int, start: int) -> bytes:
    """Return ``size`` bytes from ``start``, fewer only at the end of the file."""
    pieces: list[bytes] = []
    while size and (piece := os.pread(descriptor, size, start)):
        pieces.append(piece)
        size, start = size - len(piece), start + len(piece)
    return b"".join(pieces)


def read_into(descriptor: int, buffer: memoryview, size: int) -> int:
    """Read ``size`` bytes into a buffer, fewer at the end of the file; return how many.

    The first call may read more, as far as the buffer has room.
    """
    done = os.readv(descriptor, (buffer,))
    while 0 < done < size and (more := os.readv(descriptor, (buffer[done:size],))):
        done += more
    return done


def release(descriptor: int) -> None:
    """Close a descriptor whose bytes were read or are on disk; raise only EBADF.

    A negative number stands for a closed file.
    """
    if descriptor < 0:
        return
    try:
        os.close(descriptor)
    except OSError as error:
        if error.errno == errno.EBADF:  # a fault of metspack: the number may be another file's by now
            raise


@contextmanager
def held(descriptor: int) -> Iterator[int]:
    """Give an open descriptor for the length of a block, and release it."""
    try:
        yield descriptor
    finally:
        release(descriptor)


def lock(descriptor: int, how: int = fcntl.LOCK_EX) -> bool:
    """Lock an open file until it is closed; return False if another process has it.

    ``how`` is a LOCK_ of fcntl.
    """
    try:
        fcntl.flock(descriptor, how | fcntl.LOCK_NB)
    except OSError as error:  # a file system without locks shows no other holder
        return not isinstance(error, BlockingIOError)
    return True


def write(descriptor: int, data: bytes | memoryview) -> None:
    """Write all bytes, by several calls where one writes fewer."""
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(descriptor, rest) :]


def pwrite(descriptor: int, data: bytes | memoryview, start: int) -> None:
    """Write all bytes at an offset."""
    rest = memoryview(data)
    while rest:
        written = os.pwrite(descriptor, rest, start)
        rest, start = rest[written:], start + written
