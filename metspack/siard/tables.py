"""Read table documents of an archive as streams of LOB cells, in flat memory."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain, compress, count, groupby
from operator import itemgetter
from typing import Any, NamedTuple

from metspack import digests, safexml
from metspack.errors import SourceError
from metspack.limits import Budgets
from metspack.model import LONGEST, CellRun, Digest, LobPlace
from metspack.siard.metadata import Table, unescaped
from metspack.siard.offsets import detected
from metspack.siard.rows import BYTE_BY_BYTE, ROW_END, matches, pattern
from metspack.uris import shown

_CELL = re.compile(r"c[1-9][0-9]{0,8}(?:\.[uar][1-9][0-9]{0,8})*")
_LENGTH = re.compile(r"[0-9]{1,18}")
_LENGTHS = re.compile(r"[0-9]{1,18}(?: [0-9]{1,18})*")
_BLOCK = 1 << 18  # bytes whose cells are in memory together
_PIECE = 1 << 16
_REMEMBERED = 10_000
_LONGEST_ROW = 1 << 14  # bytes of one that is kept until its end comes
_FEW = 4
_WAIT = 1 << 10  # bytes that are parsed before usual rows are looked for again, at first
_HEAD = 1024  # bytes that contain the XML declaration
_ROW, _COLUMN = 2, 3  # depth of <row> and of its cells below <table>


@dataclass(slots=True, kw_only=True)
class Tally:
    """Counts of a table: rows, and large objects whose value is in the cell (``inline``).

    ``datalinks`` counts cells with a link (``dlurlpathonly``) and without a file; the link is kept and never
    followed. ``both`` counts cells with a file and a value; ``first_of_both`` is the id of the first.
    """

    rows: int = 0
    inline: int = 0
    datalinks: int = 0
    both: int = 0
    first_of_both: str = ""


def cell_runs(
    blocks: Iterable[bytes], table: Table, budgets: Budgets | None = None, tally: Tally | None = None
) -> Iterator[CellRun]:
    """Yield cells with a ``file`` attribute in document order, as runs with equal attributes.

    Raises ``SourceError``, naming document and line or row, for a document that is not well-formed, has a
    DTD, exceeds the budgets, or is in an encoding that cannot be spliced, and for an invalid cell.
    """
    reader = CellReader(table, budgets or Budgets(), tally or Tally())
    for piece, final in pieces(blocks):
        yield from reader.feed(piece, final=final)


def pieces(blocks: Iterable[bytes]) -> Iterator[tuple[bytes, bool]]:
    """Yield a document in small pieces, each with False, and an empty last one with True.

    The size of a piece bounds the memory of its cells, which are held together.
    """
    for block in blocks:
        for start in range(0, len(block), _BLOCK):
            yield block[start : start + _BLOCK], False
    yield b"", True


class _Tags(NamedTuple):
    """Start tags of LOB cells of one column with the same attributes in the same order.

    Each list has one value for each tag; one of ``attributes`` is a list of names and values in turn.
    """

    cell: str
    names: list[str]
    rows: list[int]
    starts: list[int]
    lines: list[int]
    attributes: list[list[str]]

    def values(self, name: str) -> list[str]:
        """Return the values of an attribute, or an empty list if the tags lack it."""
        place = 2 * self.names.index(name) + 1 if name in self.names else 0
        return [*map(itemgetter(place), self.attributes)] if place else []

    def of(self, at: int) -> dict[str, str]:
        """Return the attributes of one tag."""
        return dict(zip(self.names, self.attributes[at][1::2], strict=True))


class CellReader:
    """A parser that finds the LOB cells in a table's document, block by block."""

    def __init__(self, table: Table, budgets: Budgets, tally: Tally) -> None:
        self._table = table
        self._budgets = budgets
        self._tally = tally
        self._inline = frozenset(f"c{column.number}" for column in table.columns if column.is_lob)
        self._tags: list[_Tags] = []
        self._only_cell = ""  # the last cell with a file, as long as it has no value
        self._fed = 0  # bytes given to the parser
        self._lag = 0  # bytes of the document beyond these that were read by the pattern
        self._passed = 0  # the offset behind these
        self._row_end = -1  # the parser's offset of the last end tag of a row
        self._last_tags = _Tags("", [], [], [], [], [])
        self._ready: list[CellRun] = []
        self._held = b""
        self._wait = 0
        self._is_utf8 = False
        self._head: bytes | None = b""
        self._named: set[str] = set()  # cells whose names are valid
        self._parser = safexml.expat_parser()
        self._parser.ordered_attributes = True
        self._install()

    @property
    def position(self) -> int:
        """The offset up to which the document is parsed; every returned cell begins before it."""
        return max(self._parser.CurrentByteIndex + self._lag, self._passed)

    def feed(self, block: bytes, *, final: bool) -> list[CellRun]:
        """Parse a block; return the LOB cells whose start tags end in it.

        Raises ``SourceError`` as ``cell_runs`` does.
        """
        self._check_encoding(block, final=final)
        try:
            self._held = self._read(self._held + block, final=final)
            if final:
                safexml.feed_block(self._parser, b"", final=True)
        except safexml.XmlError as error:
            self._end_tags()  # the error of a cell before it comes first
            self._check_encoding(b"", final=True)
            raise SourceError(
                f"{self._table.path} line {error.line}, column {error.column}: {error.message}",
                hint=error.hint
                or "The table's document is damaged: get the archive again from where it came.",
            ) from None
        except SourceError:
            self._end_tags()
            raise
        self._end_tags()
        found, self._ready = self._ready, []
        return list(_together(found))

    def _read(self, data: bytes, *, final: bool) -> bytes:
        """Read usual rows by their pattern, and parse all else; return the beginning of a row.

        Nearly all rows are usual, and the parser takes three times as long.
        """
        text, at = data.decode(BYTE_BY_BYTE), 0
        while (end := text.find(ROW_END, (at := self._take_rows(text, at)) + self._wait)) >= 0:
            stop = end + len(ROW_END)
            self._parse(data[at:stop])
            at = stop
        if self._is_between and len(data) - at < _LONGEST_ROW and not final:
            return data[at:]
        self._parse(data[at:])
        return b""

    @property
    def _is_between(self) -> bool:
        """True if the parser is right behind a row."""
        return self._row_end == self._fed - len(ROW_END)

    def _take_rows(self, text: str, at: int) -> int:
        """Take the usual rows at an offset; return the offset behind them.

        The parser gets white space in their place, of as many lines, and as many columns in the last.
        """
        if not (self._is_between and self._is_utf8):
            return at
        tags, tally = self._last_tags, self._tally
        algorithm = tags.of(-1).get("digestType") if tags.cell else None
        usual = pattern(tags.cell, tuple(tags.names), algorithm)
        found = matches(usual, text, at) if usual else []
        self._wait = 0 if len(found) >= _FEW else min(2 * self._wait + _WAIT, _PIECE)
        if not (usual and found):
            return at
        self._end_tags()
        self._ready += self._matched(algorithm, usual, found, self._fed + self._lag - at)
        stop = found[-1].end()
        taken = text[at:stop]
        tally.rows += len(found)
        tally.inline += sum(taken.count(f"<{each}>") + taken.count(f"<{each}/>") for each in self._inline)
        last = taken[taken.rfind("\n") + 1 :].encode(BYTE_BY_BYTE).decode()
        blank = b"\n" * taken.count("\n") + b" " * len(last)
        self._parse(blank)
        self._lag += len(taken) - len(blank)
        self._passed = self._fed + self._lag
        return stop

    def _matched(
        self, algorithm: str | None, usual: re.Pattern[str], found: Sequence[re.Match[str]], base: int
    ) -> Iterator[CellRun]:
        """Yield the cells in usual rows; their text begins at the offset ``base`` of the document."""
        tag = usual.groupindex["tag"]
        starts = [each.start(tag) for each in found]
        are_named = [start >= 0 for start in starts]
        if not any(are_named):
            return
        values = zip(*(each.groups() for each in compress(found, are_named)), strict=True)
        columns = dict(zip(usual.groupindex, values, strict=True))
        yield self._run(
            self._last_tags.cell,
            algorithm,
            list(compress(count(self._tally.rows + 1), are_named)),
            columns["file"],
            list(map(int, columns.get("length", ()))),
            list(map(str.lower, columns.get("digest", ()))),
            [base + start for start in compress(starts, are_named)],
        )

    def _parse(self, data: bytes) -> None:
        """Parse pieces so small that a tag over the budget is noticed early."""
        for piece in (data[start : start + _PIECE] for start in range(0, len(data), _PIECE)):
            self._fed += len(piece)
            safexml.feed_block(self._parser, piece, final=False)
            # The index is -1 while expat defers parsing: then a later piece shows the length.
            if 0 <= self._parser.CurrentByteIndex < self._fed - self._budgets.attribute - len(piece):
                why = f"a tag or comment is longer than {self._budgets.attribute:,} bytes"
                raise safexml.exceeded(why, "attribute", self._parser)
            if len(self._parser.intern) > (most := self._budgets.names):
                why = f"elements and attributes have more than {most:,} different names"
                raise safexml.exceeded(why, "names", self._parser)

    def _check_encoding(self, block: bytes, *, final: bool) -> None:
        """Raise ``SourceError`` for an encoding that cannot be spliced, once it is declared."""
        if self._head is not None:
            self._head += block[:_HEAD]
            if final or len(self._head) >= _HEAD:
                self._is_utf8 = detected(self._head, self._table.path).codec == "utf-8"
                self._head = None

    def _install(self) -> None:  # noqa: C901 -- closures, which make few calls for a usual cell
        """Install the handlers as closures: they run for every element of every row."""
        deepest = self._budgets.depth
        path = [""] * (deepest + 1)
        inline, tally = self._inline, self._tally
        depth = named = 0  # named: the depth of the last cell with a file
        seen: set[str] = set()  # cells of this row
        parser, names, text = self._parser, self._named, self._text
        begun = self._tags
        tags = _Tags("", [], [], [], [], [])

        def start(name: str, attributes: list[str]) -> None:
            nonlocal depth, named, tags
            depth += 1
            if depth > deepest:
                why = f"elements are nested more than {deepest} deep"
                raise safexml.exceeded(why, "depth", parser)
            path[depth] = name
            if depth == _ROW:
                tally.rows += 1
                seen.clear()
            elif attributes and depth >= _COLUMN and "file" in (given := attributes[::2]):
                cell = name if depth == _COLUMN else ".".join(path[_COLUMN : depth + 1])
                if cell in seen or cell not in names:
                    cell = self._valid_name(path[_COLUMN : depth + 1], seen)
                seen.add(cell)
                if given != tags.names or cell != tags.cell or not begun:
                    tags = _Tags(cell, given, [], [], [], [])
                    begun.append(tags)
                    self._last_tags = tags
                tags.rows.append(tally.rows)
                tags.starts.append(parser.CurrentByteIndex + self._lag)
                tags.lines.append(parser.CurrentLineNumber)
                tags.attributes.append(attributes)
                named = depth
                self._only_cell = cell
                parser.CharacterDataHandler = text
            elif attributes and depth >= _COLUMN and "dlurlpathonly" in given:
                tally.datalinks += 1
            elif depth == _COLUMN and name in inline:
                tally.inline += 1

        def end(_name: str) -> None:
            nonlocal depth
            if depth == named:
                parser.CharacterDataHandler = None
            if depth == _ROW:
                self._row_end = parser.CurrentByteIndex
            depth -= 1

        parser.StartElementHandler = start
        parser.EndElementHandler = end

    def _text(self, words: str) -> None:
        """Count a cell with a file and a value, at the first piece of the value."""
        if self._only_cell and words.strip():
            tally = self._tally
            tally.both += 1
            tally.first_of_both = tally.first_of_both or self._place(self._only_cell, tally.rows).id
            self._only_cell = ""

    def _where(self, line: int | None = None) -> str:
        return f"{self._table.path} line {line or self._parser.CurrentLineNumber}"

    def _valid_name(self, path: list[str], seen: set[str]) -> str:
        """Return the name of the cell at a path of tags; raises ``SourceError``.

        The name must be one of T_6.1, and must not be among those that the row has ``seen``.
        """
        cell = ".".join(each.rpartition(":")[2] for each in path)
        if cell in seen:
            raise SourceError(f"{self._where()}: row {self._tally.rows:,} has the cell {cell} twice")
        if not _CELL.fullmatch(cell):
            raise SourceError(
                f"{self._where()}: a file attribute stands at {cell[:100]!r}, "
                "expected c<n> with u<n> or a<n> below it",
                hint="Cells are named by SIARD 2.2 T_6.1-1 and T_6.1-4.",
            )
        if len(self._named) >= _REMEMBERED:  # each element of an array has another name
            self._named.clear()
        self._named.add(cell)
        return cell

    def _place(self, cell: str, row: int) -> LobPlace:
        return LobPlace(schema=self._table.schema, table=self._table.number, cell=cell, row=row)

    def _end_tags(self) -> None:
        """Make runs of the cells whose tags were parsed since the last call."""
        for tags in self._tags:
            self._ready += self._of(tags)
        self._tags.clear()

    def _of(self, tags: _Tags) -> Iterator[CellRun]:
        """Yield cells with the same attributes as one run, or unusual ones as several."""
        algorithms = {*tags.values("digestType")}
        stated = tags.values("digest")
        algorithm = next(iter(algorithms), None) if stated else None
        lengths = _lengths(tags.values("length"))
        values = digests.bare_digests(stated, algorithm) if stated else []
        if len(algorithms) > 1 or "messageDigest" in tags.names:
            values = None
        if lengths is not None and values is not None:
            yield self._run(
                tags.cell, algorithm, tags.rows, tags.values("file"), lengths, values, tags.starts
            )
            return
        read = [(self._length(tags, at), self._digest(tags, at)) for at in range(len(tags.rows))]
        forms = [(digest.algorithm if digest else None, length is not None) for length, digest in read]
        for (algorithm, _), places in groupby(range(len(read)), forms.__getitem__):
            numbers = [*places]
            these = slice(numbers[0], numbers[-1] + 1)
            yield self._run(
                tags.cell,
                algorithm,
                tags.rows[these],
                tags.values("file")[these],
                [length for length, _ in read[these] if length is not None],
                [digest.value for _, digest in read[these] if digest is not None],
                tags.starts[these],
            )

    def _run(self, cell: str, algorithm: str | None, *columns: Sequence[Any]) -> CellRun:
        """Return a run with the columns ``CellRun.OF_EACH``."""
        of_each = dict(zip(CellRun.OF_EACH, columns, strict=True))
        table = self._table
        return CellRun(schema=table.schema, table=table.number, cell=cell, algorithm=algorithm, **of_each)

    def _where_cell(self, tags: _Tags, at: int) -> str:
        """Return the words on a cell with which an error begins."""
        place = self._place(tags.cell, tags.rows[at])
        where = self._where(tags.lines[at])
        return f"{where}: table {self._table.label} row {place.row:,}, cell {place.cell} ({place.id})"

    def _length(self, tags: _Tags, at: int) -> int | None:
        text = tags.of(at).get("length")
        if text is None or not (text := text.strip()):
            return None
        if not _LENGTH.fullmatch(text):
            raise SourceError(
                f"{self._where_cell(tags, at)} has the length {shown(text)}, expected a whole number",
                hint="It counts the bytes, or the characters of a text (SIARD 2.2 T_6.2-1).",
            )
        return int(text)

    def _digest(self, tags: _Tags, at: int) -> Digest | None:
        """Return the digest in ``digest`` or ``messageDigest``, of two the stronger, or None.

        Raises ``SourceError`` for an invalid one, and for two different values of one algorithm.
        """
        attributes = tags.of(at)
        stated: dict[str, tuple[str, Digest]] = {}
        for name in ("digest", "messageDigest"):
            text = attributes.get(name, "").strip()
            if not text:
                continue
            digest = digests.parsed(text, attributes.get("digestType"))
            if digest is None and name == "messageDigest":
                digest = digests.parsed(text)  # digestType describes the digest beside it
            if digest is None:
                kind = attributes.get("digestType")
                raise SourceError(
                    f"{self._where_cell(tags, at)} has the {name} {shown(text)} (digestType "
                    f"{'absent' if kind is None else shown(kind)}), which is not a message digest",
                    hint="SIARD allows MD5, SHA-1 and SHA-256 in hexadecimal (2.2, T_6.2-1).",
                )
            other, before = stated.setdefault(digest.algorithm, (name, digest))
            if before != digest:
                raise SourceError(
                    f"{self._where_cell(tags, at)} has the {other} {before.value} "
                    f"and the {name} {digest.value}, both {digest.algorithm}",
                    hint="The archive contradicts itself; find out which is right before building a package.",
                )
        return max(
            (digest for _name, digest in stated.values()), key=lambda each: len(each.value), default=None
        )


class RowValues:
    """The texts of some columns in the rows of a table, read from the pieces of ``pieces``.

    ``columns`` are their numbers. Rows count from 1; those before ``stop`` are read. The value of an absent
    cell is None.
    """

    def __init__(self, table: Table, columns: Sequence[int], budgets: Budgets) -> None:
        self._rows: list[tuple[str | None, ...]] = []
        self._first = 1
        self._table = table
        self._longest = budgets.attribute
        self._places = {f"c{number}": place for place, number in enumerate(columns)}
        self._absent: list[str | None] = [None] * len(columns)
        self._depth = 0
        self._words: list[str] | None = None
        self._length = 0
        self._place = 0
        self._row = list(self._absent)
        self._parser = safexml.expat_parser()
        self._parser.StartElementHandler = self._start
        self._parser.EndElementHandler = self._end
        self._parser.CharacterDataHandler = self._text

    def feed(self, piece: bytes, *, final: bool) -> None:
        """Read the next piece; raises ``XmlError``, and ``SourceError`` for a value too long."""
        safexml.feed_block(self._parser, piece, final=final)

    @property
    def stop(self) -> int:
        """The number after that of the last complete row."""
        return self._first + len(self._rows)

    def of(self, row: int) -> tuple[str | None, ...]:
        """Return the values of a row before ``stop`` that was not forgotten."""
        return self._rows[row - self._first]

    def forget(self, before: int) -> None:
        """Drop the values of the rows before a row."""
        del self._rows[: before - self._first]
        self._first = before

    def _start(self, name: str, _attributes: dict[str, str]) -> None:
        self._depth += 1
        if self._depth == _ROW:
            self._row = list(self._absent)
        elif self._depth == _COLUMN:
            place = self._places.get(name.rpartition(":")[2])
            if place is not None:
                self._place, self._words, self._length = place, [], 0

    def _text(self, words: str) -> None:
        if self._words is not None:
            self._words.append(words)
            self._length += len(words)
            if self._length > self._longest:
                raise SourceError(
                    f"{self._table.path} line {self._parser.CurrentLineNumber}: "
                    f"a value of the primary key is longer than {self._longest:,} characters",
                    hint="If that is what it should be, raise the budget: --budget attribute=BYTES.",
                )

    def _end(self, _name: str) -> None:
        if self._depth == _COLUMN and self._words is not None:
            self._row[self._place] = unescaped("".join(self._words))
            self._words = None
        elif self._depth == _ROW:
            self._rows.append(tuple(self._row))
        self._depth -= 1


def _together(runs: Iterable[CellRun]) -> Iterator[CellRun]:
    """Yield cells in runs of at most ``LONGEST``, and those of successive runs together."""
    for _, some in groupby(runs, lambda run: (run.cell, run.algorithm, not run.lengths, not run.digests)):
        first, *others = some
        columns: dict[str, Any] = {
            name: [*chain(*(getattr(run, name) for run in (first, *others)))] for name in CellRun.OF_EACH
        }
        run = replace(first, **columns)
        yield from (run[start : start + LONGEST] for start in range(0, len(run), LONGEST))


def _lengths(texts: list[str]) -> list[int] | None:
    """Return lengths as numbers, or None unless all consist of digits."""
    return list(map(int, texts)) if not texts or _LENGTHS.fullmatch(" ".join(texts)) else None
