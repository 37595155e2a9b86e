"""Packages made around an archive as other tools write it: METS only is added.

Like ``forge`` it shares no code with metspack.
"""

from __future__ import annotations

import re
from pathlib import Path
from urllib.parse import quote

from tests.packages.forge import _NAMESPACES, PARENT_OBJID, md5, write_manifests
from tests.siard.convention_archives import Sample

_SEGMENT = re.compile(r"(.*(?:_lobseg_|/se[gq]_?)[0-9]+)/(.*)")


def entry(identifier: str, data: bytes, path: str, *, group: str = "", seq: int = 0) -> str:
    part = f'GROUPID="{group}" SEQ="{seq}" ' if group else ""
    return (
        f'<mets:file ID="{identifier}" {part}SIZE="{len(data)}" CHECKSUM="{md5(data)}" CHECKSUMTYPE="MD5">'
        f'<mets:FLocat LOCTYPE="URL" xlink:type="simple" xlink:href="{quote(path)}"/></mets:file>\n'
    )


def document(objid: str, groups: dict[str, str], pointers: str) -> str:
    listed = "".join(f'<mets:fileGrp ID="{name}">\n{text}</mets:fileGrp>' for name, text in groups.items())
    return (
        f'<?xml version="1.0" encoding="UTF-8"?>\n<mets:mets {_NAMESPACES} OBJID="{objid}">'
        f"<mets:fileSec>{listed}</mets:fileSec>{pointers}</mets:mets>\n"
    )


def structure(label: str, pointers: str) -> str:
    return f'<mets:structMap LABEL="{label}"><mets:div>{pointers}</mets:div></mets:structMap>'


def mptr(href: str) -> str:
    return f'<mets:mptr xlink:href="{href}" LOCTYPE="OTHER" OTHERLOCTYPE="OBJID"/>'


def urn(objid: str) -> str:
    """An mptr that names a package by a URN, as E-ARK's AIP does."""
    return f'<mets:mptr LOCTYPE="OTHER" OTHERLOCTYPE="UUID" xlink:href="{objid}"/>'


def structmap(label: str, *mptrs: str) -> str:
    """A structMap with a div for each mptr, as E-ARK's AIP has them."""
    divs = "".join(f'<mets:div LABEL="{label}">{each}</mets:div>' for each in mptrs)
    return f'<mets:structMap LABEL="{label}"><mets:div LABEL="{label}">{divs}</mets:div></mets:structMap>'


def fptrs(identifiers: list[str]) -> str:
    return "".join(f'<mets:fptr FILEID="{each}"/>' for each in identifiers)


def describe(root: Path, archive: str, segments: dict[str, dict[str, str]]) -> None:
    """Write METS into each segment folder, that of the parent, and manifests.

    Segments have the ids of their files by path. The archive's path may be empty: a package of LOBs only.
    """
    children = []
    for folder, files in segments.items():
        objid = f"ID_{folder.replace('/', '_')}_mets"
        text = "".join(entry(each, (root / folder / path).read_bytes(), path) for path, each in files.items())
        links = structure("LOBs", fptrs(list(files.values()))) + structure("parent IP", mptr(PARENT_OBJID))
        (root / folder / "mets.xml").write_text(document(objid, {"seg": text}, links))
        children.append((objid, f"{folder}/mets.xml"))
    groups = {}
    central = ""
    if archive:
        groups["ID_SIARD_DDL"] = entry("ID_ARCHIVE", (root / archive).read_bytes(), archive)
        central = structure("SIARD", fptrs(["ID_ARCHIVE"]))
    if children:
        listed = (entry(objid, (root / path).read_bytes(), path) for objid, path in children)
        groups["ID_CHILDREN"] = "".join(listed)
        central += structure("child IPs", "".join(mptr(objid) for objid, _ in children))
    (root / "mets.xml").write_text(document(PARENT_OBJID, groups, central))
    write_manifests(root)


def packaged(root: Path, sample: Sample, *, into: str = "") -> Path:
    """Build an archive with its LOBs, and describe all files in place.

    ``into`` is a folder below the root. Every segment folder, or else each folder that holds LOBs, becomes a
    child. A file has the id of the first row that has its bytes.
    """
    (root / into).mkdir(parents=True, exist_ok=True)
    archive = sample.build(root / into)
    if into:
        for name in sample.outside:
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / into / name).rename(root / name)
            _prune(root / into, name)
    segments: dict[str, dict[str, str]] = {}
    rows = {each.data: number for number, each in reversed(list(enumerate(sample.rows, 1)))}
    for name, data in sample.outside.items():
        found = _SEGMENT.fullmatch(name)
        folder, path = found.groups() if found else name.rpartition("/")[::2]
        row = rows.get(data)
        identifier = f"s0.t2.c1.r{row}" if row else f"ID_{len(segments)}_{path}"
        segments.setdefault(folder, {})[path] = identifier
    describe(root, archive.relative_to(root).as_posix(), segments)
    return root


def _prune(folder: Path, name: str) -> None:
    for parent in list(Path(name).parents)[:-1]:
        if (folder / parent).is_dir() and not any((folder / parent).iterdir()):
            (folder / parent).rmdir()
