"""A CSIP parent that comes to hold one more representation with an archive, and to name its children."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import groupby
from operator import attrgetter
from pathlib import Path
from typing import Any

from metspack import descriptive, identifiers, placing, premis, reading
from metspack.digests import Hashers
from metspack.mets import CSIP_METS, writer
from metspack.mets.dialects import csip_about, csip_links
from metspack.mets.dialects.csip import DATA, DESCRIPTIVE, NAME, Csip
from metspack.mets.dialects.csip_documents import DIVISION, PREMIS, Done
from metspack.mets.dialects.csip_files import Group, Ip, Reference
from metspack.mets.dialects.csip_terms import folder_name
from metspack.mets.dialects.interface import ParentContent
from metspack.mets.growing import Growing
from metspack.premis import Event, Identifier, Relationship

GROWN = (PREMIS, CSIP_METS)
"""The parent's documents that are made anew, in the order in which they take the place of the old ones."""

_HEADER, _PREMIS, _DESCRIPTION = "mets:metsHdr", "mdRef of PREMIS", "mets:dmdSec"
_FILES = "mets:fileSec"
_CSIP, _CSIP_ROOT, _METADATA = "structMap CSIP", "div of the structMap CSIP", "div of metadata"
_CHILDREN, _CHILDREN_ROOT, _WITHIN = "structMap of children", "div of children", "div of a representation"
_SPLIT, _SPLIT_ROOT = "structMap SPLITLOB", "div of the structMap SPLITLOB"
_ENTITY, _EVENT = "object of the IP", "premis:event"
_ADDITION = "modification"


class _Watched:
    """Gives the elements of a parent's METS their keys; counts what the children's structMap has.

    ``described`` are the IDs of the descriptive metadata that the CSIP structMap names.
    """

    def __init__(self, objid: str, children: str) -> None:
        self._groups = {identifiers.element_id(objid, each) for each in ("child IPs", "documentation group")}
        self._maps = {identifiers.element_id(objid, "split LOBs"): _SPLIT, children: _CHILDREN}
        self.linked = 0
        self.described: tuple[str, ...] = ()

    def __call__(self, name: str, attributes: dict[str, str], above: Sequence[str]) -> str:
        within = above[-1] if above else ""
        identifier = attributes.get("ID", "")
        if name in {"mets:mets", _HEADER, _DESCRIPTION, _FILES}:
            return name
        if name == "mets:structMap":
            is_csip = attributes.get("LABEL") == "CSIP"
            return _CSIP if is_csip else self._maps.get(identifier, "")
        if name == "mets:div":
            return self._division(attributes, within)
        if name == "mets:mdRef" and attributes.get("xlink:href") == PREMIS:
            return _PREMIS
        return identifier if name == "mets:fileGrp" and identifier in self._groups else ""

    def _division(self, attributes: dict[str, str], within: str) -> str:
        self.linked += within == _CHILDREN_ROOT
        if within == _CSIP_ROOT and attributes.get("LABEL") == "Metadata":
            self.described = tuple(attributes.get("DMDID", "").split())
            return _METADATA
        return {_CSIP: _CSIP_ROOT, _CHILDREN: _CHILDREN_ROOT, _SPLIT: _SPLIT_ROOT}.get(within, "")


def _of_premis(name: str, attributes: dict[str, str], _above: Sequence[str]) -> str:
    if name == "premis:object" and attributes.get("xsi:type") == "premis:intellectualEntity":
        return _ENTITY
    return name if name == _EVENT else ""


def written(dialect: Csip, root: Path, package: Path, content: ParentContent) -> dict[str, Hashers]:
    """Write METS and PREMIS of the parent in ``root`` anew below ``package``, and its new representation.

    The archive lies in it already. Returns the digests of all files by path. Raises ``SourceError`` when a
    document is not as metspack writes it, ``TargetError``.
    """
    ip = Ip(package, folder_name(content.objid), content.objid, dialect.checksum_type)
    names = (folder_name(content.objid),)
    made = dialect.archive_group(ip, content, dialect.label("the SIARD archive"))
    group = replace(made, id=ip.id(f"{dialect.representation} group"))  # the first has another
    with reading.opening(root, (*names, *PREMIS.split("/"))) as descriptor:
        kept = _premis_written(dialect, Growing(descriptor, _of_premis), ip, content)
    watched = _Watched(content.objid, csip_links.children_map(dialect.terms, content.objid).id)
    described, about = _described(dialect, ip, content)
    with reading.opening(root, (*names, CSIP_METS)) as descriptor:
        mets = Growing(descriptor, watched)
        mets.put(_HEADER, "LASTMODDATE", dialect.created)
        reference = ip.reference(kept, "PREMIS")
        for name, value in (
            ("SIZE", reference.size),
            ("CREATED", dialect.created),
            ("CHECKSUM", reference.checksum),
            ("CHECKSUMTYPE", dialect.checksum_type),
        ):
            mets.put(_PREMIS, name, str(value))
        text = writer.fragment(NAME, "_metadata.xml.j2", "section", described, dialect.said())
        mets.follow(_DESCRIPTION, text)
        mets.put(_METADATA, "DMDID", " ".join((*watched.described, described.id)))
        mets.append(about.id, _rendered("_files.xml.j2", dialect, about))
        mets.append(_FILES, _rendered("_group.xml.j2", dialect, group))
        mets.append(_CSIP_ROOT, _rendered("_division.xml.j2", dialect, group))
        if content.children:
            _add_children(dialect, mets, content, watched.linked)
        ip.taken(CSIP_METS, mets.written(ip.place(CSIP_METS), ip.algorithms))
    return ip.files


def _described(dialect: Csip, ip: Ip, content: ParentContent) -> tuple[Reference, Group]:
    """Write what describes the archive and how it belongs to the package, beside what describes the first."""
    terms = descriptive.terms(dialect.description, ip.objid)
    path = f"{DESCRIPTIVE}/dublin-core-{content.name}.xml"
    described = ip.reference(ip.from_template(path, "dublin-core.xml.j2", {"terms": terms}), "DC")
    text = csip_about.text(
        title=dialect.label("a SIARD archive that was added"),
        objid=ip.objid,
        role=f"the parent IP, with the SIARD archive {content.name} beside others",
        parent="",
        data=f"{dialect.representation}/{DATA}/",
        is_whole=False,
    )
    about = ip.from_blocks(f"documentation/about-{content.name}.txt", [text.encode()])
    group = Group(id=ip.id("documentation group"), use="", div="", files=lambda: (about,))
    return described, group


def _rendered(template: str, dialect: Csip, group: Group) -> str:
    return writer.rendered(NAME, template, {"group": group, "said": dialect.said(), "other_type": ""})


def _premis_written(dialect: Csip, document: Growing, ip: Ip, content: ParentContent) -> Any:
    """Write the parent's PREMIS with the new children and with what was done."""
    addition = Done(
        type=_ADDITION,
        detail=f"The archive {content.name}.siard was added to the package as the representation "
        f"{dialect.terms.representation}; what was there before was left as it was.",
    )
    if content.children:
        parts = tuple(Identifier(value=each.objid) for each in content.children)
        document.append(_ENTITY, _premis("relationship", Relationship(kind="has part", objects=parts)))
    about = Identifier(type=premis.LOCAL, value=ip.objid)
    for done in (addition, *((DIVISION,) if content.children else ())):
        event = Event(
            id=ip.id(f"{PREMIS} {done.type} {dialect.representation}"),
            type=done.type,
            detail=done.detail,
            object=about,
            agent=done.agent or dialect.software.name,
        )
        text = _premis("event", event, dialect.created)
        document.follow(_EVENT if document.has(_EVENT) else _ENTITY, text)
    return ip.taken(PREMIS, document.written(ip.place(PREMIS), placing.algorithms(dialect.checksum_type)))


def _premis(macro: str, *values: object) -> str:
    return writer.fragment("premis", "_parts.xml.j2", macro, *values)


def _add_children(dialect: Csip, mets: Growing, content: ParentContent, linked: int) -> None:
    group, link_map, ips = dialect.linked_children(content)
    if mets.has(group.id):
        mets.append(group.id, _rendered("_files.xml.j2", dialect, group))
    else:
        mets.append(_FILES, _rendered("_group.xml.j2", dialect, group))
    if not mets.has(_CHILDREN):
        mets.append("mets:mets", _links("children", link_map, ips))
    elif link_map.within:
        mets.append(_CHILDREN_ROOT, _links("within", link_map, ips, linked))
    else:
        mets.append(_CHILDREN_ROOT, _links("child_ips", link_map, ips, linked))
    if next(content.parts(), None) is not None:
        words = dialect.split_words(content)
        lobs = groupby(content.parts(), attrgetter("lob"))
        is_first = not mets.has(_SPLIT)
        text = _links("split" if is_first else "split_lobs", words, lobs)
        mets.append("mets:mets" if is_first else _SPLIT_ROOT, text)


def _links(macro: str, *values: object) -> str:
    return writer.fragment(NAME, "_links.xml.j2", macro, *values)
