"""Formats of LOBs, identified by the signatures of PRONOM (``pip install metspack[identify]``).

The library is pygfried, which is siegfried as an extension. It requires files, so the bytes that it needs of
a LOB are written to one as they are read: the source is not read a second time, and a LOB that is packed or
split is identified as any other.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from metspack import mediatypes
from metspack.errors import ConfigError
from metspack.files import writing
from metspack.model import Format
from metspack.values import dataclass, regex

WHOLE = 1 << 24
"""The largest LOB that is examined whole; of a larger one, this many of its first bytes."""
TAIL = 1 << 16
"""The number of last bytes of a larger LOB that are examined as well."""

_WITHOUT_NAME = "bin"  # SIARD's name for any bytes, which PRONOM has a format for
_EXTENSION = regex(r"[A-Za-z0-9_-]{1,20}")
_BY_BYTES = regex(r"\b(?:byte|xml|riff) match\b|\bcontainer\b")
_BY_TEXT = regex(r"\btext match\b")
_SHELLS = {"x-fmt/263", "fmt/111"}  # ZIP and OLE2: what is in them is told by bytes that were not looked at


@dataclass(frozen=True, slots=True, kw_only=True)
class Registry:
    """The means of identification: the software, its version, and the names of PRONOM's signature files."""

    software: str
    version: str
    signatures: str


@dataclass(frozen=True, slots=True, kw_only=True)
class IdentifiedFormat:
    """A format identified by a LOB's bytes, and PRONOM's media type for it ("" where it has none).

    ``is_text``: all that is known is that the bytes are text.
    """

    format: Format
    media_type: str
    is_text: bool

    def type_beside(self, known: str) -> str:
        """Return the media type of a LOB whose column or extension has ``known``.

        That of the bytes is more certain, except that mere text may be CSV or JSON.
        """
        if not self.media_type or (self.is_text and known != mediatypes.DEFAULT):
            return known
        return self.media_type


def registry() -> Registry:
    """Return the software and its signature files; raises ``ConfigError`` where it is not installed."""
    said = _library().identify_many([])
    signatures = "; ".join(each["details"] for each in said["identifiers"] if each["name"] == "pronom")
    return Registry(software="siegfried", version=said["siegfried"], signatures=signatures)


def _library() -> Any:
    try:
        import pygfried  # noqa: PLC0415 -- large and optional: for those who ask for it
    except ImportError:
        raise ConfigError(
            "pygfried, which identifies formats, is not installed",
            hint="pip install 'metspack[identify]', or leave --identify out.",
        ) from None
    return pygfried


class Identifying:
    """The identification of LOBs one after the other, in one process; its files are made in ``place``."""

    def __init__(self, place: Path) -> None:
        self._place = place
        self._library = _library()

    def probe(self, extension: str) -> Probe:
        """Return the probe of a LOB with this extension, which takes its bytes."""
        return Probe(self, extension)

    def ask(self, blocks: list[bytes], extension: str) -> Mapping[str, Any]:
        """Write these bytes to a file; return the library's answer about it."""
        named = extension != _WITHOUT_NAME and _EXTENSION.fullmatch(extension)
        path = Path(f"{self._place}.{extension}") if named else self._place
        file = writing.NewFile(path)
        try:
            for block in blocks:
                file.write(block)
            file.flush()
            said: Mapping[str, Any] = self._library.identify(str(path), detailed=True)
            return said
        finally:
            file.discard()
            writing.remove(path)


class Probe:
    """The bytes of a LOB that are examined, collected while it is read."""

    def __init__(self, identifying: Identifying, extension: str) -> None:
        self._identifying = identifying
        self._extension = extension
        self._head: list[bytes] = []
        self._room = WHOLE
        self._tail: deque[bytes] = deque()
        self._held = 0
        self._size = 0

    def take(self, block: bytes) -> None:
        """Take the next bytes."""
        self._size += len(block)
        if self._room:
            head, block = block[: self._room], block[self._room :]
            self._room -= len(head)
            self._head.append(head)
        if block:
            self._tail.append(block)
            self._held += len(block)
            while self._held - len(self._tail[0]) >= TAIL:
                self._held -= len(self._tail.popleft())

    def identify(self) -> IdentifiedFormat | None:
        """Identify the bytes taken; return None when they are of no known format, or may be of several."""
        if not self._size:
            return None
        seen = [*self._head, b"".join(self._tail)[-TAIL:]]
        return _found(self._identifying.ask(seen, self._extension), is_whole=self._size <= WHOLE)


def _found(said: Mapping[str, Any], *, is_whole: bool) -> IdentifiedFormat | None:
    """Return the format in the library's answer about a file; the extension alone does not identify one."""
    matches = [
        each
        for file in said["files"]
        for each in file["matches"]
        if _BY_BYTES.search(each["basis"]) or _BY_TEXT.search(each["basis"])
    ]
    if len(matches) != 1 or (not is_whole and matches[0]["id"] in _SHELLS):
        return None
    (match,) = matches
    kind = match["mime"].partition(",")[0].strip()
    return IdentifiedFormat(
        format=Format(puid=match["id"], name=match["format"], version=match["version"]),
        media_type=kind if mediatypes.is_media_type(kind) else "",
        is_text=not _BY_BYTES.search(match["basis"]),
    )
