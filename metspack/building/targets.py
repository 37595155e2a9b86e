"""Targets of a build: on disk, or in a store, which gets each segment as soon as that is finished."""

from __future__ import annotations

import hashlib
import os
from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from itertools import groupby
from pathlib import Path
from typing import overload

from metspack.building import segments
from metspack.building.options import BuildOptions
from metspack.building.segments import TaskPlaced, named_child
from metspack.containers.ipwriter import Packing
from metspack.digests import MANIFEST_ALGORITHMS, MANIFESTS, Hashers
from metspack.errors import ConfigError, MetspackError
from metspack.files import journal, mirrors, reading, writing
from metspack.files.journal import RunFacts
from metspack.files.mirrors import StorePath, check_no_store
from metspack.files.staging import Staging
from metspack.files.storetarget import StoreTarget, files_below
from metspack.layouts import Layout
from metspack.mets import ids, is_mets_name
from metspack.mets.dialects.interface import ChildMets, Dialect, ParentContent, SegmentSpot, SegmentWords
from metspack.model import LinkMode
from metspack.planning.assignment import Course, SegmentKeys
from metspack.values import dataclass

_AHEAD = 7  # segments for each process that may wait on disk until their turn has come
_SHA256 = "SHA-256"


def check_options(options: BuildOptions, version: str | None) -> None:
    """Raise ``ConfigError`` for options that cannot be combined, or not for a version of SIARD."""
    if options.pack is not None and options.link_mode is LinkMode.HARDLINK:
        raise ConfigError(
            "--link-mode hardlink cannot be combined with --pack",
            hint="The file of a packed IP holds the bytes of its LOBs: leave one of the two out.",
        )
    if options.add_digests and version == "1.0":
        raise ConfigError(
            "SIARD 1.0 has no digests in cells", hint="Leave --add-digests out: the METS files hold them."
        )


class Sending:
    """The work for a target in a store, none for one on disk; ``local`` is where the package is made."""

    def __init__(self, target: Path | None = None) -> None:
        self._store = StoreTarget(target) if isinstance(target, StorePath) else None
        self.is_remote = self._store is not None
        self.local = target or Path() if self._store is None else self._store.local

    def begin(self, staging: Staging, run: RunFacts, *, restarts: bool) -> None:
        """Mark the prefix as unfinished; raises as ``StoreTarget.begin`` does."""
        if self._store is not None:
            # The source is looked at on the machine that makes the package, where its journal is.
            facts = {name: each for name, each in run.facts.items() if name != "source"}
            told = {"command": run.command, "facts": facts}
            self._store.begin(told, is_resumed=staging.is_resumed, restarts=restarts)

    def room(self, size: int, course: Course, segment: int | None, jobs: int | None) -> int:
        """Return the bytes that are needed on disk of ``size``, with segments of so many bytes at most."""
        if not self.is_remote or segment is None:
            return size
        return min(size, max(0, size - course.bytes) + segment * (_AHEAD * course.jobs(jobs) + 2))

    def sent(
        self,
        placed: Iterable[TaskPlaced],
        package: Path,
        spot: Callable[[int], SegmentSpot],
        packing: Packing | None,
    ) -> Iterator[TaskPlaced]:
        """Yield what was placed; its files are in the store then, and take no room on disk."""
        for each in placed:
            if self._store is not None:
                for number in each.numbers:
                    self._send(self._store, package, spot(number), packing)
            yield each

    @staticmethod
    def _send(store: StoreTarget, package: Path, spot: SegmentSpot, packing: Packing | None) -> None:
        if packing is not None:
            store.send(package, (packing.file(spot.ip),), empties=False)
        elif os.path.lexists(package / spot.content):
            found = files_below(package, spot.content)
            lobs = (path for path in found if not (is_mets_name(path) and os.path.dirname(path) == spot.ip))
            store.send(package, lobs, empties=True)

    def finish(self, package: Path, top: str, *, verifies: bool) -> None:
        """Put what is left, manifests and the parent's METS last; raises as ``StoreTarget.finish`` does."""
        if self._store is not None:
            digests = dict(_digests(package)) if verifies else None
            self._store.finish(package, {top, *map(MANIFESTS.__getitem__, MANIFEST_ALGORITHMS)}, digests)


def _digests(package: Path) -> Iterator[tuple[str, str]]:
    with reading.text(package / MANIFESTS[_SHA256]) as lines:
        for line in lines:
            digest, _, path = line.rstrip("\n").partition("  ")
            yield path, digest


@contextmanager
def open_target(source: Path, target: Path, options: BuildOptions) -> Iterator[Sending]:
    """Give the target for the length of a block; what is made on disk for a store goes with a good end.

    After a bad one that leaves nothing to go on with, nothing is left in the store either; else the mirrors
    of a source in a store are kept as well.
    """
    if isinstance(target, StorePath) and options.link_mode is LinkMode.HARDLINK:
        raise ConfigError(
            "--link-mode hardlink cannot be combined with a target in a store",
            hint="A store has no links: leave the option out.",
        )
    check_no_store(options.cluster, (source, target, *options.grants.lob_roots))
    key = hashlib.sha256(f"{source}\n{target}".encode(errors="surrogateescape")).hexdigest()[:16]
    mirrors.keep(key, anew=options.terms.restart)
    sending = Sending(target)
    store = sending._store  # noqa: SLF001 -- two halves of one
    try:
        yield sending
    except BaseException:
        if os.path.lexists(journal.partial_of(sending.local)):
            mirrors.leave()
        elif store is not None:
            with suppress(MetspackError, OSError):  # the error is the one to tell
                store.give_up()
        raise
    if store is not None:
        store.close()


# --- Trees of parents: where the parent would name more children than readers take --------------------------
#
# The parent names the first children itself, and the further parents behind them: so a child's parent follows
# from its number in the plan, and a segment can be placed before it is known how many there will be.

PARENT_LIMIT = 100_000
"""The children that one METS names unless another number is asked for (decision 35)."""


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


@dataclass(frozen=True, slots=True, kw_only=True)
class ParentTree:
    """The parents of a package: one with this OBJID and name, and one for each further ``limit`` children.

    Segments that share split LOBs have one parent: that of the first of them.
    """

    objid: str
    name: str
    limit: int | None

    def number(self, first: int) -> int:
        """Return the number of the parent of segments, 0 for the one at the top; ``first`` is their first."""
        return 0 if self.limit is None else first // self.limit

    def objid_of(self, first: int) -> str:
        """Return the OBJID of the parent of segments; ``first`` is the number of their first."""
        number = self.number(first)
        return ids.child_objid(self._folder(number)) if number else self.objid

    def _folder(self, number: int) -> str:
        return f"{self.name}_parent_{number}"

    def write_further(
        self, dialect: Dialect, package: Path, work: Path, placed: PlacedSegments
    ) -> tuple[ParentContent, dict[str, Hashers]]:
        """Write the further parents; returns what the one at the top names, and the digests of their files.

        Raises ``TargetError``.
        """
        further: list[ChildMets] = []
        files: dict[str, Hashers] = {}
        own_children, own_split = placed.children(), list[int]()
        for number, children, split in placed.by_parent(self.limit):
            if not number:
                own_children, own_split = children, split
                continue
            folder = self._folder(number)
            own = _content(work, children, split, objid=ids.child_objid(folder), name=self.name)
            writing.make_directories(package / folder)
            written = dialect.write_further_parent(package, folder, self.objid, own)
            further.append(_described(dialect, folder, own.objid, written))
            files |= written
        named = own_children.followed(further)
        return _content(work, named, own_split, objid=self.objid, name=self.name), files


def _content(
    work: Path, children: Sequence[ChildMets], split: Sequence[int], *, objid: str, name: str
) -> ParentContent:
    """Return the content of a parent with such children; ``split`` are their tasks that have split LOBs."""
    return ParentContent(
        objid=objid,
        name=name,
        siard=None,
        children=children,
        split=lambda: segments.split_lobs(work, split),
        parts=lambda: segments.split_parts(work, split),
    )


def _described(dialect: Dialect, folder: str, objid: str, written: Mapping[str, Hashers]) -> ChildMets:
    name = f"{folder}/{dialect.mets}"
    mets = written[name]
    return ChildMets(
        objid=objid,
        folder=folder,
        content=folder,
        size=mets.size,
        checksum=mets.digest(dialect.checksum_type).value,
        path=folder,
        mets=name,
        files=0,
        bytes=0,
        digests={each: mets.digest(each).value for each in MANIFEST_ALGORITHMS},
    )


def parent_limit(dialect: type[Dialect] | Dialect, wanted: int | None) -> int | None:
    """Return how many children one METS names, None for any number; raises ``ConfigError``."""
    if not dialect.has_further_parents:
        if wanted is not None:
            raise ConfigError(
                "--parent-limit is for packages of the recommendation: in this dialect one parent names all",
                hint="Leave it out, or make segments larger: --max-files, --max-bytes.",
            )
        return None
    if wanted is not None and wanted < 1:
        raise ConfigError(
            f"--parent-limit {wanted}: a METS names at least one child", hint="Write a number from 1 on."
        )
    return PARENT_LIMIT if wanted is None else wanted
