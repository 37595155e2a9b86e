"""``metspack convert``."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from metspack.cli import console, dividing, making, options


def convert(  # noqa: PLR0917 -- Typer makes an option of every argument
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
    max_files: options.MaxFiles = None,
    max_bytes: options.MaxBytes = None,
    preset: options.Preset = None,
    dbptk_files: dividing.DbptkFiles = None,
    dbptk_bytes: dividing.DbptkBytes = None,
    layout: dividing.Layout = None,
    split: dividing.Split = None,
    min_size: dividing.MinSize = None,
    lob_folder_style: making.LobFolderStyle = None,
    write_mapping: making.WriteMapping = None,
    write_manifest: making.WriteManifest = False,
    lob_root: options.LobRoot = None,
    map_drive: options.MapDrive = None,
    mapping: options.Mapping = None,
    name: options.Name = None,
    objid: Annotated[
        str | None,
        typer.Option(
            "--id",
            metavar="OBJID",
            help="OBJID of the parent IP; that of OUT when left out.",
            rich_help_panel=making.METS,
            show_default=False,
        ),
    ] = None,
    checksum: making.Checksum = "MD5",
    agent: making.Agent = None,
    mets_profile: making.MetsProfile = "http://SIARD2.0.xml",
    href: making.Href = "relative",
    add_digests: making.AddDigests = False,
    accept: making.Accept = None,
    jobs: making.Jobs = None,
    verify: making.Verify = False,
    no_message_digest_check: making.NoMessageDigestCheck = False,
    budget: options.Budget = None,
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
    from metspack import building, clock, converting  # noqa: PLC0415 -- commands load what they need
    from metspack.copying import ACCEPTABLE  # noqa: PLC0415
    from metspack.layouts import FolderStyle  # noqa: PLC0415
    from metspack.mets.dialects.interface import Software  # noqa: PLC0415
    from metspack.mets.dialects.recommendation import HREF_STYLES  # noqa: PLC0415
    from metspack.version import __version__  # noqa: PLC0415

    dividing.one_of("--checksum", checksum, making.CHECKSUMS)
    dividing.one_of("--href", href, HREF_STYLES)
    for each in accept or ():
        dividing.one_of("--accept", each, ACCEPTABLE)
    division = dividing.division(
        dividing.max_files(max_files, dbptk_files),
        dividing.max_bytes(max_bytes, dbptk_bytes),
        preset,
        layout,
        split,
    )
    styles = tuple(each.value for each in FolderStyle)
    style = dividing.one_of("--lob-folder-style", lob_folder_style or styles[0], styles)
    settings = building.BuildOptions(
        created=clock.now(os.environ),
        software=Software(name="metspack", version=f"metspack {__version__}"),
        limits=division.limits,
        layout=division.layout.name,
        split=division.split,
        lob_folder_style=FolderStyle(style),
        name=name,
        objid=objid,
        grants=options.grants(lob_root, map_drive, mapping),
        min_size=dividing.min_size(min_size),
        add_digests=add_digests,
        mapping_uri=write_mapping,
        lob_manifest=write_manifest,
        accepted=frozenset(accept or ()),
        checksum=checksum,
        agents=tuple(agent or ()),
        mets_profile=mets_profile,
        href_style=href,
        jobs=jobs,
        verify=verify,
        check_message_digest=not no_message_digest_check,
        budgets=options.budgets(budget),
    )
    with console.progress(quiet=quiet) as progress:
        built = converting.converted(package, output, settings, progress)
    making.tell(built, output, verify=verify, json_output=json_output, quiet=quiet)
