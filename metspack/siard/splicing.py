"""Exchanging single values in a document while every other byte stays as it was; pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from markupsafe import escape

from metspack.model import Budgets, LobCell
from metspack.siard.encoding import Encoding, detected
from metspack.siard.markup import tag_end
from metspack.siard.metadata import Table
from metspack.siard.tables import CellReader, Tally, pieces

# White space is XML's alone: read as Latin-1, a byte of a longer character can look like a no-break space.
_ATTRIBUTE = re.compile(r"""\s([^\s=/>"']+)\s*=\s*(?:"([^"]*)"|'([^']*)')""", re.ASCII)
_HEAD = 1024  # bytes in which the declaration stands


@dataclass(frozen=True, slots=True, kw_only=True)
class Edit:
    """Bytes ``start`` to ``stop`` of a document give way to ``text``; an insertion has both equal."""

    start: int
    stop: int
    text: str


def edited(data: bytes, edits: Iterable[Edit], encoding: Encoding) -> bytes:
    """Return a document with non-overlapping edits made, each encoded as the document is."""
    pieces: list[bytes] = []
    at = 0
    for edit in sorted(edits, key=lambda each: (each.start, each.stop)):
        pieces += (data[at : edit.start], encoding.encoded(edit.text))
        at = edit.stop
    return b"".join((*pieces, data[at:]))


def spliced_table(
    blocks: Iterable[bytes], table: Table, budgets: Budgets, value: Callable[[LobCell], str | None]
) -> Iterator[bytes]:
    """Yield a table's document with the ``file`` attributes of its LOB cells exchanged.

    ``value`` gives each cell's new ``file``, None to leave it; it is called in document order.
    Everything else comes out byte for byte. Raises ``SourceError`` as ``tables.cells`` does and for
    an encoding that cannot be spliced.
    """
    reader = CellReader(table, budgets, Tally())
    held = b""  # what was fed but not yet given out; begins at offset ``base``
    base = 0
    head = b""
    encoding: Encoding | None = None
    for block, final in pieces(blocks):
        held += block
        head += block[: _HEAD - len(head)]
        at = 0
        for start, cell in reader.taken(block, final=final):
            new = value(cell)
            if new is not None:
                # Not sooner: a first block may be shorter than the declaration.
                encoding = encoding or detected(head)
                first, last = _file_value(held, start - base, encoding)
                yield held[at:first]
                yield encoding.encoded(str(escape(new)))
                at = last
        done = len(held) if final else max(at, reader.position - base)
        yield held[at:done]
        held = held[done:]
        base += done


def _file_value(data: bytes, start: int, encoding: Encoding) -> tuple[int, int]:
    """Return the offsets of the value of ``file`` in the start tag at ``start``, without its quotes."""
    raw = data[start : tag_end(data, start, encoding)]
    # ASCII never stands inside a longer character in these encodings, so Latin-1 shows every
    # quote and equals sign at its own byte.
    tag = raw.decode("latin-1" if encoding.unit == 1 else encoding.codec)
    for found in _ATTRIBUTE.finditer(tag):
        if found[1] == "file":
            first, last = found.span(2 if found[2] is not None else 3)
            width = encoding.unit
            if width == 1:
                return start + first, start + last
            before = len(tag[:first].encode(encoding.codec))
            return start + before, start + before + len(tag[first:last].encode(encoding.codec))
    raise AssertionError(f"no file attribute in {tag!r}")  # the parser saw one in this very tag
