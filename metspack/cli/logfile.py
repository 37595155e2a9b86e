"""The log of a run: one JSON object a line, each with its time, appended to what is there."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from metspack import clock, fsio
from metspack.errors import TargetError
from metspack.progress import Progress
from metspack.version import __version__

_open: list[fsio.Log] = []


@dataclass(frozen=True, slots=True, kw_only=True)
class Logged:
    """Where a long run tells of itself."""

    log: Annotated[
        Path | None,
        typer.Option(
            "--log",
            metavar="FILE",
            help="Append to this file what the run does, one JSON object a line: its start, stages, "
            "warnings, errors, result and exit code, each with the time.",
            rich_help_panel="Configuration",
            show_default=False,
        ),
    ] = None


def begin(logged: Logged) -> None:
    """Open the log, if there is to be one; raises ``TargetError`` when it cannot be written."""
    if logged.log is not None:
        log = fsio.Log(logged.log)
        _record(log, "start", metspack=__version__, arguments=sys.argv[1:])
        _open.append(log)


def tell(event: str, **facts: object) -> None:
    """Append an event, if there is a log; one that can be written no more is given up with a warning."""
    for log in _open[:]:
        try:
            _record(log, event, **facts)
        except TargetError as error:  # the work is worth more than its log
            from metspack.cli import console  # noqa: PLC0415 -- it imports this module

            _close()
            console.warning(f"the log ends here: {error.message}")


def end(code: int) -> None:
    """Append how the run ended, and close the log."""
    tell("end", exit_code=code)
    _close()


def _record(log: fsio.Log, event: str, **facts: object) -> None:
    log.record(time=clock.now(os.environ), event=event, **facts)


def _close() -> None:
    while _open:
        _open.pop().close()


def telling(shown: Progress) -> Progress:
    """Return progress that is told to the log as well, stage by stage, if there is one."""
    return _Telling(shown) if _open else shown


class _Telling:
    def __init__(self, shown: Progress) -> None:
        self._shown = shown

    def stage(self, name: str, total: int | None) -> None:
        """Begin a stage."""
        tell("stage", name=name, bytes=total)
        self._shown.stage(name, total)

    def advance(self, amount: int) -> None:
        """Add bytes done."""
        self._shown.advance(amount)
