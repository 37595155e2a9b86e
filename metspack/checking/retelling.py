"""A METS document repeated piece by piece for a validator, to learn the line of what it finds invalid.

The repeated document is the same to a validator: tags with their attributes, and text. Comments and
processing instructions mean nothing to it and are left out; so is most of a very long text, in such a way
that base64 stays valid or invalid.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple
from xml.sax.saxutils import escape, quoteattr

from metspack import safexml

_LONG = 1 << 16
_STRAY = re.compile(r"[^A-Za-z0-9+/=]+")  # what libxml2 passes over in base64
_AFTER = 16
_RETURN = {"\r": "&#13;"}


class MarkupPiece(NamedTuple):
    """Some bytes of the document in UTF-8, with the line of the element they begin or end, and its ID."""

    data: bytes
    line: int
    id: str


def retold(blocks: Iterable[bytes]) -> Iterator[MarkupPiece]:
    """Yield a document's pieces: a start tag, a text or an end tag each; raises ``safexml.XmlError``.

    All pieces together are a document. ``line`` is that of the start tag, also for an end tag.
    """
    teller = _Teller()
    for block in blocks:
        yield from teller.take(block, final=False)
    yield from teller.take(b"", final=True)


class _Teller:
    """Expat handlers that gather the pieces of one block at a time."""

    def __init__(self) -> None:
        self._pieces: list[MarkupPiece] = []
        self._open: list[tuple[int, str]] = []
        self._texts: list[_ElementText] = []
        self._parser = safexml.expat_parser()
        self._parser.StartElementHandler = self._start
        self._parser.EndElementHandler = self._end
        self._parser.CharacterDataHandler = self._text

    def take(self, block: bytes, *, final: bool) -> Iterator[MarkupPiece]:
        self._pieces = []
        safexml.feed_block(self._parser, block, final=final)
        return iter(self._pieces)

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        self._settle()
        place = self._parser.CurrentLineNumber, attributes.get("ID", "")
        self._open.append(place)
        self._texts.append(_ElementText())
        said = "".join(f" {each}={quoteattr(value, _RETURN)}" for each, value in attributes.items())
        self._pieces.append(MarkupPiece(f"<{name}{said}>".encode(), *place))

    def _end(self, name: str) -> None:
        self._settle()
        self._texts.pop()
        self._pieces.append(MarkupPiece(f"</{name}>".encode(), *self._open.pop()))

    def _text(self, text: str) -> None:
        self._tell(self._texts[-1].shortened(text))

    def _settle(self) -> None:
        if self._texts:
            self._tell(self._texts[-1].rest())

    def _tell(self, text: str) -> None:
        if text:
            self._pieces.append(MarkupPiece(escape(text, _RETURN).encode(), *self._open[-1]))


class _ElementText:
    """An element's own text, as much of it as it takes to judge it."""

    __slots__ = ("_after", "_held", "_told")

    def __init__(self) -> None:
        self._told = 0
        self._held = ""
        self._after = 0

    def shortened(self, text: str) -> str:
        """Return what to tell of the next stretch of text."""
        if self._told < _LONG:
            self._told += len(text)
            return text
        solid = _STRAY.sub("", text)
        padding = solid.find("=")
        if not self._after and padding < 0:
            # Whole groups of four characters make no difference; the last is kept, for padding may follow.
            held = self._held + solid
            self._held = held[max(0, (len(held) - 4) // 4 * 4) :]
            return ""
        # From the padding on a few characters decide; more of them can neither mend nor spoil it.
        told = solid[: max(0, padding) + max(0, _AFTER - self._after)]
        self._after += len(told) - max(0, padding)
        return self.rest() + told

    def rest(self) -> str:
        """Return what was held back, when the text ends."""
        held, self._held = self._held, ""
        return held
