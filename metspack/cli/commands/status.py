"""``metspack status``: the state of a run, and the way to continue a stopped one."""

from __future__ import annotations

from pathlib import Path

import typer

from metspack.cli import console
from metspack.cli.options import common
from metspack.cli.options.groups import argument
from metspack.files import journal

_UNFINISHED = 6


def status(
    target: Path = argument("OUT", "Target of a build, convert, merge, restore or add, or its OUT.partial."),
    json_output: bool = common.JSON,
    quiet: bool = common.QUIET,
) -> None:
    """Show how far the run is that makes OUT, and how to go on with one that was stopped.

    Reads the journal in OUT.partial and changes nothing, also while the run is at work. Exits with 6 when the
    run was stopped and can go on, with 0 when it is running, or when OUT is complete.

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
