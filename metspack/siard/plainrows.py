"""Plain rows of a table's document: many are taken apart at once, without a parser.

A table is the same few tags a million times over. Rows that are written as nearly all are (cells in the order
of the columns, text without markup, at most one large object, with its attributes as in the row before) are
matched by one pattern, which is made from the columns; whatever is written otherwise is left to the parser.
What the pattern takes is well-formed, in UTF-8, and holds nothing that anything is to be said of.

It saves time and nothing else. To remove it, let ``tables.CellReader`` give every byte to its parser.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import accumulate, compress
from operator import add

from metspack.digests import OCTETS
from metspack.safexml import LONGEST
from metspack.siard.metadata import Column
from metspack.values import dataclass

BYTE_BY_BYTE = "latin-1"
"""The codec by which every byte is one character."""

Attributes = tuple[tuple[str, str], ...]
"""The attributes of a cell's start tag in their order, with their values."""

_MOST_COLUMNS = 500
_NO_CHARACTERS = (b"\xef\xbf\xbe", b"\xef\xbf\xbf")  # U+FFFE and U+FFFF, which XML does not allow
_REFUSED = r"\x00-\x08\x0b\x0c\x0d\x0e-\x1f<>&"
_TEXT = rf"[^{_REFUSED}]*+(?:&(?:amp|lt|gt|quot|apos);[^{_REFUSED}]*+)*+"
_GAP = r"[ \t\n]*+(?:\r\n[ \t\n]*+)*+"
_FILE = r'(?P<file>[^"<>&\x00-\x1f]*+)'
_ANYTHING = '[^"]'
_NOT_IN_FILE = bytes((*range(32), *b'"<>&'))
_HEXADECIMAL = b"0123456789ABCDEFabcdef"
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

    ``algorithm`` is that of its digests, None without. ``quick`` is the same pattern with attributes of any
    characters, which are looked at together: one by one, it takes twice as long.
    """

    def __init__(
        self, pattern: re.Pattern[str], quick: re.Pattern[str], cell: str, attributes: Attributes
    ) -> None:
        self._pattern = pattern
        self._quick: re.Pattern[str] | None = quick
        self._slots = {name: slot - 1 for name, slot in pattern.groupindex.items()}
        self._inline = [slot for name, slot in self._slots.items() if name.startswith("i")]
        self.cell = cell
        self._names = [name for name, _ in attributes]
        self.algorithm = dict(attributes).get("digestType") if "digest" in self._names else None

    def take(self, text: str, at: int) -> RowsTaken | None:
        """Return the plain rows that begin at an offset behind a row's end, in a text of a character a byte.

        None for none.
        """
        found = (self._quick or self._pattern).findall(text, at)
        if found and not found[-1][0]:  # what is no plain row any more
            found.pop()
        if not found:
            return None
        columns = list(zip(*found, strict=True))
        lengths = list(map(len, columns[0]))
        stop = at + sum(lengths)
        own: dict[str, Sequence[str]] = {name: columns[slot] for name, slot in self._slots.items()}
        if self._quick and not _are_usual(own):
            self._quick = None
            return self.take(text, at)
        if max(lengths) > LONGEST or not (text.isascii() or _is_allowed(text[at:stop].encode(BYTE_BY_BYTE))):
            return None
        inline = sum(len(found) - columns[slot].count("") for slot in self._inline)
        tags = own.get("tag", ())
        rows: Sequence[int] = range(len(tags))
        if not all(tags):
            rows = list(compress(rows, tags))
            own = {name: list(compress(column, tags)) for name, column in own.items()}
        starts: Iterable[int] = accumulate(lengths, initial=at)
        if len(rows) < len(tags):
            starts = compress(starts, tags)
        tags_at = list(map(add, starts, map(len, own.get("head", ()))))
        return RowsTaken(
            stop=stop,
            count=len(found),
            inline=inline,
            rows=rows,
            starts=tags_at,
            values=list(map(add, tags_at, map(len, own.get("tag", ())))),
            files=_texts(own.get("file", ())),
            lengths=list(map(int, own.get("length", ()))),
            digests="\n".join(own["digest"]).lower().split("\n") if self.algorithm and rows else (),
        )


def _are_usual(own: Mapping[str, Sequence[str]]) -> bool:
    """Return whether the pattern itself matches digests and files that were matched as anything."""
    digests = "".join(own.get("digest", ())).encode(BYTE_BY_BYTE)
    files = "".join(own.get("file", ())).encode(BYTE_BY_BYTE)
    return not digests.translate(None, _HEXADECIMAL) and files.translate(None, _NOT_IN_FILE) == files


def _is_allowed(taken: bytes) -> bool:
    """Return whether bytes are UTF-8 of characters that XML allows."""
    try:
        taken.decode()
    except UnicodeDecodeError:
        return False
    return not any(each in taken for each in _NO_CHARACTERS)


def _texts(values: Sequence[str]) -> list[str]:
    """Return values as UTF-8 has them that were read byte by byte."""
    if "".join(values).isascii():
        return list(values)
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
    form = tuple((each.is_lob, each.is_nullable) for each in columns), cell, attributes
    return PlainRows(_compiled(*form, quick=False), _compiled(*form, quick=True), cell, attributes)


def _are_known(attributes: Attributes) -> bool:
    """Return whether attributes are those of SIARD 2.1 and later, with digests that can be compared."""
    said = dict(attributes)
    if "file" not in said or not said.keys() <= {"file", "length", "digest", "digestType"}:
        return False
    return ("digest" in said) == ("digestType" in said) and said.get("digestType", "MD5") in OCTETS


@lru_cache(maxsize=32)
def _compiled(
    columns: tuple[tuple[bool, bool], ...], cell: str, attributes: Attributes, *, quick: bool
) -> re.Pattern[str]:
    # The first group is the row, for what it takes; no group of a row that matches is empty but "head".
    parts, inline = [f"{_GAP}<row>{_GAP}"], 0
    for number, (is_lob, is_nullable) in enumerate(columns, start=1):
        name = f"c{number}"
        begin = f"(?P<i{inline}><{name})" if is_lob else f"<{name}"
        inline += is_lob
        forms = [f"{begin}(?:/>|>{_TEXT}</{name}>)"]
        if name == cell:
            forms.insert(0, f"(?P<tag><{name} {_attributes(attributes, quick=quick)}(?:/>|></{name}>)")
            parts = [f"(?P<head>{''.join(parts)})"]
        parts.append(f"(?:{'|'.join(forms)}){'?' if is_nullable else ''}{_GAP}")
    # Where the next row is another one, all that is left is found at once instead of a row further on.
    return re.compile(f"({''.join(parts)}</row>)|()(?s:.+)")


def _attributes(attributes: Attributes, *, quick: bool) -> str:
    """Return the pattern of a cell's attributes, in the order and the form of those that were seen.

    It ends the group that begins with the tag where the value of ``file`` does.
    """
    said = dict(attributes)
    file = f"(?P<file>{_ANYTHING}*+)" if quick else _FILE
    hexadecimal = _ANYTHING if quick else "[0-9A-Fa-f]"
    forms = {"file": f'file="){file}"', "length": f'length="{_LENGTH}"'}
    if (kind := said.get("digestType")) is not None:
        forms["digestType"] = f'digestType="{re.escape(kind)}"'
        forms["digest"] = f'digest="(?P<digest>{hexadecimal}{{{2 * OCTETS[kind]}}})"'
    return " ".join(forms[name] for name, _ in attributes)
