"""Options of the commands that make packages: limits, names, METS, verification, the archive."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from operator import not_
from typing import TYPE_CHECKING, Any

from metspack import clock, sizes
from metspack.cli.options import choices, common
from metspack.cli.options.common import METS, PACKAGE, SAFETY
from metspack.cli.options.csip import default_checksums
from metspack.cli.options.groups import Group, option, values
from metspack.errors import ConfigError
from metspack.limits import Limits
from metspack.planning.division import DEFAULT_PRESET, PRESETS
from metspack.system import os

LIMITS = "Limits"
_MIB = 1 << 20  # DBPTK's megabyte


def _smallest(text: str) -> int | None:
    """Return the bytes of the smallest LOB that moves, None for all; raises ``ConfigError``."""
    if re.fullmatch(r"\s*0+\s*[A-Za-z]*\s*", text):
        raise ConfigError(
            f"--min-size {text} leaves nothing inside",
            hint="Leave --min-size out, or write a size such as 10kB.",
        )
    return sizes.size(text, "--min-size")


def _preset_words(name: str) -> str:
    limits = PRESETS[name]
    words = [] if limits.files is None else [f"{limits.files:,} files"]
    words += [] if limits.bytes is None else [sizes.rounded(limits.bytes)]
    most = ", ".join(words)
    return f"{name} ({most}; the default)" if name == DEFAULT_PRESET else f"{name} ({most})"


@dataclass(frozen=True, kw_only=True)
class DivisionGroup(Group, panel=LIMITS):
    """Division of LOBs into segments: limits, layout, splitting, and columns that stay in the archive."""

    max_files: str | None = option(
        "--max-files N",
        "Maximum number of LOB files in a segment, or none.",
        to=None,
    )
    max_bytes: str | None = option(
        "--max-bytes SIZE",
        "Maximum size of the LOBs in a segment: 45000, 4GB (decimal), 4GiB (binary), or none.",
        to=None,
    )
    preset: str | None = option(
        "--preset NAME",
        f"Limits by name: {', '.join(map(_preset_words, PRESETS))}.",
        choice=choices.presets,
        to=None,
    )
    dbptk_files: str | None = option(
        "--external-lobs-per-folder --export-external-lobs-per-folder --export-lobs-per-folder "
        "-elpf -eelpf N",
        "DBPTK's name for --max-files.",
        to=None,
        hidden=True,
    )
    dbptk_bytes: str | None = option(
        "--external-lobs-folder-size --export-external-lobs-folder-size --export-lobs-folder-size "
        "-elfs -eelfs MB",
        "DBPTK's name for --max-bytes, in units of 1,048,576 bytes; 0 for no limit.",
        to=None,
        hidden=True,
    )
    layout: str | None = option(
        "--layout LAYOUT",
        "Names of folders and files: lobseg (Northwind_lobseg_0/content/..., for all columns together; the "
        "default), or siard22 (Northwind_lobs/s0_t2_c4/seg_0/..., for each column; the default for "
        "SIARD 2.2 with --dialect csip).",
        PACKAGE,
        rare=True,
        choice=choices.layouts,
    )
    split: str | None = option(
        "--split HOW",
        "How to handle a LOB larger than --max-bytes: fill (split it, filling up the open segment first; "
        "the default), alone (split it into segments of its own), or never (stop with an error).",
        PACKAGE,
        choice=choices.splits,
    )
    min_size: str | None = option(
        "--min-size SIZE",
        "Leave LOBs smaller than this inside the archive, column by column: a column stays inside if all "
        "of its LOBs are smaller; otherwise all of them are moved.",
        PACKAGE,
        rare=True,
        read=_smallest,
    )

    def given(self) -> list[str]:
        """Return the names of the options that were given, with the names here for DBPTK's."""
        usual = {"--external-lobs-per-folder": "--max-files", "--external-lobs-folder-size": "--max-bytes"}
        return list(dict.fromkeys(usual.get(each, each) for each in super().given()))

    def values(self) -> dict[str, Any]:
        """Return the limits along with the other values; raises ``ConfigError``."""
        return {**super().values(), "limits": self.limits()}

    def limits(self) -> Limits:
        """Return the limits: the preset's, replaced by those given beside it.

        A single limit given without a preset leaves the other at its default. Raises ``ConfigError``.
        """
        found = PRESETS[choices.presets.read("--preset", self.preset or DEFAULT_PRESET)]
        megabytes = None if self.dbptk_bytes is None else _megabytes(self.dbptk_bytes)
        files = _once("--max-files", self.max_files, "--external-lobs-per-folder", self.dbptk_files)
        size = _once("--max-bytes", self.max_bytes, "--external-lobs-folder-size", megabytes)
        if files is not None:
            found = replace(found, files=sizes.count(files, "--max-files"))
        if size is not None:
            found = replace(found, bytes=sizes.size(size, "--max-bytes"))
        return found


def _once(name: str, value: str | None, other: str, same: str | None) -> str | None:
    """Return the value of an option with two names; raises ``ConfigError`` if both are given."""
    if value is not None and same is not None:
        raise ConfigError(f"{other} is another name for {name}, and both are given", hint="Give one of them.")
    return value if same is None else same


def _megabytes(text: str) -> str:
    """Return DBPTK's number of megabytes as a size; raises ``ConfigError``."""
    if not text.isascii() or not text.isdigit():
        raise ConfigError(
            f"--external-lobs-folder-size {text!r} is not a whole number of megabytes",
            hint="Write a number, 0 for no limit; --max-bytes takes sizes with a unit, such as 4GB.",
        )
    return str(int(text) * _MIB) if int(text) else "none"


if TYPE_CHECKING:
    from metspack.building.options import BuildOptions, PackageOptions

AGENT = option(
    "--agent NAME",
    "Organisation that made the package, named in the METS headers. Repeatable.",
    METS,
    to="agents",
)
JOBS = option(
    "-j --jobs N",
    "Number of worker processes (default: automatic). The output does not depend on it.",
    rare=True,
    min=1,
)


@dataclass(frozen=True, kw_only=True)
class DescriptionGroup(Group):
    """Name, METS and verification of a package and of its source."""

    name: str | None = common.NAME
    objid: str | None = option(
        "--id OBJID",
        "OBJID of the parent IP; default: made from the name and the metadata, or with convert that of OUT.",
        METS,
    )
    checksum: str | None = option(
        "--checksum TYPE",
        f"Algorithm of the checksums in METS: {choices.checksums}; default: {default_checksums()}.",
        METS,
        choice=choices.checksums,
    )
    agent: list[str] | None = AGENT
    mets_profile: str | None = option(
        "--mets-profile URI",
        "PROFILE of the METS files, instead of the dialect's own (http://SIARD2.0.xml in the "
        "recommendation).",
        METS,
    )
    href: str = option(
        "--href STYLE",
        "Form of file references in METS: relative, or file-uri (file:///... from the package's "
        "root, as in recommendation 0.16).",
        METS,
        choice=choices.href_styles,
        to="href_style",
        default="relative",
    )
    accept: list[str] | None = common.ACCEPT
    verify: bool = common.VERIFY
    no_message_digest_check: bool = option(
        "--no-message-digest-check",
        "Do not compare the archive's messageDigest with its content, which takes an extra read "
        "of the archive.",
        SAFETY,
        to="check_message_digest",
        read=not_,
    )
    require_message_digest: bool = option(
        "--require-message-digest",
        "Refuse an archive whose messageDigest is not that of its content, or cannot be compared.",
        SAFETY,
    )
    budget: list[str] | None = common.BUDGET


@dataclass(frozen=True, kw_only=True)
class BuildGroup(Group, panel=PACKAGE):
    """Locations and digests in the archive, transfer of its LOBs, sidecar files, packing."""

    lob_folder_style: str | None = common.FOLDER_STYLE
    siard_version: str | None = common.SIARD_VERSION
    add_digests: bool = option(
        "--add-digests",
        "Add a digest to cells of moved LOBs that have none, by the algorithm of --checksum, or "
        "SHA-256 where a cell cannot hold that one.",
        SAFETY,
    )
    link_mode: str = option(
        "--link-mode MODE",
        "How LOBs that are whole files come into the package: copy (the default) or hardlink (the same file "
        "under another name, which is still read and verified; editing it later edits the package). Hard "
        "links need the same file system; parts of LOBs and LOBs inside zip files are always copied.",
        SAFETY,
        choice=choices.link_modes,
        default="copy",
    )
    reader: str | None = common.FOR_READER
    write_mapping: str | None = option(
        "--write-mapping URI",
        "Write a mapping.txt (SIARD 2.2 S_8.1.2) with the location of each segment folder below URI; "
        "requires --layout siard22.",
        rare=True,
        to="mapping_uri",
    )
    write_manifest: bool = option(
        "--write-manifest",
        "Write a manifest.txt (SIARD 2.2 S_8.1.3) with the digest of every LOB file, in the form "
        "of md5sum -c; requires --layout siard22.",
        rare=True,
        to="lob_manifest",
    )
    pack: str | None = option(
        "--pack FORM",
        "Write every segment (with --dialect csip every IP) as one zip or tar file, which all commands "
        "read without unpacking.",
        choice=choices.forms,
    )


def package_options(*groups: Group, **others: Any) -> PackageOptions:
    """Return the options of a package that is described now; raises ``ConfigError``."""
    from metspack.building.options import PackageOptions  # noqa: PLC0415 -- commands load what they need

    is_dated = "SOURCE_DATE_EPOCH" in os.environ
    return PackageOptions(created=clock.now(os.environ), is_dated=is_dated, **values(*groups), **others)


def build_options(*groups: Group, **others: Any) -> BuildOptions:
    """Return the options of a package that is built now; raises ``ConfigError``."""
    from metspack.building.options import BuildOptions  # noqa: PLC0415 -- commands load what they need

    is_dated = "SOURCE_DATE_EPOCH" in os.environ
    return BuildOptions(created=clock.now(os.environ), is_dated=is_dated, **values(*groups), **others)
