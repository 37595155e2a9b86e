"""Open, read and hash files by descriptor, without links; no other module opens one.

A path from an archive or a METS is a sequence of checked segments (``uris``); it is walked with
directory descriptors and ``O_NOFOLLOW``, so no symbolic link, and no link swapped in between two
looks, leads out of the root it was granted under.
"""

from __future__ import annotations

import errno
import io
import re
import stat
from abc import ABC, abstractmethod
from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from itertools import chain, repeat
from pathlib import Path
from typing import Any, NamedTuple, Self
from urllib.parse import unquote

from metspack.digests import OCTETS, digest_function
from metspack.errors import ConfigError, MetspackError, SourceError
from metspack.files import held, mirrors, pread, read_into
from metspack.files import release as release  # noqa: PLC0414 -- for others as well
from metspack.files.threads import ThreadedHashers
from metspack.sizes import TextLength
from metspack.stores.ranges import Ranges
from metspack.system import os

CHUNK = 1 << 20
"""Bytes per read of a large file."""

BLOCK = 1 << 16
"""Bytes that a parser gets at once: its results from one block are held together."""

_READ = os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK
_WALK = os.O_RDONLY | os.O_CLOEXEC | os.O_DIRECTORY


StrPath = str | os.PathLike[str]
"""A path as a program gives it."""


def as_path(given: StrPath) -> Path:
    """Return a path that a program gave; raises ``ConfigError`` for an impossible name.

    A URL raises it as well: functions that take stores call ``as_place``.
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
    """Return a path as ``as_path`` does, or the one that a URL of a store stands for."""
    if isinstance(given, mirrors.StorePath):
        return given
    given_any: Any = given  # a program without types may give anything
    text = os.fspath(given_any) if isinstance(given_any, os.PathLike) else given_any
    if not isinstance(text, str):
        raise ConfigError(f"a path is a str or a Path, not {given!r}", hint="Decode it with os.fsdecode.")
    try:
        is_name = bool(text) and "\0" not in text and bool(os.fsencode(text))
    except UnicodeEncodeError:  # half a character of UTF-16
        is_name = False
    if not is_name:
        raise ConfigError(
            f"{text!r} is not a path",
            hint="A path has at least one character, no NUL, and no half of a surrogate pair.",
        )
    if text[:5].lower() == "file:":
        return _of_file_url(text)
    return mirrors.path_of(text) or Path(text)


def _of_file_url(text: str) -> Path:
    """Return the path of a ``file:`` URL of this machine; raises ``ConfigError`` for others."""
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
    """A context manager that closes itself."""

    @abstractmethod
    def close(self) -> None:
        """Release everything that is open."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def opened(root: Path, segments: Sequence[str] = ()) -> int:
    """Return a descriptor of the regular file at ``segments`` below ``root``, read-only.

    ``root`` is trusted (a person named it) and may itself be a link, also to a file when there are
    no segments; below it no link is followed. Raises OSError as ``os.open`` does, with ELOOP or
    ENOTDIR for a symbolic link, and ``SourceError`` when what is found is not a regular file.
    """
    place = mirrors.place_of(root, segments) if mirrors.are_used() else ""
    descriptor = _opened(root, segments)
    if place:
        try:
            mirrors.fill(descriptor, place)
        except BaseException:
            release(descriptor)
            raise
    return descriptor


def opened_by_ranges(root: Path, segments: Sequence[str]) -> tuple[int, Ranges | None]:
    """Return a descriptor as ``opened`` does, and the ranges of a large object, or None.

    The descriptor of a large object in a store is good only for its status.
    """
    if mirrors.are_used() and (place := mirrors.place_of(root, segments)):
        descriptor = _opened(root, segments)
        if os.fstat(descriptor).st_size >= mirrors.LARGE:
            return descriptor, Ranges(*mirrors.object_at(descriptor, place))
        release(descriptor)
    return opened(root, segments), None


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
        name_file(error, root, segments)
        raise
    if not stat.S_ISREG(mode):
        release(descriptor)
        what = "/".join(segments) or str(root)
        if stat.S_ISDIR(mode):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), what)
        raise SourceError(f"{what} is not a regular file but {kind(mode)}")
    return descriptor


def _walked(root: Path, segments: Sequence[str]) -> int:
    """Return a descriptor of the folder at ``segments`` below ``root``, behind no link."""
    folder = os.open(root, _WALK)
    try:
        for segment in segments:
            below = os.open(segment, _WALK | os.O_NOFOLLOW, dir_fd=folder)
            above, folder = folder, below  # first: an interruption while it is closed closes the other
            release(above)
    except BaseException:
        release(folder)
        raise
    return folder


def name_file(error: OSError, root: Path, segments: Sequence[str]) -> None:
    """Add the file at ``segments`` below ``root`` to an error that names no file."""
    if error.filename is None:
        error.filename = str(root.joinpath(*segments))


def kind(mode: int) -> str:
    """Return the kind of an entry that is neither file nor folder, by its mode."""
    for test, name in (
        (stat.S_ISLNK, "a symbolic link"),
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
    if mirrors.are_used():
        mirrors.place_of(root, segments)
    return _walked(root, segments)


@contextmanager
def scanning(root: Path, segments: Sequence[str] = ()) -> Iterator[Iterator[os.DirEntry[str]]]:
    """Give the entries of the folder of ``opened_folder`` for the length of a block."""
    with held(opened_folder(root, segments)) as folder, os.scandir(folder) as entries:
        yield entries


def holds_nothing(root: Path, segments: Sequence[str] = ()) -> bool:
    """Return whether it is certain that there is no folder of that path."""
    if not mirrors.are_used():
        try:
            release(opened_folder(root, segments))
        except OSError as error:
            return error.errno in {errno.ENOENT, errno.ENOTDIR, errno.ENAMETOOLONG}
    return False


@contextmanager
def opening(root: Path, segments: Sequence[str] = ()) -> Iterator[int]:
    """Give the descriptor of ``opened`` for the length of a block.

    An OSError of the block that names no file gets the name of this one.
    """
    descriptor = opened(root, segments)
    try:
        yield descriptor
    except OSError as error:
        name_file(error, root, segments)
        raise
    finally:
        release(descriptor)


@contextmanager
def streaming(
    root: Path, segments: Sequence[str] = ()
) -> Iterator[tuple[int, Callable[..., Iterator[bytes]]]]:
    """Give the descriptor of ``opening``, and a function that yields bytes as ``chunks`` does.

    The descriptor of a large object in a store is good only for its status; errors are those of ``opening``.
    """
    descriptor, ranges = opened_by_ranges(root, segments)
    try:
        yield descriptor, partial(chunks, descriptor) if ranges is None else ranges.chunks
    except OSError as error:
        name_file(error, root, segments)
        raise
    finally:
        if ranges is not None:
            ranges.close()
        release(descriptor)


@contextmanager
def buffered(path: Path, *, start: int = 0) -> Iterator[io.BufferedReader]:
    """Give the file of ``opening`` with a buffer, to read lines from byte ``start`` on."""
    with opening(path) as descriptor, from_byte(start, descriptor) as file:
        yield file


def from_byte(start: int, descriptor: int) -> io.BufferedReader:
    """Return an open file with a buffer, from a byte on; closing it leaves the descriptor open."""
    os.lseek(descriptor, start, os.SEEK_SET)  # its own seek() would hide why the system refuses it
    return open(descriptor, "rb", closefd=False)


@contextmanager
def text(path: Path) -> Iterator[io.TextIOWrapper]:
    """Give the file of ``opening`` as text in UTF-8; only line feeds end its lines."""
    with (
        opening(path) as descriptor,
        open(descriptor, encoding="utf-8", newline="\n", closefd=False) as file,
    ):
        yield file


class Stamp(NamedTuple):
    """A file's state, to detect a change: size in bytes, time of change in ns, inode and device."""

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

    None stands for a file that is not regular, cannot be read, does not fit, or has another status after the
    reading than in ``stamps`` (without one: another size than before); ``opened`` gives the reason. Files in
    a store are all None with ``seen``, which is called with the open descriptor of each file that is yielded.
    No link is followed below ``root``. The bytes are valid until the next are requested.
    """
    if mirrors.are_used() and (place := mirrors.place_of(root, (*folders, ""))):
        if seen is None:
            for data in mirrors.small_contents(place, zip(names, stamps, strict=False), len(buffer)):
                yield None if data is None else memoryview(data)
        else:
            yield from (None for _ in names)
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
        status = os.fstat(descriptor) if stamp is None else None
        if status is not None and not stat.S_ISREG(status.st_mode):
            return None
        expected = stamp[0] if stamp is not None else status.st_size if status is not None else 0
        size = read_into(descriptor, buffer, expected)
        if status is None:
            # What is as it was when its status was taken, long before, did not change while it was read.
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
    """Return the stamp of each regular file in one folder, or None for any other name.

    No link is followed below ``root``. Raises OSError when the folder cannot be opened.
    """
    found = _looked_up(root, folders, names)
    return [Stamp.of_status(each) if each and stat.S_ISREG(each.st_mode) else None for _, each in found]


def names_there(root: Path, folders: Sequence[str], names: Iterable[str]) -> list[str]:
    """Return the names that exist in one folder, including those of links.

    No link is followed below ``root``. Raises OSError when the folder cannot be opened.
    """
    return [name for name, status in _looked_up(root, folders, names) if status is not None]


def _looked_up(
    root: Path, folders: Sequence[str], names: Iterable[str]
) -> Iterator[tuple[str, os.stat_result | None]]:
    """Yield names with the status of each in one folder, links unfollowed, or None."""
    with held(opened_folder(root, folders)) as folder:
        for name in names:
            status = None
            with suppress(OSError):
                status = os.stat(name, dir_fd=folder, follow_symlinks=False)
            yield name, status


def chunks(descriptor: int, start: int = 0, stop: int | None = None, *, size: int = CHUNK) -> Iterator[bytes]:
    """Yield the bytes from ``start`` to ``stop`` (None: the end) without moving the descriptor.

    Blocks have at most ``size`` bytes. A file that ends early ends them, without an error: a caller who needs
    ``stop`` bytes must count.
    """
    size = size or CHUNK
    while stop is None or start < stop:
        wanted = size if stop is None else min(size, stop - start)
        if block := pread(descriptor, wanted, start):
            yield block
        if len(block) < wanted:
            return
        start += wanted


def blocks(source: Iterable[bytes], *takers: Callable[[bytes], object]) -> Iterator[bytes]:
    """Yield bytes to parsers in blocks of at most ``BLOCK``, after calling ``takers`` with them."""
    for chunk in source:
        for take in takers:
            take(chunk)
        for start in range(0, len(chunk), BLOCK):
            yield chunk[start : start + BLOCK]


def stretches(blocks: Iterable[bytes]) -> Iterator[bytes]:
    """Yield lines, many at once; one longer than ``BLOCK`` is cut into several."""
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


def cut(stretch: bytes) -> Iterator[bytes]:
    """Yield the lines of a stretch one by one."""
    *whole, rest = stretch.split(b"\n")
    for line in whole:
        yield line + b"\n"
    if rest:
        yield rest


def lines(blocks: Iterable[bytes]) -> Iterator[bytes]:
    """Yield lines with their line feed; one longer than ``BLOCK`` is cut into several."""
    return chain.from_iterable(map(cut, stretches(blocks)))


def told(source: Iterable[bytes], tell: Callable[[int], object]) -> Iterator[bytes]:
    """Yield blocks of bytes after calling ``tell`` with the size of each."""
    for block in source:
        tell(len(block))
        yield block


class HolesRefused(SourceError):  # noqa: N818 -- the state of the file
    """A file with many bytes that were never written: reading its zeros may take days."""


_OCTETS_OF_BLOCK = 512  # for any block size of the file system


def check_holes(descriptor: int, most: int) -> None:
    """Raise ``HolesRefused`` for a file with more than ``most`` bytes of holes, unread."""
    found = os.fstat(descriptor)
    if found.st_size - _OCTETS_OF_BLOCK * found.st_blocks <= most:
        return
    # What a file system compresses takes few blocks too, and has no holes.
    holes = at = 0
    while at < found.st_size and (hole := os.lseek(descriptor, at, os.SEEK_HOLE)) < found.st_size:
        try:
            at = os.lseek(descriptor, hole, os.SEEK_DATA)
        except OSError as error:
            if error.errno != errno.ENXIO:
                raise
            at = found.st_size  # there is nothing behind the hole
        holes += at - hole
        if holes > most:
            raise HolesRefused(
                f"has {holes:,} bytes of holes, which were never written; expected at most {most:,}",
                hint="If it is to be so, raise the budget: --budget holes=N.",
            )


def check_holes_of(root: Path, segments: Sequence[str], most: int) -> None:
    """Raise ``HolesRefused`` as ``check_holes`` does; objects of stores have no holes."""
    if not mirrors.inside(root):
        with opening(root, segments) as descriptor:
            check_holes(descriptor, most)


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """The digests wanted of a file: algorithms for the whole and for the bytes to a boundary.

    ``boundary`` is in bytes, 0 without one; ``as_text`` requests the length of the text. A file with more
    than ``holes`` bytes that were never written is refused; None accepts any number.
    """

    algorithms: tuple[str, ...]
    boundary: int = 0
    as_text: bool = False
    holes: int | None = None

    @property
    def is_plain(self) -> bool:
        """True if only digests of the whole are wanted."""
        return not self.boundary and not self.as_text


@dataclass(frozen=True, slots=True, kw_only=True)
class Hashed:
    """A file's size, digests of the whole and of the bytes to the boundary, and text length."""

    size: int
    digests: Mapping[str, str]
    until: Mapping[str, str]
    text: TextLength | None


Outcome = Hashed | OSError | MetspackError


class Hashing:
    """The digests, size and text length of a stream of bytes, computed as the bytes come."""

    def __init__(self, asked: Asked) -> None:
        self._asked = asked
        self._hashers = ThreadedHashers(asked.algorithms)
        self._text = TextLength() if asked.as_text else None
        self._until = self._hashers.copy()

    def update(self, block: bytes) -> None:
        """Add the next bytes."""
        before = self._asked.boundary - self._hashers.size
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
        digests, until = (
            {name: each.digest(name).value for name in self._asked.algorithms}
            for each in (self._hashers, self._until)
        )
        return Hashed(size=self._hashers.size, digests=digests, until=until, text=self._text)


def hash_blocks(
    chunks: Iterable[bytes], asked: Asked, progress: Callable[[int], None], whole: Hashing | None = None
) -> Hashed:
    """Read a file's bytes and return their digests and size; raises as ``chunks`` does.

    The bytes are also added to ``whole``, of which the file is a part.
    """
    hashing = Hashing(asked)
    for block in chunks:
        hashing.update(block)
        if whole is not None:
            whole.update(block)
        progress(len(block))
    return hashing.result()


@dataclass(frozen=True, slots=True, kw_only=True)
class FileRun:
    """Files of one folder below a trusted root, all with the same digests wanted.

    ``names`` have a ``/`` between each two.
    """

    root: Path
    folder: tuple[str, ...]
    names: str
    asked: Asked


@dataclass(frozen=True, slots=True, kw_only=True)
class HashedRun:
    """The result of hashing a run, as columns: sizes, and each algorithm's joined digests.

    Files that could not be read, and those with further results, are in ``others`` by their number; blanks
    stand for a missing digest.
    """

    sizes: array[int]
    digests: Mapping[str, str]
    others: Mapping[int, Outcome]

    @classmethod
    def of(cls, outcomes: Sequence[Outcome], algorithms: Sequence[str]) -> Self:
        """Return the columns for the outcomes of single files."""
        return cls(
            sizes=array("q", [each.size if isinstance(each, Hashed) else 0 for each in outcomes]),
            digests={name: "".join(_value(each, name) for each in outcomes) for name in algorithms},
            others=dict(enumerate(outcomes)),
        )

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


def _value(outcome: Outcome, algorithm: str) -> str:
    return outcome.digests[algorithm] if isinstance(outcome, Hashed) else " " * (2 * OCTETS[algorithm])


def hash_runs(runs: Sequence[FileRun], progress: Callable[[int], None]) -> list[HashedRun]:
    """Read the files of runs, each once, and return the result for each run.

    ``progress`` gets the bytes of small files now and then, and at the end of a run.
    """
    buffer = memoryview(bytearray(CHUNK))
    return [_hash_run(run, buffer, progress) for run in runs]


def _hash_run(run: FileRun, buffer: memoryview, progress: Callable[[int], None]) -> HashedRun:
    """Read files that are expected to be small; larger ones, and errors, are read once more."""
    names, algorithms = run.names.split("/"), run.asked.algorithms
    sizes, others = array("q"), dict[int, Outcome]()
    columns = [(name, digest_function(name), list[str]()) for name in algorithms]
    untold = 0
    contents: Iterable[memoryview | None] = repeat(None)
    if run.asked.is_plain:
        contents = small_files(run.root, run.folder, names, repeat(None), buffer)
    for number, (data, name) in enumerate(zip(contents, names, strict=False)):
        if data is not None:
            for _, digest, values in columns:
                values.append(digest(data))
            sizes.append(len(data))
            untold += len(data)
            if untold >= CHUNK:
                progress(untold)
                untold = 0
            continue
        found = others[number] = hash_file(run.root, (*run.folder, name), run.asked, progress)
        for algorithm, _, values in columns:
            values.append(_value(found, algorithm))
        sizes.append(found.size if isinstance(found, Hashed) else 0)
    progress(untold)
    digests = {algorithm: "".join(values) for algorithm, _, values in columns}
    return HashedRun(sizes=sizes, digests=digests, others=others)


def hash_file(
    root: Path,
    segments: Sequence[str],
    asked: Asked,
    progress: Callable[[int], None],
    whole: Hashing | None = None,
) -> Outcome:
    """Read one file and return its digests as ``asked``, or the error that prevents reading."""
    try:
        with streaming(root, segments) as (descriptor, blocks_of):
            if asked.holes is not None and not mirrors.inside(root):
                check_holes(descriptor, asked.holes)
            return hash_blocks(blocks_of(), asked, progress, whole)
    except (OSError, MetspackError) as error:
        return error


PartRun = tuple[Asked, tuple[tuple[Path, tuple[str, ...], Asked], ...]]
"""The digests wanted of a whole, and its parts in order: a trusted root, names below it, and those wanted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HashedParts:
    """The outcomes of the parts, and that of the whole, which is valid if all parts were read."""

    parts: tuple[Outcome, ...]
    whole: Hashed


def hash_parts(run: PartRun, progress: Callable[[int], None]) -> HashedParts:
    """Read the parts of a whole, each once, and return the result for each and for the whole."""
    asked, files = run
    whole = Hashing(asked)
    parts = [hash_file(root, segments, each, progress, whole) for root, segments, each in files]
    return HashedParts(parts=tuple(parts), whole=whole.result())
