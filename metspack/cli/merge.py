"""``metspack merge``."""

from __future__ import annotations

import os
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from metspack import clock
from metspack.cli import choices, console, making, options
from metspack.cli.groups import grouped
from metspack.cli.saying import Saying
from metspack.mets import dialects
from metspack.sizes import counted

if TYPE_CHECKING:
    from metspack.merging.merged import Merged


@grouped
def merge(
    *,
    containers: Annotated[
        list[Path],
        typer.Argument(
            metavar="OUT...",
            help="Packages of the dialect csip, parent and all children: their folders, zip or tar files, or "
            "the folder that holds them.",
            show_default=False,
        ),
    ],
    output: Annotated[
        Path,
        typer.Option(
            "-o",
            "--output",
            metavar="DIR",
            help="Folder for the one package; must not exist yet.",
            show_default=False,
        ),
    ],
    saying: Saying,
    objid: Annotated[
        str | None,
        typer.Option(
            "--id",
            metavar="OBJID",
            help="OBJID of the package, the parent's when left out.",
            show_default=False,
        ),
    ] = None,
    checksum: Annotated[
        str,
        typer.Option(
            "--checksum",
            autocompletion=choices.of(*making.ALGORITHMS),
            metavar="TYPE",
            help=f"Digest that METS files hold: {', '.join(making.ALGORITHMS)}.",
        ),
    ] = dialects.facts(dialects.that_merge()[0]).checksum,
    agent: making.Agent = None,
    verify: making.Verify = False,
    budget: options.Budget = None,
    json_output: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Put a parent and its children together into one package, with METS, PREMIS and schemas made anew.

    The data of all lie in it as they are, in representations/rep1/data: every file is compared with the
    digest in its METS while it is copied, and nothing is overwritten. The parent's descriptive metadata and
    documentation go along, unless options name others. OUT is only read; DIR appears complete or not at all.

    `metspack merge out -o whole`
    """
    from metspack.identity import PackageOptions  # noqa: PLC0415 -- commands load what they need
    from metspack.merging import merged as merging  # noqa: PLC0415
    from metspack.mets.dialects.interface import Software  # noqa: PLC0415
    from metspack.version import __version__  # noqa: PLC0415

    (dialect, *_) = dialects.that_merge()
    settings = PackageOptions(
        created=clock.now(os.environ),
        software=Software(name="metspack", version=f"metspack {__version__}"),
        objid=objid,
        checksum=options.one_of("--checksum", checksum, making.ALGORITHMS),
        agents=tuple(agent or ()),
        dialect=dialect,
        dialect_options=saying.options_of(dialect),
        verify=verify,
        budgets=options.budgets(budget),
    )
    with console.progress(quiet=quiet) as progress:
        made = merging.merged(containers, output, settings, progress)
    _tell(made, output, verify=verify, json_output=json_output, quiet=quiet)


def _tell(made: Merged, output: Path, *, verify: bool, json_output: bool, quiet: bool) -> None:
    for each in made.warnings:
        console.warning(each)
    if json_output:
        document = {
            "target": str(output),
            "objid": made.objid,
            "containers": made.containers,
            "files": made.files,
            "bytes": made.bytes,
            "checked": "full" if verify else "structure",
            "warnings": list(made.warnings),
        }
        console.document(document)
    elif not quiet:
        words = (
            f"{output}: {made.objid}, put together of {counted(made.containers, 'package')}",
            counted(made.files, "data file"),
            counted(made.bytes, "byte"),
        )
        console.out(", ".join(words))
        proof = "every byte was read back" if verify else "its structure was checked"
        console.out(f"Published; {proof}. Any time later: metspack check {shlex.quote(str(output))}")
