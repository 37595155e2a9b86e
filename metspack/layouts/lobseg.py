"""The recommended layout: ``Northwind_lobseg_0/content/schema0/table2/lob4/record0.bin``.

All LOBs share one series of segments. Parts are ``record14.bin.0``, ``.1`` ... and ``.z`` for the last
(recommendation 0.28 §5.3); they may be more than the ten that fit one digit.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from metspack.layouts.interface import (
    NUMBER,
    Layout,
    SegmentName,
    safe_extension,
)
from metspack.model import LobPlace, Part

_FOLDER = re.compile(rf"([^/]+)_lobseg_{NUMBER}")


def segment_folder(name: str, _container: str, index: int) -> str:
    """Return the folder of a segment (recommendation 0.28 §5.1; numbers from 0)."""
    return f"{name}_lobseg_{index}"


def lob_folder(place: LobPlace) -> str:
    """Return the folder of a LOB inside its segment.

    Tables count from 0, columns from 1 (recommendation 0.28 §5.1); a nested cell keeps its path
    below the column: ``c3.u2.u3`` gives ``content/schema0/table1/lob3/u2/u3``.
    """
    column, _, below = place.cell.partition(".")
    folder = f"content/schema{place.schema}/table{place.table}/lob{column[1:]}"
    return f"{folder}/{below.replace('.', '/')}" if below else folder


def lob_paths(place: LobPlace, rows: Sequence[int], extension: str) -> list[str]:
    """Return the places of a column's LOBs inside their segment.

    Records count from 0, rows from 1 (recommendation 0.28 §5.1).
    """
    folder, extension = lob_folder(place), safe_extension(extension)
    return [f"{folder}/record{row - 1}.{extension}" for row in rows]


def part_suffix(part: Part) -> str:
    """Return a part's suffix: its number from 0, the last ``.z`` (recommendation 0.28 §5.3)."""
    return ".z" if part.is_last else f".{part.number}"


def cell_files(name: str, index: int, place: LobPlace, rows: Sequence[int], extension: str) -> list[str]:
    """Return the ``file`` of cells whose LOBs begin in a segment (recommendation 0.28 §5.2.4)."""
    folder = segment_folder(name, "", index)
    return [f"{folder}/{path}" for path in lob_paths(place, rows, extension)]


def parsed_folder(folder: str) -> SegmentName | None:
    """Return the parts of the name of a segment's folder, or None for any other name."""
    found = _FOLDER.fullmatch(folder)
    return SegmentName(name=found[1], container="", index=int(found[2])) if found else None


def _container(_place: LobPlace) -> str:
    return ""


def _column_folders(_name: str, _container: str) -> tuple[str, str]:
    return "", ""


LAYOUT = Layout(
    name="lobseg",
    one_series=True,
    container=_container,
    segment_folder=segment_folder,
    segment_id=segment_folder,
    lob_paths=lob_paths,
    part_suffix=part_suffix,
    cell_files=cell_files,
    column_folders=_column_folders,
    parsed_folder=parsed_folder,
)
"""The layout of the recommendation for SIARD 2.0 and 2.1."""
