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
from functools import lru_cache
from itertools import accumulate
from operator import add
from typing import NamedTuple

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
_TEXT_WITHOUT_MARKS = _TEXT.replace("<>&]", '<>&"]')
_GAP = r"[ \t\n]*+(?:\r\n[ \t\n]*+)*+"
_ANYTHING = '[^"]'
_NOT_IN_FILE = bytes((*range(32), *b'"<>&'))
_HEXADECIMAL = b"0123456789ABCDEFabcdef"
_FILE = r'[^"<>&\x00-\x1f]*+'
_LENGTH = "[0-9]{1,18}+"
_END = "</row>"


class _Said(NamedTuple):
    """What tags say, with the offsets in the document of each and of its value of ``file``.

    ``lengths`` and ``digests`` are empty without any.
    """

    starts: Sequence[int] = ()
    values: Sequence[int] = ()
    files: Sequence[str] = ()
    lengths: Sequence[int] = ()
    digests: Sequence[str] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class RowsTaken:
    """Plain rows that follow each other, up to an offset in the document; ``inline`` values in cells.

    ``rows`` are the numbers, from 0, of those that name a file, of which ``said`` tells.
    """

    stop: int
    count: int
    inline: int
    rows: Sequence[int]
    said: _Said


class PlainRows:
    """The pattern of a table's plain rows; ``cell`` is the one that names files, "" for none.

    ``algorithm`` is that of its digests, None without; ``lobs`` are the cells of columns of large objects.
    One match tells how far rows are plain, and what their tags say is then cut out of all of them at once.
    ``usual`` is a pattern of rows without quotation marks in texts, and with any characters in digests and
    files, which are looked at together: one by one, they take as long as all else.
    """

    def __init__(
        self,
        pattern: re.Pattern[str],
        usual: re.Pattern[str] | None,
        cell: str,
        attributes: Attributes,
        lobs: Sequence[str],
    ) -> None:
        self._pattern = pattern
        self._usual = usual
        self._tags = _Tags(cell, attributes) if cell else None
        self._lobs = lobs
        self.cell = cell
        self.algorithm = dict(attributes).get("digestType")

    def take(self, text: str, at: int, base: int = 0) -> RowsTaken | None:
        """Return the plain rows that begin at an offset behind a row's end, in a text of a character a byte.

        None for none. ``base`` is where the text begins in the document.
        """
        tags = self._tags
        begin = base + at
        if tags and self._usual and (taken := _matched(self._usual, text, at)):
            parts = taken.split('"')
            if tags.are_usual(parts):
                return self._told(taken, tags.between(parts), tags.said(parts, '"', begin), begin)
            self._usual = None
        taken = _matched(self._pattern, text, at)
        if not taken:
            return None
        if not tags or tags.opening not in taken:
            return self._told(taken, [taken], _Said(), begin)
        parts = tags.parts(taken)
        return self._told(taken, tags.between(parts), tags.said(parts, tags.opening, begin), begin)

    def _told(self, taken: str, between: list[str], said: _Said, at: int) -> RowsTaken:
        """Return plain rows at an offset of the document; ``between`` is what is there but tags."""
        others = "".join(between)
        count, inline = others.count(_END), 0
        rows: Sequence[int] = range(len(said.files))
        if len(rows) != count:
            rows = list(accumulate(each.count(_END) for each in between[:-1]))
        if len(rows) != count or any(each != self.cell for each in self._lobs):
            inline = sum(others.count(f"<{each}>") + others.count(f"<{each}/>") for each in self._lobs)
        return RowsTaken(stop=at + len(taken), count=count, inline=inline, rows=rows, said=said)


class _Tags:
    """The start tags of cells that name files, which all have the same attributes, cut out of plain rows.

    ``opening`` is what each begins with, up to its first quotation mark.
    """

    def __init__(self, cell: str, attributes: Attributes) -> None:
        names = [name for name, _ in attributes]
        kind = dict(attributes).get("digestType", "")
        fixed = {"digestType": kind, "digest": "0" * 2 * OCTETS.get(kind, 0)}
        usual = [f'{name}="{fixed.get(name, "")}"' for name in names]
        number = names.index("file")
        self.opening = f'<{cell} {names[0]}="'
        # Parts that quotation marks make of a tag, with what is between it and the next one.
        self._width = 2 * len(names)
        self._places = {name: 2 * place + 1 for place, name in enumerate(names)}
        # Bytes of a tag, and of what is in it before the file, without what has not the same length in all.
        self._size = len(f"<{cell} {' '.join(usual)}")
        self._before = len(" ".join((f"<{cell}", *usual[:number], 'file="')))
        self._is_length_before = "length" in names[:number]

    def parts(self, text: str) -> list[str]:
        """Return the parts of rows in which texts may have quotation marks too."""
        first, *others = text.split(self.opening)
        parts = [first]
        for each in others:
            parts += each.split('"', self._width - 1)
        return parts

    def between(self, parts: list[str]) -> list[str]:
        """Return of the parts of rows those that are not of tags."""
        return parts[:: self._width]

    def _own(self, parts: list[str], name: str) -> list[str]:
        return parts[self._places[name] :: self._width] if name in self._places else []

    def are_usual(self, parts: list[str]) -> bool:
        """Return whether digests and files that were matched as anything are what they are to be."""
        digests = "".join(self._own(parts, "digest")).encode(BYTE_BY_BYTE)
        files = "".join(self._own(parts, "file")).encode(BYTE_BY_BYTE)
        return not digests.translate(None, _HEXADECIMAL) and files.translate(None, _NOT_IN_FILE) == files

    def said(self, parts: list[str], glue: str, at: int) -> _Said:
        """Return what tags say; ``glue`` was before what each says, ``at`` is where the first part was."""
        between, files, lengths = self.between(parts), self._own(parts, "file"), self._own(parts, "length")
        if not files:
            return _Said()
        figures = list(map(len, lengths))
        first = at + len(between[0]) + len(glue) - len(self.opening)
        always = self._size + len(glue) - len(self.opening)
        pitches = map(add, map(always.__add__, map(len, between[1:-1])), map(len, files))
        starts = list(accumulate(map(add, pitches, figures) if figures else pitches, initial=first))
        values = map(self._before.__add__, starts)
        digests = self._own(parts, "digest")
        return _Said(
            starts=starts,
            values=list(map(add, values, figures) if self._is_length_before else values),
            files=_texts(files),
            lengths=_numbers(lengths),
            digests="\n".join(digests).lower().split("\n") if digests else (),
        )


def _matched(pattern: re.Pattern[str], text: str, at: int) -> str:
    """Return the rows that a pattern matches at an offset, "" where one of them is not allowed after all."""
    found = pattern.match(text, at)
    rows = found[0] if found else ""
    return rows if _are_short(rows) and (rows.isascii() or _is_allowed(rows)) else ""


def _numbers(texts: list[str]) -> list[int]:
    """Return lengths as numbers; in many columns all are the same."""
    if texts and texts[0] == texts[-1] and texts.count(texts[0]) == len(texts):
        return [int(texts[0])] * len(texts)
    return list(map(int, texts))


def _are_short(rows: str) -> bool:
    """Return whether none of some rows is longer than one may be."""
    at = 0
    while len(rows) - at > LONGEST:
        found = rows.rfind(_END, at, at + LONGEST)
        if found < 0:
            return False
        at = found + len(_END)
    return True


def _is_allowed(text: str) -> bool:
    """Return whether a text of a character a byte is UTF-8 of characters that XML allows."""
    taken = text.encode(BYTE_BY_BYTE)
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
    form = tuple((f"c{each.number}", each.is_nullable) for each in columns), cell, attributes
    lobs = [f"c{each.number}" for each in columns if each.is_lob]
    usual = _compiled(*form, is_usual=True) if cell else None
    return PlainRows(_compiled(*form), usual, cell, attributes, lobs)


def _are_known(attributes: Attributes) -> bool:
    """Return whether attributes are those of SIARD 2.1 and later, with digests that can be compared."""
    said = dict(attributes)
    if "file" not in said or not said.keys() <= {"file", "length", "digest", "digestType"}:
        return False
    return ("digest" in said) == ("digestType" in said) and said.get("digestType", "MD5") in OCTETS


@lru_cache(maxsize=32)
def _compiled(
    columns: tuple[tuple[str, bool], ...], cell: str, attributes: Attributes, *, is_usual: bool = False
) -> re.Pattern[str]:
    text = _TEXT_WITHOUT_MARKS if is_usual else _TEXT
    parts = [f"{_GAP}<row>{_GAP}"]
    for name, is_nullable in columns:
        forms = [f"<{name}(?:/>|>{text}</{name}>)"]
        if name == cell:
            forms.insert(0, f"<{name} {_attributes(attributes, is_usual=is_usual)}(?:/>|></{name}>)")
        parts.append(f"(?:{'|'.join(forms)}){'?' if is_nullable else ''}{_GAP}")
    return re.compile(f"(?:{''.join(parts)}</row>)*+")


def _attributes(attributes: Attributes, *, is_usual: bool) -> str:
    """Return the pattern of a cell's attributes, in the order and the form of those that were seen."""
    forms = {"file": f"{_ANYTHING}*+" if is_usual else _FILE, "length": _LENGTH}
    if (kind := dict(attributes).get("digestType")) is not None:
        digit = _ANYTHING if is_usual else "[0-9A-Fa-f]"
        forms |= {"digestType": re.escape(kind), "digest": f"{digit}{{{2 * OCTETS[kind]}}}"}
    return " ".join(f'{name}="{forms[name]}"' for name, _ in attributes)
