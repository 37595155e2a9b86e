"""``metspack build``."""

from __future__ import annotations

import os
import shlex
from pathlib import Path
from typing import Annotated

import typer

from metspack.cli import console, options
from metspack.errors import ConfigError
from metspack.sizes import counted

_METS = "METS"
_CHECKSUMS = ("MD5", "SHA-1", "SHA-256", "SHA-384", "SHA-512")


def build(  # noqa: PLR0917 -- Typer makes an option of every argument
    source: options.Source,
    output: Annotated[
        Path,
        typer.Option(
            "-o",
            "--output",
            metavar="OUT",
            help="The package's folder; must not exist yet.",
            show_default=False,
        ),
    ],
    max_files: options.MaxFiles = None,
    max_bytes: options.MaxBytes = None,
    preset: options.Preset = None,
    plan: Annotated[
        Path | None,
        typer.Option(
            "--plan",
            metavar="FILE",
            help="Build exactly this plan (of metspack plan -o); refused when it no longer fits the source.",
            rich_help_panel="Limits",
            show_default=False,
        ),
    ] = None,
    name: options.Name = None,
    objid: Annotated[
        str | None,
        typer.Option(
            "--id",
            metavar="OBJID",
            help="OBJID of the parent IP; made from the name and the metadata when left out.",
            rich_help_panel=_METS,
            show_default=False,
        ),
    ] = None,
    checksum: Annotated[
        str,
        typer.Option(
            "--checksum",
            metavar="TYPE",
            help=f"Digest that METS files hold: {', '.join(_CHECKSUMS)}.",
            rich_help_panel=_METS,
        ),
    ] = "MD5",
    agent: Annotated[
        list[str] | None,
        typer.Option(
            "--agent",
            metavar="NAME",
            help="Organisation that made the package, for the METS headers. Repeatable.",
            rich_help_panel=_METS,
            show_default=False,
        ),
    ] = None,
    mets_profile: Annotated[
        str,
        typer.Option(
            "--mets-profile", metavar="URI", help="PROFILE of the METS files.", rich_help_panel=_METS
        ),
    ] = "http://SIARD2.0.xml",
    href: Annotated[
        str,
        typer.Option(
            "--href",
            metavar="STYLE",
            help="How METS files name files: relative, or file-uri (file:///... from the package's root, "
            "as recommendation 0.16 writes them).",
            rich_help_panel=_METS,
        ),
    ] = "relative",
    jobs: Annotated[
        int | None,
        typer.Option(
            "-j",
            "--jobs",
            metavar="N",
            min=1,
            help="Processes that copy LOBs, as many as help when left out; the result is always the same.",
            show_default=False,
        ),
    ] = None,
    verify: Annotated[
        bool, typer.Option("--verify", help="Read every byte back from disk before the package is published.")
    ] = False,
    no_message_digest_check: Annotated[
        bool,
        typer.Option(
            "--no-message-digest-check",
            help="Do not compare the archive's own messageDigest with its content first: "
            "that reads it once more.",
            rich_help_panel="Safety",
        ),
    ] = False,
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
    from metspack.mets.dialects.recommendation import HREF_STYLES, Software  # noqa: PLC0415
    from metspack.version import __version__  # noqa: PLC0415

    _one_of("--checksum", checksum, _CHECKSUMS)
    _one_of("--href", href, HREF_STYLES)
    if plan is not None and (max_files, max_bytes, preset) != (None, None, None):
        raise ConfigError(
            "--plan holds its own limits",
            hint="Leave --max-files, --max-bytes and --preset out, or plan again.",
        )
    settings = building.BuildOptions(
        created=clock.now(os.environ),
        software=Software(name="metspack", version=f"metspack {__version__}"),
        limits=options.limits(max_files, max_bytes, preset),
        name=name,
        objid=objid,
        plan=plan,
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
        built = building.build(source, output, settings, progress)
    for each in built.warnings:
        console.warning(each)
    if json_output:
        console.document(
            {
                "target": str(output),
                "objid": built.objid,
                "name": built.name,
                "children": built.segments,
                "lobs": built.files,
                "bytes": built.bytes,
                "checked": "full" if verify else "structure",
                "warnings": list(built.warnings),
            }
        )
    elif not quiet:
        console.out(
            f"{output}: parent IP {built.objid} with {counted(built.segments, 'child IP')}, "
            f"{counted(built.files, 'LOB')}, {counted(built.bytes, 'byte')}"
        )
        done = "every byte was read back" if verify else "its structure was checked"
        console.out(f"Published; {done}. Any time later: metspack check {shlex.quote(str(output))}")


def _one_of(option: str, value: str, values: tuple[str, ...]) -> None:
    if value not in values:
        raise ConfigError(f"{option} {value!r} is not known", hint=f"Choose one of {', '.join(values)}.")
