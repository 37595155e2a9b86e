import pickle
import threading
from pathlib import Path

import pytest
from lxml import etree

from metspack import safexml
from metspack.safexml import DoctypeError, XmlError
from tests.tables import tabled

BOMB = b'<!DOCTYPE a [<!ENTITY e "eeeeeeeeee"><!ENTITY f "&e;&e;&e;&e;">]><a>&f;</a>'
EXTERNAL = b'<!DOCTYPE a SYSTEM "http://example.org/a.dtd"><a/>'


def fed(data: bytes, encoding: str | None = None, size: int = 1 << 20) -> list[str]:
    names: list[str] = []
    parser = safexml.expat_parser(encoding)
    parser.StartElementHandler = lambda name, _attributes: names.append(name)
    safexml.feed(parser, (data[at : at + size] for at in range(0, len(data), size)))
    return names


@tabled
def test_an_unusual_declaration_is_seen(head: bytes, found: str) -> None:
    assert safexml.unusual_declaration(head) == found


@pytest.mark.parametrize("kind", [XmlError, DoctypeError])
def test_an_error_crosses_a_process_boundary_whole(kind: type[XmlError]) -> None:
    error = pickle.loads(pickle.dumps(kind("m", hint="h", line=3, column=4)))  # noqa: S301 -- our own bytes
    assert type(error) is kind
    assert (error.message, error.hint, error.line, error.column) == ("m", "h", 3, 4)


@pytest.mark.parametrize("data", [BOMB, EXTERNAL, b"<!DOCTYPE a><a/>"])
def test_a_dtd_is_refused_by_both_parsers(data: bytes) -> None:
    with pytest.raises(DoctypeError, match="document type declaration") as caught:
        fed(data)
    assert caught.value.line == 1
    assert "never read" in caught.value.hint
    with pytest.raises(DoctypeError, match="document type declaration"):
        safexml.tree(data)


def test_expat_gives_names_as_written() -> None:
    assert fed(b"<x:a xmlns:x='urn:x'><b/></x:a>", size=3) == ["x:a", "b"]
    assert fed("<é/>".encode("latin-1"), "iso-8859-1") == ["é"]


@pytest.mark.parametrize(
    ("data", "line", "column"), [(b"<a>\n<b></a>", 2, 6), (b"<a>", 1, 4), (b"", 1, 1), (b"PK", 1, 1)]
)
def test_expat_says_where_a_document_breaks(data: bytes, line: int, column: int) -> None:
    with pytest.raises(XmlError, match=r"^not well-formed: ") as caught:
        fed(data)
    assert (caught.value.line, caught.value.column) == (line, column)
    assert caught.value.message.count("not well-formed") == 1


@pytest.mark.parametrize("name", ["unheard-of", "Shift_JIS", "rot13"])
def test_an_encoding_that_expat_cannot_take_is_an_xml_error(name: str) -> None:
    with pytest.raises(XmlError, match=r"not readable|not well-formed"):
        fed(f'<?xml version="1.0" encoding="{name}"?><a/>'.encode())


def test_what_a_handler_raises_comes_through() -> None:
    parser = safexml.expat_parser()

    def start(_name: str, _attributes: dict[str, str]) -> None:
        raise XmlError("mine")

    parser.StartElementHandler = start
    with pytest.raises(XmlError, match=r"^mine$"):
        safexml.feed_block(parser, b"<a/>", final=True)


def test_lxml_gives_the_root() -> None:
    assert safexml.tree(b"<a><b/></a>").tag == "a"


@pytest.mark.parametrize(("data", "line"), [(b"<a>\n<b></a>", 2), (b"<a>", 1), (b"", 1)])
def test_lxml_says_where_a_document_breaks(data: bytes, line: int) -> None:
    with pytest.raises(XmlError, match=r"^not well-formed: ") as caught:
        safexml.tree(data)
    assert caught.value.line == line


def test_no_include_is_followed(tmp_path: Path) -> None:
    (tmp_path / "other.xml").write_bytes(b"<secret/>")
    reference = (tmp_path / "other.xml").as_uri()
    include = f'<a xmlns:i="http://www.w3.org/2001/XInclude"><i:include href="{reference}"/></a>'
    assert b"secret" not in etree.tostring(safexml.tree(include.encode()))


def test_a_tree_too_deep_is_an_error_and_no_crash() -> None:
    with pytest.raises(XmlError):
        safexml.tree(b"<a>" * 100_000)
    assert threading.active_count() == 1 or Path("/proc").exists()


@pytest.mark.parametrize("fault", [ValueError, IndexError])
def test_a_fault_of_a_handler_is_not_the_documents(fault: type[Exception]) -> None:
    def fail(*_: object) -> None:
        raise fault("a fault of ours")

    parser = safexml.expat_parser()
    parser.StartElementHandler = fail
    with pytest.raises(fault, match="a fault of ours"):
        safexml.feed(parser, [b"<a/>"])
