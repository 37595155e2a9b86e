"""``metspack config``: the values of all options, their origins, and an example file."""

from __future__ import annotations

import json
import os
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperOption

from metspack.cli import console
from metspack.cli.config import files as configuration
from metspack.cli.config.files import ConfigFile, Section
from metspack.cli.config.layers import (
    ConfigGroup,
    Configured,
    Origins,
    commands,
    files,
    known,
    variables,
)
from metspack.cli.options import choices, common, groups
from metspack.cli.options.groups import Command, CommandGroup, argument, expanded, refusal
from metspack.errors import ConfigError
from metspack.sizes import counted

_WIDTH = 100
_METS_PROFILE = "profile"

app = typer.Typer(
    name="config",
    add_completion=False,
    rich_markup_mode="markdown",
    cls=CommandGroup,
    help="Show the values of options and their origins, check configuration files, and print an example.",
    no_args_is_help=False,
)


def _context(own: typer.Context, command: Configured, given: list[str]) -> tuple[typer.Context, Origins]:
    """Return a command's options as a call would find them, without calling it; raises ``ConfigError``."""
    ctx = typer.Context(command, parent=own.find_root(), info_name=command.name)
    origins = ctx.obj = Origins(command)
    try:
        found, _, _ = command.make_parser(ctx).parse_args(args=given)
        origins.read(ctx, found)
        for each in command.params:
            if isinstance(each, TyperOption) and not each.required:
                each.handle_parse_result(ctx, found, [])
    except typer.TyperException as error:
        raise refusal(error, origins.named(ctx, error.format_message())) from None
    origins.put_aside(ctx)
    return ctx, origins


@app.command("show", cls=Command)
@expanded
def show(
    ctx: typer.Context,
    command: Annotated[
        str | None,
        argument("[COMMAND]", "Show only the options of this command."),
    ] = None,
    arguments: Annotated[
        list[str] | None,
        argument("[-- OPTION...]", "Options to assume on the command line."),
    ] = None,
    *,
    config: ConfigGroup,
    origin: Annotated[
        bool,
        groups.option(
            "--origin",
            "Show where each value comes from: command line, environment variable, FILE:LINE or default.",
        ),
    ] = False,
    json_output: common.Json = False,
) -> None:
    """Show the effective value of every option.

    Values are taken from the first of these places that has one: command line, METSPACK_COMMAND_OPTION,
    METSPACK_OPTION, the chosen profile, the project's metspack.toml, the user's metspack.toml, the default.

    `metspack config show build --origin -- --max-files 4`
    """
    there = commands(ctx.find_root().command)
    if command is not None:
        choices.of(*there).read("COMMAND", command)
    given = [f"--{name}={value}" for name, value in (("config", config.config), ("use", config.use)) if value]
    found: dict[tuple[str, str, str, str], list[str]] = {}
    values: dict[tuple[str, str, str, str], Any] = {}
    for name, each in there.items():
        if command in {None, name}:
            context, origins = _context(ctx, each, [*given, *(arguments or ())])
            for key, option in each.settable.items():
                value = _plain(context.params[option.name])
                unset = "" if _is_set(value) else groups.unset(option, context.params)
                row = key, json.dumps(value), unset, origins.told(context, option)
                found.setdefault(row, []).append(name)
                values[row] = value
    _warn_of_variables(there)
    rows = [(row[0], names, values[row], *row[2:]) for row, names in sorted(found.items())]
    if json_output:
        console.document(
            {
                "options": [
                    {"option": key, "commands": names, "value": value}
                    | ({"effective": unset} if unset else {})
                    | ({"origin": where} if origin else {})
                    for key, names, value, unset, where in rows
                ]
            }
        )
        return
    several = {key for key, *_ in rows if sum(key == other for other, *_ in rows) > 1}
    header = ("option", "value", *(("origin",) if origin else ()))
    shown = [
        (
            f"{key} ({', '.join(names)})" if key in several else key,
            unset or _shown(value),
            *((where,) if origin else ()),
        )
        for key, names, value, unset, where in rows
    ]
    console.table(header, shown, frozenset())


@app.command("path", cls=Command)
@expanded
def path(*, config: ConfigGroup) -> None:
    """Print the paths of the configuration files that are read: the project's and the user's.

    `metspack config path`
    """
    project = config.config or configuration.project_file()
    for what, file in (("project", project), ("user", configuration.user_file())):
        there = file is not None and os.path.lexists(file)
        console.out(
            f"{what:<8}{configuration.FILE_NAME if file is None else file}{'' if there else ' (not there)'}"
        )


@app.command("check", cls=Command)
def check(
    ctx: typer.Context,
    file: Annotated[
        Path | None,
        argument("[FILE]", "A configuration file; default: those that are read."),
    ] = None,
) -> None:
    """Check configuration files: names, types and values of all settings, in every profile.

    `metspack config check metspack.toml`
    """
    there = commands(ctx.find_root().command)
    read = files(file, lambda: known(ctx.find_root().command))
    configuration.layers(read, None)
    for each in read:
        number = sum(_checked(there, section) for section in _sections(each))
        profiles = f", profiles {', '.join(each.profiles)}" if each.profiles else ""
        console.out(f"{each.path}: {counted(number, 'setting')}{profiles}")
    if not read:
        console.out(
            "There is no configuration file; metspack config path shows where metspack looks for one."
        )
    _warn_of_variables(there)


@app.command("example", cls=Command)
def example(ctx: typer.Context) -> None:
    """Print a configuration file to start from, with every option commented out.

    `metspack config example > metspack.toml`
    """
    for line in _example(commands(ctx.find_root().command)):
        console.out(line)


def _sections(file: ConfigFile) -> Iterator[Section]:
    yield file.plain
    yield from file.profiles.values()


def _checked(there: dict[str, Configured], section: Section) -> int:
    """Return how many settings a section has; raises ``ConfigError`` for one that no command takes."""
    number = 0
    for name, held in section.items():
        for key, setting in held.items():
            number += 1
            takers = [
                each
                for each in there.values()
                if key in each.settable and name in {configuration.EVERY, each.name}
            ]
            for command in takers:
                option = command.settable[key]
                try:
                    option.process_value(typer.Context(command, info_name=command.name), setting.value)
                except typer.TyperException as error:
                    raise ConfigError(
                        f"{setting.origin}: {key!r}: {error.message}",
                        hint=f"metspack {command.name} --help lists its values.",
                    ) from None
    return number


def _warn_of_variables(there: dict[str, Configured]) -> None:
    names = variables(there)
    for each in sorted(os.environ):
        if each.startswith("METSPACK_") and each not in names:
            hint = configuration.nearest(each, names)
            console.warning(f"the environment variable {each} sets no option. {hint}".rstrip())


def _plain(value: Any) -> Any:
    """Return a value as JSON has it."""
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    return str(value) if isinstance(value, Path) else value


def _is_set(value: Any) -> bool:
    return value not in (None, "", [], ())


def _shown(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(map(str, value))
    if isinstance(value, bool):
        return str(value).lower()
    return str(value)


def _example(there: dict[str, Configured]) -> Iterator[str]:
    """Yield the lines of a configuration file; those that begin with ``#`` and no space are configuration."""
    yield from _prose(
        "Settings of metspack: remove the # from a line to set it. The command line takes precedence over "
        "the environment (METSPACK_MAX_FILES), then come a profile, this file, and the user's own file. "
        "Relative paths begin in the folder of this file."
    )
    several: dict[str, dict[str, list[str]]] = {}
    for name, command in there.items():
        for key, option in command.settable.items():
            several.setdefault(key, {}).setdefault(option.help or "", []).append(name)
    alone = [(key, name) for key, helps in several.items() for name in _apart(key, helps)]
    for key, helps in several.items():
        text, names = next(iter(helps.items()))
        if key != _METS_PROFILE:
            yield ""
            yield from _prose(f"{text} ({', '.join(names)})")
            yield _line(key, there[names[0]].settable[key])
    for name, command in there.items():
        if any(other == name for _, other in alone):
            yield ""
            yield f"#[{name}]"
        for key, other in alone:
            if other == name:
                yield from _prose(command.settable[key].help or "")
                yield _line(key, command.settable[key])
    yield ""
    yield from _prose(
        "A profile holds settings that belong together, and may have tables for single commands. "
        "It applies when it is chosen: metspack build --use national-archives."
    )
    yield from (
        "#[profile.national-archives]",
        '#agent = ["National Archives"]',
        '#preset = "recommendation-0.28"',
        "",
        "#[profile.national-archives-sip]",
        '#agent = ["National Archives"]',
        '#dialect = "csip"',
        '#profile = "sip"',
        '#submitter = "National Archives"',
    )


def _apart(key: str, helps: dict[str, list[str]]) -> list[str]:
    """Return the commands in which an option means something of its own."""
    first = 0 if key == _METS_PROFILE else 1
    return [name for names in list(helps.values())[first:] for name in names]


def _prose(text: str) -> Iterator[str]:
    yield from (f"# {line}" for line in textwrap.wrap(text, _WIDTH))


def _line(key: str, option: TyperOption) -> str:
    value = option.default
    if value is None or value == "":
        allowed = configuration.values_of(option)
        value = allowed[0] if allowed else configuration.placeholder(option)
        value = [value] if option.multiple else value
    return f"#{key} = {json.dumps(value, ensure_ascii=False)}"
