"""The commands, with the options that surround them, as one Typer application."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated

import typer

from metspack.cli.commands import (
    add,
    build,
    cat,
    check,
    config,
    convert,
    diff,
    explain,
    inspect,
    links,
    merge,
    plan,
    restore,
    roundtrip,
    sample,
    shards,
)
from metspack.cli.config.layers import ConfigGroup, Configured
from metspack.cli.console import LogGroup
from metspack.cli.options.groups import Command, CommandGroup, Group, expanded, option
from metspack.resources import __version__

app = typer.Typer(
    name="metspack",
    cls=CommandGroup,
    invoke_without_command=True,
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="A first try: metspack sample northwind . && "
    "metspack plan Northwind.siard --max-files 4 --max-bytes 45000",
)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"metspack {__version__}")
        raise typer.Exit


@app.callback()
def metspack(
    ctx: typer.Context,
    version: Annotated[
        bool,
        option(
            "--version",
            "Print the version.",
            callback=_version,
            is_eager=True,
        ),
    ] = False,
) -> None:
    """Package a SIARD archive whose large objects (LOBs) no longer fit in one folder.

    The LOBs go into numbered folders, each an information package with a METS file of its own; the
    parent's METS and theirs name each other. **check** proves at any later time that the
    links and every byte still hold.

    Exit codes: 0 fine, 1 findings, 2 usage, 3 the source or plan is refused, 4 the target or its disk
    is, 70 a fault of metspack, 130 interrupted.
    """
    del version
    if ctx.invoked_subcommand is None:
        typer.echo(ctx.get_help())
        raise typer.Exit(2)


def _add(command: Callable[..., None], *around: type[Group]) -> None:
    """Add a command: one that can be configured, if there are groups around it."""
    cls = Configured if around else Command
    app.command(command.__name__, cls=cls)(expanded(command, *around))


_LONG = (LogGroup, ConfigGroup)
"""What a command has that may work for long."""

_add(inspect.inspect, *_LONG)
_add(plan.plan, *_LONG)
_add(build.build, *_LONG)
_add(add.add, *_LONG)
_add(check.check, *_LONG)
_add(explain.explain)
_add(links.links, *_LONG)
_add(diff.diff, *_LONG)
_add(convert.convert, *_LONG)
_add(merge.merge, *_LONG)
_add(restore.restore, *_LONG)
_add(cat.cat, *_LONG)
_add(shards.shards, *_LONG)
_add(roundtrip.roundtrip, *_LONG)
_add(sample.sample, ConfigGroup)
app.add_typer(config.app, name="config")

command = typer.main.get_command(app)
"""All of it as one command, made once."""
