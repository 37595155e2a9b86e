"""Collect the children of a package's parent, and decide where it is written and packed."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path

from metspack.building import manifests, segments
from metspack.building.segments import TaskPlaced, named_child
from metspack.containers.ipwriter import Packing
from metspack.digests import MANIFEST_ALGORITHMS, Hashers
from metspack.files import writing
from metspack.files.staging import Partial
from metspack.layouts import Layout
from metspack.mets.dialects.interface import ChildMets, Dialect, ParentContent, SegmentSpot
from metspack.planning.assignment import SegmentKeys
from metspack.sizes import HandedOver


@dataclass(frozen=True, slots=True, kw_only=True)
class SegmentSpots:
    """Places of a plan's segments by their numbers; ``parent`` is the parent's OBJID."""

    dialect: Dialect
    layout: Layout
    keys: SegmentKeys = field(default_factory=SegmentKeys)
    name: str
    parent: str

    def of(self, number: int) -> SegmentSpot:
        """Return the folder of a segment in the package, and its OBJID."""
        return self.at(number, *self.keys[number])

    def at(self, number: int, container: str, index: int) -> SegmentSpot:
        """Return the place of a segment by the number in its container."""
        return self.dialect.spot(
            number=number,
            index=index,
            parent=self.parent,
            name=self.name,
            word=self.layout.segment_id(self.name, container, index),
            folder=self.layout.segment_folder(self.name, container, index),
        )


class PlacedSegments(Sequence[ChildMets]):
    """The segments in the parent's order: a sequence that makes each child on access.

    ``split`` are the tasks with split LOBs, ``corrected`` those that wrote digests for cells, by the numbers
    of their segments; ``notes`` count the notes on all LOBs. Facts that follow from a segment's number are
    computed on request.
    """

    def __init__(self, spots: SegmentSpots, packing: Packing | None) -> None:
        self._spots = spots
        self._packing = packing
        self._algorithms = tuple(dict.fromkeys((*MANIFEST_ALGORITHMS, spots.dialect.checksum_type)))
        self._facts = [b""] * len(spots.keys)  # JSON takes less memory than objects
        self.split: list[int] = []
        self.corrected: dict[int, int] = {}
        self.ordered = spots.keys.ordered()
        self.notes: Counter[str] = Counter()

    def take(self, task: TaskPlaced) -> None:
        """Take the result of a task."""
        digests, wholes, _ = task[-1].sizes
        self.notes.update(task[-1].notes)
        self.split += [task[0].number] if wholes else []
        for done in task:
            if digests:
                self.corrected[done.number] = task[0].number
            if (child := done.child) is None:
                continue
            stated = {self._spots.dialect.checksum_type: child.checksum, **child.digests}
            values = [stated[each] for each in self._algorithms]
            facts = (child.size, child.files, child.bytes, child.total, *values)
            self._facts[done.number] = json.dumps(facts, separators=(",", ":")).encode()

    def spots(self) -> Iterator[SegmentSpot]:
        """Yield the segments in the order of the parent."""
        return map(self._spots.of, self.ordered)

    def __len__(self) -> int:
        return len(self.ordered)

    def __getitem__(self, at: int) -> ChildMets:  # type: ignore[override]
        number = self.ordered[at]
        size, files, bytes_, total, *digests = json.loads(self._facts[number])
        return named_child(
            self._spots.of(number),
            self._spots.dialect,
            self._packing,
            (size, files, bytes_, total),
            dict(zip(self._algorithms, digests, strict=True)),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Parent:
    """The parent of a package with this OBJID and name; ``packing`` is that of each IP."""

    dialect: Dialect
    objid: str
    name: str
    packing: Packing | None = None

    @property
    def pack(self) -> Packing | None:
        """The packing of the parent, None for folders and for one in the package's root."""
        return self.packing if self.dialect.parent_folder(self.objid) else None

    @property
    def top(self) -> str:
        """The path of the parent's METS, or of the file that it is packed in."""
        return self.path if self.pack else f"{self.path}/{self.dialect.mets}".removeprefix("/")

    @property
    def path(self) -> str:
        """The path of the parent: its folder, "" for the package's root, or its file."""
        ip = self.dialect.parent_folder(self.objid)
        return ip if self.pack is None else self.pack.file(ip)

    @property
    def archive_path(self) -> str:
        """The path of the archive below the folder in which the parent is written."""
        return self.dialect.archive_path(self.objid, self.name)

    def make_root(self, staging: Partial) -> Path:
        """Make and return the folder in which the parent is written, a temporary one if packed."""
        if self.pack is None:
            return staging.package
        root = staging.work / "parent"
        writing.make_directories(root)
        return root

    def pack_files(self, staging: Partial, files: dict[str, Hashers]) -> dict[str, Hashers]:
        """Pack the parent's ``files`` if it is a folder; return the files beside the segments."""
        if self.pack is None:
            return files
        ip = self.dialect.parent_folder(self.objid)
        held = staging.work / f"pack-parent-{ip}"
        writing.make_directory(held)
        with self.pack.open_pack(staging.package, ip, held, MANIFEST_ALGORITHMS) as pack:
            pack.take(self.make_root(staging), ip, files)
            return {self.pack.file(ip): pack.finish()}

    def handed_over(self, package: Path, files: Mapping[str, Hashers], placed: PlacedSegments) -> HandedOver:
        """Return the largest IP's and the parent's sizes; ``files`` are those beside segments."""
        sizes: Counter[str] = Counter()
        for path, each in files.items():
            sizes[path.partition("/")[0] if "/" in path or self.pack else ""] += each.size
        size = sizes.pop(self.path) + (0 if self.path else manifests.size(package))
        children = ((each.path, each.total) for each in placed)
        return HandedOver.of(chain(sizes.items(), children), self.path, size)

    def content(self, work: Path, placed: PlacedSegments) -> ParentContent:
        """Return the content of the parent without an archive."""
        return ParentContent(
            objid=self.objid,
            name=self.name,
            siard=None,
            children=placed,
            split=lambda: segments.noted(work, segments.WHOLES, placed.split),
            parts=lambda: segments.noted(work, segments.PARTS, placed.split),
        )
