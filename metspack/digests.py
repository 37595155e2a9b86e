"""Message digests: algorithms by their METS names, several in one pass."""

from __future__ import annotations

import base64
import hashlib
import re
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol, Self

from metspack.model import Digest

_HASHLIB = ("MD5", "SHA-1", "SHA-256", "SHA-384", "SHA-512")
_HASHLIB_NAMES = {name: name.replace("-", "").lower() for name in _HASHLIB}
_ZLIB = {"Adler-32": zlib.adler32, "CRC32": zlib.crc32}
_SHORT = 4  # bytes of a checksum; some tools leave out its leading zeros
OCTETS = {
    **{name: hashlib.new(each, usedforsecurity=False).digest_size for name, each in _HASHLIB_NAMES.items()},
    **dict.fromkeys(_ZLIB, _SHORT),
}
"""The METS names of the algorithms that can be computed, and the bytes of their digests.

They are of METS 1.12.1, CHECKSUMTYPE; Python lacks its others: HAVAL, MNP, TIGER and WHIRLPOOL.
"""


MANIFESTS = {algorithm: f"manifest-{name}.txt" for algorithm, name in _HASHLIB_NAMES.items()}
"""The names of a package's manifests by algorithm, as BagIt has them (RFC 8493, 2.1.3)."""

MANIFEST_ALGORITHMS = ("MD5", "SHA-256")
"""The algorithms of the manifests that a package has, always both."""

_MANIFEST = re.compile(r"manifest-[a-z0-9-]+\.txt", re.IGNORECASE | re.ASCII)


def is_manifest(name: str) -> bool:
    """Return whether a name is a manifest's, in either letter case and for any algorithm."""
    return _MANIFEST.fullmatch(name) is not None


_SEAL = re.compile(r"(?:seal:[ \t]*)?(?:sha-?256:)?([0-9a-f]{64})", re.IGNORECASE)
_SEALED_LINE = re.compile(r"\\?([0-9a-f]{64}) [ *](.+)", re.IGNORECASE)
_MARKS = {"\\": "\\\\", "\n": "\\n", "\r": "\\r"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Seal:
    """The seal of a package: one value for the files that prove all others.

    ``lines`` are those of ``sha256sum`` for the manifests and the parent's METS, or the file that the parent
    is packed in, in this order; empty where only the value is given. The value is their SHA-256.
    """

    value: str
    lines: tuple[str, ...] = ()

    @classmethod
    def of(cls, files: Iterable[tuple[str, str]]) -> Self:
        """Return the seal over files: their paths in the package, and their SHA-256."""
        lines = tuple(_seal_line(path, digest) for path, digest in files)
        return cls(value=_seal_value(lines), lines=lines)

    @classmethod
    def parsed(cls, text: str) -> Self | None:
        """Return the seal in a text, its value or a file as ``document`` has it, or None.

        Raises ValueError for lines whose SHA-256 differs from the value.
        """
        first, *lines = [line.strip(" \t\r") for line in text.strip().split("\n")]
        if (found := _SEAL.fullmatch(first)) is None or not all(map(_SEALED_LINE.fullmatch, lines)):
            return None
        value = f"sha256:{found[1].lower()}"
        if lines and _seal_value(lines) != value:
            raise ValueError(value)
        return cls(value=value, lines=tuple(lines))

    def document(self) -> str:
        """Return the text of a file of the seal: the value, then the lines."""
        return "".join(f"{each}\n" for each in (f"seal: {self.value}", *self.lines))

    def differing(self, other: Seal) -> tuple[str, ...]:
        """Return the paths whose lines differ; empty where one of the seals has only a value."""
        if not (self.lines and other.lines):
            return ()
        only = {*self.lines} ^ {*other.lines}
        return tuple(
            dict.fromkeys(line.partition(" ")[2][1:] for line in (*other.lines, *self.lines) if line in only)
        )


class Sealed:
    """A result with the seal of a package, or with None if no package was made."""

    __slots__ = ()

    sealed: Seal | None

    @property
    def seal(self) -> str:
        """The value of the seal, ``sha256:`` and hexadecimal digits."""
        return "" if self.sealed is None else self.sealed.value


def _seal_line(path: str, digest: str) -> str:
    written = "".join(_MARKS.get(mark, mark) for mark in path)  # as sha256sum escapes names
    return f"{'' if written == path else _MARKS[chr(92)][0]}{digest}  {written}"


def _seal_value(lines: Iterable[str]) -> str:
    text = "".join(f"{each}\n" for each in lines)
    return f"sha256:{hashlib.sha256(text.encode('utf-8', 'surrogateescape')).hexdigest()}"


_REPLACED = re.compile(
    r"messageDigest of the source (?P<stated>\S+ [0-9a-f]+), not (?:compared with|that of) its content"
    r"(?:, (?P<found>\S+ [0-9a-f]+))?; in the package (?P<written>none|\S+ [0-9a-f]+)"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplacedDigest:
    """A messageDigest that a package replaced: ``stated`` in the source, ``written`` now.

    ``found`` is that of the source's content where it differs, None where the two were not compared;
    ``written`` is None without a messageDigest. ``words`` makes the note in METS, ``parsed`` reads it.
    """

    stated: Digest
    found: Digest | None
    written: Digest | None

    def renewed(self, written: Iterable[Digest]) -> Self:
        """Return the replacement in an archive that was written again with these messageDigests."""
        now = next((each for each in written if each.algorithm == self.stated.algorithm), None)
        return replace(self, written=now)

    def words(self) -> str:
        """Return the note in METS."""
        if self.found is None:
            compared = "compared with its content"
        else:
            compared = f"that of its content, {_worded(self.found)}"
        written = "none" if self.written is None else _worded(self.written)
        return f"messageDigest of the source {_worded(self.stated)}, not {compared}; in the package {written}"

    @classmethod
    def parsed(cls, words: str) -> Self | None:
        """Return the replacement in a note, or None for a note that ``words`` did not write."""
        if (held := _REPLACED.fullmatch(words)) is None:
            return None
        return cls(
            stated=_digest_of(held["stated"]),
            found=_digest_of(held["found"]) if held["found"] else None,
            written=None if held["written"] == "none" else _digest_of(held["written"]),
        )


def _worded(digest: Digest) -> str:
    return f"{digest.algorithm} {digest.value}"


def _digest_of(words: str) -> Digest:
    algorithm, _, value = words.partition(" ")
    return Digest(algorithm=algorithm, value=value)


class Hasher(Protocol):
    """One digest being computed, with the interface of hashlib."""

    def update(self, data: bytes, /) -> None:
        """Add the next bytes."""

    def hexdigest(self) -> str:
        """Return the digest of the bytes so far, in lower-case hexadecimal digits."""

    def copy(self) -> Self:
        """Return an independent copy, which continues after the bytes so far."""


class _Checksum:
    """A 32-bit checksum of zlib with the interface of hashlib."""

    __slots__ = ("_function", "_value")

    def __init__(self, function: Callable[..., int], value: int) -> None:
        self._function = function
        self._value = value

    def update(self, data: bytes, /) -> None:
        self._value = self._function(data, self._value)

    def hexdigest(self) -> str:
        return f"{self._value:08x}"

    def copy(self) -> Self:
        return type(self)(self._function, self._value)


def hasher(algorithm: str) -> Hasher:
    """Return a new hash object for a METS name; raises KeyError for one outside ``OCTETS``."""
    if (function := _ZLIB.get(algorithm)) is not None:
        return _Checksum(function, function(b""))
    return hashlib.new(_HASHLIB_NAMES[algorithm], usedforsecurity=False)


def digest_function(algorithm: str) -> Callable[[bytes | memoryview], str]:
    """Return the function from bytes to a digest in hex; raises KeyError as ``hasher`` does."""
    if (checksum := _ZLIB.get(algorithm)) is not None:
        return lambda data: f"{checksum(data):08x}"
    make = getattr(hashlib, _HASHLIB_NAMES[algorithm])
    return lambda data: make(data, usedforsecurity=False).hexdigest()


class Hashers:
    """Several digests of one stream of bytes; those in ``computed`` are taken from there."""

    __slots__ = ("_computed", "_hashers", "size")

    def __init__(self, algorithms: Iterable[str], computed: Mapping[str, str] | None = None) -> None:
        self._computed = computed or {}
        self._hashers = {each: hasher(each) for each in algorithms if each not in self._computed}
        self.size = 0

    def update(self, block: bytes) -> None:
        """Add the next bytes."""
        self.size += len(block)
        for each in self._hashers.values():
            each.update(block)

    def take(self, blocks: Iterable[bytes]) -> Self:
        """Add all blocks, and return the object itself."""
        for block in blocks:
            self.update(block)
        return self

    def pass_on(self, blocks: Iterable[bytes]) -> Iterator[bytes]:
        """Add each block and yield it."""
        for block in blocks:
            self.update(block)
            yield block

    def copy(self) -> Hashers:
        """Return an independent copy, which continues after the bytes so far."""
        other = Hashers((), self._computed)
        other.size = self.size
        other._hashers = {name: each.copy() for name, each in self._hashers.items()}
        return other

    def digest(self, algorithm: str) -> Digest:
        """Return one digest of the bytes so far; raises KeyError for one that is not computed."""
        value = self._computed.get(algorithm) or self._hashers[algorithm].hexdigest()
        return Digest(algorithm=algorithm, value=value)

    def digests(self) -> dict[str, str]:
        """Return all digests of the bytes so far, by their algorithms."""
        return {each: self.digest(each).value for each in (*self._computed, *self._hashers)}


_SPELLINGS = {name.upper().replace("-", ""): name for name in OCTETS}
_HEX = re.compile(r"[0-9A-Fa-f]+")
_PREFIX = re.compile(r"(md5|sha-?(?:1|256|384|512)):?", re.IGNORECASE)


def algorithm_name(spelling: str) -> str | None:
    """Return the METS name of an algorithm in any spelling (``md5``, ``SHA256``), or None."""
    found = spelling.strip().upper().replace("-", "").replace("_", "")
    return _SPELLINGS.get(found.replace("SHA2", "SHA") if len(found) == len("SHA2256") else found)


def parsed(text: str, algorithm: str | None = None) -> Digest | None:
    """Return the digest that a SIARD attribute or element holds, or None without one.

    Takes ``md5<hex>`` (SIARD 1.0 and 2.0, P_4.3-3), ``SHA-256:<hex or Base64>`` (2.0,
    messageDigestType) and a bare value with ``algorithm`` given beside it (2.1, 2.2); hex in either
    letter case. Any other value counts as absent.
    """
    if algorithm in OCTETS and len(text) == 2 * OCTETS[algorithm] and _HEX.fullmatch(text):
        return Digest(algorithm=algorithm, value=text.lower())  # the usual form
    held = _find_digest(text, algorithm)
    return None if held is None else held[0]


def bare_digests(texts: Sequence[str], algorithm: str | None) -> list[str] | None:
    """Return digests in lower case if all attributes are bare hex values, else None."""
    if algorithm is None or algorithm not in OCTETS:
        return None
    size = 2 * OCTETS[algorithm]
    if set(map(len, texts)) != {size} or not _HEX.fullmatch("".join(texts)):
        return None
    return [each.lower() for each in texts]


def in_form_of(text: str, algorithm: str | None, digest: Digest) -> str:
    """Return ``text`` with its digest, as ``parsed`` finds it, exchanged for ``digest``.

    Both are of one algorithm. Prefix, white space, hex or Base64, and the letter case of hex stay; a text
    without a digest stays as a whole.
    """
    if (held := _find_digest(text, algorithm)) is None:
        return text
    before, start, stop = held
    old, new = text[start:stop], digest.value
    if old.lower().zfill(len(before.value)) != before.value:
        new = base64.b64encode(bytes.fromhex(new)).decode("ascii")
    elif old != old.lower():
        new = new.upper()
    return f"{text[:start]}{new}{text[stop:]}"


def _find_digest(text: str, algorithm: str | None) -> tuple[Digest, int, int] | None:
    """Return the digest in a text with the start and end of its value, or None."""
    start, stop = len(text) - len(text.lstrip()), len(text.rstrip())
    prefix = _PREFIX.match(text, start, stop)
    name = of_prefix = algorithm_name(prefix[1]) if prefix else None
    begins = []
    if algorithm is not None and algorithm.strip():
        name = algorithm_name(algorithm)
        begins.append(start)
    if prefix and of_prefix == name:
        begins.append(prefix.end())
    for at in begins:
        if name is not None and (value := _octets(text[at:stop], OCTETS[name])) is not None:
            return Digest(algorithm=name, value=value.hex()), at, stop
    return None


def _octets(text: str, length: int) -> bytes | None:
    """Return the bytes that a text encodes in hex or Base64, or None unless they are ``length``."""
    if length == _SHORT and _HEX.fullmatch(text) and len(text) < 2 * length:
        text = text.zfill(2 * length)
    if len(text) == 2 * length:
        return bytes.fromhex(text) if _HEX.fullmatch(text) else None
    try:
        value = base64.b64decode(text, validate=True)
    except ValueError:
        return None
    return value if len(value) == length else None
