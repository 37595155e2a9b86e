"""The written schema has the elements of the official one; differences are reported."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from lxml import etree

from metspack.siard import schemas
from metspack.siard.schemas import faults
from tests.packages import forge
from tests.shared_data import shared
from tests.tables import read_table

_XS = "{http://www.w3.org/2001/XMLSchema}"
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
    """Yield each element with children, and the pattern of its contents."""
    kinds = {each.get("name"): each for each in schema.iterfind(f"{_XS}complexType")}
    for each in schema.iter(f"{_XS}element"):
        kind = kinds.get(each.get("type"))
        if kind is None:
            kind = each.find(f"{_XS}complexType")
        if kind is not None and (pattern := _pattern(kind)):
            yield each.get("name") or "", pattern


def test_elements_are_those_of_the_official_schema() -> None:
    path = shared("data", "xsd", "siard-2.2-metadata.xsd")
    own = dict(_stated(etree.fromstring(schemas.metadata_schema())))
    stated = dict(_stated(etree.parse(path).getroot()))
    assert set(stated) <= set(own)
    for name, pattern in stated.items():
        if name not in _WIDER:
            assert own[name] == pattern, name


def _document() -> str:
    return forge.metadata("0" * 32).decode().replace("</schemas>", "</schemas><users/>")


def _faults(old: str, new: str) -> list[str]:
    text = _document()
    assert old in text
    return faults(text.replace(old, new).encode())


def test_nothing_is_reported_of_a_document_as_it_should_be() -> None:
    assert _faults("<rows>4", "<rows>4") == []


@pytest.mark.parametrize(("old", "new", "reason"), read_table(__file__, "faults"))
def test_what_the_schema_does_not_have_is_reported(old: str, new: str, reason: str) -> None:
    assert _faults(old, new)[0].startswith(reason)


def test_another_prefix_is_nothing_to_tell() -> None:
    text = _document().replace("xmlns=", "xmlns:s=")
    text = re.sub(r"<(/?)(?=[a-zA-Z])", r"<\1s:", text)
    assert faults(text.encode()) == []


def test_endless_faults_are_reported_to_an_end() -> None:
    columns = "<column a='b'/>" * 1_000
    assert len(_faults("<columns>", f"<columns>{columns}")) == 100
