"""Packages of the CSIP dialect: what lies on disk, what METS and PREMIS say, and official schemas to it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from lxml import etree

from metspack import api, checking
from metspack.building import build
from metspack.building.build import BuildOptions
from metspack.errors import ConfigError
from metspack.limits import Limits
from metspack.mets.dialects.csip.package import CsipOptions
from metspack.mets.dialects.csip.terms import Agents
from metspack.mets.dialects.interface import Software
from tests import siards
from tests.kept import copied
from tests.official import mets_faults, premis_faults
from tests.tables import tabled
from tests.trees import names, tree

CREATED = "2020-01-01T00:00:00Z"
OPTIONS = BuildOptions(
    created=CREATED,
    software=Software(name="metspack", version="metspack 0"),
    limits=Limits(files=3, bytes=100),
    checksum="SHA-256",
    dialect="csip",
    layout="lobseg",
    objid="N",
)
CONTENTS = (b"a" * 40, b"b" * 30, b"c" * 250, b"d", b"")
M = "{http://www.loc.gov/METS/}"
X = "{http://www.w3.org/1999/xlink}"
C = "{https://DILCIS.eu/XML/METS/CSIPExtensionMETS}"
P = "{http://www.loc.gov/premis/v3}"


def built(folder: Path, options: BuildOptions = OPTIONS, target: str = "out", version: str = "2.1") -> Path:
    source = folder / "N.siard"
    if source.exists():
        build.build(source, folder / target, options)
        return folder / target
    siards.packed(source, siards.parts(siards.lobs(*CONTENTS), version=version))
    wanted = (__name__, version, repr(options))
    return copied(wanted, folder / target, lambda out: build.build(source, out, options))


def csip(**options: Any) -> BuildOptions:
    return replace(OPTIONS, dialect_options=CsipOptions(**options))


def documents(package: Path, name: str) -> list[Path]:
    return sorted(package.rglob(name))


def root(path: Path) -> Any:
    return etree.parse(path).getroot()


def findings(package: Path) -> list[str]:
    """Return the findings on a package, except that a LOB is in parts."""
    found = checking.check(package)
    return [f"{each.path}: {each.code} {each.message}" for each in found if each.code != "S010"]


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A parent with four children, with a LOB that is in three of them."""
    return built(tmp_path_factory.mktemp("csip"))


def test_every_ip_has_its_folder_and_the_manifests_lie_beside_them(package: Path) -> None:
    ips = {"N", "N_lobseg_0", "N_lobseg_1", "N_lobseg_2", "N_lobseg_3"}
    assert names(package) == {*ips, "manifest-md5.txt", "manifest-sha256.txt"}
    common = {
        "METS.xml",
        "documentation/about-this-package.txt",
        "metadata/descriptive/dublin-core.xml",
        "metadata/preservation/premis.xml",
        "representations/rep1/METS.xml",
        "representations/rep1/metadata/preservation/premis.xml",
        *(f"schemas/{name}.xsd" for name in ("csip", "mets", "sip", "xlink")),
    }
    data = {
        ip: {name for name in tree(package / ip) if not name.endswith("/") and name not in common}
        for ip in ips
    }
    for ip in ips:
        assert common <= tree(package / ip).keys()
    lobs = "representations/rep1/data/N_lobseg_{0}/content/schema0/table0/lob2/record"
    assert data == {
        "N": {"representations/rep1/data/N.siard"},
        "N_lobseg_0": {lobs.format(0) + name for name in ("0.bin", "1.bin", "2.bin.0")},
        "N_lobseg_1": {f"{lobs.format(1)}2.bin.1"},
        "N_lobseg_2": {f"{lobs.format(2)}2.bin.2"},
        "N_lobseg_3": {lobs.format(3) + name for name in ("2.bin.z", "3.bin", "4.bin")},
    }


def test_the_package_checks_without_a_finding(package: Path) -> None:
    assert findings(package) == []


@pytest.mark.slow
@pytest.mark.parametrize(
    ("style", "objid"), [("aip", None), ("csip-large", "urn:example:N"), ("recommendation", "urn:example:N")]
)
def test_every_link_style_checks_without_a_finding_and_is_valid(
    tmp_path: Path, style: str, objid: str | None
) -> None:
    options = replace(csip(link_style=style, roda_ancestors=True), objid=objid)
    package = built(tmp_path, options)
    assert findings(package) == []
    assert list(faults(package)) == []


@pytest.mark.slow
@pytest.mark.parametrize(
    ("profile", "layout"), [("csip", "siard22"), ("cits-siard", "lobseg"), ("sip", "siard22")]
)
def test_every_profile_and_layout_checks_without_a_finding_and_is_valid(
    tmp_path: Path, profile: str, layout: str
) -> None:
    options = replace(csip(profile=profile, agents=Agents(submitter="National Archives")), layout=layout)
    package = built(tmp_path, options)
    assert findings(package) == []
    assert list(faults(package)) == []


@pytest.mark.parametrize("profile", ["cits-siard", "sip"])
def test_a_sip_of_a_profile_that_asks_for_it_is_submitted_by_somebody(tmp_path: Path, profile: str) -> None:
    with pytest.raises(ConfigError, match=f"the profile {profile} requires a submitting agent in a SIP"):
        built(tmp_path, csip(profile=profile))


def test_a_package_of_cits_siard_that_is_no_sip_is_submitted_by_nobody(tmp_path: Path) -> None:
    assert findings(built(tmp_path, csip(profile="cits-siard", package_type="AIP"))) == []


def faults(package: Path) -> Iterator[str]:
    for each in documents(package, "METS.xml"):
        yield from mets_faults(each)
    for each in documents(package, "premis.xml"):
        yield from premis_faults(each)


def test_parent_and_children_name_each_other_by_identity_and_place(package: Path) -> None:
    (down,) = root(package / "N/METS.xml").findall(f"{M}structMap[@LABEL='child SIPs']")
    named = [
        [
            (each.get("LOCTYPE"), each.get("OTHERLOCTYPE"), each.get(f"{X}href"))
            for each in div.iter(f"{M}mptr")
        ]
        for div in down.iter(f"{M}div")
        if div.get("LABEL") == "child SIP"
    ]
    assert named == [
        [("OTHER", "IDENTIFIER", f"N_lobseg_{n}"), ("URL", None, f"../N_lobseg_{n}/METS.xml")]
        for n in range(4)
    ]
    for number in range(4):
        (up,) = root(package / f"N_lobseg_{number}/METS.xml").findall(f"{M}structMap[@LABEL='parent SIP']")
        assert [each.get(f"{X}href") for each in up.iter(f"{M}mptr")] == ["N", "../N/METS.xml"]


@pytest.mark.parametrize(("version", "profile"), [("1.0", "csip"), ("2.2", "cits-siard")])
def test_versions_and_profiles_are_stated_as_cits_siard_has_them(
    tmp_path: Path, version: str, profile: str
) -> None:
    package = built(tmp_path, csip(profile=profile, agents=Agents(submitter="X")), version=version)
    for ip, word in (("N", f"SIARD_{version}"), ("N_lobseg_0", "SIARD_lobs")):
        own, representation = (
            root(package / ip / "METS.xml"),
            root(package / ip / "representations/rep1/METS.xml"),
        )
        assert own.get(f"{C}OTHERCONTENTINFORMATIONTYPE") is None
        assert representation.get(f"{C}OTHERCONTENTINFORMATIONTYPE") == word
        groups = own.findall(f"{M}fileSec/{M}fileGrp[@{C}OTHERCONTENTINFORMATIONTYPE]")
        assert [each.get("USE") for each in groups] == ["Representations/rep1"]
        assert {each.get(f"{C}CONTENTINFORMATIONTYPE") for each in (own, representation)} == {
            "citssiard_v1_0"
        }
        marked = representation.findall(f".//{M}file[@{C}OTHERCONTENTINFORMATIONTYPE]")
        assert len(marked) == (ip == "N")
        assert own.get("PROFILE") != representation.get("PROFILE") or profile == "csip"


def test_premis_tells_files_parts_and_what_was_done(package: Path) -> None:
    document = root(package / "N/representations/rep1/metadata/preservation/premis.xml")
    objects = {
        each.findtext(f"{P}objectIdentifier/{P}objectIdentifierValue"): [
            value.text for value in each.iter(f"{P}relatedObjectIdentifierValue")
        ]
        for each in document.iter(f"{P}object")
    }
    lob = "s0.t0.c2.r3"
    assert objects == {"rep1": ["N"], "ID_N.SIARD": [], lob: [f"{lob}.p{number}" for number in range(4)]}
    assert [each.text for each in document.iter(f"{P}eventType")] == [
        "message digest calculation",
        "metadata modification",
    ]
    child = root(package / "N_lobseg_1/representations/rep1/metadata/preservation/premis.xml")
    assert [each.text for each in child.iter(f"{P}eventType")] == ["message digest calculation", "splitting"]
    digests = [each.text for each in child.iter(f"{P}messageDigestAlgorithm")]
    assert digests == ["MD5", "SHA-256"]
    assert all(each.text == "metspack" for each in child.iter(f"{P}linkingAgentIdentifierValue"))


def test_what_a_person_adds_is_in_the_package_and_in_its_mets(tmp_path: Path) -> None:
    notes, schemas = tmp_path / "notes", tmp_path / "schemas"
    (notes / "a b").mkdir(parents=True)
    (notes / "a b/ä.pdf").write_bytes(b"pdf")
    schemas.mkdir()
    (schemas / "own.xsd").write_bytes(b"<x/>")
    ead = tmp_path / "ead.xml"
    ead.write_text('<ead xmlns="urn:isbn:1-931666-22-9"/>')
    agents = Agents(
        submitter="S & Co",
        submitter_code="s",
        archival_creator="A",
        archival_creator_code="a",
        preservation="P",
    )
    options = replace(
        csip(documentation=notes, schemas=schemas, descriptive=ead, agents=agents, package_type="AIP"),
        agents=("Maker",),
    )
    package = built(tmp_path, options)
    assert findings(package) == []
    assert list(faults(package)) == []
    parent = root(package / "N/METS.xml")
    hrefs = {each.get(f"{X}href") for each in parent.iter(f"{M}FLocat")}
    assert {"documentation/a%20b/%C3%A4.pdf", "schemas/own.xsd"} <= hrefs
    (no_pdf,) = parent.xpath("//*[contains(@*[local-name() = 'href'], '.pdf')]/..")
    assert no_pdf.get("MIMETYPE") == "application/octet-stream"
    assert (package / "N/documentation/a b/ä.pdf").read_bytes() == b"pdf"
    assert parent.find(f"{M}dmdSec/{M}mdRef").get("MDTYPE") == "EAD"
    assert [
        (each.get("ROLE"), each.findtext(f"{M}name"), each.findtext(f"{M}note"))
        for each in parent.iter(f"{M}agent")
    ] == [
        ("CREATOR", "metspack", "metspack 0"),
        ("ARCHIVIST", "A", "a"),
        ("CREATOR", "S & Co", "s"),
        ("PRESERVATION", "P", None),
        ("OTHER", "Maker", None),
    ]
    child = root(package / "N_lobseg_0/METS.xml")
    assert child.find(f"{M}dmdSec/{M}mdRef").get("MDTYPE") == "DC"
    assert child.find(f"{M}metsHdr").get(f"{C}OAISPACKAGETYPE") == "AIP"


def test_lobs_without_an_archive_are_left_to_the_other_dialect(tmp_path: Path) -> None:
    (tmp_path / "content/schema0/table0/lob2").mkdir(parents=True)
    (tmp_path / "content/schema0/table0/lob2/record0.bin").write_bytes(b"x")
    with pytest.raises(ConfigError, match="requires a SIARD archive"):
        build.build(tmp_path / "content", tmp_path / "out", replace(OPTIONS, objid=None))


def test_a_parent_without_lobs_has_no_children(tmp_path: Path) -> None:
    siards.siard(tmp_path / "N.siard")
    package = built(tmp_path)
    assert names(package) == {"N", "manifest-md5.txt", "manifest-sha256.txt"}
    assert findings(package) == []


def test_the_layout_is_that_of_the_archives_version_unless_another_is_requested(tmp_path: Path) -> None:
    source = siards.siard(tmp_path / "N.siard", b"x")
    made = build.build(source, tmp_path / "own", replace(OPTIONS, layout=None))
    assert (made.layout, made.warnings) == ("siard22", ())
    made = build.build(source, tmp_path / "other", OPTIONS)
    assert "SIARD_22b" in made.warnings[0]


def _with_agents(terms: dict[str, Any]) -> dict[str, Any]:
    """Return terms of CSIP, whose submitter is stated by name."""
    submitter = terms.get("submitter")
    rest = {name: value for name, value in terms.items() if name != "submitter"}
    return rest | ({"agents": Agents(submitter=submitter)} if submitter else {})


@tabled
def test_what_cannot_be_stated_is_refused_before_anything_is_written(
    tmp_path: Path, words: str, terms: dict[str, Any] | None, options: dict[str, Any] | None
) -> None:
    with pytest.raises(ConfigError, match=re.escape(words)) as raised:
        built(tmp_path, replace(csip(**_with_agents(terms)) if terms else OPTIONS, **(options or {})))
    assert raised.value.hint
    assert names(tmp_path) == {"N.siard"}


@tabled
def test_descriptive_metadata_that_is_not_xml_is_refused(
    tmp_path: Path, name: str, data: bytes | None, words: str
) -> None:
    if data is not None:
        (tmp_path / name).write_bytes(data)
    with pytest.raises(ConfigError, match=words):
        built(tmp_path, csip(descriptive=tmp_path / name))


@pytest.mark.parametrize("name", ["METS.xml", "below/mets.xml", "about-this-package.txt", "\udcff", ""])
def test_documentation_that_cannot_be_in_a_package_is_refused(tmp_path: Path, name: str) -> None:
    folder = tmp_path / "notes"
    if name:
        (folder / name).parent.mkdir(parents=True)
        (folder / name).write_bytes(b"")
    with pytest.raises(ConfigError, match=r"documentation|METS"):
        built(tmp_path, csip(documentation=folder))


def test_a_folder_without_schemas_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="no XML schema"):
        built(tmp_path, csip(schemas=tmp_path))


def test_other_content_information_types_say_no_more_of_what_they_hold(tmp_path: Path) -> None:
    package = built(tmp_path, csip(content_type="SIARD2"))
    for path in documents(package, "METS.xml"):
        document = root(path)
        assert document.get(f"{C}CONTENTINFORMATIONTYPE") == "SIARD2"
        assert not document.findall(f".//*[@{C}OTHERCONTENTINFORMATIONTYPE]")
    assert findings(package) == []


@pytest.mark.parametrize(("objid", "representation"), [("urn:parent:1", "rep1"), ("children", "childcare")])
def test_names_with_the_words_of_links_lead_nowhere(tmp_path: Path, objid: str, representation: str) -> None:
    options = replace(csip(representation=representation), objid=objid)
    package = built(tmp_path, options)
    assert findings(package) == []
    api.restore(package, tmp_path / "back")
    assert sorted(each.read_bytes() for each in (tmp_path / "back").rglob("*.bin")) == sorted(CONTENTS)
