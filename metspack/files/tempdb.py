"""Temporary databases on disk, for sorting and remembering more than memory should hold."""

from __future__ import annotations

import functools
import sqlite3
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
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
"""The schemas that were used before: a further database of one is a copy."""
_STOPS: list[BaseException] = []
"""Interruptions within functions of SQL, which SQLite turns into an error of its own."""


class _Stops:
    """A context manager that raises an interruption again instead of SQLite's error."""

    def __enter__(self) -> None:
        pass

    def __exit__(self, _kind: object, error: BaseException | None, _trace: object) -> None:
        if _STOPS and isinstance(error, sqlite3.OperationalError):
            raise _STOPS.pop() from None


_RESTORED = _Stops()


def create(*statements: str, cache: int = _CACHE, schema: str = "") -> sqlite3.Connection:
    """Create a database with the empty tables of a schema, for one thread.

    Closing the database removes it. The statements are executed after the schema. The database takes
    ``cache`` KiB of memory, whatever its size. Transactions are begun and ended by hand.
    """
    # No name: private, on disk, in SQLite's own folder. Another thread may close it as garbage.
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
    """Return a schema's tables in memory: a copy takes a fifth of the time of making them."""
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
        # Of a bare cursor, "yield from" would call close() itself.
        with _RESTORED:
            yield from chain(cursor)
    finally:
        # A reader that stopped early may end after the database: then the cursor is closed with it.
        with suppress(sqlite3.ProgrammingError):
            cursor.close()


def beginning(
    database: sqlite3.Connection, table: str, columns: Sequence[str], prefix: str
) -> Iterator[tuple[Any, ...]]:
    """Yield columns of rows whose first one begins with ``prefix``, sorted by its code points."""
    first = columns[0]
    sql = f"SELECT {', '.join(columns)} FROM {table} WHERE {first} >= ? ORDER BY {first}"  # noqa: S608 -- names
    return takewhile(lambda row: row[0].startswith(prefix), database.execute(sql, (prefix,)))


class BulkInsert:
    """An INSERT statement for many rows at once, in half the time of single ones.

    ``row`` is one row of VALUES, in which ``?1`` and so on are values of all rows (``shared`` in number) and
    ``?{0}`` and so on are values of one row (``own`` in number): binding these takes most of the time. With
    ``counts`` the first shared values are so many pairs of number and step, and ``?1 + {row} * ?2`` is the
    number of a row. Rows that contradict existing ones are left out, or raise an error with ``is_strict``.
    """

    def __init__(
        self, table: str, row: str, *, shared: int, own: int, counts: int = 0, is_strict: bool = False
    ) -> None:
        # Only the rows' own values are bound; SQLite makes of each what is inserted.
        numbers = range(shared + 1, shared + 1 + own * _AT_ONCE[0], own)
        rows = [
            f"({', '.join(f'?{number}' for number in range(first, first + own))}, {place})"
            for place, first in enumerate(numbers)
        ]
        columns = (f"column{number}" for number in range(1, own + 1))
        made = (
            row.replace("?{", "{")
            .format(*columns, row=f"column{own + 1}")
            .strip()
            .removeprefix("(")
            .removesuffix(")")
        )
        self._own = own
        self._counts = counts
        insert = "INSERT" if is_strict else "INSERT OR IGNORE"
        self._statements = {
            each: f"{insert} INTO {table} SELECT {made} FROM (VALUES {', '.join(rows[:each])})"  # noqa: S608 -- constants
            for each in _AT_ONCE
        }

    def run(
        self, database: sqlite3.Connection, shared: tuple[Any, ...], rows: Iterable[tuple[Any, ...]]
    ) -> None:
        """Insert rows that all have the ``shared`` values."""
        values = list(chain.from_iterable(rows))
        start = 0
        for number, statement in self._statements.items():
            step = number * self._own
            while start + step <= len(values):
                database.execute(statement, (*shared, *values[start : start + step]))
                start += step
                for at in range(0, 2 * self._counts, 2):
                    shared = (*shared[:at], shared[at] + number * shared[at + 1], *shared[at + 1 :])

    def run_columns(
        self, database: sqlite3.Connection, shared: tuple[Any, ...], columns: Sequence[Sequence[Any] | None]
    ) -> None:
        """Insert rows given as columns, None for a column of NULL; the first column is not None."""
        size = len(columns[0] or ())
        self.run(database, shared, zip(*(each or repeat(None, size) for each in columns), strict=True))


class Scratch(Closable):
    """An object with a temporary database of its own; a context manager, for one thread."""

    __slots__ = ("_database",)

    def __init__(self, *statements: str, cache: int = _CACHE, schema: str = "") -> None:
        self._database = create(*statements, cache=cache, schema=schema)

    def rows(self, sql: str, *values: object) -> Iterator[tuple[Any, ...]]:
        """Yield the rows of a query, streamed."""
        return rows(self._database, sql, values)

    def all(self, sql: str, *values: object) -> list[tuple[Any, ...]]:
        """Return all rows of a query at once: faster than streamed, and before any other statement."""
        with _RESTORED:
            return self._database.execute(sql, values).fetchall()

    def row(self, sql: str, *values: object) -> tuple[Any, ...] | None:
        """Return the first row of a query, or None without one."""
        with _RESTORED:
            cursor = self._database.execute(sql, values)
            row: tuple[Any, ...] | None = cursor.fetchone()
        cursor.close()
        return row

    def put(self, sql: str, *values: object) -> int:
        """Run one statement, and return the row id of the row that it inserted."""
        with _RESTORED:
            return self._database.execute(sql, values).lastrowid or 0

    def add_function(
        self, name: str, function: Callable[[Any], _Value], *, is_deterministic: bool = True
    ) -> None:
        """Register an SQL function of one argument. An interruption within it ends the query as such."""

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
        """Open a value for reading and writing of its bytes in place; a context manager."""
        return self._database.blobopen(table, column, row)

    def close(self) -> None:
        """Close and so remove the database."""
        self._database.close()


@contextmanager
def explained(what: str) -> Iterator[None]:
    """Turn an error of SQLite about keeping ``what`` into a ``TargetError`` with a hint."""
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
    """Turn an unexplained error of the system or of SQLite into a ``TargetError``.

    ``path`` is the file or folder in use.
    """
    try:
        with _RESTORED:
            yield
    except (OSError, sqlite3.Error) as error:
        if (told := of_system(error, path)) is None:
            raise
        raise told from error
