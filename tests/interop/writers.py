"""A package as ESSArch writes it by its profile EARK_CSIP_SIP_v204: read off that profile, not its code.

A simulation of what its METS documents say and how their files are called, not of anything else it does.
"""

from __future__ import annotations

import hashlib
from itertools import count
from pathlib import Path

TIME = "2026-05-01T12:00:00+02:00"
_IDS = count(1)
_ROOT = (
    'xmlns:mets="http://www.loc.gov/METS/" xmlns:xlink="http://www.w3.org/1999/xlink" '
    'xmlns:csip="https://DILCIS.eu/XML/METS/CSIPExtensionMETS" '
    'PROFILE="https://earkcsip.dilcis.eu/profile/E-ARK-CSIP.xml"'
)
_HEADER = f"""<mets:metsHdr CREATEDATE="{TIME}" csip:OAISPACKAGETYPE="SIP">
<mets:agent ROLE="CREATOR" TYPE="OTHER" OTHERTYPE="SOFTWARE"><mets:name>ESSArch</mets:name>
<mets:note csip:NOTETYPE="SOFTWARE VERSION">3</mets:note></mets:agent></mets:metsHdr>"""
_NAME = "mets.xml"


def _id() -> str:
    return f"ID{next(_IDS)}"


def _said(folder: Path, name: str) -> str:
    data = (folder / name).read_bytes()
    digest = hashlib.sha256(data).hexdigest()
    kind = "application/xml" if name.endswith((".xml", ".xsd")) else "application/octet-stream"
    return f'MIMETYPE="{kind}" SIZE="{len(data)}" CREATED="{TIME}" CHECKSUM="{digest}" CHECKSUMTYPE="SHA-256"'


def _location(name: str) -> str:
    return f'LOCTYPE="URL" xlink:type="simple" xlink:href="file:///{name}"'


class _Document:
    """A METS of one folder: its files in groups of these prefixes, whose IDs its divisions point to."""

    def __init__(self, folder: Path, label: str) -> None:
        self._folder = folder
        self._label = label
        self._ids: dict[str, list[str]] = {}
        self.groups = ""

    def _names(self, below: str) -> list[str]:
        path = self._folder / below
        found = [path] if path.is_file() else sorted(each for each in path.rglob("*") if each.is_file())
        return [str(each.relative_to(self._folder)) for each in found]

    def group(self, use: str, below: str) -> None:
        files = []
        for name in self._names(below):
            self._ids.setdefault(use, []).append(_id())
            files.append(
                f'<mets:file ID="{self._ids[use][-1]}" {_said(self._folder, name)}>'
                f"<mets:FLocat {_location(name)}/></mets:file>"
            )
        self.groups += f'<mets:fileGrp ID="{_id()}" USE="{use}">{"".join(files)}</mets:fileGrp>\n'

    def division(self, label: str, use: str = "", inner: str = "") -> str:
        pointers = "".join(f'<mets:fptr FILEID="{each}"/>' for each in self._ids.get(use, ()))
        return f'<mets:div ID="{_id()}" LABEL="{label}">{pointers}{inner}</mets:div>\n'

    def metadata(self) -> str:
        """Return the sections of metadata, and keep the IDs that divisions point to."""
        text = ""
        for below, kind in (("descriptive", "EAD"), ("preservation", "PREMIS")):
            for name in self._names(f"metadata/{below}"):
                reference = f'<mets:mdRef {_location(name)} MDTYPE="{kind}" {_said(self._folder, name)}/>'
                made = f'ID="{_id()}"'
                text += (
                    f'<mets:dmdSec {made} CREATED="{TIME}">{reference}</mets:dmdSec>\n'
                    if kind == "EAD"
                    else f"<mets:amdSec><mets:digiprovMD {made}>{reference}</mets:digiprovMD></mets:amdSec>\n"
                )
        return text

    def write(self, objid: str, label: str, divisions: str) -> None:
        top = f'<mets:div ID="{_id()}" LABEL="{label}">\n{divisions}</mets:div>'
        text = (
            f'<?xml version="1.0" encoding="UTF-8"?>\n<mets:mets {_ROOT} OBJID="UUID:{objid}" '
            f'TYPE="Databases" csip:CONTENTINFORMATIONTYPE="SIARD2">\n{_HEADER}\n{self.metadata()}'
            f'<mets:fileSec ID="{_id()}">\n{self.groups}</mets:fileSec>\n'
            f'<mets:structMap ID="{_id()}" TYPE="physical" LABEL="{self._label}">\n{top}\n</mets:structMap>\n'
            "</mets:mets>\n"
        )
        (self._folder / _NAME).write_text(text, encoding="utf-8")


def essarch(folder: Path, archive: Path) -> Path:
    """Return the package of an archive, called by its folder, with one representation."""
    contents = {
        "metadata/descriptive/ead.xml": b"<ead/>\n",
        "metadata/preservation/premis.xml": b"<premis/>\n",
        "documentation/readme.txt": b"What there is to know.\n",
        "schemas/mets.xsd": b'<schema xmlns="http://www.w3.org/2001/XMLSchema"/>\n',
        "representations/rep1/metadata/preservation/premis.xml": b"<premis version='3'/>\n",
        f"representations/rep1/data/{archive.name}": archive.read_bytes(),
    }
    for name, data in contents.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(data)
    inside = folder / "representations" / "rep1"
    representation = _Document(inside, "SIP")
    for name in ("data", "documentation"):
        representation.group(name, name)
    divisions = (representation.division(each, each) for each in ("metadata", "documentation", "data"))
    representation.write(folder.name, "rep1", "".join(divisions))
    package = _Document(folder, "CSIP")
    package.group("metadata/other", "metadata/other")
    package.group("representations/rep1", f"representations/rep1/{_NAME}")
    for name in ("schemas", "documentation"):
        package.group(name, name)
    pointer = f"<mets:mptr {_location(f'representations/rep1/{_NAME}')}/>"
    divided = package.division("representations", inner=package.division("rep1", inner=pointer))
    parts = (package.division(each, each) for each in ("metadata", "schemas", "documentation"))
    package.write(folder.name, folder.name, "".join(parts) + divided)
    return folder
