"""What PREMIS says of LOBs that lie in parts: a CSIP METS lists no file for them, so it cannot say it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property

from metspack import digests, safexml, uris
from metspack.errors import MetspackError
from metspack.layouts.names import ARCHIVE
from metspack.mediatypes import DEFAULT, is_media_type
from metspack.mets import is_mets_name, reader
from metspack.mets.links import Mptr
from metspack.model import Digest, Format, Recorded
from metspack.packages.lobs import HeldLob
from metspack.packages.package import Package

_METADATA = ("header", "metadata.xml")
_SIZE_DIGITS = 18
_ASIDE = {"Documentation", "Schemas"}  # what the USE of such groups begins with (CSIP60, CSIP113)
_REPRESENTATIONS = "representations"


def located(folder: tuple[str, ...], href: str) -> tuple[tuple[str, ...] | None, str | None]:
    """Return the names from the root that an href means, else why it means none."""
    try:
        reference = uris.parsed(href)
        if reference.kind is uris.Kind.ABSOLUTE and uris.Repair.PSEUDO_ABSOLUTE not in reference.repairs:
            return None, f"the href {href!r} is an absolute path, outside the package"
        path = uris.joined(folder, reference)
    except uris.ReferenceRefused as error:
        return None, error.message
    return (path, None) if path else (None, f"the href {href!r} names no file")


def archive_of(path: tuple[str, ...]) -> tuple[str, ...] | None:
    """Return the archive that a file is, or is a piece of (SIARD 2.2 S_8.2-0), or is the metadata of."""
    if (named := ARCHIVE.fullmatch(path[-1])) is not None:
        return (*path[:-1], named[1])
    return path[:-2] if path[-2:] == _METADATA and len(path) > len(_METADATA) else None


def size_of(fact: reader.File) -> int | None:
    """Return the size that METS gives a file, None when it gives none that is a number."""
    text = (fact.size or "").strip()
    return int(text) if text.isascii() and text.isdigit() and len(text) <= _SIZE_DIGITS else None


def digest_of(fact: reader.File) -> Digest | None:
    """Return the digest a file has, as it is written when it is none that can be computed."""
    if fact.checksum is None:
        return None
    algorithm = digests.algorithm_name(fact.checksum_type or "")
    found = None if algorithm is None else digests.parsed(fact.checksum, algorithm)
    unread = Digest(algorithm=algorithm or fact.checksum_type or "unknown", value=fact.checksum.strip())
    return found or unread


_PRONOM = "pronom"
_PUID = re.compile(r"(?:x-)?s?fmt/[0-9]+")


def format_of(fact: reader.File) -> Format | None:
    """Return the format of a file by PRONOM, as E-ARK's attributes say it (SIP32 to SIP35)."""
    return pronom(
        fact.format_registry or "",
        fact.format_key or "",
        fact.format_name or "",
        fact.format_version or "",
    )


def pronom(registry: str, key: str, name: str, version: str) -> Format | None:
    """Return a format as PRONOM has it; None for another registry's, and for what is no id of PRONOM's."""
    if registry.strip().casefold() != _PRONOM or not _PUID.fullmatch(key.strip()):
        return None
    return Format(puid=key.strip(), name=name, version=version)


def format_words(kind: Format | None) -> str | None:
    """Return a format as one text for a database, None for none; ``format_in`` is the way back."""
    return None if kind is None else f"{kind.puid}\n{kind.version}\n{kind.name}"


def format_in(words: str | None) -> Format | None:
    """Return the format that ``format_words`` made a text of."""
    if words is None:
        return None
    puid, version, name = words.split("\n", 2)
    return Format(puid=puid, name=name, version=version)


LOB_ID = re.compile(
    r"(?:[A-Za-z_][A-Za-z0-9_-]*\.)?s[0-9]+\.t[0-9]+\.c[0-9]+(?:\.[ua][0-9]+)*\.r[0-9]+(?:\.p[0-9]+)?",
    re.ASCII,
)
"""The file/@ID of a LOB or of a part of one; in a package of several archives it may begin with a name."""


def is_aside(groups: tuple[str, ...], path: tuple[str, ...] | None) -> bool:
    """Return whether a file of a package is none of its data: documentation, a schema, a METS (CSIP)."""
    return any(each.partition("/")[0] in _ASIDE for each in groups) or (
        path is not None and is_mets_name(path[-1])
    )


def is_representation(path: tuple[str, ...]) -> bool:
    """Return whether a METS is that of a representation in a package (CSIP)."""
    return path[-3:-2] == (_REPRESENTATIONS,)


def split_lob(mptr: Mptr) -> str | None:
    """Return the LOB that an mptr leads to a part of, as the div around that of the part is labelled."""
    label = mptr.div_labels[-2] if len(mptr.div_labels) > 1 else None
    return label if label is not None and LOB_ID.fullmatch(label) else None


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


class Kinds:
    """The kinds of a package's LOBs, as METS says them; of those in parts of a CSIP package, as PREMIS does.

    ``unread`` says why PREMIS could not be read, "" where it could or was not needed.
    """

    def __init__(self, package: Package) -> None:
        self._package = package
        self.unread = ""

    def recorded(self, lob: HeldLob) -> Recorded | None:
        """Return the kind of a LOB, None where nothing more is said than that it is bytes."""
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
        """What PREMIS says of LOBs in parts: few, for each has more bytes than a segment may hold."""
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
