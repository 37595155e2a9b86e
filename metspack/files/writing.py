"""Write to the file system: new files and folders, renames, hard links, locks, fsync, logs.

No other module writes to the file system. ``files.staging`` makes a package beside its target,
``files.transaction`` adds files to an existing folder.
"""

from __future__ import annotations

import errno
import hashlib
import json
import stat
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from contextvars import ContextVar
from functools import cache
from itertools import islice
from pathlib import Path

from metspack.errors import TargetError, hint_of
from metspack.files import held, journal, lock, pwrite, release, threads, write
from metspack.files.reading import Closable, chunks, opened_folder
from metspack.system import LACKING, fcntl, os, syncfs, unholdable

_CREATE = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW
_KEEP = os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
_APPEND = _KEEP | os.O_APPEND
_PATIENCE = 10.0  # seconds to wait until others unlock a folder
_LOG = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | os.O_NONBLOCK  # a pipe may have no reader
_BUFFER = 1 << 18
_ENTRIES = 1_000
_syncfs = cache(syncfs)

ground: ContextVar[Path | None] = ContextVar("ground", default=None)
"""A folder that ``make_directories`` refuses to make, so that it stays removed once it is."""


@contextmanager
def explained(path: Path) -> Iterator[None]:
    """Turn an OSError about writing ``path`` into a ``TargetError`` with a hint."""
    try:
        yield
    except OSError as error:
        raise TargetError(f"cannot write {path}: {error.strerror or error}", hint=hint_of(error)) from error


def check_folder(target: Path) -> None:
    """Raise ``TargetError`` when the folder above a target does not exist."""
    folder = Path(os.path.abspath(target)).parent
    with explained(target):
        if not folder.is_dir():
            raise TargetError(
                f"{folder} is not a folder, so {target.name} cannot be created in it",
                hint="Create the folder first.",
            )


def check_names(paths: Iterable[str]) -> None:
    """Raise ``TargetError`` if this system cannot have files of all these paths in one folder."""
    if "any name" not in LACKING:
        return
    seen = dict[int, str]()  # by the hash of the case-folded path
    for path in paths:
        why = next((f"a name that {why}" for each in path.split("/") if (why := unholdable(each))), "")
        if not why and (other := seen.setdefault(hash(path.casefold()), path)) != path:
            why = f"both this and {other}"
        if why:
            raise TargetError(
                f"{path}: Windows cannot hold {why}; nothing was written",
                hint=hint_of(OSError(errno.EILSEQ, "")),
            )


def _opened_folder(path: Path) -> int:
    """Return a descriptor of a folder; no link is followed from a ``.partial`` on. Raises OSError."""
    names = path.parts
    first = next((number for number, each in enumerate(names) if each.endswith(".partial")), len(names))
    return opened_folder(Path(*names[:first]), names[first:])


def _beside(path: Path) -> AbstractContextManager[int]:
    """Give a descriptor of the folder that a path is in, for the length of a block."""
    return held(_opened_folder(path.parent))


_NO_LINKS = {errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.EMLINK, errno.ENOSYS}
_NOT_LINKABLE = {*_NO_LINKS, errno.EXDEV, errno.EACCES}
_NOT_LINKED = (
    "Only files of the target's own file system and mount can be linked, and only by their owner or who may "
    "write to them: leave --link-mode hardlink out, and LOBs are copied."
)


class _Descriptor(Closable):
    """A base of objects with an open descriptor; a context manager."""

    descriptor: int

    def close(self) -> None:
        """Close the descriptor; a second call has no effect."""
        # By a second call, the number may be another file's.
        descriptor, self.descriptor = self.descriptor, -1
        release(descriptor)


class NewFile(_Descriptor):
    """A new file, written once from start to end; closing it puts it on disk.

    Raises ``TargetError`` when it exists or cannot be written. Leaving the block by an exception removes it.
    With ``is_synced`` False ``SyncedTogether.sync`` has to put it on disk. With ``is_new`` False the file
    exists: ``reopen_file`` appends to it, or it is the new file of another process, where ``skip`` left room.
    """

    def __init__(self, path: Path, *, is_synced: bool = True, is_new: bool = True) -> None:
        self.path = path
        self.size = 0
        self._is_synced = is_synced
        self._buffer: list[bytes] = []
        self._held = 0
        with explained(path), _beside(path) as folder:
            self.descriptor = os.open(path.name, _CREATE if is_new else _KEEP, 0o644, dir_fd=folder)

    def write(self, block: bytes) -> None:
        """Append bytes."""
        self.size += len(block)
        self._buffer.append(block)
        self._held += len(block)
        if self._held >= _BUFFER:
            self.flush()

    def write_all(self, blocks: Iterable[bytes], size: int) -> None:
        """Append blocks of ``size`` bytes in all; those of a large file in a thread."""
        with threads.BlockThread(self.write) if size >= threads.LARGE else nullcontext() as thread:
            put = self.write if thread is None else thread.put
            for block in blocks:
                put(block)

    def flush(self) -> None:
        """Pass all appended bytes to the operating system."""
        if not self._buffer:
            return
        held = b"".join(self._buffer)
        self._buffer.clear()
        self._held = 0
        with explained(self.path):
            write(self.descriptor, held)

    def sync(self) -> None:
        """Put all appended bytes on disk."""
        self.flush()
        with explained(self.path):
            os.fsync(self.descriptor)

    def skip(self, size: int) -> None:
        """Leave room for ``size`` bytes, which another process writes by ``patch``."""
        self.flush()
        self.size += size
        with explained(self.path):
            os.lseek(self.descriptor, self.size, os.SEEK_SET)

    def patch(self, offset: int, block: bytes) -> None:
        """Overwrite appended bytes from ``offset`` on; the file does not grow."""
        self.flush()
        with explained(self.path):
            pwrite(self.descriptor, block, offset)

    def read_back(self, start: int, stop: int) -> Iterator[bytes]:
        """Yield the appended bytes from ``start`` to ``stop``, read from the file."""
        self.flush()
        for block in chunks(self.descriptor, start, stop, size=_BUFFER):
            yield block
            start += len(block)
        if start < stop:
            raise TargetError(f"cannot read back {self.path}: it ends at byte {start:,}")

    def close(self) -> None:
        """Flush, fsync unless others do, and close."""
        try:
            self.flush()
            if self._is_synced:
                self.sync()
        finally:
            self.discard()

    def discard(self) -> None:
        """Close without a flush a file that will be removed; a second call has no effect."""
        super().close()

    def __exit__(self, *error: object) -> None:
        is_whole = False
        try:
            if error[0] is None:
                self.close()
                is_whole = True
        finally:
            self.discard()
            if not is_whole:  # the error that ended the block is the one to report
                with suppress(OSError), _beside(self.path) as folder:
                    os.unlink(self.path.name, dir_fd=folder)


def reopen_file(path: Path, size: int, *, is_new: bool) -> NewFile:
    """Cut the file at ``path`` to its first ``size`` bytes, and open it to append to them.

    With 0 bytes it is a new file, in place of one that exists unless ``is_new``. Raises ``TargetError``.
    """
    if not size:
        if not is_new:
            remove(path)
        return NewFile(path)
    with explained(path), _beside(path) as folder, held(os.open(path.name, _KEEP, dir_fd=folder)) as before:
        if (found := os.fstat(before).st_size) < size:
            raise OSError(errno.EIO, f"ends at byte {found:,}; expected {size:,}")
        os.ftruncate(before, size)
    file = NewFile(path, is_new=False)
    file.skip(size)
    return file


class OpenFolder(_Descriptor):
    """A folder into which many small files are written, each by one call; a context manager.

    ``is_synced`` is as in ``NewFile``. Raises ``TargetError`` when it cannot be opened.
    """

    def __init__(self, path: Path, *, is_synced: bool = True) -> None:
        self.path = path
        self._is_synced = is_synced
        with explained(path):
            self.descriptor = _opened_folder(path)

    def write(self, name: str, data: bytes | memoryview) -> None:
        """Write a new file; raises ``TargetError``, also when it exists."""
        try:
            descriptor = os.open(name, _CREATE, 0o644, dir_fd=self.descriptor)
            try:
                write(descriptor, data)
                if self._is_synced:
                    os.fsync(descriptor)
            except BaseException:
                with suppress(OSError):  # the first error is the one to report
                    os.unlink(name, dir_fd=self.descriptor)
                raise
            finally:
                release(descriptor)
        except OSError as error:
            with explained(self.path / name):
                raise error from None

    def link(self, name: str, folder: int, file: str) -> bool:
        """Make ``name`` a hard link to ``file`` in another open folder.

        A symbolic link is linked, not its target. Return False if there is no ``file``. Raises
        ``TargetError`` when it cannot be linked.
        """
        try:
            os.link(file, name, src_dir_fd=folder, dst_dir_fd=self.descriptor, follow_symlinks=False)
        except FileNotFoundError:
            return False
        except OSError as error:
            raise TargetError(
                f"cannot make {self.path / name} a hard link: {error.strerror or error}",
                hint=_NOT_LINKED if error.errno in _NOT_LINKABLE else hint_of(error),
            ) from error
        return True

    def take_back(self, name: str) -> None:
        """Remove a name that this run made, if it still exists."""
        with explained(self.path / name), suppress(FileNotFoundError):
            os.unlink(name, dir_fd=self.descriptor)


def make_directory(path: Path) -> None:
    """Make a directory that must not exist; raises ``TargetError``."""
    with explained(path), _beside(path) as folder:
        os.mkdir(path.name, 0o755, dir_fd=folder)


def make_directories(path: Path) -> None:
    """Make a directory and those above it that are missing; raises ``TargetError``."""
    with explained(path):
        if path == ground.get():
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT))
        if not path.parent.is_dir():
            make_directories(path.parent)
        try:
            with _beside(path) as folder:
                os.mkdir(path.name or os.curdir, 0o755, dir_fd=folder)
        except FileExistsError:
            if not path.is_dir():
                raise


def sync_directory(path: Path) -> None:
    """Put a directory's entries on disk."""
    with explained(path), held(_opened_folder(path)) as descriptor:
        os.fsync(descriptor)


def sync_tree(path: Path) -> None:
    """Put the entries of a directory and all below it on disk. Raises ``TargetError``."""
    with SyncedTogether(path) as disk:
        disk.sync(path)


def _sync_directories(path: Path) -> None:
    """Put the entries of a directory and all below it on disk, the deepest first. Raises OSError."""
    with os.scandir(path) as found:
        below = [Path(each) for each in found if each.is_dir(follow_symlinks=False)]
    for each in below:
        _sync_directories(each)
    sync_directory(path)


def remove(path: Path) -> None:
    """Remove a file, or a directory with all in it, if it exists; raises ``TargetError``.

    Only what metspack made is removed.
    """
    try:
        try:
            _remove_at(path)
        except OSError:  # some file systems refuse the first call and obey the second
            _remove_at(path)
    except OSError as error:
        raise TargetError(
            f"cannot remove {error.filename or path}: {error.strerror or error}",
            hint=f"Nothing more is needed of {path}: remove it yourself.",
        ) from error


def remove_empty(folder: Path) -> None:
    """Remove a directory if it is empty; ignore errors."""
    with suppress(OSError):
        os.rmdir(folder)


def _remove_at(path: Path) -> None:
    if os.path.lexists(path):
        with _beside(path) as folder:
            _remove(folder, path.name)


def _remove(folder: int, name: str) -> None:
    """Remove an entry of an open folder, with all in it; of a link only the link."""
    if not stat.S_ISDIR(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode):
        os.unlink(name, dir_fd=folder)
        return
    with held(os.open(name, _FOLDER | os.O_NOFOLLOW, dir_fd=folder)) as below:
        before: list[str] = []
        while (some := _some_entries(below)) and some != before:  # an open file may keep its name
            for each in some:
                _remove(below, each)
            before = some
    os.rmdir(name, dir_fd=folder)


def _some_entries(folder: int) -> list[str]:
    # Entries are removed only between two readings: else some file systems leave names out.
    with os.scandir(folder) as found:
        return [each.name for each in islice(found, _ENTRIES)]


class SyncedTogether(_Descriptor):
    """The file system of a folder, to put its new files on disk by one call; a context manager.

    ``is_possible``: the system has the call, and it reports all errors since this object was made. Raises
    ``TargetError``.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.is_possible = _syncfs() is not None
        with explained(path):
            self.descriptor = os.open(path, _FOLDER)

    def sync(self, *folders: Path) -> None:
        """Put all new files on disk; unless ``is_possible``, only the entries below ``folders``.

        In the second case each file's content is on disk already, since the file was closed.
        """
        with explained(self.path):
            if (sync := _syncfs()) is None:
                for folder in folders:
                    _sync_directories(folder)
            elif sync(self.descriptor):
                import ctypes  # noqa: PLC0415 -- as above

                raise OSError(number := ctypes.get_errno(), os.strerror(number))


def wait_for_others(folder: Path) -> bool:
    """Wait until no process has a folder locked; return False after ``_PATIENCE`` seconds."""
    with explained(folder), held(os.open(folder, _FOLDER)) as descriptor:
        ending = time.monotonic() + _PATIENCE
        while not lock(descriptor):
            if time.monotonic() > ending:
                return False
            time.sleep(0.02)
    return True


def put(staged: Path, target: Path) -> None:
    """Put a finished file at a vacant path of the same file system; raises ``TargetError``.

    The file appears there whole or not at all. It may keep its staged name as a second one.
    """
    with explained(target), _beside(staged) as source, _beside(target) as folder:
        try:  # unlike a rename, a link never replaces a file
            names = (staged.name, target.name)
            os.link(*names, src_dir_fd=source, dst_dir_fd=folder, follow_symlinks=False)
        except OSError as error:
            if error.errno not in _NO_LINKS:
                raise
            move(staged, target)
        else:
            sync_directory(target.parent)


def move(source: Path, target: Path, *, replaces: bool = False, is_synced: bool = True) -> None:
    """Rename a finished file or folder to a vacant path, and put that on disk.

    Both are on one file system. With ``replaces`` a file there is replaced in one step. Raises
    ``TargetError``.
    """
    with explained(target):
        if not replaces and os.path.lexists(target):
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST))
        rename = os.replace if replaces else os.rename
        with _beside(source) as above, _beside(target) as folder:
            rename(source.name, target.name, src_dir_fd=above, dst_dir_fd=folder)
    if is_synced:
        sync_directory(target.parent)


def take_away(path: Path) -> None:
    """Remove a file that metspack put there; raises ``TargetError``, also when it is gone."""
    with explained(path), _beside(path) as folder:
        os.unlink(path.name, dir_fd=folder)
    sync_directory(path.parent)


def sync_file(descriptor: int) -> None:
    """Put the content of an open file on disk, including what another process wrote."""
    os.fsync(descriptor)


@contextmanager
def open_whole(target: Path, *, replaces: bool = False) -> Iterator[NewFile]:
    """Give a new file that appears at ``target``, whole and on disk, when the block ends.

    Until then the file has another name beside ``target``; it is removed if the block raises. An existing
    ``target`` is replaced only with ``replaces``. Raises ``TargetError``.
    """
    name = hashlib.sha256(os.fsencode(target.name)).hexdigest()[:16]
    staged = target.with_name(f".{name}.{os.getpid()}.partial")
    try:
        with NewFile(staged) as file:
            yield file
        move(staged, target, replaces=True) if replaces else put(staged, target)
    except TargetError as error:  # people know the name of the target only
        raise TargetError(error.message.replace(str(staged), str(target)), hint=error.hint) from error
    finally:
        remove(staged)


class RunJournal(_Descriptor):
    """The journal of a run, new or of an earlier run, locked while it is open.

    It is a file of JSON lines with checksums. ``is_held``: another run has it locked, and this process may
    only read it. Raises ``TargetError``.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        with explained(path):
            self.descriptor = os.open(path, _APPEND | os.O_CREAT | os.O_NONBLOCK, 0o644)
        try:
            self.is_held = not lock(self.descriptor)
        except BaseException:
            self.close()  # else it would be locked as long as the error is there
            raise

    def is_there(self) -> bool:
        """Return whether the file still has its name."""
        with explained(self._path), suppress(FileNotFoundError):
            return os.path.samestat(os.lstat(self._path), os.fstat(self.descriptor))
        return False

    def cut(self, size: int) -> None:
        """Cut the file to ``size`` bytes, on disk when this returns."""
        with explained(self._path):
            os.ftruncate(self.descriptor, size)
            os.fsync(self.descriptor)

    def record(self, **event: object) -> None:
        """Append one event, on disk when this returns."""
        self.record_all([event])

    def record_all(self, events: Iterable[Mapping[str, object]]) -> None:
        """Append several events, on disk when this returns."""
        _append_whole(self.descriptor, self._path, "\n".join(map(journal.sealed, events)))


def record_event(path: Path, event: Mapping[str, object]) -> None:
    """Append an event to the journal of this process's run, on disk when this returns."""
    with explained(path), held(os.open(path, _APPEND)) as descriptor:
        _append_whole(descriptor, path, journal.sealed(event))


class Log(_Descriptor):
    """A log file, new or existing, to which several runs may append lines.

    Raises ``TargetError`` when it cannot be written.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        with explained(path):
            self.descriptor = os.open(path, _LOG, 0o644)

    def record(self, **event: object) -> None:
        """Append one event as a line of JSON, its values in the given order."""
        with explained(self._path):
            write(self.descriptor, f"{json.dumps(event)}\n".encode())  # by one call, as others append too


def _append_whole(descriptor: int, path: Path, text: str) -> None:
    """Append text whole or not at all, while other processes append too, and put it on disk."""
    with explained(path):
        try:
            with suppress(OSError):  # a file system without locks
                fcntl.lockf(descriptor, fcntl.LOCK_EX)
            size = os.fstat(descriptor).st_size
            try:
                write(descriptor, f"{text}\n".encode())
            except BaseException:
                os.ftruncate(descriptor, size)
                raise
        finally:
            with suppress(OSError):
                fcntl.lockf(descriptor, fcntl.LOCK_UN)
        os.fsync(descriptor)
