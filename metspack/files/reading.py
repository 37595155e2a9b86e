"""Open, read and hash files by descriptor, as the only module, without following links.

A path from an archive or a METS is a sequence of checked segments (``uris``); each folder on it is opened
with ``O_NOFOLLOW`` below the descriptor of the one before. So no symbolic link leads out of the granted root,
not even one that replaces a folder meanwhile.
"""

from __future__ import annotations

import errno
import io
import math
import re
import stat
from abc import ABC, abstractmethod
from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, nullcontext, suppress
from dataclasses import dataclass
from functools import partial
from itertools import chain, repeat
from pathlib import Path
from typing import Any, NamedTuple, Self
from urllib.parse import unquote

from metspack.digests import OCTETS, digest_function
from metspack.errors import ConfigError, MetspackError, SourceError
from metspack.files import held, mirrors, pread, read_into, release
from metspack.files.threads import ThreadedHashers
from metspack.processes import Moved
from metspack.sizes import TextLength
from metspack.stores.ranges import Ranges
from metspack.system import O_SEARCH, os

CHUNK = 1 << 18
"""Bytes per read of a large file."""

BLOCK = 1 << 16
"""Bytes that a parser gets at once: its results from one block are held together."""

_READ = os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK
_WALK = os.O_RDONLY | os.O_CLOEXEC | os.O_DIRECTORY
_SEARCH = _WALK | O_SEARCH
_KINDS = {
    stat.S_IFLNK: "a symbolic link",
    stat.S_IFIFO: "a named pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFBLK: "a block device",
    stat.S_IFCHR: "a character device",
}

StrPath = str | os.PathLike[str]
"""A path as a program gives it."""


def as_path(given: StrPath) -> Path:
    """Return the path that a caller gives; raises ``ConfigError`` for an impossible name.

    The URL of a store raises it as well: ``as_place`` accepts stores.
    """
    found = as_place(given)
    if isinstance(found, mirrors.StorePath):
        raise ConfigError(
            f"{found} is in a store; expected a file or folder of this machine",
            hint="A store is read by inspect, plan, build, check, links, list, cat and restore, "
            "and written by build alone.",
        )
    return found


def as_place(given: StrPath) -> Path:
    """Return a path as ``as_path`` does, or the path in a store that a URL names."""
    if isinstance(given, mirrors.StorePath):
        return given
    # A caller without types may give anything.
    text: Any = os.fspath(given) if isinstance(given, os.PathLike) else given
    if not isinstance(text, str):
        raise ConfigError(f"a path is a str or a Path, not {given!r}", hint="Decode it with os.fsdecode.")
    is_name = False
    with suppress(UnicodeEncodeError):  # half a character of UTF-16
        is_name = bool(text) and "\0" not in text and bool(os.fsencode(text))
    if not is_name:
        raise ConfigError(
            f"{text!r} is not a path",
            hint="A path has at least one character, no NUL, and no half of a surrogate pair.",
        )
    if text[:5].lower() == "file:":
        return _of_file_url(text)
    return mirrors.path_of(text) or Path(text)


def _of_file_url(text: str) -> Path:
    """Return the path of a ``file:`` URL; raises ``ConfigError`` for one of another machine."""
    # A Path has one slash where its text had three.
    found = re.fullmatch(r"file:(?:(?://(?:localhost)?)?/)([^/].*)?", text, re.IGNORECASE | re.DOTALL)
    names = unquote((found and found[1]) or "", errors="surrogateescape")
    if found is None or "?" in text or "#" in text or "\0" in names:
        raise ConfigError(
            f"{text} names no file or folder of this machine", hint="Write its path, or file:///PATH."
        )
    return Path("/", names)


def as_paths(given: StrPath | Sequence[StrPath]) -> tuple[Path, ...]:
    """Return one path or several as ``as_path`` does; a ``str`` is one path."""
    return tuple(map(as_path, _several(given)))


def as_places(given: StrPath | Sequence[StrPath]) -> tuple[Path, ...]:
    """Return one path or several as ``as_place`` does."""
    return tuple(map(as_place, _several(given)))


def _several(given: StrPath | Iterable[StrPath]) -> Iterable[StrPath]:
    if isinstance(given, Iterable) and not isinstance(given, str | bytes | os.PathLike):
        return given
    return (given,)


class Closable(ABC):
    """A context manager that calls ``close`` at the end of the block."""

    @abstractmethod
    def close(self) -> None:
        """Close everything that is open."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def opened(root: Path, segments: Sequence[str] = ()) -> int:
    """Return a descriptor of the regular file at ``segments`` below ``root``, read-only.

    ``root`` is trusted (a person named it) and may be a link, without segments also a link to a file; below
    it no link is followed. Raises OSError as ``os.open`` does, with ELOOP or ENOTDIR for a symbolic link, and
    ``SourceError`` for anything but a regular file.
    """
    return opened_by_ranges(root, segments, math.inf)[0]


def opened_by_ranges(
    root: Path, segments: Sequence[str], large: float = mirrors.LARGE
) -> tuple[int, Ranges | None]:
    """Return a descriptor as ``opened`` does, and the ranges of a ``large`` object, or None.

    With ranges the descriptor has only the status of the object, not its bytes.
    """
    place = mirrors.place_of(root, segments) if mirrors.are_used() else ""
    descriptor = _opened(root, segments)
    if place:
        try:
            if os.fstat(descriptor).st_size >= large:
                return descriptor, Ranges(*mirrors.object_at(descriptor, place))
            mirrors.fill(descriptor, place)
        except BaseException:
            release(descriptor)
            raise
    return descriptor, None


def _opened(root: Path, segments: Sequence[str]) -> int:
    if not segments:
        descriptor = os.open(root, _READ)
    else:
        for segment in segments:
            if segment in {"", ".", ".."} or "/" in segment or "\0" in segment:
                raise SourceError(f"{segment!r} is not a name of a file or folder")
        with held(_walked(root, segments[:-1])) as folder:
            descriptor = os.open(segments[-1], _READ | os.O_NOFOLLOW, dir_fd=folder)
    try:
        mode = os.fstat(descriptor).st_mode
    except OSError as error:
        release(descriptor)
        raise named(error, root, segments) from None
    if not stat.S_ISREG(mode):
        release(descriptor)
        what = "/".join(segments) or str(root)
        if stat.S_ISDIR(mode):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), what)
        raise SourceError(f"{what} is not a regular file but {kind(mode)}")
    return descriptor


def _walked(root: Path, segments: Sequence[str]) -> int:
    """Return a descriptor of the folder at ``segments`` below ``root``, through no link."""
    folder = os.open(root, _WALK)
    try:
        for segment in segments:
            below = os.open(segment, _WALK | os.O_NOFOLLOW, dir_fd=folder)
            # Before the release: an interruption of it then closes ``below``.
            above, folder = folder, below
            release(above)
    except BaseException:
        release(folder)
        raise
    return folder


def named(error: OSError, root: Path, segments: Sequence[str]) -> OSError:
    """Return an error that names its file: the one at ``segments`` below ``root`` by default."""
    if error.filename is None:
        error.filename = str(root.joinpath(*segments))
    return error


@contextmanager
def naming(root: Path, segments: Sequence[str]) -> Iterator[None]:
    """Raise an OSError of the block as ``named`` returns it."""
    try:
        yield
    except OSError as error:
        raise named(error, root, segments) from None


def kind(mode: int) -> str:
    """Return the name of the kind of a link or special file, by its mode."""
    return _KINDS.get(stat.S_IFMT(mode), "something else")


def opened_folder(root: Path, segments: Sequence[str] = ()) -> int:
    """Return a descriptor of the folder at ``segments`` below ``root``, to list it.

    No link is followed below ``root``, as in ``opened``. Raises OSError.
    """
    if mirrors.are_used():
        mirrors.place_of(root, segments)
    return _walked(root, segments)


def is_surely_absent(root: Path, segments: Sequence[str] = ()) -> bool:
    """Return whether a folder certainly does not exist; False for one in a store."""
    if not mirrors.are_used():
        try:
            release(opened_folder(root, segments))
        except OSError as error:
            return error.errno in {errno.ENOENT, errno.ENOTDIR, errno.ENAMETOOLONG}
    return False


@contextmanager
def opening(root: Path, segments: Sequence[str] = ()) -> Iterator[int]:
    """Give a descriptor, opened as by ``opened``, for the length of a block.

    An OSError of the block that names no file gets the name of this file.
    """
    with held(opened(root, segments)) as descriptor, naming(root, segments):
        yield descriptor


@contextmanager
def streaming(
    root: Path, segments: Sequence[str] = ()
) -> Iterator[tuple[int, Callable[..., Iterator[bytes]]]]:
    """Give a descriptor as ``opening`` does, and a function that yields the file's bytes.

    The descriptor of a large object in a store has only its status. Errors are those of ``opening``.
    """
    descriptor, ranges = opened_by_ranges(root, segments)
    with held(descriptor), nullcontext() if ranges is None else closing(ranges), naming(root, segments):
        yield descriptor, partial(chunks, descriptor) if ranges is None else ranges.chunks


@contextmanager
def buffered(path: Path, *, start: int = 0) -> Iterator[io.BufferedReader]:
    """Give a file as ``opening`` does, with a buffer to read lines from byte ``start`` on."""
    with opening(path) as descriptor, from_byte(start, descriptor) as file:
        yield file


def from_byte(start: int, descriptor: int) -> io.BufferedReader:
    """Return a reader of an open file from byte ``start`` on; closing it leaves the file open."""
    os.lseek(descriptor, start, os.SEEK_SET)  # its own seek() would hide why the system refuses it
    return open(descriptor, "rb", closefd=False)


@contextmanager
def text(path: Path) -> Iterator[io.TextIOWrapper]:
    """Give a file as ``opening`` does, as text in UTF-8 whose lines end with line feeds only."""
    with buffered(path) as file:
        yield io.TextIOWrapper(file, encoding="utf-8", newline="\n")


class Stamp(NamedTuple):
    """The state of a file, to detect changes: bytes, time of change in ns, inode and device."""

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
        return cls(status.st_size, status.st_mtime_ns, status.st_ino, status.st_dev)


def small_files(
    root: Path,
    folders: Sequence[str],
    names: Iterable[str],
    stamps: Iterable[tuple[int, int, int, int] | None],
    buffer: memoryview,
    *,
    seen: Callable[[int], object] | None = None,
) -> Iterator[memoryview | None]:
    """Yield the bytes of files in one folder, each read into ``buffer``, or None.

    None stands for a file that is not regular, cannot be read, does not fit, or after the reading has another
    stamp than in ``stamps`` (if its stamp is None: another size than before); ``opened`` raises the reason.
    ``seen`` is called with the open descriptor of each file that is yielded, except those in a store. No link
    is followed below ``root``. The bytes are valid until the next iteration.
    """
    if mirrors.are_used() and (place := mirrors.place_of(root, (*folders, ""))):
        for data in mirrors.small_contents(place, zip(names, stamps, strict=False), len(buffer)):
            yield None if data is None else memoryview(data)
        return
    try:
        folder = opened_folder(root, folders)
    except OSError:
        yield from (None for _ in names)
        return
    with held(folder):
        for name, stamp in zip(names, stamps, strict=False):
            try:
                yield _small(folder, name, stamp, buffer, seen)
            except OSError:
                yield None


def _small(
    folder: int,
    name: str,
    stamp: tuple[int, int, int, int] | None,
    buffer: memoryview,
    seen: Callable[[int], object] | None,
) -> memoryview | None:
    descriptor = os.open(name, _READ | os.O_NOFOLLOW, dir_fd=folder)
    try:
        if stamp is None:
            status = os.fstat(descriptor)
            if not stat.S_ISREG(status.st_mode):
                return None
            size = read_into(descriptor, buffer, status.st_size)
        else:
            size = read_into(descriptor, buffer, stamp[0])
            # A file that still has its earlier stamp did not change while it was read.
            status = os.fstat(descriptor)
            if Stamp.of_status(status) != stamp or not stat.S_ISREG(status.st_mode):
                return None
        if not size == status.st_size < len(buffer):
            return None
        if seen is not None:
            seen(descriptor)
        return buffer[:size]
    finally:
        release(descriptor)


def statuses(root: Path, folders: Sequence[str], names: Iterable[str]) -> list[Stamp | None]:
    """Return the stamps of files in one folder; None for a name without a regular file.

    No link is followed below ``root``. Raises OSError when the folder cannot be opened.
    """
    found = looked_up(root, folders, names)
    return [Stamp.of_status(each) if each and stat.S_ISREG(each.st_mode) else None for each in found]


def exists(root: Path, segments: Sequence[str]) -> bool:
    """Return whether an entry exists below ``root``, or a link on the way to it.

    No link is followed below ``root``: what is behind one may exist, and the link has a finding.
    """
    if mirrors.are_used():
        mirrors.place_of(root, segments[:-1])
    folder = -1
    try:
        if not os.path.lexists(root.joinpath(segments[0])):
            return False  # a folder around the package is opened only for what is in it
        folder = os.open(root, _SEARCH)
        for segment in segments[:-1]:
            if stat.S_ISLNK(os.stat(segment, dir_fd=folder, follow_symlinks=False).st_mode):
                return True
            above, folder = folder, os.open(segment, _SEARCH | os.O_NOFOLLOW, dir_fd=folder)
            release(above)
        os.stat(segments[-1], dir_fd=folder, follow_symlinks=False)
    except (OSError, ValueError):  # the latter for a name with a NUL
        return False
    finally:
        release(folder)
    return True


def looked_up(root: Path, folders: Sequence[str], names: Iterable[str]) -> Iterator[os.stat_result | None]:
    """Yield the status (a link's, not its target's) of each name in one folder, or None.

    No link is followed below ``root``. Raises OSError when the folder cannot be opened.
    """
    with held(opened_folder(root, folders)) as folder:
        for name in names:
            status = None
            with suppress(OSError):
                status = os.stat(name, dir_fd=folder, follow_symlinks=False)
            yield status


def chunks(descriptor: int, start: int = 0, stop: int | None = None, *, size: int = CHUNK) -> Iterator[bytes]:
    """Yield the bytes from ``start`` to ``stop`` (None: the end) without moving the descriptor.

    Blocks have at most ``size`` bytes. A file that ends early ends them, without an error: a caller that
    needs all must count the bytes.
    """
    size = size or CHUNK
    while stop is None or start < stop:
        wanted = size if stop is None else min(size, stop - start)
        if block := pread(descriptor, wanted, start):
            yield block
        if len(block) < wanted:
            return
        start += wanted


def blocks(source: Iterable[bytes]) -> Iterator[bytes]:
    """Yield bytes in blocks of at most ``BLOCK``."""
    for chunk in source:
        for start in range(0, len(chunk), BLOCK):
            yield chunk[start : start + BLOCK]


def stretches(blocks: Iterable[bytes]) -> Iterator[bytes]:
    """Yield blocks of whole lines; a line longer than ``BLOCK`` is cut into several."""
    rest = b""
    for block in blocks:
        whole, end, rest = (rest + block).rpartition(b"\n")
        if end:
            yield whole + end
        if len(rest) > BLOCK:
            yield rest + b"\n"
            rest = b""
    if rest:
        yield rest


def lines(blocks: Iterable[bytes]) -> Iterator[bytes]:
    """Yield lines with their line feeds; a line longer than ``BLOCK`` is cut into several."""
    return chain.from_iterable(map(io.BytesIO, stretches(blocks)))


def with_progress(source: Iterable[bytes], progress: Callable[[int], object]) -> Iterator[bytes]:
    """Yield blocks of bytes after calling ``progress`` with the size of each."""
    for block in source:
        progress(len(block))
        yield block


class HolesRefused(SourceError):  # noqa: N818 -- the state of the file
    """A sparse file with too many bytes of holes: reading its zeros might take days."""


def check_holes(descriptor: int, most: int) -> None:
    """Raise ``HolesRefused`` for an open file with more than ``most`` bytes of holes."""
    found = os.fstat(descriptor)
    # The unit of st_blocks is 512 bytes, whatever the block size of the file system.
    if found.st_size - 512 * found.st_blocks <= most:
        return
    # A compressed file takes few blocks too, and has no holes.
    holes = at = 0
    while at < found.st_size and (hole := os.lseek(descriptor, at, os.SEEK_HOLE)) < found.st_size:
        try:
            at = os.lseek(descriptor, hole, os.SEEK_DATA)
        except OSError as error:
            if error.errno != errno.ENXIO:
                raise
            at = found.st_size  # the hole reaches to the end
        holes += at - hole
        if holes > most:
            raise HolesRefused(
                f"has {holes:,} bytes of holes, which were never written; expected at most {most:,}",
                hint="If that is what it should be, raise the budget: --budget holes=N.",
            )


def check_holes_of(root: Path, segments: Sequence[str], most: int) -> None:
    """Raise ``HolesRefused`` as ``check_holes`` does; objects of stores have no holes."""
    if not mirrors.inside(root):
        with opening(root, segments) as descriptor:
            check_holes(descriptor, most)


@dataclass(frozen=True, slots=True, kw_only=True)
class DigestRequest:
    """The requested digests of a file: of the whole, and of its first ``boundary`` bytes, if not 0.

    ``as_text`` requests the length in characters too. A file with more than ``holes`` bytes of holes is
    refused; None accepts any number.
    """

    algorithms: tuple[str, ...]
    boundary: int = 0
    as_text: bool = False
    holes: int | None = None

    @property
    def is_plain(self) -> bool:
        """True if it requests only digests of the whole."""
        return not self.boundary and not self.as_text


@dataclass(frozen=True, slots=True, kw_only=True)
class Hashed:
    """The result of a request: bytes, digests by algorithm, those to the boundary, text length."""

    size: int
    digests: Mapping[str, str]
    until: Mapping[str, str]
    text: TextLength | None


Outcome = Hashed | OSError | MetspackError


class Hashing:
    """The digests, size and text length of a stream of bytes, computed as the bytes come."""

    def __init__(self, request: DigestRequest) -> None:
        self._request = request
        self._hashers = ThreadedHashers(request.algorithms)
        self._text = TextLength() if request.as_text else None
        self._until = self._hashers.copy()

    def update(self, block: bytes) -> None:
        """Add the next bytes."""
        before = self._request.boundary - self._hashers.size
        if 0 < before <= len(block):
            self._hashers.update(block[:before])
            self._until = self._hashers.copy()
            self._hashers.update(block[before:])
        else:
            self._hashers.update(block)
        if self._text is not None:
            self._text.update(block)

    def result(self) -> Hashed:
        """Return the result for all bytes so far."""
        digests, until = self._hashers.digests(), self._until.digests()
        return Hashed(size=self._hashers.size, digests=digests, until=until, text=self._text)


def hash_blocks(
    chunks: Iterable[bytes], request: DigestRequest, progress: Moved, whole: Hashing | None = None
) -> Hashed:
    """Hash a file's bytes; raises what ``chunks`` raises.

    They are also added to ``whole``, of which the file is a part. ``progress`` is called with the bytes of
    each chunk.
    """
    hashing = Hashing(request)
    for block in chunks:
        hashing.update(block)
        if whole is not None:
            whole.update(block)
        progress(len(block))
    return hashing.result()


@dataclass(frozen=True, slots=True, kw_only=True)
class FileRun:
    """Files of one folder below a trusted root, with one request; ``names`` are joined by ``/``."""

    root: Path
    folder: tuple[str, ...]
    names: str
    request: DigestRequest


@dataclass(frozen=True, slots=True, kw_only=True)
class HashedRun:
    """The results of a run as columns: sizes, and by algorithm the digests of all files, joined.

    ``others`` has, by the file's number, errors and results that the columns have no room for; in the columns
    blanks stand for a missing digest.
    """

    sizes: array[int]
    digests: Mapping[str, str]
    others: Mapping[int, Outcome]

    @classmethod
    def of(cls, outcomes: Sequence[Outcome]) -> Self:
        """Return the outcomes of single files, all as ``others``."""
        return cls(sizes=array("q", [0]) * len(outcomes), digests={}, others=dict(enumerate(outcomes)))

    def outcome(self, number: int) -> Outcome:
        """Return the outcome of one file."""
        if (found := self.others.get(number)) is not None:
            return found
        count = len(self.sizes)
        digests = {
            name: text[number * len(text) // count : (number + 1) * len(text) // count]
            for name, text in self.digests.items()
        }
        until = {name: digest_function(name)(b"") for name in digests}  # the boundary is 0
        return Hashed(size=self.sizes[number], digests=digests, until=until, text=None)


def hash_runs(runs: Sequence[FileRun], progress: Moved) -> list[HashedRun]:
    """Read the files of runs, each once, and return the result of each run.

    ``progress`` is called with numbers of bytes: those of small files together.
    """
    buffer = memoryview(bytearray(CHUNK))
    return [_hash_run(run, buffer, progress) for run in runs]


def _hash_run(run: FileRun, buffer: memoryview, progress: Moved) -> HashedRun:
    """Read files that are probably small; a larger one, or one with an error, is read again."""
    names, algorithms = run.names.split("/"), run.request.algorithms
    sizes, others = array("q"), dict[int, Outcome]()
    columns = [(name, digest_function(name), list[str]()) for name in algorithms]
    unreported = 0
    nothing = repeat(None)
    contents = small_files(run.root, run.folder, names, nothing, buffer) if run.request.is_plain else nothing
    for number, (data, name) in enumerate(zip(contents, names, strict=False)):
        if data is not None:
            for _, digest, values in columns:
                values.append(digest(data))
            sizes.append(len(data))
            unreported += len(data)
            if unreported >= CHUNK:
                progress(unreported)
                unreported = 0
            continue
        found = others[number] = hash_file(run.root, (*run.folder, name), run.request, progress)
        for algorithm, _, values in columns:
            blank = " " * (2 * OCTETS[algorithm])
            values.append(found.digests[algorithm] if isinstance(found, Hashed) else blank)
        sizes.append(found.size if isinstance(found, Hashed) else 0)
    progress(unreported)
    digests = {algorithm: "".join(values) for algorithm, _, values in columns}
    return HashedRun(sizes=sizes, digests=digests, others=others)


def hash_file(
    root: Path, segments: Sequence[str], request: DigestRequest, progress: Moved, whole: Hashing | None = None
) -> Outcome:
    """Read one file and return its digests, or the error that prevents reading."""
    try:
        with streaming(root, segments) as (descriptor, blocks_of):
            if request.holes is not None and not mirrors.inside(root):
                check_holes(descriptor, request.holes)
            return hash_blocks(blocks_of(), request, progress, whole)
    except (OSError, MetspackError) as error:
        return error


PartRun = tuple[DigestRequest, tuple[tuple[Path, tuple[str, ...], DigestRequest], ...]]
"""The request for a whole, and its parts in order: trusted root, names below it, request for the part."""


class HashedParts(NamedTuple):
    """The outcomes of the parts, and the result of the whole, valid if all parts were read."""

    parts: tuple[Outcome, ...]
    whole: Hashed


def hash_parts(run: PartRun, progress: Moved) -> HashedParts:
    """Read the parts of a whole, each once; return the results of the parts and the whole."""
    request, files = run
    whole = Hashing(request)
    parts = [hash_file(root, segments, each, progress, whole) for root, segments, each in files]
    return HashedParts(parts=tuple(parts), whole=whole.result())
