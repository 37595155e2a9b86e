"""Damages to the small package of `csip.py`, by the requirement that each is for."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from lxml import etree

from metspack.checking.eark.faults import NAMED
from metspack.checking.eark.profiles import Profile
from metspack.checking.eark.requirements import Requirement
from tests.packages.csip import ARCHIVE, DATA, LOB, PACKAGE_METS, REPRESENTATION, REPRESENTATION_METS, TABLE
from tests.packages.forge import edit, siard

_NAMESPACES = {
    "m": "http://www.loc.gov/METS/",
    "csip": "https://DILCIS.eu/XML/METS/CSIPExtensionMETS",
    "xlink": "http://www.w3.org/1999/xlink",
}
_CONTENT = f"{REPRESENTATION[:-1]}2"

Damage = Callable[[Path], object]


def _edited(path: str, old: str, new: str, count: int = 1) -> Damage:
    return lambda root: edit(root / path, old, new, count=count)


def both(*damages: Damage) -> Damage:
    """Return one damage after the other."""

    def damage(root: Path) -> None:
        for each in damages:
            each(root)

    return damage


def _moved(path: str, to: str) -> Damage:
    def damage(root: Path) -> None:
        (root / to).parent.mkdir(parents=True, exist_ok=True)
        (root / path).rename(root / to)

    return damage


def _written(path: str, text: str = "x\n") -> Damage:
    def damage(root: Path) -> None:
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)

    return damage


def _deleted(path: str) -> Damage:
    return lambda root: shutil.rmtree(root / path)


def with_content(root: Path) -> None:
    """Add a second representation, without a METS of its own."""
    _written(f"{_CONTENT}/data/x.txt")(root)
    _written(f"{_CONTENT}/metadata/y.txt")(root)
    described = (
        'MIMETYPE="text/plain" SIZE="0" CREATED="2026-05-01T12:00:00Z" CHECKSUM="0" CHECKSUMTYPE="MD5"'
    )
    files = "".join(
        f'<file ID="{name}" {described.replace("MD5", "SHA-256")}>'
        f'<FLocat LOCTYPE="URL" xlink:type="simple" xlink:href="{_CONTENT}/{folder}/{name}.txt"/></file>'
        for folder, name in (("data", "x"), ("metadata", "y"))
    )
    edit(
        root / PACKAGE_METS,
        "</fileSec>",
        f'<fileGrp ID="rep2" USE="Representations/rep2" csip:CONTENTINFORMATIONTYPE="OTHER" '
        f'csip:OTHERCONTENTINFORMATIONTYPE="notes">{files}</fileGrp></fileSec>',
    )
    edit(
        root / PACKAGE_METS,
        "</div>\n</div>\n</structMap>",
        '</div>\n<div ID="div-content" LABEL="Representations"><fptr FILEID="rep2"/></div>\n'
        "</div>\n</structMap>",
    )


@dataclass(frozen=True, kw_only=True)
class Case:
    """A damage and the requirements that it breaks, all of them."""

    breaks: frozenset[str]
    damage: Damage
    profile: Profile = Profile.AUTO
    codes: frozenset[str] = frozenset()


def _case(breaks: str, *damages: Damage, profile: Profile = Profile.AUTO, codes: str = "") -> Case:
    """Return a case; of several requirements the first is the one that it is for."""
    return Case(
        breaks=frozenset(breaks.split()),
        damage=both(*damages),
        profile=profile,
        codes=frozenset(codes.split()),
    )


def package(old: str, new: str, count: int = 1) -> Damage:
    return _edited(PACKAGE_METS, old, new, count)


def representation(old: str, new: str, count: int = 1) -> Damage:
    return _edited(REPRESENTATION_METS, old, new, count)


def without(pattern: str, path: str = PACKAGE_METS) -> Damage:
    """Return the damage that takes out all that a pattern fits."""

    def damage(root: Path) -> None:
        text, count = re.subn(pattern, "", (root / path).read_text(), flags=re.DOTALL)
        assert count, f"{pattern!r} fits nothing in {path}"
        (root / path).write_text(text)

    return damage


def _archived(table: bytes, database: str = "./Northwind_lobs/") -> Damage:
    return lambda root: (root / ARCHIVE).write_bytes(
        siard(table, database=database, column="s0_t2_c4/", rows=1)
    )


_SOFTWARE = 'ROLE="CREATOR" TYPE="OTHER" OTHERTYPE="SOFTWARE"'
_SUBMITTER = 'ROLE="OTHER" OTHERROLE="SUBMITTER" TYPE="ORGANIZATION"'
_DUMP = both(
    package("SIARD_2.2", "Database_dump"),
    representation("SIARD_2.2", "Database_dump", 2),
)
_DIVISION = without(r'<div ID="div-rep1".*?</div>\n')

_ANOTHER = '<agent ROLE="{}" TYPE="ORGANIZATION"><name>Another</name></agent>'
_NAMED_2_0_4 = package("E-ARK-SIP-v2-2-0.xml", "E-ARK-SIP-v2-0-4.xml")


def _recorded(*records: tuple[str, str]) -> Damage:
    written = "".join(f'<altRecordID TYPE="{kind}">{text}</altRecordID>' for kind, text in records)
    return package("</metsHdr>", f"{written}</metsHdr>")


CASES: dict[str, Case] = {
    # --- folders
    "CSIPSTR2": _case("CSIPSTR2", package('OBJID="package"', 'OBJID="another"')),
    "CSIPSTR4": _case("CSIPSTR4", _moved(PACKAGE_METS, "mets.xml")),
    "CSIPSTR5": _case(
        "CSIPSTR5 CSIPSTR6 CSIPSTR7",
        _moved("metadata", "about"),
        package('href="metadata/', 'href="about/', 3),
    ),
    "CSIPSTR6": _case(
        "CSIPSTR6",
        _moved("metadata/preservation/premis.xml", "metadata/other/premis.xml"),
        _deleted("metadata/preservation"),
        package("metadata/preservation/", "metadata/other/"),
    ),
    "CSIPSTR7": _case(
        "CSIPSTR7",
        _moved("metadata/descriptive/dc.xml", "metadata/other/dc.xml"),
        _deleted("metadata/descriptive"),
        package("metadata/descriptive/", "metadata/other/"),
    ),
    "CSIPSTR9": _case(
        "CSIPSTR9 SIARD_1 CSIP107 CSIP64",
        _deleted("representations"),
    ),
    "CSIPSTR10": _case("CSIPSTR10", _written("representations/x.txt")),
    "CSIPSTR11": _case(
        "CSIPSTR11 SIARD_15 CSIP64",
        _moved(DATA, f"{REPRESENTATION}/content"),
        representation('href="data/', 'href="content/', 2),
    ),
    "CSIPSTR12": _case("CSIPSTR12", with_content),
    "CSIPSTR13": _case(
        "CSIPSTR13 CSIPSTR6",
        _moved(f"{REPRESENTATION}/metadata", f"{REPRESENTATION}/about"),
        representation('href="metadata/', 'href="about/'),
    ),
    "CSIPSTR15": _case("CSIPSTR15", _moved("schemas", "xsd"), package('href="schemas/', 'href="xsd/')),
    "CSIPSTR16": _case(
        "CSIPSTR16", _moved("documentation", "docs"), package('href="documentation/', 'href="docs/')
    ),
    # --- header
    "CSIP2": _case("CSIP2 SIARD_2", package('TYPE="Databases"', 'TYPE="Database"')),
    "CSIP3": _case("CSIP3 SIARD_2", package('TYPE="Databases"', 'TYPE="OTHER"')),
    "CSIP4": _case(
        "CSIP4 SIARD_3",
        package(' csip:CONTENTINFORMATIONTYPE="citssiard_v1_0" PROFILE', " PROFILE"),
        package(
            "https://earksip.dilcis.eu/profile/E-ARK-SIP-v2-2-0.xml",
            "https://citssiard.dilcis.eu/profile/E-ARK-SIARD-ROOT.xml",
        ),
    ),
    "CSIP5": _case("CSIP5", package('TYPE="citssiard_v1_0" PROFILE', 'TYPE="OTHER" PROFILE')),
    "CSIP117": _case("CSIP117 CSIP10", without("<metsHdr.*</metsHdr>\n"), profile=Profile.CSIP),
    "CSIP9": _case("CSIP9 SIP4", package(' csip:OAISPACKAGETYPE="SIP"', "")),
    "CSIP10": _case("CSIP10", without(r'<agent ROLE="CREATOR" TYPE="OTHER".*?</agent>')),
    "CSIP11": _case("CSIP11", package(_SOFTWARE, _SOFTWARE.replace("CREATOR", "EDITOR"))),
    "CSIP12": _case("CSIP12", package(_SOFTWARE, _SOFTWARE.replace('"OTHER"', '"ORGANIZATION"'))),
    "CSIP13": _case("CSIP13", package(_SOFTWARE, _SOFTWARE.replace("SOFTWARE", "PROGRAM"))),
    "CSIP14": _case("CSIP14", package("<name>By hand</name>", "<name> </name>")),
    "CSIP15": _case("CSIP15", without(r'<note csip:NOTETYPE="SOFTWARE VERSION">1.0</note>')),
    "CSIP16": _case("CSIP16", package('"SOFTWARE VERSION"', '"IDENTIFICATIONCODE"')),
    # --- metadata
    "CSIP17": _case("CSIP17", _written("metadata/descriptive/more.xml")),
    "CSIP20": _case("CSIP20", package('STATUS="CURRENT"', 'STATUS="OLD"')),
    "CSIP21": _case("CSIP21 CSIP17", without(r'<mdRef MDTYPE="DC".*?/>')),
    "CSIP31": _case("CSIP31", package("</amdSec>", '</amdSec><amdSec ID="more"/>')),
    "CSIP32": _case("CSIP32", _written(f"{REPRESENTATION}/metadata/preservation/more.xml")),
    "CSIP34": _case("CSIP34", without(r'(?<=ID="premis" CREATED="2026-05-01T12:00:00Z") STATUS="CURRENT"')),
    "CSIP35": _case("CSIP35 CSIP32", without(r'<mdRef MDTYPE="PREMIS".*?/>')),
    "CSIP47": _case("CSIP47", without(r'(?<=ID="rights" CREATED="2026-05-01T12:00:00Z") STATUS="CURRENT"')),
    "CSIP48": _case("CSIP48", without(r'<mdRef MDTYPE="OTHER".*?/>')),
    # --- files
    "CSIP58": _case("CSIP58 SIARD_13", without(r"<fileSec.*</fileSec>\n", REPRESENTATION_METS)),
    "CSIP60": _case(
        "CSIP60 CSIP64",
        package('USE="Documentation"', 'USE="Notes"'),
        without(r'<div ID="div-documentation".*?</div>\n'),
    ),
    "CSIP113": _case(
        "CSIP113 CSIP64",
        package('USE="Schemas"', 'USE="Notes"'),
        without(r'<div ID="div-schemas".*?</div>\n'),
    ),
    "CSIP114": _case(
        "CSIP114 CSIP64 CSIP108 SIARD_6", package('USE="Representations/rep1"', 'USE="Others/rep1"')
    ),
    "CSIP61": _case("", package('USE="Schemas" ADMID="premis"', 'USE="Schemas" ADMID="x"'), codes="M022"),
    "CSIP62": _case(
        "CSIP62 SIARD_6", package(' csip:CONTENTINFORMATIONTYPE="citssiard_v1_0" csip:OTHER', " csip:OTHER")
    ),
    "CSIP63": _case(
        "CSIP63 CSIPSTR12", with_content, package(' csip:OTHERCONTENTINFORMATIONTYPE="notes"', "")
    ),
    "CSIP66": _case("CSIP66", without(r'<file ID="schema".*?</file>\n')),
    "CSIP74": _case("", package('ADMID="premis" DMDID', 'ADMID="dmd" DMDID'), codes="M023"),
    "CSIP75": _case("", package('DMDID="dmd" ', 'DMDID="x" '), codes="M022"),
    "CSIP76": _case("CSIP76", without(r'<FLocat [^>]*href="schemas/[^>]*/>')),
    # --- structure
    "CSIP80": _case(
        "CSIP80 CSIP88",
        package(
            "</mets>",
            '<structMap ID="m" TYPE="PHYSICAL" LABEL="CSIP"><div ID="d"><div '
            'ID="e" LABEL="Metadata" ADMID="amd" DMDID="dmd"/></div></structMap></mets>',
        ),
    ),
    "CSIP81": _case("CSIP81", package('TYPE="PHYSICAL"', 'TYPE="LOGICAL"')),
    "CSIP82": _case("CSIP82 CSIP105 SIARD_8", package('LABEL="CSIP"', 'LABEL="MINE"')),
    "CSIP84": _case("CSIP84", package("</structMap>", '<div ID="second"/></structMap>'), codes="M020"),
    "CSIP88": _case("CSIP88", package('LABEL="Metadata"', 'LABEL="About"')),
    "CSIP90": _case("CSIP90", package('LABEL="Metadata"', 'LABEL="metadata"')),
    "CSIP91": _case("CSIP91", package(' ADMID="amd"', "")),
    "CSIP92": _case("CSIP92", package(' ADMID="amd" DMDID="dmd"', ' ADMID="amd"')),
    "CSIP93": _case("CSIP93", package('LABEL="Documentation"', 'LABEL="Notes"')),
    "CSIP95": _case("CSIP95", package('LABEL="Documentation"', 'LABEL="DOCUMENTATION"')),
    "CSIP96": _case("CSIP96", package('<fptr FILEID="documentation"/>', "")),
    "CSIP116": _case("CSIP116 CSIP96", package('<fptr FILEID="documentation"/>', '<fptr FILEID="readme"/>')),
    "CSIP97": _case("CSIP97", package('LABEL="Schemas"', 'LABEL="Notes"')),
    "CSIP99": _case("CSIP99", package('LABEL="Schemas"', 'LABEL="schemas"')),
    "CSIP100": _case("CSIP100", package('<fptr FILEID="schemas"/>', "")),
    "CSIP118": _case("CSIP118 CSIP100", package('<fptr FILEID="schemas"/>', "<fptr/>")),
    "CSIP101": _case("CSIP101 CSIPSTR12", with_content, without(r'<div ID="div-content".*?</div>\n')),
    "CSIP103": _case(
        "CSIP103 CSIPSTR12", with_content, package('LABEL="Representations"', 'LABEL="representations"')
    ),
    "CSIP104": _case("CSIP104 CSIPSTR12", with_content, package('<fptr FILEID="rep2"/>', "")),
    "CSIP119": _case(
        "CSIP119 CSIP104 CSIPSTR12", with_content, package('<fptr FILEID="rep2"/>', '<fptr FILEID="x"/>')
    ),
    "CSIP105": _case("CSIP105 SIARD_8", _DIVISION),
    "CSIP106": _case("CSIP106", package(' ID="div-rep1"', "")),
    "CSIP107": _case("CSIP107 CSIP105 SIARD_8", package('LABEL="Representations/rep1"', 'LABEL="rep1"')),
    "CSIP108": _case("CSIP108", package('xlink:title="rep1"', 'xlink:title="rep"')),
    "CSIP109": _case("CSIP109", without(r"<mptr .*?/>")),
    # --- SIP
    "SIP2": _case("SIP2", package("E-ARK-SIP-v2-2-0.xml", "E-ARK-SIP-of-mine.xml")),
    "SIP4": _case("SIP4", package('TYPE="SIP"', 'TYPE="AIP"')),
    "SIP11": _case("SIP11", package('"ARCHIVIST" TYPE="ORGANIZATION"', '"ARCHIVIST" TYPE="OTHER"')),
    "SIP12": _case("SIP12", package("<name>Northwind Traders</name>", "")),
    "SIP14": _case("SIP14", package(' csip:NOTETYPE="IDENTIFICATIONCODE">NW', ">NW")),
    "SIP15": _case(
        "SIP15",
        package(_SUBMITTER, 'ROLE="EDITOR" TYPE="ORGANIZATION"'),
        package('ROLE="CREATOR" TYPE="INDIVIDUAL"', 'ROLE="EDITOR" TYPE="INDIVIDUAL"'),
    ),
    "SIP16": _case("SIP16", package('ROLE="OTHER" OTHERROLE="SUBMITTER"', 'OTHERROLE="SUBMITTER"')),
    "SIP17": _case("SIP17", package(_SUBMITTER, _SUBMITTER.replace("ORGANIZATION", "OTHER"))),
    "SIP18": _case("SIP18", package("<name>Ministry of Trade</name>", "")),
    "SIP20": _case("SIP20", package(' csip:NOTETYPE="IDENTIFICATIONCODE">MT', ">MT")),
    "SIP24": _case("SIP24", package("<name>Nancy Davolio</name>", "<name/>")),
    "SIP28": _case("SIP28", package('"PRESERVATION" TYPE="ORGANIZATION"', '"PRESERVATION" TYPE="OTHER"')),
    "SIP29": _case("SIP29", package("<name>National Archives</name>", "")),
    "SIP31": _case("SIP31", package(' csip:NOTETYPE="IDENTIFICATIONCODE">NA', ">NA")),
    # --- CITS SIARD
    "SIARD_1": _case(
        "SIARD_1 CSIPSTR12",
        lambda root: (root / REPRESENTATION_METS).rename(root / REPRESENTATION / "description.xml"),
    ),
    "SIARD_2": _case("SIARD_2", package('TYPE="Databases"', 'TYPE="Datasets"')),
    "SIARD_3": _case(
        "SIARD_3 SIARD_5",
        package('TYPE="citssiard_v1_0" PROFILE', 'TYPE="SIARD2" PROFILE'),
        profile=Profile.CITS_SIARD,
    ),
    "SIARD_4": _case("SIARD_4", package(" PROFILE", ' csip:OTHERCONTENTINFORMATIONTYPE="SIARD_2.2" PROFILE')),
    "SIARD_5": _case("SIARD_5", lambda _root: None, profile=Profile.CITS_SIARD),
    "SIARD_6": _case("SIARD_6", package('TYPE="citssiard_v1_0" csip:OTHER', 'TYPE="SIARD2" csip:OTHER')),
    "SIARD_7": _case("SIARD_7 SIARD_14", package('TYPE="SIARD_2.2"', 'TYPE="SIARD_3"')),
    "SIARD_8": _case("SIARD_8 CSIP105", _DIVISION),
    "SIARD_9": _case("SIARD_9", representation('TYPE="Databases"', 'TYPE="Datasets"')),
    "SIARD_10": _case("SIARD_10", representation('"citssiard_v1_0"', '"SIARD2"')),
    "SIARD_11": _case(
        "SIARD_11 SIARD_14", representation('TYPE="SIARD_2.2" PROFILE', 'TYPE="SIARD_3" PROFILE')
    ),
    "SIARD_12": _case("SIARD_12 CSIP6", without(r'(?<=PROFILE=")[^"]*', REPRESENTATION_METS)),
    "SIARD_13": _case("SIARD_13", representation('TYPE="SIARD_2.2" MIME', 'TYPE="SIARD_2.1" MIME')),
    "SIARD_14": _case("SIARD_14", package('TYPE="SIARD_2.2"', 'TYPE="SIARD_2.1"')),
    "SIARD_15": _case(
        "SIARD_15",
        _moved(ARCHIVE, f"{DATA}/Northwind.zip"),
        representation("Northwind.siard", "Northwind.zip"),
    ),
    "SIARD_16": _case(
        "SIARD_16", package("SIARD_2.2", "SIARD_2.1"), representation("SIARD_2.2", "SIARD_2.1", 2)
    ),
    "SIARD_17": _case("", lambda root: (root / ARCHIVE).write_bytes(b"no archive"), codes="Z001"),
    "SIARD_19b": _case("SIARD_19b", _written(f"{DATA}/Northwind_lobs/mapping.txt")),
    "SIARD_20": _case("SIARD_20 CSIPSTR11 CSIP64", _DUMP, _deleted(DATA)),
    "SIARD_21": _case(
        "SIARD_21 CSIP32", _DUMP, without(r"<digiprovMD.*</digiprovMD>\n", REPRESENTATION_METS)
    ),
    "SIARD_22": _case(
        "SIARD_22 CSIPSTR12 CSIPSTR13 CSIP101 CSIP114",
        _moved(LOB, LOB.replace("rep1", "rep2")),
        _deleted(f"{DATA}/Northwind_lobs"),
        _archived(TABLE, database="../../rep2/data/Northwind_lobs/"),
        representation("data/Northwind_lobs", "../rep2/data/Northwind_lobs"),
    ),
    "SIARD_22b": _case(
        "SIARD_22b",
        _moved(LOB, LOB.replace("t2_c4_r1", "picture")),
        _archived(TABLE.replace(b"t2_c4_r1", b"picture")),
        representation("t2_c4_r1", "picture"),
    ),
}

CASES |= {
    "CSIP86": _case("CSIP86", _NAMED_2_0_4, package('ID="top" LABEL="package"', 'ID="top" LABEL="another"')),
    "SIP1": _case("SIP1", package("<mets ", '<mets LABEL=" " ')),
    "SIP9": _case("SIP9", package("</metsHdr>", f"{_ANOTHER.format('ARCHIVIST')}</metsHdr>")),
    "SIP26": _case("SIP26", package("</metsHdr>", f"{_ANOTHER.format('PRESERVATION')}</metsHdr>")),
    "SIP3": _case("SIP3", package("<metsHdr ", '<metsHdr RECORDSTATUS="BRAND NEW" ')),
    "SIP5": _case("SIP5", _recorded(("SUBMISSIONAGREEMENT", "a"), ("SUBMISSIONAGREEMENT", "b"))),
    "SIP6": _case(
        "SIP6", _recorded(("PREVIOUSSUBMISSIONAGREEMENT", "a"), ("PREVIOUSSUBMISSIONAGREEMENT", " "))
    ),
    "SIP7": _case("SIP7", _recorded(("REFERENCECODE", ""))),
    "SIP8": _case("SIP8", _recorded(("PREVIOUSREFERENCECODE", ""))),
    "SIP32": _case("SIP32", package('<file ID="readme"', '<file sip:FILEFORMATNAME="" ID="readme"')),
    "SIP33": _case("SIP33", package('<file ID="readme"', '<file sip:FILEFORMATVERSION=" " ID="readme"')),
    "SIP34": _case("SIP34", package('<file ID="readme"', '<file sip:FORMATREGISTRY="" ID="readme"')),
    "SIP35": _case("SIP35", package('<file ID="readme"', '<file sip:FORMATREGISTRYKEY="" ID="readme"')),
}

# What the requirement's own XPath finds is taken away, or given another value, with lxml: another engine.
LITERAL = {each.id: each for each in NAMED.values() if each.demand is not None}
# Those that are not in the good package, or that break more than the one.
_WITH_CONTENT = {"CSIP102"}
_ALSO: dict[str, frozenset[str]] = {
    "CSIP6": frozenset({"SIP2", "SIARD_5"}),
    "CSIP24": frozenset({"CSIP17"}),
    "CSIP38": frozenset({"CSIP32"}),
    "CSIP64": frozenset({"CSIP60", "CSIP116"}),
    "CSIP65": frozenset({"CSIP96", "CSIP116"}),
    "CSIP102": frozenset({"CSIPSTR12"}),
}


def _xpath(where: str) -> str:
    return re.sub(r"(^|/)(\w)", r"\1m:\2", f"/{where}")


def _spoiled(requirement: Requirement) -> Damage:
    demand = requirement.demand
    assert demand is not None
    prefix, _, local = demand.attribute.rpartition(":")
    name = f"{{{_NAMESPACES[prefix]}}}{local}" if prefix else local

    def damage(root: Path) -> None:
        document = etree.parse(root / PACKAGE_METS)
        found = document.xpath(_xpath(demand.place), namespaces=_NAMESPACES)
        assert isinstance(found, list)
        element = found[0]
        assert isinstance(element, etree._Element)
        if not demand.values:
            del element.attrib[name]
        else:
            element.set(name, "OTHER")
        document.write(root / PACKAGE_METS, encoding="UTF-8", xml_declaration=True)

    return damage


def _literal(requirement: Requirement) -> Case:
    first = (with_content,) if requirement.id in _WITH_CONTENT else ()
    breaks = _ALSO.get(requirement.id, frozenset()) | {requirement.id}
    return _case(" ".join(breaks), *first, _spoiled(requirement))


EVERY = {id_: _literal(each) for id_, each in LITERAL.items()} | CASES
"""All damages, by the requirement that each is for."""
