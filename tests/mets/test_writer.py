import hashlib
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jinja2 import UndefinedError
from lxml import etree
from markupsafe import Markup

from metspack.errors import ConfigError, TargetError
from metspack.mets import writer
from tests.tables import tabled


@pytest.fixture
def template(tmp_path: Path) -> Callable[..., bytes]:
    """Return the function that makes a folder with one template and writes from it."""
    folder = tmp_path / "mine"
    folder.mkdir()

    def written(text: str, **facts: object) -> bytes:
        (folder / "mets.xml.j2").write_text(text, encoding="utf-8")
        writer.write_document(tmp_path / "mets.xml", folder, "mets.xml.j2", facts, ["MD5"])
        return (tmp_path / "mets.xml").read_bytes()

    return written


XML_TEXT = st.text(
    st.characters(codec="utf-8", exclude_characters="\ufffe\uffff", exclude_categories=("Cs", "Cc"))
    | st.sampled_from("\t\n\r")
)


@given(XML_TEXT)
def test_any_value_is_read_back_from_attribute_and_element(value: str) -> None:
    shown = writer.finalized(value)
    root = etree.fromstring(f'<a b="{shown}">{shown}</a>')
    assert root.get("b") == value
    assert (root.text or "") == value


@pytest.mark.parametrize("bad", ["\0", "\x01", "\x1f", "\x0b", "\ufffe", "\uffff", "\ud800"])
def test_what_xml_cannot_hold_is_refused_by_its_number(bad: str) -> None:
    with pytest.raises(ConfigError, match=f"holds the character U\\+{ord(bad):04X}") as caught:
        writer.finalized(f"a{bad}b")
    assert "without control characters" in caught.value.hint


def test_numbers_are_written_and_markup_is_left() -> None:
    assert writer.finalized(4_000_000_000) == "4000000000"
    assert writer.finalized(Markup("<a/>")) == "<a/>"


def test_a_document_is_hashed_as_it_is_written(template: Callable[..., bytes], tmp_path: Path) -> None:
    data = template('<a b="{{ value }}">é</a>\n', value="<&\">'\n")
    assert data == '<a b="&lt;&amp;&#34;&gt;&#39;&#10;">é</a>\n'.encode()
    (tmp_path / "mets.xml").unlink()
    facts = {"value": 1}
    hashers = writer.write_document(
        tmp_path / "mets.xml", tmp_path / "mine", "mets.xml.j2", facts, ["MD5", "SHA-256"]
    )
    written = (tmp_path / "mets.xml").read_bytes()
    assert hashers.size == len(written)
    assert hashers.digest("SHA-256").value == hashlib.sha256(written).hexdigest()


def test_a_document_streams_from_an_iterator(template: Callable[..., bytes], tmp_path: Path) -> None:
    sizes: list[int] = []

    def values() -> Iterator[str]:
        for number in range(20_000):
            sizes.append((tmp_path / "mets.xml").stat().st_size)
            yield f"{number:0100}"

    assert len(template("{% for each in values %}<v>{{ each }}</v>{% endfor %}", values=values())) > 2_000_000
    assert sizes[-1] > 1_000_000


def test_plain_text_is_not_escaped(tmp_path: Path) -> None:
    (tmp_path / "about.txt.j2").write_text("{{ title }}\n", encoding="utf-8")
    assert writer.plain(tmp_path, "about.txt.j2", {"title": "A & B <\x01>"}) == "A & B <\x01>\n"


def test_a_fact_that_is_missing_is_an_error(template: Callable[..., bytes]) -> None:
    with pytest.raises(UndefinedError, match="missing"):
        template("{{ missing }}")


def test_what_exists_is_not_overwritten(template: Callable[..., bytes], tmp_path: Path) -> None:
    (tmp_path / "mets.xml").write_bytes(b"old")
    with pytest.raises(TargetError, match="File exists"):
        template("new")
    assert (tmp_path / "mets.xml").read_bytes() == b"old"


@tabled
def test_templates_tell_urns_as_a_check_does(
    template: Callable[..., bytes], objid: str, expected: bytes
) -> None:
    assert template('{{ "URN" if objid is urn else "OTHER" }}', objid=objid) == expected
