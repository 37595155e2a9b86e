"""A temporary database on disk: what sorts and remembers more than memory should hold."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager

from metspack.errors import TargetError

_SETTINGS = (
    "PRAGMA journal_mode = OFF",
    "PRAGMA synchronous = OFF",
    "PRAGMA temp_store = FILE",
    "PRAGMA locking_mode = EXCLUSIVE",
    "PRAGMA cache_size = -1024",
)


def opened() -> sqlite3.Connection:
    """Return a new, empty database that vanishes when it is closed; for one thread.

    It takes about a megabyte of memory whatever it holds. Transactions are begun and ended by hand.
    """
    database = sqlite3.connect("", isolation_level=None)  # no name: private, on disk, in SQLite's own folder
    for setting in _SETTINGS:
        database.execute(setting)
    return database


@contextmanager
def explained(what: str) -> Iterator[None]:
    """Turn an error of SQLite about keeping ``what`` into a ``TargetError`` that says what to do."""
    try:
        yield
    except sqlite3.OperationalError as error:
        raise TargetError(
            f"cannot keep {what} on disk: {error}",
            hint="Free space for temporary files, or name another folder in SQLITE_TMPDIR.",
        ) from error


@contextmanager
def unexplained() -> Iterator[None]:
    """Turn an error of SQLite that nothing nearer has explained into a ``TargetError``."""
    try:
        yield
    except sqlite3.OperationalError as error:
        raise TargetError(
            f"a temporary database failed: {error}",
            hint="It lies in the temporary directory; SQLITE_TMPDIR names another with more room.",
        ) from error
