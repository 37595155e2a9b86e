"""The one place that asks what time it is."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime

from metspack.errors import ConfigError


def now(environment: Mapping[str, str]) -> str:
    """Return the one time that a run knows, as xs:dateTime in UTC; SOURCE_DATE_EPOCH decides when set.

    Raises ``ConfigError`` when that is no number of seconds.
    """
    given = environment.get("SOURCE_DATE_EPOCH")
    if given is None:
        return xs_datetime(datetime.now(UTC))
    try:
        return xs_datetime(datetime.fromtimestamp(int(given), UTC))
    except (ValueError, OverflowError, OSError):
        raise ConfigError(
            f"SOURCE_DATE_EPOCH is {given!r}", hint="Set it to whole seconds since 1970, or unset it."
        ) from None


def xs_datetime(moment: datetime) -> str:
    """Return a moment with a time zone as xs:dateTime in UTC, to the second."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def parsed(text: str) -> str:
    """Return a moment as a person wrote it as xs:dateTime; raises ``ConfigError`` without a time zone."""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        moment = None
    if moment is None or moment.tzinfo is None:
        raise ConfigError(
            f"{text!r} is not a time with a time zone", hint="Write it as 2026-05-01T12:00:00Z."
        )
    return xs_datetime(moment)
