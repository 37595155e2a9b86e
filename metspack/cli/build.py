"""``metspack build``."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from metspack.cli import console, dividing, making, options
from metspack.errors import ConfigError
from metspack.sizes import counted

if TYPE_CHECKING:
    from metspack.building import BuildOptions
    from metspack.identity import PackageOptions

_DIVIDED = "A folder that is divided already"


def build(  # noqa: PLR0917 -- Typer makes an option of every argument
    source: options.Source,
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
    max_files: options.MaxFiles = None,
    max_bytes: options.MaxBytes = None,
    preset: options.Preset = None,
    dbptk_files: dividing.DbptkFiles = None,
    dbptk_bytes: dividing.DbptkBytes = None,
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
    layout: dividing.Layout = None,
    split: dividing.Split = None,
    min_size: dividing.MinSize = None,
    lob_folder_style: making.LobFolderStyle = None,
    write_mapping: making.WriteMapping = None,
    write_manifest: making.WriteManifest = False,
    lob_root: options.LobRoot = None,
    map_drive: options.MapDrive = None,
    mapping: options.Mapping = None,
    base: options.Base = None,
    name: options.Name = None,
    objid: making.Objid = None,
    checksum: making.Checksum = "MD5",
    agent: making.Agent = None,
    mets_profile: making.MetsProfile = "http://SIARD2.0.xml",
    href: making.Href = "relative",
    add_digests: making.AddDigests = False,
    accept: making.Accept = None,
    keep_segments: Annotated[
        bool,
        typer.Option(
            "--keep-segments",
            help="SOURCE is a folder with a .siard whose LOBs lie in segment folders already, of DBPTK or of "
            "metspack: leave them as they are. Goes with --in-place.",
            rich_help_panel=_DIVIDED,
        ),
    ] = False,
    in_place: Annotated[
        bool,
        typer.Option(
            "--in-place",
            help="Write METS files and manifests into SOURCE itself, and nothing else. Goes with "
            "--keep-segments.",
            rich_help_panel=_DIVIDED,
        ),
    ] = False,
    jobs: making.Jobs = None,
    verify: making.Verify = False,
    no_message_digest_check: making.NoMessageDigestCheck = False,
    budget: options.Budget = None,
    json_output: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Make a parent package and numbered child packages from an archive.

    OUT holds the archive without its LOBs, a folder with METS for every segment, the parent's METS and
    the manifests that md5sum -c and sha256sum -c read. Every LOB is checked against its cell's digest
    and length on the way; the source is only read. OUT appears complete or not at all.

    `metspack build Northwind.siard -o out --max-files 4 --max-bytes 45000`
    """
    from metspack import building, clock  # noqa: PLC0415 -- commands load what they need
    from metspack.copying import ACCEPTABLE  # noqa: PLC0415
    from metspack.layouts import FolderStyle  # noqa: PLC0415
    from metspack.mets.dialects.interface import Software  # noqa: PLC0415
    from metspack.mets.dialects.recommendation import HREF_STYLES  # noqa: PLC0415
    from metspack.version import __version__  # noqa: PLC0415

    dividing.one_of("--checksum", checksum, making.CHECKSUMS)
    dividing.one_of("--href", href, HREF_STYLES)
    for each in accept or ():
        dividing.one_of("--accept", each, ACCEPTABLE)
    planned = {
        "--max-files": max_files or dbptk_files,
        "--max-bytes": max_bytes or dbptk_bytes,
        "--preset": preset,
        "--layout": layout,
        "--split": split,
        "--min-size": min_size,
    }
    created = clock.now(os.environ)
    software = Software(name="metspack", version=f"metspack {__version__}")
    grants = options.grants(lob_root, map_drive, mapping)
    if _is_in_place(keep_segments=keep_segments, in_place=in_place):
        from metspack.identity import PackageOptions  # noqa: PLC0415

        others: dict[str, object] = {
            **planned,
            "-o": output,
            "--plan": plan,
            "--lob-folder-style": lob_folder_style,
            "--base": base,
            "--add-digests": add_digests or None,
            "--write-mapping": write_mapping,
            "--write-manifest": write_manifest or None,
        }
        _refuse("--in-place", others, "It leaves segments and archive as they are")
        described = PackageOptions(
            created=created,
            software=software,
            name=name,
            objid=objid,
            grants=grants,
            accepted=frozenset(accept or ()),
            checksum=checksum,
            agents=tuple(agent or ()),
            mets_profile=mets_profile,
            href_style=href,
            verify=verify,
            check_message_digest=not no_message_digest_check,
            budgets=options.budgets(budget),
        )
        _describe(source, described, json_output=json_output, quiet=quiet)
        return
    if output is None:
        raise ConfigError(
            "build is not told where to put the package",
            hint="Name a folder that does not exist yet: -o OUT.",
        )
    if plan is not None:
        _refuse("--plan", planned, "It holds its own limits and layout; to change them, plan again")
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
        created=created,
        software=software,
        limits=division.limits,
        layout=division.layout.name,
        split=division.split,
        lob_folder_style=FolderStyle(style),
        name=name,
        objid=objid,
        plan=plan,
        base=base,
        grants=grants,
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
    _build(source, output, settings, json_output=json_output, quiet=quiet)


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


def _build(source: Path, output: Path, settings: BuildOptions, *, json_output: bool, quiet: bool) -> None:
    from metspack import building  # noqa: PLC0415

    with console.progress(quiet=quiet) as progress:
        built = building.build(source, output, settings, progress)
    making.tell(built, output, verify=settings.verify, json_output=json_output, quiet=quiet)


def _describe(folder: Path, settings: PackageOptions, *, json_output: bool, quiet: bool) -> None:
    from metspack import inplace  # noqa: PLC0415

    with console.progress(quiet=quiet) as progress:
        made = inplace.described(folder, settings, progress)
    for each in made.warnings:
        console.warning(each)
    if json_output:
        document = {
            "target": str(folder),
            "objid": made.objid,
            "name": made.name,
            "children": made.segments,
            "lobs": made.files,
            "kept_inside": made.inside,
            "unreferenced_files": made.unreferenced,
            "bytes": made.bytes,
            "checked": making.checked(verify=settings.verify),
            "warnings": list(made.warnings),
        }
        console.document(document)
    elif not quiet:
        words = [
            f"{folder}: parent IP {made.objid} with {counted(made.segments, 'child IP')}",
            counted(made.files, "LOB"),
            counted(made.bytes, "byte"),
            *([f"{counted(made.inside, 'LOB')} inside the archive"] if made.inside else ()),
        ]
        console.out(", ".join(words))
        making.published(
            "METS files and manifests were added, nothing else was touched", folder, verify=settings.verify
        )
