"""Targets of a build: on disk, or in a store, which gets each segment as soon as that is finished."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from metspack.building import segments
from metspack.building.children import PlacedSegments
from metspack.building.options import BuildOptions
from metspack.building.segments import TaskPlaced
from metspack.containers.ipwriter import Packing
from metspack.digests import MANIFEST_ALGORITHMS, MANIFESTS, Hashers
from metspack.errors import ConfigError, MetspackError
from metspack.files import journal, mirrors, reading, writing
from metspack.files.journal import RunFacts
from metspack.files.mirrors import StorePath, check_no_store
from metspack.files.staging import Staging
from metspack.files.storetarget import StoreTarget, files_below
from metspack.mets import ids, is_mets_name
from metspack.mets.dialects.interface import ChildMets, Dialect, ParentContent, SegmentSpot
from metspack.model import LinkMode
from metspack.planning.assignment import Course
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
