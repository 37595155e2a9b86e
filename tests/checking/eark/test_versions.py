"""The version of CSIP and SIP that a package declares, and what follows from it."""

from __future__ import annotations

from pathlib import Path

import pytest

from metspack.checking import check
from metspack.checking.eark.profiles import Opening, Profile
from metspack.checking.eark.requirements import Version
from metspack.model import Finding, Severity
from tests.checking.rule_damages import Damage, both, package, without
from tests.packages import csip
from tests.packages.csip import PACKAGE_METS
from tests.packages.forge import edit
from tests.tables import tabled

_SIP = "https://earksip.dilcis.eu/profile/E-ARK-SIP"
_CSIP = "https://earkcsip.dilcis.eu/profile/E-ARK-CSIP"


def declaring(version: str) -> Damage:
    """Return the damage that declares a version of SIP; an empty one leaves it out."""
    return package("E-ARK-SIP-v2-2-0.xml", f"E-ARK-SIP{version}.xml")


def found(root: Path) -> dict[str, Finding]:
    return {each.requirement: each for each in check(root) if each.requirement}


@tabled
def test_the_address_of_the_profile_names_the_version(profile: str, version: str | None) -> None:
    assert Opening(root={"PROFILE": profile}).version == (Version(version) if version else None)


_SUBMITTER = 'ROLE="OTHER" OTHERROLE="SUBMITTER" TYPE="ORGANIZATION"'


@pytest.mark.parametrize("profile", ["E-ARK-SIP", "E-ARK-CSIP"])
@tabled
def test_a_version_that_is_not_supported_is_one_note(
    tmp_path: Path, profile: str, version: str, words: str
) -> None:
    site = profile.removeprefix("E-ARK-").lower()
    address = f"https://eark{site}.dilcis.eu/profile/{profile}-v{version}.xml"
    right = package("https://earksip.dilcis.eu/profile/E-ARK-SIP-v2-2-0.xml", address)
    (note,) = check(csip.forge(tmp_path / "right" / "package", right))
    assert (note.code, note.severity, note.requirement) == (
        "M032",
        Severity.INFO,
        "SIP2" if site == "sip" else "CSIP6",
    )
    assert f"{address!r}, {words}" in note.message
    # What the nearest version demands is information as well.
    broken = both(right, package('LABEL="Metadata"', 'LABEL="metadata"'))
    findings = list(check(csip.forge(tmp_path / "broken" / "package", broken)))
    assert {each.severity for each in findings} == {Severity.INFO}
    assert "CSIP90" in {each.requirement for each in findings}


def test_a_chosen_profile_is_judged_though_the_version_is_not_supported(tmp_path: Path) -> None:
    broken = both(declaring("-v2-9-0"), package('LABEL="Metadata"', 'LABEL="metadata"'))
    made = csip.forge(tmp_path / "package", broken)
    codes = {each.requirement: each.code for each in check(made, profile=Profile.CSIP)}
    assert codes == {"CSIP6": "M032", "CSIP90": "M030"}
    codes = {each.requirement: each.code for each in check(made, profile=Profile.SIP)}
    assert codes == {"SIP2": "M030", "CSIP90": "M030"}


def test_cits_siard_is_judged_though_the_version_of_csip_is_not_supported(tmp_path: Path) -> None:
    broken = both(declaring("-v2-9-0"), package('TYPE="Databases"', 'TYPE="Datasets"'))
    reported = found(csip.forge(tmp_path / "package", broken))
    assert reported["SIARD_2"].code == "M030"
    assert reported["SIP2"].code == "M032"


def test_a_representation_of_a_version_not_supported_is_judged_by_its_packages(tmp_path: Path) -> None:
    root = csip.forge(tmp_path / "package", declaring("-v2-2-0"))
    mets = root / csip.REPRESENTATION_METS
    own = "https://citssiard.dilcis.eu/profile/E-ARK-SIARD-REPRESENTATION.xml"
    edit(mets, own, f"{_CSIP}-v2-9-0.xml")
    csip.seal(root)
    reported = found(root)
    note = reported.pop("CSIP6")
    assert "newer than metspack knows; judged by 2.2.0" in note.message
    assert (note.path, note.severity) == (csip.REPRESENTATION_METS, Severity.INFO)
    edit(mets, 'LABEL="CSIP"', 'LABEL="XSIP"')
    csip.seal(root)
    assert Severity.ERROR in {
        each.severity for id_, each in found(root).items() if id_ not in {"CSIP6", *reported}
    }


@tabled
def test_the_submitting_agent_of_sip_2_3_0(tmp_path: Path, agent: str, requirements: list[str]) -> None:
    made = csip.forge(tmp_path / "package", both(declaring("-v2-3-0"), package(_SUBMITTER, agent)))
    assert sorted(found(made)) == requirements
    assert {dict(each.facts)["standard"] for each in found(made).values()} <= {"E-ARK SIP 2.3.0"}


def test_an_other_type_of_a_submitting_agent_is_reported_without_its_name(tmp_path: Path) -> None:
    agent = package(_SUBMITTER, 'ROLE="OTHER" OTHERROLE="SUBMITTER" TYPE="OTHER"')
    made = csip.forge(tmp_path / "package", both(declaring("-v2-3-0"), agent))
    assert "found 'OTHER' without OTHERTYPE" in found(made)["SIP12"].message


def test_other_agents_are_free_in_sip_2_3_0(tmp_path: Path) -> None:
    made = csip.forge(
        tmp_path / "package", both(declaring("-v2-3-0"), without(r"<name>Northwind Traders</name>"))
    )
    assert found(made) == {}
    named = package(' MIMETYPE="text/plain"', ' MIMETYPE="text/plain" sip:FILEFORMATNAME=" "')
    made = csip.forge(tmp_path / "named" / "package", both(declaring("-v2-3-0"), named))
    assert set(found(made)) == {"SIP16"}


@pytest.mark.parametrize("version", ["", "-v2-0-4", "-v2-1-0", "-v2-2-0"])
def test_the_good_package_is_one_in_every_version(tmp_path: Path, version: str) -> None:
    assert list(check(csip.forge(tmp_path / "package", declaring(version)))) == []


@tabled
def test_the_version_decides(
    tmp_path: Path, edit: list[str], requirement: str, codes: dict[str, str]
) -> None:
    """Codes are by the version that is declared; an empty one says that the requirement is kept."""
    for version, code in codes.items():
        made = csip.forge(tmp_path / version / "package", both(declaring(version), package(edit[0], edit[1])))
        finding = found(made).get(requirement)
        assert (finding.code if finding else "") == code, version
        if finding is not None:
            number = version.removeprefix("-v").replace("-", ".") or "2.2.0"
            assert dict(finding.facts)["standard"].endswith(number)


_UNPOINTED = package('<fptr FILEID="documentation"/>', "")
_UNLISTED = package("text/plain", "text/x-notes")


def test_that_none_is_declared_is_reported_where_versions_differ(tmp_path: Path) -> None:
    damage = both(declaring(""), _UNPOINTED, package('LABEL="Metadata"', 'LABEL="metadata"'))
    reported = found(csip.forge(tmp_path / "package", damage))
    assert reported["CSIP96"].message.endswith(
        "; the METS declares no version of the standard, 2.2.0 is assumed"
    )
    assert "assumed" not in reported["CSIP90"].message
    listed = found(csip.forge(tmp_path / "listed" / "package", both(declaring(""), _UNLISTED)))
    assert "(a MUST until 2.1.0; the METS declares no version)" in listed["CSIP68"].message
    declared = found(csip.forge(tmp_path / "declared" / "package", _UNPOINTED))
    assert "assumed" not in declared["CSIP96"].message


def test_a_representation_without_a_version_has_that_of_its_package(tmp_path: Path) -> None:
    root = csip.forge(tmp_path / "package", declaring("-v2-0-4"))
    mets = root / csip.REPRESENTATION_METS
    edit(mets, 'ID="top" LABEL="rep1"', 'ID="top"')
    csip.seal(root)
    assert dict(found(root)["CSIP86"].facts)["standard"] == "CSIP 2.0.4"
    edit(mets, "https://citssiard.dilcis.eu/profile/E-ARK-SIARD-REPRESENTATION.xml", f"{_CSIP}-v2-2-0.xml")
    csip.seal(root)
    assert "CSIP86" not in found(root)
    assert (root / PACKAGE_METS).exists()
