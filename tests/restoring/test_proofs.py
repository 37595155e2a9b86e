"""Digests that prove a LOB, and others."""

from __future__ import annotations

import pytest

from metspack.errors import SourceError
from metspack.model import Digest, LobCell, LobPlace
from metspack.packages.lobs import HeldLob, HeldPart
from metspack.restoring.joining import Proving
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


def proven(it: HeldLob, pieces: tuple[bytes, ...], stated: LobCell | None = None) -> bool | None:
    """Return whether a digest proved a LOB, None where one disagrees or cannot be compared."""
    try:
        proving = Proving(it, stated)
        for each, piece in zip(it.parts, pieces, strict=True):
            blocks = [piece] if piece else []
            assert list(proving.pass_on(each, blocks)) == blocks
        proving.end()
    except SourceError:
        return None
    return proving.is_proven


@pytest.mark.parametrize(
    ("digests", "whole", "is_proven"),
    [
        ([right(each) for each in PIECES], right(DATA), True),
        ([right(each) for each in PIECES], None, True),
        ([None, None, None], right(DATA), True),
        ([right(b"one"), None, None], right(DATA), True),
        ([right(b"one"), None, right(b"three")], None, False),
        ([None, None, None], None, False),
        ([right(each) for each in PIECES], BAD, None),
        ([right(b"one"), BAD, right(b"three")], right(DATA), None),
        ([BAD, right(b""), right(b"three")], None, None),
        ([right(each) for each in PIECES], TIGER, None),
        ([TIGER, right(b""), right(b"three")], None, None),
        ([TIGER, None, None], right(DATA), None),
    ],
)
def test_a_split_lob_is_proven_by_all_of_its_parts_or_the_whole(
    digests: list[Digest | None], whole: Digest | None, is_proven: bool | None
) -> None:
    parts = (part(n, *each) for n, each in enumerate(zip(PIECES, digests, strict=True)))
    assert proven(lob(*parts, whole=whole), PIECES) == is_proven


@pytest.mark.parametrize(
    ("digest", "is_proven"), [(right(DATA), True), (None, False), (BAD, None), (TIGER, None)]
)
def test_a_whole_one_is_proven_by_its_digest(digest: Digest | None, is_proven: bool | None) -> None:
    assert proven(lob(part(None, DATA, digest), whole=digest), (DATA,)) == is_proven


@pytest.mark.parametrize(
    ("stated", "is_proven"),
    [
        (cell(right(DATA), len(DATA)), True),
        (cell(right(DATA)), True),
        (cell(BAD, len(DATA)), None),
        (cell(right(DATA), 1), None),
        (cell(), False),
        (cell(None, len(DATA)), False),
        (cell(None, 1), None),
        (None, False),
    ],
)
def test_a_cell_proves_when_it_agrees(stated: LobCell | None, is_proven: bool | None) -> None:
    assert proven(lob(part(None, DATA, None), whole=None), (DATA,), stated) == is_proven
