import pickle

import pytest

from metspack.errors import ConfigError, MetspackError, PlanError, SourceError, TargetError

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
def test_each_kind_is_told_apart(kind: type[MetspackError]) -> None:
    assert kind.__mro__[1] is MetspackError
    assert [other for other in KINDS if other is not MetspackError and other in kind.__mro__] == [kind]
