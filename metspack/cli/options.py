"""Options that several commands share, and what they mean."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import Annotated

import typer

from metspack import sizes
from metspack.errors import ConfigError
from metspack.model import Budgets, Limits
from metspack.planning import DEFAULT_PRESET, PRESETS

Source = Annotated[
    Path, typer.Argument(metavar="SOURCE", help="The SIARD archive (a .siard file).", show_default=False)
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
