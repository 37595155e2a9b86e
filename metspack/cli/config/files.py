"""Configuration files, ``metspack.toml``: their places, and their settings checked against the options.

A file has lines for every command that knows the option, tables for one command (``[build]``), and named
profiles (``[profile.NAME]``, ``[profile.NAME.build]``).
"""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field
from difflib import get_close_matches
from functools import cached_property
from pathlib import Path
from typing import Any, get_args

import typer

from metspack.errors import ConfigError, SourceError
from metspack.files import reading
from metspack.values import dataclass

FILE_NAME = "metspack.toml"
EVERY = ""
"""The key under which a section holds what is for every command."""

_PROFILE = "profile"
_LONGEST = 1 << 20
_EXAMPLE = "metspack config example shows every option."

Known = Mapping[str, Mapping[str, "typer.core.TyperOption"]]
"""By command and name (without dashes), the options that can be set."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """One value of a file, as the command line takes it, and its origin (``FILE:LINE``)."""

    value: object
    origin: str


Section = dict[str, dict[str, Setting]]


@dataclass(frozen=True, kw_only=True)
class Layer:
    """Settings of one rank: a profile's or a file's own."""

    name: str
    sections: Section

    def setting(self, command: str, key: str, option: typer.core.TyperOption) -> Setting | None:
        """Return the setting of a command's option; the command's table precedes the lines for all."""
        own = self.sections.get(command, {}).get(key)
        if own is not None:
            return own
        every = self.sections.get(EVERY, {}).get(key)
        return every if every is not None and not _unknown(option, every.value) else None


@dataclass(frozen=True, kw_only=True)
class ConfigFile:
    """A ``metspack.toml``; its sections are checked when they are read, and raise ``ConfigError``."""

    path: Path
    known: Known
    text: str = field(repr=False)

    @classmethod
    def of(cls, path: Path, known: Known) -> ConfigFile:
        """Read a file; raises ``ConfigError`` when that fails."""
        try:
            with reading.opening(path) as descriptor:
                data = b"".join(reading.chunks(descriptor, 0, _LONGEST + 1))
            text = data.decode("utf-8")
        except (OSError, SourceError) as error:
            reason = error.strerror if isinstance(error, OSError) else str(error)
            raise ConfigError(
                f"{path}: cannot be read: {reason}", hint="metspack config path shows which files are read."
            ) from None
        except UnicodeDecodeError as error:
            raise ConfigError(
                f"{path}: byte {error.start:,} is not UTF-8",
                hint="TOML is UTF-8: save the file in that encoding.",
            ) from None
        if len(data) > _LONGEST:
            raise ConfigError(
                f"{path}: larger than {_LONGEST:,} bytes",
                hint="A configuration is a few lines: name another file.",
            )
        return cls(path=path, known=known, text=text.removeprefix("\ufeff"))

    @cached_property
    def _document(self) -> dict[str, Any]:
        import tomllib  # noqa: PLC0415 -- heavy, and most calls find no file

        try:
            return tomllib.loads(self.text)
        except (ValueError, RecursionError) as error:  # a number may be too long for Python, too
            raise ConfigError(
                f"{self.path}: not TOML: {error}", hint="metspack config example prints a correct one."
            ) from None

    @cached_property
    def _lines(self) -> dict[tuple[str, ...], int]:
        return dict(reversed(list(_lines(self.text))))

    def origin(self, *place: str) -> str:
        """Return ``FILE:LINE`` of a key, of the table it is in when its own line is not found."""
        while place and place not in self._lines:
            place = place[:-1]
        return f"{self.path}:{self._lines[place]}" if place else str(self.path)

    @cached_property
    def plain(self) -> Section:
        """The settings outside of profiles."""
        return self._section({name: value for name, value in self._document.items() if name != _PROFILE}, ())

    @cached_property
    def profiles(self) -> dict[str, Section]:
        """The named profiles."""
        return {name: self._section(table, (_PROFILE, name)) for name, table in self._tables().items()}

    def profile_names(self) -> Iterable[str]:
        """Return the names of the profiles; raises ``ConfigError`` for a file that is not TOML."""
        return self._tables().keys()

    def _tables(self) -> dict[str, Any]:
        tables = self._document.get(_PROFILE, {})
        if isinstance(tables, dict) and all(isinstance(each, dict) for each in tables.values()):
            return tables
        knows = "; the METS profile of packages belongs in [build]" if _PROFILE in self._every() else ""
        raise ConfigError(
            f"{self.origin(_PROFILE)}: {_PROFILE!r} must hold named profiles, each a table",
            hint=f"Write [profile.NAME] and its options below{knows}.",
        )

    def _section(self, table: Mapping[str, Any], place: tuple[str, ...]) -> Section:
        section: Section = {EVERY: {}}
        for key, value in table.items():
            if isinstance(value, dict) and key in self.known:
                section[key] = {
                    each: self._setting((*place, key, each), [self.known[key]], held)
                    for each, held in value.items()
                }
            else:
                section[EVERY][key] = self._setting((*place, key), list(self.known.values()), value)
        return section

    def _setting(
        self, place: tuple[str, ...], commands: list[Mapping[str, typer.core.TyperOption]], value: Any
    ) -> Setting:
        key, origin = place[-1], self.origin(*place)
        options = [options[key] for options in commands if key in options]
        if not options:
            names = {name for each in commands for name in each}
            if len(commands) > 1:
                names |= {*self.known, *([_PROFILE] if len(place) == 1 else ())}
            what = "table" if isinstance(value, dict) else "option"
            raise ConfigError(
                f"{origin}: there is no {what} {key!r}"
                + (f" of metspack {place[-2]}" if len(commands) == 1 else ""),
                hint=f"{nearest(key, names)}{_EXAMPLE}",
            )
        taken = [each for each in options if _takes(each, value)]
        if not taken:
            raise ConfigError(
                f"{origin}: {key!r} takes {_expected(options[0])}, not {_named(value)}",
                hint=f"{_sample(key, options[0])} {_EXAMPLE}",
            )
        given = _as_given(taken[0], value, self.path.parent)
        unknown = [each for each in (_unknown(option, given) for option in taken) if each is not None]
        if len(unknown) == len(taken):
            wrong, allowed = unknown[0]
            raise ConfigError(
                f"{origin}: {key!r} is {wrong!r}, which is not known",
                hint=f"{nearest(wrong, allowed)}Choose one of {', '.join(allowed)}.",
            )
        return Setting(value=given, origin=origin)

    def _every(self) -> set[str]:
        return {name for options in self.known.values() for name in options}


def layers(files: Iterable[ConfigFile], use: str | None) -> list[Layer]:
    """Return the layers of files in order of precedence: the chosen profile, then the files' own settings.

    ``files`` are in that order too. All of them are checked. Raises ``ConfigError``.
    """
    files = list(files)
    plain = [Layer(name=str(file.path), sections=file.plain) for file in files]
    names = sorted({name for file in files for name in file.profiles})
    if use is None:
        return plain
    if use not in names:
        there = f"There are {', '.join(names)}." if names else "No configuration file has profiles."
        raise ConfigError(f"there is no profile {use!r}", hint=f"{nearest(use, names)}{there}")
    chosen = [file.profiles[use] for file in files if use in file.profiles]
    return [*(Layer(name=f"profile {use}", sections=each) for each in chosen), *plain]


def nearest(word: str, names: Iterable[str]) -> str:
    """Return a hint that asks for the most similar name, empty when there is none."""
    close = get_close_matches(word, sorted(names), n=1)
    return f"Did you mean {close[0]}? " if close else ""


def values_of(option: typer.core.TyperOption) -> list[str]:
    """Return the values that an option chooses from, nothing when any will do."""
    context = typer.Context(typer.core.TyperCommand(None))
    return [each.value for each in option.shell_complete(context, "") if each.type == "plain"]


def is_path(option: typer.core.TyperOption) -> bool:
    """Tell whether an option takes the paths of files or folders."""
    return _kind(option) is Path


def _kind(option: typer.core.TyperOption) -> object:
    annotation = option.type_descriptor.annotation
    return next(iter(get_args(annotation)), annotation)


def _takes(option: typer.core.TyperOption, value: object) -> bool:
    if _has_nul(value):  # as no argument of a command line has
        return False
    if option.multiple:
        return isinstance(value, str) or (
            isinstance(value, list) and all(isinstance(each, str) for each in value)
        )
    if option.is_flag:
        return isinstance(value, bool)
    if isinstance(value, bool):
        return False
    if _kind(option) is int:
        return isinstance(value, int)
    return isinstance(value, str) or (isinstance(value, int) and not is_path(option))


def _has_nul(value: object) -> bool:
    return any("\0" in str(each) for each in (value if isinstance(value, list) else [value]))


def _expected(option: typer.core.TyperOption) -> str:
    if option.multiple:
        return "a list of texts"
    if option.is_flag:
        return "true or false"
    return "a whole number" if _kind(option) is int else "text"


def _named(value: object) -> str:
    if _has_nul(value):
        return "text with a NUL"
    names = {bool: "true or false", int: "a whole number", float: "a number", str: "text", list: "a list"}
    return "a table" if isinstance(value, dict) else names.get(type(value), "a date or time")


def placeholder(option: typer.core.TyperOption) -> str | int | bool:
    """Return a value of the type that an option takes, or that each of its values has."""
    if option.is_flag:
        return True
    return 1 if _kind(option) is int else option.metavar or "TEXT"


def _sample(key: str, option: typer.core.TyperOption) -> str:
    value = placeholder(option)
    return f"Write {key} = {json.dumps([value] if option.multiple else value)}."


def _as_given(option: typer.core.TyperOption, value: Any, folder: Path) -> object:
    """Return a value as the command line would give it; paths begin in the folder of their file."""
    if option.multiple:
        several = [value] if isinstance(value, str) else value
        return [os.path.join(folder, each) if is_path(option) else each for each in several]
    if is_path(option):
        return os.path.join(folder, value)
    return value if option.is_flag or _kind(option) is int else str(value)


def _unknown(option: typer.core.TyperOption, value: object) -> tuple[str, list[str]] | None:
    """Return a value that the option cannot have, and those that it can; None when all is well."""
    given = value if isinstance(value, list) else [value]
    allowed = values_of(option)
    wrong = next((str(each) for each in given if allowed and each not in allowed), None)
    return None if wrong is None else (wrong, allowed)


def _lines(text: str) -> Iterator[tuple[tuple[str, ...], int]]:
    """Yield keys and tables, each as its path, with their lines; tomllib itself does not tell them."""
    table: tuple[str, ...] = ()
    for number, line in enumerate(text.split("\n"), start=1):
        if line.lstrip().startswith("["):
            table = _path(line) or table
            yield table, number
        elif "=" in line and (key := _path(f"{line.partition('=')[0]} = 0")):
            yield (*table, *key), number


def _path(toml: str) -> tuple[str, ...]:
    """Return the keys that lead to the one thing that a line of TOML declares, nothing for no such line."""
    import tomllib  # noqa: PLC0415 -- as above

    try:
        value: object = tomllib.loads(toml)
    except tomllib.TOMLDecodeError:
        return ()
    path: list[str] = []
    while isinstance(value, dict) and value:
        name, value = next(iter(value.items()))
        path.append(name)
    return tuple(path)


def project_file() -> Path | None:
    """Return the ``metspack.toml`` of the current folder, or of the nearest folder above, if there is one.

    The search ends with a folder that holds ``.git``, with the home folder, and where another file system
    begins; above the current one, no folder is looked into that everybody may write to, such as /tmp.
    """
    here = Path.cwd()
    for folder in _searched(here):
        if os.path.lexists(folder / FILE_NAME):
            return Path(FILE_NAME) if folder == here else folder / FILE_NAME
    return None


def user_file() -> Path:
    """Return where the user's own file is looked for: $XDG_CONFIG_HOME, ~/.config, or as macOS has it."""
    return Path(typer.get_app_dir("metspack")) / FILE_NAME


def _searched(here: Path) -> Iterator[Path]:
    yield here
    home = Path.home()
    device = here.stat().st_dev
    below = here
    for folder in here.parents:
        if below == home or os.path.lexists(below / ".git"):
            return
        status = folder.stat()
        if status.st_dev != device or status.st_mode & stat.S_IWOTH:
            return
        yield folder
        below = folder
