"""Names of segment folders, archives and LOB parts, and styles of references to LOBs; pure.

Builder and checker read names by the same patterns; the layouts give LOBs their names.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum, unique

SIARD = ".siard"
"""The extension of an archive, in capital or small letters."""

METS_NAMES = ("mets.xml", "METS.xml")
"""The METS of a package by the recommendation (0.28), and of an IP (CSIP 2.2.0, CSIPSTR4)."""

DIGITS = "[0-9]{1,255}"
"""The number of a segment in a name: of any length that a file system allows."""

PART_DIGITS = "[0-9]{3,9}"
"""The number of an archive's part in a name (SIARD 2.2 S_8.2-0); more digits are a date."""

LOB_PART_DIGITS = "[0-9]{1,18}"
"""The number of a LOB's part in a name: a 64-bit integer, with or without leading zeros."""

LOBSEG = re.compile(rf"(.*_lobseg_)({DIGITS})", re.DOTALL)
"""A segment's folder in the recommendation (0.28 §5.1): text before the number, number."""

LOBS = re.compile(r"(.+)_lobs", re.DOTALL)
"""The folder of an archive's segments in SIARD 2.2 (L_7.1-0): the archive's name."""

SEG = re.compile(rf"(se[gq]_?)({DIGITS})")
"""A segment's folder in SIARD 2.2 (S_8.1-0), and DBPTK's: ``seg_0``, ``seg0``, ``seq_0``."""

SEGMENT = re.compile(rf"((?:.*_)?(?:lob)?seg_)({DIGITS})")
"""The folder of a child IP that is a segment, by the names of both standards."""

SEGMENT_GROUP = re.compile(rf"seg_{DIGITS}")
"""The ID of the group that has a segment's files in METS (recommendation 0.16)."""

OF_MACOS = re.compile(rb"(?:.*/)?(?:\._[^/]*|\.DS_Store|__MACOSX/.*)", re.DOTALL)
"""A file that macOS writes beside another of that name (AppleDouble) or into each folder."""

# Nearly all paths are of other files, which the lookahead excludes at once.
_ARCHIVE = rf"(?=.+\.siard)((?:.*/)?(?!\._)[^/]+\.siard)(?:_part({PART_DIGITS}))?"
ARCHIVE = re.compile(_ARCHIVE, re.DOTALL | re.IGNORECASE | re.ASCII)
"""An archive or a part of one (SIARD 2.2 S_8.2-0): name of the whole, number of the part."""

ARCHIVE_BYTES = re.compile(_ARCHIVE.encode(), re.DOTALL | re.IGNORECASE)
"""The same of a path as the file system has it."""

PART = re.compile(rf"(.+)_part({PART_DIGITS})", re.DOTALL)
"""A part of a file of any name."""

LAST = "z"
"""The number of a LOB's last part in the recommendation (0.28 §5.3)."""

LOB_PART_SUFFIX = rf"\.({LOB_PART_DIGITS}|{LAST})|_part({LOB_PART_DIGITS})"
"""A part's suffix: from 0, then ``LAST`` (recommendation 0.28 §5.3), or from 1 (SIARD 2.2)."""

LOB_PART = re.compile(rf"(.*)(?:{LOB_PART_SUFFIX})", re.DOTALL)
"""A part of a LOB: the name of the whole, and the part's number in one way or the other."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LobRoute:
    """The traits of references to a LOB outside its archive that matter to readers of archives.

    Three flags state which references begin with ``../``. ``joined``: the lobFolders of database and column
    joined with the cell's ``file``; ``cell``: the ``file`` in a column without lobFolder; ``innermost``: the
    lobFolder of the field that has the LOB, or of the column. The LOB is ``nested`` in a field, has an
    ``unusual`` extension (neither .bin nor .txt), or is ``split``; its parts are ``numbered`` as in SIARD
    2.2.
    """

    joined: bool
    cell: bool
    innermost: bool
    nested: bool = False
    unusual: bool = False
    split: bool = False
    numbered: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchiveRoutes:
    """An archive with LOBs outside: its path, SIARD version, and number of LOBs by route.

    ``is_apart``: LOBs are in other packages than the archive, and readers need all of them merged.
    ``has_types``: it has columns of user-defined types.
    """

    path: str
    version: str
    routes: tuple[tuple[LobRoute, int], ...]
    is_apart: bool = False
    has_types: bool = False


def is_archive(name: str) -> bool:
    """Return whether a file's name or path is that of an archive in one file."""
    return name[-len(SIARD) :].lower() == SIARD and ARCHIVE.fullmatch(name) is not None


def stem_of(archive: str) -> str:
    """Return an archive's name without ``.siard``; any other name is returned as it is."""
    return archive[: -len(SIARD)] if is_archive(archive) else archive


def part_suffix(number: int, width: int = 3) -> str:
    """Return the suffix of a part, numbers from 1 (SIARD 2.2 S_8.1.1-0, S_8.2-0): ``_part001``."""
    return f"_part{number:0{width}d}"


def whole_of(part: str) -> str:
    """Return the name of the LOB that a part belongs to; any other name is returned as it is."""
    found = LOB_PART.fullmatch(part)
    return part if found is None else found[1]


@unique
class FolderStyle(Enum):
    """The use of the lobFolder elements of database, columns and fields to lead to the segments.

    ``DILCIS``: database and column, from the folder that holds the .siard (statement of the DILCIS Board
    on the location of LOBs). ``SFA``: only the innermost field that has the LOB, or the column, from the
    .siard as if it were a folder. ``DBPTK``: only the column in SIARD 2.2, no lobFolder in 2.0 and 2.1,
    whose cells lead out of the .siard themselves.
    """

    DILCIS = "dilcis"
    SFA = "sfa"
    DBPTK = "dbptk"

    @property
    def note(self) -> str:
        """The note in METS on an archive with LOBs in another style than the statement's."""
        return f"LOBs located in the style {self.value}"
