"""Every XML document that metspack reads is parsed here, and nowhere else.

No network, no DTD, no entities but XML's own five, no XInclude: an archive is data from elsewhere
and may not make the reader open, fetch or expand anything.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any
from xml.parsers import expat

from lxml import etree

from metspack.errors import MetspackError


class XmlError(MetspackError):
    """XML that is not well-formed, or that holds what is never taken (a DTD).

    ``line`` and ``column`` count from 1; 0 when not known.
    """

    def __init__(self, message: str, *, hint: str = "", line: int = 0, column: int = 0) -> None:
        super().__init__(message, hint=hint)
        self.line = line
        self.column = column

    def __reduce__(self) -> tuple[Any, ...]:
        return _restored, (type(self), self.message, self.hint, self.line, self.column)


class DoctypeError(XmlError):
    """XML that has a document type declaration."""


def _restored(kind: type[XmlError], message: str, hint: str, line: int, column: int) -> XmlError:
    return kind(message, hint=hint, line=line, column=column)


_NO_DTD_HINT = "Documents with a DTD are never read: it could make the reader open other files."


def expat_parser(encoding: str | None = None) -> expat.XMLParserType:
    """Return an expat parser that refuses a DTD by raising ``XmlError``.

    ``encoding`` overrides what the document declares. Names come with their prefix, without
    namespace processing, as written.
    """
    parser = expat.ParserCreate(encoding)
    parser.ordered_attributes = False
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


def fed(parser: expat.XMLParserType, blocks: Iterable[bytes]) -> None:
    """Feed a whole document to an expat parser; raises ``XmlError`` where it is not well-formed."""
    feeding(parser)(blocks)


def feeding(parser: expat.XMLParserType) -> Callable[[Iterable[bytes]], None]:
    """Return the function that feeds blocks to ``parser`` and ends the document after the last."""

    def feed(blocks: Iterable[bytes]) -> None:
        for block in blocks:
            feed_block(parser, block, final=False)
        feed_block(parser, b"", final=True)

    return feed


def feed_block(parser: expat.XMLParserType, block: bytes, *, final: bool) -> None:
    """Feed one block; raises ``XmlError`` with line and column where the document is not well-formed."""
    try:
        parser.Parse(block, final)
    except expat.ExpatError as error:
        raise XmlError(
            f"not well-formed: {expat.errors.messages.get(error.code, str(error))}",
            line=error.lineno,
            column=error.offset + 1,
        ) from None
    except (LookupError, ValueError) as error:
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
        "remove_pis": False,
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
