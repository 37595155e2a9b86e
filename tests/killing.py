"""Commands that are killed at a call of the file system, or stopped after so many records."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, NoReturn

import pytest

from metspack.errors import Interrupted, MetspackError, TargetError
from metspack.files import journal, writing

CALLS = ("write", "open", "mkdir", "rename", "unlink", "rmdir", "link", "ftruncate")


class Killing:
    """Kills this process, as far as a test can, at one of its calls of the file system."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, at: int) -> None:
        self.count = 0
        self._at = at
        for name in CALLS:
            monkeypatch.setattr(os, name, self._counting(getattr(os, name)))

    def _counting(self, call: Callable[..., Any]) -> Callable[..., Any]:
        def counted(*given: Any, **named: Any) -> Any:
            self.count += 1
            if self.count == self._at:
                os._exit(9)
            return call(*given, **named)

        return counted


def killed(work: Callable[[], object], at: int) -> bool:
    """Do some work in a process that is killed at a call; return whether it came so far."""
    child = os.fork()
    if not child:
        with pytest.MonkeyPatch.context() as monkeypatch:
            Killing(monkeypatch, at)
            with suppress(BaseException):
                work()
                os._exit(0)
        os._exit(1)
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) in {0, 9}
    return os.waitstatus_to_exitcode(status) == 9


def calls_of(work: Callable[[], object]) -> int:
    """Return the number of calls that some work makes."""
    with pytest.MonkeyPatch.context() as monkeypatch:
        killing = Killing(monkeypatch, -1)
        work()
    return killing.count


def stop_after(
    segments: int, work: Callable[[], object], how: Callable[[], NoReturn] | None = None
) -> Interrupted | MetspackError | None:
    """Do some work that is interrupted, or ends by an error, once so many segments are recorded.

    Return what was raised.
    """
    real, left = writing.record_event, [segments]

    def recording(path: Path, event: Any) -> None:
        real(path, event)
        left[0] -= 1
        if not left[0]:
            if how is not None:
                how()
            raise Interrupted(15)

    with pytest.MonkeyPatch.context() as monkeypatch:
        monkeypatch.setattr(writing, "record_event", recording)
        try:
            work()
        except (Interrupted, TargetError) as error:
            return error
    return None


def partial_of(folder: Path) -> Path:
    return folder / "out.partial"


def events(folder: Path) -> list[dict[str, Any]]:
    """Return the events in the journal of a stopped run."""
    lines = journal.journal_of(partial_of(folder)).read_bytes().splitlines()
    return [event for line in lines if (event := journal.unsealed(line)) is not None]
