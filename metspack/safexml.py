"""The project's XML parsers: no DTD, no entities, no network.

Every XML document is parsed here, and only here. Of entities only XML's five are expanded, and no XInclude:
an archive is data from elsewhere and may not make the reader open, fetch or expand anything.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from xml.parsers import expat

from lxml import etree

from metspack.errors import MetspackError


class XmlError(MetspackError):
    """XML that is not well-formed, or has a forbidden part (a DTD).

    ``line`` and ``column`` count from 1; 0 when unknown.
    """

    def __init__(self, message: str, *, hint: str = "", line: int = 0, column: int = 0) -> None:
        super().__init__(message, hint=hint)
        self.line = line
        self.column = column


class DoctypeError(XmlError):
    """XML that has a document type declaration."""


class BudgetError(XmlError):
    """A document that exceeds the budgets."""


def exceeded(why: str, budget: str, parser: expat.XMLParserType) -> BudgetError:
    """Return the error for an exceeded budget, with a parser's position."""
    return BudgetError(
        why,
        hint=f"If that is what it should be, raise the budget: --budget {budget}=N.",
        line=parser.CurrentLineNumber,
        column=parser.CurrentColumnNumber + 1,
    )


class Allowance:
    """A budget of elements that a parser meets; ``what`` is their name for people."""

    def __init__(self, what: str, most: int, budget: str, parser: expat.XMLParserType) -> None:
        self._most = self._left = most
        self._what, self._budget, self._parser = what, budget, parser

    def takes(self, count: int) -> bool:
        """Count many if the budget allows them all; return whether it does."""
        self._left -= count if (allows := self._left >= count) else 0
        return allows

    def take(self) -> None:
        """Count one; raises ``BudgetError`` where there are more than the budget allows."""
        if not self.takes(1):
            why = f"the document has more than {self._most:,} {self._what}"
            raise exceeded(why, self._budget, self._parser)


_NO_DTD_HINT = (
    "Documents with a DTD are never read, since it could make the reader open other files: remove it."
)


_MARKUP = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;"})
_SPACES = str.maketrans({"\t": "&#9;", "\n": "&#10;", "\r": "&#13;"})


def escaped(text: str) -> str:
    """Return text as an element's content, without the heavy import of the standard library."""
    return text.translate(_MARKUP)


def quoted(value: str) -> str:
    """Return the value of an attribute with its quotes, and its white space kept."""
    held = escaped(value).translate(_SPACES)
    if '"' not in held:
        return f'"{held}"'
    return f"'{held}'" if "'" not in held else '"{}"'.format(held.replace('"', "&quot;"))


def expat_parser(encoding: str | None = None, *, namespaces: bool = False) -> expat.XMLParserType:
    """Return an expat parser that refuses a DTD by raising ``XmlError``.

    ``encoding`` overrides what the document declares. Names come with their prefix, without
    namespace processing, as written; with ``namespaces`` they come as ``namespace name``.
    """
    parser = expat.ParserCreate(encoding, " " if namespaces else None)
    parser.buffer_text = True

    def doctype(_name: str, _system: str | None, _public: str | None, _internal: int) -> None:
        raise DoctypeError(
            "the document has a document type declaration (DTD)",
            hint=_NO_DTD_HINT,
            line=parser.CurrentLineNumber,
            column=parser.CurrentColumnNumber + 1,
        )

    parser.StartDoctypeDeclHandler = doctype
    return parser


_DECLARED = re.compile(
    rb"""\A(?:\xef\xbb\xbf)?<\?xml\s+version\s*=\s*["']([^"']{1,20})["']"""
    rb"""(?:\s+encoding\s*=\s*["']([^"']{1,80})["'])?"""
)


def unusual_declaration(head: bytes) -> str:
    """Return the version and encoding of a document by its first bytes, "" for XML 1.0 in UTF-8.

    ASCII is UTF-8 as well. The byte order mark or the first character shows two bytes a character.
    """
    if head[:2] in {b"\xff\xfe", b"\xfe\xff"} or b"\0" in head[:4]:
        return "in UTF-16 or wider"
    if (declared := _DECLARED.match(head)) is None:
        return ""
    version, encoding = declared[1], declared[2] or b"utf-8"
    unusual = [] if version == b"1.0" else [f"XML {version.decode('ascii', 'replace')}"]
    if encoding.lower() not in {b"utf-8", b"us-ascii", b"ascii"}:
        unusual.append(f"in {encoding.decode('ascii', 'replace')}")
    return " ".join(unusual)


def feed(parser: expat.XMLParserType, blocks: Iterable[bytes]) -> None:
    """Feed a whole document to an expat parser; raises ``XmlError`` where it is not well-formed."""
    for block in blocks:
        feed_block(parser, block, final=False)
    feed_block(parser, b"", final=True)


def feed_block(parser: expat.XMLParserType, block: bytes, *, final: bool) -> None:
    """Feed one block; raises ``XmlError`` with line and column unless it is well-formed."""
    try:
        parser.Parse(block, final)
        if final:
            # Handlers and parser refer to each other: without this, all that they hold would stay in memory.
            parser.StartDoctypeDeclHandler = parser.StartElementHandler = None
            parser.EndElementHandler = parser.CharacterDataHandler = None
    except expat.ExpatError as error:
        # XML allows UTF-32, expat does not support it.
        if block.startswith((b"\xff\xfe\0\0", b"\0\0\xfe\xff", b"<\0\0\0", b"\0\0\0<")):
            raise XmlError("not readable: it is in UTF-32, expected UTF-8", line=1, column=1) from None
        what = expat.errors.messages.get(error.code, str(error))
        if what == expat.errors.XML_ERROR_INVALID_TOKEN:  # "not well-formed (invalid token)"
            what = "invalid token"
        raise XmlError(
            f"not well-formed: {what}",
            line=error.lineno,
            column=error.offset + 1,
        ) from None
    except (LookupError, ValueError) as error:
        if error.__traceback__ is not None and error.__traceback__.tb_next is not None:
            raise  # out of a handler: a fault of ours, not of the document
        # An encoding that Python does not know, or one of several bytes that expat cannot take.
        raise XmlError(f"not readable: {error}", line=1, column=1) from None


def lxml_options() -> dict[str, Any]:
    """Return the options every lxml parser and ``iterparse`` of the project is made with."""
    return {
        "resolve_entities": False,
        "no_network": True,
        "load_dtd": False,
        "dtd_validation": False,
        "huge_tree": False,
    }


def tree(data: bytes) -> etree._Element:
    """Return the root of a small document held in memory.

    Raises ``XmlError`` when it is not well-formed or has a DTD.
    """
    parser = etree.XMLParser(**lxml_options())
    try:
        root = etree.fromstring(data, parser)
    except etree.XMLSyntaxError as error:
        line, column = error.position
        raise XmlError(f"not well-formed: {error.msg}", line=line or 0, column=column or 0) from None
    document: Any = root.getroottree()  # the stubs do not know docinfo.doctype
    if document.docinfo.doctype:
        raise DoctypeError("the document has a document type declaration (DTD)", hint=_NO_DTD_HINT, line=1)
    return root


def compiled_schema(files: Mapping[str, Path]) -> etree.XMLSchema:
    """Return one schema made of W3C XML Schema files, given by target namespace.

    Namespaces are imported in the order given, so that an import of an earlier one, from any location, finds
    it there already: libxml2 never fetches files for it. Raises ``XmlError``.
    """
    bundle = etree.Element(f"{_XS}schema", targetNamespace="urn:metspack:bundle")
    for namespace, path in files.items():
        place = path.absolute().as_uri()
        etree.SubElement(bundle, f"{_XS}import", namespace=namespace, schemaLocation=place)
    try:
        return etree.XMLSchema(bundle)
    except etree.XMLSchemaParseError as error:
        raise XmlError(f"not a valid schema: {error}") from None


_XS = "{http://www.w3.org/2001/XMLSchema}"


class Validator:
    """The validation of one document against a schema, block by block, in flat memory.

    ``ID`` values that occur twice and ``IDREF`` values that occur nowhere are missed: both would have to be
    remembered. Schema locations that the document names are ignored.
    """

    def __init__(self, schema: etree.XMLSchema) -> None:
        target: Any = SimpleNamespace(close=lambda: None)  # which discards all events: no tree is built
        self._parser: Any = etree.XMLParser(target=target, schema=schema, **lxml_options())

    def feed(self, block: bytes) -> None:
        """Take the next bytes of the document; raises ``XmlError`` when libxml2 cannot continue."""
        try:
            self._parser.feed(block)
        except etree.XMLSyntaxError as error:
            raise XmlError(f"not well-formed: {error.msg}") from None

    def close(self) -> None:
        """End the document; raises ``XmlError`` when it is not complete."""
        try:
            self._parser.close()
        except etree.XMLSyntaxError as error:
            raise XmlError(f"not well-formed: {error.msg}") from None

    def faults(self, start: int = 0) -> list[str]:
        """Return the faults so far, in document order from number ``start`` on, without lines.

        Undeclared namespace prefixes are among them; mere warnings of libxml2 are left out.
        """
        error = etree.ErrorLevels.ERROR
        return [each.message for each in self._parser.feed_error_log if each.level >= error][start:]
