"""``metspack build`` and ``plan``: how LOBs are divided, cut and left inside."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests import siards
from tests.cli.conftest import Commands
from tests.trees import tree

LONG, SHORT = bytes(range(250)) * 4, b"a short one"


def files(package: Path) -> dict[str, int]:
    """Return the LOB files of a package and their bytes, in the order of their names."""
    described = ("mets.xml", ".siard", "manifest-md5.txt", "manifest-sha256.txt")
    return {
        name: len(data)
        for name, data in tree(package).items()
        if not name.endswith("/") and not name.endswith(described)
    }


@pytest.fixture
def small(tmp_path: Path) -> Path:
    """An archive with a LOB of 1,000 bytes between two of 11."""
    return siards.siard(tmp_path / "Small.siard", SHORT, LONG, SHORT + b"!")


def test_conventions_are_counted_once_though_cells_are_read_twice(
    metspack: Commands, northwind_full: Path, tmp_path: Path
) -> None:
    package = tmp_path / "package"
    metspack.fine("build", northwind_full, "-o", package, "--layout", "siard22", "--lob-folder-style", "sfa")
    source = package / "Northwind-full.siard"
    once = metspack("plan", source).err
    assert " (s0.t8.c14.a): 11 LOBs located by convention H" in once
    assert metspack("plan", source, "--min-size", "10kB").err == once
    assert metspack("build", source, "-o", tmp_path / "out", "--min-size", "10kB").err == once


def test_a_plan_decides_layout_split_and_names(metspack: Commands, small: Path, tmp_path: Path) -> None:
    plan, out = tmp_path / "plan", tmp_path / "out"
    options = ("--layout", "siard22", "--split", "alone", "--max-bytes", "400")
    said = metspack.fine("plan", small, *options, "-o", plan).splitlines()
    assert [line.split()[:3] for line in said[2:-3]] == [
        [f"Small_lobs/s0_t0_c2/seg_{n}", "1", size]
        for n, size in enumerate(("11", "400", "400", "200", "12"))
    ]
    assert said[-3] == f"5 segments, 3 LOBs (1 in 3 parts), 1,023 bytes. The plan is in {plan}."
    metspack.fine("build", small, "-o", out, "--plan", plan)
    assert list(files(out).values()) == [11, 400, 400, 200, 12]
    assert all(name.startswith("Small_lobs/s0_t0_c2/seg_") for name in files(out))


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--external-lobs-per-folder", "2"), "at most 2 files and 4,000,000,000 bytes"),
        (("-elpf", "2", "-elfs", "1"), "at most 2 files and 1,048,576 bytes"),
        (("-eelpf", "2", "-eelfs", "1"), "at most 2 files and 1,048,576 bytes"),
        (
            ("--export-external-lobs-per-folder", "2", "--export-external-lobs-folder-size", "1"),
            "at most 2 files and 1,048,576 bytes",
        ),
        (
            ("--export-lobs-per-folder", "2", "--export-lobs-folder-size", "1"),
            "at most 2 files and 1,048,576 bytes",
        ),
        (("--external-lobs-folder-size", "0"), "at most 100,000 files and any number of bytes"),
    ],
)
def test_dbptks_names_for_limits_are_understood(
    metspack: Commands, small: Path, options: tuple[str, ...], words: str
) -> None:
    assert words in metspack.fine("plan", small, *options).splitlines()[0]


def test_the_files_of_siard_2_2_are_written_on_request(
    metspack: Commands, northwind: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    arguments = (
        "build",
        northwind,
        "-o",
        out,
        "--max-files",
        "4",
        "--write-mapping",
        "file:///srv/",
        "--write-manifest",
    )
    refused = metspack(*arguments)
    assert (refused.code, refused.out) == (2, "")
    assert "not of lobseg" in refused.err
    metspack.fine(*arguments, "--layout", "siard22")
    assert (
        (out / "mapping.txt")
        .read_text(encoding="utf-8")
        .startswith("Northwind_lobs/s0_t2_c4/seg_0/ file:///srv/\n")
    )
    assert len((out / "manifest.txt").read_text(encoding="utf-8").splitlines()) == 8


def test_a_limit_that_looks_like_a_slip_is_told_of_before_the_work(
    metspack: Commands, tmp_path: Path
) -> None:
    larger = siards.siard(tmp_path / "Larger.siard", *(b"%060d" % number for number in range(9)))
    metspack.fine("build", larger, "-o", tmp_path / "out")
    limits = ("--max-bytes", "40", "--max-files", "none")
    said = metspack("convert", tmp_path / "out", "-o", tmp_path / "new", *limits).err.splitlines()
    assert said[0] == (
        "warning: --max-bytes 40 allows 40 bytes in a segment; if 40GB was meant, stop here and write it "
        "with its unit"
    )
    assert any("fewer than two in each" in each for each in said)
