"""Temporary databases: what is read from them by whom, and for how long."""

import sqlite3
from contextlib import closing
from typing import Any

import pytest

from metspack.errors import Interrupted
from metspack.files import tempdb


def test_a_reader_may_end_after_the_database() -> None:
    with closing(tempdb.create()) as database:
        database.execute("CREATE TABLE number (n)")
        database.executemany("INSERT INTO number VALUES (?)", ((n,) for n in range(3)))
        assert list(tempdb.rows(database, "SELECT n FROM number WHERE n > ? ORDER BY n", (0,))) == [
            (1,),
            (2,),
        ]
        reading = tempdb.rows(database, "SELECT n FROM number ORDER BY n")
        assert next(reading) == (0,)
    reading.close()


@pytest.mark.parametrize("rows", [1, 3, 250])
@pytest.mark.parametrize("changes", [False, True])
def test_rows_given_as_columns_are_those_given_one_by_one(rows: int, changes: bool) -> None:
    values = "?1, ?2, ?{0}, ?{1}, ?{2} || ?{0}"
    insertion = tempdb.BulkInsert("it (a, b, c, d, e)", values, per_row=3)
    numbers = list(range(rows))
    others = [*["x"] * (rows - 1), "y"] if changes else ["x"] * rows
    with closing(tempdb.create(schema="CREATE TABLE it (a, b, c, d, e)")) as database:
        insertion.run_columns(database, (1, "two"), (numbers, None, others))
        insertion.run_columns(database, (3, None), (numbers, others, None))
        found = database.execute("SELECT * FROM it ORDER BY rowid").fetchall()
    first = [(1, "two", number, None, f"{other}{number}") for number, other in enumerate(others)]
    assert found == [*first, *((3, None, number, other, None) for number, other in enumerate(others))]


def test_rows_that_are_all_the_same_are_as_many_as_were_given() -> None:
    insertion = tempdb.BulkInsert("it", "?{0}, ?1 + {row} * ?2", per_row=1, counts=1)
    with closing(tempdb.create(schema="CREATE TABLE it (a, b)")) as database:
        insertion.run_columns(database, (5, 3), (["x"] * 150,))
        found = database.execute("SELECT * FROM it ORDER BY rowid").fetchall()
    assert found == [("x", 5 + 3 * number) for number in range(150)]


def test_a_database_whose_statements_fail_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[sqlite3.Connection] = []
    real = sqlite3.connect

    def connect(*given: Any, **names: Any) -> sqlite3.Connection:
        made.append(real(*given, **names))
        return made[-1]

    monkeypatch.setattr(sqlite3, "connect", connect)
    with pytest.raises(sqlite3.OperationalError, match="no such table"):
        tempdb.create("BEGIN", "INSERT INTO none VALUES (1)")
    with pytest.raises(sqlite3.ProgrammingError, match="closed"):
        made[0].execute("SELECT 1")


def test_an_interruption_within_a_function_of_sql_stays_one() -> None:
    def interrupted(_value: object) -> None:
        raise Interrupted(15)

    sql = "SELECT stop(n) FROM it"
    with closing(tempdb.Scratch(schema="CREATE TABLE it (n)")) as scratch:
        scratch.put("INSERT INTO it VALUES (1)")
        scratch.add_function("stop", interrupted)
        for run in (scratch.row, scratch.all, scratch.put, lambda sql: list(scratch.rows(sql))):
            with pytest.raises(Interrupted) as raised:
                run(sql)
            assert raised.value.signal == 15
        with pytest.raises(Interrupted), tempdb.explained("it"):
            scratch._database.executemany("INSERT INTO it SELECT stop(?)", [(1,)])
        with pytest.raises(sqlite3.OperationalError, match="no such table"):
            scratch.row("SELECT n FROM other")
