"""``metspack check`` and ``metspack explain``."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from metspack.cli import console, options
from metspack.errors import ConfigError
from metspack.sizes import counted

if TYPE_CHECKING:
    from collections.abc import Iterable

    from metspack.checking import Summary
    from metspack.model import Finding

_FAIL_ON = ("error", "warning", "never")
_ALL = 0


def check(  # noqa: PLR0917 -- a command's options
    package: Annotated[
        Path,
        typer.Argument(metavar="PACKAGE", help="A package's folder, or its METS file.", show_default=False),
    ],
    level: Annotated[
        str,
        typer.Option(
            "--level",
            metavar="LEVEL",
            help="How far to look: links (METS files only), structure (all that needs no LOB's bytes), "
            "full (every byte).",
        ),
    ] = "full",
    fail_on: Annotated[
        str,
        typer.Option(
            "--fail-on", metavar="SEVERITY", help="Exit with 1 from which severity: error, warning, never."
        ),
    ] = "error",
    limit: Annotated[
        int,
        typer.Option("--limit", metavar="N", min=0, help="Show at most N findings of a code; 0 shows all."),
    ] = 20,
    budget: options.Budget = None,
    json_output: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Check that parent and children name each other, and that every file is what METS and manifests say.

    Reads only what lies on disk, of any package. Every finding has a code; **metspack explain**
    says what it means and what to do. Exits with 1 when there is an error.

    `metspack check out`
    """
    from metspack import checking  # noqa: PLC0415 -- commands load what they need
    from metspack.reporting import findings as forms  # noqa: PLC0415

    if fail_on not in _FAIL_ON:
        raise ConfigError(f"--fail-on {fail_on!r} is not known", hint=f"Choose one of {', '.join(_FAIL_ON)}.")
    try:
        chosen = checking.Level(level)
    except ValueError:
        names = ", ".join(each.value for each in checking.Level)
        raise ConfigError(f"--level {level!r} is not known", hint=f"Choose one of {names}.") from None
    with console.progress(quiet=quiet) as progress:
        full = chosen is checking.Level.FULL and not quiet
        progress.stage("Checking", checking.weight(package) if full else None)
        run = checking.check(package, chosen, progress=progress.advance, budgets=options.budgets(budget))
        found = checking.ordered(run)
        if json_output:
            records = list(found)
            console.document(forms.document(run.summary, records, path=str(package), level=level))
        else:
            _show(found, limit, quiet=quiet)
    summary = run.summary
    if not json_output and not quiet:
        console.out(_verdict(package, level, summary))
    if (summary.errors and fail_on != "never") or (summary.warnings and fail_on == "warning"):
        raise typer.Exit(1)


def _show(found: Iterable[Finding], limit: int, *, quiet: bool) -> None:
    """Print the findings, of each code up to the limit, and how many more there are; exhausts them."""
    from metspack.reporting.findings import line  # noqa: PLC0415

    seen: Counter[str] = Counter()
    for each in found:
        seen[each.code] += 1
        if not quiet and (limit == _ALL or seen[each.code] <= limit):
            console.out(line(each))
    for code, count in sorted(seen.items()):
        if not quiet and _ALL != limit < count:
            console.out(f"... and {counted(count - limit, 'more finding')} {code} (--limit 0 shows all)")


def _verdict(package: Path, level: str, summary: Summary) -> str:
    looked = (
        f"{package}: {counted(summary.packages, 'METS file')}, {counted(summary.files, 'listed file')}, "
        f"{counted(summary.links, 'link')}"
    )
    if summary.bytes:
        looked += f", {counted(summary.bytes, 'byte')} read"
    counts = ", ".join(
        (
            counted(summary.errors, "error"),
            counted(summary.warnings, "warning"),
            *((counted(summary.infos, "note"),) if summary.infos else ()),
        )
    )
    return f"{looked}; level {level}: {counts}"


def explain(
    code: Annotated[
        str, typer.Argument(metavar="CODE", help="A finding's code, such as L001.", show_default=False)
    ],
) -> None:
    """Say what a finding's code means, where the rule stands, and what to do.

    `metspack explain L001`
    """
    from metspack import checking  # noqa: PLC0415 -- commands load what they need

    said = checking.explained(code)
    console.out(f"{said.code}  {said.title} ({said.severity.value})")
    console.out()
    console.out(said.meaning)
    console.out()
    console.out(f"Rule:  {said.clause}")
    console.out(f"To do: {said.remedy}")
