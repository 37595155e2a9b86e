"""Formats of a package's LOBs by PRONOM: from METS, and from PREMIS for split LOBs of CSIP packages."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cached_property

from metspack import safexml
from metspack.errors import MetspackError
from metspack.mediatypes import DEFAULT, is_media_type
from metspack.model import Format, Recorded
from metspack.packages.lobs import HeldLob
from metspack.packages.metsfiles import pronom
from metspack.packages.package import Package
from metspack.values import dataclass

PREMIS = ("metadata", "preservation", "premis.xml")
"""The path of the PREMIS document in a package or in a representation."""

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
    """Expat handlers for PREMIS objects; ``found`` are those of split LOBs with a format."""

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


class Kinds:
    """Formats of a package's LOBs: from METS and, for split LOBs of a CSIP package, from PREMIS.

    ``unread`` says why PREMIS could not be read, "" where it could or was not needed.
    """

    def __init__(self, package: Package) -> None:
        self._package = package
        self.unread = ""

    def recorded(self, lob: HeldLob) -> Recorded | None:
        """Return media type and format of a LOB, None where only application/octet-stream is known."""
        kind = lob.format
        if kind is None and lob.is_split and (found := self._split.get(lob.id)) is not None:
            # PREMIS is believed of the LOB that it means, which has as many bytes.
            kind = found.format if found.size == str(lob.size) else None
        said = (lob.media_type or "").strip()
        media_type = said if is_media_type(said) else DEFAULT
        return (
            None if media_type == DEFAULT and kind is None else Recorded(media_type=media_type, format=kind)
        )

    @cached_property
    def _split(self) -> dict[str, SplitFormat]:
        """The formats of split LOBs in PREMIS: few, for each has more bytes than a segment may hold."""
        representation = self._package.representation
        if representation is None:
            return {}
        path = (*representation, *PREMIS)
        try:
            with self._package.index.files.document(path) as document:
                return {each.lob: each for each in split_formats(document.chunks())}
        except FileNotFoundError:
            return {}
        except (OSError, MetspackError) as error:
            why = error.message if isinstance(error, MetspackError) else error.strerror
            self.unread = f"{'/'.join(path)} cannot be read, so formats of split LOBs are not known: {why}"
            return {}
