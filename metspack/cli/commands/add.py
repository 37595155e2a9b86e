"""``metspack add``: another archive in a package."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from metspack.cli import console
from metspack.cli.commands.build import SealFile, check_seal_file, tell, write_seal
from metspack.cli.options import common
from metspack.cli.options import package as options
from metspack.cli.options.common import LocationGroup
from metspack.cli.options.groups import argument, option
from metspack.cli.options.package import DivisionGroup


def add(
    *,
    package: Annotated[
        Path,
        argument(
            "OUT",
            "Folder of a package made by metspack build; in the dialect csip the one that holds "
            "parent and children.",
        ),
    ],
    source: Annotated[
        Path,
        argument(
            "SOURCE",
            "The SIARD archive to add (.siard file, its parts, or unpacked).",
        ),
    ],
    division: DivisionGroup,
    archive: options.ArchiveGroup,
    jobs: options.Jobs = None,
    locations: LocationGroup,
    naming: options.NameGroup,
    representation: Annotated[
        str | None,
        option(
            "--representation NAME",
            "Name of the new representation in the dialect csip; default: the next number, such as rep2.",
        ),
    ] = None,
    proof: options.ProofGroup,
    seal_file: SealFile = None,
    json_output: common.Json = False,
    quiet: common.Quiet = False,
) -> None:
    """Add another archive to a package, with segments of its own; existing files stay unchanged.

    The archive (in the dialect csip in a representation of its own) and its children are new. The parent's
    METS, its PREMIS and the manifests are rewritten and keep all that they held. Dialect, digests, agents
    and terms are those of the package. In METS the IDs of the new LOBs begin with the archive's name:
    Orders.s0.t2.c4.r1. The package is checked before and after. After an interruption it is as it was; after
    a kill, run the same command again to finish.

    `metspack add out Orders.siard --max-bytes 4GB`
    """
    from metspack.adding.add import add_archive  # noqa: PLC0415 -- commands load what they need

    settings = options.build_options(division, archive, locations, naming, proof, jobs=jobs)
    common.warn_of_limits(settings.limits)
    check_seal_file(seal_file, package, source)
    with console.progress("add", quiet=quiet) as progress:
        built = add_archive(package, source, settings, representation, progress)
    write_seal(seal_file, built)
    tell(built, package, verify=settings.verify, json_output=json_output, quiet=quiet, added=True)
