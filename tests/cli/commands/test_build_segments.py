"""``metspack build`` and ``plan``: how LOBs are divided, cut and left inside."""

from __future__ import annotations

import json
import re
import zipfile
from pathlib import Path
from typing import Any

import pytest

from metspack import checking
from metspack.model import Severity
from tests import siards
from tests.cli.conftest import Commands
from tests.trees import tree

CELL = re.compile(r' file="([^"]*)"')
LONG, SHORT = bytes(range(250)) * 4, b"a short one"


def files(package: Path) -> dict[str, int]:
    """Return the LOB files of a package and their bytes, in the order of their names."""
    described = ("mets.xml", ".siard", "manifest-md5.txt", "manifest-sha256.txt")
    return {
        name: len(data)
        for name, data in tree(package).items()
        if not name.endswith("/") and not name.endswith(described)
    }


def cells(siard: Path) -> list[str]:
    with zipfile.ZipFile(siard) as archive:
        return CELL.findall(archive.read(siards.TABLE).decode())


def folders(siard: Path) -> list[str]:
    """Return the lobFolders of the database and of its columns."""
    with zipfile.ZipFile(siard) as archive:
        return re.findall("<lobFolder>([^<]*)</lobFolder>", archive.read(siards.METADATA).decode())


def errors(package: Path) -> list[str]:
    return [each.code for each in checking.check(package) if each.severity is Severity.ERROR]


@pytest.fixture
def small(tmp_path: Path) -> Path:
    """An archive with a LOB of 1,000 bytes between two of 11."""
    return siards.siard(tmp_path / "Small.siard", SHORT, LONG, SHORT + b"!")


COLUMN = "content/schema0/table0/lob2"


def test_a_lob_that_is_too_large_fills_what_is_left_and_the_last_part_stays_open(
    metspack: Commands, small: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    said = metspack.fine("build", small, "-o", out, "--max-bytes", "400")
    assert "with 3 child IPs, 3 LOBs (1 in parts), 1,023 bytes" in said
    assert files(out) == {
        f"Small_lobseg_0/{COLUMN}/record0.bin": 11,
        f"Small_lobseg_0/{COLUMN}/record1.bin.0": 389,
        f"Small_lobseg_1/{COLUMN}/record1.bin.1": 400,
        f"Small_lobseg_2/{COLUMN}/record1.bin.z": 211,
        f"Small_lobseg_2/{COLUMN}/record2.bin": 12,
    }
    assert cells(out / "Small.siard") == [
        f"Small_lobseg_0/{COLUMN}/record0.bin",
        f"Small_lobseg_0/{COLUMN}/record1.bin",
        f"Small_lobseg_2/{COLUMN}/record2.bin",
    ]
    assert not errors(out)


def test_parts_alone_share_their_segments_with_no_other_lob(
    metspack: Commands, small: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    metspack.fine("build", small, "-o", out, "--max-bytes", "400", "--split", "alone")
    assert [int(name[len("Small_lobseg_") :][0]) for name in files(out)] == [0, 1, 2, 3, 4]
    assert list(files(out).values()) == [11, 400, 400, 200, 12]
    assert not errors(out)


def test_siard22_has_segments_for_each_column_and_parts_of_its_own_names(
    metspack: Commands, small: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    said = json.loads(
        metspack.fine("build", small, "-o", out, "--max-bytes", "400", "--layout", "siard22", "--json")
    )
    assert (said["layout"], len(said["children"]), said["lobs"], said["split_lobs"]) == ("siard22", 3, 3, 1)
    assert files(out) == {
        "Small_lobs/s0_t0_c2/seg_0/t0_c2_r1.bin": 11,
        "Small_lobs/s0_t0_c2/seg_0/t0_c2_r2.bin_part001": 389,
        "Small_lobs/s0_t0_c2/seg_1/t0_c2_r2.bin_part002": 400,
        "Small_lobs/s0_t0_c2/seg_2/t0_c2_r2.bin_part003": 211,
        "Small_lobs/s0_t0_c2/seg_2/t0_c2_r3.bin": 12,
    }
    assert cells(out / "Small.siard") == ["seg_0/t0_c2_r1.bin", "seg_0/t0_c2_r2.bin", "seg_2/t0_c2_r3.bin"]
    assert folders(out / "Small.siard") == ["./Small_lobs/", "s0_t0_c2/"]
    assert not errors(out)


@pytest.mark.parametrize(
    "said",
    [
        ("lobseg", "dilcis", ["./", "./"]),
        ("lobseg", "sfa", ["../"]),
        ("siard22", "dilcis", ["./Small_lobs/", "s0_t0_c2/"]),
        ("siard22", "sfa", ["../Small_lobs/s0_t0_c2/"]),
    ],
)
def test_both_styles_of_lob_folders_lead_back_to_the_lobs(
    metspack: Commands, small: Path, tmp_path: Path, said: tuple[str, str, list[str]]
) -> None:
    layout, style, expected = said
    out, again = tmp_path / "out", tmp_path / "again"
    options = ("--layout", layout, "--max-files", "2")
    metspack.fine("build", small, "-o", out, *options, "--lob-folder-style", style)
    assert folders(out / "Small.siard") == expected
    assert not errors(out)
    # The package is itself a source: the LOBs are found where it says, and come out the same.
    assert metspack("build", out / "Small.siard", "-o", again, *options).code == 0
    assert files(again) == files(out)
    assert {name: tree(again)[name] for name in files(again)} == {
        name: tree(out)[name] for name in files(out)
    }


def test_columns_with_small_lobs_alone_stay_inside(
    metspack: Commands, northwind_full: Path, tmp_path: Path
) -> None:
    plan, out, planned = tmp_path / "plan", tmp_path / "out", tmp_path / "planned"
    options = ("--min-size", "3kB", "--layout", "siard22")
    outcome = metspack("build", northwind_full, "-o", out, *options, "--json")
    stays = [
        f"column dbo.Suppliers.{name} stays inside the archive: {count} LOBs, each smaller than 3,000 bytes"
        for name, count in (("HomePage (s0.t8.c12)", 5), ("Letters (s0.t8.c14)", 11))
    ]
    said = json.loads(outcome.out)
    assert (said["lobs"], said["kept_inside"], said["warnings"]) == (30, 16, stays)
    assert outcome.err.splitlines() == [f"warning: {each}" for each in stays]
    assert not [name for name in files(out) if "_c12_" in name or "_c14_" in name]
    assert not errors(out)
    with zipfile.ZipFile(out / "Northwind-full.siard") as archive:
        assert sum("/lob" in name and not name.endswith("/") for name in archive.namelist()) == 16

    drafted = metspack("plan", northwind_full, *options, "-o", plan)
    assert drafted.err == outcome.err
    assert drafted.out.splitlines()[-3] == (
        f"3 segments, 30 LOBs, 221,687 bytes, 16 LOBs kept inside. The plan is in {plan}."
    )
    outcome = metspack("build", northwind_full, "-o", planned, "--plan", plan)
    assert outcome.code == 0
    assert "with 3 child IPs, 30 LOBs, 221,687 bytes, 16 LOBs kept inside\n" in outcome.out
    assert files(planned) == files(out)


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


def test_a_plan_says_in_json_what_is_cut(metspack: Commands, small: Path) -> None:
    said: Any = json.loads(metspack.fine("plan", small, "--json", "--max-bytes", "400", "--split", "alone"))
    assert (said["split"], said["lobs"], said["split_lobs"], said["files"]) == ("alone", 3, 1, 5)
    assert [(each["first"], each["last"]) for each in said["segments"]][1] == (
        "s0.t0.c2.r2.p0",
        "s0.t0.c2.r2.p0",
    )


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


def test_dbptks_names_do_not_clutter_the_help(metspack: Commands) -> None:
    assert "elpf" not in metspack.fine("build", "--help")


def test_cells_without_a_digest_get_one_when_asked(metspack: Commands, tmp_path: Path) -> None:
    lobs = [siards.Lob(data=SHORT, attributes=f'length="{len(SHORT)}"'), siards.Lob(data=LONG)]
    source = siards.packed(tmp_path / "Bare.siard", siards.parts(lobs))
    out = tmp_path / "out"
    outcome = metspack("build", source, "-o", out, "--add-digests")
    assert (outcome.code, outcome.err) == (0, "")
    with zipfile.ZipFile(out / "Bare.siard") as archive:
        table = archive.read(siards.TABLE).decode()
    assert re.findall(' digest="([0-9a-f]+)"', table) == [siards.md5(SHORT), siards.md5(LONG)]
    assert not errors(out)


def _with_a_part_digest(folder: Path) -> Path:
    """Write an archive whose split LOB has the digest of its last part, as DBPTK writes it."""
    parts = siards.parts([siards.Lob(data=LONG, file="lob.bin", attributes="ATTRIBUTES", entry=None)])
    said = f'length="1000" digestType="MD5" digest="{siards.md5(LONG[600:])}"'
    parts[siards.TABLE] = parts[siards.TABLE].replace(b"ATTRIBUTES", said.encode())
    parts[siards.METADATA] = parts[siards.METADATA].replace(
        b"<name>content</name>", b"<name>content</name><lobFolder>./lobs/</lobFolder>"
    )
    (folder / "lobs").mkdir()
    (folder / "lobs" / "lob.bin_part001").write_bytes(LONG[:600])
    (folder / "lobs" / "lob.bin_part002").write_bytes(LONG[600:])
    return siards.packed(folder / "Dbptk.siard", parts)


def test_a_digest_of_the_last_part_alone_is_refused_unless_it_is_accepted(
    metspack: Commands, tmp_path: Path
) -> None:
    source, out = _with_a_part_digest(tmp_path), tmp_path / "out"
    outcome = metspack("build", source, "-o", out)
    assert outcome.code == 3
    assert "of its cell is that of the last part alone" in outcome.err
    assert "--accept dbptk-part-digest" in outcome.err
    assert not out.exists()
    outcome = metspack("build", source, "-o", out, "--accept", "dbptk-part-digest")
    assert outcome.code == 0
    with zipfile.ZipFile(out / "Dbptk.siard") as archive:
        assert f'digest="{siards.md5(LONG)}"' in archive.read(siards.TABLE).decode()
    assert (out / f"Dbptk_lobseg_0/{COLUMN}/record0.bin").read_bytes() == LONG
    assert not errors(out)


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


@pytest.mark.parametrize("command", ["plan", "build", "convert"])
def test_a_limit_that_looks_like_a_slip_is_told_of_before_the_work(
    metspack: Commands, tmp_path: Path, command: str
) -> None:
    out, limits = tmp_path / "out", ("--max-bytes", "40", "--max-files", "none")
    source = siards.siard(tmp_path / "Small.siard", *(b"content %d" % number for number in range(20)))
    if command == "convert":
        larger = siards.siard(tmp_path / "Larger.siard", *(b"%060d" % number for number in range(9)))
        metspack.fine("build", larger, "-o", out)
    words: dict[str, tuple[str | Path, ...]] = {
        "plan": (source,),
        "build": (source, "-o", out),
        "convert": (out, "-o", tmp_path / "new"),
    }
    said = metspack(command, *words[command], *limits).err.splitlines()
    assert said[0] == (
        "warning: --max-bytes 40 allows 40 bytes in a segment; if 40GB was meant, stop here and write it "
        "with its unit"
    )
    assert any("fewer than two in each" in each for each in said) == (command == "convert")
