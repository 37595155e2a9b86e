"""``metspack build``."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import typer

from metspack.cli import console, making, options
from metspack.cli.dialects import Dialects
from metspack.cli.dividing import Dividing
from metspack.cli.groups import grouped
from metspack.cli.making import Building, Describing
from metspack.cli.options import Locations
from metspack.errors import ConfigError

_DIVIDED = "A folder that is divided already"


@grouped
def build(
    source: options.Source,
    *,
    output: Annotated[
        Path | None,
        typer.Option(
            "-o",
            "--output",
            metavar="OUT",
            help="The package's folder; must not exist yet. Needed, but for --in-place.",
            show_default=False,
        ),
    ] = None,
    dividing: Dividing,
    plan: Annotated[
        Path | None,
        typer.Option(
            "--plan",
            metavar="FILE",
            help="Build exactly this plan (of metspack plan -o), with its limits, layout and --min-size; "
            "refused when it no longer fits the source.",
            rich_help_panel="Limits",
            show_default=False,
        ),
    ] = None,
    locations: Locations,
    base: options.Base = None,
    building: Building,
    describing: Describing,
    dialects: Dialects,
    keep_segments: Annotated[
        bool,
        typer.Option(
            "--keep-segments",
            metavar=options.FLAG,
            help="SOURCE is a folder with a .siard whose LOBs lie in segment folders already, of DBPTK or of "
            "metspack: leave them as they are. Goes with --in-place.",
            rich_help_panel=_DIVIDED,
        ),
    ] = False,
    in_place: Annotated[
        bool,
        typer.Option(
            "--in-place",
            metavar=options.FLAG,
            help="Write METS files and manifests into SOURCE itself, and nothing else. Goes with "
            "--keep-segments.",
            rich_help_panel=_DIVIDED,
        ),
    ] = False,
    json_output: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Make a parent package and numbered child packages from an archive.

    OUT holds the archive without its LOBs, a folder with METS for every segment, the parent's METS and
    the manifests that md5sum -c and sha256sum -c read. Every LOB is checked against its cell's digest
    and length on the way; the source is only read. OUT appears complete or not at all.

    `metspack build Northwind.siard -o out --max-files 4 --max-bytes 45000`
    """
    from metspack import inplace  # noqa: PLC0415 -- commands load what they need
    from metspack.building import build as built_by  # noqa: PLC0415

    shared = describing.package_options(locations, dialects)
    if _is_in_place(keep_segments=keep_segments, in_place=in_place):
        given = (
            dividing.given()
            | building.given()
            | dialects.given()
            | {"-o": output, "--plan": plan, "--base": base}
        )
        _refuse("--in-place", given, "It leaves segments and archive as they are")
        with console.progress(quiet=quiet) as progress:
            described = inplace.described(source, shared, progress)
        making.tell_described(described, source, verify=shared.verify, json_output=json_output, quiet=quiet)
        return
    if output is None:
        raise ConfigError(
            "build is not told where to put the package",
            hint="Name a folder that does not exist yet: -o OUT.",
        )
    if plan is not None:
        given = dividing.given()
        _refuse("--plan", given, "It holds its own limits and layout; to change them, plan again")
    settings = building.build_options(shared, dividing, plan=plan, base=base)
    with console.progress(quiet=quiet) as progress:
        built = built_by(source, output, settings, progress)
    making.tell(built, output, verify=shared.verify, json_output=json_output, quiet=quiet)


def _is_in_place(*, keep_segments: bool, in_place: bool) -> bool:
    if keep_segments == in_place:
        return in_place
    given, other = ("--keep-segments", "--in-place") if keep_segments else ("--in-place", "--keep-segments")
    raise ConfigError(
        f"{given} goes with {other}",
        hint="Together they write METS files and manifests into a folder whose LOBs lie in segments already.",
    )


def _refuse(option: str, others: Mapping[str, object], why: str) -> None:
    """Raise ``ConfigError`` when one of the other options was given."""
    given = [name for name, value in others.items() if value is not None]
    if given:
        raise ConfigError(
            f"{option} does not go with {', '.join(given)}", hint=f"{why}: leave {', '.join(given)} out."
        )
