"""Open LOBs by id as read-only files, with parts joined: seekable, or a proven stream."""

from __future__ import annotations

import io
import warnings
from abc import abstractmethod
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from itertools import accumulate, chain
from typing import TYPE_CHECKING

from metspack.digests import OCTETS, Hashers
from metspack.errors import ConfigError, SourceError, hint_of
from metspack.files import reading
from metspack.files.byteranges import Medium
from metspack.files.reading import Stamp
from metspack.files.threads import ThreadedHashers
from metspack.mets import links
from metspack.model import Digest, LobCell, LobRef
from metspack.packages import cells
from metspack.packages import package as packages_package
from metspack.packages.cells import cell_of
from metspack.packages.files import Inflated, Onward, PackageFiles
from metspack.packages.lobs import ANOTHER, HeldLob, HeldPart
from metspack.packages.package import Package
from metspack.sizes import ByteRange
from metspack.sources.archive import Archive
from metspack.sources.lobstream import (
    LobReader,
    OpenSources,
    another_digest,
    check_digest,
    needed_lengths,
    unit_of,
)
from metspack.system import os

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer


class LobFile(io.RawIOBase):
    """A LOB with this id, of ``size`` bytes, as a file; subclasses give its bytes by ``block``."""

    def __init__(self, lob: str, size: int) -> None:
        super().__init__()
        self.size = size
        self.name = lob
        self._position = 0

    @abstractmethod
    def block(self, position: int, size: int) -> bytes | memoryview:
        """Return 1 to ``size`` bytes from a position inside the LOB; raises ``SourceError``.

        For a LOB of 0 bytes the position is 0, so that its empty file is opened as well.
        """

    def readable(self) -> bool:
        """Return True: every LOB can be read."""
        return True

    def seekable(self) -> bool:
        """Return True: every LOB has a position that can be moved."""
        return True

    def tell(self) -> int:
        """Return the position, in bytes from the LOB's start."""
        self._check_open()
        return self._position

    def seek(self, offset: int, whence: int = os.SEEK_SET, /) -> int:
        """Move and return the position, which may exceed the end; raises ValueError below 0."""
        self._check_open()
        bases = {os.SEEK_SET: 0, os.SEEK_CUR: self._position, os.SEEK_END: self.size}
        if whence not in bases:
            raise ValueError(f"whence is 0, 1 or 2, not {whence}")
        if bases[whence] + offset < 0:
            raise ValueError(f"the position {bases[whence] + offset} lies before the start")
        self._position = bases[whence] + offset
        return self._position

    def readinto(self, buffer: WriteableBuffer, /) -> int:
        """Read one block into a buffer; return the number of bytes, 0 at the LOB's end."""
        self._check_open()
        if self._position >= self.size > 0:
            return 0
        with memoryview(buffer).cast("B") as view:
            given = self.block(min(self._position, self.size), len(view))
            view[: len(given)] = given
        self._position += len(given)
        return len(given)

    def _check_open(self) -> None:
        if self.closed:
            raise ValueError(f"LOB {self.name} is closed")


class ArchivedLob(LobFile):
    """A LOB that stayed in the archive, as a read-only, seekable file.

    With ``verify`` it is read whole and proven, by its CRC-32 and its cell, before any byte of it is
    returned; without, only up to the requested bytes. Moving back reads the LOB again. Reading raises
    ``SourceError``. Closing the LOB closes ``archive``.
    """

    def __init__(self, archive: Archive, lob: LobRef, *, verify: bool = True) -> None:
        super().__init__(lob.place.id, lob.size)
        self._archive = archive
        self._lob = lob
        self._is_proven = not verify
        self._onward = Onward(lambda: self.contents(verify=False))

    def contents(self, *, verify: bool = True) -> Iterator[bytes]:
        """Yield all bytes in blocks, proven when the iterator ends, with ``verify`` by the cell too."""
        if not verify:
            yield from chain.from_iterable(map(self._archive.resolver.contents, self._lob.extents))
            return
        with OpenSources(self._archive.byte_sources()) as sources:
            reader = LobReader(self._lob, sources, ())
            yield from reader.portion()
            reader.end()

    def block(self, position: int, size: int) -> memoryview:
        """Return bytes from a position up to the end of a block of the entry."""
        if not self._is_proven:
            for _ in self.contents():
                pass
            self._is_proven = True
        given = self._onward.at(position)[:size] if self.size else memoryview(b"")
        if self._archive.container is not None:  # files of an unpacked archive are compared on reading
            self._archive.check_unchanged()
        return given

    def close(self) -> None:
        """Close the archive."""
        if not self.closed:
            self._archive.close()
        super().close()


def find_lob(package: Package, lob: str, *, verify: bool = True) -> HeldLob | ArchivedLob:
    """Return the LOB with this id, as METS lists it or, opened, from the archive.

    Two cells may name one file, which METS lists under the first one's id: the other id is resolved by its
    cell. Raises ``SourceError`` as ``Package.lob`` does, for a cell without a LOB, and for an id
    of LOBs in several archives.
    """
    it = _resolve(package, lob, verify=verify)
    return it if isinstance(it, ArchivedLob) else package.lob(it or packages_package.as_id(lob))


def find_listed_id(package: Package, lob: str) -> str | None:
    """Return the id under which METS lists a LOB, or None for one that stayed in the archive.

    An id that the package lacks is returned unchanged. Raises ``SourceError`` as ``find_lob`` does.
    """
    it = _resolve(package, lob, verify=False)
    if isinstance(it, ArchivedLob):
        it.close()
        return None
    return it or packages_package.listed_id(package, packages_package.as_id(lob))


def _resolve(package: Package, lob: str, *, verify: bool) -> str | ArchivedLob | None:
    """Return a LOB's id in METS, or the opened LOB if the archive holds it; None for others."""
    lob = packages_package.as_id(lob)
    _check_one(package, lob)
    listed_id = packages_package.listed_id(package, lob)
    if package.index.holds(listed_id) or not cells.is_place(listed_id):
        return listed_id
    cells_of = packages_package.candidate_cells(package, lob)
    found_in = (_in_archive(package, path, place, verify=verify) for path, place in cells_of)
    return next((it for it in found_in if it is not None), None)


def _check_one(package: Package, lob: str) -> None:
    """Raise ``SourceError`` for an id without a name that is a place in several archives."""
    if len(package.archives) <= 1 or links.split_prefix(lob)[0]:
        return
    prefixes = filter(None, map(package.index.prefix, package.archives))
    listed = sum(package.index.holds(each + lob) for each in prefixes)
    found = sum(_has_cell(package, *each) for each in packages_package.candidate_cells(package, lob))
    if listed + max(found, package.index.holds(lob)) > 1:
        ids = [f"{links.prefix(path[-1])}{lob}" for path in package.archives]
        raise SourceError(
            f"several archives of the package have a LOB {lob}",
            hint=f"Name the archive in the ID: {', '.join(ids[:-1])} or {ids[-1]}.",
        )


def _has_cell(package: Package, path: tuple[str, ...], place: str) -> bool:
    with suppress(SourceError), cells.opened_archive(package, path) as archive:
        return cells.found_in(archive, place) is not None
    return False


def _in_archive(
    package: Package, path: tuple[str, ...], lob: str, *, verify: bool
) -> str | ArchivedLob | None:
    """Return a cell's LOB, as its id in METS or opened in the archive, or None without one."""
    with ExitStack() as opened:
        try:
            archive = opened.enter_context(cells.opened_archive(package, path))
            cell = cells.found_in(archive, lob)
            meant = None if cell is None else cells.meant(package, path, archive, *cell)
        except SourceError as error:
            if package.faults:  # one of the unreadable METS may list it
                return None
            raise SourceError(
                f"no METS lists LOB {lob}, and its cell cannot be resolved: {error.message}", hint=error.hint
            ) from None
        if meant is None or isinstance(meant, str):
            return meant
        kept = ArchivedLob(archive, meant, verify=verify)
        opened.pop_all()
        return kept


_BUFFER = 1 << 18
_UNVERIFIED = "Add --no-verify to read it unverified."
_BARE = "its bytes could not be verified"
_BY_METS = "--range 0- verifies it only by METS, and --no-verify writes it unverified."


@contextmanager
def _explained(lob: str, part: HeldPart) -> Iterator[None]:
    """Turn an OSError about reading a part into a ``SourceError``."""
    try:
        yield
    except OSError as error:
        message = f"{part.about(lob)} cannot be read: {error.strerror or error}"
        raise SourceError(message, hint=hint_of(error)) from error


class JoinedLob(LobFile):
    """A LOB as a read-only, seekable file over its parts; at most one of these is open.

    With ``verify`` each part that is touched is read whole and compared with its METS digest before
    any byte of it is returned, once unless it changes; a part without digest is read unverified. Without,
    only the requested bytes are read. Reading raises ``SourceError`` for a part that cannot be opened, or
    whose size or digest differs from METS.
    """

    def __init__(self, files: PackageFiles, lob: HeldLob, *, verify: bool = True) -> None:
        ends = list(accumulate(part.size for part in lob.parts))
        super().__init__(lob.id, ends[-1])
        self.lob = lob
        self._files = files
        self._verify = verify
        self._starts = [0, *ends[:-1]]
        self._open: tuple[int, Medium | Inflated] | None = None
        self._verified: dict[int, tuple[Stamp, ...]] = {}

    def block(self, position: int, size: int) -> bytes:
        """Return bytes from a position up to the end of its part."""
        number = bisect_right(self._starts, position) - 1
        part = self.lob.parts[number]
        offset = position - self._starts[number]
        wanted = min(size, part.size - offset, reading.CHUNK)
        medium = self._part(number)
        with _explained(self.lob.id, part):
            block = medium.pread(wanted, offset)
        if wanted and not block:
            raise SourceError(f"{part.about(self.lob.id)} was cut while it was read", hint=ANOTHER)
        return block

    def _part(self, number: int) -> Medium | Inflated:
        """Return the bytes of a part, verified if the LOB is."""
        part = self.lob.parts[number]
        if self._open is None or self._open[0] != number:
            self._close_part()
            self._open = number, self._files.opened_part(self.lob.id, part)
        medium = self._open[1]
        # A compressed part is proven by its CRC-32 at least.
        if self._verify and (part.digest is not None or isinstance(medium, Inflated)):
            self._check(medium, number)
        return medium

    def _check(self, medium: Medium | Inflated, number: int) -> None:
        stamps = medium.stamped()
        if self._verified.get(number) == stamps:
            return
        part = self.lob.parts[number]
        about, digest = part.about(self.lob.id), part.digest
        try:
            _check_computable(about, digest, part.source)
            with _explained(self.lob.id, part):
                algorithms = () if digest is None else (digest.algorithm,)
                hashers = ThreadedHashers(algorithms).take(medium.chunks())
            if digest is not None:
                check_digest(f"{about} ({part.source})", digest, hashers)
        except BaseException:
            self._close_part()
            raise
        self._verified[number] = stamps

    def _close_part(self) -> None:
        if self._open is not None:
            self._open[1].close()
        self._open = None

    def close(self) -> None:
        """Close the LOB and its open part."""
        if not self.closed:
            self._close_part()
        super().close()


def _check_computable(about: str, digest: Digest | None, source: str) -> None:
    """Raise ``SourceError`` for a digest in METS by an algorithm that cannot be computed."""
    if digest is not None and digest.algorithm not in OCTETS:
        raise SourceError(
            f"{about} cannot be verified: its CHECKSUMTYPE is {digest.algorithm!r} ({source}); expected one "
            f"of {', '.join(OCTETS)}",
            hint=_UNVERIFIED,
        )


class Proving:
    """Proof of a LOB's bytes, part by part; raises ``SourceError`` for another digest or length.

    Calls: ``pass_on`` for each part, then ``end``. ``is_proven``: there is a digest of the whole, of every
    part, or in the cell. Raises ``SourceError`` at once for digests in METS by an algorithm that cannot be
    computed.
    """

    def __init__(self, lob: HeldLob, cell: LobCell | None) -> None:
        for part in lob.parts:
            _check_computable(part.about(lob.id), part.digest, part.source)
        _check_computable(f"LOB {lob.id}: the whole", lob.digest, lob.source)
        in_cell = None if cell is None else cell.digest
        algorithms = [each.algorithm for each in (lob.digest, in_cell) if each is not None]
        self._lob = lob
        self._cell = cell
        self._whole = Hashers(dict.fromkeys(algorithms))
        self._lengths = None if cell is None else needed_lengths(cell, lob.size)
        self.is_proven = any((lob.digest, in_cell)) or all(part.digest for part in lob.parts)

    def pass_on(self, part: HeldPart, blocks: Iterable[bytes]) -> Iterator[bytes]:
        """Yield the bytes of a part; raises after the last of them."""
        digest = part.digest if self._lob.is_split else None  # that of a LOB in one file is the whole's
        hashers = Hashers(() if digest is None else (digest.algorithm,))
        for block in blocks:
            self._whole.update(block)
            hashers.update(block)
            if self._lengths is not None:
                self._lengths.update(block)
            yield block
        if digest is not None:
            check_digest(f"{part.about(self._lob.id)} ({part.source})", digest, hashers)

    def end(self) -> None:
        """Compare the whole LOB, after its last part."""
        lob, cell = self._lob, self._cell
        about = f"LOB {lob.id}: the whole" if lob.is_split else lob.parts[0].about(lob.id)
        what = f"{about} ({lob.source})"
        if lob.digest is not None:
            check_digest(what, lob.digest, self._whole)
        if cell is None:
            return
        if self._lengths is not None:
            unit_of(what, cell, self._lengths)
        if cell.digest is not None and (found := self._whole.digest(cell.digest.algorithm)) != cell.digest:
            raise another_digest(what, cell.digest, found)


Warned = Callable[[str], object]
"""A function that is called with each warning about a LOB that can be read."""


def _warn(words: str) -> None:
    warnings.warn(words, stacklevel=4)  # shows the line that called the API


def open_lob(package: Package, lob: str, *, verify: bool = True) -> io.BufferedReader:
    """Return a LOB as a buffered, seekable, read-only file, to be closed or used in ``with``.

    The file is independent of ``package``, which may be closed first. Raises ``SourceError`` as ``find_lob``
    does; reading from the file raises it as for ``JoinedLob`` and ``ArchivedLob``. Warnings about the LOB are
    Python warnings.
    """
    it = find_lob(package, lob, verify=verify)
    raw = it if isinstance(it, ArchivedLob) else _joined(package, it, verify=verify, warned=_warn)
    return io.BufferedReader(raw, _BUFFER)


def _joined(package: Package, lob: HeldLob, *, verify: bool, warned: Warned) -> JoinedLob:
    """Issue the warnings about a LOB, and return it as a seekable file."""
    if lob.doubt:
        warned(lob.doubt)
    bare = [part.name for part in lob.parts if part.digest is None] if verify else []
    if bare:
        warned(f"LOB {lob.id}: METS gives no digest of {bare[0]}{' and others' * (len(bare) > 1)}: {_BARE}")
    return JoinedLob(package.index.files, lob, verify=verify)


def extract(
    package: Package,
    lob: str,
    ranges: Sequence[ByteRange] = (),
    *,
    verify: bool = True,
    warned: Warned = _warn,
) -> Iterator[bytes]:
    """Yield a LOB's bytes, or those of the ranges one after the other, in blocks.

    With ``verify`` ranges are read as ``JoinedLob`` does: only proven bytes are yielded. The whole LOB is
    read once and hashed on its way, so bytes are yielded before they are proven: ``SourceError`` is
    raised after the last block of a part whose digest is wrong, and after the last block of all when the
    whole's digest is, or the length or digest in the SIARD's cell. Only an iterator that ended has
    given proven bytes. Raises ``ConfigError`` for a range outside the LOB, before anything is yielded.
    """
    it = find_lob(package, lob, verify=verify)
    try:
        offsets = [each.within(it.size) for each in ranges]
    except ConfigError:
        if isinstance(it, ArchivedLob):
            it.close()
        raise
    if isinstance(it, ArchivedLob):
        return _pieces(it, offsets) if ranges else _contents(it, verify=verify)
    if not ranges:
        return _whole(package, it, lob, verify=verify, warned=warned)
    return _pieces(_joined(package, it, verify=verify, warned=warned), offsets)


def _contents(lob: ArchivedLob, *, verify: bool) -> Iterator[bytes]:
    with lob:
        yield from lob.contents(verify=verify)


def _pieces(lob: LobFile, offsets: Sequence[range]) -> Iterator[bytes]:
    with lob:
        for each in offsets:
            lob.seek(each.start)
            left = len(each)
            if not left:  # all of a LOB of 0 bytes: its file must exist
                lob.read(1)
            while left:
                block = lob.read(min(left, reading.CHUNK)) or b""
                left -= len(block)
                yield block


def _whole(package: Package, lob: HeldLob, given: str, *, verify: bool, warned: Warned) -> Iterator[bytes]:
    if lob.doubt:
        warned(lob.doubt)
    proving = Proving(lob, _cell(package, given)) if verify else None
    for part in lob.parts:
        with package.index.files.opened_part(lob.id, part) as medium:
            blocks = _part_blocks(lob.id, part, medium)
            yield from blocks if proving is None else proving.pass_on(part, blocks)
    if proving is not None:
        proving.end()
        if not proving.is_proven:
            warned(f"LOB {lob.id}: neither METS nor its cell gives a digest of it: {_BARE}")


def _cell(package: Package, lob: str) -> LobCell | None:
    try:
        return cell_of(package, lob)
    except SourceError as error:
        raise SourceError(
            f"LOB {lob} cannot be verified by its cell: {error.message}", hint=_BY_METS
        ) from None


def _part_blocks(lob: str, part: HeldPart, medium: Medium | Inflated) -> Iterator[bytes]:
    """Yield a part's bytes; raises ``SourceError`` unless they are as many as METS states."""
    left = part.size
    with _explained(lob, part):
        for block in medium.chunks():
            left -= len(block)
            yield block
    if left:
        raise SourceError(f"{part.about(lob)} was cut while it was read", hint=ANOTHER)
