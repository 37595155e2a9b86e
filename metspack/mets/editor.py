"""A document that was written before, with more in it: every byte but what is put in stays as it was."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from metspack import safexml
from metspack.digests import Hashers
from metspack.errors import SourceError
from metspack.files import reading, writing
from metspack.mets import writer

Watch = Callable[[str, dict[str, str], Sequence[str]], str]
"""Gives an element a key, of its name as written, its attributes and the keys of those around it; or ""."""

_TAG = 1 << 16  # bytes that a start tag may take
_SPACE = 1 << 10


@dataclass(frozen=True, slots=True)
class _ElementSpan:
    """Where an element begins, and where its end tag does, in bytes."""

    start: int
    stop: int


class Growing:
    """An XML document to be written anew with insertions; of elements with one key the last counts.

    ``descriptor`` stays open until it is written. Raises ``XmlError`` when it is not well-formed.
    """

    def __init__(self, descriptor: int, watch: Watch) -> None:
        self._descriptor = descriptor
        self._watch = watch
        self._spans: dict[str, _ElementSpan] = {}
        self._above: list[str] = []
        self._starts: list[int] = []
        self._edits: list[tuple[int, int, bytes]] = []
        self._parser = safexml.expat_parser()
        self._parser.StartElementHandler = self._start
        self._parser.EndElementHandler = self._end
        safexml.feed(self._parser, reading.chunks(descriptor, size=reading.BLOCK))

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        self._above.append(self._watch(name, attributes, self._above))
        self._starts.append(self._parser.CurrentByteIndex)

    def _end(self, _name: str) -> None:
        key, start = self._above.pop(), self._starts.pop()
        if key:
            self._spans[key] = _ElementSpan(start, self._parser.CurrentByteIndex)

    def has(self, key: str) -> bool:
        """Return whether there is an element with a key."""
        return key in self._spans

    def append(self, key: str, text: str) -> None:
        """Put text behind the last thing in an element, which is not empty."""
        stop = self._span(key).stop
        start = max(0, stop - _SPACE)
        before = os.pread(self._descriptor, stop - start, start)
        self._insert(start + len(before.rstrip()), text)

    def follow(self, key: str, text: str) -> None:
        """Put text behind an element."""
        stop = self._span(key).stop
        self._insert(stop + os.pread(self._descriptor, _TAG, stop).index(b">") + 1, text)

    def put(self, key: str, name: str, value: str) -> None:
        """Give an element's attribute a value, whether it has it or not."""
        span = self._span(key)
        tag = os.pread(self._descriptor, _TAG, span.start).partition(b">")[0]
        text = f' {name}="{writer.finalized(value)}"'.encode()
        if (found := re.search(rf"""\s{name}\s*=\s*(?:"[^"]*"|'[^']*')""".encode(), tag)) is not None:
            self._edits.append((span.start + found.start(), span.start + found.end(), text))
        else:
            end = span.start + len(tag.rstrip(b"/"))
            self._edits.append((end, end, text))

    def _span(self, key: str) -> _ElementSpan:
        span = self._spans.get(key)
        if span is None:
            raise SourceError(
                f"it has no {key}, which is where more would go",
                hint="It is not as metspack writes such documents: make a new package with metspack build.",
            )
        return span

    def _insert(self, at: int, text: str) -> None:
        self._edits.append((at, at, text.encode()))

    def written(self, target: Path, algorithms: Iterable[str]) -> Hashers:
        """Write the document as it is now; returns its digests and size. Raises ``TargetError``."""
        hashers = Hashers(algorithms)
        with writing.NewFile(target) as file:
            for block in self._blocks():
                hashers.update(block)
                file.write(block)
        return hashers

    def _blocks(self) -> Iterator[bytes]:
        at = 0
        for start, stop, text in sorted(self._edits, key=lambda each: each[0]):  # stable: as they were made
            yield from reading.chunks(self._descriptor, at, start)
            yield text
            at = stop
        yield from reading.chunks(self._descriptor, at)
