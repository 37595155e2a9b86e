"""Offsets of elements in documents of any encoding."""

import codecs
import gc
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metspack import safexml
from metspack.errors import SourceError
from metspack.siard.offsets import Element, Encoding, detected, document, tag_end
from tests.laws import of_each

DOCUMENT = """<?xml version="1.0"?>
<!-- <b>not this</b> -->
<x:a xmlns:x="urn:x" q='a>"b' >
  <x:b/>
  <x:b k="&lt;1&gt;" >é <![CDATA[<c>]]>&amp;</x:b >
  <d><e>1</e><e> 2 </e></d>
</x:a>
"""

ENCODINGS = ["utf-8", "utf-8-sig", "utf-16", "utf-16-be", "iso-8859-1"]


def written(text: str, codec: str) -> bytes:
    declared = text.replace('"1.0"', f'"1.0" encoding="{re.sub("-(sig|be)", "", codec)}"', 1)
    return declared.encode(codec)


@pytest.mark.parametrize("codec", ENCODINGS)
def test_elements_lie_at_the_bytes_they_say(codec: str) -> None:
    data = written(DOCUMENT, codec)
    codec = {"utf-16": "utf-16-le", "utf-8-sig": "utf-8"}.get(codec, codec)
    root = document(data)
    empty, full = root.children[:2]
    assert [root.name, root.prefix, root.line] == ["a", "x", 3]
    assert root.attributes == {"xmlns:x": "urn:x", "q": 'a>"b'}
    assert data[root.start : root.inner].decode(codec) == """<x:a xmlns:x="urn:x" q='a>"b' >"""
    assert data[root.inner_stop : root.stop].decode(codec) == "</x:a>"
    assert data[empty.start : empty.stop].decode(codec) == "<x:b/>"
    assert empty.inner == empty.inner_stop == empty.stop
    assert data[full.inner : full.inner_stop].decode(codec) == "é <![CDATA[<c>]]>&amp;"
    assert data[full.inner_stop : full.stop].decode(codec) == "</x:b >"
    assert (full.text, full.attributes, full.line) == ("é <c>&", {"k": "<1>"}, 5)


def test_elements_are_found_by_name_and_path() -> None:
    root = document(DOCUMENT.encode())
    assert root.child("b") is root.children[0]
    assert root.child("z") is None
    assert [each.text for each in root.all("d", "e")] == ["1", " 2 "]
    assert list(root.all()) == [root]
    assert list(root.all("d", "z")) == []
    assert root.children[2].value("e") == "1"
    assert root.value("b") == ""
    assert root.value("z") is None


def test_text_around_children_is_all_the_elements_own() -> None:
    assert document(b"<a>1<b>2</b>3<c/>4</a>").text == "134"


def test_elements_skipped_leave_nothing_behind() -> None:
    root = document(b"<a>1<v>2<w><v>3</v></w>4</v>5<b/></a>", skipped=frozenset({"v"}))
    assert [each.name for each in root.children] == ["b"]
    assert root.text == "15"


def test_the_root_is_never_skipped() -> None:
    root = document(b"<views><table/></views>", skipped=frozenset({"views"}))
    assert root.name == "views"
    assert [each.name for each in root.children] == ["table"]


def test_nesting_over_the_budget_is_refused_with_the_way_out() -> None:
    nested = b"<a>" * 5 + b"</a>" * 5
    assert document(nested, depth=5).name == "a"
    with pytest.raises(safexml.XmlError, match="nested more than 4 deep") as caught:
        document(nested, depth=4)
    assert caught.value.line == 1
    assert caught.value.column == 13
    assert "--budget depth=N" in caught.value.hint


def test_a_document_is_refused_where_it_is_not_well_formed() -> None:
    with pytest.raises(safexml.XmlError, match="not well-formed") as caught:
        document(b"<a>\n <b></a>")
    assert (caught.value.line, caught.value.column) == (2, 7)


def test_a_dtd_is_refused() -> None:
    with pytest.raises(safexml.DoctypeError):
        document(b"<!DOCTYPE a><a/>")


def test_an_encoding_that_cannot_be_spliced_is_refused() -> None:
    with pytest.raises(SourceError, match="Shift_JIS"):
        document(b'<?xml version="1.0" encoding="Shift_JIS"?><a/>')


@pytest.mark.parametrize(
    "tag", ["<a>", "<a/>", "</a >", "<a b='>'>", "<a b=\">'\" c='\">'>", "<a b=''>", "<a b='1' c='2'>"]
)
@pytest.mark.parametrize(("codec", "unit"), [("utf-8", 1), ("utf-16-le", 2), ("utf-16-be", 2)])
def test_a_tag_ends_behind_the_bracket_that_no_quotes_hold(tag: str, codec: str, unit: int) -> None:
    before, after = "'>\"", "text > ' \" >"
    data = f"{before}{tag}{after}".encode(codec)
    encoding = Encoding(codec=codec, unit=unit)
    assert tag_end(data, len(before) * unit, encoding) == (len(before) + len(tag)) * unit


def test_many_elements_take_no_more_than_their_own_time() -> None:
    # A search for a quote that looked to the end of the document would take minutes.
    root = document(b"<a>" + b"<b>\n</b>" * 100_000 + b"</a>")
    assert len(root.children) == 100_000


def test_a_document_is_freed_with_its_root() -> None:
    def alive() -> int:
        return sum(isinstance(each, Element) for each in gc.get_objects())

    gc.collect()
    before = alive()
    gc.disable()  # the command line collects garbage seldom
    try:
        assert document(b"<a><b>text</b></a>").value("b") == "text"
        assert alive() == before
    finally:
        gc.enable()


@of_each(
    [
        (b"<table/>", "utf-8", 1),
        (b'<?xml version="1.0"?><table/>', "utf-8", 1),
        (b'<?xml version="1.0" encoding="UTF-8"?>', "utf-8", 1),
        (b"<?xml version='1.0' encoding = 'utf8' standalone='no'?>", "utf-8", 1),
        (codecs.BOM_UTF8 + b'<?xml version="1.0" encoding="UTF-8"?>', "utf-8", 1),
        (codecs.BOM_UTF8 + b"<table/>", "utf-8", 1),
        (b'<?xml version="1.0" encoding="US-ASCII"?>', "ascii", 1),
        (b'<?xml version="1.0" encoding="ISO-8859-1"?>', "iso8859-1", 1),
        (b'<?xml version="1.0" encoding="windows-1252"?>', "cp1252", 1),
        (codecs.BOM_UTF16_LE + "<table/>".encode("utf-16-le"), "utf-16-le", 2),
        (codecs.BOM_UTF16_BE + "<table/>".encode("utf-16-be"), "utf-16-be", 2),
        ("<table/>".encode("utf-16-le"), "utf-16-le", 2),
        ("<table/>".encode("utf-16-be"), "utf-16-be", 2),
        (b"", "utf-8", 1),
    ]
)
def test_the_encoding_is_found_from_mark_and_declaration(head: bytes, codec: str, unit: int) -> None:
    assert detected(head) == Encoding(codec=codec, unit=unit)


@pytest.mark.parametrize(
    "name",
    ["Shift_JIS", "GB18030", "UTF-7", "IBM037", "unheard-of", "rot13", "UTF-16", "utf-8-sig", "base64"],
)
def test_an_encoding_that_cannot_be_spliced_is_refused_by_name(name: str) -> None:
    with pytest.raises(SourceError) as caught:
        detected(f'<?xml version="1.0" encoding="{name}"?><table/>'.encode())
    assert caught.value.message == (
        f"the document is encoded in {name}, which cannot be rewritten byte by byte"
    )
    assert "convert the document to UTF-8" in caught.value.hint


SPLICED = st.sampled_from(
    [
        Encoding(codec="utf-8", unit=1),
        Encoding(codec="iso8859-1", unit=1),
        Encoding(codec="utf-16-le", unit=2),
        Encoding(codec="utf-16-be", unit=2),
    ]
)


@given(SPLICED, st.text(st.sampled_from('a>"\u3e00\u003e\u203e\u3e3e\xa0é')), st.sampled_from(">\"'"))
def test_a_character_is_not_found_in_another(encoding: Encoding, text: str, character: str) -> None:
    data = text.encode(encoding.codec, "xmlcharrefreplace")
    shown = data.decode(encoding.codec)
    at = shown.find(character)
    expected = len(shown[:at].encode(encoding.codec)) if at >= 0 else -1
    assert encoding.found(character, data, 0) == expected
    assert encoding.found(character, data, 0, len(data)) == expected
    assert encoding.found(character, data, 0, max(expected, 0)) == -1


def test_what_an_encoding_lacks_becomes_a_reference() -> None:
    assert Encoding(codec="iso8859-1", unit=1).encoded("é€") == b"\xe9&#8364;"
    assert Encoding(codec="utf-8", unit=1).decoded("é€".encode()) == "é€"


def test_a_character_is_not_found_across_two_others() -> None:
    text = "\u3e41\u0100>"  # the second byte of the first and the first of the second are those of ">"
    assert Encoding(codec="utf-16-le", unit=2).found(">", text.encode("utf-16-le"), 0) == 4
