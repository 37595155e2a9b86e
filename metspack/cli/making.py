"""Options of the commands that make packages, and what they say when they have made one."""

from __future__ import annotations

import os
import shlex
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from metspack import clock
from metspack.cli import choices, console, logfile, options
from metspack.cli.dialects import Dialects, default_checksums
from metspack.cli.dividing import SEGMENTS, Dividing
from metspack.cli.options import Locations
from metspack.sizes import counted

if TYPE_CHECKING:
    from metspack.building import BuildOptions, Built
    from metspack.identity import PackageOptions
    from metspack.inplace import Described

_METS = "METS"
_SAFETY = "Safety"
ALGORITHMS = ("MD5", "SHA-1", "SHA-256", "SHA-384", "SHA-512")

Accept = Annotated[
    list[str] | None,
    typer.Option(
        "--accept",
        autocompletion=choices.accepted,
        metavar="WHAT",
        help="Take what would be refused: dbptk-part-digest (a split LOB whose digest is only that of "
        "its last part, as DBPTK writes it; nothing proves the other parts). Repeatable.",
        rich_help_panel=_SAFETY,
        show_default=False,
    ),
]
Agent = Annotated[
    list[str] | None,
    typer.Option(
        "--agent",
        metavar="NAME",
        help="Organisation that made the package, for the METS headers. Repeatable.",
        rich_help_panel=_METS,
        show_default=False,
    ),
]
Verify = Annotated[
    bool,
    typer.Option(
        "--verify",
        metavar=options.FLAG,
        help="Read every byte back from disk before the package is published.",
    ),
]

Unsealed = Annotated[
    bool,
    typer.Option(
        "--no-message-digest-check",
        metavar=options.FLAG,
        help="Do not compare the archive's own messageDigest with its content first: "
        "that reads it once more.",
        rich_help_panel=_SAFETY,
    ),
]


Identify = Annotated[
    bool,
    typer.Option(
        "--identify",
        metavar=options.FLAG,
        help="Tell the format of every LOB by its bytes (PRONOM) and write it to METS and PREMIS; needs "
        "pip install 'metspack[identify]'.",
        rich_help_panel=_METS,
    ),
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Describing:
    """What a package is called, what its METS say, and how it is proven."""

    name: options.Name = None
    objid: Annotated[
        str | None,
        typer.Option(
            "--id",
            metavar="OBJID",
            help="OBJID of the parent IP; when left out it is made from the name and the metadata, or by "
            "convert taken from OUT.",
            rich_help_panel=_METS,
            show_default=False,
        ),
    ] = None
    checksum: Annotated[
        str | None,
        typer.Option(
            "--checksum",
            autocompletion=choices.of(*ALGORITHMS),
            metavar="TYPE",
            help=f"Digest that METS files hold: {', '.join(ALGORITHMS)}; when left out "
            f"{default_checksums()}.",
            rich_help_panel=_METS,
            show_default=False,
        ),
    ] = None
    agent: Agent = None
    mets_profile: Annotated[
        str | None,
        typer.Option(
            "--mets-profile",
            metavar="URI",
            help="PROFILE of the METS files, in place of the dialect's own (http://SIARD2.0.xml in the "
            "recommendation's).",
            rich_help_panel=_METS,
            show_default=False,
        ),
    ] = None
    href: Annotated[
        str,
        typer.Option(
            "--href",
            autocompletion=choices.href_styles,
            metavar="STYLE",
            help="How METS files name files: relative, or file-uri (file:///... from the package's root, "
            "as recommendation 0.16 writes them).",
            rich_help_panel=_METS,
        ),
    ] = "relative"
    accept: Accept = None
    identify: Identify = False
    verify: Verify = False
    no_message_digest_check: Unsealed = False
    budget: options.Budget = None

    def package_options(self, locations: Locations, dialects: Dialects | None = None) -> PackageOptions:
        """Return the options that building and describing in place share; raises ``ConfigError``."""
        from metspack.identity import PackageOptions  # noqa: PLC0415 -- commands load what they need
        from metspack.mets.dialects import facts  # noqa: PLC0415
        from metspack.mets.dialects.interface import HREF_STYLES, Software  # noqa: PLC0415
        from metspack.version import __version__  # noqa: PLC0415

        dialects = dialects or Dialects()
        dialect = dialects.name()
        return PackageOptions(
            created=clock.now(os.environ),
            software=Software(name="metspack", version=f"metspack {__version__}"),
            name=self.name,
            objid=self.objid,
            grants=locations.grants(),
            accepted=options.accepted(self.accept),
            checksum=options.one_of("--checksum", self.checksum or facts(dialect).checksum, ALGORITHMS),
            agents=tuple(self.agent or ()),
            mets_profile=self.mets_profile,
            href_style=options.one_of("--href", self.href, HREF_STYLES),
            dialect=dialect,
            dialect_options=dialects.dialect_options(),
            identify=self.identify,
            verify=self.verify,
            check_message_digest=not self.no_message_digest_check,
            budgets=options.budgets(self.budget),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Rewriting:
    """How an archive and its LOBs come to lie in a package: what its cells say, who does the work."""

    lob_folder_style: Annotated[
        str | None,
        typer.Option(
            "--lob-folder-style",
            autocompletion=choices.folder_styles,
            metavar="STYLE",
            help="How the archive says where its LOBs are: dilcis (in lobFolder of the database and of the "
            "column, from the folder that holds the .siard, as the DILCIS Board states it; the default), or "
            "sfa (in that of the column alone, from the .siard as if it were a folder, for the SIARD Suite).",
            rich_help_panel=SEGMENTS,
            show_default=False,
        ),
    ] = None
    add_digests: Annotated[
        bool,
        typer.Option(
            "--add-digests",
            metavar=options.FLAG,
            help="Give the cells of moved LOBs a digest where they have none: of --checksum's type, or "
            "SHA-256 when a cell cannot hold that.",
            rich_help_panel=_SAFETY,
        ),
    ] = False
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
    ] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Building(Rewriting):
    """How a package is built anew: what its archive says, what lies beside it, who does the work."""

    write_mapping: Annotated[
        str | None,
        typer.Option(
            "--write-mapping",
            metavar="URI",
            help="Write a mapping.txt (SIARD 2.2 S_8.1.2) that says each segment folder is kept under URI; "
            "with --layout siard22.",
            rich_help_panel=SEGMENTS,
            show_default=False,
        ),
    ] = None
    write_manifest: Annotated[
        bool,
        typer.Option(
            "--write-manifest",
            metavar=options.FLAG,
            help="Write a manifest.txt (SIARD 2.2 S_8.1.3) with the digest of every LOB file, as md5sum -c "
            "reads it; with --layout siard22.",
            rich_help_panel=SEGMENTS,
        ),
    ] = False
    pack: Annotated[
        str | None,
        typer.Option(
            "--pack",
            metavar="FORM",
            help="Write every segment, and in the dialect csip every IP, as one file: zip or tar. It holds "
            "the folder that would lie there else; check, restore and cat read it where it is.",
            rich_help_panel=SEGMENTS,
            show_default=False,
        ),
    ] = None

    def given(self) -> dict[str, object]:
        """Return the values of options that say what is written, by name, None for those not given."""
        return {
            "--lob-folder-style": self.lob_folder_style,
            "--add-digests": self.add_digests or None,
            "--write-mapping": self.write_mapping,
            "--write-manifest": self.write_manifest or None,
            "--pack": self.pack,
        }

    def build_options(
        self,
        shared: PackageOptions,
        dividing: Dividing,
        *,
        plan: Path | None = None,
        base: Path | None = None,
    ) -> BuildOptions:
        """Return all options of a build; raises ``ConfigError``."""
        from metspack.building import BuildOptions  # noqa: PLC0415 -- commands load what they need
        from metspack.layouts import FolderStyle  # noqa: PLC0415
        from metspack.packing import FORMS  # noqa: PLC0415

        division = dividing.division()
        style = self.lob_folder_style or FolderStyle.DILCIS.value
        styles = (each.value for each in FolderStyle)
        return BuildOptions(
            **_fields(shared),
            limits=division.limits,
            layout=dividing.layout and division.layout.name,
            split=division.split,
            lob_folder_style=FolderStyle(options.one_of("--lob-folder-style", style, styles)),
            plan=plan,
            base=base,
            min_size=dividing.smallest(),
            add_digests=self.add_digests,
            mapping_uri=self.write_mapping,
            lob_manifest=self.write_manifest,
            pack=None if self.pack is None else options.one_of("--pack", self.pack, FORMS),
            jobs=self.jobs,
        )


def _fields(shared: PackageOptions) -> dict[str, Any]:
    return {each.name: getattr(shared, each.name) for each in fields(shared)}


def tell(
    made: Built, output: Path, *, verify: bool, json_output: bool, quiet: bool, added: bool = False
) -> None:
    """Print what was built, or ``added``: its warnings, and the result as lines or as JSON."""
    _tell(
        made,
        output,
        facts={"layout": made.layout, "split_lobs": made.split, "kept_inside": made.kept},
        split=made.split,
        inside=f"{counted(made.kept, 'LOB')} kept inside" if made.kept else "",
        done="Added" if added else "Published",
        child="further child IP" if added else "child IP",
        verify=verify,
        json_output=json_output,
        quiet=quiet,
    )


def tell_described(made: Described, folder: Path, *, verify: bool, json_output: bool, quiet: bool) -> None:
    """Print what was described where it stands, as ``tell`` does for what was built."""
    _tell(
        made,
        folder,
        facts={"kept_inside": made.inside, "unreferenced_files": made.unreferenced},
        split=0,
        inside=f"{counted(made.inside, 'LOB')} inside the archive" if made.inside else "",
        done="METS files and manifests were added, nothing else was touched",
        verify=verify,
        json_output=json_output,
        quiet=quiet,
    )


def _tell(
    made: Built | Described,
    target: Path,
    *,
    facts: dict[str, object],
    split: int,
    inside: str,
    done: str,
    verify: bool,
    json_output: bool,
    quiet: bool,
    child: str = "child IP",
) -> None:
    for each in made.warnings:
        console.warning(each)
    document = {
        "target": str(target),
        "objid": made.objid,
        "name": made.name,
        "children": made.segments,
        "lobs": made.files,
        **facts,
        "bytes": made.bytes,
        "checked": "full" if verify else "structure",
    }
    logfile.tell("result", **document)
    if json_output:
        console.document(document | {"warnings": list(made.warnings)})
    elif not quiet:
        words = (
            f"{target}: parent IP {made.objid} with {counted(made.segments, child)}",
            counted(made.files, "LOB") + (f" ({split:,} in parts)" if split else ""),
            counted(made.bytes, "byte"),
            inside,
        )
        console.out(", ".join(filter(None, words)))
        proof = "every byte was read back" if verify else "its structure was checked"
        console.out(f"{done}; {proof}. Any time later: metspack check {shlex.quote(str(target))}")
