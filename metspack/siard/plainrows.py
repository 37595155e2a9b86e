"""Plain rows of a table's document: many are taken apart at once, without a parser.

A table is the same few tags a million times over. Rows that are written as nearly all are (cells in the order
of the columns, text without markup, at most one large object, with its attributes as in the row before) are
matched by one pattern, which is made from the columns; whatever is written otherwise is left to the parser.
What the pattern takes is well-formed, in UTF-8, and holds nothing that anything is to be said of.

It saves time and nothing else. To remove it, let ``tables.CellReader`` give every byte to its parser.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import takewhile
from operator import itemgetter, sub

from metspack.digests import OCTETS
from metspack.safexml import LONGEST
from metspack.siard.metadata import Column

BYTE_BY_BYTE = "latin-1"
"""The codec by which every byte is one character."""

Attributes = tuple[tuple[str, str], ...]
"""The attributes of a cell's start tag in their order, with their values."""

_MOST_COLUMNS = 500
_NO_CHARACTERS = (b"\xef\xbf\xbe", b"\xef\xbf\xbf")  # U+FFFE and U+FFFF, which XML does not allow
_REFUSED = r"\x00-\x08\x0b\x0c\x0d\x0e-\x1f<>&"
_TEXT = rf"[^{_REFUSED}]*+(?:&(?:amp|lt|gt|quot|apos);[^{_REFUSED}]*+)*+"
_GAP = r"(?:[ \t\n]|\r\n)*+"
_FILE = r'(?P<file>[^"<>&\x00-\x1f]*+)'
_LENGTH = r"(?P<length>[0-9]{1,18}+)"


@dataclass(frozen=True, slots=True, kw_only=True)
class RowsTaken:
    """Plain rows that follow each other, up to the offset ``stop`` in the block; ``inline`` values in cells.

    ``rows`` are the numbers, from 0, of those that name a file, and the other columns are of these: offsets
    of the tags in the block, and of the values of ``file`` in them, and what the attributes say. ``lengths``
    and ``digests`` are empty without any.
    """

    stop: int
    count: int
    inline: int
    rows: Sequence[int]
    starts: Sequence[int]
    values: Sequence[int]
    files: Sequence[str]
    lengths: Sequence[int]
    digests: Sequence[str]


class PlainRows:
    """The pattern of a table's plain rows; ``cell`` is the one that names files, "" for none.

    ``algorithm`` is that of its digests, None without.
    """

    def __init__(self, pattern: re.Pattern[str], inline: int, cell: str, attributes: Attributes) -> None:
        self._pattern = pattern
        self._inline = [f"i{number}" for number in range(inline)]
        self.cell = cell
        self._names = [name for name, _ in attributes]
        self.algorithm = dict(attributes).get("digestType") if "digest" in self._names else None

    def take(self, text: str, at: int) -> RowsTaken | None:
        """Return the plain rows that begin at an offset behind a row's end, in a text of a character a byte.

        None for none.
        """
        found = list(takewhile(itemgetter(0), self._pattern.finditer(text, at)))
        stops = [each.end() for each in found]
        if not found or max(map(sub, stops, (at, *stops))) > LONGEST:
            return None
        stop = stops[-1]
        taken = text[at:stop].encode(BYTE_BY_BYTE)
        if not taken.isascii() and not _is_allowed(taken):
            return None
        rows = [number for number, each in enumerate(found) if each["file"] is not None] if self.cell else []
        named = found if len(rows) == len(found) else [found[number] for number in rows]
        return RowsTaken(
            stop=stop,
            count=len(found),
            inline=sum(each[name] is not None for name in self._inline for each in found),
            rows=rows,
            starts=[each.start("tag") for each in named],
            values=[each.start("file") for each in named],
            files=_texts([each["file"] for each in named]),
            lengths=[int(each["length"]) for each in named] if "length" in self._names else (),
            digests=[each["digest"].lower() for each in named] if self.algorithm else (),
        )


def _is_allowed(taken: bytes) -> bool:
    """Return whether bytes are UTF-8 of characters that XML allows."""
    try:
        taken.decode()
    except UnicodeDecodeError:
        return False
    return not any(each in taken for each in _NO_CHARACTERS)


def _texts(values: list[str]) -> list[str]:
    """Return values as UTF-8 has them that were read byte by byte."""
    if all(map(str.isascii, values)):
        return values
    return [each.encode(BYTE_BY_BYTE).decode() for each in values]


def usual(attributes: Mapping[str, str]) -> Attributes:
    """Return of a cell's attributes what is the same in other rows."""
    return tuple((name, value if name == "digestType" else "") for name, value in attributes.items())


def pattern(columns: Sequence[Column], shape: Mapping[str, Attributes]) -> PlainRows | None:
    """Return the pattern of a table's plain rows; None where it would not pay, or nothing is usual.

    ``shape`` are the cells that were seen to name files, with what is usual of their attributes.
    """
    if not columns or len(columns) > _MOST_COLUMNS or len(shape) > 1:
        return None
    cells = {f"c{number}" for number, column in enumerate(columns, start=1) if column.number == number}
    cell, attributes = next(iter(shape.items()), ("", ()))
    if len(cells) < len(columns) or not cells.issuperset(shape) or not (_are_known(attributes) or not cell):
        return None
    return _compiled(tuple((each.is_lob, each.is_nullable) for each in columns), cell, attributes)


def _are_known(attributes: Attributes) -> bool:
    """Return whether attributes are those of SIARD 2.1 and later, with digests that can be compared."""
    said = dict(attributes)
    if "file" not in said or not said.keys() <= {"file", "length", "digest", "digestType"}:
        return False
    return ("digest" in said) == ("digestType" in said) and said.get("digestType", "MD5") in OCTETS


@lru_cache(maxsize=32)
def _compiled(columns: tuple[tuple[bool, bool], ...], cell: str, attributes: Attributes) -> PlainRows:
    parts, inline = [], 0
    for number, (is_lob, is_nullable) in enumerate(columns, start=1):
        name = f"c{number}"
        mark = f"(?P<i{inline}>)" if is_lob else ""
        inline += is_lob
        forms = [f"<{name}{mark}(?:/>|>{_TEXT}</{name}>)"]
        if name == cell:
            forms.insert(0, f"(?P<tag>)<{name} {_attributes(attributes)}(?:/>|></{name}>)")
        parts.append(f"(?:{'|'.join(forms)}){'?' if is_nullable else ''}{_GAP}")
    # Where the next row is another one, nothing is found at once instead of a row further on.
    pattern = re.compile(f"{_GAP}<row>{_GAP}{''.join(parts)}</row>|")
    return PlainRows(pattern, inline, cell, attributes)


def _attributes(attributes: Attributes) -> str:
    """Return the pattern of a cell's attributes, in the order and the form of those that were seen."""
    said = dict(attributes)
    forms = {"file": f'file="{_FILE}"', "length": f'length="{_LENGTH}"'}
    if (kind := said.get("digestType")) is not None:
        forms["digestType"] = f'digestType="{re.escape(kind)}"'
        forms["digest"] = f'digest="(?P<digest>[0-9A-Fa-f]{{{2 * OCTETS[kind]}}})"'
    return " ".join(forms[name] for name, _ in attributes)
