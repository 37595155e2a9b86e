"""Running commands: in this process, so that coverage counts, or truly as a program."""

from __future__ import annotations

import hashlib
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import pytest

from metspack import cli
from metspack.resources import __version__
from metspack.sources.archive import Archive
from metspack.sources.rewriting import compared_digests
from tests.restoring import splitting
from tests.watching import suite_watch


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """Exit code and output of a command."""

    code: int
    out: str
    err: str


HEAD = {"schema_version": 1, "metspack": __version__}
"""The first members of all JSON, apart from the report of a check."""


def made_of(source: Path) -> dict[str, Any]:
    """The source of a package as JSON has it, whose messageDigest is right."""
    with Archive(source) as archive:
        ((digest, _),), whole = compared_digests(archive, lambda _read: None)
    found = {"algorithm": digest.algorithm, "stated": digest.value, "found": digest.value}
    assert whole == hashlib.sha256(source.read_bytes()).hexdigest()
    return {
        "name": source.name,
        "size": source.stat().st_size,
        "sha256": whole,
        "message_digest": {"verdict": "right", "digests": [found], "unreadable": []},
    }


class Commands:
    """Runs commands in this process and captures their output."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
        self._monkeypatch = monkeypatch
        self._capsys = capsys

    def __call__(self, *arguments: str | Path) -> Outcome:
        self._monkeypatch.setattr(sys, "argv", ["metspack", *map(str, arguments)])
        self._capsys.readouterr()
        with handlers_put_back():
            code = cli._run()
        captured = self._capsys.readouterr()
        return Outcome(code=code, out=captured.out, err=captured.err)

    def fine(self, *arguments: str | Path) -> str:
        """Run a command that must succeed with an empty stderr; return its stdout."""
        outcome = self(*arguments)
        assert (outcome.code, outcome.err) == (0, ""), outcome
        return outcome.out


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A package with a LOB in three parts, beside two that are whole; a test may change it."""
    return splitting.forged(tmp_path / "package")


@pytest.fixture
def metspack(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], signals: None) -> Commands:
    """Runs a command in this process: ``metspack("plan", path)``."""
    del signals
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("TERMINAL_WIDTH", "100")
    monkeypatch.setenv("COLUMNS", "100")
    return Commands(monkeypatch, capsys)


@pytest.fixture
def signals() -> Iterator[None]:
    """Puts back the handlers that the command line replaces."""
    with handlers_put_back():
        yield


@contextmanager
def handlers_put_back() -> Iterator[None]:
    """Put back, at the end of the block, the handlers of signals that there were before."""
    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    before = [signal.getsignal(number) for number in numbers]
    try:
        yield
    finally:
        for number, handler in zip(numbers, before, strict=True):
            signal.signal(number, handler)


@dataclass(frozen=True, kw_only=True)
class Program:
    """The command as a program of its own."""

    environment: dict[str, str]

    @property
    def command(self) -> list[str]:
        return [sys.executable, "-m", "metspack"]

    def __call__(self, *arguments: str | Path, cwd: Path, **environment: str) -> Outcome:
        return self.run(*self.command, *arguments, cwd=cwd, env=self.environment | environment)

    def run(
        self,
        *command: str | Path,
        cwd: Path | None = None,
        env: dict[str, str] | None = None,
        stdout: int | BinaryIO = subprocess.PIPE,
    ) -> Outcome:
        """Run any program in the surroundings of this one."""
        done = subprocess.run(
            [*map(str, command)],
            cwd=cwd,
            env=env or self.environment,
            stdout=stdout,
            stderr=subprocess.PIPE,
            text=True,
            timeout=120,
            check=False,
        )
        return Outcome(code=done.returncode, out=done.stdout or "", err=done.stderr)

    def python(self, code: str, *arguments: str | Path) -> Outcome:
        """Run a text as a program of Python, with arguments."""
        return self.run(sys.executable, "-c", code, *arguments)

    def start(self, *arguments: str | Path, cwd: Path) -> subprocess.Popen[str]:
        """Start the program in a session of its own, as a terminal would have it."""
        return subprocess.Popen(
            [*self.command, *map(str, arguments)],
            cwd=cwd,
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )


@pytest.fixture
def program() -> Program:
    """Runs a command as a program: ``program("plan", path, cwd=folder)``."""
    kept = ("PATH", "HOME", "LANG", "TMPDIR", "VIRTUAL_ENV", "COVERAGE_PROCESS_START", *suite_watch.VARIABLES)
    environment = {name: os.environ[name] for name in kept if name in os.environ}
    own = {"NO_COLOR": "1", "PYTHONWARNINGS": "error", "XDG_CONFIG_HOME": "/nowhere"}
    return Program(environment=environment | own)
