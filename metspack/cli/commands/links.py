"""``metspack links``: parents and children, as a tree or as JSON."""

from __future__ import annotations

from itertools import chain
from pathlib import Path

import typer

from metspack.cli import console
from metspack.cli.options import common
from metspack.cli.options.groups import option
from metspack.errors import ConfigError
from metspack.sizes import counted


def links(
    packages: list[Path] = common.PACKAGES,
    *,
    root: list[Path] | None = common.ROOT,
    json_output: bool = common.JSON,
    summary: bool = option(
        "--summary", "Print the number of links in each state, and only the faulty links."
    ),
    budget: list[str] | None = common.BUDGET,
    quiet: bool = common.QUIET,
) -> None:
    """Show the links between parents and children in both directions, and where each package is.

    Reads only METS files. Children and parents that are not in their places are searched for by OBJID under
    each **--root**, also in zip and tar files. A link is ok, elsewhere (found by OBJID), one-way, broken or
    missing. Exits with 1 when a link is faulty; **metspack check** explains why.

    `metspack links out --root /mnt/disk2`
    """
    from metspack.reporting import linkgraph  # noqa: PLC0415 -- commands load what they need

    if summary and json_output:
        raise ConfigError("--summary and --json cannot be combined", hint="Leave one out.")
    report = linkgraph.LinkReport.of(packages, root or (), common.budgets(budget))
    if json_output:
        for piece in linkgraph.lines(report.graphs):
            console.pour(piece.encode())
    elif summary or not quiet:
        for line in chain.from_iterable(map(linkgraph.summary if summary else linkgraph.tree, report.graphs)):
            console.prose(line, linkgraph.hanging(line))
    if report.errors and not json_output:
        console.prose(f"{counted(report.errors, 'error')}; for details: metspack check --level links")
    if not report.ok:
        raise typer.Exit(1)
