"""Validate METS documents against the schema in a stream: first the verdict, then the lines.

libxml2 gives the verdict in flat memory, without lines. An invalid document is read once more, in pieces, so
that each fault gets the line of its element. The schemas are the project's or those of a folder.
"""

from __future__ import annotations

import gc
import re
import time
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import cache, lru_cache
from itertools import chain, count
from pathlib import Path
from typing import Any, NamedTuple

from lxml import etree

from metspack import resources, safexml
from metspack.errors import ConfigError
from metspack.files import reading
from metspack.mets import reader
from metspack.mets.reader import METS, PREMIS_2, PREMIS_3, XLINK
from metspack.system import os
from metspack.uris import WHITE_SPACE

CSIP = "https://DILCIS.eu/XML/METS/CSIPExtensionMETS"
SIP = "https://DILCIS.eu/XML/METS/SIPExtensionMETS"

_SCHEMAS = {XLINK: "xlink.xsd", METS: "mets.xsd", CSIP: "csip.xsd", SIP: "sip.xsd"}
_EMBEDDED = {PREMIS_3: "embedded/premis3.xsd", PREMIS_2: "embedded/premis2.xsd"}
"""The types that xsi:type names in the xmlData of METS; the schemas of METS lack them."""
_XS = "{http://www.w3.org/2001/XMLSchema}"
_LARGEST = 16 << 20
_DATE = re.compile(r"'([^']*)' is not a valid value of the \w+ type 'xs:dateTime'")
_DATE_TIME = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]{1,6})?(?:Z|[+-][0-9]{2}:[0-9]{2})?"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Grammar:
    """A compiled grammar and its source files, by target namespace, XLink's first."""

    schema: etree.XMLSchema
    files: Mapping[str, Path]


@cache
def project_grammar() -> Grammar:
    """Return the project's grammar: METS 1.12.1, XLink, attributes of CSIP and SIP 2.2, PREMIS."""
    return _compiled(_files_of(_SCHEMAS) | _files_of(_EMBEDDED))


def _files_of(names: Mapping[str, str]) -> dict[str, Path]:
    return {namespace: resources.root() / "schemas" / name for namespace, name in names.items()}


def of_folder(folder: Path) -> Grammar:
    """Return the grammar made of the schema files in a folder, such as the official ones.

    The files are recognised by their target namespace, with any names (``*.xsd``). METS and XLink must be
    there; the attributes of CSIP and SIP are taken when they are. The kinds of PREMIS objects are the
    project's own. Raises ``ConfigError``.
    """
    found: dict[str, Path] = {}
    for path in _schema_files(folder):
        namespace = _root(path).get("targetNamespace", "")
        if namespace in found:
            raise ConfigError(
                f"{found[namespace]} and {path} are both schemas of {namespace}",
                hint="Leave one of them in the folder.",
            )
        if namespace in _SCHEMAS:
            found[namespace] = path
    for namespace in (METS, XLINK):
        if namespace not in found:
            raise ConfigError(
                f"{folder} has no schema of {namespace}",
                hint="Put the official files there, mets.xsd and xlink.xsd, under whatever names.",
            )
    files = {namespace: found[namespace] for namespace in _SCHEMAS if namespace in found}
    _refuse_strangers(files)
    return _compiled(files | _files_of(_EMBEDDED))


def _schema_files(folder: Path) -> list[Path]:
    try:
        names = sorted(os.listdir(folder))
    except OSError as error:
        raise ConfigError(
            f"cannot read the folder of schemas {folder}: {error.strerror}",
            hint="Name a folder that holds mets.xsd and xlink.xsd.",
        ) from None
    return [folder / name for name in names if name.lower().endswith(".xsd")]


def _root(path: Path) -> etree._Element:
    try:
        with reading.opening(path) as descriptor:
            size = os.fstat(descriptor).st_size
            if size > _LARGEST:
                raise ConfigError(f"{path} has {size:,} bytes, which no schema has")
            root = safexml.tree(b"".join(reading.chunks(descriptor)))
    except (OSError, safexml.XmlError) as error:
        raise ConfigError(f"cannot read the schema {path}: {error}") from None
    if root.tag != f"{_XS}schema":
        raise ConfigError(f"{path} is not a W3C XML Schema: its root is {root.tag}")
    return root


def _refuse_strangers(files: Mapping[str, Path]) -> None:
    """Refuse schemas that would make the compiler fetch files from outside the folder."""
    for path in files.values():
        for each in _root(path).iter(f"{_XS}import", f"{_XS}include", f"{_XS}redefine"):
            namespace = each.get("namespace", "")
            if etree.QName(each).localname != "import" or namespace not in files:
                wanted = each.get("schemaLocation") or namespace
                raise ConfigError(
                    f"{path} asks for {wanted}, which is not taken from the folder",
                    hint=f"A schema may import these only: {', '.join(files)}.",
                )


def _compiled(files: Mapping[str, Path]) -> Grammar:
    try:
        return Grammar(schema=safexml.compiled_schema(files), files=files)
    except safexml.XmlError as error:
        raise ConfigError(f"the schemas cannot be used: {error.message}") from None


def without_padded_dates(faults: Iterable[str]) -> list[str]:
    """Return libxml2's faults, with "" for white space around a date, which XML Schema allows."""
    return ["" if _is_padded_date(each) else each for each in faults]


def _is_padded_date(message: str) -> bool:
    """Return whether a fault is only white space around a date (XML Schema: whiteSpace collapse)."""
    found = _DATE.search(message)
    if found is None or found[1] == found[1].strip(WHITE_SPACE):
        return False
    stripped = found[1].strip(WHITE_SPACE)
    if _DATE_TIME.fullmatch(stripped) is None:
        return False
    try:
        datetime.fromisoformat(stripped)
    except ValueError:
        return False
    return True


_LONG = 1 << 16
_STRAY = bytes(each for each in range(128) if not chr(each).isalnum() and each not in b"+/=")
"""The characters that libxml2 passes over in base64."""
_AFTER = 16


class MarkupPiece(NamedTuple):
    """Some bytes of the document in UTF-8, with the line and the ID of their element."""

    data: bytes
    line: int
    id: str


def retold(blocks: Iterable[bytes]) -> Iterator[MarkupPiece]:
    """Yield a document as pieces: start tags, texts and end tags; raises ``XmlError``.

    An end tag has the ``line`` of its start tag.
    """
    teller = _Teller()
    for block in blocks:
        yield from teller.take(block, final=False)
    yield from teller.take(b"", final=True)


class _Teller:
    """Expat handlers that gather the pieces of one block at a time."""

    def __init__(self) -> None:
        self._pieces: list[MarkupPiece] = []
        self._open: list[tuple[int, str]] = []
        self._texts: list[_ElementText] = []
        self._parser = safexml.expat_parser()
        self._parser.StartElementHandler = self._start
        self._parser.EndElementHandler = self._end
        self._parser.CharacterDataHandler = self._text

    def take(self, block: bytes, *, final: bool) -> Iterator[MarkupPiece]:
        self._pieces = []
        safexml.feed_block(self._parser, block, final=final)
        return iter(self._pieces)

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        self._settle()
        place = self._parser.CurrentLineNumber, attributes.get("ID", "")
        self._open.append(place)
        self._texts.append(_ElementText())
        stated = "".join(f" {each}={safexml.quoted(value)}" for each, value in attributes.items())
        self._pieces.append(MarkupPiece(f"<{name}{stated}>".encode(), *place))

    def _end(self, name: str) -> None:
        self._settle()
        self._texts.pop()
        self._pieces.append(MarkupPiece(f"</{name}>".encode(), *self._open.pop()))

    def _text(self, text: str) -> None:
        if self._texts:  # otherwise it is white space behind the root
            self._tell(self._texts[-1].shortened(text))

    def _settle(self) -> None:
        if self._texts:
            self._tell(self._texts[-1].rest())

    def _tell(self, text: str) -> None:
        if text:
            self._pieces.append(
                MarkupPiece(safexml.escaped(text).replace("\r", "&#13;").encode(), *self._open[-1])
            )


class _ElementText:
    """The text of an element, shortened to what decides its validity."""

    __slots__ = ("_after", "_held", "_passed")

    def __init__(self) -> None:
        self._passed = 0
        self._held = ""
        self._after = 0

    def shortened(self, text: str) -> str:
        """Return the part of the next text that is validated."""
        if self._passed < _LONG:
            self._passed += len(text)
            return text
        solid = text.encode("ascii", "ignore").translate(None, _STRAY).decode()
        padding = solid.find("=")
        if not self._after and padding < 0:
            # In base64 whole groups of four characters are valid; the last is held, as padding may follow.
            held = self._held + solid
            self._held = held[max(0, (len(held) - 4) // 4 * 4) :]
            return ""
        # Behind the padding a few characters decide whether the text is valid.
        passed = solid[: max(0, padding) + max(0, _AFTER - self._after)]
        self._after += len(passed) - max(0, padding)
        return self.rest() + passed

    def rest(self) -> str:
        """Return the held text at the end of the element."""
        held, self._held = self._held, ""
        return held


SHOWN = 100
"""The faults of one document that get a finding each; the others are only counted."""

_COUNTED = 10_000
_TEXT = 1 << 20
_SLOW = 0.25  # seconds of processor time; a block takes about a millisecond
_BATCH = 1 << 16
_AHEAD = 8
_REFERENCE_WITH_HASH = re.compile(r"'#([^' ]+)' is not a valid value of the \w+ type 'xs:IDREFS?'")
_LONGEST = 1_000

# lxml's parser and its context form a cycle, whose memory in libxml2 Python does not count.
_TOGETHER = 200  # documents whose parsers are freed together
_BEGUN = count(1)

_PREFIXES = {
    f"{{{reader.METS}}}": "",
    f"{{{reader.XLINK}}}": "xlink:",
    f"{{{CSIP}}}": "csip:",
    f"{{{SIP}}}": "sip:",
}

Blocks = Callable[[], Iterable[bytes]]
"""Returns the blocks of a document from its beginning, at each call."""


class SchemaFault(NamedTuple):
    """A fault of an element: its line, 0 for an uncertain one, its ID or "", and the reason."""

    line: int
    id: str
    reason: str


class Validation:
    """The validation of one document by a grammar.

    ``watched`` passes the document's blocks to another reader, which refuses DTDs and exceeded budgets before
    a block is validated here. Then ``faults`` yields the faults, at most ``shown``, and ``further`` is the
    number of the others in words, or "". A reader that recognises valid elements calls ``instead`` with the
    bytes that are still to be validated.
    """

    def __init__(self, grammar: Grammar, *, shown: int = SHOWN) -> None:
        self.further = ""
        self._grammar = grammar
        self._shown = shown
        if next(_BEGUN) % _TOGETHER == 0:
            gc.collect(0)
        self._validator = safexml.Validator(grammar.schema)
        self._since_tag = 0
        self._settled = False
        self._rest: bytes | None = None

    @property
    def instead(self) -> Callable[[bytes], None] | None:
        """Return the function that takes the unvalidated bytes, or None for a folder's schemas."""
        return self._leave if self._grammar is project_grammar() else None

    def _leave(self, rest: bytes) -> None:
        self._rest = rest

    def _left(self, block: bytes) -> bytes:
        """Return the bytes of a block that the reader left to be validated."""
        rest, self._rest = self._rest, None
        return block if rest is None else rest

    def watched(self, blocks: Iterable[bytes]) -> Generator[bytes, None, None]:
        """Yield the blocks unchanged; validate each after the reader has taken it.

        Documents of several blocks are validated in a second thread: libxml2 runs without Python's lock. A
        reader that does not take all blocks must close the generator.
        """
        given = iter(blocks)
        if (first := next(given, None)) is not None:
            yield first
        if first is None or (second := next(given, None)) is None:
            self._take(self._left(first or b""))
            return
        from concurrent.futures import ThreadPoolExecutor  # noqa: PLC0415 -- heavy, and most are shorter

        with ThreadPoolExecutor(1, "schema") as beside:
            waiting = deque([beside.submit(self._take, self._left(first))])
            for block in chain((second,), given):
                yield block
                waiting.append(beside.submit(self._take, self._left(block)))
                if len(waiting) > _AHEAD:
                    waiting.popleft().result()
            for each in waiting:
                each.result()

    def _take(self, block: bytes) -> None:
        if not self._settled:
            self._settled = not self._validate(block)

    def _validate(self, block: bytes) -> bool:
        """Validate a block; return whether the document is valid so far and fast enough to continue."""
        # libxml2's time grows with the square of a text's length: long texts are left to the second reading.
        last = block.rfind(b"<")
        self._since_tag = len(block) - last if last >= 0 else self._since_tag + len(block)
        if self._since_tag > _TEXT:
            return False
        begun = time.thread_time()
        try:
            self._validator.feed(block)
        except safexml.XmlError:
            return False
        return not self._validator.faults() and time.thread_time() - begun < _SLOW

    def _ended(self) -> bool:
        try:
            self._validator.close()
        except safexml.XmlError:
            return False
        return not self._validator.faults()

    def faults(self, blocks: Blocks) -> Iterator[SchemaFault]:
        """Yield at most ``shown`` faults of invalid elements, then set the number of the others.

        ``watched`` must have passed on the whole document; an invalid one is read again from ``blocks``.
        Raises ``XmlError``, without a line for one of libxml2's limits.
        """
        self._take(self._left(b""))
        if not self._settled and self._ended():
            return
        validator = safexml.Validator(self._grammar.schema)
        pieces = _flushed(retold(blocks()))
        yield from self._located(validator, pieces)
        reported = len(validator.faults())
        for data in _joined(pieces):
            validator.feed(data)
            if len(validator.faults()) > reported + _COUNTED:
                break
        else:
            validator.close()
        if further := sum(map(bool, without_padded_dates(validator.faults(self._shown)))):
            self.further = f"{further:,}" if further <= _COUNTED else f"more than {_COUNTED:,}"

    def _located(self, validator: safexml.Validator, pieces: Iterator[MarkupPiece]) -> Iterator[SchemaFault]:
        seen = 0
        last: SchemaFault | None = None
        for data, line, place in pieces:
            validator.feed(data)
            faults = without_padded_dates(validator.faults(seen))[: self._shown - seen]
            seen += len(faults)
            for fault in filter(None, faults):
                here = SchemaFault(line, place, _readable(fault))
                if here != last:  # a text that comes in stretches is the same fault in each
                    yield here
                last = here
            if seen >= self._shown:
                return


def _readable(message: str) -> str:
    """Return a message of libxml2's with METS's usual prefixes and a hint at a reference with #."""
    for namespace, prefix in _PREFIXES.items():
        message = message.replace(namespace, prefix)
    if (meant := _REFERENCE_WITH_HASH.search(message)) is not None:
        message = f"{message.rstrip('.')}; an ID is named without #, and {meant[1]!r} was taken to be meant"
    return _shortened(message.rstrip("."))


def _shortened(message: str) -> str:
    """Return a message of libxml2's, which quotes values whole, at a readable length."""
    if len(message) <= _LONGEST:
        return message
    return f"{message[: _LONGEST // 2]} ... {message[-_LONGEST // 2 :]}"


def _flushed(pieces: Iterator[MarkupPiece]) -> Iterator[MarkupPiece]:
    """Yield pieces with the next tag's first byte behind each text: libxml2 then ends the text."""
    text: MarkupPiece | None = None
    for piece in pieces:
        if not piece.data.startswith(b"<"):
            text = piece
            yield piece
        elif text is not None:
            yield text._replace(data=b"<")
            yield piece._replace(data=piece.data[1:])
            text = None
        else:
            yield piece


def _joined(pieces: Iterator[MarkupPiece]) -> Iterator[bytes]:
    joined = bytearray()
    for piece in pieces:
        joined += piece.data
        if len(joined) > _BATCH:
            yield bytes(joined)
            joined.clear()
    yield bytes(joined)


def strict_faults(blocks: Blocks, grammar: Grammar, *, most: int) -> Iterator[SchemaFault] | None:
    """Return the faults that the second engine finds, or None for more than ``most`` bytes.

    The engine is the library xmlschema. The faults include those of IDs and IDREFs. The document is METS that
    has been read before (no DTD); it is held in memory whole, about ten times its size. Raises
    ``ConfigError`` where xmlschema is not installed, or cannot use the grammar.
    """
    faults = _make_second_engine(grammar)
    data = bytearray()
    for block in blocks():
        data += block
        if len(data) > most:
            return None
    return (SchemaFault(line, "", _shortened(reason)) for line, reason in faults(safexml.tree(bytes(data))))


def check_second_engine(grammar: Grammar | None = None) -> None:
    """Raise ``ConfigError`` if xmlschema is not installed or cannot use the grammar."""
    _make_second_engine(grammar or project_grammar())


def _make_second_engine(grammar: Grammar) -> Callable[[Any], Iterator[tuple[int, str]]]:
    """Return a function that yields xmlschema's faults of a tree: a line and a reason each."""
    try:
        import xmlschema  # noqa: PLC0415 -- a second engine is for those who ask for it
    except ImportError:
        raise ConfigError(
            "the second schema engine, xmlschema, is not installed",
            hint="pip install 'metspack[strict]', or check without --strict-schema.",
        ) from None
    try:
        schema = _compiled_again(tuple(grammar.files.items()))
    except xmlschema.XMLSchemaException as error:
        raise ConfigError(f"the second schema engine cannot use the schemas: {error}") from None

    def faults(root: Any) -> Iterator[tuple[int, str]]:
        try:
            for fault in schema.iter_errors(root, use_location_hints=False):
                yield fault.sourceline or 0, f"xmlschema: {fault.reason}"
        except xmlschema.XMLSchemaException as error:  # an unknown xsi:type is raised, not yielded
            yield 0, f"xmlschema: {error}"

    return faults


@lru_cache(maxsize=2)
def _compiled_again(files: tuple[tuple[str, Path], ...]) -> Any:
    import xmlschema  # noqa: PLC0415 -- a second engine is for those who ask for it

    locations = {namespace: path.absolute().as_uri() for namespace, path in files}
    return xmlschema.XMLSchema10(
        list(locations.values()), locations=locations, allow="local", use_fallback=False
    )
