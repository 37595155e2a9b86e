"""Proofs of a LOB's bytes: compared in one pass with the digests of its parts, the whole and its cells."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from metspack.digests import OCTETS, Hashers
from metspack.model import Digest, LobCell
from metspack.packages.lobs import Disagreement, HeldLob, HeldPart
from metspack.sizes import TextLength

_BY_METS, _BY_CELLS = "METS", "cells"


class Proving:
    """Proves a LOB's bytes part by part, yielding the digests and lengths that disagree.

    Calls: ``begin``, then for each part ``update`` with its blocks and ``end_part``, then ``end``;
    ``is_proven`` is then whether all digests that METS gives agree, or all that the cells give.
    """

    def __init__(self, lob: HeldLob, cells: Sequence[LobCell]) -> None:
        self._lob = lob
        self._cells = cells
        self._agrees: dict[str, bool] = {}
        self._claims: list[tuple[str, str, Digest]] = []
        if lob.is_split and lob.digest is not None:
            self._claims.append((_BY_METS, f"the whole ({lob.source})", lob.digest))
        for cell in cells:
            if cell.digest is not None:
                source = f"its cell {cell.place.id} in the SIARD"
                self._claims.append((_BY_CELLS, source, cell.digest))
        algorithms = [digest.algorithm for _by, _source, digest in self._claims]
        if not lob.is_split:
            algorithms += [part.digest.algorithm for part in lob.parts if part.digest is not None]
        self._whole = Hashers(dict.fromkeys(each for each in algorithms if each in OCTETS))
        self._part = self._whole if not lob.is_split else None
        self._at = 0
        undecided = any(cell.length is not None and cell.length != lob.size for cell in cells)
        self._lengths = TextLength() if undecided else None

    @property
    def is_proven(self) -> bool:
        """Whether a digest proved the LOB: all that METS gives agree, or all that the cells give."""
        return any(self._agrees.values())

    def _note(self, by: str, *, agrees: bool) -> bool:
        self._agrees[by] = agrees and self._agrees.get(by, True)
        return agrees

    def begin(self) -> Iterator[Disagreement]:
        """Yield the digests that cannot be compared, because Python does not know their algorithm."""
        said = [(f"{part.name} ({part.source})", part.digest, part.id) for part in self._lob.parts]
        if self._lob.is_split:
            said.append((f"the whole ({self._lob.source})", self._lob.digest, ""))
        for source, digest, part in said:
            if digest is not None and digest.algorithm not in OCTETS:
                yield self._disagreement(
                    part,
                    f"{source} cannot be verified, its CHECKSUMTYPE is not known",
                    " or ".join(OCTETS),
                    digest.algorithm,
                )

    def update(self, block: bytes) -> None:
        """Take the next bytes of the part that is under way."""
        if self._part is None:
            digest = self._lob.parts[self._at].digest
            known = digest is not None and digest.algorithm in OCTETS
            self._part = Hashers([digest.algorithm] if known and digest is not None else ())
        self._part.update(block)
        if self._part is not self._whole:
            self._whole.update(block)
        if self._lengths is not None:
            self._lengths.update(block)

    def end_part(self, part: HeldPart) -> Iterator[Disagreement]:
        """Yield the digest of a part whose last block was taken, where it disagrees."""
        if self._part is None:
            self.update(b"")
        hashers = self._part
        if self._lob.is_split:
            self._part = None
            self._at += 1
        digest = part.digest
        if hashers is None or digest is None or digest.algorithm not in OCTETS:
            # A part that nothing is known of is proven by the whole, if at all.
            if not self._lob.is_split or self._lob.digest is None:
                self._note(_BY_METS, agrees=False)
            return
        found = hashers.digest(digest.algorithm)
        if not self._note(_BY_METS, agrees=found == digest):
            what = f"{part.name} has another {digest.algorithm} than {part.source} says"
            yield self._disagreement(part.id, what, digest.value, found.value)

    def end(self) -> Iterator[Disagreement]:
        """Yield the digests and lengths that disagree with the whole LOB, after its last part."""
        for by, source, digest in self._claims:
            if digest.algorithm not in OCTETS:
                self._note(by, agrees=False)
            elif not self._note(by, agrees=self._whole.digest(digest.algorithm) == digest):
                found = self._whole.digest(digest.algorithm).value
                what = f"all its bytes have another {digest.algorithm} than {source} says"
                yield self._disagreement("", what, digest.value, found)
        for cell in self._cells:
            lengths = self._lengths
            if cell.length is None:
                continue
            fits = cell.length == self._whole.size or bool(lengths and lengths.unit(cell.length))
            if not fits:
                found = f"{self._whole.size:,} bytes" if lengths is None else str(lengths)
                what = f"it has another length than its cell {cell.place.id} in the SIARD says"
                yield self._disagreement("", what, f"{cell.length:,}", found)

    def _disagreement(self, part: str, what: str, expected: str, found: str) -> Disagreement:
        named = "" if part == self._lob.id else part
        return Disagreement(lob=self._lob.id, part=named, what=what, expected=expected, found=found)


class CellProving:
    """Proves the bytes of a LOB in the archive, yielding its cell's digest and length where they disagree.

    ``what`` names the bytes, for people. Calls: ``update`` with each block, then ``end``.
    """

    def __init__(self, cell: LobCell, what: str) -> None:
        self._cell = cell
        self._what = what
        self._hashers = Hashers(() if cell.digest is None else (cell.digest.algorithm,))
        self._lengths = TextLength()

    def update(self, block: bytes) -> None:
        """Take the next bytes."""
        self._hashers.update(block)
        self._lengths.update(block)

    def end(self) -> Iterator[Disagreement]:
        """Yield digest and length where they disagree, after the last block."""
        digest, length = self._cell.digest, self._cell.length
        if digest is not None:
            found = self._hashers.digest(digest.algorithm)
            if found != digest:
                yield self._disagreement(f"another {digest.algorithm}", digest.value, found.value)
        if length is not None and self._lengths.unit(length) is None:
            yield self._disagreement("another length", f"{length:,}", str(self._lengths))

    def _disagreement(self, what: str, expected: str, found: str) -> Disagreement:
        what = f"{self._what} has {what} than its cell says"
        return Disagreement(lob=self._cell.place.id, part="", what=what, expected=expected, found=found)
