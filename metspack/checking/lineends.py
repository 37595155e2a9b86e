"""Files that differ from what was listed in their line ends alone, as some transfers leave them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain

from metspack.digests import Hashers
from metspack.model import Digest

_SAID = {
    b"\n": "it matches once every CRLF is an LF: line ends were converted",
    b"\r\n": "it matches once every LF is a CRLF: line ends were converted",
}


def likeness(blocks: Iterable[bytes], expected: Digest) -> str:
    """Return, in words, that bytes have a digest once their line ends are converted; nothing when not."""
    hashers = {end: Hashers((expected.algorithm,)) for end in _SAID}
    for block in _whole_ends(blocks):
        unix = block.replace(b"\r\n", b"\n")
        hashers[b"\n"].update(unix)
        hashers[b"\r\n"].update(unix.replace(b"\n", b"\r\n"))
    found = (said for end, said in _SAID.items() if hashers[end].digest(expected.algorithm) == expected)
    return next(found, "")


def _whole_ends(blocks: Iterable[bytes]) -> Iterator[bytes]:
    """Yield the bytes so that no CRLF is cut in two."""
    rest = b""
    for block in chain(blocks, (b"",)):
        whole = rest + block
        keep = len(whole) - 1 if block and whole.endswith(b"\r") else len(whole)
        rest = whole[keep:]
        yield whole[:keep]
