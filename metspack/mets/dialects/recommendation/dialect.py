"""The METS of the E-ARK recommendation for external LOBs: attribute spellings as in its version 0.16."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from itertools import chain, groupby, islice
from operator import attrgetter
from pathlib import Path
from typing import Any, ClassVar, Self

from metspack import uris
from metspack.digests import Hashers
from metspack.errors import ConfigError
from metspack.files import reading
from metspack.layouts import siard22
from metspack.layouts.names import SIARD
from metspack.mets import PLAIN_METS, filetable, ids, writer
from metspack.mets.dialects.interface import (
    HREF_STYLES,
    Addition,
    ChildContent,
    ChildMets,
    Dialect,
    ExistingPackage,
    Footprint,
    Inherited,
    PackageFacts,
    ParentContent,
    SegmentSpot,
    SegmentWords,
    SiardFile,
    Software,
)
from metspack.mets.dialects.recommendation import TEMPLATES
from metspack.mets.links import SPLITLOB
from metspack.mets.packages import SOURCE
from metspack.mets.writer import GrowingDocument
from metspack.sources.pronom import Registry
from metspack.values import dataclass

_CHILDREN_AT_ONCE = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Recommendation(Dialect):
    """The dialect of the recommendation: the parent in the package's root, each child in its segment.

    ``version`` is that of SIARD, None for LOBs that belong to no archive. ``href_style`` ``file-uri`` gives
    0.16's pseudo-absolute references, which count from the package's root. ``registry`` is what told formats.
    """

    version: str | None
    created: str
    checksum_type: str
    software: Software
    agents: tuple[str, ...]
    profile: str
    href_style: str
    registry: Registry | None = None

    mets: ClassVar[str] = PLAIN_METS
    footprint: ClassVar[Footprint] = Footprint(
        per_lob=1_000, per_ip=8_000, files_per_ip=16, documents=1, size=1_700, row=290, paths=1, child=500
    )
    archives: ClassVar[str] = "*"
    further: ClassVar[str] = "parent"

    @classmethod
    def of(cls, package: PackageFacts) -> Self:
        """Return the dialect that describes a package."""
        return cls(
            version=package.version,
            created=package.created,
            checksum_type=package.checksum_type,
            software=package.software,
            agents=package.agents,
            profile=PROFILE if package.mets_profile is None else package.mets_profile,
            href_style=package.href_style,
            registry=package.registry,
        )

    def check(self, objid: str) -> None:  # noqa: ARG002 -- any OBJID will do
        """Raise ``ConfigError`` for an agent or a profile that cannot be written."""
        for text in (*self.agents, self.profile):
            if not text.strip():
                raise ConfigError(
                    "an agent or the METS profile is empty",
                    hint="Give --agent and --mets-profile a value, or leave them out.",
                )
            writer.finalized(text)

    def archive_path(self, objid: str, name: str) -> str:  # noqa: ARG002 -- the root is the parent's
        """Return the archive's path: in the root."""
        return f"{name}{SIARD}"

    @classmethod
    def parent_folder(cls, objid: str) -> str:  # noqa: ARG003 -- whoever it is
        """Return "": the root is the parent's."""
        return ""

    def spot(self, words: SegmentWords) -> SegmentSpot:
        """Return where a child lies: its METS beside its LOBs, in the segment's folder."""
        return SegmentSpot(
            number=words.number,
            ip=words.folder,
            content=words.folder,
            index=words.index,
            objid=ids.child_objid(words.word),
        )

    def write_child(self, package: Path, content: ChildContent) -> dict[str, Hashers]:
        """Write the METS of a child."""
        spot, parent = content.spot, content.parent
        child = {
            "objid": spot.objid,
            "element_id": f"{ids.ncname(parent)}.seg.{spot.index}.mets.element",
            "index": spot.index,
            "parent_objid": parent,
            "pointer_id": ids.element_id(parent, f"{spot.objid} parent"),
            **self._said(),
        }
        file = writer.RowFormat(partial(_row, "file", child=child), partial(self._href, spot.ip))
        pointer = writer.RowFormat(partial(_row, "pointer"))
        facts = {
            "child": child,
            "files": map(file.text, content.files()),
            "pointers": map(pointer.text, content.files()),
        }
        return self._write(package, f"{spot.ip}/{PLAIN_METS}", "child.xml.j2", facts)

    def write_parent(self, package: Path, content: ParentContent) -> dict[str, Hashers]:
        """Write the parent's METS."""
        facts = {
            **self.parent_facts(content),
            "pieces": content.pieces(),
            "is_in_pieces": next(content.pieces(), None) is not None,
            "others": content.others(),
            "has_others": next(content.others(), None) is not None,
            "href": lambda path: self._href("", path),
        }
        return self._write(package, PLAIN_METS, "parent.xml.j2", facts)

    def write_further_parent(
        self, package: Path, spot: SegmentSpot, parent: str, content: ParentContent
    ) -> dict[str, Hashers]:
        """Write the METS of a further parent, which names its children and the parent above it."""
        facts = self.parent_facts(content, spot.ip)
        facts["parent"]["above"] = parent
        facts["parent"]["above_id"] = ids.element_id(content.objid, f"{parent} parent")
        return self._write(package, f"{spot.ip}/{PLAIN_METS}", "further.xml.j2", facts)

    @classmethod
    def find(cls, root: Path) -> tuple[str, str] | None:
        """Return where the parent's METS of a package is: in the root."""
        # By its very name: METS.xml, which some file systems would give as well, is another dialect's.
        is_there = PLAIN_METS in os.listdir(root) and (root / PLAIN_METS).is_file()
        return ("", PLAIN_METS) if is_there else None

    @classmethod
    def inherited(cls, package: ExistingPackage, options: Mapping[str, object]) -> Inherited:  # noqa: ARG003
        """Return what an addition has to say as the package does."""
        said = package.said
        is_siard22 = siard22.parsed_folder(said.child.rpartition("/")[0]) is not None
        return Inherited(
            layout=siard22.LAYOUT.name if is_siard22 else None,
            agents=tuple(each.name for each in said.agents if each.is_organisation),
            mets_profile=said.root.get("PROFILE"),
            href_style=HREF_STYLES[said.href.startswith("file:")],
        )

    @classmethod
    def replaced(cls, folder: str) -> tuple[str, ...]:  # noqa: ARG003 -- it lies at the root
        """Return the METS of the parent."""
        return (PLAIN_METS,)

    def write_addition(self, existing: ExistingPackage, package: Path, content: ParentContent) -> Addition:
        """Write the parent's METS anew, with one more archive in it and its segments."""
        facts = self.parent_facts(content)
        facts["parent"]["pointer_id"] = ids.element_id(content.objid, f"SIARD central file {content.name}")
        facts["parent"]["registry"] = None  # the root need not declare the prefix of what is said of formats
        with reading.opening(existing.root, (PLAIN_METS,)) as descriptor:
            mets = GrowingDocument(descriptor, watched)
            mets.set_attribute("mets:metsHdr", "LASTMODDATE", self.created)
            if self.registry is not None and not mets.has(_IDENTIFICATION):
                text = writer.fragment(TEMPLATES, "_mets.xml.j2", "identification", self.registry)
                mets.insert_after(_SOFTWARE, text)
            if content.notes:
                mets.add_notes(_HISTORY, _SOFTWARE, content.notes)
            _add_files(mets, facts)
            _add_divs(mets, facts)
            files = {PLAIN_METS: mets.write(package / PLAIN_METS, filetable.algorithms(self.checksum_type))}
        kind = existing.said.root.get("TYPE", "")
        if f"SIARD{self.version} " in f"{kind} ":
            return Addition(files=files)
        other = f"the parent's METS is of TYPE {kind}, but {content.name}.siard is SIARD {self.version}"
        return Addition(files=files, warnings=(other,))

    def parent_facts(self, content: ParentContent, folder: str = "") -> dict[str, Any]:
        """Return what the parent's METS says of itself, of an archive in one file, and of the children.

        ``children`` yields them anew at every call, many at a time. The METS lies in a folder of the root.
        """
        objid, siard = content.objid, content.siard

        def children() -> Iterator[list[dict[str, object]]]:
            found = (self._child(objid, child, folder) for child in content.children)
            while some := list(islice(found, _CHILDREN_AT_ONCE)):
                yield some

        return {
            "parent": {
                "objid": objid,
                "element_id": f"{ids.ncname(objid)}.mets.element",
                "owner_id": f"{objid}.{content.name.upper()}",
                "group_id": ids.element_id(objid, "child IPs"),
                "pointer_id": ids.element_id(objid, "SIARD central file"),
                **self._said(),
            },
            "siard": None if siard is None else self._siard(objid, content.name, siard),
            "has_children": len(content.children) > 0,
            "children": children,
            "split": content.split(),
            "is_split": next(content.split(), None) is not None,
            "split_parts": groupby(content.parts(), attrgetter("lob")),
            "pointer_id": lambda part: ids.element_id(objid, f"{part.id} {part.child}"),
            "history": content.notes,
        }

    def _write(
        self, package: Path, path: str, template: str, facts: Mapping[str, object]
    ) -> dict[str, Hashers]:
        algorithms = filetable.algorithms(self.checksum_type)
        return {path: writer.write_document(package / path, TEMPLATES, template, facts, algorithms)}

    def _href(self, folder: str, path: str, above: str = "") -> str:
        """Return the reference to ``path`` from the METS in ``folder`` ("" is the package's root).

        The path is below the folder, or, with ``above``, below the root that this leads to.
        """
        segments = path.split("/")
        if self.href_style != HREF_STYLES[0]:
            return uris.file_uri((*folder.split("/"), *segments) if folder and not above else segments)
        return above + uris.quoted(segments)

    def _siard(self, objid: str, name: str, siard: SiardFile) -> dict[str, object]:
        return {
            "id": f"ID_{name.upper()}.SIARD",
            "media_type": "application/zip",
            "size": siard.size,
            "checksum": siard.checksum,
            "href": self._href("", siard.path),
            "content_id": f"{objid}.{uris.quoted((siard.path,))}",
            "transformation": "ZIP64" if siard.zip64 else "ZIP",
        }

    def _said(self) -> dict[str, object]:
        return {
            "type": "SIARD_lobs INDEX" if self.version is None else f"SIARD{self.version} INDEX",
            "label": "SIARD LOBs" if self.version is None else f"SIARD {self.version}",
            "profile": self.profile,
            "created": self.created,
            "software": {"name": self.software.name, "version": self.software.version},
            "agents": self.agents,
            "registry": self.registry,
            "checksum_type": self.checksum_type,
        }

    def _child(self, objid: str, child: ChildMets, folder: str) -> dict[str, object]:
        return {
            "objid": child.objid,
            "size": child.size,
            "checksum": child.checksum,
            "href": self._href(folder, f"{child.folder}/{PLAIN_METS}", above="../" if folder else ""),
            "pointer_id": ids.element_id(objid, child.objid),
        }


def _row(macro: str, file: Mapping[str, object], **facts: object) -> str:
    return writer.fragment(TEMPLATES, "_rows.xml.j2", macro, file, **facts)


DIALECT = Recommendation


# --- An archive that is added: the parent METS edited, all else in it kept to the byte ---

_GROUPS = {
    "ID_SIARD_FILES": "fileGrp ID_SIARD_FILES",
    "ID_SIARD_DDL": "fileGrp ID_SIARD_DDL",
    "ID_SPLIT_LOBS": "fileGrp ID_SPLIT_LOBS",
}
_SOFTWARE, _IDENTIFICATION = "agent that made it", "agent that told formats"
_HISTORY = "agent with notes on the sources"
_AGENTS = {"SOFTWARE": _SOFTWARE, "FORMAT IDENTIFICATION": _IDENTIFICATION, SOURCE: _HISTORY}
_CHILD = "child IP"
_CHILDREN = "fileGrp of children"
_MAP = "structMap PHYSICAL"
_ROOT = "div of the structMap PHYSICAL"
_SPLIT_MAP = f"structMap {SPLITLOB}"
_SPLIT_ROOT = f"div of the {_SPLIT_MAP}"
_DIVS = {"SIARD central file": "div of the archive", "child IPs": "div of the children"}


def watched(name: str, attributes: dict[str, str], above: Sequence[str]) -> str:
    """Return the key of an element of a parent METS, as ``GrowingDocument`` asks for it."""
    within = above[-1] if above else ""
    if name in {"mets:mets", "mets:metsHdr"}:
        return name
    if name == "mets:agent":
        return _AGENTS.get(attributes.get("OTHERROLE") or attributes.get("OTHERTYPE", ""), "")
    if name == "mets:fileGrp":
        return _CHILDREN if attributes.get("USE") == _CHILD else _GROUPS.get(attributes.get("ID", ""), "")
    if name == "mets:structMap":
        return {"PHYSICAL": _MAP, SPLITLOB: _SPLIT_MAP}.get(attributes.get("TYPE", ""), "")
    if name == "mets:div" and within == _ROOT:
        return _DIVS.get(attributes.get("LABEL", ""), "")
    return {_MAP: _ROOT, _SPLIT_MAP: _SPLIT_ROOT}.get(within, "") if name == "mets:div" else ""


def _add_files(mets: GrowingDocument, facts: dict[str, Any]) -> None:
    files = _GROUPS["ID_SIARD_FILES"]
    mets.append(_GROUPS["ID_SIARD_DDL"], _part("siard_file", facts["parent"], facts["siard"]))
    if facts["has_children"]:
        is_first = not mets.has(_CHILDREN)
        macro = "child_group" if is_first else "child_files"
        children = list(chain.from_iterable(facts["children"]()))
        mets.append(files if is_first else _CHILDREN, _part(macro, facts["parent"], children))
    if facts["is_split"]:
        group = _GROUPS["ID_SPLIT_LOBS"]
        is_first = not mets.has(group)
        macro = "split_group" if is_first else "split_files"
        mets.append(files if is_first else group, _part(macro, facts["parent"], facts["split"]))


def _add_divs(mets: GrowingDocument, facts: dict[str, Any]) -> None:
    mets.insert_after(_DIVS["SIARD central file"], _part("siard_div", facts["parent"], facts["siard"]))
    if facts["has_children"]:
        children = _DIVS["child IPs"]
        is_first = not mets.has(children)
        macro = "children_div" if is_first else "child_divs"
        named = list(chain.from_iterable(facts["children"]()))
        mets.append(_ROOT if is_first else children, _part(macro, named))
    if facts["is_split"]:
        is_first = not mets.has(_SPLIT_MAP)
        macro = "split_map" if is_first else "split_divs"
        text = _part(macro, facts["split_parts"], facts["pointer_id"])
        mets.append("mets:mets" if is_first else _SPLIT_ROOT, text)


def _part(macro: str, *values: object) -> str:
    return writer.fragment(TEMPLATES, "_parts.xml.j2", macro, *values)


PROFILE = "http://SIARD2.0.xml"
"""The PROFILE of the recommendation's example; archives put their own in its place."""
