"""Collect the children of a package's parent, and decide where it is written and packed."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import overload

from metspack.building import manifests, segments
from metspack.building.segments import TaskPlaced, named_child
from metspack.containers.ipwriter import Packing
from metspack.digests import MANIFEST_ALGORITHMS, Hashers
from metspack.files import writing
from metspack.files.staging import Partial
from metspack.layouts import Layout
from metspack.mets.dialects.interface import ChildMets, Dialect, ParentContent, SegmentSpot, SegmentWords
from metspack.planning.assignment import SegmentKeys
from metspack.sizes import HandedOver


@dataclass(frozen=True, slots=True, kw_only=True)
class SegmentSpots:
    """Places of a plan's segments by their numbers; ``parent`` is the parent's OBJID."""

    dialect: Dialect
    layout: Layout
    keys: SegmentKeys
    name: str
    parent: str

    def of(self, number: int) -> SegmentSpot:
        """Return the folder of a segment in the package, and its OBJID."""
        container, index = self.keys[number]
        words = SegmentWords(
            number=number,
            index=index,
            parent=self.parent,
            name=self.name,
            word=self.layout.segment_id(self.name, container, index),
            folder=self.layout.segment_folder(self.name, container, index),
        )
        return self.dialect.spot(words)


class PlacedSegments:
    """Facts for the parent on segments and their LOBs, taken task by task.

    ``split`` are the tasks with split LOBs, ``notes`` count the notes on all LOBs. Facts that follow from a
    segment's number are computed on request.
    """

    def __init__(self, spots: SegmentSpots, packing: Packing | None) -> None:
        self._spots = spots
        self._packing = packing
        self._firsts = array("q", bytes(8 * len(spots.keys)))  # for each segment the first of its task
        self._sizes, self._files, self._bytes, self._totals = (array("q", self._firsts) for _ in range(4))
        self._digests = {name: bytearray() for name in (*MANIFEST_ALGORITHMS, spots.dialect.checksum_type)}
        self.split: list[int] = []
        self._corrected: list[int] = []
        self._ordered = spots.keys.ordered()
        self.notes: Counter[str] = Counter()

    def take(self, task: TaskPlaced) -> None:
        """Take the result of a task."""
        self.notes.update(task.notes)
        self.split += [task.number] if task.is_split else []
        self._corrected += task.numbers if task.has_digests else ()
        for number, child in task.by_number():
            self._firsts[number] = task.number
            self._sizes[number], self._files[number] = child.size, child.files
            self._bytes[number], self._totals[number] = child.bytes, child.total
            stated = {**child.digests, self._spots.dialect.checksum_type: child.checksum}
            for name, column in self._digests.items():
                self._put_digest(column, number, stated[name].encode(errors="replace"))

    def _put_digest(self, column: bytearray, number: int, value: bytes) -> None:
        if not column:
            column += bytes(len(value) * len(self._ordered))
        width = len(column) // len(self._ordered)
        column[number * width : (number + 1) * width] = value[:width].ljust(width)

    def corrected(self) -> dict[int, int]:
        """Return the tasks that wrote digests for cells, by the numbers of their segments."""
        return {number: self._firsts[number] for number in self._corrected}

    def spots(self) -> Iterator[SegmentSpot]:
        """Yield the segments in the order of the parent."""
        return map(self._spots.of, self._ordered)

    def child(self, number: int) -> ChildMets:
        """Return a segment as its parent names it."""
        digests = {}
        for name, column in self._digests.items():
            width = len(column) // len(self._ordered)
            digests[name] = column[number * width : (number + 1) * width].decode(errors="replace").strip()
        return named_child(
            self._spots.of(number),
            self._spots.dialect,
            self._packing,
            size=self._sizes[number],
            files=self._files[number],
            bytes_=self._bytes[number],
            total=self._totals[number],
            digests=digests,
        )

    def children(self) -> PlacedChildren:
        """Return all segments in the order of the parent."""
        return PlacedChildren(self, self._ordered)


class PlacedChildren(Sequence[ChildMets]):
    """Segments as the parent names them, each made on access."""

    def __init__(self, placed: PlacedSegments, numbers: Sequence[int]) -> None:
        self._placed = placed
        self._numbers = numbers

    def __len__(self) -> int:
        return len(self._numbers)

    @overload
    def __getitem__(self, at: int) -> ChildMets: ...
    @overload
    def __getitem__(self, at: slice) -> list[ChildMets]: ...
    def __getitem__(self, at: int | slice) -> ChildMets | list[ChildMets]:
        if isinstance(at, slice):
            return [self._placed.child(each) for each in self._numbers[at]]
        return self._placed.child(self._numbers[at])

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and list(self) == list(other)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return repr(list(self))


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
        own = sizes.pop(self.path) + (0 if self.path else manifests.size(package))
        children = ((each.path, each.total) for each in placed.children())
        return HandedOver.of(chain(sizes.items(), children), self.path, own)

    def content(self, work: Path, placed: PlacedSegments) -> ParentContent:
        """Return the content of the parent without an archive."""
        return ParentContent(
            objid=self.objid,
            name=self.name,
            siard=None,
            children=placed.children(),
            split=lambda: segments.split_lobs(work, placed.split),
            parts=lambda: segments.split_parts(work, placed.split),
        )
