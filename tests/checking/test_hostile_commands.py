"""The work of commands other than check is no product of two parts of their input either."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from metspack.packages import listing
from metspack.packages.package import Package
from metspack.restoring.dryrun import DryRun
from metspack.restoring.files import RestoreOptions
from metspack.restoring.shards import reading
from tests.checking.conftest import Grows
from tests.checking.test_hostile_products import (
    archive,
    child,
    divisions_that_name_one_child,
    divs,
    listed,
    located,
    mets,
    mptr,
    of_one_lob,
    parts,
    structmap,
    write,
)
from tests.tables import tabled

pytestmark = pytest.mark.slow

_SIZE = 200
_EACH = "content/schema0/table0/lob1/record{}.bin"
Make = Callable[[Path, int], None]


def children_that_are_missing(folder: Path, size: int) -> None:
    files = (listed(f"c{n}", f"x{n}/mets.xml") for n in range(size))
    mets(folder, files, structmap(divs(mptr(f"c{n}") for n in range(size))))


def damaged_children_of_a_parent_with_a_map(folder: Path, size: int) -> None:
    for number in range(size):
        write(folder / f"x{number}/mets.xml", ("<mets>",))
    files = (listed(f"c{n}", f"x{n}/mets.xml") for n in range(size))
    maps = [*structmap(divs(mptr(f"c{n}") for n in range(size))), *parts("c", size)]
    mets(folder, files, maps)


def children_that_locate_one_file(folder: Path, size: int) -> None:
    files = []
    for number in range(size):
        own = folder / f"x{number}"
        mets(own, (listed("f", "../y/mets.xml"),), structmap((located("../y/mets.xml"),)), objid=f"c{number}")
        length = (own / "mets.xml").stat().st_size
        files.append(listed(f"c{number}", f"x{number}/mets.xml", size=length, digest="?"))
    mets(folder, files, structmap(divs(mptr(f"c{n}") for n in range(size))))


def archives_that_are_missing_beside_cells(folder: Path, size: int) -> None:
    own = archive(folder, size, stated=of_one_lob, lobs=(_EACH.format(0),))
    others = (listed(f"a{n}", f"a{n}.siard") for n in range(size))
    mets(folder, (own, listed("f", _EACH.format(0)), *others))


def cells_and_files_of_one_path_in_the_parent(folder: Path, size: int) -> None:
    own = archive(folder, size, stated=of_one_lob, lobs=(_EACH.format(0),))
    child(folder / "y", "y")
    files = (listed(f"f{n}", _EACH.format(0)) for n in range(size))
    mets(folder, (own, listed("y", "y/mets.xml"), *files), structmap((mptr("y"),)))


def cells_of_two_files_and_files_of_their_ids(folder: Path, size: int) -> None:
    lobs = [_EACH.format(n) for n in range(2)]
    own = archive(folder, size, stated=lambda n: of_one_lob(n).replace(lobs[0], lobs[n % 2]), lobs=lobs)
    mets(folder, (own, *(listed(f"f{n % 2}", _EACH.format(n)) for n in range(size))))


def read(folder: Path) -> None:
    with Package(folder) as package:
        assert package.faults


def list_all(folder: Path) -> None:
    with Package(folder) as package:
        assert list(listing.LobListing(package))


def prove(folder: Path) -> None:
    assert list(DryRun(folder, RestoreOptions(archive="hostile", jobs=1)))


OF_CHILDREN = (
    *(divisions_that_name_one_child, children_that_are_missing),
    *(damaged_children_of_a_parent_with_a_map, children_that_locate_one_file),
)
OF_CELLS = (cells_and_files_of_one_path_in_the_parent, cells_of_two_files_and_files_of_their_ids)


@pytest.mark.parametrize(
    ("make", "do"),
    [
        *((make, read) for make in OF_CHILDREN),
        *((make, list_all) for make in OF_CELLS),
        *((make, prove) for make in (archives_that_are_missing_beside_cells, *OF_CELLS)),
    ],
    ids=lambda each: each.__name__,
)
def test_four_times_as_much_takes_about_four_times_as_many_steps(
    make: Make, do: Callable[[Path], None], grows_evenly: Grows
) -> None:
    grows_evenly(make, do, _SIZE)


@tabled
def test_braces_in_texts_do_not_end_a_shard(tmp_path: Path, text: str) -> None:
    (tmp_path / "f").write_bytes(b"x")
    write(tmp_path / "s.json", (text,))
    assert reading.read_shard(tmp_path / "s.json", root=tmp_path, unit="bytes").size == 1
