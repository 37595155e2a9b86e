"""Describe in place a folder whose LOBs are in segments already, which makes it a package.

METS files and manifests are added; existing files keep their bytes, places and names.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, field, replace
from pathlib import Path

from metspack.building import check_outcome, manifests, placing, segments
from metspack.building import options as building_options
from metspack.building.options import MadePackage, PackageOptions
from metspack.building.segmentedfolder import (
    SegmentedFolder,
    SegmentedLobs,
    SegmentFolder,
    descriptions,
)
from metspack.building.segments import SegmentTask
from metspack.digests import Hashers
from metspack.errors import ConfigError, SourceError, TargetError, TargetExistsError
from metspack.files import tempdb, writing
from metspack.files.staging import check_space
from metspack.files.transaction import Transaction
from metspack.layouts import lobseg
from metspack.mets import PLAIN_METS, dialects, ids
from metspack.mets.dialects.interface import ChildMets, ParentContent, SegmentSpot, SiardFile
from metspack.mets.filetable import PlacedRun, Placements
from metspack.model import Notice
from metspack.progress import Progress, Silent
from metspack.sizes import HandedOver, counted
from metspack.sources.archive import Archive
from metspack.system import os

_FINDINGS = 20
_DESCRIPTIONS = 100
_ELSEWHERE = "Or make a package elsewhere: metspack build {} -o OUT."


@dataclass(frozen=True, slots=True, kw_only=True)
class Described(MadePackage):
    """Result of describing a folder, which then is a package.

    ``inside`` counts the LOBs inside the archive, ``unreferenced`` the files in segments that no cell names.
    """

    inside: int
    unreferenced: int

    def kind_facts(self) -> dict[str, object]:
        """Return the members that only a described folder has, for JSON."""
        return {"kept_inside": self.inside, "unreferenced_files": self.unreferenced}


def describe_in_place(folder: Path, options: PackageOptions, progress: Progress | None = None) -> Described:
    """Write METS files and manifests into a segmented folder, beside its files.

    Raises ``SourceError``, ``TargetError`` and ``ConfigError``; after an error or an interruption the
    folder is unchanged, after a kill the next call takes back what was added.
    """
    if not folder.is_dir():
        raise SourceError(
            f"{folder} is not a folder",
            hint="Name the folder that holds the .siard and the folders of its LOBs.",
        )
    root, progress = folder.resolve(), progress or Silent()
    transaction = Transaction(root, PLAIN_METS, lambda: descriptions(root))
    with tempdb.unexplained(root), transaction as staging, SegmentedFolder(root) as found:
        return _InPlaceWork(found, staging, options, progress).make()


@dataclass
class _InPlaceWork:
    """One description of a folder: files found, documents written, all published at once."""

    folder: SegmentedFolder
    staging: Transaction
    options: PackageOptions
    progress: Progress
    warnings: list[Notice] = field(default_factory=list)
    puts: list[str] = field(default_factory=list)
    """The files to be added to the folder, in this order."""

    def make(self) -> Described:
        """Find, read and describe the LOBs, publish the documents, and check the package."""
        self.progress.stage("Finding LOBs", None)
        self._refuse_descriptions()
        name = self._archive_name()
        self.folder.set_apart(name)
        options = self.options
        with (
            Archive(self.folder.root / name, options.budgets, options.grants) as archive,
            SegmentedLobs(archive, self.folder, options.algorithm) as lobs,
        ):
            self._name_package(archive)
            self.warnings += ids.name_words(archive.stem, options.name)
            archive.check_complete(options.accepted)
            lobs.find(self.staging)
            spots = self._spots()
            self._check_space(spots)
            made_of = building_options.source_facts(options, archive, self.progress)
            self.warnings += made_of.warnings(rewritten=False)
            self.progress.stage("Reading", self.folder.amounts()[1])
            objids = {folder: spot.objid for folder, spot in spots.items()}
            lobs.read(self.staging, options.accepted, self.progress, objids)
            children = self._write_children(archive, lobs, spots)
            files = self._write_parent(archive, lobs, children)
            fragments = [(f"{spot.ip}/", spot.number) for spot in spots.values()]
            fragments += [(f"{name}/", len(spots))] if archive.container is None else []
            work, top = self.staging.work, self.dialect.mets
            sealed = manifests.write(self.staging.package, work, fragments, files, top)
            parent = sum(each.size for each in files.values()) + manifests.size(self.staging.package)
            parent += archive.size if archive.container is None else 0
            self.puts += [*sorted(manifests.NAMES.values()), top]
            archive.check_unchanged()
            self.folder.check_unchanged()
            self.warnings += self._remarks(archive, lobs)
        described = Described(
            target=self.folder.root,
            checked=building_options.checked_level(self.options),
            objid=self.objid,
            name=self.name,
            segments=len(children),
            files=lobs.lobs,
            bytes=lobs.bytes,
            inside=lobs.inside,
            unreferenced=lobs.unnamed,
            warnings=tuple(self.warnings),
            unopened=(archive.name,) if archive.metadata.version == "1.0" and lobs.lobs else (),
            made_of=made_of,
            children=children,
            handed_over=HandedOver.of(((each.path, each.total) for each in children), "", parent),
            sealed=sealed,
        )
        self.staging.publish(self.puts, check=lambda: self._check(archive))
        return replace(described, warnings=tuple(self.warnings))

    def _name_package(self, archive: Archive) -> None:
        """Decide on name, OBJID and dialect of the package that the folder becomes."""
        options = self.options
        given = options.name
        self.name = ids.package_name(archive.stem) if given is None else ids.given_name(given)
        self.objid = building_options.objid(options, self.name, archive)
        if why := dialects.facts(options.dialect).not_in_place:
            raise ConfigError(
                f"the dialect {options.dialect} cannot describe a folder in place: {why}",
                hint="Leave --keep-segments and --in-place out: metspack build takes the .siard as a source.",
            )
        self.dialect = building_options.dialect(options, self.name, self.objid, archive)

    def _refuse_descriptions(self) -> None:
        if found := sorted(descriptions(self.folder.root))[:_DESCRIPTIONS]:
            raise TargetExistsError(
                f"{self.folder.root} has METS files or manifests already: {', '.join(found[:3])}"
                f"{' and more' if len(found) > 3 else ''}",  # noqa: PLR2004 -- as many as were named
                hint="Nothing is overwritten: move them away first, or run metspack check if it is a package "
                "already.",
                details=found,
            )

    def _archive_name(self) -> str:
        names = self.folder.archives()
        if len(names) == 1:
            return names[0]
        what = f"{len(names)} SIARD archives ({', '.join(names[:3])})" if names else "no SIARD archive"
        raise SourceError(
            f"{self.folder.root} holds {what}; expected one",
            hint="It has to hold the .siard, its parts, or the folder it was unpacked to, beside the folders "
            "with its LOBs.",
        )

    def _spots(self) -> dict[str, SegmentSpot]:
        """Return numbers and OBJIDs of the segments, by folder."""
        words: dict[str, SegmentFolder] = {}
        spots: dict[str, SegmentSpot] = {}
        for position, segment in enumerate(self.folder.segments()):
            objid = ids.ncname(ids.child_objid(segment.word))
            if (other := words.setdefault(objid, segment)) is not segment:
                raise SourceError(
                    f"{self.folder.root}: the folders {other.path!r} and {segment.path!r} would both be "
                    f"{objid}",
                    hint="Ids hold A-Z, a-z, 0-9 and - _ . only. " + _ELSEWHERE.format(self.folder.root),
                )
            if objid == self.objid:
                raise ConfigError(f"the OBJID {objid!r} is that of a child", hint="Choose another with --id.")
            index = position if segment.number is None else segment.number
            spots[segment.path] = SegmentSpot(
                number=position, ip=segment.path, content=segment.path, index=index, objid=objid
            )
        return spots

    def _check_space(self, spots: dict[str, SegmentSpot]) -> None:
        """Check for space and for permission to write before the files are read."""
        footprint, ips = self.dialect.footprint, len(spots) + 1
        check_space(
            self.staging,
            files=footprint.files_per_ip * ips,
            bytes_=footprint.per_lob * self.folder.amounts()[0] + footprint.per_ip * ips,
        )
        for folder in ("", *spots):
            if not os.access(self.folder.root / folder, os.W_OK | os.X_OK):
                raise TargetError(
                    f"no file can be added to {self.folder.root / folder}", hint="Get write permission there."
                )

    def _write_children(
        self, archive: Archive, lobs: SegmentedLobs, spots: dict[str, SegmentSpot]
    ) -> list[ChildMets]:
        """Write the children's METS; return them in the parent's order: series by their first LOBs."""
        turns = lobs.turns()
        series: dict[str, int] = {}
        ordered = self.folder.segments()
        for segment in ordered:
            series[segment.series] = min(turns[segment.path], series.get(segment.series, turns[segment.path]))
        ordered.sort(key=lambda each: (series[each.series], each.number or 0))
        children = []
        for segment in ordered:
            spot = spots[segment.path]
            task = SegmentTask(
                segments=(spot,),
                sources=archive.byte_sources(),
                package=self.staging.package,
                work=self.staging.work,
                parent=self.objid,
                dialect=self.dialect,
                layout=lobseg.LAYOUT,
            )
            writing.make_directories(self.staging.package / spot.content)
            with closing(Placements()) as placements:
                for run in lobs.files(spot.content):
                    placements.add(run)
                children.append(segments.describe(placements, spot, task))
            self.puts.append(f"{spot.ip}/{self.dialect.mets}")
        return children

    def _write_parent(
        self, archive: Archive, lobs: SegmentedLobs, children: list[ChildMets]
    ) -> dict[str, Hashers]:
        """Write the parent's METS; return the files outside segments and unpacked archives."""
        files: dict[str, Hashers] = {}
        others: list[PlacedRun] = []
        for number, extent in enumerate(self.folder.others(), start=1):
            other, hashers = lobs.read_whole(extent, f"other.{number}", self.progress)
            others.append(other)
            files[other.path[0]] = hashers
        siard: SiardFile | None = None
        with closing(Placements()) as pieces:
            for number, extent in enumerate(self.folder.archive_files()):
                identifier = f"ID_{self.name.upper()}.SIARD.{number + 1}"
                piece, hashers = lobs.read_whole(extent, identifier, self.progress)
                if archive.container is not None:
                    piece = replace(piece, sequence=[number], media_type=["application/octet-stream"])
                    files[piece.path[0]] = hashers
                pieces.add(piece)
            if archive.container is None:
                placing.write_manifest_fragments(pieces, "", self.staging.work, len(children), {})
            elif archive.name in files:
                (whole,) = pieces.runs()
                siard = SiardFile(
                    path=whole.path[0],
                    size=whole.size[0],
                    checksum=whole.checksum[0],
                    zip64=archive.container.zip64,
                )
            content = ParentContent(
                objid=self.objid,
                name=self.name,
                siard=siard,
                children=children,
                split=lambda: segments.noted(self.staging.work, segments.WHOLES, [0]),
                parts=lambda: segments.noted(self.staging.work, segments.PARTS, [0]),
                pieces=pieces.runs,
                others=lambda: iter(others),
                history=archive.missing_notes,
                archive=archive.name,
            )
            files |= self.dialect.write_parent(self.staging.package, content)
        return files

    def _remarks(self, archive: Archive, lobs: SegmentedLobs) -> Iterator[Notice]:
        """Yield warnings about the LOBs and files of the folder."""
        if lobs.undigested:
            yield Notice(
                "lob-without-digest",
                f"{counted(lobs.undigested, 'LOB')} without a digest in the cell: only the length, if "
                "there is one, shows that they are what was archived",
            )
        for remark, number in sorted(lobs.notes.items()):
            yield Notice("lob-remark", f"{remark}: {number:,}")
        if lobs.shared:
            first, other = lobs.example
            yield Notice(
                "lob-shared",
                f"{counted(lobs.shared, 'cell')} name a LOB that another cell names too: {other} that of "
                f"{first}, for example; each file is listed once, with the first cell's id",
            )
        if lobs.unnamed:
            names = ", ".join(lobs.strangers)
            yield Notice(
                "file-unreferenced",
                f"{counted(lobs.unnamed, 'file')} in segments that no cell names ({names}"
                f"{', ...' if lobs.unnamed > len(lobs.strangers) else ''}): listed as unreferenced",
            )
        if lobs.inside:
            yield Notice(
                "lob-inside",
                f"{counted(lobs.inside, 'LOB')} inside the archive: METS lists only the archive",
            )
        yield from archive.conventions()

    def _check(self, archive: Archive) -> None:
        options = self.options
        wrong, warnings = check_outcome(
            self.folder.root,
            self.progress,
            whole=options.verify,
            budgets=options.budgets,
            miscounted=archive.miscounted,
        )
        self.warnings += warnings
        if wrong:
            lines = [f"{each.path}: {each.code} {each.message}" for each in wrong[:_FINDINGS]]
            raise SourceError(
                f"{self.folder.root} is not a valid package: {lines[0]} ({counted(len(wrong), 'finding')}); "
                "what was added was removed again",
                hint=f"metspack explain {wrong[0].code} explains it. " + _ELSEWHERE.format(self.folder.root),
                details=lines,
            )
