"""Parents of a package: what they name, the tree of them where one would name too many, and their packs.

The parent names the first children itself, and the further parents behind them: so a child's parent follows
from its number in the plan, and a segment can be placed before it is known how many there will be.
"""

from __future__ import annotations

import sys
from array import array
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import chain, groupby
from pathlib import Path
from typing import overload

from metspack.building import manifests, segments
from metspack.building.segments import TaskPlaced, named_child
from metspack.containers.ipwriter import Packing
from metspack.digests import MANIFEST_ALGORITHMS, Hashers
from metspack.errors import ConfigError
from metspack.files import writing
from metspack.files.staging import Partial
from metspack.layouts import Layout
from metspack.mets.dialects.interface import ChildMets, Dialect, ParentContent, SegmentSpot, SegmentWords
from metspack.planning.assignment import SegmentKeys
from metspack.sizes import HandedOver
from metspack.values import dataclass

PARENT_LIMIT = 100_000
"""The children that one METS names unless another number is asked for (decision 35)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SegmentSpots:
    """Where the segments of a plan come to lie, each by its number; ``parent`` is the parent's OBJID."""

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
    """What the parents say of segments and their LOBs, taken task by task.

    ``notes`` are those on all LOBs. What follows from a segment's number is not held.
    """

    def __init__(self, spots: SegmentSpots, packing: Packing | None) -> None:
        self._spots = spots
        self._packing = packing
        self._firsts = array("q", bytes(8 * len(spots.keys)))  # of the segments of its task
        self._sizes, self._files, self._bytes, self._totals = (array("q", self._firsts) for _ in range(4))
        self._digests = {name: bytearray() for name in (*MANIFEST_ALGORITHMS, spots.dialect.checksum_type)}
        self._split: list[int] = []
        self._corrected: list[int] = []
        self._ordered = spots.keys.ordered()
        self.notes: Counter[str] = Counter()

    def take(self, task: TaskPlaced) -> None:
        """Take the result of a task."""
        self.notes.update(task.notes)
        self._split += [task.number] if task.is_split else []
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
        """Return the tasks that wrote digests which cells are to get, by the numbers of their segments."""
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

    def by_parent(self, parent: Callable[[int], int]) -> Iterator[tuple[int, PlacedChildren, list[int]]]:
        """Yield for each parent its number, its children, and the tasks of these with split LOBs.

        There is always one with the number 0. ``parent`` tells the number of the first segment of a task.
        """
        ordered = array("q", sorted(self._ordered, key=lambda number: parent(self._firsts[number])))
        if not ordered or parent(self._firsts[ordered[0]]):
            yield 0, PlacedChildren(self, array("q")), []
        for above, group in groupby(ordered, key=lambda number: parent(self._firsts[number])):
            split = [task for task in self._split if parent(task) == above]
            yield above, PlacedChildren(self, array("q", group)), split


class PlacedChildren(Sequence[ChildMets]):
    """Segments as the parent names them, made when they are asked for; ``further`` ones stand behind them."""

    def __init__(
        self, placed: PlacedSegments, numbers: Sequence[int], further: Sequence[ChildMets] = ()
    ) -> None:
        self._placed = placed
        self._numbers = numbers
        self._further = tuple(further)

    def followed(self, further: Sequence[ChildMets]) -> PlacedChildren:
        """Return the same ones with further ones behind them."""
        return PlacedChildren(self._placed, self._numbers, (*self._further, *further))

    def __len__(self) -> int:
        return len(self._numbers) + len(self._further)

    @overload
    def __getitem__(self, at: int) -> ChildMets: ...
    @overload
    def __getitem__(self, at: slice) -> list[ChildMets]: ...
    def __getitem__(self, at: int | slice) -> ChildMets | list[ChildMets]:
        places = range(len(self))[at]
        if isinstance(places, range):
            return [self[each] for each in places]
        beyond = places - len(self._numbers)
        return self._further[beyond] if beyond >= 0 else self._placed.child(self._numbers[places])

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and list(self) == list(other)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return repr(list(self))


@dataclass(frozen=True, slots=True, kw_only=True)
class ParentTree:
    """The parents of a package: one with this OBJID and name, and one for each further ``limit`` children.

    ``packing`` is how each IP is packed. Segments that share split LOBs have one parent: that of the first of
    them.
    """

    dialect: Dialect
    objid: str
    name: str
    limit: int
    packing: Packing | None = None

    def number(self, first: int) -> int:
        """Return the number of the parent of segments, 0 for the one at the top; ``first`` is their first."""
        return max(0, first // self.limit)

    def objid_of(self, first: int) -> str:
        """Return the OBJID of the parent of segments; ``first`` is the number of their first."""
        number = self.number(first)
        return self.spot(number).objid if number else self.objid

    def further(self, segments: int) -> Iterator[SegmentSpot]:
        """Yield the places of the further parents of so many segments, some of which may not be needed."""
        return map(self.spot, range(1, self.number(segments - 1) + 1))

    def spot(self, number: int) -> SegmentSpot:
        """Return where a further parent lies, and its OBJID."""
        folder = f"{self.name}_{self.dialect.further}_{number}"
        words = SegmentWords(
            number=number,
            index=number,
            parent=self.objid,
            name=self.name,
            word=folder,
            folder=folder,
        )
        return self.dialect.spot(words)

    # --- where parents are written ----------------------------------------------------------------------

    @property
    def pack(self) -> Packing | None:
        """How the parents are packed, None where they are not: one in the package's root is no folder."""
        return self.packing if self.dialect.parent_folder(self.objid) else None

    @property
    def top(self) -> str:
        """The path of the METS of the parent at the top, or of the file that it is packed in."""
        return self.parent if self.pack else f"{self.parent}/{self.dialect.mets}".removeprefix("/")

    @property
    def parent(self) -> str:
        """The path of the parent at the top: its folder, "" for the package's root, or its file."""
        ip = self.dialect.parent_folder(self.objid)
        return ip if self.pack is None else self.pack.file(ip)

    @property
    def archive_path(self) -> str:
        """The path of the archive below the folder in which the parent at the top is written."""
        return self.dialect.archive_path(self.objid, self.name)

    def make_root(self, staging: Partial) -> Path:
        """Return the folder in which the parent at the top is written: one that does not stay, if packed."""
        if self.pack is None:
            return staging.package
        root = staging.work / "parent"
        writing.make_directories(root)
        return root

    def pack_top(self, staging: Partial, files: dict[str, Hashers]) -> dict[str, Hashers]:
        """Pack the parent at the top where it is a folder; ``files`` are its own, and of further parents.

        Returns the files beside the segments as they then are.
        """
        if self.pack is None:
            return files
        ip = self.dialect.parent_folder(self.objid)
        own = {path: each for path, each in files.items() if path.startswith(f"{ip}/")}
        others = {path: each for path, each in files.items() if path not in own}
        return others | self._pack(staging.package, staging.work, self.make_root(staging), ip, own)

    def _pack(
        self, package: Path, work: Path, root: Path, ip: str, files: dict[str, Hashers]
    ) -> dict[str, Hashers]:
        """Pack a parent that was written below ``root``, if parents are packed; returns the file then."""
        if self.pack is None:
            return files
        held = work / f"pack-parent-{ip}"
        writing.make_directory(held)
        with self.pack.open_pack(package, ip, held, MANIFEST_ALGORITHMS) as pack:
            pack.take(root, ip, files)
            return {self.pack.file(ip): pack.finish()}

    def handed_over(self, package: Path, files: Mapping[str, Hashers], placed: PlacedSegments) -> HandedOver:
        """Return the sizes of the largest IP and of the parent; ``files`` are those beside the segments."""
        sizes: Counter[str] = Counter()
        for path, each in files.items():
            sizes[path.partition("/")[0] if "/" in path or self.pack else ""] += each.size
        own = sizes.pop(self.parent) + (0 if self.parent else manifests.size(package))
        children = ((each.path, each.total) for each in placed.children())
        return HandedOver.of(chain(sizes.items(), children), self.parent, own)

    def write_further(
        self, package: Path, work: Path, placed: PlacedSegments
    ) -> tuple[ParentContent, dict[str, Hashers]]:
        """Write the further parents; returns what the one at the top names, and the digests of their files.

        Raises ``TargetError``.
        """
        further: list[ChildMets] = []
        files: dict[str, Hashers] = {}
        own_children, own_split = placed.children(), list[int]()
        for number, children, split in placed.by_parent(self.number):
            if not number:
                own_children, own_split = children, split
                continue
            child, written = self._write_further(package, work, self.spot(number), (children, split))
            further.append(child)
            files |= written
        own = own_children.followed(further)
        return self._content(work, own, own_split, self.objid, len(further)), files

    def _write_further(
        self, package: Path, work: Path, spot: SegmentSpot, named: tuple[Sequence[ChildMets], Sequence[int]]
    ) -> tuple[ChildMets, dict[str, Hashers]]:
        """Write a further parent; returns it as the parent at the top names it, and its files.

        ``named`` are its children, and their tasks with split LOBs.
        """
        root = package if self.pack is None else work / f"parent-{spot.number}"
        writing.make_directories(root / spot.ip)
        content = self._content(work, *named, spot.objid)
        written = self.dialect.write_further_parent(root, spot, self.objid, content)
        mets = written[f"{spot.ip}/{self.dialect.mets}"]
        algorithms = (*MANIFEST_ALGORITHMS, self.dialect.checksum_type)
        files = self._pack(package, work, root, spot.ip, written)
        child = named_child(
            spot,
            self.dialect,
            self.pack,
            size=mets.size,
            files=0,
            bytes_=0,
            total=sum(each.size for each in files.values()),
            digests={each: mets.digest(each).value for each in algorithms},
        )
        if root != package:
            writing.remove(root)
        return child, files

    def _content(
        self, work: Path, children: Sequence[ChildMets], split: Sequence[int], objid: str, further: int = 0
    ) -> ParentContent:
        """Return the content of a parent with such children; ``split`` are their tasks with split LOBs."""
        return ParentContent(
            objid=objid,
            name=self.name,
            siard=None,
            children=children,
            further=further,
            split=lambda: segments.split_lobs(work, split),
            parts=lambda: segments.split_parts(work, split),
        )


def parent_limit(dialect: Dialect, wanted: int | None) -> int:
    """Return how many children one METS names; raises ``ConfigError`` for a number that cannot be."""
    if not dialect.further:
        if wanted is not None:
            raise ConfigError(
                "--parent-limit: in this dialect one parent names all children",
                hint="Leave it out, or make segments larger: --max-files, --max-bytes.",
            )
        return sys.maxsize
    if wanted is not None and wanted < 1:
        raise ConfigError(
            f"--parent-limit {wanted}: a METS names at least one child", hint="Write a number from 1 on."
        )
    return PARENT_LIMIT if wanted is None else wanted
