"""CSIP packages: their options, and the documents and groups of their METS."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain, groupby, islice
from operator import itemgetter
from pathlib import Path
from typing import Any, Self

from metspack import resources
from metspack.files.reading import StrPath
from metspack.mets import CSIP_METS, ids, writer
from metspack.mets.dialects.csip import links
from metspack.mets.dialects.csip.documents import (
    DIVISION,
    PREMIS,
    RELOCATION,
    WITHOUT_LINKS,
    CsipDocuments,
    DescriptiveFile,
    IpRole,
    dublin_core,
    included,
    replaced_digests,
)
from metspack.mets.dialects.csip.files import ABOUT, TEMPLATES, FileGroup, IpFolder, schema_files
from metspack.mets.dialects.csip.links import Linked
from metspack.mets.dialects.csip.terms import (
    DATA,
    DESCRIPTIVE,
    Agents,
    GivenTerms,
    folder_name,
)
from metspack.mets.dialects.interface import (
    ChildMets,
    DialectOptions,
    MergedContent,
    ParentContent,
    SplitLob,
    SplitPart,
)
from metspack.mets.filetable import PlacedRun
from metspack.mets.premis import FileObject, PremisWhole, Relationship
from metspack.model import Digest

_DUBLIN_CORE = f"{DESCRIPTIVE}/dublin-core.xml"
_CHILDREN_AT_ONCE = 100

Files = Callable[[], Iterable[PlacedRun]]


@dataclass(frozen=True, slots=True, kw_only=True)
class CsipOptions(GivenTerms, DialectOptions):
    """Options of the CSIP dialect: those of ``GivenTerms``, and the paths of ``CsipPackage``.

    ``given`` are the names of options that a person gave, which a merged package takes even if they have the
    default.
    """

    agents: Agents = field(default_factory=Agents)
    descriptive: StrPath | None = None
    documentation: StrPath | None = None
    schemas: StrPath | None = None
    roda_ancestors: bool = False
    given: frozenset[str] = frozenset()

    @classmethod
    def of(cls, options: DialectOptions | None) -> Self:
        """Return options when they are this dialect's, else its defaults."""
        return options if isinstance(options, cls) else cls()


@dataclass(frozen=True, slots=True, kw_only=True)
class CsipPackage(CsipDocuments):
    """The facts of a CSIP package; writes its representation, documents and groups.

    ``descriptive`` replaces, in the parent, the Dublin Core of ``description``; ``documentation`` is a folder
    for the parent, ``schemas`` one for every IP, None for metspack's. ``roda_ancestors`` adds the structMap
    that RODA reads.
    """

    descriptive: DescriptiveFile | None = None
    documentation: Path | None = None
    schemas: Path | None = None
    roda_ancestors: bool = False

    # --- the representation -----------------------------------------------------------------------------

    def data_group(self, ip: IpFolder, files: Files, folder: str, *, archive: str) -> FileGroup:
        """Return the group of a representation's data; ``archive`` is its archive's ID, or ""."""
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
        """Write the representation of the archive; return its group in the package's METS."""
        siard = content.siard
        if siard is None:
            raise AssertionError("there is no archive, which check would have reported")
        identifier = f"ID_{ids.ncname(content.name).upper()}.SIARD"
        name = siard.path.rpartition("/")[2]
        file = _listed([(identifier, name, siard.size, siard.checksum)], "application/zip")
        data = self.data_group(ip, lambda: (file,), DATA, archive=identifier)
        archive = FileObject(
            id=identifier,
            path=f"{DATA}/{name}",
            size=siard.size,
            media_type="application/zip",
            digests=(Digest(algorithm=self.checksum_type, value=siard.checksum),),
        )
        mets = self.write_representation(
            ip,
            data,
            label=label,
            objects=chain((archive,), self.split_objects(content.split(), content.parts())),
            done=(
                *((RELOCATION,) if content.children else ()),
                *replaced_digests(content.history),
            ),
        )
        return self.group(ip, mets, data)

    def split_objects(self, lobs: Iterable[SplitLob], parts: Iterable[SplitPart]) -> Iterator[FileObject]:
        """Yield the PREMIS objects of split LOBs; ``parts`` are in the same order."""
        whole_and_parts = zip(lobs, groupby(parts, itemgetter(0)), strict=True)
        for (identifier, size, kind, checksum), (_, named) in whole_and_parts:
            has = Relationship(kind="has part", objects=tuple(part for _, part, _ in named))
            yield FileObject(
                id=identifier,
                path="",
                size=size,
                media_type=kind,
                digests=(Digest(algorithm=self.checksum_type, value=checksum),),
                relationships=(has,),
            )

    def group(self, ip: IpFolder, mets: PlacedRun, data: FileGroup) -> FileGroup:
        """Return the group with a representation's METS in the package's METS."""
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
        documentation: Files = tuple,
    ) -> dict[str, Any]:
        """Write an IP's files besides representation and METS; return the facts for its METS."""
        names = schema_files(self._schemas)
        schemas = [ip.copy(f"schemas/{name}", self._schemas, (name,)) for name in names]
        described = self._write_descriptive(ip, part)
        about = self._write_about(ip, part)
        has = Relationship(kind="has part", objects=(each.objid for each in part.children))
        top = PremisWhole(
            category="intellectualEntity",
            value=ip.objid,
            relationships=(
                *((included(part.parent),) if part.parent else ()),
                *((has,) if part.children else ()),
            ),
        )
        kept = self.write_premis(ip, PREMIS, top, iter(()), (DIVISION,) if top.relationships else ())
        groups = [
            FileGroup(
                id=ip.id("documentation group"),
                use="Documentation",
                div="Documentation",
                files=lambda: chain((about,), documentation()),
            ),
            FileGroup(id=ip.id("schema group"), use="Schemas", div="Schemas", files=lambda: schemas),
            representation,
        ]
        return {
            "id": ip.id("package"),
            "objid": ip.objid,
            "folder": ip.objid if self.terms.is_first else folder_name(ip.objid),
            "label": part.label,
            "profile": self.terms.package_profile,
            "other_type": "",
            "descriptive": (described,),
            "preservation": ip.reference(kept, "PREMIS"),
            "groups": groups,
            **WITHOUT_LINKS,
            "stated": self.stated(),
        }

    def _write_descriptive(self, ip: IpFolder, part: IpRole) -> dict[str, object]:
        given = self.descriptive
        if given is not None and not part.parent:
            file = ip.copy(f"{DESCRIPTIVE}/{given.path.name}", given.path)
            return ip.reference(file, given.mdtype, given.othermdtype)
        terms = dublin_core(self.description, ip.objid, part=part.title, parent=part.parent)
        return ip.reference(ip.render(_DUBLIN_CORE, "dublin-core.xml.j2", {"terms": terms}), "DC")

    def _write_about(self, ip: IpFolder, part: IpRole) -> PlacedRun:
        """Write the text about an IP for people into its documentation."""
        facts = {
            "title": part.label,
            "objid": ip.objid,
            "role": part.role,
            "parent": part.parent,
            "data": f"{self.representation}/{DATA}/",
            "is_whole": part.is_whole,
            "is_by_objid": self.terms.is_by_objid,
        }
        text = writer.plain(TEMPLATES, f"{ABOUT}.j2", facts)
        return ip.write(f"documentation/{ABOUT}", [text.encode()])

    def above(self, ip: IpFolder, parent: str) -> dict[str, Any]:
        """Return the facts about its parent for an IP's METS."""
        linked = links.linked(self.terms, ip.objid, parent, label="the parent IP")
        facts: dict[str, Any] = {"parent": {**links.parent_map(self.terms, ip.objid), "ip": linked}}
        if self.roda_ancestors:
            facts["ancestors"] = {"id": ip.id("ancestors"), "objid": parent}
        return facts

    def add_children(self, facts: dict[str, Any], content: ParentContent) -> None:
        """Add to ``facts`` the links to the children, and file entries with their METS's fixity."""
        words = links.children_map(self.terms, content.objid)
        facts["children"] = {**words, "ips": (self._linked(content.objid, each) for each in content.children)}
        if not self.terms.is_by_objid:
            facts["groups"].append(
                FileGroup(
                    id=ids.element_id(content.objid, "child IPs"),
                    use=words["label"],
                    div="",
                    files=lambda: self._child_files(content),
                )
            )
        loctype = links.child_loctype(self.terms, content.children[0].objid)
        self.add_split(facts, content, loctype)

    def add_split(self, facts: dict[str, Any], content: ParentContent | MergedContent, loctype: str) -> None:
        """Add to ``facts`` the structMap of split LOBs, if any, with the IPs' ``loctype``."""
        if next(iter(content.parts()), None) is not None:
            facts["split"] = {
                "id": ids.element_id(content.objid, "split LOBs"),
                "loctype": loctype,
                "lobs": groupby(content.parts(), itemgetter(0)),
            }

    def _linked(self, parent: str, child: ChildMets) -> Linked:
        file = links.file_id(self.terms, parent, child.objid)
        label = child.content.rpartition(f"/{DATA}/")[2]
        return links.child(self.terms, parent, child.objid, label=label, file=file)

    def _child_files(self, content: ParentContent) -> Iterator[PlacedRun]:
        children = (
            (
                links.file_id(self.terms, content.objid, each.objid),
                f"../{each.folder}/{CSIP_METS}",
                each.size,
                each.checksum,
            )
            for each in content.children
        )
        while some := list(islice(children, _CHILDREN_AT_ONCE)):
            yield _listed(some, "application/xml")

    @property
    def _schemas(self) -> Path:
        return self.schemas or resources.root() / "schemas"


def _listed(files: Sequence[tuple[str, str, int, str]], media_type: str) -> PlacedRun:
    """Return files, given by ID, path, size and checksum in METS, as a run."""
    ids, paths, sizes, checksums = zip(*files, strict=True)
    kinds = [media_type] * len(files)
    return PlacedRun(id=ids, path=paths, size=sizes, media_type=kinds, checksum=checksums)
