"""The METS of the E-ARK recommendation for external LOBs: attribute spellings as in its version 0.16."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import attrgetter
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
    """What parent and children say alike: SIARD version, clock, checksum type, agents, profile, hrefs.

    ``version`` is None for LOBs that belong to no archive.
    """

    version: str | None
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
            return uris.file_uri((*folder.split("/"), *segments) if folder else segments)
        return uris.quoted(segments)


@dataclass(frozen=True, slots=True, kw_only=True)
class SiardFile:
    """The rewritten archive: its name, size in bytes, checksum, and whether it is ZIP64."""

    name: str
    size: int
    checksum: str
    zip64: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class SplitLob:
    """A LOB whose parts lie in children: its id, and its size in bytes and checksum as a whole."""

    id: str
    size: int
    media_type: str
    checksum: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SplitPart:
    """A part of a split LOB: the LOB's id, its own id in the child, and the child's OBJID."""

    lob: str
    id: str
    child: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ChildMets:
    """A child IP as its parent names it: OBJID, folder, and the size and checksum of its METS."""

    objid: str
    folder: str
    size: int
    checksum: str


def child_written(
    target: Path,
    *,
    setting: Setting,
    parent: str,
    objid: str,
    folder: str,
    index: int,
    files: Callable[[], Iterator[PlacedFile]],
    ids: Callable[[], Iterator[str]],
    algorithms: Sequence[str],
) -> Hashers:
    """Write the METS of the child ``objid`` for the OBJID ``parent``; returns its digests and size."""
    child = {
        "objid": objid,
        "element_id": f"{identifiers.ncname(parent)}.seg.{index}.mets.element",
        "index": index,
        "parent_objid": parent,
        "pointer_id": identifiers.element_id(parent, f"{objid} parent"),
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
    siard: SiardFile | None,
    children: Sequence[ChildMets],
    algorithms: Sequence[str],
    split: Callable[[], Iterator[SplitLob]] = lambda: iter(()),
    parts: Callable[[], Iterator[SplitPart]] = lambda: iter(()),
    pieces: Callable[[], Iterator[PlacedFile]] = lambda: iter(()),
    others: Callable[[], Iterator[PlacedFile]] = lambda: iter(()),
) -> Hashers:
    """Write the parent IP's METS; returns its digests and size.

    ``split`` gives the split LOBs, ``parts`` their parts in the same order, each LOB's from the first on.
    ``pieces`` are the files of an archive that is not one file (``siard`` is None then), ``others`` what
    else lies outside the segments; their ids are those of METS, their paths from the package's root.
    """
    facts = {
        "parent": {
            "objid": objid,
            "element_id": f"{identifiers.ncname(objid)}.mets.element",
            "owner_id": f"{objid}.{name.upper()}",
            "group_id": identifiers.element_id(objid, "child IPs"),
            "pointer_id": identifiers.element_id(objid, "SIARD central file"),
            **_said(setting),
        },
        "siard": None if siard is None else _siard(objid, name, setting, siard),
        "pieces": pieces(),
        "is_in_pieces": next(pieces(), None) is not None,
        "others": others(),
        "has_others": next(others(), None) is not None,
        "href": lambda path: setting.href("", path),
        "children": [_child(objid, setting, child) for child in children],
        "split": split(),
        "is_split": next(split(), None) is not None,
        "split_parts": groupby(parts(), attrgetter("lob")),
        "pointer_id": lambda part: identifiers.element_id(objid, f"{part.id} {part.child}"),
    }
    return writer.written(target / METS, NAME, "parent.xml.j2", facts, list(algorithms))


def _siard(objid: str, name: str, setting: Setting, siard: SiardFile) -> dict[str, object]:
    return {
        "id": f"ID_{name.upper()}.SIARD",
        "media_type": "application/zip",
        "size": siard.size,
        "checksum": siard.checksum,
        "href": setting.href("", siard.name),
        "content_id": f"{objid}.{uris.quoted((siard.name,))}",
        "transformation": "ZIP64" if siard.zip64 else "ZIP",
    }


def _said(setting: Setting) -> dict[str, object]:
    return {
        "type": "SIARD_lobs INDEX" if setting.version is None else f"SIARD{setting.version} INDEX",
        "label": "SIARD LOBs" if setting.version is None else f"SIARD {setting.version}",
        "profile": setting.profile,
        "created": setting.created,
        "software": {"name": setting.software.name, "version": setting.software.version},
        "agents": setting.agents,
        "checksum_type": setting.checksum_type,
    }


def _child(objid: str, setting: Setting, child: ChildMets) -> dict[str, object]:
    return {
        "objid": child.objid,
        "size": child.size,
        "checksum": child.checksum,
        "href": setting.href("", f"{child.folder}/{METS}"),
        "pointer_id": identifiers.element_id(objid, child.objid),
    }
