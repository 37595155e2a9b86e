"""Errors: a command that cannot be carried out (a fault of a package is a ``Finding``)."""

from __future__ import annotations

import copyreg
import errno
from collections.abc import Sequence
from typing import Any, ClassVar

from metspack.system import LACKING


class MetspackError(Exception):
    """A command cannot be carried out; ``hint`` is the remedy.

    ``details`` are the single faults that the message sums up, each to be shown on a separate line. ``id``
    identifies the kind of error for programs.
    """

    id: ClassVar[str] = "error"

    def __init__(self, message: str, *, hint: str = "", details: Sequence[str] = ()) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.details: Sequence[str] = tuple(details)

    def __reduce__(self) -> tuple[Any, ...]:
        # Exceptions cross process boundaries; the default calls the class without the keywords.
        return copyreg.__newobj__, (type(self), self.message), vars(self)  # type: ignore[attr-defined]


class SourceError(MetspackError):
    """The source cannot be read, or contradicts itself."""

    id = "source"


class SourceNotFoundError(SourceError):
    """The path of the source does not exist."""

    id = "source-not-found"


class SourceUnfinishedError(SourceNotFoundError):
    """The source is still missing: the run that makes it was stopped, and can be resumed."""

    id = "source-unfinished"


class LobNotFoundError(SourceError):
    """The package has no LOB of this id."""

    id = "lob-not-found"


class PlanError(MetspackError):
    """The LOBs cannot be divided within the limits, or a plan no longer fits its source."""

    id = "plan"


class TargetError(MetspackError):
    """The target cannot be written: it exists already, or space or permission is missing."""

    id = "target"


class OptionsRefutedError(TargetError):
    """The finished package breaks a requirement that options decide; other options mend it."""


class TargetExistsError(TargetError):
    """The path of the target exists already, and is not overwritten."""

    id = "target-exists"


class TargetUnfinishedError(TargetExistsError):
    """A stopped run left its work beside the target, and the same command resumes it."""

    id = "target-unfinished"


class StoreError(MetspackError):
    """A store fails a request: it refuses, cannot be reached, or answers wrongly."""

    id = "store"


class ConfigError(MetspackError):
    """An option or setting has an invalid value."""

    id = "usage"


class Interrupted(BaseException):
    """Ctrl-C or a request to end; a handler may delay it, but must raise it again.

    ``signal`` is its number; ``kept`` states the work kept for resuming, or is "", and ``hint`` how.
    """

    def __init__(self, signal: int = 2) -> None:
        super().__init__(signal)
        self.signal = signal
        self.kept = ""
        self.hint = ""


_FULL = (
    "The disk or quota is full, or the file system cannot hold a file this large. "
    "Free space or choose another target."
)
_REFUSED = "Choose a target in a folder you may write to."
_FAILING = (
    "The disk or the connection to it may be failing: see the system's log. "
    "Work on another disk, or run the same command again."
)
_TOO_MANY = "Too many files are open: close other programs, or raise the limit (ulimit -n)."
_HINTS = {
    errno.EMFILE: _TOO_MANY,
    errno.ENFILE: _TOO_MANY,
    errno.ENOSPC: _FULL,
    errno.EDQUOT: _FULL,
    errno.EFBIG: _FULL,
    errno.EEXIST: "Nothing is overwritten: choose another name, or move that file away.",
    errno.EPIPE: "The program that read it has ended: start it again, or name a file.",
    errno.ENXIO: "No program reads that pipe: start one first, or name a file.",
    errno.ENOENT: "Create the folder first.",
    errno.EXDEV: "It lies on another file system than the folder above it: work where all of it is on one.",
    errno.ENAMETOOLONG: "The file system does not take names this long: choose a shorter one.",
    errno.EACCES: _REFUSED,
    errno.EPERM: _REFUSED,
    errno.EROFS: _REFUSED,
    errno.EBUSY: "Close it there, and run the same command again.",
    errno.EILSEQ: "Pack the IPs (--pack zip), give another --name, or work on Linux or in WSL.",
}


def check_available(what: str) -> None:
    """Raise ``ConfigError`` for a feature that this system lacks."""
    if what in LACKING:
        raise ConfigError(
            f"{what} cannot be used by metspack on Windows",
            hint="Use it in WSL or in a container, or leave it out.",
        )


def hint_of(error: OSError) -> str:
    """Return the remedy for an error of the system."""
    return _HINTS.get(error.errno or 0, _FAILING)


_OF_SQLITE, _SQL_ERROR = frozenset({"OperationalError", "DatabaseError"}), 1  # SQLITE_ERROR: wrong SQL


def of_system(error: Exception, path: object = None) -> TargetError | None:
    """Return the ``TargetError`` for an error of the system, or None for a fault of metspack.

    ``path`` is the file or folder in use, for an error that names no file.
    """
    if isinstance(error, OSError) and error.errno not in {errno.EBADF, errno.EFAULT, errno.EINVAL, None}:
        where = path if isinstance(error.filename, int) else error.filename or path  # an int is a descriptor
        return TargetError(
            f"cannot read or write {where or 'a file'}: {error.strerror or error}", hint=hint_of(error)
        )
    # Recognised by name, since SQLite need not have been loaded.
    is_sqlite = type(error).__module__ == "sqlite3" and type(error).__name__ in _OF_SQLITE
    if is_sqlite and getattr(error, "sqlite_errorcode", None) != _SQL_ERROR:
        return TargetError(
            f"a temporary database failed: {error}{f' (working on {path})' if path else ''}",
            hint="It lies in the temporary directory; SQLITE_TMPDIR names another with more room.",
        )
    return None
