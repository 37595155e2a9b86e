"""Fixtures of the tests of a cluster: addresses of this machine, and real schedulers with workers."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.util import find_spec

import pytest

from tests.cluster.hosts import Hosts
from tests.loopback import needs_loopback
from tests.watching import suite_watch

if find_spec("distributed") is None:  # to import it takes a second, and its tests are slow ones
    pytest.skip("metspack[cluster] is not installed", allow_module_level=True)


@pytest.fixture(autouse=True)
def _this_machine_may_be_reached(monkeypatch: pytest.MonkeyPatch) -> None:
    needs_loopback()
    monkeypatch.setenv(suite_watch.LOOPBACK, "1")
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1700000000")


@pytest.fixture(scope="session")
def hosts(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hosts]:
    """Two workers without faults."""
    needs_loopback()
    with Hosts(tmp_path_factory.mktemp("cluster") / "hosts", 2) as found:
        yield found
