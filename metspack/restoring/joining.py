"""Join a LOB's parts: a seekable file object, and a stream that is proven as it is read."""

from __future__ import annotations

import io
import warnings
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from itertools import accumulate
from pathlib import Path

from metspack.digests import OCTETS
from metspack.errors import ConfigError, SourceError
from metspack.files import reading
from metspack.files.byteranges import Medium, Stamp
from metspack.model import LobCell
from metspack.packages.cells import cell_of
from metspack.packages.files import Inflated, open_part
from metspack.packages.lobs import HeldLob, HeldPart
from metspack.packages.package import Package
from metspack.packages.proofs import Evidence, Proving
from metspack.processes import ThreadedHashers
from metspack.restoring.lobfile import ArchivedLob, LobFile, found
from metspack.sizes import ByteRange

_BUFFER = 1 << 18
_ANOTHER = "Get the file from another copy of the package; metspack check shows what else is wrong with it."
_UNVERIFIED = "To read it all the same, ask for it unverified (--no-verify)."
_BARE = "its bytes could not be verified"
_DIGESTS = {Evidence.METS_DIGEST, Evidence.CELL_DIGEST}
_BY_METS = "--range 0- verifies it by METS alone, and --no-verify writes it unverified."


def opened_part(root: Path, lob: str, part: HeldPart) -> Medium | Inflated:
    """Return the bytes of a part below the package's root.

    Raises ``SourceError`` naming LOB and part when it cannot be opened or has not the size METS says.
    """
    try:
        medium = open_part(root, part)
    except OSError as error:
        raise SourceError(f"{_about(lob, part)} cannot be opened: {error.strerror}", hint=_ANOTHER) from None
    except SourceError as error:
        raise SourceError(f"{_about(lob, part)}: {error.message}", hint=_ANOTHER) from None
    size = medium.size
    if size != part.size:
        medium.close()
        raise SourceError(
            f"{_about(lob, part)} has {size:,} bytes; expected {part.size:,} ({part.source})", hint=_ANOTHER
        )
    return medium


def _about(lob: str, part: HeldPart) -> str:
    return f"LOB {lob}: {part.name}" if part.id == lob else f"LOB {lob}: its part {part.id}, {part.name},"


class JoinedLob(LobFile):
    """A LOB as a read-only, seekable file over its parts; at most one of them is open at a time.

    With ``verify`` each part that is touched is read whole and compared with its METS digest before
    any byte of it is handed out, once unless it changes; a part without digest cannot be. Without,
    only the bytes asked for are read. Reading raises ``SourceError`` for a part that cannot be opened,
    has another size than METS says, or another digest.
    """

    def __init__(self, root: Path, lob: HeldLob, *, verify: bool = True) -> None:
        ends = list(accumulate(part.size for part in lob.parts))
        super().__init__(lob.id, ends[-1])
        self.lob = lob
        self._root = root
        self._verify = verify
        self._starts = [0, *ends[:-1]]
        self._open = -1
        self._medium: Medium | Inflated | None = None
        self._verified: dict[int, tuple[Stamp, ...]] = {}

    def block(self, position: int, size: int) -> bytes:
        """Return bytes from a position up to the end of its part."""
        number = bisect_right(self._starts, position) - 1
        part = self.lob.parts[number]
        offset = position - self._starts[number]
        wanted = min(size, part.size - offset, reading.CHUNK)
        block = self._part(number).pread(wanted, offset)
        if wanted and not block:
            raise SourceError(f"{_about(self.lob.id, part)} was cut while it was read", hint=_ANOTHER)
        return block

    def _part(self, number: int) -> Medium | Inflated:
        """Return the bytes of a part, verified when that was asked for."""
        if number != self._open or self._medium is None:
            self._let_go()
            self._medium = opened_part(self._root, self.lob.id, self.lob.parts[number])
            self._open = number
        # A compressed part is proven by its CRC-32 at least.
        if self._verify and (self.lob.parts[number].digest is not None or isinstance(self._medium, Inflated)):
            self._check(self._medium, number)
        return self._medium

    def _check(self, medium: Medium | Inflated, number: int) -> None:
        stamps = medium.stamped()
        if self._verified.get(number) == stamps:
            return
        try:
            _check_digest(self.lob.id, self.lob.parts[number], medium)
        except BaseException:
            self._let_go()
            raise
        self._verified[number] = stamps

    def _let_go(self) -> None:
        medium, self._medium, self._open = self._medium, None, -1
        if medium is not None:
            medium.close()

    def close(self) -> None:
        """Close what is open."""
        if not self.closed:
            self._let_go()
        super().close()


def _check_digest(lob: str, part: HeldPart, medium: Medium | Inflated) -> None:
    """Raise ``SourceError`` when a part's bytes are not those of its digest in METS, if that gives one."""
    digest = part.digest
    if digest is not None and digest.algorithm not in OCTETS:
        raise SourceError(
            f"{_about(lob, part)} cannot be verified: its CHECKSUMTYPE is {digest.algorithm!r} "
            f"({part.source}); expected one of {', '.join(OCTETS)}",
            hint=_UNVERIFIED,
        )
    hashers = ThreadedHashers([] if digest is None else [digest.algorithm])
    for block in medium.chunks():
        hashers.update(block)
    if digest is not None and (found := hashers.digest(digest.algorithm)) != digest:
        raise SourceError(
            f"{_about(lob, part)} has {digest.algorithm} {found.value}; expected {digest.value} "
            f"({part.source})",
            hint=_ANOTHER,
        )


Warned = Callable[[str], object]
"""Called with each warning about a LOB that can be read all the same."""


def _warn(words: str) -> None:
    warnings.warn(words, stacklevel=4)  # at whoever called the function of the API


def open_lob(package: Package, lob: str, *, verify: bool = True, warned: Warned = _warn) -> io.BufferedReader:
    """Return a LOB as a buffered, seekable, read-only file object; close it, or use it in ``with``.

    It keeps no hold of ``package``, which may be closed before it. Raises ``SourceError`` as
    ``lobfile.found`` does, and reading from it as ``JoinedLob`` and ``ArchivedLob`` have it. ``warned`` is a
    Python warning unless it is given.
    """
    it = found(package, lob, verify=verify)
    raw = it if isinstance(it, ArchivedLob) else _joined(package, it, verify=verify, warned=warned)
    return io.BufferedReader(raw, _BUFFER)


def _joined(package: Package, lob: HeldLob, *, verify: bool, warned: Warned) -> JoinedLob:
    """Return a LOB as a seekable file, after the warnings about it."""
    if lob.doubt:
        warned(lob.doubt)
    bare = [part.name for part in lob.parts if part.digest is None] if verify else []
    if bare:
        warned(f"LOB {lob.id}: METS gives no digest of {bare[0]}{' and others' * (len(bare) > 1)}: {_BARE}")
    return JoinedLob(package.root, lob, verify=verify)


def extracted(
    package: Package,
    lob: str,
    ranges: Sequence[ByteRange] = (),
    *,
    verify: bool = True,
    warned: Warned = _warn,
) -> Iterator[bytes]:
    """Yield a LOB's bytes, or those of the ranges one after the other, in blocks.

    With ``verify`` ranges are read as ``JoinedLob`` does: nothing unproven is yielded. The whole LOB is
    read once and hashed on its way, so bytes are yielded before they are proven: ``SourceError`` is
    raised after the last block of a part whose digest is wrong, and after the last block of all when the
    whole's digest is, or the length or digest in the SIARD's cell. Only an iterator that ended has
    given proven bytes. Raises ``ConfigError`` for a range outside the LOB, before anything is yielded.
    """
    it = found(package, lob, verify=verify)
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
            if not left:  # all of a LOB of 0 bytes: what holds them must be there
                lob.read(1)
            while left:
                block = lob.read(min(left, reading.CHUNK)) or b""
                left -= len(block)
                yield block


def _whole(package: Package, lob: HeldLob, asked: str, *, verify: bool, warned: Warned) -> Iterator[bytes]:
    if lob.doubt:
        warned(lob.doubt)
    proving = None
    if verify:
        proving = Proving(lob, _cells(package, asked))
        for disagreement in proving.begin():
            raise SourceError(disagreement.message, hint=_UNVERIFIED)
    for part in lob.parts:
        with opened_part(package.root, lob.id, part) as medium:
            for block in part_blocks(lob.id, part, medium):
                if proving is not None:
                    proving.update(block)
                yield block
        for disagreement in () if proving is None else proving.end_part(part):
            raise SourceError(disagreement.message, hint=_ANOTHER)
    for disagreement in () if proving is None else proving.end():
        raise SourceError(disagreement.message, hint=_ANOTHER)
    if proving is not None and not proving.evidence & _DIGESTS:
        warned(f"LOB {lob.id}: neither METS nor its cell gives a digest of it: {_BARE}")


def _cells(package: Package, lob: str) -> list[LobCell]:
    try:
        cell = cell_of(package, lob)
    except SourceError as error:
        raise SourceError(
            f"LOB {lob} cannot be verified by its cell: {error.message}", hint=_BY_METS
        ) from None
    return [] if cell is None else [cell]


def part_blocks(lob: str, part: HeldPart, medium: Medium | Inflated) -> Iterator[bytes]:
    """Yield a part's bytes, exactly as many as METS gives; raises ``SourceError`` when it became shorter."""
    left = part.size
    for block in medium.chunks():
        left -= len(block)
        yield block
    if left:
        raise SourceError(f"{_about(lob, part)} was cut while it was read", hint=_ANOTHER)
