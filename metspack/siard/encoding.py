"""The encodings of SIARD's XML documents in which a value can be exchanged byte by byte."""

from __future__ import annotations

import codecs
import re
from dataclasses import dataclass

from metspack.errors import SourceError

_DECLARED = re.compile(rb"""<\?xml[^>]*?\sencoding\s*=\s*["']([A-Za-z][A-Za-z0-9._-]*)["']""")
_ASCII = bytes(range(128))


@dataclass(frozen=True, slots=True, kw_only=True)
class Encoding:
    """An encoding by Python's name of it; ``unit`` is the bytes of an ASCII character."""

    codec: str
    unit: int

    def encoded(self, text: str) -> bytes:
        """Return the bytes of ``text`` as they stand inside the document, without a byte order mark."""
        return text.encode(self.codec, "xmlcharrefreplace")

    def decoded(self, data: bytes) -> str:
        """Return the text of bytes cut from inside the document."""
        return data.decode(self.codec)

    def found(self, character: str, data: bytes, start: int, stop: int | None = None) -> int:
        """Return the offset of an ASCII character from ``start`` on and before ``stop``, -1 without one."""
        needle = self.encoded(character)
        at = data.find(needle, start, stop)
        while self.unit > 1 and at >= 0 and (at - start) % self.unit:
            at = data.find(needle, at + 1, stop)
        return at


def detected(head: bytes, what: str = "the document") -> Encoding:
    """Return the encoding of a document that begins with ``head`` (a few hundred bytes).

    ``what`` names it in errors. Raises ``SourceError`` for one that is neither UTF-8, UTF-16 nor an
    8-bit page that extends ASCII: those alone can be spliced without re-serialising the document.
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
        # Both ways: a codec that writes a byte order mark of its own reads ASCII all the same.
        ascii_stays = ascii_stays and _ASCII.decode("ascii").encode(codec, "replace") == _ASCII
    except (LookupError, UnicodeError):
        one_by_one = ascii_stays = False
        codec = ""
    if codec not in {"utf-8", "ascii"} and not (one_by_one and ascii_stays):
        raise SourceError(
            f"{what} is encoded in {name}, which cannot be rewritten byte by byte",
            hint="SIARD asks for Unicode (G_3.3-1): convert the document to UTF-8 first.",
        )
    return Encoding(codec=codec, unit=1)
