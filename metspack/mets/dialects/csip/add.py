"""Add a representation with an archive to a CSIP parent, and the names of its children."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from operator import attrgetter
from pathlib import Path
from typing import Any

from metspack.errors import ConfigError
from metspack.files import reading
from metspack.layouts.names import FURTHER_PARENTS
from metspack.mets import (
    CSIP_METS,
    REPRESENTATIONS_FOLDER,
    filetable,
    ids,
    packages,
    premis,
    reader,
    writer,
)
from metspack.mets.dialects.csip import links, terms
from metspack.mets.dialects.csip.documents import DIVISION, PREMIS, Action, IpRole, dublin_core
from metspack.mets.dialects.csip.files import TEMPLATES, FileGroup, IpFolder, MetadataReference
from metspack.mets.dialects.csip.links import LINK_LABELS
from metspack.mets.dialects.csip.package import CsipPackage
from metspack.mets.dialects.csip.terms import DESCRIPTIVE, Agents, folder_name
from metspack.mets.dialects.interface import Addition, ExistingPackage, Inherited, ParentContent
from metspack.mets.filetable import PlacedFile
from metspack.mets.links import SPLITLOB, Mptr
from metspack.mets.premis import Event, Identifier, Relationship
from metspack.mets.writer import GrowingDocument
from metspack.model import Budgets

_TYPE = "csip:OAISPACKAGETYPE"
_RODA = "RODA structural map"
REPLACED = (PREMIS, CSIP_METS)
"""The parent's documents that an addition writes anew, in the order they take their places."""

_HEADER, _PREMIS, _DESCRIPTION = "mets:metsHdr", "mdRef of PREMIS", "mets:dmdSec"
_FILES = "mets:fileSec"
_CSIP, _CSIP_ROOT, _METADATA = "structMap CSIP", "div of the structMap CSIP", "div of metadata"
_CHILDREN, _CHILDREN_ROOT, _WITHIN = "structMap of children", "div of children", "div of a representation"
_SPLIT, _SPLIT_ROOT = f"structMap {SPLITLOB}", f"div of the structMap {SPLITLOB}"
_SOFTWARE, _HISTORY = "agent that made it", "agent with notes on the sources"
_AGENTS = {"SOFTWARE": _SOFTWARE, packages.SOURCE: _HISTORY}
_ENTITY, _EVENT = "object of the IP", "premis:event"
_ADDITION = "modification"


class _Watched:
    """Gives the elements of a parent's METS their keys; counts what the children's structMap has.

    ``described`` are the IDs of the descriptive metadata that the CSIP structMap names.
    """

    def __init__(self, objid: str, children: str) -> None:
        self._groups = {
            ids.element_id(objid, each) for each in ("child IPs", FURTHER_PARENTS, "documentation group")
        }
        self._maps = {ids.element_id(objid, "split LOBs"): _SPLIT, children: _CHILDREN}
        self.linked = 0
        self.described: tuple[str, ...] = ()

    def __call__(self, name: str, attributes: dict[str, str], above: Sequence[str]) -> str:
        within = above[-1] if above else ""
        identifier = attributes.get("ID", "")
        if name in {"mets:mets", _HEADER, _DESCRIPTION, _FILES}:
            return name
        if name == "mets:agent":
            return _AGENTS.get(attributes.get("OTHERROLE") or attributes.get("OTHERTYPE", ""), "")
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


def inherited(package: ExistingPackage, options: Mapping[str, object]) -> tuple[Inherited, dict[str, Any]]:
    """Return what an archive that is added has to say as the package does, and the dialect's own options.

    Raises ``ConfigError`` for the name of a representation that is there.
    """
    said = package.said
    profile = said.root.get("PROFILE", "")
    known = terms.profile_of(profile)
    agents = _agents(said.agents)
    wanted = options.get("representation")
    own = {
        "profile": known or terms.PROFILES[0],
        "package_type": said.header.get(_TYPE, terms.PACKAGE_TYPES[0]),
        "content_type": said.root.get("csip:CONTENTINFORMATIONTYPE", terms.CITS_SIARD),
        "link_style": _link_style(package),
        "child_links": terms.CHILD_LINKS[1 if said.child_objid and not said.child else 0],
        "representation": _representation(package, None if wanted is None else str(wanted)),
        "agents": agents,
        "schemas": package.root / package.folder / "schemas",
        "roda_ancestors": _has_ancestors(package),
    }
    return Inherited(agents=agents.packagers, mets_profile=None if known else profile), own


def _agents(named: Sequence[reader.Agent]) -> Agents:
    by_role = {each.role: each for each in named if each.is_organisation}
    creator, submitter, keeper = (by_role.get(role) for role in ("ARCHIVIST", "CREATOR", "PRESERVATION"))
    return Agents(
        submitter=submitter.name if submitter else "",
        submitter_code=submitter.note if submitter else "",
        archival_creator=creator.name if creator else "",
        archival_creator_code=creator.note if creator else "",
        preservation=keeper.name if keeper else "",
        packagers=tuple(each.name for each in named if each.role == "PACKAGER"),
    )


def _link_style(package: ExistingPackage) -> str:
    kind, labels = package.said.header.get(_TYPE, ""), package.said.labels
    found = (style for style, label in LINK_LABELS.items() if label(kind) in labels)
    return next(found, terms.LINK_STYLES[0])


def _representation(package: ExistingPackage, wanted: str | None) -> str:
    folder = package.root / package.folder / REPRESENTATIONS_FOLDER
    taken = {each.name.casefold() for each in folder.iterdir()}
    if wanted is None:
        return next(name for n in range(1, len(taken) + 2) if (name := f"rep{n}") not in taken)
    if wanted.casefold() in taken:
        raise ConfigError(
            f"the package has a representation {wanted} already",
            hint="Choose another with --representation, or leave it out to have the next number.",
        )
    return wanted


def _first_child(package: ExistingPackage) -> Sequence[str]:
    """Return folder and name of the METS of the parent's first child, nothing where there is none."""
    said = package.said
    if said.child:
        return said.child.removeprefix("../").replace("%2B", "+").split("/")

    def blocks(names: tuple[str, ...]) -> Iterator[bytes]:
        with reading.opening(package.root, names) as descriptor:
            yield from reading.chunks(descriptor, size=reading.BLOCK)

    found = packages.ByObjid(package.root, blocks, Budgets()).find(said.child_objid)
    return found or ()


def _has_ancestors(package: ExistingPackage) -> bool:
    names = _first_child(package)
    if not names:
        return False
    with reading.opening(package.root, names) as descriptor:
        facts = reader.read(reading.chunks(descriptor, size=reading.BLOCK))
        return any(isinstance(each, Mptr) and each.structmap_label == _RODA for each in facts)


def write(dialect: CsipPackage, existing: ExistingPackage, package: Path, content: ParentContent) -> Addition:
    """Write METS and PREMIS of the parent anew below ``package``, and its new representation.

    The archive lies in it already. Raises ``SourceError`` when a document is not as metspack writes it,
    ``TargetError``.
    """
    root = existing.root
    ip = IpFolder(package, folder_name(content.objid), content.objid, dialect.checksum_type)
    names = (folder_name(content.objid),)
    made = dialect.write_archive(ip, content, dialect.label("the SIARD archive"))
    group = replace(made, id=ip.id(f"{dialect.representation} group"))  # the first has another
    with reading.opening(root, (*names, *PREMIS.split("/"))) as descriptor:
        kept = _write_premis(dialect, GrowingDocument(descriptor, _of_premis), ip, content)
    watched = _Watched(content.objid, links.children_map(dialect.terms, content.objid).id)
    described, about = _write_description(dialect, ip, content)
    with reading.opening(root, (*names, CSIP_METS)) as descriptor:
        mets = GrowingDocument(descriptor, watched)
        mets.set_attribute(_HEADER, "LASTMODDATE", dialect.created)
        reference = ip.reference(kept, "PREMIS")
        for name, value in (
            ("SIZE", reference.size),
            ("CREATED", dialect.created),
            ("CHECKSUM", reference.checksum),
            ("CHECKSUMTYPE", dialect.checksum_type),
        ):
            mets.set_attribute(_PREMIS, name, str(value))
        text = writer.fragment(TEMPLATES, "_metadata.xml.j2", "section", described, dialect.said())
        mets.insert_after(_DESCRIPTION, text)
        mets.set_attribute(_METADATA, "DMDID", " ".join((*watched.described, described.id)))
        mets.append(about.id, _rendered("_files.xml.j2", dialect, about))
        mets.append(_FILES, _rendered("_group.xml.j2", dialect, group))
        mets.append(_CSIP_ROOT, _rendered("_division.xml.j2", dialect, group))
        if content.notes:
            mets.add_notes(_HISTORY, _SOFTWARE, content.notes, is_csip=True)
        if content.children:
            _add_children(dialect, mets, content, watched.linked)
        ip.register(CSIP_METS, mets.write(ip.prepare(CSIP_METS), ip.algorithms))
    return Addition(files=ip.files)


def _write_description(
    dialect: CsipPackage, ip: IpFolder, content: ParentContent
) -> tuple[MetadataReference, FileGroup]:
    """Write what describes the archive and how it belongs to the package, beside what describes the first."""
    elements = dublin_core(dialect.description, ip.objid)
    path = f"{DESCRIPTIVE}/dublin-core-{content.name}.xml"
    described = ip.reference(ip.render(path, "dublin-core.xml.j2", {"terms": elements}), "DC")
    part = IpRole(
        role=f"the parent IP, with the SIARD archive {content.name} beside others",
        label=dialect.label("a SIARD archive that was added"),
    )
    about = ip.write_about(f"about-{content.name}.txt", dialect.about(part, ip.objid))
    group = FileGroup(id=ip.id("documentation group"), use="", div="", files=lambda: (about,))
    return described, group


def _rendered(template: str, dialect: CsipPackage, group: FileGroup) -> str:
    return writer.rendered(TEMPLATES, template, {"group": group, "said": dialect.said(), "other_type": ""})


def _write_premis(
    dialect: CsipPackage, document: GrowingDocument, ip: IpFolder, content: ParentContent
) -> PlacedFile:
    """Write the parent's PREMIS with the new children and with what was done."""
    addition = Action(
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
        document.insert_after(_EVENT if document.has(_EVENT) else _ENTITY, text)
    return ip.register(
        PREMIS, document.write(ip.prepare(PREMIS), filetable.algorithms(dialect.checksum_type))
    )


def _premis(macro: str, *values: object) -> str:
    return writer.fragment(premis.TEMPLATES, "_parts.xml.j2", macro, *values)


def _add_children(dialect: CsipPackage, mets: GrowingDocument, content: ParentContent, linked: int) -> None:
    for group in dialect.child_groups(content):
        if mets.has(group.id):
            mets.append(group.id, _rendered("_files.xml.j2", dialect, group))
        else:
            mets.append(_FILES, _rendered("_group.xml.j2", dialect, group))
    link_map = links.children_map(dialect.terms, content.objid)
    ips = [each for _, some in dialect.linked_children(content) for each in some]
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
    return writer.fragment(TEMPLATES, "_links.xml.j2", macro, *values)
