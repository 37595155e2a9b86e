"""``metspack check``: links, files, digests and cells of packages, with reports."""

from __future__ import annotations

from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from metspack import clock
from metspack.cli import console
from metspack.cli.options import choices, common
from metspack.cli.options.groups import Group, RareHeading, option, values
from metspack.errors import ConfigError, Interrupted
from metspack.limits import Budgets, Limits
from metspack.mets import links
from metspack.model import Severity
from metspack.sizes import count, size
from metspack.system import os

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from metspack.checking.options import CheckOptions
    from metspack.reporting.formats import KeptCheck
    from metspack.reporting.model import Frame, Provenance
    from metspack.reporting.store import FindingStore

_REPORTS = "Reports"
_RARE_REPORTS = RareHeading(_REPORTS)
_PROVENANCE_PARTS = ("time", "host", "operator", "path")
_PROVENANCE = choices.of(*_PROVENANCE_PARTS)
_NEVER = "never"
_SEVERITIES = choices.of(*(each.value for each in Severity), _NEVER)
_LIMIT = 10


@dataclass(frozen=True, kw_only=True)
class LookGroup(Group):
    """The extent of a check, and the schemas for METS documents."""

    level: str = option(
        "--level LEVEL",
        "Extent of the check: links (METS files only), structure (everything except the bytes of "
        "LOBs), fixity (size and digests of every file, without opening the archive), full "
        "(every byte).",
        choice=choices.levels,
        default="full",
    )
    sample: str | None = option(
        "--sample SHARE",
        "Hash only a percentage (1%) or a number (250) of each package's files, always the same "
        "ones for a seed; the others are checked without reading them. Requires level fixity or "
        "full.",
    )
    seed: int | None = option(
        "--seed N",
        "Seed for the sample; another seed selects other files.",
        show_default="0",
        min=0,
        rare=True,
    )
    schema_dir: Path | None = option(
        "--schema-dir DIR",
        "Validate METS files against the schemas in this folder instead of metspack's own. They "
        "are found by namespace: METS and XLink, and the CSIP and SIP attributes if present.",
        rare=True,
    )
    expect: Path | None = option(
        "--expect FILE",
        "List of the packages expected: OBJIDs or folder names, one per line or as CSV with a "
        "header, or the METS of a parent. Missing packages are errors (M014), packages not on the list "
        "warnings (M015).",
        rare=True,
    )
    seal: str | None = option(
        "--seal VALUE|FILE",
        "Seal that the package must have: sha256:..., as build printed it, or the file that its --seal "
        "wrote, which shows which file differs (F046).",
    )
    ledger: Path | None = option(
        "--ledger FILE",
        "Record in FILE when each file was verified; an interrupted check resumes from it.",
    )
    older_than: str | None = option(
        "--older-than PERIOD",
        "With --ledger, read only what was verified longer ago (90d, 36h), is new or changed.",
    )
    strict_schema: bool = option(
        "--strict-schema",
        "Also validate METS with the xmlschema library (slow; holds each file in memory). What it finds "
        "is an error (M027).",
        rare=True,
    )

    def values(self) -> dict[str, Any]:
        """Return the extent of the check; raises ``ConfigError`` for a seed without a sample."""
        if self.seed is not None and self.sample is None:
            raise ConfigError("--seed requires --sample", hint="Add a sample, such as --sample 1%.")
        return super().values()


@dataclass(frozen=True, kw_only=True)
class ProvenanceGroup(Group, panel=_RARE_REPORTS):
    """Facts for reports: when, where and by whom a check was made."""

    created: str | None = option(
        "--created TIME",
        "Time of the check, such as 2026-05-01T12:00:00Z, or now; default: SOURCE_DATE_EPOCH, else now "
        "in .html and .txt reports and none in the others, so that these are identical.",
    )
    operator: str | None = option(
        "--operator NAME",
        "Who makes the check, in .html and .txt reports; default: the login name.",
    )
    host: str | None = option(
        "--host NAME",
        "Where it is made, in the same; default: the name of this machine.",
    )
    withhold: list[str] | None = option(
        "--withhold WHAT",
        "Leave this out of .html and .txt reports: time, host, operator or path (the absolute one). "
        "Repeatable.",
        choice=_PROVENANCE,
    )
    no_provenance: bool = option(
        "--no-provenance --reproducible",
        "Leave out all four, except those given: .html and .txt reports of the same check are then "
        "identical too.",
    )

    def made_by(self, packages: Sequence[Path]) -> tuple[str, Provenance]:
        """Return the given time or "", and the provenance for reports that are filed."""
        from metspack.reporting.formats import provenance  # noqa: PLC0415

        left_out = set(_PROVENANCE.read_all("--withhold", self.withhold or ()))

        def fact(part: str, given: str | None) -> str | None:
            """Return a fact: "" leaves it out, None looks it up."""
            return "" if part in left_out else given or ("" if self.no_provenance else None)

        created = fact("time", _created(self.created))
        return created or "", provenance(
            packages,
            clock.now(os.environ) if created is None else created,
            host=fact("host", self.host),
            operator=fact("operator", self.operator),
            shows_paths=fact("path", None) is None,
        )


def check(
    packages: list[Path] = common.PACKAGES,
    *,
    root: list[Path] | None = common.ROOT,
    look: LookGroup,
    jobs: int | None = option(
        "-j --jobs N",
        "Number of worker processes (default: automatic). The result does not depend on it.",
        min=1,
        rare=True,
    ),
    cluster: str | None = common.CLUSTER,
    fail_on: str = option(
        "--fail-on SEVERITY",
        "Lowest severity for exit code 1: error, warning, info, or never.",
        choice=_SEVERITIES,
        default="error",
    ),
    limit: int = option(
        "--max-per-code --limit N",
        "Show at most N findings per code; 0 shows all. Report files hold all (.html: 500).",
        min=0,
        default=_LIMIT,
    ),
    summary: bool = option(
        "--summary",
        "Print only the number of findings of each code.",
    ),
    report: list[Path] | None = option(
        "--report -o --output FILE",
        "Also write a report; its suffix chooses the format: .html, .json, .jsonl, .txt, .csv (a line "
        "for each package), .xml (JUnit). An earlier report is replaced. Repeatable.",
        _REPORTS,
    ),
    json_output: bool = common.JSON,
    jsonl_output: bool = option(
        "--jsonl",
        "Print the result as JSON lines: a head, each finding, the result.",
        rare=True,
    ),
    provenance: ProvenanceGroup,
    max_files: str | None = option(
        "--max-files N",
        "Limit on files, shown against the segments in .html reports.",
        _RARE_REPORTS,
    ),
    max_bytes: str | None = option(
        "--max-bytes SIZE",
        "Limit on bytes, shown against the segments in .html reports: 45000, 4GB, 4GiB.",
        _RARE_REPORTS,
    ),
    profile: str = option(
        "--profile PROFILE",
        "Standards to validate each METS against: those that it declares (auto), none (recommendation), "
        "CSIP (csip), E-ARK SIP (sip), CITS SIARD (cits-siard).",
        choice=choices.checked_profiles,
        default="auto",
    ),
    budget: list[str] | None = common.BUDGET,
    quiet: bool = common.QUIET,
) -> None:
    """Check that parent and children name each other, and compare files with METS and manifests.

    Only what is on disk counts; the package may come from any software. Children that are not in their
    places are searched for by OBJID under each **--root** and in the packages given. Every finding has a
    code; **metspack explain** gives its meaning and remedy. Exits with 1 when there is an error. If
    interrupted, it reports what it has found so far.

    `metspack check out --report report.html`
    """
    from metspack.checking.options import CheckOptions  # noqa: PLC0415 -- commands load what they need
    from metspack.reporting.formats import open_reports  # noqa: PLC0415

    named = _SEVERITIES.read("--fail-on", fail_on)
    failing = None if named == _NEVER else Severity(named)
    options = CheckOptions(
        **values(look),
        roots=tuple(root or ()),
        jobs=jobs,
        cluster=cluster,
        profile=choices.checked_profiles.read("--profile", profile),
        budgets=common.budgets(budget),
    )
    if json_output and jsonl_output:
        raise ConfigError(
            "--json and --jsonl cannot be combined", hint="Choose one; --report writes the other."
        )
    limits = Limits(
        files=count(max_files, "--max-files") if max_files else None,
        bytes=size(max_bytes, "--max-bytes") if max_bytes else None,
    )
    created, found_by = provenance.made_by(packages)
    with (
        open_reports(report or (), packages) as write,
        # Printed results need no figures.
        _checked(packages, options, gathers=bool(report), quiet=quiet) as (run, interrupted),
    ):
        frame = replace(run.frame(), created=created, fail_on=failing, limits=limits, provenance=found_by)
        form = "json" if json_output else "jsonl" if jsonl_output else ""
        _print(frame, run.kept, None if summary else limit, form=form, quiet=quiet)
        write(frame, run.kept)
    if interrupted is not None:
        raise interrupted
    if frame.is_failed:
        raise typer.Exit(1)


def check_existing(target: Path, objid: str, budgets: Budgets, *, json_output: bool, quiet: bool) -> None:
    """Check in full a package that was to be made and exists already, and print the result.

    ``objid`` is the OBJID that it was to get, or "". Exits with 1 for errors, and for a package with another
    OBJID: it was built from another source, or with other options.
    """
    from metspack.checking.options import CheckOptions  # noqa: PLC0415 -- commands load what they need
    from metspack.reporting import json  # noqa: PLC0415

    if not quiet:
        console.info(f"{target} exists already: it is checked, and nothing is built")
    with _checked([target], CheckOptions(budgets=budgets), gathers=False, quiet=quiet) as (run, interrupted):
        frame = replace(run.frame(), created=_created(None) or "")
        found = [each.objid for each in run.summary.results if each.objid]
        is_same = links.bare(objid) in map(links.bare, found) if objid and found else None
        if json_output:
            head = {"target": str(target), "existed": True, "objid": objid or None, "is_same": is_same}
            console.document(head | {"check": json.members(frame, run.kept)})
        else:
            _print(frame, run.kept, _LIMIT, form="", quiet=quiet)
    if interrupted is not None:
        raise interrupted
    if is_same is False:
        console.error(
            f"{target} is another package: its OBJID is {', '.join(found)}, expected {objid}",
            "It was built from another source or with other options: compare, or choose another target.",
        )
    if is_same is False or frame.is_failed:
        raise typer.Exit(1)


@contextmanager
def _checked(
    packages: Sequence[Path], options: CheckOptions, *, gathers: bool, quiet: bool
) -> Iterator[tuple[KeptCheck, Interrupted | None]]:
    """Run a check to its end or an interruption; yield it, with the interruption or None."""
    from metspack.reporting.formats import KeptCheck  # noqa: PLC0415 -- commands load what they need

    with ExitStack() as stack:
        with console.progress("check", quiet=quiet) as progress:
            run = KeptCheck(packages, options, progress=progress, gathers=gathers, keeps_links=False)
            stack.callback(run.close)
            interrupted = run.end()
        yield run, interrupted


def _created(given: str | None) -> str | None:
    """Return the time for reports, or None."""
    if given is None:
        return clock.now(os.environ) if "SOURCE_DATE_EPOCH" in os.environ else None
    if given.strip().lower() == "now":
        return clock.now(os.environ)
    try:
        return clock.parsed(given)
    except ConfigError as error:
        raise ConfigError(f"--created {error.message}", hint=error.hint.replace("Z.", "Z, or now.")) from None


def _print(frame: Frame, kept: FindingStore, limit: int | None, *, form: str, quiet: bool) -> None:
    """Print and log the result; ``limit`` is None for the totals only."""
    console.log_event("result", errors=frame.summary.errors, warnings=frame.summary.warnings)
    if form:
        from metspack.reporting import json  # noqa: PLC0415

        for block in (json.document if form == "json" else json.lines)(frame, kept):
            console.pour(block.encode())
    else:
        from metspack.reporting import text  # noqa: PLC0415

        width = console.width()
        least = Severity.WARNING if quiet else Severity.INFO
        grouped = text.totals(kept, least) if limit is None else text.grouped(kept, limit or None, least)
        for line in grouped if quiet else chain(text.unopened(frame), grouped, text.verdict(frame)):
            for row in (line,) if width is None else text.wrapped(line, width):
                console.styled(row)
