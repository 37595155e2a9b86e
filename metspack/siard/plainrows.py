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
_GAP = r"[ \t\n]*+(?:\r\n[ \t\n]*+)*+"
_FILE = r'(?P<file>[^"<>&\x00-\x1f]*+)'
_NOT_IN_FILE = bytes((*range(32), *b'"<>&'))
_HEXADECIMAL = b"0123456789ABCDEFabcdef"
_MOST_DIGITS = 18
_LENGTH = rf"(?P<length>[0-9]{{1,{_MOST_DIGITS}}}+)"
_END = "</row>"
_LONGEST_WAIT = 63


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


class _Patterns(NamedTuple):
    """One plain row, in groups for what it takes, and any number of them without what their tags say."""

    row: re.Pattern[str]
    condensed: re.Pattern[str]


class PlainRows:
    """The pattern of a table's plain rows; ``cell`` is the one that names files, "" for none.

    ``algorithm`` is that of its digests, None without; ``lobs`` are the cells of columns of large objects.
    Where all rows at hand are plain, what the tags say is cut out of them and one match proves the rest;
    else they are searched for one by one, which takes twice as long.
    """

    def __init__(self, patterns: _Patterns, cell: str, attributes: Attributes, lobs: Sequence[str]) -> None:
        self._row, self._condensed = patterns
        self._slots = {name: slot - 1 for name, slot in self._row.groupindex.items()}
        self._inline = [slot for name, slot in self._slots.items() if name.startswith("i")]
        self._tags = _Tags(cell, attributes) if cell else None
        self._lobs = lobs
        self._wait = self._longer = 0
        self.cell = cell
        self.algorithm = dict(attributes).get("digestType")

    def take(self, text: str, at: int, base: int = 0) -> RowsTaken | None:
        """Return the plain rows that begin at an offset behind a row's end, in a text of a character a byte.

        None for none. ``base`` is where the text begins in the document.
        """
        stop = text.rfind(_END, at) + len(_END)
        if stop <= at:
            return None
        if self._wait:
            self._wait -= 1
            return self._search(text, at, base)
        taken = self._cut(text[at:stop], base + at) if _are_short(text, at, stop) else None
        # Where not all are plain, much is cut to no avail: it is tried less and less often.
        self._wait = self._longer = 0 if taken else min(2 * self._longer + 1, _LONGEST_WAIT)
        return taken or self._search(text, at, base)

    def _cut(self, text: str, at: int) -> RowsTaken | None:
        """Return all the rows of a text at an offset of the document, None unless all are plain."""
        if not (text.isascii() or _is_allowed(text)):
            return None
        tags, stop = self._tags, at + len(text)
        if tags is None or tags.opening not in text:
            return self._proven([text], "", _Said(), stop)
        for glue in tags.glues:
            parts = tags.parts(text, glue)
            said = tags.said(parts, glue, at)
            if said and (taken := self._proven(parts[:: tags.width], glue, said, stop)):
                tags.prefer(glue)
                return taken
        return None

    def _proven(self, between: list[str], glue: str, said: _Said, stop: int) -> RowsTaken | None:
        """Return rows by what is between their tags, and what tags say; None unless all are plain."""
        condensed = glue.join(between)
        # A quotation mark that is not in what a tag begins with has been one of a text.
        if self._tags and said.files and condensed.count(self._tags.opening) != len(said.files):
            return None
        if not self._condensed.fullmatch(condensed):
            return None
        count, inline = condensed.count(_END), 0
        rows: Sequence[int] = range(len(said.files))
        if len(rows) != count:
            rows = list(accumulate(each.count(_END) for each in between[:-1]))
        if len(rows) != count or any(each != self.cell for each in self._lobs):
            inline = sum(condensed.count(f"<{each}>") + condensed.count(f"<{each}/>") for each in self._lobs)
        return RowsTaken(stop=stop, count=count, inline=inline, rows=rows, said=said)

    def _search(self, text: str, at: int, base: int) -> RowsTaken | None:
        """Return the rows up to the first that is not plain, None where that is the first one."""
        found = self._row.findall(text, at)
        if not found[-1][0]:  # what is no plain row any more
            found.pop()
        if not found:
            return None
        columns = list(zip(*found, strict=True))
        lengths = list(map(len, columns[0]))
        stop = at + sum(lengths)
        if max(lengths) > LONGEST or not (text.isascii() or _is_allowed(text[at:stop])):
            return None
        own: dict[str, Sequence[str]] = {name: columns[slot] for name, slot in self._slots.items()}
        inline = sum(len(found) - columns[slot].count("") for slot in self._inline)
        tags = own.get("tag", ())
        rows: Sequence[int] = range(len(tags))
        if not all(tags):
            rows = list(compress(rows, tags))
            own = {name: list(compress(column, tags)) for name, column in own.items()}
        starts: Iterable[int] = accumulate(lengths, initial=base + at)
        if len(rows) < len(tags):
            starts = compress(starts, tags)
        tags_at = list(map(add, starts, map(len, own.get("head", ()))))
        said = _Said(
            starts=tags_at,
            values=list(map(add, tags_at, map(len, own.get("tag", ())))),
            files=_texts(own.get("file", ())),
            lengths=list(map(int, own.get("length", ()))),
            digests=[each.lower() for each in own.get("digest", ())],
        )
        return RowsTaken(stop=base + stop, count=len(found), inline=inline, rows=rows, said=said)


class _Tags:
    """The start tags of cells that name files, which all have the same attributes, cut out of rows.

    ``opening`` is what each begins with, up to its first quotation mark; ``width`` is the number of parts
    that quotation marks make of a tag and what is between it and the next one.
    """

    def __init__(self, cell: str, attributes: Attributes) -> None:
        names = [name for name, _ in attributes]
        kind = dict(attributes).get("digestType", "")
        fixed = {"digestType": kind, "digest": "0" * 2 * OCTETS.get(kind, 0)}
        usual = [f'{name}="{fixed.get(name, "")}"' for name in names]
        number = names.index("file")
        self.opening = f'<{cell} {names[0]}="'
        self.glues = ['"', self.opening]
        self.width = 2 * len(names)
        self._places = {name: 2 * place + 1 for place, name in enumerate(names)}
        self._same = [(2 * place, f" {name}=") for place, name in enumerate(names) if place]
        self._same += [(self._places["digestType"], kind)] if kind else []
        self._digits = len(fixed["digest"])
        # Bytes of a tag, and of what is in it before the file, without what has not the same length in all.
        self._size = len(f"<{cell} {' '.join(usual)}")
        self._before = len(" ".join((f"<{cell}", *usual[:number], 'file="')))
        self._is_length_before = "length" in names[:number]

    def parts(self, text: str, glue: str) -> list[str]:
        """Return the parts of rows, cut at one of ``glues``: at tags where texts have quotation marks too."""
        if glue != self.opening:
            return text.split(glue)
        first, *others = text.split(glue)
        parts = [first]
        for each in others:
            parts += each.split('"', self.width - 1)
        return parts

    def prefer(self, glue: str) -> None:
        """Let rows be cut first as these were."""
        if glue != self.glues[0]:
            self.glues.reverse()

    def said(self, parts: list[str], glue: str, at: int) -> _Said | None:
        """Return what tags say, None unless all are as usual; ``at`` is the offset of the first part."""
        between = parts[:: self.width]
        count = len(between) - 1
        if len(parts) != count * self.width + 1:
            return None
        if any(parts[place :: self.width].count(each) != count for place, each in self._same):
            return None
        own = {name: parts[place :: self.width] for name, place in self._places.items()}
        lengths = _numbers(own.get("length", []))
        digests = _hexadecimal(own.get("digest", []), self._digits)
        files = _file_names(own["file"])
        if lengths is None or digests is None or files is None:
            return None
        figures = list(map(len, own.get("length", ())))
        first = at + len(between[0]) + len(glue) - len(self.opening)
        always = self._size + len(glue) - len(self.opening)
        pitches = map(add, map(always.__add__, map(len, between[1:-1])), map(len, own["file"]))
        starts = list(accumulate(map(add, pitches, figures) if figures else pitches, initial=first))
        values = map(self._before.__add__, starts)
        return _Said(
            starts=starts,
            values=list(map(add, values, figures) if self._is_length_before else values),
            files=files,
            lengths=lengths,
            digests=digests,
        )


def _are_short(text: str, at: int, stop: int) -> bool:
    """Return whether none of the rows between two offsets is longer than one may be."""
    while stop - at > LONGEST:
        found = text.rfind(_END, at, at + LONGEST)
        if found < 0:
            return False
        at = found + len(_END)
    return True


def _numbers(lengths: list[str]) -> list[int] | None:
    """Return lengths as numbers, None unless all are plain ones."""
    are_one = lengths.count(lengths[0]) == len(lengths) if lengths else False
    figures = "".join(several := lengths[:1] if are_one else lengths)
    if lengths and not (figures.isascii() and figures.isdecimal()):
        return None
    if lengths and not 1 <= min(map(len, several)) <= max(map(len, several)) <= _MOST_DIGITS:
        return None
    return list(map(int, several)) * (len(lengths) if are_one else 1)


def _hexadecimal(digests: Sequence[str], digits: int) -> Sequence[str] | None:
    """Return digests in lower case, None unless each has as many hexadecimal digits."""
    lines = "\n".join(digests).lower()
    ends = "\n" * (len(digests) - 1)
    if digests and (
        len(lines) != len(digests) * (digits + 1) - 1
        or lines[digits :: digits + 1] != ends
        or lines.encode(BYTE_BY_BYTE).translate(None, _HEXADECIMAL) != ends.encode()
    ):
        return None
    return lines.split("\n") if digests else ()


def _file_names(values: Sequence[str]) -> Sequence[str] | None:
    """Return values of ``file`` as UTF-8 has them, None unless all are written as they are."""
    whole = "".join(values).encode(BYTE_BY_BYTE)
    if len(whole.translate(None, _NOT_IN_FILE)) != len(whole):
        return None
    return values if whole.isascii() else _texts(values)


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
    form = tuple((each.is_lob, each.is_nullable) for each in columns)
    lobs = [f"c{each.number}" for each in columns if each.is_lob]
    return PlainRows(_compiled(form, cell, attributes), cell, attributes, lobs)


def _are_known(attributes: Attributes) -> bool:
    """Return whether attributes are those of SIARD 2.1 and later, with digests that can be compared."""
    said = dict(attributes)
    if "file" not in said or not said.keys() <= {"file", "length", "digest", "digestType"}:
        return False
    return ("digest" in said) == ("digestType" in said) and said.get("digestType", "MD5") in OCTETS


@lru_cache(maxsize=32)
def _compiled(columns: tuple[tuple[bool, bool], ...], cell: str, attributes: Attributes) -> _Patterns:
    # The first group is the row, for what it takes; no group of a row that matches is empty but "head".
    row, condensed, inline = [f"{_GAP}<row>{_GAP}"], [f"{_GAP}<row>{_GAP}"], 0
    for number, (is_lob, is_nullable) in enumerate(columns, start=1):
        name = f"c{number}"
        closed = f"(?:/>|></{name}>)"
        value = f"<{name}(?:/>|>{_TEXT}</{name}>)"
        searched, proven = [value], [value]
        if is_lob:
            searched = [f"(?P<i{inline}><{name})(?:/>|>{_TEXT}</{name}>)"]
            inline += 1
        if name == cell:
            searched.insert(0, f"(?P<tag><{name} {_attributes(attributes)}{closed}")
            proven.insert(0, f'<{name} {attributes[0][0]}="{closed}')
            row = [f"(?P<head>{''.join(row)})"]
        for parts, forms in ((row, searched), (condensed, proven)):
            parts.append(f"(?:{'|'.join(forms)}){'?' if is_nullable else ''}{_GAP}")
    return _Patterns(
        # Where the next row is another one, all that is left is found at once instead of a row further on.
        row=re.compile(f"({''.join(row)}</row>)|()(?s:.+)"),
        condensed=re.compile(f"(?:{''.join(condensed)}</row>)*+"),
    )


def _attributes(attributes: Attributes) -> str:
    """Return the pattern of a cell's attributes, in the order and the form of those that were seen.

    It ends the group that begins with the tag where the value of ``file`` does.
    """
    said = dict(attributes)
    forms = {"file": f'file="){_FILE}"', "length": f'length="{_LENGTH}"'}
    if (kind := said.get("digestType")) is not None:
        forms["digestType"] = f'digestType="{re.escape(kind)}"'
        forms["digest"] = f'digest="(?P<digest>[0-9A-Fa-f]{{{2 * OCTETS[kind]}}})"'
    return " ".join(forms[name] for name, _ in attributes)
