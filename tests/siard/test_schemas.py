"""What the table of elements says is what the official schemas say, and what is otherwise is told."""

from __future__ import annotations

import re
import zipfile
from collections.abc import Iterator

import pytest
from lxml import etree

from metspack.siard import metadata as siard_metadata
from metspack.siard import schemas
from metspack.siard.schemas import faults
from tests.packages import forge
from tests.shared_data import ARCHIVES, shared

_XS = "{http://www.w3.org/2001/XMLSchema}"
_OFFICIAL = {
    "2.0": "siard-2.0-metadata.xsd",
    "2.1": "siard-2.1.1-metadata.xsd",
    "2.2": "siard-2.2-metadata.xsd",
}
_NUMBERS = {("1", "1"): "", ("0", "1"): "?", ("1", "unbounded"): "+", ("0", "unbounded"): "*"}
# Lists that may be missing, or empty, without a loss: more is accepted there than the schemas have.
_WIDER = {"users"}


def _pattern(parent: etree._Element) -> str:
    written = ""
    for each in parent:
        if each.tag == f"{_XS}element":
            number = _NUMBERS[each.get("minOccurs", "1"), each.get("maxOccurs", "1")]
            name = each.get("name") or ""
            written += f"(?:{name} ){'?' if name in _WIDER else number}"
        elif each.tag == f"{_XS}sequence":
            written += _pattern(each)
        elif each.tag == f"{_XS}choice":
            written += f"(?:{'|'.join(_pattern(one) for one in each.iterfind('*'))})"
    return written


def _stated(schema: etree._Element) -> Iterator[tuple[str, str]]:
    """Yield each element that holds others, and the pattern of what is in it."""
    kinds = {each.get("name"): each for each in schema.iterfind(f"{_XS}complexType")}
    for each in schema.iter(f"{_XS}element"):
        kind = kinds.get(each.get("type"))
        if kind is None:
            kind = each.find(f"{_XS}complexType")
        if kind is not None and (pattern := _pattern(kind)):
            yield each.get("name") or "", pattern


@pytest.mark.parametrize("version", _OFFICIAL)
def test_elements_are_those_of_the_official_schema(version: str) -> None:
    path = shared("data", "xsd", _OFFICIAL[version])
    own = schemas.forms(version)
    stated = dict(_stated(etree.parse(path).getroot()))
    assert set(stated) <= set(own)
    for name, pattern in stated.items():
        if name not in _WIDER:
            assert own[name][0].pattern == pattern, name


@pytest.mark.parametrize("archive", ARCHIVES, ids=[name for _, name in ARCHIVES])
def test_nothing_is_told_of_real_archives(archive: tuple[str, str]) -> None:
    with zipfile.ZipFile(shared("data", *archive)) as container:
        data = container.read(siard_metadata.NAME)
    assert list(faults(data, siard_metadata.read(data).version)) == []


def _told(old: str, new: str, version: str = "2.2") -> list[str]:
    text = forge.metadata("0" * 32).decode()
    assert old in text
    return [each.reason for each in faults(text.replace(old, new).encode(), version)]


def test_nothing_is_told_of_a_document_as_it_should_be() -> None:
    assert _told("<rows>4", "<rows>4") == []


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ("<rows>", "<x/><rows>", "<table> has <x>"),
        ("<rows>", "<x xmlns='urn:x'/><rows>", "<table> has <urn:x x>"),
        ("<name>dbo</name>", "", "<schema> lacks <name>"),
        ("<type>INTEGER", "<typeName>T</typeName><type>INTEGER", "the elements in <column> are others"),
        ("<dbname>Northwind<", "<dbname><", "<dbname> is empty, expected a text"),
        ("<dbname>", "<dbname><b/>", "<dbname> has <b>"),
        ("<columns>", "<columns a='b'>", "<columns> has the attribute 'a'"),
        ("2015-11-26", "26.11.2015", "<archivalDate> has '26.11.2015', expected a date"),
    ],
)
def test_what_the_schema_does_not_have_is_told(old: str, new: str, reason: str) -> None:
    (told,) = _told(old, new)
    assert told.startswith(reason)


def test_another_prefix_is_nothing_to_tell() -> None:
    text = forge.metadata("0" * 32).decode().replace("xmlns=", "xmlns:s=")
    text = re.sub(r"<(/?)(?=[a-zA-Z])", r"<\1s:", text)
    assert list(faults(text.encode(), "2.2")) == []


@pytest.mark.parametrize(
    ("stated", "said"), [("", "no namespace"), (' xmlns="urn:x"', "the namespace 'urn:x'")]
)
def test_an_element_of_another_namespace_is_told(stated: str, said: str) -> None:
    text = re.sub(r' xmlns="[^"]*"', stated, forge.metadata("0" * 32).decode(), count=1)
    assert f"<siardArchive> is in {said}" in [each.reason for each in faults(text.encode(), "2.2")]


def test_what_2_1_has_may_stand_in_2_0() -> None:
    old, new = (
        "<type>INTEGER</type>",
        "<type>INTEGER</type><mimeType>a/b</mimeType><cardinality>3</cardinality>",
    )
    assert _told(old, new, "2.0") == []
    assert _told(old, new, "1.0") != []


def test_endless_faults_are_told_to_an_end() -> None:
    names = "".join(f"<x{number}/>" for number in range(1_000))
    assert len(_told("<rows>", f"{names}<rows>")) == 100
