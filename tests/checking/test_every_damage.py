"""Every single damage to the sample package is found: a byte changed, a file gone, renamed or swapped.

The suite takes a seeded sample of the bytes; ``just damage`` takes every byte of every METS and manifest.
"""

from __future__ import annotations

import itertools
import os
import random
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from metspack.checking import Level, check
from tests.checking.damages import agreeing, changed, is_found, place, swapped
from tests.conftest import CHECKOUT
from tests.laws import spread
from tests.tables import tables_of

GOLDEN = CHECKOUT / "samples/northwind/golden/Northwind"
FILES = sorted(path.relative_to(GOLDEN).as_posix() for path in GOLDEN.rglob("*") if path.is_file())
METS = [name for name in FILES if name.endswith("mets.xml")]
MANIFESTS = [name for name in FILES if name.startswith("manifest-")]
LOBS = [name for name in FILES if name.endswith(".bin")]
ARCHIVE = "Northwind.siard"
EVERY = "METSPACK_EVERY_BYTE" in os.environ
SLICES = 4 if EVERY else 2  # so that processors share the work

SAYS_NOTHING: dict[str, str] = tables_of(__file__)["says_nothing"]
"""Values of METS that only it has, and why a change of them needs no finding."""


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return Path(shutil.copytree(GOLDEN, tmp_path_factory.mktemp("damage") / "Northwind"))


def damages(name: str, part: int, sampled: int, *, masks: tuple[int, ...]) -> Iterator[tuple[int, int]]:
    """Yield places and masks in a slice of a file: all of them on demand, else a seeded few."""
    places = range(part, (GOLDEN / name).stat().st_size, SLICES)
    if EVERY and name not in (*LOBS, ARCHIVE):
        yield from itertools.product(places, masks)
        return
    chance = random.Random(f"{name} {part}")  # noqa: S311 -- a sample, not a secret
    for at in chance.sample(places, min(len(places), sampled * (20 if EVERY else 1))):
        yield at, chance.choice(masks)


FEW = (0x01, 0x20, 0xFF)  # the last bit, the letter's case, all bits
BITS = (*(1 << bit for bit in range(8)), 0xFF)


@pytest.mark.slow
@pytest.mark.parametrize("part", range(SLICES))
@pytest.mark.parametrize("name", METS + MANIFESTS)
def test_every_changed_byte_of_what_describes_the_package_is_found(
    package: Path, name: str, part: int
) -> None:
    missed = []
    # A manifest is read letter by letter; what a METS becomes, its digest tells whatever it is.
    for at, mask in damages(name, part, 8, masks=BITS if name in MANIFESTS else FEW):
        with changed(package / name, at, mask):
            if not is_found(package):
                missed.append((at, mask))
    assert missed == []


@pytest.mark.slow
@pytest.mark.parametrize("part", range(SLICES))
@pytest.mark.parametrize("name", METS)
def test_with_all_digests_computed_anew_only_what_says_nothing_goes_unseen(
    package: Path, name: str, part: int
) -> None:
    document = (package / name).read_bytes()
    missed = {}
    for at, mask in damages(name, part, 4, masks=FEW):
        with changed(package / name, at, mask), agreeing(package, package / name):
            if not is_found(package):
                missed[at, mask] = place(document, at)
    assert set(missed.values()) <= SAYS_NOTHING.keys(), missed


@pytest.mark.parametrize("name", [*spread(LOBS, 4), ARCHIVE])
def test_every_changed_byte_of_lobs_and_archive_is_found(package: Path, name: str) -> None:
    for at, mask in damages(name, 0, 1, masks=BITS):
        with changed(package / name, at, mask):
            assert is_found(package), (at, mask)


@pytest.mark.parametrize("name", spread(LOBS, 3))
def test_a_changed_lob_is_found_by_its_cell_when_all_digests_are_computed_anew(
    package: Path, name: str
) -> None:
    for at, mask in damages(name, 1, 1, masks=BITS):
        with changed(package / name, at, mask), agreeing(package, package / name):
            assert {each.code for each in check(package)} == {"Z015"}, (at, mask)


@pytest.mark.slow
@pytest.mark.parametrize("name", spread(FILES, 2))
def test_every_file_that_is_gone_or_renamed_or_cut_or_longer_is_found(package: Path, name: str) -> None:
    path, aside = package / name, package.parent / "aside"
    path.rename(aside)
    try:
        assert is_found(package, Level.STRUCTURE)
        for other in (f"{path.name}x", path.name.swapcase(), f"_{path.name}", path.name[:-1]):
            aside.rename(path.with_name(other))
            found = is_found(package, Level.STRUCTURE)
            path.with_name(other).rename(aside)
            assert found, other
        data = aside.read_bytes()
        for damaged in (b"", data[:-1], data[1:], data + b"\n", data + data[-1:]):
            path.write_bytes(damaged)
            assert is_found(package, Level.STRUCTURE), len(damaged)
    finally:
        aside.replace(path)


@pytest.mark.slow
@pytest.mark.parametrize("name", FILES)
def test_every_two_files_that_are_swapped_are_found(package: Path, name: str) -> None:
    for other in FILES[FILES.index(name) + 1 :]:
        with swapped(package / name, package / other):
            assert is_found(package), other


def test_the_package_is_as_it_was(package: Path) -> None:
    """The package is unchanged after these tests."""
    assert list(check(package)) == []
    assert all((package / name).read_bytes() == (GOLDEN / name).read_bytes() for name in FILES)
