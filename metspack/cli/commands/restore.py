"""``metspack restore``: the LOBs of a package as files, or in one archive."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from metspack.cli import console
from metspack.cli.options import choices, common
from metspack.cli.options.groups import option
from metspack.cli.options.package import Jobs
from metspack.digests import MANIFESTS
from metspack.errors import ConfigError
from metspack.layouts.names import SIARD
from metspack.sizes import counted

if TYPE_CHECKING:
    from metspack.restoring.files import Restored

_ARCHIVE = "An archive"


def restore(
    package: common.Package,
    *,
    output: Annotated[
        Path,
        option(
            "-o --output TARGET",
            "Folder to create, or with --siard the .siard file or a folder for it; must not exist yet.",
        ),
    ],
    only: Annotated[
        list[str] | None,
        option(
            "--only ID",
            "Restore only this LOB (s0.t2.c4.r14), or those of this column (s0.t2.c4) or table "
            "(s0.t2). Repeatable.",
        ),
    ] = None,
    siard: Annotated[
        bool,
        option(
            "--siard",
            "Restore one archive with all its LOBs, as it was before packaging, instead of files.",
            _ARCHIVE,
        ),
    ] = False,
    into: Annotated[
        str | None,
        option(
            "--into WHERE",
            "With --siard, the place for the LOBs: inside (in the archive; the default), or folder "
            "(TARGET is a folder with the archive and, beside it, one folder of LOBs as in SIARD "
            "2.2; LOBs that stayed inside stay there).",
            _ARCHIVE,
            choice=choices.places,
        ),
    ] = None,
    lob_folder_style: Annotated[
        str | None,
        option(
            "--lob-folder-style STYLE",
            "With --into folder, the form of LOB locations in the archive: dilcis (the default), sfa or "
            "dbptk, as metspack build has them.",
            _ARCHIVE,
            choice=choices.folder_styles,
        ),
    ] = None,
    archive: Annotated[
        str | None,
        option(
            "--archive NAME",
            "Which archive to restore, if the package holds several: the name of its .siard.",
            _ARCHIVE,
        ),
    ] = None,
    accept: common.Accept = None,
    stopped: common.StagingGroup,
    jobs: Jobs = None,
    cluster: common.Cluster = None,
    budget: common.Budget = None,
    json_output: common.Json = False,
    quiet: common.Quiet = False,
) -> None:
    """Restore the LOBs of a package, as files or into one SIARD archive.

    The files are in the folders of the archive, such as content/schema0/table2/lob4/record0.bin, without
    segments, and with manifests for md5sum -c and sha256sum -c. Parts are joined. Every LOB is compared with
    the digests of its parts and of the whole in METS, and with its cell, while it is written. The package is
    only read. TARGET appears complete or not at all; a restore of files that was stopped goes on with the
    same command.

    `metspack restore out -o lobs`

    `metspack restore out -o Northwind.siard --siard`
    """
    from metspack.restoring import files  # noqa: PLC0415 -- commands load what they need
    from metspack.restoring import siard as archives  # noqa: PLC0415
    from metspack.restoring.files import RestoreOptions  # noqa: PLC0415

    settings = RestoreOptions(
        only=tuple(only or ()),
        archive=archive,
        accepted=choices.accepted.read_all("--accept", accept),
        lob_folder_style=choices.folder_styles.read("--lob-folder-style", lob_folder_style or "dilcis"),
        budgets=common.budgets(budget),
        jobs=jobs,
        cluster=cluster,
    )
    where = choices.places.read("--into", into or "inside")
    if lob_folder_style is not None and into != "folder":
        raise ConfigError(
            "--lob-folder-style requires --into folder",
            hint="LOBs inside the archive need no lobFolder: leave --lob-folder-style out.",
        )
    _check(output, siard=siard, into=into, only=only, accept=accept)
    with console.progress("restore siard" if siard else "restore", quiet=quiet) as progress:
        if siard:
            restored = archives.restore_archive(
                package, output, where, settings, progress, terms=stopped.terms()
            )
        else:
            restored = files.restore_files(package, output, settings, progress, stopped.terms())
    for each in restored.warnings:
        console.warning(each)
    document = _document(restored, output, into=where.value if siard else None)
    console.tell("result", **document)
    if json_output:
        console.document(document)
    elif not quiet:
        _tell(restored, output, siard=siard)


def _check(
    output: Path, *, siard: bool, into: str | None, only: list[str] | None, accept: list[str] | None
) -> None:
    """Raise ``ConfigError`` for options that contradict each other."""
    if not siard:
        if into is not None:
            raise ConfigError("--into requires --siard", hint="Add --siard, or leave --into out.")
        if output.suffix.lower() == SIARD:
            raise ConfigError(
                f"{output} is the name of an archive, but LOBs are restored as files",
                hint="Add --siard for an archive, or name a folder.",
            )
        return
    for name, given in (("--only", only), ("--accept", accept)):
        if given:
            raise ConfigError(
                f"{name} cannot be combined with --siard",
                hint="An archive holds all its LOBs, with their right digests"
                + (": leave --only out." if name == "--only" else "; metspack convert has --accept."),
            )
    if into == "folder" and output.suffix.lower() == SIARD:
        raise ConfigError(
            f"{output} is the name of an archive, but --into folder makes a folder",
            hint="Name the folder for the archive and its LOBs, without .siard at the end.",
        )


def _document(restored: Restored, output: Path, *, into: str | None) -> dict[str, object]:
    document: dict[str, object] = {
        "target": str(output),
        "lobs": restored.lobs,
        "joined_lobs": restored.split,
        "bytes": restored.bytes,
    }
    if into is None:
        document["from_inside"] = restored.inside
    else:
        document |= {
            "into": into,
            "stayed_inside": restored.inside,
            "archive_bytes": restored.size,
            "archive_sha256": restored.sha256,
        }
    return document | {"warnings": list(restored.warnings)}


def _tell(restored: Restored, output: Path, *, siard: bool) -> None:
    inside = "stayed inside" if siard else "from inside the archive"
    words = [
        f"{output}: {counted(restored.lobs, 'LOB')}"
        + (f" ({restored.split:,} joined from parts)" if restored.split else ""),
        counted(restored.bytes, "byte"),
        *([f"{counted(restored.inside, 'LOB')} {inside}"] if restored.inside else ()),
    ]
    console.out(", ".join(words))
    if siard and output.suffix.lower() == SIARD:
        console.out(
            f"Written to {output}; every LOB was verified. "
            f"The archive has {counted(restored.size or 0, 'byte')}, SHA-256 {restored.sha256}"
        )
        return
    console.out(
        f"Written to {output}; every LOB was verified. To check again at any time: "
        f"cd {shlex.quote(str(output))} && sha256sum -c {MANIFESTS['SHA-256']}"
    )
