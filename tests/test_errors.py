import errno
import pickle
import sqlite3
from contextlib import closing

import pytest

from metspack.errors import ConfigError, MetspackError, PlanError, SourceError, TargetError, of_system

KINDS = [MetspackError, SourceError, PlanError, TargetError, ConfigError]


@pytest.mark.parametrize("kind", KINDS)
def test_an_error_crosses_a_process_boundary_whole(kind: type[MetspackError]) -> None:
    error = pickle.loads(pickle.dumps(kind("it broke", hint="mend it")))  # noqa: S301 -- our own bytes
    assert type(error) is kind
    assert (str(error), error.message, error.hint) == ("it broke", "it broke", "mend it")


@pytest.mark.parametrize("kind", KINDS)
def test_a_hint_may_be_missing(kind: type[MetspackError]) -> None:
    assert kind("it broke").hint == ""


@pytest.mark.parametrize("kind", KINDS[1:])
def test_each_kind_is_distinct(kind: type[MetspackError]) -> None:
    assert kind.__mro__[1] is MetspackError
    assert [other for other in KINDS if other is not MetspackError and other in kind.__mro__] == [kind]


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (OSError(errno.EIO, "it fails", "/a/file"), "cannot read or write /a/file: it fails"),
        (OSError(errno.EIO, "it fails"), "cannot read or write /a/target: it fails"),
        (OSError(errno.EIO, "it fails", 7), "cannot read or write /a/target: it fails"),
        (
            sqlite3.OperationalError("it is full"),
            "a temporary database failed: it is full (working on /a/target)",
        ),
    ],
)
def test_an_error_of_the_system_has_its_file_and_a_hint(error: Exception, words: str) -> None:
    explained = of_system(error, "/a/target")
    assert isinstance(explained, TargetError)
    assert explained.message == words
    assert explained.hint


@pytest.mark.parametrize(
    "error", [ValueError("x"), OSError(errno.EBADF, "x"), OSError("x"), sqlite3.ProgrammingError("x")]
)
def test_an_error_of_ours_is_none_of_the_system(error: Exception) -> None:
    assert of_system(error) is None


def test_a_statement_that_is_wrong_is_an_error_of_ours() -> None:
    with closing(sqlite3.connect("")) as database, pytest.raises(sqlite3.OperationalError) as caught:
        database.execute("SELECT FROM")
    assert of_system(caught.value) is None
