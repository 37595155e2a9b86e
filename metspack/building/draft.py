"""Draft a plan: divide the LOBs of a source into segments without writing anything."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from metspack.building.build import BuildOptions, BuildWork
from metspack.building.parents import SegmentSpots
from metspack.containers.ipwriter import packed_size
from metspack.containers.zipformat import CENTRAL, LOCAL
from metspack.digests import MANIFEST_ALGORITHMS, OCTETS
from metspack.layouts.readers import Readership
from metspack.mets import ids
from metspack.mets.dialects.interface import Dialect, SegmentSpot
from metspack.model import LobRun, Notice, PlannedSegment, noticed
from metspack.planning import assignment, planfile
from metspack.planning.division import divide, slip_words
from metspack.planning.planfile import PlanHeader
from metspack.planning.sharedlobs import Sharing
from metspack.progress import Progress, Silent
from metspack.resources import json_head
from metspack.sizes import HandedOver
from metspack.sources import opening
from metspack.sources.archive import Archive


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """A plan: its header, its segments, the LOBs in them, and warnings about these.

    ``version`` is that of the SIARD archive, None without one. ``split`` counts the LOBs in parts,
    ``kept`` those that stay inside the archive; ``readers`` lists the programs that find the others.
    ``pack`` is the form of the IPs, ``archive_bytes`` the size of the archive without its LOBs, and
    ``lob_path`` the path of some LOB in its segment.
    ``objid`` is the parent's, "" for LOBs without an archive: then the build derives it from the LOBs.
    """

    header: PlanHeader
    dialect: Dialect
    objid: str
    version: str | None
    pack: str | None
    archive_bytes: int
    lob_path: str
    segments: tuple[PlannedSegment, ...]
    lobs: int
    split: int
    kept: int
    warnings: tuple[Notice, ...]
    readers: Readership | None = None

    @property
    def files(self) -> int:
        """The files in all segments, each a LOB or a part of one."""
        return sum(each.files for each in self.segments)

    @property
    def bytes(self) -> int:
        """The bytes in all segments."""
        return sum(each.bytes for each in self.segments)

    @property
    def handed_over(self) -> HandedOver:
        """The estimated sizes of the largest IP and of the parent."""
        footprint, digest = self.dialect.footprint, 2 * OCTETS[self.dialect.checksum_type]
        form = "" if self.pack is None else f".{self.pack}"
        ips = []
        lines = 0
        for each in self.segments:
            spot = self.spot(each)
            path = f"{spot.content}/{self.lob_path}"
            name = len(path) - len(spot.ip.rpartition("/")[0])
            row = footprint.row + footprint.paths * name + digest
            held = [(footprint.documents, footprint.size + each.files * row), (each.files, each.bytes)]
            ips.append((spot.ip + form, packed_size(self.pack, held, name=name)))
            line = sum(2 * OCTETS[algorithm] + len(f"  {path}\n") for algorithm in MANIFEST_ALGORITHMS)
            lines += line * (1 if self.pack else footprint.documents + each.files)
        parent = self.dialect.parent_folder(self.objid)
        documents = footprint.size + footprint.child * len(ips)
        if not parent:
            return HandedOver.of(ips, "", self.archive_bytes + documents + lines, is_estimated=True)
        held = [(footprint.documents, documents), (1, self.archive_bytes)]
        whole = packed_size(self.pack, held, name=len(parent) + 40)
        return HandedOver.of(ips, parent + form, whole, is_estimated=True)

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
            "handed_over": self.handed_over.document(),
            "segments": [
                {"name": self.folder(each), "objid": self.spot(each).objid, **planfile.described(each)}
                for each in self.segments
            ],
            "readers": self.readers.document() if self.readers else [],
            **noticed(self.warnings),
        }

    def folder(self, segment: PlannedSegment) -> str:
        """Return the folder of a segment below the package's."""
        layout = self.header.division.layout
        return layout.segment_folder(self.header.name, segment.container, segment.index)

    def spot(self, segment: PlannedSegment) -> SegmentSpot:
        """Return the folder of the child IP that a segment becomes, and its OBJID."""
        layout, name = self.header.division.layout, self.header.name
        spots = SegmentSpots(dialect=self.dialect, layout=layout, name=name, parent=self.objid)
        return spots.at(segment.index, segment.container, segment.index)


class _DepartingLobs:
    """The LOBs that leave an archive: their number, their bytes in it, and the last run."""

    def __init__(self) -> None:
        self.lobs = self.bytes = 0
        self.last: LobRun | None = None

    def take(self, run: LobRun) -> LobRun:
        """Count LOBs that move, and return them."""
        self.last = run
        self.lobs += len(run)
        spans, packed = sum(run.of_entries("limit")) - sum(run.of_entries("offset")), run.compressed
        if packed and run.entries:
            names, count = sum(map(len, run.entries)), len(run.entries)
            # Besides names, the directory repeats all, some or none of a local header's fields.
            fields = (spans - packed - names - LOCAL.size * count) // 2
            self.bytes += spans + CENTRAL.size * count + names + fields
        elif run.entries:
            self.bytes += run.bytes
        return run


def draft_plan(path: Path, options: BuildOptions, progress: Progress | None = None) -> Draft:
    """Return the plan that ``build.build`` follows for a source with the same options.

    Raises ``SourceError``, ``PlanError`` and ``ConfigError``.
    """
    progress = progress or Silent()
    segments: list[PlannedSegment] = []
    split = 0
    departing = _DepartingLobs()
    with (
        opening.opened(path, options.budgets, options.grants) as source,
        Sharing(shares=isinstance(source, Archive)) as sharing,
    ):
        work = BuildWork(source, sharing, options, progress)
        archive, division = work.archive, work.division
        stays = assignment.columns_inside(source, options.min_size, progress)
        placed = (
            first
            for found in map(work.traits.take, assignment.moving_lobs(source, stays, progress))
            for first in sharing.firsts(found, division.layout.container(found.place))
        )
        for _container, _segment, run in divide(
            map(departing.take, placed),
            division.limits,
            split=division.split,
            layout=division.layout,
            record=segments.append,
        ):
            split += run.part is not None and not run.is_continued
        source.check_unchanged()
        last = departing.last
        readership, missed = work.readership(split)
        containers = len({each.container for each in segments})
        words = () if archive is None else assignment.words_on_columns(archive, stays, options.min_size or 0)
        return Draft(
            header=PlanHeader(
                name=work.name,
                source_size=source.size,
                metadata_sha256=sha256(source.metadata_document).hexdigest(),
                division=division,
                min_size=options.min_size,
            ),
            dialect=work.dialect,
            objid=work.objid,
            version=None if archive is None else archive.metadata.version,
            pack=options.pack,
            archive_bytes=max(0, source.size - departing.bytes),
            lob_path=division.layout.lob_path(last.place, last.shared.extension) if last else "",
            segments=tuple(segments),
            lobs=departing.lobs,
            split=split,
            kept=sum(stays.values()),
            readers=readership,
            warnings=(
                *ids.name_words(source.stem, options.name),
                *slip_words(division.limits, len(segments), containers, departing.lobs),
                *words,
                *sharing.words(),
                *(() if archive is None else archive.conventions()),
                *missed,
            ),
        )


def objid_of(source: Path, options: BuildOptions) -> str:
    """Return the OBJID that ``build`` gives a source's parent, "" where it requires a plan.

    It follows from the name and the metadata of the archive. Raises ``SourceError`` and ``ConfigError``.
    """
    with opening.opened(source, options.budgets, options.grants) as opened, Sharing(shares=False) as sharing:
        return BuildWork(opened, sharing, options, Silent()).objid
