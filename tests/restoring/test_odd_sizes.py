"""LOBs that are named like parts of others, and all given back."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from pathlib import Path

import pytest

from metspack import checking
from metspack.building import build
from metspack.building.build import BuildOptions
from metspack.layouts import LAYOUTS
from metspack.model import Limits, Severity
from metspack.restoring.dryrun import DryRun
from metspack.restoring.files import restore_files
from metspack.restoring.siard import restore_archive
from metspack.sources.archive import Archive
from metspack.sources.lobstream import OpenHoldings
from tests import siards
from tests.laws import spread
from tests.trees import tree

OPTIONS = BuildOptions(created="2020-01-01T00:00:00Z", limits=Limits(bytes=50))


def contents(siard: Path) -> list[bytes]:
    with Archive(siard) as archive:
        found = list(archive.lobs())
        with OpenHoldings(archive.holdings()) as shelf:
            return [b"".join(b"".join(shelf.contents(each, "")) for each in lob.extents) for lob in found]


def check_it_comes_back(package: Path, expected: list[bytes], options: BuildOptions) -> None:
    """Check a package by all that reads it, and that what is given back makes the same package again."""
    assert [each.code for each in checking.check(package) if each.severity is not Severity.INFO] == []
    assert [each.message for each in DryRun(package)] == []
    beside = package.parent
    restore_files(package, beside / "files")
    lobs = beside / "files" / "content" / "schema0" / "table0" / "lob2"
    assert [(lobs / f"record{row}.bin").read_bytes() for row in range(len(expected))] == expected
    restore_archive(package, beside / "Back.siard")
    assert contents(beside / "Back.siard") == expected
    build.build(beside / "Back.siard", beside / "again", replace(options, name="Small"))
    assert tree(beside / "again") == tree(package)


@pytest.mark.parametrize(
    ("named", "inside", "layout"),
    spread(
        product(
            [
                ("x.bin.z",),
                ("x.bin_part001",),
                ("x.bin", "x.bin.z", "x.bin.0"),
                ("x.bin_part002", "x.bin", "x.bin_part001"),
                ("record1.bin.0", "record0.bin.z", "record0.bin"),
            ],
            [True, False],
            sorted(LAYOUTS),
        ),
        4,
    ),
)
def test_lobs_that_are_named_like_parts_are_lobs(
    named: tuple[str, ...], layout: str, tmp_path: Path, *, inside: bool
) -> None:
    expected = [b"a LOB of its own, number %d, long enough to be cut into parts" % each for each in range(3)]
    expected = expected[: len(named)]
    folder = "content/schema0/table0/lob2" if inside else "../lobs"
    given = [
        siards.Lob(data=data, file=f"{folder}/{name}", entry="" if inside else None)
        for name, data in zip(named, expected, strict=True)
    ]
    if not inside:
        (tmp_path / "lobs").mkdir()
        for name, data in zip(named, expected, strict=True):
            (tmp_path / "lobs" / name).write_bytes(data)
    source = siards.packed(tmp_path / "Small.siard", siards.parts(given))
    options = replace(OPTIONS, layout=layout, limits=Limits(bytes=40))
    assert build.build(source, tmp_path / "package", options).split == len(named)
    check_it_comes_back(tmp_path / "package", expected, options)
