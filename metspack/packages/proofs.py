"""Proofs of a LOB's bytes: one pass compares the digests of its parts, the whole and its cell."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from metspack.digests import OCTETS, Hashers
from metspack.errors import SourceError
from metspack.model import LobCell
from metspack.packages.lobs import Disagreement, HeldLob, HeldPart
from metspack.sizes import TextLength

_ANOTHER = "Get the file from another copy of the package; metspack check shows what else is wrong with it."
_UNVERIFIED = "To read it all the same, ask for it unverified (--no-verify)."


class Proving:
    """Proves a LOB's bytes part by part; raises ``SourceError`` where digest or length disagree.

    Calls: ``passing`` for each part, then ``end``. ``is_proven``: there is a digest of the whole, of every
    part, or in the cell. Raises ``SourceError`` at once for digests in METS by an algorithm that cannot be
    computed.
    """

    def __init__(self, lob: HeldLob, cell: LobCell | None) -> None:
        said = [(f"{part.name} ({part.source})", part.digest, part.id) for part in lob.parts]
        whole = (f"the whole ({lob.source})", lob.digest, "")
        for source, digest, part in (*said, whole) if lob.is_split else said:
            if digest is not None and digest.algorithm not in OCTETS:
                what = f"{source} cannot be verified, its CHECKSUMTYPE is not known"
                raise _unlike(lob, part, what, " or ".join(OCTETS), digest.algorithm, _UNVERIFIED)
        self._lob = lob
        own = None if cell is None else cell.digest
        algorithms = [each.algorithm for each in (lob.digest, own) if each is not None]
        self._whole = Hashers(dict.fromkeys(algorithms))
        self._cell = None if cell is None else CellProving(cell, self._whole, lob.size)
        self.is_proven = any((lob.digest, own)) or all(digest for _, digest, _ in said)

    def passing(self, part: HeldPart, blocks: Iterable[bytes]) -> Iterator[bytes]:
        """Yield the bytes of a part; raises after the last of them."""
        digest = part.digest
        own = Hashers(() if digest is None else (digest.algorithm,)) if self._lob.is_split else self._whole
        takers = [self._whole, own] if self._lob.is_split else [self._whole]
        for block in blocks:
            for each in takers:
                each.update(block)
            if self._cell is not None:
                self._cell.update(block)
            yield block
        if digest is not None and (found := own.digest(digest.algorithm)) != digest:
            what = f"{part.name} has another {digest.algorithm} than {part.source} says"
            raise _unlike(self._lob, part.id, what, digest.value, found.value)

    def end(self) -> None:
        """Compare the whole LOB, after its last part."""
        digest = self._lob.digest
        if digest is not None and (found := self._whole.digest(digest.algorithm)) != digest:
            what = f"all its bytes have another {digest.algorithm} than the whole ({self._lob.source}) says"
            raise _unlike(self._lob, "", what, digest.value, found.value)
        if self._cell is not None:
            self._cell.end("all its bytes have", _ANOTHER)


class CellProving:
    """Proves a LOB by its cell, from ``hashers`` that have taken all its bytes by the end.

    ``size`` is the LOB's in bytes; when the cell has the same length, the characters are not counted.
    """

    def __init__(self, cell: LobCell, hashers: Hashers, size: int | None = None) -> None:
        self._cell = cell
        self._hashers = hashers
        self._lengths = None if cell.length in {None, size} else TextLength()

    def update(self, block: bytes) -> None:
        """Take the next bytes, to count their length."""
        if self._lengths is not None:
            self._lengths.update(block)

    def end(self, what: str, hint: str) -> None:
        """Raise ``SourceError`` if digest or length disagree; call it after the last block.

        ``what`` begins the message.
        """
        cell, digest = self._cell, self._cell.digest
        wrong: list[tuple[str, str, str]] = []
        if digest is not None and (found := self._hashers.digest(digest.algorithm)) != digest:
            wrong.append((digest.algorithm, digest.value, found.value))
        lengths = self._lengths
        if lengths is not None and cell.length is not None and lengths.unit(cell.length) is None:
            wrong.append(("length", f"{cell.length:,}", str(lengths)))
        for which, expected, other in wrong:
            what = f"{what} another {which} than its cell {cell.place.id} in the SIARD says"
            said = Disagreement(lob=cell.place.id, part="", what=what, expected=expected, found=other)
            raise SourceError(said.message, hint=hint)


def _unlike(  # noqa: PLR0917 -- what a disagreement has
    lob: HeldLob, part: str, what: str, expected: str, found: str, hint: str = _ANOTHER
) -> SourceError:
    named = "" if part == lob.id else part
    said = Disagreement(lob=lob.id, part=named, what=what, expected=expected, found=found)
    return SourceError(said.message, hint=hint)
