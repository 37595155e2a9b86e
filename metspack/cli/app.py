"""The commands."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated

import typer

from metspack.cli import (
    add,
    build,
    cat,
    check,
    config,
    convert,
    diff,
    inspect,
    links,
    logfile,
    merge,
    options,
    plan,
    restore,
    roundtrip,
    sample,
    shards,
)
from metspack.cli.configured import Common, Configured
from metspack.cli.groups import extended
from metspack.cli.helping import Command, Group
from metspack.cli.logfile import Logged
from metspack.version import __version__

app = typer.Typer(
    name="metspack",
    cls=Group,
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
        typer.Option(
            "--version",
            metavar=options.FLAG,
            help="Print the version.",
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


def _add(name: str, function: Callable[..., None], *, is_long: bool = True) -> None:
    """Add a command that can be configured; one that works long may write a log."""
    if is_long:
        function = extended(function, Logged, logfile.begin)
    app.command(name, cls=Configured)(extended(function, Common))


_add("inspect", inspect.inspect)
_add("plan", plan.plan)
_add("build", build.build)
_add("add", add.add)
_add("check", check.check)
app.command("explain", cls=Command)(check.explain)
_add("links", links.links)
_add("diff", diff.diff)
_add("convert", convert.convert)
_add("merge", merge.merge)
_add("restore", restore.restore)
_add("cat", cat.cat)
_add("shards", shards.shards)
_add("roundtrip", roundtrip.roundtrip)
_add("sample", sample.sample, is_long=False)
app.add_typer(config.app, name="config")
