"""Message digests: names as METS spells them, several in one pass."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
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


_HEX_LENGTHS = {"MD5": 32, "SHA-1": 40, "SHA-256": 64, "SHA-384": 96, "SHA-512": 128}
_SPELLINGS = {"MD5": "MD5", "SHA1": "SHA-1", "SHA256": "SHA-256", "SHA384": "SHA-384", "SHA512": "SHA-512"}
_PREFIXED = re.compile(r"(?i:(md5|sha-?1|sha-?256|sha-?384|sha-?512))([0-9A-Fa-f]+)")


def algorithm_name(spelling: str) -> str | None:
    """Return the METS name of an algorithm however it is spelled (``md5``, ``SHA256``), else None."""
    return _SPELLINGS.get(spelling.strip().upper().replace("-", "").replace("_", ""))


def parsed(text: str, algorithm: str | None = None) -> Digest | None:
    """Return the digest that a SIARD attribute or element holds, None when it holds none.

    Takes ``md5<hex>`` (SIARD 1.0 and 2.0, P_4.3-3) and bare hex with ``algorithm`` given beside it
    (2.1, 2.2); hex in either letter case. A value that fits neither is None.
    """
    text = text.strip()
    prefixed = _PREFIXED.fullmatch(text)
    if algorithm is not None and (name := algorithm_name(algorithm)) is not None:
        bare = text
        if prefixed and algorithm_name(prefixed[1]) == name and len(prefixed[2]) == _HEX_LENGTHS[name]:
            bare = prefixed[2]
    elif algorithm is None and prefixed:
        name, bare = algorithm_name(prefixed[1]), prefixed[2]
        # "sha1" followed by hex that begins with a digit can be read two ways; the length decides.
        if name is None or len(bare) != _HEX_LENGTHS[name]:
            return None
    else:
        return None
    if len(bare) != _HEX_LENGTHS[name] or not re.fullmatch(r"[0-9A-Fa-f]+", bare):
        return None
    return Digest(algorithm=name, value=bare.lower())
