"""Packages by each version of CSIP and SIP: what is written, and by which versions it passes the check."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from metspack import checking
from metspack.building import build
from metspack.building.build import BuildOptions
from metspack.building.convert import convert_package
from metspack.checking.eark.profiles import SIP_PROFILES, opening
from metspack.checking.eark.requirements import Standard
from metspack.checking.eark.standards import TABLES
from metspack.errors import ConfigError, TargetError
from metspack.limits import Limits
from metspack.merging.merge import merge_ips
from metspack.mets.dialects.csip.dialect import Csip
from metspack.mets.dialects.csip.package import CsipOptions
from metspack.mets.dialects.csip.terms import CSIP_VERSIONS, SIP_VERSIONS, Agents, Terms
from metspack.mets.reader import Agent, Fact, Root
from tests import siards
from tests.kept import copied
from tests.tables import tabled

_SIP = "https://earksip.dilcis.eu/profile/E-ARK-SIP"
_CSIP = "https://earkcsip.dilcis.eu/profile/E-ARK-CSIP"
_SIARD = "https://citssiard.dilcis.eu/profile/E-ARK-SIARD-ROOT.xml"
_AIP = "https://earkaip.dilcis.eu/profile/E-ARK-AIP.xml"
_OWN = "https://archives.example/p.xml"
_SUBMITTER = Agents(submitter="The Ministry", submitter_code="M-1")
_ROLES = {"2.3.0": 'ROLE="OTHER" OTHERROLE="SUBMITTER" TYPE="ORGANIZATION"'}

BROKEN = {
    # written by: {judged by: the requirements of which it breaks a MUST}
    "2.0.4": {"2.1.0": "CSIP114", "2.2.0": "CSIP114", "2.3.0": "CSIP114 SIP9"},
    "2.1.0": {"2.0.4": "CSIP86", "2.3.0": "SIP9"},
    "2.2.0": {"2.0.4": "CSIP86", "2.3.0": "SIP9"},
    "2.3.0": {"2.0.4": "CSIP86"},
}


def address(site: str, version: str) -> str:
    return f"{site}-v{version.replace('.', '-')}.xml"


def options(mets_profile: str | None = None, **terms: Any) -> BuildOptions:
    return BuildOptions(
        created="2020-01-01T00:00:00Z",
        limits=Limits(files=1),
        dialect="csip",
        mets_profile=mets_profile,
        dialect_options=CsipOptions(agents=_SUBMITTER, **terms),
    )


def built(folder: Path, mets_profile: str | None = None, **terms: str) -> Path:
    source = siards.siard(folder / "Small.siard", b"one", b"two")
    wanted = options(mets_profile, **terms)
    return copied((__name__, repr(wanted)), folder / "out", lambda out: build.build(source, out, wanted))


def documents(package: Path) -> list[Path]:
    return sorted(package.rglob("METS.xml"))


def broken(package: Path) -> set[str]:
    """Return the requirements whose MUST a package breaks."""
    found = checking.check(package, checking.Level.STRUCTURE)
    return {each.requirement for each in found if each.code == "M030"}


def test_versions_are_those_that_the_check_knows() -> None:
    for standard, versions in ((Standard.CSIP, CSIP_VERSIONS), (Standard.SIP, SIP_VERSIONS)):
        assert tuple(each.version.value for each in TABLES[standard]) == versions
    assert {address(_SIP, each) for each in SIP_VERSIONS} | {f"{_SIP}.xml"} == SIP_PROFILES


@pytest.mark.parametrize("version", SIP_VERSIONS)
def test_a_sip_passes_by_its_own_version_and_not_by_those_that_differ(tmp_path: Path, version: str) -> None:
    package = built(tmp_path, profile="sip", sip_version=version)
    assert list(checking.check(package)) == []
    texts = {path: path.read_text(encoding="utf-8") for path in documents(package)}
    for path, text in texts.items():
        assert f'PROFILE="{address(_SIP, version)}"' in text
        assert (_ROLES.get(version, 'ROLE="CREATOR" TYPE="ORGANIZATION"') in text) == (
            "representations" not in path.parts or "<mets:name>The Ministry" in text
        )
    for other in SIP_VERSIONS:
        for path, text in texts.items():
            path.write_text(text.replace(address(_SIP, version), address(_SIP, other)), encoding="utf-8")
        assert broken(package) == set(BROKEN[version].get(other, "").split()), (version, other)


@pytest.mark.parametrize("version", CSIP_VERSIONS)
def test_a_package_of_csip_passes_by_its_own_version(tmp_path: Path, version: str) -> None:
    package = built(tmp_path, csip_version=version)
    assert list(checking.check(package)) == []
    for path in documents(package):
        with path.open("rb") as file:
            found = opening(iter(lambda: file.read(4096), b""))
        assert found.version is not None
        assert (found.version.value, found.nearness) == (version, "")


def test_without_a_version_the_newest_is_written_as_before(tmp_path: Path) -> None:
    (tmp_path / "usual").mkdir()
    texts = [path.read_text("utf-8") for path in documents(built(tmp_path, csip_version="2.2.0"))]
    usual = [path.read_text("utf-8") for path in documents(built(tmp_path / "usual"))]
    digests = re.compile(r'CHECKSUM="\w+"|SIZE="\d+"')
    assert [digests.sub("", each.replace(address(_CSIP, "2.2.0"), f"{_CSIP}.xml")) for each in texts] == [
        digests.sub("", each) for each in usual
    ]


@pytest.mark.parametrize("version", SIP_VERSIONS)
def test_the_address_of_a_profile_is_enough(tmp_path: Path, version: str) -> None:
    package = built(tmp_path, address(_SIP, version), profile="sip")
    assert list(checking.check(package)) == []


@tabled
def test_versions_that_contradict_other_options_are_refused(
    tmp_path: Path, terms: dict[str, str], message: str
) -> None:
    source = siards.siard(tmp_path / "Small.siard", b"one")
    with pytest.raises(ConfigError, match=re.escape(message)):
        build.build(source, tmp_path / "out", options(**terms))
    assert not (tmp_path / "out").exists()


@tabled
def test_versions_that_belong_together_are_taken(tmp_path: Path, terms: dict[str, str]) -> None:
    assert list(checking.check(built(tmp_path, **terms))) == []


def test_a_merged_package_keeps_the_version_of_its_parent(tmp_path: Path) -> None:
    package = built(tmp_path, profile="sip", sip_version="2.3.0")
    (parent,) = (path.parents[3] for path in package.rglob("*.siard"))
    merge_ips([package], tmp_path / "whole", replace(options(), dialect_options=None))
    (whole, _) = documents(tmp_path / "whole")
    text = whole.read_text("utf-8")
    assert address(_SIP, "2.3.0") in text
    assert _ROLES["2.3.0"] in text
    assert "M-1" in text
    assert parent.exists()
    merge_ips([package], tmp_path / "other", replace(options(address(_SIP, "2.1.0")), dialect_options=None))
    assert list(checking.check(tmp_path / "other")) == []


@pytest.mark.parametrize("command", [merge_ips, convert_package])
def test_another_profile_is_kept_where_it_goes_with_type_and_content(
    tmp_path: Path, command: Callable[..., object]
) -> None:
    def profiles(source: Path, name: str, **terms: str) -> set[str]:
        wanted = replace(options(), dialect_options=Csip.options(terms))
        command([source] if command is merge_ips else source, tmp_path / name, wanted)
        texts = (path.read_text("utf-8") for path in documents(tmp_path / name))
        return {found for text in texts for found in re.findall('PROFILE="([^"]*)"', text)}

    package = built(tmp_path, _OWN, package_type="AIP", content_type="SIARD2")
    assert profiles(package, "kept") == {_OWN}
    assert profiles(package, "sip", package_type="SIP") == {f"{_CSIP}.xml"}
    assert profiles(package, "chosen", profile="csip") == {f"{_CSIP}.xml"}
    assert profiles(package, "version", csip_version="2.1.0") == {address(_CSIP, "2.1.0")}


def test_a_converted_package_keeps_the_version_and_the_agents_of_its_source(tmp_path: Path) -> None:
    package = built(tmp_path, profile="sip", sip_version="2.3.0", content_type="SIARD2")
    usual = replace(options(), dialect_options=None)
    convert_package(package, tmp_path / "same", usual)
    before, after = ([path.read_bytes() for path in documents(each)] for each in (package, tmp_path / "same"))
    assert before == after
    convert_package(package, tmp_path / "other", replace(usual, dialect="recommendation"))
    convert_package(tmp_path / "other", tmp_path / "usual", usual)
    assert all("SIP-v2-3-0" not in path.read_text("utf-8") for path in documents(tmp_path / "usual"))


@tabled
def test_an_address_that_the_own_check_would_report_is_refused_before_the_first_byte(
    tmp_path: Path, mets_profile: str, terms: dict[str, str], message: str
) -> None:
    source = siards.siard(tmp_path / "Small.siard", b"one")
    with pytest.raises(ConfigError, match=re.escape(message)):
        build.build(source, tmp_path / "out", options(mets_profile, **terms))
    assert [each.name for each in tmp_path.iterdir()] == ["Small.siard"]


@pytest.mark.parametrize("mets_profile", [f"{_SIP}.xml", address(_SIP, "2.3.0"), _SIARD])
def test_the_address_of_a_sip_demands_a_submitter_as_its_profile_does(
    tmp_path: Path, mets_profile: str
) -> None:
    source = siards.siard(tmp_path / "Small.siard", b"one")
    wanted = replace(options(mets_profile), dialect_options=CsipOptions())
    with pytest.raises(ConfigError, match="requires a submitting agent in a SIP"):
        build.build(source, tmp_path / "out", wanted)
    assert list(checking.check(built(tmp_path, mets_profile))) == []


@pytest.mark.parametrize("mets_profile", [_AIP, f"{_CSIP}.xml", _SIARD])
def test_addresses_of_e_ark_go_with_an_aip_of_cits_siard(tmp_path: Path, mets_profile: str) -> None:
    assert list(checking.check(built(tmp_path, mets_profile, package_type="AIP"))) == []


def test_a_version_whose_sip2_has_no_version_says_how_to_write_that_address(tmp_path: Path) -> None:
    source = siards.siard(tmp_path / "Small.siard", b"one")
    for version, is_old in (("2.0.4", True), ("2.1.0", True), ("2.2.0", False)):
        with pytest.raises(ConfigError) as refused:
            build.build(source, tmp_path / "out", options(f"{_SIP}.xml", profile="sip", sip_version=version))
        assert ("demands the address without a version" in refused.value.hint) == is_old


def adopted(*facts: Fact, **given: Any) -> CsipOptions:
    found = Csip.adopted(Csip.options(given), Path(), (), None, facts).options
    assert isinstance(found, CsipOptions)
    return found


def organisation(role: str, name: str, code: str = "") -> Agent:
    return Agent(type="ORGANIZATION", role=role, name=name, notes=(), code=code)


@pytest.mark.parametrize("places", [(0, 1), (1, 0)])
def test_who_has_the_role_of_a_submitter_counts_before_a_creator(places: tuple[int, int]) -> None:
    stated = (organisation("CREATOR", "The Office", "O-1"), organisation("SUBMITTER", "The Ministry"))
    found = adopted(*(stated[each] for each in places), organisation("SUBMITTER", "Another")).agents
    assert (found.submitter, found.submitter_code) == ("The Ministry", "")
    assert adopted(stated[0]).agents.submitter_code == "O-1"


def test_only_another_profile_drops_the_stated_version() -> None:
    csip, sip = (
        Root(objid="X", type=None, profile=each, label=None, line=1)
        for each in (address(_CSIP, "2.1.0"), address(_SIP, "2.3.0"))
    )
    assert adopted(csip, profile="csip").csip_version == "2.1.0"
    assert adopted(csip, profile="sip").csip_version == ""
    assert adopted(sip, profile="sip").sip_version == "2.3.0"
    assert adopted(sip, profile="csip").sip_version == ""
    assert adopted(sip, sip_version="2.1.0", profile="sip").sip_version == "2.1.0"


@pytest.mark.parametrize("profile", [None, "", f"{_SIP}.xml", address(_CSIP, "9.9.9"), _SIARD])
def test_a_profile_that_options_express_is_not_kept_beside_them(profile: str | None) -> None:
    stated = Root(objid="X", type=None, profile=profile, label=None, line=1)
    wanted = Csip.options({"package_type": "AIP", "content_type": "SIARD2"})
    assert Csip.adopted(wanted, Path(), (), None, [stated]).profile is None


def test_the_options_are_named_when_the_own_check_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = siards.siard(tmp_path / "Small.siard", b"one")
    wanted = options(f"{_SIP}.xml", package_type="AIP")
    monkeypatch.setattr(Terms, "check", lambda *_: None)
    with pytest.raises(TargetError, match="SIP4") as refusal:
        build.build(source, tmp_path / "out", wanted)
    assert refusal.value.hint.startswith(
        "--mets-profile or --type or --submitter may have led there: "
        "leave out what does not go with the profile, with --restart. "
    )
    assert "out.partial keeps what is done" in refusal.value.hint
    assert "report it" not in refusal.value.hint
    assert "again" not in refusal.value.hint


def test_a_version_to_come_is_one_note_of_packages_and_representations(tmp_path: Path) -> None:
    package = built(tmp_path, address(_SIP, "9.9.9"), profile="sip")
    found = list(checking.check(package, checking.Level.STRUCTURE))
    assert [(each.code, each.requirement) for each in found] == [("M032", "SIP2")]
    assert "newer than metspack knows; judged by 2.2.0" in found[0].message
