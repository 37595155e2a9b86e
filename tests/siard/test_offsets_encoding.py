import codecs

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metspack.errors import SourceError
from metspack.siard.offsets import Encoding, detected
from tests.laws import of_each


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


ENCODINGS = st.sampled_from(
    [
        Encoding(codec="utf-8", unit=1),
        Encoding(codec="iso8859-1", unit=1),
        Encoding(codec="utf-16-le", unit=2),
        Encoding(codec="utf-16-be", unit=2),
    ]
)


@given(ENCODINGS, st.text(st.sampled_from('a>"\u3e00\u003e\u203e\u3e3e\xa0é')), st.sampled_from(">\"'"))
def test_a_character_is_found_where_it_stands_and_not_inside_another(
    encoding: Encoding, text: str, character: str
) -> None:
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
