"""The CSIP dialect: every IP a package of its own after E-ARK CSIP 2.2.0, linked as E-ARK's AIP has it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass
from itertools import groupby
from operator import attrgetter
from pathlib import Path
from typing import Any

from metspack import descriptive, identifiers, premis, resources
from metspack.descriptive import Given
from metspack.digests import Hashers
from metspack.mets import writer
from metspack.mets.dialects import csip_about, csip_files, csip_links
from metspack.mets.dialects.csip_documents import (
    DIVISION,
    PREMIS,
    RELOCATION,
    SPLITTING,
    WITHOUT_LINKS,
    Saying,
    included,
)
from metspack.mets.dialects.csip_files import Group, Ip, Reference
from metspack.mets.dialects.csip_links import METS, Linked, LinkMap
from metspack.mets.dialects.csip_terms import folder_name
from metspack.mets.dialects.interface import (
    ChildContent,
    Footprint,
    ParentContent,
    SegmentSpot,
    SegmentWords,
    SplitLob,
    SplitPart,
)
from metspack.model import Digest
from metspack.placing import PlacedFile, Placements
from metspack.premis import FileObject, Identifier, Relationship, Whole

NAME = "csip"

DATA = "data"
"""The folder of a representation's files."""

DESCRIPTIVE = "metadata/descriptive"
_DUBLIN_CORE = f"{DESCRIPTIVE}/dublin-core.xml"

Files = Callable[[], Iterable[PlacedFile]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """What an IP is among the others; ``title`` and ``parent`` are "" for the parent.

    ``is_whole``: there are no others.
    """

    role: str
    label: str
    title: str = ""
    parent: str = ""
    children: tuple[str, ...] = ()
    is_whole: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Csip(Saying):
    """The dialect of E-ARK CSIP: parent and children are folders side by side, called by their OBJIDs.

    ``descriptive`` takes the place of the Dublin Core made of ``description``, in the parent;
    ``documentation`` is a folder for the parent, ``schemas`` one for every IP (None: the project's own).
    ``roda_ancestors`` adds the structMap that RODA reads.
    """

    descriptive: Given | None = None
    documentation: Path | None = None
    schemas: Path | None = None
    roda_ancestors: bool = False

    @property
    def mets(self) -> str:
        """The name of every METS document."""
        return METS

    @property
    def footprint(self) -> Footprint:
        """What METS and PREMIS take on disk."""
        return Footprint(per_lob=2_500, per_ip=120_000, files_per_ip=40)

    def check(self, objid: str) -> None:
        """Raise ``ConfigError`` for terms, agents, files and an OBJID that cannot be."""
        self.terms.check(self.agents)
        if objid:
            csip_links.check_objid(self.terms, objid)
        for text in (self.terms.package_profile, *self.agents.texts()):
            writer.finalized(text)
        if self.documentation is not None:
            csip_files.check_documentation(self.documentation, csip_about.NAME)
        csip_files.schema_files(self._schemas)

    def archive_path(self, objid: str, name: str) -> str:
        """Return the archive's path: among the data of the parent's representation (SIARD_15)."""
        return f"{folder_name(objid)}/{self.representation}/{DATA}/{name}.siard"

    def parent_folder(self, objid: str) -> str:
        """Return the parent's folder."""
        return folder_name(objid)

    def spot(self, words: SegmentWords) -> SegmentSpot:
        """Return where a child lies: its LOBs where the representation has them when all are put together."""
        objid = csip_links.child_objid(self.terms, words.parent, words.word, words.suffix)
        ip = folder_name(objid)
        content = f"{ip}/{self.representation}/{DATA}/{words.folder}"
        return SegmentSpot(number=words.number, ip=ip, content=content, index=words.index, objid=objid)

    def child_written(self, package: Path, content: ChildContent) -> dict[str, Hashers]:
        """Write the METS, PREMIS, descriptive metadata, documentation and schemas of a child."""
        spot = content.spot
        ip = Ip(package, spot.ip, spot.objid, self.checksum_type)
        title = f"LOBs, segment {spot.index}"
        part = Part(role="a child IP with LOBs", label=self.label(title), title=title, parent=content.parent)
        data = self.data_group(
            ip, content.files, spot.content.removeprefix(f"{spot.ip}/{self.representation}/"), archive=""
        )
        representation = self.representation_written(
            ip,
            data,
            label=part.label,
            objects=premis.objects(content.files(), self.checksum_type, data.folder),
            done=(
                *((SPLITTING,) if any(each.part_of for each in content.files()) else ()),
                *self.identified(),
            ),
        )
        with closing(Placements()) as schemas:
            facts = self.package_facts(ip, part, self.group(ip, representation, data), schemas)
            above = csip_links.linked(self.terms, spot.objid, content.parent, label="the parent IP")
            facts["parent"] = {"words": csip_links.parent_map(self.terms, spot.objid), "ip": above}
            if self.roda_ancestors:
                facts["ancestors"] = {"id": ip.id("ancestors"), "objid": content.parent}
            ip.from_template(METS, "mets.xml.j2", facts)
        return ip.files

    def parent_written(self, package: Path, content: ParentContent) -> dict[str, Hashers]:
        """Write what the parent is beside the archive, its links to the children above all."""
        ip = Ip(package, folder_name(content.objid), content.objid, self.checksum_type)
        part = Part(
            role="the parent IP with the SIARD archive",
            label=self.label("the SIARD archive"),
            children=tuple(each.objid for each in content.children),
        )
        group = self.archive_group(ip, content, part.label)
        with closing(Placements()) as schemas, closing(Placements()) as documentation:
            if self.documentation is not None:
                ip.tree("documentation", self.documentation, documentation)
            facts = self.package_facts(ip, part, group, schemas, documentation.files)
            if content.children:
                self._add_children(facts, content)
            ip.from_template(METS, "mets.xml.j2", facts)
        return ip.files

    # --- the representation -----------------------------------------------------------------------------

    def data_group(self, ip: Ip, files: Files, folder: str, *, archive: str) -> Group:
        """Return the group of a representation's data; ``archive`` is the ID of the archive in it, if any."""
        other = self.terms.other_type(has_archive=bool(archive))
        return Group(
            id=ip.id("data group"),
            use=self.terms.data_use,
            div="Data",  # where commons-ip, and RODA with it, looks for a representation's files
            files=files,
            folder=f"{folder}/",
            content_type=self.terms.content_type,
            other_type=other,
            archive=archive if other else "",
        )

    def archive_group(self, ip: Ip, content: ParentContent, label: str) -> Group:
        """Write the representation with the archive; returns its group in the package's METS."""
        siard = content.siard
        if siard is None:
            raise AssertionError("there is no archive, which check would have told")
        identifier = f"ID_{identifiers.ncname(content.name).upper()}.SIARD"
        file = _listed(
            identifier, siard.path.rpartition("/")[2], siard.size, siard.checksum, "application/zip"
        )
        data = self.data_group(ip, lambda: (file,), DATA, archive=identifier)
        mets = self.representation_written(
            ip,
            data,
            label=label,
            objects=self._archive_objects(file, content),
            done=(
                *((RELOCATION,) if content.children else ()),
                *(self.identified() if next(content.split(), None) is not None else ()),
            ),
        )
        return self.group(ip, mets, data)

    def _archive_objects(self, file: PlacedFile, content: ParentContent) -> Iterator[FileObject]:
        yield FileObject(
            id=file.id,
            path=f"{DATA}/{file.path}",
            size=file.size,
            media_type=file.media_type,
            format=file.format,
            digests=(Digest(algorithm=self.checksum_type, value=file.checksum),),
        )
        yield from self.split_objects(content.split(), content.parts())

    def split_objects(self, lobs: Iterable[SplitLob], parts: Iterable[SplitPart]) -> Iterator[FileObject]:
        """Yield the objects of split LOBs, whose parts come in the same order."""
        for lob, (_, named) in zip(lobs, groupby(parts, attrgetter("lob")), strict=True):
            yield self._split_object(lob, named)

    def _split_object(self, lob: SplitLob, parts: Iterator[SplitPart]) -> FileObject:
        has = Relationship(kind="has part", objects=tuple(Identifier(value=each.id) for each in parts))
        return FileObject(
            id=lob.id,
            path="",
            size=lob.size,
            media_type=lob.media_type,
            format=lob.format,
            digests=(Digest(algorithm=self.checksum_type, value=lob.checksum),),
            relationships=(has,),
        )

    def group(self, ip: Ip, mets: PlacedFile, data: Group) -> Group:
        """Return the group of the package's METS that a representation's METS is in."""
        return Group(
            id=ip.id("representation group"),
            use=self.terms.package_use,
            div=f"Representations/{self.terms.representation}",
            files=lambda: (mets,),
            content_type=data.content_type,
            other_type=data.other_type,
            mets=mets,
        )

    # --- the package ------------------------------------------------------------------------------------

    def package_facts(
        self,
        ip: Ip,
        part: Part,
        representation: Group,
        schemas: Placements,
        documentation: Files | None = None,
    ) -> dict[str, Any]:
        """Write what a package has beside representation and METS; returns what METS says, but for links."""
        for name in csip_files.schema_files(self._schemas):
            schemas.add(ip.copied(f"schemas/{name}", self._schemas, (name,)))
        described = self._descriptive_written(ip, part)
        about = self._about_written(ip, part)
        has = Relationship(kind="has part", objects=tuple(Identifier(value=each) for each in part.children))
        top = Whole(
            category="intellectualEntity",
            type=premis.LOCAL,
            value=ip.objid,
            relationships=(
                *((included(part.parent),) if part.parent else ()),
                *((has,) if has.objects else ()),
            ),
        )
        kept = self.premis_written(ip, PREMIS, top, iter(()), (DIVISION,) if top.relationships else ())
        groups = [
            Group(
                id=ip.id("documentation group"),
                use="Documentation",
                div="Documentation",
                files=lambda: _followed(about, documentation),
            ),
            Group(id=ip.id("schema group"), use="Schemas", div="Schemas", files=schemas.files),
            representation,
        ]
        return {
            "id": ip.id("package"),
            "objid": ip.objid,
            "folder": folder_name(ip.objid),
            "label": part.label,
            "profile": self.terms.package_profile,
            "other_type": "",
            "descriptive": (described,),
            "preservation": ip.reference(kept, "PREMIS"),
            "groups": groups,
            **WITHOUT_LINKS,
            "said": self.said(),
        }

    def _descriptive_written(self, ip: Ip, part: Part) -> Reference:
        given = self.descriptive
        if given is not None and not part.parent:
            file = ip.copied(f"{DESCRIPTIVE}/{given.path.name}", given.path)
            return ip.reference(file, given.mdtype, given.othermdtype)
        terms = descriptive.terms(self.description, ip.objid, part=part.title, parent=part.parent)
        return ip.reference(ip.from_template(_DUBLIN_CORE, "dublin-core.xml.j2", {"terms": terms}), "DC")

    def _about_written(self, ip: Ip, part: Part) -> PlacedFile:
        text = csip_about.text(
            title=part.label,
            objid=ip.objid,
            role=part.role,
            parent=part.parent,
            data=f"{self.representation}/{DATA}/",
            is_whole=part.is_whole,
        )
        return ip.from_blocks(f"documentation/{csip_about.NAME}", [text.encode()])

    def _add_children(self, facts: dict[str, Any], content: ParentContent) -> None:
        """Add the links to the children, and the file entries that have the fixity of their METS."""
        group, words, linked = self.linked_children(content)
        facts["children"] = {"words": words, "ips": linked}
        facts["groups"].append(group)
        if next(content.parts(), None) is not None:
            facts["split"] = {
                **self.split_words(content),
                "lobs": groupby(content.parts(), attrgetter("lob")),
            }

    def linked_children(self, content: ParentContent) -> tuple[Group, LinkMap, list[Linked]]:
        """Return the group with the METS of the children, and the words and links of their structMap."""
        linked, files = [], []
        for each in content.children:
            file = csip_links.file_id(self.terms, content.objid, each.objid)
            files.append(_listed(file, f"../{each.folder}/{METS}", each.size, each.checksum))
            label = each.content.rpartition(f"/{DATA}/")[2]
            linked.append(csip_links.linked(self.terms, content.objid, each.objid, label=label, file=file))
        words = csip_links.children_map(self.terms, content.objid)
        identifier = identifiers.element_id(content.objid, "child IPs")
        return Group(id=identifier, use=words.label, div="", files=lambda: files), words, linked

    def split_words(self, content: ParentContent) -> dict[str, str]:
        """Return what the structMap of split LOBs is called by, and how it names the children."""
        return {
            "id": identifiers.element_id(content.objid, "split LOBs"),
            "loctype": csip_links.loctype(self.terms, content.children[0].objid),
        }

    @property
    def _schemas(self) -> Path:
        return self.schemas or resources.schema_folder()


def _listed(
    identifier: str, path: str, size: int, checksum: str, media_type: str = "application/xml"
) -> PlacedFile:
    """Return a file of which no more is known than METS says."""
    return PlacedFile(
        id=identifier, path=path, size=size, media_type=media_type, checksum=checksum, md5="", sha256=""
    )


def _followed(first: PlacedFile, others: Files | None) -> Iterator[PlacedFile]:
    yield first
    if others is not None:
        yield from others()
