"""Errors: a command that cannot be carried out (a fault of a package is a ``Finding``)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar


class MetspackError(Exception):
    """A command cannot be carried out; ``hint`` says what to do about it.

    ``details`` are the single faults that the message sums up, each to be shown on a line of its own. ``id``
    is what programs know the kind of error by.
    """

    id: ClassVar[str] = "error"

    def __init__(self, message: str, *, hint: str = "", details: Sequence[str] = ()) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.details: Sequence[str] = tuple(details)

    def __reduce__(self) -> tuple[Any, ...]:
        # Exceptions cross process boundaries; the default would lose the keywords.
        return _restored, (type(self), self.message, self.hint, tuple(self.details))


def _restored(kind: type[MetspackError], message: str, hint: str, details: tuple[str, ...]) -> MetspackError:
    return kind(message, hint=hint, details=details)


class SourceError(MetspackError):
    """The source cannot be read, or contradicts itself."""

    id = "source"


class SourceNotFoundError(SourceError):
    """There is nothing at the path of the source."""

    id = "source-not-found"


class SourceUnfinishedError(SourceNotFoundError):
    """The source is not there yet: the run that makes it was stopped earlier, and can go on."""

    id = "source-unfinished"


class LobNotFoundError(SourceError):
    """The package has no LOB of this id."""

    id = "lob-not-found"


class PlanError(MetspackError):
    """The LOBs cannot be divided within the limits, or a plan no longer fits its source."""

    id = "plan"


class TargetError(MetspackError):
    """The target cannot be written: it exists already, or space or permission is missing."""

    id = "target"


class TargetExistsError(TargetError):
    """There is something at the path of the target, and nothing is overwritten."""

    id = "target-exists"


class TargetUnfinishedError(TargetExistsError):
    """An earlier run was stopped and left what it had done beside the target: the same command goes on."""

    id = "target-unfinished"


class ConfigError(MetspackError):
    """An option or setting has an invalid value."""

    id = "usage"


class Interrupted(BaseException):
    """Ctrl-C or a request to end; no handler may swallow it, only put it off.

    ``signal`` is its number; ``kept`` says what was kept to go on with, "" for nothing, and ``hint`` how.
    """

    def __init__(self, signal: int = 2) -> None:
        super().__init__(signal)
        self.signal = signal
        self.kept = ""
        self.hint = ""
