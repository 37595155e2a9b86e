"""What proves a LOB, and what does not."""

from __future__ import annotations

import pytest

from metspack.model import Digest, LobCell, LobPlace
from metspack.packages.lobs import HeldLob, HeldPart
from metspack.packages.proofs import CellProving, Proving
from tests.packages import forge

PIECES = (b"one", b"", b"three")
DATA = b"".join(PIECES)
BAD = Digest(algorithm="MD5", value="0" * 32)
TIGER = Digest(algorithm="TIGER", value="0" * 48)


def right(data: bytes) -> Digest:
    return Digest(algorithm="MD5", value=forge.md5(data))


def part(number: int | None, data: bytes, digest: Digest | None) -> HeldPart:
    return HeldPart(
        id="x" if number is None else f"x.p{number}",
        seq=None if number is None else str(number),
        path=("f", str(number)),
        size=len(data),
        digest=digest,
        media_type=None,
        mets="mets.xml",
        line=1,
        segment="s",
    )


def lob(*parts: HeldPart, whole: Digest | None) -> HeldLob:
    size = sum(each.size for each in parts)
    return HeldLob(id="x", parts=parts, size=size, digest=whole, media_type=None, source="mets.xml line 2")


def cell(digest: Digest | None = None, length: int | None = None) -> LobCell:
    return LobCell(
        place=LobPlace(schema=0, table=0, cell="c1", row=1), file="x", length=length, digest=digest
    )


def proven(it: HeldLob, pieces: tuple[bytes, ...], *cells: LobCell) -> tuple[bool, int]:
    """Return whether a digest proved a LOB, and how much disagreed."""
    proving = Proving(it, cells)
    disagreements = list(proving.begin())
    for each, piece in zip(it.parts, pieces, strict=True):
        if piece:
            proving.update(piece)
        disagreements += proving.end_part(each)
    disagreements += proving.end()
    return proving.is_proven, len(disagreements)


@pytest.mark.parametrize(
    ("digests", "whole", "is_proven", "disagreements"),
    [
        ([right(each) for each in PIECES], right(DATA), True, 0),
        ([right(each) for each in PIECES], None, True, 0),
        ([None, None, None], right(DATA), True, 0),
        ([right(b"one"), None, None], right(DATA), True, 0),
        ([right(b"one"), None, right(b"three")], None, False, 0),
        ([None, None, None], None, False, 0),
        ([right(each) for each in PIECES], BAD, False, 1),
        ([right(b"one"), BAD, right(b"three")], right(DATA), False, 1),
        ([BAD, right(b""), right(b"three")], None, False, 1),
        ([right(each) for each in PIECES], TIGER, False, 1),
        ([TIGER, right(b""), right(b"three")], None, False, 1),
        ([TIGER, None, None], right(DATA), True, 1),
    ],
)
def test_a_split_lob_is_proven_by_all_of_its_parts_or_the_whole(
    digests: list[Digest | None], whole: Digest | None, is_proven: bool, disagreements: int
) -> None:
    parts = (part(n, *each) for n, each in enumerate(zip(PIECES, digests, strict=True)))
    assert proven(lob(*parts, whole=whole), PIECES) == (is_proven, disagreements)


@pytest.mark.parametrize(
    ("digest", "is_proven", "disagreements"),
    [(right(DATA), True, 0), (None, False, 0), (BAD, False, 1), (TIGER, False, 1)],
)
def test_a_whole_one_is_proven_by_its_digest(
    digest: Digest | None, is_proven: bool, disagreements: int
) -> None:
    assert proven(lob(part(None, DATA, digest), whole=digest), (DATA,)) == (is_proven, disagreements)


@pytest.mark.parametrize(
    ("cells", "is_proven", "disagreements"),
    [
        ([cell(right(DATA), len(DATA))], True, 0),
        ([cell(right(DATA))], True, 0),
        ([cell(BAD, len(DATA))], False, 1),
        ([cell(right(DATA), 1)], True, 1),
        ([cell(right(DATA)), cell(BAD)], False, 1),
        ([cell(BAD), cell(right(DATA))], False, 1),
        ([cell(right(DATA)), cell()], True, 0),
        ([cell()], False, 0),
        ([], False, 0),
    ],
)
def test_cells_prove_when_all_of_them_agree(
    cells: list[LobCell], is_proven: bool, disagreements: int
) -> None:
    assert proven(lob(part(None, DATA, None), whole=None), (DATA,), *cells) == (is_proven, disagreements)


@pytest.mark.parametrize(
    ("said", "disagreements"),
    [
        (cell(right("größer".encode()), 6), 0),
        (cell(BAD, 8), 1),
        (cell(None, 7), 1),
        (cell(), 0),
    ],
)
def test_a_lob_in_the_archive_is_proven_by_its_cell(said: LobCell, disagreements: int) -> None:
    proving = CellProving(said, "the entry x")
    proving.update("größer".encode())
    found = list(proving.end())
    assert len(found) == disagreements
    assert all(each.message.startswith("LOB s0.t0.c1.r1: the entry x has another ") for each in found)
