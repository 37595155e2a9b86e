"""SIARD 2.2's layout: ``Northwind_lobs/s0_t2_c4/seg_0/t2_c4_r1.bin`` (L_7.1-0, S_8.1-0).

Each column has segments of its own, counted from 0. Parts are ``t2_c4_r6.bin_part001``, ``_part002`` ...
(S_8.1.1-0); from the thousandth on their numbers have four digits and more, which the standard leaves open.
The standard has no names for nested cells: ``c3.u2.u3`` is with its column as ``t1_c3_u2_u3_r1.bin``.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from metspack.layouts import names
from metspack.layouts.interface import (
    FROM_1,
    NUMBER,
    Layout,
    SegmentName,
    safe_extension,
)
from metspack.model import LobPlace, Part

_CONTAINER = re.compile(rf"s{NUMBER}_t{NUMBER}_c{FROM_1}")
_FOLDER = re.compile(rf"([^/]+)_lobs/({_CONTAINER.pattern})/seg_{NUMBER}")


def container(place: LobPlace) -> str:
    """Return the folder of a LOB's column (L_7.1-0): tables count from 0, columns from 1."""
    return f"s{place.schema}_t{place.table}_{place.cell.partition('.')[0]}"


def segment_folder(name: str, container: str, index: int) -> str:
    """Return the folder of a column's segment (S_8.1-0; numbers from 0)."""
    return f"{name}_lobs/{container}/seg_{index}"


def segment_id(name: str, container: str, index: int) -> str:
    """Return the identifier of a column's segment in its package."""
    return f"{name}_{container}_seg_{index}"


def lob_paths(place: LobPlace, rows: Sequence[int], extension: str) -> list[str]:
    """Return the file names of a column's LOBs, which are in their segment without folders.

    Rows count from 1 (L_7.1-0).
    """
    cell, extension = f"t{place.table}_{place.cell.replace('.', '_')}", safe_extension(extension)
    return [f"{cell}_r{row}.{extension}" for row in rows]


def part_suffix(part: Part) -> str:
    """Return the suffix of a part (S_8.1.1-0): ``_part001`` for number 0, ``_part1000`` for 999."""
    return names.part_suffix(part.number + 1)


def cell_files(_name: str, index: int, place: LobPlace, rows: Sequence[int], extension: str) -> list[str]:
    """Return the ``file`` of cells with LOBs in a segment (L_7.1-0): ``seg_0/t2_c4_r1.bin``."""
    return [f"seg_{index}/{path}" for path in lob_paths(place, rows, extension)]


def column_folders(name: str, container: str) -> tuple[str, str]:
    """Return the folders of all segments, and of a column's (L_7.1-0)."""
    return f"{name}_lobs/", f"{container}/"


def parsed_folder(folder: str) -> SegmentName | None:
    """Return the parts of the path of a segment's folder, or None for any other path."""
    found = _FOLDER.fullmatch(folder)
    if found is None:
        return None
    return SegmentName(name=found[1], container=found[2], index=int(found[6]))


LAYOUT = Layout(
    name="siard22",
    one_series=False,
    container=container,
    segment_folder=segment_folder,
    segment_id=segment_id,
    lob_paths=lob_paths,
    part_suffix=part_suffix,
    cell_files=cell_files,
    column_folders=column_folders,
    parsed_folder=parsed_folder,
)
"""The layout of SIARD 2.2."""
