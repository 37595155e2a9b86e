"""The lobFolder elements and cells that lead from an archive to its segments, in each style; pure.

SIARD has no one way that all readers follow: a style is the way that some of them do.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, unique

from metspack.errors import ConfigError
from metspack.layouts.interface import Layout


@unique
class FolderStyle(Enum):
    """The use of the lobFolder elements of database, columns and fields to lead to the segments.

    ``DILCIS``: database and column, from the folder that holds the .siard (statement of the DILCIS Board
    on the location of LOBs). ``SFA``: the innermost field that has the LOB alone, or the column, from the
    .siard as if it were a folder. ``DBPTK``: the column alone in SIARD 2.2, no lobFolder in 2.0 and 2.1,
    whose cells lead out of the .siard themselves.
    """

    DILCIS = "dilcis"
    SFA = "sfa"
    DBPTK = "dbptk"


@dataclass(frozen=True, slots=True, kw_only=True)
class FolderUse:
    """The values of lobFolder for the LOBs of one column, None for none, and what their cells begin with.

    ``is_innermost`` puts the column's lobFolder to each innermost field that has LOBs, where
    metadata.xml has such fields.
    """

    database: str | None = None
    column: str | None = None
    before: str = ""
    is_innermost: bool = False


def check_style(style: FolderStyle, version: str) -> None:
    """Raise ``ConfigError`` where a style has no form in a version of SIARD."""
    if style is FolderStyle.DBPTK and version == "1.0":
        raise ConfigError(
            "--lob-folder-style dbptk has no form in SIARD 1.0: DBPTK reads no LOB outside such an archive",
            hint="Choose another style; no reader of SIARD 1.0 knows LOBs outside.",
        )


def folder_use(layout: Layout, name: str, container: str, style: FolderStyle, version: str) -> FolderUse:
    """Return the use of lobFolder for LOBs in a container of the package ``name``.

    ``version`` is the archive's, "1.0" to "2.2"; the cells' own part is ``Layout.cell_file``.
    """
    above, below = layout.column_folders(name, container)
    if style is FolderStyle.DILCIS:
        return FolderUse(database=f"./{above}", column=below or "./")
    if style is FolderStyle.DBPTK and version in {"2.0", "2.1"}:
        return FolderUse(before=f"../{above}{below}")
    return FolderUse(column=f"../{above}{below}", is_innermost=style is FolderStyle.SFA)
