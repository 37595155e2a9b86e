"""The interface of a layout: names of segments, LOBs and parts; pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache

from metspack.errors import ConfigError
from metspack.layouts.names import FolderStyle
from metspack.model import LobPlace, Part

_EXTENSION = re.compile(r"[A-Za-z0-9]{1,10}")
_LIKE_A_PART = re.compile(r"[0-9]+|[zZ]")

NUMBER = r"(0|[1-9][0-9]{0,17})"
"""A number from 0 in a name, as it is written: without zeros before it, below 10**18."""

FROM_1 = r"([1-9][0-9]{0,17})"
"""A number from 1 in a name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SegmentName:
    """The name of a segment's folder in parts: package name, container, number from 0."""

    name: str
    container: str
    index: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """A layout of LOBs in segments: functions that make and read names; it can be pickled.

    Every function is total: those that make names take any place, number and extension, and give different
    names to different ones; ``parsed_folder`` returns None for all other names and spellings (``seg_01``).
    Paths have ``/``; those of segments begin in the package, those of LOBs in their segment.
    """

    name: str
    """``lobseg`` or ``siard22``, as options and plans call it."""

    one_series: bool
    """True if one series of segments holds all LOBs; else each column has its series."""

    container: Callable[[LobPlace], str]
    """The container in which a LOB's segments are numbered: ``""`` (the one series) or ``s0_t2_c4``."""

    segment_folder: Callable[[str, str, int], str]
    """A segment's folder by package, container and number: ``Northwind_lobs/s0_t2_c4/seg_0``."""

    segment_id: Callable[[str, str, int], str]
    """The segment in one word, for the child's OBJID: ``Northwind_s0_t2_c4_seg_0``."""

    lob_paths: Callable[[LobPlace, Sequence[int], str], list[str]]
    """The paths of a column's whole LOBs in their segment.

    The arguments are any place in the column, the rows and the extension (see ``safe_extension``).
    """

    part_suffix: Callable[[Part], str]
    """The suffix of a part behind the path of the whole: ``.0``, ``.z``; ``_part001``."""

    cell_files: Callable[[str, int, LobPlace, Sequence[int], str], list[str]]
    """The ``file`` of a column's cells.

    The arguments are package name, number of the segment with the LOBs' first bytes, place, rows and
    extension. ``file`` names the whole LOB also if there are only parts, so that no reader takes a part for
    the whole.
    """

    column_folders: Callable[[str, str], tuple[str, str]]
    """The folders between the .siard and a cell's ``file``, by package name and container.

    First those of the database, then those of the column: ``Northwind_lobs/``, ``s0_t2_c4/``; each is empty
    or ends with a slash.
    """

    parsed_folder: Callable[[str], SegmentName | None]
    """The reverse of ``segment_folder``."""

    def lob_path(self, place: LobPlace, extension: str) -> str:
        """Return the path of a whole LOB in its segment."""
        return self.lob_paths(place, (place.row,), extension)[0]


def safe_extension(extension: str) -> str:
    """Return the extension of a LOB's file: the source's, or ``bin`` in place of an unsafe one.

    Safe are 1 to 10 ASCII letters and digits, without those that a reader could take for the suffix of a
    part: only digits, and ``z`` in either case. So ``record0.z`` is never a whole LOB. The media type is
    independent of the extension.
    """
    if _EXTENSION.fullmatch(extension) and not _LIKE_A_PART.fullmatch(extension):
        return extension
    return "bin"


# --- lobFolder: the references from the archive to its segments, which each reader resolves differently ---


@dataclass(frozen=True, slots=True, kw_only=True)
class FolderUse:
    """The lobFolders of database and column, if any, and the text ``before`` a cell's ``file``.

    With ``is_innermost`` the innermost fields that have LOBs, if metadata.xml has such, get the lobFolder in
    place of the column.
    """

    database: str | None = None
    column: str | None = None
    before: str = ""
    is_innermost: bool = False


def check_style(style: FolderStyle, version: str) -> None:
    """Raise ``ConfigError`` if a style has no form in a version of SIARD."""
    if style is FolderStyle.DBPTK and version == "1.0":
        raise ConfigError(
            "--lob-folder-style dbptk has no form in SIARD 1.0: DBPTK reads no LOB outside such an archive",
            hint="Choose another style; no reader of SIARD 1.0 knows LOBs outside.",
        )


@lru_cache(maxsize=1)  # LOBs come column by column
def folder_use(layout: Layout, name: str, container: str, style: FolderStyle, version: str) -> FolderUse:
    """Return the use of lobFolder for LOBs in a container of the package ``name``.

    ``version`` is the archive's, "1.0" to "2.2"; the rest of a cell's path is ``Layout.cell_files``.
    """
    above, below = layout.column_folders(name, container)
    if style is FolderStyle.DILCIS:
        return FolderUse(database=f"./{above}", column=below or "./")
    if style is FolderStyle.DBPTK and version in {"2.0", "2.1"}:
        return FolderUse(before=f"../{above}{below}")
    return FolderUse(column=f"../{above}{below}", is_innermost=style is FolderStyle.SFA)
