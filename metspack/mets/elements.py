"""The elements of a METS document as they are parsed, by the paths of their names.

Names in METS's own namespace are bare, attributes of CSIP, SIP and XLink have the usual prefix, with any
prefix in the document. Memory is flat; the content of ``xmlData`` and ``binData`` is ignored.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache

from metspack import safexml
from metspack.mets.reader import METS, XLINK
from metspack.mets.schema import CSIP, SIP

Attributes = dict[str, str]

GROUP = "mets/fileSec/fileGrp"
"""The path of a top ``fileGrp``."""
FILE = f"{GROUP}/file"
"""The path of a file in any ``fileGrp`` or in another file."""
MAP = "mets/structMap[@LABEL='CSIP']"
"""The path of a structMap that is labelled CSIP."""
DIVISION = f"{MAP}/div/div"
"""The path of a division that CSIP defines; that of any in it is one ``/div`` longer."""

_NESTED = {
    f"{GROUP}/fileGrp/fileGrp": f"{GROUP}/fileGrp",
    f"{GROUP}/fileGrp/file": FILE,
    f"{FILE}/file": FILE,
    f"{DIVISION}/div/div": f"{DIVISION}/div",
}
_PREFIXES = {CSIP: "csip", SIP: "sip", XLINK: "xlink"}


class ReadingDone(Exception):  # noqa: N818 -- it ends a reading and is no error
    """Raised by a handler that needs no more of the document."""


@dataclass(slots=True)
class MetsElement:
    """An element by the path of its name.

    Handlers count children in ``count`` and keep some in ``children``. ``text`` is set at its end if
    ``Elements.texts`` has its path.
    """

    path: str
    attributes: Attributes
    line: int
    count: int = 0
    text: str = ""
    children: list[MetsElement] = field(default_factory=list)

    def named(self, name: str) -> list[MetsElement]:
        """Return the children of a name that are kept."""
        return [each for each in self.children if each.path.endswith(f"/{name}")]

    def get(self, name: str) -> str:
        """Return the value of an attribute, or ""."""
        return self.attributes.get(name, "")


Handler = Callable[[MetsElement, MetsElement], None]
"""A function that takes an element and its parent."""


class Elements:
    """The handlers for one document, by the paths of the elements that start and end."""

    def __init__(self) -> None:
        self.texts: set[str] = set()
        self._starts: dict[str, list[Handler]] = defaultdict(list)
        self._ends: dict[str, list[Handler]] = defaultdict(list)
        self._text: list[str] = []
        self._open = [MetsElement("", {}, 0)]
        self._ignored = 0  # elements in xmlData that are open
        self._parser = safexml.expat_parser(namespaces=True)
        self._parser.StartElementHandler, self._parser.EndElementHandler = self._start, self._end

    def handle(self, starts: Mapping[str, Handler], ends: Mapping[str, Handler] | None = None) -> None:
        """Add handlers by the paths of elements."""
        for path, handler in starts.items():
            self._starts[path].append(handler)
        for path, handler in (ends or {}).items():
            self._ends[path].append(handler)

    def read(self, blocks: Iterable[bytes]) -> None:
        """Parse a document and call the handlers; raises ``XmlError`` if it is not well-formed."""
        try:
            for block in blocks:
                self.feed(block)
            self.feed(b"", final=True)
        except ReadingDone:
            return
        finally:
            self.close()

    def close(self) -> None:
        """Remove all handlers: they and the parser form a cycle."""
        self._parser.StartElementHandler = self._parser.EndElementHandler = None
        self._parser.CharacterDataHandler = self._parser.StartDoctypeDeclHandler = None
        self._starts.clear()
        self._ends.clear()

    def feed(self, block: bytes, *, final: bool = False) -> None:
        """Parse the next bytes and call the handlers; raises ``XmlError`` and ``ReadingDone``."""
        safexml.feed_block(self._parser, block, final=final)

    def _start(self, name: str, attributes: Attributes) -> None:
        namespace, _, local = name.rpartition(" ")
        if namespace != METS:
            local = "*"
        if self._ignored or local == "xmlData":
            self._ignored += 1
            return
        parent = self._open[-1]
        path = f"{parent.path}/{local}" if parent.path else local
        path = _NESTED.get(path, path)
        if path == "mets/structMap" and attributes.get("LABEL") == "CSIP":
            path = MAP
        element = MetsElement(path, _renamed(attributes), self._parser.CurrentLineNumber)
        self._open.append(element)
        if path in self.texts:
            self._text.clear()
            self._parser.CharacterDataHandler = self._text.append
        for handle in self._starts.get(path, ()):
            handle(element, parent)

    def _end(self, _name: str) -> None:
        if self._ignored:
            self._ignored -= 1
            return
        element = self._open.pop()
        if element.path in self.texts:
            self._parser.CharacterDataHandler = None
            element.text = "".join(self._text).strip()
        for handle in self._ends.get(element.path, ()):
            handle(element, self._open[-1])


def _renamed(attributes: Attributes) -> Attributes:
    written = tuple(attributes)
    names = _names(written)
    return attributes if names == written else dict(zip(names, attributes.values(), strict=True))


@lru_cache(1_000)
def _names(written: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(map(_name, written))


def _name(raw: str) -> str:
    namespace, _, local = raw.rpartition(" ")
    return f"{_PREFIXES.get(namespace, namespace)}:{local}" if namespace else local


_SECTIONS = ("mets/dmdSec", "mets/amdSec", "mets/fileSec", "mets/structMap", MAP)


def opening(blocks: Iterable[bytes]) -> tuple[Attributes, Attributes]:
    """Return the attributes of a document's root and header; only its beginning is read.

    Raises ``XmlError`` for a beginning that is not well-formed.
    """
    found: dict[str, Attributes] = {}

    def keep(element: MetsElement, _parent: MetsElement) -> None:
        found[element.path] = element.attributes
        if element.path != "mets":
            raise ReadingDone

    elements = Elements()
    elements.handle(dict.fromkeys(("mets", "mets/metsHdr", *_SECTIONS), keep))
    elements.read(blocks)
    return found.get("mets", {}), found.get("mets/metsHdr", {})
