"""Forges a small package of E-ARK CSIP, SIP and CITS SIARD that meets every rule.

It shares no code with metspack on purpose, and is written as the standards' own examples are.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable
from pathlib import Path
from urllib.parse import unquote

from tests.packages.forge import md5, siard, write_manifests

REPRESENTATION = "representations/rep1"
DATA = f"{REPRESENTATION}/data"
ARCHIVE = f"{DATA}/Northwind.siard"
LOB = f"{DATA}/Northwind_lobs/s0_t2_c4/seg_0/t2_c4_r1.bin"
PACKAGE_METS = "METS.xml"
REPRESENTATION_METS = f"{REPRESENTATION}/METS.xml"
TIME = "2026-05-01T12:00:00Z"

_PICTURE = b"first picture" * 31
TABLE = f"""<?xml version="1.0" encoding="UTF-8"?>
<table xmlns="http://www.bar.admin.ch/xmlns/siard/2/table.xsd" version="2.2">
<row><c1>1</c1><c4 file="seg_0/t2_c4_r1.bin" length="{len(_PICTURE)}" digestType="MD5" \
digest="{md5(_PICTURE)}"/></row>
</table>
""".encode()
CONTENTS: dict[str, bytes] = {
    "documentation/readme.txt": b"What there is to know.\n",
    "schemas/dc.xsd": b'<schema xmlns="http://www.w3.org/2001/XMLSchema"/>\n',
    "metadata/descriptive/dc.xml": b"<dc/>\n",
    "metadata/preservation/premis.xml": b"<premis/>\n",
    "metadata/other/rights.xml": b"<rights/>\n",
    f"{REPRESENTATION}/metadata/preservation/premis.xml": b"<premis version='3.0'/>\n",
    ARCHIVE: siard(TABLE, database="./Northwind_lobs/", column="s0_t2_c4/", rows=1),
    LOB: _PICTURE,
}
_ROOT = (
    'xmlns="http://www.loc.gov/METS/" xmlns:xlink="http://www.w3.org/1999/xlink" '
    'xmlns:csip="https://DILCIS.eu/XML/METS/CSIPExtensionMETS" '
    'xmlns:sip="https://DILCIS.eu/XML/METS/SIPExtensionMETS"'
)
_SOFTWARE = """<agent ROLE="CREATOR" TYPE="OTHER" OTHERTYPE="SOFTWARE">
<name>By hand</name><note csip:NOTETYPE="SOFTWARE VERSION">1.0</note>
</agent>"""
_AGENTS = f"""<agent ROLE="ARCHIVIST" TYPE="ORGANIZATION">
<name>Northwind Traders</name><note csip:NOTETYPE="IDENTIFICATIONCODE">NW</note>
</agent>
<agent ROLE="OTHER" OTHERROLE="SUBMITTER" TYPE="ORGANIZATION">
<name>Ministry of Trade</name><note csip:NOTETYPE="IDENTIFICATIONCODE">MT</note>
</agent>
<agent ROLE="CREATOR" TYPE="INDIVIDUAL">
<name>Nancy Davolio</name><note>nancy@northwind.example</note>
</agent>
<agent ROLE="PRESERVATION" TYPE="ORGANIZATION">
<name>National Archives</name><note csip:NOTETYPE="IDENTIFICATIONCODE">NA</note>
</agent>
{_SOFTWARE}"""


def _about(href: str, media_type: str) -> str:
    return (
        f'MIMETYPE="{media_type}" SIZE="0" CREATED="{TIME}" CHECKSUM="0" CHECKSUMTYPE="SHA-256" {{}}'.format(
            f'LOCTYPE="URL" xlink:type="simple" xlink:href="{href}"'
        )
    )


def _section(element: str, identifier: str, href: str, kind: str) -> str:
    return (
        f'<{element} ID="{identifier}" CREATED="{TIME}" STATUS="CURRENT">\n'
        f'<mdRef MDTYPE="{kind}" {_about(href, "application/xml")}/>\n</{element}>'
    )


def _file(identifier: str, href: str, media_type: str, more: str = "") -> str:
    about, location = _about(href, media_type).split("LOCTYPE", 1)
    return f'<file ID="{identifier}" {more}{about.strip()}>\n<FLocat LOCTYPE{location}/>\n</file>'


def _package(objid: str) -> str:
    return f"""<?xml version="1.0" encoding="UTF-8"?>
<mets {_ROOT} OBJID="{objid}" TYPE="Databases" csip:CONTENTINFORMATIONTYPE="citssiard_v1_0" \
PROFILE="https://earksip.dilcis.eu/profile/E-ARK-SIP-v2-2-0.xml">
<metsHdr CREATEDATE="{TIME}" csip:OAISPACKAGETYPE="SIP">
{_AGENTS}
</metsHdr>
{_section("dmdSec", "dmd", "metadata/descriptive/dc.xml", "DC")}
<amdSec ID="amd">
{_section("rightsMD", "rights", "metadata/other/rights.xml", 'OTHER" OTHERMDTYPE="X')}
{_section("digiprovMD", "premis", "metadata/preservation/premis.xml", "PREMIS")}
</amdSec>
<fileSec ID="files">
<fileGrp ID="documentation" USE="Documentation">
{_file("readme", "documentation/readme.txt", "text/plain", 'ADMID="premis" DMDID="dmd" ')}
</fileGrp>
<fileGrp ID="schemas" USE="Schemas" ADMID="premis">
{_file("schema", "schemas/dc.xsd", "application/xml")}
</fileGrp>
<fileGrp ID="rep1" USE="Representations/rep1" csip:CONTENTINFORMATIONTYPE="citssiard_v1_0" \
csip:OTHERCONTENTINFORMATIONTYPE="SIARD_2.2">
{_file("rep1-mets", "representations/rep1/METS.xml", "application/xml")}
</fileGrp>
</fileSec>
<structMap ID="map" TYPE="PHYSICAL" LABEL="CSIP">
<div ID="top" LABEL="{objid}">
<div ID="div-metadata" LABEL="Metadata" ADMID="amd" DMDID="dmd"/>
<div ID="div-documentation" LABEL="Documentation">
<fptr FILEID="documentation"/>
</div>
<div ID="div-schemas" LABEL="Schemas">
<fptr FILEID="schemas"/>
</div>
<div ID="div-rep1" LABEL="Representations/rep1">
<mptr LOCTYPE="URL" xlink:type="simple" xlink:href="representations/rep1/METS.xml" xlink:title="rep1"/>
</div>
</div>
</structMap>
</mets>
"""


def _representation() -> str:
    marked = 'csip:OTHERCONTENTINFORMATIONTYPE="SIARD_2.2" '
    return f"""<?xml version="1.0" encoding="UTF-8"?>
<mets {_ROOT} OBJID="rep1" TYPE="Databases" csip:CONTENTINFORMATIONTYPE="citssiard_v1_0" \
csip:OTHERCONTENTINFORMATIONTYPE="SIARD_2.2" \
PROFILE="https://citssiard.dilcis.eu/profile/E-ARK-SIARD-REPRESENTATION.xml">
<metsHdr CREATEDATE="{TIME}">
{_SOFTWARE}
</metsHdr>
<amdSec ID="amd">
{_section("digiprovMD", "premis", "metadata/preservation/premis.xml", "PREMIS")}
</amdSec>
<fileSec ID="files">
<fileGrp ID="data" USE="data">
{_file("siard", "data/Northwind.siard", "application/zip", marked)}
{_file("s0.t2.c4.r1", "data/Northwind_lobs/s0_t2_c4/seg_0/t2_c4_r1.bin", "application/octet-stream")}
</fileGrp>
</fileSec>
<structMap ID="map" TYPE="PHYSICAL" LABEL="CSIP">
<div ID="top" LABEL="rep1">
<div ID="div-metadata" LABEL="Metadata" ADMID="amd"/>
<div ID="div-data" LABEL="Data">
<fptr FILEID="data"/>
</div>
</div>
</structMap>
</mets>
"""


PARENT = "NW"
_SIARD_PROFILE = "https://citssiard.dilcis.eu/profile/E-ARK-SIARD-REPRESENTATION.xml"
_CSIP_PROFILE = "https://earkcsip.dilcis.eu/profile/E-ARK-CSIP.xml"
_PIECES = (_PICTURE[:200], _PICTURE[200:])
_FOLDER = "Northwind_lobs/s0_t2_c4"


def divided(root: Path) -> Path:
    """Write a package of E-ARK's into a new folder: a parent, and a child for each part of its split LOB.

    METS documents get sizes and digests when it is sealed, once.
    """
    links = [_linked(f"child {each}", f"{PARENT}_seg_{each}", "child SIP") for each, _ in enumerate(_PIECES)]
    files = "\n".join(
        _file(f"child{each}", f"../{PARENT}_seg_{each}/METS.xml", "application/xml")
        for each, _ in enumerate(_PIECES)
    )
    maps = _map("child SIPs", *links) + _split()
    _write_package(root / PARENT, maps, f'<fileGrp ID="children" USE="child SIPs">\n{files}\n</fileGrp>\n')
    _write_representation(
        root / PARENT, "siard", ARCHIVE, CONTENTS[ARCHIVE], 'csip:OTHERCONTENTINFORMATIONTYPE="SIARD_2.2" '
    )
    for number, data in enumerate(_PIECES):
        child = root / f"{PARENT}_seg_{number}"
        _write_package(child, _map("parent SIP", _linked("parent", PARENT, "SIP parent identifier")))
        path = f"{DATA}/{_FOLDER}/seg_{number}/t2_c4_r1.bin_part{number + 1:03}"
        about = f'SEQ="{number}" GROUPID="s0.t2.c4.r1" '
        _write_representation(child, f"s0.t2.c4.r1.p{number}", path, data, about)
    return root


def _write_package(root: Path, maps: str, group: str = "") -> None:
    for name, data in CONTENTS.items():
        if name not in {ARCHIVE, LOB}:
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_bytes(data)
    text = (
        _package(root.name).replace("</fileSec>", f"{group}</fileSec>").replace("</mets>", f"{maps}</mets>")
    )
    if root.name != PARENT:
        text = text.replace("SIARD_2.2", "SIARD_lobs")
    (root / PACKAGE_METS).write_text(text, encoding="utf-8")


def _write_representation(root: Path, identifier: str, path: str, data: bytes, about: str) -> None:
    (root / path).parent.mkdir(parents=True, exist_ok=True)
    (root / path).write_bytes(data)
    start, group = _representation().split('<fileGrp ID="data" USE="data">\n')
    kind = "application/zip" if path == ARCHIVE else "application/octet-stream"
    file = _file(identifier, path.removeprefix(f"{REPRESENTATION}/"), kind, about)
    rest = group.partition("</fileGrp>")[2]
    text = f'{start}<fileGrp ID="data" USE="data">\n{file}\n</fileGrp>{rest}'
    if path != ARCHIVE:  # the standard's profile asks for an archive
        text = text.replace("SIARD_2.2", "SIARD_lobs").replace(_SIARD_PROFILE, _CSIP_PROFILE)
    (root / REPRESENTATION_METS).write_text(text, encoding="utf-8")


def _map(label: str, *divs: str) -> str:
    name = label.replace(" ", "-")
    listed = "\n".join(divs)
    return (
        f'<structMap ID="{name}" TYPE="PHYSICAL" LABEL="{label}">\n<div ID="{name}-div" LABEL="{label}">\n'
        f"{listed}\n</div>\n</structMap>\n"
    )


def _linked(name: str, objid: str, label: str) -> str:
    identifier = name.replace(" ", "")
    pointer = f'<fptr FILEID="{identifier}"/>\n' if objid != PARENT else ""
    return (
        f'<div ID="to-{identifier}" LABEL="{label}">\n'
        f'<mptr LOCTYPE="URN" xlink:type="simple" xlink:href="urn:id:{objid}"/>\n'
        f'<mptr LOCTYPE="URL" xlink:type="simple" xlink:href="../{objid}/METS.xml"/>\n{pointer}</div>'
    )


def _split() -> str:
    parts = "\n".join(
        f'<div ID="s0.t2.c4.r1.p{each}" ORDER="{each + 1}" LABEL="s0.t2.c4.r1.p{each}">\n'
        f'<mptr LOCTYPE="URN" xlink:type="simple" xlink:href="urn:id:{PARENT}_seg_{each}" '
        f'CONTENTIDS="s0.t2.c4.r1.p{each}"/>\n</div>'
        for each, _ in enumerate(_PIECES)
    )
    return (
        '<structMap ID="split" TYPE="SPLITLOB" LABEL="LOBs divided over child IPs">\n'
        f'<div ID="split-div" LABEL="split LOBs">\n<div ID="s0.t2.c4.r1" LABEL="s0.t2.c4.r1">\n{parts}\n'
        "</div>\n</div>\n</structMap>\n"
    )


def forge(root: Path, damage: Callable[[Path], object] | None = None) -> Path:
    """Write the package into a new folder, whose name it has as OBJID; return it.

    ``damage`` is done before the METS documents get the digests and sizes of what they name.
    """
    _write(root)
    if damage is not None:
        damage(root)
    seal(root)
    return root


def _write(root: Path) -> None:
    for name, data in CONTENTS.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    (root / PACKAGE_METS).write_text(_package(root.name), encoding="utf-8")
    (root / REPRESENTATION_METS).write_text(_representation(), encoding="utf-8")


TOP, CHILDREN = "top", ("child_0", "child_1")


def _division(child: str, *, by_objid: bool) -> str:
    number = CHILDREN.index(child) + 1
    place = (
        f'<mptr LOCTYPE="URL" xlink:type="simple" xlink:href="../{child}/METS.xml"/>\n'
        f'<fptr FILEID="{child}-mets"/>\n'
    )
    return (
        f'<div ID="div-{child}" ORDER="{number}" LABEL="child SIP">\n'
        f'<mptr LOCTYPE="OTHER" OTHERLOCTYPE="IDENTIFIER" xlink:type="simple" xlink:href="{child}"/>\n'
        f"{'' if by_objid else place}</div>\n"
    )


def divide(root: Path, damage: Callable[[Path], object] | None = None, *, by_objid: bool = False) -> Path:
    """Write a parent and two children side by side into a new folder, as an AIP; return it.

    The parent has the archive and its one LOB, each child a file. ``by_objid`` reduces the parent's
    statements on its children to their OBJIDs.
    """
    for name in (TOP, *CHILDREN):
        _write(root / name)
    mets = root / TOP / PACKAGE_METS
    files = "\n".join(_file(f"{each}-mets", f"../{each}/METS.xml", "application/xml") for each in CHILDREN)
    divisions = "".join(_division(each, by_objid=by_objid) for each in CHILDREN)
    text = mets.read_text(encoding="utf-8")
    if not by_objid:
        text = text.replace(
            "</fileSec>", f'<fileGrp ID="children" USE="child SIPs">\n{files}\n</fileGrp>\n</fileSec>'
        )
    text = text.replace(
        "</mets>",
        '<structMap ID="children-map" TYPE="PHYSICAL" LABEL="child SIPs">\n'
        f'<div ID="children-div" LABEL="child SIPs">\n{divisions}</div>\n</structMap>\n</mets>',
    )
    mets.write_text(text, encoding="utf-8")
    for child in CHILDREN:
        _orphan(root / child, child)
    if damage is not None:
        damage(root)
    seal(root)
    write_manifests(root)
    return root


def _orphan(folder: Path, name: str) -> None:
    """Make a child of a package: without the archive and its LOB, with a link to the parent."""
    (folder / ARCHIVE).unlink()
    (folder / LOB).unlink()
    (folder / LOB).parent.rmdir()
    (folder / LOB).parent.parent.rmdir()
    (folder / LOB).parent.parent.parent.rmdir()
    (folder / DATA / f"{name}.bin").write_bytes(name.encode() * 10)
    path = folder / REPRESENTATION_METS
    text = path.read_text(encoding="utf-8")
    start, end = text.index('<fileGrp ID="data"'), text.index("</fileGrp>")
    group = '<fileGrp ID="data" USE="data">\n' + _file(
        f"{name}-data", f"data/{name}.bin", "application/octet-stream"
    )
    path.write_text(
        (text[:start] + group + "\n" + text[end:]).replace("SIARD_2.2", "SIARD_lobs"), encoding="utf-8"
    )
    path = folder / PACKAGE_METS
    link = (
        '<structMap ID="parent-map" TYPE="PHYSICAL" LABEL="parent SIP">\n'
        '<div ID="parent-div" LABEL="SIP parent identifier">\n'
        f'<mptr LOCTYPE="OTHER" OTHERLOCTYPE="IDENTIFIER" xlink:type="simple" xlink:href="{TOP}"/>\n'
        f'<mptr LOCTYPE="URL" xlink:type="simple" xlink:href="../{TOP}/METS.xml"/>\n'
        "</div>\n</structMap>\n</mets>"
    )
    text = path.read_text(encoding="utf-8").replace("</mets>", link)
    path.write_text(text.replace("SIARD_2.2", "SIARD_lobs"), encoding="utf-8")


_ENTRY = re.compile(
    r'SIZE="0"( CREATED="[^"]*")? CHECKSUM="0"([^>]*(?:>\s*<FLocat )?[^>]*xlink:href="([^"]*)")'
)


def seal(root: Path) -> None:
    """Write sizes and digests of the files, representations first and the parent last."""
    found = root.rglob("[Mm][Ee][Tt][Ss].xml")
    for mets in sorted(found, key=lambda path: (-len(path.parts), path.parent.name in {PARENT, TOP})):

        def entry(found: re.Match[str], folder: Path = mets.parent) -> str:
            path = folder / unquote(found[3])
            data = path.read_bytes() if path.is_file() else b""
            digest = hashlib.sha256(data).hexdigest()
            return f'SIZE="{len(data)}"{found[1] or ""} CHECKSUM="{digest}"{found[2]}'

        mets.write_text(_ENTRY.sub(entry, mets.read_text(encoding="utf-8")), encoding="utf-8")
    if (root / PARENT).is_dir():
        write_manifests(root)
