"""Proofs of a LOB's bytes: compared in one pass with the digests of its parts, the whole and its cells."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from enum import Enum, unique

from metspack.digests import OCTETS, Hashers
from metspack.model import Digest, LobCell
from metspack.packages.lobs import Disagreement, HeldLob, HeldPart
from metspack.sizes import TextLength


@unique
class Evidence(Enum):
    """Kinds of evidence that a LOB's bytes are right; ``CRC`` is that of its entry in the archive."""

    METS_DIGEST = "METS digest"
    CELL_DIGEST = "cell digest"
    CELL_LENGTH = "cell length"
    CRC = "CRC-32 in the archive"


class Proving:
    """Proves a LOB's bytes part by part, yielding the digests and lengths that disagree.

    Calls: ``begin``, then for each part ``update`` with its blocks and ``end_part``, then ``end``;
    ``evidence`` is then what all of them agree with.
    """

    def __init__(self, lob: HeldLob, cells: Sequence[LobCell]) -> None:
        self._lob = lob
        self._cells = cells
        self._evidence: dict[Evidence, bool] = {}
        self._claims: list[tuple[Evidence, str, Digest]] = []
        if lob.is_split and lob.digest is not None:
            self._claims.append((Evidence.METS_DIGEST, f"the whole ({lob.source})", lob.digest))
        for cell in cells:
            if cell.digest is not None:
                source = f"its cell {cell.place.id} in the SIARD"
                self._claims.append((Evidence.CELL_DIGEST, source, cell.digest))
        algorithms = [digest.algorithm for _evidence, _source, digest in self._claims]
        if not lob.is_split:
            algorithms += [part.digest.algorithm for part in lob.parts if part.digest is not None]
        self._whole = Hashers(dict.fromkeys(each for each in algorithms if each in OCTETS))
        self._part = self._whole if not lob.is_split else None
        self._at = 0
        undecided = any(cell.length is not None and cell.length != lob.size for cell in cells)
        self._lengths = TextLength() if undecided else None

    @property
    def evidence(self) -> frozenset[Evidence]:
        """The kinds of evidence that proved the LOB: all that there is of each agreed."""
        return frozenset(each for each, agrees in self._evidence.items() if agrees)

    def _note(self, evidence: Evidence, *, agrees: bool) -> bool:
        self._evidence[evidence] = agrees and self._evidence.get(evidence, True)
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
                self._note(Evidence.METS_DIGEST, agrees=False)
            return
        found = hashers.digest(digest.algorithm)
        if not self._note(Evidence.METS_DIGEST, agrees=found == digest):
            what = f"{part.name} has another {digest.algorithm} than {part.source} says"
            yield self._disagreement(part.id, what, digest.value, found.value)

    def end(self) -> Iterator[Disagreement]:
        """Yield the digests and lengths that disagree with the whole LOB, after its last part."""
        for evidence, source, digest in self._claims:
            if digest.algorithm not in OCTETS:
                self._note(evidence, agrees=False)
            elif not self._note(evidence, agrees=self._whole.digest(digest.algorithm) == digest):
                found = self._whole.digest(digest.algorithm).value
                what = f"all its bytes have another {digest.algorithm} than {source} says"
                yield self._disagreement("", what, digest.value, found)
        for cell in self._cells:
            lengths = self._lengths
            if cell.length is None:
                continue
            fits = cell.length == self._whole.size or bool(lengths and lengths.unit(cell.length))
            if not self._note(Evidence.CELL_LENGTH, agrees=fits):
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
        self.evidence: set[Evidence] = set()

    def update(self, block: bytes) -> None:
        """Take the next bytes."""
        self._hashers.update(block)
        self._lengths.update(block)

    def end(self) -> Iterator[Disagreement]:
        """Yield digest and length where they disagree, after the last block."""
        digest, length = self._cell.digest, self._cell.length
        if digest is not None:
            found = self._hashers.digest(digest.algorithm)
            if found == digest:
                self.evidence.add(Evidence.CELL_DIGEST)
            else:
                yield self._disagreement(f"another {digest.algorithm}", digest.value, found.value)
        if length is not None:
            if self._lengths.unit(length) is not None:
                self.evidence.add(Evidence.CELL_LENGTH)
            else:
                yield self._disagreement("another length", f"{length:,}", str(self._lengths))

    def _disagreement(self, what: str, expected: str, found: str) -> Disagreement:
        what = f"{self._what} has {what} than its cell says"
        return Disagreement(lob=self._cell.place.id, part="", what=what, expected=expected, found=found)
