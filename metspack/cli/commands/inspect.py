"""``metspack inspect``: the tables and LOBs of a source."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from metspack.cli import console
from metspack.cli.options import choices, common
from metspack.cli.options.common import LocationGroup
from metspack.cli.options.groups import option
from metspack.errors import ConfigError

if TYPE_CHECKING:
    from metspack.inspecting.verification import Verdict
    from metspack.sources.opening import Source


def inspect(
    source: Path = common.SOURCE,
    *,
    lobs: bool = option("--lobs", "Print one JSON line per LOB instead of the summary."),
    verify: bool = option(
        "--verify",
        "Read every LOB and compare it with the digest and length in its cell, and with its CRC; "
        "read the archive and compare its messageDigest.",
    ),
    accept: list[str] | None = option(
        "--accept WHAT",
        "With --verify, accept what would be an error: dbptk-part-digest (a split LOB whose "
        "digest covers only its last part). A missing table is always shown as a warning. Repeatable.",
        choice=choices.accepted,
    ),
    jobs: int | None = option(
        "-j --jobs N",
        "With --verify, number of worker processes (default: automatic). The result does not depend on it.",
        min=1,
    ),
    locations: LocationGroup,
    budget: list[str] | None = common.BUDGET,
    json_output: bool = common.JSON,
    quiet: bool = common.QUIET,
) -> None:
    """Show the contents of a source: its tables, and the LOBs of each column with their locations and sizes.

    A LOB is **inside** the archive, **outside** in a file beside it, or **inline** in the cell itself.
    The column **located by** gives the rule: C is the DILCIS Board's statement on LOB locations,
    other letters are conventions of real archives. Files that no cell names are listed too. With --verify the
    archive's messageDigest is compared with its content; one that differs is a warning.

    Exits with 1 when a LOB is not found (missing, refused or ambiguous), when the archive lacks a table, or
    when --verify finds a fault.

    `metspack inspect Northwind.siard`
    """
    from metspack.sources import opening  # noqa: PLC0415 -- commands load what they need

    if lobs and json_output:
        raise ConfigError(
            "--lobs and --json cannot be combined", hint="--lobs is JSON already; leave one out."
        )
    if jobs is not None and lobs:
        raise ConfigError(
            "--jobs cannot be combined with --lobs",
            hint="One process reads the LOBs that it lists: leave --jobs out.",
        )
    if jobs is not None and not verify:
        raise ConfigError("--jobs requires --verify", hint="Add --verify, or leave --jobs out.")
    if accept and not verify:
        raise ConfigError("--accept requires --verify", hint="Add --verify, or leave --accept out.")
    takes = choices.accepted.read_all("--accept", accept)
    grants = locations.grants()
    accepted = takes if verify else None
    with opening.opened(source, common.budgets(budget), grants) as opened:
        if lobs:
            is_bad = _list_lobs(opened, accepted, quiet=quiet)
        else:
            is_bad = _print_inspection(opened, accepted, jobs, json_output=json_output, quiet=quiet)
    if is_bad:
        raise typer.Exit(1)


def _print_inspection(
    source: Source, accepted: frozenset[str] | None, jobs: int | None, *, json_output: bool, quiet: bool
) -> bool:
    """Print an inspection, verified unless ``accepted`` is None; return if it has faults."""
    from metspack.cli import inspection  # noqa: PLC0415
    from metspack.reporting.inspection import inspect_source  # noqa: PLC0415

    def report_fault(verdict: Verdict) -> None:
        if not json_output:
            console.error(verdict.message, verdict.hint)

    with console.progress(quiet=quiet) as progress:
        report = inspect_source(source, accepted, jobs, progress, report_fault)
    if json_output:
        console.document(report.document)
        return not report.ok
    if not quiet:
        inspection.show(source, report.contents, report.facts, console.width())
        for sentence in report.contents.history:
            console.info(f"METS notes on the archive: {sentence}")
    console.warning(*report.contents.warnings)
    for column in report.contents.columns:
        inspection.print_errors(column)
    if report.verification is not None and not quiet:
        inspection.print_verification(report.verification, report.facts)
    return not report.ok


def _list_lobs(source: Source, accepted: frozenset[str] | None, *, quiet: bool) -> bool:
    """Print each LOB, verified unless ``accepted`` is None; return if any has a fault."""
    from metspack.inspecting import survey  # noqa: PLC0415
    from metspack.inspecting.verification import verdict_on  # noqa: PLC0415
    from metspack.reporting import inspection as reporting  # noqa: PLC0415
    from metspack.sources.archive import Archive  # noqa: PLC0415
    from metspack.sources.lobstream import OpenSources  # noqa: PLC0415

    is_bad, held = False, source.byte_sources()
    # A bar and lines on one terminal would write over each other.
    with (
        console.progress(quiet=quiet or console.width() is not None) as progress,
        ExitStack() as stack,
    ):
        opened = stack.enter_context(OpenSources(held))
        # A verification counts the bytes of the LOBs, whose sum is not determined yet.
        weight = source.weight() if isinstance(source, Archive) and accepted is None else None
        progress.stage("Listing LOBs", weight)
        advance = None if weight is None else progress.advance
        for column_of, _, batches in survey.by_table(source, advance):
            for found in batches:
                if (present := source.byte_sources()) != held:  # packed segments were found meanwhile
                    opened.check_unchanged()
                    held, opened = present, stack.enter_context(OpenSources(present))
                for each in found.cells():
                    (cell, run, *_), verdict = each, None
                    paths = () if run is None else survey.paths(held, run)
                    if run is not None and accepted is not None:
                        verdict = verdict_on(run.lob(0), opened, accepted, progress.advance)
                    is_bad = is_bad or run is None or (verdict is not None and verdict.fault is not None)
                    console.record(reporting.lob(each, column_of(cell.place), paths, verdict))
            console.finish()  # a reader of the output gets a table's LOBs when the table has been read
        opened.check_unchanged()
    if isinstance(source, Archive):
        is_bad = is_bad or bool(source.lacking)
        console.warning(*source.conventions())
    return is_bad
