"""The CSIP dialect: E-ARK CSIP 2.2.0 for each IP, with links as in E-ARK AIP."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, fields, replace
from itertools import chain
from pathlib import Path
from typing import Any, ClassVar, Self

from metspack.digests import Hashers
from metspack.errors import ConfigError
from metspack.files import writing
from metspack.files.paths import Names
from metspack.files.reading import as_path
from metspack.layouts import Layout, lobseg, siard22
from metspack.layouts.names import SIARD
from metspack.mets import CSIP_METS, premis, writer
from metspack.mets.dialects.csip import links
from metspack.mets.dialects.csip.documents import SPLITTING, IpRole, described, read_dmd, replaced_digests
from metspack.mets.dialects.csip.files import IpFolder, check_documentation, schema_files
from metspack.mets.dialects.csip.package import CsipOptions, CsipPackage
from metspack.mets.dialects.csip.terms import (
    CONTENT_TYPES,
    CSIP_VERSIONS,
    DATA,
    PACKAGE_TYPES,
    PROFILES,
    SIP_VERSIONS,
    Agents,
    GivenTerms,
    Terms,
    folder_name,
    goes_with,
    profile_name,
    stated_version,
)
from metspack.mets.dialects.interface import (
    HREF_STYLES,
    Adopted,
    Dialect,
    DialectOptions,
    Footprint,
    MergedContent,
    PackageFacts,
    ParentContent,
    SegmentSpot,
)
from metspack.mets.filetable import PlacedRun, Placements
from metspack.mets.notes import note
from metspack.mets.premis import Event
from metspack.mets.reader import Agent, Fact, MetsHeader, Root
from metspack.model import Notice


@dataclass(frozen=True, slots=True, kw_only=True)
class Csip(CsipPackage, Dialect):
    """The dialect of E-ARK CSIP: parent and children are folders side by side, named by OBJID."""

    mets: ClassVar[str] = CSIP_METS
    footprint: ClassVar[Footprint] = Footprint(
        per_lob=2_500,
        per_ip=120_000,
        files_per_ip=40,
        documents=10,
        size=45_000,
        row=1_300,
        paths=2,
        child=500,
    )
    # The OBJID is also the LABEL of a div, and a LABEL with "parent" in it is that of a link upwards.

    @classmethod
    def of(cls, package: PackageFacts) -> Self:
        """Return the dialect of a package; raises ``ConfigError`` for absolute hrefs."""
        if package.href_style != HREF_STYLES[0]:
            raise ConfigError(
                f"the dialect csip does not know the hrefs {package.href_style} (CSIP76: relative locations)",
                hint="Leave --href out.",
            )
        wanted = CsipOptions.of(package.options)
        return cls(
            terms=Terms(
                version=package.version,
                mets_profile=package.mets_profile,
                **{each.name: getattr(wanted, each.name) for each in fields(GivenTerms)},
            ),
            agents=replace(wanted.agents, packagers=package.agents),
            description=described(package.name, package.metadata),
            created=package.created,
            checksum_type=package.checksum_type,
            software=package.software,
            descriptive=None if wanted.descriptive is None else read_dmd(as_path(wanted.descriptive)),
            documentation=None if wanted.documentation is None else as_path(wanted.documentation),
            schemas=None if wanted.schemas is None else as_path(wanted.schemas),
            roda_ancestors=wanted.roda_ancestors,
        )

    @classmethod
    def options(cls, given: Mapping[str, object]) -> CsipOptions:
        """Return the options from values by name."""
        named = dict(given)
        agents: dict[str, Any] = {
            each.name: named.pop(each.name) for each in fields(Agents) if each.name in named
        }
        if "preservation_agent" in named:
            agents["preservation"] = named.pop("preservation_agent")
        terms: dict[str, Any] = named
        return CsipOptions(**terms, agents=Agents(**agents), given=frozenset(given))

    @classmethod
    def layout(cls, version: str | None) -> Layout:
        """Return the layout of SIARD 2.2 for an archive of that version (CITS SIARD, SIARD_22b)."""
        return siard22.LAYOUT if version == "2.2" else lobseg.LAYOUT

    @classmethod
    def layout_warnings(cls, layout: Layout, version: str | None) -> tuple[Notice, ...]:
        """Return a warning on a layout other than SIARD 2.2's for an archive of that version."""
        if layout is cls.layout(version) or cls.layout(version) is not siard22.LAYOUT:
            return ()
        wanted = "LOBs of SIARD 2.2 must lie as that standard requires (CITS SIARD, SIARD_22b)"
        return (Notice("layout-of-another", f"{wanted}, but the layout is {layout.name}"),)

    def check(self, objid: str) -> None:
        """Raise ``ConfigError`` for invalid terms, agents, files or OBJID."""
        self.terms.check(self.agents)
        if objid:
            links.check_objid(self.terms, objid)
        for text in (self.terms.package_profile, *self.agents.texts()):
            writer.finalized(text)
        if self.documentation is not None:
            check_documentation(self.documentation)
        schema_files(self._schemas)

    @classmethod
    def packed_objid(cls, objid: str, options: DialectOptions | None) -> str:
        """Return an OBJID that can be the name of the root folder in the pack (CSIP1)."""
        return links.packed_objid(CsipOptions.of(options).link_style, objid)

    def archive_path(self, objid: str, name: str) -> str:
        """Return the archive's path, in the data of the parent's representation (SIARD_15)."""
        return f"{folder_name(objid)}/{self.representation}/{DATA}/{name}{SIARD}"

    @classmethod
    def parent_folder(cls, objid: str) -> str:
        """Return the parent's folder."""
        return folder_name(objid)

    def spot(self, *, number: int, index: int, parent: str, name: str, word: str, folder: str) -> SegmentSpot:
        """Return the place of a child; its LOBs have the same path there as once merged."""
        objid = links.child_objid(self.terms, parent, word, word.removeprefix(name))
        ip = folder_name(objid)
        content = f"{ip}/{self.representation}/{DATA}/{folder}"
        return SegmentSpot(number=number, ip=ip, content=content, index=index, objid=objid)

    def write_child(
        self, package: Path, spot: SegmentSpot, parent: str, files: Callable[[], Iterator[PlacedRun]]
    ) -> dict[str, Hashers]:
        """Write the METS, PREMIS, descriptive metadata, documentation and schemas of a child."""
        ip = IpFolder(package, spot.ip, spot.objid, self.checksum_type)
        title = f"LOBs, segment {spot.index}"
        part = IpRole(role="a child IP with LOBs", label=self.label(title), title=title, parent=parent)
        data = self.data_group(
            ip, files, spot.content.removeprefix(f"{spot.ip}/{self.representation}/"), archive=""
        )
        representation = self.write_representation(
            ip,
            data,
            label=part.label,
            objects=premis.rows(files(), self.checksum_type, data.folder),
            done=(SPLITTING,) if any(run.part_of for run in files()) else (),
        )
        facts = self.write_package(ip, part, self.group(ip, representation, data))
        facts |= self.above(ip, parent)
        ip.render(CSIP_METS, "mets.xml.j2", facts)
        return ip.files

    def write_parent(self, package: Path, content: ParentContent) -> dict[str, Hashers]:
        """Write all files of the parent beside the archive, above all its links to the children."""
        ip = IpFolder(package, folder_name(content.objid), content.objid, self.checksum_type)
        part = IpRole(
            role="the parent IP with the SIARD archive",
            label=self.label("the SIARD archive"),
            children=content.children,
        )
        group = self.write_archive(ip, content, part.label)
        with closing(Placements()) as documentation:
            if self.documentation is not None:
                ip.copy_documentation(self.documentation, documentation)
            facts = self.write_package(ip, part, group, documentation.runs)
            facts["history"] = content.notes
            if content.children:
                self.add_children(facts, content)
            ip.render(CSIP_METS, "mets.xml.j2", facts)
        return ip.files

    @classmethod
    def adopted(
        cls,
        options: DialectOptions | None,
        root: Path,
        documents: Iterable[Names],
        representation: str | None,
        header: Iterable[Fact],
    ) -> Adopted:
        """Return the parent's documents and terms that no option replaces."""
        facts = list(header)
        given = _with_stated(CsipOptions.of(options), facts)
        descriptive = given.descriptive
        described: list[Names] = []
        documentation: list[Names] = []
        left: list[Names] = []
        for names in documents:
            if names[0] == "documentation":
                if given.documentation is None:
                    documentation.append(names)
            elif descriptive is None:
                described.append(names)
                descriptive = root.joinpath(*names)
            elif given.descriptive is None:
                left.append(names)
        name = representation or given.representation
        return Adopted(
            options=replace(given, descriptive=descriptive, representation=name),
            profile=_kept_profile(given, facts),
            documents=frozenset((*described, *documentation)),
            documentation=tuple(documentation),
            left=tuple(left),
        )

    def data_folder(self, objid: str) -> str:
        """Return the folder of the representation's data."""
        return f"{folder_name(objid)}/{self.representation}/{DATA}"

    def write_merged(self, package: Path, content: MergedContent) -> dict[str, Hashers]:
        """Write all files of a merged package beside its data."""
        ip = IpFolder(package, folder_name(content.objid), content.objid, self.checksum_type)
        holds = "the SIARD archive and its LOBs"
        part = IpRole(role=f"the whole package with {holds}", label=self.label(holds), is_whole=True)
        data = self.data_group(ip, tuple, DATA, archive=content.archive)
        whole = self.split_objects(content.split(), content.parts())
        merging = Event(
            type="information package merging",
            detail=f"The data of the representation, which {content.containers:,} information packages held, "
            "were put together. Every file was compared with the digest in its METS while it was copied.",
        )
        with writing.NewFile(content.work / "listed.xml", is_synced=False) as rows:
            placed = data.write_through(content.placing, rows, self.stated(), data.other_type)
            mets = self.write_representation(
                ip,
                replace(data, written=rows),
                label=part.label,
                objects=chain(premis.rows(placed, self.checksum_type, data.folder), whole),
                done=(merging, *replaced_digests(words for _, words in map(note, content.history))),
            )
        with closing(Placements()) as documentation:
            if self.documentation is not None:
                ip.copy_documentation(self.documentation, documentation)
            for names in () if self.documentation is not None else content.documentation:
                documentation.add(ip.copy("/".join(names), content.root, names))
            group = self.group(ip, mets, data)
            facts = self.write_package(ip, part, group, documentation.runs)
            facts["history"] = content.history
            self.add_split(facts, content, links.loctype(self.terms, content.objid))
            ip.render(CSIP_METS, "mets.xml.j2", facts)
        return ip.files


DIALECT = Csip


def _with_stated(options: CsipOptions, header: Iterable[Fact]) -> CsipOptions:
    """Return options, with the terms and agents of a METS in place of those not given."""
    usual = CsipOptions()
    is_given = {
        each.name
        for each in fields(GivenTerms)
        if each.name in options.given or getattr(options, each.name) != getattr(usual, each.name)
    }
    terms, agents = _stated_terms(header)
    if "profile" in is_given and options.profile == "sip":
        is_given.add("package_type")  # that of the profile sip replaces the parent's
    is_other = "profile" in is_given and options.profile != terms.get("profile")
    if is_other or is_given & {"csip_version", "sip_version"}:
        is_given |= {"csip_version", "sip_version"}
    kept = {name: each for name, each in terms.items() if name not in is_given}
    absent = {
        name: each
        for name, each in agents.items()
        if not getattr(options.agents, name.removesuffix("_code")) and not getattr(options.agents, name)
    }
    return replace(options, **kept, agents=replace(options.agents, **absent))


def _kept_profile(options: CsipOptions, header: Iterable[Fact]) -> str | None:
    """Return the PROFILE of a METS if options neither express, replace nor forbid it, or None."""
    is_replaced = "profile" in options.given or options.profile != PROFILES[0] or options.csip_version
    stated = "".join(fact.profile or "" for fact in header if isinstance(fact, Root))
    is_kept = not is_replaced and profile_name(stated) not in PROFILES and goes_with(stated, options)
    return stated if stated and is_kept else None


def _stated_terms(facts: Iterable[Fact]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the ``GivenTerms`` and ``Agents`` that a package's METS states in root and header.

    Values that are no terms of CSIP and SIP are left out. The first of several organisations in a role
    counts; without a SUBMITTER the CREATOR is the submitter.
    """
    terms: dict[str, Any] = {}
    agents: dict[str, Any] = {}
    roles: dict[str, str] = {}
    for fact in facts:
        if isinstance(fact, Root):
            stated = profile_name(fact.profile or "")
            kind = _attribute(fact.attributes, "CONTENTINFORMATIONTYPE")
            terms |= {"profile": stated} if stated in PROFILES else {}
            standard, version = stated_version(fact.profile or "")
            terms |= {f"{standard}_version": version} if version in _VERSIONS.get(standard, ()) else {}
            terms |= {"content_type": kind} if kind in CONTENT_TYPES else {}
        elif isinstance(fact, MetsHeader):
            kind = _attribute(fact.attributes, "OAISPACKAGETYPE")
            terms |= {"package_type": kind} if kind in PACKAGE_TYPES else {}
        elif isinstance(fact, Agent) and fact.type == "ORGANIZATION":
            name = _ROLES.get(fact.role)
            is_better = roles.get(name or "") == "CREATOR" and fact.role == "SUBMITTER"
            if name is not None and (name not in roles or is_better):
                roles[name] = fact.role
                code = f"{name}_code"
                agents |= {name: fact.name} | ({code: fact.code} if hasattr(Agents(), code) else {})
    return terms, agents


def _attribute(attributes: Mapping[str, str], name: str) -> str:
    return next((value for key, value in attributes.items() if key.rpartition(":")[2] == name), "")


_VERSIONS = {"csip": CSIP_VERSIONS, "sip": SIP_VERSIONS}
_ROLES = {
    "ARCHIVIST": "archival_creator",
    "CREATOR": "submitter",
    "SUBMITTER": "submitter",
    "PRESERVATION": "preservation",
}
