"""``metspack restore``: the LOBs of a package as files, or in one archive."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from metspack.cli import console
from metspack.cli.options import choices, common
from metspack.cli.options.groups import option
from metspack.cli.options.package import JOBS
from metspack.digests import MANIFESTS
from metspack.errors import ConfigError, SourceError
from metspack.layouts.names import SIARD
from metspack.sizes import counted
from metspack.system import quoted

if TYPE_CHECKING:
    from collections.abc import Callable

    from metspack.restoring.files import Restored, RestoreOptions
    from metspack.restoring.siard import Into

_ARCHIVE = "An archive"


def restore(
    package: Path = common.OUT,
    *,
    output: Path | None = option(
        "-o --output TARGET",
        "Folder to create, or with --siard the .siard file or a folder for it; must not exist yet.",
    ),
    dry_run: bool = option(
        "--dry-run",
        "Read, join and verify every LOB as if it were restored, and write nothing. All faults are "
        "reported, not only the first.",
    ),
    only: list[str] | None = option(
        "--only ID",
        "Restore only this LOB (s0.t2.c4.r14), or those of this column (s0.t2.c4) or table "
        "(s0.t2). Repeatable.",
    ),
    table: str = common.TABLE,
    column: str = common.COLUMN,
    key: list[str] | None = common.KEY,
    names: str | None = option(
        "--names NAMES",
        "Names of the files: archive (as in the archive; the default), or key (table, primary key and "
        "column, with the extension of the bytes, such as dbo.Categories/7_Picture.jpg).",
        choice=choices.file_names,
    ),
    siard: bool = option(
        "--siard",
        "Restore one archive with all its LOBs, as it was before packaging, instead of files.",
        _ARCHIVE,
    ),
    into: str | None = option(
        "--into WHERE",
        "With --siard, the place for the LOBs: inside (in the archive; the default), or folder "
        "(TARGET is a folder with the archive and, beside it, one folder of LOBs as in SIARD "
        "2.2; LOBs that stayed inside stay there).",
        _ARCHIVE,
        choice=choices.places,
    ),
    lob_folder_style: str | None = option(
        "--lob-folder-style STYLE",
        "With --into folder, the form of LOB locations in the archive: dilcis (the default), sfa or "
        "dbptk, as metspack build has them.",
        _ARCHIVE,
        choice=choices.folder_styles,
    ),
    archive: str | None = option(
        "--archive NAME",
        "Which archive to restore, if the package holds several: the name of its .siard.",
        _ARCHIVE,
    ),
    accept: list[str] | None = common.ACCEPT,
    stopped: common.StagingGroup,
    jobs: int | None = JOBS,
    cluster: str | None = common.CLUSTER,
    root: list[Path] | None = common.ROOT,
    budget: list[str] | None = common.BUDGET,
    json_output: bool = common.JSON,
    quiet: bool = common.QUIET,
) -> None:
    """Restore the LOBs of a package, as files or into one SIARD archive.

    The files are in the folders of the archive, such as content/schema0/table2/lob4/record0.bin, without
    segments, and with manifests for md5sum -c and sha256sum -c. Parts are joined. Every LOB is compared with
    the digests of its parts and of the whole in METS, and with its cell, while it is written. The package is
    only read. TARGET appears complete or not at all; the same command resumes an interrupted restore
    of files.

    `metspack restore out -o lobs`

    `metspack restore out -o Northwind.siard --siard`

    `metspack restore out -o lobs --table Categories --column Picture --key 7`

    `metspack restore out --dry-run`
    """
    from metspack.restoring import files  # noqa: PLC0415 -- commands load what they need
    from metspack.restoring import siard as archives  # noqa: PLC0415
    from metspack.restoring.files import RestoreOptions  # noqa: PLC0415

    by_name = [name for name, given in (("--table", table), ("--column", column), ("--key", key)) if given]
    _check_selection(siard=siard, into=into, only=only, of_files=by_name, accept=accept)
    if siard and names == "key":
        raise ConfigError(
            "--names key cannot be combined with --siard",
            hint="An archive names its own entries: leave --names out, or write --names archive.",
        )
    budgets, roots = common.budgets(budget), tuple(root or ())
    if by_name:
        from metspack.packages.listing import selected  # noqa: PLC0415
        from metspack.packages.package import Package  # noqa: PLC0415

        with Package(package, budgets, roots) as opened:
            only = [*(only or ()), *selected(opened, table, column, key or (), budgets)]
    settings = RestoreOptions(
        only=tuple(only or ()),
        archive=archive,
        accepted=choices.accepted.read_all("--accept", accept),
        lob_folder_style=choices.folder_styles.read("--lob-folder-style", lob_folder_style or "dilcis"),
        budgets=budgets,
        jobs=jobs,
        cluster=cluster,
        roots=roots,
        names=choices.file_names.read("--names", names or "archive"),
    )
    where = choices.places.read("--into", into or "inside")
    if lob_folder_style is not None and into != "folder":
        raise ConfigError(
            "--lob-folder-style requires --into folder",
            hint="LOBs inside the archive need no lobFolder: leave --lob-folder-style out.",
        )
    if dry_run:
        _check_dry_run(output, stopped)
        _run_dry(package, settings, where if siard else None, json_output=json_output, quiet=quiet)
        return
    if output is None:
        raise ConfigError(
            "restore requires --output TARGET", hint="Name the target, or add --dry-run to write nothing."
        )
    _check_target(output, siard=siard, into=into)
    with console.progress("restore siard" if siard else "restore", quiet=quiet) as progress:
        if siard:
            restored = archives.restore_archive(
                package, output, where, settings, progress, terms=stopped.terms()
            )
        else:
            restored = files.restore_files(package, output, settings, progress, stopped.terms())
    console.warning(*restored.warnings)
    document = restored.to_json() | {"target": str(output)}
    console.log_event("result", **document)
    if json_output:
        console.document(document)
    elif not quiet:
        console.out(_totals(output, restored, where if siard else None))
        _print_written(restored, output, siard=siard)


def _check_selection(
    *, siard: bool, into: str | None, only: list[str] | None, of_files: list[str], accept: list[str] | None
) -> None:
    """Raise ``ConfigError`` for options that contradict each other."""
    if not siard and into is not None:
        raise ConfigError("--into requires --siard", hint="Add --siard, or leave --into out.")
    for name in (*(["--only"] if only else ()), *of_files, *(["--accept"] if accept else ())):
        if siard:
            raise ConfigError(
                f"{name} cannot be combined with --siard",
                hint="An archive holds all its LOBs, with their right digests"
                + ("; metspack convert has --accept." if name == "--accept" else f": leave {name} out."),
            )


def _check_dry_run(output: Path | None, stopped: common.StagingGroup) -> None:
    """Raise ``ConfigError`` for options of a target."""
    for name, given in (
        ("--output", output),
        ("--restart", stopped.restart),
        ("--discard-on-interrupt", stopped.discard_on_interrupt),
    ):
        if given:
            raise ConfigError(
                f"--dry-run cannot be combined with {name}",
                hint="A dry run writes nothing: leave one of the two out.",
            )


def _check_target(output: Path, *, siard: bool, into: str | None) -> None:
    """Raise ``ConfigError`` for a target whose name contradicts the kind of restore."""
    if not siard:
        if output.suffix.lower() == SIARD:
            raise ConfigError(
                f"{output} is the name of an archive, but LOBs are restored as files",
                hint="Add --siard for an archive, or name a folder.",
            )
        return
    if into == "folder" and output.suffix.lower() == SIARD:
        raise ConfigError(
            f"{output} is the name of an archive, but --into folder makes a folder",
            hint="Name the folder for the archive and its LOBs, without .siard at the end.",
        )


def _run_dry(
    package: Path, options: RestoreOptions, into: Into | None, *, json_output: bool, quiet: bool
) -> None:
    """Print the result that a restore would have, and each fault as it is found."""
    from metspack.restoring.dryrun import DryRun  # noqa: PLC0415 -- commands load what they need

    with console.progress("restore dry run", quiet=quiet) as progress:
        run = DryRun(package, options, into, progress)
        if json_output:

            def total(name: str) -> Callable[[], object]:
                return lambda: run.restored.to_json()[name]

            totals = {name: total(name) for name in run.restored.to_json()}
            console.document({**totals, "errors": (each.document() for each in run)})
        else:
            for each in run:
                console.error(each.message, "" if each.lob else each.hint)
    restored = run.restored
    console.warning(*restored.warnings)
    console.log_event("result", **restored.to_json(), faults=run.faults)
    if not (json_output or quiet):
        console.out(_totals(package, restored, into))
    if run.faults:
        raise SourceError(
            f"{package}: {counted(run.faults, 'fault')}: not every LOB can be restored as it was",
            hint="Get the files from another copy of the package; metspack check shows what else is wrong.",
        )
    if not (json_output or quiet):
        console.out("Every LOB can be restored as it was.")


def _totals(path: Path, restored: Restored, into: Into | None) -> str:
    inside = "from inside the archive" if into is None else "stayed inside"
    words = [
        f"{path}: {counted(restored.lobs, 'LOB')}"
        + (f" ({restored.split:,} joined from parts)" if restored.split else ""),
        counted(restored.bytes, "byte"),
        *([f"{counted(restored.inside, 'LOB')} {inside}"] if restored.inside else ()),
    ]
    return ", ".join(words)


def _print_written(restored: Restored, output: Path, *, siard: bool) -> None:
    if siard and output.suffix.lower() == SIARD:
        console.out(
            f"Written to {output}; every LOB was verified. "
            f"The archive has {counted(restored.size or 0, 'byte')}, SHA-256 {restored.sha256}"
        )
        return
    console.out(
        f"Written to {output}; every LOB was verified. To check again at any time: "
        f"cd {quoted(str(output))} && sha256sum -c {MANIFESTS['SHA-256']}"
    )
