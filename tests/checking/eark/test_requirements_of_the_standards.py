"""The tables of requirements agree with the profiles of the standards and their examples."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from lxml import etree

from metspack.checking.eark.faults import Faults
from metspack.checking.eark.requirements import NEWEST, Need, Standard, Version
from metspack.checking.eark.standards import TABLES, table
from tests.checking.eark.surveys import surveyed
from tests.shared_data import shared
from tests.tables import tabled

_CITS = ("CITS-SIARD-root.profile.xml", "CITS-SIARD-representation.profile.xml")
_PROFILES = {(Standard.SIARD, NEWEST): _CITS} | {
    (standard, each.version): (f"E-ARK-{standard.name}-v{each.version.value.replace('.', '-')}.profile.xml",)
    for standard in (Standard.CSIP, Standard.SIP)
    for each in TABLES[standard]
    if each.version is not Version.V2_3_0
}
# The list says MUST; its sentence, and the text of the standard, say SHOULD.
_READ_OTHERWISE = {"SIARD_22": (Need.MUST, Need.SHOULD)}


def _printed(document: etree._ElementTree) -> Iterator[tuple[str, Need, str]]:
    for requirement in document.iter("{*}requirement"):
        if (id_ := requirement.get("ID")) is not None:
            terms = [_text(each) for each in requirement.iter("{*}dt")]
            reported = [_text(each) for each in requirement.iter("{*}dd")]
            where = dict(zip(terms, reported, strict=True)).get("METS XPath", "")
            yield id_, Need(requirement.get("REQLEVEL", "")), where


def _text(element: etree._Element) -> str:
    return " ".join("".join(str(each) for each in element.itertext()).split())


@pytest.mark.parametrize(("standard", "version"), _PROFILES)
def test_the_table_is_that_of_the_standards_profile(standard: Standard, version: Version) -> None:
    _compare(
        [row for name in _PROFILES[standard, version] for row in _printed(etree.parse(shared("spec", name)))],
        standard,
        version,
    )


def test_the_table_of_sip_2_3_0_is_that_of_the_draft() -> None:
    path = shared("spec", "E-ARK-SIP-v2-3-0.profile-draft.xml")
    text = path.read_bytes().replace(b"</title> This is", b"</title><abstract>This is")  # as published
    document = etree.ElementTree(etree.fromstring(text, etree.XMLParser(recover=True)))
    _compare(list(_printed(document)), Standard.SIP, Version.V2_3_0)


def _compare(printed: list[tuple[str, Need, str]], standard: Standard, version: Version) -> None:
    rows = {id_: each for id_, each in table(standard, version).rows.items() if "STR" not in id_}
    assert {id_ for id_, *_ in printed} == set(rows)
    for id_, need, where in printed:
        assert (need, rows[id_].need) == _READ_OTHERWISE.get(id_, (need, need)), id_
        assert rows[id_].where == where or id_.startswith("REF_"), id_


@tabled
def test_what_the_standards_own_examples_break(name: str, number: int, standard: str, broken: str) -> None:
    document = etree.parse(shared("spec", name))
    example = list(document.iter("{http://www.loc.gov/METS/}mets"))[number]
    faults = Faults({Standard[standard]})
    is_package = "representation" not in name
    text = etree.tostring(example)
    outline = surveyed([text], faults, is_package=is_package)
    found = {dict(each.facts)["rule"] for each in faults.findings(name)}
    assert found == set(broken.split())
    assert outline.is_complete
