"""A plugin of pytest that tries mutants instead of running its tests once: ``--mutants LIST``.

The tests are collected and run one time, without a mutant, which tells which of them reach which function
and leaves what they prepare for a whole session. Each mutant is then tried in a fork of that process, first
by the tests that noticed other mutants, of its function above all, then by the quickest. What became of it
is kept where mutmut looks for it.
"""

from __future__ import annotations

import json
import os
import resource
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

SURVIVED, KILLED, BROKEN, NO_TESTS = 0, 1, 3, 33
_MUTANT = "MUTANT_UNDER_TEST"  # mutmut's
_CONSTANT, _MULTIPLE = 5.0, 3.0  # of the seconds that its tests take, a mutant has so many times as much
_WAIT = 20  # and so many times that to wait, for the machine may have other things to do


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--mutants", type=Path, help="file with the names of mutants, one in a line")
    parser.addoption("--children", type=int, default=1, help="so many mutants are tried at once")


def pytest_configure(config: pytest.Config) -> None:
    if config.getoption("--mutants"):
        config.pluginmanager.register(Trial(config))


def function_of(mutant: str) -> str:
    """Return the function of a mutant, as mutmut names both."""
    return mutant.rpartition("__mutmut_")[0]


def in_order(
    tests: Iterable[str], kills: Counter[str], others: Counter[str], seconds: dict[str, float]
) -> list[str]:
    """Return tests in the order in which a mutant meets them.

    First is who has killed most of its function, then of others, then the quickest.
    """
    return sorted(tests, key=lambda test: (-kills[test], -others[test], seconds[test], test))


class Trial:
    """The mutants to try, and the tests that reach each."""

    def __init__(self, config: pytest.Config) -> None:
        self._mutants: list[str] = config.getoption("--mutants").read_text(encoding="utf-8").split()
        self._children: int = config.getoption("--children")
        self._reached: defaultdict[str, set[str]] = defaultdict(set)
        self._at_import: set[str] = set()
        self._seconds: dict[str, float] = defaultdict(float)
        self._kills: defaultdict[str, Counter[str]] = defaultdict(Counter)
        self._all_kills: Counter[str] = Counter()
        self._failed: list[str] = []
        self._hits: set[str] = set()
        self._kept: dict[Path, Any] = {}
        os.environ[_MUTANT] = "stats"
        vars(import_module("mutmut.mutation.trampoline"))["record_trampoline_hit"] = self._note_hit

    def _note_hit(self, name: str, caller: str | None = None) -> None:  # noqa: ARG002 -- mutmut's call
        self._hits.add(name)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Note the time that a test took, and whether it failed."""
        self._seconds[report.nodeid] += report.duration
        if report.failed:
            self._failed.append(report.nodeid)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Run the tests once, then on each mutant."""
        self._at_import = set(self._hits)
        items = {item.nodeid: item for item in session.items}
        for name in self._run(session, list(items.values())):
            for function in self._hits:
                self._reached[function].add(name)
            self._hits.clear()
        if self._failed:
            pytest.exit(f"without a mutant: {self._failed}", returncode=1)
        os.environ[_MUTANT] = ""
        self._try_all(session, items)
        return True

    def _run(self, session: pytest.Session, items: Sequence[pytest.Item]) -> Iterator[str]:
        """Run tests, yielding each; fixtures of the session stay after the last."""
        for item, following in zip(items, [*items[1:], items[-1]], strict=True):
            if following is item:
                following = next(each for each in session.items if each is not item)  # noqa: PLW2901
            item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
            yield item.nodeid

    def _try_all(self, session: pytest.Session, items: dict[str, pytest.Item]) -> None:
        running: dict[int, tuple[str, int, str, float]] = {}
        mutants = ["fail", *self._mutants]  # one that every test notices: else no mutant is reached at all
        while mutants or running:
            if mutants and len(running) < self._children:
                name = mutants.pop(0)
                of_it = set(items) if name == "fail" else self._reached[function_of(name)]
                if not of_it and function_of(name) not in self._at_import:
                    self._keep(name, NO_TESTS, 0.0)
                    continue
                tests = in_order(of_it, self._kills[function_of(name)], self._all_kills, self._seconds)
                pid, reader, folder = self._begin(session, name, [items[each] for each in tests])
                running[pid] = name, reader, folder, time.monotonic()
                continue
            pid, status = os.wait()
            name, reader, folder, begun = running.pop(pid)
            _end_group(pid)
            shutil.rmtree(folder, ignore_errors=True)
            with open(reader, encoding="utf-8") as pipe:  # of the killed: by which test
                if killer := pipe.read():
                    self._kills[function_of(name)][killer] += 1
                    self._all_kills[killer] += 1
            if name == "fail":
                if not status:
                    pytest.exit("no test reaches what is mutated", returncode=1)
                continue
            self._keep(name, os.waitstatus_to_exitcode(status), time.monotonic() - begun)

    def _begin(
        self, session: pytest.Session, name: str, tests: Sequence[pytest.Item]
    ) -> tuple[int, int, str]:
        """Begin to try a mutant in a fork: process, pipe that tells the killer, temporary folder."""
        allowed = (sum(self._seconds[each.nodeid] for each in tests) + _CONSTANT) * _MULTIPLE
        folder = tempfile.mkdtemp(prefix="m")
        reader, writer = os.pipe()
        if pid := os.fork():
            os.close(writer)
            return pid, reader, folder
        code = BROKEN
        try:
            os.setpgid(0, 0)
            resource.setrlimit(resource.RLIMIT_CPU, (round(allowed), round(allowed) + 1))
            signal.setitimer(signal.ITIMER_REAL, allowed * _WAIT)
            session.config._tmp_path_factory._basetemp = Path(folder).resolve()  # type: ignore[attr-defined]
            os.environ[_MUTANT] = name
            code = self._fate(session, name, tests, writer)
        finally:
            os._exit(code)

    def _fate(self, session: pytest.Session, name: str, tests: Sequence[pytest.Item], writer: int) -> int:
        for test in self._run(session, tests) if tests else ():
            if self._failed:
                os.write(writer, test.encode())
                return KILLED
        if function_of(name) in self._at_import:  # it may do its harm there, so begin anew
            arguments = [str(each) for each in session.config.invocation_params.args]
            at = arguments.index("--mutants")
            os.execv(sys.executable, [sys.executable, "-m", "pytest", "-x", *arguments[:at]])  # noqa: S606
        return SURVIVED

    def _keep(self, name: str, code: int, seconds: float) -> None:
        """Write down what became of a mutant, in the file in which mutmut does."""
        file = Path(*name.split(".")[:-1]).with_suffix(".py")
        if file not in self._kept:
            self._kept[file] = import_module("mutmut.mutation.data").SourceFileMutationData(path=file)
            self._kept[file].meta_path = Path(f"{file}.meta")
            self._kept[file].load()
        data = self._kept[file]
        if name not in data.exit_code_by_key:
            raise KeyError(name)
        data.exit_code_by_key[name], data.durations_by_key[name] = code, seconds
        data.save()
        print(json.dumps({"mutant": name, "code": code, "seconds": round(seconds, 2)}), file=sys.__stderr__)


def _end_group(pid: int) -> None:
    """End what a mutant has left running."""
    with suppress(ProcessLookupError):
        os.killpg(pid, signal.SIGKILL)
