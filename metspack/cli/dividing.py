"""The options that say how LOBs are divided into segments, and what they mean."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated

import typer

from metspack import sizes
from metspack.cli import choices, options
from metspack.errors import ConfigError
from metspack.model import Limits
from metspack.planning import DEFAULT_PRESET, PRESETS

if TYPE_CHECKING:
    from metspack.planning import Division

SEGMENTS = "Segments"
_MIB = 1 << 20  # what DBPTK calls a megabyte


@dataclass(frozen=True, slots=True, kw_only=True)
class Dividing:
    """How LOBs are divided into segments: limits, layout, splitting, and what stays in the archive."""

    max_files: Annotated[
        str | None,
        typer.Option(
            "--max-files",
            metavar="N",
            help="LOB files a segment may hold; none for no limit. DBPTK's --export-external-lobs-per-folder "
            "is understood.",
            rich_help_panel="Limits",
            show_default=False,
        ),
    ] = None
    max_bytes: Annotated[
        str | None,
        typer.Option(
            "--max-bytes",
            metavar="SIZE",
            help="Bytes of LOBs a segment may hold: 45000, 4GB (decimal), 4GiB (binary); none for no limit. "
            "DBPTK's --export-external-lobs-folder-size is understood, in its MB.",
            rich_help_panel="Limits",
            show_default=False,
        ),
    ] = None
    preset: Annotated[
        str | None,
        typer.Option(
            "--preset",
            autocompletion=choices.presets,
            metavar="NAME",
            help="Limits by name: recommendation-0.28 (100,000 files, 4 GB; the default), "
            "recommendation-0.16 (10,000 files, 1 TB), dbptk (1,000 files).",
            rich_help_panel="Limits",
            show_default=False,
        ),
    ] = None
    dbptk_files: Annotated[
        str | None,
        typer.Option(
            "--external-lobs-per-folder",
            "--export-external-lobs-per-folder",
            "--export-lobs-per-folder",
            "-elpf",
            "-eelpf",
            metavar="N",
            help="DBPTK's name for --max-files.",
            rich_help_panel="Limits",
            show_default=False,
            hidden=True,
        ),
    ] = None
    dbptk_bytes: Annotated[
        str | None,
        typer.Option(
            "--external-lobs-folder-size",
            "--export-external-lobs-folder-size",
            "--export-lobs-folder-size",
            "-elfs",
            "-eelfs",
            metavar="MB",
            help="DBPTK's name for --max-bytes, in units of 1,048,576 bytes; 0 for no limit.",
            rich_help_panel="Limits",
            show_default=False,
            hidden=True,
        ),
    ] = None
    layout: Annotated[
        str | None,
        typer.Option(
            "--layout",
            autocompletion=choices.layouts,
            metavar="LAYOUT",
            help="How folders and files are named: lobseg (Northwind_lobseg_0/content/..., one series of "
            "folders for all LOBs; the default), or siard22 (Northwind_lobs/s0_t2_c4/seg_0/..., a series for "
            "each column, as SIARD 2.2 has it; the default for SIARD 2.2 in the dialect csip).",
            rich_help_panel=SEGMENTS,
            show_default=False,
        ),
    ] = None
    split: Annotated[
        str | None,
        typer.Option(
            "--split",
            autocompletion=choices.splits,
            metavar="HOW",
            help="What becomes of a LOB larger than --max-bytes: fill (cut into parts, the first fills what "
            "is left of the open folder; the default), alone (its parts share their folders with no other "
            "LOB), or never (it is refused by name).",
            rich_help_panel=SEGMENTS,
            show_default=False,
        ),
    ] = None
    min_size: Annotated[
        str | None,
        typer.Option(
            "--min-size",
            metavar="SIZE",
            help="Leave LOBs smaller than this inside the archive, column by column: a column moves whole or "
            "not at all, and stays when each of its LOBs is smaller.",
            rich_help_panel=SEGMENTS,
            show_default=False,
        ),
    ] = None

    def given(self) -> dict[str, object]:
        """Return the options' values by their names, None for those that were not given."""
        return {
            "--max-files": self.max_files or self.dbptk_files,
            "--max-bytes": self.max_bytes or self.dbptk_bytes,
            "--preset": self.preset,
            "--layout": self.layout,
            "--split": self.split,
            "--min-size": self.min_size,
        }

    def division(self) -> Division:
        """Return how LOBs are divided; raises ``ConfigError``."""
        from metspack.layouts import LAYOUTS  # noqa: PLC0415 -- commands load what they need
        from metspack.planning import Division, Split  # noqa: PLC0415

        limits = self.limits()
        layout = next(iter(LAYOUTS)) if self.layout is None else self.layout
        split = Split.FILL.value if self.split is None else self.split
        return Division(
            limits=limits,
            layout=LAYOUTS[options.one_of("--layout", layout, LAYOUTS)],
            split=Split(options.one_of("--split", split, (each.value for each in Split))),
        )

    def limits(self) -> Limits:
        """Return the limits: the preset's, with what is said beside it in its place.

        A single limit given without a preset leaves the other at its default. Raises ``ConfigError``.
        """
        files, size = self._max_files(), self._max_bytes()
        if self.preset is not None and self.preset not in PRESETS:
            raise ConfigError(
                f"there is no preset {self.preset!r}", hint=f"Presets are {', '.join(PRESETS)}."
            )
        found = PRESETS[self.preset or DEFAULT_PRESET]
        if files is not None:
            found = replace(found, files=sizes.count(files, "--max-files"))
        if size is not None:
            found = replace(found, bytes=sizes.size(size, "--max-bytes"))
        return found

    def _max_files(self) -> str | None:
        """Return what ``--max-files`` says by its own or DBPTK's name."""
        if self.max_files is not None and self.dbptk_files is not None:
            raise _twice("--max-files", "--external-lobs-per-folder")
        return self.max_files if self.dbptk_files is None else self.dbptk_files

    def _max_bytes(self) -> str | None:
        """Return what ``--max-bytes`` says by its own or DBPTK's name."""
        dbptk = self.dbptk_bytes
        if dbptk is None:
            return self.max_bytes
        if self.max_bytes is not None:
            raise _twice("--max-bytes", "--external-lobs-folder-size")
        if not dbptk.isascii() or not dbptk.isdigit():
            raise ConfigError(
                f"--external-lobs-folder-size {dbptk!r} is no whole number of megabytes",
                hint="Write a number, 0 for no limit; --max-bytes takes sizes with a unit, such as 4GB.",
            )
        return str(int(dbptk) * _MIB) if int(dbptk) else "none"

    def smallest(self) -> int | None:
        """Return the bytes of the smallest LOB that moves, None when all do; raises ``ConfigError``."""
        text = self.min_size
        if text is not None and re.fullmatch(r"\s*0+\s*[A-Za-z]*\s*", text):
            raise ConfigError(
                f"--min-size {text} leaves nothing inside",
                hint="Leave --min-size out, or write a size such as 10kB.",
            )
        return None if text is None else sizes.size(text, "--min-size")


def _twice(own: str, dbptk: str) -> ConfigError:
    return ConfigError(f"{dbptk} is another name for {own}, and both are given", hint="Give one of them.")
