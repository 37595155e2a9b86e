"""Write the METS of the E-ARK recommendation for external LOBs, in the spelling of 0.16."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import ClassVar, Self

from metspack import uris
from metspack.digests import Hashers
from metspack.errors import ConfigError
from metspack.layouts.names import SIARD
from metspack.mets import PLAIN_METS, filetable, ids, writer
from metspack.mets.dialects.interface import (
    HREF_STYLES,
    ChildMets,
    Dialect,
    Footprint,
    PackageFacts,
    ParentContent,
    SegmentSpot,
    SiardFile,
    Software,
)
from metspack.mets.dialects.recommendation import TEMPLATES
from metspack.mets.filetable import PlacedRun


@dataclass(frozen=True, slots=True, kw_only=True)
class Recommendation(Dialect):
    """The dialect of the recommendation: the parent in the package's root, each child in its segment.

    ``version`` is that of SIARD, or None without an archive. The ``href_style`` ``file-uri`` gives the
    pseudo-absolute references of 0.16, relative to the package's root.
    """

    version: str | None
    created: str
    checksum_type: str
    software: Software
    agents: tuple[str, ...]
    profile: str
    href_style: str

    mets: ClassVar[str] = PLAIN_METS
    footprint: ClassVar[Footprint] = Footprint(
        per_lob=1_000, per_ip=8_000, files_per_ip=16, documents=1, size=1_700, row=290, paths=1, child=500
    )

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
        )

    def check(self, objid: str) -> None:  # noqa: ARG002 -- every OBJID is valid
        """Raise ``ConfigError`` for an agent or a profile that cannot be written."""
        for text in (*self.agents, self.profile):
            if not text.strip():
                raise ConfigError(
                    "an agent or the METS profile is empty",
                    hint="Give --agent and --mets-profile a value, or leave them out.",
                )
            writer.finalized(text)

    def archive_path(self, objid: str, name: str) -> str:  # noqa: ARG002 -- the root is the parent's
        """Return the archive's path in the root."""
        return f"{name}{SIARD}"

    @classmethod
    def parent_folder(cls, objid: str) -> str:  # noqa: ARG003 -- as for every parent
        """Return "": the root is the parent's."""
        return ""

    def spot(self, *, number: int, index: int, parent: str, name: str, word: str, folder: str) -> SegmentSpot:
        """Return the place of a child: its METS is beside its LOBs, in the segment's folder."""
        del parent, name
        return SegmentSpot(
            number=number,
            ip=folder,
            content=folder,
            index=index,
            objid=ids.child_objid(word),
        )

    def write_child(
        self, package: Path, spot: SegmentSpot, parent: str, files: Callable[[], Iterator[PlacedRun]]
    ) -> dict[str, Hashers]:
        """Write the METS of a child."""
        child = {
            "objid": spot.objid,
            "element_id": f"{ids.ncname(parent)}.seg.{spot.index}.mets.element",
            "index": spot.index,
            "parent_objid": parent,
            "pointer_id": ids.element_id(parent, f"{spot.objid} parent"),
            **self._shared_facts(),
        }
        file = writer.RowFormat(partial(_row, "file", mets=child), partial(self._href, spot.ip))
        pointer = writer.RowFormat(partial(_row, "pointer"))
        facts = {
            "child": child,
            "files": map(file.text, files()),
            "pointers": map(pointer.text, files()),
        }
        return self._write(package, f"{spot.ip}/{PLAIN_METS}", "child.xml.j2", facts)

    def write_parent(self, package: Path, content: ParentContent) -> dict[str, Hashers]:
        """Write the parent's METS."""
        objid, siard = content.objid, content.siard
        parent = {
            "objid": objid,
            "element_id": f"{ids.ncname(objid)}.mets.element",
            "owner_id": f"{objid}.{content.name.upper()}",
            "group_id": ids.element_id(objid, "child IPs"),
            "pointer_id": ids.element_id(objid, "SIARD central file"),
            **self._shared_facts(),
        }
        file = writer.RowFormat(partial(_row, "file", mets=parent), partial(self._href, ""))
        facts = {
            "parent": parent,
            "siard": None if siard is None else self._siard(objid, content.name, siard),
            "has_children": len(content.children) > 0,
            "children": lambda: (self._child(objid, child) for child in content.children),
            "split": content.split(),
            "is_split": next(content.split(), None) is not None,
            "split_parts": groupby(content.parts(), itemgetter(0)),
            "pointer_id": lambda part, child: ids.element_id(objid, f"{part} {child}"),
            "history": content.notes,
            "pieces": map(file.text, content.pieces()),
            "is_in_pieces": next(content.pieces(), None) is not None,
            "others": map(file.text, content.others()),
            "has_others": next(content.others(), None) is not None,
        }
        return self._write(package, PLAIN_METS, "parent.xml.j2", facts)

    def _write(
        self, package: Path, path: str, template: str, facts: Mapping[str, object]
    ) -> dict[str, Hashers]:
        algorithms = filetable.algorithms(self.checksum_type)
        return {path: writer.write_document(package / path, TEMPLATES, template, facts, algorithms)}

    def _href(self, folder: str, path: str) -> str:
        """Return the reference from the METS in ``folder``, "" for the root, to a path below it."""
        segments = path.split("/")
        if self.href_style != HREF_STYLES[0]:
            return uris.file_uri((*folder.split("/"), *segments) if folder else segments)
        return uris.quoted(segments)

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

    def _shared_facts(self) -> dict[str, object]:
        return {
            "type": "SIARD_lobs INDEX" if self.version is None else f"SIARD{self.version} INDEX",
            "label": "SIARD LOBs" if self.version is None else f"SIARD {self.version}",
            "profile": self.profile,
            "created": self.created,
            "software": {"name": self.software.name, "version": self.software.version},
            "agents": self.agents,
            "checksum_type": self.checksum_type,
        }

    def _child(self, objid: str, child: ChildMets) -> dict[str, object]:
        return {
            "objid": child.objid,
            "size": child.size,
            "checksum": child.checksum,
            "href": self._href("", f"{child.folder}/{PLAIN_METS}"),
            "pointer_id": ids.element_id(objid, child.objid),
        }


def _row(macro: str, file: Mapping[str, object], **facts: object) -> str:
    return writer.fragment(TEMPLATES, "_file.xml.j2", macro, file, **facts)


DIALECT = Recommendation


PROFILE = "http://SIARD2.0.xml"
"""The PROFILE in the example of the recommendation; archives choose another."""
