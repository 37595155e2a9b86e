"""Options that several commands share, and what they mean."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from metspack import sizes
from metspack.errors import ConfigError
from metspack.model import Budgets, Limits
from metspack.planning import DEFAULT_PRESET, PRESETS

if TYPE_CHECKING:
    from metspack.siard.archive import Grants

_LOCATIONS = "Where LOBs lie"
_DRIVE = re.compile(r"([A-Za-z]:)=(.+)", re.DOTALL)

Source = Annotated[
    Path,
    typer.Argument(
        metavar="SOURCE",
        help="A SIARD archive (.siard file, its parts, or unpacked), a folder of LOBs (content/schema0/...), "
        "or a list of them (.csv).",
        show_default=False,
    ),
]
LobRoot = Annotated[
    list[Path] | None,
    typer.Option(
        "--lob-root",
        metavar="DIR",
        help="Another folder that LOBs outside the archive may be read from, beside that of the .siard. "
        "Repeatable.",
        rich_help_panel=_LOCATIONS,
        show_default=False,
    ),
]
MapDrive = Annotated[
    list[str] | None,
    typer.Option(
        "--map-drive",
        metavar="S:=DIR",
        help="The folder that a drive letter stands for in the archive. Repeatable.",
        rich_help_panel=_LOCATIONS,
        show_default=False,
    ),
]
Mapping = Annotated[
    Path | None,
    typer.Option(
        "--mapping",
        metavar="FILE",
        help="Where segment folders were moved to, in the form of SIARD 2.2; a mapping.txt beside the "
        ".siard is read without being named.",
        rich_help_panel=_LOCATIONS,
        show_default=False,
    ),
]
Base = Annotated[
    Path | None,
    typer.Option(
        "--base",
        metavar="DIR",
        help="The folder that the paths in a list (.csv) begin in.",
        rich_help_panel=_LOCATIONS,
        show_default=False,
    ),
]
MaxFiles = Annotated[
    str | None,
    typer.Option(
        "--max-files",
        metavar="N",
        help="LOB files a segment may hold; none for no limit.",
        rich_help_panel="Limits",
        show_default=False,
    ),
]
MaxBytes = Annotated[
    str | None,
    typer.Option(
        "--max-bytes",
        metavar="SIZE",
        help="Bytes of LOBs a segment may hold: 45000, 4GB (decimal), 4GiB (binary); none for no limit.",
        rich_help_panel="Limits",
        show_default=False,
    ),
]
Preset = Annotated[
    str | None,
    typer.Option(
        "--preset",
        metavar="NAME",
        help="Limits by name: recommendation-0.28 (100,000 files, 4 GB; the default), recommendation-0.16 "
        "(10,000 files, 1 TB), dbptk (1,000 files).",
        rich_help_panel="Limits",
        show_default=False,
    ),
]
Name = Annotated[
    str | None,
    typer.Option(
        "--name",
        metavar="NAME",
        help="Name of the .siard, the folders and the ids; the archive's file name when left out.",
        show_default=False,
    ),
]
Root = Annotated[
    list[Path] | None,
    typer.Option(
        "--root",
        metavar="DIR",
        help="Where children or parents may lie that are not in their places: a folder, a disk, a zip or tar "
        "file. They are found by OBJID. Repeatable.",
        show_default=False,
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]
Quiet = Annotated[bool, typer.Option("-q", "--quiet", help="Print nothing but errors and warnings.")]
Budget = Annotated[
    list[str] | None,
    typer.Option(
        "--budget",
        metavar="WHAT=N",
        help="How much a source may ask of the reader before it is refused: "
        "entries, ratio, depth, attribute, metadata. Repeatable.",
        rich_help_panel="Safety",
        show_default=False,
    ),
]


def limits(max_files: str | None, max_bytes: str | None, preset: str | None) -> Limits:
    """Return the limits that options ask for: the preset's, with what is said beside it in its place.

    A single limit given without a preset leaves the other at its default. Raises ``ConfigError``.
    """
    if preset is not None and preset not in PRESETS:
        raise ConfigError(f"there is no preset {preset!r}", hint=f"Presets are {', '.join(PRESETS)}.")
    found = PRESETS[preset or DEFAULT_PRESET]
    if max_files is not None:
        found = replace(found, files=sizes.count(max_files, "--max-files"))
    if max_bytes is not None:
        found = replace(found, bytes=sizes.size(max_bytes, "--max-bytes"))
    return found


def budgets(given: Sequence[str] | None) -> Budgets:
    """Return the budgets that options ask for; raises ``ConfigError``."""
    names = [each.name for each in fields(Budgets)]
    found = Budgets()
    for text in given or ():
        name, _, value = text.partition("=")
        if name not in names or not re.fullmatch(r"[0-9]{1,18}", value):
            raise ConfigError(
                f"--budget {text!r} is no budget",
                hint=f"Write one of {', '.join(names)}, = and a whole number.",
            )
        found = replace(found, **{name: int(value)})
    return found


def grants(
    lob_roots: Sequence[Path] | None, map_drives: Sequence[str] | None, mapping: Path | None
) -> Grants:
    """Return the folders that options grant; raises ``ConfigError`` for what maps no drive, or one twice."""
    from metspack.siard.archive import Grants  # noqa: PLC0415 -- commands load what they need

    drives: dict[str, Path] = {}
    for text in map_drives or ():
        found = _DRIVE.fullmatch(text)
        if found is None:
            raise ConfigError(
                f"--map-drive {text!r} maps no drive",
                hint="Write the drive's letter, a colon, = and a folder: --map-drive S:=/mnt/scans.",
            )
        drive, folder = found[1].upper(), Path(found[2])
        if drives.setdefault(drive, folder) != folder:
            raise ConfigError(
                f"--map-drive gives drive {drive} two folders: {drives[drive]} and {folder}",
                hint="A drive stands for one folder; --lob-root grants further ones.",
            )
    return Grants(lob_roots=tuple(lob_roots or ()), drives=drives, mapping=mapping)
