"""``metspack links``: parents and children, as a tree, a table or a graph."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from metspack.cli import console
from metspack.cli.options import choices, common
from metspack.cli.options.common import checked_folders
from metspack.cli.options.groups import option
from metspack.errors import ConfigError
from metspack.sizes import counted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from metspack.checking.links.graph import Graph

_TEXTS = ("tree", "table")
_FORMS = choices.of(*_TEXTS, "json", "mermaid", "svg")


def links(
    packages: common.Packages,
    *,
    root: common.Root = None,
    form: Annotated[
        str | None,
        option(
            "--format FORM",
            "Format of the result: tree (the default), table, json, mermaid or svg.",
            choice=_FORMS,
        ),
    ] = None,
    json_output: common.JsonForm = False,
    summary: Annotated[
        bool,
        option("--summary", "Print the number of links in each state, and only the faulty links."),
    ] = False,
    output: Annotated[
        list[Path] | None,
        option(
            "-o --output FILE",
            "Also write the links to this file; its form follows from its suffix: .json, .mmd (Mermaid) "
            "or .svg. An earlier one is replaced. Repeatable.",
        ),
    ] = None,
    budget: common.Budget = None,
    quiet: common.Quiet = False,
) -> None:
    """Show the links between parents and children in both directions, and where each package is.

    Reads only METS files. Children and parents that are not in their places are searched for by OBJID under
    each **--root**, also in zip and tar files. A link is ok, elsewhere (found by OBJID), one-way, broken or
    missing. Exits with 1 when a link is faulty; **metspack check** explains why.

    `metspack links out --root /mnt/disk2 --format svg > links.svg`
    """
    from metspack import checking  # noqa: PLC0415 -- commands load what they need
    from metspack.reporting import formats  # noqa: PLC0415

    shown = _FORMS.read("--format", common.json_form(form, json_output=json_output) or "tree")
    is_text = shown in _TEXTS
    if summary and not is_text:
        raise ConfigError(f"--summary and --format {shown} cannot be combined", hint="Leave one out.")
    with formats.LinkFiles(output or (), checked_folders(packages)) as files:
        run = checking.check(packages, checking.Level.LINKS, roots=root or (), budgets=common.budgets(budget))
        for _ in run:
            pass
        files.write(run.graphs)
    if summary:
        _print_summary(run.graphs)
    elif not (quiet and is_text):
        _print(run.graphs, shown)
    errors = run.summary.errors
    if errors and is_text:
        console.prose(f"{counted(errors, 'error')}; for details: metspack check --level links")
    if errors or any(graph.is_broken for graph in run.graphs):
        raise typer.Exit(1)


def _print_summary(graphs: Sequence[Graph]) -> None:
    from metspack.reporting import linkgraph as forms  # noqa: PLC0415

    for graph in graphs:
        for line in forms.summary(graph):
            console.prose(line, "    ")


def _print(graphs: Sequence[Graph], form: str) -> None:
    from metspack.reporting import linkgraph as forms  # noqa: PLC0415

    if form == "json":
        for piece in forms.lines(graphs):
            console.pour(piece.encode())
    elif form == "table":
        console.table(forms.HEADER, (row for graph in graphs for row in forms.rows(graph)), frozenset())
    elif form == "tree":
        for graph in graphs:
            for line in forms.tree(graph):
                console.prose(line, forms.hanging(line))
    else:
        for text in forms.svg(graphs) if form == "svg" else forms.mermaid(graphs):
            for line in text.splitlines():
                console.out(line)
