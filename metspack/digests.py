"""Message digests: names as METS spells them, several in one pass."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from metspack.model import Digest

if TYPE_CHECKING:
    from hashlib import _Hash

HASHLIB_NAMES = {
    "MD5": "md5",
    "SHA-1": "sha1",
    "SHA-256": "sha256",
    "SHA-384": "sha384",
    "SHA-512": "sha512",
}
"""METS CHECKSUMTYPE to hashlib's name, for those hashlib knows (METS 1.12.1, CHECKSUMTYPE)."""


def hasher(algorithm: str) -> _Hash:
    """Return a new hash object for a METS algorithm name; raises KeyError for one not known."""
    return hashlib.new(HASHLIB_NAMES[algorithm], usedforsecurity=False)


class Hashers:
    """Several digests over one stream of bytes, in the order they were named."""

    __slots__ = ("_hashers", "size")

    def __init__(self, algorithms: Iterable[str]) -> None:
        self._hashers = {algorithm: hasher(algorithm) for algorithm in algorithms}
        self.size = 0

    def update(self, block: bytes) -> None:
        """Take the next bytes."""
        self.size += len(block)
        for each in self._hashers.values():
            each.update(block)

    def copy(self) -> Hashers:
        """Return another that has taken the same bytes so far."""
        other = Hashers(())
        other.size = self.size
        other._hashers = {name: each.copy() for name, each in self._hashers.items()}
        return other

    def digest(self, algorithm: str) -> Digest:
        """Return one digest of the bytes so far; raises KeyError for one that was not asked for."""
        return Digest(algorithm=algorithm, value=self._hashers[algorithm].hexdigest())


_OCTETS = {"MD5": 16, "SHA-1": 20, "SHA-256": 32, "SHA-384": 48, "SHA-512": 64}
_SPELLINGS = {"MD5": "MD5", "SHA1": "SHA-1", "SHA256": "SHA-256", "SHA384": "SHA-384", "SHA512": "SHA-512"}
_PREFIX = re.compile(r"(md5|sha-?(?:1|256|384|512)):?", re.IGNORECASE)


def algorithm_name(spelling: str) -> str | None:
    """Return the METS name of an algorithm however it is spelled (``md5``, ``SHA256``), else None."""
    return _SPELLINGS.get(spelling.strip().upper().replace("-", "").replace("_", ""))


def parsed(text: str, algorithm: str | None = None) -> Digest | None:
    """Return the digest that a SIARD attribute or element holds, None when it holds none.

    Takes ``md5<hex>`` (SIARD 1.0 and 2.0, P_4.3-3), ``SHA-256:<hex or Base64>`` (2.0,
    messageDigestType) and a bare value with ``algorithm`` given beside it (2.1, 2.2); hex in either
    letter case. A value that fits none is None.
    """
    held = _held(text, algorithm)
    return None if held is None else held.digest


def in_form_of(text: str, algorithm: str | None, digest: Digest) -> str:
    """Return ``text`` with the digest that ``parsed`` finds in it exchanged for another of its algorithm.

    Its prefix, its white space, hex or Base64, and the letter case of hex stay; so does a text in
    which none is found.
    """
    held = _held(text, algorithm)
    if held is None:
        return text
    old = text[held.start : held.stop]
    new = digest.value
    if old.lower() != held.digest.value:
        new = base64.b64encode(bytes.fromhex(new)).decode("ascii")
    elif old != old.lower():
        new = new.upper()
    return f"{text[: held.start]}{new}{text[held.stop :]}"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Held:
    """A digest and where its value stands in a text."""

    digest: Digest
    start: int
    stop: int


def _held(text: str, algorithm: str | None) -> _Held | None:
    start, stop = len(text) - len(text.lstrip()), len(text.rstrip())
    prefix = _PREFIX.match(text, start, stop)
    candidates: list[tuple[str | None, int]] = []
    if algorithm is not None and algorithm.strip():
        name = algorithm_name(algorithm)
        candidates.append((name, start))
        if prefix and algorithm_name(prefix[1]) == name:
            candidates.append((name, prefix.end()))
    elif prefix:
        candidates.append((algorithm_name(prefix[1]), prefix.end()))
    for name, at in candidates:
        if name is not None and (value := _octets(text[at:stop], _OCTETS[name])) is not None:
            return _Held(digest=Digest(algorithm=name, value=value.hex()), start=at, stop=stop)
    return None


def _octets(text: str, length: int) -> bytes | None:
    """Return the bytes that hex or Base64 stands for, None when it is not exactly that many."""
    if len(text) == 2 * length:
        return bytes.fromhex(text) if re.fullmatch(r"[0-9A-Fa-f]+", text) else None
    try:
        value = base64.b64decode(text, validate=True)
    except ValueError:
        return None
    return value if len(value) == length else None
