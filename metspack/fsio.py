"""Every file-system write of the project goes through here.

A build writes everything under ``<target>.partial/`` beside the target: ``package/`` becomes the
target by one rename, ``journal.jsonl`` and ``work/`` say how far it came. What is visible under
the target's own name is complete or absent.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import Self

from metspack.errors import TargetError

_CREATE = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW
_BUFFER = 1 << 18


@contextmanager
def explained(path: Path) -> Iterator[None]:
    """Turn an OSError about writing ``path`` into a ``TargetError`` that says what to do."""
    try:
        yield
    except OSError as error:
        raise TargetError(
            f"cannot write {path}: {error.strerror or error}", hint=_hint(error.errno)
        ) from error


def _hint(number: int | None) -> str:
    if number in {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}:
        return (
            "The disk or quota is full, or the file system cannot hold a file this large. "
            "Free space or choose another target."
        )
    if number in {errno.EACCES, errno.EPERM, errno.EROFS}:
        return "Choose a target in a folder you may write to."
    return ""


class NewFile:
    """A file that did not exist before: written once from start to end, on disk when closed.

    Raises ``TargetError`` when it exists or cannot be written. Leaving the block normally flushes
    and fsyncs; leaving it by an exception only closes.
    """

    __slots__ = ("_buffer", "_descriptor", "_held", "path", "size")

    def __init__(self, path: Path) -> None:
        self.path = path
        self.size = 0
        self._buffer: list[bytes] = []
        self._held = 0
        with explained(path):
            self._descriptor = os.open(path, _CREATE, 0o644)

    def write(self, block: bytes) -> None:
        """Append bytes."""
        self.size += len(block)
        self._buffer.append(block)
        self._held += len(block)
        if self._held >= _BUFFER:
            self.flush()

    def flush(self) -> None:
        """Hand what was appended so far to the operating system."""
        if not self._buffer:
            return
        rest = memoryview(self._buffer[0] if len(self._buffer) == 1 else b"".join(self._buffer))
        self._buffer.clear()
        self._held = 0
        with explained(self.path):
            while rest:
                rest = rest[os.write(self._descriptor, rest) :]

    def patch(self, offset: int, block: bytes) -> None:
        """Overwrite bytes that were appended before; the file does not grow."""
        self.flush()
        with explained(self.path):
            if os.pwrite(self._descriptor, block, offset) != len(block):
                raise OSError(errno.EIO, "short write")

    def written(self, start: int, stop: int) -> Iterator[bytes]:
        """Yield the bytes appended between two offsets, read back."""
        self.flush()
        while start < stop:
            block = os.pread(self._descriptor, min(1 << 20, stop - start), start)
            if not block:
                raise TargetError(f"cannot read back {self.path}: it ends at byte {start:,}")
            yield block
            start += len(block)

    def close(self) -> None:
        """Flush and fsync, then close."""
        try:
            self.flush()
            with explained(self.path):
                os.fsync(self._descriptor)
        finally:
            os.close(self._descriptor)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            self.close()
        else:
            os.close(self._descriptor)


def make_directory(path: Path) -> None:
    """Make a directory that must not exist; raises ``TargetError``."""
    with explained(path):
        os.mkdir(path)


def make_directories(path: Path) -> None:
    """Make a directory and those above it that are missing; raises ``TargetError``."""
    with explained(path):
        os.makedirs(path, exist_ok=True)


def sync_directory(path: Path) -> None:
    """Put a directory's entries on disk."""
    with explained(path):
        descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def sync_tree(path: Path) -> None:
    """Put the entries of a directory and of all below it on disk, the deepest first."""
    for folder, _folders, _files in os.walk(path, topdown=False):
        sync_directory(Path(folder))


def remove(path: Path) -> None:
    """Remove a file or a whole directory that this run made; what is already gone is fine."""
    for folder, folders, files in os.walk(path, topdown=False):
        for name in files:
            os.unlink(os.path.join(folder, name))
        for name in folders:
            below = os.path.join(folder, name)
            if os.path.islink(below):
                os.unlink(below)
            else:
                os.rmdir(below)
    with suppress(FileNotFoundError):
        if path.is_dir() and not path.is_symlink():
            path.rmdir()
        else:
            path.unlink()
