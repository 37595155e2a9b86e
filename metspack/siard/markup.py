"""A small XML document with the byte offsets of its elements, so that values can be spliced."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from metspack import safexml
from metspack.siard.encoding import Encoding, detected


@dataclass(slots=True, kw_only=True)
class Element:
    """An element: its local name, text, children, and where its markup lies in the document.

    ``start`` and ``stop`` are the bytes of the whole element, ``inner`` and ``inner_stop`` those
    between its tags (both equal to ``stop`` for an empty-element tag). ``line`` counts from 1.
    """

    name: str
    prefix: str
    attributes: dict[str, str]
    line: int
    start: int
    inner: int
    inner_stop: int = 0
    stop: int = 0
    text: str = ""
    children: list[Element] = field(default_factory=list)

    def child(self, name: str) -> Element | None:
        """Return the first child of that name."""
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
        """Return the stripped text of the first child of that name, None when there is none."""
        found = self.child(name)
        return None if found is None else found.text.strip()


def tag_end(data: bytes, start: int, encoding: Encoding) -> int:
    """Return the offset behind the tag that begins at ``start``; a ``>`` inside quotes does not end it."""
    at = start
    while True:
        closing = encoding.found(">", data, at)
        # Looked for no further than the bracket: a document without such quotes must not be read whole.
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
    """Return the root element of a document; elements named in ``skipped`` are left out with all below.

    Raises ``safexml.XmlError`` when it is not well-formed, has a DTD or is nested deeper than
    ``depth``, and ``SourceError`` for an encoding that cannot be spliced, of the document called ``what``.
    """
    encoding = detected(data[:1024], what)
    parser = safexml.expat_parser()
    stack: list[Element] = []
    texts: list[list[str]] = []
    roots: list[Element] = []
    passed_over = 0
    empty = encoding.encoded("/>")

    def start(qualified: str, attributes: dict[str, str]) -> None:
        nonlocal passed_over
        prefix, _, name = qualified.rpartition(":")
        if len(stack) + passed_over >= depth:
            raise safexml.XmlError(
                f"elements are nested more than {depth} deep",
                hint="If that is what it should be, raise the budget: --budget depth=N.",
                line=parser.CurrentLineNumber,
                column=parser.CurrentColumnNumber + 1,
            )
        if passed_over or (stack and name in skipped):
            passed_over += 1
            return
        at = parser.CurrentByteIndex
        element = Element(
            name=name,
            prefix=prefix,
            attributes=attributes,
            line=parser.CurrentLineNumber,
            start=at,
            inner=tag_end(data, at, encoding),
        )
        (stack[-1].children if stack else roots).append(element)
        stack.append(element)
        texts.append([])

    def end(_qualified: str) -> None:
        nonlocal passed_over
        if passed_over:
            passed_over -= 1
            return
        element = stack.pop()
        element.text = "".join(texts.pop())
        at = parser.CurrentByteIndex
        # At the end of <a/> and of <a> in <a></a> expat reports the same byte.
        if at == element.inner and data.endswith(empty, 0, at):
            element.stop = element.inner_stop = element.inner
        else:
            element.inner_stop = at
            element.stop = tag_end(data, at, encoding)

    def text(piece: str) -> None:
        if not passed_over:
            texts[-1].append(piece)

    parser.StartElementHandler = start
    parser.EndElementHandler = end
    parser.CharacterDataHandler = text
    safexml.fed(parser, (data,))
    return roots[0]
