"""Build to a target on disk, or to a store: each finished segment is sent there."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from metspack.building.options import BuildOptions
from metspack.building.segments import TaskPlaced
from metspack.containers.ipwriter import Packing
from metspack.digests import MANIFEST_ALGORITHMS, MANIFESTS
from metspack.errors import ConfigError, MetspackError
from metspack.files import journal, mirrors, reading
from metspack.files.journal import RunFacts
from metspack.files.mirrors import StorePath, check_no_store
from metspack.files.staging import Staging
from metspack.files.storetarget import StoreTarget, files_below
from metspack.mets import is_mets_name
from metspack.mets.dialects.interface import SegmentSpot
from metspack.model import LinkMode
from metspack.planning.assignment import Assignment
from metspack.system import os

_AHEAD = 7  # finished segments for each process that may wait on disk to be sent
_SHA256 = "SHA-256"


def check_options(options: BuildOptions, version: str | None) -> None:
    """Raise ``ConfigError`` for options that exclude each other or the version of SIARD."""
    if options.pack is not None and options.link_mode is LinkMode.HARDLINK:
        raise ConfigError(
            "--link-mode hardlink cannot be combined with --pack",
            hint="The file of a packed IP holds the bytes of its LOBs: leave one of the two out.",
        )
    if options.cluster is not None and options.link_mode is LinkMode.HARDLINK:
        raise ConfigError(
            "--link-mode hardlink cannot be combined with --cluster",
            hint="Links move no bytes, so other machines have nothing to do: leave one of the two out.",
        )
    if options.add_digests and version == "1.0":
        raise ConfigError(
            "SIARD 1.0 has no digests in cells", hint="Leave --add-digests out: the METS files hold them."
        )


class Sending:
    """A target in a store to which a package is sent, or one on disk.

    ``local`` is the path on disk where the package is made.
    """

    def __init__(self, target: Path | None = None) -> None:
        self._store = StoreTarget(target) if isinstance(target, StorePath) else None
        self.is_remote = self._store is not None
        self.local = target or Path() if self._store is None else self._store.local

    def begin(self, staging: Staging, run: RunFacts, *, restarts: bool) -> None:
        """Mark the prefix as unfinished; raises as ``StoreTarget.begin`` does."""
        if self._store is not None:
            # The journal on the machine that makes the package identifies the source.
            facts = {name: each for name, each in run.facts.items() if name != "source"}
            stated = {"command": run.command, "facts": facts}
            self._store.begin(stated, staging.package, is_resumed=staging.is_resumed, restarts=restarts)

    def room(self, size: int, assigned: Assignment, segment: int | None, jobs: int | None) -> int:
        """Return the bytes of ``size`` that are on disk at once; ``segment`` is a segment's limit."""
        if not self.is_remote or segment is None:
            return size
        return min(size, max(0, size - assigned.bytes) + segment * (_AHEAD * assigned.jobs(jobs) + 2))

    def send_each(
        self,
        placed: Iterable[TaskPlaced],
        package: Path,
        spot: Callable[[int], SegmentSpot],
        packing: Packing | None,
    ) -> Iterator[TaskPlaced]:
        """Send the files of each result and remove them from disk; yield the result."""
        for each in placed:
            if self._store is not None:
                for done in each:
                    self._send(self._store, package, spot(done.number), packing)
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
        """Send the rest, manifests and the parent's METS last; raises as ``StoreTarget.finish``."""
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
    """Yield the target for the length of a block, and remove a store's local files at its end.

    After an error that cannot be resumed, the store's files are removed as well; after any other the
    local files stay, with the mirrors of a source in a store.
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
            with suppress(MetspackError, OSError):  # the first error counts
                store.abandon()
        raise
    if store is not None:
        store.close()
