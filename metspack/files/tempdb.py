"""Temporary databases on disk, for data of any size in little memory."""

from __future__ import annotations

import functools
import sqlite3
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from itertools import chain, repeat, takewhile
from pathlib import Path
from typing import Any

from metspack.errors import TargetError, of_system
from metspack.files.reading import Closable

_SETTINGS = (
    "PRAGMA journal_mode = OFF",
    "PRAGMA synchronous = OFF",
    "PRAGMA temp_store = FILE",
    "PRAGMA locking_mode = EXCLUSIVE",
)
_Value = str | bytes | int | float | None
_CACHE = 1024
_AT_ONCE = (250, 50, 10, 3, 1)  # rows in one statement
_MADE: set[str] = set()
"""The schemas used before: only a further database with one of them needs a template in memory."""
_STOPS: list[BaseException] = []
"""Interruptions in functions of SQL, which SQLite replaces by an OperationalError."""


class _Stops(AbstractContextManager["_Stops"]):
    """A context manager that raises the interruption in place of SQLite's error."""

    def __exit__(self, _kind: object, error: BaseException | None, _trace: object) -> None:
        if _STOPS and isinstance(error, sqlite3.OperationalError):
            raise _STOPS.pop() from None


_RESTORED = _Stops()


def create(*statements: str, cache: int = _CACHE, schema: str = "") -> sqlite3.Connection:
    """Create a database with the empty tables of a schema, for one thread.

    Closing the database removes it. The statements are executed after the schema. The database takes
    ``cache`` KiB of memory, whatever its size. Callers begin and end transactions with statements.
    """
    # A database without a name is private, in a file of SQLite's folder. Any thread may collect it.
    database = sqlite3.connect("", isolation_level=None, check_same_thread=False)
    try:
        for setting in (*_SETTINGS, f"PRAGMA cache_size = -{cache}"):
            database.execute(setting)
        if schema in _MADE:
            _template(schema).backup(database)
        elif schema:
            database.executescript(f"BEGIN;{schema};COMMIT;")
            _MADE.add(schema)
        for statement in statements:
            database.execute(statement)
    except BaseException:
        database.close()
        raise
    return database


@functools.cache
def _template(schema: str) -> sqlite3.Connection:
    """Return a schema's tables in memory: copying them takes a fifth of the time of making them."""
    database = sqlite3.connect(":memory:", check_same_thread=False)
    database.executescript(schema)
    return database


def rows(
    database: sqlite3.Connection, sql: str, values: Sequence[object] = ()
) -> Generator[tuple[Any, ...], None, None]:
    """Yield the rows of a query, streamed."""
    with _RESTORED:
        cursor = database.execute(sql, values)
        try:
            # "yield from" a bare cursor would call its close().
            yield from chain(cursor)
        finally:
            # A consumer that stopped early may end after the database, which has closed the cursor.
            with suppress(sqlite3.ProgrammingError):
                cursor.close()


def rows_with_prefix(
    database: sqlite3.Connection, table: str, columns: Sequence[str], prefix: str
) -> Iterator[tuple[Any, ...]]:
    """Yield rows whose first column begins with ``prefix``, sorted by its code points."""
    first = columns[0]
    sql = f"SELECT {', '.join(columns)} FROM {table} WHERE {first} >= ? ORDER BY {first}"  # noqa: S608 -- names
    return takewhile(lambda row: row[0].startswith(prefix), database.execute(sql, (prefix,)))


class BulkInsert:
    """An INSERT statement for many rows at once, which takes half the time of single ones.

    ``row`` has the values of one row. In it ``?1`` and so on stand for the ``shared`` values, the same in all
    rows, and ``?{0}`` and so on for the ``per_row`` values, whose binding takes most of the time. With
    ``counts`` the shared values begin with so many pairs of a number and a step: ``?1 + {row} * ?2`` is then
    the number of a row. Rows that violate a constraint are left out.
    """

    def __init__(self, table: str, row: str, *, per_row: int, counts: int = 0) -> None:
        # Only the values of single rows are bound; SQLite makes the inserted rows from them, and numbers
        # those after the shared ones.
        rows = [f"({'?, ' * per_row}{place})" for place in range(_AT_ONCE[0])]
        columns = (f"column{number}" for number in range(1, per_row + 1))
        made = row.replace("?{", "{").format(*columns, row=f"column{per_row + 1}")
        self._per_row = per_row
        self._counts = counts
        self._statements = {
            each: f"INSERT OR IGNORE INTO {table} SELECT {made} FROM (VALUES {', '.join(rows[:each])})"  # noqa: S608 -- constants
            for each in _AT_ONCE
        }

    def run_columns(
        self, database: sqlite3.Connection, shared: tuple[Any, ...], columns: Sequence[Sequence[Any] | None]
    ) -> None:
        """Insert rows given as columns, with the same ``shared`` values in all of them.

        None stands for a column of NULL, except as the first.
        """
        size = len(columns[0] or ())
        rows = zip(*(each or repeat(None, size) for each in columns), strict=True)
        values = list(chain.from_iterable(rows))
        start = 0
        for number, statement in self._statements.items():
            step = number * self._per_row
            while start + step <= len(values):
                database.execute(statement, (*shared, *values[start : start + step]))
                start += step
                for at in range(0, 2 * self._counts, 2):
                    shared = (*shared[:at], shared[at] + number * shared[at + 1], *shared[at + 1 :])


class Scratch(Closable):
    """A base of objects with a temporary database; a context manager, for one thread."""

    def __init__(self, *statements: str, cache: int = _CACHE, schema: str = "") -> None:
        self._database = create(*statements, cache=cache, schema=schema)

    def rows(self, sql: str, *values: object) -> Iterator[tuple[Any, ...]]:
        """Yield the rows of a query, streamed."""
        return rows(self._database, sql, values)

    def all(self, sql: str, *values: object) -> list[tuple[Any, ...]]:
        """Return all rows of a query: faster than streamed, and independent of later statements."""
        with _RESTORED:
            return self._database.execute(sql, values).fetchall()

    def row(self, sql: str, *values: object) -> tuple[Any, ...] | None:
        """Return the first row of a query, or None without one."""
        with _RESTORED:
            row: tuple[Any, ...] | None = self._database.execute(sql, values).fetchone()
        return row

    def put(self, sql: str, *values: object) -> int:
        """Run one statement, and return the row id of the row that it inserted."""
        with _RESTORED:
            return self._database.execute(sql, values).lastrowid or 0

    def add_function(
        self, name: str, function: Callable[[Any], _Value], *, is_deterministic: bool = True
    ) -> None:
        """Register a function of one argument for SQL; an interruption in it ends the query."""

        def called(value: object) -> _Value:
            try:
                return function(value)
            except Exception:
                raise
            except BaseException as stopped:
                _STOPS.append(stopped)
                raise

        self._database.create_function(name, 1, called, deterministic=is_deterministic)

    def blob(self, table: str, column: str, row: int) -> sqlite3.Blob:
        """Open a value to read and write its bytes in place; a context manager."""
        return self._database.blobopen(table, column, row)

    def close(self) -> None:
        """Close and so remove the database."""
        self._database.close()


@contextmanager
def explained(what: str) -> Iterator[None]:
    """Turn an error of SQLite in the block, which stores ``what``, into a ``TargetError``."""
    try:
        with _RESTORED:
            yield
    except sqlite3.OperationalError as error:
        raise TargetError(
            f"cannot keep {what} on disk: {error}",
            hint="Free space for temporary files, or name another folder in SQLITE_TMPDIR.",
        ) from error


@contextmanager
def unexplained(path: Path) -> Iterator[None]:
    """Turn a bare error of the system or of SQLite in the block into a ``TargetError``.

    ``path`` is the file or folder that the block works on.
    """
    try:
        with _RESTORED:
            yield
    except (OSError, sqlite3.Error) as error:
        if (refusal := of_system(error, path)) is None:
            raise
        raise refusal from error
