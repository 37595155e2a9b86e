"""Documents of CSIP packages: facts that METS and PREMIS share, and descriptive metadata."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from metspack import safexml
from metspack.digests import ReplacedDigest
from metspack.errors import ConfigError, SourceError
from metspack.files import reading
from metspack.mets import CSIP_METS, MDTYPES, MDTYPES_BY_ROOT, REPRESENTATIONS_FOLDER, premis
from metspack.mets.dialects.csip.files import FileGroup, IpFolder
from metspack.mets.dialects.csip.terms import Agents, Terms
from metspack.mets.dialects.interface import ChildMets, Software
from metspack.mets.filetable import PlacedRun
from metspack.mets.premis import Event, FileObject, PremisWhole, Relationship
from metspack.siard.metadata import Metadata

PREMIS = "metadata/preservation/premis.xml"
"""The path of the preservation metadata of an IP and of a representation."""

WITHOUT_LINKS = {"parent": None, "children": None, "split": None, "ancestors": None, "history": ()}
"""The links of a METS that names no other IP, and no notes on the source of an archive."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DescriptiveFile:
    """A file with descriptive metadata: its path, MDTYPE and OTHERMDTYPE."""

    path: Path
    mdtype: str
    othermdtype: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Description:
    """The description of a database in its archive's metadata; absent values are ""."""

    title: str
    description: str = ""
    owner: str = ""
    timespan: str = ""
    version: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class IpRole:
    """The role of an IP in its package; ``title`` and ``parent`` are "" for the parent.

    ``is_whole``: it is the only IP of the package.
    """

    role: str
    label: str
    title: str = ""
    parent: str = ""
    children: Sequence[ChildMets] = ()
    is_whole: bool = False


DIGESTS = Event(
    type="message digest calculation",
    detail="The digests of all files of the representation were calculated while they were written.",
)
DIVISION = Event(
    type="information package splitting",
    detail="Segmentation: the large objects (LOBs) of the database were divided over child packages, in the "
    "order of the archive.",
)
SPLITTING = Event(
    type="splitting",
    detail="LOBs that were too large for one package were split into parts, whose bytes in order they are.",
)
RELOCATION = Event(
    type="metadata modification",
    detail="Normalisation of locations: the cells of LOBs that were moved out of the archive, and its "
    "lobFolder elements, name the places of the LOBs in the representation. Nothing else in the tables was "
    "changed.",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class CsipDocuments:
    """The facts that all documents of a package share; ``created`` is an xs:dateTime."""

    terms: Terms
    agents: Agents
    description: Description
    created: str
    checksum_type: str
    software: Software

    @property
    def representation(self) -> str:
        """The representation's folder in every IP."""
        return f"{REPRESENTATIONS_FOLDER}/{self.terms.representation}"

    def label(self, part: str) -> str:
        """Return the LABEL of an IP with a part of the database."""
        return f"{self.description.title}: {part}"

    def stated(self) -> dict[str, object]:
        """Return the facts for the METS template that are the same in all documents."""
        return {
            "created": self.created,
            "package_type": self.terms.package_type,
            "content_type": self.terms.content_type,
            "software": self.software,
            "agents": self.agents.named(self.terms.submitter_role),
            "checksum_type": self.checksum_type,
        }

    def write_premis(
        self,
        ip: IpFolder,
        path: str,
        top: PremisWhole,
        objects: Iterator[FileObject | str],
        done: Iterable[Event],
    ) -> PlacedRun:
        """Write the PREMIS document of an IP or representation, with the actions (``done``) on it."""
        facts = {
            "top": top,
            "files": (each if isinstance(each, str) else premis.text_of(each) for each in objects),
            "events": ((ip.id(f"{path} {each.type}{each.key}"), each) for each in done),
            "created": self.created,
            "agent": self.software,
        }
        return ip.render(path, "premis.xml.j2", facts, premis.TEMPLATES)

    def write_representation(
        self,
        ip: IpFolder,
        data: FileGroup,
        *,
        label: str,
        objects: Iterator[FileObject | str],
        done: Iterable[Event],
    ) -> PlacedRun:
        """Write PREMIS and METS of a representation; return the METS as a file of the IP."""
        folder = self.representation
        top = PremisWhole(
            category="representation",
            value=self.terms.representation,
            relationships=(included(ip.objid),),
        )
        kept = self.write_premis(ip, f"{folder}/{PREMIS}", top, objects, (DIGESTS, *done))
        facts = {
            "id": ip.id(folder),
            "objid": self.terms.representation,
            "folder": self.terms.representation,
            "label": label,
            "profile": self.terms.representation_profile,
            "other_type": data.other_type,
            "descriptive": (),
            "preservation": ip.reference(kept, "PREMIS", below=f"{folder}/"),
            "groups": (data,),
            **WITHOUT_LINKS,
            "stated": self.stated(),
        }
        return ip.render(f"{folder}/{CSIP_METS}", "mets.xml.j2", facts)


def replaced_digests(history: Iterable[str]) -> Iterator[Event]:
    """Yield the events about messageDigests in the notes on the source of an archive."""
    for words in history:
        replaced = ReplacedDigest.parsed(words)
        if replaced is not None and replaced.found is not None:
            yield Event(type="fixity check", detail=words, outcome="fail", key=f" {words}")
        elif replaced is not None:
            yield Event(type=RELOCATION.type, detail=words, key=f" {words}")


def included(objid: str) -> Relationship:
    """Return the relationship of an object to the IP that contains it (AIP13)."""
    return Relationship(kind="is included in", objects=(objid,))


# --- Descriptive metadata (dmdSec): a person's file, or Dublin Core from the archive's metadata.xml ---------


def read_dmd(path: Path) -> DescriptiveFile:
    """Return a descriptive file; raises ``ConfigError`` unless it is readable XML."""
    name, namespace = "", ""

    def root(tag: str, _attributes: dict[str, str]) -> None:
        nonlocal name, namespace
        if not name:
            namespace, _, name = tag.rpartition(" ")

    parser = safexml.expat_parser(namespaces=True)
    parser.StartElementHandler = root
    try:
        with reading.opening(path) as descriptor:
            safexml.feed(parser, reading.chunks(descriptor))
    except safexml.XmlError as error:
        raise ConfigError(
            f"the descriptive metadata {path} is not XML that can be used: line {error.line}, "
            f"column {error.column}: {error.message}",
            hint=error.hint or "Descriptive metadata is an XML file, such as EAD, MODS or Dublin Core.",
        ) from None
    except (OSError, SourceError) as error:
        why = error.message if isinstance(error, SourceError) else error.strerror
        raise ConfigError(
            f"the descriptive metadata {path} cannot be read: {why}", hint="Check the path of --descriptive."
        ) from None
    mdtype = MDTYPES.get(namespace) or MDTYPES_BY_ROOT.get(name.casefold(), "OTHER")
    return DescriptiveFile(path=path, mdtype=mdtype, othermdtype=name if mdtype == "OTHER" else "")


def described(name: str, metadata: Metadata | None) -> Description:
    """Return the description of an archive's database; without an archive, of ``name`` only."""
    if metadata is None:
        return Description(title=name)
    return Description(
        title=metadata.dbname.strip() or name,
        description=metadata.description.strip(),
        owner=metadata.data_owner.strip(),
        timespan=metadata.origin_timespan.strip(),
        version=metadata.version,
    )


def dublin_core(
    stated: Description, objid: str, *, part: str = "", parent: str = ""
) -> Iterator[tuple[str, str]]:
    """Yield the Dublin Core elements of the IP ``objid``: name and text, in the order of DCMES.

    For a child, ``part`` is the part of the database in it and ``parent`` its parent's OBJID; else both are
    "".
    """
    yield "title", f"{stated.title}: {part}" if part else stated.title
    if stated.owner:
        yield "creator", stated.owner
    if stated.description:
        yield "description", stated.description
    yield "type", "Dataset"
    if stated.version:
        yield "format", f"SIARD {stated.version}"
    yield "identifier", objid
    if parent:
        yield "relation", parent
    if stated.timespan:
        yield "coverage", stated.timespan
