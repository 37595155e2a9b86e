"""A Dask scheduler and its workers on this machine, processes that a test may kill."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from tests.conftest import CHECKOUT
from tests.watching import suite_watch

_READY = 60.0
_PRELOAD = CHECKOUT / "tests" / "cluster" / "preload.py"


class Hosts:
    """A scheduler and workers named w0, w1 and so on; a context manager, which ends them."""

    def __init__(self, folder: Path, workers: int, *, threads: int = 1, **terms: Any) -> None:
        folder.mkdir()
        self.folder = folder
        self.notes = folder / "attempts"
        self.notes.touch()
        self._threads = threads
        self._terms = {"notes": str(self.notes), **terms}
        self._file = folder / "scheduler.json"
        self._options: tuple[str, ...] = ()
        # Should nobody end it, as when the tests are killed, it ends by itself, and the workers with it.
        ends = "--idle-timeout", "30 minutes"
        self.scheduler = self._begin("scheduler", "--port", "0", "--scheduler-file", str(self._file), *ends)
        self._wait(self._file.exists)
        self._wait(lambda: bool(self._file.read_bytes()))
        self.address: str = json.loads(self._file.read_bytes())["address"]
        self.workers = [self.begin_worker(f"w{number}") for number in range(workers)]
        for number in range(workers):
            self._wait(lambda name=f"w{number}": b"Registered to" in self._log(name).read_bytes())

    def begin_worker(self, name: str) -> subprocess.Popen[bytes]:
        """Start a worker, and do not wait for it."""
        threads = ("--nthreads", str(self._threads), "--no-nanny", "--name", name)
        where = ("--local-directory", str(self.folder), "--preload", str(_PRELOAD), "--death-timeout", "20")
        return self._begin("worker", self.address, *threads, *where, name=name)

    @contextmanager
    def changed(self, **terms: Any) -> Iterator[None]:
        """Let workers be something else for a block, as ``preload`` has it."""
        file = Path(f"{self.notes}.terms")
        file.write_text(json.dumps(terms))
        try:
            yield
        finally:
            file.unlink()

    def attempts(self, worker: str = "") -> list[str]:
        """Return the labels of the tasks begun, by all workers or the named one.

        Each is there once for each attempt.
        """
        noted = map(str.split, self.notes.read_text().splitlines())
        return [label for name, label in noted if worker in {"", name}]

    def _begin(self, what: str, *words: str, name: str = "scheduler") -> subprocess.Popen[bytes]:
        environment = {each: value for each, value in os.environ.items() if each not in suite_watch.VARIABLES}
        environment |= {
            "CLUSTER_WORKER": json.dumps(self._terms),
            "PYTHONPATH": str(CHECKOUT),
            "DASK_DISTRIBUTED__SCHEDULER__WORKER_TTL": "2s",  # a worker that says nothing is taken for dead
            "DASK_DISTRIBUTED__ADMIN__LOG_FORMAT": "%(message)s",
        }
        command = [sys.executable, "-m", f"distributed.cli.dask_{what}", "--host", "127.0.0.1"]
        with self._log(name).open("wb") as log:
            return subprocess.Popen(
                [*command, "--no-dashboard", *words],
                env=environment,
                cwd=self.folder,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    def _log(self, name: str) -> Path:
        return self.folder / f"{name}.log"

    @staticmethod
    def _wait(is_so: Any) -> None:
        wait_for(is_so)

    def end(self) -> None:
        """End all processes."""
        for each in (*self.workers, self.scheduler):
            if each.poll() is None:
                each.send_signal(signal.SIGKILL)
            each.wait()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.end()


def wait_for(is_so: Any, seconds: float = _READY) -> None:
    """Wait until something is so; fails when it is not in time."""
    ending = time.monotonic() + seconds
    while not is_so():
        assert time.monotonic() < ending, "waited in vain"
        time.sleep(0.02)


def metspack(*words: object) -> subprocess.Popen[str]:
    """Start a command."""
    return subprocess.Popen(
        [sys.executable, "-m", "metspack", *map(str, words)],
        env=os.environ | {suite_watch.LOOPBACK: "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def ended(command: subprocess.Popen[str]) -> tuple[int, str, str]:
    """Wait for a command; return its exit code, output and errors."""
    printed, errors = command.communicate(timeout=180)
    return command.returncode, printed, errors
