"""A segment's slice of the plan gives back what was put into it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metspack.model import Digest, FileExtent, LobCell, LobPlace, LobRef, Part, Proofs, ZipExtent
from metspack.planning import assignment

NUMBERS = st.integers(0, 1 << 60)
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
ENTRIES = st.builds(
    ZipExtent,
    name=TEXTS,
    offset=NUMBERS,
    limit=NUMBERS,
    compressed=NUMBERS,
    size=NUMBERS,
    crc=NUMBERS,
    method=NUMBERS,
    flags=NUMBERS,
    archive=NUMBERS,
)
FILES = st.builds(
    FileExtent,
    root=NUMBERS,
    path=st.lists(TEXTS, min_size=1, max_size=4).map(tuple),
    size=NUMBERS,
    modified=NUMBERS,
    inode=NUMBERS,
    device=NUMBERS,
)
DIGESTS = st.none() | st.builds(Digest, algorithm=TEXTS, value=TEXTS)
LOBS = st.builds(
    LobRef,
    cell=st.builds(
        LobCell,
        place=st.builds(LobPlace, schema=NUMBERS, table=NUMBERS, cell=TEXTS, row=NUMBERS),
        file=TEXTS,
        length=st.none() | NUMBERS,
        digest=DIGESTS,
    ),
    size=NUMBERS,
    extension=TEXTS,
    media_type=TEXTS,
    extents=st.lists(ENTRIES | FILES, min_size=1, max_size=3).map(tuple),
    proofs=st.none() | st.builds(Proofs, whole=DIGESTS, extents=st.lists(DIGESTS, max_size=3).map(tuple)),
)
PARTS = st.none() | st.builds(Part, number=NUMBERS, offset=NUMBERS, size=NUMBERS, is_last=st.booleans())


@given(st.lists(st.tuples(LOBS, PARTS), max_size=5))
def test_a_slice_of_the_plan_gives_back_its_lobs_and_parts(
    tmp_path_factory: pytest.TempPathFactory, entries: list[tuple[LobRef, Part | None]]
) -> None:
    path = assignment.slice_path(tmp_path_factory.mktemp("work"), 7)
    path.write_bytes(b"".join(assignment.slice_line(lob, part) for lob, part in entries))
    assert list(assignment.slice_entries(path)) == entries
