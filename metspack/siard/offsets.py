"""Locate elements in an XML document by byte offsets, and detect its encoding."""

from __future__ import annotations

import codecs
import re
import struct
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from metspack import safexml
from metspack.errors import SourceError

_DECLARED = re.compile(rb"""<\?xml[^>]*?\sencoding\s*=\s*["']([A-Za-z][A-Za-z0-9._-]*)["']""")
_TAG = re.compile(rb"""[^"'>]*(?:"[^"]*"[^"'>]*|'[^']*'[^"'>]*)*>""")  # where ASCII is one byte each
_NONE: Mapping[str, str] = MappingProxyType({})
_ASCII = bytes(range(128))
_NUMBERS = struct.Struct("5I")  # a document is held in memory, and far below 4 GiB


@dataclass(frozen=True, slots=True, kw_only=True)
class Encoding:
    """An encoding by its name in Python; ``unit`` is the bytes of an ASCII character."""

    codec: str
    unit: int

    def encoded(self, text: str) -> bytes:
        """Return ``text`` in this encoding, without a byte order mark."""
        return text.encode(self.codec, "xmlcharrefreplace")

    def decoded(self, data: bytes) -> str:
        """Return the text of bytes of the document."""
        return data.decode(self.codec)

    def found(self, character: str, data: bytes, start: int, stop: int | None = None) -> int:
        """Return the offset of the first ``character`` (of ASCII) from ``start`` to ``stop``, or -1."""
        needle = self.encoded(character)
        at = data.find(needle, start, stop)
        while self.unit > 1 and at >= 0 and (at - start) % self.unit:
            at = data.find(needle, at + 1, stop)
        return at


def detected(head: bytes, what: str = "the document") -> Encoding:
    """Return the encoding of a document that begins with ``head`` (a few hundred bytes).

    ``what`` names the document in errors. Raises ``SourceError`` for an encoding other than UTF-8, UTF-16
    and the 8-bit pages that extend ASCII: only those can be spliced without re-serialising the document.
    """
    if head.startswith((codecs.BOM_UTF16_LE, b"<\0")):
        return Encoding(codec="utf-16-le", unit=2)
    if head.startswith((codecs.BOM_UTF16_BE, b"\0<")):
        return Encoding(codec="utf-16-be", unit=2)
    declared = _DECLARED.match(head.removeprefix(codecs.BOM_UTF8).lstrip())
    name = declared[1].decode("ascii") if declared else "utf-8"
    try:
        codec = codecs.lookup(name).name
        one_by_one = len(bytes(range(256)).decode(codec, "replace")) == len(range(256))
        ascii_stays = _ASCII.decode(codec, "replace") == _ASCII.decode("ascii")
        # Both ways: a codec that writes a byte order mark still reads ASCII.
        ascii_stays = ascii_stays and _ASCII.decode("ascii").encode(codec, "replace") == _ASCII
    except (LookupError, UnicodeError):
        one_by_one = ascii_stays = False
        codec = ""
    if codec not in {"utf-8", "ascii"} and not (one_by_one and ascii_stays):
        raise SourceError(
            f"{what} is encoded in {name}, which cannot be rewritten byte by byte",
            hint="SIARD requires Unicode (G_3.3-1): convert the document to UTF-8 first.",
        )
    return Encoding(codec=codec, unit=1)


@dataclass(slots=True, kw_only=True)
class Element:
    """An element: its local name, text, children, and the offsets of its markup in the document.

    ``numbers`` are ``line``, ``start``, ``inner``, ``inner_stop`` and ``stop``, packed to save memory: an
    archive may have 100,000 columns, each of several elements.
    """

    name: str
    prefix: str
    attributes: Mapping[str, str]
    numbers: bytes
    text: str = ""
    children: Sequence[Element] = ()

    @property
    def line(self) -> int:
        """The line of its start tag, from 1."""
        return self._number(0)

    @property
    def start(self) -> int:
        """The offset of the element."""
        return self._number(1)

    @property
    def inner(self) -> int:
        """The offset after its start tag; ``stop`` for an empty-element tag."""
        return self._number(2)

    @property
    def inner_stop(self) -> int:
        """The offset of its end tag; ``stop`` for an empty-element tag."""
        return self._number(3)

    @property
    def stop(self) -> int:
        """The offset after the element."""
        return self._number(4)

    def _number(self, at: int) -> int:
        return int(_NUMBERS.unpack(self.numbers)[at])

    def child(self, name: str) -> Element | None:
        """Return the first child of that name, or None without one."""
        return next((each for each in self.children if each.name == name), None)

    def all(self, *names: str) -> Iterator[Element]:
        """Yield the elements at the end of a path of child names, in document order."""
        if not names:
            yield self
            return
        for each in self.children:
            if each.name == names[0]:
                yield from each.all(*names[1:])

    def value(self, name: str) -> str | None:
        """Return the stripped text of the first child of that name, or None without one."""
        found = self.child(name)
        return None if found is None else found.text.strip()


def _appendable(element: Element) -> list[Element]:
    """Return the list of an element's children, made on first use, as few elements have any."""
    if not isinstance(element.children, list):
        element.children = []
    return element.children


def tag_end(data: bytes, start: int, encoding: Encoding) -> int:
    """Return the offset after the tag at ``start``; a ``>`` inside quotes belongs to the tag."""
    if encoding.unit == 1 and (whole := _TAG.match(data, start)) is not None:
        return whole.end()
    at = start
    while True:
        closing = encoding.found(">", data, at)
        # The search for quotes ends at the bracket, so that it never runs through the whole document.
        quotes = [(found, mark) for mark in "\"'" if (found := encoding.found(mark, data, at, closing)) >= 0]
        if not quotes:
            return closing + encoding.unit
        opened, mark = min(quotes)
        at = encoding.found(mark, data, opened + encoding.unit) + encoding.unit


def document(
    data: bytes,
    *,
    skipped: frozenset[str] = frozenset(),
    depth: int = 100,
    what: str = "the document",
) -> Element:
    """Return the root element of a document, without ``skipped`` elements and all below them.

    Raises ``safexml.XmlError`` when it is not well-formed, has a DTD or is nested deeper than
    ``depth``, and ``SourceError`` for an encoding that cannot be spliced; ``what`` names the document.
    """
    encoding = detected(data[:1024], what)
    parser = safexml.expat_parser()
    stack: list[Element] = []
    texts: list[list[str]] = []
    repeated: dict[str, str] = {}  # types and names occur in many columns
    roots: list[Element] = []
    passed_over = 0
    empty = encoding.encoded("/>")

    def start(qualified: str, attributes: dict[str, str]) -> None:
        nonlocal passed_over
        prefix, _, name = qualified.rpartition(":")
        if len(stack) + passed_over >= depth:
            why = f"elements are nested more than {depth} deep"
            raise safexml.exceeded(why, "depth", parser)
        if passed_over or (stack and name in skipped):
            passed_over += 1
            return
        at = parser.CurrentByteIndex
        element = Element(
            name=sys.intern(name),
            prefix=sys.intern(prefix),
            attributes=attributes or _NONE,
            numbers=_NUMBERS.pack(parser.CurrentLineNumber, at, tag_end(data, at, encoding), 0, 0),
        )
        below = _appendable(stack[-1]) if stack else roots
        below.append(element)
        stack.append(element)
        texts.append([])

    def end(_qualified: str) -> None:
        nonlocal passed_over
        if passed_over:
            passed_over -= 1
            return
        element = stack.pop()
        value = "".join(texts.pop())
        element.text = repeated.setdefault(value, value)
        line, begun, inner, *_ = _NUMBERS.unpack(element.numbers)
        at = parser.CurrentByteIndex
        # Expat reports the same offset at the end of <a/>, and at the end tag of <a></a>.
        stop = inner if at == inner and data.endswith(empty, 0, at) else tag_end(data, at, encoding)
        element.numbers = _NUMBERS.pack(line, begun, inner, at, stop)

    def text(piece: str) -> None:
        if not passed_over:
            texts[-1].append(piece)

    parser.StartElementHandler = start
    parser.EndElementHandler = end
    parser.CharacterDataHandler = text
    safexml.feed(parser, (data,))
    return roots[0]
