"""Open and read files: by descriptor, without following links; no other module opens one.

A path from an archive or a METS is a sequence of checked segments (``uris``); it is walked with
directory descriptors and ``O_NOFOLLOW``, so no symbolic link, and no link swapped in between two
looks, leads out of the root it was granted under.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from metspack.errors import SourceError

CHUNK = 1 << 20
"""Bytes per read of a large file."""

BLOCK = 1 << 16
"""Bytes that a parser is given at once: what it finds in one block is held together."""

_READ = os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK
_WALK = os.O_RDONLY | os.O_CLOEXEC | os.O_DIRECTORY


def opened(root: Path | int, segments: Sequence[str] = ()) -> int:
    """Return a descriptor of the regular file at ``segments`` below ``root``, read-only.

    ``root`` is trusted (a person named it) and may itself be a link, also to a file when there are
    no segments; below it no link is followed. Raises OSError as ``os.open`` does, with ELOOP or
    ENOTDIR for a symbolic link, and ``SourceError`` when what is found is not a regular file.
    """
    if not segments:
        descriptor = os.open(root, _READ) if isinstance(root, Path) else os.dup(root)
    else:
        for segment in segments:
            if segment in {"", ".", ".."} or "/" in segment or "\0" in segment:
                raise SourceError(f"{segment!r} is not a name of a file or folder")
        folder = os.open(root, _WALK) if isinstance(root, Path) else os.dup(root)
        try:
            for segment in segments[:-1]:
                below = os.open(segment, _WALK | os.O_NOFOLLOW, dir_fd=folder)
                os.close(folder)
                folder = below
            descriptor = os.open(segments[-1], _READ | os.O_NOFOLLOW, dir_fd=folder)
        finally:
            os.close(folder)
    mode = os.fstat(descriptor).st_mode
    if not stat.S_ISREG(mode):
        os.close(descriptor)
        what = "/".join(segments) or str(root)
        if stat.S_ISDIR(mode):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), what)
        raise SourceError(f"{what} is not a regular file but {_kind(mode)}")
    return descriptor


def _kind(mode: int) -> str:
    for test, name in (
        (stat.S_ISFIFO, "a named pipe"),
        (stat.S_ISSOCK, "a socket"),
        (stat.S_ISBLK, "a block device"),
        (stat.S_ISCHR, "a character device"),
    ):
        if test(mode):
            return name
    return "something else"


def opened_folder(root: Path, segments: Sequence[str] = ()) -> int:
    """Return a descriptor of the folder at ``segments`` below ``root``, to list it.

    ``root`` is trusted as ``opened`` has it, and no link is followed below it. Raises OSError.
    """
    folder = os.open(root, _WALK)
    for segment in segments:
        try:
            below = os.open(segment, _WALK | os.O_NOFOLLOW, dir_fd=folder)
        finally:
            os.close(folder)
        folder = below
    return folder


@contextmanager
def opening(root: Path | int, segments: Sequence[str] = ()) -> Iterator[int]:
    """Give the descriptor of ``opened`` for the length of a block."""
    descriptor = opened(root, segments)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


Status = tuple[int, int, int, int]
"""Size in bytes, time of change in nanoseconds, inode and device of a file."""


def small_files(
    root: Path, folders: Sequence[str], names: Iterable[str], stamps: Iterable[Status], buffer: memoryview
) -> Iterator[memoryview | None]:
    """Yield the bytes of files in one folder, each read at once into ``buffer``; None for what is odd.

    Odd is what is not a regular file, cannot be read, does not fit, or has not this status, before it was
    read and afterwards: who needs to know more looks at it with ``opened``. No link is followed below
    ``root``. What is yielded is there until the next is asked for.
    """
    try:
        folder = opened_folder(root, folders)
    except OSError:
        yield from (None for _ in names)
        return
    try:
        for name, stamp in zip(names, stamps, strict=True):
            try:
                yield _small(folder, name, stamp, buffer)
            except OSError:
                yield None
    finally:
        os.close(folder)


def _small(folder: int, name: str, stamp: Status, buffer: memoryview) -> memoryview | None:
    descriptor = os.open(name, _READ | os.O_NOFOLLOW, dir_fd=folder)
    try:
        before = os.fstat(descriptor)
        if not stat.S_ISREG(before.st_mode) or _status(before) != stamp or stamp[0] >= len(buffer):
            return None
        size = os.readv(descriptor, (buffer,))
        return buffer[:size] if size == stamp[0] and _status(os.fstat(descriptor)) == stamp else None
    finally:
        os.close(descriptor)


def _status(found: os.stat_result) -> Status:
    return found.st_size, found.st_mtime_ns, found.st_ino, found.st_dev


def chunks(descriptor: int, start: int = 0, stop: int | None = None, *, size: int = CHUNK) -> Iterator[bytes]:
    """Yield the bytes from ``start`` to ``stop`` (to the end when None) without moving the descriptor.

    In blocks of ``size`` bytes at most. Ends early, without an error, when the file does; who needs ``stop``
    bytes must count.
    """
    size = size or CHUNK
    while stop is None or start < stop:
        block = os.pread(descriptor, size if stop is None else min(size, stop - start), start)
        if not block:
            return
        yield block
        start += len(block)


def blocks(source: Iterable[bytes], *takers: Callable[[bytes], object]) -> Iterator[bytes]:
    """Yield bytes in blocks of at most ``BLOCK``, as parsers are fed; ``takers`` get them before that."""
    for chunk in source:
        for take in takers:
            take(chunk)
        for start in range(0, len(chunk), BLOCK):
            yield chunk[start : start + BLOCK]
