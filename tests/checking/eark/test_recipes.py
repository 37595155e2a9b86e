"""The test cases that the standards call for, as recipes: what keeps each requirement, and what breaks it.

They are written from the texts of the requirements, a package at a time, on the good package of
`tests/packages/csip.py`. A recipe that is valid changes it in a way that a requirement allows; no requirement
is told then but those that the recipe names. docs/rules.md has the readings.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from lxml import etree

from metspack.checking import check
from metspack.checking.eark.faults import NAMED
from metspack.checking.eark.profiles import Profile
from metspack.checking.eark.requirements import State
from metspack.model import Finding
from tests.checking.rule_damages import EVERY, Damage, both, package, representation, with_content, without
from tests.packages import csip
from tests.packages.csip import ARCHIVE, DATA, LOB, PACKAGE_METS, REPRESENTATION, REPRESENTATION_METS
from tests.packages.forge import edit

_NAMESPACES = {
    "m": "http://www.loc.gov/METS/",
    "csip": "https://DILCIS.eu/XML/METS/CSIPExtensionMETS",
    "xlink": "http://www.w3.org/1999/xlink",
}
_HASH = (
    r'(?<=MIMETYPE=")application/xml(?=" SIZE="0" CREATED="[^"]*" CHECKSUM="0" CHECKSUMTYPE="SHA-256"\s*{})'
)
_IN_SECTION = {
    "CSIP26": 'LOCTYPE="URL" xlink:type="simple" xlink:href="metadata/descriptive',
    "CSIP40": 'LOCTYPE="URL" xlink:type="simple" xlink:href="metadata/preservation',
    "CSIP53": 'LOCTYPE="URL" xlink:type="simple" xlink:href="metadata/other',
    "CSIP68": '>\\s*<FLocat LOCTYPE="URL" xlink:type="simple" xlink:href="schemas',
}


def _typed(rule: str, kind: str) -> Damage:
    """Return the recipe that gives the file which a requirement is about another media type."""

    def change(root: Path) -> None:
        path = root / PACKAGE_METS
        pattern = _HASH.format(_IN_SECTION[rule])
        text, count = re.subn(pattern, kind, path.read_text())
        assert count == 1, f"{rule}: {count} places"
        path.write_text(text)

    return change


def _written(path: str, data: bytes = b"x\n") -> Damage:
    def change(root: Path) -> None:
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_bytes(data)

    return change


def _recorded(*records: tuple[str, str]) -> Damage:
    written = "".join(f'<altRecordID TYPE="{kind}">{text}</altRecordID>' for kind, text in records)
    return package("</metsHdr>", f"{written}</metsHdr>")


def _file(identifier: str, href: str, more: str = "") -> str:
    about = (
        'MIMETYPE="text/plain" SIZE="0" CREATED="2026-05-01T12:00:00Z" CHECKSUM="0" CHECKSUMTYPE="SHA-256"'
    )
    location = f'<FLocat LOCTYPE="URL" xlink:type="simple" xlink:href="{href}"/>'
    return f'<file ID="{identifier}" {about}{more}>{location}</file>'


def _group(identifier: str, use: str, href: str, more: str = "") -> Damage:
    file = _file(f"{identifier}-file", href)
    written = f'<fileGrp ID="{identifier}" USE="{use}"{more}>{file}</fileGrp></fileSec>'
    return both(_written(href), package("</fileSec>", written))


def _division(identifier: str, label: str, inside: str) -> Damage:
    return package(
        '<div ID="div-rep1"', f'<div ID="{identifier}" LABEL="{label}">{inside}</div>\n<div ID="div-rep1"'
    )


_OTHER = 'csip:CONTENTINFORMATIONTYPE="OTHER" csip:OTHERCONTENTINFORMATIONTYPE="notes"'
_SIP_2_0_4 = package("E-ARK-SIP-v2-2-0.xml", "E-ARK-SIP-v2-0-4.xml")
_TYPED_OTHER = both(
    package('TYPE="Databases" csip:CONTENTINFORMATIONTYPE="citssiard_v1_0"', f'TYPE="Other" {_OTHER}'),
    package("<mets ", '<mets csip:OTHERTYPE="Case files" '),
)
_DUMPED = both(
    package("SIARD_2.2", "Database_dump"),
    representation("SIARD_2.2", "Database_dump", 2),
)
_OWN_DIVISION = both(  # one for a representation without a METS of its own, as its group is called
    with_content,
    package(
        '<div ID="div-content" LABEL="Representations">',
        '<div ID="div-content" LABEL="Representations/rep2">',
    ),
)

VALID: dict[str, tuple[Damage, str]] = {
    # What a requirement allows, and what else is told then.
    "CSIP26": (_typed("CSIP26", "text/xml; charset=UTF-8"), ""),
    "CSIP40": (_typed("CSIP40", "TEXT/XML"), ""),
    "CSIP53": (_typed("CSIP53", "application/rdf+xml"), ""),
    "CSIP68": (_typed("CSIP68", "application/octet-stream"), ""),
    "CSIP20": (package('STATUS="CURRENT"', 'STATUS="SUPERSEDED"'), ""),
    "CSIP60": (
        both(
            _group("more", "Documentation", "documentation/more.txt"),
            package('<fptr FILEID="documentation"/>', '<fptr FILEID="documentation"/><fptr FILEID="more"/>'),
        ),
        "",
    ),
    "CSIP63": (with_content, "CSIPSTR12"),
    "CSIP64": (
        both(
            _group("more", "Documentation/more", "documentation/more/x.txt"),
            package('<fptr FILEID="documentation"/>', '<fptr FILEID="documentation"/><fptr FILEID="more"/>'),
        ),
        "",
    ),
    "CSIP82": (
        package(
            "</mets>",
            '<structMap ID="m" TYPE="LOGICAL" LABEL="mine"><div><fptr FILEID="readme"/></div></structMap>'
            "</mets>",
        ),
        "",
    ),
    "CSIP86": (_SIP_2_0_4, ""),
    "CSIP91": (package('ADMID="amd" DMDID="dmd"', 'ADMID="rights premis" DMDID="dmd"'), ""),
    "CSIP92": (package('STATUS="CURRENT"', 'STATUS="SUPERSEDED"'), ""),
    "CSIP100": (
        both(
            _OWN_DIVISION,
            _group("more", "Schemas", "representations/rep2/schemas/x.xsd"),
            package(
                '<div ID="div-content" LABEL="Representations/rep2"><fptr FILEID="rep2"/>',
                '<div ID="div-content" LABEL="Representations/rep2">'
                '<div ID="d1" LABEL="Representations/rep2/data"><fptr FILEID="rep2"/></div>'
                '<div ID="d2" LABEL="Representations/rep2/schemas"><fptr FILEID="more"/></div>',
            ),
        ),
        "CSIPSTR12",
    ),
    "CSIP101": (with_content, "CSIPSTR12"),
    "CSIP102": (with_content, "CSIPSTR12"),
    "CSIP103": (with_content, "CSIPSTR12"),
    "CSIP104": (with_content, "CSIPSTR12"),
    "CSIP105": (_OWN_DIVISION, "CSIPSTR12"),
    "CSIP106": (both(_OWN_DIVISION, package(' ID="div-content"', "")), "CSIPSTR12"),
    "CSIP107": (_OWN_DIVISION, "CSIPSTR12"),
    "CSIP108": (_OWN_DIVISION, "CSIPSTR12"),
    "CSIP109": (_OWN_DIVISION, "CSIPSTR12"),
    "CSIP119": (with_content, "CSIPSTR12"),
    "CSIP80": (
        package(
            "<dmdSec ",
            '<dmdSec ID="old" CREATED="2026-05-01T12:00:00Z" STATUS="SUPERSEDED"><mdWrap MDTYPE="OTHER" '
            'OTHERMDTYPE="METS"><xmlData><mets OBJID="x" TYPE="x"><metsHdr><agent><name/></agent></metsHdr>'
            '<fileSec><fileGrp USE="x"/></fileSec><structMap LABEL="CSIP"><div/></structMap></mets>'
            "</xmlData></mdWrap></dmdSec><dmdSec ",
        ),
        "CSIP21",
    ),
    "CSIPSTR6": (
        both(
            package("metadata/preservation/premis.xml", f"{REPRESENTATION}/metadata/preservation/premis.xml"),
            lambda root: (root / "metadata/preservation/premis.xml").unlink(),
            lambda root: (root / "metadata/preservation").rmdir(),
        ),
        "",
    ),
    "CSIPSTR7": (
        both(
            _written(f"{REPRESENTATION}/metadata/descriptive/dc.xml", b"<dc/>\n"),
            package("metadata/descriptive/dc.xml", f"{REPRESENTATION}/metadata/descriptive/dc.xml"),
            lambda root: (root / "metadata/descriptive/dc.xml").unlink(),
            lambda root: (root / "metadata/descriptive").rmdir(),
        ),
        "",
    ),
    "SIP1": (package("<mets ", '<mets LABEL="Accounting records of 2017" '), ""),
    "SIP2": (package("E-ARK-SIP-v2-2-0.xml", "E-ARK-SIP.xml"), ""),
    "SIP3": (package("<metsHdr ", '<metsHdr RECORDSTATUS="SUPPLEMENT" '), ""),
    "SIP5": (_recorded(("SUBMISSIONAGREEMENT", "RA 13-2011/5329")), ""),
    "SIP6": (_recorded(("PREVIOUSSUBMISSIONAGREEMENT", "1"), ("PREVIOUSSUBMISSIONAGREEMENT", "2")), ""),
    "SIP7": (_recorded(("REFERENCECODE", "FM 12"), ("MINE", "")), ""),
    "SIP8": (_recorded(("PREVIOUSREFERENCECODE", "1"), ("PREVIOUSREFERENCECODE", "2")), ""),
    "SIP32": (package('<file ID="readme"', '<file sip:FILEFORMATNAME="Plain text" ID="readme"'), ""),
    "SIP33": (package('<file ID="readme"', '<file sip:FILEFORMATVERSION="1" ID="readme"'), ""),
    "SIP34": (package('<file ID="readme"', '<file sip:FORMATREGISTRY="PRONOM" ID="readme"'), ""),
    "SIP35": (package('<file ID="readme"', '<file sip:FORMATREGISTRYKEY="x-fmt/111" ID="readme"'), ""),
    "SIARD_20": (_DUMPED, ""),
    "SIARD_21": (_DUMPED, ""),
}

_MORE = f'<fileGrp ID="g" USE="Schemas">{_file("s", "schemas/dc.xsd")}</fileGrp>'
_BLANK = 'csip:OTHERCONTENTINFORMATIONTYPE=" "'
_REP2 = "representations/rep2"
_OF_REP2 = 'LABEL="Representations/rep2"'
_SECOND = _group("rep2", "Representations/rep2", f"{_REP2}/METS.xml", f" {_OTHER}")
INVALID: list[tuple[str, str, Damage]] = [
    # Beside those of `rule_damages.EVERY`, of which there is one for each requirement.
    ("CSIP1", "of another representation", representation('OBJID="rep1"', 'OBJID="rep9"')),
    (
        "CSIP3",
        "a term of the vocabulary",
        both(_TYPED_OTHER, package("Case files", "Datasets")),
    ),
    ("CSIP114", "without the folder", package('USE="Representations/rep1"', 'USE="Representations"')),
    ("CSIP64", "of no vocabulary", package('USE="Documentation"', 'USE="Papers"')),
    (
        "CSIP64",
        "of a folder that is not in the representation",
        representation('USE="data"', 'USE="content"'),
    ),
    ("CSIP80", "none at all", without(r"<structMap.*</structMap>\n")),
    ("CSIP88", "two of them", _division("second", "Metadata", "")),
    (
        "CSIP101",
        "two of them",
        both(with_content, _division("second", "Representations", '<fptr FILEID="rep2"/>')),
    ),
    ("CSIP91", "names what is not there", package('ADMID="amd"', 'ADMID="amd more"')),
    ("CSIP43", "another digest", _written("metadata/preservation/premis.xml", b"<premis/>\n")),
    ("SIP2", "of nobody", package("https://earksip.dilcis.eu/profile/E-ARK-SIP-v2-2-0.xml", "random_string")),
    ("SIP3", "empty", package("<metsHdr ", '<metsHdr RECORDSTATUS="" ')),
    ("CSIP58", "two of them", package("</fileSec>", f"</fileSec><fileSec ID='more'>{_MORE}</fileSec>")),
    (
        "CSIP63",
        "blank",
        both(with_content, package('csip:OTHERCONTENTINFORMATIONTYPE="notes"', _BLANK)),
    ),
    (
        "CSIP107",
        "the METS itself",
        package('LABEL="Representations/rep1"', 'LABEL="Representations/rep1/METS.xml"'),
    ),
    ("CSIP107", "of another", both(_SECOND, package('LABEL="Representations/rep1"', _OF_REP2))),
    (
        "CSIP109",
        "to another",
        both(
            _SECOND, package('representations/rep1/METS.xml" xlink:title', f'{_REP2}/METS.xml" xlink:title')
        ),
    ),
    ("CSIP86", "no label", both(_SIP_2_0_4, package('ID="top" LABEL="package"', 'ID="top"'))),
]


def told(root: Path, profile: Profile = Profile.AUTO) -> dict[str, Finding]:
    return {each.requirement: each for each in check(root, profile=profile) if each.requirement}


@pytest.mark.parametrize("id_", VALID)
def test_what_a_requirement_allows_is_not_told(id_: str, tmp_path: Path) -> None:
    change, besides = VALID[id_]
    found = told(csip.forge(tmp_path / "package", change))
    assert set(found) == set(besides.split()), "\n".join(each.message for each in found.values())


@pytest.mark.parametrize(("id_", "what", "change"), INVALID)
def test_what_a_requirement_forbids_is_told(id_: str, what: str, change: Damage, tmp_path: Path) -> None:
    root = csip.forge(tmp_path / "package", change)
    if id_ == "CSIP43":
        _written("metadata/preservation/premis.xml", b"<premix/>\n")(root)
    assert id_ in told(root), what


def _is_in_the_good_package(where: str, *documents: etree._ElementTree) -> bool:
    path = re.sub(r"\[@(\w+)=\[starts-with\('(\w+)'\)\]\]", r"[starts-with(@\1, '\2')]", where)
    path = path.replace("file@", "file/@")
    path = re.sub(r"^mets(/|(?=\[)|$)", "", path)
    path = re.sub(r"(^|/|\|)(?=\w)(?!\w+:)", r"\1m:", path)
    path = f"/m:mets/{path}".replace("/m:mets/[", "/m:mets[").replace("/m:mets//", "/m:mets/")
    namespaces = _NAMESPACES | {"sip": "https://DILCIS.eu/XML/METS/SIPExtensionMETS"}
    return any(bool(each.xpath(path, namespaces=namespaces)) for each in documents)


# Of folders and files: they are there, or the good package is of the kind that is asked of.
_THERE = {
    "CSIPSTR4": PACKAGE_METS,
    "CSIPSTR5": "metadata",
    "CSIPSTR6": "metadata/preservation",
    "CSIPSTR7": "metadata/descriptive",
    "CSIPSTR9": "representations",
    "CSIPSTR10": "representations",
    "CSIPSTR11": DATA,
    "CSIPSTR12": REPRESENTATION_METS,
    "CSIPSTR13": f"{REPRESENTATION}/metadata",
    "CSIPSTR15": "schemas",
    "CSIPSTR16": "documentation",
    "SIARD_1": REPRESENTATION_METS,
    "SIARD_14": REPRESENTATION_METS,
    "SIARD_15": ARCHIVE,
    "SIARD_16": ARCHIVE,
    "SIARD_17": ARCHIVE,
    "SIARD_22": LOB,
    "SIARD_22b": LOB,
}
_ELSEWHERE = {
    "CSIPSTR1": "test_a_packed_package_has_one_root_folder",
    "CSIPSTR2": "the folder is called package, and so is the OBJID",
    "CSIP3": "test_a_type_of_ones_own_is_named",
    "CSIP5": "test_a_type_of_ones_own_is_named",
    "CSIP62": "the group of a representation has it",
    "SIARD_6": "the group of rep1 has it, whose USE is Representations/rep1",
    "SIARD_4": "what must not be is not there",
    "SIARD_5": "test_a_package_of_cits_siard_names_its_profile",
    "SIARD_19b": "test_a_mapping_beside_the_archive_is_where_it_should_be",
}


def test_every_requirement_that_is_checked_has_a_valid_case_and_one_that_is_not(tmp_path: Path) -> None:
    root = csip.forge(tmp_path / "package")
    documents = [etree.parse(root / name) for name in (PACKAGE_METS, REPRESENTATION_METS)]
    for id_, each in NAMED.items():
        if each.state is not State.CHECKED:
            continue
        is_valid = id_ in VALID or id_ in _ELSEWHERE
        if id_ in _THERE:
            is_valid |= (root / _THERE[id_]).exists()
        elif each.where and not is_valid:
            is_valid |= _is_in_the_good_package(each.where, *documents)
        assert is_valid, f"{id_} has no valid case"
        assert id_ in EVERY or id_ == "CSIPSTR1", f"{id_} has no case that breaks it"


def test_a_type_of_ones_own_is_named(tmp_path: Path) -> None:
    change = both(
        _TYPED_OTHER,
        package(
            'csip:CONTENTINFORMATIONTYPE="citssiard_v1_0" csip:OTHERCONTENTINFORMATIONTYPE="SIARD_2.2"',
            _OTHER,
        ),
    )
    found = told(csip.forge(tmp_path / "package", change))
    assert not {"CSIP2", "CSIP3", "CSIP4", "CSIP5", "CSIP62", "CSIP63"} & set(found)


def test_a_package_of_cits_siard_names_its_profile(tmp_path: Path) -> None:
    named = "https://citssiard.dilcis.eu/profile/E-ARK-SIARD-ROOT.xml"
    change = package("https://earksip.dilcis.eu/profile/E-ARK-SIP-v2-2-0.xml", named)
    assert told(csip.forge(tmp_path / "package", change), Profile.CITS_SIARD) == {}


def test_a_mapping_beside_the_archive_is_where_it_should_be(tmp_path: Path) -> None:
    root = csip.forge(tmp_path / "package", _written(f"{DATA}/mapping.txt", b""))
    assert told(root) == {}


def test_what_was_nearly_it_is_named(tmp_path: Path) -> None:
    change = both(
        package('USE="Documentation"', 'USE="documentation"'),
        package('LABEL="Representations/rep1"', 'LABEL="representation/rep1"'),
        package('USE="Representations/rep1"', 'USE="Representations"'),
    )
    found = told(csip.forge(tmp_path / "package", change))
    assert dict(found["CSIP60"].facts)["found"] == "none, but USE 'documentation'"
    assert dict(found["CSIP114"].facts)["found"] == "none, but USE 'Representations'"
    assert dict(found["CSIP105"].facts)["found"] == "none, but LABEL 'representation/rep1'"
    other = told(csip.forge(tmp_path / "other", package('LABEL="CSIP"', 'LABEL="CSIP StructMap"')))
    assert dict(other["CSIP82"].facts)["found"] == "none, but LABEL 'CSIP StructMap'"
    agent = told(csip.forge(tmp_path / "agent", without(r'<agent ROLE="CREATOR" TYPE="OTHER".*?</agent>')))
    assert dict(agent["CSIP10"].facts)["found"].startswith("none, but an agent with ROLE='CREATOR'")
    moved = csip.forge(tmp_path / "moved")
    (moved / "metadata").rename(moved / "Metadata")
    edit(moved / PACKAGE_METS, 'href="metadata/', 'href="Metadata/', count=3)
    assert dict(told(moved)["CSIPSTR5"].facts)["found"] == "none, but a folder 'Metadata'"
