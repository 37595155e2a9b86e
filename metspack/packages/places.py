"""Places of LOBs in a database, read from the ids that METS has for them (``s0.t2.c4.r1``)."""

from __future__ import annotations

from collections.abc import Sequence

from metspack.errors import SourceError
from metspack.model import LobPlace
from metspack.values import regex

Row = tuple[int, int, int, str]
"""The place of a LOB in the order of LOBs: schema, table, row and cell."""

_DIGITS = 18
_N = f"[0-9]{{1,{_DIGITS}}}"
_PLACE = regex(rf"s({_N})\.t({_N})\.(c{_N}(?:\.[ua]{_N})*)\.r({_N})")


def place_of(lob: str) -> LobPlace:
    """Return the place that an id is; raises ``SourceError`` when it is not one."""
    schema, table, row, cell = _row_of(lob)
    return LobPlace(schema=schema, table=table, cell=cell, row=row)


def rows_of(lobs: Sequence[str]) -> list[Row]:
    """Return the places that ids are, of one at least; raises ``SourceError`` for the first that is not one.

    Where all are of one column, as nearly always, they are told together.
    """
    schema, table, _, cell = _row_of(lobs[0])
    stem = f"{lobs[0].rpartition('.')[0]}.r"
    texts = [lob[len(stem) :] for lob in lobs if lob.startswith(stem)]
    digits = "".join(texts)
    if len(texts) == len(lobs) and digits.isascii() and digits.isdigit() and max(map(len, texts)) <= _DIGITS:
        rows = [int(text or 0) for text in texts]
        if all(rows):
            return [(schema, table, row, cell) for row in rows]
    return list(map(_row_of, lobs))


def _row_of(lob: str) -> Row:
    found = _PLACE.fullmatch(lob)
    if found is None or not int(found[4]):
        raise SourceError(
            f"LOB {lob[:200]!r}: its id is not a place in a database, so it has no path in a restored tree",
            hint="Such ids are like s0.t2.c4.r1; metspack cat reads a LOB with any id.",
        )
    return int(found[1]), int(found[2]), int(found[4]), found[3]
