"""What PREMIS says of LOBs that lie in parts: a CSIP METS lists no file for them, so it cannot say it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from metspack import safexml
from metspack.model import Format
from metspack.restoring.meaning import pronom

PREMIS = ("metadata", "preservation", "premis.xml")
"""Where the PREMIS document of a package or of a representation lies in it."""

_NAMESPACE = "http://www.loc.gov/premis/v3 "
_OBJECT = f"{_NAMESPACE}object"
_LOCATION = "contentLocationValue"
_SAID = {
    "objectIdentifierValue",
    "size",
    "formatName",
    "formatVersion",
    "formatRegistryName",
    "formatRegistryKey",
    _LOCATION,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class SplitFormat:
    """The format of a LOB that lies in parts: its id, its bytes as they are written, and the format."""

    lob: str
    size: str
    format: Format


class _Objects:
    """What expat tells of a document's objects; ``found`` are those of split LOBs with a format."""

    def __init__(self) -> None:
        self.found: list[SplitFormat] = []
        self._said: dict[str, str] = {}
        self._words: list[str] | None = None

    def start(self, tag: str, _attributes: dict[str, str]) -> None:
        if tag == _OBJECT:
            self._said = {}
        if tag.removeprefix(_NAMESPACE) in _SAID:
            self._words = []

    def text(self, words: str) -> None:
        if self._words is not None:
            self._words.append(words)

    def end(self, tag: str) -> None:
        if self._words is not None:
            self._said.setdefault(tag.removeprefix(_NAMESPACE), "".join(self._words).strip())
            self._words = None
        if tag == _OBJECT and _LOCATION not in self._said:
            said = self._said.get
            kind = pronom(
                said("formatRegistryName", ""),
                said("formatRegistryKey", ""),
                said("formatName", ""),
                said("formatVersion", ""),
            )
            if kind is not None:
                lob, size = said("objectIdentifierValue", ""), said("size", "")
                self.found.append(SplitFormat(lob=lob, size=size, format=kind))


def split_formats(blocks: Iterable[bytes]) -> Iterator[SplitFormat]:
    """Yield the formats of the objects of a PREMIS 3 document that are in no file of their own, streamed.

    Raises ``XmlError`` where it is not well-formed or has a DTD.
    """
    parser = safexml.expat_parser(namespaces=True)
    objects = _Objects()
    parser.StartElementHandler = objects.start
    parser.EndElementHandler = objects.end
    parser.CharacterDataHandler = objects.text
    for block in blocks:
        safexml.feed_block(parser, block, final=False)
        yield from objects.found
        objects.found.clear()
    safexml.feed_block(parser, b"", final=True)
