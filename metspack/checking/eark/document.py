"""A METS document for its requirements: elements as they are parsed, and a whole outline.

Names in METS's own namespace are bare, attributes of CSIP, SIP and XLink have the usual prefix, with any
prefix in the document. Memory is flat; the content of ``xmlData`` and ``binData`` is ignored.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from metspack import safexml
from metspack.checking.mets.schema import CSIP, SIP
from metspack.mets.reader import (
    METS,
    XLINK,
)

Attributes = dict[str, str]
Start = Callable[[Attributes, int], None]
End = Callable[[], None]

_PREFIXES = {CSIP: "csip", SIP: "sip", XLINK: "xlink"}
_NAMES_KEPT = 1_000


class ReadingDone(Exception):  # noqa: N818 -- it ends a reading, nothing is wrong
    """Raised by a handler that needs no more of the document."""


class Elements:
    """The handlers for one document: ``starts`` and ``ends`` by name; ``gather`` collects text."""

    def __init__(self) -> None:
        self.starts: dict[str, Start] = {}
        self.ends: dict[str, End] = {}
        self._parser = safexml.expat_parser(namespaces=True)
        self._names: dict[tuple[str, ...], tuple[str, ...]] = {}
        self._text: list[str] = []
        self._begun: dict[str, Start] = {}

    def read(self, blocks: Iterable[bytes]) -> None:
        """Parse a document and call the handlers; raises ``XmlError`` if it is not well-formed."""
        self.begin()
        try:
            for block in blocks:
                self.feed(block)
            self.feed(b"", final=True)
        except ReadingDone:
            return
        finally:
            self.close()

    def close(self) -> None:
        """Let go of all handlers, with which a parser would stay until a collection of cycles."""
        self._parser.StartElementHandler = self._parser.EndElementHandler = None
        self._parser.CharacterDataHandler = self._parser.StartDoctypeDeclHandler = None
        self.starts.clear()
        self.ends.clear()
        self._begun.clear()

    def feed(self, block: bytes, *, final: bool = False) -> None:
        """Parse the next bytes and call the handlers; raises ``XmlError`` and ``ReadingDone``."""
        safexml.feed_block(self._parser, block, final=final)

    def begin(self) -> None:
        """Fix the handlers for all bytes that are fed."""
        starts = self._begun = {f"{METS} {name}": handle for name, handle in self.starts.items()}
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

        def pass_over(_attributes: Attributes, _line: int) -> None:
            depth = 1

            def deeper(_name: str, _attributes: Attributes) -> None:
                nonlocal depth
                depth += 1

            def higher(_name: str) -> None:
                nonlocal depth
                depth -= 1
                if not depth:
                    parser.StartElementHandler, parser.EndElementHandler = start, end

            parser.StartElementHandler, parser.EndElementHandler = deeper, higher

        starts[f"{METS} xmlData"] = pass_over
        parser.StartElementHandler = start
        parser.EndElementHandler = end

    def gather(self) -> None:
        """Begin to gather the text that follows."""
        self._text.clear()
        self._parser.CharacterDataHandler = self._text.append

    def end_text(self) -> str:
        """Return the text since ``gather``, and stop gathering."""
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


KEPT = 10_000
"""The most groups, sections and divisions that are kept of a document."""

DOCUMENTATION, SCHEMAS, REPRESENTATIONS = "Documentation", "Schemas", "Representations"


@dataclass(frozen=True, slots=True, kw_only=True)
class StatedFileGroup:
    """A ``fileGrp`` at the top of the ``fileSec``."""

    id: str
    use: str
    content: str | None
    other: str | None
    line: int

    @property
    def kind(self) -> str:
        """Return the first name of its USE: ``Documentation``, ``Schemas``, ``Representations``."""
        return self.use.partition("/")[0]

    @property
    def representation(self) -> str:
        """Return the folder of its representation, empty when its USE names none."""
        kind, _, below = self.use.partition("/")
        return below.partition("/")[0] if kind == REPRESENTATIONS else ""


@dataclass(frozen=True, slots=True, kw_only=True)
class TypedFile:
    """A file whose first bytes can be compared with its media type; ``rule`` requires this."""

    rule: str
    href: str
    type: str
    line: int
    place: str


@dataclass(slots=True, kw_only=True)
class Outline:
    """The outline of a METS document: root attributes, file groups, and structMap's names.

    ``is_complete`` is false when there were more groups, sections or divisions than are kept; then nothing is
    concluded from an absent one. ``descriptive`` are the IDs of sections that are not superseded,
    ``administrative`` those of each amdSec with its own; ``divided`` the labels of divisions in the structMap
    of CSIP, with their lines, ``unpointed`` those of them without an mptr, with whether they have an ID;
    ``marked`` counts the files by the content that they state. ``outside`` are the IDs of groups whose files
    are outside the package; ``typed`` are metadata files, documentation and schemas with their media types;
    ``labels`` are the first labels of all divisions.
    """

    root: Mapping[str, str] = field(default_factory=dict)
    line: int = 0
    header: Mapping[str, str] = field(default_factory=dict)
    groups: list[StatedFileGroup] = field(default_factory=list)
    has_files: bool = False
    descriptive: set[str] = field(default_factory=set)
    administrative: list[tuple[str, set[str]]] = field(default_factory=list)
    has_provenance: bool = False
    divided: dict[str, int] = field(default_factory=dict)
    unpointed: dict[str, bool] = field(default_factory=dict)
    marked: dict[str, int] = field(default_factory=dict)
    outside: set[str] = field(default_factory=set)
    typed: list[TypedFile] = field(default_factory=list)
    labels: list[str] = field(default_factory=list)
    is_complete: bool = True

    @property
    def content(self) -> str:
        """Return its content information type."""
        return self.root.get("csip:CONTENTINFORMATIONTYPE", "")

    @property
    def other(self) -> str:
        """Return its other content information type, which CITS SIARD uses for the content."""
        return self.root.get("csip:OTHERCONTENTINFORMATIONTYPE", "")

    @property
    def representations(self) -> frozenset[str]:
        """Return the folders of the representations with a division."""
        return frozenset(label.split("/")[1] for label in self.divided if "/" in label)

    def group_of(self, representation: str) -> StatedFileGroup | None:
        """Return a representation's group, or the first of its folders' groups, or None."""
        groups = [each for each in self.groups if each.representation == representation]
        own = (each for each in groups if each.use == f"{REPRESENTATIONS}/{representation}")
        return next(own, groups[0] if groups else None)

    def of_kind(self, kind: str) -> list[StatedFileGroup]:
        """Return the groups of one kind."""
        return [each for each in self.groups if each.kind == kind]
