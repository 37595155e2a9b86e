"""A METS document's elements as they are parsed: each start and end goes to its handlers.

Names in METS's own namespace are bare, attributes of CSIP, SIP and XLink have the usual prefix, whatever the
document calls them. Memory is flat; the content of ``xmlData`` and ``binData`` is ignored.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from metspack import safexml
from metspack.checking.mets.grammar import CSIP, SIP
from metspack.mets.reader import METS, XLINK

Attributes = dict[str, str]
Start = Callable[[Attributes, int], None]
End = Callable[[], None]

_PREFIXES = {CSIP: "csip", SIP: "sip", XLINK: "xlink"}
_NAMES_KEPT = 1_000


class ReadingDone(Exception):  # noqa: N818 -- it ends a reading, nothing is wrong
    """Raised by a handler that needs no more of the document."""


class Elements:
    """The handlers for one document: ``starts`` and ``ends`` by name; ``text`` gathers when asked to."""

    def __init__(self) -> None:
        self.starts: dict[str, Start] = {}
        self.ends: dict[str, End] = {}
        self._parser = safexml.expat_parser(namespaces=True)
        self._names: dict[tuple[str, ...], tuple[str, ...]] = {}
        self._text: list[str] = []

    def read(self, blocks: Iterable[bytes]) -> None:
        """Hand over a document's elements; raises ``XmlError`` where it is not well-formed."""
        self.begin()
        try:
            for block in blocks:
                self.feed(block)
            self.feed(b"", final=True)
        except ReadingDone:
            return

    def feed(self, block: bytes, *, final: bool = False) -> None:
        """Hand over the elements in the next bytes, once begun; raises ``XmlError`` and ``ReadingDone``."""
        safexml.feed_block(self._parser, block, final=final)

    def begin(self) -> None:
        """Take the handlers as they are now for all that is fed."""
        starts = {f"{METS} {name}": handle for name, handle in self.starts.items()}
        ends = {f"{METS} {name}": handle for name, handle in self.ends.items()}
        parser = self._parser

        def start(name: str, attributes: Attributes) -> None:
            handle = starts.get(name)
            if handle is not None:
                handle(self._renamed(attributes), parser.CurrentLineNumber)

        def end(name: str) -> None:
            handle = ends.get(name)
            if handle is not None:
                handle()

        parser.StartElementHandler = start
        parser.EndElementHandler = end

    def gather(self) -> None:
        """Begin to gather the text that follows."""
        self._text.clear()
        self._parser.CharacterDataHandler = self._text.append

    def gathered(self) -> str:
        """Return the text since then, and stop."""
        self._parser.CharacterDataHandler = None
        return "".join(self._text).strip()

    def _renamed(self, attributes: Attributes) -> Attributes:
        written = tuple(attributes)
        names = self._names.get(written)
        if names is None:
            if len(self._names) >= _NAMES_KEPT:
                self._names.clear()
            names = self._names[written] = tuple(map(_name, written))
        return attributes if names == written else dict(zip(names, attributes.values(), strict=True))


def _name(raw: str) -> str:
    namespace, _, local = raw.rpartition(" ")
    return f"{_PREFIXES.get(namespace, namespace)}:{local}" if namespace else local
