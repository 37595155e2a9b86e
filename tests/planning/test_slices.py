"""A segment's slice of the plan returns the LOBs that were added."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metspack.model import Digest, FileExtent, LobCell, LobPlace, LobRef, LobRun, Part, Proofs, ZipExtent
from metspack.planning import slices
from metspack.sources.archive import in_runs
from tests.laws import law
from tests.planning.lobruns import one_by_one

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
    proofs=st.builds(Proofs, whole=DIGESTS, extents=st.lists(DIGESTS, max_size=3).map(tuple)),
)
WHOLE_PROOFS = st.builds(Proofs, whole=st.builds(Digest, algorithm=TEXTS, value=TEXTS))
PARTS = st.none() | st.builds(Part, number=NUMBERS, offset=NUMBERS, size=NUMBERS, is_last=st.booleans())


@st.composite
def uniform(draw: st.DrawFn) -> list[LobRef]:
    """LOBs that nearly all belong to one run."""
    first = draw(LOBS)
    one = replace(
        first,
        size=min(first.size, 1 << 19),
        extents=first.extents[:1],
        proofs=draw(st.just(Proofs()) | WHOLE_PROOFS),
    )
    made = []
    for row in draw(st.lists(NUMBERS, min_size=1, max_size=6)):
        size = draw(st.integers(0, 1 << 20))
        length = size if one.cell.length is not None else None
        cell = replace(one.cell, place=replace(one.cell.place, row=row), length=length, file=draw(TEXTS))
        if cell.digest is not None:
            cell = replace(cell, digest=replace(cell.digest, value=draw(TEXTS)))
        extent = replace(one.extents[0], size=size)
        made.append(draw(st.just(replace(one, cell=cell, size=size, extents=(extent,))) | LOBS))
    return made


@pytest.mark.slow
@law(40)
@given(st.lists(st.tuples(LOBS, PARTS), max_size=5), uniform())
def test_a_slice_of_the_plan_gives_back_its_lobs_and_parts(
    tmp_path_factory: pytest.TempPathFactory,
    entries: list[tuple[LobRef, Part | None]],
    run: list[LobRef],
) -> None:
    path = slices.path(tmp_path_factory.mktemp("work"), 7)
    with pytest.MonkeyPatch.context() as patch, slices.Slice(path) as written:
        patch.setattr(slices, "STRETCH_FILES", 2)
        parts = (replace(LobRun.of([lob]), part=part) for lob, part in entries)
        given = [*parts, *in_runs(run)]
        for each in given:
            written.add(each)
    assert list(slices.runs(path)) == given
    assert list(one_by_one(given)) == [*(lob for lob, _ in entries), *run]
    stretches = [[*slices.runs(path, each)] for each in slices.stretches(written.cuts)]
    assert [each for some in stretches for each in some] == [*slices.runs(path)]
    assert all(stretches) or not written.cuts
    for first, *_ in stretches[1:]:
        assert not first.is_continued


def test_lobs_with_equal_facts_are_a_run() -> None:
    cell = LobCell(
        place=LobPlace(schema=0, table=1, cell="c2", row=1),
        file="a",
        length=3,
        digest=Digest(algorithm="MD5", value="a"),
    )
    extent = FileExtent(root=0, path=("x", "y"), size=3, modified=1, inode=2, device=3)
    lob = LobRef(cell=cell, size=3, extension="bin", media_type="a/b", extents=(extent,))
    longer = replace(lob, cell=replace(cell, length=2))  # characters
    many = [replace(lob, cell=replace(cell, place=replace(cell.place, row=row))) for row in range(2_500)]
    found = list(in_runs([*many, longer, lob]))
    assert [len(each) for each in found] == [1_000, 1_000, 502]
    assert [list(each.lengths[-3:]) for each in found] == [[], [], [3, 2, 3]]
    assert list(one_by_one(found)) == [*many, longer, lob]
