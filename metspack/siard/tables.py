"""Table documents of an archive as streams of LOB cells, in flat memory."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate

from metspack import digests, safexml
from metspack.errors import SourceError
from metspack.model import Budgets, Digest, LobCell, LobPlace
from metspack.siard.metadata import Column, Table
from metspack.siard.offsets import detected
from metspack.uris import shown

_CELL = re.compile(r"c[1-9][0-9]{0,8}(?:\.[uar][1-9][0-9]{0,8})*")
_LENGTH = re.compile(r"[0-9]{1,18}")
_PIECE = 1 << 16
_HEAD = 1024  # bytes in which the declaration stands
_ROW, _COLUMN = 2, 3  # depth of <row> and of its cells below <table>


@dataclass(slots=True, kw_only=True)
class Tally:
    """Counts from reading a table: rows, and large objects whose value stands in the cell.

    ``datalinks`` are cells with a link (``dlurlpathonly``) and no file: carried along, never followed.
    ``both`` are cells that name a file and hold a value as well, ``first_of_both`` the first one's id.
    ``form`` is that of the table which was read last.
    """

    rows: int = 0
    inline: int = 0
    datalinks: int = 0
    both: int = 0
    first_of_both: str = ""
    form: TableForm | None = None


def cells(
    blocks: Iterable[bytes], table: Table, budgets: Budgets | None = None, tally: Tally | None = None
) -> Iterator[LobCell]:
    """Yield the cells with a ``file`` attribute, at any depth of a row, in document order.

    Raises ``SourceError`` naming table and row where the document is not well-formed, has a DTD,
    asks for more than the budgets, is in an encoding that cannot be spliced, or has a cell that cannot
    be understood.
    """
    reader = CellReader(table, budgets or Budgets(), tally or Tally())
    for piece, final in pieces(blocks):
        for _start, cell in reader.feed(piece, final=final):
            yield cell


def pieces(blocks: Iterable[bytes]) -> Iterator[tuple[bytes, bool]]:
    """Yield a document in small pieces, and an empty last one marked as final.

    The cells of one piece are held together, so its size bounds the memory.
    """
    for block in blocks:
        for start in range(0, len(block), _PIECE):
            yield block[start : start + _PIECE], False
    yield b"", True


class CellReader:
    """A parser of a table's document, fed block by block, for LOB cells and the offsets of their tags."""

    def __init__(self, table: Table, budgets: Budgets, tally: Tally) -> None:
        self._table = table
        self._budgets = budgets
        self._tally = tally
        self._found: list[tuple[int, LobCell]] = []
        self._fed = 0
        self._head: bytes | None = b""
        self._empty = ""  # the cell with a file that was begun last, while it holds nothing else
        self._parser = safexml.expat_parser()
        self._install()

    @property
    def position(self) -> int:
        """The offset up to which the document has been parsed; every tag returned begins before it."""
        return max(self._parser.CurrentByteIndex, 0)

    def feed(self, block: bytes, *, final: bool) -> list[tuple[int, LobCell]]:
        """Parse a block; return the LOB cells whose start tags end in it, each with the offset of that tag.

        Raises ``SourceError`` as ``cells`` does.
        """
        self._found = []
        self._fed += len(block)
        self._see(block, final=final)
        try:
            safexml.feed_block(self._parser, block, final=final)
        except safexml.XmlError as error:
            self._see(b"", final=True)
            raise SourceError(
                f"{self._table.path} line {error.line}, column {error.column}: {error.message}",
                hint=error.hint
                or "The table's document is damaged: get the archive again from where it came.",
            ) from None
        if self._fed - self._parser.CurrentByteIndex > self._budgets.attribute + len(block):
            raise SourceError(
                f"{self._table.path} line {self._parser.CurrentLineNumber}: "
                f"a tag or comment is longer than {self._budgets.attribute:,} bytes",
                hint="If that is what it should be, raise the budget: --budget attribute=BYTES.",
            )
        return self._found

    def _see(self, block: bytes, *, final: bool) -> None:
        """Refuse an encoding that cannot be spliced, as soon as the declaration is there."""
        if self._head is not None:
            self._head += block[:_HEAD]
            if final or len(self._head) >= _HEAD:
                detected(self._head, self._table.path)
                self._head = None

    def _install(self) -> None:  # noqa: C901 -- closures, which call nothing for a usual cell
        """Install the handlers as closures: they run for every element of every row."""
        deepest = self._budgets.depth
        path = [""] * (deepest + 1)
        inline = frozenset(f"c{column.number}" for column in self._table.columns if column.is_lob)
        tally = self._tally
        form = tally.form = TableForm(self._table.columns)
        numbers = form.numbers
        depth = named = 0  # named: the depth of the cell with a file that was begun last
        last = 0  # the number of the row's last cell
        seen: set[str] = set()

        def start(name: str, attributes: dict[str, str]) -> None:
            nonlocal depth, named, last
            depth += 1
            if depth > deepest:
                raise SourceError(
                    f"{self._where()}: elements are nested more than {deepest} deep",
                    hint="If that is what it should be, raise the budget: --budget depth=N.",
                )
            path[depth] = name
            if depth == _COLUMN:
                last = last + 1 if numbers.get(name) == last + 1 else form.cell(name, attributes, last)
            elif depth == _ROW:
                form.row(name, last)
                last = 0
                tally.rows += 1
                seen.clear()
            else:
                form.other(name, depth, last)
            if "file" in attributes and depth >= _COLUMN:
                self._take(path[_COLUMN : depth + 1], attributes, seen)
                named = depth
            elif "dlurlpathonly" in attributes and depth >= _COLUMN:
                tally.datalinks += 1
            elif depth == _COLUMN and name in inline:
                tally.inline += 1

        def end(_name: str) -> None:
            nonlocal depth
            if depth == named:
                self._parser.CharacterDataHandler = None
            elif depth == 1:
                form.end_row(last)
            depth -= 1

        self._parser.StartElementHandler = start
        self._parser.EndElementHandler = end

    def _take(self, tags: list[str], attributes: dict[str, str], seen: set[str]) -> None:
        """Take the cell at the end of a path of tags; ``seen`` are those of its row before it."""
        cell = ".".join(tags)
        if ":" in cell:
            cell = ".".join(each.rpartition(":")[2] for each in tags)
        if cell in seen:
            raise SourceError(f"{self._where()}: row {self._tally.rows:,} has the cell {cell} twice")
        seen.add(cell)
        found = self._cell(cell, attributes)
        self._found.append((self._parser.CurrentByteIndex, found))
        self._empty = found.place.id
        self._parser.CharacterDataHandler = self._text

    def _text(self, words: str) -> None:
        """Count a cell with a file that holds a value too; a long one comes in pieces."""
        if self._empty and words.strip():
            self._tally.both += 1
            self._tally.first_of_both = self._tally.first_of_both or self._empty
            self._empty = ""

    def _where(self) -> str:
        return f"{self._table.path} line {self._parser.CurrentLineNumber}"

    def _cell(self, cell: str, attributes: dict[str, str]) -> LobCell:
        if not _CELL.fullmatch(cell):
            raise SourceError(
                f"{self._where()}: a file attribute stands at {cell[:100]!r}, "
                "expected c<n> with u<n> or a<n> below it",
                hint="Cells are named by SIARD 2.2 T_6.1-1 and T_6.1-4.",
            )
        place = LobPlace(schema=self._table.schema, table=self._table.number, cell=cell, row=self._tally.rows)
        return LobCell(
            place=place,
            file=attributes["file"],
            length=self._length(place, attributes.get("length")),
            digest=self._digest(place, attributes),
        )

    def _named(self, place: LobPlace) -> str:
        return f"{self._where()}: table {self._table.label} row {place.row:,}, cell {place.cell} ({place.id})"

    def _length(self, place: LobPlace, text: str | None) -> int | None:
        if text is None or not (text := text.strip()):
            return None
        if not _LENGTH.fullmatch(text):
            raise SourceError(
                f"{self._named(place)} has the length {shown(text)}, expected a whole number",
                hint="It counts the bytes, or the characters of a text (SIARD 2.2 T_6.2-1).",
            )
        return int(text)

    def _digest(self, place: LobPlace, attributes: dict[str, str]) -> Digest | None:
        """Return the digest in ``digest`` and ``messageDigest``: of two algorithms the stronger one's.

        Both are digests of the same bytes; two values of one algorithm cannot both be right.
        """
        said: dict[str, tuple[str, Digest]] = {}
        for name in ("digest", "messageDigest"):
            text = attributes.get(name, "").strip()
            if not text:
                continue
            digest = digests.parsed(text, attributes.get("digestType"))
            if digest is None and name == "messageDigest":
                digest = digests.parsed(text)  # digestType is of the digest beside it
            if digest is None:
                kind = attributes.get("digestType")
                raise SourceError(
                    f"{self._named(place)} has the {name} {shown(text)} (digestType "
                    f"{'absent' if kind is None else shown(kind)}), which is not a message digest",
                    hint="SIARD allows MD5, SHA-1 and SHA-256 in hexadecimal (2.2, T_6.2-1).",
                )
            other, before = said.setdefault(digest.algorithm, (name, digest))
            if before != digest:
                raise SourceError(
                    f"{self._named(place)} has the {other} {before.value} and the {name} {digest.value}, "
                    f"both {digest.algorithm}",
                    hint="The archive contradicts itself; find out which is right before building a package.",
                )
        return max(
            (digest for _name, digest in said.values()), key=lambda each: len(each.value), default=None
        )


# --- The form of a table against its columns -------------------------------------------------------------

UNKNOWN, DISORDERED = "unknown", "disordered"
"""Kinds of odd elements: those of no column, and those before, or beside, one that they follow."""

_TABLE = 1  # the depth of the root
_INNER = re.compile(r"[uar]([1-9][0-9]{0,8})")  # a field of a cell, or an element of an array
_NAME_SHOWN = 80


class TableForm:
    """The form of one table as far as it was read; its methods are called for elements that begin.

    ``odd`` are the elements that the table has no place for, by their kind: how many, and the first.
    ``absent`` are the rows without a cell in a column that must have one, by its number: how many, the first.
    """

    def __init__(self, columns: Sequence[Column]) -> None:
        self.odd: dict[str, tuple[int, str]] = {}
        self.absent: dict[int, tuple[int, int]] = {}
        self.numbers = {f"c{column.number}": column.number for column in columns}
        """The columns' numbers by the names of their cells."""
        self._columns = len(columns)
        # How many columns up to each must have a cell.
        self._needed = list(accumulate((not column.is_nullable for column in columns), initial=0))
        self._row = 0
        self._cell = 0, 0
        self._inner: dict[int, int] = {}

    def row(self, name: str, last: int) -> None:
        """Take a row; ``last`` is the number of the last cell of the one before."""
        self.end_row(last)
        self._row += 1
        if name != "row":
            self._expect(name, "row")

    def end_row(self, last: int) -> None:
        """End the row that was begun last, if there is one, behind its cell of the number ``last``."""
        if self._row and last < self._columns:
            self._skip(last, self._columns + 1)

    def cell(self, name: str, attributes: dict[str, str], last: int) -> int:
        """Take a cell that is not simply the next after that of the number ``last``; return its number."""
        number = self.numbers.get(name) or self.numbers.get(name.rpartition(":")[2], 0)
        if not number:
            if "file" not in attributes:  # one with a file is told of as a LOB's
                self._count(UNKNOWN, name)
            return last
        if number <= last:
            self._count(DISORDERED, name)
        else:
            self._skip(last, number)
        return number

    def other(self, name: str, depth: int, last: int) -> None:
        """Take the root, or an element inside the cell of the number ``last``."""
        if depth == _TABLE:
            if name != "table":
                self._expect(name, "table")
            return
        if self._cell != (self._row, last):
            self._cell = self._row, last
            self._inner.clear()
        found = _INNER.fullmatch(name.rpartition(":")[2])
        self._inner.pop(depth + 1, None)
        if found is None:
            self._count(UNKNOWN, name)
            return
        number = int(found[1])
        if number <= self._inner.get(depth, 0):
            self._count(DISORDERED, name)
        self._inner[depth] = number

    def _expect(self, name: str, expected: str) -> None:
        if name.rpartition(":")[2] != expected:
            self._count(UNKNOWN, name)

    def _count(self, kind: str, name: str) -> None:
        count, first = self.odd.get(kind) or (0, f"<{shown(name)[:_NAME_SHOWN]}> in row {self._row:,}")
        self.odd[kind] = count + 1, first

    def _skip(self, last: int, number: int) -> None:
        """Count the columns between two cells that must have a cell and have none in this row."""
        needed = self._needed
        if needed[number - 1] == needed[last]:
            return
        for column in range(last + 1, number):
            if needed[column] > needed[column - 1]:
                count, first = self.absent.get(column, (0, self._row))
                self.absent[column] = count + 1, first
