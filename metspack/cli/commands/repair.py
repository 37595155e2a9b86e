"""``metspack repair``: missing and damaged files of a package, replaced from copies."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from metspack.cli import console
from metspack.cli.options import common
from metspack.cli.options.groups import argument, option
from metspack.cli.options.package import Jobs
from metspack.sizes import counted

if TYPE_CHECKING:
    from metspack.restoring.repair import Repaired

_FINDINGS = 1


def repair(
    package: Annotated[
        Path, argument("OUT", "Folder or METS file of a package; a packed one has to be unpacked first.")
    ],
    *,
    copies: Annotated[
        list[Path] | None,
        option(
            "--from COPY",
            "Where bytes may be taken from: a copy of the package (folder, METS, zip or tar file), a folder "
            "of restored LOBs, or the .siard that it was built from. Repeatable.",
        ),
    ] = None,
    dry_run: Annotated[
        bool, option("--dry-run", "Change nothing; show what would be replaced, and what no copy has.")
    ] = False,
    seal: Annotated[
        str | None,
        option(
            "--seal VALUE|FILE",
            "Seal of the package: sha256:..., as build printed it, or the file that its --seal wrote. It "
            "decides which METS and manifests are right.",
        ),
    ] = None,
    jobs: Jobs = None,
    budget: common.Budget = None,
    json_output: common.Json = False,
    quiet: common.Quiet = False,
) -> None:
    """Replace the missing and damaged files of a package from copies of it.

    A file is replaced only by bytes that have the digests on which METS and manifests agree; these are
    proven first. Nothing that is right is touched, and no copy is changed. All files take their places
    together, or none; after a kill, the same command goes on.

    Exits with 1 when something is missing or damaged still (as after a dry run), with 0 when all is right.

    `metspack repair out --from /mnt/disk2/out --dry-run`
    """
    from metspack.checking.options import sealed  # noqa: PLC0415 -- commands load what they need
    from metspack.restoring.repair import repair_package  # noqa: PLC0415

    known = None if seal is None else sealed(seal)
    with console.progress("repair", quiet=quiet or json_output) as progress:
        found = repair_package(
            package,
            copies or (),
            dry_run=dry_run,
            seal=known,
            budgets=common.budgets(budget),
            jobs=jobs,
            progress=progress,
        )
    console.tell("result", repaired=len(found.repaired), remaining=len(found.remaining))
    for path, reason in found.unread:
        console.warning(f"{path} cannot be read, and is no help: {reason}")
    if json_output:
        console.document(found.to_json())
    elif not quiet:
        _print(found)
    if not found.ok:
        raise typer.Exit(_FINDINGS)


def _print(found: Repaired) -> None:
    done = "would be replaced" if found.is_dry_run else "replaced"
    for each in found.repaired:
        console.out(f"{done}  {each.path} ({each.was}, {counted(each.size, 'byte')}) from {each.copy}")
    for rest in found.remaining:
        console.out(f"{rest.was}  {rest.path}: {rest.reason}")
    read = f"{counted(found.files, 'file')} read, {counted(found.bytes, 'byte')}"
    console.out(
        f"{found.package}: {read}: {len(found.repaired):,} {done}, "
        f"{len(found.remaining):,} still missing or damaged"
    )
    if found.errors and not found.remaining:
        console.out(
            f"{counted(found.errors, 'error')} in METS, links or manifests: metspack check tells which"
        )
    elif found.ok and not found.is_dry_run:
        console.out("Every file is as METS and manifests state it.")
