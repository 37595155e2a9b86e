"""Options that several commands share, and what they mean."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from metspack.errors import ConfigError
from metspack.model import Budgets

if TYPE_CHECKING:
    from metspack.siard.archive import Grants

_LOCATIONS = "Where LOBs lie"
_DRIVE = re.compile(r"([A-Za-z]:)=(.+)", re.DOTALL)

FLAG = ""
"""The metavar of options that take no value: without one, help shows a type as if they did."""

Source = Annotated[
    Path,
    typer.Argument(
        metavar="SOURCE",
        help="A SIARD archive (.siard file, its parts, or unpacked), a folder of LOBs (content/schema0/...), "
        "or a list of them (.csv).",
        show_default=False,
    ),
]
Packages = Annotated[
    list[Path],
    typer.Argument(
        metavar="PATH",
        help="Packages: their folders, METS files, or zip or tar files of them.",
        show_default=False,
    ),
]
Package = Annotated[
    Path, typer.Argument(metavar="OUT", help="A package's folder, or its METS file.", show_default=False)
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
Json = Annotated[bool, typer.Option("--json", metavar=FLAG, help="Print the result as JSON.")]
Quiet = Annotated[
    bool, typer.Option("-q", "--quiet", metavar=FLAG, help="Print nothing but errors and warnings.")
]
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Locations:
    """Where LOBs may lie beside the archive's own folder, and what may be read there."""

    lob_root: Annotated[
        list[Path] | None,
        typer.Option(
            "--lob-root",
            metavar="DIR",
            help="Another folder that LOBs outside the archive may be read from, beside that of the .siard. "
            "Repeatable.",
            rich_help_panel=_LOCATIONS,
            show_default=False,
        ),
    ] = None
    map_drive: Annotated[
        list[str] | None,
        typer.Option(
            "--map-drive",
            metavar="S:=DIR",
            help="The folder that a drive letter stands for in the archive. Repeatable.",
            rich_help_panel=_LOCATIONS,
            show_default=False,
        ),
    ] = None
    mapping: Annotated[
        Path | None,
        typer.Option(
            "--mapping",
            metavar="FILE",
            help="Where segment folders were moved to, in the form of SIARD 2.2; a mapping.txt beside the "
            ".siard is read without being named.",
            rich_help_panel=_LOCATIONS,
            show_default=False,
        ),
    ] = None

    def grants(self) -> Grants:
        """Return the folders that are granted; raises ``ConfigError`` for no drive, or one given twice."""
        from metspack.siard.archive import Grants  # noqa: PLC0415 -- commands load what they need

        drives: dict[str, Path] = {}
        for text in self.map_drive or ():
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
        return Grants(lob_roots=tuple(self.lob_root or ()), drives=drives, mapping=self.mapping)


def one_of(option: str, value: str, values: Iterable[str]) -> str:
    """Return an option's value; raises ``ConfigError`` when it is not one of those that there are."""
    known = tuple(values)
    if value not in known:
        raise ConfigError(f"{option} {value!r} is not known", hint=f"Choose one of {', '.join(known)}.")
    return value


def accepted(given: Sequence[str] | None) -> frozenset[str]:
    """Return what ``--accept`` takes; raises ``ConfigError``."""
    from metspack.copying import ACCEPTABLE  # noqa: PLC0415 -- commands load what they need

    return frozenset(one_of("--accept", each, ACCEPTABLE) for each in given or ())


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
