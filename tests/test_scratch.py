"""Temporary databases: what is read from them by whom, and for how long."""

from contextlib import closing

from metspack import scratch


def test_a_reader_may_end_after_the_database() -> None:
    with closing(scratch.opened()) as database:
        database.execute("CREATE TABLE number (n)")
        database.executemany("INSERT INTO number VALUES (?)", ((n,) for n in range(3)))
        assert list(scratch.rows(database, "SELECT n FROM number WHERE n > ? ORDER BY n", (0,))) == [
            (1,),
            (2,),
        ]
        reading = scratch.rows(database, "SELECT n FROM number ORDER BY n")
        assert next(reading) == (0,)
    reading.close()
