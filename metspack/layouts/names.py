"""Names of segment folders, and of a SIARD archive and its parts, with the limits of their numbers; pure.

Builder and checker read names by the same patterns; what gives LOBs their names are the layouts.
"""

from __future__ import annotations

import re

SIARD = ".siard"
"""The extension of an archive, in capital or small letters."""

DIGITS = "[0-9]{1,255}"
"""The number of a segment in a name: of any length that a file system allows."""

PART_DIGITS = "[0-9]{3,9}"
"""The number of an archive's part in a name (SIARD 2.2 S_8.2-0); with more digits it is a date."""

LOBSEG = re.compile(rf"(.*_lobseg_)({DIGITS})", re.DOTALL)
"""A segment's folder in the recommendation (0.28 §5.1): what comes before its number, and the number."""

LOBS = re.compile(r"(.+)_lobs", re.DOTALL)
"""The folder of an archive's segments in SIARD 2.2 (L_7.1-0): the archive's name."""

SEG = re.compile(rf"(se[gq]_?)({DIGITS})")
"""A segment's folder in SIARD 2.2 (S_8.1-0), also as DBPTK writes it: ``seg_0``, ``seg0``, ``seq_0``."""

SEGMENT = re.compile(rf"((?:.*_)?(?:lob)?seg_)({DIGITS})")
"""The folder of a child IP that is a segment, by the names of both standards."""

SEGMENT_GROUP = re.compile(rf"seg_{DIGITS}")
"""The ID of the group that has a segment's files in METS (recommendation 0.16)."""

_ARCHIVE = rf"(.+\.siard)(?:_part({PART_DIGITS}))?"
ARCHIVE = re.compile(_ARCHIVE, re.DOTALL | re.IGNORECASE | re.ASCII)
"""An archive, or one of its parts (SIARD 2.2 S_8.2-0): the name of the whole, and the part's number."""

ARCHIVE_BYTES = re.compile(_ARCHIVE.encode(), re.DOTALL | re.IGNORECASE)
"""The same of a path as the file system has it."""

PART = re.compile(rf"(.+)_part({PART_DIGITS})", re.DOTALL)
"""A part of a file of any name."""


def part_suffix(number: int) -> str:
    """Return the suffix of a part, numbers from 1 (SIARD 2.2 S_8.1.1-0, S_8.2-0): ``_part001``."""
    return f"_part{number:03d}"
