"""Byte ranges of one file or several: an archive in parts is read as one file.

SIARD 2.2 S_8.2: ``Northwind.siard_part001``, ``_part002`` ... are the pieces of one file.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from pathlib import Path

from metspack.files import pread, reading, release, tempdb
from metspack.files.reading import Closable, Stamp
from metspack.stores.ranges import Ranges


@dataclass(frozen=True, slots=True, kw_only=True)
class FileBelow:
    """A file by its names (``segments``) below a trusted folder; no link among them is followed.

    ``str`` is its path.
    """

    root: Path
    segments: tuple[str, ...]

    @property
    def path(self) -> Path:
        """The whole path, for people to read."""
        return self.root.joinpath(*self.segments)

    def absolute(self) -> FileBelow:
        """Return the same file below the absolute root."""
        return replace(self, root=self.root.absolute())

    def __str__(self) -> str:
        return str(self.path)


@dataclass(frozen=True, slots=True, kw_only=True)
class FileRange:
    """A range of bytes of a zip or tar file: an uncompressed file in it."""

    file: FileBelow
    offset: int
    size: int

    def absolute(self) -> FileRange:
        """Return the same range of the file below the absolute root."""
        return replace(self, file=self.file.absolute())

    def __str__(self) -> str:
        return str(self.file)


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldMedium:
    """The files of a ``Medium`` and their stamps: enough to open them again in another process."""

    paths: tuple[Path | FileBelow | FileRange, ...]
    stamps: tuple[Stamp, ...]

    def absolute(self) -> HeldMedium:
        """Return the same medium with absolute paths."""
        return replace(self, paths=tuple(path.absolute() for path in self.paths))


def _file_of(path: Path | FileBelow | FileRange) -> tuple[Path, Sequence[str]]:
    """Return the root, and the segments below it, of the file that a path or range is in."""
    file = path.file if isinstance(path, FileRange) else path
    return (file.root, file.segments) if isinstance(file, FileBelow) else (file, ())


class Medium(Closable):
    """Files, or ranges of files, read as one in the given order; a context manager.

    ``size`` is the sum of their bytes, ``stamps`` are those of the files when they were opened. Raises as
    ``reading.opened`` does.
    """

    def __init__(self, paths: Sequence[Path | FileBelow | FileRange]) -> None:
        self.paths = tuple(paths)
        self._descriptors: list[int] = []
        self._ranges: dict[int, Ranges] = {}
        try:
            for number, path in enumerate(self.paths):
                descriptor, ranges = reading.opened_by_ranges(*_file_of(path))
                self._descriptors.append(descriptor)
                if ranges is not None:
                    self._ranges[number] = ranges
            self.stamps = self.stamped()
        except BaseException:
            self.close()
            raise
        self._offsets = [path.offset if isinstance(path, FileRange) else 0 for path in self.paths]
        pairs = zip(self.paths, self.stamps, strict=True)
        sizes = (path.size if isinstance(path, FileRange) else stamp.size for path, stamp in pairs)
        self._ends = list(accumulate(sizes))
        self._starts = [0, *self._ends[:-1]]
        self.size = self._ends[-1]

    @property
    def held(self) -> HeldMedium:
        """The value with which another process can open the same files."""
        return HeldMedium(paths=self.paths, stamps=self.stamps)

    def stamped(self) -> tuple[Stamp, ...]:
        """Return the stamps that the files have now."""
        stamps = []
        for path, descriptor in zip(self.paths, self._descriptors, strict=False):
            with reading.naming(*_file_of(path)):
                stamps.append(Stamp.of(descriptor))
        return tuple(stamps)

    def pread(self, size: int, offset: int) -> bytes:
        """Return up to ``size`` bytes from ``offset``: fewer only at the end. Raises OSError."""
        block = b""
        for part in range(bisect_right(self._starts, offset) - 1, len(self._descriptors)):
            at = offset + len(block)
            wanted = max(0, min(size - len(block), self._ends[part] - at))
            start = at - self._starts[part] + self._offsets[part]
            if self._ranges and part in self._ranges:
                more = self._ranges[part].pread(wanted, start)
            else:
                try:
                    more = pread(self._descriptors[part], wanted, start)
                except OSError as error:
                    raise reading.named(error, *_file_of(self.paths[part])) from None
            block = block + more if block else more
            if len(block) >= size or offset + len(block) < self._ends[part]:
                break
        return block

    def chunks(self, start: int = 0, stop: int | None = None) -> Iterator[bytes]:
        """Yield the bytes from ``start`` to ``stop`` (None: the end) by ``reading.CHUNK``.

        A file that is shorter by now ends them early, without an error: a caller must count the bytes.
        """
        stop = self.size if stop is None else stop
        while start < stop and (block := self.pread(min(reading.CHUNK, stop - start), start)):
            yield block
            start += len(block)

    def close(self) -> None:
        """Close the files."""
        while self._ranges:
            self._ranges.popitem()[1].close()
        while self._descriptors:
            release(self._descriptors.pop())


_BLOCKS = "CREATE TABLE block (start INTEGER PRIMARY KEY, data BLOB);"


class SpooledMedium(Medium):
    """A stream of bytes, stored in a temporary database so that any range can be read.

    The constructor reads the whole stream. ``paths`` are its origin, for messages; no file stays open. Raises
    what ``blocks`` raises, and ``sqlite3.Error`` when the temporary disk is full.
    """

    def __init__(self, paths: Sequence[Path], blocks: Iterable[bytes]) -> None:
        self.paths = tuple(paths)
        self.stamps = ()
        self._descriptors, self._ranges = [], {}
        self.size, self._start, self._block = 0, 0, b""
        self._database = tempdb.create("BEGIN", schema=_BLOCKS)
        try:
            for block in filter(None, blocks):
                self._database.execute("INSERT INTO block VALUES (?, ?)", (self.size, block))
                self.size += len(block)
        except BaseException:
            self.close()
            raise

    def pread(self, size: int, offset: int) -> bytes:
        """Return up to ``size`` bytes from ``offset``: fewer only at the end."""
        stop = min(offset + size, self.size)
        pieces = []
        while offset < stop:
            if not self._start <= offset < self._start + len(self._block):
                sql = "SELECT start, data FROM block WHERE start <= ? ORDER BY start DESC LIMIT 1"
                self._start, self._block = self._database.execute(sql, (offset,)).fetchone()
            pieces.append(self._block[offset - self._start : stop - self._start])
            offset += len(pieces[-1])
        return b"".join(pieces)

    def close(self) -> None:
        """Remove the stored bytes."""
        self._database.close()
