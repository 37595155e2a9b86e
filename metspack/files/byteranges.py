"""Byte ranges of one file or several: an archive that was cut into parts is read as a whole.

SIARD 2.2 S_8.2: ``Northwind.siard_part001``, ``_part002`` ... are the pieces of one file.
"""

from __future__ import annotations

import os
import zlib
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import astuple, fields, replace
from itertools import accumulate
from pathlib import Path
from typing import Any, Self

from metspack.errors import SourceError
from metspack.files import pread, reading, tempdb
from metspack.files.reading import Closable
from metspack.stores.ranges import Ranges
from metspack.values import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Stamp:
    """The state of a file, which betrays a change: size in bytes, time of change, inode and its device."""

    size: int
    modified: int
    inode: int
    device: int

    @classmethod
    def of(cls, descriptor: int) -> Self:
        """Return the stamp of an open file."""
        return cls.of_status(os.fstat(descriptor))

    @classmethod
    def of_status(cls, status: os.stat_result) -> Self:
        """Return the stamp of the file with this status."""
        return cls(
            size=status.st_size, modified=status.st_mtime_ns, inode=status.st_ino, device=status.st_dev
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Below:
    """A file by its names below a trusted folder: no link is followed on the way; ``str`` gives its path."""

    root: Path
    segments: tuple[str, ...]

    @property
    def path(self) -> Path:
        """The whole path, for people to read."""
        return self.root.joinpath(*self.segments)

    def __str__(self) -> str:
        return str(self.path)


@dataclass(frozen=True, slots=True, kw_only=True)
class Stretch:
    """A range of a file's bytes that is a file itself: packed in a zip or tar file without compression."""

    file: Below
    offset: int
    size: int

    def __str__(self) -> str:
        return str(self.file)


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldMedium:
    """The files of a ``Medium`` and their stamps: enough to open them again in another process."""

    paths: tuple[Path | Below | Stretch, ...]
    stamps: tuple[Stamp, ...]

    def document(self) -> dict[str, Any]:
        """Return the object for JSON that ``restored`` reads."""
        return {
            "paths": [_path_document(each) for each in self.paths],
            "stamps": [astuple(each) for each in self.stamps],
        }

    @classmethod
    def restored(cls, document: Mapping[str, Any]) -> HeldMedium:
        """Return the medium that ``document`` gave."""
        names = [each.name for each in fields(Stamp)]
        return cls(
            paths=tuple(map(_path_of, document["paths"])),
            stamps=tuple(Stamp(**dict(zip(names, each, strict=True))) for each in document["stamps"]),
        )


def _path_document(path: Path | Below | Stretch) -> list[Any]:
    if isinstance(path, Path):
        return [str(path.absolute())]
    if isinstance(path, Below):
        return [str(path.root.absolute()), list(path.segments)]
    return [*_path_document(path.file), path.offset, path.size]


def _path_of(document: Sequence[Any]) -> Path | Below | Stretch:
    root, *rest = document
    if not rest:
        return reading.as_place(root)
    segments, *part = rest
    file = Below(root=reading.as_place(root), segments=tuple(segments))
    return Stretch(file=file, offset=part[0], size=part[1]) if part else file


def _file_of(path: Path | Below | Stretch) -> tuple[Path, Sequence[str]]:
    """Return the file that a range is of: a root, and the segments below it."""
    file = path.file if isinstance(path, Stretch) else path
    return (file.root, file.segments) if isinstance(file, Below) else (file, ())


class Medium(Closable):
    """Files, or ranges of files, opened for reading and read as one, in their order; a context manager.

    ``stamps`` are those of the files when they were opened. Raises what ``reading.opened`` does.
    """

    __slots__ = ("_descriptors", "_ends", "_offsets", "_ranges", "_starts", "paths", "size", "stamps")

    def __init__(self, paths: Sequence[Path | Below | Stretch]) -> None:
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
        pairs = list(zip(self.paths, self.stamps, strict=True))
        self._offsets = [path.offset if isinstance(path, Stretch) else 0 for path, _ in pairs]
        sizes = (path.size if isinstance(path, Stretch) else stamp.size for path, stamp in pairs)
        self._ends = list(accumulate(sizes))
        self._starts = [0, *self._ends[:-1]]
        self.size = self._ends[-1]

    @property
    def held(self) -> HeldMedium:
        """The value with which another process can open the same files."""
        return HeldMedium(paths=self.paths, stamps=self.stamps)

    def stamped(self) -> tuple[Stamp, ...]:
        """Return the stamps that the files have now."""
        return tuple(self._stamp(part) for part in range(len(self._descriptors)))

    def _stamp(self, part: int) -> Stamp:
        try:
            return Stamp.of(self._descriptors[part])
        except OSError as error:
            raise self._named(error, part) from None

    def _named(self, error: OSError, part: int) -> OSError:
        """Return an error with the name of the file in which it was met."""
        reading.name_file(error, *_file_of(self.paths[part]))
        return error

    def pread(self, size: int, offset: int) -> bytes:
        """Return up to ``size`` bytes from ``offset``: fewer only at the end. Raises OSError."""
        block = b""
        part = bisect_right(self._starts, offset) - 1
        while part < len(self._descriptors):
            at = offset + len(block)
            wanted = max(0, min(size - len(block), self._ends[part] - at))
            start = at - self._starts[part] + self._offsets[part]
            if self._ranges and part in self._ranges:
                more = self._ranges[part].pread(wanted, start)
            else:
                try:
                    more = pread(self._descriptors[part], wanted, start)
                except OSError as error:
                    raise self._named(error, part) from None
            block = block + more if block else more
            if len(block) >= size or offset + len(block) < self._ends[part]:
                break
            part += 1
        return block

    def chunks(self, start: int = 0, stop: int | None = None) -> Iterator[bytes]:
        """Yield the bytes from ``start`` to ``stop`` (to the end when None) in blocks of ``reading.CHUNK``.

        Ends early, without an error, when a file was cut; who needs ``stop`` bytes must count.
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
            reading.release(self._descriptors.pop())


_BLOCK = 1 << 18
_BLOCKS = "CREATE TABLE block (number INTEGER PRIMARY KEY, data BLOB);"


class SpooledMedium(Medium):
    """Bytes that can only be read from their beginning, kept in a temporary database to be read anywhere.

    All of them are read at once. ``paths`` are where they come from, for people; no file is held open.
    Raises what reading them does, and ``sqlite3.Error`` when the temporary disk is full.
    """

    __slots__ = ("_at", "_block", "_database")

    def __init__(self, paths: Sequence[Path], blocks: Iterable[bytes]) -> None:
        self.paths = tuple(paths)
        self.stamps = ()
        self._descriptors, self._ranges = [], {}
        self._at, self._block = -1, b""
        self._database = tempdb.create(schema=_BLOCKS)
        try:
            self.size = self._keep(blocks)
        except BaseException:
            self.close()
            raise

    def _keep(self, blocks: Iterable[bytes]) -> int:
        """Keep all bytes in blocks of one size; returns how many."""
        self._database.execute("BEGIN")
        held, number = bytearray(), 0
        for block in blocks:
            held += block
            while len(held) >= _BLOCK:
                self._put(number, bytes(held[:_BLOCK]))
                del held[:_BLOCK]
                number += 1
        self._put(number, bytes(held))
        return number * _BLOCK + len(held)

    def _put(self, number: int, data: bytes) -> None:
        self._database.execute("INSERT INTO block VALUES (?, ?)", (number, data))

    def pread(self, size: int, offset: int) -> bytes:
        """Return up to ``size`` bytes from ``offset``: fewer only at the end."""
        stop = min(offset + size, self.size)
        pieces = []
        while offset < stop:
            number, start = divmod(offset, _BLOCK)
            pieces.append(self._numbered(number)[start : start + stop - offset])
            offset += len(pieces[-1])
        return b"".join(pieces)

    def _numbered(self, number: int) -> bytes:
        if number != self._at:
            sql = "SELECT data FROM block WHERE number = ?"
            (self._block,) = self._database.execute(sql, (number,)).fetchone()
            self._at = number
        return self._block

    def close(self) -> None:
        """Let go of the bytes."""
        self._database.close()


_GZIP = b"\x1f\x8b"
_AS_GZIP = 31  # to zlib: a gzip header before the stream, its CRC-32 and size behind it
_READ, _INFLATED = 1 << 15, 1 << 18  # bytes that are read, and inflated, at once
_DENSEST = 1_100  # bytes that one byte of deflate cannot become
_RATIO_FROM = 1 << 24  # bytes inflated before a ratio says anything
_COPIES, _SPACING = 64, 1 << 20
_AGAIN = "Get the file again from another copy, or unpack it with a tool that you trust."


def is_gzip(path: Below) -> bool:
    """Return whether a file begins as gzip's do; raises what ``reading.opened`` does."""
    with Medium((path,)) as medium:
        return medium.pread(len(_GZIP), 0) == _GZIP


@dataclass(slots=True, kw_only=True)
class _Inflating:
    """A gzip stream under way: ``at`` counts the bytes that came out, ``read`` those that went in.

    ``given`` went in and was not used yet. ``is_begun`` is False between two members of the file.
    """

    at: int
    read: int
    given: bytes
    inflater: zlib._Decompress
    is_begun: bool

    @property
    def is_first(self) -> bool:
        """Whether nothing was used yet."""
        return self.read == len(self.given)

    def copy(self) -> _Inflating:
        """Return it as it is now."""
        return replace(self, inflater=self.inflater.copy())


class GzipMedium(Closable):
    """The bytes that a gzip file of one member or several has compressed, read as a file; for one thread.

    Who reads onward inflates each byte once. At intervals the state is kept, 64 at most and then twice as
    far apart, and to go back the nearest is gone on from. ``size`` is a bound until the end was seen.
    Raises what ``reading.opened`` does, and ``SourceError`` for a stream that is cut off or damaged, or has
    become more than ``ratio`` times the bytes that went in.
    """

    __slots__ = ("_block", "_copies", "_file", "_path", "_ratio", "_spacing", "_state", "size", "stamps")

    def __init__(self, path: Below, ratio: int = _DENSEST) -> None:
        self._path, self._ratio = path, ratio
        self._file: Medium | None = Medium((path,))
        self.stamps = self._file.stamps
        self.size = self._file.size * _DENSEST
        self.rest(is_closed=False)

    @property
    def held(self) -> HeldMedium:
        """The value with which another process can open the same file."""
        return HeldMedium(paths=(self._path,), stamps=self.stamps)

    def rest(self, *, is_closed: bool = True) -> None:
        """Let go of file and memory until bytes are wanted again, which are inflated from the start then."""
        self._copies: list[_Inflating] = []
        self._spacing = _SPACING
        self._state, self._block = _beginning(), b""
        if is_closed:
            self.close()

    def pread(self, size: int, offset: int) -> bytes:
        """Return up to ``size`` bytes from ``offset``: fewer only at the end."""
        pieces: list[bytes | memoryview] = []
        while size > 0 and (piece := self._from(offset)[:size]):
            pieces.append(piece)
            size -= len(piece)
            offset += len(piece)
        return bytes(pieces[0]) if len(pieces) == 1 else b"".join(pieces)

    def chunks(self, start: int = 0, stop: int | None = None) -> Iterator[bytes]:
        """Yield the bytes from ``start`` to ``stop`` (to the end when None) in blocks, as ``Medium`` does."""
        while stop is None or start < stop:
            block = self._from(start)
            if not block:
                return
            block = block if stop is None else block[: stop - start]
            start += len(block)
            yield bytes(block)

    def check_rest(self) -> None:
        """Read on to the end, where each member's CRC-32 and size are; raises ``SourceError``."""
        while self._inflate():
            pass

    def _from(self, offset: int) -> memoryview:
        """Return the bytes from an offset to the end of the block that it is in, none at the end."""
        if not self._state.at - len(self._block) <= offset <= self._state.at:
            self._go_near(offset)
        while self._state.at <= offset:
            if not self._inflate():
                return memoryview(b"")
        return memoryview(self._block)[offset - self._state.at + len(self._block) :]

    def _go_near(self, offset: int) -> None:
        """Go on from the last state that was kept before an offset, unless this one is nearer."""
        number = bisect_right(self._copies, offset, key=lambda each: each.at)
        nearest = self._copies[number - 1] if number else None
        if nearest is not None and (self._state.at > offset or self._state.at < nearest.at):
            self._state, self._block = nearest.copy(), b""
        elif self._state.at > offset:
            self._state, self._block = _beginning(), b""

    def _inflate(self) -> bool:
        """Inflate the next block; return False at the end, where there is none."""
        state = self._state
        self._block = b""
        while not self._block:
            if state.is_begun and state.inflater.eof:
                state.given, state.inflater, state.is_begun = state.inflater.unused_data, _inflater(), False
            if not state.is_begun and not state.is_first:
                state.given = state.given.lstrip(b"\0")  # what fills a block of a tape
            if not state.given:
                self._keep()
                state.given = self._read(state.read)
                state.read += len(state.given)
                if not state.given and state.is_begun:
                    raise self._refusal("is cut off: the gzip stream has no end")
                if not state.given and not state.read:
                    raise self._refusal("is empty, not a gzip file")
                if not state.given:
                    self.size = state.at
                    return False
                continue
            self._inflate_given(state)
        if state.at > self._ratio * state.read and state.at > _RATIO_FROM:
            raise self._refusal(f"becomes more than {self._ratio:,} times as large (--budget ratio=N)")
        return True

    def _inflate_given(self, state: _Inflating) -> None:
        if not state.is_begun and len(state.given) < len(_GZIP):
            more = self._read(state.read)
            state.given, state.read = state.given + more, state.read + len(more)
        if not state.is_begun and not state.given.startswith(_GZIP):
            raise self._refusal("is not a gzip file" if state.is_first else "has other bytes after its end")
        try:
            self._block = state.inflater.decompress(state.given, _INFLATED)
        except zlib.error as error:
            reason = str(error).rpartition(": ")[2] or "invalid data"
            raise self._refusal(f"is damaged: {reason} in the gzip stream") from None
        state.is_begun, state.given = True, state.inflater.unconsumed_tail
        state.at += len(self._block)

    def _keep(self) -> None:
        """Keep the state if the last one that was kept lies far enough behind."""
        last = self._copies[-1].at if self._copies else 0
        if self._state.at < last + self._spacing:
            return
        if len(self._copies) == _COPIES:
            del self._copies[::2]
            self._spacing *= 2
            self._keep()
        else:
            self._copies.append(self._state.copy())

    def _read(self, start: int) -> bytes:
        if self._file is None:
            self._file = Medium((self._path,))
            if self._file.stamps != self.stamps:
                self.close()
                raise SourceError(
                    f"{self._path}: was changed while it was read",
                    hint="Wait until nothing else writes to it and start again.",
                )
        return self._file.pread(_READ, start)

    def _refusal(self, problem: str) -> SourceError:
        state = self._state
        where = f"near byte {state.read - len(state.given):,} of the file, byte {state.at:,} of what is in it"
        return SourceError(f"{self._path}: {problem}, {where}", hint=_AGAIN)

    def close(self) -> None:
        """Close the file."""
        if self._file is not None:
            self._file.close()
            self._file = None


def _beginning() -> _Inflating:
    return _Inflating(at=0, read=0, given=b"", inflater=_inflater(), is_begun=False)


def _inflater() -> zlib._Decompress:
    return zlib.decompressobj(wbits=_AS_GZIP)
