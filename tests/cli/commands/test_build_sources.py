"""``metspack build`` and ``plan``: forms of sources, where LOBs are located, and how they are divided."""

from __future__ import annotations

import shlex
import shutil
from pathlib import Path

import pytest

from metspack import checking
from metspack.model import Severity
from tests import siards
from tests.cli.conftest import Commands
from tests.laws import spread
from tests.siard.convention_archives import BINARY, SAMPLES, SECOND
from tests.tables import read_table
from tests.trees import tree

pytestmark = pytest.mark.usefixtures("one_clock")

SMALL = ("--max-files", "4", "--max-bytes", "45000")


def errors(package: Path) -> list[str]:
    return [each.code for each in checking.check(package) if each.severity is Severity.ERROR]


def segments(package: Path) -> dict[str, bytes]:
    """Return what lies in the segments of a package: LOBs and METS."""
    return {name: data for name, data in tree(package).items() if "_lobseg_" in name or "_lobs/" in name}


@pytest.mark.parametrize("name", spread(sorted(SAMPLES), 5))
def test_every_convention_is_found_named_and_packaged(metspack: Commands, tmp_path: Path, name: str) -> None:
    sample, folder, out = SAMPLES[name], tmp_path / "source", tmp_path / "out"
    folder.mkdir()
    source = sample.build(folder)
    before = tree(folder)
    outcome = metspack("build", source, "-o", out)
    assert outcome.code == 0, outcome.err
    lobs = [data for file, data in segments(out).items() if not file.endswith(("mets.xml", "/"))]
    assert lobs[:2] == [BINARY, SECOND][: len(lobs)]
    if sample.letter not in {"C", "F"}:
        assert f"located by convention {sample.letter} (" in outcome.err
        of_the_build = ("SIARD 1.0 has no lobFolder", "is left out of metadata.xml")
        shown = [line for line in outcome.err.splitlines() if not any(each in line for each in of_the_build)]
        assert metspack("plan", source).err.splitlines() == shown
    assert not errors(out)
    assert tree(folder) == before


def _on_drive(folder: Path, lobs: Path) -> Path:
    """Write an archive whose LOB lies on drive S: in ``scans``, and the LOB below ``lobs``."""
    parts = siards.parts([siards.Lob(data=b"a scan", file="one.bin", entry=None)])
    parts[siards.METADATA] = (
        parts[siards.METADATA]
        .replace(b"<schemas>", b"<lobFolder>file:///S:/scans/</lobFolder><schemas>")
        .replace(b"<name>content</name>", b"<name>content</name><lobFolder>./</lobFolder>")
    )
    (lobs / "scans").mkdir(parents=True)
    (lobs / "scans" / "one.bin").write_bytes(b"a scan")
    return siards.packed(folder / "Drive.siard", parts)


def test_the_option_in_the_hint_is_typed_as_it_stands(metspack: Commands, tmp_path: Path) -> None:
    source, out = _on_drive(tmp_path, tmp_path / "a store"), tmp_path / "out"
    outcome = metspack("inspect", source)
    assert "--map-drive 'S:=" in outcome.err
    outcome = metspack("build", source, "-o", out)
    options = shlex.split(outcome.err.rpartition(": add ")[2].strip().removesuffix("."))
    assert options == ["--map-drive", f"S:={tmp_path / 'a store'}"]
    assert metspack("build", source, "-o", out, *options).code == 0
    assert (out / "Drive_lobseg_0/content/schema0/table0/lob2/record0.bin").read_bytes() == b"a scan"


def test_a_mapping_says_where_segments_lie(metspack: Commands, northwind: Path, tmp_path: Path) -> None:
    package, store, mapping = tmp_path / "package", tmp_path / "store", tmp_path / "where.txt"
    metspack.fine("build", northwind, "-o", package, *SMALL, "--layout", "siard22")
    shutil.move(package / "Northwind_lobs", store)
    lines = [
        f"Northwind_lobs/s0_t2_c4/seg_{n}/ {(store / f's0_t2_c4/seg_{n}').as_uri()}/\n" for n in range(3)
    ]
    mapping.write_text("".join(lines), encoding="utf-8")
    source, out = package / "Northwind.siard", tmp_path / "out"
    granted = ("--mapping", mapping, "--lob-root", store)
    outcome = metspack("build", source, "-o", out, *SMALL, *granted)
    assert outcome.code == 0, outcome.err
    assert sorted(data for name, data in segments(out).items() if name.endswith(".bin")) == sorted(
        data for name, data in tree(store).items() if name.endswith(".bin")
    )


@pytest.mark.parametrize("options", read_table(__file__, "in_place"))
def test_options_that_in_place_excludes(metspack: Commands, tmp_path: Path, options: tuple[str, ...]) -> None:
    outcome = metspack("build", tmp_path, "--keep-segments", "--in-place", *options)
    name = {"-elfs": "--max-bytes"}.get(options[0], options[0])
    assert outcome.code == 2
    assert outcome.err.splitlines() == [
        f"error: --in-place cannot be combined with {name}",
        f"hint: It leaves segments and archive as they are: leave {name} out.",
    ]


LONG, SHORT = bytes(range(250)) * 4, b"a short one"


def lob_files(package: Path) -> dict[str, int]:
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


def test_conventions_are_counted_once(metspack: Commands, northwind_full: Path, tmp_path: Path) -> None:
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
    shown = metspack.fine("plan", small, *options, "-o", plan).splitlines()
    assert [line.split()[:3] for line in shown[2:-3]] == [
        [f"Small_lobs/s0_t0_c2/seg_{n}", "1", size]
        for n, size in enumerate(("11", "400", "400", "200", "12"))
    ]
    assert shown[-3] == f"5 segments, 3 LOBs (1 in 3 parts), 1,023 bytes. The plan is in {plan}."
    metspack.fine("build", small, "-o", out, "--plan", plan)
    assert list(lob_files(out).values()) == [11, 400, 400, 200, 12]
    assert all(name.startswith("Small_lobs/s0_t0_c2/seg_") for name in lob_files(out))


@pytest.mark.parametrize(("options", "words"), read_table(__file__, "limits"))
def test_dbptks_limits(metspack: Commands, small: Path, options: tuple[str, ...], words: str) -> None:
    assert words in metspack.fine("plan", small, *options).splitlines()[0]


def test_sidecars_of_siard_2_2_on_request(metspack: Commands, northwind: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    written = ("--write-mapping", "file:///srv/", "--write-manifest")
    arguments = ("build", northwind, "-o", out, "--max-files", "4", *written)
    refused = metspack(*arguments)
    assert (refused.code, refused.out) == (2, "")
    assert "not of lobseg" in refused.err
    metspack.fine(*arguments, "--layout", "siard22")
    mapping = (out / "mapping.txt").read_text(encoding="utf-8")
    assert mapping.startswith("Northwind_lobs/s0_t2_c4/seg_0/ file:///srv/\n")
    assert len((out / "manifest.txt").read_text(encoding="utf-8").splitlines()) == 8


def test_a_limit_like_a_slip_is_reported_before_the_work(metspack: Commands, tmp_path: Path) -> None:
    larger = siards.siard(tmp_path / "Larger.siard", *(b"%060d" % number for number in range(9)))
    metspack.fine("build", larger, "-o", tmp_path / "out")
    limits = ("--max-bytes", "40", "--max-files", "none")
    shown = metspack("convert", tmp_path / "out", "-o", tmp_path / "new", *limits).err.splitlines()
    assert shown[0] == (
        "warning: --max-bytes 40 allows 40 bytes in a segment; if 40GB was meant, stop here and write it "
        "with its unit"
    )
    assert any("fewer than two in each" in each for each in shown)
