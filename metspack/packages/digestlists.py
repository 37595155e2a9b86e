"""Lists of digests in any encoding, as BagIt, md5sum, BSD and openssl write them.

A list has a name that ends with an algorithm or ``checksums`` (``SHA256SUMS``, ``S1.zip.md5``), and lines of
a digest and a path. A file that lacks one of the two is a plain file.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import chain, islice

from metspack.digests import OCTETS, algorithm_name
from metspack.files import reading
from metspack.system import os

_WORD = (
    r"md5|sha-?(?:2-)?(?:1|224|256|384|512)|sha3-?[0-9]{3}|(?:b|blake)[23][bs]?-?[0-9]*"
    r"|tiger|whirlpool|(?:ripe|r)md-?160|crc-?32|adler-?32"
)
_NAME = re.compile(
    rf"manifest-([a-z0-9-]+)\.txt|"
    rf"(?!tagmanifest-)(?:(.*)[-_. ])?(?:({_WORD})(?:[-_.]?(?:check)?sums?)?|checksums?)(?:\.txt)?",
    re.IGNORECASE | re.ASCII | re.DOTALL,
)
_DIGEST = re.compile(rb"\\?[0-9A-Fa-f]{16}")
_LINE = re.compile(rb"(\\?)([0-9A-Fa-f]++)(?:( [ *]|[ \t]+\*?)(.+))?", re.DOTALL)
_TAGGED = re.compile(rb"(\\?)([A-Za-z0-9-]++) ?\((.+)\) ?= ?([0-9A-Fa-f]+)", re.DOTALL)
_ESCAPES = {b"\\\\": b"\\", b"\\n": b"\n", b"\\r": b"\r"}
_BY_LENGTH = {2 * octets: name for name, octets in OCTETS.items() if name.startswith(("MD5", "SHA"))}
_SOME = 1_000  # lines, at least one of which must have a list's form
_FEWEST = 8  # bytes of a digest by an algorithm that is not computed: a word may be of the same letters

_WIDE, _COMMENT = "UTF-16 for UTF-8", "a comment"
_TAGGED_LINE = "lines as BSD writes them, with the algorithm's name"
ESCAPED, _BACKSLASHES = "a backslash before the digest", "backslashes for slashes"
BEYOND_BAGIT = {_WIDE, _COMMENT, _TAGGED_LINE, ESCAPED, _BACKSLASHES}
"""The forms that lists of bags must not have (RFC 8493, 2.1.3)."""


def is_list(name: str) -> bool:
    """Return whether a file's name is that of a list."""
    return _NAME.fullmatch(name) is not None


def algorithm_of(name: str) -> str:
    """Return the algorithm in the name of a list, "" without one."""
    found = _NAME.fullmatch(name)
    return "" if found is None else found[1] or found[3] or ""


def unmarked(blocks: Iterable[bytes], codec: str = "") -> tuple[list[str], Iterator[bytes]]:
    """Return a text's deviations from UTF-8 with line feeds, and its blocks without them.

    The encoding is ``codec``, or else that of a byte order mark of UTF-16, or UTF-8. With ``codec`` the
    blocks raise ``UnicodeError`` for other text.
    """
    ahead = iter(blocks)
    first = next(ahead, b"")
    is_wide = not codec and first.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    forms = [_WIDE] * is_wide + ["a mark of UTF-8"] * first.startswith(codecs.BOM_UTF8)
    ahead = chain((first.removeprefix(codecs.BOM_UTF8),), ahead)
    if codec or is_wide:
        # Without a mark UTF-16 is big-endian (RFC 2781, 4.3), and begins with a character of ASCII.
        codec += "-be" if codec in {"utf-16", "utf-32"} and first.startswith(b"\0") else ""
        decoded = codecs.iterdecode(ahead, codec or "utf-16", "replace" if is_wide else "strict")
        ahead = (each.encode() for each in decoded)
    first = next(ahead, b"")
    ahead = chain((first,), ahead)
    if b"\r" in first and b"\n" not in first:
        forms.append("carriage returns for line feeds")
        ahead = (each.replace(b"\r", b"\n") for each in ahead)
    return forms, ahead


def stated_path(written: bytes) -> tuple[str, bytes]:
    """Return the reason why a path is invalid, or "", and the path without leading ``./``."""
    path = re.sub(rb"\A(?:\./)+", b"", written)
    names = path.split(b"/")
    if path.startswith(b"/"):
        return "the path is absolute", path
    if any(name in {b"", b".", b".."} for name in names):
        return "the path has an empty, '.' or '..' segment", path
    if b"\0" in path:
        return "the path has a NUL character", path
    return "", path


@dataclass(frozen=True, slots=True, kw_only=True)
class DigestLine:
    """A line of a list: a digest and its path, the ``reason`` why the line lacks them, or a comment.

    ``forms`` are the deviations from md5sum's form, in words.
    """

    digest: str = ""
    path: bytes = b""
    algorithm: str = ""
    reason: str = ""
    forms: tuple[str, ...] = ()


class LineReader:
    """A reader of a list's lines; the name or the length of digests gives the algorithm.

    ``is_there`` returns whether a path is a file; ``decode`` returns the path for its written form. ``fault``
    is the reason why the first line that begins with a digest has another form than a list's, or "".
    """

    def __init__(
        self, name: str, is_there: Callable[[bytes], bool], decode: Callable[[bytes], bytes] = bytes
    ) -> None:
        spelled = algorithm_of(name)
        self.algorithm = algorithm_name(spelled) or spelled
        self._name, self._is_there, self._decode = name, is_there, decode
        self.fault = ""

    def fits(self, blocks: Iterable[bytes]) -> bool:
        """Return whether a file's content is a list's; set ``algorithm`` by its first digest."""
        for written in islice(reading.lines(unmarked(blocks)[1]), _SOME):
            each = self.parsed(written)
            if each.digest:
                self.algorithm = each.algorithm
                return True
            if _DIGEST.match(written):
                self.fault = self.fault or each.reason
        found = _NAME.fullmatch(self._name)
        return found is not None and found[1] is not None

    def parsed(self, line: bytes) -> DigestLine:
        """Return the digest and path of a line, or the reason why it lacks them."""
        forms, text = [], line.rstrip(b"\r\n")
        if not line.endswith(b"\n"):
            forms.append("no line feed at the end")
        if line.removesuffix(b"\n").endswith(b"\r"):
            forms.append("a carriage return before the line feed")
        if text.strip()[:1] in b"#;":
            return DigestLine(forms=(*forms, _COMMENT if text.strip() else "an empty line"))
        if (tagged := _TAGGED.fullmatch(text)) is not None:
            named = algorithm_name(tagged[2].decode("ascii"))
            if named is not None and self.algorithm in {named, ""}:
                forms.append(_TAGGED_LINE)
                text = tagged[1] + tagged[4] + b"  " + tagged[3]
        ends, found = tuple(forms), _LINE.fullmatch(text)
        digits = 0 if found is None else len(found[2])
        algorithm = self.algorithm or _BY_LENGTH.get(digits, "")
        written = self._path(found, forms) if found is not None else b""
        if found is None or not written or not algorithm:
            return DigestLine(reason="expected a digest, two spaces and a path", forms=ends)
        expected = 2 * OCTETS.get(algorithm, max(digits // 2, _FEWEST))
        if digits != expected:
            reason = f"the digest has {digits} digits, {algorithm} has {expected}"
            return DigestLine(reason=reason, forms=ends)
        reason, path = stated_path(written)
        if reason:
            return DigestLine(reason=reason, forms=ends)
        digest = found[2].decode("ascii").lower()
        return DigestLine(digest=digest, path=path, algorithm=algorithm, forms=tuple(forms))

    def _path(self, line: re.Match[bytes], forms: list[str]) -> bytes:
        """Return a line's path: without one, the file that the list is named after."""
        escape, digest, mark, written = line.groups()
        if written is None:
            name = os.fsencode((_NAME.fullmatch(self._name) or [""] * 4)[2] or "")
            return name if name and self._is_there(name) else b""
        if digest != digest.lower():
            forms.append("upper-case digits")
        if mark != b"  ":
            forms.append(
                "an asterisk before the path" if b"*" in mark else "other white space before the path"
            )
        if escape:  # md5sum writes such names with a backslash before the digest
            forms.append(ESCAPED)
            return re.sub(rb"\\[\\nr]", lambda found: _ESCAPES[found[0]], written)
        path = self._decode(written)
        if b"\\" in path and not self._is_there(path):
            forms.append(_BACKSLASHES)  # as programs on Windows write them
            path = path.replace(b"\\", b"/")
        if path.startswith(b"./"):
            forms.append("./ before the path")
        return path
