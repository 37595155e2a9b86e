"""Temporary databases: what is read from them by whom, and for how long."""

from contextlib import closing

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
