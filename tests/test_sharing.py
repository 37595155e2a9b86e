from metspack.model import Digest, FileExtent, LobCell, LobPlace, LobRef
from metspack.sharing import Sharing

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
        assert sharing.count == 5
        assert sharing.example == ("s0.t0.c1.r1", "s0.t0.c1.r2")


def test_where_none_share_each_is_placed_and_said() -> None:
    with Sharing(shares=False) as sharing:
        assert all(sharing.is_first(lob(row), "") for row in range(1, 4))
        assert sharing.first("s0.t0.c1.r2") is None
        assert sharing.count == 2
        assert sharing.words()
