"""Options from ``metspack.toml``, a file with one table for each command (``[build]``).

Click looks a value up on the command line, in the option's variable, in ``default_map``, then takes the
default; a file only fills ``default_map``.
"""

from __future__ import annotations

import stat
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from metspack.cli import console
from metspack.cli.options.groups import Group, RareHeading, option
from metspack.errors import ConfigError, SourceError
from metspack.system import os

if TYPE_CHECKING:
    from typer.core import TyperOption

    from metspack.cli.options.groups import Command

_FILE = Path("metspack.toml")
_LONGEST = 1 << 20
_BITS = 64
_HINT = "Write a table for each command, such as [build], and its options below: max-files = 4."


def _read(ctx: typer.Context, config: Path | None) -> Path | None:
    """Make a file's options the defaults of the command; return the file, or None without one."""
    if ctx.resilient_parsing:  # the shell completes a word, no command runs
        return config
    file = config or _own_file()
    if file is not None:
        root: Any = ctx.find_root().command
        ctx.default_map = defaults(file, root.commands).get(ctx.info_name or "")
    return file


@dataclass(frozen=True, kw_only=True)
class ConfigGroup(Group, panel=RareHeading("Configuration")):
    """The file that sets options."""

    config: Path | None = option(
        "--config FILE",
        "Take options from this file instead of the metspack.toml in the current folder.",
        envvar="METSPACK_CONFIG",
        is_eager=True,
        callback=_read,
    )


def _own_file() -> Path | None:
    """Return the file in the current folder, unless another person may have put it there."""
    if not os.path.lexists(_FILE):
        return None
    if os.stat(os.curdir).st_mode & stat.S_IWOTH:
        console.warning(
            f"{_FILE} is not read: everybody may write to this folder; --config {_FILE} reads it anyway"
        )
        return None
    return _FILE


def defaults(file: Path, commands: Mapping[str, Command]) -> dict[str, dict[str, object]]:
    """Return the options in a file, by command and parameter; raises ``ConfigError``."""
    found: dict[str, dict[str, object]] = {}
    for name, table in _document(file).items():
        if name not in commands:
            raise _unknown(f"{file}: there is no command {name!r}", name, commands)
        if not isinstance(table, dict):
            raise ConfigError(f"{file}: {name!r} is not a table", hint=_HINT)
        options = commands[name].settable
        for key in table:
            if key not in options:
                raise _unknown(f"{file}: metspack {name} has no option {key!r}", key, options)
        found[name] = {
            options[key].name: _given(options[key], value, f"{file}: {key!r} in [{name}]")
            for key, value in table.items()
        }
    return found


def _unknown(message: str, word: str, names: Iterable[str]) -> ConfigError:
    close = get_close_matches(word, names, n=1)
    return ConfigError(message, hint=f"Did you mean {close[0]}?" if close else _HINT)


def _document(file: Path) -> dict[str, Any]:
    """Return the tables of a file; raises ``ConfigError``."""
    import tomllib  # noqa: PLC0415 -- slow to import, and most calls find no file

    from metspack.files import reading  # noqa: PLC0415 -- as above

    try:
        with reading.opening(file) as descriptor:
            data = b"".join(reading.chunks(descriptor, 0, _LONGEST + 1))
    except (OSError, SourceError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise ConfigError(
            f"{file}: cannot be read: {reason}", hint="Name another file with --config."
        ) from None
    if len(data) > _LONGEST:
        raise ConfigError(f"{file}: larger than {_LONGEST:,} bytes", hint="Name another file with --config.")
    try:
        return tomllib.loads(data.decode("utf-8-sig"))
    except (ValueError, RecursionError) as error:  # a number may be too long for Python, too
        raise ConfigError(f"{file}: not TOML in UTF-8: {error}", hint=_HINT) from None


def _given(option: TyperOption, value: Any, place: str) -> object:
    """Return a value as the command line gives it; raises ``ConfigError`` for any other value."""
    if option.is_flag:
        if isinstance(value, bool):
            return value
        raise _misfit(place, "true or false", type(value).__name__)
    several = value if option.multiple and isinstance(value, list) else [value]
    expected = "text or a whole number" + (", or a list of them" if option.multiple else "")
    for each in several:
        if isinstance(each, bool) or not isinstance(each, str | int):
            raise _misfit(place, expected, type(each).__name__)
        if isinstance(each, str) and "\0" in each:
            raise _misfit(place, expected, "text with a NUL")
        if isinstance(each, int) and each.bit_length() > _BITS:  # Python may refuse to print a longer one
            raise _misfit(place, expected, f"a number of more than {_BITS} bits")
    return [str(each) for each in several] if option.multiple else str(value)


def _misfit(place: str, expected: str, found: str) -> ConfigError:
    return ConfigError(
        f"{place}: expected {expected}, found {found}",
        hint="Write text in quotes, numbers and true or false without.",
    )
