from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from metspack.model import Digest, FileExtent, LobCell, LobPlace, LobRef, LobRun
from metspack.planning.sharedlobs import Sharing
from tests.planning.lobruns import cells_of, run_of

_LENGTHS = (1, None)


def lob(row: int, *, length: int | None = None, digest: str | None = None) -> LobRef:
    return LobRef(
        cell=LobCell(
            place=LobPlace(schema=0, table=0, cell="c1", row=row),
            file="a.bin",
            length=length,
            digest=None if digest is None else Digest(algorithm="MD5", value=digest),
        ),
        size=1,
        extension="bin",
        media_type="application/octet-stream",
        extents=(FileExtent(root=0, path=("a.bin",), size=1, modified=1, inode=1, device=1),),
    )


def test_each_cell_shares_with_the_first_that_says_the_same() -> None:
    with Sharing() as sharing:
        firsts = [sharing.is_first(lob(row, length=_LENGTHS[row % 2]), "") for row in range(1, 7)]
        assert firsts == [True, True, False, False, False, False]
        assert [sharing.first(f"s0.t0.c1.r{row}") for row in range(1, 7)] == [
            None,
            None,
            "s0.t0.c1.r1",
            "s0.t0.c1.r2",
            "s0.t0.c1.r1",
            "s0.t0.c1.r2",
        ]
        assert (sharing.count, sharing.copies) == (4, 1)
        shared, copied = sharing.words()
        assert shared.startswith("4 cells with a LOB that another cell names too: s0.t0.c1.r3 names that of ")
        assert copied.startswith("1 LOB placed as a separate file, though another cell names the same bytes")
        assert ": s0.t0.c1.r2 and s0.t0.c1.r1, for example; " in copied


def test_cells_that_share_and_those_whose_file_is_shared_are_known_among_others() -> None:
    with Sharing() as sharing:
        for row in (1, 2):
            assert sharing.is_first(lob(row, digest=f"{row}" * 32), "")
        assert not sharing.concerns(cells_of("c1", (1, 2, 3), table=0))
        assert not sharing.is_first(lob(12, digest="1" * 32), "")
        asked = [(1,), (2,), (11, 12), (2, 1), (3, 4, 5)]
        assert [sharing.concerns(cells_of("c1", rows, table=0)) for rows in asked] == [
            True,
            False,
            True,
            True,
            False,
        ]


def test_cells_in_two_containers_share_nothing() -> None:
    with Sharing() as sharing:
        assert [sharing.is_first(lob(row), "ab"[row % 2]) for row in range(1, 5)] == [
            True,
            True,
            False,
            False,
        ]
        assert (sharing.count, sharing.copies) == (2, 1)
        assert sharing.first("s0.t0.c1.r4") == "s0.t0.c1.r2"


def test_of_bytes_that_are_named_once_there_is_nothing_to_say() -> None:
    with Sharing() as sharing:
        assert sharing.is_first(lob(1), "")
        assert list(sharing.words()) == []


def test_where_none_share_each_is_placed_and_said() -> None:
    with Sharing(shares=False) as sharing:
        assert all(sharing.is_first(lob(row), "") for row in range(1, 4))
        assert sharing.first("s0.t0.c1.r2") is None
        assert (sharing.count, sharing.copies) == (0, 2)
        assert len(list(sharing.words())) == 1


RUNS = st.lists(
    st.tuples(
        st.lists(st.integers(0, 12), min_size=1, max_size=6),
        st.sampled_from(["c4", "c5"]),
        st.sampled_from(["", "ab"]),
        st.booleans(),
        st.booleans(),
        st.integers(0, 2),
    ),
    max_size=6,
)


@given(RUNS, st.booleans(), st.booleans())
def test_lobs_that_come_together_are_first_as_one_by_one(
    drawn: list[tuple[list[int], str, str, bool, bool, int]], shares: bool, is_sorted: bool
) -> None:
    runs = []
    for number, (at, cell, value, is_measured, in_files, left_out) in enumerate(drawn):
        places = sorted(set(at)) if is_sorted else at
        last = len(places) + left_out  # so many rows before it have no LOB
        runs.append(
            run_of(
                [100 * number + row for row in (*range(1, len(places)), last)],
                [7] * len(places),
                offsets=places,
                digests=[value] * len(places) if value else (),
                is_measured=is_measured,
                cell=cell,
                names=[f"x{each}" for each in places] if in_files else None,
            )
        )
    with Sharing(shares=shares) as together, Sharing(shares=shares) as alone:
        found: list[str] = []
        for run in runs:
            for each in together.firsts(run, run.shared.cell):
                found += (lob.place.id for lob in (each.lobs() if isinstance(each, LobRun) else (each,)))
        lobs = [(run, lob) for run in runs for lob in run.lobs()]
        assert found == [lob.place.id for run, lob in lobs if alone.is_first(lob, run.shared.cell)]
        assert (together.count, together.copies) == (alone.count, alone.copies)
        assert list(together.words()) == list(alone.words())
        assert all(together.first(lob.place.id) == alone.first(lob.place.id) for _, lob in lobs)


def test_what_lies_in_one_tar_file_at_several_offsets_is_not_shared() -> None:
    first = lob(1)
    (extent,) = first.extents
    assert isinstance(extent, FileExtent)
    packed = [
        replace(lob(row), extents=(replace(extent, offset=offset),))
        for row, offset in enumerate((512, 1024, 512), start=1)
    ]
    with Sharing() as sharing:
        assert [sharing.is_first(each, "") for each in packed] == [True, True, False]
        assert sharing.first("s0.t0.c1.r3") == "s0.t0.c1.r1"
