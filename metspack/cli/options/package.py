"""Options of the commands that make packages: names, METS, proofs, and what the archive comes to say."""

from __future__ import annotations

import os
from dataclasses import dataclass
from operator import not_
from typing import TYPE_CHECKING, Annotated, Any

from metspack import clock
from metspack.cli.options import choices, common
from metspack.cli.options.common import SAFETY
from metspack.cli.options.csip import default_checksums
from metspack.cli.options.division import SEGMENTS
from metspack.cli.options.groups import Group, option, values

if TYPE_CHECKING:
    from metspack.building.build import BuildOptions
    from metspack.building.options import PackageOptions

_METS = "METS"
Accept = Annotated[
    list[str] | None,
    option(
        "--accept WHAT",
        "Take what would be refused: dbptk-part-digest (a split LOB whose digest is only that of "
        "its last part, as DBPTK writes it; nothing proves the other parts). Repeatable.",
        SAFETY,
        choice=choices.accepted,
        to="accepted",
    ),
]
Agent = Annotated[
    list[str] | None,
    option(
        "--agent NAME",
        "Organisation that made the package, for the METS headers. Repeatable.",
        _METS,
        to="agents",
    ),
]
Verify = Annotated[
    bool,
    option(
        "--verify",
        "Read every byte back from disk before the package is published.",
    ),
]
Identify = Annotated[
    bool,
    option(
        "--identify",
        "Tell the format of every LOB by its bytes (PRONOM) and write it to METS and PREMIS; needs "
        "pip install 'metspack[identify]'.",
        _METS,
    ),
]
Jobs = Annotated[
    int | None,
    option(
        "-j --jobs N",
        "Processes that copy LOBs, as many as help when left out; the result is always the same.",
        min=1,
    ),
]


@dataclass(frozen=True, kw_only=True)
class NameGroup(Group):
    """What a package is called."""

    name: common.Name = None


@dataclass(frozen=True, kw_only=True)
class MetsGroup(Group):
    """What the METS files of a package say."""

    objid: Annotated[
        str | None,
        option(
            "--id OBJID",
            "OBJID of the parent IP; when left out it is made from the name and the metadata, or by "
            "convert taken from OUT.",
            _METS,
        ),
    ] = None
    checksum: Annotated[
        str | None,
        option(
            "--checksum TYPE",
            f"Digest that METS files hold: {choices.checksums}; when left out {default_checksums()}.",
            _METS,
            choice=choices.checksums,
        ),
    ] = None
    agent: Agent = None
    mets_profile: Annotated[
        str | None,
        option(
            "--mets-profile URI",
            "PROFILE of the METS files, in place of the dialect's own (http://SIARD2.0.xml in the "
            "recommendation's).",
            _METS,
        ),
    ] = None
    href: Annotated[
        str,
        option(
            "--href STYLE",
            "How METS files name files: relative, or file-uri (file:///... from the package's root, "
            "as recommendation 0.16 writes them).",
            _METS,
            choice=choices.href_styles,
            to="href_style",
        ),
    ] = "relative"


@dataclass(frozen=True, kw_only=True)
class ProofGroup(Group):
    """How a package is proven, and what is asked of its source."""

    accept: Accept = None
    identify: Identify = False
    verify: Verify = False
    no_message_digest_check: Annotated[
        bool,
        option(
            "--no-message-digest-check",
            "Do not compare the archive's own messageDigest with its content first: that reads it once more.",
            SAFETY,
            to="check_message_digest",
            read=not_,
        ),
    ] = False
    budget: common.Budget = None


@dataclass(frozen=True, kw_only=True)
class DescriptionGroup(ProofGroup, MetsGroup, NameGroup):
    """What a package is called, what its METS say, and how it is proven."""


@dataclass(frozen=True, kw_only=True)
class ArchiveGroup(Group):
    """What the cells of an archive say when its LOBs have moved."""

    lob_folder_style: Annotated[
        str | None,
        option(
            "--lob-folder-style STYLE",
            "How the archive says where its LOBs are: dilcis (in lobFolder of the database and of the "
            "column, from the folder that holds the .siard, as the DILCIS Board states it; the default), or "
            "sfa (in that of the column alone, from the .siard as if it were a folder, for the SIARD Suite).",
            SEGMENTS,
            choice=choices.folder_styles,
        ),
    ] = None
    add_digests: Annotated[
        bool,
        option(
            "--add-digests",
            "Give the cells of moved LOBs a digest where they have none: of --checksum's type, or "
            "SHA-256 when a cell cannot hold that.",
            SAFETY,
        ),
    ] = False


@dataclass(frozen=True, kw_only=True)
class BuildGroup(ArchiveGroup):
    """What is written beside archive and LOBs, and whether IPs are folders."""

    write_mapping: Annotated[
        str | None,
        option(
            "--write-mapping URI",
            "Write a mapping.txt (SIARD 2.2 S_8.1.2) that says each segment folder is kept under URI; "
            "with --layout siard22.",
            SEGMENTS,
            to="mapping_uri",
        ),
    ] = None
    write_manifest: Annotated[
        bool,
        option(
            "--write-manifest",
            "Write a manifest.txt (SIARD 2.2 S_8.1.3) with the digest of every LOB file, as md5sum -c "
            "reads it; with --layout siard22.",
            SEGMENTS,
            to="lob_manifest",
        ),
    ] = False
    pack: Annotated[
        str | None,
        option(
            "--pack FORM",
            "Write every segment, and in the dialect csip every IP, as one file: zip or tar. It holds "
            "the folder that would lie there else; check, restore and cat read it where it is.",
            SEGMENTS,
            choice=choices.forms,
        ),
    ] = None


def package_options(*groups: Group, **others: Any) -> PackageOptions:
    """Return the options of a package that is described now; raises ``ConfigError``."""
    from metspack.building.options import PackageOptions  # noqa: PLC0415 -- commands load what they need

    return PackageOptions(created=clock.now(os.environ), **values(*groups), **others)


def build_options(*groups: Group, **others: Any) -> BuildOptions:
    """Return the options of a package that is built now; raises ``ConfigError``."""
    from metspack.building.build import BuildOptions  # noqa: PLC0415 -- commands load what they need

    return BuildOptions(created=clock.now(os.environ), **values(*groups), **others)
