"""Write METS and PREMIS documents from templates, or existing ones anew with insertions."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape

from metspack import resources, safexml, uris
from metspack.digests import Hashers
from metspack.errors import ConfigError, SourceError
from metspack.files import reading, writing

_REFUSED = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_BUFFERED_EVENTS = 500


def finalized(value: object) -> Markup:
    """Return a value as it may stand in XML 1.0, in an element or an attribute.

    Raises ``ConfigError`` for a character that XML cannot hold. Tabs and line ends are written as
    references: a parser would otherwise turn them into spaces in an attribute.
    """
    if isinstance(value, Markup):
        return value
    text = str(value)
    if found := _REFUSED.search(text):
        raise ConfigError(
            f"{text!r} holds the character U+{ord(found[0]):04X}, which XML cannot hold",
            hint="Choose a value without control characters.",
        )
    safe = escape(text)
    if "\n" in safe or "\r" in safe or "\t" in safe:
        # As str: Markup.replace would escape what is put in.
        whole = str(safe).replace("\t", "&#9;").replace("\n", "&#10;").replace("\r", "&#13;")
        safe = Markup(whole)  # noqa: S704 -- escaped above
    return safe


@cache
def _environment(folder: Path, *, is_xml: bool = True) -> Environment:
    environment = Environment(
        loader=FileSystemLoader([folder, resources.template_folder() / "shared"]),
        autoescape=is_xml,  # noqa: S701 -- what is no XML goes to no browser
        undefined=StrictUndefined,
        finalize=finalized if is_xml else None,
        keep_trailing_newline=True,
    )
    environment.tests["urn"] = uris.is_urn
    return environment


def fragment(folder: Path, template: str, macro: str, *values: object) -> str:
    """Return the text that a macro of a template gives for some values; raises ``ConfigError``."""
    made: str = getattr(_module(folder, template), macro)(*values)
    return made


def rendered(folder: Path, template: str, facts: Mapping[str, Any]) -> str:
    """Return the text that a short template gives for some facts; raises ``ConfigError``."""
    return _environment(folder).get_template(template).render(facts)


def plain(folder: Path, template: str, facts: Mapping[str, Any]) -> str:
    """Return the text that a template of plain text gives for some facts: nothing is escaped."""
    return _environment(folder, is_xml=False).get_template(template).render(facts)


@cache
def _module(folder: Path, template: str) -> Any:
    return _environment(folder).get_template(template).module


def write_document(
    target: Path, folder: Path, template: str, facts: Mapping[str, Any], algorithms: Iterable[str]
) -> Hashers:
    """Write a new document from a template in a folder and the facts it names; returns its digests and size.

    Facts may be iterators: the document streams, and nothing of it is held. Raises ``TargetError``
    and ``ConfigError``.
    """
    stream = _environment(folder).get_template(template).stream(facts)
    stream.enable_buffering(_BUFFERED_EVENTS)
    hashers = Hashers(algorithms)
    with writing.NewFile(target) as file:
        for piece in stream:
            block = piece.encode()
            hashers.update(block)
            file.write(block)
    return hashers


Watch = Callable[[str, dict[str, str], Sequence[str]], str]
"""Returns a key for an element, "" for none: of its name, its attributes and the keys of those around it."""

_TAG = 1 << 16  # bytes that a start tag may take
_SPACE = 1 << 10


@dataclass(frozen=True, slots=True)
class _ElementSpan:
    """Offsets of an element and of its end tag, in bytes."""

    start: int
    stop: int


class GrowingDocument:
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
        """Insert text at the end of an element, which is not empty."""
        stop = self._span(key).stop
        start = max(0, stop - _SPACE)
        before = os.pread(self._descriptor, stop - start, start)
        self._insert(start + len(before.rstrip()), text)

    def insert_after(self, key: str, text: str) -> None:
        """Insert text after an element."""
        stop = self._span(key).stop
        self._insert(stop + os.pread(self._descriptor, _TAG, stop).index(b">") + 1, text)

    def set_attribute(self, key: str, name: str, value: str) -> None:
        """Set an attribute of an element, whether it has it or not."""
        span = self._span(key)
        tag = os.pread(self._descriptor, _TAG, span.start).partition(b">")[0]
        text = f' {name}="{finalized(value)}"'.encode()
        if (found := re.search(rf"""\s{name}\s*=\s*(?:"[^"]*"|'[^']*')""".encode(), tag)) is not None:
            self._edits.append((span.start + found.start(), span.start + found.end(), text))
        else:
            end = span.start + len(tag.rstrip(b"/"))
            self._edits.append((end, end, text))

    def _span(self, key: str) -> _ElementSpan:
        span = self._spans.get(key)
        if span is None:
            raise SourceError(
                f"the document has no {key}, into which more would be inserted",
                hint="It is not as metspack writes such documents: make a new package with metspack build.",
            )
        return span

    def _insert(self, at: int, text: str) -> None:
        self._edits.append((at, at, text.encode()))

    def write(self, target: Path, algorithms: Iterable[str]) -> Hashers:
        """Write the document with its insertions; returns its digests and size. Raises ``TargetError``."""
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
