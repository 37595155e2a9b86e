"""The log of a run: one JSON object a line, each with its time, appended to what is there."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from metspack import clock
from metspack.cli.options.groups import Group, option
from metspack.errors import ConfigError, TargetError
from metspack.files import writing
from metspack.mets import is_mets_name
from metspack.progress import Progress
from metspack.version import __version__

_READ = ("source", "package", "packages", "containers", "first", "second")
"""What commands call the arguments that say what is read."""

_open: list[writing.Log] = []


@dataclass(frozen=True, kw_only=True)
class LogGroup(Group):
    """Where a long run tells of itself."""

    log: Annotated[
        Path | None,
        option(
            "--log FILE",
            "Append to this file what the run does, one JSON object a line: its start, stages, "
            "warnings, errors, result and exit code, each with the time.",
            "Configuration",
        ),
    ] = None

    def begin(self, given: Mapping[str, object]) -> None:
        """Open the log, if there is to be one.

        Raises ``TargetError`` when it cannot be written, and ``ConfigError`` when it would lie in what the
        command reads or makes.
        """
        if self.log is not None:
            _check_outside(self.log, given)
            log = writing.Log(self.log)
            _record(log, "start", metspack=__version__, arguments=sys.argv[1:])
            _open.append(log)


def _check_outside(log: Path, given: Mapping[str, object]) -> None:
    """Raise ``ConfigError`` for a log in a package or source, where it would be a file too many."""
    place = log.resolve()
    for name in _READ:
        value = given.get(name)
        for path in value if isinstance(value, list) else [value]:
            if isinstance(path, Path):
                whole = path.parent if is_mets_name(path.name) else path
                _refuse_inside(log, place, whole, "which is read")
    if isinstance(output := given.get("output"), Path):
        _refuse_inside(log, place, output, "which is to be made")
        _refuse_inside(log, place, output.with_name(f"{output.name}.partial"), "where it is made")


def _refuse_inside(log: Path, place: Path, path: Path, what: str) -> None:
    if place.is_relative_to(path.resolve()):
        where = "is" if place == path.resolve() else "lies in"
        raise ConfigError(
            f"the log {log} {where} {path}, {what}",
            hint=f"Choose a place outside it, such as --log {path.resolve().parent / 'metspack.log'}.",
        )


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


def _record(log: writing.Log, event: str, **facts: object) -> None:
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
