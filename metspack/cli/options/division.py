"""Options on the division of LOBs into segments: limits, layout, splitting."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Annotated, Any

from metspack import sizes
from metspack.cli.options import choices
from metspack.cli.options.groups import Group, option
from metspack.errors import ConfigError
from metspack.model import Limits
from metspack.planning.division import DEFAULT_PRESET, PRESETS

LIMITS = "Limits"
SEGMENTS = "Segments"
_MIB = 1 << 20  # what DBPTK calls a megabyte


def _smallest(text: str) -> int | None:
    """Return the bytes of the smallest LOB that moves, None for all; raises ``ConfigError``."""
    if re.fullmatch(r"\s*0+\s*[A-Za-z]*\s*", text):
        raise ConfigError(
            f"--min-size {text} leaves nothing inside",
            hint="Leave --min-size out, or write a size such as 10kB.",
        )
    return sizes.size(text, "--min-size")


@dataclass(frozen=True, kw_only=True)
class DivisionGroup(Group):
    """How LOBs are divided into segments: limits, layout, splitting, and what stays in the archive."""

    max_files: Annotated[
        str | None,
        option(
            "--max-files N",
            "LOB files a segment may hold; none for no limit. DBPTK's --export-external-lobs-per-folder "
            "is understood.",
            LIMITS,
            to=None,
        ),
    ] = None
    max_bytes: Annotated[
        str | None,
        option(
            "--max-bytes SIZE",
            "Bytes of LOBs a segment may hold: 45000, 4GB (decimal), 4GiB (binary); none for no limit. "
            "DBPTK's --export-external-lobs-folder-size is understood, in its MB.",
            LIMITS,
            to=None,
        ),
    ] = None
    preset: Annotated[
        str | None,
        option(
            "--preset NAME",
            "Limits by name: recommendation-0.28 (100,000 files, 4 GB; the default), "
            "recommendation-0.16 (10,000 files, 1 TB), dbptk (1,000 files).",
            LIMITS,
            choice=choices.presets,
            to=None,
        ),
    ] = None
    dbptk_files: Annotated[
        str | None,
        option(
            "--external-lobs-per-folder --export-external-lobs-per-folder --export-lobs-per-folder "
            "-elpf -eelpf N",
            "DBPTK's name for --max-files.",
            LIMITS,
            to=None,
            hidden=True,
        ),
    ] = None
    dbptk_bytes: Annotated[
        str | None,
        option(
            "--external-lobs-folder-size --export-external-lobs-folder-size --export-lobs-folder-size "
            "-elfs -eelfs MB",
            "DBPTK's name for --max-bytes, in units of 1,048,576 bytes; 0 for no limit.",
            LIMITS,
            to=None,
            hidden=True,
        ),
    ] = None
    layout: Annotated[
        str | None,
        option(
            "--layout LAYOUT",
            "How folders and files are named: lobseg (Northwind_lobseg_0/content/..., one series of "
            "folders for all LOBs; the default), or siard22 (Northwind_lobs/s0_t2_c4/seg_0/..., a series for "
            "each column, as SIARD 2.2 has it; the default for SIARD 2.2 in the dialect csip).",
            SEGMENTS,
            choice=choices.layouts,
        ),
    ] = None
    split: Annotated[
        str | None,
        option(
            "--split HOW",
            "What becomes of a LOB larger than --max-bytes: fill (cut into parts, the first fills what "
            "is left of the open folder; the default), alone (its parts share their folders with no other "
            "LOB), or never (it is refused by name).",
            SEGMENTS,
            choice=choices.splits,
        ),
    ] = None
    min_size: Annotated[
        str | None,
        option(
            "--min-size SIZE",
            "Leave LOBs smaller than this inside the archive, column by column: a column moves whole or "
            "not at all, and stays when each of its LOBs is smaller.",
            SEGMENTS,
            read=_smallest,
        ),
    ] = None

    def given(self) -> list[str]:
        """Return the names of the options that were given, DBPTK's by the name that they have here."""
        own = {"--external-lobs-per-folder": "--max-files", "--external-lobs-folder-size": "--max-bytes"}
        return list(dict.fromkeys(own.get(each, each) for each in super().given()))

    def values(self) -> dict[str, Any]:
        """Return the limits, and what was given beside; raises ``ConfigError``."""
        return {**super().values(), "limits": self.limits()}

    def limits(self) -> Limits:
        """Return the limits: the preset's, with what is said beside it in its place.

        A single limit given without a preset leaves the other at its default. Raises ``ConfigError``.
        """
        files, size = self._max_files(), self._max_bytes()
        found = PRESETS[choices.presets.read("--preset", self.preset or DEFAULT_PRESET)]
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
                f"--external-lobs-folder-size {dbptk!r} is not a whole number of megabytes",
                hint="Write a number, 0 for no limit; --max-bytes takes sizes with a unit, such as 4GB.",
            )
        return str(int(dbptk) * _MIB) if int(dbptk) else "none"


def _twice(own: str, dbptk: str) -> ConfigError:
    return ConfigError(f"{dbptk} is another name for {own}, and both are given", hint="Give one of them.")
