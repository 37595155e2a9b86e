"""The CSIP dialect: every IP a package of its own after E-ARK CSIP 2.2.0, linked as E-ARK's AIP has it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, field, fields, replace
from itertools import groupby
from operator import attrgetter
from pathlib import Path
from typing import Any, ClassVar, Self

from metspack import resources
from metspack.building.placing import PlacedFile, Placements
from metspack.digests import Hashers
from metspack.errors import ConfigError
from metspack.layouts import Layout, lobseg, siard22
from metspack.mets import CSIP_METS, descriptive, ids, premis, writer
from metspack.mets.descriptive import Given
from metspack.mets.dialects.csip import add, links, merge
from metspack.mets.dialects.csip.documents import (
    DIVISION,
    PREMIS,
    RELOCATION,
    SPLITTING,
    WITHOUT_LINKS,
    CsipDocuments,
    IpRole,
    included,
)
from metspack.mets.dialects.csip.files import (
    ABOUT,
    FileGroup,
    IpFolder,
    MetadataReference,
    check_documentation,
    schema_files,
)
from metspack.mets.dialects.csip.links import Linked, LinkMap
from metspack.mets.dialects.csip.terms import (
    CITS_SIARD,
    DATA,
    DESCRIPTIVE,
    LINK_STYLES,
    PACKAGE_TYPES,
    PROFILES,
    REPRESENTATION,
    Agents,
    Terms,
    folder_name,
)
from metspack.mets.dialects.interface import (
    HREF_STYLES,
    Addition,
    Adopted,
    ChildContent,
    Dialect,
    DialectOptions,
    ExistingPackage,
    Footprint,
    Inherited,
    MergedContent,
    Names,
    PackageFacts,
    ParentContent,
    SegmentSpot,
    SegmentWords,
    SplitLob,
    SplitPart,
)
from metspack.mets.premis import FileObject, Identifier, PremisWhole, Relationship
from metspack.model import Digest

_DUBLIN_CORE = f"{DESCRIPTIVE}/dublin-core.xml"

Files = Callable[[], Iterable[PlacedFile]]


@dataclass(frozen=True, slots=True, kw_only=True)
class CsipOptions(DialectOptions):
    """What the CSIP dialect is to say: see ``terms`` for the terms, and ``Csip`` for the paths."""

    profile: str = PROFILES[0]
    package_type: str = PACKAGE_TYPES[0]
    content_type: str = CITS_SIARD
    link_style: str = LINK_STYLES[0]
    representation: str = REPRESENTATION
    agents: Agents = field(default_factory=Agents)
    descriptive: Path | None = None
    documentation: Path | None = None
    schemas: Path | None = None
    roda_ancestors: bool = False

    @classmethod
    def of(cls, options: DialectOptions | None) -> Self:
        """Return options when they are this dialect's, else its defaults."""
        return options if isinstance(options, cls) else cls()


@dataclass(frozen=True, slots=True, kw_only=True)
class Csip(CsipDocuments, Dialect):
    """The dialect of E-ARK CSIP: parent and children are folders side by side, called by their OBJIDs.

    ``descriptive`` takes the place of the Dublin Core made of ``description``, in the parent;
    ``documentation`` is a folder for the parent, ``schemas`` one for every IP (None: the project's own).
    ``roda_ancestors`` adds the structMap that RODA reads.
    """

    descriptive: Given | None = None
    documentation: Path | None = None
    schemas: Path | None = None
    roda_ancestors: bool = False

    mets: ClassVar[str] = CSIP_METS
    footprint: ClassVar[Footprint] = Footprint(per_lob=2_500, per_ip=120_000, files_per_ip=40)
    archives: ClassVar[str] = f"representations/*/{DATA}/*"

    @classmethod
    def of(cls, package: PackageFacts) -> Self:
        """Return the dialect that describes a package; raises ``ConfigError`` for hrefs it does not know."""
        if package.href_style != HREF_STYLES[0]:
            raise ConfigError(
                f"the dialect csip does not know the hrefs {package.href_style} (CSIP76: relative locations)",
                hint="Leave --href out.",
            )
        wanted = CsipOptions.of(package.options)
        return cls(
            terms=Terms(
                version=package.version,
                profile=wanted.profile,
                package_type=wanted.package_type,
                content_type=wanted.content_type,
                link_style=wanted.link_style,
                representation=wanted.representation,
                mets_profile=package.mets_profile,
            ),
            agents=replace(wanted.agents, packagers=package.agents),
            description=descriptive.description(package.name, package.metadata),
            created=package.created,
            checksum_type=package.checksum_type,
            software=package.software,
            registry=package.registry,
            descriptive=None if wanted.descriptive is None else descriptive.read_given(wanted.descriptive),
            documentation=wanted.documentation,
            schemas=wanted.schemas,
            roda_ancestors=wanted.roda_ancestors,
        )

    @classmethod
    def options(cls, given: Mapping[str, object]) -> CsipOptions:
        """Return options of values by name."""
        named = dict(given)
        agents: dict[str, Any] = {
            each.name: named.pop(each.name) for each in fields(Agents) if each.name in named
        }
        if "preservation_agent" in named:
            agents["preservation"] = named.pop("preservation_agent")
        terms: dict[str, Any] = named
        return CsipOptions(**terms, agents=Agents(**agents))

    @classmethod
    def layout(cls, version: str | None) -> Layout:
        """Return the layout of SIARD 2.2 for an archive of that version (CITS SIARD, SIARD_22b)."""
        return siard22.LAYOUT if version == "2.2" else lobseg.LAYOUT

    @classmethod
    def layout_warnings(cls, layout: Layout, version: str | None) -> tuple[str, ...]:
        """Return what is to be said of another layout than SIARD 2.2's for an archive of that version."""
        if layout is cls.layout(version) or cls.layout(version) is not siard22.LAYOUT:
            return ()
        wanted = "LOBs of SIARD 2.2 are to lie as that standard has it (CITS SIARD, SIARD_22b)"
        return (f"{wanted}, but the layout is {layout.name}",)

    def check(self, objid: str) -> None:
        """Raise ``ConfigError`` for terms, agents, files and an OBJID that cannot be."""
        self.terms.check(self.agents)
        if objid:
            links.check_objid(self.terms, objid)
        for text in (self.terms.package_profile, *self.agents.texts()):
            writer.finalized(text)
        if self.documentation is not None:
            check_documentation(self.documentation)
        schema_files(self._schemas)

    def archive_path(self, objid: str, name: str) -> str:
        """Return the archive's path: among the data of the parent's representation (SIARD_15)."""
        return f"{folder_name(objid)}/{self.representation}/{DATA}/{name}.siard"

    @classmethod
    def parent_folder(cls, objid: str) -> str:
        """Return the parent's folder."""
        return folder_name(objid)

    def spot(self, words: SegmentWords) -> SegmentSpot:
        """Return where a child lies: its LOBs where the representation has them when all are put together."""
        objid = links.child_objid(self.terms, words.parent, words.word, words.suffix)
        ip = folder_name(objid)
        content = f"{ip}/{self.representation}/{DATA}/{words.folder}"
        return SegmentSpot(number=words.number, ip=ip, content=content, index=words.index, objid=objid)

    def write_child(self, package: Path, content: ChildContent) -> dict[str, Hashers]:
        """Write the METS, PREMIS, descriptive metadata, documentation and schemas of a child."""
        spot = content.spot
        ip = IpFolder(package, spot.ip, spot.objid, self.checksum_type)
        title = f"LOBs, segment {spot.index}"
        part = IpRole(
            role="a child IP with LOBs", label=self.label(title), title=title, parent=content.parent
        )
        data = self.data_group(
            ip, content.files, spot.content.removeprefix(f"{spot.ip}/{self.representation}/"), archive=""
        )
        representation = self.write_representation(
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
            facts = self.write_package(ip, part, self.group(ip, representation, data), schemas)
            above = links.linked(self.terms, spot.objid, content.parent, label="the parent IP")
            facts["parent"] = {"words": links.parent_map(self.terms, spot.objid), "ip": above}
            if self.roda_ancestors:
                facts["ancestors"] = {"id": ip.id("ancestors"), "objid": content.parent}
            ip.render(CSIP_METS, "mets.xml.j2", facts)
        return ip.files

    def write_parent(self, package: Path, content: ParentContent) -> dict[str, Hashers]:
        """Write what the parent is beside the archive, its links to the children above all."""
        ip = IpFolder(package, folder_name(content.objid), content.objid, self.checksum_type)
        part = IpRole(
            role="the parent IP with the SIARD archive",
            label=self.label("the SIARD archive"),
            children=tuple(each.objid for each in content.children),
        )
        group = self.write_archive(ip, content, part.label)
        with closing(Placements()) as schemas, closing(Placements()) as documentation:
            if self.documentation is not None:
                ip.copy_tree("documentation", self.documentation, documentation)
            facts = self.write_package(ip, part, group, schemas, documentation.files)
            if content.children:
                self._add_children(facts, content)
            ip.render(CSIP_METS, "mets.xml.j2", facts)
        return ip.files

    @classmethod
    def find(cls, root: Path) -> tuple[str, str] | None:
        """Return where the METS of the IP at the top of those in a folder is."""
        return add.find(root)

    @classmethod
    def inherited(cls, package: ExistingPackage, options: Mapping[str, object]) -> Inherited:
        """Return what an addition has to say as the package does, in a representation of its own."""
        general, own = add.inherited(package, options)
        return replace(general, options=CsipOptions(**own))

    def replaced(self, existing: ExistingPackage) -> tuple[str, ...]:
        """Return PREMIS and METS of the parent."""
        return tuple(f"{existing.folder}/{path}" for path in add.REPLACED)

    def write_addition(self, existing: ExistingPackage, package: Path, content: ParentContent) -> Addition:
        """Write the parent's METS and PREMIS anew, and a new representation."""
        return add.write(self, existing, package, content)

    @classmethod
    def adopted(
        cls,
        options: DialectOptions | None,
        root: Path,
        documents: Iterable[Names],
        representation: str | None,
    ) -> Adopted:
        """Return what is kept of the parent's documents: those in whose place no other is given."""
        return merge.adopted(CsipOptions.of(options), root, documents, representation)

    def data_folder(self, objid: str) -> str:
        """Return the folder of the representation's data."""
        return f"{folder_name(objid)}/{self.representation}/{DATA}"

    def write_merged(self, package: Path, content: MergedContent) -> dict[str, Hashers]:
        """Write all that a merged package is beside its data."""
        return merge.write(self, package, content)

    # --- the representation -----------------------------------------------------------------------------

    def data_group(self, ip: IpFolder, files: Files, folder: str, *, archive: str) -> FileGroup:
        """Return the group of a representation's data; ``archive`` is the ID of the archive in it, if any."""
        other = self.terms.other_type(has_archive=bool(archive))
        return FileGroup(
            id=ip.id("data group"),
            use=self.terms.data_use,
            div="Data",  # where commons-ip, and RODA with it, looks for a representation's files
            files=files,
            folder=f"{folder}/",
            content_type=self.terms.content_type,
            other_type=other,
            archive=archive if other else "",
        )

    def write_archive(self, ip: IpFolder, content: ParentContent, label: str) -> FileGroup:
        """Write the representation with the archive; returns its group in the package's METS."""
        siard = content.siard
        if siard is None:
            raise AssertionError("there is no archive, which check would have told")
        identifier = f"ID_{ids.ncname(content.name).upper()}.SIARD"
        file = _listed(
            identifier, siard.path.rpartition("/")[2], siard.size, siard.checksum, "application/zip"
        )
        data = self.data_group(ip, lambda: (file,), DATA, archive=identifier)
        mets = self.write_representation(
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

    def group(self, ip: IpFolder, mets: PlacedFile, data: FileGroup) -> FileGroup:
        """Return the group of the package's METS that a representation's METS is in."""
        return FileGroup(
            id=ip.id("representation group"),
            use=self.terms.package_use,
            div=f"Representations/{self.terms.representation}",
            files=lambda: (mets,),
            content_type=data.content_type,
            other_type=data.other_type,
            mets=mets,
        )

    # --- the package ------------------------------------------------------------------------------------

    def write_package(
        self,
        ip: IpFolder,
        part: IpRole,
        representation: FileGroup,
        schemas: Placements,
        documentation: Files | None = None,
    ) -> dict[str, Any]:
        """Write what a package has beside representation and METS; returns what METS says, but for links."""
        for name in schema_files(self._schemas):
            schemas.add(ip.copy(f"schemas/{name}", self._schemas, (name,)))
        described = self._write_descriptive(ip, part)
        about = ip.write_about(ABOUT, self.about(part, ip.objid))
        has = Relationship(kind="has part", objects=tuple(Identifier(value=each) for each in part.children))
        top = PremisWhole(
            category="intellectualEntity",
            type=premis.LOCAL,
            value=ip.objid,
            relationships=(
                *((included(part.parent),) if part.parent else ()),
                *((has,) if has.objects else ()),
            ),
        )
        kept = self.write_premis(ip, PREMIS, top, iter(()), (DIVISION,) if top.relationships else ())
        groups = [
            FileGroup(
                id=ip.id("documentation group"),
                use="Documentation",
                div="Documentation",
                files=lambda: _followed(about, documentation),
            ),
            FileGroup(id=ip.id("schema group"), use="Schemas", div="Schemas", files=schemas.files),
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

    def _write_descriptive(self, ip: IpFolder, part: IpRole) -> MetadataReference:
        given = self.descriptive
        if given is not None and not part.parent:
            file = ip.copy(f"{DESCRIPTIVE}/{given.path.name}", given.path)
            return ip.reference(file, given.mdtype, given.othermdtype)
        terms = descriptive.terms(self.description, ip.objid, part=part.title, parent=part.parent)
        return ip.reference(ip.render(_DUBLIN_CORE, "dublin-core.xml.j2", {"terms": terms}), "DC")

    def about(self, part: IpRole, objid: str) -> dict[str, object]:
        """Return what a text for people says of the IP with an OBJID."""
        return {
            "title": part.label,
            "objid": objid,
            "role": part.role,
            "parent": part.parent,
            "data": f"{self.representation}/{DATA}/",
            "is_whole": part.is_whole,
        }

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

    def linked_children(self, content: ParentContent) -> tuple[FileGroup, LinkMap, list[Linked]]:
        """Return the group with the METS of the children, and the words and links of their structMap."""
        linked, files = [], []
        for each in content.children:
            file = links.file_id(self.terms, content.objid, each.objid)
            files.append(_listed(file, f"../{each.folder}/{CSIP_METS}", each.size, each.checksum))
            label = each.content.rpartition(f"/{DATA}/")[2]
            linked.append(links.linked(self.terms, content.objid, each.objid, label=label, file=file))
        words = links.children_map(self.terms, content.objid)
        identifier = ids.element_id(content.objid, "child IPs")
        return FileGroup(id=identifier, use=words.label, div="", files=lambda: files), words, linked

    def split_words(self, content: ParentContent) -> dict[str, str]:
        """Return what the structMap of split LOBs is called by, and how it names the children."""
        return {
            "id": ids.element_id(content.objid, "split LOBs"),
            "loctype": links.loctype(self.terms, content.children[0].objid),
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


DIALECT = Csip
