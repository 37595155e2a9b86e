"""What every test of the suite gets: no network, no clock from outside, the samples of the checkout."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

from metspack.files import writing
from tests.laws import law
from tests.shared_data import FOLDER

CHECKOUT = Path(__file__).resolve().parents[1]
_NETWORK = frozenset({"socket.connect", "socket.getaddrinfo", "socket.gethostbyname", "socket.sendto"})


class NetworkUsedError(AssertionError):
    """Something under test reached for the network."""


def _refuse_network(event: str, arguments: tuple[object, ...]) -> None:
    if event in _NETWORK:
        raise NetworkUsedError(f"{event}{arguments!r}: metspack and its tests never use the network")


# Tests and the programs that they start are compiled once, not each time anew, whatever the shell says;
# nothing of that is written beside the sources.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
os.environ.setdefault("PYTHONPYCACHEPREFIX", str(CHECKOUT / ".pytest_cache" / "bytecode"))
sys.dont_write_bytecode, sys.pycache_prefix = False, os.environ["PYTHONPYCACHEPREFIX"]

settings.register_profile("metspack", law(100))
settings.load_profile("metspack")

# Seven thousand tests are a million objects that stay: a collection need not look at them again and again.
gc.disable()


_LONG = {"test_wheel.py", "test_transcripts.py", "test_archive_forms.py"}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    # A test of half a minute that begins last is waited for by all processes but its own.
    items.sort(key=lambda item: item.path.name not in _LONG)


def pytest_collection_finish() -> None:
    gc.freeze()
    gc.set_threshold(20_000)  # nor need those that come and go be looked at after every 700
    gc.enable()


# An audit hook sees what C code does too; once added it stays for the whole process.
sys.addaudithook(_refuse_network)


@pytest.fixture(scope="session", autouse=True)
def _nothing_waits_for_the_disk() -> Iterator[None]:
    """No test cuts the power: what is to be synchronised is only looked at, to be sure that it is open.

    Programs that tests start, and the tests of ``files.writing``, do synchronise.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", os.fstat)
        patch.setattr(writing, "_syncfs", lambda: lambda descriptor: 0 * os.fstat(descriptor).st_size)
        yield


@pytest.fixture(autouse=True)
def _no_clock_from_outside(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SOURCE_DATE_EPOCH", raising=False)


@pytest.fixture(autouse=True)
def _no_settings_from_outside(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [each for each in os.environ if each.startswith("METSPACK_") and each != FOLDER]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("XDG_CONFIG_HOME", "/nowhere")


@pytest.fixture
def northwind() -> Path:
    """The sample with 8 pictures in one column."""
    return CHECKOUT / "samples" / "northwind" / "Northwind.siard"


@pytest.fixture
def northwind_full() -> Path:
    """The sample with 46 LOBs in 9 columns, fields and array elements."""
    return CHECKOUT / "samples" / "northwind" / "Northwind-full.siard"
