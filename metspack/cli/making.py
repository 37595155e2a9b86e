"""Options of the commands that make packages, and what they say when they have made one."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from metspack.cli import console, dividing
from metspack.sizes import counted

if TYPE_CHECKING:
    from metspack.building import Built

METS = "METS"
SAFETY = "Safety"
CHECKSUMS = ("MD5", "SHA-1", "SHA-256", "SHA-384", "SHA-512")

LobFolderStyle = Annotated[
    str | None,
    typer.Option(
        "--lob-folder-style",
        metavar="STYLE",
        help="How the archive says where its LOBs are: dilcis (in lobFolder of the database and of the "
        "column, from the folder that holds the .siard, as the DILCIS Board states it; the default), or "
        "sfa (in that of the column alone, from the .siard as if it were a folder, for the SIARD Suite).",
        rich_help_panel=dividing.SEGMENTS,
        show_default=False,
    ),
]
Objid = Annotated[
    str | None,
    typer.Option(
        "--id",
        metavar="OBJID",
        help="OBJID of the parent IP; made from the name and the metadata when left out.",
        rich_help_panel=METS,
        show_default=False,
    ),
]
Checksum = Annotated[
    str,
    typer.Option(
        "--checksum",
        metavar="TYPE",
        help=f"Digest that METS files hold: {', '.join(CHECKSUMS)}.",
        rich_help_panel=METS,
    ),
]
Agent = Annotated[
    list[str] | None,
    typer.Option(
        "--agent",
        metavar="NAME",
        help="Organisation that made the package, for the METS headers. Repeatable.",
        rich_help_panel=METS,
        show_default=False,
    ),
]
MetsProfile = Annotated[
    str,
    typer.Option("--mets-profile", metavar="URI", help="PROFILE of the METS files.", rich_help_panel=METS),
]
Href = Annotated[
    str,
    typer.Option(
        "--href",
        metavar="STYLE",
        help="How METS files name files: relative, or file-uri (file:///... from the package's root, "
        "as recommendation 0.16 writes them).",
        rich_help_panel=METS,
    ),
]
WriteMapping = Annotated[
    str | None,
    typer.Option(
        "--write-mapping",
        metavar="URI",
        help="Write a mapping.txt (SIARD 2.2 S_8.1.2) that says each segment folder is kept under URI; "
        "with --layout siard22.",
        rich_help_panel="Segments",
        show_default=False,
    ),
]
WriteManifest = Annotated[
    bool,
    typer.Option(
        "--write-manifest",
        help="Write a manifest.txt (SIARD 2.2 S_8.1.3) with the digest of every LOB file, as md5sum -c reads "
        "it; with --layout siard22.",
        rich_help_panel="Segments",
    ),
]
AddDigests = Annotated[
    bool,
    typer.Option(
        "--add-digests",
        help="Give the cells of moved LOBs a digest where they have none: of --checksum's type, or "
        "SHA-256 when a cell cannot hold that.",
        rich_help_panel=SAFETY,
    ),
]
Accept = Annotated[
    list[str] | None,
    typer.Option(
        "--accept",
        metavar="WHAT",
        help="Take what would be refused: dbptk-part-digest (a split LOB whose digest is only that of "
        "its last part, as DBPTK writes it; nothing proves the other parts). Repeatable.",
        rich_help_panel=SAFETY,
        show_default=False,
    ),
]
Jobs = Annotated[
    int | None,
    typer.Option(
        "-j",
        "--jobs",
        metavar="N",
        min=1,
        help="Processes that copy LOBs, as many as help when left out; the result is always the same.",
        show_default=False,
    ),
]
Verify = Annotated[
    bool, typer.Option("--verify", help="Read every byte back from disk before the package is published.")
]
NoMessageDigestCheck = Annotated[
    bool,
    typer.Option(
        "--no-message-digest-check",
        help="Do not compare the archive's own messageDigest with its content first: "
        "that reads it once more.",
        rich_help_panel=SAFETY,
    ),
]


def tell(built: Built, output: Path, *, verify: bool, json_output: bool, quiet: bool) -> None:
    """Print what was made: its warnings, and the result as lines or as JSON."""
    for each in built.warnings:
        console.warning(each)
    if json_output:
        document = {
            "target": str(output),
            "objid": built.objid,
            "name": built.name,
            "layout": built.layout,
            "children": built.segments,
            "lobs": built.files,
            "split_lobs": built.split,
            "kept_inside": built.kept,
            "bytes": built.bytes,
            "checked": checked(verify=verify),
            "warnings": list(built.warnings),
        }
        console.document(document)
    elif not quiet:
        words = [
            f"{output}: parent IP {built.objid} with {counted(built.segments, 'child IP')}",
            counted(built.files, "LOB") + (f" ({built.split:,} in parts)" if built.split else ""),
            counted(built.bytes, "byte"),
            *([f"{counted(built.kept, 'LOB')} kept inside"] if built.kept else ()),
        ]
        console.out(", ".join(words))
        published("Published", output, verify=verify)


def checked(*, verify: bool) -> str:
    """Return the level of the check that a package had before it was published."""
    return "full" if verify else "structure"


def published(what: str, package: Path, *, verify: bool) -> None:
    """Print that a package is there, and how it is checked later."""
    done = "every byte was read back" if verify else "its structure was checked"
    console.out(f"{what}; {done}. Any time later: metspack check {shlex.quote(str(package))}")
