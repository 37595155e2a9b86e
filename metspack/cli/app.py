"""The commands."""

from __future__ import annotations

from typing import Annotated

import typer

from metspack.cli import (
    build,
    cat,
    check,
    convert,
    diff,
    inspect,
    links,
    plan,
    restore,
    roundtrip,
    sample,
    shards,
)
from metspack.version import __version__

app = typer.Typer(
    name="metspack",
    no_args_is_help=True,
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
    version: Annotated[
        bool, typer.Option("--version", help="Print the version.", callback=_version, is_eager=True)
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


app.command("inspect")(inspect.inspect)
app.command("plan")(plan.plan)
app.command("build")(build.build)
app.command("check")(check.check)
app.command("explain")(check.explain)
app.command("links")(links.links)
app.command("diff")(diff.diff)
app.command("convert")(convert.convert)
app.command("restore")(restore.restore)
app.command("cat")(cat.cat)
app.command("shards")(shards.shards)
app.command("roundtrip")(roundtrip.roundtrip)
app.command("sample")(sample.sample)
