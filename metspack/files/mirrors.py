"""Mirrors of stores: their listings as folders and sparse files, filled when they are read.

A ``StorePath`` is ``s3://bucket/key`` in messages, and for the operating system the path of its mirror in a
temporary folder. There each object is a sparse file of its size, whose time of change stands for its etag, so
that code for folders and files works as it does on disk. Opening a file reads its bytes: those of a large
object by ranges (``stores.ranges``), those of a small one into its mirror, which is emptied when many are
full.
"""

from __future__ import annotations

import atexit
import errno
import fnmatch
import re
import stat
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from hashlib import sha256
from itertools import accumulate
from pathlib import Path, PosixPath
from typing import Any

from metspack.errors import ConfigError, SourceError, SourceUnfinishedError, TargetError, check_available
from metspack.files import held, lock, pwrite, release
from metspack.stores import client, ranges
from metspack.stores.client import StoredObject
from metspack.stores.urls import StoreUrl, note_mirrors, shown
from metspack.system import fcntl, os

UNFINISHED = "metspack-unfinished.json"
"""The object that marks a prefix until the rest of the package is there."""

LARGE = 8 << 20
"""The least size in bytes of an object that is read by ranges and never kept as a whole."""

_AT = "METSPACK_MIRROR"
_NAME = re.compile(r"metspack-stores-[0-9]+")
_REFUSALS = {errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOSPC, errno.EDQUOT, errno.EIO}
_FILLED = 256 << 20  # bytes in the mirrors that one process keeps filled, besides the last
_OURS = 0o700  # the mode of a folder
_LISTED = _OURS | stat.S_ISVTX  # the mode of a folder whose listing is complete
_FULL = 0o600  # the mode of a filled file
_WRITE = os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC

EMPTIED = 0o700
"""The mode of a file on disk whose bytes are only in a store."""

_METS = re.compile(r"mets\.xml", re.IGNORECASE)

_locks: list[int] = []
_base: str = os.environ.get(_AT, "")
note_mirrors(_base)


def are_used() -> bool:
    """Return whether this process, or the one that started it, has named a store."""
    return bool(_base)


class StorePath(PosixPath):
    """The path of an object, or of the objects below a prefix; ``os.fspath`` gives its mirror."""

    __slots__ = ()

    def __str__(self) -> str:
        first, *rest = self.parts or ("",)
        return f"{first}//{'/'.join(rest)}"

    def __fspath__(self) -> str:
        place = os.path.join(_ensure_base(), *self.parts)
        prepare(place)
        return place

    def absolute(self) -> StorePath:
        """Return the path itself, which is absolute."""
        return self

    def resolve(self, strict: bool = False) -> StorePath:  # noqa: ARG002 -- as Path has it
        """Return the path itself: a store has no links."""
        return self

    def iterdir(self) -> Iterator[StorePath]:  # type: ignore[override]
        """Yield the paths in the folder."""
        return (self / name for name in os.listdir(self))

    def glob(self, pattern: str, **_named: Any) -> Iterator[StorePath]:  # type: ignore[override]
        """Yield the paths below the folder by a pattern, whose parts may have ``*`` and the like."""
        first, _, rest = pattern.partition("/")
        with suppress(OSError):
            for name in sorted(os.listdir(self)):
                if fnmatch.fnmatchcase(name, first):
                    yield from (self / name).glob(rest) if rest else (self / name,)

    def as_uri(self) -> str:
        """Return the URL."""
        return str(self)


def path_of(given: str | Path) -> StorePath | None:
    """Return the path in a store that a text or a path names, or None for one on disk.

    A ``Path`` has one slash where a URL has two, so that a relative ``s3:/bucket`` means a store, and a
    folder called ``s3:`` needs its absolute path. Raises ``ConfigError``.
    """
    if isinstance(given, StorePath):
        return given
    text = os.fspath(given)
    if re.match(r"[A-Za-z][A-Za-z0-9+.-]+:/", text) is None and not re.fullmatch(r"[a-z][a-z0-9]+:", text):
        return None
    check_available("an object store")
    url = StoreUrl.of(text if ":/" in text else f"{text}//")
    place = os.path.join(_ensure_base(), f"{url.scheme}:", url.bucket)
    with _on_disk():
        os.makedirs(place, _OURS, exist_ok=True)
    return StorePath(f"{url.scheme}:", url.bucket, *filter(None, url.key.split("/")))


def inside(place: str | os.PathLike[str]) -> bool:
    """Return whether a place on disk is in a mirror."""
    return bool(_base) and f"{os.fspath(place)}/".startswith(f"{_base}/")


# --- The folder of all mirrors of this process ---


def _ensure_base() -> str:
    """Return the folder of all mirrors, and make it at the first call."""
    if not _base:
        above = os.environ.get("TMPDIR") or "/tmp"  # noqa: S108 -- only this user can write to the folder made there
        _remove_left(above)
        number = os.getpid()
        while True:
            place = os.path.join(os.path.realpath(above), f"metspack-stores-{number}")
            with suppress(FileExistsError), _on_disk(place):
                os.mkdir(place, _OURS)
                break
            number += 1
        descriptor = os.open(place, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        atexit.register(forget_all)
        _locks.append(descriptor)
        _use(place)
    return _base


@contextmanager
def _on_disk(place: str = "") -> Iterator[None]:
    """Turn a refusal of the disk into a ``TargetError`` that names the folder on disk."""
    try:
        yield
    except OSError as error:
        if error.errno not in _REFUSALS:
            raise
        raise TargetError(
            f"cannot write {place or _base}: {error.strerror}",
            hint="What is read from stores or made for them is kept there. Name another folder that you may "
            "write to and that has room: TMPDIR=DIR.",
        ) from error


def keep(key: str, *, anew: bool) -> None:
    """Use the mirrors kept under ``key`` by an earlier run, or keep this process's under it.

    A resumed run so finds its files with the same inodes. With ``anew`` the mirrors that ``leave`` left are
    removed. While another process uses them, the call has no effect.
    """
    place = os.path.join(os.path.dirname(_base), f"metspack-stores-kept-{key}")
    if not _locks or place == _base:
        return
    if os.path.isdir(place):
        descriptor = os.open(place, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
        if not lock(descriptor) or os.fstat(descriptor).st_uid != os.getuid():
            os.close(descriptor)
            return
        if not anew:
            for scheme in os.listdir(_base):
                for bucket in os.listdir(os.path.join(_base, scheme)):
                    os.makedirs(os.path.join(place, scheme, bucket), _OURS, exist_ok=True)
            _remove(_base)
            os.close(_locks.pop())
            _locks.append(descriptor)
            _use(place)
            return
        _remove(place)
        os.close(descriptor)
    os.rename(_base, place)
    _use(place)


def _use(place: str) -> None:
    global _base  # noqa: PLW0603
    _base = os.environ[_AT] = place
    note_mirrors(place)
    _listed.clear()
    _full.clear()


def leave() -> None:
    """Keep the mirrors on disk, under their key, when the process ends."""
    _left.add(_base)


_left: set[str] = set()


def _remove_left(above: str) -> None:
    """Remove the mirrors that killed processes left."""
    with suppress(OSError):
        for each in os.scandir(above):
            if _NAME.fullmatch(each.name) and each.stat(follow_symlinks=False).st_uid == os.getuid():
                flags = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
                with suppress(OSError), held(os.open(each.path, flags)) as descriptor:
                    fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    _remove(each.path)


def _remove(folder: str) -> None:
    with os.scandir(folder) as entries:
        for each in entries:
            if each.is_dir(follow_symlinks=False):
                _remove(each.path)
            else:
                os.unlink(each.path)
    os.rmdir(folder)


def forget_all() -> None:
    """Forget all stores and remove their mirrors, so that a later call lists the stores again."""
    if _base and _locks:
        # Some file systems refuse the first call and obey the second.
        for _ in range(0 if _base in _left else 2):
            with suppress(OSError):
                _remove(_base)
        _left.discard(_base)
        release(_locks.pop())
    _use("")


# --- Listing ---

_listed: set[str] = set()


@_on_disk()
def prepare(place: str) -> None:
    """List the folder that holds a place in a mirror, and the place itself if it is a folder."""
    names = place[len(_base) + 1 :].split("/")
    at = os.path.join(_base, *names[:2])
    if not names[1:] or not os.path.isdir(at):  # another bucket than those given
        return
    *above, last = names[2:] or [""]
    if last and os.path.dirname(place) not in _listed:
        # Only the folder right above is listed: the top of a bucket may hold millions of objects.
        for name in above:
            at, is_listed = os.path.join(at, name), at in _listed
            if not is_listed:
                _make_folder(at)
            elif not os.path.isdir(at):
                return
        _list(at)
    if os.path.isdir(place):
        _list(place)


@_on_disk()
def relist(folder: StorePath) -> None:
    """Discard the mirror of a folder into which this process wrote, so that it is listed again."""
    place = os.path.join(_base, *folder.parts)
    if not _base or not os.path.isdir(os.path.dirname(place)):
        return  # the folder above was never listed
    with suppress(FileNotFoundError):
        _remove(place)
    _listed.difference_update([each for each in _listed if f"{each}/".startswith(f"{place}/")])
    _make_folder(place)


def _make_folder(place: str) -> None:
    with suppress(FileExistsError):
        os.mkdir(place, _OURS)


def _list(place: str) -> None:
    """List a folder once; of a folder with a METS, a package, everything below it."""
    if place in _listed:
        return
    with held(os.open(place, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)) as descriptor:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        if stat.S_IMODE(os.fstat(descriptor).st_mode) == _LISTED:
            _listed.add(place)
            return
        scheme, bucket = place[len(_base) + 1 :].split("/")[:2]
        root = os.path.join(_base, scheme, bucket)
        prefix = os.path.relpath(place, root) if place != root else ""
        store = client.store(scheme.rstrip(":"), bucket)
        objects, folders = store.level(prefix)
        for each in objects:
            _put(root, each)
        if any(_METS.fullmatch(each.key.rpartition("/")[2]) for each in objects):
            for each in store.below(prefix):
                _put(root, each)
            for at, *_ in os.walk(place, topdown=False):
                os.chmod(at, _LISTED)
                _listed.add(at)
        else:
            for folder in folders:
                _make_folder(os.path.join(root, folder))
        os.fchmod(descriptor, _LISTED)
        _listed.add(place)
        if not objects and not folders and place != root:
            os.rmdir(place)  # a store has no empty folders: this one does not exist


def _put(root: str, found: StoredObject) -> None:
    """Make the mirror of an object, unless it exists."""
    if not found.size and found.key.endswith("/"):
        return  # an object that some programs write for a folder
    place = os.path.join(root, found.key)
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
    try:
        descriptor = os.open(place, flags, EMPTIED)
    except FileNotFoundError:
        _make_folders(os.path.dirname(place))
        descriptor = os.open(place, flags, EMPTIED)
    except FileExistsError:
        return
    except NotADirectoryError:
        raise SourceError(
            f"{shown(place)}: another object is where a folder for its key would be",
            hint="Rename one of the two objects.",
        ) from None
    with held(descriptor):
        os.ftruncate(descriptor, found.size)
        os.utime(descriptor, ns=(found.modified, found.modified))


def _make_folders(place: str) -> None:
    try:
        os.makedirs(place, _OURS, exist_ok=True)
    except (FileExistsError, NotADirectoryError):
        raise SourceError(
            f"{shown(place)} is both an object and the folder of others",
            hint="Rename one of the two.",
        ) from None


# --- Reading ---


def object_at(descriptor: int, place: str) -> tuple[client.ObStore, StoredObject]:
    """Return the store and the object of an open mirror."""
    found = os.fstat(descriptor)
    scheme, bucket, key = place[len(_base) + 1 :].split("/", 2)
    stored = StoredObject(key=key, size=found.st_size, modified=found.st_mtime_ns)
    return client.store(scheme.rstrip(":"), bucket), stored


def place_of(root: Path, segments: Sequence[str] = ()) -> str:
    """Return the place in a mirror of names below a root, or "" for a root on disk.

    The folders on the way are listed first. Raises ``StoreError``.
    """
    above = os.fspath(root)
    place = os.path.join(above, *segments)
    if not inside(place):
        return ""
    with _on_disk():
        for at in accumulate((above, *segments), os.path.join) if segments else ():
            if at not in _listed and not os.path.isdir(at):
                break
            _list(at)
    return place


_full: deque[tuple[str, int]] = deque()


def fill(descriptor: int, place: str) -> None:
    """Fill an open mirror with its object's bytes, until the descriptor is closed.

    Raises ``StoreError``.
    """
    while True:
        fcntl.flock(descriptor, fcntl.LOCK_SH)
        found = os.fstat(descriptor)
        if not found.st_size or stat.S_IMODE(found.st_mode) == _FULL:
            return
        fcntl.flock(descriptor, fcntl.LOCK_UN)
        _fill(place)


@_on_disk()
def _fill(place: str) -> None:
    with held(os.open(place, _WRITE)) as writer:
        fcntl.flock(writer, fcntl.LOCK_EX)
        if stat.S_IMODE(os.fstat(writer).st_mode) == _FULL:
            return
        store, found = object_at(writer, place)
        starts = range(0, found.size, LARGE)
        blocks = ranges.in_flight(lambda start: store.read(found, start, start + LARGE), starts)
        for start, block in zip(starts, blocks, strict=True):
            pwrite(writer, block, start)
        os.utime(writer, ns=(found.modified, found.modified))
        os.fchmod(writer, _FULL)
        _full.append((place, found.size))
    _empty_some()


def _empty_some() -> None:
    """Empty mirrors, those filled first before others, while too many bytes are in them.

    A mirror that is being read stays full.
    """
    total = sum(size for _, size in _full)
    for _ in range(len(_full) - 1):
        if total <= _FILLED:
            return
        place, size = _full.popleft()
        if _try_to_empty(place):
            total -= size
        else:
            _full.append((place, size))


def _try_to_empty(place: str) -> bool:
    with suppress(FileNotFoundError), held(os.open(place, _WRITE)) as writer:
        if not lock(writer):
            return False
        found = os.fstat(writer)
        _free(writer, found.st_size, found.st_mtime_ns)
    return True


def empty(path: Path, size: int, modified: int) -> None:
    """Free the bytes of a file that a store has, and set its size and time of change.

    The mode is set first, so that another run recognises and repairs the file if this process is killed.
    """
    with held(os.open(path, _WRITE)) as descriptor:
        _free(descriptor, size, modified)


def _free(descriptor: int, size: int, modified: int) -> None:
    os.fchmod(descriptor, EMPTIED)
    os.ftruncate(descriptor, 0)
    os.ftruncate(descriptor, size)
    os.utime(descriptor, ns=(modified, modified))


def make_working_folder(url: str) -> str:
    """Make and return the folder on disk in which this user's package for a URL is made.

    Raises ``TargetError`` for an existing folder to which others can write.
    """
    above = os.environ.get("TMPDIR") or "/tmp"  # noqa: S108 -- its owner and mode are checked below
    place = os.path.join(os.path.realpath(above), f"metspack-build-{sha256(url.encode()).hexdigest()[:16]}")
    with _on_disk(place), suppress(FileExistsError):
        os.mkdir(place, _OURS)
    found = os.lstat(place)
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid() or found.st_mode & 0o022:
        raise TargetError(
            f"{place}, where the package for {url} is made, is not a folder that only you can write to",
            hint="Name a folder that only you can write to: TMPDIR=DIR.",
        )
    return place


def small_contents(
    folder: str, names: Iterable[tuple[str, tuple[int, int, int, int] | None]], most: int
) -> Iterator[bytes | None]:
    """Yield the bytes of small objects in one folder of a mirror, by many requests at once.

    ``names`` come with the stamps that the files must have, or None for any. None stands for a missing file,
    one with another stamp, and one of ``most`` bytes or more.
    """

    def read(task: tuple[str, tuple[int, int, int, int] | None]) -> bytes | None:
        name, stamp = task
        place = os.path.join(folder, name)
        try:
            descriptor = os.open(place, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
        except OSError:
            return None
        with held(descriptor):
            found = os.fstat(descriptor)
            status = found.st_size, found.st_mtime_ns, found.st_ino, found.st_dev
            if not stat.S_ISREG(found.st_mode) or found.st_size >= most or (stamp and status != stamp):
                return None
            store, there = object_at(descriptor, place)
            return store.read(there, 0, there.size)

    return ranges.in_flight(read, names)


def check_finished(path: Path) -> None:
    """Raise ``SourceUnfinishedError`` for a prefix in a store whose build has yet to end."""
    if isinstance(path, StorePath) and os.path.lexists(path / UNFINISHED):
        raise SourceUnfinishedError(
            f"{path} is not finished: the build that makes it was stopped, or is still at work",
            hint="Run the same command again: it resumes the build, after which this is a package.",
        )


def check_no_store(address: str | None, paths: Iterable[object]) -> None:
    """Raise ``ConfigError`` for a cluster together with a path in a store."""
    remote = next((each for each in paths if isinstance(each, StorePath)), None)
    if address is not None and remote is not None:
        raise ConfigError(
            f"--cluster cannot be combined with {remote}",
            hint="Workers share folders with this machine; a store is read and written by one machine.",
        )
