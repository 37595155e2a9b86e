"""The test cases that the standards call for: what keeps each requirement.

They are packages, written from the texts of the requirements; those that do what a requirement allows are
called so: `good/csip26_allowed`. docs/rules.md has the readings.
"""

from __future__ import annotations

import re
from pathlib import Path

from lxml import etree

from metspack.checking import Level, check
from metspack.checking.eark.faults import NAMED
from metspack.checking.eark.profiles import Profile
from metspack.checking.eark.requirements import State
from metspack.model import Finding
from tests.checking.rule_damages import both, package, packages_of_requirements, without
from tests.laws import of_each
from tests.packages import csip
from tests.packages.cases import Case
from tests.packages.csip import DATA, PACKAGE_METS, REPRESENTATION_METS
from tests.packages.forge import edit
from tests.record import findings
from tests.tables import tables_of

_NAMESPACES = {
    "m": "http://www.loc.gov/METS/",
    "csip": "https://DILCIS.eu/XML/METS/CSIPExtensionMETS",
    "xlink": "http://www.w3.org/1999/xlink",
}


_OTHER = 'csip:CONTENTINFORMATIONTYPE="OTHER" csip:OTHERCONTENTINFORMATIONTYPE="notes"'
_TYPED_OTHER = both(
    package('TYPE="Databases" csip:CONTENTINFORMATIONTYPE="citssiard_v1_0"', f'TYPE="Other" {_OTHER}'),
    package("<mets ", '<mets csip:OTHERTYPE="Case files" '),
)


def reported(root: Path, profile: Profile = Profile.AUTO) -> dict[str, Finding]:
    return {each.requirement: each for each in check(root, profile=profile) if each.requirement}


ALLOWED = packages_of_requirements(are_allowed=True)


@of_each(ALLOWED)
def test_what_a_requirement_allows_is_not_recorded(case: Case, id_: str) -> None:
    found = findings.recorded(findings.SINGLE, case.id, Level.FULL)
    assert id_ not in {each["requirement"] for each in found}


def _is_in_the_good_package(where: str, *documents: etree._ElementTree) -> bool:
    path = re.sub(r"\[@(\w+)=\[starts-with\('(\w+)'\)\]\]", r"[starts-with(@\1, '\2')]", where)
    path = path.replace("file@", "file/@")
    path = re.sub(r"^mets(/|(?=\[)|$)", "", path)
    path = re.sub(r"(^|/|\|)(?=\w)(?!\w+:)", r"\1m:", path)
    path = f"/m:mets/{path}".replace("/m:mets/[", "/m:mets[").replace("/m:mets//", "/m:mets/")
    namespaces = _NAMESPACES | {"sip": "https://DILCIS.eu/XML/METS/SIPExtensionMETS"}
    return any(bool(each.xpath(path, namespaces=namespaces)) for each in documents)


# Of folders and files: they are there, or the good package is of the kind that is asked of.
_THERE: dict[str, str] = tables_of(__file__)["there"]
_ELSEWHERE: dict[str, str] = tables_of(__file__)["elsewhere"]


def test_every_requirement_that_is_checked_has_a_valid_case(tmp_path: Path) -> None:
    root = csip.forge(tmp_path / "package")
    documents = [etree.parse(root / name) for name in (PACKAGE_METS, REPRESENTATION_METS)]
    allowed = {id_ for _, id_ in ALLOWED}
    for id_, each in NAMED.items():
        if each.state is not State.CHECKED:
            continue
        is_valid = id_ in allowed or id_ in _ELSEWHERE
        if id_ in _THERE:
            is_valid |= (root / _THERE[id_]).exists()
        elif each.where and not is_valid:
            is_valid |= _is_in_the_good_package(each.where, *documents)
        assert is_valid, f"{id_} has no valid case"


def test_a_type_of_ones_own_is_named(tmp_path: Path) -> None:
    change = both(
        _TYPED_OTHER,
        package(
            'csip:CONTENTINFORMATIONTYPE="citssiard_v1_0" csip:OTHERCONTENTINFORMATIONTYPE="SIARD_2.2"',
            _OTHER,
        ),
    )
    found = reported(csip.forge(tmp_path / "package", change))
    assert not {"CSIP2", "CSIP3", "CSIP4", "CSIP5", "CSIP62", "CSIP63"} & set(found)


def test_a_package_of_cits_siard_names_its_profile(tmp_path: Path) -> None:
    named = "https://citssiard.dilcis.eu/profile/E-ARK-SIARD-ROOT.xml"
    change = package("https://earksip.dilcis.eu/profile/E-ARK-SIP-v2-2-0.xml", named)
    assert reported(csip.forge(tmp_path / "package", change), Profile.CITS_SIARD) == {}


def test_a_mapping_beside_the_archive_is_where_it_should_be(tmp_path: Path) -> None:
    root = csip.forge(tmp_path / "package", lambda root: (root / DATA / "mapping.txt").touch())
    assert reported(root) == {}


def test_what_was_nearly_it_is_named(tmp_path: Path) -> None:
    change = both(
        package('USE="Documentation"', 'USE="documentation"'),
        package('LABEL="Representations/rep1"', 'LABEL="representation/rep1"'),
        package('USE="Representations/rep1"', 'USE="Representations"'),
    )
    found = reported(csip.forge(tmp_path / "package", change))
    assert dict(found["CSIP60"].facts)["found"] == "none, but USE 'documentation'"
    assert dict(found["CSIP114"].facts)["found"] == "none, but USE 'Representations'"
    assert dict(found["CSIP105"].facts)["found"] == "none, but LABEL 'representation/rep1'"
    other = reported(csip.forge(tmp_path / "other", package('LABEL="CSIP"', 'LABEL="CSIP StructMap"')))
    assert dict(other["CSIP82"].facts)["found"] == "none, but LABEL 'CSIP StructMap'"
    agent = reported(
        csip.forge(tmp_path / "agent", without(r'<agent ROLE="CREATOR" TYPE="OTHER".*?</agent>'))
    )
    assert dict(agent["CSIP10"].facts)["found"].startswith("none, but an agent with ROLE='CREATOR'")
    moved = csip.forge(tmp_path / "moved")
    (moved / "metadata").rename(moved / "Metadata")
    edit(moved / PACKAGE_METS, 'href="metadata/', 'href="Metadata/', count=3)
    assert dict(reported(moved)["CSIPSTR5"].facts)["found"] == "none, but a folder 'Metadata'"
