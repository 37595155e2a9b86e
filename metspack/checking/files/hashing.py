"""What a file's bytes come to, each read once: digests, and the length of the text that they may be.

It knows nothing of what is said about the file, so that any process can find it out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from metspack.digests import Hashers
from metspack.errors import MetspackError
from metspack.files import reading
from metspack.files.byteranges import Below
from metspack.textlength import TextLength

Progress = Callable[[int], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What is to be found out about a file: digests by these algorithms, of the whole and up to a boundary.

    ``boundary`` is in bytes, 0 for none; ``as_text`` asks how long the text is.
    """

    algorithms: tuple[str, ...]
    boundary: int = 0
    as_text: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Hashed:
    """What a file's bytes came to: digests by algorithm, of the whole and up to the boundary; bytes; text."""

    size: int
    digests: dict[str, str]
    until: dict[str, str]
    text: TextLength | None


def hashed(chunks: Iterable[bytes], asked: Asked, progress: Progress) -> Hashed:
    """Return what a file's bytes come to; raises as ``chunks`` does."""
    hashers = Hashers(asked.algorithms)
    text = TextLength() if asked.as_text else None
    until = hashers.copy()
    for block in _cut(chunks, asked.boundary):
        hashers.update(block)
        if text is not None:
            text.update(block)
        progress(len(block))
        if hashers.size == asked.boundary:
            until = hashers.copy()
    return Hashed(size=hashers.size, digests=_values(hashers, asked), until=_values(until, asked), text=text)


def _values(hashers: Hashers, asked: Asked) -> dict[str, str]:
    return {name: hashers.digest(name).value for name in asked.algorithms}


def _cut(blocks: Iterable[bytes], boundary: int) -> Iterator[bytes]:
    """Yield blocks, the one that goes over the boundary in two."""
    at = 0
    for block in blocks:
        if at < boundary < at + len(block):
            yield block[: boundary - at]
            yield block[boundary - at :]
        else:
            yield block
        at += len(block)


Batch = Sequence[tuple[Below, Asked]]
"""Files that lie on disk as such, and what is asked of each."""

Outcome = Hashed | OSError | MetspackError


def all_hashed(batch: Batch, progress: Progress) -> list[Outcome]:
    """Return what became of each file: an error where it could not be opened or read."""
    return [_outcome(where, asked, progress) for where, asked in batch]


def _outcome(where: Below, asked: Asked, progress: Progress) -> Outcome:
    try:
        with reading.opening(where.root, where.segments) as descriptor:
            return hashed(reading.chunks(descriptor), asked, progress)
    except (OSError, MetspackError) as error:
        return error
