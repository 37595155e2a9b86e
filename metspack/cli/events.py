"""The events of a run as JSON lines, while it runs: stages, progress, findings, and how it ends."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from metspack import clock
from metspack.files import writing
from metspack.resources import json_head

if TYPE_CHECKING:
    from metspack.model import Finding

_EVERY = 1.0  # seconds between two lines of progress
_UNIT = "bytes"
_VERDICTS = {0: "ok", 1: "error"}


class Events:
    """The events of one run, in a file, a pipe, or on stdout.

    ``target`` is that file or pipe, or what prints a line. What cannot be written ends the run.
    """

    def __init__(self, target: Path | Callable[[str], None]) -> None:
        self._log: writing.EventLog | None = None
        self._write: Callable[[str], None]
        if isinstance(target, Path):
            self._log = writing.EventLog(target)
            self._write = self._log.write
        else:
            self._write = target
        self._began = time.monotonic()
        self._stage = self._done = 0
        self._total: int | None = None
        self._told: float | None = None
        self._verdict: str | None = None
        command, *arguments = sys.argv[1:]
        self._tell(
            "begin",
            **json_head(),
            command=command,
            arguments=arguments,
            time=clock.now(os.environ),
        )

    def _tell(self, event: str, **facts: object) -> None:
        seconds = 0 if event == "begin" else round(time.monotonic() - self._began, 3)
        self._write(json.dumps({"event": event, "seconds": seconds, **facts}))

    def stage(self, name: str, total: int | None, place: tuple[int, int] | None) -> None:
        """Tell that a stage began; ``place`` is its number and how many there are, None where unknown."""
        self._stage, stages = place or (self._stage + 1, None)
        self._done, self._total = 0, total
        self._tell("stage", stage=self._stage, stages=stages, name=name, total=total, unit=_UNIT)

    def advance(self, amount: int) -> None:
        """Tell how far the stage is: the first time at once, then once a second at most."""
        self._done += amount
        now = time.monotonic()
        if self._told is None or now - self._told >= _EVERY:
            self._told = now
            self._tell("progress", stage=self._stage, done=self._done, total=self._total, unit=_UNIT)

    def warning(self, message: str) -> None:
        """Tell a warning."""
        self._tell("warning", message=message)

    def error(self, name: str | None, message: str, hint: str, details: Iterable[str]) -> None:
        """Tell an error, by its id where it ends the run."""
        self._tell("error", id=name, message=message, details=[*details], hint=hint)

    def findings(self, found: Iterable[Finding]) -> Iterator[Finding]:
        """Yield findings as they come, each told first, as it stands in the report."""
        from metspack.reporting.model import record  # noqa: PLC0415 -- of a check alone

        for each in found:
            self._tell("finding", **record(each))
            yield each

    def judge(self, verdict: str) -> None:
        """Keep the verdict of a check, which stands in the last line."""
        self._verdict = verdict

    def end(self, code: int) -> None:
        """Tell how the run ended, and close the file."""
        try:
            verdict = self._verdict if code in _VERDICTS else None
            self._tell("end", exit_code=code, verdict=verdict or _VERDICTS.get(code))
        finally:
            self.close()

    def close(self) -> None:
        """Close the file."""
        if self._log is not None:
            self._log.close()
