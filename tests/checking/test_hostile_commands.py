"""The work of commands other than check is no product of two parts of their input either."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from metspack.packages import listing
from metspack.packages.package import Package
from metspack.restoring.dryrun import DryRun
from metspack.restoring.files import RestoreOptions
from metspack.restoring.shards import reading
from tests.checking.test_hostile_products import (
    FOUR,
    STEEP,
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


@pytest.mark.parametrize(
    "make",
    [
        divisions_that_name_one_child,
        children_that_are_missing,
        damaged_children_of_a_parent_with_a_map,
        children_that_locate_one_file,
    ],
    ids=lambda make: make.__name__,
)
def test_four_times_as_many_children_are_read_in_about_four_times_as_many_steps(
    tmp_path: Path, make: Make, steps: list[int]
) -> None:
    def read(folder: Path) -> None:
        with Package(folder) as package:
            assert package.faults

    check_steps(tmp_path, make, read, steps)


def archives_that_are_missing_beside_cells(folder: Path, size: int) -> None:
    own = archive(folder, size, said=of_one_lob, lobs=(_EACH.format(0),))
    others = (listed(f"a{n}", f"a{n}.siard") for n in range(size))
    mets(folder, (own, listed("f", _EACH.format(0)), *others))


def cells_and_files_of_one_path_in_the_parent(folder: Path, size: int) -> None:
    own = archive(folder, size, said=of_one_lob, lobs=(_EACH.format(0),))
    child(folder / "y", "y")
    files = (listed(f"f{n}", _EACH.format(0)) for n in range(size))
    mets(folder, (own, listed("y", "y/mets.xml"), *files), structmap((mptr("y"),)))


def cells_of_two_files_and_files_of_their_ids(folder: Path, size: int) -> None:
    lobs = [_EACH.format(n) for n in range(2)]
    own = archive(folder, size, said=lambda n: of_one_lob(n).replace(lobs[0], lobs[n % 2]), lobs=lobs)
    mets(folder, (own, *(listed(f"f{n % 2}", _EACH.format(n)) for n in range(size))))


@pytest.mark.parametrize(
    "make",
    [
        cells_and_files_of_one_path_in_the_parent,
        cells_of_two_files_and_files_of_their_ids,
    ],
    ids=lambda make: make.__name__,
)
def test_four_times_as_many_cells_are_listed_in_about_four_times_as_many_steps(
    tmp_path: Path, make: Make, steps: list[int]
) -> None:
    def list_all(folder: Path) -> None:
        with Package(folder) as package:
            assert list(listing.LobListing(package))

    check_steps(tmp_path, make, list_all, steps)


@pytest.mark.parametrize(
    "make",
    [
        archives_that_are_missing_beside_cells,
        cells_and_files_of_one_path_in_the_parent,
        cells_of_two_files_and_files_of_their_ids,
    ],
    ids=lambda make: make.__name__,
)
def test_four_times_as_many_cells_are_proven_in_about_four_times_as_many_steps(
    tmp_path: Path, make: Make, steps: list[int]
) -> None:
    def prove(folder: Path) -> None:
        assert list(DryRun(folder, RestoreOptions(archive="hostile", jobs=1)))

    check_steps(tmp_path, make, prove, steps)


@pytest.mark.parametrize(
    "text",
    [
        '{"lob": "a}{",\n "files": [\n{"name": "f", "offset": 0,\n"length": 1}\n]\n}\n',
        '{"lob": "\\"{", "unit": "bytes",\n"files": [{"name": "f", "offset": 0, "length": 1}]}\n',
        '\n\n{"lob": "\\\\", "files": [{"name": "f", "offset": 0, "length": 1}]\n\n}',
    ],
)
def test_braces_in_texts_do_not_end_a_shard(tmp_path: Path, text: str) -> None:
    (tmp_path / "f").write_bytes(b"x")
    write(tmp_path / "s.json", (text,))
    assert reading.read_shard(tmp_path / "s.json", root=tmp_path, unit="bytes").size == 1


def check_steps(tmp_path: Path, make: Make, do: Callable[[Path], None], steps: list[int]) -> None:
    counts = []
    for folder, size in sizes(tmp_path):
        make(folder, size)
        steps[0] = 0
        do(folder)
        counts.append(steps[0])
    assert counts[1] <= STEEP * max(counts[0], 100), counts


def sizes(tmp_path: Path) -> Iterator[tuple[Path, int]]:
    for size in (_SIZE, FOUR * _SIZE):
        yield tmp_path / str(size), size
