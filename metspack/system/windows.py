"""Python's ``os`` on Windows, with POSIX's calls for files below open folders.

A folder is opened as a descriptor, and an entry of it by its name there (NtCreateFile with a root
directory), as by ``openat``: no path is resolved twice, and no name leads through a link. Links are all
reparse points that stand for another name: symbolic links, junctions, mount points. An open folder can be
neither moved nor replaced.
"""

from __future__ import annotations

import ctypes
import errno
import msvcrt
import ntpath
import os
import stat as modes
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from ctypes import wintypes
from functools import partial
from os import DirEntry, PathLike, stat_result
from signal import raise_signal
from types import SimpleNamespace
from typing import Any, Self, TypeVar

from metspack.system import winnames

assert sys.platform == "win32"  # noqa: S101 -- no other platform imports it

O_CLOEXEC, O_NONBLOCK = os.O_NOINHERIT, 0
O_NOFOLLOW, O_DIRECTORY = 1 << 28, 1 << 29
SEEK_DATA, SEEK_HOLE = 3, 4

_MOST = (1 << 63) - 1  # the largest number of SQLite; those of files and disks have a bit more
_SURROGATE = 1 << 29  # the bit in the tags of reparse points that stand for another name
_OCTETS_OF_BLOCK = 512
_ATTEMPTS, _PAUSE = 20, 0.1  # to rename a file that, say, a virus scanner has open for a moment

Path = str | bytes | PathLike[str]


def __getattr__(name: str) -> Any:
    return getattr(os, name)


# --- Names ---


def fsencode(name: Path) -> bytes:
    """Return a name as UTF-8; surrogates of ``fsdecode`` become the original bytes."""
    text = os.fspath(name)
    if isinstance(text, bytes):
        return text
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:  # half a character of UTF-16, which NTFS allows
        return text.encode("utf-8", "surrogatepass")


def fsdecode(name: Path) -> str:
    """Return a name of bytes as text, as on POSIX: bytes that are not UTF-8 become surrogates."""
    text = os.fspath(name)
    return text.decode("utf-8", "surrogateescape") if isinstance(text, bytes) else text


def _check_name(path: Path) -> None:
    """Raise OSError for a new file whose name Windows would change or take for a device."""
    name = ntpath.basename(fsdecode(path))
    if name.lower() != os.devnull and (why := winnames.unholdable(name)):
        raise _refused(errno.EILSEQ, fsdecode(path), f"Windows cannot hold a name that {why}")


def _absolute(path: Path) -> str:
    """Return the absolute path in the form without a limit of 260 characters."""
    text = ntpath.abspath(fsdecode(path))
    if text.startswith(("\\\\?\\", "\\\\.\\")):
        return text
    return f"\\\\?\\UNC\\{text[2:]}" if text.startswith("\\\\") else f"\\\\?\\{text}"


# --- Calls of Windows ---


class _Text(ctypes.Structure):
    _fields_ = (("size", wintypes.USHORT), ("room", wintypes.USHORT), ("text", wintypes.LPWSTR))


class _Attributes(ctypes.Structure):
    _fields_ = (
        ("size", wintypes.ULONG),
        ("folder", wintypes.HANDLE),
        ("name", ctypes.POINTER(_Text)),
        ("flags", wintypes.ULONG),
        ("security", ctypes.c_void_p),
        ("quality", ctypes.c_void_p),
    )


class _Tag(ctypes.Structure):
    _fields_ = (("attributes", wintypes.DWORD), ("tag", wintypes.DWORD))


_ntdll = ctypes.WinDLL("ntdll")
_kernel32 = ctypes.WinDLL("kernel32", use_last_error=True)
_kernel32.DeviceIoControl.argtypes = (
    *(wintypes.HANDLE, wintypes.DWORD, ctypes.c_void_p, wintypes.DWORD, ctypes.c_void_p, wintypes.DWORD),
    *(ctypes.c_void_p, ctypes.c_void_p),
)
_kernel32.CloseHandle.argtypes = (wintypes.HANDLE,)
_kernel32.GetFileInformationByHandleEx.argtypes = (
    wintypes.HANDLE,
    ctypes.c_int,
    ctypes.c_void_p,
    wintypes.DWORD,
)
_kernel32.SetFileInformationByHandle.argtypes = _kernel32.GetFileInformationByHandleEx.argtypes
_kernel32.GetFinalPathNameByHandleW.argtypes = (
    wintypes.HANDLE,
    wintypes.LPWSTR,
    wintypes.DWORD,
    wintypes.DWORD,
)
_ntdll.NtCreateFile.argtypes = (
    *(ctypes.c_void_p, wintypes.DWORD, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p),
    *[wintypes.ULONG] * 4,
    *(ctypes.c_void_p, wintypes.ULONG),
)
_ntdll.NtQueryInformationFile.argtypes = (
    *(wintypes.HANDLE, ctypes.c_void_p, ctypes.c_void_p, wintypes.ULONG, ctypes.c_int),
)
_ntdll.RtlNtStatusToDosError.restype = wintypes.ULONG

_READ, _WRITE, _SYNCHRONIZE, _DELETE = 1 << 31, 1 << 30, 1 << 20, 1 << 16
_APPEND, _LOOK = 0x0004 | 0x0100 | 0x0080, 0x0080  # append data, write and read attributes; read attributes
_SHARED, _KEPT = 7, 3  # the latter without deleting and renaming
_OPEN, _CREATE, _OPEN_IF = 1, 2, 3
_OF_FOLDER, _WAITING, _OF_FILE, _NO_LINK = 0x1, 0x20, 0x40, 0x200000
_BACKUP = 0x4000
_CASE_INSENSITIVE = 0x40
_STATUSES = {
    0xC0000033: errno.ENOENT,  # a name that Windows cannot have
    0xC000003B: errno.ENOENT,
    0xC00000BA: errno.EISDIR,
    0xC0000103: errno.ENOTDIR,
}
_IS_TAG, _IS_REPARSE = 9, 0x400
_INTERNAL = 6  # FileInternalInformation: the number of a file on its volume
_NO_LINKS = {1, 50}  # ERROR_INVALID_FUNCTION, ERROR_NOT_SUPPORTED: file systems without hard links
_ALLOCATED, _MORE = 0x940CF, 234  # FSCTL_QUERY_ALLOCATED_RANGES, ERROR_MORE_DATA: there are further ones
_DISPOSITIONS = (
    (21, wintypes.DWORD(0x13)),
    (4, wintypes.BOOLEAN(1)),
)  # the name goes at once; FAT has the latter
_IN_USE = 32  # ERROR_SHARING_VIOLATION


def _refused(number: int, name: str, words: str = "") -> OSError:
    return OSError(number, words or os.strerror(number), name or None)


def _handle(
    name: str,
    folder: int | None,
    access: int,
    *,
    share: int = _SHARED,
    how: int = _OPEN,
    options: int = _NO_LINK,
) -> int:
    """Return a handle of a file or folder: an NT path, or a name in an open folder. Raises OSError."""
    root = None if folder is None else msvcrt.get_osfhandle(folder)
    size = len(name.encode("utf-16-le", "surrogatepass"))
    text = _Text(size=size, room=size, text=name)
    attributes = _Attributes(
        size=ctypes.sizeof(_Attributes),
        folder=root,
        name=ctypes.pointer(text),
        flags=_CASE_INSENSITIVE,
    )
    found, status = wintypes.HANDLE(), (ctypes.c_void_p * 2)()
    try:
        code = _ntdll.NtCreateFile(
            *(ctypes.byref(found), access | _SYNCHRONIZE, ctypes.byref(attributes), ctypes.byref(status)),
            *(None, 0x80, share, how, options | _WAITING | _BACKUP, None, 0),
        )
    except BaseException:  # an interruption, which comes after the call
        _kernel32.CloseHandle(found)
        raise
    if code < 0:
        code &= 0xFFFFFFFF
        if code in _STATUSES:
            raise _refused(_STATUSES[code], name)
        error = OSError(None, "", name, _ntdll.RtlNtStatusToDosError(code))
        error.strerror = os.strerror(error.errno or errno.EINVAL)  # in English, as elsewhere
        raise error
    return int(found.value or 0)


def _tag(handle: int) -> int:
    """Return the tag of an open reparse point, 0 for other files."""
    found = _Tag()
    _kernel32.GetFileInformationByHandleEx(handle, _IS_TAG, ctypes.byref(found), ctypes.sizeof(found))
    return found.tag if found.attributes & _IS_REPARSE else 0


def _name_in(name: Path, folder: int | None) -> str:
    """Return an NT path, or a name in an open folder; raises OSError if it leads elsewhere."""
    if folder is None:
        return "\\??\\" + _absolute(name)[4:]
    text = fsdecode(name)
    if text in {"", ".", ".."} or winnames.NOT_HELD.search(text):
        raise _refused(errno.ENOENT, text)
    return text


def open(  # noqa: A001 -- as ``os`` has it
    path: Path, flags: int, mode: int = 0o777, *, dir_fd: int | None = None
) -> int:
    """Return a descriptor as on POSIX; ``mode`` has no effect."""
    del mode
    name, is_folder = _name_in(path, dir_fd), bool(flags & O_DIRECTORY)
    access = {os.O_RDONLY: _READ, os.O_WRONLY: _WRITE | _LOOK}.get(flags & 3, _READ | _WRITE)
    if flags & 3 == os.O_WRONLY and flags & os.O_APPEND:
        access = _APPEND  # each write goes to the end, whatever other processes write
    how = _OPEN
    if flags & os.O_CREAT:
        how = _CREATE if flags & os.O_EXCL else _OPEN_IF
        _check_name(path)
    options, share = (_OF_FOLDER, _KEPT) if is_folder else (_OF_FILE, _SHARED)
    no_link = _NO_LINK if flags & O_NOFOLLOW else 0
    handle = _handle(name, dir_fd, access, share=share, how=how, options=options | no_link)
    try:
        if flags & O_NOFOLLOW and (tag := _tag(handle)):
            first, handle = (
                handle,
                _read_through(
                    handle, tag, partial(_handle, name, dir_fd, access, share=share, options=options)
                ),
            )
            _kernel32.CloseHandle(first)
        elif is_folder and no_link:
            # A mount point that was removed since is no reparse point any more.
            _check_is_there(handle, _handle(name, dir_fd, _LOOK, options=options | no_link))
        _check_case(handle, name, dir_fd)
        whole = _path_in(path, dir_fd) if is_folder else ""
        if is_folder and dir_fd is None:
            whole = _path_of(handle) or whole
        descriptor = msvcrt.open_osfhandle(handle, flags & os.O_APPEND | os.O_NOINHERIT)
    except BaseException:
        _kernel32.CloseHandle(handle)
        raise
    if is_folder:
        _folders[descriptor] = whole
    return descriptor


def _read_through(point: int, tag: int, reopen: Callable[[], int]) -> int:
    """Return a handle that reads a reparse point through its filter, as of deduplicated files.

    Raises OSError with ELOOP for a link.
    """
    if tag & _SURROGATE:
        raise _refused(errno.ELOOP, "", "it is a link or a junction")
    handle = reopen()
    try:
        _check_is_one(point, handle)
    except OSError:
        _kernel32.CloseHandle(handle)
        raise
    return handle


def _check_is_there(handle: int, now: int) -> None:
    """Raise OSError unless the handle ``now`` is of the same folder, and close it.

    The number is enough, and queried much faster than the volume, which is that of the folder around it.
    """
    try:
        if _number(handle) != _number(now):
            raise _replaced()
    finally:
        _kernel32.CloseHandle(now)


def _check_is_one(handle: int, other: int) -> None:
    if _identity(handle) != _identity(other):
        raise _replaced()


def _replaced() -> OSError:
    return _refused(errno.ELOOP, "", "it was replaced while it was opened")


def _number(handle: int) -> int:
    found, status = ctypes.c_ulonglong(), (ctypes.c_void_p * 2)()
    if _ntdll.NtQueryInformationFile(handle, status, ctypes.byref(found), 8, _INTERNAL) < 0:
        raise _refused(errno.EIO, "")
    return found.value


def _identity(handle: int) -> bytes:
    found = ctypes.create_string_buffer(24)  # FILE_ID_INFO
    if not _kernel32.GetFileInformationByHandleEx(handle, 18, found, len(found)):
        raise ctypes.WinError(ctypes.get_last_error())
    return found.raw


_lock_files: dict[int, int] = {}
_folders: dict[int, str] = {}  # the paths of open folders, which cannot change meanwhile


def lock_file(descriptor: int) -> int:
    """Return the open file by which a descriptor is locked: for a folder one beside it."""
    if descriptor not in _folders:
        return descriptor
    if descriptor not in _lock_files:
        name = f"{_folders[descriptor]}.lock"
        _lock_files[descriptor] = open(name, os.O_RDWR | os.O_CREAT)
    return _lock_files[descriptor]


def close(descriptor: int) -> None:
    """Close a descriptor; of a locked folder also the file that locks it."""
    _folders.pop(descriptor, None)
    if (beside := _lock_files.pop(descriptor, None)) is not None:
        os.close(beside)
    os.close(descriptor)


def _path_of(handle: int) -> str:
    """Return the path of an open file or folder, or "" where the system lacks it."""
    size = 1 << 9
    while True:
        buffer = ctypes.create_unicode_buffer(size)
        needed = _kernel32.GetFinalPathNameByHandleW(handle, buffer, size, 0)
        if needed < size:
            return buffer.value
        size = needed + 1


def _check_case(handle: int, name: str, folder: int | None) -> None:
    """Raise OSError with ENOENT if the open file's name has other letter case, or is longer."""
    if folder is not None and (path := _path_of(handle)) and not path.endswith(f"\\{name}"):
        raise _refused(errno.ENOENT, name)


# --- FileStatus ---


class FileStatus:
    """The status of a file, with the names of ``os.stat_result``; ``_SURROGATE`` marks links."""

    __slots__ = (
        *(
            "st_blocks",
            "st_dev",
            "st_ino",
            "st_mode",
            "st_mtime",
            "st_mtime_ns",
            "st_nlink",
            "st_size",
            "st_uid",
        ),
    )

    def __init__(self, found: stat_result, tag: int = 0) -> None:
        tag = tag or found.st_reparse_tag
        self.st_mode = found.st_mode
        if tag & _SURROGATE:
            self.st_mode = modes.S_IFLNK | modes.S_IMODE(found.st_mode)
        self.st_dev, self.st_ino = found.st_dev & _MOST, found.st_ino & _MOST
        self.st_mtime, self.st_mtime_ns = found.st_mtime, found.st_mtime_ns
        self.st_nlink, self.st_size, self.st_uid = found.st_nlink, found.st_size, 0
        self.st_blocks = 0 if found.st_file_attributes & 0x200 else -(-found.st_size // _OCTETS_OF_BLOCK)


def fstat(descriptor: int) -> FileStatus:
    """Return the status of an open file."""
    return FileStatus(os.fstat(descriptor))


def stat(path: Path, *, dir_fd: int | None = None, follow_symlinks: bool = True) -> FileStatus:
    """Return the status of a file by its path, or by its name in an open folder."""
    if dir_fd is None:
        return FileStatus(os.stat(_absolute(path), follow_symlinks=follow_symlinks))
    handle = _handle(name := _name_in(path, dir_fd), dir_fd, _LOOK)
    descriptor = msvcrt.open_osfhandle(handle, os.O_RDONLY)
    try:
        _check_case(handle, name, dir_fd)
        return FileStatus(os.fstat(descriptor), _tag(handle))
    finally:
        os.close(descriptor)


def lstat(path: Path) -> FileStatus:
    """Return the status of a file, or of a link itself."""
    return stat(path, follow_symlinks=False)


class FolderEntry:
    """An entry of a folder, with the names of ``os.DirEntry``."""

    __slots__ = ("_entry", "_is_link", "name", "path")

    def __init__(self, entry: DirEntry[str]) -> None:
        self._entry, self.name, self.path = entry, entry.name, entry.path
        found = entry.stat(follow_symlinks=False)  # it came with the name
        self._is_link = bool(found.st_file_attributes & _IS_REPARSE and found.st_reparse_tag & _SURROGATE)

    def __fspath__(self) -> str:
        return self.path

    def is_dir(self, *, follow_symlinks: bool = True) -> bool:
        """Return whether it is a folder."""
        return not (self._is_link and not follow_symlinks) and self._entry.is_dir()

    def is_file(self, *, follow_symlinks: bool = True) -> bool:
        """Return whether it is a file."""
        return not (self._is_link and not follow_symlinks) and self._entry.is_file()

    def is_symlink(self) -> bool:
        """Return whether it is a link of any kind."""
        return self._is_link

    def stat(self, *, follow_symlinks: bool = True) -> FileStatus:
        """Return its status; without following links the one that was listed, which has no number."""
        return FileStatus(self._entry.stat(follow_symlinks=follow_symlinks))


class _Scan:
    """The entries of a folder; a context manager."""

    def __init__(self, path: str) -> None:
        self._found = os.scandir(path)

    def __iter__(self) -> Iterator[FolderEntry]:
        return self

    def __next__(self) -> FolderEntry:
        return FolderEntry(next(self._found))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._found.close()

    def close(self) -> None:
        """End the listing."""
        self._found.close()


def scandir(path: Path | int = ".") -> _Scan:
    """Return the entries of a folder by its path or descriptor."""
    return _Scan(_folders[path] if isinstance(path, int) else _absolute(path))


def listdir(path: Path | int = ".") -> list[str]:
    """Return the names in a folder by its path or descriptor."""
    return os.listdir(_folders[path] if isinstance(path, int) else _absolute(path))


# --- Reading and writing ---

_position = threading.Lock()
Result = TypeVar("Result")


def _at(descriptor: int, start: int, call: Callable[[], Result]) -> Result:
    """Make a call at an offset of a file, and put its position back."""
    with _position:
        before = os.lseek(descriptor, 0, os.SEEK_CUR)
        os.lseek(descriptor, start, os.SEEK_SET)
        try:
            return call()
        finally:
            os.lseek(descriptor, before, os.SEEK_SET)


def pread(descriptor: int, size: int, start: int) -> bytes:
    """Return up to ``size`` bytes from an offset."""
    return _at(descriptor, start, lambda: os.read(descriptor, size))


def pwrite(descriptor: int, data: bytes | memoryview, start: int) -> int:
    """Write bytes at an offset; return how many."""
    return _at(descriptor, start, lambda: os.write(descriptor, data))


def readv(descriptor: int, buffers: Sequence[memoryview]) -> int:
    """Read into a buffer; return how many bytes."""
    data = os.read(descriptor, len(buffers[0]))
    buffers[0][: len(data)] = data
    return len(data)


def lseek(descriptor: int, offset: int, how: int) -> int:
    """Move in a file, also to the next hole or the next data of a sparse one, as Linux does."""
    if how not in {SEEK_DATA, SEEK_HOLE}:
        return os.lseek(descriptor, offset, how)
    size, count = os.fstat(descriptor).st_size, wintypes.DWORD()
    query, found = (ctypes.c_longlong * 2)(offset, size - offset), (ctypes.c_longlong * 2)()
    is_whole = _kernel32.DeviceIoControl(
        *(msvcrt.get_osfhandle(descriptor), _ALLOCATED, query, 16, found, 16, ctypes.byref(count), None)
    )
    if not is_whole and ctypes.get_last_error() != _MORE:
        return size if how == SEEK_HOLE else offset  # a file system without holes
    start, length = found if count.value else (size, 0)
    if how == SEEK_HOLE:
        return min(size, start + length) if start <= offset else offset
    if start >= size:
        raise _refused(errno.ENXIO, "")
    return max(start, offset)


def fsync(descriptor: int) -> None:
    """Put a file on disk; Windows writes entries of folders by itself."""
    if descriptor not in _folders:
        with suppress(PermissionError):  # open for reading: a hard link to what others wrote
            os.fsync(descriptor)


def unlink(path: Path, *, dir_fd: int | None = None) -> None:
    """Remove a file or a link by its path, or by its name in an open folder."""
    try:
        _remove(path, dir_fd, _OF_FILE)
    except IsADirectoryError:
        if not modes.S_ISLNK(stat(path, dir_fd=dir_fd, follow_symlinks=False).st_mode):
            raise
        _remove(path, dir_fd, _OF_FOLDER)  # a junction


def rmdir(path: Path, *, dir_fd: int | None = None) -> None:
    """Remove an empty folder by its path, or by its name in an open one.

    An interruption may have left it open in this process: then it is closed.
    """
    try:
        _remove(path, dir_fd, _OF_FOLDER)
    except PermissionError:
        whole = _path_in(path, dir_fd)
        for descriptor, name in list(_folders.items()):  # other threads may open further ones
            if name == whole:
                close(descriptor)
        _remove(path, dir_fd, _OF_FOLDER)


def _remove(path: Path, folder: int | None, kind: int) -> None:
    """Remove a file, an empty folder, or a link itself."""
    handle = _handle(_name_in(path, folder), folder, _DELETE, options=kind | _NO_LINK)
    try:
        for form, flags in _DISPOSITIONS:
            if _kernel32.SetFileInformationByHandle(handle, form, ctypes.byref(flags), ctypes.sizeof(flags)):
                return
        raise ctypes.WinError(ctypes.get_last_error())
    finally:
        _kernel32.CloseHandle(handle)


def link(
    source: Path,
    target: Path,
    *,
    src_dir_fd: int | None = None,
    dst_dir_fd: int | None = None,
    follow_symlinks: bool = False,
) -> None:
    """Make a hard link; a symbolic link is linked itself."""
    del follow_symlinks
    try:
        os.link(_path_in(source, src_dir_fd), _path_in(target, dst_dir_fd))
    except OSError as error:
        if error.winerror in _NO_LINKS:
            raise _refused(errno.ENOTSUP, fsdecode(target)) from None
        raise


def _path_in(name: Path, folder: int | None) -> str:
    return _absolute(name) if folder is None else f"{_folders[folder]}\\{_name_in(name, folder)}"


def mkdir(path: Path, mode: int = 0o777, *, dir_fd: int | None = None) -> None:
    """Make a folder by its path, or by its name in an open one; ``mode`` changes no access."""
    del mode
    _check_name(path)
    name = _name_in(path, dir_fd)
    _kernel32.CloseHandle(_handle(name, dir_fd, _LOOK, how=_CREATE, options=_OF_FOLDER | _NO_LINK))


def rename(
    source: Path, target: Path, *, src_dir_fd: int | None = None, dst_dir_fd: int | None = None
) -> None:
    """Rename a file or folder to a name that is free."""
    _move(os.rename, _path_in(source, src_dir_fd), _path_in(target, dst_dir_fd))


def replace(
    source: Path, target: Path, *, src_dir_fd: int | None = None, dst_dir_fd: int | None = None
) -> None:
    """Rename a file, in place of one that has the name."""
    _move(os.replace, _path_in(source, src_dir_fd), _path_in(target, dst_dir_fd))


def _move(call: Callable[[str, str], None], source: str, target: str) -> None:
    """Rename, after a moment where another program has it open.

    Raises OSError, with EBUSY and the name of a file that remains open.
    """
    for attempt in range(_ATTEMPTS):
        try:
            call(source, target)
        except PermissionError:
            if attempt == _ATTEMPTS - 1:
                if held := _in_use(source):
                    raise _refused(errno.EBUSY, source, f"another program has {held[4:]} open") from None
                raise
            time.sleep(_PAUSE)
        else:
            return


def _in_use(path: str) -> str | None:
    """Return a file or folder, or one below, that another program has open."""
    try:
        _kernel32.CloseHandle(_handle("\\??\\" + path[4:], None, _DELETE | _READ, share=0))
    except OSError as error:
        return path if getattr(error, "winerror", 0) == _IN_USE else None
    with suppress(OSError), scandir(path) as entries:
        return next((held for each in entries if (held := _in_use(each.path))), None)
    return None


def statvfs(path: Path) -> SimpleNamespace:
    """Return the free space of a file system, with the names of POSIX; it has no count of files."""
    free = ctypes.c_ulonglong()
    if not _kernel32.GetDiskFreeSpaceExW(_absolute(path), ctypes.byref(free), None, None):
        raise ctypes.WinError(ctypes.get_last_error())
    unit = 4096
    return SimpleNamespace(f_frsize=unit, f_bavail=free.value // unit, f_files=0, f_favail=0)


def kill(_process: int, signal: int) -> None:
    """Send a signal to this process."""
    raise_signal(signal)


def getuid() -> int:
    """Return 0: users have no numbers."""
    return 0


def uname() -> SimpleNamespace:
    """Return the system's name and that of the machine."""
    return SimpleNamespace(sysname="Windows", nodename=os.environ.get("COMPUTERNAME", ""), release="")
