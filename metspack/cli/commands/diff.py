"""``metspack diff``: the differences between two packages."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from metspack.cli import console
from metspack.cli.options import common
from metspack.cli.options.groups import argument, option
from metspack.sizes import counted

if TYPE_CHECKING:
    from metspack.checking.diff import Difference


def diff(  # noqa: PLR0917 -- a command's options
    first: Annotated[
        Path,
        argument("A", "A package: its folder, METS file, or zip or tar file."),
    ],
    second: Annotated[Path, argument("B", "The other package.")],
    root: common.Root = None,
    root_a: Annotated[
        list[Path] | None,
        option("--root-a DIR", "Like --root, for A only."),
    ] = None,
    root_b: Annotated[
        list[Path] | None,
        option("--root-b DIR", "Like --root, for B only."),
    ] = None,
    by_bytes: Annotated[
        bool,
        option(
            "--bytes",
            "Read every file, listed or not, instead of relying on sizes and digests in METS.",
        ),
    ] = False,
    json_output: common.Json = False,
    budget: common.Budget = None,
    quiet: common.Quiet = False,
) -> None:
    """Compare two packages: files and links added, removed, moved or changed.

    A file is moved when the other package has the same digest at another path. It is unknown when the
    digests in METS cannot be compared; **--bytes** compares it. A package may be spread over several
    folders, disks and packed files: its children are found by OBJID. Exits with 1 when anything differs.

    `metspack diff out copy --root-b /mnt/disk2`
    """
    from metspack.checking.diff import Comparison  # noqa: PLC0415 -- commands load what they need

    found: list[dict[str, Any]] = []
    counts: Counter[str] = Counter()
    with console.progress(quiet=quiet or json_output) as progress:
        progress.stage("Comparing", None)
        with Comparison(
            first,
            second,
            by_bytes=by_bytes,
            roots=root or (),
            own_roots=(root_a or (), root_b or ()),
            progress=progress.advance,
            budgets=common.budgets(budget),
        ) as comparison:
            for each in comparison.differences():
                counts[f"{each.what} {each.kind.value}"] += 1
                if json_output:
                    found.append(each.document())
                elif not quiet:
                    console.out(_line(each))
    if json_output:
        console.document(
            {
                "first": str(first),
                "second": str(second),
                "by_bytes": by_bytes,
                "counts": {what.lower().replace(" ", "_"): number for what, number in sorted(counts.items())},
                "differences": found,
            }
        )
    elif not quiet:
        total = counted(sum(counts.values()), "difference")
        said = ", ".join(f"{number:,} {what}" for what, number in sorted(counts.items()))
        console.out(f"{first} and {second}: {total}{f' ({said})' if said else ''}")
    if counts:
        raise typer.Exit(1)


def _line(each: Difference) -> str:
    detail = f" -> {each.other}" if each.other else ""
    if each.before and each.after:
        detail = f": {each.before.words()}; now {each.after.words()}"
    return f"{each.what} {each.kind.value} {each.name}{detail}"
