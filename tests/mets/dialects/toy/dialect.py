"""The documents of the toy: one METS.xml an IP, the parent's in the root, each child's in its segment."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Self

from metspack import uris
from metspack.digests import Hashers
from metspack.layouts import Layout, siard22
from metspack.mets import filetable, ids, writer
from metspack.mets.dialects.interface import (
    Dialect,
    DialectOptions,
    Footprint,
    PackageFacts,
    ParentContent,
    SegmentSpot,
    Software,
)
from metspack.mets.filetable import PlacedRun
from metspack.model import Notice

TEMPLATES = Path(__file__).parent / "templates"


@dataclass(frozen=True, slots=True, kw_only=True)
class ToyOptions(DialectOptions):
    motto: str = "plain"


@dataclass(frozen=True, slots=True, kw_only=True)
class Toy(Dialect):
    checksum_type: str
    version: str | None
    created: str
    software: Software
    motto: str

    mets: ClassVar[str] = "METS.xml"
    footprint: ClassVar[Footprint] = Footprint(
        per_lob=1_000, per_ip=8_000, files_per_ip=4, documents=1, size=1_000, row=200, paths=1, child=200
    )

    @classmethod
    def of(cls, package: PackageFacts) -> Self:
        options = package.options if isinstance(package.options, ToyOptions) else ToyOptions()
        return cls(
            checksum_type=package.checksum_type,
            version=package.version,
            created=package.created,
            software=package.software,
            motto=options.motto,
        )

    @classmethod
    def options(cls, given: Mapping[str, object]) -> ToyOptions:
        values: dict[str, Any] = dict(given)
        return ToyOptions(**values)

    @classmethod
    def layout(cls, version: str | None) -> Layout:
        del version
        return siard22.LAYOUT

    @classmethod
    def layout_warnings(cls, layout: Layout, version: str | None) -> tuple[Notice, ...]:
        return () if layout is cls.layout(version) else (Notice("layout-of-another", "toys lie otherwise"),)

    def check(self, objid: str) -> None:
        writer.finalized(self.motto + objid)

    @classmethod
    def parent_folder(cls, objid: str) -> str:
        del objid
        return ""

    def archive_path(self, objid: str, name: str) -> str:
        del objid
        return f"{name}.siard"

    def spot(self, *, number: int, index: int, parent: str, name: str, word: str, folder: str) -> SegmentSpot:
        del parent, name
        return SegmentSpot(
            number=number,
            ip=folder,
            content=folder,
            index=index,
            objid=ids.ncname(f"toy_{word}"),
        )

    def write_child(
        self, package: Path, spot: SegmentSpot, parent: str, files: Callable[[], Iterator[PlacedRun]]
    ) -> dict[str, Hashers]:
        path = f"{spot.ip}/{self.mets}"
        facts = {
            "objid": spot.objid,
            "parent": parent,
            "index": spot.index,
            "files": [
                row
                for run in files()
                for row in zip(run.id, run.path, run.size, run.media_type, run.checksum, strict=True)
            ],
        }
        return self._write(package, path, "child.xml.j2", facts)

    def write_parent(self, package: Path, content: ParentContent) -> dict[str, Hashers]:
        return self._write(package, self.mets, "parent.xml.j2", {"content": content})

    def _write(self, package: Path, path: str, template: str, facts: Mapping[str, Any]) -> dict[str, Hashers]:
        algorithms = filetable.algorithms(self.checksum_type)
        given = {**facts, "toy": self, "quoted": uris.quoted}
        return {path: writer.write_document(package / path, TEMPLATES, template, given, algorithms)}


DIALECT = Toy
