"""``metspack status``: the state of a run, and the way to resume an interrupted one."""

from __future__ import annotations

from pathlib import Path

import typer

from metspack.cli import console
from metspack.cli.options import common
from metspack.cli.options.groups import argument
from metspack.files import journal

_UNFINISHED = 6


def status(
    target: Path = argument("OUT", "Target of a build, convert, merge or restore, or its OUT.partial."),
    json_output: bool = common.JSON,
    quiet: bool = common.QUIET,
) -> None:
    """Show the progress of the run that makes OUT, and how to resume it after an interruption.

    Only reads the journal in OUT.partial, also while the run is at work. Exits with 6 when the run was
    interrupted and can be resumed, with 0 while it is running or when OUT is complete.

    `metspack status out.partial`
    """
    found = journal.status(target)
    if json_output:
        console.document(found.to_json())
    elif not quiet:
        for line in found.words():
            console.out(line)
    if found.state == "stopped":
        raise typer.Exit(_UNFINISHED)
