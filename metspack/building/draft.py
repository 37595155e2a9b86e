"""Draft a plan: the segments that the LOBs of a source divide into, without writing anything."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from metspack.building import options as building_options
from metspack.building.build import BuildOptions
from metspack.building.options import PackageOptions
from metspack.files.reading import as_path
from metspack.layouts import readers
from metspack.layouts.interface import check_style
from metspack.layouts.readers import LobTraits, Readership
from metspack.mets import ids
from metspack.mets.dialects.interface import Dialect, SegmentSpot, SegmentWords
from metspack.model import PlannedSegment, RunSlot
from metspack.planning import assignment, planfile
from metspack.planning.division import planned, slip_words
from metspack.planning.planfile import PlanHeader
from metspack.planning.sharedlobs import Sharing
from metspack.progress import Progress, Silent
from metspack.resources import json_head
from metspack.sources import opening
from metspack.sources.archive import Archive
from metspack.values import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """A plan: its header, its segments, the LOBs in them, and warnings about these.

    ``version`` is that of the SIARD archive, None without one. ``split`` counts the LOBs in parts,
    ``kept`` those that stay inside the archive; ``readers`` tells which programs find the others.
    ``objid`` is the parent's, "" for LOBs without an archive, whose identity the build makes from the LOBs.
    """

    header: PlanHeader
    dialect: Dialect
    objid: str
    version: str | None
    segments: tuple[PlannedSegment, ...]
    lobs: int
    split: int
    kept: int
    warnings: tuple[str, ...]
    readers: Readership | None = None

    @property
    def files(self) -> int:
        """The files in all segments, each a LOB or a part of one."""
        return sum(each.files for each in self.segments)

    @property
    def bytes(self) -> int:
        """The bytes in all segments."""
        return sum(each.bytes for each in self.segments)

    def __iter__(self) -> Iterator[PlannedSegment]:
        """Yield the segments."""
        return iter(self.segments)

    def to_json(self) -> dict[str, object]:
        """Return the plan as data for JSON."""
        head = self.header
        limits = head.division.limits
        return json_head() | {
            "name": head.name,
            "objid": self.objid or None,
            "siard_version": self.version,
            "layout": head.division.layout.name,
            "split": head.division.split.value,
            "limits": {"max_files": limits.files, "max_bytes": limits.bytes},
            "min_size": head.min_size,
            "lobs": self.lobs,
            "split_lobs": self.split,
            "kept_inside": self.kept,
            "files": self.files,
            "bytes": self.bytes,
            "segments": [
                {"name": self.folder(each), "objid": self.child_objid(each), **planfile.described(each)}
                for each in self.segments
            ],
            "readers": self.readers.document() if self.readers else [],
            "warnings": list(self.warnings),
        }

    def folder(self, segment: PlannedSegment) -> str:
        """Return the folder of a segment below the package's."""
        layout = self.header.division.layout
        return layout.segment_folder(self.header.name, segment.container, segment.index)

    def child_objid(self, segment: PlannedSegment) -> str:
        """Return the OBJID of the child IP that a segment becomes."""
        return self.spot(segment).objid

    def spot(self, segment: PlannedSegment) -> SegmentSpot:
        """Return the folder of the child IP that a segment becomes, and its OBJID."""
        layout, name = self.header.division.layout, self.header.name
        words = SegmentWords(
            number=segment.index,
            index=segment.index,
            parent=self.objid,
            name=name,
            word=layout.segment_id(name, segment.container, segment.index),
            folder=self.folder(segment),
        )
        return self.dialect.spot(words)


def drafted(path: Path, options: BuildOptions, progress: Progress | None = None) -> Draft:
    """Return the plan of a source, the same that ``build.build`` follows with the same options.

    Options other than those about segments, names and OBJIDs are ignored.

    Raises ``SourceError``, ``PlanError`` and ``ConfigError``.
    """
    given = None if options.name is None else ids.given_name(options.name)
    progress = progress or Silent()
    segments: list[PlannedSegment] = []
    lobs = split = 0
    traits = LobTraits()
    with (
        opening.opened(path, options.budgets, options.grants, options.base) as source,
        Sharing(shares=isinstance(source, Archive)) as sharing,
    ):
        archive = source if isinstance(source, Archive) else None
        version = building_options.written_version(archive, options.siard_version)
        style = readers.style_for(options.reader, options.lob_folder_style, version)
        if version is not None:
            check_style(style, version)
        division = building_options.division(options, version)
        stays = assignment.columns_inside(source, options.min_size, progress)
        own = (
            first
            for found in map(traits.take, assignment.moving_lobs(source, stays, progress))
            for first in sharing.firsts(found, division.layout.container(found.place))
        )
        for event in planned(own, division.limits, split=division.split, layout=division.layout):
            if isinstance(event, PlannedSegment):
                segments.append(event)
            elif isinstance(event, RunSlot):
                lobs += len(event.run)
            elif event.part is None:
                lobs += 1
            elif event.part.number == 0:
                lobs += 1
                split += 1
        source.check_unchanged()
        name = given or ids.package_name(source.stem)
        dialect, objid = _identity(options, name, archive, version)
        warnings = () if archive is None else archive.conventions()
        traits = replace(traits, split=split)
        words = () if archive is None else assignment.words_on_columns(archive, stays, options.min_size or 0)
        return Draft(
            header=planfile.header(name, source.size, source.metadata_document, division, options.min_size),
            dialect=dialect,
            objid=objid,
            version=None if archive is None else archive.metadata.version,
            segments=tuple(segments),
            lobs=lobs,
            split=split,
            kept=sum(stays.values()),
            readers=building_options.readers_of(
                style,
                version,
                division.layout,
                traits,
                is_merged="/" in dialect.archive_path(objid, name),
            ),
            warnings=(
                *ids.name_words(source.stem, options.name),
                *slip_words(
                    division.limits,
                    len(segments),
                    len({each.container for each in segments}),
                    lobs,
                    sum(each.bytes for each in segments),
                ),
                *words,
                *sharing.words(),
                *warnings,
                *building_options.readers_missing(options, style, version, division.layout, traits),
            ),
        )


def _identity(
    options: BuildOptions, name: str, archive: Archive | None, version: str | None
) -> tuple[Dialect, str]:
    """Return the dialect of the package, and the parent's OBJID as far as it is known."""
    package = PackageOptions(
        objid=options.objid, dialect=options.dialect, dialect_options=options.dialect_options
    )
    objid = building_options.objid(package, name, archive, is_packed=options.pack is not None)
    return building_options.dialect(package, name, objid, archive, version), objid


def objid_of(source: Path, options: BuildOptions) -> str:
    """Return the OBJID that the parent of a source gets by ``build``, "" where a plan has to be made first.

    It follows from the name and the metadata of the archive. Raises ``SourceError`` and ``ConfigError``.
    """
    with opening.opened(source, options.budgets, options.grants, options.base) as opened:
        archive = opened if isinstance(opened, Archive) else None
        planned = planfile.PlanFile(as_path(options.plan)).header.name if options.plan else None
        name = building_options.name(options, opened.stem, planned)
        return building_options.objid(options, name, archive, is_packed=options.pack is not None)
