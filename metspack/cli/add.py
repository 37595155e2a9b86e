"""``metspack add``."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from metspack.cli import console, making, options
from metspack.cli.dividing import Dividing
from metspack.cli.groups import grouped
from metspack.cli.making import Building, Describing, Rewriting
from metspack.cli.options import Locations


@grouped
def add(
    *,
    package: Annotated[
        Path,
        typer.Argument(
            metavar="OUT",
            help="The folder of a package that metspack build made; in the dialect csip the one that holds "
            "parent and children.",
            show_default=False,
        ),
    ],
    source: Annotated[
        Path,
        typer.Argument(
            metavar="SOURCE",
            help="The SIARD archive to be added (.siard file, its parts, or unpacked).",
            show_default=False,
        ),
    ],
    dividing: Dividing,
    rewriting: Rewriting,
    locations: Locations,
    name: options.Name = None,
    representation: Annotated[
        str | None,
        typer.Option(
            "--representation",
            metavar="NAME",
            help="In the dialect csip, the name of the new representation; the next number when left out: "
            "rep2.",
            show_default=False,
        ),
    ] = None,
    accept: making.Accept = None,
    identify: making.Identify = False,
    verify: making.Verify = False,
    no_message_digest_check: making.Unsealed = False,
    budget: options.Budget = None,
    json_output: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Add a further archive to a package, with segments of its own; what is there stays as it is.

    New are the archive (in the dialect csip in a representation of its own) and its children; made anew, with
    all that they said, are the parent's METS, its PREMIS and the manifests. Dialect, digests, agents and
    terms are the package's. In METS the ids of the new LOBs begin with the archive's name:
    Orders.s0.t2.c4.r1. The package is checked before and after; what was interrupted leaves it as it was, and
    what was killed is ended by the same command again.

    `metspack add out Orders.siard --max-bytes 4GB`
    """
    from metspack.adding.added import added  # noqa: PLC0415 -- commands load what they need

    describing = Describing(
        name=name,
        accept=accept,
        identify=identify,
        verify=verify,
        no_message_digest_check=no_message_digest_check,
        budget=budget,
    )
    settings = Building(**asdict(rewriting)).build_options(describing.package_options(locations), dividing)
    with console.progress(quiet=quiet) as progress:
        built = added(package, source, settings, representation, progress)
    making.tell(built, package, verify=verify, json_output=json_output, quiet=quiet, added=True)
