"""``metspack build`` and ``plan``: every form of source, and folders that LOBs are found in."""

from __future__ import annotations

import json
import shlex
import shutil
import zipfile
from pathlib import Path

import pytest

from metspack import checking
from metspack.model import Severity
from tests import siards
from tests.cli.conftest import HEAD, Commands, made_of
from tests.laws import spread
from tests.shared_data import shared
from tests.siard.convention_archives import BINARY, SAMPLES, SECOND
from tests.trees import tree

SMALL = ("--max-files", "4", "--max-bytes", "45000")


@pytest.fixture(autouse=True)
def _one_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1456185600")


def errors(package: Path) -> list[str]:
    return [each.code for each in checking.check(package) if each.severity is Severity.ERROR]


def segments(package: Path) -> dict[str, bytes]:
    """Return what lies in the segments of a package: LOBs and METS."""
    return {name: data for name, data in tree(package).items() if "_lobseg_" in name or "_lobs/" in name}


def unpacked(siard: Path, folder: Path) -> Path:
    with zipfile.ZipFile(siard) as archive:
        archive.extractall(folder)
    return folder


def cut(siard: Path, folder: Path) -> Path:
    """Write an archive in three parts and return the first."""
    data = siard.read_bytes()
    third = len(data) // 3 + 1
    for number in range(3):
        part = folder / f"{siard.name}_part{number + 1:03d}"
        part.write_bytes(data[number * third : (number + 1) * third])
    return folder / f"{siard.name}_part001"


@pytest.mark.slow
def test_every_form_of_an_archive_gives_the_same_segments(
    metspack: Commands, northwind: Path, tmp_path: Path
) -> None:
    places = {name: tmp_path / name for name in ("cut", "folder", "wrapped")}
    for place in places.values():
        place.mkdir()
    first = cut(northwind, places["cut"])
    wrapped = siards.packed(places["wrapped"] / "Northwind.siard", _below("any name", northwind))
    sources = {
        "whole": northwind,
        "first part": first,
        "name of the parts": first.with_name("Northwind.siard"),
        "unpacked": unpacked(northwind, places["folder"] / "Northwind"),
        "wrapped": wrapped,
    }
    expected: dict[str, bytes] = {}
    for name, source in sources.items():
        out = tmp_path / "out" / name
        out.parent.mkdir(exist_ok=True)
        assert metspack("build", source, "-o", out, *SMALL).code == 0, name
        expected = expected or segments(out)
        assert segments(out) == expected, name
        assert not errors(out), name


def _below(folder: str, siard: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(siard) as archive:
        return {f"{folder}/{name}": archive.read(name) for name in archive.namelist()}


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
        said = [line for line in outcome.err.splitlines() if not any(each in line for each in of_the_build)]
        assert metspack("plan", source).err.splitlines() == said
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


def test_lobs_that_were_moved_away_are_found_in_a_granted_folder(
    metspack: Commands, northwind: Path, tmp_path: Path
) -> None:
    package, store, out = tmp_path / "package", tmp_path / "elsewhere", tmp_path / "out"
    metspack.fine("build", northwind, "-o", package, *SMALL)
    store.mkdir()
    for segment in package.glob("Northwind_lobseg_*"):
        shutil.move(segment, store / segment.name)
    refused = metspack("build", package / "Northwind.siard", "-o", out, *SMALL)
    assert refused.code == 3
    assert "8 LOBs not found\n" in refused.err
    assert refused.err.count("row ") == 8
    assert "--lob-root DIR" in refused.err
    outcome = metspack("build", package / "Northwind.siard", "-o", out, *SMALL, "--lob-root", store)
    assert outcome.code == 0
    assert "8 LOBs located by convention L (granted folder)" in outcome.err
    assert not errors(out)


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


@pytest.fixture
def scans(tmp_path: Path) -> Path:
    """A folder of LOBs without an archive."""
    folder = tmp_path / "scans"
    for number, data in enumerate((b"one", b"two", b"three")):
        file = folder / f"content/schema0/table2/lob4/record{number}.tif"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(data)
    return folder


def test_a_folder_of_lobs_is_packaged(metspack: Commands, scans: Path, tmp_path: Path) -> None:
    options = ("--max-files", "2")
    outcome = metspack("build", scans, "-o", tmp_path / "out", *options, "--json")
    warning = "there is no SIARD archive, so the expected number of LOBs is unknown"
    assert outcome.code == 0, outcome.err
    assert json.loads(outcome.out)["warnings"] == [warning]
    planned = metspack.fine("plan", scans, *options).splitlines()
    limits = "at most 2 files and 4,000,000,000 bytes in a segment"
    assert planned[0] == f"{scans.name}: no SIARD archive, {limits}"
    assert planned[-2] == "2 segments, 3 LOBs, 11 bytes. Nothing was written."
    assert not errors(tmp_path / "out")
    assert not list((tmp_path / "out").glob("*.siard"))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "layout"),
    [
        ("dbptk-example.siard", "lobseg"),
        ("sample-datalink-2.2.siard", "siard22"),
        ("sql2008/sql2008.siard", "siard22"),
    ],
)
def test_archives_of_other_tools_are_packaged_and_packaged_again(
    metspack: Commands, tmp_path: Path, name: str, layout: str
) -> None:
    style = {"lobseg": "dilcis", "siard22": "sfa"}[layout]
    source, out, again = shared("data", "siard", *name.split("/")), tmp_path / "out", tmp_path / "again"
    options = ("--layout", layout, "--max-files", "700", "--max-bytes", "5MB", "--id", "ID.Other")
    outcome = metspack("build", source, "-o", out, *options, "--lob-folder-style", style)
    assert outcome.code == 0, outcome.err
    assert not errors(out)
    (siard,) = out.glob("*.siard")
    assert metspack("build", siard, "-o", again, *options, "--lob-folder-style", style).code == 0
    assert segments(again) == segments(out)


def test_a_folder_in_segments_is_described_in_json(
    metspack: Commands, northwind: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "folder"
    metspack.fine("build", northwind, "-o", folder, *SMALL)
    for path in (*folder.rglob("mets.xml"), *folder.glob("manifest-*.txt")):
        path.unlink()
    options = ("--keep-segments", "--in-place", "--verify", "--json", "--id", "X", "--checksum", "SHA-256")
    said = json.loads(metspack.fine("build", folder, *options))
    children = said.pop("children")
    assert [each["path"] for each in children] == [f"Northwind_lobseg_{number}" for number in range(3)]
    assert sum(each["bytes"] for each in children) == said["bytes"]
    assert said.pop("source") == made_of(folder / "Northwind.siard")
    assert said.pop("seal").startswith("sha256:")
    own = sum(each.stat().st_size for each in folder.iterdir() if each.is_file())
    assert said.pop("handed_over")["parent"] == {"path": ".", "bytes": own}
    assert said == HEAD | {
        "target": str(folder),
        "objid": "X",
        "name": "Northwind",
        "existed": False,
        "lobs": 8,
        "kept_inside": 0,
        "unreferenced_files": 0,
        "bytes": 91_839,
        "checked": "full",
        "unopened_archives": [],
        "warnings": [],
    }
    assert not errors(folder)


@pytest.mark.parametrize(
    "options",
    [
        ("-o", "out"),
        ("--max-files", "3"),
        ("-elfs", "3"),
        ("--layout", "siard22"),
        ("--split", "fill"),
        ("--min-size", "1kB"),
        ("--plan", "plan"),
        ("--lob-folder-style", "dilcis"),
        ("--add-digests",),
        ("--link-mode", "hardlink"),
        ("--siard-version", "2.2"),
        ("--if-exists", "check"),
    ],
)
def test_what_would_change_segments_does_not_go_with_in_place(
    metspack: Commands, tmp_path: Path, options: tuple[str, ...]
) -> None:
    outcome = metspack("build", tmp_path, "--keep-segments", "--in-place", *options)
    name = {"-elfs": "--max-bytes"}.get(options[0], options[0])
    assert outcome.code == 2
    assert outcome.err.splitlines() == [
        f"error: --in-place cannot be combined with {name}",
        f"hint: It leaves segments and archive as they are: leave {name} out.",
    ]
