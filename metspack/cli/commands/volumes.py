"""``metspack volumes``: a package on numbered media, divided, written and checked."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from metspack.cli import console
from metspack.cli.options import choices, common
from metspack.cli.options.common import EventsGroup, LogGroup, StagingGroup
from metspack.cli.options.groups import Command, CommandGroup, argument, expanded, option
from metspack.errors import ConfigError, Interrupted
from metspack.model import LinkMode, Severity
from metspack.sizes import counted, size

if TYPE_CHECKING:
    from collections.abc import Iterable

    from metspack.model import Finding
    from metspack.reporting.store import FindingStore
    from metspack.volumes.check import VolumesSummary
    from metspack.volumes.volumelist import VolumeList
    from metspack.volumes.write import WrittenVolumes

_FINDINGS = 1

app = typer.Typer(
    name="volumes",
    add_completion=False,
    rich_markup_mode="markdown",
    cls=CommandGroup,
    help="Divide a package over tapes or disks by whole segments, write them, and check those that are here.",
    no_args_is_help=False,
)

_VolumeSize = Annotated[
    str,
    option(
        "--volume-size SIZE",
        "Most bytes on a volume: 12TB, 11TiB. Leave room for what the medium itself needs.",
    ),
]
_Packages = Annotated[
    list[Path], argument("FOLDER...", "Folders of volumes: NAME_volume_1, or where such media are mounted.")
]


def _begin(*, json_output: bool) -> None:
    if json_output:
        console.expect_json()


def _bytes(volume_size: str) -> int:
    found = size(volume_size, "--volume-size")
    if found is None:
        raise ConfigError("--volume-size none: a volume has a size", hint="Give that of a medium: 12TB.")
    return found


def plan(
    package: common.Package,
    *,
    volume_size: _VolumeSize,
    budget: common.Budget = None,
    json_output: common.Json = False,
    quiet: common.Quiet = False,
) -> None:
    """Show which segments go on which volume, without writing anything.

    Segments stay whole and in their order: a volume closes when the next segment would exceed its size. The
    archive and the parent's own files lie on the first; METS of the parent, both manifests and the list of
    what lies where on each.

    `metspack volumes plan out --volume-size 12TB`
    """
    from metspack.volumes.write import plan_volumes  # noqa: PLC0415 -- commands load what they need

    _begin(json_output=json_output)
    most = _bytes(volume_size)
    with console.progress("volumes", quiet=quiet or json_output) as progress:
        found = plan_volumes(package, most, budgets=common.budgets(budget), progress=progress)
    if json_output:
        console.document(found.to_json())
    elif not quiet:
        _show(package, found)


def _show(package: Path, found: VolumeList) -> None:
    console.out(
        f"{package}: {counted(found.count, 'segment')} on {counted(len(found.volumes), 'volume')} of at most "
        f"{counted(found.volume_size, 'byte')}"
    )
    rows = [
        (
            number,
            f"{len(segments):,}",
            f"{files:,}",
            f"{octets:,}",
            segments[0].path if segments else "-",
            segments[-1].path if segments else "-",
        )
        for number, (segments, (files, octets)) in enumerate(
            zip(found.volumes, found.amounts(), strict=True), 1
        )
    ]
    header = ("volume", "segments", "files", "bytes", "from", "to")
    console.table(header, rows, frozenset({0, 1, 2, 3}))
    repeated = ", ".join(each.path for each in found.everywhere)
    own = counted(found.parent.files, "other file of the parent", "other files of the parent")
    first = f" On volume 1: {own}." if found.parent.files else ""
    console.out(f"On every volume: {repeated}, the list.{first} Nothing was written.")


def write(
    package: common.Package,
    out: Annotated[Path, argument("DIR", "Folder in which the volumes are made, each a folder; it exists.")],
    *,
    volume_size: _VolumeSize,
    volume: Annotated[
        int | None,
        option("--volume N", "Write only this volume, onto the medium that is mounted at DIR.", min=1),
    ] = None,
    link_mode: Annotated[
        str,
        option(
            "--link-mode MODE",
            "How files come onto volumes: copy (the default) or hardlink (the same file under another name, "
            "which is still read and compared). Hard links need the same file system.",
            choice=choices.link_modes,
        ),
    ] = "copy",
    stopped: StagingGroup,
    budget: common.Budget = None,
    json_output: common.Json = False,
    quiet: common.Quiet = False,
) -> None:
    """Write a package onto volumes: DIR/NAME_volume_1, DIR/NAME_volume_2 ...

    Every byte is read once and compared with both manifests while it is copied. Each volume is complete or
    absent; the package is only read. Volumes that are there already stay as they are, and a volume that was
    stopped goes on with the same command.

    `metspack volumes write out /mnt/tape --volume-size 12TB --volume 3`
    """
    from metspack.volumes.write import write_volumes  # noqa: PLC0415 -- commands load what they need

    _begin(json_output=json_output)
    most, mode = _bytes(volume_size), choices.link_modes.read("--link-mode", link_mode)
    with console.progress("volumes", quiet=quiet or json_output) as progress:
        made = write_volumes(
            package,
            out,
            most,
            volume=volume,
            hard_links=mode is LinkMode.HARDLINK,
            budgets=common.budgets(budget),
            progress=progress,
            terms=stopped.terms(),
        )
    console.tell("result", volumes=len(made.volumes))
    if json_output:
        console.document(made.to_json())
    elif not quiet:
        _tell(made)


def _tell(made: WrittenVolumes) -> None:
    for each in made.volumes:
        segments = counted(len(made.listed.volumes[each.number - 1]), "segment")
        amounts = f"{segments}, {counted(each.files, 'file')}, {counted(each.bytes, 'byte')}"
        console.out(f"{each.path}: {amounts}{', there already' if each.existed else ''}")
    names = " ".join(shlex.quote(str(each.path)) for each in made.volumes)
    new = sum(not each.existed for each in made.volumes)
    here = f"{new:,} of {counted(len(made.listed.volumes), 'volume')} written"
    if new:
        here += ", every byte compared with the manifests"
    console.out(f"{here}. To check: metspack volumes check {names}")


def check(
    packages: _Packages,
    *,
    seal: Annotated[
        str | None,
        option(
            "--seal VALUE|FILE",
            "Seal that the package must have: sha256:..., as build printed it, or the file that its --seal "
            "wrote.",
        ),
    ] = None,
    ledger: Annotated[
        Path | None,
        option(
            "--ledger FILE",
            "Remember in FILE which segments were verified when: what earlier checks verified counts.",
        ),
    ] = None,
    require_all: Annotated[
        bool,
        option("--require-all", "Exit with 1 as long as not all of the package was verified, now or before."),
    ] = False,
    fail_on: common.FailOn = "error",
    limit: Annotated[
        int,
        option("--max-per-code --limit N", "Show at most N findings per code; 0 shows all.", min=0),
    ] = 10,
    jobs: common.CheckJobs = None,
    budget: common.Budget = None,
    json_output: common.Json = False,
    quiet: common.Quiet = False,
) -> None:
    """Check the volumes that are here, be it one, and say what of the package has been verified in all.

    Every byte on them is read and compared with METS and manifests. What the list has on other volumes is not
    missed; what it has on this one is. Exits with 1 for findings; volumes that are not here are none, unless
    --require-all is given.

    `metspack volumes check /mnt/tape/out_volume_3 --ledger out.ledger`
    """
    from metspack.checking.options import sealed  # noqa: PLC0415 -- commands load what they need
    from metspack.reporting.store import FindingStore  # noqa: PLC0415
    from metspack.volumes.check import VolumesCheck  # noqa: PLC0415

    _begin(json_output=json_output)
    failing = common.failing(fail_on)
    known = None if seal is None else sealed(seal)
    with FindingStore() as kept:
        with console.progress("volumes", quiet=quiet or json_output) as progress:
            found = VolumesCheck(
                packages,
                seal=known,
                ledger=ledger,
                jobs=jobs,
                budgets=common.budgets(budget),
                progress=progress,
            )
            told: Iterable[Finding] = found
            for events in console.followed():
                told = events.findings(told)
            interrupted = None
            try:
                kept.add_all(told)
            except Interrupted as stopped:
                interrupted = stopped
        _print(found.summary, kept, limit or None, json_output=json_output, quiet=quiet)
    if interrupted is not None:
        raise interrupted
    summary = found.summary
    console.tell("result", errors=summary.errors, warnings=summary.warnings, complete=summary.is_complete)
    for events in console.followed():
        events.judge("error" if summary.errors else "warning" if summary.warnings else "ok")
    if _is_failed(summary, failing) or (require_all and not summary.is_complete):
        raise typer.Exit(_FINDINGS)


def _is_failed(summary: VolumesSummary, failing: Severity | None) -> bool:
    """Return whether there are findings of the severity at which the command fails, or graver ones."""
    from metspack.reporting.model import rank  # noqa: PLC0415 -- commands load what they need

    counts = dict(zip(Severity, (summary.errors, summary.warnings, summary.infos), strict=True))
    return failing is not None and any(count for each, count in counts.items() if rank(each) <= rank(failing))


def _print(
    summary: VolumesSummary, kept: FindingStore, limit: int | None, *, json_output: bool, quiet: bool
) -> None:
    from metspack.reporting import text  # noqa: PLC0415 -- commands load what they need
    from metspack.reporting.model import record  # noqa: PLC0415

    if json_output:
        console.document(summary.to_json() | {"findings": map(record, kept.by_place())})
        return
    for line in text.grouped(kept, limit, Severity.WARNING if quiet else Severity.INFO):
        console.styled((piece.text, piece.tone.value) for piece in line)
    if not quiet:
        for words in summary.words():
            console.out(words)


app.command("plan", cls=Command)(expanded(plan, LogGroup))
app.command("write", cls=Command)(expanded(write, LogGroup, EventsGroup))
app.command("check", cls=Command)(expanded(check, LogGroup, EventsGroup))
