"""What cannot be done, as opposed to what is wrong with a package (that is a ``Finding``)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


class MetspackError(Exception):
    """Something asked for cannot be done; ``hint`` says what to do about it.

    ``details`` are the single things that the message sums up, each to be shown on a line of its own.
    """

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
    """The source cannot be read, or says something about itself that is not so."""


class PlanError(MetspackError):
    """The LOBs cannot be divided as asked, or a plan no longer fits its source."""


class TargetError(MetspackError):
    """The target or its environment does not allow writing (exists, space, permission)."""


class ConfigError(MetspackError):
    """An option or setting has a value that means nothing."""


class Interrupted(BaseException):
    """Ctrl-C or a request to end; no handler may swallow it, only put it off."""
