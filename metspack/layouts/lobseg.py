"""The recommendation's layout: ``Northwind_lobseg_0/content/schema0/table2/lob4/record0.bin``."""

from __future__ import annotations

from metspack.model import LobPlace


def segment_name(name: str, index: int) -> str:
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


def lob_file(place: LobPlace, extension: str) -> str:
    """Return the name of a LOB's file: records count from 0, rows from 1 (recommendation 0.28 §5.1)."""
    return f"record{place.row - 1}.{extension}"


def lob_path(place: LobPlace, extension: str) -> str:
    """Return a LOB's place inside its segment."""
    return f"{lob_folder(place)}/{lob_file(place, extension)}"
