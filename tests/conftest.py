"""Fixtures of every test: no network, no clock from outside, the samples of the checkout."""

from __future__ import annotations

import functools
import gc
import os
import signal
import sys
import tempfile
import zlib
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

from metspack.files import writing
from tests.laws import SLOW_EVERY, law, seed
from tests.shared_data import FOLDER
from tests.watching import suite_watch, time_limit

CHECKOUT = Path(__file__).resolve().parents[1]
_HOSTILE = (
    *("checking/", "containers/", "fuzz/", "locations/", "mutants/", "packages/", "restoring/", "siard/"),
    *(
        "sources/",
        "test_opens.py",
        "cli/test_bad_input.py",
        "cli/test_compared.py",
        "cli/test_odd_sources.py",
    ),
)
"""Tests of hostile input, in which metspack may open only granted files."""


# Tests and the programs that they start are compiled once, not each time anew, whatever the shell says;
# nothing of that is written beside the sources.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
os.environ.setdefault("PYTHONPYCACHEPREFIX", str(CHECKOUT / ".pytest_cache" / "bytecode"))
sys.dont_write_bytecode, sys.pycache_prefix = False, os.environ["PYTHONPYCACHEPREFIX"]

settings.register_profile("metspack", law(100))
settings.load_profile("metspack")

# Tests send signals, also where whoever started the suite ignores them, as nohup and a script's `&` do.
for _number, _handler in (
    (signal.SIGINT, signal.default_int_handler),
    (signal.SIGTERM, signal.SIG_DFL),
    (signal.SIGHUP, signal.SIG_DFL),
):
    if signal.getsignal(_number) is signal.SIG_IGN:
        signal.signal(_number, _handler)

# Seven thousand tests are a million objects that stay: a collection need not look at them again and again.
gc.disable()


_LONG = {"test_wheel.py", "test_transcripts.py"}


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    left = [each for each in items if each.get_closest_marker("slow") and not _is_drawn(each.nodeid)]
    if left:
        config.hook.pytest_deselected(items=left)
    # A test of half a minute that begins last is waited for by all processes but its own.
    first = sorted(items, key=lambda item: item.path.name not in _LONG)
    items[:] = [each for each in first if each not in set(left)]


class _Shown:
    """Shows each failure with its name as it happens, and the tests that are left out."""

    def __init__(self, reporter: pytest.TerminalReporter) -> None:
        self._reporter = reporter

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self._reporter.write_line(f"\nFAILED {report.nodeid} ({report.when})")

    def pytest_unconfigure(self, config: pytest.Config) -> None:
        if config.getoption("markexpr") == "not slow":
            self._reporter.write_line("those that take long are deselected: just slow")


@pytest.hookimpl(trylast=True)
def pytest_configure(config: pytest.Config) -> None:
    if (reporter := config.pluginmanager.get_plugin("terminalreporter")) is not None:
        config.pluginmanager.register(_Shown(reporter))


def pytest_sessionfinish() -> None:
    gc.collect()
    gc.freeze()  # pytest collects ten times before it ends


def _is_drawn(test: str) -> bool:
    return SLOW_EVERY == 1 or zlib.crc32(f"{seed()} {test}".encode()) % SLOW_EVERY == 0


def pytest_collection_finish() -> None:
    gc.freeze()
    gc.set_threshold(20_000)  # nor need those that come and go be looked at after every 700
    gc.enable()


# Where the system keeps temporary files, and what pytest and others keep in the checkout.
_CACHES = (".pytest_cache", ".hypothesis", ".mypy_cache", ".ruff_cache", ".interop")
_REPORT = Path(tempfile.gettempdir()) / f"suite-watch-{os.getpid()}"
suite_watch.begin([tempfile.gettempdir(), *(str(CHECKOUT / each) for each in _CACHES)], os.fspath(_REPORT))
suite_watch.pause()
time_limit.begin()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown() -> Iterator[None]:
    yield
    if found := suite_watch.refused():
        pytest.fail("\n".join(found), pytrace=False)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    suite_watch.resume()
    given = item.config.getoption("timeout")
    with time_limit.limited(float(item.config.getini("timeout") if given is None else given)):
        yield
    suite_watch.pause()


_real = functools.cache(os.path.realpath)  # of folders that stay where they are


@pytest.fixture(autouse=True)
def _nothing_is_opened_that_was_not_granted(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> Iterator[None]:
    """Fail where hostile input makes metspack open files outside of the granted folders."""
    if not str(request.path.relative_to(CHECKOUT / "tests")).startswith(_HOSTILE):
        yield
        return
    found: list[tuple[str, str]] = []
    monkeypatch.setattr(os, "open", suite_watch.noting(found))
    yield
    temporary = tempfile.gettempdir()
    data = os.environ.get(FOLDER, CHECKOUT.parent / "shared")
    roots = tuple(f"{_real(os.fspath(each))}/" for each in (temporary, CHECKOUT, data, "/dev"))
    astray = sorted({(path, by) for path, by in found if not suite_watch.is_granted(path, roots)})
    assert not astray, f"opened though nobody granted it: {astray}"


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


@pytest.fixture
def one_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let it always be the same moment of 2016, for programs that tests start too."""
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1456185600")


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
