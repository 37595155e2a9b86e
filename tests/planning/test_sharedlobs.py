from dataclasses import replace

from metspack.model import Digest, FileExtent, LobCell, LobPlace, LobRef
from metspack.planning.sharedlobs import Sharing

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
