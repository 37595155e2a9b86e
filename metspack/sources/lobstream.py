"""Read the bytes of LOBs from their source once, hash them, and compare them with cells."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from itertools import repeat
from pathlib import Path

from metspack.containers import zipreader
from metspack.digests import OCTETS, Hashers, digest_function
from metspack.errors import SourceError
from metspack.files import held, reading
from metspack.files.byteranges import HeldMedium, Medium
from metspack.files.reading import Closable, Stamp
from metspack.files.threads import ThreadedHashers
from metspack.model import Digest, Extent, LobCell, LobRef, LobRun, ZipExtent
from metspack.siard import entries
from metspack.sizes import TextLength
from metspack.system import os
from metspack.uris import shown

_OPEN = 8  # the most zip files that are open

Stated = Sequence[tuple[str, Sequence[str]]]
"""Algorithms, each with the digests of all LOBs or files of a run."""

Contents = Iterator[bytes | memoryview | None]
"""The bytes of each LOB of a run, or None for a LOB that ``LobReader`` must read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ByteSources:
    """The zip files and granted roots that extents name by the numbers ``archive`` and ``root``.

    Archive 0 is the SIARD archive, without a file if it is unpacked. ``elsewhere``: another machine found the
    files, so that its numbers of devices have no meaning here.
    """

    archives: tuple[HeldMedium, ...]
    roots: tuple[Path, ...]
    elsewhere: bool = False

    def absolute(self) -> ByteSources:
        """Return the same sources with absolute paths, for processes with any working folder."""
        archives = tuple(each.absolute() for each in self.archives)
        return replace(self, archives=archives, roots=tuple(root.absolute() for root in self.roots))


class OpenSources(Closable):
    """Sources of bytes, a few of them open at a time; a context manager, for one thread."""

    def __init__(self, sources: ByteSources) -> None:
        self._sources = sources
        self._media: OrderedDict[int, Medium] = OrderedDict()
        self._buffer = memoryview(bytearray(reading.CHUNK + 1))

    def contents(self, extent: Extent, what: str) -> Iterator[bytes]:
        """Yield the bytes of an extent; the end of the iterator proves them.

        ``what`` names the extent in errors. Raises SourceError if they are unreadable, or were changed since
        they were found.
        """
        if isinstance(extent, ZipExtent):
            return zipreader.contents(self._medium(extent.archive), extent, what=what)
        root = self._sources.roots[extent.root]
        if self._sources.elsewhere:
            extent = replace(extent, device=_device(root, extent.path))
        return entries.contents(root, extent)

    def small_contents(self, run: LobRun) -> Contents:
        """Yield the bytes of each LOB of a run, or None for one that ``LobReader`` must read.

        They are proven as by ``contents``, and valid until the next iteration. Raises SourceError if a zip
        file can no longer be opened.
        """
        return iter([None]) if run.is_apart else _measured_in_bytes(run, self._small_contents(run))

    def _small_contents(self, run: LobRun) -> Contents:
        shared = run.shared
        if shared.folders is None:
            yield from zipreader.small_contents(self._medium(shared.source), run)
        else:
            root = self._sources.roots[shared.source]
            names, *stamps, devices = run.extents
            if self._sources.elsewhere:
                devices = [_device(root, shared.folders)] * len(names)
            stamped = zip(run.sizes, *stamps, devices, strict=True)
            yield from reading.small_files(root, shared.folders, names, stamped, self._buffer)

    def proven_contents(self, run: LobRun) -> Contents:
        """Yield as ``small_contents`` does, with None also for a LOB whose digest differs."""
        proven = digested(self.small_contents(run), run.sizes, run.stated)
        return (each and each[0] for each in proven)

    def linked_contents(
        self,
        run: LobRun,
        folder: Path,
        names: Iterable[str],
        *,
        seen: Callable[[int], object],
    ) -> Contents:
        """Yield the bytes of each LOB of a run as ``small_contents`` does, from hard links.

        ``names`` are those of the links in ``folder``; a link to another file gives None. ``seen`` is called
        with the descriptor of each file that was read.
        """
        stamped = zip(run.sizes, *run.extents[1:], strict=True)
        contents = reading.small_files(folder, (), names, stamped, self._buffer, seen=seen)
        return _measured_in_bytes(run, contents)

    def open_folder(self, root: int, folders: Sequence[str]) -> AbstractContextManager[int]:
        """Give a descriptor of a folder below a granted root for a block; raises OSError."""
        return held(reading.opened_folder(self._sources.roots[root], folders))

    def _medium(self, number: int) -> Medium:
        medium = self._media.get(number)
        if medium is None:
            if len(self._media) >= _OPEN:
                self._let_go(next(iter(self._media)))
            medium = self._media[number] = self._opened(number)
        else:
            self._media.move_to_end(number)
        return medium

    def _opened(self, number: int) -> Medium:
        held = self._sources.archives[number]
        try:
            medium = Medium(held.paths)
        except OSError as error:
            raise SourceError(
                f"{held.paths[0]} can no longer be opened: {error.strerror or error}",
                hint="It was there when the source was listed: make sure that it still is, then start again.",
            ) from error
        is_elsewhere = self._sources.elsewhere
        if medium.stamps != held.stamps and not (is_elsewhere and _are_same_file(medium.stamps, held.stamps)):
            medium.close()
            raise _changed(held)
        return medium

    def _let_go(self, number: int) -> None:
        with self._media.pop(number) as medium:
            if medium.stamped() != medium.stamps:
                raise _changed(self._sources.archives[number])

    def check_unchanged(self) -> None:
        """Close all zip files; raises SourceError if one was changed while it was read."""
        while self._media:
            self._let_go(next(iter(self._media)))

    def close(self) -> None:
        """Close all zip files."""
        while self._media:
            self._media.popitem()[1].close()


def digested(
    contents: Contents, sizes: Sequence[int], stated: Stated, wanted: Sequence[str] = ()
) -> Iterator[tuple[bytes | memoryview, list[str]] | None]:
    """Yield bytes with their digests, first those by the ``wanted`` algorithms, in their order.

    None stands for bytes of another size or digest than stated, for a digest that cannot be computed, and for
    None among the contents.
    """
    # Cell and METS mostly have the same algorithm, by which the digest is computed once.
    names = list(dict.fromkeys((*wanted, *(name for name, _ in stated))))
    if not OCTETS.keys() >= set(names):
        yield from repeat(None, len(sizes))
        return
    functions = list(map(digest_function, names))
    compared = [names.index(name) for name, _ in stated]
    expected = [*zip(*(values for _, values in stated), strict=True)] or [()] * len(sizes)
    for data, size, values in zip(contents, sizes, expected, strict=True):
        found = None
        if data is not None and len(data) == size:
            found = data, [digest(data) for digest in functions]
        yield found if found and tuple([found[1][at] for at in compared]) == values else None


def _measured_in_bytes(run: LobRun, contents: Contents) -> Contents:
    """Return a run's contents, with None for each LOB whose length differs from its cell's."""
    if not run.lengths:
        return contents
    each = zip(contents, run.sizes, run.lengths, strict=True)
    return (data if length == size else None for data, size, length in each)


def _device(root: Path, names: Sequence[str]) -> int:
    """Return this machine's device number of a path, or the unused number 0 without one."""
    try:
        return os.stat(root.joinpath(*names), follow_symlinks=False).st_dev
    except OSError:  # reading the file raises the reason
        return 0


def _are_same_file(found: Sequence[Stamp], expected: Sequence[Stamp]) -> bool:
    """Return whether stamps are the same but for their devices."""
    return len(found) == len(expected) and all(
        one._replace(device=other.device) == other for one, other in zip(found, expected, strict=True)
    )


def _changed(held: HeldMedium) -> SourceError:
    return SourceError(
        f"{held.paths[0]} was changed while it was read",
        hint="Wait until nothing else writes to it and start again.",
    )


PART_DIGEST = "dbptk-part-digest"
"""A fault: the digest of a split LOB is that of its last part, as DBPTK writes it."""

MISSING_TABLE = "missing-table"
"""A fault: the archive lacks a table of metadata.xml, whose LOBs, if any, are not packaged."""

ACCEPTABLE = (PART_DIGEST, MISSING_TABLE)
"""Faults of an archive that a person may accept."""


class LobReader:
    """The bytes of one LOB, read once in portions of any size.

    ``hashers`` have hashed all bytes read so far. After ``end``, ``is_part_digest`` states whether the cell's
    digest is that of the last part, ``unit`` the unit of the cell's length (None without a length).
    ``media_type`` is the type that the source has recorded, or else that of the LOB's column or extension.
    """

    def __init__(
        self,
        lob: LobRef,
        sources: OpenSources,
        algorithms: tuple[str, ...],
        accepted: frozenset[str] = frozenset(),
    ) -> None:
        expected = lob.cell.digest
        self.lob = lob
        self._proofs = lob.proofs
        stated_algorithms = [each.algorithm for each in (expected, self._proofs.whole) if each is not None]
        self.hashers = ThreadedHashers(dict.fromkeys((*algorithms, *stated_algorithms)))
        self.is_part_digest = False
        self.media_type = lob.media_type if lob.recorded is None else lob.recorded
        self.unit: str | None = "bytes" if lob.cell.length == lob.size else None
        self._accepted = accepted
        self._lengths = needed_lengths(lob.cell, lob.size)
        self._last = ThreadedHashers((expected.algorithm,)) if expected and len(lob.extents) > 1 else None
        self._what = what(lob)
        self._blocks = self._read(sources)
        self._rest = b""

    def _read(self, sources: OpenSources) -> Iterator[bytes]:
        for number, extent in enumerate(self.lob.extents):
            proof = self._proofs.extents[number] if self._proofs.extents else None
            proving = None if proof is None else ThreadedHashers((proof.algorithm,))
            last = self._last if number + 1 == len(self.lob.extents) else None
            taking = [each for each in (last, proving) if each is not None]
            about = f"LOB {self.lob.place.id} ({where(extent)})"
            for block in sources.contents(extent, about):
                for each in taking:
                    each.update(block)
                yield block
            if proof is not None and proving is not None:
                check_digest(about, proof, proving)

    def portion(self, size: int | None = None) -> Iterator[bytes]:
        """Yield the next ``size`` bytes, or all that remain; fewer at the LOB's end."""
        while size is None or size > 0:
            self._rest = self._rest or next(self._blocks, b"")
            if not self._rest:
                return
            given, self._rest = self._rest[:size], self._rest[len(self._rest[:size]) :]
            size = None if size is None else size - len(given)
            self.hashers.update(given)
            if self._lengths is not None:
                self._lengths.update(given)
            yield given

    def proven(self) -> Iterator[bytes]:
        """Yield the bytes of the LOB; the end of the iterator proves them."""
        yield from self.portion()
        self.end()

    def end(self) -> None:
        """Raise SourceError unless the LOB, read to its end, agrees with its cell and METS."""
        for _ in self._blocks:  # a zip entry is proven when its iterator ends
            raise AssertionError(f"{self._what} was not taken whole")
        cell, proof = self.lob.cell, self._proofs.whole
        if proof is not None:
            check_digest(self._what, proof, self.hashers)
        if self._lengths is not None:
            self.unit = unit_of(self._what, cell, self._lengths)
        if cell.digest is None or (found := self.hashers.digest(cell.digest.algorithm)) == cell.digest:
            return
        self.is_part_digest = (
            self._last is not None and self._last.digest(cell.digest.algorithm) == cell.digest
        )
        if not self.is_part_digest:
            raise another_digest(self._what, cell.digest, found)
        # In a package, METS proves each part.
        if PART_DIGEST not in self._accepted and None in (self._proofs.extents or (None,)):
            raise SourceError(
                f"{self._what} was split into {len(self.lob.extents):,} parts, and the {found.algorithm} "
                f"{cell.digest.value} of its cell is that of the last part alone; the whole has "
                f"{found.value}",
                hint="DBPTK writes such digests. Nothing proves the other parts; to accept that, use "
                f"--accept {PART_DIGEST}: the package gets the digest of the whole.",
            )


def needed_lengths(cell: LobCell, size: int) -> TextLength | None:
    """Return a counter of characters if a cell states another length than its LOB's bytes.

    Counting takes as long as a digest; only text LOBs that are not ASCII need it.
    """
    return None if cell.length in {None, size} else TextLength()


def unit_of(what: str, cell: LobCell, lengths: TextLength) -> str:
    """Return the unit of a cell's length; raises ``SourceError`` if the length is wrong in all."""
    length = cell.length or 0
    if (unit := lengths.unit(length)) is None:
        raise SourceError(
            f"{what} has {lengths}, but its cell says length {length:,}",
            hint="The archive contradicts itself; find out which is right before building a package.",
        )
    return unit


def another_digest(what: str, stated: Digest, found: Digest) -> SourceError:
    """Return the error for a LOB whose cell states another digest."""
    return SourceError(
        f"{what} has the {found.algorithm} {found.value}, but its cell says {stated.value}",
        hint="The LOB or its digest was changed after the archive was made; get another copy of the archive.",
    )


def check_digest(about: str, proof: Digest, hashers: Hashers) -> None:
    """Raise SourceError unless the hashed bytes have the digest in METS."""
    found = hashers.digest(proof.algorithm)
    if found != proof:
        raise SourceError(
            f"{about} has the {found.algorithm} {found.value}, but METS says {proof.value}",
            hint="The package was damaged: get the file from another copy of it; metspack check finds "
            "all other damage.",
        )


def what(lob: LobRef) -> str:
    """Return the id of a LOB and its files or entries, for errors."""
    places = [where(extent) for extent in lob.extents[:3]]
    more = [f"{len(lob.extents):,} parts in all"] if len(lob.extents) > len(places) else []
    return f"LOB {lob.place.id} ({', '.join([*places, *more])})"


def where(extent: Extent) -> str:
    """Return the name of an entry, or the path of a file below its root, for errors."""
    return extent.name if isinstance(extent, ZipExtent) else shown("/".join(extent.path))
