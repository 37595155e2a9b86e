"""The commands, with the options that all of them have, as one Typer application."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from importlib import import_module
from typing import Any

import typer
from typer.core import TyperGroup, TyperOption

from metspack.cli.options import choices
from metspack.cli.options.groups import (
    FROM_STORES,
    Command,
    Group,
    argument,
    help_switch,
    make_command,
    option,
    set_reading,
)
from metspack.errors import ConfigError
from metspack.resources import __version__

_COMMANDS = (
    *("inspect", "plan", "build", "check", "explain", "links", "convert", "merge"),
    *("restore", "cat", "list", "shards", "status", "sample", "help"),
)
"""The commands in the order of the help, each a separate module, except the help itself."""

_SHORT = {"explain", "sample", "status"}
"""Commands without ``--log``."""


class Commands(Mapping[str, Any]):
    """The commands by name, each loaded on first use: most calls are of one."""

    def __getitem__(self, name: str) -> Any:
        """Return the command of a name."""
        if name not in _COMMANDS:
            raise KeyError(name)
        return _load(name)

    def __iter__(self) -> Iterator[str]:
        return iter(_COMMANDS)

    def __len__(self) -> int:
        return len(_COMMANDS)


@cache
def _load(name: str) -> Any:
    """Return a command; its module has the function."""
    single = typer.Typer(add_completion=False, rich_markup_mode="markdown", pretty_exceptions_enable=False)
    function = show_help if name == "help" else getattr(import_module(f"metspack.cli.commands.{name}"), name)
    single.command(name, cls=Command)(make_command(function, *_around(name)))
    return typer.main.get_command(single)


def _around(name: str) -> tuple[type[Group], ...]:
    """Return the groups of options that a command has besides those of its function."""
    if name == "help":
        return ()
    from metspack.cli.config import ConfigGroup  # noqa: PLC0415 -- only for those with some
    from metspack.cli.options.common import LogGroup, StoresGroup  # noqa: PLC0415

    if name in _SHORT:
        return (ConfigGroup,)
    stores = (StoresGroup,) if name in FROM_STORES else ()
    return (*stores, LogGroup, ConfigGroup)


def show_help(
    ctx: typer.Context,
    command: str | None = argument(
        "[COMMAND]", "The command; default: metspack itself.", choices.of(*_COMMANDS), default=None
    ),
) -> None:
    """Show the help of a command.

    `metspack help build`
    """
    shown = ctx.find_root()
    if command is not None:
        found = choices.of(*_COMMANDS).read("COMMAND", command)
        shown = typer.Context(Commands()[found], parent=shown, info_name=found)
    typer.echo(shown.get_help())


class MetspackGroup(TyperGroup):
    """The outermost command, which loads those below it on first use."""

    def __init__(self, **attributes: Any) -> None:
        super().__init__(**{**attributes, "commands": None})
        self.commands = Commands()  # type: ignore[assignment]

    def list_commands(self, ctx: typer.Context) -> list[str]:  # type: ignore[override]  # noqa: ARG002
        """Return the names of the commands, in their order."""
        return list(self.commands)

    def get_help_option(self, ctx: typer.Context) -> TyperOption | None:  # type: ignore[override]
        """Return the option that shows the help."""
        return help_switch(super().get_help_option(ctx))


app = typer.Typer(
    name="metspack",
    cls=MetspackGroup,
    invoke_without_command=True,
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="A first try: metspack sample northwind . && "
    "metspack plan Northwind.siard --max-files 4 --max-bytes 45000",
)


@app.callback()
def metspack(
    ctx: typer.Context,
    version: bool = option("-V --version", "Print the version."),
    json_output: bool = option(
        "--json", "With --version, print it as JSON. For results, write --json after the command."
    ),
) -> None:
    """Package a SIARD archive whose large objects (LOBs) no longer fit in one folder.

    The LOBs go into numbered folders, each an information package with a METS file of its own; the
    parent's METS and theirs name each other. **check** verifies at any time that the links
    and files are intact.

    Exit codes: 0 fine, 1 findings, 2 usage, 3 the source or plan is refused, 4 the target cannot be
    written, 5 the target exists already, 6 interrupted earlier, to be resumed, 70 a bug in metspack, 130 and
    143 interrupted.
    """
    if version:
        from metspack.cli import console  # noqa: PLC0415 -- the help needs none of it

        if json_output:
            console.document({})
        else:
            console.out(f"metspack {__version__}")
        raise typer.Exit
    if json_output:
        raise ConfigError(
            "--json stands before the command",
            hint="Write it after the name of the command: metspack check OUT --json.",
        )
    if ctx.invoked_subcommand is None:
        typer.echo(ctx.get_help())
        raise typer.Exit(2)


command = typer.main.get_command(app)
"""The application as one command, made once."""
for _each in command.params:
    set_reading(_each)
