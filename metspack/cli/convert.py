"""``metspack convert``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from metspack.cli import console, making, options
from metspack.cli.dialects import Dialects
from metspack.cli.dividing import Dividing
from metspack.cli.groups import grouped
from metspack.cli.making import Building, Describing
from metspack.cli.options import Locations


@grouped
def convert(
    *,
    package: Annotated[
        Path,
        typer.Argument(
            metavar="OUT",
            help="A package's folder, or its METS file; or a folder with a .siard and its LOB folders but "
            "without METS, as DBPTK writes them.",
            show_default=False,
        ),
    ],
    output: Annotated[
        Path,
        typer.Option(
            "-o",
            "--output",
            metavar="NEW",
            help="The new package's folder; must not exist yet.",
            show_default=False,
        ),
    ],
    dividing: Dividing,
    building: Building,
    locations: Locations,
    describing: Describing,
    dialects: Dialects,
    json_output: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Divide the LOBs of a package anew: other limits, another layout, without a restored copy.

    NEW is what metspack build would make of the archive as it was, with the name and the OBJID of OUT; with
    the options and the time (SOURCE_DATE_EPOCH) that OUT was built with it has the same bytes. Every LOB
    is compared with the digests of its parts and of the whole in the METS of OUT and with its cell while
    it is copied. LOBs inside the archive move out, but for those that --min-size leaves there. OUT is only
    read; NEW appears complete or not at all.

    `metspack convert out -o new --layout siard22 --max-bytes 1TB`
    """
    from metspack import converting  # noqa: PLC0415 -- commands load what they need

    settings = building.build_options(describing.package_options(locations, dialects), dividing)
    with console.progress(quiet=quiet) as progress:
        built = converting.converted(package, output, settings, progress)
    making.tell(built, output, verify=settings.verify, json_output=json_output, quiet=quiet)
