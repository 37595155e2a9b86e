"""Options that build and plan share: how LOBs are divided into segments, and what they mean."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Annotated

import typer

from metspack import sizes
from metspack.cli import options
from metspack.errors import ConfigError

if TYPE_CHECKING:
    from metspack.planning import Division

SEGMENTS = "Segments"
_MIB = 1 << 20  # what DBPTK calls a megabyte

Layout = Annotated[
    str | None,
    typer.Option(
        "--layout",
        metavar="LAYOUT",
        help="How folders and files are named: lobseg (Northwind_lobseg_0/content/..., one series of folders "
        "for all LOBs; the default), or siard22 (Northwind_lobs/s0_t2_c4/seg_0/..., a series for each "
        "column, as SIARD 2.2 has it).",
        rich_help_panel=SEGMENTS,
        show_default=False,
    ),
]
Split = Annotated[
    str | None,
    typer.Option(
        "--split",
        metavar="HOW",
        help="What becomes of a LOB larger than --max-bytes: fill (cut into parts, the first fills what is "
        "left of the open folder; the default), alone (its parts share their folders with no other LOB), or "
        "never (it is refused by name).",
        rich_help_panel=SEGMENTS,
        show_default=False,
    ),
]
MinSize = Annotated[
    str | None,
    typer.Option(
        "--min-size",
        metavar="SIZE",
        help="Leave LOBs smaller than this inside the archive, column by column: a column moves whole or not "
        "at all, and stays when each of its LOBs is smaller.",
        rich_help_panel=SEGMENTS,
        show_default=False,
    ),
]
DbptkFiles = Annotated[
    str | None,
    typer.Option(
        "--external-lobs-per-folder",
        "-elpf",
        metavar="N",
        help="DBPTK's name for --max-files.",
        rich_help_panel="Limits",
        show_default=False,
        hidden=True,
    ),
]
DbptkBytes = Annotated[
    str | None,
    typer.Option(
        "--external-lobs-folder-size",
        "-elfs",
        metavar="MB",
        help="DBPTK's name for --max-bytes, in units of 1,048,576 bytes; 0 for no limit.",
        rich_help_panel="Limits",
        show_default=False,
        hidden=True,
    ),
]


def max_files(given: str | None, dbptk: str | None) -> str | None:
    """Return what ``--max-files`` says by its own or DBPTK's name; raises ``ConfigError`` when both do."""
    if given is not None and dbptk is not None:
        raise _twice("--max-files", "--external-lobs-per-folder")
    return given if dbptk is None else dbptk


def max_bytes(given: str | None, dbptk: str | None) -> str | None:
    """Return what ``--max-bytes`` says by its own or DBPTK's name; raises ``ConfigError``."""
    if dbptk is None:
        return given
    if given is not None:
        raise _twice("--max-bytes", "--external-lobs-folder-size")
    if not dbptk.isascii() or not dbptk.isdigit():
        raise ConfigError(
            f"--external-lobs-folder-size {dbptk!r} is no whole number of megabytes",
            hint="Write a number, 0 for no limit; --max-bytes takes sizes with a unit, such as 4GB.",
        )
    return str(int(dbptk) * _MIB) if int(dbptk) else "none"


def _twice(own: str, dbptk: str) -> ConfigError:
    return ConfigError(f"{dbptk} is another name for {own}, and both are given", hint="Give one of them.")


def division(
    files: str | None, size: str | None, preset: str | None, layout: str | None, split: str | None
) -> Division:
    """Return how LOBs are divided; raises ``ConfigError``."""
    from metspack.layouts import LAYOUTS  # noqa: PLC0415 -- commands load what they need
    from metspack.planning import Division, Split  # noqa: PLC0415

    limits = options.limits(files, size, preset)
    chosen = next(iter(LAYOUTS)) if layout is None else one_of("--layout", layout, tuple(LAYOUTS))
    ways = tuple(each.value for each in Split)
    how = Split.FILL if split is None else Split(one_of("--split", split, ways))
    return Division(limits=limits, layout=LAYOUTS[chosen], split=how)


def min_size(text: str | None) -> int | None:
    """Return the bytes of the smallest LOB that moves, None when all do; raises ``ConfigError``."""
    if text is not None and re.fullmatch(r"\s*0+\s*[A-Za-z]*\s*", text):
        raise ConfigError(
            f"--min-size {text} leaves nothing inside",
            hint="Leave --min-size out, or write a size such as 10kB.",
        )
    return None if text is None else sizes.size(text, "--min-size")


def one_of(option: str, value: str, values: tuple[str, ...]) -> str:
    """Return an option's value; raises ``ConfigError`` when it is not one of those that there are."""
    if value not in values:
        raise ConfigError(f"{option} {value!r} is not known", hint=f"Choose one of {', '.join(values)}.")
    return value
