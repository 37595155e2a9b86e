"""The time, host and user of a run, read in one place; SOURCE_DATE_EPOCH takes precedence."""

from __future__ import annotations

import getpass
from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, datetime, timedelta

from metspack.errors import ConfigError
from metspack.system import os


def now(environment: Mapping[str, str]) -> str:
    """Return the time of a run as xs:dateTime in UTC: SOURCE_DATE_EPOCH, else the time now.

    Raises ``ConfigError`` when SOURCE_DATE_EPOCH is not a number of seconds.
    """
    if (given := environment.get("SOURCE_DATE_EPOCH")) is None:
        return xs_datetime(datetime.now(UTC))
    try:
        return xs_datetime(datetime.fromtimestamp(int(given), UTC))
    except (ValueError, OverflowError, OSError):
        raise ConfigError(
            f"SOURCE_DATE_EPOCH is {given!r}, expected a number of seconds",
            hint="Set it to whole seconds since 1970, or unset it.",
        ) from None


def ago(seconds: int) -> str:
    """Return the clock's time ``seconds`` ago as xs:dateTime in UTC; ignores SOURCE_DATE_EPOCH."""
    return xs_datetime(datetime.now(UTC) - timedelta(seconds=seconds))


def xs_datetime(moment: datetime) -> str:
    """Return a moment that has a time zone as xs:dateTime in UTC, to the second."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def parsed(text: str) -> str:
    """Return a given time as xs:dateTime; raises ``ConfigError`` without a time zone."""
    with suppress(ValueError):
        if (moment := datetime.fromisoformat(text)).tzinfo is not None:
            return xs_datetime(moment)
    raise ConfigError(f"{text!r} is not a time with a time zone", hint="Write it as 2026-05-01T12:00:00Z.")


def host() -> str:
    """Return the name of the machine, as ``uname -n`` has it."""
    return os.uname().nodename


def operator() -> str:
    """Return the login name of the user, or else the user's number."""
    try:
        return getpass.getuser()
    except (OSError, KeyError, ImportError):  # users of a container may have no names
        return f"user {os.getuid()}"
