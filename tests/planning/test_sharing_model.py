"""``Sharing`` against a table in memory: who shares whose file, and what is told of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metspack.model import (
    Digest,
    Extent,
    FileExtent,
    LobCell,
    LobPlace,
    LobRef,
    LobRun,
    RunShared,
    ZipExtent,
)
from metspack.planning import sharedlobs
from metspack.planning.sharedlobs import Sharing
from tests.laws import law
from tests.planning.lobruns import cells_of

NAMES = ("x", "y", "z1", "z10", "\udcff", "é")
SIZE = 7


class Where(NamedTuple):
    """The place of LOBs' bytes: a zip file, a tar file or a folder, below a root or source."""

    kind: str
    source: int
    path: tuple[str, ...]

    def extent(self, at: int) -> Extent:
        if self.kind == "zip":
            numbers = {"limit": 0, "compressed": 1, "crc": 0, "method": 0, "flags": 0}
            return ZipExtent(name=f"e{at}", offset=at, size=SIZE, archive=self.source, **numbers)
        path, offset = (self.path, at) if self.kind == "tar" else ((*self.path, NAMES[at]), None)
        return FileExtent(
            root=self.source, path=path, size=SIZE, modified=0, inode=0, device=0, offset=offset
        )

    def columns(self, at: Sequence[int]) -> list[list[int] | list[str]]:
        zeros = [0] * len(at)
        if self.kind == "zip":
            return [[f"e{each}" for each in at], list(at), zeros, zeros, zeros, zeros, zeros]
        return [[NAMES[each] for each in at], zeros, zeros, zeros]


Drawn = tuple[Where, str, tuple[bool, str | None, str], int | list[int]]

WHERE = (
    *(Where("zip", 0, ()), Where("zip", 1, ())),
    *(Where("folder", 0, ("a", "b")), Where("folder", 0, ("a",)), Where("folder", 1, ("a",))),
    *(Where("tar", 0, ("a", "t.tar")), Where("tar", 0, ("u.tar",)), Where("tar", 1, ("u.tar",))),
)
STATEMENTS = st.tuples(st.booleans(), st.sampled_from([None, "MD5", "SHA-1"]), st.sampled_from(["ab", "cd"]))
AT = st.integers(0, len(NAMES) - 1)
COLUMNS = st.sampled_from(["c4", "c5"])


@st.composite
def founds(draw: st.DrawFn) -> list[Drawn]:
    """LOBs, singly and in runs, in few places with few statements, so that many share bytes."""
    where = st.sampled_from(draw(st.lists(st.sampled_from(WHERE), min_size=1, max_size=4)))
    stated = st.sampled_from(draw(st.lists(STATEMENTS, min_size=1, max_size=2)))
    columns = draw(st.sampled_from([st.just("c4"), COLUMNS]))
    many = st.lists(AT, min_size=1, max_size=4, unique=draw(st.booleans()))
    one = st.tuples(where, columns, stated, AT | many)
    return draw(st.lists(one, max_size=10))


class Cell(NamedTuple):
    """A cell with the bytes that it names, and its statements on them."""

    id: str
    bytes: tuple[Where, int]
    stated: tuple[str, bool, str | None, str]


class Model:
    """A model of cells that come one after the other."""

    def __init__(self, *, shares: bool) -> None:
        self.shares = shares
        self.named: dict[tuple[Where, int], dict[tuple[str, bool, str | None, str], str]] = {}
        self.first: dict[str, str] = {}  # of each cell that shares another's
        self.copies: list[str] = []

    def is_first(self, cell: Cell) -> bool:
        named = self.named.setdefault(cell.bytes, {})
        if self.shares and cell.stated in named:
            self.first[cell.id] = named[cell.stated]
            return False
        if named:
            self.copies.append(cell.id)
        named.setdefault(cell.stated, cell.id)
        return True


def made(drawn: Sequence[Drawn], step: int = 1) -> Iterator[tuple[LobRun, list[Cell]]]:
    """Yield the LOBs that are drawn, alone or together, in every so many rows, and their cells."""
    row = 1
    for where, column, (is_measured, algorithm, value), at in drawn:
        several = [at] if isinstance(at, int) else at
        rows = range(row, row + step * len(several), step)
        row += step * len(several)
        stated = (column, is_measured, algorithm, value if algorithm else "")
        cells = [
            Cell(f"s0.t2.{column}.r{row}", (where, each), stated)
            for row, each in zip(rows, several, strict=True)
        ]
        if isinstance(at, list) and where.kind != "tar":
            run = LobRun(
                shared=RunShared(
                    schema=0,
                    table=2,
                    cell=column,
                    extension="bin",
                    media_type="application/octet-stream",
                    digest=algorithm,
                    is_measured=is_measured,
                    source=where.source,
                    folders=None if where.kind == "zip" else where.path,
                ),
                rows=rows,
                files=["f"] * len(rows),
                sizes=[SIZE] * len(rows),
                digests=[value] * len(rows) if algorithm else (),
                extents=where.columns(several),
            )
            yield run, cells
            continue
        for (number, each), cell in zip(enumerate(several), cells, strict=True):
            place = LobPlace(schema=0, table=2, cell=column, row=rows[number])
            digest = Digest(algorithm=algorithm, value=value) if algorithm else None
            lob = LobRef(
                cell=LobCell(place=place, file="f", length=SIZE if is_measured else None, digest=digest),
                size=SIZE,
                extension="bin",
                media_type="application/octet-stream",
                extents=(where.extent(each),),
            )
            yield LobRun.of([lob]), [cell]


@pytest.fixture(scope="module", autouse=True)
def _little_by_little() -> Iterator[None]:
    """Keep less in memory, which changes the time only."""
    with pytest.MonkeyPatch.context() as patch:
        for name in ("_AT_ONCE", "_HOLDERS"):
            patch.setattr(sharedlobs, name, 2)
        yield


@law(60)
@given(founds(), st.booleans(), st.lists(st.integers(0, 20), max_size=5), st.sampled_from([1, 1, 2]))
def test_cells_share_as_in_the_model(
    drawn: list[Drawn],
    shares: bool,
    some: list[int],
    step: int,
) -> None:
    model = Model(shares=shares)
    cells: list[Cell] = []
    with Sharing(shares=shares) as sharing:
        for found, own in made(drawn, step):
            firsts = [lob.place.id for each in sharing.firsts(found, own[0].stated[0]) for lob in each.lobs()]
            assert firsts == [each.id for each in own if model.is_first(each)]
            cells += own
            assert len(sharing._last) <= sharedlobs._HOLDERS
        assert (sharing.count, sharing.copies) == (len(model.first), len(model.copies))
        assert [sharing.first(each.id) for each in cells] == [model.first.get(each.id) for each in cells]

        words = list(sharing.words())
        assert len(words) == bool(model.first) + bool(model.copies)
        if model.first:
            one, other = next(iter(model.first.items()))
            many = "1 cell" if len(model.first) == 1 else f"{len(model.first)} cells"
            assert words[0] == (
                f"{many} with a LOB that another cell names too: {one} names that of {other}, for example"
            )
        if model.copies:
            many = "1 LOB" if len(model.copies) == 1 else f"{len(model.copies)} LOBs"
            assert words[-1].startswith(f"{many} placed as a separate file, though another cell names the ")
            one, _, other = words[-1].partition(": ")[2].partition(", for")[0].partition(" and ")
            assert one == model.copies[0]
            by_id = {each.id: each for each in cells}
            assert by_id[one].bytes == by_id[other].bytes
            assert cells.index(by_id[other]) < cells.index(by_id[one])

        concerned = {*model.first, *model.first.values()}
        for column in ("c4", "c5"):
            run = cells_of(column, some)
            ids = [f"s0.t2.{column}.r{row}" for row in some]
            assert sharing.firsts_of(run) == [model.first.get(cell) for cell in ids]
            assert sharing.concerns(run) == (not concerned.isdisjoint(ids))
            sharing.store_files(run, [])
        # Files are told of all cells, by those that come together or with digests, and kept of some.
        for number, cell in enumerate(cells):
            if number % 2:
                row = int(cell.id.rpartition("r")[2])
                sharing.store_files(cells_of(cell.stated[0], [0, row]), ["none", f"file{number}"])
            else:
                digest = Digest(algorithm="MD5", value=str(number)) if number % 4 else None
                sharing.store(cell.id, f"file{number}", digest)
        numbers = {cell.id: number for number, cell in enumerate(cells)}
        for first in model.first.values():
            number = numbers[first]
            digest = Digest(algorithm="MD5", value=str(number)) if number % 4 == 2 else None
            assert sharing.stored(first) == (f"file{number}", digest)


def test_cells_of_one_file_in_rows_that_follow_each_other_are_kept_as_one() -> None:
    where = Where("zip", 0, ())
    with Sharing() as sharing:
        for found, _ in made([(where, "c4", (True, None, ""), at) for at in (1, [1, 1, 1], [1, 2, 1, 1])]):
            list(sharing.firsts(found, ""))
        found_again = sharing.firsts_of(cells_of("c4", range(3, 9)))
        assert found_again == [*["s0.t2.c4.r1"] * 3, None, *["s0.t2.c4.r1"] * 2]
        assert not sharing.concerns(cells_of("c4", [6]))
        assert sharing.concerns(cells_of("c4", [6, 7]))
        rows = sharing._database.execute("SELECT row, last FROM again ORDER BY row").fetchall()
        assert rows == [(2, 4), (5, 5), (7, 8)]
