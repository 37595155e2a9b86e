"""``metspack check``: links, files, digests and cells of packages, with reports."""

from __future__ import annotations

import os
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from metspack import clock
from metspack.cli import console
from metspack.cli.options import choices, common
from metspack.cli.options.groups import Group, option, values
from metspack.errors import ConfigError, Interrupted
from metspack.model import Limits, Severity
from metspack.sizes import count, size

if TYPE_CHECKING:
    from collections.abc import Sequence

    from metspack.checking.run import Checking
    from metspack.reporting.model import Frame, ReportFacts
    from metspack.reporting.store import FindingStore

_NEVER = "never"
_SEVERITIES = choices.of(*(each.value for each in Severity), _NEVER)
_REPORTS = "Reports"


@dataclass(frozen=True, kw_only=True)
class LookGroup(Group):
    """The extent of a check, and the schemas for METS documents."""

    level: Annotated[
        str,
        option(
            "--level LEVEL",
            "Extent of the check: links (METS files only), structure (everything except the bytes of "
            "LOBs), fixity (size and digests of every file, without opening the archive), full "
            "(every byte).",
            choice=choices.levels,
        ),
    ] = "full"
    sample: Annotated[
        str | None,
        option(
            "--sample SHARE",
            "Hash only a percentage (1%) or a number (250) of each package's files, always the same "
            "ones for a seed; the others are checked without reading them. Requires level fixity or "
            "full.",
        ),
    ] = None
    seed: Annotated[
        int | None,
        option(
            "--seed N",
            "Seed of the sample; another one selects other files.",
            show_default="0",
            min=0,
        ),
    ] = None
    schema_dir: Annotated[
        Path | None,
        option(
            "--schema-dir DIR",
            "Validate METS files against the schemas in this folder instead of metspack's own. They "
            "are found by namespace: METS and XLink, and the CSIP and SIP attributes if present.",
        ),
    ] = None
    expect: Annotated[
        Path | None,
        option(
            "--expect FILE",
            "List of the packages that have to come: OBJIDs or folder names, one a line or as CSV with a "
            "header, or the METS of a parent. Those that did not come are errors (M014), all others warnings "
            "(M015).",
        ),
    ] = None
    strict_schema: Annotated[
        bool,
        option(
            "--strict-schema",
            "Also validate METS files with a second engine, xmlschema, which holds each file in "
            "memory. What it finds is an error (M027).",
        ),
    ] = False

    def values(self) -> dict[str, Any]:
        """Return the extent of the check; raises ``ConfigError`` for a seed without a sample."""
        if self.seed is not None and self.sample is None:
            raise ConfigError("--seed requires --sample", hint="Add a sample, such as --sample 1%.")
        return super().values()


def check(
    packages: common.Packages,
    *,
    root: common.Root = None,
    look: LookGroup,
    jobs: Annotated[
        int | None,
        option(
            "-j --jobs N",
            "Number of processes that list and hash files; default: as many as help. The result is "
            "always the same.",
            min=1,
        ),
    ] = None,
    fail_on: Annotated[
        str,
        option(
            "--fail-on SEVERITY",
            "Lowest severity for exit code 1: error, warning, info, or never.",
            choice=_SEVERITIES,
        ),
    ] = "error",
    limit: Annotated[
        int,
        option(
            "--max-per-code --limit N",
            "Show at most N findings per code; 0 shows all. Report files hold all (.html: 500).",
            min=0,
        ),
    ] = 10,
    summary: Annotated[
        bool,
        option(
            "--summary",
            "Print how many findings each code has, and none of them.",
        ),
    ] = False,
    report: Annotated[
        list[Path] | None,
        option(
            "--report FILE",
            "Also write a report; its form follows from its suffix: .html, .json, .jsonl, .sarif, "
            ".txt, .xml (JUnit). An earlier report is replaced. Repeatable.",
            _REPORTS,
        ),
    ] = None,
    json_output: common.Json = False,
    jsonl_output: Annotated[
        bool,
        option(
            "--jsonl",
            "Print the result as JSON lines: a head, each finding, the result.",
        ),
    ] = False,
    created: Annotated[
        str | None,
        option(
            "--created TIME",
            "Time of the check in reports, such as 2026-05-01T12:00:00Z, or now; default: "
            "SOURCE_DATE_EPOCH, or none, so that reports of the same check are identical.",
            _REPORTS,
        ),
    ] = None,
    max_files: Annotated[
        str | None,
        option(
            "--max-files N",
            "Limit on files, shown against the segments in .html reports.",
            _REPORTS,
        ),
    ] = None,
    max_bytes: Annotated[
        str | None,
        option(
            "--max-bytes SIZE",
            "Limit on bytes, shown against the segments in .html reports: 45000, 4GB, 4GiB.",
            _REPORTS,
        ),
    ] = None,
    profile: Annotated[
        str,
        option(
            "--profile PROFILE",
            "E-ARK standards that each METS is checked against: those that it declares (auto), none "
            "(recommendation), CSIP (csip), E-ARK SIP (sip), CITS SIARD (cits-siard).",
            choice=choices.checked_profiles,
        ),
    ] = "auto",
    budget: common.Budget = None,
    quiet: common.Quiet = False,
) -> None:
    """Check that parent and children name each other, and that every file is as METS and manifests say.

    Only what is on disk counts; the package may come from any software. Children that are not in their
    places are looked for by OBJID under each **--root** and in the packages given. Every finding has a code;
    **metspack explain** gives its meaning and remedy. Exits with 1 when there is an error. When interrupted,
    it reports what it has found so far, and says so.

    `metspack check out --report report.html`
    """
    from metspack import checking  # noqa: PLC0415 -- commands load what they need
    from metspack.checking.options import CheckOptions  # noqa: PLC0415
    from metspack.progress import LateStage  # noqa: PLC0415
    from metspack.reporting import facts  # noqa: PLC0415
    from metspack.reporting.formats import ReportFiles  # noqa: PLC0415
    from metspack.reporting.model import Frame  # noqa: PLC0415
    from metspack.reporting.store import FindingStore  # noqa: PLC0415

    fail_on = _SEVERITIES.read("--fail-on", fail_on)
    looking = CheckOptions(
        **values(look),
        roots=tuple(root or ()),
        jobs=jobs,
        profile=choices.checked_profiles.read("--profile", profile),
        budgets=common.budgets(budget),
    ).looking()
    chosen = looking.level
    if json_output and jsonl_output:
        raise ConfigError(
            "--json and --jsonl cannot be combined", hint="Choose one; --report writes the other."
        )
    limits = Limits(
        files=count(max_files, "--max-files") if max_files else None,
        bytes=size(max_bytes, "--max-bytes") if max_bytes else None,
    )
    moment = _created(created)
    figures: list[ReportFacts] = []
    folders: dict[str, Path] = {}

    def gather(checked: checking.Checked) -> None:
        folders[checked.prefix] = checked.package.root
        folders.update({each: Path(each) for each in checked.places.given.values()})
        figures.append(facts.facts_of(checked, chosen))

    with ReportFiles(report or (), _folders(packages)) as files, FindingStore() as kept:
        with console.progress("check", quiet=quiet) as progress:
            is_weighed = looking.sample is None and not quiet
            late = LateStage(
                progress,
                "Reading METS",
                "Checking",
                lambda: checking.weight(packages, whole=chosen.hashes) if is_weighed else None,
            )
            # What is printed needs no figures.
            observer = gather if report else None
            run = checking.Checking(packages, looking, late.advance, root or (), observer)
            interrupted = _take_findings(run, kept)
        frame = Frame(
            path=", ".join(map(str, packages)),
            level=chosen.value,
            summary=run.summary,
            sample=looking.sample,
            is_complete=interrupted is None,
            created=moment,
            fail_on=None if fail_on == _NEVER else Severity(fail_on),
            limits=limits,
            facts=facts.together(figures),
        )
        _print(
            frame,
            kept,
            None if summary else limit,
            form="json" if json_output else "jsonl" if jsonl_output else "",
            quiet=quiet,
        )
        console.tell("result", errors=run.summary.errors, warnings=run.summary.warnings)
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


def _created(given: str | None) -> str:
    """Return the time that reports give for themselves, empty for none."""
    if given is None:
        return clock.now(os.environ) if "SOURCE_DATE_EPOCH" in os.environ else ""
    if given.strip().lower() == "now":
        return clock.now(os.environ)
    try:
        return clock.parsed(given)
    except ConfigError as error:
        raise ConfigError(f"--created {error.message}", hint=error.hint.replace("Z.", "Z, or now.")) from None


def _take_findings(run: Checking, kept: FindingStore) -> Interrupted | None:
    """Take all findings of a check; returns what ended it before its time, if anything did."""
    try:
        kept.add_all(run)
    except Interrupted as interrupted:
        run.stop()
        return interrupted
    return None


def _print(frame: Frame, kept: FindingStore, limit: int | None, *, form: str, quiet: bool) -> None:
    """Print the result; ``limit`` is None for the totals alone."""
    from metspack.reporting import json, text  # noqa: PLC0415

    if form:
        for block in (json.document if form == "json" else json.lines)(frame, kept):
            console.pour(block.encode())
    elif not quiet:
        width = console.width()
        grouped = text.totals(kept) if limit is None else text.grouped(kept, limit or None)
        for line in chain(text.unopened(frame), grouped, text.verdict(frame)):
            for row in (line,) if width is None else text.wrapped(line, width):
                console.styled((piece.text, piece.tone.value) for piece in row)
