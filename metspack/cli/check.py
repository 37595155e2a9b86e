"""``metspack check`` and ``metspack explain``."""

from __future__ import annotations

import os
from datetime import datetime
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from metspack import clock
from metspack.cli import Interrupted, choices, console, logfile, options
from metspack.errors import ConfigError
from metspack.model import Limits, Severity
from metspack.sizes import count, size

if TYPE_CHECKING:
    from collections.abc import Sequence

    from metspack.checking.looking import Looking
    from metspack.checking.package import Checking
    from metspack.reporting.kept import FindingStore
    from metspack.reporting.model import Frame, ReportFacts

_NEVER = "never"
_FAIL_ON: dict[str, Severity | None] = {each.value: each for each in Severity} | {_NEVER: None}
_ALL = 0
_REPORTS = "Reports"


def check(  # noqa: PLR0917 -- a command's options
    packages: options.Packages,
    root: options.Root = None,
    level: Annotated[
        str,
        typer.Option(
            "--level",
            autocompletion=choices.levels,
            metavar="LEVEL",
            help="How far to look: links (METS files only), structure (all that needs no LOB's bytes), "
            "fixity (size and digests of every file, not into the archive), full (every byte).",
        ),
    ] = "full",
    sample: Annotated[
        str | None,
        typer.Option(
            "--sample",
            metavar="SHARE",
            help="Hash only a percentage (1%) or a number (250) of each package's files, for one seed always "
            "the same ones; the rest is looked at without its bytes. With level fixity or full.",
            show_default=False,
        ),
    ] = None,
    seed: Annotated[
        int | None,
        typer.Option("--seed", metavar="N", min=0, help="Sample other files.", show_default="0"),
    ] = None,
    schema_dir: Annotated[
        Path | None,
        typer.Option(
            "--schema-dir",
            metavar="DIR",
            help="Judge METS files by the schemas in this folder instead of metspack's own. Found by their "
            "namespaces: METS and XLink, and the CSIP and SIP attributes if they are there.",
            show_default=False,
        ),
    ] = None,
    strict_schema: Annotated[
        bool,
        typer.Option(
            "--strict-schema",
            metavar=options.FLAG,
            help="Have METS files judged by a second engine, xmlschema, too; it holds each in memory. "
            "What it finds is an error (M027).",
        ),
    ] = False,
    jobs: Annotated[
        int | None,
        typer.Option(
            "-j",
            "--jobs",
            metavar="N",
            min=1,
            help="Processes that list and hash files, as many as help when left out; the result is always "
            "the same.",
            show_default=False,
        ),
    ] = None,
    fail_on: Annotated[
        str,
        typer.Option(
            "--fail-on",
            autocompletion=choices.of(*_FAIL_ON),
            metavar="SEVERITY",
            help="Exit with 1 from which severity on: error, warning, info, or never.",
        ),
    ] = "error",
    limit: Annotated[
        int,
        typer.Option(
            "--max-per-code",
            "--limit",
            metavar="N",
            min=0,
            help="Show at most N findings of a code; 0 shows all. Report files hold all (.html: 500).",
        ),
    ] = 10,
    report: Annotated[
        list[Path] | None,
        typer.Option(
            "--report",
            metavar="FILE",
            help="Write a report too, in the form that its name ends in: .html, .json, .jsonl, .sarif, .txt, "
            ".xml (JUnit). An earlier report is replaced. Repeatable.",
            rich_help_panel=_REPORTS,
            show_default=False,
        ),
    ] = None,
    json_output: options.Json = False,
    jsonl_output: Annotated[
        bool,
        typer.Option(
            "--jsonl",
            metavar=options.FLAG,
            help="Print the result as JSON lines: head, each finding, result.",
        ),
    ] = False,
    created: Annotated[
        str | None,
        typer.Option(
            "--created",
            metavar="TIME",
            help="The time that reports give for themselves, such as 2026-05-01T12:00:00Z, or now; without "
            "it they give SOURCE_DATE_EPOCH's or none, and two reports of one check are the same.",
            rich_help_panel=_REPORTS,
            show_default=False,
        ),
    ] = None,
    max_files: Annotated[
        str | None,
        typer.Option(
            "--max-files",
            metavar="N",
            help="Draw the segments in .html against this limit of files.",
            rich_help_panel=_REPORTS,
            show_default=False,
        ),
    ] = None,
    max_bytes: Annotated[
        str | None,
        typer.Option(
            "--max-bytes",
            metavar="SIZE",
            help="Draw the segments in .html against this limit of bytes: 45000, 4GB, 4GiB.",
            rich_help_panel=_REPORTS,
            show_default=False,
        ),
    ] = None,
    profile: Annotated[
        str,
        typer.Option(
            "--profile",
            autocompletion=choices.checked_profiles,
            metavar="PROFILE",
            help="The E-ARK standards that each METS is held against: those it says it follows (auto), none "
            "(recommendation), CSIP (csip), E-ARK SIP (sip), CITS SIARD (cits-siard).",
        ),
    ] = "auto",
    budget: options.Budget = None,
    quiet: options.Quiet = False,
) -> None:
    """Check that parent and children name each other, and that every file is what METS and manifests say.

    Reads only what lies on disk, of any package. Children that are not in their places are looked
    for by OBJID under each **--root** and in the packages given. Every finding has a code; **metspack
    explain** says what it means and what to do. Exits with 1 when there is an error. Interrupted, it
    reports what it found until then, and says so.

    `metspack check out --report report.html`
    """
    from metspack import checking  # noqa: PLC0415 -- commands load what they need
    from metspack.reporting import facts  # noqa: PLC0415
    from metspack.reporting.files import ReportFiles  # noqa: PLC0415
    from metspack.reporting.kept import FindingStore  # noqa: PLC0415
    from metspack.reporting.model import Frame  # noqa: PLC0415

    failing = _FAIL_ON[options.one_of("--fail-on", fail_on, _FAIL_ON)]
    looking = _looking(
        level, sample, seed, schema_dir, strict=strict_schema, jobs=jobs, profile=profile, budget=budget
    )
    chosen = looking.level
    if json_output and jsonl_output:
        raise ConfigError(
            "--json and --jsonl exclude each other", hint="Choose one; --report writes the other."
        )
    limits = Limits(
        files=count(max_files, "--max-files") if max_files else None,
        bytes=size(max_bytes, "--max-bytes") if max_bytes else None,
    )
    moment = _created(created)
    several = len(packages) > 1
    figures: list[ReportFacts] = []
    folders: dict[str, Path] = {}

    def gather(checked: checking.Checked) -> None:
        above = checked.package.shown if several else ""
        folders[above] = checked.package.root
        figures.append(facts.facts_of(checked, chosen, prefix=above))

    with ReportFiles(report or (), _folders(packages)) as files, FindingStore() as kept:
        with console.progress(quiet=quiet) as progress:
            is_weighed = chosen.hashes and sample is None and not quiet
            progress.stage("Checking", checking.weight(packages) if is_weighed else None)
            # What is printed needs no figures.
            observer = gather if report else None
            run = checking.Checking(packages, looking, progress.advance, root or (), observer)
            interrupted = _interrupted(run, kept)
        frame = Frame(
            path=", ".join(map(str, packages)),
            level=level,
            summary=run.summary,
            sample=looking.sample,
            is_complete=interrupted is None,
            created=moment,
            fail_on=failing,
            limits=limits,
            facts=facts.together(figures),
        )
        _print(
            frame, kept, limit, form="json" if json_output else "jsonl" if jsonl_output else "", quiet=quiet
        )
        logfile.tell("result", errors=run.summary.errors, warnings=run.summary.warnings)
        files.write(frame, kept, folders)
    if interrupted is not None:
        raise interrupted
    if frame.is_failed:
        raise typer.Exit(1)


def _folders(packages: Sequence[Path]) -> list[Path]:
    """Return the folders of packages, which no report may be put into; a zip or tar file has none."""
    return [path if path.is_dir() else path.parent for path in packages if _is_unpacked(path)]


def _is_unpacked(path: Path) -> bool:
    return path.is_dir() or (path.is_file() and path.suffix.lower() == ".xml")


def _looking(
    level: str,
    sample: str | None,
    seed: int | None,
    schema_dir: Path | None,
    *,
    strict: bool,
    jobs: int | None,
    profile: str,
    budget: list[str] | None,
) -> Looking:
    from metspack.checking import grammar, sampling, schema  # noqa: PLC0415 -- commands load what they need
    from metspack.checking.looking import Level, Looking  # noqa: PLC0415
    from metspack.checking.rules.profiles import Profile  # noqa: PLC0415

    options.one_of("--level", level, (each.value for each in Level))
    options.one_of("--profile", profile, (each.value for each in Profile))
    if seed is not None and sample is None:
        raise ConfigError("--seed means nothing without --sample", hint="Say how much: --sample 1%.")
    judged_by = None if schema_dir is None else grammar.of_folder(schema_dir)
    if strict:
        schema.check_second_engine(judged_by)
    return Looking(
        level=Level(level),
        budgets=options.budgets(budget),
        sample=None if sample is None else sampling.parsed(sample, sampling.SEED if seed is None else seed),
        grammar=judged_by,
        strict=strict,
        jobs=jobs,
        profile=Profile(profile),
    )


def _created(given: str | None) -> str:
    """Return the time that reports give for themselves, empty for none."""
    if given is None:
        return clock.now(os.environ) if "SOURCE_DATE_EPOCH" in os.environ else ""
    if given.strip().lower() == "now":
        return clock.now(os.environ)
    try:
        moment = datetime.fromisoformat(given)
    except ValueError:
        moment = None
    if moment is None or moment.tzinfo is None:
        raise ConfigError(
            f"--created {given!r} is no time with a time zone",
            hint="Write it as 2026-05-01T12:00:00Z, or now.",
        )
    return clock.written(moment)


def _interrupted(run: Checking, kept: FindingStore) -> Interrupted | None:
    """Take all findings of a check; returns what ended it before its time, if anything did."""
    try:
        kept.add_all(run)
    except Interrupted as interrupted:
        run.stop()
        return interrupted
    return None


def _print(frame: Frame, kept: FindingStore, limit: int, *, form: str, quiet: bool) -> None:
    from metspack.reporting import json, text  # noqa: PLC0415 -- commands load what they need

    if form:
        for block in (json.document if form == "json" else json.lines)(frame, kept):
            console.pour(block.encode())
    elif not quiet:
        width = console.width()
        for line in chain(text.grouped(kept, None if limit == _ALL else limit), text.verdict(frame)):
            for row in (line,) if width is None else text.wrapped(line, width):
                console.styled((piece.text, piece.tone.value) for piece in row)


def explain(
    code: Annotated[
        str,
        typer.Argument(
            metavar="CODE",
            autocompletion=choices.codes,
            help="A finding's code, such as L001, or a requirement of E-ARK's: CSIP66.",
            show_default=False,
        ),
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
