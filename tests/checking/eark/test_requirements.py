"""Requirements of CSIP, SIP and CITS SIARD: the good package keeps all, a damage breaks its requirement."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from lxml import etree

from metspack.checking import Code, Level, check, explained
from metspack.checking.eark.faults import NAMED, REQUIREMENTS, examples
from metspack.checking.eark.profiles import Profile
from metspack.checking.eark.requirements import Need, State
from metspack.model import Finding
from tests.checking.rule_damages import (
    EVERY,
    Damage,
    both,
    package,
    packages_of_requirements,
    with_content,
    without,
)
from tests.conftest import CHECKOUT
from tests.laws import of_each
from tests.packages import csip
from tests.packages.cases import Case
from tests.packages.csip import PACKAGE_METS, REPRESENTATION_METS
from tests.packages.forge import edit, forge
from tests.packages.spread import zipped
from tests.record import findings

_OWN = {Code.REQUIREMENT_BROKEN.id, Code.RECOMMENDATION_NOT_FOLLOWED.id, Code.OPTION_INCOMPLETE.id}
_SEVERITY = {Need.MUST: "M030", Need.MUST_NOT: "M030", Need.SHOULD: "M031", Need.MAY: "M032"}


def rules(found: list[Finding]) -> set[str]:
    return {dict(each.facts)["rule"] for each in found if each.code in _OWN}


def checked(root: Path, profile: Profile = Profile.AUTO) -> list[Finding]:
    return list(check(root, profile=profile))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "package"


def test_a_representation_without_mets_is_only_advised_against(folder: Path) -> None:
    assert rules(checked(csip.forge(folder, with_content))) == {"CSIPSTR12"}


BROKEN = packages_of_requirements(are_allowed=False)


@pytest.mark.parametrize("id_", EVERY)
def test_a_damage_breaks_the_requirement_it_is_for(id_: str, folder: Path) -> None:
    case = EVERY[id_]
    found = list(check(csip.forge(folder, case.damage), Level.STRUCTURE))
    shown = "\n".join(f"{each.code} {each.path}:{each.line} {each.message}" for each in found)
    assert rules(found) == case.breaks, shown
    for each in found:
        if (rule := dict(each.facts).get("rule")) is not None:
            assert each.code == _SEVERITY[NAMED[rule].need]
            assert each.line > 0, shown


@of_each(BROKEN)
def test_a_package_has_the_requirement_it_is_for_recorded(case: Case, id_: str) -> None:
    found = findings.recorded(findings.SINGLE, case.id, Level.STRUCTURE)
    assert id_ in {each["requirement"] for each in found if each["code"] in case.codes}
    for each in found:
        if (rule := dict(each["facts"]).get("rule")) == id_ and case.folder.name.endswith(id_.lower()):
            assert each["code"] == _SEVERITY[NAMED[rule].need]
            assert each["line"] > 0


def test_every_requirement_that_is_checked_has_a_damage() -> None:
    # What refers to another standard is told by that one's; two have tests of their own.
    checked_ids = {each.id for each in NAMED.values() if each.state is State.CHECKED}
    assert checked_ids <= set(EVERY) | {id_ for _, id_ in BROKEN} | {"CSIPSTR1", "CSIPSTR12"}


def test_a_packed_package_has_one_root_folder(folder: Path, tmp_path: Path) -> None:
    csip.forge(folder)
    rooted = zipped(folder, tmp_path / "rooted.zip", inside="package", keep=True)
    flat = zipped(folder, tmp_path / "flat.zip")
    assert rules(checked(rooted)) == set()
    assert rules(checked(flat)) == {"CSIPSTR1"}


def test_most_of_what_must_be_is_checked() -> None:
    must = [
        each for rows in REQUIREMENTS.values() for each in rows if each.need in {Need.MUST, Need.MUST_NOT}
    ]
    checked_ones = [each for each in must if each.state is State.CHECKED]
    assert len(checked_ones) >= 0.9 * len(must)
    assert all(
        each.note for rows in REQUIREMENTS.values() for each in rows if each.state is State.NOT_CHECKABLE
    )


# --- which standards a package is held against ------------------------------------------------------------

_PROFILE = 'PROFILE="https://earksip.dilcis.eu/profile/E-ARK-SIP-v2-2-0.xml"'
_CSIP_PROFILE = 'PROFILE="https://earkcsip.dilcis.eu/profile/E-ARK-CSIP.xml"'
_SUBMITTER = ' OTHERROLE="SUBMITTER"'
_CONTACT = 'ROLE="CREATOR" TYPE="INDIVIDUAL"'


def _unsubmitted(profile: str) -> Damage:
    """Return the damage that leaves no agent that submits, under another profile."""
    return both(
        package(_PROFILE, profile),
        package(_SUBMITTER, ' OTHERROLE="READER"'),
        package(_CONTACT, 'ROLE="EDITOR" TYPE="INDIVIDUAL"'),
    )


def test_a_package_of_the_recommendation_is_held_against_nothing(folder: Path) -> None:
    recommended = forge(folder)
    assert rules(checked(recommended)) == set()
    assert {"CSIP82", "CSIP117", "CSIPSTR4", "CSIPSTR9"} <= rules(checked(recommended, Profile.CSIP))


def test_the_profile_of_the_recommendation_has_no_requirements_of_csip(folder: Path) -> None:
    csip.forge(folder, package('LABEL="CSIP"', 'LABEL="MINE"'))
    found = checked(folder, Profile.RECOMMENDATION)
    assert rules(found) == set()
    assert {each.code for each in found} == {"F020"}, "such a package has manifests"


def test_a_profile_of_csip_claims_no_more_than_that(folder: Path) -> None:
    assert checked(csip.forge(folder, _unsubmitted(_CSIP_PROFILE))) == []
    assert rules(checked(folder, Profile.SIP)) == {"SIP2", "SIP15"}


def test_a_sip_of_a_profile_of_its_own_is_one_by_its_oais_type(folder: Path) -> None:
    csip.forge(folder, _unsubmitted('PROFILE="https://archives.example/profile"'))
    assert rules(checked(folder)) == {"SIP2", "SIP15", "SIARD_5"}


def test_folders_and_the_name_of_the_mets_tell_a_package_of_csip(folder: Path) -> None:
    unmarked = both(
        without(r' csip:\w+="[^"]*"'),
        package(_PROFILE, ""),
        without(r" csip:\w+=.[^\"]*\"", REPRESENTATION_METS),
    )
    csip.forge(folder, unmarked)
    assert {"CSIP4", "CSIP6", "CSIP9", "CSIP16"} <= rules(checked(folder))
    (folder / REPRESENTATION_METS).unlink()
    (folder / "representations").rename(folder / "content")
    assert rules(checked(folder)) == set()


def test_a_profile_that_was_requested_is_the_only_one(folder: Path) -> None:
    csip.forge(folder)
    assert rules(checked(folder, Profile.SIP)) == set()
    assert rules(checked(folder, Profile.CITS_SIARD)) == {"SIARD_5"}


def test_a_child_is_a_package_of_its_own(folder: Path) -> None:
    csip.forge(folder)
    csip.forge(folder / "child", package("<metsHdr ", '<metsHdr ADMID="x" '))
    pointer = 'LOCTYPE="URL" xlink:type="simple" xlink:href="child/METS.xml"'
    edit(
        folder / PACKAGE_METS,
        "</mets>",
        f'<structMap LABEL="child IPs"><div LABEL="child IP"><mptr {pointer}/></div></structMap></mets>',
    )
    edit(folder / "child" / PACKAGE_METS, ' TYPE="PHYSICAL"', "")
    found = [each for each in checked(folder) if each.code == Code.REQUIREMENT_BROKEN.id]
    assert [(each.path, dict(each.facts)["rule"]) for each in found] == [("child/METS.xml", "CSIP81")]


# --- how it is told ---------------------------------------------------------------------------------------


def test_what_is_broken_often_is_reported_once_with_its_first_line_and_a_count(folder: Path) -> None:
    csip.forge(folder, without(r' MIMETYPE="[^"]*"', REPRESENTATION_METS))
    [file, reference] = sorted(
        (each for each in checked(folder) if each.code == "M030"), key=lambda each: -each.line
    )
    assert (file.path, file.line, file.place) == (REPRESENTATION_METS, 15, "siard")
    assert (
        file.message == "CSIP68 (MUST): The file has a media type, from IANA's list; found none (places: 2)"
    )
    assert dict(reference.facts)["where"] == "mets/amdSec/digiprovMD/mdRef/@MIMETYPE"


@pytest.mark.parametrize("id_", ["CSIP66", "csip66", "SIARD_22a", "SIP22"])
def test_requirements_are_explained(id_: str) -> None:
    words = explained(id_)
    assert words.code.casefold() == id_.casefold()
    assert words.title == NAMED[words.code].says
    assert all((words.meaning, words.clause, words.remedy))


def test_every_requirement_that_is_checked_has_an_example() -> None:
    for each in NAMED.values():
        example = examples()[each.id] if each.state is State.CHECKED else examples().get(each.id, "")
        if example.startswith("<"):
            spaces = " ".join(f'xmlns:{name}="{name}"' for name in ("csip", "sip", "xlink"))
            etree.fromstring(f"<example {spaces}>{example}</example>")
        if each.demand is not None:
            values = each.demand.values or ("",)
            assert any(f'{each.demand.attribute}="{value}' in example for value in values), each.id
    assert set(examples()) <= set(NAMED) | {"CSIP86"}


# --- what the check says otherwise of such packages --------------------------------------------------------


def test_packages_beside_each_other_have_their_manifests_beside_them(folder: Path) -> None:
    csip.forge(folder / "package")
    assert checked(folder) == checked(folder / "package") == []
    csip.divide(folder / "several")
    assert checked(folder / "several") == []
    (folder / "several/manifest-md5.txt").unlink()
    assert {each.code for each in checked(folder / "several")} == {"F020"}
    (folder / "several/manifest-sha256.txt").unlink()
    assert checked(folder / "several") == []


def test_a_package_of_only_lobs_needs_no_archive(folder: Path) -> None:
    csip.forge(
        folder,
        both(
            lambda root: (root / csip.ARCHIVE).unlink(),
            without(r'<file ID="siard".*?</file>\n', REPRESENTATION_METS),
            package("SIARD_2.2", "SIARD_lobs"),
            lambda root: edit(root / REPRESENTATION_METS, "SIARD_2.2", "SIARD_lobs", count=2),
        ),
    )
    assert checked(folder) == []


def test_the_mets_of_a_representation_that_cannot_be_read_is_reported_once(folder: Path) -> None:
    csip.forge(folder)
    (folder / REPRESENTATION_METS).write_text("<mets")
    found = checked(folder)
    assert rules(found) == set()
    assert "X001" in {each.code for each in found}


def test_a_child_that_was_found_elsewhere_may_lie_in_any_folder(tmp_path: Path) -> None:
    golden = CHECKOUT / "samples" / "northwind" / "golden" / "Northwind-csip"
    out = Path(shutil.copytree(golden, tmp_path / "out"))
    child = out / "urn+uuid+067b9e9c-45a7-5c1d-8fba-85f29ee720d4"
    (tmp_path / "disk").mkdir()
    child.rename(tmp_path / "disk" / "moved")
    found = list(check(out, roots=[tmp_path / "disk"]))
    assert "L011" in {each.code for each in found}
    assert rules(found) == set()
