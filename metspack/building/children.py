"""The segments that were placed, in columns: their number is no measure of the memory that a build takes."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import overload

from metspack.building.segments import TaskPlaced, named_child
from metspack.containers.ipwriter import Packing
from metspack.digests import MANIFEST_ALGORITHMS
from metspack.layouts import Layout
from metspack.mets.dialects.interface import ChildMets, Dialect, SegmentSpot, SegmentWords
from metspack.planning.assignment import SegmentKeys
from metspack.values import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class SegmentSpots:
    """Where the segments of a plan come to lie, each by its number; ``parent`` is the parent's OBJID.

    ``is_added``: they are of an archive that comes into a package of another one.
    """

    dialect: Dialect
    layout: Layout
    keys: SegmentKeys
    name: str
    parent: str
    is_added: bool = False

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
            is_added=self.is_added,
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
        self._sizes, self._files, self._bytes = (array("q", self._firsts) for _ in range(3))
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
            self._bytes[number] = child.bytes
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
            digests=digests,
        )

    def children(self) -> PlacedChildren:
        """Return all segments in the order of the parent."""
        return PlacedChildren(self, self._ordered)

    def by_parent(self, limit: int | None) -> Iterator[tuple[int, PlacedChildren, list[int]]]:
        """Yield for each parent its number, its children, and the tasks of these with split LOBs.

        There is always one with the number 0. With a ``limit`` the others are of so many each.
        """
        if limit is None:
            yield 0, self.children(), self._split
            return

        def parent(number: int) -> int:
            return self._firsts[number] // limit

        ordered = array("q", sorted(self._ordered, key=parent))
        if not ordered:
            yield 0, self.children(), []
        for above, group in groupby(ordered, key=parent):
            split = [task for task in self._split if task // limit == above]
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
