"""The METS of the E-ARK recommendation for external LOBs: attribute spellings as in its version 0.16."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from metspack import identifiers, uris
from metspack.digests import Hashers
from metspack.mets import writer
from metspack.placing import PlacedFile

NAME = "recommendation"
METS = "mets.xml"
"""The name of every METS document of this dialect."""

PROFILE = "http://SIARD2.0.xml"
"""The PROFILE of the recommendation's example; archives put their own in its place."""

HREF_STYLES = ("relative", "file-uri")


@dataclass(frozen=True, slots=True, kw_only=True)
class Software:
    """The software agent of a METS header."""

    name: str
    version: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """What parent and children say alike: SIARD version, clock, checksum type, agents, profile, hrefs."""

    version: str
    created: str
    checksum_type: str
    software: Software
    agents: tuple[str, ...]
    profile: str
    href_style: str

    def href(self, folder: str, path: str) -> str:
        """Return the reference to ``path`` from the METS in ``folder`` ("" is the package root).

        ``file-uri`` gives 0.16's pseudo-absolute form, which counts from the package root.
        """
        segments = path.split("/")
        if self.href_style == "file-uri":
            return uris.file_uri((folder, *segments) if folder else segments)
        return uris.quoted(segments)


@dataclass(frozen=True, slots=True, kw_only=True)
class SiardFile:
    """The rewritten archive: its name, size in bytes, checksum, and whether it is ZIP64."""

    name: str
    size: int
    checksum: str
    zip64: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ChildMets:
    """A child IP as its parent names it: its folder, and the size and checksum of its METS."""

    folder: str
    size: int
    checksum: str


def child_written(
    target: Path,
    *,
    setting: Setting,
    objid: str,
    folder: str,
    index: int,
    files: Callable[[], Iterator[PlacedFile]],
    ids: Callable[[], Iterator[str]],
    algorithms: Sequence[str],
) -> Hashers:
    """Write a child IP's METS for the parent ``objid``; returns its digests and size."""
    own = identifiers.child_objid(folder)
    child = {
        "objid": own,
        "element_id": f"{identifiers.ncname(objid)}.seg.{index}.mets.element",
        "index": index,
        "parent_objid": objid,
        "pointer_id": identifiers.element_id(objid, f"{own} parent"),
        **_said(setting),
    }
    facts = {
        "child": child,
        "files": files(),
        "ids": ids(),
        "href": lambda path: setting.href(folder, path),
    }
    return writer.written(target / METS, NAME, "child.xml.j2", facts, list(algorithms))


def parent_written(
    target: Path,
    *,
    setting: Setting,
    objid: str,
    name: str,
    siard: SiardFile,
    children: Sequence[ChildMets],
    algorithms: Sequence[str],
) -> Hashers:
    """Write the parent IP's METS; returns its digests and size."""
    facts = {
        "parent": {
            "objid": objid,
            "element_id": f"{identifiers.ncname(objid)}.mets.element",
            "owner_id": f"{objid}.{name.upper()}",
            "group_id": identifiers.element_id(objid, "child IPs"),
            "pointer_id": identifiers.element_id(objid, "SIARD central file"),
            **_said(setting),
        },
        "siard": {
            "id": f"ID_{name.upper()}.SIARD",
            "media_type": "application/zip",
            "size": siard.size,
            "checksum": siard.checksum,
            "href": setting.href("", siard.name),
            "content_id": f"{objid}.{siard.name}",
            "transformation": "ZIP64" if siard.zip64 else "ZIP",
        },
        "children": [_child(objid, setting, child) for child in children],
    }
    return writer.written(target / METS, NAME, "parent.xml.j2", facts, list(algorithms))


def _said(setting: Setting) -> dict[str, object]:
    return {
        "version": setting.version,
        "profile": setting.profile,
        "created": setting.created,
        "software": {"name": setting.software.name, "version": setting.software.version},
        "agents": setting.agents,
        "checksum_type": setting.checksum_type,
    }


def _child(objid: str, setting: Setting, child: ChildMets) -> dict[str, object]:
    own = identifiers.child_objid(child.folder)
    return {
        "objid": own,
        "size": child.size,
        "checksum": child.checksum,
        "href": setting.href("", f"{child.folder}/{METS}"),
        "pointer_id": identifiers.element_id(objid, own),
    }
