"""A document told again is the same document to a validator."""

from __future__ import annotations

import base64

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lxml import etree

from metspack import safexml
from metspack.mets import schema
from metspack.mets.schema import retold
from tests.laws import law

SCHEMA = etree.XMLSchema(
    etree.fromstring(
        '<schema xmlns="http://www.w3.org/2001/XMLSchema"><element name="a" type="base64Binary"/></schema>'
    )
)


def reported(data: bytes, size: int = 1 << 16) -> list[schema.MarkupPiece]:
    return list(retold(data[start : start + size] for start in range(0, len(data), size)))


def together(data: bytes, size: int = 1 << 16) -> bytes:
    return b"".join(piece.data for piece in reported(data, size))


def test_pieces_have_the_line_and_the_id_of_their_element() -> None:
    data = b'<a>\n<b ID="x"\n c="1">text</b>\n<c/></a>'
    assert [(piece.data.strip(), piece.line, piece.id) for piece in reported(data)] == [
        (b"<a>", 1, ""),
        (b"", 1, ""),
        (b'<b ID="x" c="1">', 2, "x"),
        (b"text", 2, "x"),
        (b"</b>", 2, "x"),
        (b"", 1, ""),
        (b"<c>", 4, ""),
        (b"</c>", 4, ""),
        (b"</a>", 1, ""),
    ]


def test_what_is_not_well_formed_raises() -> None:
    with pytest.raises(safexml.XmlError):
        reported(b"<a>")


TEXT = st.text(
    st.characters(codec="utf-8", exclude_categories=("Cc", "Cs")) | st.sampled_from("<>&\"'\t\n\r]")
)


@law(60)
@given(TEXT, TEXT, st.integers(min_value=1, max_value=100))
def test_attributes_and_texts_come_through(value: str, text: str, size: int) -> None:
    root = etree.Element("a", b=value)
    root.text = text
    etree.SubElement(root, "c").tail = text
    before = etree.tostring(root, encoding="utf-8")
    after = etree.fromstring(together(before, size))
    assert (after.get("b"), after.text or "", after[0].tail or "") == (value, text, text)


@law(60)
@given(
    st.lists(
        st.one_of(
            st.binary(max_size=40).map(lambda data: base64.b64encode(data).decode()),
            st.sampled_from([" ", "\n", "=", "==", "!", "A", "AA", "AAA", "&amp;", "<!-- -->"]),
        ),
        max_size=12,
    ),
    st.integers(min_value=0, max_value=20),
    st.integers(min_value=1, max_value=60),
)
def test_shortened_base64_gets_the_same_verdict(stretches: list[str], long: int, size: int) -> None:
    data = f"<a>{''.join(stretches)}</a>".encode()
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(schema, "_LONG", long)
        shortened = together(data, size)
    assert SCHEMA.validate(etree.fromstring(shortened)) == SCHEMA.validate(etree.fromstring(data))


def test_long_base64_is_retold_in_short() -> None:
    assert len(together(b"<a>" + b"QUJD\n" * 200_000 + b"</a>")) < 100_000
    assert len(together(b"<a>" + b"=\n" * 500_000 + b"</a>")) < 100_000
