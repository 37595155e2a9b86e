"""XML documents that are changed at one place and else stay as they are."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Self

from lxml import etree

METS = "http://www.loc.gov/METS/"
HREF = "{http://www.w3.org/1999/xlink}href"
_MARK = b"\xef\xbb\xbf"
_DECLARATION = re.compile(rb"<\?xml[^>]*\?>\s*")


@dataclass
class Document:
    """A parsed document, with what lxml does not keep: declaration, byte order mark, the last line end."""

    root: etree._Element
    head: bytes
    tail: bytes

    @classmethod
    def parsed(cls, data: bytes) -> Self:
        """Raises ``etree.XMLSyntaxError``."""
        mark = _MARK if data.startswith(_MARK) else b""
        found = _DECLARATION.match(data, len(mark))
        parser = etree.XMLParser(resolve_entities=False, strip_cdata=False, no_network=True)
        root = etree.fromstring(data, parser)
        return cls(root, mark + (found[0] if found else b""), data[len(data.rstrip()) :])

    def written(self) -> bytes:
        return self.head + etree.tostring(self.root.getroottree(), encoding="utf-8").strip() + self.tail

    def elements(self, name: str = "") -> list[etree._Element]:
        """Return the elements of a local name, or all, in the order of the document."""
        return [each for each in self.root.iter("*") if name in {"", local(each)}]


def local(element: etree._Element) -> str:
    return etree.QName(element).localname


def attribute_name(key: str) -> str:
    """Return an attribute's local name, for people."""
    return key.rpartition("}")[2]


def remove(element: etree._Element) -> None:
    """Take an element out and leave the text behind it."""
    parent = element.getparent()
    assert parent is not None
    before, tail = element.getprevious(), element.tail or ""
    if before is not None:
        before.tail = (before.tail or "") + tail
    else:
        parent.text = (parent.text or "") + tail
    element.tail = None
    parent.remove(element)


def exchange(one: etree._Element, other: etree._Element) -> None:
    """Exchange two elements, neither within the other; the text behind each place stays."""
    parent, target = one.getparent(), other.getparent()
    assert parent is not None
    assert target is not None
    first, second = etree.Element("a"), etree.Element("b")
    first.tail, second.tail, one.tail, other.tail = one.tail, other.tail, None, None
    parent.replace(one, first)
    target.replace(other, second)
    one.tail, other.tail = second.tail, first.tail
    second_parent, first_parent = second.getparent(), first.getparent()
    assert second_parent is not None
    assert first_parent is not None
    first_parent.replace(first, other)
    second_parent.replace(second, one)
